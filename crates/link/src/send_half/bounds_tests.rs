//! Limits for a peer that takes and does not give.

use alloc::vec;

use wigwag_wire::Reader;

use super::tests::{code, output, sender};
use super::*;
use crate::limits::{UNACKED_ANSWERS_MAX, UNACKED_BYTES_MAX, UNACKED_WRITTEN_MAX};

/// The limits that CREDIT announces in what goes out next, by channel.
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
fn budget_that_comes_back_serves_a_grant_that_waits() {
    let mut sender = sender();
    let greedy: Vec<u64> = (0..300).collect();
    for channel in &greedy {
        sender.grant(*channel, 64).unwrap();
        for _ in 0..12 {
            sender.need_received(*channel, u64::MAX / 2);
        }
    }
    while sender.has_output() {
        output(&mut sender);
    }
    let late = 300;
    sender.grant(late, 64).unwrap();
    assert!(!sender.need_received(late, 60_000), "others have it all");
    assert!(!sender.has_output());
    greedy.iter().for_each(|channel| sender.withdraw(*channel));
    assert!(sender.has_output(), "it is told without another word of its own");
    assert!(matches!(credit(&mut sender)[..], [(300, 65..)]));
}

#[test]
fn a_wish_of_a_channel_that_is_gone_is_not_said_for_the_next_of_its_number() {
    let mut sender = sender();
    let channel = sender.open_channel().unwrap();
    sender.attached(channel, 1);
    assert!(sender.stuck(channel, 100));
    sender.close_channel(channel);
    assert_eq!(sender.open_channel(), Some(channel));
    sender.attached(channel, 64);
    assert!(!sender.has_output());
}

/// A reply that nobody acknowledges, of so many bytes.
fn reply(sender: &mut SendHalf, slot: u64, bytes: usize) {
    let put = |out: &mut Buffer| out.extend(&vec![7; bytes]);
    sender.outbox.append(|out| write::reply(out, (slot as u32, 0), put));
}

#[test]
fn a_peer_that_acknowledges_nothing_gets_no_new_credit_until_it_does() {
    let mut sender = sender();
    sender.grant(0, 64).unwrap();
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
    assert!(!sender.has_output(), "and is not told");
    sender.outbox.acknowledge(slot).unwrap();
    assert_eq!(credit(&mut sender), [(0, 128)]);
}

#[test]
fn a_peer_that_reads_and_never_acknowledges_is_found_out() {
    let mut sender = sender();
    let mut slot = 0;
    while sender.outbox.check_written().is_ok() {
        reply(&mut sender, slot, 60_000);
        slot += 1;
        assert!(
            sender.outbox.check_written().is_ok(),
            "what was not written cannot have been read"
        );
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
    let refuse = Frame::Detached { channel: 0, code: Code::NO_SUCH_ACTOR, accepted: 0 };
    for _ in 0..3 {
        for _ in 0..16 {
            sender.answer_attach(16).unwrap();
            sender.outbox.append(|out| write::any(out, &refuse));
        }
        assert_eq!(code(sender.answer_attach(16).unwrap_err()), Code::LIMIT_EXCEEDED);
        // What was taken may have been read, and the peer may go on.
        output(&mut sender);
    }
}

/// The bytes that all sessions of a node keep for acks are bounded, whatever each of them may keep.
#[test]
fn when_the_node_keeps_too_much_each_session_is_held_to_little() {
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
