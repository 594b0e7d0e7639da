//! Bodies of every size around a threshold, ours or theirs, there and back again unchanged.
//!
//! mangos and pynng echo, and ask by themselves; nanocat and nngcat send a file and print messages
//! as they are. nanomsg receives no more than 1 MiB with its protocol header, and nanocat has no
//! option for it.

use std::fs;
use std::path::PathBuf;
use std::thread;

use wigwag_net::socket::{Pull, Push, Rep, Req, SocketErrorKind};

use crate::peer::{ALL, OURS, PATIENCE, Peer, dial, each, eventually};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;
/// Bytes of the id in front of a request, which count against the limit.
const REQUEST_ID: usize = 4;

/// Empty and short ones; around the bodies that are copied into a batch (1 KiB), around pages,
/// those that share their block (16 KiB) and a read or a write (256 KiB), 64 KiB as a socket
/// buffer, and the receive limit (1 MiB) with and without the header.
const SIZES: [usize; 33] = [
    0,
    1,
    7,
    8,
    9,
    15,
    16,
    17,
    KIB - 1,
    KIB,
    KIB + 1,
    4 * KIB - 1,
    4 * KIB,
    4 * KIB + 1,
    16 * KIB - REQUEST_ID,
    16 * KIB - 1,
    16 * KIB,
    16 * KIB + 1,
    64 * KIB - 1,
    64 * KIB,
    64 * KIB + 1,
    256 * KIB - REQUEST_ID - 9,
    256 * KIB - REQUEST_ID,
    256 * KIB - 1,
    256 * KIB,
    256 * KIB + 1,
    MIB - REQUEST_ID - 1,
    MIB - REQUEST_ID,
    MIB - REQUEST_ID + 1,
    MIB - 1,
    MIB,
    MIB + 1,
    4 * MIB,
];

/// The receive limit in this file of our sockets and of programs with such an option.
const LIMIT: usize = 5 * MIB;

/// Bytes that differ from place to place and from size to size; 251 divides no power of two. The
/// programs compute the same.
fn body(size: usize) -> Vec<u8> {
    let pattern: Vec<u8> = (0..251).map(|place| ((size + place) % 251) as u8).collect();
    pattern.into_iter().cycle().take(size).collect()
}

/// Compares without printing megabytes.
#[track_caller]
fn assert_same(received: &[u8], size: usize) {
    assert_eq!(received.len(), size);
    assert!(received == body(size), "{size} bytes have come back changed");
}

/// A file with a body, for the programs that send files.
struct File(PathBuf);

impl File {
    fn of(size: usize, program: &str) -> File {
        let name = format!("wigwag-sizes-{program}-{size}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, body(size)).unwrap();
        File(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn asking() -> Req {
    let req = Req::new();
    req.set_receive_limit(LIMIT);
    req.set_receive_timeout(Some(PATIENCE));
    req
}

fn answering() -> Rep {
    let rep = Rep::new();
    rep.set_receive_limit(LIMIT);
    rep.set_receive_timeout(Some(PATIENCE));
    rep
}

#[test]
fn every_size_is_echoed_to_us() {
    let limit = LIMIT.to_string();
    each("echo", &OURS, |program, _, theirs| {
        let _peer = Peer::start(program, "rep", false, theirs, &["--echo", "--limit", &limit]);
        let req = asking();
        dial(|| req.blocking_dial(theirs));
        for size in SIZES {
            assert_same(&req.blocking_ask(body(size)).unwrap(), size);
        }
    });
}

#[test]
fn every_size_is_echoed_by_us() {
    let (limit, sizes) = (LIMIT.to_string(), SIZES.map(|size| size.to_string()).join(","));
    each("echoed", &OURS, |program, ours, _| {
        let rep = answering();
        let address = rep.blocking_listen(ours).unwrap().to_string();
        let more = ["--limit", &limit, "--sizes", &sizes];
        let mut peer = Peer::start(program, "req", true, &address, &more);
        for size in SIZES {
            let question = rep.blocking_recv().unwrap();
            assert_same(&question, size);
            rep.blocking_send(question).unwrap();
            assert_eq!(peer.line(), format!("same {size}"));
        }
    });
}

/// Both directions at once over one pair: neither waits for the other.
#[test]
fn every_size_comes_back_over_a_pair() {
    let limit = LIMIT.to_string();
    each("echo-pair", &OURS, |program, _, theirs| {
        let _peer = Peer::start(program, "pair1", false, theirs, &["--echo", "--limit", &limit]);
        let pair = wigwag_net::socket::Pair::new();
        pair.set_receive_limit(LIMIT);
        pair.set_receive_timeout(Some(PATIENCE));
        dial(|| pair.blocking_dial(theirs));
        thread::scope(|scope| {
            scope.spawn(|| {
                for size in SIZES {
                    pair.blocking_send(body(size)).unwrap();
                }
            });
            for size in SIZES {
                assert_same(&pair.blocking_recv().unwrap(), size);
            }
        });
    });
}

/// One program for each size, which answers any request with the file and prints the request.
#[test]
fn every_size_goes_to_programs_that_print_and_send_files() {
    let limit = LIMIT.to_string();
    each("files", &["nanocat", "nngcat"], |program, ours, theirs| {
        let limited: &[&str] = if program == "nngcat" { &["--recv-maxsz", &limit] } else { &[] };
        let (least, most) = match program {
            // nanocat stops at an empty file.
            "nanocat" => (1, MIB - REQUEST_ID),
            _ => (0, LIMIT),
        };
        for size in SIZES.into_iter().filter(|size| (least..=most).contains(size)) {
            let file = File::of(size, program);
            let more = [&["--raw", "--file", file.path()], limited].concat();
            let mut peer = Peer::start(program, "rep", false, theirs, &more);
            let req = asking();
            dial(|| req.blocking_dial(theirs));
            req.blocking_send(body(size)).unwrap();
            // It prints before it answers, and its output must be read.
            assert_same(&peer.bytes(size), size);
            assert_same(&req.blocking_recv().unwrap(), size);
            drop((peer, req));
            let rep = answering();
            let address = rep.blocking_listen(ours).unwrap().to_string();
            let mut peer = Peer::start(program, "req", true, &address, &more);
            let question = rep.blocking_recv().unwrap();
            assert_same(&question, size);
            rep.blocking_send(question).unwrap();
            assert_same(&peer.bytes(size), size);
            rep.blocking_close();
        }
    });
}

/// The default limit is 1 MiB. A peer that sends more is disconnected and counted; with a higher
/// limit the message passes.
#[test]
fn one_byte_above_the_receive_limit_is_refused_and_counted() {
    each("limit", &ALL, |program, ours, _| {
        for (size, limit, passes) in
            [(MIB, None, true), (MIB + 1, None, false), (MIB + 1, Some(MIB + 1), true)]
        {
            let pull = Pull::new();
            pull.set_receive_timeout(Some(PATIENCE));
            if let Some(limit) = limit {
                pull.set_receive_limit(limit);
            }
            let address = pull.blocking_listen(ours).unwrap().to_string();
            let file = File::of(size, &format!("limit-{program}"));
            let text = size.to_string();
            let what: [&str; 2] = match program {
                "mangos" | "pynng" => ["--body", &text],
                _ => ["--file", file.path()],
            };
            // Sends repeatedly, or nanocat is gone before its message.
            let more = [what, ["--interval", "1"]].concat();
            let _peer = Peer::start(program, "push", true, &address, &more);
            if passes {
                assert_same(&pull.blocking_recv().unwrap(), size);
                assert_eq!(pull.statistics().pipes_punished, 0);
            } else {
                eventually(|| pull.statistics().pipes_punished > 0);
                assert!(pull.try_recv().is_err());
                assert_eq!(pull.statistics().counters.received, 0);
            }
            pull.blocking_close();
        }
    });
}

/// They refuse it too, and our socket goes on: the next message reaches them over a new connection.
#[test]
fn one_byte_above_their_limit_ends_the_connection_and_no_more() {
    each("their-limit", &OURS, |program, _, theirs| {
        let limit = MIB.to_string();
        let mut peer = Peer::start(program, "pull", false, theirs, &["--limit", &limit]);
        let push = Push::new();
        push.set_send_timeout(Some(PATIENCE));
        dial(|| push.blocking_dial(theirs));
        push.blocking_send("before").unwrap();
        assert_eq!(peer.line(), "before");
        push.blocking_send(body(MIB + 1)).unwrap();
        eventually(|| push.statistics().pipes_closed == 1);
        push.blocking_send("after").unwrap();
        assert_eq!(peer.line(), "after");
        while push.statistics().pipes_refused_by_length == 0 {
            let closed = push.statistics().pipes_closed;
            push.blocking_send(body(MIB + 1)).unwrap();
            eventually(|| push.statistics().pipes_closed > closed);
        }
    });
}

/// A request that they do not accept ends with an error instead of being sent for ever; the socket
/// goes on, and the next request is answered. nanocat has the default limit of nanomsg.
#[test]
fn a_request_above_their_limit_is_an_error_that_says_so() {
    each("their-request-limit", &["nanocat", "mangos", "pynng"], |program, _, theirs| {
        let limit = MIB.to_string();
        let more: &[&str] = match program {
            "nanocat" => &["--raw", "--data", "yes"],
            _ => &["--echo", "--limit", &limit],
        };
        let _peer = Peer::start(program, "rep", false, theirs, more);
        let req = asking();
        dial(|| req.blocking_dial(theirs));
        let refused = req.blocking_ask(body(3 * MIB)).unwrap_err();
        let bytes = 3 * MIB + REQUEST_ID;
        let known =
            matches!(refused.kind, SocketErrorKind::RequestRefused { bytes: b } if b == bytes);
        assert!(known, "{refused}");
        assert!(!req.blocking_ask("short").unwrap().is_empty());
    });
}
