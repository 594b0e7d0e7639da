//! One connection of a socket: what the driver asks is answered by the protocol.

use std::sync::Arc;

use tokio::io::AsyncRead;
use tokio::sync::Notify;
use wigwag_sp::stream::{Gather, cut};
use wigwag_sp::{CloseReason, DropReason, PipeId, Received};
use wigwag_wire::{Batch, Framing, FramingError, ReadBuf, Time};

use super::core::{Core, Entry, State};
use super::observe::{PipeEnd, PipeInfo, PipeWatcher};
use super::race::until;
use super::statistics::Traffic;
use crate::driver::{self, Crank, Ending, Flow, Flusher};

/// A connection as its socket's protocol knows it.
pub(super) struct Pipe {
    pub(super) id: PipeId,
    pub(super) core: Arc<Core>,
    pub(super) framing: Framing,
    pub(super) info: PipeInfo,
    /// The dialer or listener that it came through.
    pub(super) endpoint: u64,
    /// That of the dialer or listener; `None`: that of the socket.
    pub(super) receive_limit: Option<usize>,
    pub(super) flusher: Flusher,
    /// Who was told of its coming, and will be of its end.
    pub(super) watcher: Option<Arc<dyn PipeWatcher>>,
    /// We close it; the reason stands in its [`Entry`].
    pub(super) end: Notify,
}

/// Why a pipe is closed from our side.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    /// Its bytes cannot be cut into messages.
    #[error(transparent)]
    Framing(#[from] FramingError),
    /// It breaks the protocol.
    #[error(transparent)]
    Rule(#[from] CloseReason),
}

/// A pipe and its reading half. Dropping it closes the pipe, whatever the reason.
pub(super) struct OpenPipe {
    pub(super) pipe: Arc<Pipe>,
    pub(super) reader: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) input: ReadBuf,
    /// Why it is over, once it is; `None` when nobody said, because the runtime ended.
    pub(super) end: Option<PipeEnd>,
}

impl OpenPipe {
    /// Serves the pipe to its end.
    pub(super) async fn run(mut self) {
        let pipe = self.pipe.clone();
        let driving = driver::drive(&*pipe, &mut *self.reader, &mut self.input, &pipe.flusher);
        let ending = until(pipe.end.notified(), driving).await;
        self.end = match ending {
            Some(Ending::Protocol(fault)) => Some(PipeEnd::Punished(fault.to_string())),
            Some(Ending::Io(error)) => Some(PipeEnd::Lost(error.to_string())),
            Some(Ending::PeerClosed) => Some(PipeEnd::PeerClosed),
            None => None,
        };
    }

    /// Messages that were read and never looked at, because there was no room for them.
    fn unread(&mut self, limit: usize) -> usize {
        let mut unread = 0;
        while let Ok(Some(_)) = cut(self.pipe.framing, &mut self.input, limit) {
            unread += 1;
        }
        unread
    }
}

impl Drop for OpenPipe {
    fn drop(&mut self) {
        let pipe = self.pipe.clone();
        let limit = pipe.core.with(|state| pipe.limit(state));
        let unread = self.unread(limit);
        let said = self.end.take();
        let entry = pipe.core.with(|state| {
            let entry = state.pipes.remove(&pipe.id);
            if let Some(entry) = &entry {
                state.statistics.messages_cut_off += entry.writing;
            }
            state.statistics.messages_unread += unread as u64;
            state.statistics.pipes_open -= 1;
            state.statistics.pipes_closed += 1;
            if let Some(PipeEnd::Punished(fault)) = &said {
                state.statistics.pipes_punished += 1;
                state.trouble = Some(format!("{}: {fault}", pipe.info.peer));
            }
            state.protocol.close(pipe.id, crate::clock::now());
            entry
        });
        pipe.flusher.retire();
        let Some(Entry { statistics, end: ours, .. }) = entry else { return };
        let end = said.or(ours).unwrap_or(PipeEnd::SocketClosed);
        let (peer, id) = (&pipe.info.peer, pipe.id.0);
        match &end {
            // The peer is not told and will most likely try again, so somebody must say it.
            PipeEnd::Punished(_) => tracing::warn!(%peer, id, why = %end, "pipe closed"),
            _ => tracing::debug!(%peer, id, why = %end, "pipe closed"),
        }
        if let Some(watcher) = &pipe.watcher {
            watcher.closed(&pipe.info, &end, &statistics);
        }
    }
}

impl Pipe {
    fn limit(&self, state: &State) -> usize {
        self.receive_limit.unwrap_or(state.receive_limit)
    }

    /// Counts a message of this peer that the protocol dropped. The log hears of the first one for
    /// each reason; a flood of them must not become a flood of lines.
    fn note_drop(&self, state: &mut State, reason: DropReason) {
        let Some(entry) = state.pipes.get_mut(&self.id) else { return };
        if entry.statistics.drop_one(reason) {
            let peer = &self.info.peer;
            tracing::debug!(%peer, id = self.id.0, ?reason, "message dropped; more are only counted");
        }
    }

    /// Adds to what is known of this pipe, and of all.
    fn count(&self, state: &mut State, traffic: Traffic) {
        state.statistics.traffic.add(traffic);
        if let Some(entry) = state.pipes.get_mut(&self.id) {
            entry.statistics.traffic.add(traffic);
        }
    }
}

impl Crank for Pipe {
    type Error = Fault;

    fn read(&self, input: &mut ReadBuf, now: Time) -> Result<(), Fault> {
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
                let message = match cut(self.framing, input, limit) {
                    Ok(Some(message)) => message,
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(Fault::Framing(error)),
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
                    Received::Close(reason) => break Err(Fault::Rule(reason)),
                }
            };
            self.count(state, traffic);
            if let Some(entry) = state.pipes.get_mut(&self.id) {
                entry.stopped = stopped;
            }
            outcome
        })
    }

    fn fill(&self, batch: &mut Batch, _now: Time) {
        self.core.with(|state| {
            let mut gather = Gather::new(batch, self.framing);
            let mut traffic = Traffic::default();
            while gather.has_room() {
                let Some(message) = state.protocol.transmit(self.id) else {
                    break;
                };
                traffic.messages_sent += 1;
                traffic.bytes_sent += message.len() as u64;
                gather.put(message);
            }
            self.count(state, traffic);
            if let Some(entry) = state.pipes.get_mut(&self.id) {
                // We are asked only when the last batch is with the kernel.
                entry.writing = traffic.messages_sent;
                entry.written = traffic.messages_sent == 0;
            }
        });
    }

    fn tick(&self, _now: Time) -> Result<(), Fault> {
        Ok(())
    }

    fn deadline(&self) -> Option<Time> {
        // The socket's own task keeps the time: a deadline of the protocol outlives its pipes.
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
