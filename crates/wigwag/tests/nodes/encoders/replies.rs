//! The encoders of replies.

use std::sync::{Arc, Mutex};
use std::thread;

use wigwag::{Actor, Call, CallErrorKind, Responder};

use super::{Hooked, Notes, NotesRef, PATIENCE, Stage, in_time};

/// Answers with a value whose encoder runs code, in the turn that has told an actor of the asker's
/// node.
struct Giver {
    notes: NotesRef,
    value: Hooked,
}

#[wigwag::actor]
impl Giver {
    pub async fn give(&mut self) -> Hooked {
        self.notes.plain(1).tell().await.unwrap();
        self.value.clone()
    }

    pub async fn give_later(&mut self, responder: Responder<Hooked>) {
        self.notes.plain(1).tell().await.unwrap();
        let value = self.value.clone();
        tokio::spawn(async move { responder.send(value) });
    }
}

/// A giver at the service, and the notes at the client that it tells. The value is created with
/// these notes.
fn with_giver(
    value: impl Fn(&NotesRef) -> Hooked,
    scene: impl Fn(&Stage, &GiverRef, &NotesRef, bool),
) {
    for later in [false, true] {
        let stage = Stage::new();
        let (giver, notes) = stage.runtime.block_on(async {
            stage.client.export("notes", &Notes::default().spawn()).unwrap();
            let address = stage.client.listen("tcp://127.0.0.1:0").await.unwrap();
            let notes = stage.service.actor::<Notes>(&format!("{address}/notes")).await.unwrap();
            let giver = Giver { notes: notes.clone(), value: value(&notes) }.spawn();
            stage.service.export("giver", &giver).unwrap();
            let giver = format!("{}/giver", stage.address);
            (stage.client.actor::<Giver>(&giver).await.unwrap(), notes)
        });
        scene(&stage, &giver, &notes, later);
        stage.check_session();
    }
}

fn ask(giver: &GiverRef, later: bool) -> Call<'_, Giver, Hooked> {
    if later { giver.give_later() } else { giver.give() }
}

#[test]
fn the_encoder_of_a_reply_that_waits_for_a_lock_holds_up_no_sender_that_has_it() {
    in_time(|| {
        let lock = Arc::new(Mutex::new(()));
        let (value, has_begun) = Hooked::waiting(7, &lock);
        with_giver(
            |_| value.clone(),
            |_, giver, notes, later| {
                thread::scope(|scope| {
                    let held = lock.lock().unwrap();
                    let asked = scope.spawn(|| ask(giver, later).blocking_ask());
                    has_begun.recv().unwrap();
                    notes.plain(2).blocking_tell().unwrap();
                    drop(held);
                    assert_eq!(asked.join().unwrap().unwrap().number, 7);
                });
                assert_eq!(notes.all().blocking_ask().unwrap(), [1, 2]);
            },
        );
    });
}

#[test]
fn the_encoder_of_a_reply_may_send() {
    in_time(|| {
        let telling = |notes: &NotesRef| {
            let notes = notes.clone();
            Hooked::new(7, move || notes.plain(2).try_tell().unwrap())
        };
        with_giver(telling, |_, giver, notes, later| {
            assert_eq!(ask(giver, later).blocking_ask().unwrap().number, 7);
            assert_eq!(notes.all().blocking_ask().unwrap(), [1, 2]);
        });
    });
}

#[test]
fn an_asker_is_told_that_the_encoder_of_its_reply_has_panicked() {
    in_time(|| {
        let panics = |_: &NotesRef| Hooked::new(7, || panic!("on purpose"));
        with_giver(panics, |stage, giver, _, later| {
            let asked = ask(giver, later).timeout(PATIENCE / 2).blocking_ask();
            let kind = asked.map(|value| value.number).unwrap_err().into_error().kind;
            assert_eq!(kind, CallErrorKind::Panicked, "{later}");
            assert_eq!(stage.notes.all().blocking_ask().unwrap(), [0; 0]);
        });
    });
}
