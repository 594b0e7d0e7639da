//! Long messages between two ends.

use wigwag_link::outbox::LongFrame;
use wigwag_link::{Limits, SendHalf, features, write};
use wigwag_wire::{Buffer, Time};

use crate::receiver::Receiver;

/// Its sender waits for the ack before it sends the next but one.
#[test]
fn a_part_is_acknowledged_at_once_and_other_frames_are_not() {
    let limits = Limits::default();
    let mut peer = SendHalf::new(&limits, limits, Time::START).with_features(features::OFFERED);
    let mut receiver = Receiver::new(false);
    let reply = |out: &mut Buffer, length| {
        write::reply(out, (0, 0), |out| out.extend(&vec![7; length]));
    };
    peer.outbox.append(|out| reply(out, 60_000));
    receiver.receive(&mut peer).expect("a reply");
    assert!(!receiver.sender.has_output(), "the ack waits for other output");
    let mut long = Buffer::new();
    reply(&mut long, 100_000);
    peer.long_answer(LongFrame::take(&mut long, 0));
    receiver.receive(&mut peer).expect("the first part");
    assert!(receiver.sender.has_output());
}
