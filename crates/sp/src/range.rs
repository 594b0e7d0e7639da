//! Numbers with bounds, checked once where the user gives them.

use core::fmt;

/// A number outside the range of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} cannot be {given}: {least} to {most}{} are allowed", Unit(.unit))]
pub struct OutOfRange {
    /// The name of the setting.
    pub what: &'static str,
    /// The number that was given.
    pub given: u64,
    /// The smallest allowed number.
    pub least: u64,
    /// The largest allowed number.
    pub most: u64,
    /// The unit of the numbers; empty for plain numbers.
    pub unit: &'static str,
}

struct Unit<'a>(&'a str);

impl fmt::Display for Unit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " {}", self.0) }
    }
}

/// The rank of a peer among the others: 1 comes before 2, up to 16; 8 unless set. The meaning is
/// that of nanomsg's `NN_SNDPRIO` and `NN_RCVPRIO`.
///
/// A message goes to a peer of a later rank only while no peer of an earlier one has room, and
/// messages of a later rank are received only when no message of an earlier one waits. Within a
/// rank, peers take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    /// Before all others.
    pub const FIRST: Priority = Priority(1);
    /// After all others.
    pub const LAST: Priority = Priority(16);

    /// A priority from a rank of 1 to 16.
    pub const fn new(rank: u8) -> Result<Priority, OutOfRange> {
        if rank >= Priority::FIRST.0 && rank <= Priority::LAST.0 {
            return Ok(Priority(rank));
        }
        let given = rank as u64;
        Err(OutOfRange { what: "a priority", given, least: 1, most: 16, unit: "" })
    }

    /// The rank.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    /// Eight, as in nanomsg.
    fn default() -> Priority {
        Priority(8)
    }
}

/// The length of a pipe's queue, in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueLength(u32);

impl QueueLength {
    /// The longest queue. A message takes some 64 bytes beside its body, so it is 4 MiB a pipe.
    pub const MAX: QueueLength = QueueLength(65_536);

    /// A length of 1 to 65,536 messages. Zero is not possible: a message on its way is in the
    /// queue.
    pub const fn new(messages: usize) -> Result<QueueLength, OutOfRange> {
        if messages >= 1 && messages <= QueueLength::MAX.get() {
            return Ok(QueueLength(messages as u32));
        }
        let (what, given, most) = ("a queue", messages as u64, QueueLength::MAX.0 as u64);
        Err(OutOfRange { what, given, least: 1, most, unit: "messages" })
    }

    /// The length in messages.
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn priorities_are_one_to_sixteen_and_the_error_says_so() {
        assert_eq!(Priority::new(1), Ok(Priority::FIRST));
        assert_eq!(Priority::new(16), Ok(Priority::LAST));
        assert_eq!(Priority::new(8), Ok(Priority::default()));
        for rank in [0, 17, 255] {
            let text = Priority::new(rank).unwrap_err().to_string();
            assert_eq!(text, alloc::format!("a priority cannot be {rank}: 1 to 16 are allowed"));
        }
    }

    #[test]
    fn a_queue_holds_1_to_65536_messages() {
        assert_eq!(QueueLength::new(1).map(QueueLength::get), Ok(1));
        assert_eq!(QueueLength::new(65_536), Ok(QueueLength::MAX));
        let text = QueueLength::new(0).unwrap_err().to_string();
        assert_eq!(text, "a queue cannot be 0: 1 to 65536 messages are allowed");
        assert!(QueueLength::new(65_537).is_err());
    }
}
