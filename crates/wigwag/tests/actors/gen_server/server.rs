//! The server of these tests, an actor that watches it, and helpers.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use wigwag::{
    Actor, CallErrorKind, Handle, Life, Local, Node, Reason, Responder, This,
    lifecycle::{Alive, Down, Exit},
};

/// Deviations of a server's start and end.
#[derive(Clone, Default)]
pub(crate) enum Manner {
    #[default]
    Good,
    /// The start fails, for this reason.
    FailsToStart(Reason),
    PanicsInStart,
    /// The start takes this long.
    StartsAfter(Duration),
    /// The start stops the server with this reason.
    StopsInStart(Reason),
    /// The hook at the end panics.
    PanicsAtEnd,
    /// The hook at the end takes this long.
    EndsAfter(Duration),
}

/// Does as each call says, and reports its own events to the test.
pub(crate) struct Server {
    says: UnboundedSender<String>,
    manner: Manner,
    pub(crate) state: String,
    /// Responders of unanswered calls, by their number.
    pub(crate) owed: BTreeMap<u64, Responder<u64>>,
}

impl Server {
    pub(crate) fn new(manner: Manner) -> (Server, Heard) {
        let (says, heard) = unbounded_channel();
        (Server { says, manner, state: String::new(), owed: BTreeMap::new() }, Heard(heard))
    }

    pub(crate) fn say(&self, what: impl Into<String>) {
        // The receiver is gone at the end of a test.
        let _ = self.says.send(what.into());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.say("dropped");
    }
}

#[wigwag::actor(life)]
impl Server {
    pub fn number(&self, number: u64) -> u64 {
        number
    }

    pub fn note(&mut self, word: &str) {
        self.say(word);
    }

    pub fn say_and_answer(&mut self, word: &str, number: u64) -> u64 {
        self.say(word);
        number
    }

    /// Answers after `delay_ms` milliseconds, and handles other calls meanwhile.
    pub fn delayed(
        &mut self,
        this: &This<Self>,
        number: u64,
        delay_ms: u64,
        answer: Responder<u64>,
    ) {
        self.owed.insert(number, answer);
        this.after(Duration::from_millis(delay_ms), move |me| me.give(number)).unwrap();
    }

    /// Keeps the responder until `give` is called.
    pub fn owe(&mut self, number: u64, answer: Responder<u64>) {
        self.owed.insert(number, answer);
    }

    pub fn give(&mut self, number: u64) {
        if let Some(answer) = self.owed.remove(&number) {
            answer.send(number);
        }
    }

    /// True while a caller waits for that answer.
    pub fn is_wanted(&self, number: u64) -> bool {
        self.owed.get(&number).is_some_and(Responder::is_wanted)
    }

    pub fn stop(&self, this: &This<Self>, reason: Local<Reason>) -> bool {
        this.stop(reason.0);
        true
    }

    /// Stops without an answer.
    pub fn stop_silently(&self, this: &This<Self>, reason: Local<Reason>, answer: Responder<u64>) {
        this.stop(reason.0);
        drop(answer);
    }

    /// Stops, for callers in any process.
    pub fn shut_down(&self, this: &This<Self>) {
        this.stop(Reason::Shutdown);
    }

    pub fn panic(&self, text: &str) -> u64 {
        panic!("{text}");
    }

    pub async fn hang(&self) -> u64 {
        std::future::pending().await
    }
}

impl Life for Server {
    async fn started(&mut self, this: &This<Server>) -> Result<(), Reason> {
        match self.manner.clone() {
            Manner::FailsToStart(reason) => return Err(reason),
            Manner::PanicsInStart => panic!("bail out"),
            Manner::StartsAfter(delay) => tokio::time::sleep(delay).await,
            Manner::StopsInStart(reason) => this.stop(reason),
            Manner::Good | Manner::PanicsAtEnd | Manner::EndsAfter(_) => {}
        }
        Ok(())
    }

    async fn stopped(&mut self, _: &This<Server>, reason: &Reason) {
        self.say(format!("stopped, {reason}"));
        match self.manner {
            Manner::PanicsAtEnd => panic!("at the end"),
            Manner::EndsAfter(delay) => tokio::time::sleep(delay).await,
            _ => {}
        }
    }
}

/// A running server and its reports.
pub(crate) fn server() -> (ServerRef, Heard) {
    let (server, heard) = Server::new(Manner::Good);
    (server.spawn(), heard)
}

/// The reports of a server, in order.
pub(crate) struct Heard(UnboundedReceiver<String>);

impl Heard {
    pub(crate) async fn next(&mut self) -> String {
        soon(self.0.recv()).await.unwrap()
    }

    /// All further reports until the server has ended and its state is dropped.
    pub(crate) async fn rest(mut self) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(word) = soon(self.0.recv()).await {
            all.push(word);
        }
        all
    }

    /// The reports that have arrived by now.
    pub(crate) fn by_now(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.0.try_recv().ok()).collect()
    }
}

/// Watches servers and reports the reasons of their ends.
pub(crate) struct Watcher {
    says: UnboundedSender<Reason>,
}

#[wigwag::actor(life)]
impl Watcher {
    pub fn monitor(&self, this: &This<Self>, whom: Local<Handle>) {
        this.monitor(&whom.0).unwrap();
    }

    pub fn link(&self, this: &This<Self>, whom: Local<Handle>) {
        this.link(&whom.0).unwrap();
    }
}

impl Life for Watcher {
    fn down(&mut self, _: &This<Watcher>, down: Down) {
        let _ = self.says.send(down.reason);
    }

    /// Reports the end of a linked actor, and survives it.
    fn exited(&mut self, _: &This<Watcher>, exit: Exit) -> Result<(), Reason> {
        let _ = self.says.send(exit.reason);
        Ok(())
    }
}

/// A watcher and the reasons that it reports.
pub(crate) fn watcher() -> (WatcherRef, UnboundedReceiver<Reason>) {
    let (says, heard) = unbounded_channel();
    (Watcher { says }.spawn(), heard)
}

/// Two nodes, the first of which exports the server: returns both nodes, the second one's
/// reference, and the address.
pub(crate) async fn apart(server: &ServerRef) -> (Node, Node, ServerRef, String) {
    let (service, client) = (Node::new(), Node::new());
    service.export("server", server).unwrap();
    let address = format!("{}/server", service.listen("tcp://127.0.0.1:0").await.unwrap());
    let there = soon(client.actor::<Server>(&address)).await.unwrap();
    (service, client, there, address)
}

/// Waits with a limit far longer than any operation here takes.
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(60), work).await.unwrap()
}

pub(crate) async fn ended(server: &ServerRef) -> Reason {
    let handle = server.handle().unwrap();
    soon(handle.ended()).await
}

/// The error of an ask that fails.
pub(crate) async fn failure<T: wigwag::codec::Decode<'static>>(
    ask: impl Future<Output = Result<T, wigwag::AskError<ServerMessage>>>,
) -> CallErrorKind {
    match soon(ask).await {
        Ok(_) => panic!("it was answered"),
        Err(error) => error.error().kind,
    }
}

/// True for the errors of a call whose session has ended: before it was sent, after that, or
/// because the peer announced its close.
pub(crate) fn is_way_gone(kind: CallErrorKind) -> bool {
    matches!(kind, CallErrorKind::NotDelivered | CallErrorKind::Unknown | CallErrorKind::Draining)
}

pub(crate) async fn is_gone(server: &ServerRef) {
    assert_eq!(failure(server.number(1).ask()).await, CallErrorKind::ActorStopped);
    let refused = server.note("late").try_tell().unwrap_err();
    assert_eq!(refused.error.kind, CallErrorKind::ActorStopped);
    assert!(server.handle().unwrap().is_ended());
}

pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}
