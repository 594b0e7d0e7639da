use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use bytes::Bytes;

use super::*;
use crate::Limits;
use crate::frames::write;
use crate::limits::{SEGMENT_BYTES, UNACKED_BYTES_MAX, UNACKED_PARTS_MIN};
use crate::outbox::SegmentBatch;

/// An outbox whose window of parts is no limit.
fn outbox() -> Outbox {
    wide(Outbox::new())
}

fn wide(mut outbox: Outbox) -> Outbox {
    outbox.set_parts_room(usize::MAX);
    outbox
}

/// A TELL or REPLY with `length` bytes, each of which tells its place.
fn long(source: u64, length: usize) -> LongFrame {
    let bytes: Vec<u8> = (0..length).map(|at| (at / 97) as u8).collect();
    let mut out = Buffer::new();
    out.extend(b"before");
    match source {
        ANSWERS => write::reply(&mut out, (7, 0), |out| out.extend(&bytes)),
        _ => write::tell(&mut out, source - 1, 1, |out| out.extend(&bytes)),
    };
    let frame = LongFrame::take(&mut out, 6);
    assert_eq!(out.as_slice(), b"before");
    frame
}

/// The frames of the next batch, with their number.
fn taken(outbox: &mut Outbox) -> (u64, Vec<(u8, Vec<u8>)>) {
    let mut taken = SegmentBatch::default();
    outbox.take(126 * 1024, &mut taken);
    (taken.first_seq, frames_of(&taken))
}

fn frames_of(taken: &SegmentBatch) -> Vec<(u8, Vec<u8>)> {
    let bytes: Vec<u8> =
        taken.segments.iter().flat_map(|segment| segment.flat().into_owned()).collect();
    let (mut reader, mut frames) = (Reader::new(&bytes), Vec::new());
    while let Ok((kind, body)) = Frame::next(&mut reader, u64::MAX) {
        frames.push((kind, body.to_vec()));
    }
    assert_eq!(frames.len() as u64, taken.frames);
    frames
}

/// The sources of the parts, in order, and the bodies that they make up.
fn read(frames: &[(u8, Vec<u8>)], bodies: &mut [Vec<u8>], totals: &mut [u64]) -> String {
    let mut order = String::new();
    for (kind, body) in frames {
        match Frame::parse(*kind, body).unwrap() {
            Frame::Parts { source, total, bytes, .. } => {
                assert_eq!((bodies[source as usize].len(), totals[source as usize]), (0, 0));
                totals[source as usize] = total;
                bodies[source as usize].extend_from_slice(bytes);
                order.push((b'A' + source as u8).into());
            }
            Frame::Part { source, bytes } => {
                bodies[source as usize].extend_from_slice(bytes);
                order.push((b'a' + source as u8).into());
            }
            _ => order.push('.'),
        }
    }
    order
}

#[test]
fn parts_take_turns_and_other_frames_go_between_them() {
    let mut outbox = outbox();
    let lengths = [100_000, 75_000, 35_000];
    for (source, length) in (0..).zip(lengths) {
        outbox.publish_long(source, long(source, length));
    }
    let (mut bodies, mut totals) = (vec![Vec::new(); 3], [0; 3]);
    let mut order = String::new();
    while !outbox.is_idle() {
        let (_, frames) = taken(&mut outbox);
        order.push_str(&read(&frames, &mut bodies, &mut totals));
        outbox.append(|out| write::tell(out, 9, 1, |_| ()));
        if order.len() > 40 {
            break;
        }
    }
    assert!(order.starts_with("A.B.C.a.b.c.a.b.a."), "{order}");
    for (body, (total, length)) in bodies.iter().zip(totals.into_iter().zip(lengths)) {
        assert_eq!(
            (body.len() as u64, body.len()),
            (total, length + 2),
            "two numbers and the bytes"
        );
        assert!(body[2..].iter().enumerate().all(|(at, byte)| *byte == (at / 97) as u8));
    }
    outbox.acknowledge(outbox.next_seq() - u64::from(!outbox.is_idle())).unwrap();
    assert_eq!((outbox.long_call_bytes(), outbox.longs.part_bytes), (0, 0));
}

#[test]
fn after_a_cut_accepted_parts_do_not_go_again_and_the_rest_follows() {
    for accepted in 0..4 {
        let mut outbox = outbox();
        outbox.publish_long(1, long(1, 150_000));
        let (mut bodies, mut totals) = (vec![Vec::new(); 2], [0; 2]);
        for at in 0..3 {
            let (first_seq, frames) = taken(&mut outbox);
            assert_eq!(first_seq, at);
            if at < accepted {
                read(&frames, &mut bodies, &mut totals);
            }
        }
        outbox.rewind(accepted.min(3)).unwrap();
        let mut next = accepted.min(3);
        while !outbox.is_idle() {
            let (first_seq, frames) = taken(&mut outbox);
            assert_eq!(first_seq, next);
            next += frames.len() as u64;
            read(&frames, &mut bodies, &mut totals);
        }
        outbox.acknowledge(next).unwrap();
        assert_eq!((bodies[1].len(), totals[1]), (150_002, 150_002));
        assert!(outbox.is_settled() && outbox.retained() == 0);
    }
}

#[test]
fn unacknowledged_parts_take_half_of_the_window_and_the_next_ack_lets_them_go_on() {
    let mut outbox = outbox();
    outbox.publish_long(1, long(1, 3 * UNACKED_BYTES_MAX));
    while !outbox.is_idle() {
        taken(&mut outbox);
    }
    let kept = outbox.retained();
    assert!((UNACKED_BYTES_MAX / 2..UNACKED_BYTES_MAX / 2 + 70_000).contains(&kept), "{kept}");
    assert!(outbox.has_room_for_calls());
    outbox.acknowledge(2).unwrap();
    assert!(!outbox.is_idle(), "there is room for a part again");
    taken(&mut outbox);
    assert!(outbox.retained() <= kept + 70_000);
}

#[test]
fn beside_other_frames_unacknowledged_parts_take_no_more_than_their_window() {
    let mut outbox = Outbox::new();
    outbox.publish_long(1, long(1, 4 * PARTS_ALONE_BYTES));
    let unacked = |outbox: &mut Outbox| {
        while !outbox.is_idle() {
            taken(outbox);
        }
        outbox.unacked()
    };
    let in_window = |bytes: usize| (bytes / PART_BYTES_BESIDE + 1) as u64;
    let in_half = (UNACKED_BYTES_MAX / 2 / SEGMENT_BYTES + 1) as u64;
    assert_eq!(unacked(&mut outbox), in_window(UNACKED_PARTS_MIN));
    assert!(outbox.lacks_parts_room());
    outbox.acknowledge(1).unwrap();
    assert!(!outbox.lacks_parts_room());
    assert_eq!(unacked(&mut outbox), in_window(UNACKED_PARTS_MIN));
    outbox.set_parts_room(5 * PART_BYTES_BESIDE);
    assert_eq!(unacked(&mut outbox), in_window(5 * PART_BYTES_BESIDE));
    outbox.append(|out| write::tell(out, 9, 1, |_| ()));
    assert_eq!(unacked(&mut outbox), 1 + in_window(5 * PART_BYTES_BESIDE), "other frames go");
    // With no other frames for a while, parts take half of the window.
    while outbox.next_seq() < 1 + in_window(PARTS_ALONE_BYTES) + in_window(5 * PART_BYTES_BESIDE) {
        outbox.acknowledge(outbox.sent()).unwrap();
        unacked(&mut outbox);
        assert!(outbox.retained() <= UNACKED_BYTES_MAX / 2 + SEGMENT_BYTES);
    }
    outbox.acknowledge(outbox.sent()).unwrap();
    assert_eq!(unacked(&mut outbox), in_half);
    outbox.acknowledge(outbox.acked() + 2).unwrap();
    outbox.append(|out| write::tell(out, 9, 1, |_| ()));
    let unacked_before = outbox.unacked();
    assert_eq!(
        unacked(&mut outbox),
        unacked_before,
        "no part goes with other frames that are back"
    );
    outbox.acknowledge(outbox.sent()).unwrap();
    assert_eq!(unacked(&mut outbox), in_window(5 * PART_BYTES_BESIDE));
}

/// A program's long bytes are not copied, whether they go in parts or as one frame.
#[test]
fn shared_bytes_reach_the_writer_where_the_program_put_them() {
    let shared = Bytes::from(vec![7; 50_000]);
    let within = |slice: &[u8]| {
        let (all, part) = (shared.as_ptr_range(), slice.as_ptr_range());
        all.start <= part.start && part.end <= all.end
    };
    let mut outbox = outbox();
    let call = |out: &mut Buffer, bytes: &Bytes| {
        write::tell(out, 0, 1, |out| {
            out.push(0xC0);
            out.extend_shared(bytes);
            out.push(0xC1);
        })
    };
    let mut out = Buffer::new();
    let body = out.gathering(|out| call(out, &shared));
    assert_eq!(body, 50_004);
    let frame = LongFrame::take(&mut out, 0);
    assert_eq!(frame.body_bytes(), body);
    outbox.publish_long(1, frame);
    outbox.append(|out| call(out, &shared.slice(..5000)));
    out.gathering(|out| call(out, &shared.slice(..6000)));
    outbox.publish(&mut out, 1);
    let (mut copied, mut by_address, mut batch) = (0, 0, SegmentBatch::default());
    let (mut bodies, mut totals) = (vec![Vec::new(); 2], [0; 2]);
    let mut order = String::new();
    while !outbox.is_idle() {
        outbox.take(126 * 1024, &mut batch);
        for slice in batch.segments.iter().flat_map(|segment| segment.slices()) {
            *(if within(slice) { &mut by_address } else { &mut copied }) += slice.len();
        }
        order.push_str(&read(&frames_of(&batch), &mut bodies, &mut totals));
    }
    assert_eq!(order, "..Bb");
    assert_eq!(by_address, 61_000);
    assert!(copied < 100, "{copied} bytes of heads");
    assert!(bodies[1][3..50_003].iter().all(|byte| *byte == 7));
    assert_eq!((bodies[1].len(), bodies[1][2], bodies[1][50_003]), (body, 0xC0, 0xC1));
}

#[test]
fn batches_of_shared_bytes_fit_into_those_that_the_peer_reads() {
    let shared = Bytes::from(vec![7; 20_000]);
    let call = |out: &mut Buffer| write::tell(out, 0, 1, |out| out.extend_shared(&shared));
    for batch_max in [70_000, 256 * 1024] {
        let limits = Limits { batch_max, frame_max: 30_000, ..Limits::default() };
        let mut outbox = Outbox::for_peer(&limits);
        for _ in 0..30 {
            outbox.append(call);
        }
        let mut out = Buffer::new();
        for _ in 0..30 {
            out.gathering(call);
        }
        outbox.publish(&mut out, 30);
        assert_eq!(outbox.retained(), 60 * (20_000 + 4 + 2));
        let (mut batch, mut frames) = (SegmentBatch::default(), 0);
        while !outbox.is_idle() {
            outbox.take(batch_max as usize - 1024, &mut batch);
            let bytes: usize = batch.segments.iter().map(BufferSlice::len).sum();
            assert!(bytes <= batch_max as usize - 1024, "{bytes} bytes");
            frames += frames_of(&batch).len();
        }
        assert_eq!(frames, 60);
    }
}

#[test]
fn calls_with_shared_bytes_that_were_not_sent_are_known_whole() {
    let shared = Bytes::from(vec![7; 20_000]);
    let call = |out: &mut Buffer| write::tell(out, 0, 1, |out| out.extend_shared(&shared));
    let mut outbox = outbox();
    let mut out = Buffer::new();
    out.gathering(call);
    out.gathering(call);
    outbox.publish(&mut out, 2);
    outbox.append(call);
    let mut unsent = Vec::new();
    outbox.each_unsent(|kind, body| unsent.push((kind, body.len())));
    assert_eq!(unsent, [(kind::TELL, 20_002); 3]);
}

#[test]
fn parts_fit_into_the_smallest_batch_and_frame_of_a_peer() {
    let limits = Limits { batch_max: 2048, frame_max: 256, ..Limits::default() };
    let mut outbox = wide(Outbox::for_peer(&limits));
    outbox.publish_long(u64::MAX, long(u64::MAX, 5000));
    let mut left = 5000;
    while !outbox.is_idle() {
        let (_, frames) = taken(&mut outbox);
        let [(kind, body)] = &frames[..] else { panic!("one part in a batch") };
        assert!(body.len() <= 256, "{} bytes", body.len());
        let bytes = match Frame::parse(*kind, body).unwrap() {
            Frame::Parts { bytes, .. } => bytes.len() - 11,
            Frame::Part { bytes, .. } => bytes.len(),
            other => panic!("{other:?}"),
        };
        assert!(bytes > 200 || bytes == left, "parts are as long as they may be");
        left -= bytes;
    }
    assert_eq!(left, 0);
}

#[test]
fn a_message_is_unsent_until_its_last_part_was_taken() {
    let mut outbox = outbox();
    let number = outbox.publish_long(1, long(1, 75_000));
    let (call, end) = (Published::Long(number), outbox.published());
    let unsent = |outbox: &Outbox| {
        let mut all = Vec::new();
        outbox.each_unsent(|kind, body| all.push((kind, body.len())));
        all
    };
    for part in 0..3 {
        assert_eq!(unsent(&outbox), [(kind::TELL, 75_002)], "{part} parts were taken");
        assert_eq!(outbox.unsettled(), (1, 0));
        assert!(!outbox.was_sent(call) && !outbox.is_acknowledged(call));
        taken(&mut outbox);
    }
    assert!(unsent(&outbox).is_empty() && outbox.was_sent(call));
    assert_eq!(outbox.unsettled(), (0, 1));
    outbox.mark_torn();
    assert_eq!(unsent(&outbox).len(), 1, "the last part was not written whole");
    assert!(!outbox.was_sent(call));
    outbox.rewind(2).unwrap();
    taken(&mut outbox);
    outbox.acknowledge(2).unwrap();
    assert!(!outbox.is_acknowledged(call) && !outbox.has_acknowledged(end));
    outbox.acknowledge(3).unwrap();
    assert!(outbox.is_acknowledged(call) && outbox.has_acknowledged(end));
    assert!(outbox.was_sent(call) && outbox.is_settled());
}

#[test]
fn a_call_discarded_before_its_last_part_was_never_sent() {
    let mut outbox = outbox();
    let calls =
        [1, 2].map(|source| Published::Long(outbox.publish_long(source, long(source, 35_000))));
    while outbox.longs.active.len() == 2 {
        taken(&mut outbox);
    }
    outbox.discard();
    assert!(calls.iter().all(|call| !outbox.is_acknowledged(*call)));
    assert_eq!(calls.map(|call| outbox.was_sent(call)), [true, false]);
    assert_eq!((outbox.held(), outbox.is_idle()), (0, true));
}

#[test]
fn answers_go_one_after_the_other() {
    let mut outbox = outbox();
    for _ in 0..3 {
        outbox.publish_long(ANSWERS, long(ANSWERS, 50_000));
    }
    let mut order = String::new();
    while !outbox.is_idle() {
        for (kind, _) in taken(&mut outbox).1 {
            order.push(if kind == kind::PARTS { 'A' } else { 'a' });
        }
    }
    assert_eq!(order, "AaAaAa");
    assert_eq!(outbox.longs.answer_bytes, 0);
}

/// The pools bound what all sessions keep together, so an answer counts before its first part is sent.
#[test]
fn a_long_answer_is_charged_to_the_pools_until_its_last_part_is_acknowledged() {
    let (mut outbox, length) = (outbox(), 10 * SEGMENT_BYTES);
    let before = outbox.charged;
    outbox.publish_long(ANSWERS, long(ANSWERS, length));
    assert!(before < length && outbox.charged >= length, "{before} and {}", outbox.charged);
    while !outbox.is_idle() {
        taken(&mut outbox);
        assert!(outbox.charged >= length);
    }
    outbox.acknowledge(outbox.next_seq).unwrap();
    assert!(outbox.charged < length, "{}", outbox.charged);
}

/// Long answers that are not sent yet count as those that wait for their ack.
#[test]
fn a_peer_that_asks_for_long_answers_and_reads_none_is_overfull() {
    let mut outbox = outbox();
    let mut answers = 0;
    while !outbox.is_overfull() {
        outbox.publish_long(ANSWERS, long(ANSWERS, 4 << 20));
        answers += 1;
        assert!(answers < 10);
    }
    assert_eq!(answers, 6, "21 MiB are too much");
    outbox = Outbox::new();
    outbox.publish_long(1, long(1, 30 << 20));
    assert!(!outbox.is_overfull(), "a call of our own is no answer");
}
