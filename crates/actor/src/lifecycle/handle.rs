//! An actor without its type: to stop it, to watch it, to wait for its end.

use std::any::Any;
use std::fmt;
use std::future::poll_fn;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::lifecycle::control::{Control, ControlMessage, Watcher, WatcherKind};
use crate::reason::Reason;
use crate::sync::{AtomicU64, Ordering};

/// A number that there was not before in this process.
pub(crate) fn fresh_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

/// An actor of this process, whatever its messages.
pub(crate) trait AnyActor: Send + Sync {
    /// The mailbox as what it is.
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;

    fn number(&self) -> u64;

    fn target(&self) -> &Arc<str>;

    fn control(&self) -> &Control;

    /// Wakes the actor, if it sleeps for want of calls.
    fn wake(&self);

    /// Calls that wait for it.
    fn waiting(&self) -> usize;

    /// How long the oldest of them has waited, at least.
    fn waiting_for(&self) -> Option<Duration>;

    /// Calls that it has put aside.
    fn stashed(&self) -> usize;

    /// True when it sleeps for want of calls.
    fn is_idle(&self) -> bool;

    /// Calls that were dropped for want of room.
    fn dropped(&self) -> u64;

    /// It has ended, or is made to: nothing is let in any more, and who waits or watches hears why.
    fn end(self: Arc<Self>, reason: Reason);

    /// Gives an order; false when the actor has ended.
    fn order(&self, order: ControlMessage) -> bool {
        let given = self.control().order(order);
        self.wake();
        given
    }
}

/// An actor of this process, whatever its type. It does not keep the actor alive.
#[derive(Clone)]
pub struct Handle(Arc<dyn AnyActor>);

impl Handle {
    pub(crate) fn new(actor_cell: Arc<dyn AnyActor>) -> Handle {
        Handle(actor_cell)
    }

    pub(crate) fn actor_cell(&self) -> &Arc<dyn AnyActor> {
        &self.0
    }

    /// The actor's number: no two actors of a process have the same, not even one after the other.
    pub fn number(&self) -> u64 {
        self.0.number()
    }

    /// The actor's type, as its interface names it.
    pub fn target(&self) -> &Arc<str> {
        self.0.target()
    }

    /// Ends the actor after the current call. Waiting calls are refused: their callers get
    /// `ActorStopped`. False if the actor has ended already.
    pub fn stop(&self) -> bool {
        self.stop_with(Reason::Shutdown)
    }

    /// Ends the actor after the current call, with a reason of your own.
    pub fn stop_with(&self, reason: Reason) -> bool {
        self.0.order(ControlMessage::Stop(reason))
    }

    /// Ends the actor after the waiting calls are handled; no new ones are accepted. False if the
    /// actor has ended already.
    pub fn drain(&self) -> bool {
        // Messages that this turn has sent and not published yet were sent before, so they must not
        // be refused.
        crate::turn::local_batches::publish_all();
        self.0.order(ControlMessage::Drain)
    }

    /// Ends the actor at once, without its `stopped` hook. Watchers and waiting callers are told
    /// immediately. A handler that waits is dropped where it is; a running one cannot be
    /// interrupted, and its actor is dropped when it returns. False if the actor has ended already.
    pub fn kill(&self) -> bool {
        let ends = !self.is_ended();
        self.0.clone().end(Reason::Killed);
        ends
    }

    /// Lets calls wait until [`resume`](Handle::resume); control mail is handled still.
    pub fn suspend(&self) -> bool {
        self.0.order(ControlMessage::Suspend)
    }

    /// Resumes the handling of calls.
    pub fn resume(&self) -> bool {
        self.0.order(ControlMessage::Resume)
    }

    /// True when the actor has ended.
    pub fn is_ended(&self) -> bool {
        self.0.control().has_ended()
    }

    /// Why the actor has ended, if it has.
    pub fn reason(&self) -> Option<Reason> {
        self.0.control().ended()
    }

    /// Calls that wait in the mailbox.
    pub fn waiting(&self) -> usize {
        self.0.waiting()
    }

    /// Calls of local senders that were dropped because there was no room for them, if the actor was
    /// [started so](crate::WhenFull).
    pub fn dropped(&self) -> u64 {
        self.0.dropped()
    }

    /// Waits until the actor has ended, and says why. Any number may wait.
    pub async fn ended(&self) -> Reason {
        let waiting = EndWaiter { handle: self, number: fresh_number() };
        poll_fn(|context| waiting.poll(context.waker())).await
    }
}

/// A wait for an end; dropping it removes its entry.
struct EndWaiter<'a> {
    handle: &'a Handle,
    number: u64,
}

impl EndWaiter<'_> {
    fn poll(&self, waker: &Waker) -> Poll<Reason> {
        let control = self.handle.0.control();
        let watcher = Watcher { number: self.number, kind: WatcherKind::Waker(waker.clone()) };
        match control.watch(watcher) {
            Ok(None) => Poll::Pending,
            Ok(Some(reason)) => Poll::Ready(reason),
            // There are already too many watchers: check again.
            Err(_) => {
                waker.wake_by_ref();
                Poll::Pending
            }
        }
    }
}

impl Drop for EndWaiter<'_> {
    fn drop(&mut self) {
        self.handle.0.control().unwatch(self.number);
    }
}

impl PartialEq for Handle {
    fn eq(&self, other: &Handle) -> bool {
        self.number() == other.number()
    }
}

impl Eq for Handle {}

impl Hash for Handle {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number().hash(state);
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} #{}", self.target(), self.number())
    }
}
