//! Receipts: the delivery status that they report, and receipts that nobody awaits.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use tokio::time::timeout;
use wigwag::{Actor, CallErrorKind, DeliveryStatus, Node, Responder, lifecycle::Alive};

/// Receipts are ready at once; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Default)]
struct Notes {
    seen: Vec<u64>,
    owed: Option<Responder<u64>>,
}

#[wigwag::actor]
impl Notes {
    pub fn note(&mut self, number: u64) {
        self.seen.push(number);
    }

    pub fn add(&mut self, number: u64) -> u64 {
        self.seen.push(number);
        number + 1
    }

    pub fn seen(&self) -> Vec<u64> {
        self.seen.clone()
    }

    /// Not answered while the actor lives, unless `forget` is called.
    pub fn keep(&mut self, owed: Responder<u64>) {
        self.owed = Some(owed);
    }

    pub fn forget(&mut self) {
        self.owed = None;
    }

    /// The answer cannot leave the process.
    pub fn here(&mut self, number: u64) -> wigwag::Local<u64> {
        self.seen.push(number);
        wigwag::Local(number)
    }

    pub async fn wait(&mut self) {
        std::future::pending::<()>().await;
    }

    pub fn fail(&mut self) {
        panic!("on purpose");
    }
}

/// The interface of this actor in another version.
#[wigwag::actor]
trait Later {
    fn note(&mut self, number: String);
    fn unheard_of(&mut self);
}

/// A remote reference to the actor, the client and server nodes, and the address.
async fn elsewhere(notes: &NotesRef) -> (NotesRef, Node, Node, String) {
    let (server, client) = (Node::new(), Node::new());
    server.export("notes", notes).unwrap();
    let address = format!("{}/notes", server.listen("tcp://127.0.0.1:0").await.unwrap());
    (client.actor::<Notes>(&address).await.unwrap(), client, server, address)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receipt_says_delivered_when_the_handler_has_ended_however() {
    let actor = Notes::default().spawn();
    let (remote, _client, _server, _) = elsewhere(&actor).await;
    for notes in [&actor, &remote] {
        let receipts = [
            notes.note(1).receipt().await.unwrap(),
            notes.note(2).timeout(PATIENCE).receipt().await.unwrap(),
        ];
        let answered = notes.add(3).receipt().await.unwrap();
        for receipt in receipts {
            assert_eq!(timeout(PATIENCE, receipt).await.unwrap(), DeliveryStatus::Delivered);
        }
        assert_eq!(timeout(PATIENCE, answered).await.unwrap(), DeliveryStatus::Delivered);
        // This handler has ended without an answer.
        let kept = notes.keep().receipt().await.unwrap();
        notes.forget().tell().await.unwrap();
        assert_eq!(timeout(PATIENCE, kept).await.unwrap(), DeliveryStatus::Delivered);
    }
    assert_eq!(actor.seen().ask().await.unwrap(), [1, 2, 3, 1, 2, 3]);
    // A remote error of this kind is also used for arguments that cannot leave the process, so the
    // status is unknown.
    for (notes, fate) in [(&actor, DeliveryStatus::Delivered), (&remote, DeliveryStatus::Unknown)] {
        let receipt = notes.here(4).receipt().await.unwrap();
        assert_eq!(timeout(PATIENCE, receipt).await.unwrap(), fate);
    }
    let failed = remote.fail().receipt().await.unwrap();
    assert_eq!(
        timeout(PATIENCE, failed).await.unwrap(),
        DeliveryStatus::Delivered,
        "by a panic too"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_were_not_understood_were_rejected() {
    let actor = Notes::default().spawn();
    let (_remote, client, _server, address) = elsewhere(&actor).await;
    let later = client.actor::<LaterInterface>(&address).await.unwrap();
    let receipt = later.note("one".to_owned()).receipt().await.unwrap();
    let rejected = DeliveryStatus::Rejected(CallErrorKind::BadArguments);
    assert_eq!(timeout(PATIENCE, receipt).await.unwrap(), rejected);
    let refused = later.unheard_of().receipt().await.map(drop).unwrap_err();
    assert_eq!(refused.error.kind, CallErrorKind::NoSuchMethod, "it was not even sent");
    assert!(actor.seen().ask().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_handler_that_was_broken_off_and_of_those_behind_it_nothing_is_known() {
    for is_remote in [false, true] {
        let actor = Notes::default().spawn();
        let (remote, _client, _server, _) = elsewhere(&actor).await;
        let notes = if is_remote { &remote } else { &actor };
        let receipts =
            [notes.wait().receipt().await.unwrap(), notes.note(1).receipt().await.unwrap()];
        actor.handle().unwrap().kill();
        for receipt in receipts {
            assert_eq!(timeout(PATIENCE, receipt).await.unwrap(), DeliveryStatus::Unknown);
        }
        let refused = timeout(PATIENCE, async {
            // The other process learns of the end a little later.
            loop {
                match notes.note(2).receipt().await {
                    Ok(receipt) => assert_eq!(receipt.await, DeliveryStatus::Unknown),
                    Err(refused) => return refused,
                }
            }
        });
        assert_eq!(refused.await.unwrap().error.kind, CallErrorKind::ActorStopped);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_whose_receipt_is_dropped_is_handled_and_a_dropped_ask_is_not() {
    let actor = Notes::default().spawn();
    let (remote, _client, _server, _) = elsewhere(&actor).await;
    actor.handle().unwrap().suspend();
    drop(actor.note(1).receipt().await.unwrap());
    drop(actor.add(2).ask().sent().await.unwrap());
    drop(actor.add(3).receipt().await.unwrap());
    actor.handle().unwrap().resume();
    assert_eq!(actor.seen().ask().await.unwrap(), [1, 3]);
    drop(remote.note(4).receipt().await.unwrap());
    assert_eq!(remote.seen().ask().await.unwrap(), [1, 3, 4]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn receipts_and_tells_go_in_one_order() {
    let actor = Notes::default().spawn();
    let (remote, _client, _server, _) = elsewhere(&actor).await;
    for (round, notes) in (0..).zip([&actor, &remote]) {
        let mut receipts = Vec::new();
        for number in 0..1000 {
            match number % 3 {
                0 => receipts.push(notes.note(number).receipt().await.unwrap()),
                1 => notes.note(number).tell().await.unwrap(),
                _ => drop(notes.add(number).receipt().await.unwrap()),
            }
        }
        for receipt in receipts {
            assert_eq!(timeout(PATIENCE, receipt).await.unwrap(), DeliveryStatus::Delivered);
        }
        let seen = notes.seen().ask().await.unwrap();
        assert!(seen.into_iter().skip(1000 * round).eq(0..1000));
    }
}
