//! The permissions of an ipc socket file.

use wigwag_sp::OutOfRange;

/// The permissions of an ipc socket file: a process that may write to it may connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions(u32);

impl Permissions {
    /// Bits as for `chmod`, at most 0o777.
    pub const fn new(mode: u32) -> Result<Permissions, OutOfRange> {
        if mode <= 0o777 {
            return Ok(Permissions(mode));
        }
        let (what, given) = ("the permissions of a socket file", mode as u64);
        Err(OutOfRange { what, given, least: 0, most: 0o777, unit: "(in decimal)" })
    }

    /// The bits.
    pub const fn mode(self) -> u32 {
        self.0
    }

    /// True if processes of other users may connect.
    #[cfg(feature = "shm")]
    pub(crate) fn admit_others(self) -> bool {
        self.0 & 0o077 != 0
    }
}

impl Default for Permissions {
    /// The owner alone: 0o600. nanomsg, NNG and mangos leave it to the umask.
    fn default() -> Permissions {
        Permissions(0o600)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_limited_to_what_the_system_accepts() {
        assert!(Permissions::new(0o1000).is_err());
        assert_eq!(Permissions::new(0o777).unwrap().mode(), 0o777);
        assert_eq!(Permissions::default().mode(), 0o600);
    }
}
