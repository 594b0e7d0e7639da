//! The buffers of one thread, found by their targets.
//!
//! A turn that writes to a thousand connections has as many buffers. A few are searched one by one,
//! many are found by hash.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use super::buffers::TurnBuffer;
use crate::limits::TURN_BATCHES_MAX;

/// Entries that are searched one by one: with these, that takes no longer than a hash.
const SEARCHED_MAX: usize = 8;

pub(super) struct Entry {
    /// The address of the target, which the buffer keeps alive.
    pub(super) target: usize,
    pub(super) buffer: Box<dyn TurnBuffer>,
}

/// Entries in the order in which they were added, each target at most once.
pub(super) struct Entries {
    list: Vec<Entry>,
    /// The places of the first entries by their targets, as many as it has. It is brought up to date
    /// when it is used.
    places: HashMap<usize, usize, FxBuildHasher>,
    /// Entries whose buffers hold room.
    holding: usize,
}

impl Entries {
    pub(super) const fn new() -> Entries {
        Entries { list: Vec::new(), places: HashMap::with_hasher(FxBuildHasher), holding: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Entry> {
        self.list.get_mut(place)
    }

    /// The place of the entry of `target`.
    #[inline]
    pub(super) fn place(&mut self, target: usize) -> Option<usize> {
        if self.list.len() <= SEARCHED_MAX {
            return self.list.iter().position(|entry| entry.target == target);
        }
        for (place, entry) in self.list.iter().enumerate().skip(self.places.len()) {
            self.places.insert(entry.target, place);
        }
        self.places.get(&target).copied()
    }

    /// Adds the entry of a target that has none. Returns the oldest one that holds room, if too many do.
    pub(super) fn add(&mut self, entry: Entry) -> Option<Entry> {
        self.holding += usize::from(entry.buffer.holds_room());
        self.list.push(entry);
        if self.holding <= TURN_BATCHES_MAX {
            return None;
        }
        let oldest = self.list.iter().position(|entry| entry.buffer.holds_room())?;
        self.places.clear();
        self.holding -= 1;
        Some(self.list.remove(oldest))
    }

    /// Takes the entry of `target` out.
    pub(super) fn take(&mut self, target: usize) -> Option<Entry> {
        let place = self.place(target)?;
        self.places.clear();
        let entry = self.list.remove(place);
        self.holding -= usize::from(entry.buffer.holds_room());
        Some(entry)
    }

    /// Takes the entries out whose targets have ended.
    #[cold]
    pub(super) fn take_ended(&mut self) -> Vec<Entry> {
        let ended: Vec<Entry> =
            self.list.extract_if(.., |entry| entry.buffer.has_ended()).collect();
        if !ended.is_empty() {
            self.places.clear();
            self.holding -= ended.iter().filter(|entry| entry.buffer.holds_room()).count();
        }
        ended
    }

    /// Keeps the entries for which `keeps` says so.
    pub(super) fn retain(&mut self, mut keeps: impl FnMut(&mut Entry) -> bool) {
        let (before, holding) = (self.list.len(), &mut self.holding);
        self.list.retain_mut(|entry| {
            let is_kept = keeps(entry);
            *holding -= usize::from(!is_kept && entry.buffer.holds_room());
            is_kept
        });
        if self.list.len() < before {
            self.places.clear();
        }
    }

    /// Puts `older` in front, without those whose targets are here as well, up to `most`; returns those
    /// that have no place.
    pub(super) fn put_in_front(&mut self, older: Entries, most: usize) -> Vec<Entry> {
        if self.list.is_empty() && older.list.len() <= most {
            *self = older;
            return Vec::new();
        }
        let (mut list, newer) = (older.list, std::mem::take(&mut self.list));
        let is_new = |entry: &mut Entry| newer.iter().any(|one| one.target == entry.target);
        let mut dropped: Vec<Entry> = list.extract_if(.., is_new).collect();
        dropped.extend(list.drain(most.min(list.len())..));
        list.extend(newer);
        let holding = list.iter().filter(|entry| entry.buffer.holds_room()).count();
        *self = Entries { list, holding, ..Entries::new() };
        dropped
    }
}

impl From<Entry> for Entries {
    fn from(entry: Entry) -> Entries {
        let holding = usize::from(entry.buffer.holds_room());
        Entries { list: vec![entry], holding, ..Entries::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::buffers::AfterPublish;

    /// A buffer with a number, which holds room if the number is odd.
    struct Numbered(usize);

    impl TurnBuffer for Numbered {
        fn publish(&mut self) -> AfterPublish {
            AfterPublish::Keep
        }

        fn holds_room(&self) -> bool {
            self.0 % 2 == 1
        }
    }

    fn entry(target: usize) -> Entry {
        Entry { target, buffer: Box::new(Numbered(target)) }
    }

    fn targets(entries: &mut Entries) -> Vec<usize> {
        let mut targets = Vec::new();
        entries.retain(|entry| {
            targets.push(entry.target);
            true
        });
        targets
    }

    #[test]
    fn each_entry_is_found_whatever_was_added_and_taken_out_before() {
        let mut entries = Entries::new();
        let even = |at: usize| 2 * at;
        for at in 0..4 * SEARCHED_MAX {
            assert!(entries.place(even(at)).is_none());
            assert!(entries.add(entry(even(at))).is_none());
            if at % 5 == 4 {
                assert_eq!(entries.take(even(at - 2)).map(|it| it.target), Some(even(at - 2)));
            }
            for place in 0..entries.len() {
                let target = entries.get_mut(place).unwrap().target;
                assert_eq!(entries.place(target), Some(place));
            }
        }
        assert!(entries.place(even(2)).is_none() && entries.take(even(2)).is_none());
        entries.retain(|entry| entry.target % 8 == 0);
        let left = targets(&mut entries);
        assert!(left.is_sorted() && left.len() > SEARCHED_MAX - 3);
        for (place, target) in left.iter().enumerate() {
            assert_eq!(entries.place(*target), Some(place));
        }
        assert!(entries.place(2).is_none());
    }

    #[test]
    fn the_oldest_entry_that_holds_room_goes_when_too_many_do() {
        let mut entries = Entries::new();
        assert!(entries.add(entry(2)).is_none());
        for at in 0..TURN_BATCHES_MAX {
            assert!(entries.add(entry(2 * at + 1)).is_none());
        }
        assert!(entries.add(entry(4)).is_none());
        for at in 0..2 {
            let added = 1_001 + 2 * at;
            assert_eq!(entries.add(entry(added)).map(|it| it.target), Some(2 * at + 1));
            assert!(entries.place(2 * at + 1).is_none());
        }
        assert_eq!(entries.take(5).map(|it| it.target), Some(5));
        assert!(entries.add(entry(2_001)).is_none(), "one was taken out");
        assert_eq!(entries.add(entry(2_003)).map(|it| it.target), Some(7));
    }

    #[test]
    fn older_entries_go_in_front_of_newer_ones_and_are_dropped_where_those_stand_for_them() {
        let mut entries = Entries::new();
        for target in [1, 2, 3, 4] {
            entries.add(entry(target));
        }
        let older = std::mem::replace(&mut entries, Entries::new());
        entries.add(entry(9));
        entries.add(entry(2));
        let dropped = entries.put_in_front(older, 2);
        assert_eq!(dropped.iter().map(|it| it.target).collect::<Vec<_>>(), [2, 4]);
        assert_eq!(targets(&mut entries), [1, 3, 9, 2]);
        let older = std::mem::replace(&mut entries, Entries::new());
        assert!(entries.put_in_front(older, 4).is_empty());
        assert_eq!(targets(&mut entries), [1, 3, 9, 2]);
        assert!(entries.put_in_front(Entries::from(entry(9)), usize::MAX).len() == 1);
    }
}
