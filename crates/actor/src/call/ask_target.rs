//! The actor of an ask: borrowed from the caller's reference, or held with a reference of its own.

use std::ops::Deref;

use crate::reference::Ref;
use crate::reference::interface::Interface;

/// The actor of an ask or an answer.
pub(crate) enum AskTarget<'a, I: Interface> {
    /// The caller's reference: the usual case, which costs nothing.
    Borrowed(&'a Ref<I>),
    /// A reference of the ask's own, so that it can outlive the caller's. Boxed to keep the usual
    /// case small.
    Owned(Box<Ref<I>>),
}

impl<I: Interface> AskTarget<'_, I> {
    /// This target with a reference of its own.
    pub(crate) fn to_owned(&self) -> AskTarget<'static, I> {
        AskTarget::Owned(Box::new(Ref::clone(self)))
    }
}

impl<'a, I: Interface> Clone for AskTarget<'a, I> {
    #[inline(always)]
    fn clone(&self) -> AskTarget<'a, I> {
        match self {
            AskTarget::Borrowed(target) => AskTarget::Borrowed(target),
            AskTarget::Owned(_) => self.to_owned(),
        }
    }
}

impl<I: Interface> Deref for AskTarget<'_, I> {
    type Target = Ref<I>;

    #[inline(always)]
    fn deref(&self) -> &Ref<I> {
        match self {
            AskTarget::Borrowed(target) => target,
            AskTarget::Owned(target) => target,
        }
    }
}
