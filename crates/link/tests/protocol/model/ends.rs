//! The two real ends, with a channel in each direction and batches in flight between them.
//!
//! Each end is driven as a node drives it: senders and the writer use the send half, and what
//! arrives goes through the [`Dispatcher`].

use std::collections::VecDeque;
use std::time::Duration;

use wigwag_link::batch::{BatchHeader, PAIR1_HEADER};
use wigwag_link::frame::Frame;
use wigwag_link::limits::{ACK_DELAY_MS, units};
use wigwag_link::opening::resume::Claim;
use wigwag_link::send_half::{CallRefused, Outgoing};
use wigwag_link::{Dispatcher, Limits, LinkError, SendHalf, features, write};
use wigwag_wire::run::RunBuilder;
use wigwag_wire::small::store;
use wigwag_wire::{Buffer, Time};

use crate::application::{EndApplication, Read, Stop, arguments, word};

/// Batches that may arrive again.
const OLD_BATCHES: usize = 4;

/// Frames that each end has published when both channels are open: ATTACH and ATTACHED.
pub(crate) const OPENING_FRAMES: u64 = 2;

/// The features of the session.
const FEATURES: u64 = features::RUNS | features::MIXED_RUNS;

/// Calls that each end is given at once at most.
const CALLS_MAX: [usize; 2] = [1, 4];

/// Small, so that every limit is reached.
pub(crate) const LIMITS: Limits = Limits {
    batch_max: 2048,
    frame_max: 1000,
    message_max: 1000,
    // Fewer than the longest call needs, so that senders are blocked.
    initial_units: 8,
    attach_pending_max: 1,
    channels_max: 1,
    slots_max: 1,
    assembly_initial: 1,
    // No end counts as silent here.
    heartbeat_ms: 60_000,
};

/// One end of the session.
struct End {
    sender: SendHalf,
    runs: RunBuilder,
    dispatcher: Dispatcher<()>,
    /// The costs of the calls in the inbound queue.
    queue: VecDeque<u64>,
    /// Batches that this end has written and the other end has not received.
    written: VecDeque<Vec<u8>>,
    /// Batches that the other end has received.
    arrived: VecDeque<Vec<u8>>,
}

/// Both ends of the session.
pub(crate) struct Ends {
    ends: [End; 2],
    /// The number of the connection.
    epoch: u64,
    now: Time,
}

/// The cost of a call that is padded with `size` bytes: channel and method take a byte each.
pub(crate) fn cost(size: usize) -> u64 {
    units(2 + 8 + size)
}

impl Ends {
    /// Two ends whose channels are open.
    pub(crate) fn new() -> Ends {
        let now = Time::START;
        let ends = CALLS_MAX.map(|calls_max| {
            let mut sender = SendHalf::new(&LIMITS, LIMITS, now);
            let channel = sender.open_channel().unwrap();
            let (how, target, schema_hash, codec) = (0, &b"actor"[..], 0, 0);
            let attach = Frame::Attach { channel, how, target, schema_hash, codec };
            sender.outbox.append(|out| write::any(out, &attach));
            let dispatcher = Dispatcher::new(&LIMITS, FEATURES, calls_max);
            let (queue, written, arrived) = Default::default();
            End { sender, runs: RunBuilder::new(true), dispatcher, queue, written, arrived }
        });
        let mut ends = Ends { ends, epoch: 0, now };
        while ends.ends.iter().any(|end| !end.sender.outbox.is_settled()) {
            for end in [0, 1] {
                ends.write(end);
                if let Some(batch) = ends.next_batch(1 - end) {
                    ends.read(1 - end, &batch, usize::MAX);
                }
            }
            ends.pass(ACK_DELAY_MS);
        }
        ends
    }

    pub(crate) fn sender(&mut self, end: usize) -> &mut SendHalf {
        &mut self.ends[end].sender
    }

    pub(crate) fn recv_next(&self, end: usize) -> u64 {
        self.ends[end].dispatcher.recv_next()
    }

    /// The limit that the end has announced.
    pub(crate) fn announced(&mut self, end: usize) -> u64 {
        self.ends[end].sender.granted(0).unwrap().announced()
    }

    /// The capacity of its inbound queue.
    pub(crate) fn queue_capacity(&mut self, end: usize) -> u64 {
        let waiting: u64 = self.ends[end].queue.iter().sum();
        let window = self.ends[end].sender.granted(0).unwrap().window();
        assert!(waiting <= window, "{waiting} units wait in {window} places");
        window
    }

    /// Sends a call; returns true if it was appended.
    pub(crate) fn tell(&mut self, end: usize, next: u64, size: usize) -> bool {
        let sender = &mut self.ends[end].sender;
        let bytes = arguments(1, next, size);
        let put = |out: &mut Buffer| write::tell(out, 0, 1, |out| out.extend(&bytes));
        match sender.call(0, put) {
            Ok(()) => true,
            Err(CallRefused::NoCredit { units }) => {
                assert_eq!(units, cost(size));
                sender.stuck(0, units);
                false
            }
            Err(other) => panic!("{other:?}"),
        }
    }

    /// Publishes short calls, as many as the lease allows, and returns their number.
    pub(crate) fn turn(&mut self, end: usize, next: u64, count: u64) -> u64 {
        let sender = &mut self.ends[end].sender;
        let window = sender.window(0).unwrap();
        let leased = window.lease(count + 5);
        let calls = leased.min(count);
        window.give_back(leased - calls);
        let mut turn = Buffer::new();
        for number in next..next + calls {
            let put = |out: &mut Buffer| out.extend(&arguments(1, number, 20));
            write::tell(&mut turn, 0, 1, put);
        }
        sender.outbox.publish(&mut turn, calls);
        calls
    }

    /// Publishes short calls as [`turn`](Self::turn) does, each of the next of `methods` methods, and
    /// joins them to runs.
    pub(crate) fn mixed_turn(&mut self, end: usize, next: u64, count: u64, methods: u32) -> u64 {
        let End { sender, runs, .. } = &mut self.ends[end];
        let window = sender.window(0).unwrap();
        let leased = window.lease(count);
        let mut turn = Buffer::new();
        for number in next..next + leased {
            let method = 1 + (number % u64::from(methods)) as u32;
            let joins = runs.tell(&mut turn, 0, method, |scratch, place| {
                store(scratch, place, word(method, number));
                Some(place + 8)
            });
            if !joins {
                runs.close(&mut turn);
                write::tell(&mut turn, 0, method, |out| out.extend(&arguments(method, number, 0)));
                runs.note_tell(0, method);
            }
        }
        runs.close(&mut turn);
        sender.outbox.publish(&mut turn, leased);
        leased
    }

    /// Publishes a reply; its slot is its number.
    pub(crate) fn reply(&mut self, end: usize, next: u64) {
        let asker = (u32::try_from(next).unwrap(), 0);
        self.ends[end].sender.outbox.append(|out| write::reply(out, asker, |_| ()));
    }

    /// The actor takes calls; returns their units.
    pub(crate) fn free(&mut self, end: usize, calls: usize) -> u64 {
        let End { sender, queue, .. } = &mut self.ends[end];
        let units = queue.drain(..calls.min(queue.len())).sum();
        sender.freed(0, units);
        units
    }

    /// Writes the next batch of the end, which is in flight then.
    pub(crate) fn write(&mut self, end: usize) -> Option<Vec<u8>> {
        let End { sender, written, .. } = &mut self.ends[end];
        let (mut out, had) = (Outgoing::default(), sender.has_output());
        sender.take_output(&mut out, self.now);
        assert_eq!(had, !out.is_empty());
        assert!(4 + out.len() <= LIMITS.batch_max as usize, "{} bytes", out.len());
        let mut bytes = out.head.as_slice().to_vec();
        out.sequenced.segments.iter().for_each(|segment| bytes.extend_from_slice(&segment.flat()));
        if !had {
            return None;
        }
        written.push_back(bytes.clone());
        Some(bytes)
    }

    /// The next batch in flight to the end.
    pub(crate) fn next_batch(&mut self, end: usize) -> Option<Vec<u8>> {
        let End { written, arrived, .. } = &mut self.ends[1 - end];
        let batch = written.pop_front()?;
        arrived.push_front(batch.clone());
        arrived.truncate(OLD_BATCHES);
        Some(batch)
    }

    /// A batch that has arrived before.
    pub(crate) fn old_batch(&self, end: usize, which: usize) -> Option<Vec<u8>> {
        self.ends[1 - end].arrived.get(which).cloned()
    }

    /// The end is given a batch of this header, without frames, and refuses it.
    pub(crate) fn refusal(&mut self, end: usize, header: BatchHeader) -> LinkError {
        let mut batch = Buffer::new();
        header.encode(&mut batch);
        match self.receive(end, batch.as_slice(), usize::MAX) {
            (_, Err(Stop::Refused(error))) => error,
            (read, outcome) => panic!("{header:?} is read: {read:?}, {outcome:?}"),
        }
    }

    /// Reads a batch until the end was given something this many times.
    pub(crate) fn read(&mut self, end: usize, batch: &[u8], steps: usize) -> Read {
        let (read, outcome) = self.receive(end, batch, steps);
        match outcome {
            Ok(()) => {}
            Err(Stop::Enough) => {
                // The dispatcher reports whole batches only. Frames that the end was given are accepted.
                let End { sender, dispatcher, .. } = &mut self.ends[end];
                sender.accepted(dispatcher.recv_next(), 0, self.now);
            }
            Err(Stop::Refused(error)) => panic!("{error}"),
        }
        read
    }

    fn receive(&mut self, end: usize, batch: &[u8], steps: usize) -> (Read, Result<(), Stop>) {
        let End { sender, dispatcher, queue, .. } = &mut self.ends[end];
        let message = [&PAIR1_HEADER, batch].concat();
        let (refuses, read) = (false, Read::default());
        let mut app = EndApplication { sender, queue, steps, refuses, read };
        let outcome = dispatcher.receive(&message, self.now, &mut app);
        (app.read, outcome)
    }

    /// Loses everything in flight. Returns which ends had a torn batch: only a batch in flight can
    /// be torn.
    pub(crate) fn cut(&mut self, torn: [bool; 2]) -> [bool; 2] {
        let mut were = [false; 2];
        for ((end, torn), was) in self.ends.iter_mut().zip(torn).zip(&mut were) {
            *was = torn && !end.written.is_empty();
            end.written.clear();
            end.arrived.clear();
            if *was {
                end.sender.outbox.mark_torn();
            }
        }
        were
    }

    /// Opens a new connection, on which each end announces what it has accepted: end 0 claims the
    /// session, end 1 readmits it.
    pub(crate) fn resume(&mut self) {
        self.epoch += 1;
        let [claimed, announced] = [0, 1].map(|end| self.recv_next(end));
        let claim = Claim { session: 1, epoch: self.epoch, recv_next: claimed, nonces: [1, 2] };
        let [dialer, listener] = &mut self.ends;
        listener.dispatcher.readmit(&claim, 1, &listener.sender.outbox).unwrap();
        listener.sender.resume(claimed, self.now).unwrap();
        dialer.sender.resume(announced, self.now).unwrap();
    }

    pub(crate) fn pass(&mut self, milliseconds: u64) {
        self.now = self.now + Duration::from_millis(milliseconds);
        for end in &mut self.ends {
            end.sender.tick(self.now, || true).unwrap();
        }
    }
}
