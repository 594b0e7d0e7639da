//! The limit over WebSocket: frames of RFC 6455, of which a client masks its own, without the upgrade,
//! which is over before the clock starts.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::{self, Read, Write};

use super::{Outlet, Stream};

/// Bytes of a key by which a frame is masked.
pub(in crate::participants::raw) const KEY_BYTES: usize = 4;

/// The first byte of a frame that is a whole binary message.
const WHOLE_BINARY: u8 = 0x82;
/// The first byte of a frame that ends the direction, and its second where nothing is masked.
const CLOSE: [u8; 2] = [0x88, 0];
/// The bit of the second byte that says that a frame is masked.
const MASKED: u8 = 0x80;
/// Bytes of a head: two of type and length, eight of a long length, and the key.
const HEAD_BYTES_MAX: usize = 2 + 8 + KEY_BYTES;

/// Bytes that are read at once.
const INBOX_BYTES: usize = 128 << 10;

/// The head of a frame of `length` bytes, without its key.
pub(in crate::participants::raw) fn head(length: u64, is_masked: bool) -> Vec<u8> {
    let masked = if is_masked { MASKED } else { 0 };
    match length {
        0..126 => vec![WHOLE_BINARY, masked | length as u8],
        126..0x1_0000 => {
            let [high, low] = (length as u16).to_be_bytes();
            vec![WHOLE_BINARY, masked | 126, high, low]
        }
        _ => [&[WHOLE_BINARY, masked | 127][..], &length.to_be_bytes()].concat(),
    }
}

/// Masks or unmasks, eight bytes at a time, of which the compiler makes vectors.
#[inline]
pub(in crate::participants::raw) fn mask(bytes: &mut [u8], key: [u8; KEY_BYTES]) {
    let [a, b, c, d] = key;
    let word = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for bytes in words {
        *bytes = (u64::from_ne_bytes(*bytes) ^ word).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(word.to_ne_bytes()) {
        *byte ^= key;
    }
}

/// The keys of a client, of which nobody who writes the messages knows the next: SplitMix64.
pub(in crate::participants::raw) struct Keys(u64);

impl Keys {
    pub(in crate::participants::raw) fn new() -> Keys {
        Keys(RandomState::new().hash_one(0))
    }

    #[inline]
    pub(in crate::participants::raw) fn next(&mut self) -> [u8; KEY_BYTES] {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let [a, b, c, d, ..] = (mixed ^ (mixed >> 31)).to_le_bytes();
        [a, b, c, d]
    }
}

/// `below`, in frames: one for each write. For a stream of bytes; messages that must stay apart are
/// framed where they are written.
pub(in crate::participants::raw) fn over(below: Stream, is_client: bool) -> Stream {
    let Stream { reader, writer, socket } = below;
    let keys = is_client.then(Keys::new);
    let reader = FrameReader {
        below: reader,
        is_client,
        inbox: vec![0; INBOX_BYTES],
        start: 0,
        end: 0,
        left: 0,
        key: [0; KEY_BYTES],
    };
    let writer = FrameWriter { below: writer, keys, out: Vec::new() };
    Stream { reader: Box::new(reader), writer: Box::new(writer), socket }
}

struct FrameWriter {
    below: Box<dyn Outlet>,
    /// The masking keys of a client.
    keys: Option<Keys>,
    out: Vec<u8>,
}

impl Write for FrameWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.clear();
        self.out.extend(head(bytes.len() as u64, self.keys.is_some()));
        if let Some(keys) = &mut self.keys {
            let key = keys.next();
            self.out.extend(key);
            let body = self.out.len();
            self.out.extend_from_slice(bytes);
            mask(&mut self.out[body..], key);
        } else {
            self.out.extend_from_slice(bytes);
        }
        self.below.write_all(&self.out)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Outlet for FrameWriter {
    fn finish(&mut self) -> io::Result<()> {
        let [kind, length] = CLOSE;
        match &mut self.keys {
            Some(keys) => {
                self.below.write_all(&[&[kind, MASKED | length][..], &keys.next()].concat())?;
            }
            None => self.below.write_all(&CLOSE)?,
        }
        self.below.finish()
    }
}

struct FrameReader {
    below: Box<dyn Read + Send>,
    is_client: bool,
    inbox: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes of the current frame that were not taken yet.
    left: usize,
    /// Turned to the next byte.
    key: [u8; KEY_BYTES],
}

impl FrameReader {
    /// Reads more behind what is there. False at the end.
    fn fill(&mut self) -> io::Result<bool> {
        self.inbox.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let read = self.below.read(&mut self.inbox[self.end..])?;
        self.end += read;
        Ok(read > 0)
    }

    /// Takes the head of the next frame; false if it is not whole.
    fn take_head(&mut self) -> io::Result<bool> {
        let (length, used, kind) = {
            let [kind, second, rest @ ..] = &self.inbox[self.start..self.end] else {
                return Ok(false);
            };
            if (second & MASKED != 0) == self.is_client {
                return Err(io::Error::other("a frame that is masked by the wrong end"));
            }
            let long = match second & 0x7f {
                126 => 2,
                127 => 8,
                _ => 0,
            };
            let key = if self.is_client { 0 } else { KEY_BYTES };
            if rest.len() < long + key {
                return Ok(false);
            }
            let bytes = rest[..long].iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            self.key = [0; KEY_BYTES];
            self.key[..key].copy_from_slice(&rest[long..long + key]);
            (if long > 0 { bytes } else { usize::from(second & 0x7f) }, 2 + long + key, *kind)
        };
        match kind {
            WHOLE_BINARY => {}
            // Its direction ends, and the stream below with it.
            _ if kind == CLOSE[0] && length == 0 => {}
            _ => return Err(io::Error::other("a frame that no end of the limit sends")),
        }
        (self.start, self.left) = (self.start + used, length);
        Ok(true)
    }
}

impl Read for FrameReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut taken = 0;
        // The bytes of all frames that are there, as far as there is room.
        while taken < bytes.len() {
            if self.left == 0 {
                if !self.take_head()? && (taken > 0 || !self.fill()?) {
                    break;
                }
                continue;
            }
            let here = self.left.min(self.end - self.start).min(bytes.len() - taken);
            if here == 0 {
                if taken > 0 {
                    break;
                }
                if !self.fill()? {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                continue;
            }
            let body = &mut bytes[taken..taken + here];
            body.copy_from_slice(&self.inbox[self.start..self.start + here]);
            mask(body, self.key);
            self.key.rotate_left(here % KEY_BYTES);
            (self.start, self.left, taken) = (self.start + here, self.left - here, taken + here);
        }
        Ok(taken)
    }
}

const _: () = assert!(INBOX_BYTES > HEAD_BYTES_MAX);
