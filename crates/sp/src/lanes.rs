//! The outboxes of all pipes, and whose turn it is.
//!
//! A new message goes to the next pipe that has nothing to write; when all are busy, to the next
//! one with room. So idle peers are served first, and equal ones in turn. Choosing costs a look-up
//! in a tree, whatever the number of pipes.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::limits::{OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX};
use crate::queue::Queue;
use crate::{Attention, Counters, DropReason, Head, Message, PipeId, Refusal};

/// The outboxes.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    outboxes: BTreeMap<PipeId, Queue<Message>>,
    /// Invariant: exactly the pipes whose outbox is empty.
    idle: BTreeSet<PipeId>,
    /// Invariant: exactly the pipes whose outbox has room.
    open: BTreeSet<PipeId>,
    /// The pipe that was chosen last.
    turn: Option<PipeId>,
    attention: VecDeque<Attention>,
}

impl Lanes {
    pub(crate) fn open(&mut self, pipe: PipeId) {
        self.outboxes.insert(pipe, Queue::new(OUTBOX_MESSAGES_MAX, OUTBOX_BYTES_MAX));
        self.idle.insert(pipe);
        self.reopen(pipe);
    }

    /// Forgets the pipe and gives back what was not transmitted; `None` for an unknown number.
    pub(crate) fn close(&mut self, pipe: PipeId) -> Option<VecDeque<Message>> {
        self.idle.remove(&pipe);
        self.open.remove(&pipe);
        self.outboxes.remove(&pipe).map(Queue::into_items)
    }

    pub(crate) fn contains(&self, pipe: PipeId) -> bool {
        self.outboxes.contains_key(&pipe)
    }

    /// True while no pipe is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.outboxes.is_empty()
    }

    pub(crate) fn has_room(&self, pipe: PipeId) -> bool {
        self.open.contains(&pipe)
    }

    /// The pipe whose turn it is; asking takes no turn.
    pub(crate) fn choose(&self) -> Result<PipeId, Refusal> {
        let next = after(&self.idle, self.turn).or_else(|| after(&self.open, self.turn));
        match next {
            Some(pipe) => Ok(pipe),
            None if self.outboxes.is_empty() => Err(Refusal::NoPipe),
            None => Err(Refusal::Full),
        }
    }

    /// Puts a message into the outbox of `pipe`, which takes its turn; hands it back when the
    /// outbox is full or the pipe unknown.
    pub(crate) fn push(&mut self, pipe: PipeId, message: Message) -> Result<(), Message> {
        let Some(outbox) = self.outboxes.get_mut(&pipe) else {
            return Err(message);
        };
        outbox.push(message)?;
        let full = !outbox.has_room();
        self.turn = Some(pipe);
        self.pushed(pipe, full);
        Ok(())
    }

    /// Puts a message into the outbox of `pipe` even when it is full; hands it back only when the
    /// pipe is unknown. The caller says what bounds it instead.
    pub(crate) fn push_over(&mut self, pipe: PipeId, message: Message) -> Result<(), Message> {
        let Some(outbox) = self.outboxes.get_mut(&pipe) else {
            return Err(message);
        };
        outbox.push_over(message);
        let full = !outbox.has_room();
        self.pushed(pipe, full);
        Ok(())
    }

    /// Messages and bytes that wait for `pipe`.
    pub(crate) fn held(&self, pipe: PipeId) -> (usize, usize) {
        self.outboxes.get(&pipe).map_or((0, 0), |outbox| (outbox.len(), outbox.bytes()))
    }

    fn pushed(&mut self, pipe: PipeId, full: bool) {
        if full {
            self.open.remove(&pipe);
        }
        if self.idle.remove(&pipe) {
            self.attention.push_back(Attention::Write(pipe));
        }
    }

    /// Forgets the pipe and counts what was not transmitted as dropped.
    pub(crate) fn close_and_count(&mut self, pipe: PipeId, counters: &mut Counters) {
        let unsent = self.close(pipe).unwrap_or_default();
        unsent.iter().for_each(|_| counters.drop_one(DropReason::PipeGone));
    }

    /// Puts a copy into the outbox of each pipe that `may` have it; those without room miss it, and
    /// that is counted. Bodies are shared, not copied.
    pub(crate) fn broadcast(
        &mut self,
        message: &Message,
        counters: &mut Counters,
        may: impl Fn(PipeId) -> bool,
    ) {
        for (pipe, outbox) in self.outboxes.iter_mut().filter(|(pipe, _)| may(**pipe)) {
            if outbox.push(message.clone()).is_err() {
                counters.drop_one(DropReason::PeerSlow);
                continue;
            }
            if !outbox.has_room() {
                self.open.remove(pipe);
            }
            if self.idle.remove(pipe) {
                self.attention.push_back(Attention::Write(*pipe));
            }
        }
    }

    pub(crate) fn transmit(&mut self, pipe: PipeId) -> Option<Message> {
        let outbox = self.outboxes.get_mut(&pipe)?;
        let message = outbox.pop()?;
        let left = Left::of(outbox);
        self.taken(pipe, left);
        Some(message)
    }

    /// Takes the request `id` back if it was not transmitted.
    pub(crate) fn withdraw(&mut self, pipe: PipeId, id: u32) {
        let Some(outbox) = self.outboxes.get_mut(&pipe) else {
            return;
        };
        if outbox.remove(|message| message.head == Head::Word(id)).is_some() {
            let left = Left::of(outbox);
            self.taken(pipe, left);
        }
    }

    fn taken(&mut self, pipe: PipeId, left: Left) {
        match left {
            Left::Much => {}
            // Not at the first free place: the senders that waited shall find a good run of them.
            Left::Half => self.reopen(pipe),
            Left::Nothing => {
                self.idle.insert(pipe);
                self.reopen(pipe);
            }
        }
    }

    /// Only the first pipe with room is news to those who wait.
    fn reopen(&mut self, pipe: PipeId) {
        if self.open.is_empty() {
            self.attention.push_back(Attention::Senders);
        }
        self.open.insert(pipe);
    }

    pub(crate) fn next_attention(&mut self) -> Option<Attention> {
        self.attention.pop_front()
    }
}

/// What a message that was taken has left in its outbox.
enum Left {
    Nothing,
    /// Half of either bound, or less.
    Half,
    Much,
}

impl Left {
    fn of(outbox: &Queue<Message>) -> Left {
        match outbox.is_empty() {
            true => Left::Nothing,
            false if outbox.is_half_empty() => Left::Half,
            false => Left::Much,
        }
    }
}

/// The first of `pipes` behind `turn`, going round.
fn after(pipes: &BTreeSet<PipeId>, turn: Option<PipeId>) -> Option<PipeId> {
    let Some(PipeId(last)) = turn else {
        return pipes.first().copied();
    };
    let behind = last.checked_add(1).and_then(|from| pipes.range(PipeId(from)..).next());
    behind.or_else(|| pipes.first()).copied()
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn put(lanes: &mut Lanes) -> Result<PipeId, Refusal> {
        let pipe = lanes.choose()?;
        lanes.push(pipe, Message::default()).unwrap();
        Ok(pipe)
    }

    #[test]
    fn pipes_take_turns_until_all_are_full() {
        let mut lanes = Lanes::default();
        assert_eq!(put(&mut lanes), Err(Refusal::NoPipe));
        for pipe in [7, u32::MAX, 1] {
            lanes.open(PipeId(pipe));
        }
        let turns: Vec<u32> =
            (0..3 * OUTBOX_MESSAGES_MAX).map(|_| put(&mut lanes).unwrap().0).collect();
        assert_eq!(turns[..4], [1, 7, u32::MAX, 1]);
        assert_eq!(put(&mut lanes), Err(Refusal::Full));
    }

    #[test]
    fn a_pipe_with_nothing_to_write_goes_first() {
        let mut lanes = Lanes::default();
        lanes.open(PipeId(1));
        lanes.open(PipeId(2));
        for _ in 0..4 {
            put(&mut lanes).unwrap();
        }
        while lanes.transmit(PipeId(2)).is_some() {}
        assert_eq!(put(&mut lanes), Ok(PipeId(2)));
    }

    #[test]
    fn only_the_first_message_of_an_outbox_asks_for_attention() {
        let mut lanes = Lanes::default();
        lanes.open(PipeId(1));
        assert_eq!(lanes.next_attention(), Some(Attention::Senders));
        put(&mut lanes).unwrap();
        put(&mut lanes).unwrap();
        assert_eq!(lanes.next_attention(), Some(Attention::Write(PipeId(1))));
        assert_eq!(lanes.next_attention(), None);
        assert!(lanes.transmit(PipeId(1)).is_some());
        assert!(lanes.transmit(PipeId(1)).is_some());
        put(&mut lanes).unwrap();
        assert_eq!(lanes.next_attention(), Some(Attention::Write(PipeId(1))));
    }

    #[test]
    fn a_full_pipe_opens_again_when_half_of_it_is_written() {
        let mut lanes = Lanes::default();
        lanes.open(PipeId(1));
        while put(&mut lanes).is_ok() {}
        assert!(lanes.transmit(PipeId(1)).is_some());
        assert_eq!(put(&mut lanes), Err(Refusal::Full));
        assert!(lanes.transmit(PipeId(1)).is_some());
        assert_eq!(put(&mut lanes), Ok(PipeId(1)));
    }
}
