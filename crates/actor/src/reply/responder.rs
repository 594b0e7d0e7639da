//! Answers that are given later, or by another actor or task.

use std::fmt;

use crate::error::CallErrorKind;
use crate::reply::Reply;

/// The reply of a handler as a value, to be sent later or by another actor or task.
///
/// A parameter `answer: Responder<R>` of a handler that returns nothing makes `R` the reply of the
/// call. The handler may keep it, answer in a later call, or pass it to another actor
/// ([`Local<Responder<R>>`](crate::Local) is an argument). The asker may be in this process or in
/// another.
///
/// ```
/// # use std::collections::VecDeque;
/// # use wigwag_actor::Responder;
/// /// Asks that wait for a connection.
/// struct Pool { waiting: VecDeque<Responder<u64>> }
///
/// impl Pool {
///     fn released(&mut self, connection: u64) {
///         if let Some(answer) = self.waiting.pop_front() {
///             answer.send(connection);
///         }
///     }
/// }
/// ```
///
/// If it is dropped without an answer, the asker gets an error: `ReplyDropped`, or `ActorStopped`
/// when it is dropped with its actor. If the call was told and not asked, the answer is dropped.
pub struct Responder<R> {
    reply: Reply<'static>,
    send: SendReply<R>,
}

/// Sends the answer, encoded or in the process only: [`Reply::send`] or [`Reply::send_in_process`].
pub(crate) type SendReply<R> = fn(&mut Reply<'static>, R);

impl<R> Responder<R> {
    /// For the code that `#[wigwag::actor]` generates.
    #[doc(hidden)]
    pub fn new(reply: &mut Reply<'_>, send: SendReply<R>) -> Responder<R> {
        Responder { reply: reply.take_owned(), send }
    }

    /// Sends the answer.
    pub fn send(mut self, value: R) {
        (self.send)(&mut self.reply, value);
    }

    /// Answers with an error of the application's own: its number, 0x8000 and above, and a detail
    /// for the reader.
    pub fn fail(mut self, code: u16, detail: &str) {
        self.reply.fail(CallErrorKind::Application(code | 0x8000), detail);
    }

    /// True while an asker waits for the answer, in this process or in another: false for a tell,
    /// when the asker has given up, and when its session has ended. Of an asker in another process
    /// that takes a way across the network, and peers of earlier releases do not say it. A call
    /// whose asker goes before the handler has begun is skipped; a running handler may check here
    /// whether to continue.
    pub fn is_wanted(&self) -> bool {
        self.reply.is_awaited()
    }
}

impl<R> Responder<R> {
    pub(crate) fn from_parts(reply: Reply<'static>, send: SendReply<R>) -> Responder<R> {
        Responder { reply, send }
    }

    pub(crate) fn into_parts(self) -> (Reply<'static>, SendReply<R>) {
        (self.reply, self.send)
    }
}

impl<R> fmt::Debug for Responder<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder").field("wanted", &self.reply.is_wanted()).finish()
    }
}
