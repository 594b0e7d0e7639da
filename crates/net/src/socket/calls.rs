//! The calls of a user: try, and if it cannot be done now, wait for one's turn.
//!
//! A waiting call is a ticket in the queue of its side. It leaves the queue when it is done or
//! dropped; if it was woken and does not use its turn, it wakes the next.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use wigwag_sp::RecvError;

use super::core::{Core, State};
use super::error::{SendError, SocketError, SocketErrorKind};
use super::waiters::Waiters;
use crate::clock;

/// Which queue a call waits in.
#[derive(Clone, Copy)]
enum Side {
    Send,
    Receive,
}

impl Side {
    fn of(self, state: &mut State) -> &mut Waiters {
        match self {
            Side::Send => &mut state.senders,
            Side::Receive => &mut state.receivers,
        }
    }
}

/// A call that may wait.
struct Turn {
    core: Arc<Core>,
    side: Side,
    ticket: Option<u64>,
}

impl Turn {
    fn new(core: &Arc<Core>, side: Side) -> Turn {
        Turn {
            core: core.clone(),
            side,
            ticket: None,
        }
    }

    /// Tries `attempt`; while it gives nothing the call waits. Ready wakes the next in the queue.
    fn poll<T>(
        &mut self,
        context: &Context<'_>,
        attempt: impl FnOnce(&mut State) -> Option<T>,
    ) -> Poll<T> {
        let (side, ticket) = (self.side, &mut self.ticket);
        self.core.with(|state| match attempt(state) {
            None => {
                side.of(state).wait(ticket, context.waker());
                Poll::Pending
            }
            Some(outcome) => {
                if let Some(ticket) = ticket.take() {
                    side.of(state).leave(ticket);
                }
                let next = side.of(state).next();
                state.wakes.extend(next);
                Poll::Ready(outcome)
            }
        })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let side = self.side;
        self.core.with(|state| {
            if !side.of(state).leave(ticket) {
                let next = side.of(state).next();
                state.wakes.extend(next);
            }
        });
    }
}

impl Core {
    /// Sends `message`, waiting for room as long as the socket's send timeout allows. Gives the
    /// number of the exchange that it began.
    pub(super) async fn send(self: &Arc<Core>, message: Bytes) -> Result<u64, SendError> {
        let mut turn = Turn::new(self, Side::Send);
        let mut slot = Some(message);
        let limit = self.with(|state| state.send_timeout);
        let outcome = self
            .within(limit, &mut |context| {
                turn.poll(context, |state| match attempt_send(state, &mut slot) {
                    Err(SocketErrorKind::Full | SocketErrorKind::NoPeer { .. }) => None,
                    done => Some(done),
                })
            })
            .await;
        let kind = match outcome {
            Ok(Ok(round)) => return Ok(round),
            Ok(Err(kind)) | Err(kind) => kind,
        };
        Err(self.refuse(slot.unwrap_or_default(), kind))
    }

    /// Sends `message` now or not at all.
    pub(super) fn try_send(self: &Arc<Core>, message: Bytes) -> Result<(), SendError> {
        let mut slot = Some(message);
        match self.with(|state| attempt_send(state, &mut slot)) {
            Ok(_) => Ok(()),
            Err(kind) => Err(self.refuse(slot.unwrap_or_default(), kind)),
        }
    }

    /// Receives the next message, waiting as long as the socket's receive timeout allows. With
    /// `round`, only what answers that exchange.
    pub(super) async fn recv(
        self: &Arc<Core>,
        mut round: Option<u64>,
    ) -> Result<Bytes, SocketError> {
        let mut turn = Turn::new(self, Side::Receive);
        let limit = self.with(|state| state.receive_timeout);
        let outcome = self
            .within(limit, &mut |context| {
                turn.poll(context, |state| attempt_recv(state, &mut round))
            })
            .await;
        match outcome {
            Ok(Ok(message)) => Ok(message),
            Ok(Err(kind)) | Err(kind) => Err(self.error(kind)),
        }
    }

    /// Receives what has come already.
    pub(super) fn try_recv(self: &Arc<Core>) -> Result<Bytes, SocketError> {
        let outcome = self.with(|state| attempt_recv(state, &mut None));
        outcome
            .unwrap_or(Err(SocketErrorKind::Empty))
            .map_err(|kind| self.error(kind))
    }

    /// Runs a call with the calling thread.
    pub(super) fn block_on<T>(&self, call: impl Future<Output = T>) -> Result<T, SocketErrorKind> {
        let runtime = self.runtime().map_err(SocketErrorKind::NoRuntime)?;
        Ok(runtime.block_on(call))
    }

    async fn within<T>(
        self: &Arc<Core>,
        limit: Option<Duration>,
        work: &mut (dyn FnMut(&Context<'_>) -> Poll<T> + Send),
    ) -> Result<T, SocketErrorKind> {
        let Some(limit) = limit else {
            return Ok(poll_fn(|context| work(context)).await);
        };
        let runtime = self.runtime().map_err(SocketErrorKind::NoRuntime)?;
        let alarm = {
            // Only the making of a timer needs the runtime; any executor may wait for it.
            let _entered = runtime.enter();
            tokio::time::sleep(limit)
        };
        let mut alarm = pin!(alarm);
        poll_fn(|context| {
            if let Poll::Ready(done) = work(context) {
                return Poll::Ready(Ok(done));
            }
            let over = alarm.as_mut().poll(context);
            over.map(|()| Err(self.too_late(limit)))
        })
        .await
    }

    /// Without a peer, that is the reason; the time is only when we stopped waiting for one.
    fn too_late(self: &Arc<Core>, limit: Duration) -> SocketErrorKind {
        self.with(|state| {
            if state.pipes.is_empty() {
                let last = state.trouble.clone();
                SocketErrorKind::NoPeer { last }
            } else {
                SocketErrorKind::TimedOut(limit)
            }
        })
    }

    fn refuse(self: &Arc<Core>, message: Bytes, kind: SocketErrorKind) -> SendError {
        let error = self.error(kind);
        SendError { message, error }
    }

    pub(super) fn error(self: &Arc<Core>, kind: SocketErrorKind) -> SocketError {
        let places = self.with(|state| match state.places.is_empty() {
            true => "neither dials nor listens".to_owned(),
            false => state.places.join(", "),
        });
        SocketError {
            at: format!("{}, {places}", self.number),
            kind,
        }
    }
}

/// Takes the message out of `slot` if it can be sent.
fn attempt_send(state: &mut State, slot: &mut Option<Bytes>) -> Result<u64, SocketErrorKind> {
    if state.closing {
        return Err(SocketErrorKind::Closed);
    }
    let message = slot.take().unwrap_or_default();
    match state.protocol.send(message, clock::now()) {
        Ok(()) => Ok(state.protocol.round()),
        Err(refused) => {
            *slot = Some(refused.body);
            Err(match SocketErrorKind::from(refused.why) {
                SocketErrorKind::NoPeer { .. } => SocketErrorKind::NoPeer {
                    last: state.trouble.clone(),
                },
                kind => kind,
            })
        }
    }
}

/// `None` when nothing has come yet.
fn attempt_recv(
    state: &mut State,
    round: &mut Option<u64>,
) -> Option<Result<Bytes, SocketErrorKind>> {
    if state.closing {
        return Some(Err(SocketErrorKind::Closed));
    }
    let now = state.protocol.round();
    if *round.get_or_insert(now) != now {
        return Some(Err(SocketErrorKind::Cancelled));
    }
    match state.protocol.recv(clock::now()) {
        Ok(message) => Some(Ok(message)),
        Err(RecvError::Empty) => None,
        Err(error) => Some(Err(error.into())),
    }
}
