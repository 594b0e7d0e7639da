//! Reads and writes the test vectors in `docs/vectors/link`.
//!
//! Any implementation can test itself against these files. A file that no test here knows is a
//! failure, so that none is forgotten.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wigwag_link::batch::BatchHeader;
use wigwag_link::frame::Frame;
use wigwag_link::opening::resume::{Claim, PROOF_BYTES};
use wigwag_link::opening::{Identity, Opening, Resumed, Step};
use wigwag_link::{Code, Limits, LinkError, RecvHalf, write};
use wigwag_wire::{Buffer, Reader, varint};

mod read;
mod resumption;
mod runs;
mod shared_key;
mod transcript;

use read::{Fields, from_hex, hex_of, identity_of, limits_of, list, load, number, text};

/// All vector files.
const FILES: [&str; 13] = [
    "batch.json",
    "ext/call_x.json",
    "ext/hello.json",
    "ext/trailing_fields.json",
    "ext/unknown_frames.json",
    "frames.json",
    "mixed_runs.json",
    "opening.json",
    "resumption.json",
    "runs.json",
    "shared_key.json",
    "transcript.json",
    "varint.json",
];

/// The error code that is sent to the peer.
fn code_of(error: &LinkError) -> u64 {
    match error.close_code() {
        Some((Code(code), _)) => u64::from(code),
        None => panic!("nothing to tell the peer: {error}"),
    }
}

#[test]
fn every_vector_file_is_covered() {
    fn collect(folder: &Path, root: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                collect(&path, root, found);
            } else if path.file_name().is_some_and(|name| name != "README.md") {
                let below: &Path = path.strip_prefix(root).expect("it is below");
                found.insert(below.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    let root: PathBuf = read::root();
    let mut found = BTreeSet::new();
    collect(&root, &root, &mut found);
    assert_eq!(found, FILES.map(String::from).into());
}

#[test]
fn numbers_are_as_in_the_vectors() {
    let file = load("varint.json");
    for vector in list(&file, "vectors") {
        let (value, bytes) = (number(&vector["value"]), hex_of(vector));
        let mut out = Buffer::new();
        varint::put(&mut out, value);
        assert_eq!(out.as_slice(), bytes, "{vector}");
        let mut reader = Reader::new(&bytes);
        assert_eq!(varint::take(&mut reader), Ok(value));
        assert!(reader.is_empty());
    }
    for vector in list(&file, "refused") {
        assert!(varint::take(&mut Reader::new(&hex_of(vector))).is_err(), "{vector}");
    }
}

#[test]
fn frames_are_as_in_the_vectors() {
    let file = load("frames.json");
    let mut seen = BTreeSet::new();
    for vector in list(&file, "vectors") {
        let bytes = hex_of(vector);
        let fields = Fields::of(vector);
        let frame = fields.frame();
        let mut out = Buffer::new();
        write::any(&mut out, &frame);
        assert_eq!(out.as_slice(), bytes, "written: {vector}");
        let mut reader = Reader::new(&bytes);
        let (kind, body) = Frame::next(&mut reader, 1 << 16).expect("a frame");
        assert_eq!(Frame::parse(kind, body), Ok(frame), "read: {vector}");
        assert!(reader.is_empty());
        seen.insert(kind);
    }
    assert_eq!(seen.len(), 29, "every type");
}

#[test]
fn batch_headers_are_as_in_the_vectors() {
    let file = load("batch.json");
    for vector in list(&file, "vectors") {
        let bytes = hex_of(vector);
        let field = |name: &str| number(&vector["fields"][name]);
        let header =
            BatchHeader { ack: field("ack"), first_seq: field("first_seq"), count: field("count") };
        let mut out = Buffer::new();
        header.encode(&mut out);
        assert_eq!(out.as_slice(), bytes, "{vector}");
        assert_eq!(BatchHeader::decode(&mut Reader::new(&bytes)), Ok(header), "{vector}");
    }
    for vector in list(&file, "refused") {
        let error = BatchHeader::decode(&mut Reader::new(&hex_of(vector))).expect_err("refused");
        assert_eq!(code_of(&error), number(&vector["code"]), "{vector}");
    }
}

fn stranger() -> Identity {
    Identity {
        node: 1,
        incarnation: 2,
        nonce: 3,
        offered: u64::MAX,
        required: 0,
        limits: Limits::default(),
    }
}

/// A dialer and a listener that have both read HELLO.
fn after_hello() -> (Opening, Opening) {
    let (mut dialer, first) = Opening::dial(stranger(), 7);
    let mut listener = Opening::listen(stranger());
    let Ok(Step::Send(second)) = listener.receive(first.as_slice()) else { panic!("no answer") };
    assert!(matches!(dialer.receive(second.as_slice()), Ok(Step::Send(_))));
    (dialer, listener)
}

/// Writes and reads RESUME and RESUMED.
fn resuming(vector: &Value) {
    let (bytes, fields) = (hex_of(vector), &vector["fields"]);
    let (mut dialer, mut listener) = after_hello();
    match text(&vector["message"]) {
        "RESUME" => {
            let wide = |name: &str| read::wide(&fields[name]);
            let claim = Claim {
                session: wide("session"),
                epoch: number(&fields["epoch"]),
                recv_next: number(&fields["recv_next"]),
                nonces: [wide("dialer_nonce"), wide("listener_nonce")],
            };
            assert_eq!(claim.bytes().as_slice(), from_hex(text(&fields["claim"])), "{vector}");
            let proof = from_hex(text(&fields["proof"])).try_into().expect("32 bytes");
            assert_eq!(dialer.resume(&claim, &proof).as_slice(), bytes, "{vector}");
            // The listener sees its own nonces.
            let nonces = listener.nonces().expect("after HELLO");
            let claimed = Ok(Step::ResumeRequested(Claim { nonces, ..claim }, proof));
            assert_eq!(listener.receive(&bytes), claimed, "{vector}");
        }
        "RESUMED" => {
            let (epoch, recv_next) = (number(&fields["epoch"]), number(&fields["recv_next"]));
            let token = read::wide(&fields["token"]);
            let claim = Claim { session: 7, epoch, recv_next: 0, nonces: [1, 2] };
            assert_eq!(Opening::resumed(&claim, recv_next, token).as_slice(), bytes, "{vector}");
            dialer.resume(&claim, &[0; PROOF_BYTES]);
            let resumed = Step::Resumed(Resumed { recv_next, token });
            assert_eq!(dialer.receive(&bytes), Ok(resumed), "{vector}");
        }
        other => panic!("no such message: {other}"),
    }
}

#[test]
fn opening_messages_are_as_in_the_vectors() {
    let file = load("opening.json");
    for vector in list(&file, "vectors") {
        let (bytes, fields) = (hex_of(vector), &vector["fields"]);
        let (mut dialer, mut listener) = after_hello();
        match text(&vector["message"]) {
            "HELLO" => {
                let identity = identity_of(fields);
                assert_eq!(Opening::dial(identity, 7).1.as_slice(), bytes, "{vector}");
                let mut listener = Opening::listen(stranger());
                assert!(matches!(listener.receive(&bytes), Ok(Step::Send(_))), "{vector}");
                assert_eq!(listener.peer(), Some(&identity), "{vector}");
            }
            // This release does not send method 0.
            "AUTH" => assert_eq!(listener.receive(&bytes), Ok(Step::Wait), "{vector}"),
            "OPEN" => {
                assert_eq!(listener.receive(&bytes), Ok(Step::OpenRequested), "{vector}");
                let session = read::wide(&fields["session"]);
                assert_eq!(listener.accept(1, 0).expect("OPEN was read").1.session, session);
                let (mut dialer, _) = Opening::dial(stranger(), session);
                let hello = Opening::dial(stranger(), 1).1;
                let Ok(Step::Send(open)) = dialer.receive(hello.as_slice()) else {
                    panic!("a dialer that has read HELLO sends OPEN")
                };
                assert_eq!(open.as_slice(), bytes, "{vector}");
            }
            "OPENED" => {
                let (token, ttl) = (read::wide(&fields["token"]), number(&fields["ttl_ms"]));
                let Ok(Step::Opened(opened)) = dialer.receive(&bytes) else { panic!("{vector}") };
                assert_eq!(opened.token, token);
                assert_eq!(listener.accept(token, ttl).expect("after HELLO").0.as_slice(), bytes);
            }
            "RESUME" | "RESUMED" => resuming(vector),
            "REFUSED" => {
                let code = Code(number(&fields["code"]) as u16);
                let string = |name: &str| {
                    String::from_utf8(from_hex(text(&fields[name]))).expect("it is text")
                };
                let (rule, detail) = (string("rule"), string("detail"));
                assert_eq!(Opening::refuse(code, &rule, &detail).as_slice(), bytes, "{vector}");
                let told = LinkError::ClosedByPeer { code, rule, detail };
                assert_eq!(dialer.receive(&bytes), Err(told), "{vector}");
            }
            other => panic!("no such message: {other}"),
        }
    }
}

/// Reads the frames of a batch and returns how many were accepted.
fn read_batch(bytes: &[u8], mut each: impl FnMut(Frame<'_>)) -> Result<u64, LinkError> {
    let mut receiver = RecvHalf::new(&Limits::default());
    let mut incoming = receiver.open(bytes)?;
    while let Some((frame, _)) = incoming.next_frame()? {
        each(frame);
    }
    drop(incoming);
    Ok(receiver.recv_next())
}

fn check_expected(name: &str) {
    let file = load(name);
    for vector in list(&file, "vectors") {
        let bytes = hex_of(vector);
        let expect = &vector["expect"];
        let expected: Vec<Fields> =
            expect["frames"].as_array().into_iter().flatten().map(Fields::of).collect();
        let mut at = 0;
        let outcome = read_batch(&bytes, |frame| {
            // A refusal may follow valid frames.
            if expect["code"].is_null() {
                let fields = expected.get(at).unwrap_or_else(|| panic!("too many: {vector}"));
                assert_eq!(frame, fields.frame(), "{vector}");
                at += 1;
            }
        });
        match outcome {
            Ok(recv_next) => {
                assert_eq!(
                    (recv_next, at),
                    (number(&expect["recv_next"]), expected.len()),
                    "{vector}"
                );
            }
            Err(error) => assert_eq!(code_of(&error), number(&expect["code"]), "{vector}: {error}"),
        }
    }
}

/// This release reads the bytes of a later one, but cannot write them.
#[test]
fn unknown_frames_are_skipped_or_refused_as_in_the_vectors() {
    check_expected("ext/unknown_frames.json");
}

#[test]
fn trailing_fields_are_skipped_as_in_the_vectors() {
    check_expected("ext/trailing_fields.json");
}

#[test]
fn extras_of_calls_are_skipped_or_refused_as_in_the_vectors() {
    check_expected("ext/call_x.json");
}

#[test]
fn a_hello_of_a_later_release_is_read_as_in_the_vectors() {
    let file = load("ext/hello.json");
    for vector in list(&file, "vectors") {
        let expect: &Value = &vector["expect"];
        let ours = Identity { offered: 0, ..stranger() };
        let mut listener = Opening::listen(ours);
        match listener.receive(&hex_of(vector)) {
            Ok(Step::Send(answer)) => {
                assert_eq!(answer, Opening::dial(ours, 0).1, "the answer is our own HELLO");
                let limits = listener.peer().map(|peer| peer.limits);
                assert_eq!(limits, Some(limits_of(&expect["limits"])), "{vector}");
            }
            Err(error) => assert_eq!(code_of(&error), number(&expect["code"]), "{vector}"),
            other => panic!("{vector}: {other:?}"),
        }
    }
}
