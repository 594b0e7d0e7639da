//! Room for what rustls writes: it writes into a slice, and says how long that must be.

use rustls::Error;
use rustls::unbuffered::{EncodeError, EncryptError};

/// Why rustls has written nothing.
pub(super) enum Shortage {
    /// It needs this much room.
    Room(usize),
    /// It never will.
    Failed(Error),
}

impl From<EncodeError> for Shortage {
    fn from(error: EncodeError) -> Shortage {
        match error {
            EncodeError::InsufficientSize(needed) => Shortage::Room(needed.required_size),
            other => Shortage::Failed(Error::General(other.to_string())),
        }
    }
}

impl From<EncryptError> for Shortage {
    fn from(error: EncryptError) -> Shortage {
        match error {
            EncryptError::InsufficientSize(needed) => Shortage::Room(needed.required_size),
            other => Shortage::Failed(Error::General(other.to_string())),
        }
    }
}

/// Appends what `write` writes into `room` bytes behind `out`, or as many as it says that it needs.
pub(super) fn append(
    out: &mut Vec<u8>,
    room: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, Shortage>,
) -> Result<(), Error> {
    let (start, mut room) = (out.len(), room);
    loop {
        out.resize(start + room, 0);
        match write(&mut out[start..]) {
            Ok(written) => {
                out.truncate(start + written);
                return Ok(());
            }
            Err(Shortage::Room(needed)) if needed > room => room = needed,
            Err(shortage) => {
                out.truncate(start);
                return Err(match shortage {
                    Shortage::Failed(error) => error,
                    Shortage::Room(_) => Error::EncryptError,
                });
            }
        }
    }
}
