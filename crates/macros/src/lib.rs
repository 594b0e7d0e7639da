//! The attribute macros `#[actor]`, `#[handler]` and `#[main]`, and the derive `Message`.
//!
//! Use them through the crate `wigwag`; the generated code refers to it.
//!
//! Reading order of the modules: `errors`, `kind` and `comment` are tools, `method` parses one call from a
//! signature and `side_by_side` its attribute, `definition` holds the result; then there is one
//! module for each kind of generated code: `fields` and `message`, `reference`, `handler`. `actor`
//! and `interface` are the two entry points, `derive` and `entry` the other two macros.
//!
//! Generated code names all types by absolute paths through `::wigwag::__private`. Its spans are
//! those of the user's code, but with the hygiene of the macro, so the lints of the user's crate do
//! not apply to it.
#![forbid(unsafe_code)]

mod errors;
mod kind;
mod comment;
mod method;
mod side_by_side;
mod definition;
mod fields;
mod message;
mod reference;
mod handler;
mod former;
mod route;
mod implements;
mod actor;
mod interface;
mod derive;
mod entry;

use proc_macro::TokenStream;

/// Turns an ordinary `impl` block into an actor, or a `trait` into an interface.
///
/// # On an `impl` block
///
/// Each `pub fn` that takes `&mut self` or `&self` becomes a call. Private methods, those with
/// restricted visibility, and functions without `self` are not changed.
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
///     /// Adds to the counter and returns the new value.
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
/// The block itself is not changed. For a type `Counter`, the macro adds:
///
/// - `CounterRef`, the reference for callers: one method for each call, with the same arguments.
///   The method returns a `Call`, which does nothing until it is told or asked. `.call(message)`
///   makes a call of a message that a refused call gave back.
/// - `CounterMessage`, a call as a value: one variant for each call.
/// - the impls of `Actor` and `Interface`.
///
/// ## Comments
///
/// The doc comments of the block and of the methods are part of the description that the actor gives
/// of itself to other processes (`wigwag::dynamic::Described`, `wigwag describe`), up to 1,024 bytes
/// of each. So are those of types with `#[derive(Message)]` and of their fields. They are constants:
/// calls do not touch them, and they do not count when two versions are compared.
///
/// ## Signatures
///
/// Arguments are types that can wait in a mailbox and travel: `Encode + Decode + Send + 'static`,
/// which `#[derive(wigwag::Message)]` implements for your own types. A plain method may borrow
/// `&str` and `&[u8]`: the message holds a `String` or `Bytes` and lends it to the method. A call
/// has at most 12 arguments. The reply is a type with the same bounds, or `()`.
///
/// A reference to an actor is an argument or a reply like any other, alone or within another value,
/// and leads to the actor from another process too. Actors that hold references to each other in a
/// cycle do not end by themselves, because an actor ends when the last reference to it is dropped.
///
/// Values that make sense only within their process can be arguments or replies as
/// `wigwag::Local<T>`, for instance a channel or a closure. Between actors of one process the value
/// is moved; a call to or from another process is refused as `NotSerializable`.
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
/// A method may be `async`; the actor's next call waits for it. Its arguments are owned, because it
/// may still run when the bytes it was decoded from are overwritten. A method that returns a future
/// and is marked [`#[wigwag::handler(side_by_side)]`](macro@handler) lets the actor handle other
/// calls meanwhile.
///
/// A parameter `this: &This<Self>` is not an argument of the call: it gives the actor access to
/// itself, to stop, to monitor other actors, or to hand out its own reference.
///
/// ```
/// use wigwag::{Actor, Reason, This};
/// use wigwag::lifecycle::Alive;
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
/// A parameter `answer: Responder<R>` of a handler that returns nothing is not an argument either: it
/// answers the call with an `R` later, from another call or from another actor to which it is
/// passed.
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
/// A parameter `items: Yield<T>` of a handler that returns nothing makes the reply a stream of `T`.
/// The reference's method then returns a `Streaming`, which is asked item by item; the producer is
/// never further ahead than the caller allows. The caller may be in another process, unless `T` stays
/// in its own, like `Local<T>`.
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
/// With `#[wigwag::actor(life)]` you implement `Life` yourself: the hooks for the actor's start and
/// end, and for the end of actors that it monitors.
///
/// ```
/// use wigwag::{Actor, Life, Reason, This};
/// use wigwag::lifecycle::Alive;
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
/// ## Local actors
///
/// An actor with `#[wigwag::actor(local)]` stays in its process: no node can export it, which is a
/// compile error. So its arguments, replies and the items of its streams need no encoding; they are of
/// any type that is `Send + 'static`.
///
/// ```
/// use std::net::TcpStream;
/// use wigwag::Actor;
///
/// #[derive(Default)]
/// struct Pool {
///     idle: Vec<TcpStream>,
/// }
///
/// #[wigwag::actor(local)]
/// impl Pool {
///     pub fn put(&mut self, connection: TcpStream) {
///         self.idle.push(connection);
///     }
///
///     pub fn take(&mut self) -> Option<TcpStream> {
///         self.idle.pop()
///     }
///
///     pub fn visit(&mut self, job: Box<dyn FnOnce(&mut Vec<TcpStream>) + Send>) {
///         job(&mut self.idle);
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = Pool::default().spawn();
/// pool.visit(Box::new(Vec::clear)).tell().await.map_err(wigwag::Refused::into_error)?;
/// let connection = pool.take().ask().await.map_err(wigwag::AskError::into_error)?;
/// assert!(connection.is_none());
/// # Ok(())
/// # }
/// ```
///
/// `life` and `local` can be combined: `#[wigwag::actor(life, local)]`.
///
/// Any other signature is a compile error with advice on what to write instead. A reply that cannot
/// travel is an error at its declaration:
///
/// ```compile_fail
/// struct Secret;
///
/// impl wigwag::codec::Encode for Secret {
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
/// Borrowed and owned text, in a plain and an `async` method:
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
/// ## Generic types
///
/// The reference, the message and the interface of a generic actor have its parameters: `CacheRef<K,
/// V>`. A parameter of which values are arguments or replies needs the bound `wigwag::Message`, or in
/// a local actor `Send + 'static`; numbers may be parameters too, and lifetimes may not.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use wigwag::{Actor, Message};
///
/// struct Cache<K, V>(BTreeMap<K, V>);
///
/// #[wigwag::actor]
/// impl<K: Message + Ord, V: Message + Clone> Cache<K, V> {
///     pub fn put(&mut self, key: K, value: V) -> Option<V> {
///         self.0.insert(key, value)
///     }
///
///     pub fn get(&self, key: K) -> Option<V> {
///         self.0.get(&key).cloned()
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let ages: CacheRef<String, u8> = Cache(BTreeMap::new()).spawn();
/// ages.put("Ada".into(), 36).tell().await?;
/// assert_eq!(ages.get("Ada".into()).ask().await?, Some(36));
/// # Ok(())
/// # }
/// ```
///
/// In the schema a parameter has its name from the source. Callers from another process that name
/// other types are told apart by the widths of numbers and the fields of structs when they fetch the
/// reference, and otherwise when a value arrives that does not fit (`BadArguments`, `BadReply`).
///
/// ## Versions
///
/// The calls are numbered in the order in which they are written. That order, their names and their
/// types determine the hash of the schema. A call with `#[cfg(…)]` that does not exist in a build is
/// not in the schema of that build; two ends that differ match their calls by name. An `Option` at
/// the end of the arguments may be missing, and further arguments of a newer caller are ignored.
///
/// ## Performance
///
/// A call of plain numbers allocates nothing: the message is stored in the mailbox itself. `&str`
/// and `&[u8]` cost a copy. A plain method runs without a future.
///
/// # On a `trait`
///
/// An interface without code, for callers that do not link the actor: `BankRef` and `BankMessage`
/// as above, and `BankInterface`, a type that stands for the trait. An actor with the same calls in
/// the same order has the same schema hash, which the compiler can check. A method of the trait
/// returns what the actor's answers with, be it by its return value, by its future, or by a
/// `Responder`.
///
/// ```
/// use wigwag::{Actor, Interface};
///
/// #[wigwag::actor]
/// pub trait Bank {
///     /// Returns the balance of an account.
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
/// const _: () = assert!(BankInterface::SCHEMA.hash == Vault::SCHEMA.hash);
///
/// // An actor with more calls has the interface too, and within a process a reference to it
/// // becomes one to the interface.
/// fn audit(bank: impl Into<BankRef>) -> BankRef {
///     bank.into()
/// }
///
/// # fn open(vault: &VaultRef) -> BankRef {
/// audit(vault)
/// # }
/// ```
///
/// `BankRef::from(&vault)` compiles if the actor has, for each method of the trait, a method of the
/// same name, with arguments of the same names and types in the same order, and the same reply. It
/// may have more methods. Former names (`#[wigwag::was]`) are of no use there: they are for programs
/// of other versions. Calls and answers are moved and not encoded, and the reference keeps the actor
/// alive as any other does; for an actor of another process, what is encoded is the actor's own
/// call.
#[proc_macro_attribute]
pub fn actor(options: TokenStream, item: TokenStream) -> TokenStream {
    actor::expand(options.into(), item.into()).into()
}

/// Sets how the handler of a call runs; for a `pub fn` in `#[wigwag::actor] impl Type`.
///
/// # `side_by_side`
///
/// Plain and `async` methods have the actor to themselves: while an `async fn` with `&mut self`
/// waits, the actor handles nothing else. A method that is marked `side_by_side` allows other calls
/// meanwhile. It is a plain `fn` that returns a future: its body runs with the actor's state, like
/// a plain method, and the future, which owns its data, runs side by side with other such futures
/// while the actor handles further calls of every kind. The output of the future is the answer. The
/// bounds `Send + use<>` of the future are added if they are missing.
///
/// `This::visit` gives such a future access to the state, as often as it likes: between two calls,
/// never during one.
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
///     /// Two asks for one key run one after the other, so the second finds the value of the first.
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
/// The attribute also makes a method re-entrant: only marked methods interleave, and only where
/// their futures wait; all others run alone. An ask that leads back to the actor through such a
/// future is not a cycle, because the actor can answer it. It is a cycle if it leads back to the
/// same key, or while the actor takes no calls because it has the maximum number: then it ends by
/// its time limit, which is 5 s inside a handler if none is given.
///
/// # `serial_by = argument`
///
/// Calls with equal values of that argument run one after the other, each from its first part to
/// the end of its future, in the order of arrival; other calls run side by side. The argument may
/// be of any type that implements `Hash`. All methods of the actor share the keys: `put` and `get`
/// of one account exclude each other. Keys are compared by 64 bits of their hash, so two different
/// keys may, very rarely, wait for each other.
///
/// # Limits
///
/// An actor has at most 256 such calls, or the number set by `ActorOptions::side_by_side`,
/// including those that wait for their key. While it has that many, it takes no call of any kind;
/// it still obeys control messages.
///
/// # The end of the actor
///
/// An actor that is drained or has lost its last reference ends after all of these calls have
/// ended. A stopped actor takes no further calls and ends after the futures that have begun have
/// ended; they may still access the state. Calls that wait for their key are not begun, and their
/// askers receive `ActorStopped`. A killed actor ends at once, and all askers receive
/// `ActorStopped`. A future that panics ends the actor, like any handler that panics: its own asker
/// receives `Panicked`, the others `ActorStopped`. If an `async` handler is waiting at that moment,
/// that call ends first.
///
/// # Cancellation
///
/// A future runs to its end even if its asker no longer waits, unless the handler is also marked
/// `cancellable`: then its future is dropped, at one of its waits, when the asker gives the ask up,
/// or when the session of an asker in another process ends. What the future has done until then
/// stays. A told call, or one with a receipt, runs to its end.
///
/// # Performance
///
/// One allocation per call, for the future, and no task of its own. A future is polled only when it
/// was woken, however many others wait. An actor without such handlers is neither larger nor
/// slower.
#[proc_macro_attribute]
pub fn handler(_: TokenStream, item: TokenStream) -> TokenStream {
    side_by_side::misplaced(item.into()).into()
}

/// Gives the former names of a call or of an argument, so that two versions of an interface
/// understand each other after a renaming.
///
/// Where the schemas of two nodes differ, the caller finds methods and arguments by their names. A
/// name that the other side does not have is refused, and so is a method that lacks an argument. A
/// former name counts like the present one, on either side. `docs/versions.md` has the rules.
///
/// ```
/// # use wigwag::actor;
/// #[derive(Default)]
/// struct Account {
///     balance: u64,
/// }
///
/// #[wigwag::actor]
/// impl Account {
///     #[wigwag::was("add", "put")]
///     pub fn deposit(&mut self, #[wigwag::was("sum")] amount: u64) {
///         self.balance += amount;
///     }
/// }
/// # fn main() {}
/// ```
///
/// Fields of a struct and variants of an enum have `#[message(was = "old")]` instead; see the derive
/// of [`Message`](macro@Message).
#[proc_macro_attribute]
pub fn was(_: TokenStream, item: TokenStream) -> TokenStream {
    former::misplaced(item.into()).into()
}

/// Runs `async fn main` on its own runtime, and closes all nodes at the end.
///
/// The body runs in turns, like an actor: messages it sends leave together whenever it waits.
/// Afterwards every node of the process is closed in order, so the last messages are not lost with
/// the process. A node waits until its peers have everything, for at most 5 s
/// (`limits::MAIN_CLOSE`); what is left then is logged.
///
/// If the function is called `main` and returns an error, the process prints `Error: ` and the error
/// in its form `{:#}`, which for an error of this crate includes a hint, and ends with exit code 1.
/// An error without `Display` is printed in its form `{:?}`, as Rust does.
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
/// `flavor = "current_thread"` runs everything on the calling thread. The default is
/// `"multi_thread"`, with one thread per processor, or `worker_threads = N`.
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

/// Implements `Encode` and `Decode` for a struct or an enum, which makes it an argument or a reply.
///
/// A struct is encoded as the array of its fields, an enum as the array of its variant's number and
/// that variant's fields. The number is the variant's discriminant, which must be a literal from 0 to
/// 4294967295; without one it is one more than the number before it, from 0 on. Names are not
/// encoded with the values. Two nodes compare them once: fields or variants that have changed places
/// are refused, and so is a renamed one, unless `#[message(was = "old")]` gives its former name.
///
/// ```
/// use wigwag::__private::{Buffer, Reader};
/// use wigwag::Message;
/// use wigwag::codec::{Decode, Encode};
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
/// // From an older sender without the field `note`: `[1, 2]`.
/// let read = Transfer::decode(&mut Reader::new(&[0x92, 1, 2]));
/// assert_eq!(read, Ok(Transfer { from: 1, to: 2, note: None }));
/// ```
///
/// # Versions
///
/// Both can grow at the end. Missing fields at the end are read as `None` if they are `Option`s and
/// are an error otherwise; additional fields are skipped. New variants go last, or have a
/// discriminant; a receiver that does not know one answers with an error.
///
/// # Types of other crates
///
/// `#[message(with = "module")]` on a field encodes it by two functions of a module, for a type
/// without an encoding:
///
/// ```
/// use std::ops::Bound;
/// use wigwag::Message;
///
/// #[derive(Message)]
/// struct Query {
///     table: String,
///     #[message(with = "bound")]
///     from: Bound<u64>,
/// }
///
/// /// Nil is no bound, and a number includes itself.
/// mod bound {
///     use std::ops::Bound;
///     use wigwag::codec::{Buffer, Decode, DecodeError, Encode, Reader};
///
///     pub fn encode(value: &Bound<u64>, out: &mut Buffer) {
///         let number = match value {
///             Bound::Included(number) => Some(*number),
///             Bound::Excluded(number) => number.checked_add(1),
///             Bound::Unbounded => None,
///         };
///         number.encode(out);
///     }
///
///     pub fn decode(reader: &mut Reader<'_>) -> Result<Bound<u64>, DecodeError> {
///         let number = Option::decode(reader)?;
///         Ok(number.map_or(Bound::Unbounded, Bound::Included))
///     }
/// }
/// ```
///
/// `encode` appends exactly one MessagePack value, and `decode` reads one.
///
/// With the feature `serde` of wigwag, `#[message(serde)]` on a field encodes it by the impls of
/// serde of its type, and on a struct or an enum the whole type by its own impls; the module
/// `wigwag::codec::serde` has an example and the form.
///
/// # Values that stay in their process
///
/// A type with a field that does not travel (a `Local<T>`) does not travel
/// either, whatever its value. For types that contain each other in a cycle this cannot be
/// computed, and the compiler reports a cycle: `#[message(travels)]` on one of them resolves it.
///
/// ```
/// use wigwag::{Local, Message};
/// use wigwag::codec::Encode;
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
