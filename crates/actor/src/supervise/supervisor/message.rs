//! The messages of a supervisor, and the reference that callers hold.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use tokio::sync::oneshot;
use wigwag_wire::{Buffer, DecodeError, Reader};

use super::Supervisor;
use super::child::{Child, Restart, Verdict};
use wigwag_wire::hint::{write_debug, write_hint};

use crate::call::Call;
use crate::error::AskError;
use crate::lifecycle::handle::Handle;
use crate::limits::CHILDREN_MAX;
use crate::local::Local;
use crate::message::Message;
use crate::reason::Reason;
use crate::reference::Ref;
use crate::runtime::actor::Actor;
use crate::schema::FIRST_METHOD;

/// The calls of a supervisor; the methods of [`SupervisorRef`] make them.
pub enum SupervisorMessage {
    #[doc(hidden)]
    Start(Box<Child>),
    #[doc(hidden)]
    Terminate(Arc<str>),
    #[doc(hidden)]
    Restart(Arc<str>),
    #[doc(hidden)]
    Delete(Arc<str>),
    #[doc(hidden)]
    Children,
    #[doc(hidden)]
    Find(Arc<str>),
}

/// Events from children and timers, sent as control mail: they go before the callers' calls.
pub(super) enum ChildEvent {
    /// The first start of an address has succeeded or failed.
    Began { child: u64, outcome: Result<(), Reason> },
    /// A child has been restarted.
    Started { child: u64 },
    /// A life has ended, perhaps before it has begun.
    Ended { child: u64, reason: Reason, in_start: bool, verdict: oneshot::Sender<Verdict> },
    /// A timer that was set in that epoch has expired.
    Due { number: u64, epoch: u64 },
}

impl Message for SupervisorMessage {
    fn method(&self) -> u32 {
        FIRST_METHOD
    }

    fn encode_arguments(&self, _: &mut Buffer) {}

    fn travels(&self) -> bool {
        false
    }

    fn decode(_: u32, _: &mut Reader<'_>) -> Result<Option<SupervisorMessage>, DecodeError> {
        Ok(None)
    }
}

/// A reference to a running supervisor. The supervisor ends, with its children, when the last
/// reference is dropped.
///
/// ```
/// # use wigwag_actor::{Actor, Child, SupervisorError, SupervisorRef};
/// # async fn add<A: Actor>(tree: &SupervisorRef, child: Child) -> Result<(), SupervisorError> {
/// tree.start_child(child).await?;
/// for child in tree.children().await? {
///     println!("{}: {:?}, {} restarts", child.name, child.state, child.restarts);
/// }
/// let reference = tree.child::<A>("cache").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SupervisorRef(Ref<Supervisor>);

impl From<Ref<Supervisor>> for SupervisorRef {
    fn from(inner: Ref<Supervisor>) -> SupervisorRef {
        SupervisorRef(inner)
    }
}

impl AsRef<Ref<Supervisor>> for SupervisorRef {
    fn as_ref(&self) -> &Ref<Supervisor> {
        &self.0
    }
}

/// The state of a child, as [`SupervisorRef::children`] reports it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChildInfo {
    /// Its name.
    pub name: Arc<str>,
    /// The actor; the same over all lives, unless it had to be killed.
    pub handle: Handle,
    /// The phase that it is in.
    pub state: ChildState,
    /// When it is restarted.
    pub restart: Restart,
    /// How often it was restarted.
    pub restarts: u64,
}

/// The phase of a child's life.
///
/// [`SupervisorRef`] returns it; its example lists the children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChildState {
    /// Its `started` hook runs.
    Starting,
    /// It handles its mail.
    Running,
    /// It was asked to stop.
    Stopping,
    /// It will be restarted, after a pause or after its siblings.
    Waiting,
    /// It has ended.
    Ended,
}

/// Why a supervisor did not do what it was asked to.
///
/// [`SupervisorRef`] returns it; its example shows its calls.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SupervisorError {
    /// There is a child of that name already.
    NameTaken(Arc<str>),
    /// There is no child of that name.
    NoSuchChild(Arc<str>),
    /// The child is running, or is about to.
    StillThere(Arc<str>),
    /// The child did not start, for this reason; it was removed.
    StartFailed(Reason),
    /// The supervisor already has as many children as it may.
    TooManyChildren,
    /// The supervisor has ended, or did not answer.
    Gone,
}

impl SupervisorError {
    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        match self {
            SupervisorError::NameTaken(_) => {
                "delete that child with `SupervisorRef::delete_child`, or choose another name"
            }
            SupervisorError::NoSuchChild(_) => "look at the names in `SupervisorRef::children`",
            SupervisorError::StillThere(_) => "call `SupervisorRef::terminate_child` first",
            SupervisorError::StartFailed(_) => "look at the reason: the child itself has given it",
            SupervisorError::TooManyChildren => "add a supervisor below this one",
            SupervisorError::Gone => "monitor the supervisor to learn the reason of its end",
        }
    }
}

impl fmt::Display for SupervisorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SupervisorError::NameTaken(name) => write!(f, "there is a child `{name}` already"),
            SupervisorError::NoSuchChild(name) => write!(f, "there is no child `{name}`"),
            SupervisorError::StillThere(name) => write!(f, "the child `{name}` has not ended"),
            SupervisorError::StartFailed(reason) => write!(f, "the child did not start: {reason}"),
            SupervisorError::TooManyChildren => {
                write!(f, "the supervisor has {CHILDREN_MAX} children already, which is the limit")
            }
            SupervisorError::Gone => f.write_str("the supervisor has ended, or did not answer"),
        }?;
        write_hint(f, self.hint())
    }
}

impl fmt::Debug for SupervisorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_debug(f, "SupervisorError", None, self, self.hint())
    }
}

impl std::error::Error for SupervisorError {}

impl<M> From<AskError<M>> for SupervisorError {
    fn from(_: AskError<M>) -> SupervisorError {
        SupervisorError::Gone
    }
}

pub(super) type SupervisorReply<T> = Local<Result<T, SupervisorError>>;
/// A reference of any type.
pub(crate) type AnyReference = Box<dyn Any + Send>;

impl SupervisorRef {
    async fn ask<T: Send + 'static>(
        &self,
        message: SupervisorMessage,
    ) -> Result<T, SupervisorError> {
        let call: Call<'_, _, SupervisorReply<T>> = Call::new(&self.0, message);
        call.ask().await?.0
    }

    /// Starts a child behind the others, and waits until it has started.
    ///
    /// # Errors
    /// `NameTaken`, `TooManyChildren`; `StartFailed` when it did not start, and then it is not a
    /// child.
    pub async fn start_child(&self, child: Child) -> Result<Handle, SupervisorError> {
        self.ask(SupervisorMessage::Start(Box::new(child))).await
    }

    /// Stops a child and waits for its end. It can then be [restarted](Self::restart_child) or
    /// [deleted](Self::delete_child); a temporary child is removed.
    ///
    /// # Errors
    /// `NoSuchChild`.
    pub async fn terminate_child(&self, name: &str) -> Result<(), SupervisorError> {
        self.ask(SupervisorMessage::Terminate(name.into())).await
    }

    /// Starts a child that has ended, and waits until it has started.
    ///
    /// # Errors
    /// `NoSuchChild`, `StillThere`; `StartFailed` when it did not start, and then it stays ended.
    pub async fn restart_child(&self, name: &str) -> Result<Handle, SupervisorError> {
        self.ask(SupervisorMessage::Restart(name.into())).await
    }

    /// Removes a child that has ended.
    ///
    /// # Errors
    /// `NoSuchChild`, `StillThere`.
    pub async fn delete_child(&self, name: &str) -> Result<(), SupervisorError> {
        self.ask(SupervisorMessage::Delete(name.into())).await
    }

    /// Lists the children in the order of their start.
    ///
    /// # Errors
    /// `Gone` when the supervisor has ended.
    pub async fn children(&self) -> Result<Vec<ChildInfo>, SupervisorError> {
        self.ask(SupervisorMessage::Children).await
    }

    /// Finds a reference to the child of that name; `None` when there is none, or it has another
    /// type.
    ///
    /// # Errors
    /// `Gone` when the supervisor has ended.
    pub async fn child<A: Actor>(&self, name: &str) -> Result<Option<A::Ref>, SupervisorError> {
        let found: Option<AnyReference> = self.ask(SupervisorMessage::Find(name.into())).await?;
        Ok(found.and_then(|found| found.downcast().ok()).map(|found| *found))
    }
}
