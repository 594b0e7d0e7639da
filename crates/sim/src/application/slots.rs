//! The asker's table of slots, at which answers arrive (section 6).
//!
//! A slot is taken when an ask is sent, and free again when its one completion was received *and*
//! fetched. The slot of an asker that has gone stays taken until then, so a late reply never meets
//! another ask. The generation is a check, not the protection.

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// A table of outstanding asks.
#[derive(Debug)]
pub struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    max: usize,
}

impl<T> Slots<T> {
    /// A table of at most `max` slots, the number that the peer has announced.
    pub fn new(max: u64) -> Slots<T> {
        Slots {
            slots: Vec::new(),
            free: Vec::new(),
            max: usize::try_from(max).unwrap_or(usize::MAX),
        }
    }

    /// Takes a slot; returns its index and generation, or `None` if all are in use.
    pub fn take(&mut self, value: T) -> Option<(u32, u32)> {
        let Some(index) = self.free.pop() else {
            return self.take_another(value);
        };
        let slot = self.slots.get_mut(index as usize)?;
        slot.value = Some(value);
        Some((index, slot.generation))
    }

    #[cold]
    fn take_another(&mut self, value: T) -> Option<(u32, u32)> {
        if self.slots.len() >= self.max {
            return None;
        }
        let index = self.slots.len() as u32;
        self.slots.push(Slot { generation: 0, value: Some(value) });
        Some((index, 0))
    }

    /// The value of a slot in use; `None` for any other slot or generation.
    pub fn get(&mut self, index: u64, generation: u64) -> Option<&mut T> {
        let slot = self.slots.get_mut(usize::try_from(index).ok()?)?;
        if u64::from(slot.generation) != generation {
            return None;
        }
        slot.value.as_mut()
    }

    /// Frees a slot; its next use has another generation.
    pub fn release(&mut self, index: u32, generation: u32) -> Option<T> {
        let slot = self.slots.get_mut(index as usize)?;
        if slot.generation != generation {
            return None;
        }
        let value = slot.value.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(index);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_reply_never_meets_the_next_use() {
        let mut slots = Slots::new(10);
        let (index, generation) = slots.take("first").unwrap();
        assert_eq!(slots.release(index, generation), Some("first"));
        let (again, next) = slots.take("second").unwrap();
        assert_eq!((again, next), (index, generation + 1));
        assert!(slots.get(u64::from(index), u64::from(generation)).is_none());
        assert_eq!(slots.release(index, generation), None);
        assert_eq!(slots.get(u64::from(again), u64::from(next)), Some(&mut "second"));
    }

    #[test]
    fn the_table_has_an_end() {
        let mut slots = Slots::new(2);
        assert!(slots.take(()).is_some());
        assert!(slots.take(()).is_some());
        assert!(slots.take(()).is_none());
        slots.release(0, 7);
        assert!(slots.take(()).is_none(), "another generation frees nothing");
        slots.release(0, 0);
        assert!(slots.take(()).is_some());
        assert!(slots.get(u64::MAX, 0).is_none());
    }
}
