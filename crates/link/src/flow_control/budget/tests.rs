use alloc::vec::Vec;

use super::*;

#[test]
fn a_part_takes_from_the_whole_and_no_more_than_its_own() {
    let whole = Pools {
        base: UnitPool::new(100),
        scaled: UnitPool::new(100),
        channels: UnitPool::new(3),
        ..Pools::default()
    };
    let part = whole.part(Some(2), Some(70 * UNIT_BYTES as u64));
    assert_eq!(part.base.take(50), 50);
    assert_eq!(part.scaled.take(50), 20, "all windows share the bytes");
    assert_eq!((whole.base.left(), whole.scaled.left()), (50, 80));
    part.scaled.give_back(20);
    assert_eq!((part.scaled.left(), whole.scaled.left()), (20, 100));
    let other = whole.part(None, None);
    assert_eq!(other.base.take(60), 50, "what the whole has left");
    assert_eq!(part.base.take(10), 0);
    other.base.give_back(50);
    assert_eq!(part.base.take(10), 10, "the refused units are not lost");
    assert!(part.channels.take_one() && part.channels.take_one() && !part.channels.take_one());
    assert!(whole.channels.take_one() && !other.channels.take_one());
    assert!(!UnitPool::new(8).part(Some(&Arc::new(Units::new(0)))).is_low());
}

#[test]
fn sessions_share_a_pool_and_give_it_back_when_they_end() {
    let pools = Arc::new(Pools { scaled: UnitPool::new(1000), ..Pools::default() });
    let pool = &pools.scaled;
    let mut first = Budget::with_pools(pools.clone());
    let mut second = Budget::with_pools(pools.clone());
    assert_eq!(first.grow_scaled(600), 600);
    assert_eq!(second.grow_scaled(600), 400, "what is left");
    assert_eq!(second.grow_scaled(1), 0);
    first.give_back(0, 100);
    assert_eq!(pool.left(), 100);
    drop(first);
    drop(second);
    assert_eq!(pool.left(), 1000);
}

/// The base windows of any number of sessions together never exceed the pool.
#[test]
fn base_windows_grow_out_of_a_pool_of_the_node() {
    let pools = Arc::new(Pools { base: UnitPool::new(1000), ..Pools::default() });
    let mut sessions: Vec<Budget> = (0..20).map(|_| Budget::with_pools(pools.clone())).collect();
    assert_eq!(sessions[0].grow(u64::MAX), 500, "half of the pool");
    assert_eq!(sessions[1].grow(u64::MAX), 250);
    assert_eq!(sessions[2].grow_for_frame(1024), 250, "a frame takes what is left");
    assert!(sessions.iter_mut().all(|session| session.grow(u64::MAX) == 0));
    sessions[0].give(64);
    sessions[0].give_back(564, 0);
    assert_eq!(pools.base.left(), 500, "a first window came out of no pool");
    drop(sessions);
    assert_eq!(pools.base.left(), 1000);
}

#[test]
fn the_pools_have_the_bytes_between_them() {
    let first_window = Limits::default().initial_units;
    let unit = UNIT_BYTES as u64;
    let pools = Pools::of(4 * unit * first_window * 10);
    assert_eq!(pools.base.left(), first_window * 5);
    assert_eq!(pools.long_calls.left(), first_window * 5);
    assert_eq!(pools.used_memory.left(), first_window * 10 / 4);
    assert_eq!(pools.streams.left(), first_window * 10 / 4);
    assert_eq!(pools.scaled.left(), first_window * 10);
    assert_eq!(pools.channels.left(), 10);
    assert_eq!(pools.retained.most, unit * first_window * 10);
}

#[test]
fn the_last_channel_still_gets_some_units() {
    let mut budget = Budget::default();
    for _ in 0..10 {
        assert!(budget.grow_scaled(u64::MAX) > 0);
    }
    assert!(budget.held().1 < SCALED_SESSION_UNITS_MAX);
}

#[test]
fn the_units_of_long_calls_and_streams_come_back_when_their_session_ends() {
    let pools = Arc::new(Pools::default());
    let left = || (pools.long_calls.left(), pools.streams.left());
    let before = left();
    let mut budget = Budget::with_pools(pools.clone()).with_long_calls(1 << 20);
    assert!(budget.take_for_long_call(0, 100));
    assert!(budget.take_for_stream(None).is_some());
    assert!(left().0 < before.0 && left().1 < before.1);
    drop(budget);
    assert_eq!(left(), before);
}
