//! Replies and answers to no question, and wrong ones to a question.

use crate::row::{Act, Row, Sound, WriteMode};
use crate::subject::SocketKind;

fn reply(id: u32, body: &[u8]) -> Vec<u8> {
    [&id.to_be_bytes(), body].concat()
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for ours in [SocketKind::Req, SocketKind::Surveyor, SocketKind::RawReq, SocketKind::RawSurveyor]
    {
        for length in [0, 1, 2, 3, 4, 8] {
            let acts = vec![Act::Message(vec![0; length])];
            let row = Row::partner(format!("{length} bytes without an id"), ours, acts);
            rows.push(row.moves("dropped_malformed", 1));
        }
    }
    for ours in [SocketKind::Req, SocketKind::Surveyor] {
        rows.extend(of_somebody_not_asked(ours));
        rows.extend(of_somebody_asked(ours));
    }
    for ours in [SocketKind::RawReq, SocketKind::RawSurveyor] {
        rows.extend(to_whom_it_may_concern(ours));
    }
    rows
}

fn of_somebody_not_asked(ours: SocketKind) -> Vec<Row> {
    let ids = [0x8000_0000, 0x8000_0001, 0xffff_ffff, 0x8bad_cafe];
    let mut rows = Vec::new();
    for id in ids {
        let acts = vec![Act::Message(reply(id, b"unasked"))];
        let row = Row::partner(format!("id {id:x}, never asked"), ours, acts);
        rows.push(row.moves("dropped_late", 1));
    }
    let flood = ids.map(|id| Act::Message(reply(id, b""))).to_vec();
    let row = Row::partner("all of them at once", ours, flood).moves("dropped_late", 4);
    rows.push(row.written(WriteMode::Torn(3)));
    rows
}

/// The wrong peer gets the question; the sound one connects when it has gone.
fn of_somebody_asked(ours: SocketKind) -> Vec<Row> {
    let asked = |name: &str, answers: fn(u32) -> Vec<Vec<u8>>| {
        Row::partner(name, ours, vec![Act::Asked(answers)]).sound(Sound::After)
    };
    let again = match ours {
        // A reply ends a request; answers are accepted until the survey is over.
        SocketKind::Req => {
            asked("the reply twice", |id| vec![reply(id, b"one"), reply(id, b"two")])
                .delivers(["one"])
                .moves("dropped_late", 1)
        }
        _ => asked("two answers", |id| vec![reply(id, b"one"), reply(id, b"two")])
            .delivers(["one", "two"]),
    };
    vec![
        again,
        asked("the id of the one before", |id| vec![reply(id.wrapping_sub(1), b"late")])
            .moves("dropped_late", 1),
        asked("the next id", |id| vec![reply(id.wrapping_add(1) | 1 << 31, b"early")])
            .moves("dropped_late", 1),
        asked("the id without its bit", |id| vec![reply(id & !(1 << 31), b"bare")])
            .moves("dropped_malformed", 1),
        asked("the id with its bytes turned", |id| vec![reply(id.swap_bytes() | 1 << 31, b"")])
            .moves("dropped_late", 1),
        asked("half an id", |id| vec![id.to_be_bytes()[..2].to_vec()])
            .moves("dropped_malformed", 1),
        asked("an empty message", |_| vec![Vec::new()]).moves("dropped_malformed", 1),
        asked("an empty reply", |id| vec![reply(id, b"")]).delivers([b""]),
        asked("wrong ones before the right one", |id| {
            vec![reply(id ^ 1, b"no"), reply(id ^ 2, b"no"), vec![1], reply(id, b"yes")]
        })
        .delivers(["yes"])
        .moves("dropped_late", 2)
        .moves("dropped_malformed", 1)
        .written(WriteMode::Single),
        asked("a backtrace in front of the id", |id| {
            vec![[&[0, 0, 0, 9][..], &reply(id, b"far")].concat()]
        })
        .moves("dropped_malformed", 1),
    ]
}

/// A raw socket matches nothing: every message whose backtrace ends is for the user.
fn to_whom_it_may_concern(ours: SocketKind) -> Vec<Row> {
    let far = |words: usize| {
        let before = vec![0x11; 4 * (words - 1)];
        [before, reply(1 << 31, b"far")].concat()
    };
    let partner = |name: &str, bytes| Row::partner(name, ours, vec![Act::Message(bytes)]);
    vec![
        partner("a reply that nobody asked for", far(1)).delivers(["far"]),
        partner("a reply over 256 words", far(256)).delivers(["far"]),
        partner("a reply over 257 words", far(257)).moves("dropped_too_many_hops", 1),
        partner("1 MiB without an end", vec![0x11; 1 << 20]).moves("dropped_too_many_hops", 1),
    ]
}
