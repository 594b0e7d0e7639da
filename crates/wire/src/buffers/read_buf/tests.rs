use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec;

use super::*;

/// The buffer of a connection that needs blocks.
fn busy() -> ReadBuf {
    ReadBuf { is_busy: true, ..ReadBuf::new() }
}

/// The block has its length still, and so comes from the pool and goes back to it.
#[test]
fn a_block_does_not_grow_while_bytes_find_room_in_it() {
    for held in [0, 1, 60_000, READ_BYTES - SPACE_BYTES_MIN] {
        let mut input = busy();
        input.append(&vec![1; held]);
        while input.room_in_block() > 0 {
            let piece = input.room_in_block().min(16 * 1024);
            input.append(&vec![2; piece]);
        }
        assert!(input.pool == Pool::Blocks && input.len() < READ_BYTES, "{held}");
        assert_eq!(input.block.capacity(), READ_BYTES, "{held}");
    }
}

/// Reads a message of `length` bytes in reads of 64 KiB, and takes it.
fn long_message(input: &mut ReadBuf, length: usize) -> Bytes {
    input.want(length);
    while !input.is_ready() {
        let space = input.space();
        let room = (space.capacity() - space.len()).min(64 * 1024);
        space.resize(space.len() + room, 7);
    }
    input.take(length)
}

#[test]
fn the_memory_of_a_long_message_is_used_again_once_it_is_dropped() {
    let mut input = busy();
    let mut places = BTreeSet::new();
    let mut last = Bytes::new();
    for _ in 0..50 {
        // The one before is in the user's hands meanwhile.
        let message = long_message(&mut input, LONG_BYTES_MAX);
        assert!(message.iter().all(|byte| *byte == 7));
        places.insert(message.as_ptr().addr());
        last = message;
    }
    drop(last);
    assert_eq!((places.len(), input.long_blocks.len()), (2, 1));
    input.skip(usize::MAX);
    input.release();
    assert_eq!(input.long_blocks.len(), 0, "an idle connection holds none");
}

/// A layer appends what has arrived of the next message too.
#[test]
fn bytes_behind_a_long_message_find_room() {
    for behind in [1, 4096, 100_000, 3 * READ_BYTES] {
        let mut input = busy();
        input.want(LONG_BYTES_MAX);
        let _held = long_message(&mut input, LONG_BYTES_MAX);
        input.want(LONG_BYTES_MAX);
        input.append(&vec![1; LONG_BYTES_MAX]);
        input.append(&vec![2; behind]);
        assert!(input.len() >= LONG_BYTES_MAX + behind);
    }
}

/// A reader checks a length before it wants it, and a length may be any number where nobody
/// limits it.
#[test]
fn a_wanted_length_takes_no_memory_before_bytes_have_arrived() {
    let mut input = busy();
    input.append(&[1; 100]);
    for wanted in [LONG_BYTES_MAX, LONG_BYTES_MAX + 1, usize::MAX - 1, usize::MAX] {
        input.want(wanted);
        assert!(input.space().capacity() <= 2 * READ_BYTES, "{wanted}");
    }
}

#[test]
fn the_memory_of_a_message_beyond_the_limit_is_not_kept() {
    let mut input = busy();
    for _ in 0..5 {
        let _ = long_message(&mut input, LONG_BYTES_MAX + 1);
    }
    long_message(&mut input, 100);
    assert_eq!(input.long_blocks.len(), 0);
}

#[test]
fn taken_bytes_stay_valid_while_the_buffer_is_refilled() {
    let mut input = ReadBuf::new();
    input.fill(b"abcdef");
    let first = input.take(3);
    input.fill(b"ghi");
    assert_eq!(first.as_ref(), b"abc");
    assert_eq!(input.as_slice(), b"defghi");
}

/// Bytes of the stream in turn: copied, shared, shared, copied.
fn mixed(input: &mut ReadBuf) -> Bytes {
    let long = Bytes::from(vec![b'l'; 5]);
    input.append(b"abc");
    input.append_shared(long.clone());
    input.append_shared(Bytes::from_static(b"mn"));
    input.append(b"xyz");
    long
}

#[test]
fn shared_bytes_keep_their_place_and_are_not_copied() {
    let mut input = ReadBuf::new().sharing();
    let long = mixed(&mut input);
    assert_eq!((input.len(), input.as_slice()), (13, &b"abc"[..]));
    assert_eq!(input.take(3).as_ref(), b"abc");
    assert_eq!(input.as_slice(), b"");
    let taken = input.copy(5);
    assert_eq!((taken.as_ref(), taken.as_ptr()), (&b"lllll"[..], long.as_ptr()));
    input.append_shared(Bytes::from_static(b"end"));
    input.append(b"!");
    assert_eq!(input.take(4).as_ref(), b"mnxy");
    assert_eq!((input.as_slice(), input.len()), (&b"z"[..], 5));
    assert!(input.join_front());
    assert_eq!(input.as_slice(), b"zend!");
    assert!(!input.join_front());
}

#[test]
fn shared_bytes_are_taken_skipped_and_joined_at_any_place() {
    let whole = b"abclllllmnxyz";
    for first in 0..=whole.len() + 1 {
        for second in 0..=whole.len() + 1 {
            let mut input = ReadBuf::new().sharing();
            mixed(&mut input);
            let [at, end] = [first, first + second].map(|place| place.min(whole.len()));
            assert_eq!(input.take(first), whole[..at]);
            input.skip(second);
            assert_eq!(input.len(), whole.len() - end);
            while input.join_front() {}
            assert_eq!(input.as_slice(), &whole[end..], "{first} {second}");
            assert_eq!(input.copy(100), whole[end..]);
            assert!(input.is_empty());
        }
    }
}

#[test]
fn a_buffer_that_does_not_share_copies_everything() {
    let mut input = ReadBuf::new();
    mixed(&mut input);
    assert_eq!(input.as_slice(), b"abclllllmnxyz");
}

#[test]
fn readiness_follows_what_was_wanted() {
    let mut input = ReadBuf::new();
    assert!(!input.is_ready());
    input.fill(b"ab");
    input.want(3);
    assert!(!input.is_ready());
    input.fill(b"c");
    assert!(input.is_ready());
}

/// Small reads get little room; the first one that fills it is followed by large ones.
#[test]
fn a_quiet_connection_holds_little_memory() {
    let mut input = ReadBuf::new();
    for _ in 0..1000 {
        assert_eq!(input.space().capacity(), FIRST_READ_BYTES);
        input.fill(&[7; 100]);
        drop(input.take(100));
    }
    let room = input.space().capacity() - input.len();
    input.fill(&vec![7; room]);
    input.skip(room);
    assert!(input.space().capacity() >= READ_BYTES, "a read has filled the small room");
    input.release();
    assert!(input.space().capacity() <= FIRST_READ_BYTES);
    input.fill(&[7; 10]);
    input.want(100_000);
    assert!(input.space().capacity() >= 100_000, "more bytes are wanted");
    assert_eq!(input.as_slice(), [7; 10]);
}

/// A copy does not hold the block, but taken bytes do: only then another block is filled.
#[test]
fn a_copy_frees_the_block_and_a_taken_part_holds_it() {
    let mut input = busy();
    let block = input.space().as_ptr();
    input.fill(&[1; 3 * READ_BYTES / 4]);
    let copy = input.copy(100);
    input.skip(READ_BYTES);
    assert!(input.is_empty());
    assert_eq!(input.space().as_ptr(), block);
    input.fill(&[2; 7 * READ_BYTES / 8]);
    let part = input.take(READ_BYTES);
    assert_ne!(input.space().as_ptr(), block);
    assert!(copy.iter().all(|byte| *byte == 1) && part.iter().all(|byte| *byte == 2));
    drop(part);
    // The first block has waited for that, and is used after the current one.
    input.fill(&[3; 7 * READ_BYTES / 8]);
    let _part = input.take(READ_BYTES);
    assert_eq!(input.space().as_ptr(), block);
}

/// Messages across the ends of blocks, each held while the next two arrive: four blocks
/// suffice.
#[test]
fn blocks_are_reused_in_turn() {
    let message = 100_000;
    let mut input = ReadBuf::new();
    let mut places = BTreeSet::new();
    let mut held = VecDeque::new();
    for number in 0..200_u8 {
        while input.len() < message {
            input.want(message);
            places.insert(input.space().as_ptr() as usize / READ_BYTES);
            let missing = message - input.len();
            input.fill(&vec![number; missing.min(30_000)]);
        }
        held.push_back((number, input.take(message)));
        if held.len() > 2 {
            let (number, message) = held.pop_front().unwrap();
            assert!(message.iter().all(|byte| *byte == number));
        }
    }
    // A block may cross one multiple of its size.
    assert!(places.len() <= 2 * (BLOCKS_MAX + 1), "{} places", places.len());
}
