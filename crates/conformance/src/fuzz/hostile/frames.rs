//! The frames of a hostile end: of all types, and mostly well formed.

use wigwag_link::frame::kind;
use wigwag_wire::{Buffer, varint};

use crate::fuzz::session::Script;

/// The kinds that a hostile peer writes: all that exist, and some that do not.
pub(super) const KINDS: [u8; 48] = [
    kind::PING,
    kind::PONG,
    kind::CREDIT,
    kind::REVOKE,
    kind::NEED,
    kind::CLOSE,
    kind::ATTACH,
    kind::ATTACHED,
    kind::DETACH,
    kind::DETACHED,
    kind::REVOKED,
    kind::TELL,
    kind::ASK,
    kind::CALL_X,
    kind::REPLY,
    kind::ERROR,
    kind::CANCEL,
    kind::RELEASE,
    kind::DRAIN,
    kind::TELLS,
    kind::ASKS,
    kind::REPLIES,
    0x7A,
    0xFA,
    0x3A,
    0xBA,
    kind::TELL,
    kind::ASK,
    kind::ATTACH,
    kind::TELLS,
    kind::ASKS,
    kind::REPLY,
    kind::PARTS,
    kind::PART,
    kind::PARTS_DROP,
    kind::PARTS,
    kind::PART,
    kind::PART,
    kind::MIXED_TELLS,
    kind::MIXED_ASKS,
    kind::MIXED_TELLS,
    kind::ITEM,
    kind::ITEM_CREDIT,
    kind::ITEM,
    kind::ITEM_END,
    kind::LINK,
    kind::LINK,
    kind::UNLINK,
];

/// A body that is well formed for its kind in most cases: numbers, mostly small, and a tail.
pub(super) fn fill_body(body: &mut Buffer, kind: u8, script: &mut Script<'_>) {
    let mut number = |script: &mut Script<'_>| {
        let byte = script.byte();
        let wide = if byte < 0xF0 { u64::from(byte & 0x3F) } else { u64::MAX >> (4 * (byte & 15)) };
        varint::put(body, wide);
    };
    if kind == kind::PARTS {
        number(script);
        let types = [kind::TELL, kind::ASK, kind::CALL_X, kind::REPLY, kind::TELLS];
        body.push(types[script.below(types.len())]);
        let total = u64::from(script.byte()) << script.below(18);
        varint::put(body, total);
        // The numbers in front of the arguments.
        let bytes = script.take(4);
        body.extend(bytes);
        return;
    }
    let numbers = match kind {
        kind::PONG | kind::DETACH | kind::DRAIN | kind::ATTACH => 1,
        kind::PART | kind::PARTS_DROP | kind::MIXED_TELLS => 1,
        kind::CREDIT | kind::ASKS | kind::MIXED_ASKS => 3,
        kind::ASK => 4,
        kind::CLOSE | kind::RELEASE => 0,
        _ => 2,
    };
    (0..numbers - usize::from(kind == kind::DETACHED)).for_each(|_| number(script));
    if kind == kind::ASKS {
        number(script);
    }
    if let kind::ITEM | kind::ITEM_CREDIT = kind {
        // The side, which is mostly that of the end that was asked.
        body.push(u8::from(script.byte() < 0xF0));
    }
    match kind {
        kind::ATTACH => {
            body.extend(&[0, 5, b'a', b'c', b't', b'o', b'r', 0, 0, 0, 0, 0, 0, 0, 0, 0])
        }
        kind::ATTACHED => body.extend(&[0; 10]),
        kind::DETACHED | kind::CLOSE | kind::ERROR => body.extend(&[0, 1, 0, 0]),
        kind::TELLS | kind::ASKS | kind::REPLIES => {
            for item in 0..1 + script.below(70) {
                body.extend(&[2, item as u8, 7]);
            }
        }
        kind::MIXED_TELLS | kind::MIXED_ASKS => {
            for item in 0..1 + script.below(70) {
                // Now and then method 0, or a method that is cut off.
                let method = script.byte();
                let method = if method < 0xFC { 1 + method % 0x7F } else { method << 7 };
                body.extend(&[2, method, item as u8]);
            }
        }
        _ => {}
    }
    let tail = script.byte();
    // Occasionally a body so long that it costs many units or exceeds the limit.
    let length = if tail < 0xF0 { usize::from(tail & 7) } else { 61 * usize::from(tail - 0xEF) };
    let bytes = script.take(length.min(7));
    body.extend(bytes);
    (bytes.len()..length).for_each(|_| body.push(tail));
}

/// Scripts of peers that are correct for a while.
pub fn seeds() -> Vec<Vec<u8>> {
    let position = |wanted: u8| KINDS.iter().position(|kind| *kind == wanted).unwrap_or(0) as u8;
    let [attach, tell, ask] = [kind::ATTACH, kind::TELL, kind::ASK].map(position);
    let [attached, reply, tells] = [kind::ATTACHED, kind::REPLY, kind::TELLS].map(position);
    let [mixed_tells, mixed_asks] = [kind::MIXED_TELLS, kind::MIXED_ASKS].map(position);
    let [credit, need, revoke] = [kind::CREDIT, kind::NEED, kind::REVOKE].map(position);
    let opens = [3, 1, attach, 0, 0, 0, 23, 0];
    let calls = [3, 3, tell, 0, 1, 0, ask, 0, 0, 0, 1, 3, 9, 9, 9, tell, 0, 1, 0xF4, 0, 31, 23, 0];
    let ours = [17, 0, 0, 0, 23, 0, 3, 1, attached, 0, 0xFA, 0, 0, 17, 3, 0, 9, 23, 0];
    let answers = [3, 1, reply, 0, 0, 2, 1, 2, 0, 17, 2, 0, 40, 23, 0];
    let plain = [3, 3, credit, 0, 0xFB, 1, 0, need, 0, 0xFC, 0, revoke, 0, 1, 0, 0, 23, 0];
    let runs = [3, 2, tells, 0, 1, 9, 0, tells, 0, 1, 3, 0, 0, 31, 23, 0];
    // Two tells and three asks of several methods.
    let mixed =
        [3, 2, mixed_tells, 0, 1, 0, 1, 0, mixed_asks, 0, 0, 0, 2, 0, 1, 2, 0, 0, 31, 23, 0];
    let [parts, part, drop] = [kind::PARTS, kind::PART, kind::PARTS_DROP].map(position);
    // A TELL of 6 bytes on channel 0, and an ASK that is dropped.
    let long = [
        3, 3, parts, 1, 0, 6, 0, 0, 1, 0x90, 0, part, 1, 3, 9, 9, 9, tell, 0, 1, 0, 0, 23, 0, 3, 2,
        parts, 1, 1, 40, 0, 0, 0, 0, 1, drop, 1, 0, 0, 23, 0,
    ];
    let [item, item_credit] = [kind::ITEM, kind::ITEM_CREDIT].map(position);
    let items = [3, 2, item, 0, 0, 1, 2, 1, 2, item_credit, 0, 0, 1, 1, 9, 0, 23, 0];
    let back = [27, 200, 23, 0, 29, 50, 23, 5, 27, 4];
    let stories = [
        [&opens[..], &calls, &runs, &calls, &back, &calls].concat(),
        [&ours[..], &answers, &plain, &opens, &calls, &back, &answers].concat(),
        [&opens[..], &plain, &ours, &back, &runs, &answers].concat(),
        [&opens[..], &long, &back, &long, &calls, &long].concat(),
        [&ours[..], &items, &back, &items, &answers, &items].concat(),
        [&opens[..], &mixed, &runs, &back, &mixed, &calls].concat(),
        [&opens[..], &calls[..15], &[0x41], &calls[..15], &[0x12], &calls[..15], &[0x53]].concat(),
    ];
    let profiles = (0..32_u8).flat_map(|profile| [[profile, 0], [profile, 1]]);
    profiles
        .flat_map(|head| stories.iter().map(move |story| [&head[..], &story[..]].concat()))
        .collect()
}
