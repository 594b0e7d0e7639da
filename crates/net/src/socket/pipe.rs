//! One connection of a socket: what the driver asks is answered by the protocol.

use std::sync::Arc;

use tokio::io::AsyncRead;
use wigwag_sp::stream::{Gather, cut};
use wigwag_sp::{CloseReason, PipeId, Received};
use wigwag_wire::{Batch, Framing, FramingError, ReadBuf, Time};

use super::core::{Core, Entry, Phase};
use super::race::until;
use crate::driver::{self, Crank, Ending, Flow, Flusher};
use crate::transport::Connection;

/// A connection as its socket's protocol knows it.
pub(super) struct Pipe {
    id: PipeId,
    core: Arc<Core>,
    framing: Framing,
    peer: Arc<str>,
    pub(super) flusher: Flusher,
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
    pipe: Arc<Pipe>,
    reader: Box<dyn AsyncRead + Send + Unpin>,
    input: ReadBuf,
}

impl Core {
    /// Makes a pipe of a connection whose handshake is done, unless the protocol refuses it.
    pub(super) fn adopt(
        self: &Arc<Core>,
        connection: Connection,
        input: ReadBuf,
        now: Time,
    ) -> Result<OpenPipe, CloseReason> {
        let Connection { reader, outlet, framing, peer } = connection;
        let flusher = Flusher::new(outlet);
        let opened = self.with(|state| {
            let id = state.free_pipe();
            let pipe = Arc::new(Pipe { id, core: self.clone(), framing, peer, flusher });
            // Before the protocol may speak of it.
            state.pipes.insert(
                id,
                Entry { pipe: pipe.clone(), writing: 0, written: true, stopped: false },
            );
            if let Err(reason) = state.protocol.open(id, now) {
                state.statistics.pipes_refused += 1;
                state.pipes.remove(&id);
                return Err((pipe, reason));
            }
            state.statistics.pipes_opened += 1;
            state.statistics.pipes_open += 1;
            Ok(pipe)
        });
        match opened {
            Ok(pipe) => {
                tracing::debug!(peer = %pipe.peer, "pipe opened");
                Ok(OpenPipe { pipe, reader, input })
            }
            Err((pipe, reason)) => {
                tracing::debug!(peer = %pipe.peer, %reason, "pipe refused");
                pipe.flusher.outlet().close();
                Err(reason)
            }
        }
    }
}

impl OpenPipe {
    /// Serves the pipe to its end.
    pub(super) async fn run(mut self) {
        let pipe = self.pipe.clone();
        let driving = driver::drive(&*pipe, &mut *self.reader, &mut self.input, &pipe.flusher);
        let ending = until(pipe.core.reached(Phase::Closed), driving).await;
        match ending {
            Some(Ending::Protocol(fault)) => {
                // The peer is not told and will most likely try again, so somebody must say it.
                tracing::warn!(peer = %pipe.peer, %fault, "pipe closed");
                pipe.core.with(|state| {
                    state.statistics.pipes_punished += 1;
                    state.trouble = Some(format!("{}: {fault}", pipe.peer));
                });
            }
            Some(Ending::Io(error)) => tracing::debug!(peer = %pipe.peer, %error, "pipe lost"),
            Some(Ending::PeerClosed) | None => tracing::debug!(peer = %pipe.peer, "pipe closed"),
        }
    }
}

impl Drop for OpenPipe {
    fn drop(&mut self) {
        let pipe = &self.pipe;
        pipe.core.with(|state| {
            if let Some(entry) = state.pipes.remove(&pipe.id) {
                state.statistics.messages_cut_off += entry.writing;
            }
            state.statistics.pipes_open -= 1;
            state.protocol.close(pipe.id, crate::clock::now());
        });
        pipe.flusher.outlet().close();
    }
}

impl Crank for Pipe {
    type Error = Fault;

    fn read(&self, input: &mut ReadBuf, now: Time) -> Result<(), Fault> {
        self.core.with(|state| {
            let limit = state.receive_limit;
            let mut stopped = false;
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
                if let Received::Close(reason) = state.protocol.receive(self.id, message, now) {
                    break Err(Fault::Rule(reason));
                }
            };
            if let Some(entry) = state.pipes.get_mut(&self.id) {
                entry.stopped = stopped;
            }
            outcome
        })
    }

    fn fill(&self, batch: &mut Batch, _now: Time) {
        self.core.with(|state| {
            let mut gather = Gather::new(batch, self.framing);
            let mut taken = 0;
            while gather.has_room() {
                let Some(message) = state.protocol.transmit(self.id) else {
                    break;
                };
                gather.put(message);
                taken += 1;
            }
            if let Some(entry) = state.pipes.get_mut(&self.id) {
                // We are asked only when the last batch is with the kernel.
                entry.writing = taken;
                entry.written = taken == 0;
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
