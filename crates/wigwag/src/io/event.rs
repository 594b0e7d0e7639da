//! Events of a stream, a file or a listener: pieces, a notice for a line that is too long, and the
//! end.

use std::fmt;
use std::io;
use std::ops::Deref;
use std::str::Utf8Error;
use std::sync::Arc;

use bytes::Bytes;

use super::task::credit::PieceCredit;

/// An event of a stream, a file or a listener; see [the module](crate::io) for an example.
#[derive(Debug)]
pub enum Event<T> {
    /// The next piece.
    Got(T),
    /// A line was longer than the limit. It is skipped to its end; this event comes once for it, as
    /// soon as that is known.
    TooLong {
        /// The limit in bytes.
        line_bytes_max: usize,
    },
    /// Nothing more will arrive: the last event, exactly one.
    End(End),
}

/// Why an input or output has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// The other side has closed in good order, or the file was read to its end.
    Closed,
    /// This side has closed it.
    Stopped,
    /// The system reported an error.
    Failed {
        /// The kind of the error.
        kind: io::ErrorKind,
        /// The text of the error.
        text: Arc<str>,
    },
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> End {
        End::Failed { kind: error.kind(), text: error.to_string().into() }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Closed => f.write_str("the other side has closed"),
            End::Stopped => f.write_str("this side has closed"),
            End::Failed { text, .. } => write!(f, "the system reported: {text}"),
        }
    }
}

/// A line without its terminator, `\n` or `\r\n`; see [the module](crate::io) for an example.
///
/// It counts against the input's credit until it is dropped or [taken apart](Line::into_bytes).
#[derive(Debug)]
pub struct Line {
    bytes: Bytes,
    whole: bool,
    _held: PieceCredit,
}

impl Line {
    /// The bytes, which may be any, not only text.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes as text.
    ///
    /// # Errors
    /// If they are not valid UTF-8.
    pub fn text(&self) -> Result<&str, Utf8Error> {
        std::str::from_utf8(&self.bytes)
    }

    /// Takes the bytes out and returns the credit.
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// False if the input ended, or its file was truncated or replaced, before the line's
    /// terminator.
    pub fn is_whole(&self) -> bool {
        self.whole
    }
}

/// The bytes of one read, from [`chunks`](super::chunks) or [`chunks_of`](super::chunks_of).
///
/// They count against the input's credit until they are dropped or [taken
/// apart](Chunk::into_bytes).
#[derive(Debug)]
pub struct Chunk {
    bytes: Bytes,
    _held: PieceCredit,
}

impl Chunk {
    /// Takes the bytes out and returns the credit.
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

impl Deref for Chunk {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A unit that a stream is split into: [`Line`] or [`Chunk`].
pub trait Piece: Sized + Send + 'static {
    #[doc(hidden)]
    const LINES: bool;

    #[doc(hidden)]
    fn new(bytes: Bytes, is_whole: bool, held: PieceCredit) -> Self;
}

impl Piece for Line {
    const LINES: bool = true;

    fn new(bytes: Bytes, is_whole: bool, held: PieceCredit) -> Line {
        Line { bytes, whole: is_whole, _held: held }
    }
}

impl Piece for Chunk {
    const LINES: bool = false;

    fn new(bytes: Bytes, _: bool, held: PieceCredit) -> Chunk {
        Chunk { bytes, _held: held }
    }
}

/// Lets a type be an argument between actors of this process, and no further, as
/// [`Local`](crate::Local) does.
macro_rules! not_serializable {
    ($(($($generic:ident)?) $kind:ty),+ $(,)?) => { $(
        impl<$($generic)?> wigwag_wire::Encode for $kind {
            const TRAVELS: bool = false;
            const IS_PLAIN: bool = true;

            fn encode(&self, out: &mut wigwag_wire::Buffer) {
                wigwag_wire::Encode::encode(&(), out);
            }
        }

        /// Always an error.
        impl<'a, $($generic)?> wigwag_wire::Decode<'a> for $kind {
            fn decode(
                _: &mut wigwag_wire::Reader<'a>,
            ) -> Result<Self, wigwag_wire::DecodeError> {
                Err(wigwag_wire::DecodeError::NotSerializable)
            }
        }
    )+ };
}

pub(super) use not_serializable;

not_serializable!((T) Event<T>, () Line, () Chunk);
