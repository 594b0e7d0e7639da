use super::*;

#[test]
fn slot_numbers_are_handed_out_once_and_run_out() {
    let asks = AskTable::new(1500);
    assert!(asks.are_all_free());
    let mut taken = Vec::new();
    asks.take(1000, &mut taken);
    asks.take(1000, &mut taken);
    taken.sort_unstable();
    assert!(taken.iter().copied().eq(0..1500));
    assert!(!asks.any_free());
    assert_eq!(asks.open(), None);
    assert!(asks.release([7]), "somebody found none");
    assert!(!asks.release([9]), "it has been said");
    assert!(!asks.are_all_free());
    let (number, generation) = asks.open().expect("two are free");
    assert!(number == 7 || number == 9);
    assert_eq!(asks.waiting(), 1);
    assert!(matches!(asks.complete((number, generation), b"x"), Completion::Stored(None)));
    assert_eq!(asks.waiting(), 0);
    assert!(matches!(asks.complete((1499, 1), b"x"), Completion::NotOpen));
    assert!(matches!(asks.complete((1 << 20, 0), b"x"), Completion::NotOpen));
}

#[test]
fn every_number_has_its_own_place() {
    let mut next = [0; CHUNKS];
    for number in 0..SINGLE_ASKS_MAX as u32 {
        let (chunk, at) = locate(number);
        assert_eq!(at, next[chunk]);
        assert!(at < FIRST_CHUNK_SLOTS << chunk);
        next[chunk] += 1;
    }
}

/// An asker with a long round trip wants as many slots as a round trip holds.
#[test]
fn the_largest_pipeline_leaves_slots_for_single_asks() {
    let asks = AskTable::new(ASKS_MAX as u64);
    let ring = asks.open_ring(PIPELINE_ASKS_MAX).expect("nobody has any");
    assert_eq!(ring.slots() as usize, PIPELINE_ASKS_MAX);
    let mut taken = Vec::new();
    asks.take(usize::MAX, &mut taken);
    assert_eq!(taken.len(), SINGLE_ASKS_MAX);
    assert!(taken.iter().all(|slot| *slot < asks.rings.floor()));
    assert!(asks.open_ring(64).is_none());
}

#[test]
fn a_table_holds_at_most_single_asks_max_slots() {
    let asks = AskTable::new(u64::MAX);
    let mut taken = Vec::new();
    asks.take(usize::MAX, &mut taken);
    assert_eq!(taken.len(), SINGLE_ASKS_MAX);
}
