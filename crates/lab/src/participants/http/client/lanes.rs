//! All connections of a timed run: which of them have something to read, which have a second packet
//! to send, and which wait in vain.

use std::time::{Duration, Instant};

use super::connection::{ClientConnection, ClientState};
use super::visits::Visits;
use super::{INBOX, VISIT};
use crate::contract::poller::Poller;
use crate::contract::{Failure, Orders};

/// Connections that wait in vain are looked for so often.
const SWEEP_EVERY: Duration = Duration::from_millis(100);
/// The second packet of a request follows so soon if nothing else happens.
const PIECE_WAIT: Duration = Duration::from_millis(1);

/// The connections of a run.
pub(super) struct Lanes<'a> {
    lanes: &'a mut [ClientConnection],
    poll: Poller,
    inbox: Vec<u8>,
    visits: Visits,
    /// Connections with a second packet, each once.
    torn: Vec<usize>,
    /// Connections that are not over.
    working: usize,
    swept: Instant,
}

impl<'a> Lanes<'a> {
    /// Every connection is polled; nothing was asked yet.
    pub(super) fn new(
        lanes: &'a mut [ClientConnection],
        orders: &Orders,
        messages: u64,
        desk: &mut ClientState,
    ) -> Result<Lanes<'a>, Failure> {
        let (poll, visits) = (Poller::new()?, Visits::new(orders.port, messages, desk));
        for (index, lane) in lanes.iter_mut().enumerate() {
            lane.begin(desk)?;
            if !lane.over {
                poll.add(&lane.stream, index as u64)?;
            }
        }
        let working = lanes.iter().filter(|lane| !lane.over).count();
        let (inbox, torn, swept) = (vec![0; INBOX], Vec::new(), Instant::now());
        Ok(Lanes { lanes, poll, inbox, visits, torn, working, swept })
    }

    /// Whether a connection may still ask.
    pub(super) fn are_working(&self) -> bool {
        self.working > 0
    }

    pub(super) fn is_visit_under_way(&self) -> bool {
        self.visits.is_under_way()
    }

    /// Every connection is over when what it has in flight is answered.
    pub(super) fn ask_no_more(&mut self) {
        self.lanes.iter_mut().for_each(ClientConnection::ask_no_more);
    }

    /// Lets connection `index` ask, which may leave it torn.
    pub(super) fn ask(
        &mut self,
        index: usize,
        desk: &mut ClientState,
        ask: impl FnOnce(&mut ClientConnection, &mut ClientState, Instant),
    ) {
        let lane = &mut self.lanes[index];
        if !lane.over {
            ask(lane, desk, Instant::now());
            if lane.is_torn() {
                self.torn.push(index);
            }
        }
    }

    /// Takes what comes within `most`, or until connections are to be looked through; `on_free` is
    /// told of each connection that has nothing in flight any more.
    pub(super) fn take(
        &mut self,
        most: Duration,
        desk: &mut ClientState,
        mut on_free: impl FnMut(usize),
    ) -> Result<(), Failure> {
        let wait = if self.torn.is_empty() { SWEEP_EVERY } else { PIECE_WAIT };
        let waiting = self.torn.len();
        let ready = self.poll.wait(Some(wait.min(most)))?;
        // Seconds may have passed since anybody looked: a thousand connections were made.
        desk.check.check_clock();
        for index in ready {
            if index == VISIT {
                self.visits.take(&mut self.inbox, desk);
                continue;
            }
            let lane = &mut self.lanes[index as usize];
            let was_torn = lane.is_torn();
            lane.take(&mut self.inbox, desk, Instant::now());
            if lane.is_torn() && !was_torn {
                self.torn.push(index as usize);
            }
            if lane.over {
                self.working -= 1;
                self.poll.remove(&lane.stream)?;
            } else if lane.is_free() {
                on_free(index as usize);
            }
        }
        // Those that were torn before this wait; a connection is torn once at a time.
        for index in self.torn.drain(..waiting) {
            self.lanes[index].send_rest();
        }
        if self.are_working() {
            self.visits.begin_if_due(&self.poll, desk)?;
        }
        self.sweep(desk)
    }

    fn sweep(&mut self, desk: &mut ClientState) -> Result<(), Failure> {
        if self.swept.elapsed() < SWEEP_EVERY {
            return Ok(());
        }
        self.swept = Instant::now();
        self.visits.sweep(desk);
        for lane in self.lanes.iter_mut().filter(|lane| !lane.over && !lane.is_free()) {
            lane.give_up(desk, self.swept);
            if lane.over {
                self.working -= 1;
                self.poll.remove(&lane.stream)?;
            }
        }
        Ok(())
    }
}
