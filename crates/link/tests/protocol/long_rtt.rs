//! A session with a long RTT, in virtual time: the amount in flight grows with the RTT, but only
//! where that helps.

#![allow(clippy::unwrap_used, reason = "a test ends where something is not there")]

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use wigwag_link::batch::PAIR1_HEADER;
use wigwag_link::budget::{Pools, UnitPool};
use wigwag_link::limits::{SCALED_WINDOW_UNITS_MAX, UNACKED_BYTES_MAX, WINDOW_UNITS_MAX};
use wigwag_link::send_half::{CallRefused, Outgoing};
use wigwag_link::{Dispatcher, Frame, Limits, SendHalf, write};
use wigwag_wire::run::RUN_ITEMS_MAX;
use wigwag_wire::{Buffer, Time};

use crate::application::{EndApplication, Read, arguments};

/// Calls that the sender makes per millisecond if nothing blocks it.
const CALLS_PER_MS: u64 = 3000;

struct End {
    sender: SendHalf,
    dispatcher: Dispatcher<()>,
    /// The costs of the calls in the inbound queue.
    queue: VecDeque<u64>,
    /// Batches in flight to this end, and when they arrive.
    arriving: VecDeque<(u64, Vec<u8>)>,
}

impl End {
    fn new(pool: &Arc<Pools>) -> End {
        let limits = Limits::default();
        End {
            sender: SendHalf::new(&limits, limits, Time::START).with_pools(pool.clone()),
            dispatcher: Dispatcher::new(&limits, 0, RUN_ITEMS_MAX),
            queue: VecDeque::new(),
            arriving: VecDeque::new(),
        }
    }

    /// Reads everything that has arrived.
    fn read(&mut self, now: u64) {
        let End { sender, dispatcher, queue, arriving } = self;
        while arriving.front().is_some_and(|(due, _)| *due <= now) {
            let (_, message) = arriving.pop_front().unwrap();
            sender.bytes_received(at(now));
            let (steps, read) = (usize::MAX, Read::default());
            let mut app = EndApplication { sender, queue, steps, refuses: false, read };
            dispatcher.receive(&message, at(now), &mut app).unwrap();
        }
        sender.tick(at(now), || false).unwrap();
    }

    /// The actor handles at most `most` calls; gives their number.
    fn handle(&mut self, channel: u64, most: usize) -> u64 {
        let taken = self.queue.len().min(most);
        let units = self.queue.drain(..taken).sum();
        self.sender.freed(channel, units);
        taken as u64
    }

    fn write(&mut self, other: &mut End, now: u64, delay: u64) {
        let mut out = Outgoing::default();
        loop {
            self.sender.take_output(&mut out, at(now));
            if out.is_empty() {
                return;
            }
            let mut message = [&PAIR1_HEADER, out.head.as_slice()].concat();
            out.sequenced.segments.iter().for_each(|segment| message.extend(&*segment.flat()));
            other.arriving.push_back((now + delay, message));
        }
    }
}

fn at(ms: u64) -> Time {
    Time::START + Duration::from_millis(ms)
}

/// The outcome of two virtual seconds.
struct Outcome {
    /// Calls handled in the first 200 ms, and in the second second.
    begun: u64,
    handled: u64,
    /// The largest window of the channel, and the most bytes that were retained.
    window: u64,
    kept: usize,
}

/// Two ends, and the number of a channel of the first one that is open.
fn open() -> (End, End, u64) {
    let pool = Arc::new(Pools::default());
    let (mut ours, mut theirs) = (End::new(&pool), End::new(&pool));
    let channel = ours.sender.open_channel().unwrap();
    let (how, target, schema_hash, codec) = (0, &b"actor"[..], 0, 0);
    let attach = Frame::Attach { channel, how, target, schema_hash, codec };
    ours.sender.outbox.append(|out| write::any(out, &attach));
    ours.write(&mut theirs, 0, 0);
    theirs.read(0);
    theirs.write(&mut ours, 0, 0);
    (ours, theirs, channel)
}

/// Simulates two seconds with a delay of `delay` ms each way, for calls with `bytes` of arguments
/// and an actor that handles at most `pace` of them per millisecond.
fn two_seconds(delay: u64, bytes: usize, pace: usize) -> Outcome {
    let (mut ours, mut theirs, channel) = open();
    let arguments = arguments(1, 0, bytes - 8);
    let encode =
        |out: &mut Buffer| write::tell(out, channel, 1, |out: &mut Buffer| out.extend(&arguments));
    let mut outcome = Outcome { begun: 0, handled: 0, window: 0, kept: 0 };
    for now in 0..2000 {
        ours.read(now);
        for _ in 0..CALLS_PER_MS {
            match ours.sender.call(channel, encode) {
                Ok(()) => {}
                Err(CallRefused::NoCredit { units }) => {
                    ours.sender.stuck(channel, units);
                    break;
                }
                Err(CallRefused::NoRoom) => break,
                Err(refused) => panic!("{refused:?}"),
            }
        }
        ours.write(&mut theirs, now, delay);
        theirs.read(now);
        let taken = theirs.handle(channel, pace);
        theirs.write(&mut ours, now, delay);
        outcome.begun += if now < 200 { taken } else { 0 };
        outcome.handled += if now < 1000 { 0 } else { taken };
        outcome.window = outcome.window.max(theirs.sender.granted(channel).unwrap().window());
        outcome.kept = outcome.kept.max(ours.sender.outbox.retained());
    }
    outcome
}

#[test]
fn ten_milliseconds_each_way_do_not_slow_small_calls() {
    let outcome = two_seconds(10, 8, usize::MAX);
    assert!(outcome.handled >= 1000 * CALLS_PER_MS * 95 / 100, "{}", outcome.handled);
    assert!(outcome.window > WINDOW_UNITS_MAX && outcome.window <= SCALED_WINDOW_UNITS_MAX);
    // Ten round trips: a window that only doubled would have allowed 64 thousand calls.
    assert!(outcome.begun > 100 * CALLS_PER_MS * 8 / 10, "{}", outcome.begun);
}

/// 240 MB/s: more than the base credit and the base unacked window allow.
#[test]
fn ten_milliseconds_each_way_do_not_slow_larger_calls() {
    let outcome = two_seconds(10, 80, usize::MAX);
    assert!(outcome.handled >= 1000 * CALLS_PER_MS * 95 / 100, "{}", outcome.handled);
    assert!(outcome.kept > UNACKED_BYTES_MAX, "{}", outcome.kept);
}

#[test]
fn no_window_is_scaled_at_a_short_rtt() {
    let outcome = two_seconds(0, 80, usize::MAX);
    assert!(outcome.window <= WINDOW_UNITS_MAX, "{}", outcome.window);
    assert!(outcome.kept <= UNACKED_BYTES_MAX + 256 * 1024, "{}", outcome.kept);
}

#[test]
fn a_slow_actor_gets_no_scaled_window() {
    let outcome = two_seconds(10, 8, 500);
    assert!(outcome.handled >= 1000 * 500 * 95 / 100, "{}", outcome.handled);
    assert_eq!(outcome.window, WINDOW_UNITS_MAX);
}

/// Without the pool only base windows are granted, and the session still works.
#[test]
fn a_node_with_a_spent_pool_works_with_base_windows() {
    let pool = Arc::new(Pools { scaled: UnitPool::new(0), ..Pools::default() });
    let mut end = End::new(&pool);
    end.sender.grant(0, 64, None).unwrap();
    for round in 0..20 {
        let wanted = end.sender.granted(0).unwrap().announced() + 1;
        end.sender.need_received(0, wanted, 0);
        let announced = end.sender.granted(0).unwrap().announce().0;
        end.sender.freed(0, announced.min(WINDOW_UNITS_MAX));
        let mut out = Outgoing::default();
        end.sender.take_output(&mut out, at(round * 100));
        end.sender.pong_received(round + 1, at(round * 100 + 50));
    }
    assert_eq!(end.sender.granted(0).unwrap().window(), WINDOW_UNITS_MAX);
}
