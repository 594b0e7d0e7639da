//! Calls that no actor receives: on a channel that was refused, or without a method.

use wigwag_link::{Code, Frame, Limits, SendHalf, write};
use wigwag_wire::Time;
use wigwag_wire::call::{ASK, TELL};

use crate::application::arguments;
use crate::model::code;
use crate::receiver::Receiver;

pub(crate) fn attach(peer: &mut SendHalf, channel: u64) {
    let (how, target, schema_hash, codec) = (0, &b"actor"[..], 0, 0);
    let attach = Frame::Attach { channel, how, target, schema_hash, codec };
    peer.outbox.append(|out| write::any(out, &attach));
}

pub(crate) fn tell(peer: &mut SendHalf, channel: u64) {
    let tell = Frame::Tell { channel, method: 1, arguments: &arguments(1, 7, 0) };
    peer.outbox.append(|out| write::any(out, &tell));
}

/// Calls that were under way when the channel was refused are no error; they cannot be more than the
/// first window of a channel.
#[test]
fn calls_on_a_refused_channel_are_accepted_up_to_its_first_window() {
    let limits = Limits::default();
    let mut peer = SendHalf::new(&limits, limits, Time::START);
    let mut receiver = Receiver::new(true);
    attach(&mut peer, 0);
    for _ in 0..limits.initial_units {
        tell(&mut peer, 0);
    }
    let read = receiver.receive(&mut peer).expect("the first window may be used");
    assert!(read.heard.is_empty());
    tell(&mut peer, 0);
    let error = receiver.receive(&mut peer).expect_err("the window is used up");
    assert_eq!(code(error), Code::CREDIT_EXCEEDED);
}

/// Also the first one, which was under way when the channel was refused.
#[test]
fn asks_on_a_refused_channel_fail_with_the_code_of_the_refusal() {
    let limits = Limits::default();
    let mut peer = SendHalf::new(&limits, limits, Time::START);
    let mut receiver = Receiver::new(true);
    attach(&mut peer, 0);
    for slot in 0..2 {
        let arguments = &arguments(1, 7, 0)[..];
        let ask = Frame::Ask { channel: 0, slot, generation: 0, method: 1, arguments };
        peer.outbox.append(|out| write::any(out, &ask));
        receiver.receive(&mut peer).expect("a call within the first window");
        assert_eq!(receiver.errors(), [(slot, Code::NO_SUCH_ACTOR)]);
    }
}

/// Its sender may leave the channel, or use the number anew, before the last part.
#[test]
fn a_call_in_parts_ends_with_its_channel() {
    let limits = Limits::default();
    let mut peer = SendHalf::new(&limits, limits, Time::START);
    let mut receiver = Receiver::new(true);
    let bytes = &[7; 100][..];
    let begin = |peer: &mut SendHalf| {
        let parts = Frame::Parts { source: 1, kind: TELL, total: 1000, bytes };
        peer.outbox.append(|out| write::any(out, &parts));
    };
    attach(&mut peer, 0);
    begin(&mut peer);
    attach(&mut peer, 0);
    begin(&mut peer);
    peer.outbox.append(|out| write::any(out, &Frame::Detach { channel: 0 }));
    receiver.receive(&mut peer).expect("the second call does not begin inside the first");
    peer.outbox.append(|out| write::any(out, &Frame::Part { source: 1, bytes }));
    let error = receiver.receive(&mut peer).expect_err("the call has ended with its channel");
    assert_eq!(code(error), Code::PROTOCOL);
}

/// The length of an ASK ends before its method; the byte there belongs to the next frame.
#[test]
fn an_ask_without_a_method_breaks_the_protocol() {
    let limits = Limits::default();
    let mut peer = SendHalf::new(&limits, limits, Time::START);
    let mut receiver = Receiver::new(false);
    attach(&mut peer, 0);
    tell(&mut peer, 0);
    receiver.receive(&mut peer).expect("a call on an open channel");
    // Kind, length, channel, slot and a generation of two bytes; then an empty frame whose kind
    // could be a method.
    peer.outbox.append(|out| out.extend(&[ASK, 4, 0, 0, 0x81, 0x01, 0x7F, 0]));
    let error = receiver.receive(&mut peer).expect_err("there is no method");
    assert_eq!(code(error), Code::PROTOCOL);
}
