//! An answer that is given later, or by somebody else.

use std::fmt;
use std::marker::PhantomData;

use wigwag_wire::Encode;

use crate::error::CallErrorKind;
use crate::reply::Reply;

/// The answer that a handler owes, as a value: a parameter `answer: Responder<R>` of a handler that
/// returns nothing makes `R` the reply of the call, and the handler may keep it, answer in a later
/// call, or hand it on to another actor ([`Local<Responder<R>>`](crate::Local) is an argument). The asker
/// may be of this process or of another.
///
/// Dropped without an answer, it tells the asker so: `ReplyDropped`, or `ActorStopped` when it is
/// dropped with its actor. When the call was told and not asked, nobody hears the answer.
pub struct Responder<R> {
    reply: Reply<'static>,
    kind: PhantomData<fn(R)>,
}

impl<R: Encode + Send + 'static> Responder<R> {
    /// For what `#[wigwag::actor]` writes.
    #[doc(hidden)]
    pub fn new(reply: &mut Reply<'_>) -> Responder<R> {
        Responder { reply: reply.take_owned(), kind: PhantomData }
    }

    /// Answers.
    pub fn send(mut self, value: R) {
        self.reply.send(value);
    }

    /// Answers with an error of the application's own, 0x8000 and above, and what there is to say.
    pub fn fail(mut self, code: u16, detail: &str) {
        self.reply.fail(CallErrorKind::Application(code | 0x8000), detail);
    }

    /// True when somebody waits for the answer: false for a tell, and when an asker of this process
    /// has gone away. An asker that goes before the handler has begun is passed over; a handler that
    /// runs looks here whether to go on.
    pub fn is_wanted(&self) -> bool {
        self.reply.is_awaited()
    }
}

impl<R> Responder<R> {
    pub(crate) fn of(reply: Reply<'static>) -> Responder<R> {
        Responder { reply, kind: PhantomData }
    }

    pub(crate) fn into_reply(self) -> Reply<'static> {
        self.reply
    }
}

impl<R> fmt::Debug for Responder<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder").field("wanted", &self.reply.is_wanted()).finish()
    }
}
