//! The demo: the remote workload beside its limits, round by round in shuffled order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cells::{ASKS, CAPACITY, Driver, Failure, IN_FLIGHT, Measured, ROUND_TRIPS};
use crate::digest::Verified;
use crate::report::{Pair, Report, SCHEMA, total};
use crate::service::Service;
use crate::statistics::SplitMix64;

/// Rounds of a run.
pub const ROUNDS: usize = 5;

/// The least size of a raw message, and of a raw request: its payload must hold what is verified.
const RAW_MIN: [usize; 2] = [8, 16];
/// Payload that a raw message may carry at most.
const RAW_PAYLOAD_MAX: usize = 16;
/// Bytes of an ask's arguments: an array of two full-width numbers.
const ASK_PAYLOAD: usize = 19;

/// A cell of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Tells from two tasks.
    Tell,
    /// Their limit.
    RawTell,
    /// Tells from a thread.
    TellFromThread,
    /// Asks in flight.
    Ask,
    /// Their limit.
    RawAsk,
    /// Asks one at a time.
    RoundTrip,
    /// Their limit.
    RawRoundTrip,
    /// Tells within the process.
    Local,
    /// A channel beside them.
    Channel,
}

/// Every cell of a round.
pub const CELLS: [Cell; 9] = [
    Cell::Tell,
    Cell::RawTell,
    Cell::TellFromThread,
    Cell::Ask,
    Cell::RawAsk,
    Cell::RoundTrip,
    Cell::RawRoundTrip,
    Cell::Local,
    Cell::Channel,
];

impl Cell {
    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Cell::Tell => "tell",
            Cell::RawTell => "tell, raw",
            Cell::TellFromThread => "tell from a thread",
            Cell::Ask => "ask",
            Cell::RawAsk => "ask, raw",
            Cell::RoundTrip => "round trip",
            Cell::RawRoundTrip => "round trip, raw",
            Cell::Local => "local tell",
            Cell::Channel => "local channel",
        }
    }
}

/// A run under way.
pub struct Demo {
    driver: Driver,
    shuffle: SplitMix64,
    pairs: Pairs,
    sizes: Sizes,
    rounds: usize,
    /// What became of the messages before the first round; they count as well.
    warm_up: Verified,
}

#[derive(Default)]
struct Pairs {
    tell: Pair,
    from_thread: Pair,
    ask: Pair,
    round_trip: Pair,
    local: Pair,
}

/// What the raw limit moves: as much as wigwag put on the wire, measured before the first round.
#[derive(Clone, Copy, Default)]
struct Sizes {
    tell: usize,
    ask: [usize; 2],
    round_trip: [usize; 2],
}

impl Demo {
    /// Connects, warms up, and learns how many bytes a message takes on the wire.
    pub async fn new(service: Service, stop: Arc<AtomicBool>) -> Result<Demo, Failure> {
        let mut driver = Driver::new(service, stop).await?;
        let per_message = |cell: &Measured, way: usize| {
            let messages = cell.verified.received.max(1) as f64;
            (cell.bytes[way] as f64 / messages).round() as usize
        };
        let tell = driver.tell().await?;
        let ask = driver.ask().await?;
        let round_trip = driver.round_trip().await?;
        let warm_up = total([&tell, &ask, &round_trip].into_iter());
        let raw_request = |cell: &Measured| {
            let whole = per_message(cell, 0);
            let headers = whole.saturating_sub(ASK_PAYLOAD);
            [(headers + RAW_PAYLOAD_MAX).max(RAW_MIN[1]), per_message(cell, 1).max(RAW_MIN[0])]
        };
        let sizes = Sizes {
            tell: per_message(&tell, 0).max(RAW_MIN[0]),
            ask: raw_request(&ask),
            round_trip: raw_request(&round_trip),
        };
        let shuffle = SplitMix64::new(u64::from(std::process::id()));
        Ok(Demo { driver, shuffle, pairs: Pairs::default(), sizes, rounds: 0, warm_up })
    }

    /// True when somebody has asked it to stop.
    pub fn is_stopped(&self) -> bool {
        self.driver.stop.load(Ordering::Relaxed)
    }

    /// One round: every cell once, in an order of its own. `tell` hears of each before it begins.
    pub async fn round(&mut self, mut tell: impl FnMut(Cell)) -> Result<(), Failure> {
        let mut cells = CELLS;
        self.shuffle.shuffle(&mut cells);
        for cell in cells {
            if self.is_stopped() {
                return Ok(());
            }
            tell(cell);
            self.measure(cell).await?;
        }
        self.rounds += 1;
        Ok(())
    }

    async fn measure(&mut self, cell: Cell) -> Result<(), Failure> {
        let (driver, pairs, sizes) = (&mut self.driver, &mut self.pairs, self.sizes);
        match cell {
            Cell::Tell => pairs.tell.ours.push(driver.tell().await?),
            Cell::RawTell => {
                let limit = driver.raw_tell(sizes.tell).await?;
                pairs.tell.limit.push(limit.clone());
                pairs.from_thread.limit.push(limit);
            }
            Cell::TellFromThread => {
                pairs.from_thread.ours.push(driver.tell_from_thread().await?);
            }
            Cell::Ask => pairs.ask.ours.push(driver.ask().await?),
            Cell::RawAsk => {
                let limit = driver.raw_ask(sizes.ask, ASKS, IN_FLIGHT as u64).await?;
                pairs.ask.limit.push(limit);
            }
            Cell::RoundTrip => pairs.round_trip.ours.push(driver.round_trip().await?),
            Cell::RawRoundTrip => {
                let limit = driver.raw_ask(sizes.round_trip, ROUND_TRIPS, 1).await?;
                pairs.round_trip.limit.push(limit);
            }
            Cell::Local => pairs.local.ours.push(driver.local_tell().await?),
            Cell::Channel => pairs.local.limit.push(driver.local_channel().await?),
        }
        Ok(())
    }

    /// What was found so far.
    pub fn report(&self) -> Report {
        let pairs = &self.pairs;
        let all = [&pairs.tell, &pairs.from_thread, &pairs.ask, &pairs.round_trip, &pairs.local];
        let limits = [&pairs.tell, &pairs.ask, &pairs.round_trip, &pairs.local];
        Report {
            schema: SCHEMA.to_owned(),
            verified: total(all.iter().flat_map(|pair| &pair.ours)) + self.warm_up,
            raw_verified: total(limits.iter().flat_map(|pair| &pair.limit)),
            interrupted: self.is_stopped(),
            rounds: self.rounds,
            tell: pairs.tell.rate([self.sizes.tell, 0]),
            tell_from_thread: pairs.from_thread.rate([self.sizes.tell, 0]),
            ask: pairs.ask.rate(self.sizes.ask),
            rtt: pairs.round_trip.round_trip(),
            local_tell: pairs.local.local(CAPACITY),
        }
    }
}
