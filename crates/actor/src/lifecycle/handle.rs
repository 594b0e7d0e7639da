//! Handles: an actor without its type, to stop it, watch it, or wait for its end.

use std::any::Any;
use std::fmt;
use std::future::poll_fn;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::lifecycle::control::{Control, ControlMessage};
use crate::lifecycle::monitor::Exit;
use crate::reason::Reason;
use crate::reply::caller::Caller;
use crate::sync::{AtomicU64, Ordering};

/// Returns a new number. Numbers are never reused within a process.
#[doc(hidden)]
pub fn fresh_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

/// An actor of this process, whatever its messages.
pub(crate) trait AnyActor: Send + Sync {
    /// The mailbox, to be downcast to its type.
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;

    fn number(&self) -> u64;

    fn target(&self) -> &Arc<str>;

    fn control(&self) -> &Control;

    /// Wakes the actor, if it sleeps for lack of calls.
    fn wake(&self);

    /// The number of calls that wait.
    fn waiting(&self) -> usize;

    /// How long the oldest of them has waited, at least.
    fn waiting_for(&self) -> Option<Duration>;

    /// The number of its stashed calls.
    fn stashed(&self) -> usize;

    /// True when it sleeps for lack of calls.
    fn is_idle(&self) -> bool;

    /// The number of calls dropped for lack of room.
    fn dropped(&self) -> u64;

    /// Ends the actor: no call is accepted any more, and its watchers are told the reason.
    fn end(self: Arc<Self>, reason: Reason);

    /// Sends an order; false when the actor has ended.
    fn order(&self, order: ControlMessage) -> bool {
        let given = self.control().order(order);
        self.wake();
        given
    }
}

/// An actor of this process, without its type: to stop it, watch it, or wait for its end. A handle
/// does not keep the actor alive.
///
/// [`Alive::handle`](crate::Alive::handle) gives the handle of a reference.
///
/// ```
/// # use wigwag_actor::{Handle, Reason};
/// async fn close(actor: &Handle) -> Reason {
///     actor.drain();
///     actor.ended().await
/// }
/// ```
#[derive(Clone)]
pub struct Handle(Arc<dyn AnyActor>);

impl Handle {
    pub(crate) fn new(actor_cell: Arc<dyn AnyActor>) -> Handle {
        Handle(actor_cell)
    }

    pub(crate) fn actor_cell(&self) -> &Arc<dyn AnyActor> {
        &self.0
    }

    /// The actor's number. Numbers are never reused within a process.
    pub fn number(&self) -> u64 {
        self.0.number()
    }

    /// The actor's type, as its interface names it.
    pub fn target(&self) -> &Arc<str> {
        self.0.target()
    }

    /// Ends the actor after its current call. Calls that wait are refused: their askers get
    /// `ActorStopped`. False when it has ended already.
    pub fn stop(&self) -> bool {
        self.stop_with(Reason::Shutdown)
    }

    /// Ends the actor as [`stop`](Handle::stop) does, for the given reason.
    pub fn stop_with(&self, reason: Reason) -> bool {
        self.0.order(ControlMessage::Stop(reason))
    }

    /// Ends the actor when it has handled the calls that wait; new calls are refused. False when it
    /// has ended already.
    pub fn drain(&self) -> bool {
        // The unpublished messages of this turn were sent before the drain and must not be refused.
        crate::turn::buffers::publish_all();
        self.0.order(ControlMessage::Drain)
    }

    /// Ends the actor now, without its `stopped` hook. Its watchers are told at once. A handler
    /// that waits is dropped at its wait; a handler that runs cannot be interrupted, and its actor
    /// is dropped when it returns. False when it has ended already.
    pub fn kill(&self) -> bool {
        let ends = !self.is_ended();
        self.0.clone().end(Reason::Killed);
        ends
    }

    /// Tells the actor that an actor of another process which is linked to it has ended. The node
    /// calls it.
    #[doc(hidden)]
    pub fn exited_elsewhere(&self, target: Arc<str>, reason: &Reason, peer: Caller) {
        let exit = Exit::elsewhere(target, reason, Some(peer), None);
        self.0.order(ControlMessage::Exit(exit));
    }

    /// Leaves calls waiting until [`resume`](Handle::resume); control mail is still handled. False
    /// when the actor has ended.
    pub fn suspend(&self) -> bool {
        self.0.order(ControlMessage::Suspend)
    }

    /// Ends a suspension: calls are handled again. False when the actor has ended.
    pub fn resume(&self) -> bool {
        self.0.order(ControlMessage::Resume)
    }

    /// True when the actor has ended.
    pub fn is_ended(&self) -> bool {
        self.0.control().has_ended()
    }

    /// The reason for the actor's end, if it has ended.
    pub fn reason(&self) -> Option<Reason> {
        self.0.control().ended()
    }

    /// The number of calls that wait in the mailbox.
    pub fn waiting(&self) -> usize {
        self.0.waiting()
    }

    /// The number of calls of local senders that were dropped for lack of room, under the
    /// [rule](crate::WhenFull) of the mailbox.
    pub fn dropped(&self) -> u64 {
        self.0.dropped()
    }

    /// Waits until the actor has ended and returns the reason. Any number of tasks may wait.
    pub async fn ended(&self) -> Reason {
        let waiting = EndWaiter::of(self.clone());
        poll_fn(|context| waiting.poll(context.waker())).await
    }
}

/// A task that waits for an end; dropping it removes its watch.
#[derive(Debug)]
pub(crate) struct EndWaiter {
    handle: Handle,
    number: u64,
}

impl EndWaiter {
    pub(crate) fn of(handle: Handle) -> EndWaiter {
        EndWaiter { handle, number: fresh_number() }
    }

    pub(crate) fn control(&self) -> &Control {
        self.handle.0.control()
    }

    pub(crate) fn poll(&self, waker: &Waker) -> Poll<Reason> {
        self.control().poll_end(self.number, waker)
    }
}

impl Drop for EndWaiter {
    fn drop(&mut self) {
        self.control().forget_task(self.number);
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
