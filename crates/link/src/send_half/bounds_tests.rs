//! Bounds on what a peer can make this side retain.

use alloc::vec;

use wigwag_wire::{Buffer, Reader};

use super::tests::{code, output, sender};
use super::*;
use crate::flow_control::credit::StreamId;
use crate::frames::batch::BatchHeader;
use crate::frames::frame::Frame;
use crate::frames::write;
use crate::limits::{UNACKED_ANSWERS_MAX, UNACKED_BYTES_MAX, UNACKED_WRITTEN_MAX};

/// The limits that CREDIT announces in the next batch, by channel.
fn credit(sender: &mut SendHalf) -> Vec<(u64, u64)> {
    let batch = output(sender);
    let mut reader = Reader::new(&batch);
    BatchHeader::decode(&mut reader).unwrap();
    let mut limits = Vec::new();
    while let Ok((kind, body)) = Frame::next(&mut reader, u64::MAX) {
        if let Ok(Frame::Credit { channel, limit, .. }) = Frame::parse(kind, body) {
            limits.push((channel, limit));
        }
    }
    limits
}

#[test]
fn returned_budget_serves_a_waiting_grant() {
    let mut sender = sender();
    let greedy: Vec<u64> = (0..300).collect();
    for channel in &greedy {
        sender.grant(*channel, 64, None).unwrap();
        for _ in 0..12 {
            sender.need_received(*channel, u64::MAX / 2, 0);
        }
    }
    while sender.has_output() {
        output(&mut sender);
    }
    let late = 300;
    sender.grant(late, 64, None).unwrap();
    assert!(!sender.need_received(late, 60_000, 0), "other channels hold the budget");
    assert!(!sender.has_output());
    greedy.iter().for_each(|channel| sender.withdraw(*channel));
    assert!(sender.has_output(), "credit is due without another NEED");
    assert!(matches!(credit(&mut sender)[..], [(300, 65..)]));
}

#[test]
fn a_need_of_a_closed_channel_is_not_sent_for_its_successor() {
    let mut sender = sender();
    let channel = sender.open_channel().unwrap();
    sender.attached(channel, 1);
    assert!(sender.stuck(channel, 100));
    sender.close_channel(channel);
    assert_eq!(sender.open_channel(), Some(channel));
    sender.attached(channel, 64);
    assert!(!sender.has_output());
}

/// Appends a reply of `bytes` bytes, which nobody acknowledges.
fn reply(sender: &mut SendHalf, slot: u64, bytes: usize) {
    let put = |out: &mut Buffer| out.extend(&vec![7; bytes]);
    sender.outbox.append(|out| write::reply(out, (slot as u32, 0), put));
}

#[test]
fn a_peer_gets_no_new_credit_until_it_acknowledges() {
    let mut sender = sender();
    sender.grant(0, 64, None).unwrap();
    let mut slot = 0;
    while !sender.outbox.is_overfull() {
        reply(&mut sender, slot, 60_000);
        slot += 1;
        while sender.has_output() {
            output(&mut sender);
        }
    }
    let kept = sender.outbox.retained();
    assert!(kept > UNACKED_BYTES_MAX + UNACKED_ANSWERS_MAX, "{kept} bytes");
    assert!(sender.freed(0, 64), "half a window is free");
    assert!(!sender.has_output(), "but is not announced");
    sender.outbox.acknowledge(slot).unwrap();
    assert_eq!(credit(&mut sender), [(0, 128)]);
}

#[test]
fn a_peer_that_reads_and_never_acknowledges_is_refused() {
    let mut sender = sender();
    let mut slot = 0;
    while sender.outbox.check_written().is_ok() {
        reply(&mut sender, slot, 60_000);
        slot += 1;
        assert!(sender.outbox.check_written().is_ok(), "unwritten bytes cannot have been read");
        output(&mut sender);
    }
    let most = UNACKED_BYTES_MAX + UNACKED_WRITTEN_MAX;
    assert!((most..most + 70_000).contains(&sender.outbox.retained()));
    assert_eq!(code(sender.outbox.check_written().unwrap_err()), Code::LIMIT_EXCEEDED);
    sender.outbox.acknowledge(1).unwrap();
    assert!(sender.outbox.check_written().is_ok());
}

#[test]
fn answers_that_no_writer_has_taken_are_bounded() {
    let mut sender = sender();
    let refuse =
        Frame::Detached { channel: 0, code: Code::NO_SUCH_ACTOR, accepted: 0, reason: &[] };
    for _ in 0..3 {
        for _ in 0..16 {
            sender.answer_attach(16).unwrap();
            sender.outbox.append(|out| write::any(out, &refuse));
        }
        assert_eq!(code(sender.answer_attach(16).unwrap_err()), Code::LIMIT_EXCEEDED);
        // Answers that were taken may have been read, so the peer may go on.
        output(&mut sender);
    }
}

/// The bytes that all sessions of a node retain together are bounded, whatever each of them may
/// retain.
#[test]
fn each_session_may_retain_little_once_the_node_retains_too_much() {
    let pools = Arc::new(Pools::of(4 * 1024 * 1024));
    let mut senders = [sender().with_pools(pools.clone()), sender().with_pools(pools)];
    let [greedy, modest] = &mut senders;
    for slot in 0..40 {
        reply(greedy, slot, 60_000);
        output(greedy);
    }
    reply(modest, 0, 10_000);
    output(modest);
    assert!(greedy.outbox.is_overfull() && !modest.outbox.is_overfull());
    reply(modest, 1, 10_000);
    output(modest);
    assert!(modest.outbox.is_overfull());
    greedy.outbox.acknowledge(40).unwrap();
    assert!(!greedy.outbox.is_overfull() && !modest.outbox.is_overfull());
}

/// A program may hold references of a session that has ended for as long as it likes.
#[test]
fn a_session_that_has_ended_retains_nothing_of_what_its_node_may_retain() {
    let pools = Arc::new(Pools::of(4 * 1024 * 1024));
    for is_held in [true, false] {
        let mut ending = sender().with_pools(pools.clone());
        let mut other = sender().with_pools(pools.clone());
        for slot in 0..40 {
            reply(&mut ending, slot, 60_000);
        }
        reply(&mut other, 0, 20_000);
        assert!(other.outbox.is_overfull());
        if is_held {
            ending.discard();
            assert!(!other.outbox.is_overfull());
        }
        drop(ending);
        assert!(!other.outbox.is_overfull());
    }
}

#[test]
fn a_withheld_credit_does_not_go_along_with_an_answer() {
    let mut sender = sender();
    sender.grant(0, 64, None).unwrap();
    let mut slot = 0;
    while !sender.outbox.is_overfull() {
        reply(&mut sender, slot, 60_000);
        slot += 1;
    }
    assert!(sender.freed(0, 64) && sender.has_output());
    while sender.has_output() {
        assert_eq!(credit(&mut sender), [], "with the answers");
    }
    sender.outbox.acknowledge(slot).unwrap();
    assert_eq!(credit(&mut sender), [(0, 128)]);
}

/// The other session says nothing of it.
#[test]
fn units_that_come_back_from_another_session_serve_a_waiting_grant_with_the_next_tick() {
    let pools = Arc::new(Pools::of(4 * 1024 * 1024));
    let mut served = Vec::new();
    let mut waiting = loop {
        let mut sender = sender().with_pools(pools.clone());
        sender.grant(0, 64, None).unwrap();
        if !sender.need_received(0, 5000, 5000) {
            break sender;
        }
        served.push(sender);
    };
    while waiting.has_output() {
        assert_eq!(credit(&mut waiting), []);
    }
    drop(served);
    waiting.tick(Time::START, || false).unwrap();
    assert!(matches!(credit(&mut waiting)[..], [(0, 5000..)]));
}

#[test]
fn a_stream_gives_the_units_of_the_one_in_whose_place_it_is_back() {
    let mut sender = sender();
    for generation in 0..10_000 {
        let window = sender.open_stream(StreamId::Answer(3, generation), None);
        assert!(window.is_some(), "{generation}");
    }
}
