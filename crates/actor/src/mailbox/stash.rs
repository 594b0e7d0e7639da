//! The calls that an actor has put aside.

use std::collections::VecDeque;

use crate::error::CallErrorKind;
use crate::letters::{Loss, Origin};
use crate::reply::Reply;

/// A call that was put aside. Dropped, it was not handled: its asker hears so.
pub(crate) struct Stashed<M> {
    pub(crate) call: Option<(M, Reply<'static>)>,
    pub(crate) origin: Origin<M>,
}

impl<M> Stashed<M> {
    /// The call, to be handled; `None` when its asker has gone away meanwhile.
    pub(crate) fn begin(mut self) -> Option<(M, Reply<'static>, Origin<M>)> {
        let (message, mut reply) = self.call.take()?;
        if reply.is_called_off() {
            reply.end();
            return None;
        }
        Some((message, reply, self.origin))
    }
}

impl<M> Drop for Stashed<M> {
    fn drop(&mut self) {
        let Some((message, mut reply)) = self.call.take() else { return };
        match reply.is_wanted() {
            true => reply.fail(CallErrorKind::ActorStopped, ""),
            false => self.origin.lost(Loss::Ended, &message),
        }
    }
}

/// The calls that an actor has put aside.
pub(crate) type Stash<M> = VecDeque<Stashed<M>>;
