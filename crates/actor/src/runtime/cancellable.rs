//! Handlers that run side by side and end when their caller waits no longer.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use crate::reply::Reply;
use crate::reply::responder::SendReply;
use crate::runtime::side_by_side::Work;

/// The reply of a call that is woken when its asker goes. However the call ends, it is woken no
/// more.
struct WatchedReply(Reply<'static>);

impl Drop for WatchedReply {
    fn drop(&mut self) {
        self.0.unwatch();
    }
}

/// Used by the code that `#[wigwag::actor]` generates: awaits the value of a call, and answers with
/// it by `send`, unless its asker goes before; then the future is dropped.
#[doc(hidden)]
pub fn cancellable_work<R, F>(reply: Reply<'static>, future: F, send: SendReply<R>) -> Work
where
    R: Send + 'static,
    F: Future<Output = R> + Send + 'static,
{
    let mut reply = WatchedReply(reply);
    Box::pin(async move {
        let value = {
            let mut future = pin!(future);
            let next = poll_fn(|context| match reply.0.poll_called_off(context.waker()) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => future.as_mut().poll(context).map(Some),
            });
            next.await
        };
        reply.0.unwatch();
        if let Some(value) = value {
            send(&mut reply.0, value);
        }
    })
}
