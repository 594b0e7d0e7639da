//! The calls that an actor has stashed.

use std::collections::VecDeque;

use crate::error::CallErrorKind;
use crate::letters::{Loss, Origin};
use crate::lifecycle::current::CallOwner;
use crate::reply::Reply;

/// A stashed call. When it is dropped unhandled, an ask fails with `ActorStopped` and a tell is
/// reported as lost.
pub(crate) struct Stashed<M> {
    pub(crate) call: Option<(M, Reply<'static>)>,
    pub(crate) origin: Origin<M>,
    /// The session that the call came from.
    pub(crate) owner: Option<CallOwner>,
}

/// A stashed call that is to be handled: its message, the reply, where it was lost if it is, and the
/// session that it came from.
pub(crate) type Begun<M> = (M, Reply<'static>, Origin<M>, Option<CallOwner>);

impl<M> Stashed<M> {
    /// Takes out the call, to be handled; `None` when its asker has gone.
    pub(crate) fn begin(mut self) -> Option<Begun<M>> {
        let (message, mut reply) = self.call.take()?;
        if reply.end_if_called_off() {
            return None;
        }
        Some((message, reply, self.origin, self.owner.take()))
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

/// The stashed calls of an actor, in order.
pub(crate) type Stash<M> = VecDeque<Stashed<M>>;
