//! A child as its supervisor is told of it, and the task that it runs in.
//!
//! A child keeps its address and its mailbox over all its lives: what waits while it is started again
//! is handled by the next life, and references stay good. Only the call that it failed in is lost.

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

/// When a child that has ended is started again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restart {
    /// Always.
    #[default]
    Permanent,
    /// After an end that nobody wanted. A later start that fails is such an end, whatever reason
    /// its `started` hook gives.
    Transient,
    /// Never; a child that has ended is forgotten, also when it was ended because a sibling failed.
    Temporary,
}

/// How a supervisor ends a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// It is asked to stop, and killed when it has not after this time.
    Within(Duration),
    /// It is killed.
    AtOnce,
    /// It is asked to stop and waited for: right for a supervisor, whose own children have their
    /// times.
    Patient,
}

/// The specification of a child: all that a supervisor needs to start it, repeatedly.
pub struct Child {
    pub(crate) name: Arc<str>,
    pub(crate) restart: Restart,
    pub(crate) shutdown: Shutdown,
    pub(crate) start_within: Duration,
    options: ActorOptions,
    make: Box<dyn ChildFactory>,
}

impl Child {
    /// A child of that name, unique in its supervisor; `make` makes the state that each of its lives
    /// begins with. It is started again whenever it ends, has 5 s to stop and 30 s to start.
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

    /// Sets the rule for restarting the child.
    #[must_use]
    pub fn restart(mut self, rule: Restart) -> Child {
        self.restart = rule;
        self
    }

    /// Sets the way in which the child is ended.
    #[must_use]
    pub fn shutdown(mut self, way: Shutdown) -> Child {
        self.shutdown = way;
        self
    }

    /// Sets the time for the child's `started` hook; it is killed if the hook takes longer.
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

    /// Starts the task. Its first start is reported through what is given; later ones to `supervisor`.
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

/// A child whose task has begun.
pub(super) struct StartedChild {
    pub(crate) handle: Handle,
    /// Makes copies of its reference; it keeps the child from ending for want of one.
    pub(crate) reference: Box<dyn Fn() -> AnyReference + Send>,
    pub(crate) begun: oneshot::Receiver<Result<(), Reason>>,
}

/// The supervisor's decision on a child that has ended.
pub(super) enum Verdict {
    /// It is started again.
    Again,
    /// It ends for good.
    Over,
}

/// The way from a child to its supervisor, which it does not keep alive.
#[derive(Clone)]
pub(super) struct SupervisorLink {
    pub(crate) mailbox: Weak<Mailbox<SupervisorMessage>>,
    /// True when the supervisor is ending and answers no more.
    pub(crate) ending: watch::Receiver<bool>,
}

impl SupervisorLink {
    /// Tells the supervisor, if it is there still.
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

    /// Decides on a child that has ended.
    pub(super) async fn verdict(mut self, child: u64, reason: Reason, in_start: bool) -> Verdict {
        let (verdict, judged) = oneshot::channel();
        self.tell(ChildEvent::Ended { child, reason, in_start, verdict });
        tokio::select! {
            // As in `This::later`.
            biased;
            verdict = judged => verdict.unwrap_or(Verdict::Over),
            _ = self.ending.wait_for(|ending| *ending) => Verdict::Over,
        }
    }
}

/// Makes states of one type.
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
