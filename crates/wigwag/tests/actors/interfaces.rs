//! Actors that are called through an interface which they implement, in this process and in another.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::sync::oneshot;
use wigwag::groups::Router;
use wigwag::lifecycle::Alive;
use wigwag::{Actor, ActorOptions, AskError, CallErrorKind, DeliveryStatus, Local, Node, Yield};

/// The calls that an auditor needs.
#[wigwag::actor]
trait Book {
    fn enter(&mut self, account: u32, amount: i64);
    fn balance(&self, account: u32) -> i64;
    fn amounts(&self, items: Yield<i64>);
    fn entries(&self) -> Vec<i64>;
    #[cfg(test)]
    fn note(&mut self, text: String) -> usize;
    #[cfg(not(test))]
    fn no_such_call(&self, of: NoSuchType);
}

/// A part of them.
#[wigwag::actor]
trait Reader {
    fn entries(&self) -> Vec<i64>;
    fn balance(&self, account: u32) -> i64;
}

/// An actor with the calls in another order, and more of them.
#[derive(Default)]
struct Ledger {
    entered: Vec<(u32, i64)>,
    through_itself: Option<BookRef>,
}

#[wigwag::actor]
impl Ledger {
    /// Takes an amount back. It has the number that `enter` has in the interface.
    pub fn correct(&mut self, account: u32, amount: i64) {
        self.entered.push((account, -amount));
    }

    pub fn note(&mut self, text: &str) -> usize {
        text.len()
    }

    pub fn balance(&self, account: u32) -> i64 {
        self.entered.iter().filter(|(of, _)| *of == account).map(|(_, amount)| amount).sum()
    }

    pub fn entries(&self) -> Vec<i64> {
        self.entered.iter().map(|(_, amount)| *amount).collect()
    }

    pub fn enter(&mut self, account: u32, amount: i64) {
        self.entered.push((account, amount));
    }

    pub fn amounts(&self, mut items: Yield<i64>) {
        for &(_, amount) in &self.entered {
            items.try_send(amount).unwrap();
        }
        items.finish();
    }

    pub async fn hold(&mut self, until: Local<oneshot::Receiver<()>>) {
        let _ = until.0.await;
    }

    pub fn know(&mut self, itself: Local<BookRef>) {
        self.through_itself = Some(itself.0);
    }

    pub async fn ask_itself(&mut self) -> Result<i64, String> {
        let itself = self.through_itself.take().unwrap();
        itself.balance(1).ask().await.map_err(|error| format!("{:?}", error.kind()))
    }
}

/// Another actor with the calls of a reader, which stays in its process.
struct Fixed(i64);

#[wigwag::actor(local)]
impl Fixed {
    pub fn entries(&self) -> Vec<i64> {
        vec![self.0]
    }

    pub async fn balance(&self, account: u32) -> i64 {
        self.0 * i64::from(account)
    }
}

/// Knows the interface alone.
async fn audit(book: impl Into<BookRef>) -> i64 {
    let book = book.into();
    book.enter(1, 30).tell().await.unwrap();
    book.enter(1, -10).try_tell().unwrap();
    book.balance(1).ask().await.unwrap()
}

#[tokio::test]
async fn an_actor_is_called_through_an_interface_in_every_way() {
    let ledger = Ledger::default().spawn();
    assert_eq!(audit(&ledger).await, 20);
    let book = BookRef::from(&ledger);
    assert_eq!(book.note("four".into()).ask().await.unwrap(), 4);
    book.enter(2, 5).tell().sent().await.unwrap();
    book.enter(2, 6).urgent().tell().await.unwrap();
    let receipt = book.enter(2, 7).receipt().await.unwrap();
    assert_eq!(receipt.await, DeliveryStatus::Delivered);
    let answer = book.balance(2).try_ask().unwrap();
    assert_eq!(answer.await.unwrap(), 18);
    assert_eq!(tokio::spawn(book.balance(2).into_ask()).await.unwrap().unwrap(), 18);
    let (mut amounts, mut streamed) = (Vec::new(), book.amounts());
    while let Some(amount) = streamed.next().await {
        amounts.push(amount.unwrap());
    }
    assert_eq!(amounts, book.entries().ask().await.unwrap());
    let mut pipeline = book.pipeline(8).unwrap();
    for account in 0..4 {
        pipeline.push(book.balance(account), account).await.unwrap();
    }
    let mut balances = Vec::new();
    while let Some((account, balance)) = pipeline.answer().await {
        balances.push((account, balance.unwrap()));
    }
    assert_eq!(balances, [(0, 0), (1, 20), (2, 18), (3, 0)]);
    let blocking = book.clone();
    let there = tokio::task::spawn_blocking(move || blocking.balance(1).blocking_ask().unwrap());
    assert_eq!(there.await.unwrap(), 20);
}

#[tokio::test]
async fn calls_through_the_actor_and_through_its_interfaces_keep_their_order() {
    let ledger = Ledger::default().spawn();
    let entries = wigwag::spawn(async move {
        let book = BookRef::from(&ledger);
        for number in (0..3_000).step_by(3) {
            ledger.enter(0, number).tell().await.unwrap();
            book.enter(0, number + 1).tell().await.unwrap();
            ledger.correct(0, -number - 2).tell().await.unwrap();
        }
        ReaderRef::from(&book).entries().ask().await.unwrap()
    });
    assert_eq!(entries.await.unwrap(), (0..3_000).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_refused_message_comes_back_as_one_of_the_interface() {
    let ledger = Ledger::default().spawn_with(ActorOptions::default().mailbox_calls(1));
    let book = BookRef::from(&ledger);
    let (release, until) = oneshot::channel();
    ledger.hold(Local(until)).tell().await.unwrap();
    while ledger.handle().unwrap().waiting() > 0 {
        tokio::task::yield_now().await;
    }
    book.enter(1, 1).try_tell().unwrap();
    let refused = book.enter(1, 2).try_tell().unwrap_err();
    assert_eq!(refused.error.kind, CallErrorKind::Full);
    assert!(matches!(refused.message, BookMessage::Enter { account: 1, amount: 2 }));
    // It waits for room when it is told again, and gets in when there is some.
    let mut again = pin!(book.call::<()>(refused.message).tell());
    assert!(again.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let late = book.balance(7).timeout(Duration::from_millis(1)).ask().await;
    let Err(AskError::Refused(late)) = late else { panic!("there was room: {late:?}") };
    assert!(matches!(late.message, BookMessage::Balance { account: 7 }));
    release.send(()).unwrap();
    again.await.unwrap();
    assert_eq!(book.entries().ask().await.unwrap(), [1, 2]);
    ledger.handle().unwrap().kill();
    ledger.handle().unwrap().ended().await;
    let refused = book.note("late".into()).try_tell().unwrap_err();
    assert_eq!(refused.error.kind, CallErrorKind::ActorStopped);
    assert!(matches!(refused.message, BookMessage::Note { text } if text == "late"));
}

#[tokio::test]
async fn a_reference_to_an_interface_is_one_to_the_actor() {
    let ledger = Ledger::default().spawn();
    let (book, again) = (BookRef::from(&ledger), BookRef::from(&ledger));
    let handle = ledger.handle().unwrap();
    assert_eq!(book.handle().unwrap(), handle);
    assert!(book.as_ref().is_local());
    // A circle of asks is found through it.
    ledger.know(Local(book.clone())).tell().await.unwrap();
    assert_eq!(ledger.ask_itself().ask().await.unwrap(), Err("CallCycle".into()));
    // It keeps the actor alive, and the last one ends it.
    drop((ledger, book));
    assert_eq!(again.balance(1).ask().await.unwrap(), 0);
    drop(again);
    handle.ended().await;
}

#[tokio::test]
async fn actors_of_different_types_are_members_of_one_router() {
    let (ledger, fixed) = (Ledger::default().spawn(), Fixed(5).spawn());
    let members = [ReaderRef::from(&ledger), ReaderRef::from(&fixed), ReaderRef::from(&ledger)];
    let router = Router::<ReaderInterface>::of(members);
    let mut balances = Vec::new();
    for _ in 0..4 {
        balances.push(router.pick().unwrap().balance(3).ask().await.unwrap());
    }
    assert_eq!(balances, [0, 15, 0, 15]);
}

/// Two nodes, and a reference of the second to the ledger of the first.
async fn across() -> ([Node; 2], LedgerRef, LedgerRef) {
    let nodes = [Node::new(), Node::new()];
    let ledger = Ledger::default().spawn();
    // It is exported through an interface, and is exported whole.
    nodes[0].export("ledger", &BookRef::from(&ledger)).unwrap();
    let bound = nodes[0].listen("tcp://127.0.0.1:0").await.unwrap();
    let there = nodes[1].actor::<Ledger>(&format!("{bound}/ledger")).await.unwrap();
    assert!(!there.as_ref().is_local());
    (nodes, ledger, there)
}

#[tokio::test]
async fn an_actor_of_another_process_is_called_through_an_interface() {
    let (_nodes, ledger, there) = across().await;
    assert_eq!(audit(&there).await, 20);
    let entries = wigwag::spawn(async move {
        let book = BookRef::from(&there);
        // Long enough for calls of one method to form runs.
        for number in 2..2_000 {
            match number / 10 % 3 {
                0 => book.enter(0, number).tell().await.unwrap(),
                1 => there.enter(0, number).tell().await.unwrap(),
                _ => there.correct(0, -number).tell().await.unwrap(),
            }
        }
        book.enter(0, 2_000).tell().sent().await.unwrap();
        let mut pipeline = book.pipeline(4).unwrap();
        pipeline.push(book.entries(), ()).await.unwrap();
        pipeline.answer().await.unwrap().1.unwrap()
    });
    let entries = entries.await.unwrap();
    assert_eq!(entries[..2], [30, -10]);
    assert_eq!(entries[2..], (2..=2_000).collect::<Vec<_>>());
    assert_eq!(ledger.entries().ask().await.unwrap(), entries);
}

#[tokio::test]
async fn unserializable_messages_come_back_as_messages_of_the_interface() {
    let (nodes, _, there) = across().await;
    let book = BookRef::from(&there);
    let refused = book.enter(3, 4).urgent().try_tell().unwrap_err();
    assert_eq!(refused.error.kind, CallErrorKind::Remote);
    assert!(matches!(refused.message, BookMessage::Enter { account: 3, amount: 4 }));
    let refused = book.note("x".repeat(17 << 20)).try_tell().unwrap_err();
    assert_eq!(refused.error.kind, CallErrorKind::TooLarge);
    assert!(matches!(refused.message, BookMessage::Note { text } if text.len() == 17 << 20));
    nodes[1].close(Duration::from_secs(1)).await;
    let Err(refused) = book.balance(9).try_ask() else { panic!("the node is closed") };
    assert!(matches!(refused.message, BookMessage::Balance { account: 9 }));
}
