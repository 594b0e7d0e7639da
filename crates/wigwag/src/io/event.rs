//! Input events: pieces, a notice for a line that was too long, and the end.

use std::fmt;
use std::io;
use std::ops::Deref;
use std::str::Utf8Error;
use std::sync::Arc;

use bytes::Bytes;

use super::task::credit::PieceCredit;

/// An event of a stream, a file or a listener.
#[derive(Debug)]
pub enum Event<T> {
    /// The next piece.
    Got(T),
    /// A line was longer than this many bytes. It is skipped to its end; this comes once for it, as
    /// soon as it is known.
    TooLong {
        /// The limit.
        line_bytes_max: usize,
    },
    /// There will be no more: the last message, exactly one, behind all others.
    End(End),
}

/// Why there is no more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// The other side has closed in good order, or the file is read to its end.
    Closed,
    /// This side has closed it.
    Stopped,
    /// The system reported an error.
    Failed {
        /// Of which kind.
        kind: io::ErrorKind,
        /// In its words.
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

/// A line without its end, which is `\n` or `\r\n`. It counts against the input's credit until it is
/// dropped or [taken apart](Line::into_bytes).
#[derive(Debug)]
pub struct Line {
    bytes: Bytes,
    whole: bool,
    _held: PieceCredit,
}

impl Line {
    /// The bytes, which need be no text.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The text.
    ///
    /// # Errors
    /// When it is not UTF-8.
    pub fn text(&self) -> Result<&str, Utf8Error> {
        std::str::from_utf8(&self.bytes)
    }

    /// The bytes alone: the credit goes back.
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// False when the input ended, or its file was cut or replaced, before the line did.
    pub fn is_whole(&self) -> bool {
        self.whole
    }
}

/// Bytes as they came in one read. They count against the input's credit until they are dropped or
/// [taken apart](Chunk::into_bytes).
#[derive(Debug)]
pub struct Chunk {
    bytes: Bytes,
    _held: PieceCredit,
}

impl Chunk {
    /// The bytes alone: the credit goes back.
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

/// How a stream is cut.
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
