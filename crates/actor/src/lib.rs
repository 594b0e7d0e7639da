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
pub mod here;
pub mod interface;
pub mod turn;
pub mod at_hand;
mod beside;
pub mod parked;
pub mod reply;
mod one_shot;
pub mod owed;
mod flow;
pub mod items;
pub mod letters;
mod mailbox;
#[cfg(all(test, wigwag_loom))]
mod mailbox_loom;
#[cfg(all(test, wigwag_loom))]
mod urgent_loom;
#[cfg(all(test, wigwag_loom))]
mod at_rest_loom;
#[cfg(all(test, wigwag_shuttle))]
mod mailbox_shuttle;
mod mails;
mod queue;
mod backlog;
mod chunk;
mod chunks;
mod precedence;
mod lists;
mod names;
pub mod lane;
pub mod reference;
pub mod call;
pub mod urgent;
pub mod watch;
pub mod ask;
pub mod receipt;
pub mod answers;
pub mod pipeline;
mod circle;
pub mod streaming;
mod block;
mod stage;
pub mod run;
mod control;
pub mod handle;
pub mod replace;
pub mod inspect;
pub mod life;
pub mod this;
mod spans;
mod handling;
pub mod stash;
pub mod timers;
pub mod state_machine;
pub mod pace;
pub mod registry;
pub mod groups;
pub mod router;
pub mod side_by_side;
mod since;
mod worker;
mod crew;
mod spawn;
pub mod stop_plan;
pub mod supervisor;
#[cfg(feature = "testing")]
pub mod testing;

pub use ask::{Answer, Ask};
pub use block::block_on;
pub use call::{Answerable, Call, Tell};
pub use error::{AskError, CallError, CallErrorKind, Refused, Unsent};
pub use groups::{Change, ChangeKind, Changes, GroupError, Groups, Snapshot, Told};
pub use handle::{Alive, Handle};
pub use here::Here;
pub use inspect::{Activity, Failure, Inspection};
pub use interface::{Actor, Handled, Interface, Message};
pub use items::{NotSent, Unwanted, Yield};
pub use lane::{Exported, Lane, LaneOwner};
pub use letters::{DeadLetter, DeadLetters, Heard, Loss, Losses, dead_letters, losses};
pub use life::{Down, Exit, Life, Monitor, TooManyWatchers};
pub use options::{ActorOptions, Runs, WhenFull};
pub use owed::Owed;
pub use pace::Pace;
pub use parked::{Parked, Ticket};
pub use pipeline::Pipeline;
pub use reason::Reason;
pub use receipt::{Fate, Receipt};
pub use reference::{Attempt, Ref, Route, SMALL_REPLY_BYTES, Slot, SmallReply};
pub use registry::NameError;
pub use replace::ReplaceError;
pub use reply::Reply;
pub use router::{Router, RouterError};
pub use schema::{Argument, Method, Schema};
pub use stash::NotStashed;
pub use state_machine::StateMachine;
pub use stop_plan::{StopPlan, Stopped};
pub use streaming::Streaming;
pub use supervisor::{
    Child, ChildInfo, ChildState, Restart, Shutdown, Strategy, Supervisor, SupervisorError,
    SupervisorRef,
};
pub use this::This;
pub use timers::{Timer, TimerError};
pub use urgent::{Urgent, UrgentAsk, UrgentTell};
pub use watch::Watch;
