//! How a session ends, and who hears of it.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use wigwag_actor::CallErrorKind;
use wigwag_link::Code;
use wigwag_net::clock;
use wigwag_wire::Time;

use super::{Session, SessionEnd};
use crate::events::SessionChange;
use crate::limits::SILENT_SESSION_TTL;
use crate::session::outcome::UnsentCalls;
use crate::sync::Ordering;

impl Session {
    /// Ends the session's task.
    pub(crate) fn halt(&self) {
        self.is_halting.store(true, Ordering::SeqCst);
        self.halt_requested.notify_one();
        self.connection().leave.notify_one();
    }

    /// True while nothing has come from the dialer: it may never have heard that the session is open.
    pub(crate) fn is_silent(&self) -> bool {
        !self.dialed && self.last_received.load(Ordering::Relaxed) == 0
    }

    /// How long the session may still be silent.
    pub(crate) fn silence_left(&self) -> Duration {
        SILENT_SESSION_TTL.saturating_sub(clock::now().since(self.started_at))
    }

    /// True when it was cut while it was silent: its dialer may not come back for it.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.is_silent() && self.cut_since().is_some()
    }

    /// When it lost its connection, if it has none.
    pub(crate) fn cut_since(&self) -> Option<Time> {
        self.sending().cut
    }

    /// Ends the session for a reason that the peer is told.
    pub(crate) fn dismiss(&self, code: Code, rule: &'static str) {
        self.sending().sender.close(code, rule);
        self.flush();
        self.end(rule);
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

    /// Tells the peer that the session ends here in good order, as far as the socket takes it at once;
    /// a peer that is not told keeps the session for as long as it keeps one that was cut.
    pub(crate) fn send_bye(&self) {
        let mut sending = self.sending();
        if sending.ended.is_some() {
            return;
        }
        sending.sender.close(Code::BYE, "");
        drop(sending);
        self.flush_blocking(Duration::ZERO);
    }

    /// The session is over: everybody who waits hears of it.
    pub(crate) fn end(&self, why: &str) {
        let why: Arc<str> = why.into();
        let mut wakers = Vec::new();
        let connection = self.connection().clone();
        let was_torn = connection.flusher.retire();
        let unsent = {
            let mut sending = self.sending();
            if sending.ended.is_some() {
                return;
            }
            sending.ended = Some(SessionEnd { why: why.clone() });
            self.has_ended.store(true, Ordering::Relaxed);
            if was_torn && sending.epoch == connection.epoch {
                sending.sender.outbox.mark_torn();
            }
            for channel in &mut sending.channels {
                wakers.append(&mut channel.parked.drain());
                channel.attaching = None;
            }
            UnsentCalls::in_outbox(&sending.sender.outbox)
        };
        wakers.append(&mut unsent.fail(&self.asks, &why));
        wakers.append(&mut self.fail_asks(CallErrorKind::Unknown, &why));
        wakers.into_iter().for_each(Waker::wake);
        self.progress.notify_waiters();
        self.announce_end();
    }

    /// Says what became of the calls, once, when no turn holds any back: a turn that is open when the
    /// session ends still believes to have sent them.
    pub(crate) fn announce_end(&self) {
        let mut sending = self.sending();
        let is_open = sending.channels.iter().any(|channel| channel.turns > 0);
        let Some(SessionEnd { why }) = sending.ended.clone().filter(|_| !is_open) else { return };
        if std::mem::replace(&mut sending.is_announced, true) {
            return;
        }
        let deliveries =
            UnsentCalls::in_outbox(&sending.sender.outbox).deliveries(&sending.channels);
        // References of users may keep the link for long, and nothing of this is sent any more.
        sending.sender.discard();
        drop(sending);
        self.announce(SessionChange::Ended { why, deliveries });
    }

    /// The driver has ended: actors and link let go of each other.
    pub(crate) fn release(&self) {
        self.reading.lock().dispatcher.clear();
    }

    /// No answers will come any more. Gives those who wait for one.
    pub(crate) fn fail_asks(&self, kind: CallErrorKind, why: &str) -> Vec<Waker> {
        self.asks.fail_all(|| Box::new((kind, why.into())))
    }
}
