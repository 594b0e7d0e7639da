//! What strangers, other programs, broken nodes and wrong calls get, and what it costs: an error of
//! the right kind, in time, that says whose doing it is and what mends it; and nobody else notices.
//!
//! One table. Each row is played against the same node, which a healthy client asks all the while.
#![allow(clippy::unwrap_used, reason = "a test may panic, and so may its helpers")]

#[path = "support/child.rs"]
mod child;
#[path = "support/log.rs"]
mod log;
#[path = "support/memory.rs"]
mod memory;
#[path = "support/raw.rs"]
mod raw;

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use wigwag::{Actor, AskError, CallError, CallErrorKind, Fault, Node, NodeError};
use wigwag_link::frame::{Frame, kind};
use wigwag_link::{Code, Identity, Limits, LinkError, write};
use wigwag_net::NetErrorKind;
use wigwag_wire::{Buffer, Framing, HeaderError, ProtocolNumber};

use child::Child;
use memory::Memory;
use raw::{Raw, arrival, batch, connect, frames, header, hello, identity, listen, opened, pair};

/// The promise for a handshake, and for a reference.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// The promise where nothing has to be waited for.
const AT_ONCE: Duration = Duration::from_secs(1);

/// A loaded machine may take so many times what is promised.
const GRACE: u32 = 5;

#[derive(Default)]
struct Counter {
    total: u64,
}

#[wigwag::actor]
impl Counter {
    pub fn add(&mut self, amount: u64) -> u64 {
        self.total += amount;
        self.total
    }

    pub async fn never(&mut self) {
        pending::<()>().await;
    }
}

/// What somebody takes a counter for.
#[wigwag::actor]
trait OtherCounter {
    fn add(&mut self, amount: String) -> u64;
    fn subtract(&mut self, amount: u64) -> u64;
}

/// The same call, another reply.
#[wigwag::actor]
trait WordyCounter {
    fn add(&mut self, amount: u64) -> Vec<String>;
}

/// What an error is, without its words.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    NobodyListens,
    Header(HeaderError),
    Framing,
    TimedOut,
    Closed,
    NotWigwag,
    /// We told the peer.
    Misbehaved(Code),
    /// The peer told us.
    Told(Code),
    Call(CallErrorKind),
    Other,
}

fn kind_of(error: &NodeError) -> Kind {
    match error {
        NodeError::Net(error) => match &error.kind {
            NetErrorKind::NobodyListens => Kind::NobodyListens,
            NetErrorKind::Header(error) => Kind::Header(*error),
            NetErrorKind::Framing(_) => Kind::Framing,
            NetErrorKind::TimedOut(_) => Kind::TimedOut,
            NetErrorKind::Closed { .. } => Kind::Closed,
            _ => Kind::Other,
        },
        NodeError::Link { error, .. } => match error {
            LinkError::NotWigwag => Kind::NotWigwag,
            LinkError::Misbehaved { code, .. } => Kind::Misbehaved(*code),
            LinkError::ToldByPeer { code, .. } => Kind::Told(*code),
            _ => Kind::Other,
        },
        NodeError::Call(error) => Kind::Call(error.kind),
        _ => Kind::Other,
    }
}

/// The node that is played against, the healthy client beside it.
struct Stage {
    node: Node,
    address: String,
    healthy: CounterRef,
    _client: Node,
}

impl Stage {
    async fn new() -> Stage {
        let node = Node::new();
        node.export("counter", &Counter::default().spawn()).unwrap();
        node.export("stuck", &Counter::default().spawn()).unwrap();
        let address = node.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
        let client = Node::new();
        let there = format!("{address}/counter");
        let healthy = client.actor::<Counter>(&there).await.unwrap();
        Stage { node, address, healthy, _client: client }
    }

    /// One ask of the healthy client, which is never refused and never late.
    async fn ask(&self) {
        let answer = self.healthy.add(1).timeout(AT_ONCE * GRACE).ask();
        answer.await.unwrap();
    }
}

/// What a row expects of an error.
#[derive(Clone, Copy)]
struct Expected {
    kind: Kind,
    fault: Fault,
    words: &'static str,
    mend: &'static str,
}

/// An error as a row sees it: where it is a value, all of it; on a listener's side only its text.
struct Seen {
    kind: Option<(Kind, Fault)>,
    text: String,
    /// Who must be named.
    peer: String,
}

impl Expected {
    fn check(&self, name: &str, seen: &Seen) {
        let text = &seen.text;
        if let Some(kind) = seen.kind {
            assert_eq!(kind, (self.kind, self.fault), "{name}: {text}");
        }
        for words in [self.words, &seen.peer] {
            assert!(text.contains(words), "{name}: no {words:?} in\n{text}");
        }
        let mend = format!("mend: {}", self.mend);
        assert!(text.contains(&mend), "{name}: no {mend:?} in\n{text}");
    }
}

type Play<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// A row: how it is played, and how long that may take.
struct Row {
    name: String,
    promise: Duration,
    play: Box<dyn for<'a> Fn(&'a Stage) -> Play<'a> + Send + Sync>,
}

fn row(
    name: impl Into<String>,
    promise: Duration,
    play: impl for<'a> Fn(&'a Stage) -> Play<'a> + Send + Sync + 'static,
) -> Row {
    Row { name: name.into(), promise, play: Box::new(play) }
}

impl Row {
    /// Plays the row with healthy asks before, during and after it.
    async fn play(&self, stage: &Stage) {
        stage.ask().await;
        let begun = Instant::now();
        let healthy = async {
            loop {
                stage.ask().await;
                // Not so many that a waiting row costs a processor.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let played = async {
            tokio::select! {
                biased;
                () = (self.play)(stage) => {}
                () = healthy => {}
            }
        };
        let limit = self.promise * GRACE;
        let ended = timeout(limit, played).await;
        assert!(ended.is_ok(), "{}: not over within {limit:?}", self.name);
        stage.ask().await;
        tracing::debug!(row = self.name, took = ?begun.elapsed(), "played");
    }
}

// ---- Strangers: what is said before a session is open, by whoever listens or dials.

/// What a stranger says at once, whatever it hears.
struct Stranger {
    name: &'static str,
    says: Vec<u8>,
    /// It closes when it has spoken.
    leaves: bool,
    promise: Duration,
    /// What a node that dials it gets; `None` where only a dialer would say such a thing.
    dialed: Option<Expected>,
    /// What a node that it dials logs.
    dials: Option<Expected>,
    /// The code of the REFUSED that it must be told.
    told: Option<Code>,
}

fn refused_with(code: Code, words: &'static str, mend: &'static str) -> Option<Expected> {
    Some(Expected { kind: Kind::Misbehaved(code), fault: Fault::Peer, words, mend })
}

const BREAKS: &str = "look at the peer's version: it breaks the protocol";

/// A stranger whose first bytes are no SP header that we take.
fn no_header(name: &'static str, says: &[u8], error: HeaderError, mend: &'static str) -> Stranger {
    let wrong_protocol = matches!(error, HeaderError::WrongProtocol { .. });
    let expected = Some(Expected {
        kind: Kind::Header(error),
        fault: if wrong_protocol { Fault::Caller } else { Fault::Peer },
        words: match error {
            HeaderError::SpeaksHttp => "the peer speaks HTTP",
            HeaderError::SpeaksTls => "the peer speaks TLS",
            HeaderError::BadMagic(_) => "does not speak SP: its first bytes are [",
            HeaderError::BadVersion(_) => "SP version 1, we speak version 0",
            HeaderError::ReservedBits => "reserved bytes",
            HeaderError::WrongProtocol { theirs, .. } => theirs.name().unwrap(),
            _ => "",
        },
        mend,
    });
    Stranger {
        name,
        says: says.to_vec(),
        leaves: false,
        promise: AT_ONCE,
        dialed: expected,
        dials: expected,
        told: None,
    }
}

fn other_programs() -> Vec<Stranger> {
    let port = "check the port: the program there is not an SP peer";
    let partner = "use the partner's socket type at one of the two ends";
    let web = "this port belongs to a web server";
    let tls = "this port wants TLS";
    let wrong = |theirs| HeaderError::WrongProtocol { ours: ProtocolNumber::PAIR1, theirs };
    let (pull, req) = (ProtocolNumber::PULL, ProtocolNumber::REQ);
    let http = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
    let get = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let client_hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    let noise = *b"\x01\x02\x03\x04\x05\x06\x07\x08";
    vec![
        no_header("a web server", http, HeaderError::SpeaksHttp, web),
        no_header("a web client", get, HeaderError::SpeaksHttp, web),
        no_header("TLS", client_hello, HeaderError::SpeaksTls, tls),
        no_header("PULL", &header(pull), wrong(pull), partner),
        no_header("REQ", &header(req), wrong(req), partner),
        no_header("bad magic", &noise, HeaderError::BadMagic(noise), port),
        no_header("SP version 1", b"\0SP\x01\0\x11\0\0", HeaderError::BadVersion(1), port),
        no_header("reserved bits", b"\0SP\0\0\x11\0\x01", HeaderError::ReservedBits, port),
    ]
}

/// A stranger with a sound SP header and something behind it.
fn after_header(
    name: &'static str,
    says: &[u8],
    expected: Option<Expected>,
    told: Option<Code>,
) -> Stranger {
    Stranger {
        name,
        says: [&header(ProtocolNumber::PAIR1), says].concat(),
        leaves: false,
        promise: AT_ONCE,
        dialed: expected,
        dials: expected,
        told,
    }
}

fn broken_openings() -> Vec<Stranger> {
    let too_long = Some(Expected {
        kind: Kind::Framing,
        fault: Fault::Peer,
        words: "the limit is 4100",
        mend: "raise the receive limit here, or send smaller messages there",
    });
    let not_wigwag = Some(Expected {
        kind: Kind::NotWigwag,
        fault: Fault::Caller,
        words: "is a PAIR1 socket but not a wigwag node",
        mend: "dial a wigwag node, or use a Pair socket for this peer",
    });
    let length = |length: u64| length.to_be_bytes();
    let mut newer = hello(identity());
    (newer[9], newer[10]) = (2, 3);
    let required = Identity { required: 1 << 40, ..identity() };
    let useless = Identity { limits: Limits { frame_max: 0, ..Limits::default() }, ..identity() };
    let device = [&12_u64.to_be_bytes()[..], &[0, 0, 0, 2], &hello(identity())[..8]].concat();
    let torn = hello(identity());
    let version = refused_with(
        Code::VERSION,
        "this side speaks version 1",
        "use releases that share a version",
    );
    let rule = |words| refused_with(Code::PROTOCOL, words, BREAKS);
    vec![
        after_header("length 2^63", &length(1 << 63), too_long, None),
        after_header("length 2^64 - 1", &length(u64::MAX), too_long, None),
        after_header("limit + 1", &length(4101), too_long, None),
        after_header("no HELLO", &pair(b"hello"), not_wigwag, None),
        after_header("nothing in it", &pair(b""), not_wigwag, None),
        after_header("versions 2 to 3", &pair(&newer), version, Some(Code::VERSION)),
        after_header(
            "a feature that we lack",
            &pair(&hello(required)),
            refused_with(Code::FEATURE_REQUIRED, "requires a feature", BREAKS),
            Some(Code::FEATURE_REQUIRED),
        ),
        after_header(
            "a limit of nothing",
            &pair(&hello(useless)),
            rule("a limit in HELLO is too small"),
            Some(Code::PROTOCOL),
        ),
        after_header(
            "HELLO cut short",
            &pair(&torn[..40]),
            rule("a field reaches beyond its frame"),
            Some(Code::PROTOCOL),
        ),
        after_header("a device", &device, rule("no device on its way"), Some(Code::PROTOCOL)),
    ]
}

/// What only one of the two sides could say.
fn one_sided_openings() -> Vec<Stranger> {
    let rule = |words| refused_with(Code::PROTOCOL, words, BREAKS);
    vec![
        Stranger {
            dialed: None,
            ..after_header(
                "RESUME",
                &[pair(&hello(identity())), pair(&[5, 0])].concat(),
                refused_with(Code::SESSION_UNKNOWN, "no session of that id", BREAKS),
                Some(Code::SESSION_UNKNOWN),
            )
        },
        Stranger {
            dialed: None,
            ..after_header(
                "OPENED by a dialer",
                &[pair(&hello(identity())), pair(&opened())].concat(),
                rule("out of order"),
                Some(Code::PROTOCOL),
            )
        },
        Stranger {
            dials: None,
            ..after_header(
                "a refusal",
                &pair(&[7, 0x0A, 1, 4, b'f', b'u', b'l', b'l', 0]),
                Some(Expected {
                    kind: Kind::Told(Code::TOO_MANY),
                    fault: Fault::Peer,
                    words: "too many sessions; full",
                    mend: "close sessions that are not needed",
                }),
                None,
            )
        },
    ]
}

/// Strangers that stop speaking, or go.
fn silences() -> Vec<Stranger> {
    let alive = "check that the peer is alive and is an SP program";
    let timed_out = Some(Expected {
        kind: Kind::TimedOut,
        fault: Fault::Peer,
        words: "no answer within 5s",
        mend: alive,
    });
    let closed = |words| {
        Some(Expected {
            kind: Kind::Closed,
            fault: Fault::Peer,
            words,
            mend: "look at the peer's log for its reason",
        })
    };
    let sp = header(ProtocolNumber::PAIR1);
    let torn = [&sp[..], &pair(&hello(identity()))[..30]].concat();
    let silent = |name, says: &[u8]| Stranger {
        name,
        says: says.to_vec(),
        leaves: false,
        promise: HANDSHAKE,
        dialed: timed_out,
        dials: timed_out,
        told: None,
    };
    let leaving = |name, says: &[u8], words| Stranger {
        leaves: true,
        promise: AT_ONCE,
        dialed: closed(words),
        dials: closed(words),
        ..silent(name, says)
    };
    vec![
        silent("nothing, then silence", b""),
        silent("3 bytes, then silence", &sp[..3]),
        silent("a header, then silence", &sp),
        silent("HELLO torn, then silence", &torn),
        leaving("3 bytes, then gone", &sp[..3], "before its SP header was whole"),
        leaving("HELLO torn, then gone", &torn, "in the middle of the handshake"),
    ]
}

/// The stranger has spoken; what it hears until the node closes.
async fn hear(mut stranger: Raw, leaves: bool, told: Option<Code>, name: &str) {
    if leaves {
        return;
    }
    let heard = stranger.rest().await;
    let Some(code) = told else { return };
    let [low, high] = code.0.to_le_bytes();
    // REFUSED, the code and the length of the rule, which is never empty.
    let refused = heard.windows(4).any(|w| w[..3] == [7, low, high] && w[3] > 0);
    assert!(refused, "{name}: no REFUSED {code:?} in {heard:02x?}");
}

/// Our node dials the stranger.
async fn dial_stranger(stage: &Stage, stranger: &Stranger, expected: Expected) {
    let (listener, address) = listen().await;
    let there = format!("{address}/counter");
    let us = async {
        let error = stage.node.actor::<Counter>(&there).await;
        let error = error.map(drop).unwrap_err();
        let seen = Seen {
            kind: Some((kind_of(&error), error.fault())),
            text: error.to_string(),
            peer: address.clone(),
        };
        expected.check(stranger.name, &seen);
    };
    let them = async {
        let mut raw = arrival(&listener).await;
        raw.say(&stranger.says).await;
        hear(raw, stranger.leaves, stranger.told, stranger.name).await;
    };
    tokio::join!(us, them);
}

/// The stranger dials our node, whose log is read.
async fn be_dialed(stage: &Stage, stranger: &Stranger, expected: Expected) {
    let mut stream = connect(&stage.address).await;
    let who = format!("tcp://{}", stream.local_addr().unwrap());
    stream.write_all(&stranger.says).await.unwrap();
    let raw = Raw::new(stream, Framing::Tcp);
    hear(raw, stranger.leaves, stranger.told, stranger.name).await;
    let words = ["a peer was not let in", &who];
    let seen =
        Seen { kind: None, text: log::line_with(&words, HANDSHAKE * GRACE).await, peer: who };
    expected.check(stranger.name, &seen);
}

fn strangers() -> Vec<Row> {
    let all = [other_programs(), broken_openings(), one_sided_openings(), silences()];
    let mut rows = Vec::new();
    for stranger in all.into_iter().flatten().map(Arc::new) {
        let promise = stranger.promise;
        if let Some(expected) = stranger.dialed {
            let (name, stranger) = (format!("dialed: {}", stranger.name), stranger.clone());
            rows.push(row(name, promise, move |stage| {
                let stranger = stranger.clone();
                Box::pin(async move { dial_stranger(stage, &stranger, expected).await })
            }));
        }
        if let Some(expected) = stranger.dials {
            rows.push(row(format!("dials: {}", stranger.name), promise, move |stage| {
                let stranger = stranger.clone();
                Box::pin(async move { be_dialed(stage, &stranger, expected).await })
            }));
        }
    }
    rows
}

// ---- Broken peers: a sound session, and then a broken rule.

/// What a peer does with a session that is open, and the number by which it is told so.
#[derive(Clone, Copy)]
struct Broken {
    name: &'static str,
    code: Code,
    /// A part of the rule that it is told.
    rule: &'static str,
    /// The bytes on the stream; `seq` is the number of its next sequenced frame.
    says: fn(seq: u64) -> Vec<u8>,
}

/// TELLs of `add(1)` on a channel.
fn adds(channel: u64, count: usize) -> Vec<u8> {
    let mut out = Buffer::new();
    for _ in 0..count {
        write::tell(&mut out, channel, 1, |out| out.extend(&[0x91, 1]));
    }
    out.as_slice().to_vec()
}

/// One frame of ours alone in a sound batch.
fn alone(seq: u64, frame: &Frame<'_>) -> Vec<u8> {
    pair(&batch(0, seq, 1, &frames(&[*frame])))
}

/// An ATTACH of `channel`.
fn attach_of(channel: u64) -> Frame<'static> {
    Frame::Attach { channel, how: 0, target: b"counter", schema_hash: 0, codec: 0 }
}

const BROKEN: &[Broken] = &[
    Broken {
        name: "a call on a channel that was never attached",
        code: Code::PROTOCOL,
        rule: "a channel that was never attached",
        says: |seq| pair(&batch(0, seq, 1, &adds(5, 1))),
    },
    Broken {
        name: "one call more than credit allows",
        code: Code::CREDIT_EXCEEDED,
        rule: "more units than it was granted",
        says: |seq| pair(&batch(0, seq, 65, &adds(0, 65))),
    },
    Broken {
        name: "a gap in the sequence",
        code: Code::GAP,
        rule: "no gaps",
        says: |seq| pair(&batch(0, seq + 1, 1, &adds(0, 1))),
    },
    Broken {
        name: "a sequence that wraps",
        code: Code::PROTOCOL,
        rule: "wraps",
        says: |_| pair(&batch(0, u64::MAX, 1, &adds(0, 1))),
    },
    Broken {
        name: "an ack beyond what was sent",
        code: Code::ACK_BEYOND_SENT,
        rule: "beyond what was sent",
        says: |seq| pair(&batch(1 << 40, seq, 0, &[])),
    },
    Broken {
        name: "an unknown frame that must be understood",
        code: Code::UNKNOWN_FRAME,
        rule: "unknown type",
        says: |seq| pair(&batch(0, seq, 0, &[0x20, 0])),
    },
    Broken {
        name: "a frame longer than frame_max",
        code: Code::LIMIT_EXCEEDED,
        rule: "frame_max",
        // Its body does not come, and need not.
        says: |seq| pair(&batch(0, seq, 1, &[kind::TELL, 0x81, 0x80, 0x04])),
    },
    Broken {
        name: "a frame that reaches beyond its batch",
        code: Code::PROTOCOL,
        rule: "reaches beyond",
        says: |seq| pair(&batch(0, seq, 1, &[kind::TELL, 100, 0, 1])),
    },
    Broken {
        name: "fewer frames than the batch says",
        code: Code::PROTOCOL,
        rule: "fewer frames",
        says: |seq| pair(&batch(0, seq, 3, &adds(0, 2))),
    },
    Broken {
        name: "more frames than the batch says",
        code: Code::PROTOCOL,
        rule: "more frames",
        says: |seq| pair(&batch(0, seq, 1, &adds(0, 2))),
    },
    Broken {
        name: "flags in a batch",
        code: Code::PROTOCOL,
        rule: "flags",
        says: |seq| pair(&[1, 0, seq as u8, 0]),
    },
    Broken {
        name: "a number that is not in its shortest form",
        code: Code::PROTOCOL,
        rule: "shortest form",
        says: |seq| pair(&[0, 0x80, 0, seq as u8, 0]),
    },
    Broken {
        name: "an empty message",
        code: Code::PROTOCOL,
        rule: "reaches beyond",
        says: |_| pair(&[]),
    },
    Broken {
        name: "a device on the way",
        code: Code::PROTOCOL,
        rule: "no device",
        says: |_| [&[0, 0, 0, 0, 0, 0, 0, 4][..], &[0, 0, 0, 2]].concat(),
    },
    Broken {
        name: "a reply to a slot that is not open",
        code: Code::PROTOCOL,
        rule: "a question that is not open",
        says: |seq| {
            let reply = Frame::Reply { slot: 77, generation: 0, value: &[1] };
            alone(seq, &reply)
        },
    },
    Broken {
        name: "ATTACH of channel 2^40",
        code: Code::LIMIT_EXCEEDED,
        rule: "channels_max",
        says: |seq| alone(seq, &attach_of(1 << 40)),
    },
    Broken {
        name: "ATTACH of a channel that is open",
        code: Code::PROTOCOL,
        rule: "channel that is open",
        says: |seq| alone(seq, &attach_of(0)),
    },
    Broken {
        name: "an ask in slot 2^32",
        code: Code::LIMIT_EXCEEDED,
        rule: "slots_max",
        says: |seq| {
            let ask = [kind::ASK, 9, 0, 0x80, 0x80, 0x80, 0x80, 0x10, 0, 1, 0x90];
            pair(&batch(0, seq, 1, &ask))
        },
    },
    Broken {
        name: "extras before a frame that is no call",
        code: Code::PROTOCOL,
        rule: "extras stand only before",
        says: |seq| pair(&batch(0, seq, 1, &[kind::CALL_X, 2, kind::CREDIT, 0])),
    },
    Broken {
        name: "a length of 2^63",
        code: Code::LIMIT_EXCEEDED,
        rule: "batch_max",
        says: |_| (1_u64 << 63).to_be_bytes().to_vec(),
    },
    Broken {
        name: "a length of 2^64 - 1",
        code: Code::LIMIT_EXCEEDED,
        rule: "batch_max",
        says: |_| u64::MAX.to_be_bytes().to_vec(),
    },
    Broken {
        name: "a length of limit + 1",
        code: Code::LIMIT_EXCEEDED,
        rule: "batch_max",
        says: |_| (wigwag::limits::MESSAGE_BYTES_MAX as u64 + 1).to_be_bytes().to_vec(),
    },
];

/// The peer hears code and rule of what it has broken. Gives the rule.
async fn is_told(raw: &mut Raw, broken: &Broken) -> String {
    let closed = raw.closed().await;
    let Some((code, rule)) = closed else {
        panic!("{}: closed without a word", broken.name);
    };
    assert_eq!(code, broken.code, "{}: {rule}", broken.name);
    assert!(rule.contains(broken.rule), "{}: {rule}", broken.name);
    assert!(raw.rest().await.is_empty(), "CLOSE is the last");
    rule
}

/// Our node has dialed it and waits for an answer.
async fn break_as_listener(stage: &Stage, broken: Broken) {
    let (listener, address) = listen().await;
    let (asked, asks) = tokio::sync::oneshot::channel();
    let us = async {
        let there = format!("{address}/counter");
        let counter = stage.node.actor::<Counter>(&there).await.unwrap();
        let answer = counter.add(1).ask().sent().await.unwrap();
        let parked = counter.add(2).tell();
        let (answer, parked) = tokio::join!(answer, parked);
        asked.send(answer.unwrap_err()).unwrap();
        let tell = counter.add(3).tell().await.unwrap_err().error;
        for error in [parked.unwrap_err().error, tell] {
            assert_eq!(error.kind, CallErrorKind::NotDelivered);
        }
    };
    let them = async {
        let mut raw = arrival(&listener).await;
        raw.accept(identity()).await;
        // Room for the ask alone: the tell behind it is parked.
        raw.attached(1).await;
        raw.attach(0, "counter").await;
        raw.until(kind::NEED).await;
        raw.say(&(broken.says)(raw.sent)).await;
        is_told(&mut raw, &broken).await
    };
    let (rule, ()) = tokio::join!(them, us);
    let expected = Expected {
        kind: Kind::Call(CallErrorKind::Unknown),
        fault: Fault::Network,
        words: "the peer broke a rule of the link protocol",
        mend: "send it again only if handling it twice does no harm",
    };
    let error = asks.await.unwrap();
    let seen = seen_call(&error, address);
    assert!(seen.text.contains(&rule), "no {rule:?} in\n{}", seen.text);
    expected.check(broken.name, &seen);
}

/// It has dialed our node. `blind`: all in one go, without waiting for an answer.
async fn break_as_dialer(stage: &Stage, broken: Broken, blind: bool) {
    let stream = connect(&stage.address).await;
    let who = format!("tcp://{}", stream.local_addr().unwrap());
    let mut raw = Raw::new(stream, Framing::Tcp);
    let rule = if blind {
        let all = [
            header(ProtocolNumber::PAIR1),
            pair(&hello(identity())),
            pair(&raw::open()),
            alone(0, &attach_of(0)),
            (broken.says)(1),
        ];
        raw.say(&all.concat()).await;
        raw.header().await;
        for _ in ["HELLO", "OPENED"] {
            raw.message().await.unwrap();
        }
        is_told(&mut raw, &broken).await
    } else {
        raw.open(identity()).await;
        raw.attach(0, "counter").await;
        raw.say(&(broken.says)(raw.sent)).await;
        is_told(&mut raw, &broken).await
    };
    let words = ["a session is over", &who, &rule];
    log::line_with(&words, AT_ONCE * GRACE).await;
}

fn broken_peers() -> Vec<Row> {
    let mut rows = Vec::new();
    for broken in BROKEN {
        let name = broken.name;
        rows.push(row(format!("dialed: {name}"), AT_ONCE, move |stage| {
            Box::pin(break_as_listener(stage, *broken))
        }));
        for blind in [false, true] {
            let how = if blind { "dials blindly" } else { "dials" };
            rows.push(row(format!("{how}: {name}"), AT_ONCE, move |stage| {
                Box::pin(break_as_dialer(stage, *broken, blind))
            }));
        }
    }
    rows
}

// ---- Sound or silent, and everything else that is no stranger and breaks no rule.

fn seen_call(error: &CallError, peer: String) -> Seen {
    Seen { kind: Some((Kind::Call(error.kind), error.fault())), text: error.to_string(), peer }
}

fn failed<M>(name: &str, address: &str, error: &AskError<M>, expected: Expected) {
    let seen = seen_call(error.error(), address.to_owned());
    expected.check(name, &seen);
}

const SAME_VERSION: &str = "use the same version of the interface at both ends";

fn call(kind: CallErrorKind, words: &'static str, mend: &'static str) -> Expected {
    Expected { kind: Kind::Call(kind), fault: kind.fault(), words, mend }
}

async fn nobody(stage: &Stage) {
    let free = {
        let (listener, address) = listen().await;
        drop(listener);
        address
    };
    let ipc = std::env::temp_dir().join("wigwag-nobody-here.sock");
    let ipc = format!("ipc://{}", ipc.display());
    let expected = Expected {
        kind: Kind::NobodyListens,
        fault: Fault::Network,
        words: "nobody listens there",
        mend: "start the peer there, or dial again once it is up",
    };
    for address in [free, ipc, "inproc://nobody-here".to_owned()] {
        let there = format!("{address}/counter");
        let error = stage.node.actor::<Counter>(&there).await;
        let error = error.map(drop).unwrap_err();
        let seen = Seen {
            kind: Some((kind_of(&error), error.fault())),
            text: error.to_string(),
            peer: address,
        };
        expected.check("nobody listens", &seen);
    }
}

async fn unknown_actor(stage: &Stage) {
    let client = Node::new();
    let there = format!("{}/conuter", stage.address);
    let typed = client.actor::<Counter>(&there).await.map(drop).unwrap_err();
    let dynamic = client.dynamic(&there).await.map(drop).unwrap_err();
    let expected = call(
        CallErrorKind::NoSuchActor,
        "no actor of that name",
        "check the name, and that the node exports it",
    );
    for error in [typed, dynamic] {
        let seen = Seen {
            kind: Some((kind_of(&error), error.fault())),
            text: error.to_string(),
            peer: there.clone(),
        };
        expected.check("unknown actor", &seen);
    }
}

async fn wrong_calls(stage: &Stage) {
    let client = Node::new();
    let there = format!("{}/counter", stage.address);
    let describe = "ask the actor what it understands";
    let no_method = call(CallErrorKind::NoSuchMethod, "subtract", describe);
    let bad = call(CallErrorKind::BadArguments, "add", SAME_VERSION);
    let bad_reply = call(CallErrorKind::BadReply, "another type", SAME_VERSION);

    let dynamic = client.dynamic(&there).await.unwrap();
    let error = dynamic.ask("subtract", &[0x91, 1]).await.unwrap_err();
    no_method.check("unknown method", &seen_call(&error, there.clone()));
    let error = dynamic.tell("subtract", &[0x91, 1]).await.unwrap_err();
    no_method.check("unknown method", &seen_call(&error, there.clone()));
    // No arguments, a text, no MessagePack at all.
    for arguments in [&[0x90][..], &[0x91, 0xa1, b'x'], &[0xc1], &[]] {
        let error = dynamic.ask("add", arguments).await.unwrap_err();
        bad.check("wrong bytes", &seen_call(&error, there.clone()));
    }

    let other = client.actor::<OtherCounterInterface>(&there).await.unwrap();
    let error = other.subtract(1).ask().await.unwrap_err();
    failed("unknown method", &there, &error, no_method);
    assert!(error.into_message().is_some(), "it was not sent");
    let told = other.subtract(1).tell().await.unwrap_err();
    no_method.check("unknown method", &seen_call(&told.error, there.clone()));
    let error = other.add("one".into()).ask().await.unwrap_err();
    failed("wrong arguments", &there, &error, bad);

    let wordy = client.actor::<WordyCounterInterface>(&there).await.unwrap();
    let error = wordy.add(0).ask().await.unwrap_err();
    failed("another reply", &there, &error, bad_reply);

    // A tell of that sort is on its way and nobody waits: the service counts it.
    other.add("one".into()).tell().await.unwrap();
    let counter = client.actor::<Counter>(&there).await.unwrap();
    counter.add(0).ask().await.unwrap();
    let undeliverable = |node: &Node| -> u64 {
        let links = node.statistics();
        links.iter().map(|peer| peer.link.tells_undeliverable).sum()
    };
    assert!(undeliverable(&stage.node) >= 1);
}

/// Frames that we do not know and may skip do no harm.
async fn unknown_frame_that_may_be_skipped(stage: &Stage) {
    let mut raw = Raw::dial(&stage.address).await;
    raw.open(identity()).await;
    raw.attach(0, "counter").await;
    // One outside the sequence, one inside it, an extra with an odd tag.
    let skipped = [&[0x60, 2, 9, 9][..], &[0xE0, 1, 9]].concat();
    raw.send(&batch(raw.received, raw.sent, 1, &skipped)).await;
    raw.sent += 1;
    let ask = Frame::Ask { channel: 0, slot: 3, generation: 4, method: 1, arguments: &[0x91, 0] };
    raw.tell(&[ask]).await;
    let seen = raw.until(kind::REPLY).await;
    let Frame::Reply { slot, generation, .. } = seen.frame() else {
        unreachable!("it is a REPLY");
    };
    assert_eq!((slot, generation), (3, 4));
}

/// On ipc each message has a type, of which only one is known.
async fn ipc_with_another_type(stage: &Stage) {
    let path = std::env::temp_dir().join(format!("wigwag-bad-{}.sock", std::process::id()));
    let address = format!("ipc://{}", path.display());
    stage.node.listen(&address).await.unwrap();
    let mut stream = UnixStream::connect(&path).await.unwrap();
    let says = [&header(ProtocolNumber::PAIR1)[..], &[2], &pair(b"x")].concat();
    stream.write_all(&says).await.unwrap();
    Raw::new(stream, Framing::Ipc).rest().await;
    let expected = Expected {
        kind: Kind::Framing,
        fault: Fault::Peer,
        words: "message type 2 on ipc",
        mend: "the peer is broken or hostile",
    };
    let words = ["a peer was not let in", &address];
    let seen =
        Seen { kind: None, text: log::line_with(&words, AT_ONCE * GRACE).await, peer: address };
    expected.check("ipc", &seen);
}

/// The session is open, and then nothing comes.
async fn silence_after_opened(stage: &Stage) {
    let (listener, address) = listen().await;
    let there = format!("{address}/counter");
    let expected = Expected {
        kind: Kind::TimedOut,
        fault: Fault::Peer,
        words: "no answer within 5s",
        mend: "check that the peer is alive and is an SP program",
    };
    let us = async {
        // Those who come to an address that is being dialed wait no longer than the first.
        let three = [(); 3].map(|()| stage.node.actor::<Counter>(&there));
        let [a, b, c] = three;
        let (a, b, c) = tokio::join!(a, b, c);
        for outcome in [a, b, c] {
            let error = outcome.map(drop).unwrap_err();
            let seen = Seen {
                kind: Some((kind_of(&error), error.fault())),
                text: error.to_string(),
                peer: address.clone(),
            };
            expected.check("silence after OPENED", &seen);
        }
    };
    let them = async {
        let mut raw = arrival(&listener).await;
        raw.accept(identity()).await;
        while raw.frame().await.is_some() {}
    };
    tokio::select! {
        () = us => {}
        () = them => panic!("the session goes on"),
    }
}

/// A process that is killed with asks on their way.
async fn killed_peer(stage: &Stage) {
    let started = tokio::task::spawn_blocking(|| Child::start("child_service", "stuck"));
    let mut service = started.await.unwrap();
    let there = format!("{}/stuck", service.said);
    let stuck = stage.node.actor::<Counter>(&there).await.unwrap();
    let mut answers = Vec::new();
    for _ in 0..10 {
        answers.push(stuck.never().ask().sent().await.unwrap());
    }
    // Until there is no more credit: the last one is parked.
    let parked = async {
        loop {
            if let Err(refused) = stuck.add(1).tell().await {
                break refused.error;
            }
        }
    };
    let kill = async {
        let full = async {
            while stage.stalls(&service.said) == 0 {
                tokio::task::yield_now().await;
            }
        };
        full.await;
        service.kill();
    };
    let (parked, ()) = tokio::join!(parked, kill);
    let again = "it is safe to send it again";
    let lost = call(CallErrorKind::NotDelivered, "it was not handled", again);
    lost.check("a parked tell", &seen_call(&parked, there.clone()));
    let careful = "send it again only if handling it twice does no harm";
    let unknown = call(CallErrorKind::Unknown, "may have been handled", careful);
    for answer in answers {
        let error = answer.await.unwrap_err();
        unknown.check("an ask", &seen_call(&error, there.clone()));
    }
    let later = stuck.add(1).tell().await.unwrap_err().error;
    lost.check("a later tell", &seen_call(&later, there));
}

impl Stage {
    /// Times that somebody found no credit on the link to `peer`.
    fn stalls(&self, peer: &str) -> u64 {
        let links = self.node.statistics();
        let link = links.iter().find(|link| &*link.peer == peer);
        link.map_or(0, |link| link.link.credit_stalls)
    }
}

/// The body of the child that is killed.
#[tokio::test]
async fn child_service() {
    if child::role().is_none() {
        return;
    }
    let node = Node::new();
    node.export("stuck", &Counter::default().spawn()).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    child::say(&bound.to_string());
    tokio::task::spawn_blocking(child::wait_for_parent).await.unwrap();
}

/// The body of the child that dials a thousand times at once, each time as another node.
#[tokio::test]
async fn child_crowd() {
    let Some(address) = child::role() else { return };
    let memory = Memory::of_self();
    let mut asking = JoinSet::new();
    for _ in 0..dials() {
        let address = address.clone();
        asking.spawn(async move {
            let node = Node::new();
            let counter = node.actor::<Counter>(&address).await.unwrap();
            counter.add(0).ask().await.unwrap();
            (node, counter)
        });
    }
    let crowd = asking.join_all().await;
    for (_, counter) in &crowd {
        counter.add(0).ask().await.unwrap();
    }
    memory.check("the crowd");
    child::say(&crowd.len().to_string());
    tokio::task::spawn_blocking(child::wait_for_parent).await.unwrap();
}

/// Fewer than a thousand where a process may not have so many open files.
fn dials() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().nth(3)).unwrap();
    // Some are open already.
    soft.parse().map_or(1000, |soft: usize| 1000.min(soft - 100))
}

async fn crowd(stage: &Stage) {
    let there = format!("{}/counter", stage.address);
    let started = tokio::task::spawn_blocking(move || Child::start("child_crowd", &there));
    let crowd = started.await.unwrap();
    let dials: usize = crowd.said.parse().unwrap();
    // The healthy client is one more.
    assert_eq!(stage.node.statistics().len(), dials + 1, "all are open");
}

fn others() -> Vec<Row> {
    vec![
        row("nobody listens", AT_ONCE, |stage| Box::pin(nobody(stage))),
        row("unknown actor", AT_ONCE, |stage| Box::pin(unknown_actor(stage))),
        row("wrong calls", AT_ONCE, |stage| Box::pin(wrong_calls(stage))),
        row("an unknown frame that may be skipped", AT_ONCE, |stage| {
            Box::pin(unknown_frame_that_may_be_skipped(stage))
        }),
        row("another message type on ipc", AT_ONCE, |stage| Box::pin(ipc_with_another_type(stage))),
        row("silence after OPENED", HANDSHAKE, |stage| Box::pin(silence_after_opened(stage))),
        row("a peer that is killed", AT_ONCE, |stage| Box::pin(killed_peer(stage))),
    ]
}

/// Rows that wait for a time to pass are played side by side, the others one after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_input_gets_an_error_in_time_and_hurts_nobody_else() {
    log::collect();
    let stage = Arc::new(Stage::new().await);
    let memory = Memory::of_self();
    let rows = [strangers(), broken_peers(), others()];
    let (slow, quick): (Vec<_>, Vec<_>) =
        rows.into_iter().flatten().partition(|row| row.promise >= HANDSHAKE);
    let mut waiting = JoinSet::new();
    for row in slow {
        let stage = stage.clone();
        waiting.spawn(async move { row.play(&stage).await });
    }
    waiting.join_all().await;
    for row in quick {
        row.play(&stage).await;
    }
    memory.check("the whole table");

    row("1,000 dials at once", HANDSHAKE, |stage| Box::pin(crowd(stage))).play(&stage).await;
    memory.check("the table and 1,000 sessions");
}
