//! A session with a hostile peer, which writes arbitrary bytes after a correct opening.
//!
//! The input is a script, as in [`session`](super::session). The peer writes noise, a message of
//! noise, or a batch that is correct except for the faults that the script adds, so that the deep
//! rules are reached too. The session continues, or it ends with the number of a rule, which is its
//! last message. Its memory is bounded by the limits it announced, and its own output stays
//! correct.

mod frames;

use std::time::Duration;

use wigwag_link::batch::{BatchHeader, PAIR1_HEADER};
use wigwag_link::limits::{SCALED_UNACKED_BYTES_MAX, SEGMENT_BYTES, UNACKED_RESERVE};
use wigwag_link::{LinkError, RecvHalf, write};
use wigwag_sim::peer::{Event, Faults, PeerError, ReceivedBatch};
use wigwag_wire::read_buf::READ_BYTES;
use wigwag_wire::{Buffer, ConnectionStateMachine, ReadBuf, Time};

pub use frames::seeds;
use frames::{KINDS, fill_body};

use crate::fuzz::session::{
    DIALER, End, LISTENER, Node, NodeApplication, ReadError, Script, SessionProfile,
    open_connection,
};
use crate::fuzz::{Verdict, ensure};

/// The most steps of a script.
const STEPS_MAX: usize = 300;

/// The most frames of a batch.
const FRAMES_MAX: usize = 24;

/// The honest end of a session, and the state of the hostile peer.
struct HostileHarness {
    now: Time,
    profile: SessionProfile,
    end: End,
    node: Node,
    /// A strict reader, which checks the output of the honest end.
    verifier: RecvHalf,
    written: ReadBuf,
    /// The number of the peer's next frame, if it counts correctly.
    next_seq: u64,
    /// The error that has ended the session.
    error: Option<PeerError>,
    has_ended: bool,
}

/// Checks a session. The first byte chooses limits, framing and features, the second which end is
/// hostile; each step is a byte, followed by its arguments.
pub fn check(input: &[u8]) -> Verdict {
    let mut script = Script::new(input);
    let profile = SessionProfile::read(&mut script);
    let profile = SessionProfile { parts: profile.runs, ..profile };
    let side = if script.byte() & 1 == 0 { LISTENER } else { DIALER };
    let [dialer, listener] = open_connection(&profile, Faults::default(), usize::MAX)?.ends;
    let mut world = HostileHarness {
        now: Time::START,
        profile,
        end: if side == DIALER { dialer } else { listener },
        node: Node::new(profile.limits),
        verifier: RecvHalf::new(&profile.limits).with_features(profile.parts_feature()),
        written: ReadBuf::new(),
        next_seq: 0,
        error: None,
        has_ended: false,
    };
    for _ in 0..STEPS_MAX {
        if script.is_over() || world.has_ended {
            break;
        }
        world.step(&mut script)?;
        world.check_invariants()?;
    }
    world.check_close()
}

impl HostileHarness {
    fn step(&mut self, script: &mut Script<'_>) -> Verdict {
        match script.below(32) {
            0 => {
                let length = script.below(64);
                let noise = script.take(length).to_vec();
                self.arrive(&noise)
            }
            1..=2 => {
                let length = script.below(64);
                let noise = script.take(length).to_vec();
                self.arrive_message(&noise)
            }
            3..=16 => {
                let batch = self.batch(script);
                self.arrive_message(batch.as_slice())
            }
            17..=22 => self.perform(script),
            23..=26 => self.write(script.length()),
            27..=28 => self.resume(script),
            29..=30 => self.advance_clock(script),
            _ => {
                let (node, end) = (&mut self.node, &mut self.end);
                end.peer.sender().into_iter().for_each(|sender| node.handle_all_calls(sender));
                Ok(())
            }
        }
    }

    /// Writes a batch that is correct except for the faults of the script.
    fn batch(&mut self, script: &mut Script<'_>) -> Buffer {
        let count = script.below(FRAMES_MAX);
        let (mut frames, mut numbers) = (Buffer::new(), 0);
        for _ in 0..count {
            let mut body = Buffer::new();
            let kind = KINDS[script.below(KINDS.len())];
            fill_body(&mut body, kind, script);
            if kind & 0x80 != 0 {
                numbers += wigwag_link::frame::numbers(kind, body.as_slice()).unwrap_or(1);
            }
            write::frame(&mut frames, kind, |out| out.extend(body.as_slice()));
        }
        let wrong = script.byte();
        let (off, down) = (u64::from(wrong >> 4 & 3), wrong >> 6 & 1 != 0);
        let wide = |number: u64| if down { number.saturating_sub(off) } else { number + off };
        let sent = self
            .end
            .peer
            .sender()
            .map_or(0, |sender| sender.outbox.next_seq() - sender.outbox.untaken_frames());
        let header = match wrong & 7 {
            1 => BatchHeader { ack: wide(sent), first_seq: self.next_seq, count: numbers },
            2 => BatchHeader { ack: sent, first_seq: wide(self.next_seq), count: numbers },
            3 => BatchHeader { ack: sent, first_seq: self.next_seq, count: wide(numbers) },
            4 => BatchHeader { ack: u64::MAX >> off, first_seq: u64::MAX >> off, count: off },
            _ => BatchHeader { ack: sent, first_seq: self.next_seq, count: numbers },
        };
        let mut batch = Buffer::new();
        header.encode(&mut batch);
        batch.extend(frames.as_slice());
        batch
    }

    fn arrive_message(&mut self, message: &[u8]) -> Verdict {
        let (prefix, used) = self.profile.framing.prefix(PAIR1_HEADER.len() + message.len());
        let whole = [&prefix[..used], &PAIR1_HEADER, message].concat();
        self.arrive(&whole)
    }

    /// Receives bytes of the hostile peer.
    fn arrive(&mut self, bytes: &[u8]) -> Verdict {
        self.end.fill(bytes, self.now);
        while self.error.is_none() && !self.node.close_received {
            let End { peer, input, .. } = &mut self.end;
            let broken = match peer.receive(input, self.now) {
                Ok(None) => break,
                Ok(Some(Event::Batch(ReceivedBatch { dispatcher, sender, message }))) => {
                    let mut reading =
                        NodeApplication::new(&mut self.node, sender, None, usize::MAX);
                    dispatcher.receive(message, self.now, &mut reading).err()
                }
                Ok(Some(other)) => return Err(format!("{other:?} in an open session")),
                Err(PeerError::Link(error)) => Some(ReadError::Protocol(error)),
                Err(error) => {
                    self.error = Some(error);
                    None
                }
            };
            match broken {
                None | Some(ReadError::Stopped) => {}
                Some(ReadError::Protocol(LinkError::ClosedByPeer { .. })) => {
                    self.node.close_received = true
                }
                Some(ReadError::Protocol(error)) => self.error = Some(PeerError::Link(error)),
                Some(ReadError::Property(why)) => return Err(why),
            }
        }
        self.has_ended = self.error.is_some() || self.node.close_received;
        self.next_seq = self.end.peer.recv_next().unwrap_or(0);
        // An announced length that did not arrive takes no memory.
        let (kept, claimed) = (self.end.input.len(), self.end.input.space().capacity());
        let most = 2 * READ_BYTES + kept;
        ensure(claimed <= most, || format!("{claimed} bytes of memory for {kept} that came"))
    }

    /// Performs an action of the honest node.
    fn perform(&mut self, script: &mut Script<'_>) -> Verdict {
        let (what, which) = (script.below(8), script.below(8));
        let size = usize::from(script.byte()) * self.profile.scale;
        let Some(sender) = self.end.peer.sender() else { return Ok(()) };
        let node = &mut self.node;
        match what {
            0..=1 => node.attach(sender)?,
            2 => node.call(sender, (which, size), false)?,
            3 => node.call(sender, (which, size), true)?,
            4 => node.turn(sender, (which, size), false)?,
            5 => node.handle(sender, which, 3, size),
            6 => node.stop(sender, which),
            _ => node.detach(sender, which),
        }
        Ok(())
    }

    /// Cuts the connection and resumes the session with a received count that may be made up.
    fn resume(&mut self, script: &mut Script<'_>) -> Verdict {
        let Some(mut session) = self.end.peer.take_session() else { return Ok(()) };
        if !self.end.batch.is_empty() {
            session.sender.outbox.mark_torn();
        }
        self.end.batch.clear();
        let kept = self.end.input.len();
        self.end.input.skip(kept);
        self.written = ReadBuf::new();
        let (outbox, made_up) = (&session.sender.outbox, u64::from(script.byte()));
        let (acked, sent) = (outbox.acked(), outbox.next_seq() - outbox.untaken_frames());
        let recv_next = match made_up {
            0..=2 => (u64::MAX - made_up) >> 1,
            3..=60 => acked + made_up - 3,
            // The number that the strict reader has received is the correct one.
            _ => self.verifier.recv_next(),
        };
        let allowed = (acked..=sent).contains(&recv_next);
        let resumed = session.sender.resume(recv_next, self.now);
        ensure(resumed.is_ok() == allowed, || {
            format!("resumed from {recv_next}, {acked} acknowledged, {sent} sent: {resumed:?}")
        })?;
        self.end.peer.attach_session(session);
        // A claim for frames that were never sent is refused. A peer that lies about what it has
        // received gets gaps, which harms only itself.
        self.has_ended = !allowed || recv_next > self.verifier.recv_next();
        Ok(())
    }

    fn advance_clock(&mut self, script: &mut Script<'_>) -> Verdict {
        self.now = self.now + Duration::from_millis(u64::from(script.byte()) * 40);
        if let Err(error) = self.end.tick(self.now) {
            let silent = error == PeerError::Link(LinkError::Silent);
            ensure(silent, || format!("{error} is told by a clock"))?;
            self.has_ended = true;
        }
        Ok(())
    }

    /// Writes the output of the honest end, and checks it with the strict reader.
    fn write(&mut self, most: usize) -> Verdict {
        let bytes = self.end.write(most, self.now);
        self.written.fill(&bytes);
        let limit = self.profile.limits.batch_max as usize;
        loop {
            let message = self.profile.framing.cut(&mut self.written, limit);
            let Some(message) = message.map_err(|error| format!("we write {error}"))? else {
                return Ok(());
            };
            let batch = message.get(PAIR1_HEADER.len()..).unwrap_or_default();
            let read = |receiver: &mut RecvHalf| -> Result<(), LinkError> {
                let mut incoming = receiver.open(batch)?;
                while incoming.next_frame()?.is_some() {}
                Ok(())
            };
            read(&mut self.verifier).map_err(|error| format!("we write what is wrong: {error}"))?;
        }
    }

    /// Checks that memory is bounded, whatever the peer sends.
    fn check_invariants(&mut self) -> Verdict {
        let limits = self.profile.limits;
        let Some(sender) = self.end.peer.sender() else {
            return Err("the session is lost".to_owned());
        };
        let kept = sender.outbox.retained();
        let most = SCALED_UNACKED_BYTES_MAX + UNACKED_RESERVE + 2 * SEGMENT_BYTES;
        ensure(kept <= most, || format!("{kept} bytes are kept"))?;
        let channels = self.node.inbound.len() as u64;
        ensure(channels <= limits.channels_max, || format!("{channels} channels"))?;
        for (channel, open) in (0..).zip(&self.node.inbound) {
            let (Some(open), Some(grant)) = (open, sender.granted(channel)) else { continue };
            let waiting = open.used - open.freed;
            ensure(waiting <= grant.capacity() && open.used <= grant.announced(), || {
                format!("channel {channel}: {waiting} units wait, the grant is {grant:?}")
            })?;
        }
        for (channel, open) in (0..).zip(&self.node.outbound) {
            let Some(open) = open else { continue };
            let free = sender.window(channel).map(|window| window.free());
            let right = open.used <= open.limit && free == Some(open.limit - open.used);
            ensure(right, || format!("channel {channel}: {open:?}, and {free:?} are free"))?;
        }
        Ok(())
    }

    /// Checks that a peer that has broken a rule gets a CLOSE and nothing after it.
    fn check_close(mut self) -> Verdict {
        let Some(error) = self.error.take() else { return Ok(()) };
        self.end.peer.fail(&error);
        let PeerError::Link(LinkError::Misbehaved { .. }) = error else { return Ok(()) };
        for _ in 0..1000 {
            self.write(usize::MAX)?;
            if self.end.peer.sender().is_none_or(|sender| !sender.has_output()) {
                break;
            }
        }
        let sender = self.end.peer.sender();
        let is_closed = sender.is_some_and(|sender| sender.is_closed() && !sender.has_output());
        ensure(is_closed, || format!("after `{error}` no CLOSE goes out"))
    }
}
