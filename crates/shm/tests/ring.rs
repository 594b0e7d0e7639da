//! The rings between two threads, and with a peer that writes anything anywhere.
#![allow(clippy::unwrap_used, reason = "a test may panic, and so may its helpers")]
#![allow(clippy::disallowed_types, reason = "no model of loom is checked here")]

use std::fs::File;
use std::io::{IoSlice, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use bytes::BytesMut;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use wigwag_shm::{
    Broken, Consumer, Direction, Producer, RING_BYTES_MAX, RING_BYTES_MIN, Segment, SegmentError,
    Side, pass,
};

/// Bytes of one direction in the tests of two threads.
const BYTES: usize = 8 * 1024 * 1024;

/// Writes of the hostile peer.
const STROKES: usize = 200_000;

/// Bytes of both headers in front of the rings.
const HEADERS: usize = 8192;

/// A sequence that repeats on every run (xorshift).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Both ends of a new segment, opened by its descriptor as another process would.
fn ends(ring_bytes: usize) -> ((Producer, Consumer), (Producer, Consumer), File) {
    let created = Segment::create(ring_bytes).unwrap();
    let descriptor = created.descriptor().try_clone_to_owned().unwrap();
    let hand = File::from(created.descriptor().try_clone_to_owned().unwrap());
    let opened = Segment::open(descriptor, ring_bytes as u64).unwrap();
    (created.into_rings(Side::Creator), opened.into_rings(Side::Opener), hand)
}

fn byte(number: usize) -> u8 {
    (number % 251) as u8
}

/// Writes all bytes in pieces of any length, and sleeps when there is no room.
fn produce(mut producer: Producer, bell: &SyncSender<()>, room: &Receiver<()>) {
    let mut draws = Draws(1);
    let mut written = 0;
    while written < BYTES {
        let length = (draws.next() % 9000) as usize;
        let piece: Vec<u8> = (written..BYTES.min(written + length)).map(byte).collect();
        let (first, second) = piece.split_at(piece.len() / 3);
        let progress = producer.write(&[IoSlice::new(first), IoSlice::new(second)]).unwrap();
        if progress.wake {
            bell.send(()).unwrap();
        }
        written += progress.bytes;
        if progress.bytes < piece.len() && producer.wait().unwrap() {
            room.recv().unwrap();
        }
    }
    if producer.end(Direction::Finished) {
        bell.send(()).unwrap();
    }
}

/// Reads until the end, and sleeps when there is nothing.
fn consume(mut consumer: Consumer, bell: &Receiver<()>, room: &SyncSender<()>) -> usize {
    let (mut draws, mut read) = (Draws(2), 0);
    loop {
        let direction = consumer.direction().unwrap();
        let mut out = BytesMut::new();
        let progress = consumer.read(&mut out, (draws.next() % 9000 + 1) as usize).unwrap();
        if progress.wake {
            room.send(()).unwrap();
        }
        assert!(out.iter().enumerate().all(|(at, found)| *found == byte(read + at)));
        read += progress.bytes;
        if progress.bytes > 0 {
            continue;
        }
        if direction == Direction::Finished {
            return read;
        }
        if consumer.wait().unwrap() {
            bell.recv().unwrap();
        }
    }
}

/// A bell that is not rung in time leaves both threads asleep, and the test does not end.
#[test]
fn all_bytes_arrive_in_order_and_no_wake_is_lost() {
    for ring_bytes in [RING_BYTES_MIN, 16 * RING_BYTES_MIN] {
        let ((producer, _), (_, consumer), _) = ends(ring_bytes);
        let (bell, rung) = sync_channel(1024);
        let (room, has_room) = sync_channel(1024);
        let writing = thread::spawn(move || produce(producer, &bell, &has_room));
        assert_eq!(consume(consumer, &rung, &room), BYTES);
        writing.join().unwrap();
    }
}

#[test]
fn a_full_ring_takes_no_more_and_an_empty_one_gives_nothing() {
    let ((mut producer, _), (_, mut consumer), _) = ends(RING_BYTES_MIN);
    let whole = vec![7; RING_BYTES_MIN + 1];
    assert_eq!(producer.write(&[IoSlice::new(&whole)]).unwrap().bytes, RING_BYTES_MIN);
    assert_eq!(producer.write(&[IoSlice::new(&whole)]).unwrap().bytes, 0);
    assert!(producer.wait().unwrap(), "it waits");
    assert!(!consumer.wait().unwrap(), "there are bytes to read, so it must not sleep");
    let mut out = BytesMut::new();
    let progress = consumer.read(&mut out, 10).unwrap();
    assert_eq!((progress.bytes, progress.wake), (10, true));
    assert!(!producer.wait().unwrap(), "there is room, so it must not sleep");
    assert_eq!(producer.write(&[IoSlice::new(&whole)]).unwrap().bytes, 10);
    assert_eq!(consumer.read(&mut out, usize::MAX).unwrap().bytes, RING_BYTES_MIN);
    assert_eq!(consumer.read(&mut out, usize::MAX).unwrap().bytes, 0);
    assert!(consumer.wait().unwrap(), "it waits");
    assert!(!producer.end(Direction::Open) && !producer.has_ended());
    assert!(producer.end(Direction::Aborted), "the reader is to be woken");
    assert!(producer.has_ended(), "nothing is written behind the end");
    assert_eq!(consumer.direction(), Ok(Direction::Aborted));
    assert!(!consumer.wait().unwrap(), "nothing comes any more, so it must not sleep");
}

/// The counters of a peer are looked at once and refused if they are impossible; its flags are only
/// flags.
#[test]
fn an_impossible_counter_is_refused() {
    let ((mut producer, mut consumer), _other, hand) = ends(RING_BYTES_MIN);
    producer.write(&[IoSlice::new(b"abc")]).unwrap();
    for count in [4, RING_BYTES_MIN as u64 * 3, u64::MAX, 1 << 63] {
        // The peer has read more than was written.
        hand.write_all_at(&count.to_le_bytes(), 256).unwrap();
        let refused = producer.wait().unwrap_err();
        assert!(matches!(refused, Broken::Counters { .. }), "{refused}");
    }
    for count in [RING_BYTES_MIN as u64 + 1, u64::MAX, 1 << 63] {
        // The peer has written more than the ring holds.
        hand.write_all_at(&count.to_le_bytes(), 4096).unwrap();
        let refused = consumer.read(&mut BytesMut::new(), usize::MAX).unwrap_err();
        assert!(matches!(refused, Broken::Counters { .. }), "{refused}");
    }
    hand.write_all_at(&9_u32.to_le_bytes(), 4096 + 512).unwrap();
    assert_eq!(consumer.direction(), Err(Broken::Ending(9)));
}

/// While both ends run, a third hand writes anything anywhere: no end panics, reads beyond its ring,
/// or goes on for ever.
#[test]
fn a_peer_that_writes_anywhere_breaks_only_the_connection() {
    let (done, seed) = (AtomicBool::new(false), 3);
    thread::scope(|scope| {
        let mut connections = 0;
        let done = &done;
        let (give, take) = sync_channel::<File>(1);
        scope.spawn(move || {
            let mut draws = Draws(seed);
            let mut hand = take.recv().unwrap();
            for _ in 0..STROKES {
                if let Ok(next) = take.try_recv() {
                    hand = next;
                }
                let at = (draws.next() % (HEADERS + 2 * RING_BYTES_MIN) as u64) & !3;
                // Most strokes hit a header: the rest is only content.
                let in_header = at % HEADERS as u64 / 128 * 128;
                let at = if draws.next() & 3 == 0 { at } else { in_header };
                let value = draws.next() >> (draws.next() % 64);
                hand.write_at(&value.to_le_bytes(), at).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            let ((mut producer, _), (_, mut consumer), hand) = ends(RING_BYTES_MIN);
            let _ = give.try_send(hand);
            connections += 1;
            let mut run = || -> Result<(), Broken> {
                for _ in 0..10_000 {
                    let mut out = BytesMut::new();
                    let written = producer.write(&[IoSlice::new(&[1; 700])])?.bytes;
                    let read = consumer.read(&mut out, usize::MAX)?.bytes;
                    assert!(written <= 700 && read <= RING_BYTES_MIN && out.len() == read);
                    producer.wait()?;
                    consumer.wait()?;
                    consumer.direction()?;
                }
                Ok(())
            };
            // An error is what is due; so is none, where the strokes hit flags and content.
            let _ = run();
        }
        assert!(connections > 1, "the strokes break connections");
    });
}

#[test]
fn a_ring_has_a_power_of_two_within_the_bounds() {
    for bytes in
        [0, 1, RING_BYTES_MIN / 2, RING_BYTES_MIN + 1, 3 * RING_BYTES_MIN, 2 * RING_BYTES_MAX]
    {
        let refused = Segment::create(bytes).unwrap_err();
        assert!(matches!(refused, SegmentError::RingBytes(_)), "{refused}");
    }
    for bytes in [0, 5000, u64::MAX, 1 << 62] {
        let segment = Segment::create(RING_BYTES_MIN).unwrap();
        let descriptor = segment.descriptor().try_clone_to_owned().unwrap();
        let refused = Segment::open(descriptor, bytes).unwrap_err();
        assert!(matches!(refused, SegmentError::RingBytes(_)), "{refused}");
    }
}

/// A file that its owner can make shorter, one that is too short, and what is no memory.
#[test]
fn a_descriptor_that_could_end_the_process_is_refused() {
    let open = |file: File| Segment::open(file.into(), RING_BYTES_MIN as u64);
    let memory = |length: u64, seals: SealFlags| {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = File::from(memfd_create("test", flags).unwrap());
        file.set_len(length).unwrap();
        fcntl_add_seals(&file, seals).unwrap();
        file
    };
    let needed = 2 * (4096 + RING_BYTES_MIN as u64);
    assert!(open(memory(needed, SealFlags::SHRINK)).is_ok());
    for seals in [SealFlags::empty(), SealFlags::GROW] {
        let refused = open(memory(needed, seals)).unwrap_err();
        assert!(matches!(refused, SegmentError::NotSealed), "{refused}");
    }
    // The system may have no huge page left when one is touched. A kernel without them makes no file.
    let huge = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::HUGETLB;
    if let Ok(file) = memfd_create("test", huge).map(File::from)
        && file.set_len(4 * 1024 * 1024).is_ok()
    {
        fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
        let refused = open(file).unwrap_err();
        assert!(matches!(refused, SegmentError::NotSealed), "{refused}");
    }
    let refused = open(memory(needed - 1, SealFlags::SHRINK)).unwrap_err();
    assert!(matches!(refused, SegmentError::Length { .. }), "{refused}");
    for path in ["/dev/zero", "/proc/self/exe"] {
        let refused = open(File::open(path).unwrap()).unwrap_err();
        assert!(matches!(refused, SegmentError::NotSealed), "{path}: {refused}");
    }
}

#[test]
fn a_descriptor_is_passed_with_its_bytes_and_only_one_is_kept() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let segment = Segment::create(RING_BYTES_MIN).unwrap();
    let mut bytes = [0; 8];
    let nothing = pass::receive(&theirs, &mut bytes).unwrap_err();
    assert_eq!(nothing.kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!(pass::send(&ours, b"here", segment.descriptor()).unwrap(), 4);
    let (length, descriptor) = pass::receive(&theirs, &mut bytes).unwrap();
    assert_eq!(&bytes[..length], b"here");
    assert!(Segment::open(descriptor.unwrap(), RING_BYTES_MIN as u64).is_ok());
    (&ours).write_all(b"more").unwrap();
    let (length, descriptor) = pass::receive(&theirs, &mut bytes).unwrap();
    assert!(length == 4 && descriptor.is_none());
    drop(ours);
    assert_eq!(pass::receive(&theirs, &mut bytes).unwrap().0, 0);
}
