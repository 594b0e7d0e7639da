//! The two real ends, with a channel in each direction and batches in flight between them.

use std::collections::VecDeque;
use std::time::Duration;

use wigwag_link::batch::BatchHeader;
use wigwag_link::frame::Frame;
use wigwag_link::limits::units;
use wigwag_link::send_half::{CallRefused, Outgoing};
use wigwag_link::{Limits, LinkError, RecvHalf, SendHalf, write};
use wigwag_wire::{Buffer, Time};

/// Batches that may arrive again.
const OLD_BATCHES: usize = 4;

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
    receiver: RecvHalf,
    /// The costs of the calls in the inbound queue.
    queue: VecDeque<u64>,
    used: u64,
    /// Batches that this end has written and the other end has not received.
    written: VecDeque<Vec<u8>>,
    /// Batches that the other end has received.
    arrived: VecDeque<Vec<u8>>,
}

/// Both ends of the session.
pub(crate) struct Ends {
    ends: [End; 2],
    now: Time,
}

/// The content of a batch, as an end has read it.
#[derive(Default)]
pub(crate) struct Read {
    pub(crate) ack: u64,
    /// The numbers in the frames.
    pub(crate) heard: Vec<u64>,
    pub(crate) units: u64,
    /// The highest limit in CREDIT.
    pub(crate) limit: u64,
}

/// The arguments of a call: its number, padded to its size.
fn arguments(number: u64, size: usize) -> Vec<u8> {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.resize(8 + size, 7);
    bytes
}

/// The cost of such a call: channel and method take a byte each.
pub(crate) fn cost(size: usize) -> u64 {
    units(2 + 8 + size)
}

fn number(arguments: &[u8]) -> u64 {
    u64::from_le_bytes(*arguments.first_chunk().unwrap())
}

impl Ends {
    pub(crate) fn new() -> Ends {
        let now = Time::START;
        let end = || {
            let mut sender = SendHalf::new(&LIMITS, LIMITS, now);
            assert_eq!(sender.open_channel(), Some(0));
            sender.attached(0, LIMITS.initial_units);
            assert_eq!(sender.grant(0, LIMITS.initial_units), Ok(LIMITS.initial_units));
            let receiver = RecvHalf::new(&LIMITS);
            let (queue, written, arrived) = Default::default();
            End { sender, receiver, queue, used: 0, written, arrived }
        };
        Ends { ends: [end(), end()], now }
    }

    pub(crate) fn sender(&mut self, end: usize) -> &mut SendHalf {
        &mut self.ends[end].sender
    }

    pub(crate) fn recv_next(&self, end: usize) -> u64 {
        self.ends[end].receiver.recv_next()
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
        let bytes = arguments(next, size);
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
            let put = |out: &mut Buffer| out.extend(&arguments(number, 20));
            write::tell(&mut turn, 0, 1, put);
        }
        sender.outbox.publish(&mut turn, calls);
        calls
    }

    pub(crate) fn cancel(&mut self, end: usize, next: u64) {
        let cancel = Frame::Cancel { slot: next, generation: 0 };
        self.ends[end].sender.outbox.append(|out| write::any(out, &cancel));
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
        out.sequenced
            .segments
            .iter()
            .for_each(|segment| bytes.extend_from_slice(segment.as_slice()));
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

    pub(crate) fn open_header(&mut self, end: usize, header: BatchHeader) -> Result<(), LinkError> {
        let mut batch = Buffer::new();
        header.encode(&mut batch);
        self.ends[end].receiver.open(batch.as_slice()).map(drop)
    }

    /// Reads this many frames of a batch, alternating between the fast and the slow path.
    pub(crate) fn read(&mut self, end: usize, batch: &[u8], frames: usize) -> Read {
        let End { sender, receiver, queue, used, .. } = &mut self.ends[end];
        let mut incoming = receiver.open(batch).unwrap();
        sender.outbox.acknowledge(incoming.ack).unwrap();
        let mut read = Read { ack: incoming.ack, ..Read::default() };
        let mut pay = |sender: &mut SendHalf, units: u64| {
            *used += units;
            sender.granted(0).unwrap().check(*used).unwrap();
            queue.push_back(units);
            read.units += units;
        };
        for step in 0..frames {
            if step % 2 == 0
                && let Some(run) = incoming.next_calls(1)
            {
                pay(sender, run.units);
                let call = wigwag_wire::call::Calls::new(run.bytes).next().unwrap();
                read.heard.push(number(call.arguments));
                continue;
            }
            let Some((frame, body)) = incoming.next_frame().unwrap() else {
                break;
            };
            match frame {
                Frame::Tell { arguments, .. } => {
                    pay(sender, units(body));
                    read.heard.push(number(arguments));
                }
                Frame::Cancel { slot, .. } => read.heard.push(slot),
                Frame::Credit { limit, .. } => {
                    sender.window(0).unwrap().raise(limit);
                    read.limit = read.limit.max(limit);
                }
                Frame::Need { limit_wanted, .. } => drop(sender.need_received(0, limit_wanted)),
                Frame::Ping { id, next_ms } => sender.ping_received(id, next_ms),
                Frame::Pong { id } => drop(sender.pong_received(id, self.now)),
                other => panic!("{other:?}"),
            }
        }
        drop(incoming);
        sender.accepted(receiver.recv_next(), batch.len(), self.now);
        read
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

    /// Opens a new connection, on which each end announces what it has accepted.
    pub(crate) fn resume(&mut self, heard: [u64; 2]) {
        for (end, heard) in self.ends.iter_mut().zip(heard) {
            end.sender.resume(heard, self.now).unwrap();
        }
    }

    pub(crate) fn pass(&mut self, milliseconds: u64) {
        self.now = self.now + Duration::from_millis(milliseconds);
        for end in &mut self.ends {
            end.sender.tick(self.now, || true).unwrap();
        }
    }
}
