//! The answer that a handler owes.
//!
//! A reply is sent once: with a value, or, when it is dropped unsent, as an error. So an asker
//! always hears something, whatever the handler does.

use std::any::Any;
use std::sync::Arc;

use wigwag_wire::Encode;

use crate::error::CallErrorKind;
use crate::lane::LaneOwner;
use crate::one_shot::OneShot;

/// A local asker's place, without its type.
pub(crate) trait LocalReply: Any + Send + Sync {
    fn fail(&self, kind: CallErrorKind, detail: Option<&str>);
}

impl<R: Send + 'static> LocalReply for OneShot<R> {
    fn fail(&self, kind: CallErrorKind, detail: Option<&str>) {
        self.complete(Err((kind, detail.map(Box::from))));
    }
}

/// Who waits for an answer, as it lies in the mailbox. A remote asker is known by its slot; the
/// lane that the call came through knows the way.
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

enum Way<'r> {
    Borrowed(&'r Arc<dyn LaneOwner>),
    Owned(Arc<dyn LaneOwner>),
    None,
}

/// The answer that a handler owes. Dropped unsent, it tells the asker so.
pub struct Reply<'r> {
    slot: ReplySlot,
    way: Way<'r>,
}

impl<'r> Reply<'r> {
    #[inline]
    pub(crate) fn new(slot: ReplySlot, way: Option<&'r Arc<dyn LaneOwner>>) -> Reply<'r> {
        Reply { slot, way: way.map_or(Way::None, Way::Borrowed) }
    }

    /// True when somebody waits: false for a tell.
    pub fn is_wanted(&self) -> bool {
        !matches!(self.slot, ReplySlot::Nobody)
    }

    /// The same way, for the next call.
    #[inline(always)]
    pub(crate) fn renew(&mut self, slot: ReplySlot) {
        self.slot = slot;
    }

    /// Answers; nothing more can be said then. A tell costs one comparison.
    #[inline(always)]
    pub fn send<R: Encode + Send + 'static>(&mut self, value: R) {
        if self.is_wanted() {
            self.send_now(value);
        }
    }

    #[inline(never)]
    fn send_now<R: Encode + Send + 'static>(&mut self, value: R) {
        match std::mem::replace(&mut self.slot, ReplySlot::Nobody) {
            ReplySlot::Nobody => {}
            ReplySlot::Remote { slot, generation } => {
                if let Some(owner) = self.owner() {
                    owner.reply(slot, generation, &value);
                }
            }
            ReplySlot::Local(place) => {
                let any: Arc<dyn Any + Send + Sync> = place.clone();
                match any.downcast::<OneShot<R>>() {
                    Ok(place) => place.complete(Ok(value)),
                    Err(_) => place.fail(CallErrorKind::BadReply, None),
                }
            }
        }
    }

    /// Answers with an error, and with what there is to say about it, if anything.
    pub fn fail(&mut self, kind: CallErrorKind, detail: &str) {
        self.fail_now(kind, Some(detail).filter(|detail| !detail.is_empty()));
    }

    /// The same reply, free to outlive the turn.
    pub fn take_owned(&mut self) -> Reply<'static> {
        let slot = std::mem::replace(&mut self.slot, ReplySlot::Nobody);
        let way = self.owner().map_or(Way::None, |owner| Way::Owned(owner.clone()));
        Reply { slot, way }
    }

    fn owner(&self) -> Option<&Arc<dyn LaneOwner>> {
        match &self.way {
            Way::Borrowed(owner) => Some(owner),
            Way::Owned(owner) => Some(owner),
            Way::None => None,
        }
    }

    #[cold]
    fn fail_now(&mut self, kind: CallErrorKind, detail: Option<&str>) {
        match std::mem::replace(&mut self.slot, ReplySlot::Nobody) {
            ReplySlot::Nobody => {}
            ReplySlot::Local(place) => place.fail(kind, detail),
            ReplySlot::Remote { slot, generation } => {
                if let Some(owner) = self.owner() {
                    owner.fail(slot, generation, kind, detail.unwrap_or(""));
                }
            }
        }
    }
}

impl Drop for Reply<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.is_wanted() {
            let panicked = std::thread::panicking();
            let kind = if panicked { CallErrorKind::Panicked } else { CallErrorKind::ReplyDropped };
            self.fail_now(kind, None);
        }
    }
}
