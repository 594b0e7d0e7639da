//! Actors: private state that only messages reach, within one process or across several.
//!
//! The modules are listed from the bottom up; none uses one that comes after it.
//!
//! - [`turn`]: one poll of an actor, and the messages that it has sent and not yet published.
//! - [`reply`]: the answer to one call, or a stream of answers.
//! - `scheduler`: the jobs of a tokio runtime; each actor is one job.
//! - [`lifecycle`]: control mail, watchers, handles and inspection, independent of an actor's type.
//! - [`mailbox`]: the queues of an actor, with its timers, urgent calls and stashed calls.
//! - [`reference`](mod@reference): the one reference type for actors of this process and of others.
//!   An actor of another process is a [`Route`], and its mail arrives through an [`InboundQueue`].
//!   Nothing in this crate knows a socket.
//! - [`call`]: tell and ask, urgent calls, receipts, pipelines and streams.
//! - [`runtime`]: the execution of an actor, from `spawn` to the end of its life.
//! - [`registry`], [`groups`], [`router`], [`supervise`] and `testing` build on actors.
// One module may contain `unsafe` code, `reference::run_log`, which says why.
#![deny(unsafe_code)]

mod sync;
pub mod limits;
pub mod options;
pub mod error;
pub mod schema;
pub mod reason;
pub mod message;
pub mod letters;
pub mod turn;
pub mod reply;
mod scheduler;
pub mod lifecycle;
pub mod mailbox;
pub mod reference;
pub mod local;
pub mod call;
pub mod runtime;
pub mod registry;
pub mod groups;
pub mod router;
pub mod supervise;
#[cfg(feature = "testing")]
pub mod testing;

pub use call::answer::Answer;
pub use call::ask::Ask;
pub use call::block::block_on;
pub use call::pipe::PipedReply;
pub use call::pipeline::Pipeline;
pub use call::rate_limiter::RateLimiter;
pub use call::receipt::{DeliveryStatus, Receipt};
pub use call::streaming::Streaming;
pub use call::tell::Tell;
pub use call::urgent::Urgent;
pub use call::{Answerable, Call};
pub use error::{AskError, CallError, CallErrorKind, Disconnection, NextAttempt, Refused, Unsent};
pub use groups::{Change, ChangeKind, Changes, GroupError, Groups, Snapshot, TellAllReport};
pub use letters::{DeadLetter, DeadLetterEvent, DeadLetters, Loss, Losses, dead_letters, losses};
pub use lifecycle::counters::{ActorCounters, RemoteCallCounters};
pub use lifecycle::handle::Handle;
pub use lifecycle::inspect::{Activity, Failure, Inspection};
pub use lifecycle::lives::OwnerEnd;
pub use lifecycle::monitor::{Down, Exit, Monitor, TooManyWatchers};
pub use local::Local;
pub use mailbox::backlog::parked::{Parked, Ticket};
pub use mailbox::remote_bound::RemoteBound;
pub use mailbox::timers::{Timer, TimerError};
pub use message::Message;
pub use options::{ActorOptions, WhenFull};
pub use reason::Reason;
pub use reference::Ref;
pub use reference::inbound_queue::{Exported, InboundQueue, InlineAsks};
pub use reference::interface::Interface;
pub use reference::route::{
    AskTiming, Attempt, ItemSource, PipedChannel, ReadItem, Route, SMALL_REPLY_BYTES, Slot,
    SmallReply,
};
pub use registry::NameError;
pub use reply::Reply;
pub use reply::caller::{Caller, Principal};
pub use reply::codec::{Encoded, Exportable, InProcess, ReplyCodec};
pub use reply::items::{NotSent, Unwanted, Yield};
pub use reply::owner::{CallGate, InboundQueueOwner, ItemOffer, ItemSink};
pub use reply::responder::Responder;
pub use router::{Router, RouterError};
pub use runtime::actor::{Actor, Handled};
pub use runtime::alive::{Alive, ReplaceError};
pub use runtime::life::Life;
pub use runtime::publish::{PublishError, Publisher};
pub use runtime::run::trace;
pub use runtime::stash::NotStashed;
pub use runtime::state_machine::StateMachine;
pub use runtime::this::This;
pub use scheduler::{WakeBatch, proceed as proceed_inline};
pub use schema::{Argument, HttpRoute, Method, Schema};
pub use supervise::stop_plan::{StopPlan, Stopped};
pub use supervise::supervisor::{
    Child, ChildInfo, ChildState, Restart, Shutdown, Strategy, Supervisor, SupervisorError,
    SupervisorMessage, SupervisorRef,
};
