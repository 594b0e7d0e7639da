//! Entry of calls into a queue: one call, all calls of a sender's turn, or the chunks of a session.

use std::task::Waker;

use super::{Backlog, Dropped, Pushed};
use crate::limits::RUN_CALLS_MAX;
use crate::mailbox::backlog::chunk::Chunk;
use crate::mailbox::backlog::parked::{Ticket, Wakers};
use crate::mailbox::backlog::since::Since;
use crate::mailbox::mail_batch::MailBatch;
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

    /// Moves in the mails that a turn has staged, takes back `unused` places that it leased, and
    /// leases up to `want` new ones; returns how many, and the parked senders to wake. When the
    /// queue is closed, the mails stay with the caller.
    pub(crate) fn publish_staged(
        &mut self,
        mails: &mut MailBatch<M>,
        unused: usize,
        want: usize,
    ) -> (Pushed, usize, Option<Wakers>) {
        if self.closed {
            return (Pushed::Closed, 0, None);
        }
        self.waiting -= unused;
        let mut list = false;
        if !mails.is_empty() {
            match self.chunks.last() {
                Some(Chunk::Mails(last)) if last.len() + mails.len() <= RUN_CALLS_MAX => {
                    last.append(mails);
                }
                _ => {
                    let empty = self.chunks.empty_mails();
                    self.chunks.push_last(Chunk::Mails(std::mem::replace(mails, empty)));
                }
            }
            list = !std::mem::replace(&mut self.listed, true);
        }
        let woken = if unused > 0 { self.wakers() } else { None };
        let parked = self.crowd.as_ref().map_or(0, |crowd| crowd.parked.len());
        // Each parked sender keeps a place. Of the others, a quarter at most is leased at once, so
        // that other senders find room too.
        let leased = want.min(self.room().saturating_sub(parked).div_ceil(4));
        self.waiting += leased;
        (Pushed::In { list }, leased, woken)
    }

    /// Moves in the chunks of a session. They need not find room: the session's credit has paid for
    /// their places.
    pub(crate) fn publish(&mut self, chunks: &mut Vec<Chunk<M>>) -> Pushed {
        if self.closed {
            return Pushed::Closed;
        }
        self.waiting += chunks.iter().map(Chunk::calls).sum::<usize>();
        chunks.drain(..).for_each(|chunk| self.chunks.push_last(chunk));
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
        let mut leased = 0;
        while let (_, more @ 1.., _) =
            queue.borrow_mut().publish_staged(&mut MailBatch::default(), 0, RUN_CALLS_MAX)
        {
            leased += more;
        }
        assert_eq!(leased, 6);
        for ticket in &mut waiting {
            assert!(matches!(push(ticket), Pushed::In { .. }));
        }
        assert!(matches!(push(&mut Ticket::default()), Pushed::Full));
        // Unused places are returned.
        let _ = queue.borrow_mut().publish_staged(&mut MailBatch::default(), leased, 0);
        assert!(matches!(push(&mut Ticket::default()), Pushed::In { .. }));
    }
}
