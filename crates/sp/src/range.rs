//! Numbers that are checked once, where the user gives them.

use core::fmt;

/// A number that a setting does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} cannot be {given}: {least} to {most}{} are allowed", Unit(.unit))]
pub struct OutOfRange {
    /// What was to be set.
    pub what: &'static str,
    /// What was given.
    pub given: u64,
    /// The least that may be set.
    pub least: u64,
    /// The most that may be set.
    pub most: u64,
    /// What the numbers count; empty for plain numbers.
    pub unit: &'static str,
}

struct Unit<'a>(&'a str);

impl fmt::Display for Unit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " {}", self.0) }
    }
}

/// Which peers come first: 1 before 2, and so on to 16, with 8 unless set; the meaning is that of
/// nanomsg's `NN_SNDPRIO` and `NN_RCVPRIO`.
///
/// A message goes to a peer of a later rank only while none of an earlier one has room, and what a
/// peer of a later rank has sent is given out only when nothing of an earlier one waits. Within a
/// rank, peers take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    /// Before all others.
    pub const FIRST: Priority = Priority(1);
    /// After all others.
    pub const LAST: Priority = Priority(16);

    /// A rank from 1 to 16.
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

/// Messages that a queue of one pipe may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueLength(u32);

impl QueueLength {
    /// The longest that may be set. A message takes some 64 bytes beside its body, so it is 4 MiB
    /// a pipe.
    pub const MAX: QueueLength = QueueLength(65_536);

    /// From 1 to 65,536 messages. None at all is not possible: a message that is on its way lies
    /// in the queue.
    pub const fn new(messages: usize) -> Result<QueueLength, OutOfRange> {
        if messages >= 1 && messages <= QueueLength::MAX.get() {
            return Ok(QueueLength(messages as u32));
        }
        let (what, given, most) = ("a queue", messages as u64, QueueLength::MAX.0 as u64);
        Err(OutOfRange { what, given, least: 1, most, unit: "messages" })
    }

    /// The number.
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
    fn a_queue_has_one_place_at_least_and_65536_at_most() {
        assert_eq!(QueueLength::new(1).map(QueueLength::get), Ok(1));
        assert_eq!(QueueLength::new(65_536), Ok(QueueLength::MAX));
        let text = QueueLength::new(0).unwrap_err().to_string();
        assert_eq!(text, "a queue cannot be 0: 1 to 65536 messages are allowed");
        assert!(QueueLength::new(65_537).is_err());
    }
}
