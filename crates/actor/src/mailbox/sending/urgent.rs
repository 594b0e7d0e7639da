//! Urgent calls of local senders.

use std::task::Waker;

use super::Mailbox;
use crate::letters::Loss;
use crate::lifecycle::control::ControlMessage;
use crate::limits::URGENT_CALLS_MAX;
use crate::mailbox::backlog::Pushed;
use crate::mailbox::backlog::parked::Ticket;
use crate::mailbox::backlog::queue::Queue;
use crate::mailbox::ready_queues::Source;
use crate::reply::Asker;

impl<M> Mailbox<M> {
    /// Enqueues an urgent call of a local sender, or parks the sender if there is no room.
    pub(crate) fn push_urgent(
        &self,
        message: &mut Option<M>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Pushed {
        let mut state = self.lock();
        if state.closed || state.sealed {
            return Pushed::Closed;
        }
        let when_full = state.local.when_full();
        let new = || Queue::new(URGENT_CALLS_MAX, when_full);
        let queue = state.ready.urgent_or(new);
        drop(state);
        let lost = |message: &M| self.origin().lost(Loss::NoRoom, message);
        let pushed = queue.push(message, asker, ticket, waker, lost);
        if let Pushed::In { list: true } = pushed {
            self.list_urgent(Source::Urgent(queue));
        }
        pushed
    }

    /// Lists the queue, as [`list`](Self::list) does; the current run is broken off if that is
    /// allowed.
    fn list_urgent(&self, queue: Source<M>) {
        let mut state = self.lock();
        let breaks_off = state.ready.breaks_off();
        state.ready.push_last(queue);
        let actor = state.actor.take();
        drop(state);
        if breaks_off {
            // After the queue is listed: the actor carries out the order and then finds the queue.
            self.control.order(ControlMessage::Urgent);
        }
        actor.into_iter().for_each(Waker::wake);
    }

    /// Removes a parked sender of an urgent call that gives up.
    pub(crate) fn leave_urgent(&self, ticket: &mut Ticket) {
        let urgent = self.lock().ready.urgent().cloned();
        if let Some(queue) = urgent {
            queue.leave(ticket);
        }
    }
}
