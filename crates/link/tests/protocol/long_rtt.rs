//! A session over a long way, in virtual time: what is under way grows with the distance, and only
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

/// Calls that the sender makes in a millisecond, when nothing holds it up.
const CALLS_PER_MS: u64 = 3000;

struct End {
    sender: SendHalf,
    receiver: RecvHalf,
    /// Batches on their way to this end, and when they arrive.
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

    /// Reads what has come by now; gives the calls in it.
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

/// What came of two virtual seconds.
struct Course {
    /// Calls handled in the first 200 ms, and in the second second.
    begun: u64,
    handled: u64,
    /// The largest window that the channel had, and the most bytes that were kept.
    window: u64,
    kept: usize,
}

/// Two seconds over a way of `delay` ms each way, of calls with `bytes` of arguments, to an actor
/// that handles `pace` a millisecond at most.
fn two_seconds(delay: u64, bytes: usize, pace: u64) -> Course {
    let pool = Arc::new(Pools::default());
    let (mut ours, mut theirs) = (End::new(&pool), End::new(&pool));
    let channel = ours.sender.open_channel().unwrap();
    let limit = theirs.sender.grant(channel, 64).unwrap();
    ours.sender.attached(channel, limit);
    let arguments = vec![7; bytes];
    let encode =
        |out: &mut Buffer| write::tell(out, channel, 1, |out: &mut Buffer| out.extend(&arguments));
    let mut units = 1;
    let (mut lane, mut course) = (0, Course { begun: 0, handled: 0, window: 0, kept: 0 });
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
        lane += theirs.read(now);
        let taken = lane.min(pace);
        lane -= taken;
        theirs.sender.freed(channel, taken * units);
        theirs.write(&mut ours, now, delay);
        course.begun += if now < 200 { taken } else { 0 };
        course.handled += if now < 1000 { 0 } else { taken };
        course.window = course.window.max(theirs.sender.granted(channel).unwrap().window());
        course.kept = course.kept.max(ours.sender.outbox.retained());
    }
    course
}

#[test]
fn ten_milliseconds_each_way_cost_a_sender_of_small_calls_nothing() {
    let course = two_seconds(10, 8, u64::MAX);
    assert!(course.handled >= 1000 * CALLS_PER_MS * 95 / 100, "{}", course.handled);
    assert!(course.window > WINDOW_UNITS_MAX && course.window <= SCALED_WINDOW_UNITS_MAX);
    // Ten round trips: a window that only doubled would have carried 64 thousand.
    assert!(course.begun > 100 * CALLS_PER_MS * 8 / 10, "{}", course.begun);
}

/// 240 MB/s: neither the near credit nor the near unacked window is enough for that.
#[test]
fn nor_do_they_cost_a_sender_of_larger_ones() {
    let course = two_seconds(10, 80, u64::MAX);
    assert!(course.handled >= 1000 * CALLS_PER_MS * 95 / 100, "{}", course.handled);
    assert!(course.kept > UNACKED_BYTES_MAX, "{}", course.kept);
}

#[test]
fn near_by_nothing_grows() {
    let course = two_seconds(0, 80, u64::MAX);
    assert!(course.window <= WINDOW_UNITS_MAX, "{}", course.window);
    assert!(course.kept <= UNACKED_BYTES_MAX + 256 * 1024, "{}", course.kept);
}

#[test]
fn a_slow_actor_is_not_sent_more_because_it_is_far() {
    let course = two_seconds(10, 8, 500);
    assert!(course.handled >= 1000 * 500 * 95 / 100, "{}", course.handled);
    assert_eq!(course.window, WINDOW_UNITS_MAX);
}

/// Without the pool nothing but the near windows is granted, and the session goes on.
#[test]
fn a_node_whose_pool_is_spent_goes_on_with_what_it_has_near_by() {
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
