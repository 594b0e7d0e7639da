//! The state of an actor as its channel knows it: its end, and the calls that wait for it.

use std::sync::Arc;

use wigwag_actor::lifecycle::end_watchers::{EndWatcher, NotWatched};
use wigwag_actor::{CallErrorKind, Reason};

use crate::send::channel::Channel;

impl Channel {
    /// Why no later call can reach the actor, if none can: it has stopped, or the session is over.
    pub(crate) fn ended(&self) -> Option<Arc<str>> {
        let mut sending = self.session.sending();
        if let Some(ended) = &sending.ended {
            return Some(ended.why.clone());
        }
        match sending.channel_of(self.origin) {
            Some(channel) => channel.gone.map(|kind| kind.to_string().into()),
            None => Some(CallErrorKind::ActorStopped.to_string().into()),
        }
    }

    /// The reason of the actor's end.
    pub(crate) fn end_reason(&self) -> Reason {
        let mut sending = self.session.sending();
        if let Some(ended) = &sending.ended {
            return ended.reason();
        }
        let reason = sending.channel_of(self.origin).and_then(|channel| channel.end_reason.clone());
        reason.unwrap_or(Reason::Unknown)
    }

    /// Tells `watcher` of that end.
    pub(crate) fn watch_end(&self, number: u64, watcher: EndWatcher) -> Result<(), NotWatched> {
        let mut sending = self.session.sending();
        if sending.ended.is_some() {
            return Err(NotWatched::Ended);
        }
        let channel = sending.channel_of(self.origin).filter(|channel| channel.gone.is_none());
        channel.ok_or(NotWatched::Ended)?.end_watchers.add(number, watcher)
    }

    pub(crate) fn unwatch_end(&self, number: u64) {
        if let Some(channel) = self.session.sending().channel_of(self.origin) {
            drop(channel.end_watchers.remove(number));
        }
    }

    /// The published calls that the peer has not reported as handled.
    pub(crate) fn waiting(&self) -> usize {
        let mut sending = self.session.sending();
        let waiting = sending.channel_of(self.origin).map_or(0, |channel| channel.tally.waiting());
        usize::try_from(waiting).unwrap_or(usize::MAX)
    }
}
