use alloc::vec;

use wigwag_wire::call::Calls;
use wigwag_wire::run::RunBuilder;

use super::publish::ADOPT_BYTES_MIN;
use super::*;
use crate::frames::write;

fn take_all(outbox: &mut Outbox) -> (u64, u64, Vec<u8>) {
    let mut taken = SegmentBatch::default();
    outbox.take(usize::MAX, &mut taken);
    let bytes = taken.segments.iter().flat_map(|segment| segment.flat().into_owned()).collect();
    (taken.first_seq, taken.frames, bytes)
}

fn encoded(length: usize) -> Buffer {
    let mut buffer = Buffer::new();
    buffer.extend(&alloc::vec![7; length]);
    buffer
}

#[test]
fn a_batch_takes_everything_published_and_numbers_follow_publishing() {
    let mut outbox = Outbox::new();
    outbox.append(|out| out.extend(b"a"));
    outbox.publish(&mut encoded(2), 3);
    assert_eq!(take_all(&mut outbox), (0, 4, alloc::vec![b'a', 7, 7]));
    assert!(outbox.is_idle());
    let mut large = encoded(ADOPT_BYTES_MIN);
    outbox.append(|out| out.extend(b"b"));
    outbox.publish(&mut large, 5);
    assert!(large.is_empty());
    outbox.append(|out| out.extend(b"c"));
    let (first, frames, bytes) = take_all(&mut outbox);
    assert_eq!((first, frames, bytes.len()), (4, 6, 1 + ADOPT_BYTES_MIN));
    assert_eq!(take_all(&mut outbox), (10, 1, alloc::vec![b'c']));
}

#[test]
fn segments_are_kept_until_their_ack() {
    let mut outbox = Outbox::new();
    for _ in 0..3 {
        outbox.append(|out| out.extend(b"xy"));
        take_all(&mut outbox);
    }
    assert_eq!((outbox.unacked(), outbox.retained), (3, 6));
    outbox.acknowledge(2).unwrap();
    assert_eq!((outbox.unacked(), outbox.retained), (1, 2));
    outbox.acknowledge(1).unwrap();
    assert_eq!(outbox.unacked(), 1, "an older ack takes nothing back");
    outbox.acknowledge(3).unwrap();
    assert!(outbox.is_settled());
}

#[test]
fn after_a_cut_only_unaccepted_frames_are_sent_again() {
    let mut outbox = Outbox::new();
    for text in [b"ab", b"cd", b"ef"] {
        outbox.append(|out| out.extend(&text[..1]));
        outbox.append(|out| out.extend(&text[1..]));
        take_all(&mut outbox);
    }
    outbox.append(|out| out.extend(b"g"));
    assert_eq!((outbox.untaken_frames(), outbox.waiting_bytes()), (1, 1));
    // The peer has the first segment and half of the second.
    outbox.rewind(3).unwrap();
    assert_eq!((outbox.unacked(), outbox.untaken_frames()), (4, 4));
    assert_eq!(outbox.waiting_bytes(), 5);
    assert_eq!(take_all(&mut outbox), (2, 4, b"cdef".to_vec()));
    assert_eq!(take_all(&mut outbox), (6, 1, b"g".to_vec()));
    assert!(outbox.rewind(2).is_err(), "these frames were accepted before");
    assert!(outbox.rewind(8).is_err(), "these frames were never sent");
    outbox.rewind(7).unwrap();
    assert!(outbox.is_idle() && outbox.is_settled() && outbox.retained() == 0);
}

#[test]
fn an_ack_beyond_what_was_written_is_an_error() {
    let mut outbox = Outbox::new();
    outbox.append(|out| out.extend(b"x"));
    assert!(outbox.acknowledge(1).is_err(), "published, but no writer has taken it");
    take_all(&mut outbox);
    assert!(outbox.acknowledge(1).is_ok());
    assert!(outbox.acknowledge(2).is_err());
}

#[test]
fn a_frame_that_is_undone_leaves_no_trace() {
    let mut outbox = Outbox::new();
    outbox.append(|out| out.extend(b"keep"));
    let refused: Result<(), ()> = outbox.append_unless(|out| {
        out.extend(b"drop");
        Err(())
    });
    assert!(refused.is_err());
    assert_eq!(take_all(&mut outbox), (0, 1, b"keep".to_vec()));
}

/// The frame after a full segment begins a new one; undoing it must not touch the old one.
#[test]
fn a_frame_that_began_a_segment_is_undone_too() {
    let mut outbox = Outbox::new();
    outbox.append(|out| out.extend(&[1; SEGMENT_BYTES]));
    let refused: Result<(), ()> = outbox.append_unless(|out| {
        out.extend(b"drop");
        Err(())
    });
    assert!(refused.is_err());
    outbox.append(|out| out.extend(b"keep"));
    assert_eq!(take_all(&mut outbox).2.len(), SEGMENT_BYTES);
    assert_eq!(take_all(&mut outbox), (1, 1, b"keep".to_vec()));
    assert_eq!(outbox.retained(), SEGMENT_BYTES + 4);
}

/// A peer with small batches gets small segments, however the frames are published.
#[test]
fn every_segment_fits_into_a_batch_of_the_peer() {
    for (batch_max, frame_max) in [(2048, 256), (2048, 65_536), (8192, 700), (40_000, 8192)] {
        let peer = Limits { batch_max, frame_max, ..Limits::default() };
        let mut outbox = Outbox::for_peer(&peer);
        let fits = batch_max as usize - BATCH_HEAD_BYTES_MAX;
        let tell = |out: &mut Buffer, length: usize| {
            write::tell(out, 1, 1, |out| out.extend(&alloc::vec![7; length]))
        };
        let largest = peer.body_max() as usize - 2;
        let mut turn = Buffer::new();
        for at in 0..200 {
            outbox.append(|out| tell(out, if at % 3 == 0 { largest } else { at }));
            tell(&mut turn, at * 7 % largest);
        }
        outbox.publish(&mut turn, 200);
        let mut taken = SegmentBatch::default();
        let mut frames = 0;
        while !outbox.is_idle() {
            outbox.take(0, &mut taken);
            assert_eq!(taken.first_seq, frames);
            frames += taken.frames;
            let bytes: usize = taken.segments.iter().map(|segment| segment.len()).sum();
            assert!(bytes <= fits, "{bytes} bytes for a batch of {batch_max}");
        }
        assert_eq!((frames, outbox.waiting_bytes()), (400, 0));
    }
}

#[test]
fn a_turn_of_runs_is_cut_between_them_and_each_item_has_a_number() {
    let mut outbox = Outbox::for_peer(&Limits { batch_max: 16_384, ..Limits::default() });
    let (mut builder, mut turn) = (RunBuilder::default(), Buffer::new());
    builder.note_tell(1, 1);
    for _ in 0..2000 {
        assert!(builder.tell(&mut turn, 1, 1, |_, at| Some(at + 40)));
    }
    builder.close(&mut turn);
    outbox.publish(&mut turn, 2000);
    let (mut taken, mut next, mut pieces) = (SegmentBatch::default(), 0, 0);
    while !outbox.is_idle() {
        outbox.take(0, &mut taken);
        let bytes = taken.segments.iter().flat_map(|segment| segment.flat().into_owned());
        let held = Calls::new(&bytes.collect::<Vec<u8>>()).count() as u64;
        assert_eq!((taken.first_seq, taken.frames), (next, held));
        (next, pieces) = (next + held, pieces + 1);
    }
    assert_eq!(next, 2000);
    assert!(pieces > 5, "{pieces}");
}

#[test]
fn the_unacked_window_closes_and_an_ack_opens_it() {
    let mut outbox = Outbox::new();
    let mut published = 0;
    while outbox.has_room_for_calls() {
        outbox.publish(&mut encoded(SEGMENT_BYTES), 10);
        published += 10;
    }
    assert_eq!(published, 10 * (UNACKED_BYTES_MAX / SEGMENT_BYTES) as u64);
    assert!(outbox.has_room_for_answers());
    take_all(&mut outbox);
    assert_eq!(outbox.acknowledge(10), Ok(true));
    assert!(!outbox.spare.is_empty(), "the buffer is reused");
}

#[test]
fn a_torn_batch_has_not_arrived_and_earlier_ones_may_have() {
    let mut outbox = Outbox::new();
    let tell = |outbox: &mut Outbox, channel| {
        outbox.append(|out| write::tell(out, channel, 1, |_| ()));
    };
    let unsent = |outbox: &Outbox| {
        let mut channels = Vec::new();
        outbox.each_unsent(|_, body| channels.push(body[0]));
        channels
    };
    tell(&mut outbox, 1);
    take_all(&mut outbox);
    tell(&mut outbox, 2);
    tell(&mut outbox, 3);
    take_all(&mut outbox);
    tell(&mut outbox, 4);
    assert_eq!((unsent(&outbox), outbox.untaken_frames()), (vec![4], 1));
    outbox.mark_torn();
    assert_eq!((unsent(&outbox), outbox.untaken_frames()), (vec![2, 3, 4], 3));
    assert!(outbox.acknowledge(2).is_err(), "a torn batch is never accepted in part");
    // Everything is sent again; then a batch with only an ack is torn.
    outbox.rewind(1).unwrap();
    while take_all(&mut outbox).1 > 0 {}
    outbox.mark_torn();
    assert_eq!(unsent(&outbox), [0; 0], "what was written before the ack may have arrived");
}
