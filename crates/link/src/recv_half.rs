//! The receiving half of an open session.
//!
//! It belongs to the task that reads the connection. It is separate from the [sending
//! half](crate::send_half::SendHalf) because the two are used under two locks: a reader in the
//! middle of a batch must not hold up the senders.

use wigwag_wire::Reader;
use wigwag_wire::run::{Run, is_mixed_run, is_run};
use wigwag_wire::trace::TraceContext;

use crate::code::Code;
use crate::error::LinkError;
use crate::features;
use crate::frames::batch::BatchHeader;
use crate::frames::frame::kind::{
    CALL_X, ITEM, ITEM_CREDIT, ITEM_END, LINK, PART, PARTS, PARTS_DROP, UNLINK,
};
use crate::frames::frame::{Frame, ITEMS, SEQUENCED, broken_run, numbers, trace_of, unknown_frame};
use crate::limits::Limits;
use crate::recv_half::slot_generations::SlotGenerations;

mod slot_generations;
mod calls;
mod replies;
mod items;

pub use calls::ChannelCalls;
pub use items::{ItemRun, next_item};
pub use replies::{ReplyRun, SmallReply};

/// Generations are 32 bits wide.
const GENERATION_MAX: u64 = u32::MAX as u64;

/// The receiving half of a session.
#[derive(Debug)]
pub struct RecvHalf {
    /// The number of the next frame that has not been accepted.
    recv_next: u64,
    /// Frames that arrived again after a cut and were skipped.
    repeated: u64,
    frame_max: u64,
    slots_max: u64,
    /// The peer may send runs, and mixed ones.
    runs: bool,
    mixed_runs: bool,
    /// The peer may report the outcomes of tells.
    outcomes: bool,
    /// The peer may say how long it waits for an answer.
    cancelling: bool,
    /// The peer may send messages in parts.
    parts: bool,
    /// Asks may be answered with streams.
    streams: bool,
    /// Calls may have a trace context.
    traces: bool,
    /// Streams are values of calls and replies.
    stream_values: bool,
    /// Actors of the peer may be linked to ours.
    links: bool,
    generations: SlotGenerations,
}

impl RecvHalf {
    /// Creates a receiving half at sequence number 0; `ours` are the limits that this side
    /// announced.
    pub fn new(ours: &Limits) -> RecvHalf {
        RecvHalf {
            recv_next: 0,
            repeated: 0,
            frame_max: ours.frame_max,
            slots_max: ours.slots_max,
            runs: false,
            mixed_runs: false,
            outcomes: false,
            cancelling: false,
            parts: false,
            streams: false,
            traces: false,
            stream_values: false,
            links: false,
            generations: SlotGenerations::default(),
        }
    }

    /// Enables the features of the session, as returned by [`on`](features::on).
    pub fn with_features(self, features: u64) -> RecvHalf {
        RecvHalf {
            runs: features & features::RUNS != 0,
            mixed_runs: features::has_mixed_runs(features),
            outcomes: features & features::OUTCOMES != 0,
            cancelling: features & features::CANCELLING != 0,
            parts: features & features::PARTS != 0,
            streams: features::has_streams(features),
            traces: features & features::TRACE_CONTEXT != 0,
            stream_values: features & features::STREAM_VALUES != 0,
            links: features::has_links(features),
            ..self
        }
    }

    /// True for a frame that is a run by the features of the session.
    #[inline(always)]
    fn is_run(&self, kind: u8) -> bool {
        self.runs && is_run(kind) && (self.mixed_runs || !is_mixed_run(kind))
    }

    /// The number of the next frame that has not been accepted.
    pub fn recv_next(&self) -> u64 {
        self.recv_next
    }

    /// The number of frames that were skipped because they had been accepted before.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Checks an ASK that is returned by itself: its slot must be within the announced limit, and
    /// the generation not used before.
    fn check_asker(&mut self, slot: u64, generation: u64) -> Result<(), LinkError> {
        let in_range = slot < self.slots_max && generation <= GENERATION_MAX;
        let (Ok(slot), Ok(generation), true) =
            (u32::try_from(slot), u32::try_from(generation), in_range)
        else {
            let rule = "a slot's number is below slots_max, its generation below 2^32";
            return Err(LinkError::Misbehaved { code: Code::LIMIT_EXCEEDED, rule });
        };
        if self.generations.take(slot, generation) {
            Ok(())
        } else {
            Err(LinkError::protocol("a slot is asked from once with each generation"))
        }
    }

    /// Starts reading a batch.
    ///
    /// # Errors
    ///
    /// Fails if the header is malformed or a sequence number is missing.
    pub fn open<'a>(&'a mut self, message: &'a [u8]) -> Result<Incoming<'a>, LinkError> {
        let mut reader = Reader::new(message);
        let header = BatchHeader::decode(&mut reader)?;
        if header.first_seq > self.recv_next {
            let rule = "sequence numbers have no gaps";
            return Err(LinkError::Misbehaved { code: Code::GAP, rule });
        }
        let end = header.first_seq + header.count;
        let fresh = self.recv_next;
        let seq = header.first_seq;
        Ok(Incoming { receiver: self, reader, ack: header.ack, seq, fresh, end, trace: None })
    }
}

/// A batch that is being read.
#[derive(Debug)]
pub struct Incoming<'a> {
    receiver: &'a mut RecvHalf,
    reader: Reader<'a>,
    /// The peer's ack.
    pub ack: u64,
    /// The number of the next sequenced frame.
    seq: u64,
    /// Frames before this number were accepted in an earlier batch.
    fresh: u64,
    /// The number after the last sequenced frame.
    end: u64,
    /// The trace context of the frame that was parsed last.
    trace: Option<TraceContext>,
}

impl<'a> Incoming<'a> {
    /// True if no ask has had this slot and generation, and one may have them yet.
    pub(crate) fn is_unused(&self, slot: u32, generation: u32) -> bool {
        self.receiver.generations.is_unused(slot, generation)
    }

    /// True if the slot was last asked from with this generation, so that the ask may be open.
    pub fn may_be_open(&self, slot: u64, generation: u64) -> bool {
        self.receiver.generations.is_latest(slot, generation)
    }

    /// Skips frames at the front that were accepted before. A run may follow them, which
    /// [`next_frame`](Self::next_frame) could skip to but not return.
    #[cold]
    fn skip_repeated(&mut self) {
        while self.seq < self.fresh {
            let mut after = self.reader.clone();
            let Ok((kind, body)) = Frame::next(&mut after, self.receiver.frame_max) else {
                return;
            };
            let count = if self.receiver.is_run(kind) { numbers(kind, body) } else { Ok(1) };
            let most = self.fresh.min(self.end).saturating_sub(self.seq);
            let Some(count) = count.ok().filter(|count| *count <= most) else {
                return;
            };
            if kind & SEQUENCED == 0 {
                return;
            }
            self.reader = after;
            self.seq += count;
            self.receiver.repeated += count;
        }
    }

    /// Parses the run at the front if its kind is wanted, and returns it with its number of items,
    /// all of which are numbered in this batch.
    fn run(
        &self,
        after: &mut Reader<'a>,
        is_wanted: impl FnOnce(u8) -> bool,
    ) -> Option<(Run<'a>, usize)> {
        let (kind, body) = Frame::next(after, self.receiver.frame_max).ok()?;
        if !self.receiver.is_run(kind) || !is_wanted(kind) {
            return None;
        }
        let (run, count) = Run::parse_checked(kind, body)?;
        (count as u64 <= self.end - self.seq).then_some((run, count))
    }

    /// Returns the next frame, or `None` at the end of the batch. A sequenced frame counts as
    /// accepted once it is returned, so the caller must deliver or answer it before the batch is
    /// acknowledged.
    ///
    /// # Errors
    ///
    /// Fails if a frame is malformed or breaks a rule. A run that [`next_calls`](Self::next_calls)
    /// and [`next_replies`](Self::next_replies) did not take is an error too.
    #[inline(always)]
    pub fn next_frame(&mut self) -> Result<Option<(Frame<'a>, usize)>, LinkError> {
        loop {
            if self.reader.is_empty() {
                if self.seq != self.end {
                    return Err(LinkError::protocol("a batch holds fewer frames than it says"));
                }
                return Ok(None);
            }
            let (kind, body) = Frame::next(&mut self.reader, self.receiver.frame_max)?;
            if kind & SEQUENCED != 0 {
                let is_run = self.receiver.is_run(kind);
                let numbers = if is_run { numbers(kind, body)? } else { 1 };
                if self.end - self.seq < numbers {
                    return Err(LinkError::protocol("a batch holds more frames than it says"));
                }
                self.seq += numbers;
                if self.seq <= self.fresh {
                    self.receiver.repeated += numbers;
                    continue;
                }
                if is_run {
                    return Err(broken_run());
                }
            }
            return Ok(Some((self.parse(kind, body)?, body.len())));
        }
    }

    /// Takes the trace context of the frame that was parsed last, if it has one and the feature is on.
    pub fn take_trace(&mut self) -> Option<TraceContext> {
        self.trace.take()
    }

    /// Parses a frame, and checks it against the features of the session and the askers of the
    /// peer.
    ///
    /// # Errors
    ///
    /// Fails if the frame is malformed or breaks a rule.
    #[inline(always)]
    pub fn parse<'b>(&mut self, kind: u8, body: &'b [u8]) -> Result<Frame<'b>, LinkError> {
        if let PARTS | PART | PARTS_DROP = kind
            && !self.receiver.parts
        {
            return Err(unknown_frame());
        }
        let is_known = match kind {
            ITEM | ITEM_CREDIT => self.receiver.streams || self.receiver.stream_values,
            ITEM_END => self.receiver.stream_values,
            LINK | UNLINK => self.receiver.links,
            _ => true,
        };
        if !is_known {
            return Err(unknown_frame());
        }
        let mut frame = Frame::parse(kind, body)?;
        if kind == CALL_X && self.receiver.traces {
            self.trace = trace_of(body);
        }
        if let Frame::Need { units, .. } = &mut frame
            && !self.receiver.parts
        {
            *units = 0;
        }
        if let Frame::AskWithin { channel, slot, generation, method, arguments, .. } = frame
            && !self.receiver.cancelling
        {
            frame = Frame::Ask { channel, slot, generation, method, arguments };
        }
        if let Frame::AskItems { channel, slot, generation, .. } = frame
            && !self.receiver.streams
        {
            frame = Frame::NotUnderstood { tag: ITEMS, channel, asker: Some((slot, generation)) };
        }
        if let Frame::Outcomes { .. } | Frame::Rejected { .. } = frame
            && !self.receiver.outcomes
        {
            return Err(unknown_frame());
        }
        if let Frame::Ask { slot, generation, .. }
        | Frame::AskWithin { slot, generation, .. }
        | Frame::AskItems { slot, generation, .. }
        | Frame::NotUnderstood { asker: Some((slot, generation)), .. } = frame
        {
            self.receiver.check_asker(slot, generation)?;
        }
        Ok(frame)
    }
}

/// Frames that were returned count as accepted even if the batch turns out to be malformed later.
impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        self.receiver.recv_next = self.receiver.recv_next.max(self.seq);
    }
}
