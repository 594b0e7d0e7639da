//! The head of a WebSocket frame (RFC 6455, section 5.2), and masks.

use std::hash::{BuildHasher, RandomState};

/// Largest size of a frame's head.
pub(super) const HEAD_BYTES_MAX: usize = 14;

/// Most bytes that a control frame may carry.
pub(super) const CONTROL_BYTES_MAX: usize = 125;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opcode {
    /// A further part of a message.
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl Opcode {
    fn of(bits: u8) -> Option<Opcode> {
        Some(match bits {
            0 => Opcode::Continuation,
            1 => Opcode::Text,
            2 => Opcode::Binary,
            8 => Opcode::Close,
            9 => Opcode::Ping,
            10 => Opcode::Pong,
            _ => return None,
        })
    }

    fn bits(self) -> u8 {
        match self {
            Opcode::Continuation => 0,
            Opcode::Text => 1,
            Opcode::Binary => 2,
            Opcode::Close => 8,
            Opcode::Ping => 9,
            Opcode::Pong => 10,
        }
    }

    pub(super) fn is_control(self) -> bool {
        matches!(self, Opcode::Close | Opcode::Ping | Opcode::Pong)
    }
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The last frame of its message.
    pub(super) is_last: bool,
    pub(super) opcode: Opcode,
    pub(super) mask: Option<[u8; 4]>,
    /// Bytes behind the head.
    pub(super) length: u64,
}

impl Head {
    /// Parses the head at the front of `bytes`, and returns its length too. `None` if it is not
    /// whole.
    ///
    /// # Errors
    /// The rule that the head breaks by itself, whatever came before.
    #[inline]
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>, &'static str> {
        let Some(([first, second], mut rest)) = bytes.split_first_chunk::<2>() else {
            return Ok(None);
        };
        if first & 0x70 != 0 {
            return Err("a reserved bit of a frame is set, and no extension was agreed on");
        }
        let Some(opcode) = Opcode::of(first & 0x0f) else {
            return Err("a frame has a reserved opcode");
        };
        let is_last = first & 0x80 != 0;
        let (length, least) = match second & 0x7f {
            126 => {
                let Some((length, behind)) = rest.split_first_chunk::<2>() else { return Ok(None) };
                rest = behind;
                (u64::from(u16::from_be_bytes(*length)), 126)
            }
            127 => {
                let Some((length, behind)) = rest.split_first_chunk::<8>() else { return Ok(None) };
                rest = behind;
                (u64::from_be_bytes(*length), 0x1_0000)
            }
            short => (u64::from(short), 0),
        };
        if length < least {
            return Err("the length of a frame is not in its shortest form");
        }
        if length >= 1 << 63 {
            return Err("the length of a frame has its highest bit set");
        }
        if opcode.is_control() && !is_last {
            return Err("a control frame is fragmented");
        }
        if opcode.is_control() && length > CONTROL_BYTES_MAX as u64 {
            return Err("a control frame is longer than 125 bytes");
        }
        let mut mask = None;
        if second & 0x80 != 0 {
            let Some((key, behind)) = rest.split_first_chunk::<4>() else { return Ok(None) };
            rest = behind;
            mask = Some(*key);
        }
        Ok(Some((Head { is_last, opcode, mask, length }, bytes.len() - rest.len())))
    }

    /// Appends the head in its shortest form.
    #[inline]
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut bytes = [0; HEAD_BYTES_MAX];
        bytes[0] = (u8::from(self.is_last) << 7) | self.opcode.bits();
        let masked = u8::from(self.mask.is_some()) << 7;
        let mut used = match self.length {
            0..126 => {
                bytes[1] = masked | self.length as u8;
                2
            }
            126..0x1_0000 => {
                bytes[1] = masked | 126;
                bytes[2..4].copy_from_slice(&(self.length as u16).to_be_bytes());
                4
            }
            _ => {
                bytes[1] = masked | 127;
                bytes[2..10].copy_from_slice(&self.length.to_be_bytes());
                10
            }
        };
        if let Some(mask) = self.mask {
            bytes[used..used + 4].copy_from_slice(&mask);
            used += 4;
        }
        out.extend_from_slice(&bytes[..used]);
    }
}

/// Masks or unmasks `bytes`, of which the first is byte `at` of its frame. Words of eight bytes: the
/// compiler makes vectors of them.
#[inline]
pub(super) fn apply_mask(bytes: &mut [u8], mask: [u8; 4], at: usize) {
    let mut turned = mask;
    turned.rotate_left(at % 4);
    let [a, b, c, d] = turned;
    let word = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for bytes in words {
        *bytes = (u64::from_ne_bytes(*bytes) ^ word).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(word.to_ne_bytes()) {
        *byte ^= key;
    }
}

/// The masks of one connection's frames.
///
/// A mask keeps a page in a browser from choosing the bytes on the wire, which could confuse a
/// proxy. Here the program that sends is the one that runs, so a mask must differ from frame to
/// frame and be unknown to the author of the data, not withstand an observer of the wire: a generator
/// (SplitMix64) that starts at a number of the system suffices, and a call of the system for each
/// frame would cost more than the frame.
#[derive(Debug)]
pub(super) struct Masks(u64);

impl Masks {
    pub(super) fn new() -> Masks {
        Masks(random())
    }

    #[inline]
    pub(super) fn next(&mut self) -> [u8; 4] {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let [a, b, c, d, ..] = (mixed ^ (mixed >> 31)).to_le_bytes();
        [a, b, c, d]
    }
}

/// A random number: the standard library seeds its hash maps with one of the system.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_back_and_survives_being_torn() {
        for length in [0, 1, 125, 126, 65_535, 65_536, (1 << 63) - 1] {
            for mask in [None, Some([1, 2, 3, 4])] {
                let head = Head { is_last: length % 2 == 0, opcode: Opcode::Binary, mask, length };
                let mut bytes = Vec::new();
                head.write(&mut bytes);
                assert_eq!(Head::parse(&bytes), Ok(Some((head, bytes.len()))));
                for cut in 0..bytes.len() {
                    assert_eq!(Head::parse(&bytes[..cut]), Ok(None), "{length} torn at {cut}");
                }
            }
        }
    }

    #[test]
    fn a_length_in_a_longer_form_than_it_needs_is_refused() {
        let head = |form: u8, length: &[u8]| [&[0x82, form], length].concat();
        let two = |length: u16| Head::parse(&head(126, &length.to_be_bytes())).is_err();
        let eight = |length: u64| Head::parse(&head(127, &length.to_be_bytes())).is_err();
        assert_eq!([0, 125, 126, 0xffff].map(two), [true, true, false, false]);
        assert_eq!([0, 126, 0xffff, 0x1_0000].map(eight), [true, true, true, false]);
    }

    #[test]
    fn the_examples_of_the_specification_are_understood() {
        // RFC 6455, section 5.7: "Hello" masked, and a binary message of 65,536 bytes.
        let mut hello = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        let (head, used) = Head::parse(&hello).unwrap().unwrap();
        assert_eq!((head.opcode, head.length, head.is_last), (Opcode::Text, 5, true));
        apply_mask(&mut hello[used..], head.mask.unwrap(), 0);
        assert_eq!(&hello[used..], b"Hello");
        let long = [0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0];
        assert_eq!(Head::parse(&long).unwrap().unwrap().0.length, 65_536);
    }

    #[test]
    fn a_mask_applied_in_parts_equals_one_applied_at_once() {
        let mask = [0x12, 0x34, 0x56, 0x78];
        let plain: Vec<u8> = (0..100).collect();
        let byte_by_byte: Vec<u8> =
            plain.iter().zip(mask.iter().cycle()).map(|(byte, key)| byte ^ key).collect();
        for cut in 0..plain.len() {
            let mut bytes = plain.clone();
            let (left, right) = bytes.split_at_mut(cut);
            apply_mask(left, mask, 0);
            apply_mask(right, mask, cut);
            assert_eq!(bytes, byte_by_byte, "{cut}");
        }
    }

    #[test]
    fn masks_differ_between_frames_and_connections() {
        let (mut one, mut other) = (Masks::new(), Masks::new());
        assert_ne!(one.next(), one.next());
        assert_ne!([one.next(), one.next()], [other.next(), other.next()]);
    }
}
