//! The specification of a child, and the link from its task to its supervisor.
//!
//! A child keeps its address and its mailbox over all its lives: mail that waits during a restart
//! is handled by the next life, and references stay valid. Only the call in which it failed is
//! lost.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use super::Supervisor;
use super::message::{AnyReference, ChildEvent, SupervisorMessage};
use super::task::ChildTask;
use crate::lifecycle::control::ControlMessage;
use crate::lifecycle::handle::{AnyActor, Handle};
use crate::limits::{CHILD_SHUTDOWN, CHILD_START};
use crate::mailbox::Mailbox;
use crate::options::ActorOptions;
use crate::reason::Reason;
use crate::runtime::actor::Actor;
use crate::runtime::spawn::{ExitGuard, open, run};
use crate::runtime::this::This;

/// When a supervisor restarts a child that has ended.
///
/// The example of [`Child`] sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restart {
    /// Always.
    #[default]
    Permanent,
    /// After an unintended end. A later start that fails counts as one, whatever reason its
    /// `started` hook gives.
    Transient,
    /// Never; a child that has ended is removed, also when it was stopped because a sibling failed.
    Temporary,
}

/// How a supervisor ends a child.
///
/// The example of [`Child`] sets such an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// The child is asked to stop, and killed if it has not ended within this time.
    Within(Duration),
    /// The child is killed at once.
    AtOnce,
    /// The child is asked to stop, without a time limit: right for a supervisor, whose own children
    /// have their limits.
    Patient,
}

/// The specification of a child: how its supervisor starts, restarts and stops it.
///
/// [`Supervisor::child`](crate::Supervisor::child) and
/// [`SupervisorRef::start_child`](crate::SupervisorRef::start_child) take it.
///
/// ```
/// # use std::time::Duration;
/// # use wigwag_actor::{Actor, Child, Restart, Shutdown, Strategy, Supervisor};
/// # fn tree<A: Actor>(make: impl Fn() -> A + Send + Sync + 'static) -> Supervisor {
/// let cache = Child::new("cache", make)
///     .restart(Restart::Transient)
///     .shutdown(Shutdown::Within(Duration::from_secs(1)));
/// Supervisor::new(Strategy::OneForOne).child(cache)
/// # }
/// ```
pub struct Child {
    pub(crate) name: Arc<str>,
    pub(crate) restart: Restart,
    pub(crate) shutdown: Shutdown,
    pub(crate) start_within: Duration,
    options: ActorOptions,
    make: Box<dyn ChildFactory>,
}

impl Child {
    /// Specifies a child with a name unique in its supervisor; `make` creates the initial state of
    /// each of its lives. By default it is restarted whenever it ends, and has 5 s to stop and 30 s
    /// to start.
    pub fn new<A: Actor>(name: &str, make: impl Fn() -> A + Send + Sync + 'static) -> Child {
        Child {
            name: name.into(),
            restart: Restart::default(),
            shutdown: Shutdown::Within(CHILD_SHUTDOWN),
            start_within: CHILD_START,
            options: ActorOptions::default(),
            make: Box::new(TypedFactory(Arc::new(make))),
        }
    }

    /// Sets when the child is restarted.
    #[must_use]
    pub fn restart(mut self, rule: Restart) -> Child {
        self.restart = rule;
        self
    }

    /// Sets how the child is stopped.
    #[must_use]
    pub fn shutdown(mut self, way: Shutdown) -> Child {
        self.shutdown = way;
        self
    }

    /// Sets the time limit of the `started` hook; a child that takes longer is killed.
    #[must_use]
    pub fn start_within(mut self, limit: Duration) -> Child {
        self.start_within = limit;
        self
    }

    /// Sets the options of the actor.
    #[must_use]
    pub fn options(mut self, options: ActorOptions) -> Child {
        self.options = options;
        self
    }

    /// Starts the task. Its first start is reported through the returned receiver, later ones to
    /// `supervisor`.
    pub(super) fn start(&self, supervisor: &SupervisorLink, number: u64) -> StartedChild {
        self.make.start(supervisor.clone(), number, &self.options)
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Child");
        shown.field("name", &self.name).field("restart", &self.restart);
        shown.field("shutdown", &self.shutdown).finish_non_exhaustive()
    }
}

/// A child whose task has been started.
pub(super) struct StartedChild {
    pub(crate) handle: Handle,
    /// Copies a reference to the child, which keeps it from ending for lack of references.
    pub(crate) reference: Box<dyn Fn() -> AnyReference + Send>,
    pub(crate) begun: oneshot::Receiver<Result<(), Reason>>,
}

/// The supervisor's decision about a child that has ended.
pub(super) enum Verdict {
    /// It is restarted.
    Again,
    /// It ends for good.
    Over,
}

/// The link from a child to its supervisor, which it does not keep alive.
#[derive(Clone)]
pub(super) struct SupervisorLink {
    pub(crate) mailbox: Weak<Mailbox<SupervisorMessage>>,
    /// True when the supervisor is ending and no longer answers.
    pub(crate) ending: watch::Receiver<bool>,
}

impl SupervisorLink {
    /// Sends an event to the supervisor, if it still exists.
    pub(super) fn tell(&self, event: ChildEvent) {
        let Some(mailbox) = self.mailbox.upgrade() else { return };
        mailbox.order(ControlMessage::Visit(Box::new(move |actor| {
            if let (Some(supervisor), Some(this)) =
                (actor.downcast_mut::<Supervisor>(), This::current())
            {
                supervisor.child_event(&this, event);
            }
        })));
    }

    /// Asks for the supervisor's decision about the end of a child.
    pub(super) async fn verdict(mut self, child: u64, reason: Reason, in_start: bool) -> Verdict {
        let (verdict, judged) = oneshot::channel();
        self.tell(ChildEvent::Ended { child, reason, in_start, verdict });
        tokio::select! {
            // Biased, as in `This::later`.
            biased;
            verdict = judged => verdict.unwrap_or(Verdict::Over),
            _ = self.ending.wait_for(|ending| *ending) => Verdict::Over,
        }
    }
}

/// Starts children of one type.
trait ChildFactory: Send + Sync {
    fn start(
        &self,
        supervisor: SupervisorLink,
        number: u64,
        options: &ActorOptions,
    ) -> StartedChild;
}

struct TypedFactory<F>(Arc<F>);

impl<A: Actor, F: Fn() -> A + Send + Sync + 'static> ChildFactory for TypedFactory<F> {
    fn start(
        &self,
        supervisor: SupervisorLink,
        number: u64,
        options: &ActorOptions,
    ) -> StartedChild {
        let (reference, mailbox) = open::<A>(options);
        mailbox.set_succeeded();
        let handle = Handle::new(mailbox.clone());
        let (begins, begun) = oneshot::channel();
        let exit_guard = ExitGuard(mailbox.clone());
        let (make, run_config) = (self.0.clone(), options.run_config());
        run(
            options,
            mailbox,
            ChildTask::new(make, exit_guard, supervisor, number, begins, run_config),
        );
        let reference: A::Ref = reference.into();
        let copy = move || -> AnyReference { Box::new(reference.clone()) };
        StartedChild { handle, reference: Box::new(copy), begun }
    }
}
