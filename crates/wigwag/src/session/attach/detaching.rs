//! Channels that are detached, and waiting senders that give up.

use std::task::Waker;

use wigwag_actor::Ticket;

use crate::session::Session;

impl Session {
    /// Detaches a channel whose last reference was dropped. Its number must not be used again
    /// before, or an old reference would reach another actor.
    pub(crate) fn detach(&self, channel: u64) {
        // Dropped at the end, without the lock: the watchers are code of others.
        let _watchers;
        let mut guard = self.sending();
        let sending = &mut *guard;
        let unsent = sending.publish_closed_runs(channel);
        sending.forget_links(channel as usize);
        let Some(open) = sending.channels.get_mut(channel as usize) else {
            return;
        };
        // The peer answers with DETACHED, which says nothing of the actor: it may live on.
        _watchers = std::mem::take(&mut open.end_watchers);
        open.holders.forget_closed();
        if let (Some(unsent), Some(ended)) = (unsent, &sending.ended) {
            let why = ended.why.clone();
            drop(guard);
            unsent.fail(self, &why).into_iter().for_each(Waker::wake);
        } else if !open.holders.is_empty() {
            // Another thread's turn has called the channel and not published yet: it detaches the
            // channel when it does.
            open.detach_wanted = true;
        } else if sending.ended.is_none() && sending.sender.detach(channel) {
            drop(guard);
            self.wake_driver();
        }
    }

    /// Removes a waiting sender that gives up.
    pub(crate) fn stop_waiting(&self, channel: u64, ticket: &mut Ticket) {
        let wakers = {
            let mut sending = self.sending();
            if let Some(channel) = sending.channels.get_mut(channel as usize) {
                channel.parked.leave(ticket);
            }
            sending.wakers_with_room(channel)
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}
