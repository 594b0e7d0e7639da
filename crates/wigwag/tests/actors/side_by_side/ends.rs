//! The end of an actor with calls that have begun.

use std::sync::atomic::Ordering;

use wigwag::{Actor, CallErrorKind, Reason, lifecycle::Alive};

use super::desk::{Desk, of, within};

#[tokio::test]
async fn a_suspended_actor_begins_nothing_and_lets_end_what_has_begun() {
    let (desk, mut outside) = Desk::new();
    let desk = desk.spawn();
    let (first, second) =
        (desk.in_order("a", 1).try_ask().unwrap(), desk.in_order("a", 2).try_ask().unwrap());
    assert_eq!(outside.hears(1).await, ["1 begins"]);
    let handle = desk.handle().unwrap();
    handle.suspend();
    outside.gate.add_permits(2);
    assert_eq!(within(first).await.unwrap(), 1);
    desk.visit(|_| ()).await.unwrap();
    assert_eq!(outside.hears(1).await, ["1 ends"]);
    outside.hears_nothing();
    handle.resume();
    assert_eq!(within(second).await.unwrap(), 2);
}

#[tokio::test]
async fn the_end_of_a_future_comes_back_to_the_state() {
    let (desk, outside) = Desk::new();
    let desk = desk.spawn();
    let asks: Vec<_> = (0..3).map(|number| desk.note(number).try_ask().unwrap()).collect();
    assert_eq!(desk.notes().ask().await.unwrap(), [0; 0]);
    outside.gate.add_permits(3);
    // Calls that run side by side end in any order.
    let mut places = Vec::new();
    for ask in asks {
        places.push(within(ask).await.unwrap());
    }
    places.sort_unstable();
    assert_eq!(places, [1, 2, 3]);
    let mut notes = desk.notes().ask().await.unwrap();
    notes.sort_unstable();
    assert_eq!(notes, [0, 1, 2]);
}

#[tokio::test]
async fn a_killed_actor_frees_all_its_askers() {
    let (desk, mut outside) = Desk::new();
    let desk = desk.spawn();
    let mut asks: Vec<_> = (0..3).map(|number| desk.wait(number).try_ask().unwrap()).collect();
    asks.extend((3..6).map(|number| desk.in_order("a", number).try_ask().unwrap()));
    outside.hears(4).await;
    let handle = desk.handle().unwrap();
    handle.kill();
    for ask in asks {
        assert_eq!(within(ask).await.unwrap_err().kind, CallErrorKind::ActorStopped);
    }
    assert_eq!(within(handle.ended()).await, Reason::Killed);
    assert_eq!(outside.alive.load(Ordering::SeqCst), 0);
    assert!(outside.heard.recv().await.is_none(), "no hook runs");
}

#[tokio::test]
async fn a_panic_ends_the_actor_and_only_its_own_asker_hears_of_it() {
    for first_part in [true, false] {
        let (desk, mut outside) = Desk::new();
        let desk = desk.spawn();
        let bad = match first_part {
            true => desk.panic_first(),
            false => desk.panic_later(),
        };
        let waits = (!first_part).then(|| bad.try_ask().unwrap());
        let others: Vec<_> =
            (0..3).map(|number| desk.in_order("a", number).try_ask().unwrap()).collect();
        outside.hears(1).await;
        outside.gate.add_permits(1);
        let outcome = match waits {
            Some(ask) => within(ask).await,
            None => within(desk.panic_first().try_ask().unwrap()).await,
        };
        assert_eq!(outcome.unwrap_err().kind, CallErrorKind::Panicked);
        let others = others.into_iter().skip(usize::from(first_part));
        for ask in others {
            assert_eq!(within(ask).await.unwrap_err().kind, CallErrorKind::ActorStopped);
        }
        let reason = within(desk.handle().unwrap().ended()).await;
        assert_eq!(reason, Reason::Panicked("on purpose".into()));
        assert_eq!(outside.alive.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test]
async fn a_panic_waits_for_the_async_call_at_hand() {
    let (desk, mut outside) = Desk::new();
    let desk = desk.spawn();
    let bad = desk.panic_later().try_ask().unwrap();
    let alone = desk.alone(7).try_ask().unwrap();
    outside.hears(2).await;
    outside.gate.add_permits(1);
    assert_eq!(within(bad).await.unwrap_err().kind, CallErrorKind::Panicked);
    assert!(!desk.handle().unwrap().is_ended());
    outside.gate.add_permits(1);
    assert_eq!(within(alone).await.unwrap(), 7);
    let reason = within(desk.handle().unwrap().ended()).await;
    assert_eq!(reason, Reason::Panicked("on purpose".into()));
}

#[tokio::test]
async fn stop_waits_for_what_has_begun_and_begins_nothing() {
    let (desk, mut outside) = Desk::new();
    let desk = desk.spawn();
    let note = desk.note(1).try_ask().unwrap();
    let first = desk.in_order("a", 2).try_ask().unwrap();
    let second = desk.in_order("a", 3).try_ask().unwrap();
    outside.hears(2).await;
    let handle = desk.handle().unwrap();
    handle.stop();
    let late = desk.notes().try_ask().unwrap();
    assert_eq!(within(second).await.unwrap_err().kind, CallErrorKind::ActorStopped);
    assert!(!handle.is_ended());
    outside.gate.add_permits(2);
    assert_eq!(within(note).await.unwrap(), 1, "it may come back to the state");
    assert_eq!(within(first).await.unwrap(), 2);
    assert_eq!(within(late).await.unwrap_err().kind, CallErrorKind::ActorStopped);
    assert_eq!(within(handle.ended()).await, Reason::Shutdown);
    let heard = outside.hears(3).await;
    assert_eq!(heard, ["1 ends", "2 ends", "stopped with 0: it was asked to stop"]);
}

#[tokio::test]
async fn an_actor_that_stops_can_be_killed() {
    let (desk, mut outside) = Desk::new();
    let desk = desk.spawn();
    let ask = desk.wait(1).try_ask().unwrap();
    outside.hears(1).await;
    let handle = desk.handle().unwrap();
    handle.stop();
    tokio::task::yield_now().await;
    assert!(!handle.is_ended());
    handle.kill();
    assert_eq!(within(ask).await.unwrap_err().kind, CallErrorKind::ActorStopped);
    assert_eq!(within(handle.ended()).await, Reason::Killed);
}

#[tokio::test]
async fn drain_and_the_last_reference_wait_for_all() {
    for drains in [true, false] {
        let (desk, mut outside) = Desk::new();
        let desk = desk.spawn_with(of(2));
        let handle = desk.handle().unwrap();
        for number in 0..3 {
            desk.in_order("a", number).tell().await.unwrap();
        }
        desk.wait(3).tell().await.unwrap();
        assert_eq!(outside.hears(1).await, ["0 begins"]);
        if drains {
            handle.drain();
        } else {
            drop(desk);
        }
        tokio::task::yield_now().await;
        assert!(!handle.is_ended());
        outside.gate.add_permits(4);
        let reason = within(handle.ended()).await;
        assert_eq!(reason, if drains { Reason::Shutdown } else { Reason::Normal });
        assert_eq!(outside.hears(8).await.len(), 8);
    }
}

#[tokio::test]
async fn an_actor_that_only_its_futures_keep_is_woken_by_new_calls() {
    let (desk, mut outside) = Desk::new();
    let desk = desk.spawn();
    let handle = desk.handle().unwrap();
    let this = desk.itself().ask().await.unwrap().0;
    desk.wait(1).tell().await.unwrap();
    drop(desk);
    assert_eq!(outside.hears(1).await, ["1 begins"]);
    tokio::task::yield_now().await;
    let again = this.reference();
    assert_eq!(within(again.notes().ask()).await.unwrap(), [0; 0]);
    drop((again, this));
    outside.gate.add_permits(1);
    assert_eq!(within(handle.ended()).await, Reason::Normal);
}
