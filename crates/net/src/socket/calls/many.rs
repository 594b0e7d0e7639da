//! Many messages in one call: one lock for as many as there is room for, or as have arrived.
//!
//! A program that has several short messages at hand saves what each call costs: `push 16 B tcp, many at
//! once` of the lab takes 0.073 us of processor time of both sides a message, `push 16 B tcp` 0.118.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use wigwag_sp::RecvError;

use crate::socket::calls::sender_turns::Sender;
use crate::socket::calls::waiter::Waiter;
use crate::socket::calls::{Caller, attempt_send};
use crate::socket::core::{Core, State};
use crate::socket::error::{SocketError, SocketErrorKind};

/// Messages that are sent or received under one lock: the connections of the socket wait meanwhile.
const MESSAGES_PER_LOCK: usize = 256;

/// How far one attempt to send has come, if it need not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// All messages are sent.
    Done,
    /// The effects of the messages so far come first: a peer's queue may have to be written before
    /// it takes more.
    More,
}

impl Core {
    /// Sends `messages`, waiting for room for at most the socket's send timeout each time. Those that are
    /// sent are taken out.
    pub(crate) fn send_many<'c>(
        self: &'c Arc<Core>,
        caller: Caller,
        messages: &'c mut Vec<Bytes>,
    ) -> SendingMany<'c> {
        SendingMany { waiter: Waiter::new(self, caller.sends), caller, messages }
    }

    /// [`send_many`](Self::send_many) on the calling thread, which enters the runtime only to wait.
    pub(crate) fn blocking_send_many(
        self: &Arc<Core>,
        caller: Caller,
        messages: &mut Vec<Bytes>,
    ) -> Result<(), SocketError> {
        let sender = Sender::current();
        loop {
            self.sender_turns.wait(sender);
            let mut sent = 0;
            let outcome = self.attempt(caller.sends, |state| {
                let outcome = attempt_send_many(state, caller, messages, &mut sent);
                (0..sent).for_each(|_| state.sent_since_write.count(sender, &self.sender_turns));
                outcome
            });
            messages.drain(..sent);
            match outcome {
                Some(Ok(Progress::Done)) => return Ok(()),
                Some(Ok(Progress::More)) => {}
                Some(Err(kind)) => return Err(self.error(kind)),
                None => break,
            }
        }
        let waiting = self.block_on(self.send_many(caller, messages));
        waiting.unwrap_or_else(|kind| Err(self.error(kind)))
    }

    /// Appends up to `limit` messages to `messages` and returns their number, waiting for the first one
    /// for at most the socket's receive timeout.
    pub(crate) fn recv_many<'c>(
        self: &'c Arc<Core>,
        caller: Caller,
        messages: &'c mut Vec<Bytes>,
        limit: usize,
    ) -> ReceivingMany<'c> {
        ReceivingMany { waiter: Waiter::new(self, caller.receives), caller, messages, limit }
    }

    /// [`recv_many`](Self::recv_many) on the calling thread, which enters the runtime only to wait.
    pub(crate) fn blocking_recv_many(
        self: &Arc<Core>,
        caller: Caller,
        messages: &mut Vec<Bytes>,
        limit: usize,
    ) -> Result<usize, SocketError> {
        let outcome = self
            .attempt(caller.receives, |state| attempt_recv_many(state, caller, messages, limit));
        if let Some(outcome) = outcome {
            return outcome.map_err(|kind| self.error(kind));
        }
        let waiting = self.block_on(self.recv_many(caller, messages, limit));
        waiting.unwrap_or_else(|kind| Err(self.error(kind)))
    }
}

/// The future of [`Core::send_many`].
pub(crate) struct SendingMany<'c> {
    waiter: Waiter<'c>,
    caller: Caller,
    messages: &'c mut Vec<Bytes>,
}

impl Future for SendingMany<'_> {
    type Output = Result<(), SocketError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let SendingMany { waiter, caller, messages } = self.get_mut();
        loop {
            let (mut sent, mut limit) = (0, None);
            let outcome = waiter.poll(context, |state| {
                let outcome = attempt_send_many(state, *caller, messages, &mut sent);
                if outcome.is_none() {
                    limit = state.send_timeout;
                }
                outcome
            });
            // Without the lock: bodies that were copied are freed here.
            messages.drain(..sent);
            let outcome = match outcome {
                Poll::Ready(outcome) => outcome,
                Poll::Pending => {
                    if sent > 0 {
                        waiter.restart();
                    }
                    match waiter.poll_alarm(context, limit) {
                        Poll::Ready(kind) => Err(kind),
                        Poll::Pending => return Poll::Pending,
                    }
                }
            };
            match outcome {
                Ok(Progress::Done) => return Poll::Ready(Ok(())),
                Ok(Progress::More) => {}
                Err(kind) => return Poll::Ready(Err(waiter.core.error(kind))),
            }
        }
    }
}

/// The future of [`Core::recv_many`].
pub(crate) struct ReceivingMany<'c> {
    waiter: Waiter<'c>,
    caller: Caller,
    messages: &'c mut Vec<Bytes>,
    limit: usize,
}

impl Future for ReceivingMany<'_> {
    type Output = Result<usize, SocketError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let ReceivingMany { waiter, caller, messages, limit } = self.get_mut();
        let attempt = |state: &mut State| attempt_recv_many(state, *caller, messages, *limit);
        let outcome = waiter.poll_within(context, |state| state.receive_timeout, attempt);
        let core = waiter.core;
        outcome.map(|outcome| outcome.map_err(|kind| core.error(kind)))
    }
}

/// Sends the first messages and counts them in `sent`; `None` if there is no room for the next one.
fn attempt_send_many(
    state: &mut State,
    caller: Caller,
    messages: &mut [Bytes],
    sent: &mut usize,
) -> Option<Result<Progress, SocketErrorKind>> {
    for message in messages.iter_mut().take(MESSAGES_PER_LOCK) {
        if let Err(kind) = attempt_send(state, caller, message)? {
            return Some(Err(kind));
        }
        *sent += 1;
        if state.has_event() {
            break;
        }
    }
    Some(Ok(if *sent == messages.len() { Progress::Done } else { Progress::More }))
}

/// Receives the messages that have arrived, at most `limit`; `None` if none has.
fn attempt_recv_many(
    state: &mut State,
    caller: Caller,
    messages: &mut Vec<Bytes>,
    limit: usize,
) -> Option<Result<usize, SocketErrorKind>> {
    if state.closing {
        return Some(Err(SocketErrorKind::Closed));
    }
    let (before, now) = (messages.len(), state.now());
    let limit = limit.min(MESSAGES_PER_LOCK);
    match state.protocol.recv_many(caller.context, messages, limit, now) {
        Ok(()) => Some(Ok(messages.len() - before)),
        Err(RecvError::Empty) => None,
        Err(error) => Some(Err(error.into())),
    }
}

#[cfg(test)]
mod tests;
