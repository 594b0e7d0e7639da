//! Messages that arrive in parts, until they are whole (section 3).
//!
//! A message has paid for all its bytes when its first part arrives, or answers an ask that is open.
//! Memory grows with the bytes that have arrived, and never with a length that was only announced.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::time::Duration;

use bytes::Bytes;
use wigwag_wire::{Buffer, Time, varint};

use crate::code::Code;
use crate::error::LinkError;
use crate::flow_control::budget::Pools;
use crate::frames::frame::kind;
use crate::limits::{PARTS_PATIENCE, units};
use crate::outbox::long::ANSWERS;

mod memory;

use memory::UsedMemory;

/// The first allocation for a message.
const FIRST_BYTES: usize = 128 * 1024;

/// Time without a part after which no memory is kept for further messages.
const UNUSED_AFTER: Duration = Duration::from_secs(1);

/// The part of a pause between two batches that counts. A peer that seldom gets to write, because
/// it is stopped or its way is very slow, is not one that goes on with everything else.
const PAUSE_COUNTED_MAX: Duration = Duration::from_secs(5);

/// How often messages are checked for progress.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A message of which parts are missing, or none any more.
#[derive(Debug)]
pub(crate) struct Assembly {
    source: u64,
    kind: u8,
    /// Type, length and body, as of a frame that came whole.
    frame: Vec<u8>,
    /// Where the body begins.
    body: usize,
    /// Bytes of the whole frame.
    whole: usize,
    /// Units that a call has paid.
    pub(crate) units: u64,
    /// The time at which the last part came, as [`Assemblies::time`] has it.
    progress: Duration,
}

impl Assembly {
    /// The type of the frame.
    pub(crate) fn kind(&self) -> u8 {
        self.kind
    }

    /// The channel, if it is a call.
    pub(crate) fn channel(&self) -> Option<u64> {
        self.source.checked_sub(1)
    }

    /// The body of the frame.
    pub(crate) fn body(&self) -> &[u8] {
        self.frame.get(self.body..).unwrap_or_default()
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), LinkError> {
        let after = self.frame.len() + bytes.len();
        if bytes.is_empty() || after > self.whole {
            return Err(LinkError::protocol("the parts of a message have bytes, and its length"));
        }
        if after > self.frame.capacity() {
            let target = (2 * after).max(FIRST_BYTES).min(self.whole);
            self.frame.reserve_exact(target - self.frame.len());
        }
        self.frame.extend_from_slice(bytes);
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.frame.len() == self.whole
    }
}

/// The messages of a session of which parts are missing: one of each source at most.
#[derive(Debug)]
pub(crate) struct Assemblies {
    messages: BTreeMap<u64, Assembly>,
    memory: UsedMemory,
    message_max: u64,
    /// When the last batch was read, and when the batch before the last part.
    last_batch: Time,
    last_part: Time,
    /// The connection was lost since the last batch.
    is_paused: bool,
    /// The time for which batches have come, of each pause [`PAUSE_COUNTED_MAX`] at most.
    time: Duration,
    /// When the messages were checked last, in the same time.
    checked: Duration,
}

/// The first part of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstPart<'a> {
    pub(crate) source: u64,
    pub(crate) kind: u8,
    pub(crate) total: u64,
    pub(crate) bytes: &'a [u8],
}

impl FirstPart<'_> {
    /// The channel and the cost, if it is a call.
    pub(crate) fn call(&self) -> Option<(u64, u64)> {
        let cost = units(usize::try_from(self.total).unwrap_or(usize::MAX));
        Some((self.source.checked_sub(1)?, cost))
    }
}

impl Assemblies {
    pub(crate) fn new(message_max: u64) -> Assemblies {
        Assemblies {
            messages: BTreeMap::new(),
            memory: UsedMemory::default(),
            message_max,
            last_batch: Time::START,
            last_part: Time::START,
            is_paused: false,
            time: Duration::ZERO,
            checked: Duration::ZERO,
        }
    }

    /// Bounds the memory that this session keeps together with others.
    pub(crate) fn set_pools(&mut self, pools: Arc<Pools>) {
        self.memory.set_pools(pools);
    }

    pub(crate) fn clear(&mut self) {
        self.messages.clear();
        self.memory.clear();
    }

    /// Hands over the frame of a whole message, with its type and length.
    pub(crate) fn share(&mut self, whole: Assembly) -> Bytes {
        self.memory.share(whole.frame)
    }

    /// Takes back the memory of a whole message that was handled.
    pub(crate) fn reclaim(&mut self, whole: Assembly) {
        self.memory.reclaim(whole.frame);
    }

    /// Frees the memory that waits for messages, and does not count the time until the next batch:
    /// no part can come.
    pub(crate) fn connection_lost(&mut self) {
        self.memory.clear();
        self.is_paused = true;
    }

    /// Frees the memory that waits for messages if no part has come for a while.
    pub(crate) fn free_unused(&mut self, now: Time) {
        if now.since(self.last_part) >= UNUSED_AFTER {
            self.memory.clear();
        }
    }

    /// Checks that a message may begin, before it is paid for.
    pub(crate) fn check(&self, first: &FirstPart<'_>) -> Result<(), LinkError> {
        if first.total > self.message_max {
            let rule = "a message in parts is longer than message_max";
            return Err(LinkError::Misbehaved { code: Code::LIMIT_EXCEEDED, rule });
        }
        let is_known = match first.kind {
            kind::REPLY => first.source == ANSWERS,
            kind::TELL | kind::ASK | kind::CALL_X => first.source != ANSWERS,
            _ => false,
        };
        if !is_known {
            let rule = "a TELL, ASK, CALL_X or REPLY is sent in parts, each from its own source";
            return Err(LinkError::protocol(rule));
        }
        if self.messages.contains_key(&first.source) {
            return Err(LinkError::protocol("a message in parts ends before the next one begins"));
        }
        Ok(())
    }

    /// Begins a message that was [checked](Self::check) and paid for. Returns it if it is whole.
    pub(crate) fn begin(&mut self, first: &FirstPart<'_>) -> Result<Option<Assembly>, LinkError> {
        let mut head = Buffer::new();
        head.push(first.kind);
        varint::put(&mut head, first.total);
        let body = head.len();
        self.last_part = self.last_batch;
        let whole = body.saturating_add(usize::try_from(first.total).unwrap_or(usize::MAX));
        let mut frame = self.memory.take(whole);
        frame.extend_from_slice(head.as_slice());
        let mut message = Assembly {
            source: first.source,
            kind: first.kind,
            frame,
            body,
            whole,
            units: first.call().map_or(0, |(_, units)| units),
            progress: self.time,
        };
        message.add(first.bytes)?;
        if message.is_whole() {
            return Ok(Some(message));
        }
        self.messages.insert(first.source, message);
        Ok(None)
    }

    /// Adds a part. Returns the message if it is whole.
    pub(crate) fn add(&mut self, source: u64, bytes: &[u8]) -> Result<Option<Assembly>, LinkError> {
        let message = self.messages.get_mut(&source).ok_or_else(not_begun)?;
        message.add(bytes)?;
        message.progress = self.time;
        self.last_part = self.last_batch;
        Ok(if message.is_whole() { self.messages.remove(&source) } else { None })
    }

    /// Takes out a call whose rest will not come. An answer always comes whole.
    pub(crate) fn drop_call(&mut self, source: u64) -> Result<Assembly, LinkError> {
        let message = self.messages.remove(&source).filter(|_| source != ANSWERS);
        message.ok_or_else(not_begun)
    }

    /// Forgets what has come of a call on a channel that ends or is opened anew.
    pub(crate) fn forget(&mut self, source: u64) {
        self.messages.remove(&source);
    }

    /// A batch was read at `now`.
    ///
    /// # Errors
    ///
    /// Fails if the peer goes on with everything except a message that it has begun.
    pub(crate) fn batch_read(&mut self, now: Time) -> Result<(), LinkError> {
        if !mem::take(&mut self.is_paused) {
            self.time += now.since(self.last_batch).min(PAUSE_COUNTED_MAX);
        }
        self.last_batch = now;
        // Not with each batch: there may be many messages.
        if self.messages.is_empty() || self.time < self.checked + CHECK_INTERVAL {
            return Ok(());
        }
        self.checked = self.time;
        let is_stalled = |message: &Assembly| self.time - message.progress > PARTS_PATIENCE;
        if self.messages.values().any(is_stalled) {
            let rule = "a message in parts goes on within 60 s";
            return Err(LinkError::Misbehaved { code: Code::LIMIT_EXCEEDED, rule });
        }
        Ok(())
    }
}

#[cold]
fn not_begun() -> LinkError {
    LinkError::protocol("a part belongs to a message that has begun")
}

#[cfg(test)]
mod tests;
