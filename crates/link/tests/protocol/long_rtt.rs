//! A session with a long RTT, in virtual time: the amount in flight grows with the RTT, but only
//! where that helps.

#![allow(clippy::unwrap_used, reason = "a test ends where something is not there")]

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use wigwag_link::budget::{Pools, UnitPool};
use wigwag_link::limits::{SCALED_WINDOW_UNITS_MAX, UNACKED_BYTES_MAX, WINDOW_UNITS_MAX};
use wigwag_link::send_half::{CallRefused, Outgoing};
use wigwag_link::{Frame, Limits, RecvHalf, SendHalf, write};
use wigwag_wire::{Buffer, Time};

/// Calls that the sender makes per millisecond if nothing blocks it.
const CALLS_PER_MS: u64 = 3000;

struct End {
    sender: SendHalf,
    receiver: RecvHalf,
    /// Batches in flight to this end, and when they arrive.
    arriving: VecDeque<(u64, Vec<u8>)>,
}

impl End {
    fn new(pool: &Arc<Pools>) -> End {
        let limits = Limits::default();
        End {
            sender: SendHalf::new(&limits, limits, Time::START).with_pools(pool.clone()),
            receiver: RecvHalf::new(&limits),
            arriving: VecDeque::new(),
        }
    }

    /// Reads everything that has arrived, and returns the number of calls in it.
    fn read(&mut self, now: u64) -> u64 {
        let mut calls = 0;
        while self.arriving.front().is_some_and(|(due, _)| *due <= now) {
            let (_, batch) = self.arriving.pop_front().unwrap();
            self.sender.bytes_received(at(now));
            let mut incoming = self.receiver.open(&batch).unwrap();
            self.sender.outbox.acknowledge(incoming.ack).unwrap();
            while let Some((frame, _)) = incoming.next_frame().unwrap() {
                match frame {
                    Frame::Tell { .. } => calls += 1,
                    Frame::Credit { channel, limit, .. } => {
                        self.sender.window(channel).unwrap().raise(limit);
                    }
                    Frame::Need { channel, limit_wanted } => {
                        self.sender.need_received(channel, limit_wanted);
                    }
                    Frame::Ping { id, next_ms } => self.sender.ping_received(id, next_ms),
                    Frame::Pong { id } => _ = self.sender.pong_received(id, at(now)),
                    other => panic!("{other:?}"),
                }
            }
            drop(incoming);
            self.sender.accepted(self.receiver.recv_next(), batch.len(), at(now));
        }
        self.sender.tick(at(now), || false).unwrap();
        calls
    }

    fn write(&mut self, other: &mut End, now: u64, delay: u64) {
        let mut out = Outgoing::default();
        loop {
            self.sender.take_output(&mut out, at(now));
            if out.is_empty() {
                return;
            }
            let mut batch = out.head.as_slice().to_vec();
            out.sequenced.segments.iter().for_each(|segment| batch.extend(segment.as_slice()));
            other.arriving.push_back((now + delay, batch));
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

/// Simulates two seconds with a delay of `delay` ms each way, for calls with `bytes` of arguments
/// and an actor that handles at most `pace` of them per millisecond.
fn two_seconds(delay: u64, bytes: usize, pace: u64) -> Outcome {
    let pool = Arc::new(Pools::default());
    let (mut ours, mut theirs) = (End::new(&pool), End::new(&pool));
    let channel = ours.sender.open_channel().unwrap();
    let limit = theirs.sender.grant(channel, 64).unwrap();
    ours.sender.attached(channel, limit);
    let arguments = vec![7; bytes];
    let encode =
        |out: &mut Buffer| write::tell(out, channel, 1, |out: &mut Buffer| out.extend(&arguments));
    let mut units = 1;
    let (mut queue, mut outcome) = (0, Outcome { begun: 0, handled: 0, window: 0, kept: 0 });
    for now in 0..2000 {
        ours.read(now);
        for _ in 0..CALLS_PER_MS {
            match ours.sender.call(channel, |out| {
                let body = encode(out);
                units = wigwag_link::limits::units(body);
                body
            }) {
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
        queue += theirs.read(now);
        let taken = queue.min(pace);
        queue -= taken;
        theirs.sender.freed(channel, taken * units);
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
    let outcome = two_seconds(10, 8, u64::MAX);
    assert!(outcome.handled >= 1000 * CALLS_PER_MS * 95 / 100, "{}", outcome.handled);
    assert!(outcome.window > WINDOW_UNITS_MAX && outcome.window <= SCALED_WINDOW_UNITS_MAX);
    // Ten round trips: a window that only doubled would have allowed 64 thousand calls.
    assert!(outcome.begun > 100 * CALLS_PER_MS * 8 / 10, "{}", outcome.begun);
}

/// 240 MB/s: more than the base credit and the base unacked window allow.
#[test]
fn ten_milliseconds_each_way_do_not_slow_larger_calls() {
    let outcome = two_seconds(10, 80, u64::MAX);
    assert!(outcome.handled >= 1000 * CALLS_PER_MS * 95 / 100, "{}", outcome.handled);
    assert!(outcome.kept > UNACKED_BYTES_MAX, "{}", outcome.kept);
}

#[test]
fn no_window_is_scaled_at_a_short_rtt() {
    let outcome = two_seconds(0, 80, u64::MAX);
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
    end.sender.grant(0, 64).unwrap();
    for round in 0..20 {
        let wanted = end.sender.granted(0).unwrap().announced() + 1;
        end.sender.need_received(0, wanted);
        let announced = end.sender.granted(0).unwrap().announce().0;
        end.sender.freed(0, announced.min(WINDOW_UNITS_MAX));
        let mut out = Outgoing::default();
        end.sender.take_output(&mut out, at(round * 100));
        end.sender.pong_received(round + 1, at(round * 100 + 50));
    }
    assert_eq!(end.sender.granted(0).unwrap().window(), WINDOW_UNITS_MAX);
}
