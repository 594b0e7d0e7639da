use alloc::vec::Vec;

use super::*;
use crate::flow_control::budget::Budget;
use crate::flow_control::credit::Window;
use crate::limits::{
    FRAME_RESERVE_UNITS, FRAME_UNITS, SCALED_SESSION_UNITS_MAX, SCALED_WINDOW_UNITS_MAX,
    SESSION_UNITS_MAX, WINDOW_UNITS_MAX,
};

#[test]
fn a_blocked_sender_sends_need_once() {
    let mut window = Window::new(2);
    assert_eq!(window.need(2), None);
    assert!(window.take(2));
    assert_eq!(window.need(1), Some(3));
    assert_eq!(window.need(1), None);
    assert_eq!(window.need(2), Some(4));
    assert_eq!(window.wanted_limit(), Some((4, 2)));
    window.raise(4);
    assert_eq!(window.wanted_limit(), None);
}

#[test]
fn revoke_leaves_the_used_units() {
    let mut window = Window::new(100);
    window.take(40);
    assert_eq!(window.revoke(10), 40);
    assert_eq!(window.free(), 0);
}

#[test]
fn credit_is_sent_at_half_a_window() {
    let mut budget = Budget::default();
    let mut grant = Grant::new(64, &mut budget);
    assert!(!grant.free(31));
    assert!(grant.free(1));
    assert_eq!(grant.announce(), (96, 0));
    assert!(!grant.free(1));
}

#[test]
fn a_blocked_sender_doubles_the_window_up_to_its_limit() {
    let mut budget = Budget::default();
    let mut grant = Grant::new(64, &mut budget);
    let mut window = 64;
    for round in 0..20 {
        assert_eq!(grant.need(grant.announced() + 1, 0, &mut budget), window < WINDOW_UNITS_MAX);
        window = (window * 2).min(WINDOW_UNITS_MAX);
        assert_eq!(grant.announce().0, window, "round {round}");
    }
    assert!(!grant.free(0));
    assert!(grant.need(grant.announced() + 1, 0, &mut budget) || !grant.is_due());
    assert!(grant.free(1), "blocked: the first free unit is announced");
}

#[test]
fn windows_share_a_budget_and_return_it() {
    let mut budget = Budget::default();
    let mut greedy: [Grant; 3] = core::array::from_fn(|_| Grant::new(64, &mut budget));
    for grant in &mut greedy {
        for _ in 0..20 {
            grant.need(u64::MAX / 2, 0, &mut budget);
        }
    }
    let sum: u64 = greedy.iter().map(|grant| grant.window).sum();
    assert!(sum <= SESSION_UNITS_MAX + FRAME_RESERVE_UNITS, "{sum}");
    let [first, second, third] = greedy;
    for grant in [first, second, third] {
        grant.close(&mut budget);
    }
    assert_eq!(budget.held(), (0, 0));
}

/// Initial windows are granted beyond the budget; the overdraft must not be returned to it.
#[test]
fn an_overdrawn_budget_gets_back_no_more_than_it_had() {
    let mut budget = Budget::default();
    let first = SESSION_UNITS_MAX / 64;
    let grants: Vec<Grant> = (0..first * 2).map(|_| Grant::new(64, &mut budget)).collect();
    let mut kept = grants;
    kept.drain(..first as usize).for_each(|grant| grant.close(&mut budget));
    let grant = &mut kept[0];
    grant.need(u64::MAX / 2, 0, &mut budget);
    assert_eq!(grant.window(), FRAME_UNITS, "the other grants hold the rest");
}

/// Two busy channels must not shut out a third that sends one large frame.
#[test]
fn a_large_frame_gets_credit_whatever_other_channels_hold() {
    let mut budget = Budget::default();
    let mut busy: [Grant; 40] = core::array::from_fn(|_| Grant::new(64, &mut budget));
    for grant in &mut busy {
        for _ in 0..20 {
            grant.need(u64::MAX / 2, 0, &mut budget);
        }
    }
    let mut late = Grant::new(64, &mut budget);
    assert!(late.need(FRAME_UNITS, 0, &mut budget));
    assert_eq!(late.announce().0, FRAME_UNITS);
}

/// At a long RTT, the sender uses up its window and is blocked, and the queue is dry long
/// before more arrives. A sender that waits for a slow actor finds the queue full each time it
/// is blocked.
#[test]
fn a_queue_runs_dry_at_a_long_rtt_but_not_with_a_slow_actor() {
    for slow in [false, true] {
        let mut budget = Budget::default();
        let mut grant = Grant::new(64, &mut budget);
        let (mut window, mut dry) = (Window::new(64), 0);
        for _ in 0..200 {
            let used = window.lease(u64::MAX);
            let wanted = window.need(1).unwrap();
            // At a short RTT, NEED arrives while all used units are still queued; at a long
            // one, afterwards.
            let before = if slow { 0 } else { used };
            grant.free(before);
            grant.need(wanted, 0, &mut budget);
            let more = if slow { grant.window() / 4 } else { 0 };
            grant.free(more.min(used - before));
            dry += u32::from(grant.ran_dry());
            assert!(!grant.ran_dry(), "it is reported once");
            window.raise(grant.announce().0);
        }
        assert_eq!(dry > 100, !slow, "{dry}");
        assert!(!slow || dry == 0, "{dry}");
    }
}

#[test]
fn a_scaled_window_grows_and_is_returned_to_its_budget() {
    let mut budget = Budget::default();
    let mut grant = Grant::new(64, &mut budget);
    assert!(!grant.scale(0, &mut budget), "the RTT is short");
    assert!(grant.scale(SCALED_WINDOW_UNITS_MAX, &mut budget));
    assert_eq!(grant.window(), 64 * BASE_GROWTH, "out of the base budget");
    for _ in 0..20 {
        grant.need(grant.announced() + 1, 0, &mut budget);
        grant.scale(SCALED_WINDOW_UNITS_MAX, &mut budget);
        grant.announce();
    }
    assert_eq!(grant.window(), SCALED_WINDOW_UNITS_MAX);
    let (base, scaled) = budget.held();
    assert!(base <= WINDOW_UNITS_MAX && scaled <= SCALED_SESSION_UNITS_MAX, "{base} and {scaled}");
    assert!(!grant.need(1, 0, &mut budget), "the base window suffices");
    grant.close(&mut budget);
    assert_eq!(budget.held(), (0, 0));
}

#[test]
fn using_more_than_granted_is_an_error() {
    let mut grant = Grant::new(64, &mut Budget::default());
    assert!(grant.check(64).is_ok());
    assert!(grant.check(65).is_err());
}

fn bounded(most: u64, budget: &mut Budget) -> Grant {
    let free = alloc::sync::Arc::new(core::sync::atomic::AtomicU64::new(most));
    Grant::bounded(64, ActorBound::new(most, free), budget)
}

#[test]
fn a_bounded_window_does_not_grow_beyond_the_bound() {
    for (most, first) in [(1, 1), (4, 4), (100, 16)] {
        let mut budget = Budget::default();
        let mut grant = bounded(most, &mut budget);
        assert_eq!(grant.announced(), first);
        for _ in 0..20 {
            let used = grant.announce().0;
            assert!(grant.check(used).is_ok());
            grant.need(used + 1, 0, &mut budget);
            assert!(!grant.fit_call(&mut budget), "calls wait to be taken");
        }
        assert_eq!(grant.window(), most);
        assert!(!grant.scale(SCALED_WINDOW_UNITS_MAX, &mut budget));
        assert!(grant.free(most), "the sender is blocked");
        grant.close(&mut budget);
        assert_eq!(budget.held(), (0, 0));
    }
}

#[test]
fn a_call_beyond_a_bounded_window_gets_room_when_the_queue_is_empty() {
    let mut budget = Budget::default();
    let mut grant = bounded(4, &mut budget);
    assert!(grant.check(3).is_ok());
    grant.need(3 + 9, 0, &mut budget);
    assert!(!grant.fit_call(&mut budget), "three units wait");
    grant.free(3);
    assert!(grant.fit_call(&mut budget));
    assert_eq!(grant.announce().0, 12);
    assert_eq!(grant.window(), 9, "as large as the call");
}

#[test]
fn a_sender_may_use_the_units_of_hello_before_it_knows_of_a_smaller_limit() {
    let mut grant = bounded(4, &mut Budget::default());
    assert!(grant.check(64).is_ok());
    assert!(grant.check(65).is_err());
}

/// The room for a long call is on top of the window, and serves one channel after the other.
#[test]
fn a_long_call_gets_its_units_beyond_the_window_until_it_is_taken() {
    let long = 4 * WINDOW_UNITS_MAX;
    let mut budget = Budget::default().with_long_calls(long * 64);
    let mut grants: Vec<Grant> = (0..6).map(|_| Grant::new(64, &mut budget)).collect();
    for (at, grant) in grants.iter_mut().enumerate() {
        assert!(grant.need(long, long, &mut budget) || at >= 4);
        let told = grant.announce().0;
        assert_eq!(told == long, at < 4, "channel {at} was told {told}");
        assert_eq!(grant.is_short(), at >= 4);
        assert!(grant.capacity() >= told);
    }
    // A fifth has room when the first actor has taken its call, and not before.
    assert!(!grants[4].fit_long_call(&mut budget));
    let window = grants[0].window();
    grants[0].free(long);
    assert!(grants[0].settle(&mut budget));
    assert_eq!((grants[0].capacity(), grants[0].announce().0), (window, long + window));
    assert!(grants[4].fit_long_call(&mut budget));
    assert_eq!(grants[4].announce().0, long);
    // A channel that ends gives its units back too.
    assert!(!grants[5].fit_long_call(&mut budget));
    grants.remove(1).close(&mut budget);
    assert!(grants[4].fit_long_call(&mut budget));
}

#[test]
fn a_channel_has_room_for_one_long_call_however_slow_its_actor_is() {
    let long = 4 * WINDOW_UNITS_MAX;
    let mut budget = Budget::default().with_long_calls(long * 64);
    let mut grant = Grant::new(64, &mut budget);
    assert!(grant.need(long, long, &mut budget));
    grant.announce();
    grant.need(2 * long, long, &mut budget);
    assert_eq!(grant.announce().0, long, "the first one waits for the actor");
    grant.free(long);
    grant.settle(&mut budget);
    grant.fit_long_call(&mut budget);
    assert_eq!(grant.announce().0, 2 * long);
    let longer = long + 2 * WINDOW_UNITS_MAX;
    grant.free(long);
    grant.settle(&mut budget);
    grant.need(2 * long + longer, longer, &mut budget);
    assert!(grant.announce().0 < 2 * long + longer, "none is longer than the longest");
}

#[test]
fn short_calls_to_a_slow_actor_get_nothing_beyond_the_window() {
    let mut budget = Budget::default().with_long_calls(1 << 24);
    let mut grant = Grant::new(64, &mut budget);
    let mut wanted = 0;
    for _ in 0..100 {
        wanted = grant.announced() + 1;
        grant.need(wanted, 0, &mut budget);
        grant.announce();
    }
    assert_eq!(grant.capacity(), WINDOW_UNITS_MAX);
    assert!(grant.announced() < wanted);
}

#[test]
fn a_bounded_actor_lets_a_long_call_through_when_its_queue_is_empty() {
    let long = 4 * WINDOW_UNITS_MAX;
    let mut budget = Budget::default().with_long_calls(long * 64);
    let free = alloc::sync::Arc::new(core::sync::atomic::AtomicU64::new(4));
    let mut grant = Grant::bounded(64, ActorBound::new(4, free), &mut budget);
    grant.check(3).unwrap();
    grant.need(3 + long, long, &mut budget);
    assert!(!grant.fit_call(&mut budget), "three calls wait");
    assert!(grant.announce().0 < long);
    grant.free(3);
    assert!(grant.fit_call(&mut budget));
    assert_eq!((grant.announce().0, grant.window()), (3 + long, 4), "the window is as before");
}
