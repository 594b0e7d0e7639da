//! Actors: state that only messages reach.
//!
//! Read in this order: [`interface`] says what an actor understands, [`call`] how it is called,
//! [`reference`](mod@reference) where it may live, `mailbox` how mail waits, `worker` who delivers
//! it. Nothing here knows a socket: an actor elsewhere is a [`Route`], and mail from elsewhere
//! comes in through a [`Lane`]. A reply may be a stream: [`items`] is its producer's end, `flow` what
//! lies in between, [`streaming`] the consumer's end. What stands around actors is apart: [`urgent`],
//! [`stash`], [`state_machine`], [`inspect`], [`replace`], [`timers`], [`pace`], [`registry`], [`groups`], [`router`] and
//! [`letters`].
#![forbid(unsafe_code)]

mod sync;
pub mod limits;
pub mod options;
pub mod error;
pub mod schema;
pub mod reason;
pub mod letters;
pub mod turn;
pub mod reply;
mod scheduler;
pub mod lifecycle;
pub mod mailbox;
pub mod reference;
pub mod here;
pub mod call;
pub mod runtime;
pub mod registry;
pub mod groups;
pub mod router;
pub mod supervise;
#[cfg(feature = "testing")]
pub mod testing;

pub use call::ask::{Answer, Ask};
pub use call::block::block_on;
pub use call::pace::Pace;
pub use call::pipeline::Pipeline;
pub use call::receipt::{Fate, Receipt};
pub use call::streaming::Streaming;
pub use call::urgent::{Urgent, UrgentAsk, UrgentTell};
pub use call::{Answerable, Call, Tell};
pub use error::{AskError, CallError, CallErrorKind, Refused, Unsent};
pub use groups::{Change, ChangeKind, Changes, GroupError, Groups, Snapshot, Told};
pub use here::Here;
pub use letters::{DeadLetter, DeadLetters, Heard, Loss, Losses, dead_letters, losses};
pub use lifecycle::handle::{Alive, Handle};
pub use lifecycle::inspect::{Activity, Failure, Inspection};
pub use mailbox::backlog::parked::{Parked, Ticket};
pub use mailbox::timers::{Timer, TimerError};
pub use options::{ActorOptions, Runs, WhenFull};
pub use reason::Reason;
pub use reference::interface::{Actor, Handled, Interface, Message};
pub use reference::lane::{Exported, Lane, LaneOwner};
pub use reference::replace::ReplaceError;
pub use reference::watch::Watch;
pub use reference::{Attempt, Ref, Route, SMALL_REPLY_BYTES, Slot, SmallReply};
pub use registry::NameError;
pub use reply::Reply;
pub use reply::items::{NotSent, Unwanted, Yield};
pub use reply::owed::Owed;
pub use router::{Router, RouterError};
pub use runtime::life::{Down, Exit, Life, Monitor, TooManyWatchers};
pub use runtime::stash::NotStashed;
pub use runtime::state_machine::StateMachine;
pub use runtime::this::This;
pub use schema::{Argument, Method, Schema};
pub use supervise::stop_plan::{StopPlan, Stopped};
pub use supervise::supervisor::{
    Child, ChildInfo, ChildState, Restart, Shutdown, Strategy, Supervisor, SupervisorError,
    SupervisorRef,
};
