//! Asks of a remote actor whose answers are taken in their order, through a ring of slots.

use std::sync::Arc;
use std::task::{Poll, Waker};

use wigwag_actor::limits::CANCELLED_MAX;
use wigwag_actor::reference::answers::Answers;
use wigwag_actor::reference::route::RemotePipeline;
use wigwag_actor::reference::run_writer::RunOwner;
use wigwag_actor::{Attempt, CallError, CallErrorKind, Interface, Message, Ticket, turn};

use crate::replies::ring::Ring;
use crate::send::cancel::send_cancels;
use crate::send::channel::AfterSend;
use crate::send::remote::Remote;
use crate::session::Session;
use crate::session::buffers::RunHandout;
use crate::session::references::scope;

/// The asks of a pipeline to a remote actor.
pub(crate) struct RingPipeline<I> {
    remote: Arc<Remote<I>>,
    ring: Arc<Ring>,
    run_owner: RunOwner,
}

impl<I: Interface> Remote<I> {
    /// Opens a pipeline of up to `most` asks at once, whose runs belong to `run_owner`; also returns
    /// the number that there is room for.
    pub(crate) fn open_ring(
        self: Arc<Remote<I>>,
        most: usize,
        run_owner: RunOwner,
    ) -> Result<(RingPipeline<I>, usize), CallError> {
        let session = &self.channel.session;
        let Some(ring) = session.asks.open_ring(most) else {
            let text = "all places for asks of this session are taken";
            let error = CallError::new(CallErrorKind::Overloaded, &self.channel.target);
            let error = error.with_detail(text);
            return Err(match session.disconnection() {
                Some(gone) => error.while_disconnected(gone),
                None => error,
            });
        };
        if let Some(ended) = &session.sending().ended {
            ring.end(&(CallErrorKind::NotDelivered, ended.why.clone()));
        }
        ring.set_origin(self.channel.origin);
        let most = most.min(ring.slots() as usize);
        let run_owner = run_owner.or_new(self.channel.is_fixed);
        Ok((RingPipeline { remote: self, ring, run_owner }, most))
    }
}

impl<I> RingPipeline<I> {
    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.remote.channel.session
    }
}

impl<I: Interface> RemotePipeline<I> for RingPipeline<I> {
    #[inline]
    fn ask(
        &mut self,
        next: u64,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        let Some(call) = message.as_ref() else {
            return Attempt::Full;
        };
        let (number, encoded) = match self.remote.prepare(call) {
            Ok(found) => found,
            Err(error) => return Attempt::Failed(error),
        };
        self.ring.set_sent(next + 1);
        let most = self.ring.slots_to_end(next);
        let handout = RunHandout {
            run_owner: self.run_owner,
            is_of_one_route: true,
            method: call.method(),
            has_same_numbers: self.remote.matches.is_none(),
            ring: Some((&self.ring, next + 1, most)),
        };
        let (asker, then) = (Some(self.ring.asker(next)), AfterSend::Continue);
        let channel = &self.remote.channel;
        let sent = match &encoded {
            None => channel.send(Some(&handout), asker, (number, call), ticket, waker, then),
            Some(encoded) => {
                let call = (number, &encoded.arguments());
                channel.send(None, asker, call, ticket, waker, then)
            }
        };
        if let Attempt::Sent(()) = sent {
            *message = None;
            encoded.into_iter().for_each(|encoded| encoded.sent());
        } else {
            self.ring.set_sent(next);
        }
        sent
    }

    fn poll_answers(
        &mut self,
        next: u64,
        into: &mut Answers,
        waker: &Waker,
    ) -> Poll<Result<(), CallError>> {
        let Poll::Ready(taken) = self.ring.poll(next, into, waker) else {
            if !turn::is_open() {
                self.remote.channel.session.flush();
            }
            return Poll::Pending;
        };
        Poll::Ready(taken.map_err(|(kind, why)| {
            CallError::new(kind, &self.remote.channel.target).with_detail(&why)
        }))
    }

    fn leave(&mut self, asked: u64) {
        // Asks that a turn still holds count too: their answers will arrive.
        self.ring.set_sent(asked);
        let session = &self.remote.channel.session;
        let open = self.ring.abandon();
        if open.is_empty() {
            return session.close_ring(&self.ring);
        }
        // Those before the last ones have most likely begun.
        let first = open.start.max(open.end.saturating_sub(CANCELLED_MAX as u64));
        send_cancels(session, (first..open.end).map(|number| self.ring.asker(number)));
    }

    fn reading(&self, value: &[u8], read: &mut dyn FnMut() -> bool) {
        scope::read_from(self.session(), value, read);
    }

    fn run_owner(&self) -> RunOwner {
        self.run_owner
    }
}
