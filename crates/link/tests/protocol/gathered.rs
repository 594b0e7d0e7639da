//! When the calls that came on a channel are published.

use wigwag_link::limits::GATHERED_UNITS;
use wigwag_link::{Frame, Limits, SendHalf, write};
use wigwag_wire::Time;

use crate::receiver::Receiver;
use crate::refused::{attach, tell};

fn open_session() -> (SendHalf, Receiver) {
    let limits = Limits::default();
    let mut peer = SendHalf::new(&limits, limits, Time::START);
    let mut receiver = Receiver::new(false);
    attach(&mut peer, 0);
    attach(&mut peer, 1);
    assert_eq!(receiver.receive(&mut peer).expect("two channels").published, 0);
    (peer, receiver)
}

#[test]
fn few_calls_for_each_channel_are_gathered_from_several_batches() {
    let (mut peer, mut receiver) = open_session();
    let each = GATHERED_UNITS / 2;
    let mut published = Vec::new();
    for calls in [1, each - 2, 1] {
        for _ in 0..calls {
            tell(&mut peer, 0);
            tell(&mut peer, 1);
        }
        published.push(receiver.receive(&mut peer).expect("calls within the credit").published);
    }
    assert_eq!(published, [0, 0, 0]);
    assert_eq!(receiver.publish().published, 2);
    assert_eq!(receiver.publish().published, 0, "nothing is published twice");
}

#[test]
fn calls_worth_a_turn_are_published_with_their_batch() {
    let (mut peer, mut receiver) = open_session();
    for _ in 1..GATHERED_UNITS {
        tell(&mut peer, 0);
    }
    assert_eq!(receiver.receive(&mut peer).expect("calls").published, 0);
    tell(&mut peer, 0);
    assert_eq!(receiver.receive(&mut peer).expect("one more").published, 1);
    tell(&mut peer, 1);
    assert_eq!(receiver.receive(&mut peer).expect("the first of the next").published, 0);
    assert_eq!(receiver.publish().published, 1);
}

#[test]
fn calls_are_published_before_a_channel_is_opened_and_before_a_link_ends() {
    let (mut peer, mut receiver) = open_session();
    let link = Frame::Link { channel: 0, link: 3, actor: b"Peer" };
    peer.outbox.append(|out| write::any(out, &link));
    assert_eq!(receiver.receive(&mut peer).expect("a link").published, 0);
    tell(&mut peer, 0);
    assert_eq!(receiver.receive(&mut peer).expect("a call").published, 0);
    let unlink = Frame::Unlink { channel: 0, link: 3, reason: b"" };
    peer.outbox.append(|out| write::any(out, &unlink));
    assert_eq!(receiver.receive(&mut peer).expect("the end of the link").published, 1);
    // Also if an answer came earlier in their batch.
    peer.outbox.append(|out| write::any(out, &link));
    tell(&mut peer, 0);
    peer.outbox.append(|out| write::any(out, &unlink));
    let read = receiver.receive(&mut peer).expect("a link, a call and the end of the link");
    assert_eq!((read.published, read.published_before), (1, 1));
}

/// The task that waits for an answer may look for what was told before it.
#[test]
fn calls_are_published_before_an_answer_and_with_the_batch_that_has_one() {
    let (mut peer, mut receiver) = open_session();
    tell(&mut peer, 0);
    assert_eq!(peer.open_channel(), Some(0));
    assert!(peer.stuck(0, 100));
    assert_eq!(receiver.receive(&mut peer).expect("a call and a NEED").published, 0);
    let (channel, limit, schema_hash, codec, reference) = (0, 9, 0, 0, &b""[..]);
    let attached = Frame::Attached { channel, limit, schema_hash, codec, reference };
    peer.outbox.append(|out| write::any(out, &attached));
    tell(&mut peer, 1);
    let read = receiver.receive(&mut peer).expect("an answer and a call");
    assert_eq!((read.published, read.published_before), (2, 1));
}
