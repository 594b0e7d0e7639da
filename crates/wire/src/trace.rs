//! The trace context of a call: which trace it belongs to, and which span has made it.
//!
//! The text is the header `traceparent` of the W3C recommendation "Trace Context"; OpenTelemetry and
//! others read and write it.

use core::fmt;
use core::str::FromStr;

/// Bytes of an encoded context: the id of the trace, the id of the span, and the flags.
pub const TRACE_BYTES: usize = 25;

/// The flag that says that the caller may have recorded its span.
const SAMPLED: u8 = 1;

/// The context of a trace, as the header `traceparent` has it.
///
/// ```
/// use wigwag_wire::trace::TraceContext;
///
/// let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let context: TraceContext = header.parse().unwrap();
/// assert_eq!(context.parent_id(), 0x00f067aa0ba902b7);
/// assert!(context.is_sampled());
/// assert_eq!(context.child(7).to_string(), "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000007-01");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceContext {
    trace_id: u128,
    parent_id: u64,
    flags: u8,
}

/// A text that is no `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotTraceparent {
    /// The rule that it breaks.
    pub rule: &'static str,
}

impl fmt::Display for NotTraceparent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the text is no traceparent: {}", self.rule)
    }
}

impl core::error::Error for NotTraceparent {}

impl TraceContext {
    /// Creates a context; `None` if one of the ids is zero, which stands for no id.
    pub fn new(trace_id: u128, parent_id: u64, flags: u8) -> Option<TraceContext> {
        let is_valid = trace_id != 0 && parent_id != 0;
        is_valid.then_some(TraceContext { trace_id, parent_id, flags })
    }

    /// The id of the trace, the same for all its calls.
    pub fn trace_id(&self) -> u128 {
        self.trace_id
    }

    /// The id of the span that has made the call.
    pub fn parent_id(&self) -> u64 {
        self.parent_id
    }

    /// The flags, of which the recommendation defines the lowest one.
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// True if the caller may have recorded its span.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// The context for the calls of another span of the trace. An id of zero leaves it as it is.
    #[must_use]
    pub fn child(self, span_id: u64) -> TraceContext {
        let parent_id = if span_id == 0 { self.parent_id } else { span_id };
        TraceContext { parent_id, ..self }
    }

    /// The context in its encoded form; the ids are big-endian, as in the text.
    pub fn to_bytes(&self) -> [u8; TRACE_BYTES] {
        let mut bytes = [0; TRACE_BYTES];
        bytes[..16].copy_from_slice(&self.trace_id.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.parent_id.to_be_bytes());
        bytes[24] = self.flags;
        bytes
    }

    /// Reads the encoded form; `None` if one of the ids is zero.
    pub fn from_bytes(bytes: &[u8; TRACE_BYTES]) -> Option<TraceContext> {
        let (trace_id, rest) = bytes.split_first_chunk()?;
        let (parent_id, flags) = rest.split_first_chunk()?;
        TraceContext::new(
            u128::from_be_bytes(*trace_id),
            u64::from_be_bytes(*parent_id),
            *flags.first()?,
        )
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.parent_id, self.flags)
    }
}

/// A number of lowercase hexadecimal digits.
fn hex(text: &str, digits: usize) -> Result<u128, NotTraceparent> {
    let is_hex = |letter: u8| matches!(letter, b'0'..=b'9' | b'a'..=b'f');
    let is_number = text.len() == digits && text.bytes().all(is_hex);
    let number = is_number.then(|| u128::from_str_radix(text, 16).ok()).flatten();
    number.ok_or(NotTraceparent { rule: "a field has a fixed number of lowercase hex digits" })
}

impl FromStr for TraceContext {
    type Err = NotTraceparent;

    /// Reads a header. Of a later version, the fields of this one are read, as the recommendation
    /// says.
    fn from_str(text: &str) -> Result<TraceContext, NotTraceparent> {
        let missing = NotTraceparent { rule: "four fields are joined by dashes" };
        let mut fields = text.splitn(5, '-');
        let version = hex(fields.next().ok_or(missing)?, 2)?;
        let trace_id = hex(fields.next().ok_or(missing)?, 32)?;
        let parent_id = hex(fields.next().ok_or(missing)?, 16)?;
        let flags = hex(fields.next().ok_or(missing)?, 2)?;
        match (version, fields.next()) {
            (0xFF, _) => return Err(NotTraceparent { rule: "version ff is invalid" }),
            (0, Some(_)) => return Err(NotTraceparent { rule: "version 00 has four fields" }),
            _ => {}
        }
        // Each has the digits of its type.
        TraceContext::new(trace_id, parent_id as u64, flags as u8)
            .ok_or(NotTraceparent { rule: "an id of zero is invalid" })
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_header_and_its_bytes_come_back() {
        let context: TraceContext = HEADER.parse().expect("that of the recommendation");
        assert_eq!(context.to_string(), HEADER);
        assert_eq!(TraceContext::from_bytes(&context.to_bytes()), Some(context));
        assert_eq!(context.to_bytes()[..2], [0x4b, 0xf9]);
        assert_eq!(context.child(0), context);
    }

    /// The cases of the test suite of the recommendation that concern one header.
    #[test]
    fn contexts_that_the_recommendation_calls_invalid_are_refused() {
        let good = |text: &str| text.parse::<TraceContext>().is_ok();
        assert!(good("cc-12345678901234567890123456789012-1234567890123456-01"));
        assert!(good("cc-12345678901234567890123456789012-1234567890123456-01-what-the-future"));
        for wrong in [
            "",
            "00",
            "00-12345678901234567890123456789012-1234567890123456",
            "00-12345678901234567890123456789012-1234567890123456-01-",
            "00-12345678901234567890123456789012-1234567890123456-01-extra",
            "cc-12345678901234567890123456789012-1234567890123456-01.what",
            "ff-12345678901234567890123456789012-1234567890123456-01",
            "0-12345678901234567890123456789012-1234567890123456-01",
            ".0-12345678901234567890123456789012-1234567890123456-01",
            "00-00000000000000000000000000000000-1234567890123456-01",
            "00-12345678901234567890123456789012-0000000000000000-01",
            "00-1234567890123456789012345678901-1234567890123456-01",
            "00-123456789012345678901234567890123-1234567890123456-01",
            "00-.2345678901234567890123456789012-1234567890123456-01",
            "00-12345678901234567890123456789012-123456789012345-01",
            "00-ABCDEF12345678901234567890123456-1234567890123456-01",
            "00-12345678901234567890123456789012-1234567890123456-1",
            "00-12345678901234567890123456789012-1234567890123456-.0",
            "00-12345678901234567890123456789012-1234567890123456-+1",
            "00é12345678901234567890123456789012-1234567890123456-01",
        ] {
            assert!(!good(wrong), "{wrong}");
        }
    }
}
