//! Actors and message passing, within a process and between processes.
//!
//! An actor is an `impl` block under [`#[wigwag::actor]`](macro@actor). [`spawn`](Actor::spawn)
//! gives a reference with the same methods; each makes a [`Call`], which does nothing until it is
//! told or asked. A [`Node`] exports actors and reaches those of other nodes; a reference to a
//! remote actor has the same type and is used in the same way.
//!
//! ```
//! use wigwag::{Actor, Node};
//!
//! #[derive(Default)]
//! struct Counter {
//!     total: u64,
//! }
//!
//! #[wigwag::actor]
//! impl Counter {
//!     pub fn add(&mut self, amount: u64) -> u64 {
//!         self.total += amount;
//!         self.total
//!     }
//! }
//!
//! #[wigwag::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let (service, client) = (Node::new(), Node::new());
//!     service.export("counter", &Counter::default().spawn())?;
//!     let bound = service.listen("tcp://127.0.0.1:0").await?;
//!
//!     let counter = client.actor::<Counter>(&format!("{bound}/counter")).await?;
//!     counter.add(40).tell().await?;
//!     assert_eq!(counter.add(2).ask().await?, 42);
//!     Ok(())
//! }
//! ```
//!
//! # When there is no room
//!
//! Mailboxes and the queues in front of them are bounded; [`ActorOptions`] sets the size of a
//! mailbox, and [`WhenFull`] what happens when it is full. [`tell`](Call::tell) waits for room,
//! [`try_tell`](Call::try_tell) hands the message back at once, and [`timeout`](Call::timeout)
//! bounds the wait. A refused message is never lost: [`Refused`] holds it, and the reference's
//! `call` makes a new call of it.
//!
//! # References as values
//!
//! A reference to an actor is an argument or a reply like any other value, within a process and
//! between processes, where it is the same typed reference. It keeps its actor alive until the last
//! clone is dropped there, or the session ends. So a service calls its callers back over the
//! connection that they have opened. A node dials the third node that a reference leads to, unless
//! [`NodeOptions::dial_references`] forbids it, and calls it through the node that gave the reference
//! otherwise.
//!
//! # Values that stay in this process
//!
//! [`Local`] makes an argument or a reply of a channel, shared memory or a closure. Between actors of
//! one process they are handed over as they are. A call with one of them to another process comes
//! back as [`NotSerializable`](CallErrorKind::NotSerializable), and an ask from another process for
//! such a reply fails with that error. Whether a type can be serialized is known when the program is
//! compiled, so the check costs other calls nothing. An actor that is never exported can take and
//! answer values of any type as they are: [`#[wigwag::actor(local)]`](macro@actor).
//!
//! # SP clients
//!
//! A req of nanomsg, NNG or mangos asks an actor at the address at which its node listens, a push
//! tells, a surveyor asks a [group](Node::export_group), a sub follows what an actor
//! [publishes](This::publish): [`sp_clients`].
//!
//! # SP sockets
//!
//! [`Req`](sp::Req), [`Rep`](sp::Rep) and the other sockets talk to nanomsg, NNG and mangos
//! programs, without a node. [Contexts](sp::contexts) hold many exchanges on one socket;
//! [`raw`](sp::raw) sockets show the headers, for programs that pass messages on, as
//! [`Forwarder`](sp::Forwarder) does between two of them.
//!
//! ```
//! use wigwag::sp::{Forwarder, Rep, Req, raw};
//!
//! # #[wigwag::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (front, back) = (raw::Rep::new(), raw::Req::new());
//! let clients = front.listen("tcp://127.0.0.1:0").await?.to_string();
//! let workers = back.listen("inproc://workers").await?.to_string();
//! let forwarder = Forwarder::between(&front, &back)?;
//! tokio::spawn(async move { forwarder.run().await });
//!
//! let rep = Rep::new();
//! rep.dial(&workers).await?;
//! let req = Req::new();
//! req.dial(&clients).await?;
//! let (first, second) = (req.context()?, req.context()?);
//! first.send("first").await?;
//! second.send("second").await?;
//! for _ in 0..2 {
//!     let question = rep.recv().await?;
//!     rep.send(question).await?;
//! }
//! assert_eq!(second.recv().await?, "second");
//! assert_eq!(first.recv().await?, "first");
//! # Ok(()) }
//! ```
//!
//! # What is promised
//!
//! The messages of one sender through one reference, or its clones, arrive in order and once, over
//! any number of connections: after a cut the dialer reconnects, and both nodes go on where they
//! were. Meanwhile senders go on until there is no more room. An ask has exactly one outcome.
//!
//! A session ends when its peer has restarted, or did not come back within the time set by
//! [`NodeOptions::keep_sessions`]. Then later calls fail as
//! [`NotDelivered`](CallErrorKind::NotDelivered), and so do asks that never reached the peer; other
//! asks in flight fail as [`Unknown`](CallErrorKind::Unknown). A reference that
//! [reconnects](Fetch::reconnecting) takes later calls to the next incarnation of its actor. For
//! tells, [a session event](Node::session_events) counts delivered, rejected, undelivered and unknown
//! ones; a [receipt](Call::receipt) gives the outcome of a single tell:
//!
//! ```
//! use wigwag::{Actor, DeliveryStatus};
//!
//! #[derive(Default)]
//! struct Ledger {
//!     sum: u64,
//! }
//!
//! #[wigwag::actor]
//! impl Ledger {
//!     pub fn book(&mut self, amount: u64) {
//!         self.sum += amount;
//!     }
//! }
//!
//! #[wigwag::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//!     let ledger = Ledger::default().spawn();
//!     let receipt = ledger.book(7).receipt().await?;
//!     match receipt.await {
//!         DeliveryStatus::Delivered => println!("it is booked"),
//!         DeliveryStatus::NotDelivered => println!("it is not, and may be sent again"),
//!         DeliveryStatus::Rejected(reason) => println!("the ledger cannot book it: {reason}"),
//!         DeliveryStatus::Unknown => println!("it may be booked: look before you send it again"),
//!     }
//!     Ok(())
//! }
//! ```
//!
//! `GUARANTEES.md` lists all guarantees, each with the test that proves it.
//!
//! # Very many tells
//!
//! A task that sends millions of tells a second calls [`try_tell`](Call::try_tell) in a plain
//! function and awaits only when there is no room. The counters of such a function stay in
//! registers; an `async` function keeps them in the task's memory from one call to the next.
//!
//! ```
//! use std::ops::Range;
//!
//! use wigwag::{Actor, Refused};
//!
//! #[derive(Default)]
//! struct Ledger {
//!     sum: u64,
//! }
//!
//! #[wigwag::actor]
//! impl Ledger {
//!     pub fn note(&mut self, number: u64) {
//!         self.sum += number;
//!     }
//!
//!     pub fn sum(&self) -> u64 {
//!         self.sum
//!     }
//! }
//!
//! /// Sends tells while there is room; returns the rest, and the call that found no room.
//! fn tell_on(
//!     ledger: &LedgerRef,
//!     mut numbers: Range<u64>,
//! ) -> (Range<u64>, Option<Refused<LedgerMessage>>) {
//!     let full = numbers.find_map(|number| ledger.note(number).try_tell().err());
//!     (numbers, full)
//! }
//!
//! #[wigwag::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//!     let ledger = Ledger::default().spawn();
//!     let mut numbers = 0..100_000;
//!     loop {
//!         let full;
//!         (numbers, full) = tell_on(&ledger, numbers);
//!         let Some(refused) = full else { break };
//!         ledger.call::<()>(refused.message).tell().await?;
//!     }
//!     assert_eq!(ledger.sum().ask().await?, 100_000 * 99_999 / 2);
//!     Ok(())
//! }
//! ```
//!
//! # Many asks at once
//!
//! A [`Pipeline`] has thousands of asks of one actor under way and gives the answers in the order
//! of the asks. [`Call::try_ask`] and [`Ask::sent`](call::Ask::sent) give an
//! [`Answer`](call::Answer) for each ask instead, to be awaited in any order, anywhere.
//!
//! ```
//! use wigwag::Actor;
//!
//! struct Sum;
//!
//! #[wigwag::actor]
//! impl Sum {
//!     pub fn add(&mut self, a: i64, b: i64) -> i64 {
//!         a + b
//!     }
//! }
//!
//! #[wigwag::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//!     let sum = Sum.spawn();
//!     let (mut sums, mut correct) = (sum.pipeline(64)?, 0);
//!     for n in 0..1000 {
//!         if sums.is_full()
//!             && let Some((expected, reply)) = sums.answer().await
//!         {
//!             correct += i32::from(reply? == expected);
//!         }
//!         // The value pushed with a call is returned with its answer.
//!         sums.push(sum.add(n, n), 2 * n).await?;
//!     }
//!     while let Some((expected, reply)) = sums.answer().await {
//!         correct += i32::from(reply? == expected);
//!     }
//!     assert_eq!(correct, 1000);
//!     Ok(())
//! }
//! ```
//!
//! # Performance
//!
//! In an actor, in `#[wigwag::main]` and in a [`spawn`]ed task, the messages of one poll are
//! published and written together at its end; a remote tell takes no lock then, except one now and
//! then for new credit. In a plain `tokio::spawn` task or a thread, consecutive remote tells to one
//! actor gather until the connection's driver runs, which is woken for the first of them, and take
//! no lock either; other remote messages take one lock. A local tell takes one lock; in a turn,
//! consecutive ones to one actor share it.
//!
//! # Cancellation
//!
//! A call dropped while it waits for room was not sent. An ask dropped while it waits for the reply
//! is cancelled: an actor that has not started it skips it, also in another process, once it has
//! heard of it; otherwise the handler may still run, and its reply is dropped. A tell that was sent
//! cannot be cancelled.
//!
//! # Shutdown
//!
//! [`Node::close`] waits until everything is acknowledged and answered, within a time, and reports
//! the rest. `#[wigwag::main]` closes every remaining node when `main` returns. A node that is only
//! dropped still tries to write waiting messages, and logs those that it could not.
#![forbid(unsafe_code)]

// The code that the macros generate refers to the crate by its name, also in the crate itself.
extern crate self as wigwag;

pub mod limits;
mod error;
mod sync;
mod lock;
mod random;
mod events;
pub mod metrics;
mod exports;
mod replies;
mod streams;
pub mod access;
pub mod session;
mod references;
mod items;
mod send;
mod connect;
mod json;
pub mod proxy;
pub mod sp_clients;
mod reconnecting;
mod exported_groups;
mod node;
mod termination;
pub mod io;
pub mod trace;
mod api;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(doctest)]
mod readme;

pub use api::{
    call, codec, dead_letters, dynamic, groups, lifecycle, sp, state_machine, supervise, timer,
    transport,
};
pub use bytes::Bytes;
pub use error::NodeError;
pub use items::Items;
pub use items::queue::ItemSender;
pub use node::Node;
pub use node::close::CloseReport;
pub use node::cluster::find::FoundActor;
pub use node::cluster::follow::FollowedGroup;
pub use node::fetch::Fetch;
pub use node::options::NodeOptions;
pub use node::runtime::spawn;
pub use wigwag_actor::{
    Actor, ActorOptions, AskError, Call, CallError, CallErrorKind, DeliveryStatus, Disconnection,
    Handle, Interface, Life, Local, NextAttempt, Pipeline, PublishError, Reason, Receipt, Ref,
    Refused, Responder, Streaming, This, WhenFull, Yield, block_on, registry,
};
pub use wigwag_macros::{Message, actor, handler, main, was};
pub use wigwag_net::Address;
pub use wigwag_wire::payload::Message;
pub use wigwag_wire::{Fault, IntoBytes};

/// Items that the code written by the macros refers to; not part of the API.
#[doc(hidden)]
pub mod __private {
    pub use crate::node::runtime::{MainOptions, run_main};
    pub use crate::references::{decode_reference, encode_reference, piped_reference};
    pub use crate::termination::{MainEnd, ReportDebug, ReportDisplay};
    pub use bytes::Bytes;
    pub use wigwag_actor::message::all;
    pub use wigwag_actor::reference::adapter::{
        HasCall, HasInterface, ImplementedBy, Items, through,
    };
    pub use wigwag_actor::runtime::actor::one_by_one;
    pub use wigwag_actor::runtime::cancellable::cancellable_work;
    pub use wigwag_actor::runtime::run::same_calls::SameCalls;
    pub use wigwag_actor::runtime::side_by_side::{Work, work};
    pub use wigwag_actor::runtime::this::this;
    pub use wigwag_actor::schema::FIRST_METHOD;
    pub use wigwag_actor::{
        Actor, Answerable, Argument, Call, Encoded, Handled, HttpRoute, InProcess, Interface,
        Message, Method, PipedReply, Ref, Reply, Schema,
    };
    pub use wigwag_wire::collections::nested;
    pub use wigwag_wire::fields;
    pub use wigwag_wire::fixed;
    pub use wigwag_wire::msgpack::put_array;
    pub use wigwag_wire::payload::Payload;
    pub use wigwag_wire::skip::skip;
    pub use wigwag_wire::small;
    pub use wigwag_wire::{Buffer, Decode, DecodeError, Encode, Reader};
}
