//! The end of a session: its reasons, and the notifications that it sends.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use wigwag_actor::CallErrorKind;
use wigwag_actor::lifecycle::end_watchers::EndWatchers;
use wigwag_link::Code;
use wigwag_link::opening::admission::SessionProgress;
use wigwag_net::clock;
use wigwag_wire::Time;

use super::{EndKind, HeldActors, Session, SessionEnd};
use crate::events::SessionChange;
use crate::limits::SILENT_SESSION_TTL;
use crate::session::outcome::UnsentCalls;
use crate::streams::inbox::Inbox;
use crate::sync::Ordering;

impl Session {
    /// Asks the session's task to end.
    pub(crate) fn halt(&self) {
        self.is_halting.store(true, Ordering::SeqCst);
        self.halt_requested.notify_one();
        self.connection().leave.notify_one();
    }

    /// True while the dialer has sent nothing: it may not know that the session is open.
    pub(crate) fn is_silent(&self) -> bool {
        !self.dialed && self.last_received.load(Ordering::Relaxed) == 0
    }

    /// The time for which the session may still be silent.
    pub(crate) fn silence_left(&self) -> Duration {
        SILENT_SESSION_TTL.saturating_sub(clock::now().since(self.started_at))
    }

    /// The state that admission checks when another session with this peer is requested.
    pub(crate) fn progress(&self) -> SessionProgress {
        match (self.is_silent(), self.cut_since()) {
            (false, _) => SessionProgress::Established,
            (true, None) => SessionProgress::Silent,
            (true, Some(_)) => SessionProgress::SilentAndCut,
        }
    }

    /// True if the session was cut while it was silent: its dialer may not come back for it.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.progress() == SessionProgress::SilentAndCut
    }

    /// The time of the cut, if the session has no connection.
    pub(crate) fn cut_since(&self) -> Option<Time> {
        self.sending().cut.as_ref().map(|cut| cut.since)
    }

    /// Ends the session and tells the peer the reason.
    pub(crate) fn dismiss(&self, code: Code, rule: &'static str) {
        if let Some(owner) = self.owner.upgrade() {
            owner.session_evicted();
        }
        self.sending().sender.close(code, rule);
        self.flush();
        self.end(rule, EndKind::Lost);
        self.halt();
    }

    /// True after [`halt`](Self::halt).
    pub(crate) fn is_halted(&self) -> bool {
        self.is_halting.load(Ordering::SeqCst)
    }

    /// Waits for [`halt`](Self::halt).
    pub(crate) async fn halted(&self) {
        while !self.is_halted() {
            self.halt_requested.notified().await;
        }
    }

    /// Tells the peer that the session ends here in good order, as far as the socket accepts it at
    /// once. A peer that does not get this keeps the session for its TTL, like one that was cut.
    pub(crate) fn send_bye(&self) {
        let mut sending = self.sending();
        if sending.ended.is_some() {
            return;
        }
        sending.sender.close(Code::BYE, "");
        drop(sending);
        self.flush_blocking(Duration::ZERO);
    }

    /// Ends the session and notifies every waiting sender and asker, and the watchers of its actors.
    pub(crate) fn end(&self, why: &str, how: EndKind) {
        let why: Arc<str> = why.into();
        // Before anything is let go.
        let held =
            if self.announcer.is_heard() { self.held_actors() } else { HeldActors::default() };
        let ended = SessionEnd { why: why.clone(), how, held };
        let (mut wakers, mut end_watchers) = (Vec::new(), Vec::new());
        let connection = self.connection().clone();
        let was_torn = connection.flusher.retire();
        let unsent = {
            let mut sending = self.sending();
            if sending.ended.is_some() {
                return;
            }
            sending.ended = Some(ended.clone());
            self.has_ended.store(true, Ordering::Relaxed);
            if was_torn && sending.epoch == connection.epoch {
                sending.sender.outbox.mark_torn();
            }
            for channel in &mut sending.channels {
                wakers.append(&mut channel.parked.drain());
                channel.attaching = None;
                end_watchers.push(std::mem::take(&mut channel.end_watchers));
            }
            UnsentCalls::in_outbox(&sending.sender.outbox)
        };
        self.identity_place.leave();
        self.publish_all_held();
        // No turn adds a call behind this, so an ask that is open now and was counted fails below.
        self.publish_held();
        wakers.append(&mut unsent.fail(self, &why));
        wakers.append(&mut self.fail_asks(CallErrorKind::Unknown, &why));
        self.sending().are_asks_counted = true;
        self.ask_waits.stop();
        wakers.into_iter().for_each(Waker::wake);
        self.cancelled.end();
        self.end_streams();
        self.pipes.clear();
        self.end_stream_values(&why);
        self.progress.notify_waiters();
        self.announce_end();
        EndWatchers::tell_all(end_watchers, &ended.reason());
        self.end_links(&ended.reason());
        self.release_lent();
        self.release_kept_routes();
    }

    /// Tells the producers of streams that nobody reads them, and forgets the streams here whose
    /// reader has gone. Other readers still take what has come.
    fn end_streams(&self) {
        let left = self.read_streams.remove_if(Inbox::is_abandoned);
        let mut sending = self.sending();
        left.into_iter().for_each(|slot| sending.sender.close_stream(slot as u32));
        drop(sending.take_producers());
        drop(sending);
        self.sent_streams.take_all().values().for_each(|outlet| outlet.end());
    }

    /// Announces the outcome of the calls, once, as soon as the asks have failed and are counted, and no
    /// turn holds calls back: a turn that is open when the session ends still counts its calls as sent.
    pub(crate) fn announce_end(&self) {
        // Held until the lock is free: the node may end with the last reference to it.
        let owner = self.owner.upgrade();
        let mut sending = self.sending();
        let is_open = sending.channels.iter().any(|channel| channel.holders.are_counting());
        let is_counted = sending.are_asks_counted && sending.unsent_to_fail == 0 && !is_open;
        let Some(ended) = sending.ended.clone().filter(|_| is_counted) else { return };
        let SessionEnd { why, how, held } = ended;
        if std::mem::replace(&mut sending.is_announced, true) {
            return;
        }
        for ring in self.asks.rings.tallies() {
            if let Some(channel) = sending.channel_of(ring.origin) {
                channel.tally.pipeline_left(&ring);
            }
        }
        let unsent = UnsentCalls::in_outbox(&sending.sender.outbox);
        let deliveries = unsent.deliveries(&sending.channels, self.counts_tells);
        // References of users may keep the session alive for long, and none of this is sent any
        // more.
        let has_lost = deliveries.iter().any(|one| one.unknown + one.not_delivered > 0);
        sending.sender.discard();
        if has_lost && let Some(owner) = &owner {
            // Under the lock, so that a flush that sees the end finds this report.
            owner.session_lost(&self.peer, &why);
        }
        let counters = sending.statistics();
        drop(sending);
        self.progress.notify_waiters();
        let closed = how == EndKind::Closed;
        if let Some(owner) = &owner {
            owner.session_ended(closed, &counters);
        }
        self.announce(SessionChange::Ended { why, closed, deliveries, held });
        self.sending().is_end_told = true;
        self.progress.notify_waiters();
    }

    /// Drops the actors' channels after the driver has ended, which breaks the reference cycle
    /// between actors and session.
    pub(crate) fn release(&self) {
        self.reading.lock().dispatcher.clear();
    }

    /// Fails and counts all outstanding asks; returns the wakers of those that wait.
    pub(crate) fn fail_asks(&self, kind: CallErrorKind, why: &str) -> Vec<Waker> {
        let (wakers, failed) = self.asks.fail_all(|| Box::new((kind, why.into())));
        self.sending().asks_failed(failed.into_iter().map(|origin| (origin, kind)));
        wakers
    }
}
