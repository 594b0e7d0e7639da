//! The outboxes of all pipes, and the choice of the pipe for the next message.
//!
//! A new message goes to the pipes of the first priority that has room: to the next idle one in
//! turn, or to the next one with room if all are busy. So idle peers are served first, and equal
//! ones in turn. Choosing costs a binary search, however many pipes there are.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use bytes::Bytes;

use crate::limits::{OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX};
use crate::pipe_queues::pipe_set::PipeSet;
use crate::stream::BatchBuilder;
use crate::stream::outbox::Outbox;
use crate::{
    Counters, DropReason, Head, Message, PipeId, Priority, ProtocolEvent, QueueLength, Refusal,
};

#[derive(Debug)]
struct Outbound {
    queue: Outbox,
    priority: Priority,
}

/// The outboxes of all pipes.
#[derive(Debug)]
pub(crate) struct OutboundQueues {
    outboxes: BTreeMap<PipeId, Outbound>,
    /// Invariant: exactly the pipes whose outbox is empty.
    idle: PipeSet,
    /// Invariant: exactly the pipes whose outbox has room, except those that were full and are not
    /// yet half empty.
    open: PipeSet,
    /// The pipe that was chosen last, for each priority.
    turns: [Option<PipeId>; Priority::LAST.get() as usize + 1],
    /// Messages that an outbox may hold.
    length: usize,
    events: VecDeque<ProtocolEvent>,
}

impl Default for OutboundQueues {
    fn default() -> OutboundQueues {
        OutboundQueues {
            outboxes: BTreeMap::new(),
            idle: PipeSet::default(),
            open: PipeSet::default(),
            turns: [None; Priority::LAST.get() as usize + 1],
            length: OUTBOX_MESSAGES_MAX,
            events: VecDeque::new(),
        }
    }
}

impl OutboundQueues {
    pub(crate) fn open(&mut self, pipe: PipeId) {
        let queue = Outbox::new(self.length, OUTBOX_BYTES_MAX);
        let priority = Priority::default();
        self.outboxes.insert(pipe, Outbound { queue, priority });
        self.idle.insert(priority, pipe);
        self.reopen(priority, pipe);
    }

    /// Sets the priority of the pipe; its messages stay where they are.
    pub(crate) fn set_priority(&mut self, pipe: PipeId, priority: Priority) {
        let Some(outbox) = self.outboxes.get_mut(&pipe) else {
            return;
        };
        let old = core::mem::replace(&mut outbox.priority, priority);
        if self.idle.remove(old, pipe) {
            self.idle.insert(priority, pipe);
        }
        if self.open.remove(old, pipe) {
            self.open.insert(priority, pipe);
        }
    }

    /// Sets how many messages each outbox may hold. Messages beyond the new length stay and are
    /// sent.
    pub(crate) fn set_length(&mut self, length: QueueLength) {
        self.reopen_with_length(length);
    }

    /// [`set_length`](Self::set_length) for a protocol in which calls wait for room in one pipe:
    /// returns the pipes that were full and have room now, because [`fill`](Self::fill) will not
    /// find them full any more.
    pub(crate) fn reopen_with_length(&mut self, length: QueueLength) -> Vec<PipeId> {
        self.length = length.get();
        let mut found = Vec::new();
        for (pipe, outbox) in &mut self.outboxes {
            outbox.queue.set_length(self.length);
            if !outbox.queue.has_room() {
                self.open.remove(outbox.priority, *pipe);
            } else if !self.open.contains(outbox.priority, *pipe) {
                found.push((outbox.priority, *pipe));
            }
        }
        for (priority, pipe) in &found {
            self.reopen(*priority, *pipe);
        }
        found.into_iter().map(|(_, pipe)| pipe).collect()
    }

    /// Removes the pipe and returns its unsent messages; `None` if the pipe is unknown.
    pub(crate) fn close(&mut self, pipe: PipeId) -> Option<VecDeque<Message>> {
        let Outbound { mut queue, priority } = self.outboxes.remove(&pipe)?;
        self.idle.remove(priority, pipe);
        self.open.remove(priority, pipe);
        Some(queue.take())
    }

    pub(crate) fn contains(&self, pipe: PipeId) -> bool {
        self.outboxes.contains_key(&pipe)
    }

    /// True while no pipe is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.outboxes.is_empty()
    }

    pub(crate) fn has_room(&self, pipe: PipeId) -> bool {
        let outbox = self.outboxes.get(&pipe);
        outbox.is_some_and(|outbox| self.open.contains(outbox.priority, pipe))
    }

    /// The pipe for the next message; the call itself takes no turn.
    #[inline]
    pub(crate) fn choose(&self) -> Result<PipeId, Refusal> {
        // An idle pipe is open too.
        self.open.only().map_or_else(|| self.choose_in_turn(), Ok)
    }

    fn choose_in_turn(&self) -> Result<PipeId, Refusal> {
        let Some(priority) = self.open.first_priority() else {
            let nobody = self.outboxes.is_empty();
            return Err(if nobody { Refusal::NoPipe } else { Refusal::Full });
        };
        let turn = self.turns[usize::from(priority.get())];
        let next = self.idle.after(priority, turn).or_else(|| self.open.after(priority, turn));
        next.ok_or(Refusal::Full)
    }

    /// Appends a message to the outbox of `pipe`, which takes its turn; returns the message if the
    /// outbox is full or the pipe unknown.
    pub(crate) fn push(&mut self, pipe: PipeId, mut message: Message) -> Result<(), Message> {
        match self.push_from(pipe, &message.head, &mut message.body) {
            true => Ok(()),
            false => Err(message),
        }
    }

    /// [`push`](Self::push) of a header and a body, which is taken only if there is room; false if
    /// there is none.
    #[inline]
    pub(crate) fn push_from(&mut self, pipe: PipeId, head: &Head, body: &mut Bytes) -> bool {
        let Some(outbox) = self.outboxes.get_mut(&pipe) else {
            return false;
        };
        if !outbox.queue.push_from(head, body) {
            return false;
        }
        let (priority, full) = (outbox.priority, !outbox.queue.has_room());
        self.turns[usize::from(priority.get())] = Some(pipe);
        self.pushed(priority, pipe, full);
        true
    }

    /// Appends a message to the outbox of `pipe` even if it is full; returns it only if the pipe is
    /// unknown. The caller must bound the length in another way.
    pub(crate) fn push_unbounded(&mut self, pipe: PipeId, message: Message) -> Result<(), Message> {
        let Some(outbox) = self.outboxes.get_mut(&pipe) else {
            return Err(message);
        };
        outbox.queue.push_unbounded(message);
        let (priority, full) = (outbox.priority, !outbox.queue.has_room());
        self.pushed(priority, pipe, full);
        Ok(())
    }

    /// Messages and bytes that wait for `pipe`.
    pub(crate) fn held(&self, pipe: PipeId) -> (usize, usize) {
        let held = self.outboxes.get(&pipe);
        held.map_or((0, 0), |outbox| (outbox.queue.len(), outbox.queue.bytes()))
    }

    fn pushed(&mut self, priority: Priority, pipe: PipeId, full: bool) {
        if full {
            self.open.remove(priority, pipe);
        }
        if self.idle.remove(priority, pipe) {
            self.events.push_back(ProtocolEvent::Transmit(pipe));
        }
    }

    /// Removes the pipe and counts its unsent messages as dropped.
    pub(crate) fn close_and_count(&mut self, pipe: PipeId, counters: &mut Counters) {
        let unsent = self.close(pipe).unwrap_or_default();
        counters.drop_some(DropReason::PipeGone, unsent.len());
    }

    /// Appends a copy to the outbox of each pipe that `may` have it; a pipe without room misses it,
    /// which is counted. Long bodies are shared, not copied. An outbox that becomes more than half
    /// full is to be written at once, because nothing holds the sender back until it is written.
    pub(crate) fn broadcast(
        &mut self,
        message: &Message,
        counters: &mut Counters,
        may: impl Fn(PipeId) -> bool,
    ) {
        for (pipe, outbox) in self.outboxes.iter_mut().filter(|(pipe, _)| may(**pipe)) {
            let was_half_empty = outbox.queue.is_half_empty();
            if outbox.queue.push(message.clone()).is_err() {
                counters.drop_one(DropReason::PeerSlow);
                continue;
            }
            if was_half_empty && !outbox.queue.is_half_empty() {
                self.events.push_back(ProtocolEvent::TransmitNow(*pipe));
            }
            if !outbox.queue.has_room() {
                self.open.remove(outbox.priority, *pipe);
            }
            if self.idle.remove(outbox.priority, *pipe) {
                self.events.push_back(ProtocolEvent::Transmit(*pipe));
            }
        }
    }

    /// Moves the messages of `pipe` into `out`, as many as it accepts; true if any was moved.
    pub(crate) fn fill(&mut self, pipe: PipeId, out: &mut BatchBuilder<'_>) -> bool {
        let Some(outbox) = self.outboxes.get_mut(&pipe).filter(|outbox| !outbox.queue.is_empty())
        else {
            return false;
        };
        outbox.queue.fill(out);
        let (priority, fill) = (outbox.priority, Fill::of(&outbox.queue));
        self.taken(priority, pipe, fill);
        true
    }

    /// Removes the request `id` from the outbox if it was not transmitted.
    pub(crate) fn withdraw(&mut self, pipe: PipeId, id: u32) {
        let Some(outbox) = self.outboxes.get_mut(&pipe) else {
            return;
        };
        if outbox.queue.remove(|message| message.first_word() == Some(id)) {
            let (priority, fill) = (outbox.priority, Fill::of(&outbox.queue));
            self.taken(priority, pipe, fill);
        }
    }

    fn taken(&mut self, priority: Priority, pipe: PipeId, fill: Fill) {
        match fill {
            Fill::OverHalf => {}
            // Not at the first free place: the waiting senders then find room for a long run of
            // messages.
            Fill::AtMostHalf => self.reopen(priority, pipe),
            Fill::Empty => {
                self.idle.insert(priority, pipe);
                self.reopen(priority, pipe);
            }
        }
    }

    /// Discards and counts all messages: the socket is closed.
    pub(crate) fn finish(&mut self, counters: &mut Counters) {
        for (_, outbox) in core::mem::take(&mut self.outboxes) {
            counters.drop_some(DropReason::Unsent, outbox.queue.len());
        }
        self.idle = PipeSet::default();
        self.open = PipeSet::default();
    }

    /// Marks the pipe as having room; only the first such pipe wakes waiting senders.
    fn reopen(&mut self, priority: Priority, pipe: PipeId) {
        if self.open.is_empty() {
            self.events.push_back(ProtocolEvent::SendReady);
        }
        self.open.insert(priority, pipe);
    }

    pub(crate) fn next_event(&mut self) -> Option<ProtocolEvent> {
        self.events.pop_front()
    }
}

/// How full an outbox is after a message was taken.
enum Fill {
    Empty,
    /// Half of either bound, or less.
    AtMostHalf,
    OverHalf,
}

impl Fill {
    fn of(outbox: &Outbox) -> Fill {
        match outbox.is_empty() {
            true => Fill::Empty,
            false if outbox.is_half_empty() => Fill::AtMostHalf,
            false => Fill::OverHalf,
        }
    }
}

#[cfg(test)]
mod tests;
