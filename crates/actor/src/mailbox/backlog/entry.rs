//! Entry of calls into a queue: one call, all calls of a sender's turn, or the chunks of a session.

use std::task::Waker;

use super::{Backlog, Dropped, Pushed};
use crate::limits::RUN_CALLS_MAX;
use crate::mailbox::backlog::batches::Batch;
use crate::mailbox::backlog::chunk::{Chunk, Frames};
use crate::mailbox::backlog::parked::{Ticket, Wakers};
use crate::mailbox::backlog::since::Since;
use crate::mailbox::sending::mail_batch::MailBatch;
use crate::options::WhenFull;
use crate::reply::Asker;

impl<M> Backlog<M> {
    /// Appends a local call; true when the mailbox must list the queue.
    fn add(&mut self, message: M, asker: Asker) -> bool {
        match self.chunks.last() {
            Some(Chunk::Mails(last)) if last.len() < RUN_CALLS_MAX => last.push(message, asker),
            None if self.first.is_none() => {
                self.first = Some((message, asker));
                self.first_since = Since::now();
            }
            _ => {
                let mut mails = self.chunks.empty_mails();
                mails.push(message, asker);
                self.chunks.push_last(Chunk::Mails(mails));
            }
        }
        self.waiting += 1;
        !std::mem::replace(&mut self.listed, true)
    }

    /// Enqueues a call, taking the message out of its `Option`, or parks the sender if there is no
    /// room. No allocation in steady state. Also returns the call that was dropped for lack of
    /// room, which the caller passes to [`lose`](super::lose).
    #[inline]
    pub(crate) fn push(
        &mut self,
        message: &mut Option<M>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> (Pushed, Option<Dropped<M>>) {
        if self.closed {
            return (Pushed::Closed, None);
        }
        if !self.may_pass(ticket, self.room() as u64) {
            return self.push_full(message, asker, ticket, waker);
        }
        let Some(message) = message.take() else {
            return (Pushed::In { list: false }, None);
        };
        let list = self.add(message, asker);
        self.pass(ticket);
        (Pushed::In { list }, None)
    }

    /// Applies the queue's [rule](WhenFull) to a call that finds no room.
    #[cold]
    fn push_full(
        &mut self,
        message: &mut Option<M>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> (Pushed, Option<Dropped<M>>) {
        let (dropped, list) = match self.when_full {
            WhenFull::Refuse => return (Pushed::Refused, None),
            WhenFull::Wait => {
                if let Some(waker) = waker {
                    self.crowd().parked.park(ticket, waker);
                }
                return (Pushed::Full, None);
            }
            WhenFull::DropOldest => match (self.pop_oldest(), message.take()) {
                (Some(oldest), Some(message)) => (Some(oldest), self.add(message, asker)),
                (oldest, message) => (oldest.or(message.map(|message| (message, asker))), false),
            },
            WhenFull::DropNewest => (message.take().map(|message| (message, asker)), false),
        };
        self.crowd().dropped += u64::from(dropped.is_some());
        (Pushed::In { list }, dropped)
    }

    /// Moves the calls of all open batches into the queue, so that what is sent next follows them;
    /// true when the mailbox must list the queue. A closed queue takes none: they are refused when
    /// their turn ends.
    #[inline]
    pub(crate) fn collect(&mut self) -> bool {
        match &self.crowd {
            Some(crowd) if !crowd.batches.is_empty() && !self.closed => self.collect_batches(),
            _ => false,
        }
    }

    /// True while turns have open batches.
    pub(crate) fn has_batches(&self) -> bool {
        self.crowd.as_ref().is_some_and(|crowd| !crowd.batches.is_empty())
    }

    fn collect_batches(&mut self) -> bool {
        let Some(mut crowd) = self.crowd.take() else { return false };
        let mut mails = match self.chunks.last() {
            Some(Chunk::Mails(last)) if last.len() < RUN_CALLS_MAX => std::mem::take(last),
            _ => self.chunks.empty_mails(),
        };
        // Their places were counted as waiting when they were leased.
        let moved = crowd.batches.collect(|message| {
            if mails.len() == RUN_CALLS_MAX {
                self.put_last(&mut mails);
            }
            mails.push(message, None);
        });
        self.put_last(&mut mails);
        self.crowd = Some(crowd);
        moved > 0 && !std::mem::replace(&mut self.listed, true)
    }

    /// Puts mails into the last chunk, if that was emptied to be filled further, or behind it.
    fn put_last(&mut self, mails: &mut MailBatch<M>) {
        match self.chunks.last() {
            Some(Chunk::Mails(last)) if last.is_empty() => std::mem::swap(last, mails),
            _ if mails.is_empty() => {
                self.chunks.keep(Chunk::Mails(std::mem::take(mails)));
            }
            _ => {
                let empty = self.chunks.empty_mails();
                self.chunks.push_last(Chunk::Mails(std::mem::replace(mails, empty)));
            }
        }
    }

    /// Collects all batches, opens `batch` if it is not open, takes back its unused places, and
    /// leases up to `want` new ones. Also returns the parked senders to wake. The batch has no
    /// place when the queue is closed or full, or when another thread has just begun a batch.
    pub(crate) fn renew(&mut self, batch: &mut Batch<M>, want: usize) -> (Pushed, Option<Wakers>) {
        if self.closed {
            return (Pushed::Closed, None);
        }
        let list = self.collect();
        let unused = batch.take_room();
        self.wait_less(unused);
        if self.crowd().batches.open(batch) {
            // Each parked sender keeps a place. Of the others, a quarter at most is leased at once,
            // so that other senders find room too.
            let parked = self.crowd().parked.len();
            let leased = want.min(self.room().saturating_sub(parked).div_ceil(4));
            self.wait_more(leased);
            batch.lease(leased);
        }
        let woken = if unused > 0 { self.wakers() } else { None };
        (Pushed::In { list }, woken)
    }

    /// Collects all batches, forgets `batch`, and takes back its unused places. When the queue is
    /// closed, also returns the calls of the batch, which are to be refused.
    pub(crate) fn finish(
        &mut self,
        batch: &mut Batch<M>,
    ) -> (Pushed, Option<Wakers>, MailBatch<M>) {
        let list = self.collect();
        let unused = batch.take_room();
        let left = self.crowd.as_mut().map(|crowd| crowd.batches.remove(batch)).unwrap_or_default();
        let left = left.into_iter().map(|message| (message, None)).collect();
        if self.closed {
            return (Pushed::Closed, None, left);
        }
        self.wait_less(unused);
        let woken = if unused > 0 { self.wakers() } else { None };
        (Pushed::In { list }, woken, left)
    }

    /// Moves in the calls of a session: those in `full`, and then those in `last`, which becomes
    /// empty. They need not find room: the session's credit has paid for their places.
    ///
    /// The last calls join the chunk that waits there, if they can. Where a session speaks to very
    /// many actors, each call comes by itself, and chunks of one call would take seven times the
    /// memory, and a turn each.
    pub(crate) fn publish(&mut self, full: &mut Vec<Chunk<M>>, last: &mut Frames) -> Pushed {
        if self.closed {
            return Pushed::Closed;
        }
        self.wait_more(last.calls());
        for chunk in full.drain(..) {
            self.wait_more(chunk.calls());
            self.chunks.push_last(chunk);
        }
        let joins = match self.chunks.last() {
            Some(Chunk::Frames(newest)) => newest.join(last),
            _ => false,
        };
        if !joins && !last.is_empty() {
            let empty = self.chunks.empty_frames();
            self.chunks.push_last(Chunk::Frames(std::mem::replace(last, empty)));
        }
        Pushed::In { list: !std::mem::replace(&mut self.listed, true) }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_turn_leases_no_place_that_a_parked_sender_needs() {
        let queue = RefCell::new(Backlog::new(8, WhenFull::Wait));
        let push = |ticket: &mut Ticket| {
            queue.borrow_mut().push(&mut Some(7), None, ticket, Some(Waker::noop())).0
        };
        for _ in 0..8 {
            assert!(matches!(push(&mut Ticket::default()), Pushed::In { .. }));
        }
        let mut waiting = [Ticket::default(), Ticket::default()];
        for ticket in &mut waiting {
            assert!(matches!(push(ticket), Pushed::Full));
        }
        // Takes the first call, which is kept apart, and the chunk behind it.
        assert!(queue.borrow_mut().take().is_some() && queue.borrow_mut().take().is_some());
        let mut batch = Batch::default();
        let mut leased = 0;
        loop {
            let _ = queue.borrow_mut().renew(&mut batch, RUN_CALLS_MAX);
            match std::iter::from_fn(|| batch.add(7).ok()).count() {
                0 => break,
                used => leased += used,
            }
        }
        assert_eq!(leased, 6);
        for ticket in &mut waiting {
            assert!(matches!(push(ticket), Pushed::In { .. }));
        }
        assert!(matches!(push(&mut Ticket::default()), Pushed::Full));
        // Unused places are returned.
        assert!(queue.borrow_mut().take().is_some());
        let _ = queue.borrow_mut().renew(&mut batch, RUN_CALLS_MAX);
        while let Pushed::In { .. } = push(&mut Ticket::default()) {}
        let _ = queue.borrow_mut().finish(&mut batch);
        assert!(matches!(push(&mut Ticket::default()), Pushed::In { .. }));
    }
}
