//! One connection of a socket: the handler between its driver and the protocol.

pub(crate) mod admission;
pub(crate) mod refusals;

use std::io;
use std::mem;
use std::sync::Arc;

use tokio::sync::Notify;
use wigwag_sp::stream::{BatchBuilder, Tally, cut};
use wigwag_sp::{CloseReason, DropReason, InboundRun, PipeId, Received};
use wigwag_wire::{Batch, Framing, FramingError, ReadBuf, Time};

use crate::driver::{self, ConnectionHandler, Ending, Flow, Flusher};
use crate::error::NetErrorKind;
use crate::socket::core::{Core, PipeEntry, State};
use crate::socket::observe::{PipeEnd, PipeInfo, PipeWatcher};
use crate::socket::pipe::refusals::PipeEnding;
use crate::socket::race::until;
use crate::socket::statistics::Traffic;
use crate::transport::Inlet;

/// A connection that the socket's protocol knows.
pub(crate) struct Pipe {
    pub(crate) id: PipeId,
    pub(crate) core: Arc<Core>,
    pub(crate) framing: Framing,
    pub(crate) info: PipeInfo,
    /// The dialer or listener that the connection came through.
    pub(crate) endpoint: u64,
    /// The limit of the dialer or listener; `None`: that of the socket.
    pub(crate) receive_limit: Option<usize>,
    pub(crate) flusher: Flusher,
    /// The watcher that was told of the pipe, and will be told of its end.
    pub(crate) watcher: Option<Arc<dyn PipeWatcher>>,
    /// Notified when this side closes the pipe; the reason is in its [`PipeEntry`].
    pub(crate) end: Notify,
}

/// Why this side closes a pipe.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PipeError {
    /// The bytes of the peer cannot be split into messages.
    #[error(transparent)]
    Framing(#[from] FramingError),
    /// The peer breaks the protocol.
    #[error(transparent)]
    Rule(#[from] CloseReason),
}

/// A pipe and its reading half. Dropping it closes the pipe, whatever the reason.
pub(crate) struct OpenPipe {
    pipe: Arc<Pipe>,
    reader: Box<dyn Inlet>,
    input: ReadBuf,
    /// Messages that arrived after the socket was closed.
    unread: usize,
    /// Why the pipe ended; `None` until then, or if its runtime shut down.
    end: Option<PipeEnd>,
    /// A message of the peer is too long, and the peer must not take it for delivered.
    too_long: Option<TooLong>,
    /// The peer reset the connection.
    was_reset: bool,
}

/// A message that is longer than the receive limit.
#[derive(Clone, Copy, Debug)]
struct TooLong {
    bytes: usize,
    /// Its first four bytes as a number, if they have come.
    first: Option<u32>,
}

impl TooLong {
    fn of(error: &FramingError, first: Option<u32>) -> Option<TooLong> {
        let FramingError::TooLong { length, .. } = error else { return None };
        Some(TooLong { bytes: usize::try_from(*length).unwrap_or(usize::MAX), first })
    }
}

impl OpenPipe {
    pub(crate) fn new(pipe: Arc<Pipe>, reader: Box<dyn Inlet>, input: ReadBuf) -> OpenPipe {
        let input = input.sharing();
        OpenPipe { pipe, reader, input, unread: 0, end: None, too_long: None, was_reset: false }
    }

    /// Serves the pipe until it ends.
    pub(crate) async fn run(mut self) {
        let pipe = self.pipe.clone();
        let driving = driver::drive(&*pipe, &mut *self.reader, &mut self.input, &pipe.flusher);
        let ending = until(pipe.end.notified(), driving).await;
        match ending {
            Some(Ending::Protocol(error)) => {
                if let PipeError::Framing(error) = &error {
                    self.too_long = TooLong::of(error, self.first_word());
                }
                self.end = Some(PipeEnd::Punished(error.to_string()));
            }
            Some(Ending::Io(error)) => self.lose(&error),
            Some(Ending::PeerClosed) => self.end = Some(PipeEnd::PeerClosed),
            None => self.finish().await,
        }
    }

    fn lose(&mut self, error: &io::Error) {
        // A layer below has found the fault, and has told the peer if it could.
        if let Some(kind) = NetErrorKind::of_layer(error).filter(|kind| kind.is_punished()) {
            if let NetErrorKind::Framing(error) = &kind {
                self.too_long = TooLong::of(error, None);
            }
            self.end = Some(PipeEnd::Punished(kind.to_string()));
            return;
        }
        self.was_reset = error.kind() == io::ErrorKind::ConnectionReset;
        self.end = Some(PipeEnd::Lost(error.to_string()));
    }

    /// Takes the first word of the message whose length is at the front of the input, where nothing else
    /// can be read.
    fn first_word(&mut self) -> Option<u32> {
        let mut input = mem::take(&mut self.input);
        input.skip(self.pipe.framing.prefix_bytes());
        input.copy(4).first_chunk().map(|word| u32::from_be_bytes(*word))
    }

    /// Lets the peer read everything written before the connection is closed: some peers, such as
    /// nanomsg, discard unread messages when a connection closes. Ends our direction, and waits for
    /// the peer to end its own.
    ///
    /// Messages that the peer still sends are read and counted as unread. If they stayed with the
    /// kernel, a tcp connection would close with a reset, which can cost the peer its unread
    /// messages.
    async fn finish(&mut self) {
        let pipe = self.pipe.clone();
        let time = pipe.core.with(|state| state.finish_time(pipe.id));
        let Some(time) = time else { return };
        if !pipe.flusher.outlet().is_some_and(|outlet| outlet.finish()) {
            return;
        }
        let limit = pipe.core.with(|state| pipe.limit(state));
        let reading = async {
            loop {
                self.unread += self.cut_unread(limit);
                match self.reader.fill(&mut self.input).await {
                    Ok(1..) => {}
                    Ok(0) => return Ok(()),
                    Err(error) => return Err(error),
                }
            }
        };
        // A peer that does not close in time is not waited for any longer.
        let outcome = tokio::time::timeout(time, reading).await;
        // A peer that resets the connection has not read everything.
        if let Ok(Err(error)) = outcome {
            self.lose(&error);
        }
    }

    /// Counts messages that were read but never processed, because there was no room for them.
    fn cut_unread(&mut self, limit: usize) -> usize {
        let mut unread = 0;
        loop {
            match cut(self.pipe.framing, &mut self.input, limit) {
                Ok(Some(_)) => unread += 1,
                Ok(None) => return unread,
                // The bytes that follow cannot be split into messages either.
                Err(_) => {
                    self.input = ReadBuf::new();
                    return unread;
                }
            }
        }
    }
}

impl Drop for OpenPipe {
    fn drop(&mut self) {
        let pipe = self.pipe.clone();
        let limit = pipe.core.with(|state| pipe.limit(state));
        let unread = self.unread + self.cut_unread(limit);
        let mut said = self.end.take();
        let now = crate::clock::now();
        let entry = pipe.core.with(|state| {
            let entry = state.pipes.remove(&pipe.id);
            if let Some(entry) = &entry {
                state.statistics.messages_cut_off += entry.writing;
            }
            let cut_off = entry.as_ref().is_some_and(|entry| entry.writing > 0);
            let suspect = entry.as_ref().and_then(|entry| entry.longest_sent.suspect(cut_off, now));
            let by_peer = matches!(said, Some(PipeEnd::PeerClosed | PipeEnd::Lost(_)));
            if let Some(end) = &said
                && (state.closing || state.endpoints.contains_key(&pipe.endpoint))
            {
                let PipeInfo { peer, side, .. } = &pipe.info;
                let untaken = self.was_reset || cut_off;
                let ending = PipeEnding { peer, side: *side, end, suspect, untaken, now };
                if let Some(refused) = state.note_ending(pipe.endpoint, &ending) {
                    said = Some(refused);
                }
            }
            state.statistics.messages_unread += unread as u64;
            state.statistics.pipes_open -= 1;
            state.statistics.pipes_closed += 1;
            if let Some(PipeEnd::Punished(error)) = &said {
                state.statistics.pipes_punished += 1;
                state.last_failure = Some(format!("{}: {error}", pipe.info.peer));
            }
            match self.too_long {
                Some(TooLong { bytes, first }) => {
                    state.protocol.close_by_length(pipe.id, bytes, first, now);
                }
                None if by_peer => state.protocol.close_by_peer(pipe.id, now),
                None => state.protocol.close(pipe.id, now),
            }
            entry
        });
        match self.too_long {
            Some(_) => pipe.flusher.abort(),
            None => pipe.flusher.retire(),
        };
        let Some(PipeEntry { statistics, end: ours, .. }) = entry else { return };
        let end = said.or(ours).unwrap_or(PipeEnd::SocketClosed);
        let (peer, id) = (&pipe.info.peer, pipe.id.0);
        match &end {
            // The other side is not told and will most likely try again, so the log must show it.
            PipeEnd::Punished(_) => tracing::warn!(%peer, id, why = %end, "pipe closed"),
            PipeEnd::Refused { .. } => {
                tracing::debug!(%peer, id, "pipe closed");
                warn_of_refusal(peer, &end);
            }
            _ => tracing::debug!(%peer, id, why = %end, "pipe closed"),
        }
        if let Some(watcher) = &pipe.watcher {
            watcher.closed(&pipe.info, &end, &statistics);
        }
    }
}

/// Logs that a peer has probably not accepted the length of a message.
pub(crate) fn warn_of_refusal(peer: &str, end: &PipeEnd) {
    tracing::warn!(%peer, why = %end, "message refused");
}

impl Pipe {
    fn limit(&self, state: &State) -> usize {
        self.receive_limit.unwrap_or_else(|| state.receive_limit.bytes())
    }

    /// Counts a message of this peer that the protocol dropped. Only the first one for each reason
    /// is logged, so that a flood of messages does not become a flood of log lines.
    fn note_drop(&self, state: &mut State, reason: DropReason) {
        let Some(entry) = state.pipes.get_mut(&self.id) else { return };
        if entry.statistics.drop_one(reason) {
            let peer = &self.info.peer;
            tracing::debug!(%peer, id = self.id.0, ?reason, "message dropped; more are only counted");
        }
    }

    /// Adds to the traffic of this pipe and of the socket.
    fn count(&self, state: &mut State, traffic: Traffic) {
        state.statistics.traffic.add(traffic);
        if let Some(entry) = state.pipes.get_mut(&self.id) {
            entry.statistics.traffic.add(traffic);
        }
    }
}

impl ConnectionHandler for Pipe {
    type Error = PipeError;

    fn read(&self, input: &mut ReadBuf, now: Time) -> Result<(), PipeError> {
        self.core.with(|state| {
            let limit = self.limit(state);
            let mut stopped = false;
            let mut traffic = Traffic::default();
            let outcome = loop {
                if state.protocol.is_paused(self.id) {
                    // With less than a message left, reading on costs no room.
                    stopped = input.is_ready();
                    break Ok(());
                }
                let run = match state.protocol.run_room(self.id) {
                    Some(room) => InboundRun::cut(self.framing, input, limit, room),
                    None => Ok(None),
                };
                let message = match run {
                    Ok(Some(run)) => {
                        traffic.messages_received += run.messages() as u64;
                        traffic.bytes_received += run.received_bytes() as u64;
                        state.protocol.receive_run(self.id, run, now);
                        continue;
                    }
                    Ok(None) => cut(self.framing, input, limit),
                    Err(error) => Err(error),
                };
                let message = match message {
                    Ok(Some(message)) => message,
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(PipeError::Framing(error)),
                };
                traffic.messages_received += 1;
                traffic.bytes_received += message.len() as u64;
                match state.protocol.receive(self.id, message, now) {
                    Received::Queued => {}
                    Received::Unwanted => {
                        if let Some(entry) = state.pipes.get_mut(&self.id) {
                            entry.statistics.dropped.filtered += 1;
                        }
                    }
                    Received::Dropped(reason) => self.note_drop(state, reason),
                    Received::Close(reason) => break Err(PipeError::Rule(reason)),
                }
            };
            self.count(state, traffic);
            if let Some(entry) = state.pipes.get_mut(&self.id) {
                if traffic.messages_received > 0 {
                    entry.longest_sent.heard();
                }
                entry.stopped = stopped;
            }
            outcome
        })
    }

    fn fill(&self, batch: &mut Batch, now: Time) {
        self.core.with(|state| {
            let mut out = BatchBuilder::new(batch, self.framing);
            state.protocol.fill(self.id, &mut out);
            let Tally { messages, bytes, longest } = out.tally();
            let next = state.sent_since_write.written(messages, &self.core.sender_turns);
            state.wakes.extend(next);
            let (messages_sent, bytes_sent) = (messages as u64, bytes as u64);
            self.count(state, Traffic { messages_sent, bytes_sent, ..Traffic::default() });
            if let Some(entry) = state.pipes.get_mut(&self.id) {
                // The driver calls `fill` only when the kernel has the last batch.
                entry.writing = messages_sent;
                entry.longest_sent.fill(longest, now);
                entry.written = messages == 0;
            }
        });
    }

    fn tick(&self, _now: Time) -> Result<(), PipeError> {
        Ok(())
    }

    fn deadline(&self) -> Option<Time> {
        // The socket's own task runs the timers: a deadline of the protocol outlives its pipes.
        None
    }

    fn flow(&self) -> Flow {
        self.core.with(|state| {
            let stopped = state.pipes.get(&self.id).is_some_and(|entry| entry.stopped);
            match (stopped, state.protocol.is_paused(self.id)) {
                (false, _) => Flow::Open,
                (true, true) => Flow::Stopped,
                (true, false) => Flow::Resumed,
            }
        })
    }
}

#[cfg(test)]
mod tests;
