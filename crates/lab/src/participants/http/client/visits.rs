//! Visits by HTTP/1.0 at random places of a timed run, one at a time.

use super::VISIT;
use super::connection::ClientState;
use super::visit::{Visit, VisitProgress};
use crate::contract::Failure;
use crate::contract::poller::Poller;

/// Visits of a run, about.
const VISITS: u64 = 8;

/// The visit that is under way, and when the next one begins.
pub(super) struct Visits {
    visit: Option<Visit>,
    port: u16,
    /// Replies from which on the next one is due.
    due: u64,
    every: u64,
}

impl Visits {
    /// Visits of a run of so many messages.
    pub(super) fn new(port: u16, messages: u64, desk: &mut ClientState) -> Visits {
        let every = (messages / VISITS).max(1);
        let due = if desk.mixes { desk.random.draw() % every } else { u64::MAX };
        Visits { visit: None, port, due, every }
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.visit.is_some()
    }

    pub(super) fn begin_if_due(
        &mut self,
        poll: &Poller,
        desk: &mut ClientState,
    ) -> Result<(), Failure> {
        if self.visit.is_none() && desk.replies >= self.due {
            let visit = Visit::begin(self.port, desk);
            if let Some(visit) = desk.note_failed(visit) {
                visit.stream.set_nonblocking(true)?;
                poll.add(&visit.stream, VISIT)?;
                self.visit = Some(visit);
            }
            self.due = desk.replies + self.every / 2 + desk.random.draw() % self.every;
        }
        Ok(())
    }

    pub(super) fn take(&mut self, inbox: &mut [u8], desk: &mut ClientState) {
        // Dropping it closes it, which takes it off the poll too.
        self.visit.take_if(|visit| visit.take(inbox, desk) == VisitProgress::Done);
    }

    /// Ends a visit that has waited too long.
    pub(super) fn sweep(&mut self, desk: &mut ClientState) {
        if let Some(late) = self.visit.take_if(|visit| visit.is_late(desk)) {
            late.give_up(desk);
        }
    }
}
