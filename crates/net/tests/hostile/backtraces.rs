//! Backtraces in front of a request or a survey: too short, too long, and just right.

use crate::row::{Act, Row, WriteMode};
use crate::subject::SocketKind;

/// A backtrace of `words` words; the last has its bit set if `ends`.
fn words(words: usize, ends: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in 1..=words {
        let last = u32::from(ends && number == words) << 31;
        bytes.extend_from_slice(&(number as u32 | last).to_be_bytes());
    }
    bytes
}

fn request(words_before: usize) -> Act {
    Act::Message([words(words_before, true), b"sound".to_vec()].concat())
}

pub(crate) fn rows() -> Vec<Row> {
    let eight =
        [SocketKind::Rep, SocketKind::RawRep, SocketKind::Respondent, SocketKind::RawRespondent];
    let mut rows: Vec<Row> = eight.into_iter().flat_map(over_eight_hops).collect();
    for ours in [SocketKind::RepFar, SocketKind::RawRepFar, SocketKind::RespondentFar] {
        for hops in [9, 16, 254, 255] {
            let row = Row::partner(format!("{hops} words"), ours, vec![request(hops)]);
            rows.push(row.delivers(["sound"]));
        }
        let row = Row::partner("256 words", ours, vec![request(256)]);
        rows.push(row.moves("dropped_too_many_hops", 1));
        let row = Row::partner("254 words without an end", ours, vec![unending(254 * 4)]);
        rows.push(row.moves("dropped_malformed", 1));
    }
    rows.push(Row::partner("1 word", SocketKind::RepNear, vec![request(1)]).delivers(["sound"]));
    let two = Row::partner("2 words", SocketKind::RepNear, vec![request(2)]);
    rows.push(two.moves("dropped_too_many_hops", 1));
    rows
}

/// This many bytes of a backtrace that never ends.
fn unending(bytes: usize) -> Act {
    Act::Message(vec![0x7f; bytes])
}

fn over_eight_hops(ours: SocketKind) -> Vec<Row> {
    let mut rows = Vec::new();
    for length in [0, 1, 2, 3, 4, 5, 8, 27, 28, 31] {
        let row =
            Row::partner(format!("{length} bytes without an end"), ours, vec![unending(length)]);
        rows.push(row.moves("dropped_malformed", 1));
    }
    for length in [32, 33, 1024, 1024 * 1024] {
        let row =
            Row::partner(format!("{length} bytes without an end"), ours, vec![unending(length)]);
        rows.push(row.moves("dropped_too_many_hops", 1));
    }
    for hops in 1..=8 {
        let row = Row::partner(format!("the end in word {hops}"), ours, vec![request(hops)]);
        rows.push(row.delivers(["sound"]));
    }
    for hops in [9, 15, 255] {
        let row = Row::partner(format!("the end in word {hops}"), ours, vec![request(hops)]);
        rows.push(row.moves("dropped_too_many_hops", 1));
    }
    let empty = Row::partner("an empty body", ours, vec![Act::Message(words(1, true))]);
    rows.push(empty.delivers([b""]));
    // Only malformed messages are lost.
    let between = vec![request(1), unending(3), request(9), request(8), unending(0), request(1)];
    let mixed = Row::partner("wrong ones between sound ones", ours, between)
        .delivers(["sound"; 3])
        .moves("dropped_malformed", 2)
        .moves("dropped_too_many_hops", 1);
    for mode in [WriteMode::Whole, WriteMode::Single, WriteMode::Torn(1), WriteMode::Torn(2)] {
        rows.push(mixed.clone().written(mode));
    }
    rows
}
