//! The receiving direction: BINARY messages become messages of the SP stream.
//!
//! A message of one frame streams: its length goes up as soon as the frame's head is there, so the
//! protocol above refuses it before memory is taken. The length of a fragmented message is known at
//! its end only, so it is assembled here, within the receive limit.

use std::io;

use bytes::Bytes;
use wigwag_wire::{FramingError, ReadBuf};

use super::close::{self, Reason};
use super::error::WsError;
use super::frame::{Head, Opcode, apply_mask};
use crate::error::NetErrorKind;
use crate::options::ReceiveLimit;

/// Empty fragments of a message: nobody needs any, and they take time without an end.
const EMPTY_FRAGMENTS_MAX: u32 = 1024;

/// Bytes of a body from which on it is appended to the input directly. Shorter ones are gathered
/// first: for each append, the input looks for room.
const GATHERED_BYTES_MAX: usize = 1024;

/// Bytes of a message from which on its body is passed on where it lies, if it is one frame, and up to
/// which: until the frame is whole it waits below. The body holds the block that it was read into, as
/// a message over tcp of this length does. Messages of 64 KiB come at 1.6 times the rate that they had
/// when bodies were copied.
const PASSED_BYTES_MIN: u64 = if cfg!(test) { 16 } else { 16 * 1024 };
const PASSED_BYTES_MAX: u64 = if cfg!(test) { 32 } else { 64 * 1024 };

/// The action that a frame requires of the layer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// This many bytes behind those that were taken are the body of a message: pass them on.
    Body(usize),
    /// A ping, with its payload.
    Ping(Vec<u8>),
    /// The peer has ended its direction.
    Close(Reason),
}

/// Why a connection is closed, and the code that says so.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) code: u16,
    pub(super) error: io::Error,
}

impl Broken {
    fn rule(code: u16, rule: &'static str) -> Broken {
        Broken { code, error: WsError::BadFrame { code, rule }.into() }
    }

    fn too_long(length: u64, limit: usize) -> Broken {
        let error = NetErrorKind::Framing(FramingError::TooLong { length, limit });
        Broken { code: close::TOO_LONG, error: io::Error::new(io::ErrorKind::InvalidData, error) }
    }
}

/// Turns frames into the SP stream.
#[derive(Debug)]
pub(super) struct Deframer {
    /// Frames of a client are masked, those of a server are not.
    from_client: bool,
    /// Bytes of an assembled message.
    limit: ReceiveLimit,
    /// The rest of a data frame.
    frame: Option<Frame>,
    /// The message whose fragments come.
    assembly: Option<Assembly>,
    /// Short messages that go to the input together.
    gathered: Vec<u8>,
}

#[derive(Debug)]
struct Frame {
    left: u64,
    /// Turned to the next byte.
    mask: Option<[u8; 4]>,
    is_last: bool,
}

#[derive(Debug, Default)]
struct Assembly {
    bytes: Vec<u8>,
    empty: u32,
}

impl Deframer {
    pub(super) fn new(from_client: bool, limit: ReceiveLimit) -> Deframer {
        Deframer { from_client, limit, frame: None, assembly: None, gathered: Vec::new() }
    }

    /// Takes whole frames, and what has come of a data frame, off the front of `received`, until
    /// there is something to answer. Returns the bytes that it has taken.
    pub(super) fn receive(
        &mut self,
        received: &mut [u8],
        input: &mut ReadBuf,
    ) -> (usize, Result<Option<Event>, Broken>) {
        let mut taken = 0;
        let outcome = loop {
            match self.step(&mut received[taken..], input) {
                Ok((0, None)) => break Ok(None),
                Ok((more, event)) => {
                    taken += more;
                    if event.is_some() {
                        break Ok(event);
                    }
                }
                Err(broken) => break Err(broken),
            }
        };
        input.append(&self.gathered);
        self.gathered.clear();
        (taken, outcome)
    }

    /// Takes one frame, or a part of its body; nothing if there is too little.
    #[inline]
    fn step(
        &mut self,
        received: &mut [u8],
        input: &mut ReadBuf,
    ) -> Result<(usize, Option<Event>), Broken> {
        if self.frame.is_some() {
            return Ok((self.take_body(received, input), None));
        }
        let protocol_error = |rule| Broken::rule(close::PROTOCOL_ERROR, rule);
        let Some((head, used)) = Head::parse(received).map_err(protocol_error)? else {
            return Ok((0, None));
        };
        match (head.mask, self.from_client) {
            (None, true) => return Err(protocol_error("a frame of a client is not masked")),
            (Some(_), false) => return Err(protocol_error("a frame of a server is masked")),
            _ => {}
        }
        if head.opcode.is_control() {
            return control(&head, used, received);
        }
        if let Some(length) = self.length_passed(&head) {
            let Some(body) = received.get_mut(used..used + length) else { return Ok((0, None)) };
            if let Some(mask) = head.mask {
                apply_mask(body, mask, 0);
            }
            self.gathered.extend_from_slice(&head.length.to_be_bytes());
            return Ok((used, Some(Event::Body(length))));
        }
        self.begin(&head)?;
        Ok((used + self.take_body(&mut received[used..], input), None))
    }

    /// The length of a frame that is a whole message and whose body is passed on where it lies.
    #[inline]
    fn length_passed(&self, head: &Head) -> Option<usize> {
        let is_message = head.opcode == Opcode::Binary && head.is_last && self.assembly.is_none();
        let is_long = (PASSED_BYTES_MIN..=PASSED_BYTES_MAX).contains(&head.length);
        let length = usize::try_from(head.length).ok().filter(|it| *it <= self.limit.bytes())?;
        (is_message && is_long).then_some(length)
    }

    /// Begins a data frame.
    #[inline]
    fn begin(&mut self, head: &Head) -> Result<(), Broken> {
        let limit = self.limit.bytes();
        let protocol_error = |rule| Err(Broken::rule(close::PROTOCOL_ERROR, rule));
        match (head.opcode, &self.assembly) {
            (Opcode::Text, _) => {
                let rule = "SP messages are BINARY, and this one is TEXT";
                return Err(Broken::rule(close::UNSUPPORTED, rule));
            }
            (Opcode::Binary, Some(_)) => {
                return protocol_error("a message begins before the last one is whole");
            }
            (Opcode::Binary, None) if head.is_last => {
                self.gathered.extend_from_slice(&head.length.to_be_bytes());
                if head.length > limit as u64 {
                    // The length alone goes up, where it is counted and refused.
                    return Err(Broken::too_long(head.length, limit));
                }
            }
            (Opcode::Binary, None) => self.assembly = Some(Assembly::default()),
            (_, None) => return protocol_error("a fragment continues no message"),
            (_, Some(_)) => {}
        }
        if let Some(assembly) = &mut self.assembly {
            let length = head.length.saturating_add(assembly.bytes.len() as u64);
            if length > limit as u64 {
                return Err(Broken::too_long(length, limit));
            }
            assembly.empty += u32::from(head.length == 0);
            if assembly.empty > EMPTY_FRAGMENTS_MAX {
                return Err(Broken::rule(close::POLICY, "a message has too many empty fragments"));
            }
        }
        self.frame = Some(Frame { left: head.length, mask: head.mask, is_last: head.is_last });
        Ok(())
    }

    /// Takes what has come of the frame's body.
    #[inline]
    fn take_body(&mut self, received: &mut [u8], input: &mut ReadBuf) -> usize {
        let Some(frame) = &mut self.frame else { return 0 };
        let here =
            usize::try_from(frame.left).map_or(received.len(), |left| left.min(received.len()));
        let body = &mut received[..here];
        if let Some(mask) = &mut frame.mask {
            apply_mask(body, *mask, 0);
            mask.rotate_left(here % 4);
        }
        match &mut self.assembly {
            Some(assembly) => assembly.bytes.extend_from_slice(body),
            None if here < GATHERED_BYTES_MAX => self.gathered.extend_from_slice(body),
            None => {
                input.append(&self.gathered);
                self.gathered.clear();
                input.append(body);
            }
        }
        frame.left -= here as u64;
        if frame.left > 0 {
            return here;
        }
        let is_last = frame.is_last;
        self.frame = None;
        if let Some(assembly) = self.assembly.take_if(|_| is_last) {
            self.gathered.extend_from_slice(&(assembly.bytes.len() as u64).to_be_bytes());
            input.append(&self.gathered);
            self.gathered.clear();
            input.append_shared(Bytes::from(assembly.bytes));
        }
        here
    }
}

/// Takes a control frame if it is whole.
fn control(
    head: &Head,
    used: usize,
    received: &mut [u8],
) -> Result<(usize, Option<Event>), Broken> {
    // Checked with the head: at most 125 bytes.
    let end = used + head.length as usize;
    let Some(body) = received.get_mut(used..end) else { return Ok((0, None)) };
    if let Some(mask) = head.mask {
        apply_mask(body, mask, 0);
    }
    let event = match head.opcode {
        Opcode::Ping => Some(Event::Ping(body.to_vec())),
        Opcode::Close => {
            let refused = |(code, rule)| Broken::rule(code, rule);
            Some(Event::Close(close::parse(body).map_err(refused)?))
        }
        _ => None,
    };
    Ok((end, event))
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;

    use super::super::frame::Masks;
    use super::super::sending::Framer;
    use super::*;

    /// The bytes received from `wire`, which arrives in two pieces, and how many bodies were passed on.
    fn received(wire: &[u8], cut: usize, masked: bool) -> (Vec<u8>, usize) {
        let mut deframer = Deframer::new(masked, ReceiveLimit::new(1 << 20));
        let mut input = ReadBuf::new().sharing();
        let (mut left, mut passed) = (Vec::new(), 0);
        for piece in [&wire[..cut], &wire[cut..]] {
            left.extend_from_slice(piece);
            loop {
                let (taken, outcome) = deframer.receive(&mut left, &mut input);
                left.drain(..taken);
                match outcome.expect("good frames") {
                    Some(Event::Body(length)) => {
                        passed += 1;
                        input.append_shared(left.drain(..length).collect::<Vec<u8>>().into());
                    }
                    None => break,
                    event => panic!("{event:?}"),
                }
            }
        }
        assert_eq!(left, [0; 0], "nothing is left of whole frames");
        (input.take(usize::MAX).to_vec(), passed)
    }

    /// Short messages, long ones, and one of several frames, cut at every place: the same stream comes
    /// out, and the bodies of those of a middle length are passed on.
    #[test]
    fn bodies_are_passed_on_where_they_lie_and_the_stream_is_the_same() {
        let bytes: Vec<u8> = (0..70).collect();
        let lengths = [3, 16, 0, 32, 70, 15, 31];
        let stream: Vec<u8> = lengths
            .iter()
            .flat_map(|length| [&(*length as u64).to_be_bytes(), &bytes[..*length]].concat())
            .collect();
        for masked in [false, true] {
            let mut framer = Framer::new(masked.then(Masks::new));
            let mut wire = Vec::new();
            framer.send(&[IoSlice::new(&stream)], &mut wire);
            for cut in 0..=wire.len() {
                assert_eq!(received(&wire, cut, masked), (stream.clone(), 3), "cut at {cut}");
            }
        }
    }

    /// A body that is passed on where it lies has a length within the limit too.
    #[test]
    fn a_whole_frame_over_the_limit_ends_with_its_code_although_all_of_it_is_there() {
        let limit = 20;
        for (length, code) in [(limit, None), (limit + 1, Some(close::TOO_LONG))] {
            let mut wire = Vec::new();
            let head = Head { is_last: true, opcode: Opcode::Binary, mask: None, length };
            head.write(&mut wire);
            wire.resize(wire.len() + length as usize, 7);
            let mut deframer = Deframer::new(false, ReceiveLimit::new(limit as usize));
            let (_, outcome) = deframer.receive(&mut wire, &mut ReadBuf::new());
            assert_eq!(outcome.err().map(|broken| broken.code), code, "{length} bytes");
        }
    }
}
