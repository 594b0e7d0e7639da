//! The encoders of arguments.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::thread;

use super::{Hooked, Stage, everywhere, in_time, send, text_of};

/// The other sender holds the lock that the encoder waits for, and tells the same actor.
#[test]
fn an_encoder_that_waits_for_a_lock_holds_up_no_sender_that_has_it() {
    everywhere(|stage, form, way, in_turns| {
        let lock = Arc::new(Mutex::new(()));
        let (value, has_begun) = Hooked::waiting(7, &lock);
        let notes = stage.notes.clone();
        let task = async move {
            // From now on a turn holds calls of this channel.
            notes.plain(1).tell().await.unwrap();
            send(&notes, way, form(&notes, value)).await;
        };
        thread::scope(|scope| {
            let held = lock.lock().unwrap();
            scope.spawn(|| stage.run(in_turns, task).unwrap());
            has_begun.recv().unwrap();
            stage.notes.plain(2).blocking_tell().unwrap();
            drop(held);
        });
        assert_eq!(stage.notes.all().blocking_ask().unwrap(), [1, 2, 7], "{way:?} {in_turns}");
    });
}

#[test]
fn calls_of_an_encoder_are_sent_before_the_call_that_it_encodes_and_after_earlier_ones() {
    everywhere(|stage, form, way, in_turns| {
        let (notes, other) = (stage.notes.clone(), stage.other.clone());
        let inner = notes.clone();
        let value = Hooked::new(4, move || {
            // An encoder within the encoder.
            let value = Hooked { number: 3, hook: Some(Arc::new(|| {})) };
            form(&inner, value).try_tell().unwrap();
            other.plain(1).try_tell().unwrap();
        });
        let task = async move {
            notes.plain(1).tell().await.unwrap();
            notes.plain(2).tell().await.unwrap();
            send(&notes, way, form(&notes, value)).await;
            notes.plain(5).tell().await.unwrap();
            notes.plain(6).tell().await.unwrap();
        };
        stage.run(in_turns, task).unwrap();
        let all = stage.notes.all().blocking_ask().unwrap();
        assert_eq!(all, [1, 2, 3, 4, 5, 6], "{way:?} {in_turns}");
        assert_eq!(stage.other.all().blocking_ask().unwrap(), [1]);
        stage.check_session();
    });
}

#[test]
fn a_caller_whose_encoder_panics_gets_the_panic_and_nothing_of_the_call_is_sent() {
    everywhere(|stage, form, way, in_turns| {
        let notes = stage.notes.clone();
        let task = async move {
            notes.plain(1).tell().await.unwrap();
            notes.plain(2).tell().await.unwrap();
            send(&notes, way, form(&notes, Hooked::new(7, || panic!("on purpose")))).await;
        };
        assert_eq!(stage.run(in_turns, task), Err("on purpose".to_owned()), "{way:?} {in_turns}");
        let notes = stage.notes.clone();
        let task = async move { send(&notes, way, notes.plain(3)).await };
        stage.run(in_turns, task).unwrap();
        assert_eq!(stage.notes.all().blocking_ask().unwrap(), [1, 2, 3], "{way:?} {in_turns}");
        stage.check_session();
    });
}

#[test]
fn a_pipeline_goes_on_after_an_ask_whose_encoder_has_panicked() {
    in_time(|| {
        let Stage { runtime, notes, .. } = &Stage::new();
        let mut pipeline = notes.pipeline(4).unwrap();
        for round in 0..3 {
            let bad = notes.own(Hooked::new(7, || panic!("on purpose")));
            let pushed = AssertUnwindSafe(|| runtime.block_on(pipeline.push(bad, 7)));
            let payload = catch_unwind(pushed).map(drop).unwrap_err();
            assert_eq!(text_of(&*payload), "on purpose");
            let answered = runtime.block_on(async {
                pipeline.push(notes.plain(round), round).await.unwrap();
                pipeline.answer().await.unwrap()
            });
            assert_eq!((answered.0, answered.1.unwrap()), (round, ()));
        }
        assert_eq!(notes.all().blocking_ask().unwrap(), [0, 1, 2]);
    });
}
