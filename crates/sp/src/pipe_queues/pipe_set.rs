//! A set of pipes in the order in which they are served: by priority, and within one in turn.
//!
//! It is a sorted list: a look-up is a binary search; inserting and removing shift the entries
//! behind, which takes some 100 ns for a thousand pipes. A tree would free its memory with the last
//! pipe and allocate it again with the next, twice for every message to a peer that keeps up.

use alloc::vec::Vec;

use crate::{PipeId, Priority};

/// A sorted set of pipes.
#[derive(Debug, Default)]
pub(crate) struct PipeSet {
    /// Invariant: sorted, and no pipe twice.
    pipes: Vec<(Priority, PipeId)>,
}

impl PipeSet {
    pub(crate) fn insert(&mut self, priority: Priority, pipe: PipeId) {
        if let Err(place) = self.pipes.binary_search(&(priority, pipe)) {
            self.pipes.insert(place, (priority, pipe));
        }
    }

    /// Removes the pipe; true if it was in the set.
    pub(crate) fn remove(&mut self, priority: Priority, pipe: PipeId) -> bool {
        match self.pipes.binary_search(&(priority, pipe)) {
            Ok(place) => {
                self.pipes.remove(place);
                true
            }
            Err(_) => false,
        }
    }

    pub(crate) fn contains(&self, priority: Priority, pipe: PipeId) -> bool {
        self.pipes.binary_search(&(priority, pipe)).is_ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pipes.is_empty()
    }

    /// The pipe, if the set has one pipe only.
    #[inline]
    pub(crate) fn only(&self) -> Option<PipeId> {
        let [(_, pipe)] = self.pipes[..] else { return None };
        Some(pipe)
    }

    /// The first priority that has a pipe in the set.
    pub(crate) fn first_priority(&self) -> Option<Priority> {
        self.pipes.first().map(|(priority, _)| *priority)
    }

    /// The next pipe of `priority` after `turn`, wrapping around.
    pub(crate) fn after(&self, priority: Priority, turn: Option<PipeId>) -> Option<PipeId> {
        let from = self.pipes.partition_point(|entry| entry.0 < priority);
        let behind = match turn {
            Some(turn) => self.pipes.partition_point(|entry| *entry <= (priority, turn)),
            None => from,
        };
        let of_priority = |place: usize| {
            let (own, pipe) = *self.pipes.get(place)?;
            (own == priority).then_some(pipe)
        };
        of_priority(behind).or_else(|| of_priority(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_of_one_priority_take_turns_and_the_others_are_skipped() {
        let (first, last) = (Priority::FIRST, Priority::LAST);
        let mut set = PipeSet::default();
        for pipe in [7, u32::MAX, 1] {
            set.insert(last, PipeId(pipe));
        }
        set.insert(first, PipeId(5));
        assert_eq!(set.first_priority(), Some(first));
        for (turn, next) in [(None, 1), (Some(1), 7), (Some(7), u32::MAX), (Some(u32::MAX), 1)] {
            assert_eq!(set.after(last, turn.map(PipeId)), Some(PipeId(next)));
        }
        assert_eq!(set.after(first, Some(PipeId(5))), Some(PipeId(5)));
        assert_eq!(set.after(Priority::default(), None), None);
        assert!(set.remove(first, PipeId(5)) && !set.remove(first, PipeId(5)));
        assert_eq!(set.first_priority(), Some(last));
        assert!(set.contains(last, PipeId(7)) && !set.contains(first, PipeId(7)));
    }
}
