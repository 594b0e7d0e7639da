//! The slots of asks: given back when their answers were taken, or are not wanted any more.

use std::sync::Arc;
use std::task::Waker;

use wigwag_actor::{CallErrorKind, Slot};

use crate::replies::ring::Ring;
use crate::replies::slot::{Abandoned, Completion};
use crate::session::Session;

impl Session {
    /// Releases the slot of an ask and wakes senders that wait for one.
    pub(crate) fn free_slot(&self, number: u32) {
        if !self.read_streams.is_empty() {
            self.close_stream(number);
        }
        if self.asks.release([number]) {
            let front_wakers = self.sending().front_wakers();
            front_wakers.into_iter().for_each(Waker::wake);
        }
    }

    /// Ends the stream that this side reads in a slot, if there is one.
    #[cold]
    pub(crate) fn close_stream(&self, slot: u32) {
        if self.read_streams.remove_slot(slot.into()).is_some() {
            self.sending().sender.close_stream(slot);
        }
    }

    /// Gives up the answer to an ask. True if it has not arrived: then the slot is free when it
    /// does.
    pub(crate) fn disown(&self, slot: Slot) -> bool {
        let Some(place) = self.asks.slot(slot.index()) else { return false };
        match place.abandon(slot.generation()) {
            Abandoned::Open => true,
            Abandoned::Free(answer) => {
                self.free_slot(slot.index());
                self.discard_value(&answer);
                false
            }
        }
    }

    /// Frees the slot of an ask that was taken back before the peer had it.
    pub(crate) fn ask_withdrawn(&self, asker: (u32, u32)) {
        const KIND: CallErrorKind = CallErrorKind::Cancelled;
        let origin = self.asks.origin(asker.0);
        match self.asks.fail(asker, || Box::new((KIND, "".into()))) {
            Completion::NotOpen => return,
            Completion::Stored(waker) => waker.into_iter().for_each(Waker::wake),
            Completion::Unwanted => self.free_slot(asker.0),
        }
        self.sending().asks_failed([(origin, KIND)]);
    }

    /// Releases the slots of a ring and wakes senders that wait for one.
    pub(crate) fn close_ring(&self, ring: &Arc<Ring>) {
        if let Some(channel) = self.sending().channel_of(ring.origin()) {
            channel.tally.pipeline_ended(ring.sent());
        }
        if self.asks.close_ring(ring) {
            let front_wakers = self.sending().front_wakers();
            front_wakers.into_iter().for_each(Waker::wake);
        }
    }
}
