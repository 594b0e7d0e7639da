//! Runs: the frames that their items stand for, and the refusal of broken ones.

use wigwag_link::frame::Frame;
use wigwag_link::recv_half::{ChannelCalls, Incoming};
use wigwag_link::{Limits, LinkError, RecvHalf, features};
use wigwag_wire::call::Calls;

use super::code_of;
use super::read::{Fields, hex_of, list, load, number};

/// Reads calls and replies in bulk first, as a node does; returns how many frames were accepted.
fn read(
    receiver: &mut RecvHalf,
    bytes: &[u8],
    mut each: impl FnMut(Frame<'_>),
) -> Result<u64, LinkError> {
    let mut incoming = receiver.open(bytes)?;
    while next(&mut incoming, &mut each)? {}
    drop(incoming);
    Ok(receiver.recv_next())
}

fn next(incoming: &mut Incoming<'_>, each: &mut impl FnMut(Frame<'_>)) -> Result<bool, LinkError> {
    if let Some(ChannelCalls { channel, calls, units, bytes }) = incoming.next_calls(64) {
        let found: Vec<_> = Calls::new(bytes).collect();
        assert_eq!((found.len(), units), (calls, calls as u64), "each is short");
        for call in found {
            let (method, arguments) = (u64::from(call.method), call.arguments);
            each(match call.asker {
                None => Frame::Tell { channel, method, arguments },
                Some((slot, generation)) => {
                    let (slot, generation) = (u64::from(slot), u64::from(generation));
                    Frame::Ask { channel, slot, generation, method, arguments }
                }
            });
        }
        return Ok(true);
    }
    if let Some(run) = incoming.next_replies() {
        let found: Vec<_> = run.values.collect();
        assert_eq!(found.len(), run.count as usize);
        for (slot, value) in (u64::from(run.slot)..).zip(found) {
            each(Frame::Reply { slot, generation: run.generation.into(), value });
        }
        return Ok(true);
    }
    if let Some(reply) = incoming.next_reply() {
        let (slot, generation) = (u64::from(reply.slot), u64::from(reply.generation));
        each(Frame::Reply { slot, generation, value: reply.value });
        return Ok(true);
    }
    let Some((frame, _)) = incoming.next_frame()? else {
        return Ok(false);
    };
    each(frame);
    Ok(true)
}

fn receiver(features: u64) -> RecvHalf {
    RecvHalf::new(&Limits::default()).with_features(features)
}

#[test]
fn runs_are_read_as_in_the_vectors() {
    are_read_as_in("runs.json", features::RUNS, 0);
    are_read_as_in("runs.json", features::RUNS | features::MIXED_RUNS, features::MIXED_RUNS);
}

#[test]
fn mixed_runs_are_read_as_in_the_vectors() {
    let both = features::RUNS | features::MIXED_RUNS;
    are_read_as_in("mixed_runs.json", both, features::RUNS);
    are_read_as_in("mixed_runs.json", both, features::MIXED_RUNS);
}

/// Reads a file of vectors with features with which the runs in it are known, and with others.
fn are_read_as_in(file: &str, known: u64, unknown: u64) {
    let file = load(file);
    for vector in list(&file, "vectors") {
        let (bytes, expect) = (hex_of(vector), &vector["expect"]);
        let expected: Vec<Fields> =
            expect["frames"].as_array().into_iter().flatten().map(Fields::of).collect();
        let mut at = 0;
        let outcome = read(&mut receiver(known), &bytes, |frame| {
            if expect["code"].is_null() {
                let fields = expected.get(at).unwrap_or_else(|| panic!("too many: {vector}"));
                assert_eq!(frame, fields.frame(), "{vector}");
                at += 1;
            }
        });
        match outcome {
            Ok(recv_next) => {
                let end = number(&expect["recv_next"]);
                assert_eq!((recv_next, at), (end, expected.len()), "{vector}");
            }
            Err(error) => assert_eq!(code_of(&error), number(&expect["code"]), "{vector}: {error}"),
        }
        let refused =
            read(&mut receiver(unknown), &bytes, |_| ()).expect_err("the kind is not known");
        assert_eq!(code_of(&refused), 0x010C, "{vector}: the feature is off");
    }
}

/// After a cut, the peer sends again everything that it has no ack for.
#[test]
fn an_accepted_run_is_skipped_as_a_whole() {
    for file in ["runs.json", "mixed_runs.json"] {
        let file = load(file);
        let bytes = hex_of(&list(&file, "vectors")[0]);
        let mut receiver = receiver(features::RUNS | features::MIXED_RUNS);
        assert_eq!(read(&mut receiver, &bytes, |_| ()), Ok(3));
        assert_eq!(read(&mut receiver, &bytes, |frame| panic!("again: {frame:?}")), Ok(3));
        assert_eq!(receiver.repeated(), 3);
    }
}

/// A peer may repeat frames in the same batch with new ones, which must not be refused for that.
#[test]
fn a_run_behind_repeated_frames_is_accepted() {
    let tell = [0x90, 3, 0, 1, 9];
    let cancel = [0x95, 2, 1, 0];
    let run = [0xA0, 6, 0, 1, 1, 7, 1, 8];
    let first = [&[0, 0, 0, 2], &tell[..], &cancel].concat();
    let both = [&[0, 0, 0, 4], &tell[..], &cancel, &run].concat();
    let mut receiver = receiver(features::RUNS);
    assert_eq!(read(&mut receiver, &first, |_| ()), Ok(2));
    let mut fresh = Vec::new();
    let heard = read(&mut receiver, &both, |frame| fresh.push(format!("{frame:?}")));
    assert_eq!(heard, Ok(4));
    assert_eq!((fresh.len(), receiver.repeated()), (2, 2), "{fresh:?}");
}
