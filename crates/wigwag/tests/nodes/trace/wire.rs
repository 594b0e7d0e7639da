//! Trace context on the wire, and peers that send other extras in its place.

use wigwag_link::frame::{Frame, kind};
use wigwag_link::{Identity, features};
use wigwag_testkit::ledger::in_time;
use wigwag_testkit::raw::{Raw, identity};

use super::*;

/// Every wait ends almost at once; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(10);

/// A frame of this kind and body, as the only one of its batch.
fn call_x(inner: u8, extras: &[u8], call: &[u8]) -> Vec<u8> {
    let body = [&[inner, extras.len() as u8], extras, call].concat();
    [&[kind::CALL_X, body.len() as u8], &body[..]].concat()
}

/// A peer that has opened a session and a channel to the witness.
async fn open(stage: &Stage, offered: u64) -> Raw {
    let mut raw = Raw::dial(&stage.bound).await;
    raw.open(Identity { offered, ..identity() }).await;
    raw.attach(0, "witness").await;
    raw
}

/// The number of `note`, the first method of the witness.
const NOTE: u8 = 1;

/// An empty array.
const NO_ARGUMENTS: u8 = 0x90;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_malformed_context_is_as_good_as_none_and_the_call_is_handled() {
    let stage = Stage::new([on(), on()]).await;
    let bytes = context().to_bytes();
    let with = |value: &[u8]| [&[1, value.len() as u8], value].concat();
    let mut raw = open(&stage, features::TRACE_CONTEXT).await;
    let unknown = [with(&bytes), vec![9, 2, 7, 7]].concat();
    let rows: [(Vec<u8>, Option<u64>); 6] = [
        (with(&bytes), SPAN),
        (with(&bytes[..24]), None),
        (with(&[]), None),
        (with(&[0; 25]), None),
        (unknown, SPAN),
        (vec![], None),
    ];
    for (extras, expected) in rows {
        assert!(raw.tell_encoded(&call_x(kind::TELL, &extras, &[0, NOTE, NO_ARGUMENTS])).await);
        let seen = in_time(PATIENCE, async {
            loop {
                let seen = stage.here.seen().ask().await.unwrap();
                if !seen.is_empty() {
                    break seen;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        assert_eq!(seen.await, [expected], "{extras:?}");
    }
}

/// Extras that may be skipped stood before a long call, and were read as a part of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_call_behind_extras_is_read_without_them() {
    let stage = Stage::new([NodeOptions::default(), on()]).await;
    let mut raw = open(&stage, features::PARTS).await;
    // The argument is longer than a frame, and the method takes none: it is not understood.
    let call = [&[kind::TELL, 4, 9, 2, 7, 7, 0, NOTE][..], &[0xC0; 70_000]].concat();
    let (first, rest) = call.split_at(60_000);
    raw.tell(&[Frame::Need { channel: 0, limit_wanted: 2000, units: 1100 }]).await;
    raw.until(kind::CREDIT).await;
    let (source, total) = (1, call.len() as u64);
    raw.tell(&[Frame::Parts { source, kind: kind::CALL_X, total, bytes: first }]).await;
    raw.tell(&[Frame::Part { source, bytes: rest }]).await;
    let is_counted = |node: &Node| {
        let metrics = node.metrics();
        let row = metrics.actors.iter().find(|row| row.actor == "witness").unwrap();
        (row.remote_tells, row.rejected_calls())
    };
    in_time(PATIENCE, async {
        while is_counted(&stage.service) == (0, 0) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    assert_eq!(is_counted(&stage.service).0, 1);
}
