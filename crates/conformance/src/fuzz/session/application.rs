//! The application of a session, implemented by a node.

use wigwag_link::credit::{Grant, StreamId};
use wigwag_link::dispatch::application::{
    ActorReference, Application, Attach, Attached, Found, Target,
};
use wigwag_link::frame::{Frame, SEQUENCED};
use wigwag_link::limits::TARGET_BYTES_MAX;
use wigwag_link::recv_half::{ChannelCalls, ItemRun, ReplyRun};
use wigwag_link::{Code, LinkError, SendHalf, write};
use wigwag_sim::application::server::calls_with_units;
use wigwag_wire::Buffer;

use super::frame_log::FrameLog;
use super::node::{InboundChannel, Node, QueuedCall};
use crate::fuzz::ensure;

/// The reason why a batch was not read to its end.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The peer broke a rule, or has closed the session.
    Protocol(LinkError),
    /// A checked property was broken.
    Property(String),
    /// The script stops reading here.
    Stopped,
}

impl From<LinkError> for ReadError {
    fn from(error: LinkError) -> ReadError {
        ReadError::Protocol(error)
    }
}

impl From<String> for ReadError {
    fn from(why: String) -> ReadError {
        ReadError::Property(why)
    }
}

/// A node while it reads a batch.
#[derive(Debug)]
pub(crate) struct NodeApplication<'a> {
    pub(crate) node: &'a mut Node,
    pub(crate) sender: &'a mut SendHalf,
    /// The frames that the other side has published, if they are known.
    pub(crate) log: Option<&'a FrameLog>,
    /// The number of calls and answers after which reading stops.
    pub(crate) steps: usize,
    /// The peer has the token of the last resumption.
    pub(crate) is_confirmed: bool,
    /// The next reply was already checked as a frame.
    is_checked: bool,
}

impl<'a> NodeApplication<'a> {
    pub(crate) fn new(
        node: &'a mut Node,
        sender: &'a mut SendHalf,
        log: Option<&'a FrameLog>,
        steps: usize,
    ) -> NodeApplication<'a> {
        NodeApplication { node, sender, log, steps, is_confirmed: false, is_checked: false }
    }

    /// Counts a step; an error when reading stops here.
    fn step(&mut self) -> Result<(), ReadError> {
        self.steps = self.steps.saturating_sub(1);
        if self.steps == 0 { Err(ReadError::Stopped) } else { Ok(()) }
    }

    /// Checks that a frame with a number is the next one of the log.
    fn check_received(&mut self, frame: &Frame<'_>) -> Result<(), ReadError> {
        let Some(log) = self.log else { return Ok(()) };
        let mut bytes = Buffer::new();
        write::any(&mut bytes, frame);
        if bytes.as_slice().first().is_some_and(|kind| kind & SEQUENCED != 0) {
            log.check_next(&mut self.node.received, bytes.as_slice())?;
        }
        Ok(())
    }

    /// Completes an ask; false if no such ask waits for its answer.
    fn complete(&mut self, (slot, generation): (u32, u32)) -> bool {
        match self.node.slots.get_mut(slot as usize) {
            Some(open) if open.is_open && open.generation == u64::from(generation) => {
                open.is_open = false;
                open.generation += 1;
                true
            }
            _ => false,
        }
    }
}

impl Application for NodeApplication<'_> {
    type Actor = ();
    /// The number of the channel.
    type Channel = usize;
    type SendHalf<'a>
        = &'a mut SendHalf
    where
        Self: 'a;
    type Error = ReadError;

    fn send_half(&mut self) -> &mut SendHalf {
        self.sender
    }

    fn acknowledged(&mut self, _has_room: bool, _is_settled: bool) {
        // The senders check for room before each frame.
    }

    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), ReadError> {
        self.is_checked = matches!(frame, Frame::Reply { .. });
        self.check_received(frame)
    }

    fn calls_arrived(&mut self, run: &ChannelCalls<'_>) -> Result<(), ReadError> {
        if let Some(log) = self.log {
            log.check_next(&mut self.node.received, run.bytes)?;
        }
        Ok(())
    }

    fn batch_ended(&mut self) {
        self.node.published.catch_up(&self.sender.outbox);
    }

    fn token_confirmed(&mut self) {
        self.is_confirmed = true;
    }

    fn find(&mut self, attach: &Attach<'_>) -> Result<Found<()>, Code> {
        let is_long = matches!(attach.target, Target::Name(name) if name.len() > TARGET_BYTES_MAX);
        if attach.codec != 0 || is_long {
            return Err(Code::NO_SUCH_ACTOR);
        }
        Ok(Found {
            actor: (),
            schema_hash: 7,
            codec: 0,
            bound: None,
            reference: Some(ActorReference { number: 1, reference: 1, may_link: true }),
        })
    }

    fn open(&mut self, _actor: (), channel: u64, _use_of: u64) -> usize {
        let index = channel as usize;
        let most = self.node.inbound.len().max(index + 1);
        self.node.inbound.resize_with(most, || None);
        self.node.inbound[index] =
            Some(InboundChannel { is_open: true, ..InboundChannel::default() });
        index
    }

    fn close(&mut self, index: usize, grant: Option<Grant>) {
        self.node.published.catch_up(&self.sender.outbox);
        if let Some(open) = self.node.inbound[index].as_mut() {
            open.is_open = false;
        }
        self.node.handle(self.sender, index, usize::MAX, 1);
        self.node.refuse_waiting(self.sender, index);
        grant.into_iter().for_each(|grant| self.sender.close_grant(grant));
        self.node.inbound[index] = None;
    }

    fn calls(&mut self, index: &mut usize, run: &ChannelCalls<'_>) -> Result<(), ReadError> {
        let mut calls = 0;
        for (call, units) in calls_with_units(run) {
            let asker = call.asker.map(|(slot, use_of)| (slot.into(), use_of.into()));
            self.node.accept(self.sender, *index, QueuedCall { units, asker, is_cancelled: false });
            calls += 1;
        }
        ensure(calls == run.calls, || format!("{} calls, and {calls} come out", run.calls))?;
        self.step()
    }

    fn describe(&mut self, index: &mut usize, asker: (u32, u32), _arguments: &[u8], units: u64) {
        let asker = Some((asker.0.into(), asker.1.into()));
        self.node.accept(self.sender, *index, QueuedCall { units, asker, is_cancelled: false });
    }

    fn discarded(&mut self, index: &mut usize, units: u64) {
        if let Some(open) = self.node.inbound[*index].as_mut() {
            open.used += units;
            open.freed += units;
        }
        self.sender.freed(*index as u64, units);
    }

    fn cancelled(&mut self, asker: (u64, u64)) {
        let calls = self.node.inbound.iter_mut().flatten().flat_map(|open| &mut open.queue);
        calls.filter(|call| call.asker == Some(asker)).for_each(|call| call.is_cancelled = true);
    }

    fn may_be_answered(&mut self, (slot, generation): (u32, u32)) -> bool {
        let asked = self.node.slots.get(slot as usize);
        asked.is_some_and(|asked| asked.is_open && asked.generation == u64::from(generation))
    }

    /// Each open ask is one for a stream, without a limit: what is read here needs no memory.
    fn items(&mut self, run: &ItemRun<'_>) -> Result<bool, ReadError> {
        Ok(match run.stream {
            StreamId::Answer(slot, generation) => self.may_be_answered((slot, generation)),
            StreamId::Value(_) => false,
        })
    }

    fn reply(&mut self, asker: (u32, u32), value: &[u8]) -> Result<bool, ReadError> {
        if !std::mem::take(&mut self.is_checked) {
            let (slot, generation) = (asker.0.into(), asker.1.into());
            self.check_received(&Frame::Reply { slot, generation, value })?;
        }
        if !self.complete(asker) {
            return Ok(false);
        }
        self.step().map(|()| true)
    }

    fn replies(&mut self, run: &ReplyRun<'_>) -> Result<bool, ReadError> {
        ensure(self.log.is_none(), || "a run of replies that nobody said".to_owned())?;
        let mut slots = (run.slot..).take(run.count as usize);
        Ok(slots.all(|slot| self.complete((slot, run.generation))))
    }

    fn failed(&mut self, asker: (u32, u32), _: Code, _: &[u8]) -> Result<bool, ReadError> {
        Ok(self.complete(asker))
    }

    fn attached(&mut self, channel: u64, attached: &Attached<'_>) {
        if let Some(Some(open)) = self.node.outbound.get_mut(channel as usize) {
            open.limit = open.limit.max(attached.limit);
            open.is_open |= open.is_pending;
            open.is_pending = false;
        }
    }

    fn credited(&mut self, channel: u64, limit: u64, _: u64, _: bool) -> Result<(), ReadError> {
        if let Some(Some(open)) = self.node.outbound.get_mut(channel as usize) {
            open.limit = open.limit.max(limit);
        }
        Ok(())
    }

    fn revoked(&mut self, channel: u64, limit: u64) {
        if let Some(Some(open)) = self.node.outbound.get_mut(channel as usize) {
            open.limit = limit;
        }
    }

    fn detached(
        &mut self,
        channel: u64,
        _code: Code,
        _accepted: u64,
        _reason: &[u8],
    ) -> Result<(), ReadError> {
        if let Some(open) = self.node.outbound.get_mut(channel as usize) {
            *open = None;
        }
        // The node does not use the channel any more.
        self.sender.detach(channel);
        Ok(())
    }

    fn has_room(&mut self) {}
}
