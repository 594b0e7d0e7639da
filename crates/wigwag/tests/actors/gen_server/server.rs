//! The server of these tests, somebody who watches it, and what a test waits with.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use wigwag::{
    Actor, CallErrorKind, Handle, Life, Local, Node, Reason, Responder, This,
    lifecycle::{Alive, Down, Exit},
};

/// How a server starts and ends, beside what is usual.
#[derive(Clone, Default)]
pub(crate) enum Manner {
    #[default]
    Good,
    /// Its start fails, for this reason.
    FailsToStart(Reason),
    PanicsInStart,
    /// Its start takes so long.
    StartsAfter(Duration),
    /// Its start is its end, and it wants that.
    StopsInStart(Reason),
    /// Its hook at the end panics.
    PanicsAtEnd,
    /// Its hook at the end takes so long.
    EndsAfter(Duration),
}

/// Does what a call says, and says to its test what happens to it.
pub(crate) struct Server {
    says: UnboundedSender<String>,
    manner: Manner,
    pub(crate) state: String,
    /// Answers that are owed, by their number.
    pub(crate) owed: BTreeMap<u64, Responder<u64>>,
}

impl Server {
    pub(crate) fn new(manner: Manner) -> (Server, Heard) {
        let (says, heard) = unbounded_channel();
        (Server { says, manner, state: String::new(), owed: BTreeMap::new() }, Heard(heard))
    }

    pub(crate) fn say(&self, what: impl Into<String>) {
        // Nobody listens at the end of a test.
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

    /// Answers after so many milliseconds, and serves others meanwhile.
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

    /// Owes the answer until somebody has it given.
    pub fn owe(&mut self, number: u64, answer: Responder<u64>) {
        self.owed.insert(number, answer);
    }

    pub fn give(&mut self, number: u64) {
        if let Some(answer) = self.owed.remove(&number) {
            answer.send(number);
        }
    }

    /// True when somebody waits for that answer.
    pub fn is_wanted(&self, number: u64) -> bool {
        self.owed.get(&number).is_some_and(Responder::is_wanted)
    }

    pub fn stop(&self, this: &This<Self>, reason: Local<Reason>) -> bool {
        this.stop(reason.0);
        true
    }

    /// The same without an answer.
    pub fn stop_silently(&self, this: &This<Self>, reason: Local<Reason>, answer: Responder<u64>) {
        this.stop(reason.0);
        drop(answer);
    }

    /// The same for a caller of any process.
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

/// A server that runs, and what it says.
pub(crate) fn server() -> (ServerRef, Heard) {
    let (server, heard) = Server::new(Manner::Good);
    (server.spawn(), heard)
}

/// What a server says, in order.
pub(crate) struct Heard(UnboundedReceiver<String>);

impl Heard {
    pub(crate) async fn next(&mut self) -> String {
        soon(self.0.recv()).await.unwrap()
    }

    /// All to the end of the server, its state dropped.
    pub(crate) async fn rest(mut self) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(word) = soon(self.0.recv()).await {
            all.push(word);
        }
        all
    }

    /// What was said by now.
    pub(crate) fn by_now(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.0.try_recv().ok()).collect()
    }
}

/// Watches servers and tells why they ended.
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

    /// Takes the ends of others as news.
    fn exited(&mut self, _: &This<Watcher>, exit: Exit) -> Result<(), Reason> {
        let _ = self.says.send(exit.reason);
        Ok(())
    }
}

/// A watcher, and the reasons that it hears.
pub(crate) fn watcher() -> (WatcherRef, UnboundedReceiver<Reason>) {
    let (says, heard) = unbounded_channel();
    (Watcher { says }.spawn(), heard)
}

/// Two nodes with a server at the first: the reference there, and the one of the second.
pub(crate) async fn apart(server: &ServerRef) -> (Node, Node, ServerRef, String) {
    let (service, client) = (Node::new(), Node::new());
    service.export("server", server).unwrap();
    let address = format!("{}/server", service.listen("tcp://127.0.0.1:0").await.unwrap());
    let there = soon(client.actor::<Server>(&address)).await.unwrap();
    (service, client, there, address)
}

/// Far longer than anything here takes.
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(60), work).await.unwrap()
}

pub(crate) async fn ended(server: &ServerRef) -> Reason {
    let handle = server.handle().unwrap();
    soon(handle.ended()).await
}

/// What became of an ask that has no answer.
pub(crate) async fn failure<T: wigwag::codec::Decode<'static>>(
    ask: impl Future<Output = Result<T, wigwag::AskError<ServerMessage>>>,
) -> CallErrorKind {
    match soon(ask).await {
        Ok(_) => panic!("it was answered"),
        Err(error) => error.error().kind,
    }
}

/// True for the ends of a call whose way has ended: before it left, in between, or because the other
/// side said that it closes.
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
