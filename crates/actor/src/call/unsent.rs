//! The compile error for awaiting a call that is neither told nor asked.
//!
//! `counter.add(1).await` is the likely mistake of a new user. [`Call`] is no future, but has an impl
//! of `Future` under a condition that never holds; the compiler then reports that condition, whose
//! text says what to write.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::call::Call;
use crate::reference::interface::Interface;

/// Holds for no call.
#[diagnostic::on_unimplemented(
    message = "a call cannot be awaited before it is sent",
    label = "write `.ask().await` to wait for the reply, or `.tell().await` to only send it",
    note = "a call does nothing until it is told or asked"
)]
pub trait AwaitedUnsent {
    /// The reply, if there were one.
    type Reply;
}

impl<I: Interface, R> Future for Call<'_, I, R>
where
    PhantomData<(I, R)>: AwaitedUnsent,
{
    type Output = <PhantomData<(I, R)> as AwaitedUnsent>::Reply;

    /// Never called.
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Pending
    }
}
