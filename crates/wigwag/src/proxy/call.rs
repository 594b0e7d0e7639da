//! A call of a client without a session, before it is made.

use std::collections::VecDeque;
use std::time::Duration;

use wigwag_actor::CallError;

use super::actor::ProxyActor;
use super::reply::{ProxyReply, ProxyStream};

/// A call that has not been made yet.
#[derive(Clone, Debug)]
#[must_use = "a call does nothing until it is asked or told"]
pub struct ProxyCall {
    pub(super) actor: ProxyActor,
    pub(super) number: u32,
    pub(super) arguments: Vec<u8>,
}

impl ProxyCall {
    /// Asks, and waits for the reply for at most `limit`.
    ///
    /// # Errors
    /// - [`Full`](crate::CallErrorKind::Full): the actor has no room, and nothing was sent;
    /// - [`DeadlinePassed`](crate::CallErrorKind::DeadlinePassed): no reply within `limit`;
    /// - [`ActorStopped`](crate::CallErrorKind::ActorStopped), [`Panicked`](crate::CallErrorKind::Panicked),
    ///   [`ReplyDropped`](crate::CallErrorKind::ReplyDropped), [`BadArguments`](crate::CallErrorKind::BadArguments) and
    ///   the errors of the application: the fate of the call;
    /// - [`TooLarge`](crate::CallErrorKind::TooLarge): the reply has more than 16 MiB;
    /// - [`NotSerializable`](crate::CallErrorKind::NotSerializable): the reply has a reference to an actor.
    ///
    /// # Cancellation
    /// Dropping the future cancels the ask: an actor that has not begun it skips it.
    pub async fn ask(self, limit: Duration) -> Result<ProxyReply, CallError> {
        let ProxyCall { actor, number, arguments } = self;
        let calls = &actor.0.proxy.0.calls;
        let asked = calls.ask(&actor.0.actor, (number, &arguments), limit).await;
        asked.map(ProxyReply).map_err(|failure| failure.into_error(&actor.0.target))
    }

    /// Tells the actor.
    ///
    /// # Errors
    /// [`Full`](crate::CallErrorKind::Full): the actor has no room; [`ActorStopped`](crate::CallErrorKind::ActorStopped).
    /// Nothing was sent.
    pub async fn tell(self) -> Result<(), CallError> {
        let ProxyCall { actor, number, arguments } = self;
        let told = actor.0.proxy.0.calls.tell(&actor.0.actor, (number, &arguments), None).await;
        told.map_err(|failure| failure.into_error(&actor.0.target))
    }

    /// Asks for a stream, whose producer may be `ahead` items ahead of the reader.
    ///
    /// # Errors
    /// As [`ask`](Self::ask); what befalls the call later ends the stream.
    pub async fn stream(self, ahead: usize) -> Result<ProxyStream, CallError> {
        let ProxyCall { actor, number, arguments } = self;
        let calls = &actor.0.proxy.0.calls;
        let opened = calls.stream(&actor.0.actor, (number, &arguments), ahead).await;
        let open = opened.map_err(|failure| failure.into_error(&actor.0.target))?;
        Ok(ProxyStream { open, taken: VecDeque::new(), target: actor.0.target.clone() })
    }
}
