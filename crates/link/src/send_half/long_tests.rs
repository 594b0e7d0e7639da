//! Long calls: their credit, and what waits behind them.

use alloc::string::String;
use alloc::vec;

use wigwag_wire::{Buffer, Reader};

use super::tests::{output, sender};
use super::*;
use crate::frames::batch::BatchHeader;
use crate::frames::frame::Frame;
use crate::frames::write;
use crate::limits::{SCALED_UNACKED_BYTES_MAX, UNACKED_PARTS_MIN, units};
use crate::send_half::CallRefused;

/// Bytes of a call that beside other frames goes in three parts.
const LENGTH: usize = 75_000;

fn with_channels(count: u64, limit: u64) -> SendHalf {
    let mut sender = sender().with_features(features::PARTS);
    sender.outbox.set_parts_room(usize::MAX);
    for channel in 0..count {
        assert_eq!(sender.open_channel(), Some(channel));
        sender.attached(channel, limit);
    }
    sender
}

fn tell(channel: u64, length: usize) -> impl Fn(&mut Buffer) -> usize {
    move |out| write::tell(out, channel, 1, |out| out.extend(&vec![7; length]))
}

fn ask(channel: u64, length: usize) -> impl Fn(&mut Buffer) -> usize {
    move |out| write::ask(out, channel, (5, 1), 1, |out| out.extend(&vec![7; length]))
}

/// The names of the frames of all batches that are due.
fn names(sender: &mut SendHalf) -> String {
    let mut names = String::new();
    while sender.has_output() {
        let batch = output(sender);
        let mut reader = Reader::new(&batch);
        BatchHeader::decode(&mut reader).unwrap();
        while let Ok((kind, body)) = Frame::next(&mut reader, u64::MAX) {
            names.push_str(match Frame::parse(kind, body).unwrap() {
                Frame::Parts { .. } => "P",
                Frame::Part { .. } => "p",
                Frame::PartsDrop { .. } => "!",
                Frame::Cancel { slot: 5, generation: 1 } => "c",
                Frame::Detach { channel: 0 } => "d",
                Frame::Need { units: 0, .. } => "n",
                Frame::Need { .. } => "N",
                Frame::Tell { .. } | Frame::Ask { .. } => "t",
                _ => "?",
            });
        }
    }
    names
}

/// On a long way a small window would leave the way empty, so a sender of parts measures it.
#[test]
fn parts_that_wait_for_an_ack_have_the_way_measured_and_go_on_if_it_is_long() {
    let mut sender = with_channels(1, 1 << 20);
    sender.outbox.set_parts_room(UNACKED_PARTS_MIN);
    sender.call_if(0, tell(0, 10 * LENGTH), |_| true).unwrap();
    for number in 1..=8 {
        let one = names(&mut sender);
        assert_eq!(one, if number == 1 { "?P" } else { "?p" }, "a PING, and a part");
        sender.pong_received(number, Time::START + Duration::from_millis(5));
        sender.outbox.acknowledge(number).unwrap();
    }
    assert_eq!(names(&mut sender).matches('p').count(), 15, "the rest");
}

#[test]
fn a_channel_takes_no_call_until_the_long_one_before_it_has_gone() {
    let mut sender = with_channels(2, 1 << 20);
    sender.call(0, tell(0, 10)).unwrap();
    sender.call(0, tell(0, LENGTH)).unwrap();
    assert_eq!(sender.call(0, tell(0, 10)), Err(CallRefused::NoRoom));
    assert_eq!(sender.call(0, tell(0, LENGTH)), Err(CallRefused::NoRoom));
    sender.call(1, tell(1, 10)).unwrap();
    assert!(sender.take_ended_long_calls().is_empty());
    assert_eq!(names(&mut sender), "ttPpp");
    assert_eq!(sender.take_ended_long_calls(), [0]);
    sender.call(0, tell(0, 10)).unwrap();
    let used = units(12) * 2 + units(LENGTH + 2);
    assert_eq!(sender.window(0).unwrap().free(), (1 << 20) - used);
}

/// The bytes of all channels together, until they are numbered or taken back.
#[test]
fn long_calls_that_wait_are_bounded_in_bytes() {
    const LONG: usize = 16 << 20;
    let full = (SCALED_UNACKED_BYTES_MAX / LONG) as u64;
    let mut sender = with_channels(full + 1, 1 << 30);
    let length = LONG - 4;
    for channel in 0..full {
        sender.call(channel, ask(channel, length)).unwrap();
    }
    assert_eq!(sender.call(full, ask(full, length)), Err(CallRefused::NoRoom));
    sender.call(full, tell(full, 10)).unwrap();
    assert!(sender.take_back((5, 1)));
    sender.call(full, ask(full, length)).unwrap();
}

#[test]
fn a_call_that_is_too_long_for_the_peer_is_refused_and_leaves_nothing() {
    for (has_parts, most) in [(false, 64 * 1024), (true, 16 << 20)] {
        let mut sender = with_channels(1, 1 << 20);
        if !has_parts {
            sender = sender.with_features(0);
        }
        assert_eq!(sender.message_max(), most as u64);
        let body = most + 1;
        assert_eq!(sender.call(0, tell(0, body - 2)), Err(CallRefused::TooLarge { body }));
        assert!(!sender.has_output());
        sender.call(0, tell(0, most - 2)).unwrap();
    }
}

#[test]
fn a_long_call_waits_for_all_of_its_credit_and_says_what_it_costs_again_after_a_cut() {
    let cost = units(LENGTH + 2);
    let mut sender = with_channels(1, cost - 1);
    assert_eq!(sender.call(0, tell(0, LENGTH)), Err(CallRefused::NoCredit { units: cost }));
    assert!(sender.stuck(0, cost));
    assert_eq!(names(&mut sender), "N");
    sender.resume(0, Time::START).unwrap();
    assert_eq!(names(&mut sender), "N");
    sender.window(0).unwrap().raise(cost);
    sender.call(0, tell(0, LENGTH)).unwrap();
    assert_eq!(names(&mut sender), "Ppp");
    assert!(sender.stuck(0, 3));
    assert_eq!(names(&mut sender), "n", "the cost of a short call is not said");
}

#[test]
fn cancel_comes_behind_the_last_part_of_its_ask() {
    let mut sender = with_channels(1, 1 << 20);
    sender.call(0, ask(0, LENGTH)).unwrap();
    output(&mut sender);
    sender.cancel((5, 1));
    assert_eq!(names(&mut sender), "ppc");
    sender.cancel((5, 1));
    assert_eq!(names(&mut sender), "c", "the ask has gone");
}

#[test]
fn an_ask_that_is_taken_back_ends_at_once_and_gives_its_credit_back_if_it_has_not_begun() {
    for begins in [false, true] {
        let mut sender = with_channels(1, 1 << 20);
        sender.call(0, ask(0, LENGTH)).unwrap();
        if begins {
            output(&mut sender);
        }
        assert!(!sender.take_back((5, 0)) && sender.take_back((5, 1)));
        assert!(!sender.take_back((5, 1)), "once");
        let used = if begins { units(LENGTH + 4) } else { 0 };
        assert_eq!(sender.window(0).unwrap().free(), (1 << 20) - used);
        assert_eq!(names(&mut sender), if begins { "!" } else { "" });
        assert_eq!(sender.take_ended_long_calls(), [0]);
        sender.call(0, tell(0, 10)).unwrap();
        assert_eq!(sender.outbox.long_call_bytes(), 0);
    }
}

#[test]
fn the_number_of_a_channel_is_free_when_its_long_call_has_gone_and_not_before() {
    for peer_ends_it in [false, true] {
        let mut sender = with_channels(1, 1 << 20);
        sender.call(0, tell(0, LENGTH)).unwrap();
        output(&mut sender);
        if peer_ends_it {
            sender.detached(0);
        }
        assert!(!sender.detach(0));
        assert_eq!(sender.open_channel(), Some(1), "the number is in use");
        assert_eq!(names(&mut sender), "ppd");
        if !peer_ends_it {
            sender.detached(0);
        }
        assert_eq!(sender.open_channel(), Some(0));
    }
}
