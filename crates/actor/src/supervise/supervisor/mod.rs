//! Supervisors: actors that start other actors, and restart them when they fail.
//!
//! Module `child` specifies a child, `message` is the callers' side, `children` has the state
//! transitions of one supervisor's children, `group` those of children that restart together.

mod child;
mod group;
mod entry;
mod children;
mod task;
mod message;
mod restarts;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

pub use child::{Child, Restart, Shutdown};
pub use message::{ChildInfo, ChildState, SupervisorError, SupervisorMessage, SupervisorRef};

use self::child::SupervisorLink;
use self::entry::{ChildEntry, EntryState};
use self::group::Group;
use self::message::ChildEvent;
use self::restarts::{BackOff, Intensity};
use crate::lifecycle::monitor::Down;
use crate::limits::{CHILDREN_MAX, RESTARTS_MOST, RESTARTS_WITHIN};
use crate::local::Local;
use crate::reason::Reason;
use crate::reference::interface::Interface;
use crate::reply::Reply;
use crate::reply::codec::InProcess;
use crate::runtime::actor::{Actor, Handled};
use crate::runtime::life::Life;
use crate::runtime::this::This;
use crate::schema::Schema;

/// The children that a supervisor restarts when one has failed.
///
/// The example of [`Supervisor`] sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The failed child.
    #[default]
    OneForOne,
    /// All children: they are stopped, the last first, and started in their order.
    OneForAll,
    /// The failed child and those that were started after it.
    RestForOne,
}

/// An actor that starts its children in order, restarts them when they fail, and stops them, the
/// last first, when it ends.
///
/// A child keeps its address, its mailbox and its waiting calls over all its lives; the call in
/// which it failed is lost, and its asker gets an error. When children fail more often than the
/// [intensity](Self::intensity) allows, 3 times in 5 s by default, the supervisor ends itself with
/// [`Reason::RestartsExceeded`], which is a failure to the supervisor above it.
///
/// ```
/// # use std::time::Duration;
/// # use wigwag_actor::{Actor, Child, Strategy, Supervisor};
/// # fn tree<A: Actor + Default>() -> Supervisor {
/// Supervisor::new(Strategy::RestForOne)
///     .child(Child::new("store", A::default))
///     .child(Child::new("cache", A::default))
///     .intensity(5, Duration::from_secs(60))
///     .back_off(Duration::from_millis(100), Duration::from_secs(10))
/// # }
/// ```
///
/// # Limits
/// At most [`CHILDREN_MAX`] children.
pub struct Supervisor {
    strategy: Strategy,
    intensity: Intensity,
    back_off: BackOff,
    /// The children to start first.
    first: Vec<Child>,
    children: Vec<ChildEntry>,
    group: Option<Group>,
    ending: watch::Sender<bool>,
}

impl Supervisor {
    /// Creates a supervisor without children.
    pub fn new(strategy: Strategy) -> Supervisor {
        Supervisor {
            strategy,
            intensity: Intensity::new(RESTARTS_MOST, RESTARTS_WITHIN),
            back_off: BackOff { first: Duration::ZERO, most: Duration::ZERO },
            first: Vec::new(),
            children: Vec::new(),
            group: None,
            ending: watch::Sender::new(false),
        }
    }

    /// Adds a child behind the others.
    #[must_use]
    pub fn child(mut self, child: Child) -> Supervisor {
        self.first.push(child);
        self
    }

    /// Allows `most` failures of the children within `within`; one more ends the supervisor.
    #[must_use]
    pub fn intensity(mut self, most: u32, within: Duration) -> Supervisor {
        self.intensity = Intensity::new(most, within);
        self
    }

    /// Sets a pause before restarts: `first` after the first failure of a child, twice as long
    /// after each further one, at most `most`. A child that has run longer than the intensity's
    /// time begins with `first` again; pauses and failed starts do not count as running. The
    /// default is no pause.
    #[must_use]
    pub fn back_off(mut self, first: Duration, most: Duration) -> Supervisor {
        self.back_off = BackOff { first, most };
        self
    }

    /// Handles an event from a child or a timer.
    fn child_event(&mut self, this: &This<Supervisor>, event: ChildEvent) {
        match event {
            ChildEvent::Began { child, outcome } => self.began(this, child, outcome, true),
            ChildEvent::Started { child } => self.began(this, child, Ok(()), false),
            ChildEvent::Ended { child, reason, in_start, verdict } => {
                self.ended(this, child, &reason, in_start, verdict);
            }
            ChildEvent::Due { number, epoch } => self.due(this, number, epoch),
        }
    }

    fn supervisor(&self, this: &This<Supervisor>) -> SupervisorLink {
        SupervisorLink { mailbox: Arc::downgrade(this.mailbox()), ending: self.ending.subscribe() }
    }

    /// Starts the children of the specification.
    async fn start_first(&mut self, this: &This<Supervisor>) -> Result<(), Reason> {
        let supervisor = self.supervisor(this);
        for child in std::mem::take(&mut self.first) {
            let name = child.name.clone();
            let failed =
                |why: &dyn std::fmt::Display| Reason::failed(format!("child `{name}`: {why}"));
            self.check_new(&child.name).map_err(|error| failed(&error))?;
            let limit = child.start_within;
            let (entry, begun) = ChildEntry::start(child, &supervisor, this);
            // Added before the wait: if this supervisor is killed meanwhile, the child ends too.
            self.children.push(entry);
            let why = match tokio::time::timeout(limit, begun).await {
                Ok(Ok(Ok(()))) => {
                    self.children.last_mut().into_iter().for_each(ChildEntry::has_started);
                    continue;
                }
                Ok(Ok(Err(reason))) => failed(&reason),
                Ok(Err(_)) => failed(&Reason::Killed),
                Err(_) => failed(&format_args!("it did not start within {limit:?}")),
            };
            if let Some(entry) = self.children.pop() {
                entry.handle.kill();
            }
            return Err(why);
        }
        Ok(())
    }

    /// Stops all children, the last first.
    async fn stop_all(&mut self) {
        self.ending.send_replace(true);
        while let Some(entry) = self.children.last_mut() {
            // Dropping the state releases a task that waits for a verdict, and a caller that waits.
            drop(entry.set(EntryState::Ended));
            let (handle, shutdown) = (entry.handle.clone(), entry.child.shutdown);
            match shutdown {
                Shutdown::AtOnce => {
                    handle.kill();
                }
                Shutdown::Patient => {
                    handle.stop();
                    handle.ended().await;
                }
                Shutdown::Within(limit) => {
                    handle.stop();
                    if tokio::time::timeout(limit, handle.ended()).await.is_err() {
                        handle.kill();
                    }
                }
            }
            // Removed after the wait: if this supervisor is killed meanwhile, the child is killed
            // too.
            self.children.pop();
        }
    }

    fn check_new(&self, name: &Arc<str>) -> Result<(), SupervisorError> {
        if self.children.iter().any(|entry| entry.child.name == *name) {
            return Err(SupervisorError::NameTaken(name.clone()));
        }
        if self.children.len() >= CHILDREN_MAX {
            return Err(SupervisorError::TooManyChildren);
        }
        Ok(())
    }
}

impl Drop for Supervisor {
    /// Kills the children that are left, however the supervisor ends.
    fn drop(&mut self) {
        for entry in self.children.iter().rev() {
            entry.handle.kill();
        }
    }
}

impl Interface for Supervisor {
    type Message = SupervisorMessage;
    type Ref = SupervisorRef;
    type Codec = InProcess;
    const SCHEMA: &'static Schema = &Schema::new("Supervisor", &[]);
}

impl Life for Supervisor {
    async fn started(&mut self, this: &This<Supervisor>) -> Result<(), Reason> {
        let started = self.start_first(this).await;
        if started.is_err() {
            self.stop_all().await;
        }
        started
    }

    async fn stopped(&mut self, _: &This<Supervisor>, _: &Reason) {
        self.stop_all().await;
    }

    fn down(&mut self, this: &This<Supervisor>, down: Down) {
        self.child_is_gone(this, &down);
    }
}

impl Actor for Supervisor {
    fn handle(
        &mut self,
        message: SupervisorMessage,
        reply: &mut Reply<'_>,
    ) -> Handled<SupervisorMessage> {
        let Some(this) = This::current() else { return Handled::Done };
        match message {
            SupervisorMessage::Start(child) => self.start_child(&this, *child, reply),
            SupervisorMessage::Terminate(name) => self.terminate(&this, &name, reply),
            SupervisorMessage::Restart(name) => self.restart(&this, &name, reply),
            SupervisorMessage::Delete(name) => reply.send(Local(self.delete(&name))),
            SupervisorMessage::Children => {
                let children: Vec<ChildInfo> = self.children.iter().map(ChildEntry::info).collect();
                reply.send(Local(Ok::<_, SupervisorError>(children)));
            }
            SupervisorMessage::Find(name) => {
                let found = self.children.iter().find(|entry| entry.child.name == name);
                let found = found.map(|entry| (entry.reference)());
                reply.send(Local(Ok::<_, SupervisorError>(found)));
            }
        }
        Handled::Done
    }

    fn handle_later(
        &mut self,
        _: SupervisorMessage,
        _: Reply<'static>,
    ) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}
