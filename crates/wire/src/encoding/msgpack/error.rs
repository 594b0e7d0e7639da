//! Why bytes are no value.

use crate::Short;

/// Why bytes could not be decoded as the expected value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end inside the value.
    #[error("the bytes end inside a value, expected {expected}")]
    Short {
        /// The expected type or value.
        expected: &'static str,
    },
    /// The bytes hold another type.
    #[error("expected {expected}, found MessagePack marker 0x{found:02x}")]
    WrongType {
        /// The expected type or value.
        expected: &'static str,
        /// The first byte of the other value.
        found: u8,
    },
    /// A number that the type cannot hold, or an array of the wrong length.
    #[error("the value does not fit {expected}")]
    OutOfRange {
        /// The expected type or value.
        expected: &'static str,
    },
    /// Text that is not UTF-8.
    #[error("text is not UTF-8")]
    NotUtf8,
    /// Arrays or maps nested deeper than [`crate::reader::DEPTH_MAX`].
    #[error("values nest deeper than {} levels", crate::reader::DEPTH_MAX)]
    TooDeep,
    /// The sender could not encode the value.
    #[error("the sender could not encode the value of type {expected}")]
    NotEncoded {
        /// The expected type.
        expected: &'static str,
    },
    /// A reference to an actor, or a stream, where no session is read.
    #[error(
        "a reference to an actor, or a stream, can only be read from a call or a reply of a session"
    )]
    NeedsSession,
    /// A reference to an actor that leads nowhere.
    #[error("a reference leads to no actor: {why}")]
    BadReference {
        /// The reason.
        why: &'static str,
    },
    /// A stream that cannot be read.
    #[error("a stream cannot be read: {why}")]
    BadStream {
        /// The reason.
        why: &'static str,
    },
    /// A value of a type that does not travel.
    #[error("a value that lives in its own process only cannot be read")]
    NotSerializable,
}

impl From<Short> for DecodeError {
    fn from(_: Short) -> DecodeError {
        DecodeError::Short { expected: "more bytes" }
    }
}
