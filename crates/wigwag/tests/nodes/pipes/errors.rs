//! The error of an ask is that of each call through its answer.

use wigwag::lifecycle::Alive;
use wigwag::{Actor, CallErrorKind, DeliveryStatus, Node};
use wigwag_testkit::ledger::in_time;

use super::{Desk, DeskRef, PATIENCE, client_of, gated, put, served};

async fn kind_of_note(desk: &DeskRef) -> (CallErrorKind, String) {
    let error = desk.note("x").ask().await.unwrap_err().into_error();
    (error.kind, error.to_string())
}

/// An actor of this process and one of another give the same errors.
#[tokio::test]
async fn an_answer_without_a_reference_fails_what_goes_through_it() {
    let first = Desk::default().spawn();
    let (_service, url) = served(&first).await;
    let (_client, there) = client_of(&url).await;
    for desk in [&first, &there] {
        for piped in [desk.find("nobody").pipe(), desk.look_up("nobody").pipe()] {
            let behind = piped.find("x").pipe();
            let further = behind.find("x").pipe();
            for one in [&further, &behind, &piped] {
                let (kind, text) = kind_of_note(one).await;
                assert_eq!(kind, CallErrorKind::NoSuchActor, "{text}");
                assert!(text.contains("the answer holds no reference"), "{text}");
            }
            // And from now on, before anything is sent.
            let (kind, text) = kind_of_note(&further).await;
            assert_eq!(kind, CallErrorKind::NoSuchActor);
            assert!(text.contains("the answer holds no reference"), "{text}");
        }
    }
}

/// The ask has panicked, and its error does not say whether the message was handled.
#[tokio::test]
async fn a_receipt_takes_no_error_of_the_ask_for_that_of_its_message() {
    let first = Desk::default().spawn();
    let (_service, url) = served(&first).await;
    let (_client, there) = client_of(&url).await;
    put(&first, "second").await;
    let piped = there.only().pipe();
    let receipt = piped.note("here").receipt().await.unwrap();
    assert_eq!(in_time(PATIENCE, receipt).await, DeliveryStatus::Delivered);
    there.remove("second").tell().await.unwrap();
    // It has no other desk to answer with.
    let piped = there.only().pipe();
    let receipt = piped.note("lost").receipt().await.unwrap();
    assert_eq!(in_time(PATIENCE, receipt).await, DeliveryStatus::Unknown);
}

/// An actor of the service itself, and one of the client, to which the service relays.
#[tokio::test]
async fn an_answer_that_leads_to_a_stopped_actor_fails_what_goes_through_it() {
    let first = Desk::default().spawn();
    let (_service, url) = served(&first).await;
    let (_client, there) = client_of(&url).await;
    let (local, own) = (put(&first, "local").await, put(&there, "own").await);
    for (desk, name) in [(local, "local"), (own, "own")] {
        let known = first.find(name).ask().await.unwrap().unwrap();
        assert_eq!(there.find(name).pipe().note("here").ask().await.unwrap(), 1, "{name}");
        let handle = desk.handle().unwrap();
        handle.stop();
        handle.ended().await;
        // Before the service knows that it has stopped, and from then on.
        for _ in 0..2 {
            let piped = there.find(name).pipe();
            let (told, asked) = (piped.note("x").try_tell(), piped.note("x").try_ask());
            let (kind, text) = in_time(PATIENCE, kind_of_note(&piped)).await;
            assert_eq!(kind, CallErrorKind::ActorStopped, "{name}: {text}");
            let kind = in_time(PATIENCE, asked.unwrap()).await.unwrap_err().kind;
            assert_eq!(kind, CallErrorKind::ActorStopped, "{name}");
            told.unwrap();
            assert!(known.note("x").ask().await.is_err());
        }
    }
}

#[tokio::test]
async fn the_error_of_an_ask_passes_down_a_chain() {
    let first = Desk::default().spawn();
    let (_service, url) = served(&first).await;
    let (_client, there) = client_of(&url).await;
    // `only` panics, since there is none.
    let piped = there.only().pipe();
    let behind = piped.only().pipe();
    let told = behind.note("held").try_tell();
    let asked = behind.note("held").try_ask();
    let further = behind.find("x").pipe();
    let (kind, text) = kind_of_note(&further).await;
    assert_eq!(kind, CallErrorKind::Panicked, "{text}");
    told.unwrap();
    assert_eq!(asked.unwrap().await.unwrap_err().kind, CallErrorKind::Panicked);
    // The actor has stopped, and so it is answered for it.
    let (kind, text) = kind_of_note(&there.find("x").pipe()).await;
    assert_eq!(kind, CallErrorKind::ActorStopped, "{text}");
}

/// Calls that are under way when the channel ends fail with the error of the ask too.
#[tokio::test]
async fn calls_behind_the_end_of_a_channel_fail_with_its_error() {
    let (first, gate) = gated();
    let (_service, url) = served(&first).await;
    let (_client, desk) = client_of(&url).await;
    for _ in 0..50 {
        let piped = desk.find_later("nobody".to_owned()).pipe();
        gate.add_permits(1);
        let mut answers = Vec::new();
        for _ in 0..30 {
            match piped.note("x").try_ask() {
                Ok(answer) => answers.push(answer),
                Err(refused) => assert_eq!(refused.error.kind, CallErrorKind::NoSuchActor),
            }
            tokio::task::yield_now().await;
        }
        for answer in answers {
            assert_eq!(answer.await.unwrap_err().kind, CallErrorKind::NoSuchActor);
        }
    }
}

#[tokio::test]
async fn the_end_of_the_session_fails_what_waits_for_an_answer() {
    let (first, _gate) = gated();
    let (service, url) = served(&first).await;
    let (_client, desk) = client_of(&url).await;
    let piped = desk.find_later("second".to_owned()).pipe();
    let asked = piped.note("x").try_ask().unwrap();
    desk.note("sync").tell().sent().await.unwrap();
    drop(service);
    let error = asked.await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Unknown | CallErrorKind::NotDelivered), "{error}");
    let (kind, text) = kind_of_note(&piped).await;
    assert_eq!(kind, CallErrorKind::NotDelivered, "{text}");
}

/// Another version of the interface of an actor that an answer leads to.
mod newer {
    /// A desk with fewer methods.
    #[derive(Default)]
    pub(super) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn note(&mut self, line: &str) -> u64 {
            line.len() as u64
        }
    }

    /// Finds a desk of this version.
    pub(super) struct Finder(pub(super) DeskRef);

    #[wigwag::actor]
    impl Finder {
        pub fn find(&self) -> DeskRef {
            self.0.clone()
        }
    }
}

/// Finds a desk of the other version.
struct Finder;

#[wigwag::actor]
impl Finder {
    pub fn find(&self) -> DeskRef {
        Desk::default().spawn()
    }
}

#[tokio::test]
async fn an_actor_of_another_version_is_called_when_its_answer_has_come() {
    let service = Node::new();
    let finder = newer::Finder(newer::Desk.spawn()).spawn();
    service.export("finder", &finder).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let client = Node::new();
    let finder = client.actor::<Finder>(&format!("{bound}/finder")).await.unwrap();
    let (kind, text) = kind_of_note(&finder.find().pipe()).await;
    assert_eq!(kind, CallErrorKind::BadArguments, "{text}");
    assert!(text.contains("another version"), "{text}");
    let found = finder.find().ask().await.unwrap();
    assert_eq!(found.note("four").ask().await.unwrap(), 4);
}

#[tokio::test]
async fn a_piped_reference_is_not_sent_on() {
    let first = Desk::default().spawn();
    put(&first, "second").await;
    let (_service, url) = served(&first).await;
    let (_client, desk) = client_of(&url).await;
    let error = desk.put("again", desk.find("second").pipe()).ask().await.unwrap_err();
    assert_eq!(error.error().kind, CallErrorKind::NotSerializable, "{error}");
}
