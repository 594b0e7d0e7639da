//! Close frames (RFC 6455, sections 5.5.1 and 7.4).

use super::frame::{Head, Masks, Opcode, apply_mask};

/// The connection has done what it was for.
pub(super) const NORMAL: u16 = 1000;
/// The peer is going away: a server that stops, a page that is left.
pub(super) const GOING_AWAY: u16 = 1001;
/// The peer breaks the protocol.
pub(super) const PROTOCOL_ERROR: u16 = 1002;
/// The peer sends a kind of data that is not accepted.
pub(super) const UNSUPPORTED: u16 = 1003;
/// Text is not UTF-8.
pub(super) const NOT_UTF8: u16 = 1007;
/// The peer breaks a rule of this end.
pub(super) const POLICY: u16 = 1008;
/// A message is too long.
pub(super) const TOO_LONG: u16 = 1009;

/// Why a peer closes; without a code if it gave none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reason {
    pub(super) code: Option<u16>,
    pub(super) text: String,
}

/// Reads the body of a close frame.
///
/// # Errors
/// The code to answer with, and the rule that the body breaks.
pub(super) fn parse(body: &[u8]) -> Result<Reason, (u16, &'static str)> {
    let Some((code, text)) = body.split_first_chunk::<2>() else {
        if body.is_empty() {
            return Ok(Reason { code: None, text: String::new() });
        }
        return Err((PROTOCOL_ERROR, "the code of a close frame is cut off"));
    };
    let code = u16::from_be_bytes(*code);
    if !is_valid(code) {
        return Err((PROTOCOL_ERROR, "the code of a close frame is not one that may be sent"));
    }
    match std::str::from_utf8(text) {
        Ok(text) => Ok(Reason { code: Some(code), text: text.to_owned() }),
        Err(_) => Err((NOT_UTF8, "the reason of a close frame is not UTF-8")),
    }
}

/// True for a code that may be sent: those of the specification and of its registry, of libraries,
/// and of programs. 1004, 1005, 1006 and 1015 must never be on the wire.
fn is_valid(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

/// Appends a close frame.
pub(super) fn write(code: Option<u16>, masks: &mut Option<Masks>, out: &mut Vec<u8>) {
    let code = code.map(u16::to_be_bytes);
    write_control(Opcode::Close, code.as_ref().map_or(&[], |code| &code[..]), masks, out);
}

/// Appends a control frame.
pub(super) fn write_control(
    opcode: Opcode,
    body: &[u8],
    masks: &mut Option<Masks>,
    out: &mut Vec<u8>,
) {
    let mask = masks.as_mut().map(Masks::next);
    Head { is_last: true, opcode, mask, length: body.len() as u64 }.write(out);
    let from = out.len();
    out.extend_from_slice(body);
    if let Some(mask) = mask {
        apply_mask(&mut out[from..], mask, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_codes_that_may_be_sent_are_valid() {
        for code in [1000, 1001, 1002, 1003, 1007, 1011, 1012, 1014, 3000, 3999, 4000, 4999] {
            assert!(is_valid(code), "{code}");
        }
        for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535] {
            assert!(!is_valid(code), "{code}");
        }
    }

    #[test]
    fn the_body_of_a_close_frame_is_checked() {
        assert_eq!(parse(&[]).unwrap().code, None);
        let reason = Reason { code: Some(1001), text: "bye".into() };
        assert_eq!(parse(b"\x03\xe9bye"), Ok(reason));
        assert_eq!(parse(b"\x03").unwrap_err().0, PROTOCOL_ERROR);
        assert_eq!(parse(b"\x03\xed").unwrap_err().0, PROTOCOL_ERROR, "1005");
        assert_eq!(parse(b"\x03\xe8\xff").unwrap_err().0, NOT_UTF8);
    }
}
