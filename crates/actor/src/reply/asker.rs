//! The asker of a call: of this process or of another one.

use std::any::Any;
use std::sync::Arc;
use std::task::{Poll, Waker};

use crate::error::CallErrorKind;
use crate::reply::one_shot::OneShot;

/// A local asker's place for its answer, without its type.
pub(crate) trait LocalReply: Any + Send + Sync {
    /// False when the asker has gone.
    fn is_awaited(&self) -> bool;

    /// True when the asker has gone and a call that was not begun may be skipped.
    fn is_called_off(&self) -> bool {
        !self.is_awaited()
    }

    /// Ready when [called off](Self::is_called_off); otherwise `waker` may be woken then.
    fn poll_called_off(&self, _waker: &Waker) -> Poll<()> {
        if self.is_called_off() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// True while the task of `waker` waits for the answer, if that is known.
    fn is_awaited_by(&self, _: &Waker) -> bool {
        false
    }

    fn fail(&self, kind: CallErrorKind, detail: Option<&str>);
}

/// The place of a local asker; `None` for a tell.
pub(crate) type Asker = Option<Arc<dyn LocalReply>>;

impl<R: Send + 'static> LocalReply for OneShot<R> {
    fn is_awaited(&self) -> bool {
        OneShot::is_awaited(self)
    }

    fn is_called_off(&self) -> bool {
        OneShot::is_called_off(self)
    }

    fn poll_called_off(&self, waker: &Waker) -> Poll<()> {
        OneShot::poll_called_off(self, waker)
    }

    fn is_awaited_by(&self, waker: &Waker) -> bool {
        OneShot::is_awaited_by(self, waker)
    }

    fn fail(&self, kind: CallErrorKind, detail: Option<&str>) {
        self.complete(Err((kind, detail.map(Box::from))));
    }
}

/// The asker of a call, as stored in the mailbox. A remote asker is identified by its slot; the
/// inbound queue of the call knows the session.
#[derive(Clone)]
pub(crate) enum ReplySlot {
    /// A tell.
    Nobody,
    Local(Arc<dyn LocalReply>),
    Remote {
        slot: u32,
        generation: u32,
    },
}

impl From<Option<(u32, u32)>> for ReplySlot {
    #[inline(always)]
    fn from(asker: Option<(u32, u32)>) -> ReplySlot {
        match asker {
            Some((slot, generation)) => ReplySlot::Remote { slot, generation },
            None => ReplySlot::Nobody,
        }
    }
}

/// Answers an asker of this process.
pub(super) fn complete<R: Send + 'static>(place: &dyn LocalReply, value: R) {
    let any: &dyn Any = place;
    match any.downcast_ref::<OneShot<R>>() {
        Some(place) => place.complete(Ok(value)),
        None => place.fail(CallErrorKind::BadReply, None),
    }
}
