//! Admission: how a connection whose handshake is complete becomes a pipe, or is refused.
//!
//! The watcher decides first, without the lock; then the socket, which may have been closed in the
//! meantime; then the protocol.

use std::sync::Arc;

use tokio::sync::Notify;
use wigwag_wire::{ReadBuf, Time};

use crate::driver::Flusher;
use crate::error::NetErrorKind;
use crate::socket::core::{Core, PipeEntry};
use crate::socket::endpoint::Endpoint;
use crate::socket::observe::{PipeInfo, PipeWatcher};
use crate::socket::pipe::{OpenPipe, Pipe};
use crate::transport::Connection;

impl Core {
    /// Turns a connection that came through `endpoint` into a pipe.
    pub(crate) fn admit(
        self: &Arc<Core>,
        connection: Connection,
        input: ReadBuf,
        endpoint: &Arc<Endpoint>,
        now: Time,
    ) -> Result<OpenPipe, NetErrorKind> {
        let Connection {
            reader,
            outlet,
            framing,
            peer,
            local,
            credentials,
            certificate,
            own_certificate: _,
            shared_memory,
            ..
        } = connection;
        let (id, watcher) = self.with(|state| (state.free_pipe(), state.watcher.clone()));
        let (side, through) = (endpoint.side, endpoint.address.clone());
        let certificate = certificate.get();
        let shared_memory = shared_memory.is_used();
        let info =
            PipeInfo { id, peer, local, credentials, certificate, shared_memory, side, through };
        let pipe = Arc::new(Pipe {
            id,
            core: self.clone(),
            framing,
            info,
            endpoint: endpoint.number,
            receive_limit: endpoint.options.receive_limit,
            flusher: Flusher::new(outlet),
            watcher,
            end: Notify::new(),
        });
        let watcher = pipe.watcher.as_deref();
        let admitted = self
            .ask_watcher(watcher, &pipe.info)
            .and_then(|()| self.open_pipe(&pipe, endpoint, now));
        let info = &pipe.info;
        match admitted {
            Ok(()) => {
                tracing::debug!(
                    peer = %info.peer,
                    id = id.0,
                    through = %info.through,
                    shared_memory,
                    "pipe opened"
                );
                watcher.inspect(|watcher| watcher.admitted(info));
                Ok(OpenPipe::new(pipe, reader, input))
            }
            Err(kind) => {
                tracing::debug!(peer = %info.peer, id = id.0, why = %kind, "pipe refused");
                watcher.inspect(|watcher| watcher.refused(info, &kind.to_string()));
                pipe.flusher.retire();
                Err(kind)
            }
        }
    }

    fn ask_watcher(
        self: &Arc<Core>,
        watcher: Option<&dyn PipeWatcher>,
        info: &PipeInfo,
    ) -> Result<(), NetErrorKind> {
        let Some(Err(rule)) = watcher.map(|watcher| watcher.arriving(info)) else {
            return Ok(());
        };
        self.with(|state| {
            state.statistics.pipes_turned_away += 1;
            state.last_failure = Some(format!("{}: turned away: {rule}", info.peer));
        });
        Err(NetErrorKind::TurnedAway { rule })
    }

    fn open_pipe(
        self: &Arc<Core>,
        pipe: &Arc<Pipe>,
        endpoint: &Endpoint,
        now: Time,
    ) -> Result<(), NetErrorKind> {
        self.with(|state| {
            if state.closing || !state.endpoints.contains_key(&endpoint.number) {
                return Err(NetErrorKind::ClosedHere);
            }
            // The protocol may report events of the pipe as soon as it is open.
            state.pipes.insert(pipe.id, PipeEntry::new(pipe.clone()));
            if let Err(reason) = state.protocol.open(pipe.id, now) {
                state.statistics.pipes_refused += 1;
                state.pipes.remove(&pipe.id);
                return Err(NetErrorKind::TurnedAway { rule: reason.to_string() });
            }
            let options = &endpoint.options;
            state.protocol.set_priority(pipe.id, options.send_priority, options.receive_priority);
            state.statistics.pipes_opened += 1;
            state.statistics.pipes_open += 1;
            Ok(())
        })
    }
}
