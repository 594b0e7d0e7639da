//! The requests of a req socket that have no reply yet, of all contexts.
//!
//! Each has an id, is carried by one pipe, and is sent again when its time is over or its pipe
//! closes. A request that no pipe can carry waits until one can. A context has at most one, so
//! [`CONTEXTS_MAX`](crate::limits::CONTEXTS_MAX) bounds all tables here.

use core::time::Duration;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use bytes::Bytes;
use wigwag_wire::Time;

use crate::headers::backtrace::LAST_WORD;
use crate::limits::{REFUSAL_BYTES_MIN, REFUSAL_TIME, REFUSALS_MAX};
use crate::pipe_queues::outbound_queues::OutboundQueues;
use crate::stream::BatchBuilder;
use crate::{ContextId, Head, Message, PipeId, ProtocolEvent, Refusal};

/// Bytes of the id in front of the body.
const REQUEST_ID_BYTES: usize = 4;

#[derive(Debug)]
struct Request {
    context: ContextId,
    body: Bytes,
    /// `None`: no pipe carries it, and its id is in `unassigned`.
    carrier: Option<PipeId>,
    /// Open pipes that carried it before a resend; their replies count too.
    earlier: Vec<PipeId>,
    /// The request is still in the carrier's outbox.
    unwritten: bool,
    /// The request was sent before, so the next time is a resend.
    sent_before: bool,
    /// When the carrier was chosen.
    assigned: Time,
    /// Connections in a row that the peer has closed on this request.
    refusals: u32,
    /// Invariant: `timers` contains it exactly if it is set.
    due: Option<Time>,
}

/// Table of the requests without a reply.
#[derive(Debug)]
pub(crate) struct Requests {
    outbound: OutboundQueues,
    open: BTreeMap<u32, Request>,
    timers: BTreeSet<(Time, u32)>,
    unassigned: BTreeSet<u32>,
    last_id: u32,
    /// `None`: a request is sent only once.
    resend: Option<Duration>,
    resent: u64,
}

impl Requests {
    pub(crate) fn new(first_id: u32, resend: Option<Duration>) -> Requests {
        Requests {
            outbound: OutboundQueues::default(),
            open: BTreeMap::new(),
            timers: BTreeSet::new(),
            unassigned: BTreeSet::new(),
            last_id: first_id | LAST_WORD,
            resend,
            resent: 0,
        }
    }

    /// Sets the resend delay, from the next request on.
    pub(crate) fn set_resend(&mut self, delay: Option<Duration>) {
        self.resend = delay;
    }

    /// The outboxes of the peers.
    pub(crate) fn outbound(&mut self) -> &mut OutboundQueues {
        &mut self.outbound
    }

    pub(crate) fn connect(&mut self, pipe: PipeId, now: Time) {
        self.outbound.open(pipe);
        self.assign(now);
    }

    /// Notes that the peer, not this side, ends the pipe. If it was just sent a long request, the
    /// length may be the reason: a peer closes when it reads a length beyond its limit. Of several
    /// requests the longest is blamed. Returns the context whose request has cost too many
    /// connections and is given up, with its length.
    pub(crate) fn blame(&mut self, pipe: PipeId, now: Time) -> Option<(ContextId, usize)> {
        let carried = self
            .open
            .iter_mut()
            .filter(|(_, request)| request.carrier == Some(pipe) && !request.unwritten);
        let (id, longest) = carried.max_by_key(|(_, request)| request.body.len())?;
        let (id, bytes) = (*id, REQUEST_ID_BYTES + longest.body.len());
        let at_once = now.since(longest.assigned) <= REFUSAL_TIME;
        longest.refusals = match at_once && bytes >= REFUSAL_BYTES_MIN {
            true => longest.refusals + 1,
            false => 0,
        };
        if longest.refusals < REFUSALS_MAX {
            return None;
        }
        self.end(id).map(|context| (context, bytes))
    }

    /// Notes that a reply on this pipe is longer than this side receives. `id` is its first word, if that
    /// has come; otherwise it is taken for the reply to the request that the pipe has carried longest,
    /// since most peers answer in order. Returns the context of the request, which has ended.
    pub(crate) fn reply_too_long(&mut self, pipe: PipeId, id: Option<u32>) -> Option<ContextId> {
        let oldest = || {
            let carried = self.open.iter().filter(|(_, request)| request.carrier == Some(pipe));
            carried.min_by_key(|(id, request)| (request.assigned, **id)).map(|(id, _)| *id)
        };
        let id = match id {
            Some(id) => self.was_asked(pipe, id).then_some(id)?,
            None => oldest()?,
        };
        self.end(id)
    }

    /// Removes a pipe and sends its requests to others at once; without resending they are lost,
    /// and the contexts that sent them are returned.
    pub(crate) fn disconnect(&mut self, pipe: PipeId, now: Time) -> Vec<ContextId> {
        self.outbound.close(pipe);
        for request in self.open.values_mut() {
            // The number of the pipe may be reused for another peer.
            request.earlier.retain(|earlier| *earlier != pipe);
        }
        let sent_before = self.open.iter().filter(|(_, request)| request.carrier == Some(pipe));
        let sent_before: Vec<u32> = sent_before.map(|(id, _)| *id).collect();
        if self.resend.is_none() {
            return sent_before.into_iter().filter_map(|id| self.end(id)).collect();
        }
        for id in sent_before {
            self.send_again(id, now);
        }
        Vec::new()
    }

    pub(crate) fn is_connected(&self, pipe: PipeId) -> bool {
        self.outbound.contains(pipe)
    }

    /// True if the pipe was sent this request. Ids count up, so a peer that was sent one request
    /// knows the next ids, and could reply to requests of other peers.
    pub(crate) fn was_asked(&self, pipe: PipeId, id: u32) -> bool {
        self.open
            .get(&id)
            .is_some_and(|request| request.carrier == Some(pipe) || request.earlier.contains(&pipe))
    }

    /// Whether a request could go out now.
    pub(crate) fn room(&self) -> Result<(), Refusal> {
        self.outbound.choose().map(drop)
    }

    /// True while the request is still in the outbox.
    pub(crate) fn is_unwritten(&self, id: u32) -> bool {
        self.open.get(&id).is_some_and(|request| request.unwritten)
    }

    /// Sends a request, or keeps it until a pipe can carry it; returns its id.
    pub(crate) fn ask(&mut self, context: ContextId, body: Bytes, now: Time) -> u32 {
        let id = self.free_id();
        let request = Request {
            context,
            body,
            carrier: None,
            earlier: Vec::new(),
            unwritten: false,
            sent_before: false,
            assigned: now,
            refusals: 0,
            due: None,
        };
        self.open.insert(id, request);
        self.unassigned.insert(id);
        self.assign_one(id, now);
        id
    }

    /// Removes a request that is answered or cancelled; returns the context that sent it.
    pub(crate) fn end(&mut self, id: u32) -> Option<ContextId> {
        // After a resend a copy may still be in an outbox.
        self.detach(id);
        self.unassigned.remove(&id);
        self.open.remove(&id).map(|request| request.context)
    }

    pub(crate) fn fill(&mut self, pipe: PipeId, out: &mut BatchBuilder<'_>) {
        self.outbound.fill(pipe, out);
        out.first_words(|id| {
            if let Some(request) = self.open.get_mut(&id) {
                request.unwritten = false;
            }
        });
    }

    /// Sends again what is due, and sends what had no pipe before.
    pub(crate) fn tick(&mut self, now: Time) {
        let due = self.timers.range(..=(now, u32::MAX));
        let due: Vec<u32> = due.map(|(_, id)| *id).collect();
        for id in due {
            self.send_again(id, now);
        }
        self.assign(now);
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        if !self.unassigned.is_empty() && self.outbound.choose().is_ok() {
            // A pipe has room again; only a tick knows the time from which the next delay counts.
            return Some(Time::START);
        }
        self.timers.first().map(|(due, _)| *due)
    }

    pub(crate) fn resent(&self) -> u64 {
        self.resent
    }

    pub(crate) fn next_event(&mut self) -> Option<ProtocolEvent> {
        self.outbound.next_event()
    }

    /// Ids count up, and their top bit stays set. An id that is still in use after two thousand
    /// million others is skipped.
    fn free_id(&mut self) -> u32 {
        loop {
            self.last_id = self.last_id.wrapping_add(1) | LAST_WORD;
            if !self.open.contains_key(&self.last_id) {
                return self.last_id;
            }
        }
    }

    /// Takes the request away from the pipe that carries it.
    fn detach(&mut self, id: u32) {
        let Some(request) = self.open.get_mut(&id) else {
            return;
        };
        if let Some(due) = request.due.take() {
            self.timers.remove(&(due, id));
        }
        if let Some(pipe) = request.carrier.take()
            && request.unwritten
        {
            self.outbound.withdraw(pipe, id);
        }
        request.unwritten = false;
    }

    fn send_again(&mut self, id: u32, now: Time) {
        if let Some(request) = self.open.get_mut(&id)
            && let Some(pipe) = request.carrier
            && self.outbound.contains(pipe)
            && !request.unwritten
            && !request.earlier.contains(&pipe)
        {
            request.earlier.push(pipe);
        }
        self.detach(id);
        self.unassigned.insert(id);
        self.assign_one(id, now);
    }

    /// Assigns pipes to the requests that have none, the oldest first.
    fn assign(&mut self, now: Time) {
        while let Some(id) = self.unassigned.first().copied() {
            if !self.assign_one(id, now) {
                return;
            }
        }
    }

    /// Assigns a pipe to the request; false if no pipe has room.
    fn assign_one(&mut self, id: u32, now: Time) -> bool {
        let (Ok(pipe), Some(request)) = (self.outbound.choose(), self.open.get_mut(&id)) else {
            return false;
        };
        let message = Message { head: Head::Word(id), body: request.body.clone() };
        if self.outbound.push(pipe, message).is_err() {
            return false;
        }
        self.unassigned.remove(&id);
        self.resent += u64::from(request.sent_before);
        request.carrier = Some(pipe);
        (request.unwritten, request.sent_before) = (true, true);
        request.assigned = now;
        request.due = self.resend.map(|delay| now + delay);
        self.timers.extend(request.due.map(|due| (due, id)));
        true
    }
}
