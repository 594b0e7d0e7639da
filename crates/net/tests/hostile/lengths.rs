//! Impossible lengths, unknown types, and messages that end too soon.

use crate::peer::Place;
use crate::row::{Act, End, Row, WriteMode};
use crate::subject::SocketKind;

/// The receive limit unless it is set.
const LIMIT: usize = 1024 * 1024;

/// The error of a socket about a message over its limit.
const TOO_LONG: &str = "the peer announces a message of";

/// Lengths over every limit; the last two are where sums overflow.
const HUGE: [(&str, u64); 6] = [
    ("2^32", 1 << 32),
    ("2^40", 1 << 40),
    ("2^60", 1 << 60),
    ("2^63", 1 << 63),
    ("2^64 - 40", u64::MAX - 39),
    ("2^64 - 1", u64::MAX),
];

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for ours in SocketKind::ALL {
        let claim = vec![Act::Claim(1 << 63)];
        rows.push(Row::partner("a length of 2^63", *ours, claim).punished(TOO_LONG));
        let claim = vec![Act::Claim(LIMIT as u64 + 1)];
        rows.push(Row::partner("one more than the limit", *ours, claim).punished(TOO_LONG));
    }
    for (name, length) in HUGE {
        for ours in [SocketKind::Pull, SocketKind::Push, SocketKind::Rep] {
            let name = format!("a length of {name} in pieces");
            let row = Row::partner(name, ours, vec![Act::Claim(length)]);
            rows.push(row.punished(TOO_LONG).written(WriteMode::Single));
        }
        let name = format!("a length of {name} behind a message");
        let acts = vec![Act::Message(b"sound".to_vec()), Act::Claim(length)];
        let row = Row::partner(name, SocketKind::Pull, acts);
        rows.push(row.delivers(["sound"]).punished(TOO_LONG));
    }
    rows.extend(at_the_limit());
    rows.extend(no_limit());
    rows.extend(types());
    rows.extend(cut_short());
    rows
}

fn at_the_limit() -> Vec<Row> {
    let body = |length| vec![7_u8; length];
    let pull = |name: &str, length: usize| {
        let acts = vec![Act::Message(body(length))];
        Row::partner(name, SocketKind::Pull, acts)
    };
    let asked = [&b"\x80\0\0\x01"[..], &body(LIMIT - 4)].concat();
    vec![
        pull("as long as the limit", LIMIT).delivers([body(LIMIT)]),
        pull("as long as the limit, in pieces", 4096).limit(4096).delivers([body(4096)]),
        pull("one more than a limit that was set", 4097).limit(4096).punished(TOO_LONG),
        pull("nothing, where nothing is allowed", 0).limit(0).delivers([b""]),
        pull("a byte, where nothing is allowed", 1).limit(0).punished(TOO_LONG),
        // The limit counts header and body together.
        Row::partner(
            "a request as long as the limit",
            SocketKind::Rep,
            vec![Act::Message(asked.clone())],
        )
        .delivers([body(LIMIT - 4)]),
        Row::partner(
            "a request whose header is over the limit",
            SocketKind::Rep,
            vec![Act::Message([asked, vec![7]].concat())],
        )
        .punished(TOO_LONG),
    ]
}

/// A socket without a limit allocates nothing for an announced length; impossible lengths are
/// refused.
fn no_limit() -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, length) in HUGE {
        let acts = vec![Act::Claim(length), Act::Say(vec![7; 1000])];
        let name = format!("a length of {name} without a limit");
        let row = Row::partner(name, SocketKind::Pull, acts.clone()).limit(usize::MAX);
        // With its prefix, on ipc one byte longer, such a length would not fit a number.
        if length > u64::MAX - 8 {
            rows.push(row.punished(TOO_LONG));
        } else {
            rows.push(row);
        }
    }
    rows
}

fn types() -> Vec<Row> {
    let mut rows = Vec::new();
    for kind in [0, 2, 3, 0x7f, 0x80, 0xff] {
        for ours in [SocketKind::Pull, SocketKind::Rep, SocketKind::Pub] {
            let mut frame = Place::Ipc.framed(b"\x80\0\0\x01sound");
            frame[0] = kind;
            let name = format!("message type {kind}");
            let row = Row::partner(name, ours, vec![Act::Say(frame)]);
            rows.push(row.only_at(Place::Ipc).punished("only 1 is known"));
            let alone =
                Row::partner(format!("type {kind} alone"), ours, vec![Act::Say(vec![kind])]);
            rows.push(alone.only_at(Place::Ipc).punished("only 1 is known"));
        }
    }
    rows
}

/// Messages whose sender leaves at each byte of the prefix and at some of the body.
fn cut_short() -> Vec<Row> {
    let mut rows = Vec::new();
    for place in [Place::Tcp, Place::Ipc] {
        let whole = place.framed(b"sound and whole");
        for cut in 0..whole.len() {
            let ways = [("left", Act::Leave), ("reset", Act::Reset)];
            for (how, leave) in ways {
                let acts = vec![Act::Say(whole[..cut].to_vec()), leave];
                let name = format!("a message {how} after {cut} bytes");
                rows.push(
                    Row::partner(name, SocketKind::Pull, acts).only_at(place).ends(End::Left),
                );
            }
        }
    }
    for ours in SocketKind::ALL {
        let acts = vec![Act::Claim(8), Act::Say(vec![0x80, 0, 0]), Act::Pause, Act::Leave];
        rows.push(Row::partner("a torn header, and gone", *ours, acts).ends(End::Left));
    }
    rows
}
