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
        Turn { core: core.clone(), side, ticket: None }
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
    /// number of the exchange that it began. One lock when there is room.
    pub(super) async fn send(self: &Arc<Core>, message: Bytes) -> Result<u64, SendError> {
        let mut slot = Some(message);
        let (first, limit) = self.with(|state| {
            let first = attempt_send(state, &mut slot);
            if first.is_some() {
                state.wakes.extend(state.senders.next());
            }
            (first, state.send_timeout)
        });
        let outcome = match first {
            Some(outcome) => outcome,
            None => {
                let mut turn = Turn::new(self, Side::Send);
                let waiting = self.within(limit, |context| {
                    turn.poll(context, |state| attempt_send(state, &mut slot))
                });
                waiting.await.unwrap_or_else(Err)
            }
        };
        outcome.map_err(|kind| self.refuse(slot.unwrap_or_default(), kind))
    }

    /// Sends `message` now or not at all.
    pub(super) fn try_send(self: &Arc<Core>, message: Bytes) -> Result<(), SendError> {
        let mut slot = Some(message);
        let outcome = self
            .with(|state| attempt_send(state, &mut slot).unwrap_or_else(|| Err(no_room(state))));
        match outcome {
            Ok(_) => Ok(()),
            Err(kind) => Err(self.refuse(slot.unwrap_or_default(), kind)),
        }
    }

    /// Receives the next message, waiting as long as the socket's receive timeout allows. With
    /// `round`, only what answers that exchange. One lock when something has come.
    pub(super) async fn recv(
        self: &Arc<Core>,
        mut round: Option<u64>,
    ) -> Result<Bytes, SocketError> {
        let (first, limit) = self.with(|state| {
            let first = attempt_recv(state, &mut round);
            if first.is_some() {
                state.wakes.extend(state.receivers.next());
            }
            (first, state.receive_timeout)
        });
        let outcome = match first {
            Some(outcome) => outcome,
            None => {
                let mut turn = Turn::new(self, Side::Receive);
                let waiting = self.within(limit, |context| {
                    turn.poll(context, |state| attempt_recv(state, &mut round))
                });
                waiting.await.unwrap_or_else(Err)
            }
        };
        outcome.map_err(|kind| self.error(kind))
    }

    /// Receives what has come already.
    pub(super) fn try_recv(self: &Arc<Core>) -> Result<Bytes, SocketError> {
        let outcome = self.with(|state| attempt_recv(state, &mut None));
        outcome.unwrap_or(Err(SocketErrorKind::Empty)).map_err(|kind| self.error(kind))
    }

    /// Runs a call with the calling thread.
    pub(super) fn block_on<T>(&self, call: impl Future<Output = T>) -> Result<T, SocketErrorKind> {
        let runtime = self.runtime().map_err(SocketErrorKind::NoRuntime)?;
        Ok(runtime.block_on(call))
    }

    async fn within<T>(
        self: &Arc<Core>,
        limit: Option<Duration>,
        mut work: impl FnMut(&Context<'_>) -> Poll<T>,
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
        self.with(|state| match no_room(state) {
            SocketErrorKind::Full => SocketErrorKind::TimedOut(limit),
            nobody => nobody,
        })
    }

    fn refuse(self: &Arc<Core>, message: Bytes, kind: SocketErrorKind) -> SendError {
        let error = self.error(kind);
        SendError { message, error }
    }

    pub(super) fn error(self: &Arc<Core>, kind: SocketErrorKind) -> SocketError {
        let places = self.with(|state| state.places());
        SocketError { at: format!("{}, {places}", self.number), kind }
    }
}

/// Takes the message out of `slot` if it can be sent; `None` when it can be sent later.
fn attempt_send(
    state: &mut State,
    slot: &mut Option<Bytes>,
) -> Option<Result<u64, SocketErrorKind>> {
    if state.closing {
        return Some(Err(SocketErrorKind::Closed));
    }
    let message = slot.take().unwrap_or_default();
    let now = state.now();
    match state.protocol.send(message, now) {
        Ok(()) => Some(Ok(state.protocol.round())),
        Err(refused) => {
            *slot = Some(refused.body);
            let later = refused.why.is_temporary();
            (!later).then(|| Err(refused.why.into()))
        }
    }
}

/// Why a message can only be sent later.
fn no_room(state: &State) -> SocketErrorKind {
    if state.pipes.is_empty() {
        let last = state.trouble.clone();
        SocketErrorKind::NoPeer { last }
    } else {
        SocketErrorKind::Full
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
    let current = state.protocol.round();
    if *round.get_or_insert(current) != current {
        return Some(Err(SocketErrorKind::Cancelled));
    }
    let now = state.now();
    match state.protocol.recv(now) {
        Ok(message) => Some(Ok(message)),
        Err(RecvError::Empty) => None,
        Err(error) => Some(Err(error.into())),
    }
}
