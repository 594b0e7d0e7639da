use alloc::vec;

use wigwag_wire::Reader;

use super::*;
use crate::frames::frame::Frame;

const SOURCE: u64 = 3;

fn assemblies() -> Assemblies {
    Assemblies::new(1 << 20)
}

fn first(total: u64, bytes: &[u8]) -> FirstPart<'_> {
    FirstPart { source: SOURCE, kind: kind::TELL, total, bytes }
}

fn at(seconds: u64) -> Time {
    Time::START + Duration::from_secs(seconds)
}

#[test]
fn parts_of_any_length_make_the_frame_that_was_cut() {
    for part in [1, 7, 100, 999, 1000, 5000] {
        let body: Vec<u8> = (0..1000_u16).map(|at| at as u8).collect();
        let mut assemblies = assemblies();
        let mut parts = body.chunks(part);
        let begin = first(1000, parts.next().unwrap());
        assemblies.check(&begin).unwrap();
        let mut whole = assemblies.begin(&begin).unwrap();
        for bytes in parts {
            assert!(whole.is_none());
            whole = assemblies.add(SOURCE, bytes).unwrap();
        }
        let whole = whole.unwrap();
        assert_eq!((whole.channel(), whole.units, whole.kind()), (Some(2), 16, kind::TELL));
        assert_eq!(whole.body(), body);
        let frame = assemblies.share(whole);
        let mut reader = Reader::new(&frame);
        assert_eq!(Frame::next(&mut reader, 1000), Ok((kind::TELL, &body[..])));
        assert!(reader.is_empty() && assemblies.messages.is_empty());
    }
}

/// The announced length takes no memory; what has come takes about its own length.
#[test]
fn memory_grows_with_the_bytes_that_have_come() {
    let mut assemblies = assemblies();
    assemblies.begin(&first(1 << 20, &[7])).unwrap();
    let held = |assemblies: &Assemblies| assemblies.messages[&SOURCE].frame.capacity();
    assert!(held(&assemblies) <= FIRST_BYTES);
    let part = vec![7; 60_000];
    for count in 1..17 {
        assert!(assemblies.add(SOURCE, &part).unwrap().is_none());
        let came = 1 + count * part.len();
        assert!(held(&assemblies) <= (2 * came + 64).max(FIRST_BYTES), "{}", held(&assemblies));
        assert!(held(&assemblies) <= (1 << 20) + 4, "never more than the whole");
    }
}

#[test]
fn a_message_that_makes_no_progress_while_others_do_is_the_fault_of_its_peer() {
    let mut assemblies = assemblies();
    assemblies.batch_read(at(1000)).unwrap();
    assemblies.begin(&first(1000, &[7])).unwrap();
    for second in 1..=60 {
        assemblies.batch_read(at(1000 + second)).unwrap();
    }
    assemblies.add(SOURCE, &[7]).unwrap();
    for second in 61..=120 {
        assemblies.batch_read(at(1000 + second)).unwrap();
    }
    let error = assemblies.batch_read(at(1121)).unwrap_err();
    assert_eq!(error.close_code().unwrap().0, Code::LIMIT_EXCEEDED);
}

/// A cut of an hour, or a process that was stopped.
#[test]
fn time_without_batches_is_no_fault() {
    let mut assemblies = assemblies();
    assemblies.begin(&first(1000, &[7])).unwrap();
    for hour in 1..4 {
        assemblies.batch_read(at(3600 * hour)).unwrap();
    }
    assert!(assemblies.add(SOURCE, &[7]).unwrap().is_none());
}

#[test]
fn dropped_and_forgotten_messages_may_begin_again() {
    let mut assemblies = assemblies();
    assemblies.begin(&first(1000, &[7])).unwrap();
    assert!(assemblies.check(&first(1000, &[7])).is_err(), "it is under way");
    assert_eq!(assemblies.drop_call(SOURCE).unwrap().units, 16);
    assert!(assemblies.drop_call(SOURCE).is_err() && assemblies.add(SOURCE, &[7]).is_err());
    assemblies.check(&first(1000, &[7])).unwrap();
    assemblies.begin(&first(1000, &[7])).unwrap();
    assemblies.forget(SOURCE);
    assert!(assemblies.check(&first(1000, &[7])).is_ok());
    let answer = FirstPart { source: ANSWERS, kind: kind::REPLY, total: 9, bytes: &[7] };
    assemblies.begin(&answer).unwrap();
    assert!(assemblies.drop_call(ANSWERS).is_err(), "an answer always comes whole");
}

/// A message that the program has dropped leaves its memory to the next one.
#[test]
fn memory_that_no_part_has_used_for_a_second_is_freed() {
    let mut assemblies = assemblies();
    let message = |assemblies: &mut Assemblies, seconds| {
        assemblies.batch_read(at(seconds)).unwrap();
        assemblies.begin(&first(100_000, &[7])).unwrap();
        let whole = assemblies.add(SOURCE, &vec![7; 99_999]).unwrap().unwrap();
        let place = whole.frame.as_ptr();
        drop(assemblies.share(whole));
        place
    };
    let place = message(&mut assemblies, 1);
    assert_eq!(message(&mut assemblies, 2), place);
    assemblies.free_unused(at(2));
    assert!(assemblies.memory.is_waiting(), "it was used in the last second");
    assert_eq!(message(&mut assemblies, 10), place);
    assemblies.free_unused(at(11));
    assert!(!assemblies.memory.is_waiting());
    message(&mut assemblies, 12);
    assemblies.connection_lost();
    assert!(!assemblies.memory.is_waiting());
}

/// Connections that are cut before a part comes over them, again and again.
#[test]
fn time_without_a_connection_is_no_fault() {
    let mut assemblies = assemblies();
    assemblies.begin(&first(1000, &[7])).unwrap();
    for cut in 1..100 {
        assemblies.connection_lost();
        assemblies.batch_read(at(30 * cut)).unwrap();
    }
    assert!(assemblies.add(SOURCE, &[7]).unwrap().is_none());
}
