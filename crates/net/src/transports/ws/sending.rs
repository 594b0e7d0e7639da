//! The sending direction: messages of the SP stream become BINARY messages.
//!
//! The stream above is the one of tcp, each message behind eight bytes of length. Its bytes pass
//! through as they come: a frame's head is written as soon as the length is known, so no message is
//! held, and a small one costs no allocation.

use std::io::IoSlice;

use super::close;
use super::frame::{Head, Masks, Opcode, apply_mask};
use crate::transports::layered;

/// Bytes of a frame; longer messages go in several. NNG refuses frames of more than 1 MiB. A pong
/// waits for the end of the frame that is being sent, so for no more than a socket's buffer holds.
pub(super) const FRAME_BYTES_MAX: u64 = if cfg!(test) { 32 } else { 1024 * 1024 };

/// Bytes of the stream that are framed at a time: a connection with no room for more wakes its driver
/// for the rest, so with 64 KiB messages of 1 MiB came at three quarters of the rate.
pub(super) const SEND_BYTES_MAX: usize = 256 * 1024;

/// Bytes of length before each message of the stream.
const PREFIX_BYTES: usize = 8;

/// Turns the SP stream into frames.
#[derive(Debug)]
pub(super) struct Framer {
    /// The masks of a client; a server masks nothing.
    masks: Option<Masks>,
    /// Bytes that are framed at a time.
    send_max: usize,
    /// The length of the next message, as far as it has come.
    prefix: [u8; PREFIX_BYTES],
    prefix_used: usize,
    /// Bytes of the message behind the current frame.
    message_left: u64,
    /// Bytes of the current frame that have not come yet.
    frame_left: u64,
    /// The mask of the current frame, turned to its next byte.
    mask: Option<[u8; 4]>,
    /// The answer to the last ping, which goes out behind the current frame; earlier pings need none
    /// (section 5.5.3).
    pong: Option<Vec<u8>>,
}

impl Framer {
    pub(super) fn new(masks: Option<Masks>) -> Framer {
        Framer {
            masks,
            send_max: SEND_BYTES_MAX,
            prefix: [0; PREFIX_BYTES],
            prefix_used: 0,
            message_left: 0,
            frame_left: 0,
            mask: None,
            pong: None,
        }
    }

    /// Frames no more at a time than the layer below accepts: with four times as many, messages of
    /// 1 MiB over TLS came at four fifths of the rate.
    pub(super) fn over_layer(self) -> Framer {
        Framer { send_max: layered::SEND_BYTES_MAX, ..self }
    }

    /// Accepts bytes of the stream, up to the bound, and appends their frames to `out`.
    pub(super) fn send(&mut self, parts: &[IoSlice<'_>], out: &mut Vec<u8>) -> usize {
        let mut accepted = 0;
        for part in parts {
            let mut rest = &part[..part.len().min(self.send_max - accepted)];
            accepted += rest.len();
            while !rest.is_empty() {
                rest = if self.frame_left > 0 {
                    self.write_body(rest, out)
                } else {
                    self.read_prefix(rest, out)
                };
            }
        }
        accepted
    }

    /// Takes bytes of a length; if it is whole, begins the message.
    #[inline]
    fn read_prefix<'a>(&mut self, bytes: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
        let taken = bytes.len().min(PREFIX_BYTES - self.prefix_used);
        let (here, rest) = bytes.split_at(taken);
        self.prefix[self.prefix_used..self.prefix_used + taken].copy_from_slice(here);
        self.prefix_used += taken;
        if self.prefix_used == PREFIX_BYTES {
            self.prefix_used = 0;
            self.message_left = u64::from_be_bytes(self.prefix);
            self.begin_frame(Opcode::Binary, out);
        }
        rest
    }

    #[inline]
    fn begin_frame(&mut self, opcode: Opcode, out: &mut Vec<u8>) {
        let length = self.message_left.min(FRAME_BYTES_MAX);
        self.message_left -= length;
        self.frame_left = length;
        self.mask = self.masks.as_mut().map(Masks::next);
        Head { is_last: self.message_left == 0, opcode, mask: self.mask, length }.write(out);
    }

    #[inline]
    fn write_body<'a>(&mut self, bytes: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
        let here =
            usize::try_from(self.frame_left).map_or(bytes.len(), |left| left.min(bytes.len()));
        let (body, rest) = bytes.split_at(here);
        let from = out.len();
        out.extend_from_slice(body);
        if let Some(mask) = &mut self.mask {
            apply_mask(&mut out[from..], *mask, 0);
            mask.rotate_left(here % 4);
        }
        self.frame_left -= here as u64;
        if self.frame_left == 0 {
            self.write_pong(out);
            if self.message_left > 0 {
                self.begin_frame(Opcode::Continuation, out);
            }
        }
        rest
    }

    /// True unless a frame has begun and is not whole: control frames may go out.
    pub(super) fn is_between_frames(&self) -> bool {
        self.frame_left == 0
    }

    /// Answers a ping, now or behind the current frame.
    pub(super) fn pong(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        self.pong = Some(payload.to_vec());
        if self.is_between_frames() {
            self.write_pong(out);
        }
    }

    fn write_pong(&mut self, out: &mut Vec<u8>) {
        if let Some(payload) = self.pong.take() {
            close::write_control(Opcode::Pong, &payload, &mut self.masks, out);
        }
    }

    /// Appends a close frame. False if a frame is not whole: the peer would take the close for its
    /// body.
    pub(super) fn close(&mut self, code: Option<u16>, out: &mut Vec<u8>) -> bool {
        if self.is_between_frames() {
            close::write(code, &mut self.masks, out);
        }
        self.is_between_frames()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(messages: &[&[u8]]) -> Vec<u8> {
        let framed = |message: &&[u8]| [&(message.len() as u64).to_be_bytes(), *message].concat();
        messages.iter().flat_map(framed).collect()
    }

    /// The frames of `wire`, unmasked: opcode, last, body.
    fn frames(mut wire: &[u8]) -> Vec<(Opcode, bool, Vec<u8>)> {
        let mut seen = Vec::new();
        while !wire.is_empty() {
            let (head, used) = Head::parse(wire).unwrap().unwrap();
            let end = used + usize::try_from(head.length).unwrap();
            let mut body = wire[used..end].to_vec();
            if let Some(mask) = head.mask {
                apply_mask(&mut body, mask, 0);
            }
            seen.push((head.opcode, head.is_last, body));
            wire = &wire[end..];
        }
        seen
    }

    /// The stream comes in two pieces, cut at every place, and the frames hold the same messages.
    #[test]
    fn messages_become_frames_wherever_the_stream_is_cut() {
        let long: Vec<u8> = (0..70).collect();
        let wire = stream(&[b"one", b"", &long, &long[..32]]);
        for masked in [false, true] {
            for cut in 0..=wire.len() {
                let mut framer = Framer::new(masked.then(Masks::new));
                let mut out = Vec::new();
                for part in [&wire[..cut], &wire[cut..]] {
                    assert_eq!(framer.send(&[IoSlice::new(part)], &mut out), part.len());
                }
                let expected = [
                    (Opcode::Binary, true, b"one".to_vec()),
                    (Opcode::Binary, true, Vec::new()),
                    (Opcode::Binary, false, long[..32].to_vec()),
                    (Opcode::Continuation, false, long[32..64].to_vec()),
                    (Opcode::Continuation, true, long[64..].to_vec()),
                    (Opcode::Binary, true, long[..32].to_vec()),
                ];
                assert_eq!(frames(&out), expected, "cut at {cut}");
            }
        }
    }

    #[test]
    fn a_pong_waits_for_the_end_of_a_frame_and_a_close_is_not_put_into_one() {
        let wire = stream(&[b"four"]);
        let mut framer = Framer::new(None);
        let mut out = Vec::new();
        framer.send(&[IoSlice::new(&wire[..10])], &mut out);
        framer.pong(b"first", &mut out);
        framer.pong(b"last", &mut out);
        assert!(!framer.close(None, &mut out));
        framer.send(&[IoSlice::new(&wire[10..])], &mut out);
        assert!(framer.close(Some(1000), &mut out));
        let expected = [
            (Opcode::Binary, true, b"four".to_vec()),
            (Opcode::Pong, true, b"last".to_vec()),
            (Opcode::Close, true, vec![3, 232]),
        ];
        assert_eq!(frames(&out), expected);
    }

    #[test]
    fn no_more_is_accepted_at_a_time_than_the_layer_may_hold() {
        let bytes = stream(&[&vec![7; 2 * SEND_BYTES_MAX]]);
        let parts = [IoSlice::new(&bytes[..8]), IoSlice::new(&bytes[8..])];
        for (mut framer, most) in [
            (Framer::new(None), SEND_BYTES_MAX),
            (Framer::new(None).over_layer(), layered::SEND_BYTES_MAX),
        ] {
            assert_eq!(framer.send(&parts, &mut Vec::new()), most);
        }
    }
}
