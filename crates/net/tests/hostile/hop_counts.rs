//! The hop count in front of pair1 and star: three zero bytes and the count.

use crate::row::{Act, Row, WriteMode};
use crate::subject::SocketKind;

const PAIRS: [SocketKind; 4] =
    [SocketKind::Pair, SocketKind::PairMany, SocketKind::RawPair, SocketKind::RawPairMany];
const STARS: [SocketKind; 2] = [SocketKind::Star, SocketKind::RawStar];

/// Words with reserved bits, alone and with a valid hop count.
const RESERVED: [u32; 6] = [0x100, 0x101, 0x1_0000, 0x0100_0001, 0x8000_0000, 0xffff_ffff];

fn hopped(word: u32) -> Act {
    Act::Message([&word.to_be_bytes(), &b"sound"[..]].concat())
}

fn row(ours: SocketKind, word: u32) -> Row {
    Row::partner(format!("the word {word:08x}"), ours, vec![hopped(word)])
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for ours in PAIRS {
        // mangos sends 0, NNG counts from 1; eight is the limit for both.
        rows.extend([0, 1, 7, 8].map(|hops| row(ours, hops).delivers(["sound"])));
        rows.extend([9, 128, 255].map(|hops| row(ours, hops).moves("dropped_too_many_hops", 1)));
        rows.extend(RESERVED.map(|word| row(ours, word).punished("reserved bits")));
        for length in 0..4 {
            let acts = vec![Act::Message(vec![0; length])];
            let short = Row::partner(format!("{length} bytes"), ours, acts);
            rows.push(short.punished("fewer than the header"));
        }
    }
    for ours in STARS {
        // star stops at the limit, not after it.
        rows.extend([0, 1, 7].map(|hops| row(ours, hops).delivers(["sound"])));
        rows.extend([8, 9, 255].map(|hops| row(ours, hops).moves("dropped_too_many_hops", 1)));
        rows.extend(RESERVED.map(|word| row(ours, word).moves("dropped_malformed", 1)));
        for length in 0..4 {
            let acts = vec![Act::Message(vec![0; length])];
            let short = Row::partner(format!("{length} bytes"), ours, acts);
            rows.push(short.moves("dropped_malformed", 1));
        }
    }
    rows.extend(far());
    for ours in PAIRS.into_iter().chain(STARS) {
        let empty = Row::partner("an empty body", ours, vec![Act::Message(vec![0, 0, 0, 1])]);
        rows.push(empty.delivers([b""]));
        let acts = [1, 9, 0, 255, 7].map(hopped).to_vec();
        let mixed = Row::partner("wrong ones between sound ones", ours, acts);
        let mixed = mixed.delivers(["sound"; 3]).moves("dropped_too_many_hops", 2);
        rows.push(mixed.clone().written(WriteMode::Single));
        rows.push(mixed.written(WriteMode::Torn(5)));
    }
    rows
}

/// The largest limit: a count of 255 can still be read, but a raw socket cannot increment it.
fn far() -> Vec<Row> {
    let over = |ours, hops| row(ours, hops).moves("dropped_too_many_hops", 1);
    let within = |ours, hops| row(ours, hops).delivers(["sound"]);
    vec![
        within(SocketKind::PairFar, 254),
        within(SocketKind::PairFar, 255),
        row(SocketKind::PairFar, 256).punished("reserved bits"),
        within(SocketKind::RawPairFar, 254),
        over(SocketKind::RawPairFar, 255),
        within(SocketKind::StarFar, 254),
        over(SocketKind::StarFar, 255),
        within(SocketKind::RawStarFar, 254),
        over(SocketKind::RawStarFar, 255),
    ]
}
