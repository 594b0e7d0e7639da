use alloc::vec::Vec;

use wigwag_wire::{Batch, Framing};

use super::*;

fn put(queues: &mut OutboundQueues) -> Result<PipeId, Refusal> {
    let pipe = queues.choose()?;
    queues.push(pipe, Message::default()).unwrap();
    Ok(pipe)
}

/// Writes one message; false if there is none.
fn take_one(queues: &mut OutboundQueues, pipe: PipeId) -> bool {
    let mut batch = Batch::new();
    queues.fill(pipe, &mut BatchBuilder::new(&mut batch, Framing::Tcp).messages_max(1))
}

#[test]
fn pipes_take_turns_until_all_are_full() {
    let mut queues = OutboundQueues::default();
    assert_eq!(put(&mut queues), Err(Refusal::NoPipe));
    for pipe in [7, u32::MAX, 1] {
        queues.open(PipeId(pipe));
    }
    let turns: Vec<u32> =
        (0..3 * OUTBOX_MESSAGES_MAX).map(|_| put(&mut queues).unwrap().0).collect();
    assert_eq!(turns[..4], [1, 7, u32::MAX, 1]);
    assert_eq!(put(&mut queues), Err(Refusal::Full));
}

#[test]
fn an_idle_pipe_is_chosen_first() {
    let mut queues = OutboundQueues::default();
    queues.open(PipeId(1));
    queues.open(PipeId(2));
    for _ in 0..4 {
        put(&mut queues).unwrap();
    }
    while take_one(&mut queues, PipeId(2)) {}
    assert_eq!(put(&mut queues), Ok(PipeId(2)));
}

#[test]
fn only_the_first_message_of_an_outbox_asks_for_a_write() {
    let mut queues = OutboundQueues::default();
    queues.open(PipeId(1));
    assert_eq!(queues.next_event(), Some(ProtocolEvent::SendReady));
    put(&mut queues).unwrap();
    put(&mut queues).unwrap();
    assert_eq!(queues.next_event(), Some(ProtocolEvent::Transmit(PipeId(1))));
    assert_eq!(queues.next_event(), None);
    assert!(take_one(&mut queues, PipeId(1)));
    assert!(take_one(&mut queues, PipeId(1)));
    put(&mut queues).unwrap();
    assert_eq!(queues.next_event(), Some(ProtocolEvent::Transmit(PipeId(1))));
}

#[test]
fn a_full_pipe_has_room_again_when_half_of_it_is_written() {
    let mut queues = OutboundQueues::default();
    queues.open(PipeId(1));
    while put(&mut queues).is_ok() {}
    assert!(take_one(&mut queues, PipeId(1)));
    assert_eq!(put(&mut queues), Err(Refusal::Full));
    assert!(take_one(&mut queues, PipeId(1)));
    assert_eq!(put(&mut queues), Ok(PipeId(1)));
}

#[test]
fn a_later_priority_is_served_only_while_no_earlier_one_has_room() {
    let mut queues = OutboundQueues::default();
    for pipe in 1..=3 {
        queues.open(PipeId(pipe));
    }
    queues.set_priority(PipeId(2), Priority::FIRST);
    queues.set_priority(PipeId(3), Priority::FIRST);
    let turns: Vec<u32> =
        (0..2 * OUTBOX_MESSAGES_MAX).map(|_| put(&mut queues).unwrap().0).collect();
    assert_eq!(turns, [2, 3].repeat(OUTBOX_MESSAGES_MAX));
    assert_eq!(put(&mut queues), Ok(PipeId(1)));
    while take_one(&mut queues, PipeId(3)) {}
    assert_eq!(put(&mut queues), Ok(PipeId(3)), "as soon as it has room again");
    queues.set_priority(PipeId(3), Priority::LAST);
    assert_eq!(put(&mut queues), Ok(PipeId(1)));
    queues.close(PipeId(1));
    assert_eq!(put(&mut queues), Ok(PipeId(3)), "the last one is better than none");
}

#[test]
fn a_new_queue_length_applies_to_open_pipes() {
    let mut queues = OutboundQueues::default();
    queues.open(PipeId(1));
    put(&mut queues).unwrap();
    queues.set_length(QueueLength::new(1).unwrap());
    assert_eq!(put(&mut queues), Err(Refusal::Full));
    queues.set_length(QueueLength::new(2).unwrap());
    assert_eq!(put(&mut queues), Ok(PipeId(1)));
    assert_eq!(put(&mut queues), Err(Refusal::Full));
    queues.open(PipeId(2));
    assert_eq!((put(&mut queues), put(&mut queues)), (Ok(PipeId(2)), Ok(PipeId(2))));
    let mut counters = Counters::default();
    queues.finish(&mut counters);
    assert_eq!(counters.dropped_unsent, 4);
    assert_eq!(put(&mut queues), Err(Refusal::NoPipe));
}
