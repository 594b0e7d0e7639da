//! An actor's view of itself, for its own handlers and hooks.

mod links;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use tokio::task::AbortHandle;
use wigwag_wire::Encode;

use crate::error::{CallError, CallErrorKind};
use crate::lifecycle::control::{ControlMessage, Visit};
use crate::lifecycle::current::{call_owner, current_actor};
use crate::lifecycle::end_watchers::NotWatched;
use crate::lifecycle::handle::{AnyActor, Handle, fresh_number};
use crate::lifecycle::lives::OwnerEnd;
use crate::lifecycle::monitor::{Down, Monitor, TooManyWatchers};
use crate::lifecycle::watchers::{Watcher, WatcherKind};
use crate::mailbox::Mailbox;
use crate::reason::Reason;
use crate::reference::Ref;
use crate::reference::interface::Interface;
use crate::reference::local_ref::LocalRef;
use crate::reply::caller::Caller;
use crate::runtime::alive::visit_state;
use crate::runtime::publish::{PublishError, publish};
use crate::runtime::run::trace::{self, TraceContext};
use crate::turn::{self, in_turns};

pub(crate) use links::untie;

/// Why a reference in an answer is not watched before the answer has come.
const NOT_KNOWN: &str = "the answer that leads to the actor has not come yet";

/// An actor's view of itself. A handler or a hook takes it as a parameter `this: &This<Self>`,
/// which is no argument of the call.
pub struct This<I: Interface> {
    pub(crate) mailbox: Arc<Mailbox<I::Message>>,
}

impl<I: Interface> This<I> {
    pub(crate) fn new(mailbox: Arc<Mailbox<I::Message>>) -> This<I> {
        This { mailbox }
    }

    /// The actor whose handler or hook runs on this thread; `None` outside of one, and in one of an
    /// actor with another interface.
    pub fn current() -> Option<This<I>> {
        Some(This { mailbox: current_actor()?.as_any().downcast().ok()? })
    }

    pub(crate) fn mailbox(&self) -> &Arc<Mailbox<I::Message>> {
        &self.mailbox
    }

    /// The trace context of the call that is handled, if it came from another process with one; see
    /// [`trace`]. The calls of the handler to other processes carry it on by themselves.
    pub fn trace_context(&self) -> Option<TraceContext> {
        trace::current()
    }

    /// A reference to the actor itself. While one exists, the actor does not end for lack of
    /// references: an actor that keeps one must be stopped.
    pub fn reference(&self) -> I::Ref {
        Ref::local(LocalRef::new(self.mailbox.clone())).into()
    }

    /// The actor without its type.
    pub fn handle(&self) -> Handle {
        Handle::new(self.mailbox.clone())
    }

    /// The caller of the call that this actor handles: the other node, or the SP client.
    ///
    /// `None` for a call from this process, in hooks and timers, and outside of the actor's handlers,
    /// as in a task that a handler has spawned: a handler that hands work on passes the caller along.
    /// Of a call that another node has relayed, the caller is that node.
    ///
    /// ```
    /// # use wigwag_actor::{Interface, Principal, This};
    /// fn may_close<I: Interface>(this: &This<I>) -> bool {
    ///     this.caller().is_some_and(|caller| caller.principal == Principal::key("operator"))
    /// }
    /// ```
    pub fn caller(&self) -> Option<Caller> {
        let own = current_actor().filter(|own| own.number() == self.number());
        own.and_then(|_| call_owner())?.caller()
    }

    /// Ends the actor after this call, for `reason`.
    pub fn stop(&self, reason: Reason) {
        self.mailbox.order(ControlMessage::Stop(reason));
    }

    /// Awaits `future` beside the actor's calls, and then runs `then` with the actor's state and
    /// the future's output, between two calls: the way to ask from a handler without holding up the
    /// mailbox. The future's sends are published together each time it waits, as an actor's are.
    /// The future ends with the actor. Dropping the returned handle changes nothing; aborting it
    /// ends the future at once.
    ///
    /// A restart of a supervised actor ends what its handlers and hooks have begun in this way: the
    /// next life starts when the futures are gone, and `then` never runs with its state.
    ///
    /// Many may run side by side, each with `Responder` answers of its own: bound them as you would
    /// bound a queue.
    ///
    /// # Panics
    /// Outside of the actor's own handlers and hooks, when there is no runtime.
    pub fn later<F, T>(
        &self,
        future: F,
        then: impl FnOnce(&mut I, T) + Send + 'static,
    ) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let mailbox = Arc::downgrade(&self.mailbox);
        let mut owner_end = OwnerEnd::of(self.handle());
        let work = async move {
            let outcome = tokio::select! {
                // A fixed order, so that a test that fixes all other orders is repeatable.
                biased;
                outcome = future => outcome,
                _ = &mut owner_end => return,
            };
            let Some(mailbox) = mailbox.upgrade() else { return };
            let visit: Visit = Box::new(|actor| {
                if let Some(actor) = actor.downcast_mut() {
                    then(actor, outcome);
                }
            });
            mailbox.order(match owner_end.life() {
                Some(life) => ControlMessage::VisitInLife(life, visit),
                None => ControlMessage::Visit(visit),
            });
        };
        tokio::spawn(in_turns(work)).abort_handle()
    }

    /// Runs a closure with the actor's state between two of its calls, before waiting calls. A
    /// handler that runs side by side with others uses it to access the state, any number of times.
    /// A handler with `&mut self` has the state already; from there the visit is refused with
    /// `CallCycle`, because it would wait for itself.
    ///
    /// # Errors
    /// `ActorStopped` when the actor has ended; `Panicked` when the visit panicked, which ends the
    /// actor. A handler of the actor itself sees neither, because it ends first.
    ///
    /// # Cancellation
    /// If the future is dropped while it waits, the visit takes place all the same.
    pub async fn visit<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&mut I) -> T + Send + 'static,
    ) -> Result<T, CallError> {
        let own = turn::holds_up_calls().then(current_actor).flatten();
        if own.is_some_and(|own| own.number() == self.number()) {
            return Err(CallError::new(CallErrorKind::CallCycle, AnyActor::target(&*self.mailbox)));
        }
        visit_state(self.handle(), visit).await
    }

    /// Calls [`Life::down`](crate::Life::down) once when `actor` ends; soon, if it has ended
    /// already. Monitoring an actor twice calls it twice. A restart of a supervised actor ends the
    /// monitors that it has set: the next life sets its own.
    ///
    /// # Errors
    /// When `actor` has too many watchers.
    pub fn monitor(&self, actor: &Handle) -> Result<Monitor, TooManyWatchers> {
        let number = fresh_number();
        let whom: Arc<dyn AnyActor> = self.mailbox.clone();
        let watcher = Watcher { number, kind: WatcherKind::Monitor(Arc::downgrade(&whom)) };
        let watched = Arc::downgrade(actor.actor_cell());
        self.mailbox.control().add_monitor(
            number,
            Box::new(move || {
                let watcher = watched.upgrade().and_then(|actor| actor.control().unwatch(number));
                drop(watcher);
            }),
        );
        match actor.actor_cell().control().watch(watcher) {
            Ok(None) => {}
            Ok(Some(reason)) => {
                self.mailbox.order(ControlMessage::Down(Down::new(
                    number,
                    actor.actor_cell(),
                    &reason,
                )));
            }
            Err(_) => return Err(self.not_monitored(number)),
        }
        Ok(Monitor(number))
    }

    /// Calls [`Life::down`](crate::Life::down) once when the actor of a reference ends, be it in this
    /// process or in another; soon, if it has ended already.
    ///
    /// An actor of another process has ended when its process says so, with the reason, or when the
    /// session with that process is over: [`NodeClosed`](Reason::NodeClosed) if its node was closed,
    /// [`Unreachable`](Reason::Unreachable) if it was not heard of any more for as long as sessions
    /// are kept. A reference that comes back has ended when its own node is closed.
    ///
    /// The monitor of an actor of another process lasts as long as this process holds a reference to
    /// that actor; it holds none itself.
    ///
    /// ```
    /// # use wigwag_actor::{Interface, This};
    /// # fn greet<I: Interface, J: Interface>(this: &This<I>, member: &J::Ref) {
    /// let monitor = this.monitor_ref::<J>(member);
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the actor has too many watchers.
    pub fn monitor_ref<J: Interface>(
        &self,
        actor: &impl AsRef<Ref<J>>,
    ) -> Result<Monitor, TooManyWatchers> {
        let number = fresh_number();
        let route = match actor.as_ref().handle_or_route() {
            Ok(handle) => return self.monitor(&handle),
            Err(Some(route)) => route,
            Err(None) => {
                let reason = Reason::Unreachable(NOT_KNOWN.into());
                let down = Down::elsewhere(number, actor.as_ref().target().clone(), &reason, None);
                self.mailbox.control().add_monitor(number, Box::new(|| {}));
                self.mailbox.order(ControlMessage::Down(down));
                return Ok(Monitor(number));
            }
        };
        let whom: Arc<dyn AnyActor> = self.mailbox.clone();
        let (whom, target) = (Arc::downgrade(&whom), route.target().clone());
        let (told, its_route) = (target.clone(), Arc::downgrade(route));
        let watched = its_route.clone();
        self.mailbox.control().add_monitor(
            number,
            Box::new(move || {
                watched.upgrade().inspect(|route| route.unwatch_end(number));
            }),
        );
        let watcher = Box::new(move |reason: &Reason| {
            if let Some(whom) = whom.upgrade() {
                let peer = its_route.upgrade().and_then(|route| route.peer());
                whom.order(ControlMessage::Down(Down::elsewhere(number, told, reason, peer)));
            }
        });
        match route.watch_end(number, watcher) {
            Ok(()) => {}
            Err(NotWatched::Ended) => {
                let down = Down::elsewhere(number, target, &route.end_reason(), route.peer());
                self.mailbox.order(ControlMessage::Down(down));
            }
            Err(NotWatched::TooMany) => return Err(self.not_monitored(number)),
        }
        Ok(Monitor(number))
    }

    fn not_monitored(&self, number: u64) -> TooManyWatchers {
        self.mailbox.control().remove_monitor(number);
        TooManyWatchers
    }

    /// Removes a monitor of [`monitor_ref`](Self::monitor_ref): `down` is no longer called for it,
    /// even if the actor has ended already.
    pub fn demonitor_ref<J: Interface>(&self, monitor: Monitor, actor: &impl AsRef<Ref<J>>) {
        match actor.as_ref().handle_or_route() {
            Ok(handle) => self.demonitor(monitor, &handle),
            Err(route) => {
                route.into_iter().for_each(|route| route.unwatch_end(monitor.0));
                self.forget_down(monitor);
            }
        }
    }

    fn forget_down(&self, monitor: Monitor) {
        self.mailbox.control().remove_monitor(monitor.0);
        let is_it = |order: &ControlMessage| matches!(order, ControlMessage::Down(down) if down.monitor == monitor);
        self.mailbox.control().forget(is_it);
    }

    /// Removes a monitor: `down` is no longer called for it, even if the actor has ended already.
    pub fn demonitor(&self, monitor: Monitor, actor: &Handle) {
        actor.actor_cell().control().unwatch(monitor.0);
        self.forget_down(monitor);
    }

    /// Publishes a value: it goes to all sub sockets that follow the actor, through each node that
    /// exports it, as the line `NAME/TOPIC VALUE`. `NAME` is that of the export, and the value is
    /// JSON. Nothing waits: a subscriber that reads slowly loses values, which its node counts. If
    /// no node exports the actor, or nobody follows it, the value is not even encoded.
    ///
    /// # Errors
    /// [`PublishError`]; a bad topic also if nobody follows.
    pub fn publish(&self, topic: &str, value: impl Encode) -> Result<(), PublishError> {
        publish(self.number(), topic, &value)
    }

    fn number(&self) -> u64 {
        AnyActor::number(&*self.mailbox)
    }
}

/// Used by the code that `#[wigwag::actor]` generates.
///
/// # Panics
/// Outside of the actor's handlers and hooks, where only that code calls it.
#[doc(hidden)]
pub fn this<I: Interface>() -> This<I> {
    This::current().expect("a handler runs in its actor")
}

impl<I: Interface> Clone for This<I> {
    fn clone(&self) -> This<I> {
        This { mailbox: self.mailbox.clone() }
    }
}

impl<I: Interface> fmt::Debug for This<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "This({:?})", self.handle())
    }
}
