use alloc::string::ToString;
use alloc::vec;

use wigwag_wire::call::Calls;
use wigwag_wire::{Buffer, Reader};

use super::*;
use crate::frames::frame::Frame;
use crate::frames::write;
use crate::limits::units;
use crate::recv_half::RecvHalf;

pub(super) fn sender() -> SendHalf {
    SendHalf::new(&Limits::default(), Limits::default(), Time::START)
}

fn one_tell(sender: &mut SendHalf, channel: u64, byte: u8) {
    sender.outbox.append(|out| write::tell(out, channel, 1, |out| out.push(byte)));
}

/// The next batch as bytes; empty if there is none.
pub(super) fn output(sender: &mut SendHalf) -> Vec<u8> {
    let mut out = Outgoing::default();
    sender.take_output(&mut out, Time::START);
    let mut bytes = out.head.as_slice().to_vec();
    out.sequenced.segments.iter().for_each(|segment| bytes.extend_from_slice(&segment.flat()));
    assert_eq!(bytes.len(), out.len());
    bytes
}

/// Reads a batch and returns its frames as text.
fn frames(receiver: &mut RecvHalf, batch: &[u8]) -> Result<Vec<alloc::string::String>, LinkError> {
    let mut incoming = receiver.open(batch)?;
    let mut seen = Vec::new();
    while let Some((frame, _)) = incoming.next_frame()? {
        seen.push(alloc::format!("{frame:?}"));
    }
    Ok(seen)
}

pub(super) fn code(error: LinkError) -> Code {
    match error {
        LinkError::Misbehaved { code, .. } => code,
        other => panic!("expected a violation, got {other}"),
    }
}

#[test]
fn a_resent_batch_is_skipped_and_counted() {
    let mut sender = sender();
    let mut receiver = RecvHalf::new(&Limits::default());
    one_tell(&mut sender, 0, 1);
    one_tell(&mut sender, 0, 2);
    let batch = output(&mut sender);
    assert_eq!(frames(&mut receiver, &batch).unwrap().len(), 2);
    assert_eq!(frames(&mut receiver, &batch).unwrap().len(), 0);
    assert_eq!((receiver.recv_next(), receiver.repeated()), (2, 2));
}

/// The first ask of each pair is accepted and the second is not, on the fast path and on the slow
/// one.
#[test]
fn an_ask_from_an_invalid_or_used_slot_is_an_error() {
    let out_of_range = (65_536, 0);
    for (method, length) in [(1, 3), (1, 400), (0, 0)] {
        for (askers, wanted) in [
            (&[(5, 0), (5, 0)][..], Code::PROTOCOL),
            (&[(5, 0), (5, 1), (6, 0), (5, 1)], Code::PROTOCOL),
            (&[(5, 9), (5, 8)], Code::PROTOCOL),
            (&[(0, 0), out_of_range], Code::LIMIT_EXCEEDED),
        ] {
            let mut sender = sender();
            for asker in askers {
                let put = |out: &mut Buffer| out.extend(&vec![7; length]);
                sender.outbox.append(|out| write::ask(out, 0, *asker, method, put));
            }
            let batch = output(&mut sender);
            let limits = Limits { slots_max: 65_536, ..Limits::default() };
            let (mut long, mut short) = (RecvHalf::new(&limits), RecvHalf::new(&limits));
            assert_eq!(code(frames(&mut long, &batch).unwrap_err()), wanted, "{askers:?}");
            let mut incoming = short.open(&batch).unwrap();
            let mut taken = 0;
            let broken = loop {
                match incoming.next_calls(64) {
                    Some(run) => taken += run.calls,
                    None => match incoming.next_frame() {
                        Ok(frame) => taken += usize::from(frame.is_some()),
                        Err(error) => break error,
                    },
                }
            };
            assert_eq!((code(broken), taken), (wanted, askers.len() - 1), "{askers:?}");
        }
    }
}

/// The fast path and the slow path read the same.
#[test]
fn calls_taken_together_equal_the_single_frames() {
    let mut sender = sender();
    let mut round = 0;
    for (channel, length) in
        [(0, 0), (127, 125), (127, 126), (128, 3), (5, 1), (5, 2), (1, 80), (0, 400)]
    {
        let arguments = vec![7; length];
        for method in [1, 127, 128, 0, 0x20_0000] {
            let put = |out: &mut Buffer| out.extend(&arguments);
            sender.outbox.append(|out| write::tell(out, channel, method, put));
            sender.outbox.append(|out| write::tell(out, channel, method, put));
            for slot in [0, 127, 128, 65_534, 65_535] {
                let asker = (slot, slot + round);
                sender.outbox.append(|out| write::ask(out, channel, asker, method, put));
            }
            round += 1;
            write_reply(&mut sender);
        }
    }
    let batch = output(&mut sender);
    let limits = Limits { slots_max: 65_536, ..Limits::default() };
    let mut receivers = [(); 2].map(|()| RecvHalf::new(&limits));
    let [long, short] = &mut receivers;
    let (mut long, mut short) = (long.open(&batch).unwrap(), short.open(&batch).unwrap());
    let (mut runs, mut calls, mut replies) = (0, 0, 0);
    while let Some(frame) = long.next_frame().unwrap() {
        let Some(run) = short.next_calls(3) else {
            match (short.next_reply(), frame) {
                (Some(reply), (Frame::Reply { slot, generation, value }, _)) => {
                    assert_eq!(
                        (u64::from(reply.slot), u64::from(reply.generation)),
                        (slot, generation)
                    );
                    assert_eq!(reply.value, value);
                    replies += 1;
                }
                (None, frame) => assert_eq!(short.next_frame().unwrap(), Some(frame)),
                other => panic!("{other:?}"),
            }
            continue;
        };
        let (mut whole, mut next, mut paid) = (Calls::new(run.bytes), Some(frame), 0);
        for at in 0..run.calls {
            let frame = next.take().or_else(|| long.next_frame().unwrap());
            let (frame, body) = frame.expect("as many frames as calls");
            let call = whole.next().expect("as many calls as announced");
            let (channel, method, arguments) =
                (run.channel, u64::from(call.method), call.arguments);
            let read = match call.asker {
                None => Frame::Tell { channel, method, arguments },
                Some((slot, generation)) => {
                    let (slot, generation) = (u64::from(slot), u64::from(generation));
                    assert!(slot < limits.slots_max);
                    Frame::Ask { channel, slot, generation, method, arguments }
                }
            };
            assert_eq!(read, frame, "call {at} of a run");
            assert_ne!(method, 0);
            paid += units(body);
        }
        assert_eq!((whole.next(), paid), (None, run.units));
        (runs, calls) = (runs + 1, calls + run.calls);
    }
    assert_eq!(short.next_calls(3), None);
    drop((long, short));
    assert_eq!(calls, 8 * 4 * 7, "all but those of method 0");
    assert!(runs < calls);
    assert_eq!(replies, 8 * 5);
    assert_eq!(receivers[0].recv_next(), receivers[1].recv_next());
}

fn write_reply(sender: &mut SendHalf) {
    sender.outbox.append(|out| write::reply(out, (1, 2), |out| out.push(0xC0)));
}

#[test]
fn a_gap_in_the_sequence_is_an_error() {
    let mut sender = sender();
    one_tell(&mut sender, 0, 1);
    output(&mut sender);
    one_tell(&mut sender, 0, 2);
    let second = output(&mut sender);
    let error = frames(&mut RecvHalf::new(&Limits::default()), &second).unwrap_err();
    assert_eq!(code(error), Code::GAP);
}

#[test]
fn a_batch_must_hold_as_many_frames_as_it_says() {
    let tell = [0x90, 3, 0, 1, 9];
    for (count, good) in [(0, false), (1, true), (2, false)] {
        let batch: Vec<u8> = [0, 0, 0, count].into_iter().chain(tell).collect();
        let outcome = frames(&mut RecvHalf::new(&Limits::default()), &batch);
        assert_eq!(outcome.is_ok(), good, "{count}: {outcome:?}");
    }
}

#[test]
fn an_ack_rides_on_a_batch_or_is_sent_alone_after_its_delay() {
    let mut sender = sender();
    let start = Time::START;
    sender.accepted(5, 100, start);
    assert!(!sender.has_output());
    let due = start + Duration::from_millis(ACK_DELAY_MS);
    assert_eq!(sender.deadline(), Some(due));
    sender.tick(start, || true).unwrap();
    assert!(!sender.has_output(), "not yet");
    sender.tick(due, || true).unwrap();
    assert_eq!(output(&mut sender), [0, 5, 0, 0]);
    assert_eq!(sender.deadline(), Some(start + Duration::from_secs(1)), "the next heartbeat");
    sender.accepted(6, 100, due);
    one_tell(&mut sender, 0, 1);
    assert_eq!(output(&mut sender)[..4], [0, 6, 0, 1]);
    sender.tick(due + Duration::from_millis(ACK_DELAY_MS), || true).unwrap();
    assert!(!sender.has_output(), "the ack went with the tell");
}

#[test]
fn a_megabyte_is_acknowledged_at_once() {
    let mut sender = sender();
    sender.accepted(1, ACK_BYTES - 1, Time::START);
    assert!(!sender.has_output());
    sender.accepted(2, 1, Time::START);
    assert!(sender.has_output());
}

#[test]
fn parts_are_acknowledged_sooner_than_other_frames() {
    let mut sender = sender();
    sender.has_parts();
    sender.accepted(1, PARTS_ACK_BYTES - 1, Time::START);
    assert!(!sender.has_output());
    sender.accepted(2, 1, Time::START);
    assert!(sender.has_output());
    output(&mut sender);
    sender.accepted(3, PARTS_ACK_BYTES, Time::START);
    assert!(!sender.has_output(), "no parts were among these");
}

#[test]
fn channel_numbers_are_reused() {
    let mut sender = SendHalf::new(
        &Limits::default(),
        Limits { channels_max: 2, ..Limits::default() },
        Time::START,
    );
    assert_eq!(sender.open_channel(), Some(0));
    assert_eq!(sender.open_channel(), Some(1));
    assert_eq!(sender.open_channel(), None);
    sender.close_channel(0);
    assert_eq!(sender.open_channel(), Some(0));
}

#[test]
fn credit_and_need_are_unsequenced() {
    let (mut ours, mut theirs) = (sender(), sender());
    let channel = ours.open_channel().unwrap();
    let limit = theirs.grant(channel, 64, None).unwrap();
    ours.attached(channel, limit);
    assert!(ours.window(channel).unwrap().take(64));
    assert!(ours.stuck(channel, 1));
    assert!(!ours.stuck(channel, 1));
    let need = output(&mut ours);
    let seen = frames(&mut RecvHalf::new(&Limits::default()), &need).unwrap();
    assert_eq!(
        seen,
        [(Frame::Need { channel: 0, limit_wanted: 65, units: 0 })].map(|f| alloc::format!("{f:?}"))
    );
    assert!(theirs.need_received(channel, 65, 0));
    assert!(theirs.freed(channel, 64));
    let credit = output(&mut theirs);
    let expected = [
        Frame::Credit { channel: 0, limit: 64 + 128, handled: 0 },
        // Measures the RTT to the blocked sender.
        Frame::Ping { id: 1, next_ms: 1000 },
    ];
    let seen = frames(&mut RecvHalf::new(&Limits::default()), &credit).unwrap();
    assert_eq!(seen, expected.map(|frame| alloc::format!("{frame:?}")));
}

/// A peer that knows how many calls were handled can report more after a crash. So the number is
/// sent with any batch, but never causes one.
#[test]
fn handled_calls_are_announced_with_any_batch_without_calls() {
    let mut sender = sender();
    let (other, channel) = (2, 5);
    sender.grant(other, 64, None).unwrap();
    sender.grant(channel, 64, None).unwrap();
    sender.accepted(3, 100, Time::START);
    sender.handled(channel, 1, 1);
    assert!(!sender.has_output());
    let mut now = Time::START + Duration::from_millis(ACK_DELAY_MS);
    sender.tick(now, || false).unwrap();
    let mut receiver = RecvHalf::new(&Limits::default());
    let credit = |handled| Frame::Credit { channel, limit: 64, handled };
    let as_text = |frames: &[Frame<'_>]| {
        frames.iter().map(|frame| alloc::format!("{frame:?}")).collect::<Vec<_>>()
    };
    assert_eq!(frames(&mut receiver, &output(&mut sender)).unwrap(), as_text(&[credit(2)]));
    sender.handled(channel, 1, 0);
    sender.handled(7, 1, 0);
    for (id, handled) in [(1, Some(credit(3))), (2, None)] {
        assert!(!sender.has_output());
        now = sender.deadline().expect("a heartbeat is due");
        sender.bytes_received(now);
        sender.tick(now, || false).unwrap();
        let ping = Frame::Ping { id, next_ms: 1000 };
        let expected: Vec<_> = handled.into_iter().chain([ping]).collect();
        assert_eq!(frames(&mut receiver, &output(&mut sender)).unwrap(), as_text(&expected));
    }
    sender.handled(channel, 1, 0);
    one_tell(&mut sender, 0, 1);
    assert_eq!(frames(&mut receiver, &output(&mut sender)).unwrap().len(), 1, "not with a call");
    sender.ping_received(9, 1000);
    let expected = as_text(&[credit(4), Frame::Pong { id: 9 }]);
    assert_eq!(frames(&mut receiver, &output(&mut sender)).unwrap(), expected);
}

/// The counts of a batch agree with each other, so the sender may end at any of them.
#[test]
fn rejected_tells_are_reported_with_their_counts_if_the_feature_is_on() {
    let (channel, code, method) = (5, Code::BAD_ARGUMENTS, 2);
    for features in [0, features::OUTCOMES] {
        let mut sender = sender().with_features(features);
        sender.grant(channel, 64, None).unwrap();
        sender.rejected(channel, method, code, &"note: too large");
        assert_eq!(sender.handled(channel, 2, 1), features != 0, "the peer is told at once");
        assert_eq!(sender.has_output(), features != 0);
        if features == 0 {
            continue;
        }
        let reported = [
            Frame::Rejected { channel, method, tells: 1, code, text: b"note: too large" },
            Frame::Outcomes { channel, tells: 2, rejected: 1 },
            Frame::Credit { channel, limit: 64, handled: 3 },
        ];
        let as_text: Vec<_> = reported.iter().map(|it| alloc::format!("{it:?}")).collect();
        let batch = output(&mut sender);
        let mut receiver = RecvHalf::new(&Limits::default()).with_features(features);
        assert_eq!(frames(&mut receiver, &batch).unwrap(), as_text);
        let refused = frames(&mut RecvHalf::new(&Limits::default()), &batch).unwrap_err();
        assert_eq!(refused.close_code().map(|(code, _)| code), Some(Code::UNKNOWN_FRAME));
        sender.resume(0, Time::START).unwrap();
        assert_eq!(frames(&mut receiver, &output(&mut sender)).unwrap(), as_text, "after a cut");
        assert!(!sender.handled(channel, 1, 0), "nothing new is rejected");
    }
}

/// The number may be in use again, and the peer would count the report for the new channel.
#[test]
fn tells_are_not_reported_as_rejected_behind_the_end_of_their_channel() {
    let mut sender = sender().with_features(features::OUTCOMES);
    for by_peer in [false, true] {
        sender.grant(5, 64, None).unwrap();
        sender.rejected(5, 2, Code::BAD_ARGUMENTS, &"note: too large");
        assert!(sender.handled(5, 1, 0) && sender.has_output());
        match by_peer {
            true => sender.withdraw(5),
            false => drop(sender.take_grant(5)),
        }
        assert!(!sender.has_output());
    }
}

#[test]
fn close_is_the_last_frame() {
    let mut sender = sender();
    one_tell(&mut sender, 0, 1);
    sender.close(Code::BYE, "");
    let mut receiver = RecvHalf::new(&Limits::default());
    let first = frames(&mut receiver, &output(&mut sender)).unwrap();
    let second = frames(&mut receiver, &output(&mut sender)).unwrap();
    assert!(first[0].starts_with("Tell"), "{first:?}");
    assert!(second[0].starts_with("Close"), "{second:?}");
    one_tell(&mut sender, 0, 2);
    assert!(!sender.has_output());
    assert!(output(&mut sender).is_empty());
}

/// The rule that lets the protocol grow: version 1 reads version 1 with unknown additions.
#[test]
fn an_unknown_optional_frame_is_skipped_and_a_required_one_refused() {
    let read = |frame: &[u8], sequenced: u8| {
        let tell = [0x90, 3, 0, 1, 9];
        let mut batch = vec![0, 0, 0, 1 + sequenced];
        batch.extend_from_slice(frame);
        batch.extend_from_slice(&tell);
        let mut receiver = RecvHalf::new(&Limits::default());
        frames(&mut receiver, &batch).map(|seen| (seen.len(), receiver.recv_next()))
    };
    assert_eq!(read(&[0x7A, 2, 1, 2], 0), Ok((2, 1)), "optional, unsequenced");
    assert_eq!(read(&[0xFA, 1, 1], 1), Ok((2, 2)), "optional, sequenced: it still counts");
    assert_eq!(code(read(&[0x3A, 1, 1], 0).unwrap_err()), Code::UNKNOWN_FRAME);
    assert_eq!(code(read(&[0xBA, 1, 1], 1).unwrap_err()), Code::UNKNOWN_FRAME);
}

#[test]
fn trailing_fields_are_skipped_and_extras_are_understood_by_their_tag() {
    let parse = |kind: u8, body: &[u8]| alloc::format!("{:?}", Frame::parse(kind, body));
    let pong = Frame::Pong { id: 7 };
    assert_eq!(parse(0x02, &[7, 1, 2, 3]), alloc::format!("Ok({pong:?})"));
    // CALL_X of a TELL with tag 2 (milliseconds left) and the odd, unknown tag 99.
    let known = [0x90, 6, 2, 1, 50, 99, 1, 0, 4, 1, 0x90];
    let tell = Frame::Tell { channel: 4, method: 1, arguments: &[0x90] };
    assert_eq!(parse(0x92, &known), alloc::format!("Ok({tell:?})"));
    let unknown = [0x91, 2, 98, 0, 4, 3, 2, 1, 0x90];
    let refused = Frame::NotUnderstood { tag: 98, channel: 4, asker: Some((3, 2)) };
    assert_eq!(parse(0x92, &unknown), alloc::format!("Ok({refused:?})"));
}

/// Calls and their answers.
fn call_frames() -> Vec<Frame<'static>> {
    vec![
        Frame::Tell { channel: 300, method: 2, arguments: &[1; 200] },
        Frame::Ask { channel: 1, slot: 70_000, generation: 9, method: 1, arguments: &[0x90] },
        Frame::AskWithin {
            within_ms: 70_000,
            channel: 1,
            slot: 70_000,
            generation: 9,
            method: 1,
            arguments: &[0x90],
        },
        Frame::Reply { slot: 1, generation: 2, value: &[0xC0] },
        Frame::Error { slot: 1, generation: 0, code: Code::PANICKED, text: b"oh", data: &[] },
        Frame::Cancel { slot: 1, generation: 0 },
    ]
}

/// All other frames that are written.
fn other_frames() -> Vec<Frame<'static>> {
    vec![
        Frame::Outcomes { channel: 300, tells: u64::MAX, rejected: 7 },
        Frame::Rejected { channel: 0, method: 9, tells: 1, code: Code(514), text: b"why" },
        Frame::Credit { channel: 1, limit: 1 << 40, handled: 3 },
        Frame::Need { channel: 1, limit_wanted: 5, units: 0 },
        Frame::Need { channel: 1, limit_wanted: 5000, units: 4096 },
        Frame::Revoke { channel: 1, limit_wanted: 5 },
        Frame::Revoked { channel: 1, limit: 5 },
        Frame::Attach { channel: 1, how: 0, target: b"counter", schema_hash: 77, codec: 0 },
        Frame::Attached { channel: 1, limit: 64, schema_hash: 77, codec: 0, reference: &[] },
        Frame::Detach { channel: 1 },
        Frame::Detached { channel: 1, code: Code::NO_SUCH_ACTOR, accepted: 0, reason: &[] },
        Frame::Ping { id: 1, next_ms: 1000 },
        Frame::Pong { id: 1 },
        Frame::Close { code: Code::GAP, rule: b"no gaps", detail: b"" },
        Frame::Drain { stop_seq: 12 },
        Frame::Release { reference: b"r", times: 2 },
        Frame::Link { channel: 300, link: 1 << 40, actor: b"Partner" },
        Frame::Unlink { channel: 300, link: 7, reason: b"\x04no disk" },
        Frame::Unlink { channel: 300, link: 7, reason: b"" },
    ]
}

#[test]
fn every_frame_round_trips() {
    let mut frames = call_frames();
    frames.extend(other_frames());
    for frame in frames {
        let mut out = Buffer::new();
        write::any(&mut out, &frame);
        let mut reader = Reader::new(out.as_slice());
        let (kind, body) = Frame::next(&mut reader, 1 << 16).unwrap();
        assert_eq!(Frame::parse(kind, body), Ok(frame));
        assert!(reader.is_empty());
        for cut in 0..body.len().min(12) {
            // A torn body gives a result, never a panic.
            let _ = Frame::parse(kind, &body[..cut]).map(|frame| alloc::format!("{frame:?}"));
        }
    }
    assert!(LinkError::protocol("x").to_string().contains('x'));
}

#[test]
fn after_a_cut_unsequenced_state_is_sent_again() {
    let mut sender = sender();
    let channel = sender.open_channel().unwrap();
    sender.attached(channel, 2);
    assert!(sender.stuck(channel, 5), "NEED is due");
    sender.grant(3, 64, None).unwrap();
    assert!(sender.freed(3, 40), "CREDIT is due");
    sender.ping_received(9, 1000);
    one_tell(&mut sender, channel, 1);
    one_tell(&mut sender, channel, 2);
    let lost = output(&mut sender);
    assert!(!sender.has_output());
    sender.resume(0, Time::START).unwrap();
    let mut receiver = RecvHalf::new(&Limits::default());
    let again = frames(&mut receiver, &output(&mut sender)).unwrap();
    let mut first = frames(&mut RecvHalf::new(&Limits::default()), &lost).unwrap();
    first.retain(|frame| !frame.contains("Pong"));
    assert_eq!(again, first, "everything except the answer to the old PING");
    assert_eq!(again.len(), 4);
    sender.resume(2, Time::START).unwrap();
    let again = frames(&mut receiver, &output(&mut sender)).unwrap();
    assert_eq!(again.len(), 2, "the tells were accepted: {again:?}");
    assert!(sender.resume(1, Time::START).is_err(), "an ack cannot be taken back");
}

#[test]
fn a_silent_peer_gets_a_ping_and_is_then_given_up() {
    let (mut sender, second) = (sender(), Duration::from_secs(1));
    let mut receiver = RecvHalf::new(&Limits::default());
    sender.tick(Time::START + second, || true).unwrap();
    let sent = frames(&mut receiver, &output(&mut sender)).unwrap();
    assert_eq!(sent, ["Ping { id: 1, next_ms: 1000 }"]);
    sender.bytes_received(Time::START + second);
    sender.tick(Time::START + Duration::from_millis(3999), || true).unwrap();
    let silent = sender.tick(Time::START + 4 * second, || true);
    assert_eq!(silent, Err(LinkError::Silent));
    sender.resume(0, Time::START + 9 * second).unwrap();
    assert_eq!(sender.deadline(), Some(Time::START + 10 * second), "a new connection starts over");
}

/// A peer that may be silent for a minute still owes an answer to a PING and to each frame.
#[test]
fn a_peer_with_a_long_silence_is_given_up_when_it_owes_an_answer() {
    let second = Duration::from_secs(1);
    for owes in [true, false] {
        let mut sender = sender();
        sender.ping_received(1, 60_000);
        assert!(!output(&mut sender).is_empty(), "a PONG, which is not answered");
        if owes {
            one_tell(&mut sender, 1, 9);
        }
        assert_eq!(output(&mut sender).is_empty(), !owes);
        let after = sender.tick(Time::START + 3 * second, || true);
        assert_eq!(after, if owes { Err(LinkError::Silent) } else { Ok(()) });
        if !owes {
            // The PING that was due by then is sent, and must be answered too.
            assert!(!output(&mut sender).is_empty());
            let after = sender.tick(Time::START + 3 * second, || true);
            assert_eq!(after, Err(LinkError::Silent));
        }
    }
}
