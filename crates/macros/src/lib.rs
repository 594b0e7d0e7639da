//! The attribute macros `#[actor]`, `#[handler]` and `#[main]`, and the derive `Message`.
//!
//! Use them through the crate `wigwag`; what they write refers to it.
//!
//! Read the modules in this order: `errors` and `kind` are tools, `method` reads one call from a
//! signature and `side_by_side` its attribute, `definition` holds what was read; then comes one module for each thing that is
//! written: `fields` and `message`, `reference`, `handler`. `actor` and `interface` are the two
//! ways in, `derive` and `entry` the other two macros.
//!
//! Everything that is written names its types by absolute paths through `::wigwag::__private`. It
//! stands where the macro was called but counts as the macro's own, so the lints of the user's
//! crate do not judge it.
#![forbid(unsafe_code)]

mod errors;
mod kind;
mod method;
mod side_by_side;
mod definition;
mod fields;
mod message;
mod reference;
mod handler;
mod actor;
mod interface;
mod derive;
mod entry;

use proc_macro::TokenStream;

/// Makes an actor of an ordinary `impl` block, or an interface of a `trait`.
///
/// # On an `impl` block
///
/// Each `pub fn` that takes `&mut self` or `&self` becomes a call. Private methods, those with a
/// visibility in between, and functions without `self` stay what they are.
///
/// ```
/// use wigwag::Actor;
///
/// #[derive(Default)]
/// struct Counter {
///     value: u64,
/// }
///
/// #[wigwag::actor]
/// impl Counter {
///     /// Adds to the counter and tells what it is now.
///     pub fn add(&mut self, amount: u64) -> u64 {
///         self.value += amount;
///         self.log("added");
///         self.value
///     }
///
///     fn log(&self, what: &str) {
///         let _ = (what, self.value);
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let counter = Counter::default().spawn();
/// counter.add(100).tell().await?;
/// assert_eq!(counter.add(1).ask().await?, 101);
/// # Ok(())
/// # }
/// ```
///
/// The block itself stays as it is. Beside it stand from now on, for a type `Counter`:
///
/// - `CounterRef`, what a caller holds: one method for each call, with the same arguments. It makes
///   a `Call`, which does nothing until it is told or asked. `.call(message)` makes a call of a
///   message that came back.
/// - `CounterMessage`, a call as a value: one variant for each call.
/// - the impls of `Actor` and `Interface`.
///
/// ## What a call may look like
///
/// Arguments are types that can wait in a mailbox and travel: `Encode + Decode + Send + 'static`,
/// which `#[derive(wigwag::Message)]` writes for types of your own. A plain method may borrow
/// `&str` and `&[u8]`: the message holds a `String` or `Bytes` and lends it to the method. At most
/// 12 arguments. The reply is a type of the same sort, or nothing.
///
/// What lives in this process only can be an argument or a reply too: a reference to another actor
/// as it is, alone or in an `Option` or a `Vec`, and any other value as `wigwag::Local<T>`, a channel
/// or a closure for instance. Between actors of one process it is handed over; a call from
/// elsewhere, or to elsewhere, is refused as `NotSerializable`. Actors that hold references to each other in a
/// circle do not end by themselves: an actor ends when the last reference to it is dropped.
///
/// ```
/// use wigwag::{Actor, Local};
///
/// #[derive(Default)]
/// struct Player {
///     peer: Option<PlayerRef>,
/// }
///
/// #[wigwag::actor]
/// impl Player {
///     pub fn meet(&mut self, peer: PlayerRef) {
///         self.peer = Some(peer);
///     }
///
///     pub fn peer(&self) -> Option<PlayerRef> {
///         self.peer.clone()
///     }
///
///     pub fn apply(&self, job: Local<Box<dyn Fn(u32) -> u32 + Send>>) -> u32 {
///         job(20)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (ada, bob) = (Player::default().spawn(), Player::default().spawn());
/// ada.meet(bob).ask().await?;
/// let bob = ada.peer().ask().await?.expect("they have met");
/// assert_eq!(bob.apply(Local(Box::new(|n| n + 1))).ask().await?, 21);
/// # Ok(())
/// # }
/// ```
///
/// A method may be `async`; the actor's next call waits for it. Its arguments are owned, because
/// it goes on when the bytes it was read from are long overwritten. A method that gives back a
/// future and is marked [`#[wigwag::handler(side_by_side)]`](macro@handler) lets the actor go on
/// meanwhile.
///
/// A parameter `this: &This<Self>` is no argument of the call: through it the actor reaches itself,
/// to stop, to monitor others, to hand out its own reference.
///
/// ```
/// use wigwag::{Actor, Alive, Reason, This};
///
/// struct Countdown(u32);
///
/// #[wigwag::actor]
/// impl Countdown {
///     pub fn tick(&mut self, this: &This<Self>) {
///         self.0 -= 1;
///         if self.0 == 0 {
///             this.stop(Reason::Normal);
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let countdown = Countdown(2).spawn();
/// for _ in 0..2 {
///     countdown.tick().tell().await.expect("it lives");
/// }
/// assert_eq!(countdown.handle().expect("it lives here").ended().await, Reason::Normal);
/// # }
/// ```
///
/// A parameter `answer: Responder<R>` of a handler that returns nothing is no argument either: through it
/// the call is answered with an `R`, later, from another call, or by another actor that it is handed
/// to.
///
/// ```
/// use wigwag::{Actor, Responder};
///
/// #[derive(Default)]
/// struct Gate {
///     waiting: Vec<Responder<u32>>,
/// }
///
/// #[wigwag::actor]
/// impl Gate {
///     pub fn wait(&mut self, answer: Responder<u32>) {
///         self.waiting.push(answer);
///     }
///
///     pub fn open(&mut self) {
///         for (place, answer) in (1..).zip(self.waiting.drain(..)) {
///             answer.send(place);
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let gate = Gate::default().spawn();
/// let (first, second) = (gate.wait().try_ask()?, gate.wait().try_ask()?);
/// gate.open().tell().await?;
/// assert_eq!((first.await?, second.await?), (1, 2));
/// # Ok(())
/// # }
/// ```
///
/// A parameter `items: Yield<T>` of a handler that returns nothing makes the reply a stream of `T`. The
/// reference's method then gives a `Streaming`, which is asked item by item; the producer is never
/// further ahead than the caller says. Streams stay in their process, as `Local<T>` does.
///
/// ```
/// use wigwag::{Actor, Yield};
///
/// struct Clock;
///
/// #[wigwag::actor]
/// impl Clock {
///     pub fn ticks(&self, count: u64, mut items: Yield<u64>) {
///         tokio::spawn(async move {
///             for tick in 0..count {
///                 if items.send(tick).await.is_err() {
///                     return;
///                 }
///             }
///             items.finish();
///         });
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), wigwag::CallError> {
/// let clock = Clock.spawn();
/// let (mut ticks, mut sum) = (clock.ticks(100).ahead(8), 0);
/// while let Some(tick) = ticks.next().await {
///     sum += tick?;
/// }
/// assert_eq!(sum, 4950);
/// # Ok(())
/// # }
/// ```
///
/// ## Life
///
/// `#[wigwag::actor(life)]` leaves `impl Life` to you: what happens at the actor's start and end, and
/// when an actor ends that it watches.
///
/// ```
/// use wigwag::{Actor, Alive, Life, Reason, This};
///
/// struct Log {
///     lines: Vec<String>,
/// }
///
/// #[wigwag::actor(life)]
/// impl Log {
///     pub fn line(&mut self, text: &str) {
///         self.lines.push(text.into());
///     }
/// }
///
/// impl Life for Log {
///     async fn started(&mut self, _: &This<Log>) -> Result<(), Reason> {
///         if self.lines.capacity() == 0 {
///             return Err(Reason::failed("there is no room for lines"));
///         }
///         Ok(())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let failed = Log { lines: Vec::new() }.start().await.map(|_| ());
/// assert_eq!(failed, Err(Reason::failed("there is no room for lines")));
/// let log = Log { lines: Vec::with_capacity(8) }.start().await.expect("there is room");
/// let handle = log.handle().expect("it lives here");
/// handle.stop();
/// assert_eq!(handle.ended().await, Reason::Shutdown);
/// # }
/// ```
///
/// Anything else is an error that says what to write instead. A reply that cannot travel is one
/// already where it is written:
///
/// ```compile_fail
/// struct Secret;
///
/// impl wigwag::Encode for Secret {
///     fn encode(&self, _: &mut wigwag::__private::Buffer) {}
/// }
///
/// struct Vault;
///
/// #[wigwag::actor]
/// impl Vault {
///     pub fn secret(&self) -> Secret {
///         Secret
///     }
/// }
/// ```
///
/// Text that is lent and text that is given, plain and `async`:
///
/// ```
/// use wigwag::Actor;
///
/// struct Greeter;
///
/// #[wigwag::actor]
/// impl Greeter {
///     pub fn greet(&self, name: &str) -> String {
///         format!("hello, {name}")
///     }
///
///     pub async fn greet_later(&mut self, name: String) -> String {
///         tokio::task::yield_now().await;
///         self.greet(&name)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let greeter = Greeter.spawn();
/// assert_eq!(greeter.greet("Ada").ask().await?, "hello, Ada");
/// assert_eq!(greeter.greet_later("Ada".into()).ask().await?, "hello, Ada");
/// # Ok(())
/// # }
/// ```
///
/// ## Versions
///
/// The calls are numbered in the order in which they are written, and that order, their names and
/// types make the schema's hash. An `Option` at the end of the arguments may be missing, and what a
/// newer caller adds at the end is left unread.
///
/// ## Performance
///
/// A call of plain numbers allocates nothing: the message lies in the mailbox itself. `&str` and
/// `&[u8]` cost a copy. A plain method runs without a future.
///
/// # On a `trait`
///
/// An interface without code, for a caller that does not link the actor: `BankRef` and
/// `BankMessage` as above, and `BankInterface`, the type that stands for the trait. An actor with
/// the same calls in the same order has the same schema hash.
///
/// ```
/// use wigwag::{Actor, Interface};
///
/// #[wigwag::actor]
/// pub trait Bank {
///     /// What lies in an account.
///     fn balance(&self, account: u32) -> i64;
/// }
///
/// struct Vault;
///
/// #[wigwag::actor]
/// impl Vault {
///     pub fn balance(&self, account: u32) -> i64 {
///         i64::from(account) * 100
///     }
/// }
///
/// assert_eq!(BankInterface::SCHEMA.hash, Vault::SCHEMA.hash);
/// ```
#[proc_macro_attribute]
pub fn actor(options: TokenStream, item: TokenStream) -> TokenStream {
    actor::expand(options.into(), item.into()).into()
}

/// Says how the handler of a call runs, on a `pub fn` in `#[wigwag::actor] impl Type`.
///
/// # `side_by_side`
///
/// A plain method and an `async` one have the actor to themselves: while an `async fn` with
/// `&mut self` waits, the actor handles nothing else. A method that is marked `side_by_side` lets
/// others in. It is a plain `fn` that gives back a future: its body runs with the actor's state, as
/// a plain method does, and the future, which owns what it needs, runs side by side with other such
/// futures while the actor goes on with other calls of every kind. The asker gets what the future
/// ends with. The bounds `Send + use<>` of the future are added where they are left out.
///
/// `This::visit` brings such a future back to the state, as often as it likes: between two calls,
/// never inside one.
///
/// ```
/// use std::collections::HashMap;
///
/// use wigwag::{Actor, Local, This};
///
/// struct Store;
///
/// #[wigwag::actor]
/// impl Store {
///     pub async fn read(&mut self, key: String) -> u64 {
///         tokio::task::yield_now().await;
///         key.len() as u64
///     }
/// }
///
/// struct Cache {
///     store: StoreRef,
///     known: HashMap<String, u64>,
/// }
///
/// #[wigwag::actor]
/// impl Cache {
///     /// Two asks for one key come one after the other, so the second finds what the first has read.
///     #[wigwag::handler(side_by_side, serial_by = key)]
///     pub fn get(&mut self, this: &This<Self>, key: String) -> impl Future<Output = Option<u64>> {
///         let (this, store) = (this.clone(), self.store.clone());
///         let known = self.known.get(&key).copied();
///         async move {
///             if known.is_some() {
///                 return known;
///             }
///             let value = store.read(key.clone()).ask().await.ok()?;
///             let kept = this.visit(move |cache| cache.known.insert(key, value)).await;
///             kept.ok().map(|_| value)
///         }
///     }
///
///     /// Is answered at once, however many of the others wait.
///     pub fn len(&self) -> u64 {
///         self.known.len() as u64
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cache = Cache { store: Store.spawn(), known: HashMap::new() }.spawn();
/// let (first, second) = (cache.get("one".into()).try_ask()?, cache.get("three".into()).try_ask()?);
/// assert_eq!((first.await?, second.await?), (Some(3), Some(5)));
/// assert_eq!(cache.len().ask().await?, 2);
/// # Ok(())
/// # }
/// ```
///
/// This is also what names a method re-entrant: only methods that are marked interleave, and only
/// where their futures wait; all others exclude each other and everything. An ask that leads back to
/// the actor through such a future is no circle, because the actor can answer it. It is one again if
/// it comes back to the same key, or while the actor takes no calls because it has as many as it may:
/// then it ends by its time limit, which inside a handler is 5 s where none is given.
///
/// # `serial_by = argument`
///
/// Calls whose argument of that name is equal run one after the other, each from its first part to
/// the end of its future, in the order in which they came; different ones run side by side. The
/// argument is anything that can be hashed. All methods of the actor share the keys: `put` and `get` of one
/// account exclude each other. Keys are told apart by 64 bits of their hash, so two of them may, once
/// in a great while, wait for each other.
///
/// # Limits
///
/// An actor has 256 such calls at most, or what `ActorOptions::side_by_side` says, those that wait
/// for their key included. While it has so many it takes no call of any kind; control mail is
/// obeyed.
///
/// # The end of the actor
///
/// Drained, or without references, the actor ends when all of them have ended. Stopped, it takes no
/// call any more and ends when those that have begun have ended; they may still come back to the
/// state, and those that wait for their key are not begun: their askers hear `ActorStopped`. Killed,
/// it ends at once, and the askers of all hear `ActorStopped`. A future that panics, as any handler,
/// ends the actor: its own asker hears `Panicked`, the others `ActorStopped`. If an `async` handler
/// waits at that moment, that call ends first.
///
/// # Cancellation
///
/// A future runs to its end whether its asker still waits or not.
///
/// # Performance
///
/// One allocation a call, for the future; no task of its own. A future is polled when it was woken,
/// however many others wait. An actor without such handlers is no larger and no slower for them.
#[proc_macro_attribute]
pub fn handler(_: TokenStream, item: TokenStream) -> TokenStream {
    side_by_side::out_of_place(item.into()).into()
}

/// Runs `async fn main` on a runtime of its own, and closes what is open at the end.
///
/// The body runs in turns, as an actor does: what it sends leaves together whenever it waits. After
/// it every node of the process is closed in good order, so a message that was sent last is not
/// lost with the process.
///
/// ```
/// #[wigwag::main]
/// async fn main() -> Result<(), std::num::ParseIntError> {
///     let answer: u32 = "42".parse()?;
///     assert_eq!(answer, 42);
///     Ok(())
/// }
/// ```
///
/// # Options
///
/// `flavor = "current_thread"` runs everything with the calling thread; the other flavor,
/// `"multi_thread"`, is the default, with as many threads as there are processors, or
/// `worker_threads = N`.
///
/// ```
/// #[wigwag::main(flavor = "current_thread")]
/// async fn main() {
///     tokio::task::yield_now().await;
/// }
/// ```
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    entry::expand(options.into(), item.into()).into()
}

/// Lets a struct or an enum of your own be an argument or a reply: writes `Encode` and `Decode`.
///
/// A struct travels as the array of its fields, an enum as the array of its variant's number and
/// that variant's fields. No names travel, so a field may be renamed but not moved.
///
/// ```
/// use wigwag::__private::{Buffer, Reader};
/// use wigwag::{Decode, Encode, Message};
///
/// #[derive(Message, Debug, PartialEq)]
/// struct Transfer {
///     from: u32,
///     to: u32,
///     note: Option<String>,
/// }
///
/// #[derive(Message, Debug, PartialEq)]
/// enum Outcome<T> {
///     Done(T),
///     Refused { missing: u64 },
/// }
///
/// let mut bytes = Buffer::default();
/// Outcome::<u8>::Refused { missing: 5 }.encode(&mut bytes);
/// assert_eq!(bytes.as_slice(), [0x92, 1, 5]);
///
/// // From a sender that knew no notes yet: `[1, 2]`.
/// let read = Transfer::decode(&mut Reader::new(&[0x92, 1, 2]));
/// assert_eq!(read, Ok(Transfer { from: 1, to: 2, note: None }));
/// ```
///
/// # Versions
///
/// Both can grow at the end. Fields that are missing there become `None` if they are `Option`s and
/// are an error otherwise; those that are too many are skipped. New variants go last, and a
/// receiver that does not know one answers with an error.
///
/// # Values that stay in this process
///
/// A type with a field that does not travel (a `Local<T>`, a reference to an actor) does not travel
/// either, whatever its value is. Types that hold each other in a circle cannot be asked that, and
/// the compiler says that there is a cycle: `#[message(travels)]` at one of them answers it.
///
/// ```
/// use wigwag::{Encode, Local, Message};
///
/// #[derive(Message)]
/// struct Job(u32, Option<Local<std::sync::mpsc::Sender<u32>>>);
///
/// #[derive(Message)]
/// struct Expression(Vec<Statement>);
///
/// #[derive(Message)]
/// #[message(travels)]
/// struct Statement(Option<Expression>);
///
/// assert!(!Job::TRAVELS && Expression::TRAVELS);
/// ```
#[proc_macro_derive(Message, attributes(message))]
pub fn message_derive(item: TokenStream) -> TokenStream {
    derive::expand(item.into()).into()
}
