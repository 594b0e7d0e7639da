//! Pending handshakes: peers that misbehave before a session is open, as listener or as dialer.

use super::*;

/// A peer without a session that sends fixed bytes at once, regardless of the node's bytes.
pub(crate) struct Stranger {
    pub(crate) name: &'static str,
    pub(crate) says: Vec<u8>,
    /// True if the peer closes after it has sent its bytes.
    pub(crate) leaves: bool,
    pub(crate) promise: Duration,
    /// The error of a node that dials the peer; `None` where only a dialer would send such bytes.
    pub(crate) dialed: Option<Expected>,
    /// The error that a node logs when the peer dials it.
    pub(crate) dials: Option<Expected>,
    /// The code of the REFUSED that the peer must receive.
    pub(crate) told: Option<Code>,
}

pub(crate) fn refused_with(
    code: Code,
    words: &'static str,
    hint: &'static str,
) -> Option<Expected> {
    Some(Expected { kind: Kind::Misbehaved(code), fault: Fault::Peer, words, hint })
}

pub(crate) const BREAKS: &str = "look at the peer's version: it breaks the protocol";

/// A peer whose first bytes are no SP header that a node accepts.
pub(crate) fn no_header(
    name: &'static str,
    says: &[u8],
    error: HeaderError,
    hint: &'static str,
) -> Stranger {
    let wrong_protocol = matches!(error, HeaderError::WrongProtocol { .. });
    let expected = Some(Expected {
        kind: Kind::Header(error),
        fault: if wrong_protocol { Fault::Caller } else { Fault::Peer },
        words: match error {
            HeaderError::SpeaksHttp => "the peer speaks HTTP",
            HeaderError::SpeaksTls => "the peer speaks TLS",
            HeaderError::BadMagic(_) => "does not speak SP: its first bytes are `",
            HeaderError::BadVersion(_) => "SP version 1, we speak version 0",
            HeaderError::ReservedBits => "reserved bytes",
            HeaderError::WrongProtocol { theirs, .. } => theirs.name().unwrap(),
            _ => "",
        },
        hint,
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

pub(crate) fn other_programs() -> Vec<Stranger> {
    let port = "check the port: the program there is not an SP peer";
    let partner = "use the partner's socket type at one of the two ends";
    let web = "this port belongs to a web server";
    let tls = "this port speaks TLS";
    let wrong = |theirs| HeaderError::WrongProtocol { ours: ProtocolNumber::PAIR1, theirs };
    let (pull, bus) = (ProtocolNumber::PULL, ProtocolNumber::BUS);
    let http = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
    let get = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let client_hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    let noise = *b"\x01\x02\x03\x04\x05\x06\x07\x08";
    vec![
        no_header("a web server", http, HeaderError::SpeaksHttp, web),
        no_header("a web client", get, HeaderError::SpeaksHttp, web),
        no_header("TLS", client_hello, HeaderError::SpeaksTls, tls),
        no_header("PULL", &header(pull), wrong(pull), partner),
        no_header("BUS", &header(bus), wrong(bus), partner),
        no_header("bad magic", &noise, HeaderError::BadMagic(noise), port),
        no_header("SP version 1", b"\0SP\x01\0\x11\0\0", HeaderError::BadVersion(1), port),
        no_header("reserved bits", b"\0SP\0\0\x11\0\x01", HeaderError::ReservedBits, port),
    ]
}

/// A peer with a valid SP header and further bytes after it.
pub(crate) fn after_header(
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

pub(crate) fn broken_openings() -> Vec<Stranger> {
    let too_long = Some(Expected {
        kind: Kind::Framing,
        fault: Fault::Peer,
        words: "the limit is 4100",
        hint: "raise the receive limit here, or send smaller messages there",
    });
    let not_wigwag = Some(Expected {
        kind: Kind::NotWigwag,
        fault: Fault::Caller,
        words: "is a PAIR1 socket but not a wigwag node",
        hint: "dial a wigwag node, or use a Pair socket for this peer",
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

/// Openings that are valid from only one of the two sides.
pub(crate) fn one_sided_openings() -> Vec<Stranger> {
    let rule = |words| refused_with(Code::PROTOCOL, words, BREAKS);
    vec![
        Stranger {
            dialed: None,
            ..after_header(
                "RESUME",
                &[pair(&hello(identity())), pair(&[&[5][..], &[0; 52]].concat())].concat(),
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
                    hint: "close sessions that are not needed",
                }),
                None,
            )
        },
    ]
}

/// Peers that fall silent, or close.
pub(crate) fn silences() -> Vec<Stranger> {
    let alive = "check that the peer is alive and is an SP program";
    let timed_out = Some(Expected {
        kind: Kind::TimedOut,
        fault: Fault::Peer,
        words: "no answer within 5s",
        hint: alive,
    });
    let closed = |words| {
        Some(Expected {
            kind: Kind::Closed,
            fault: Fault::Peer,
            words,
            hint: "look at the peer's log for its reason",
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

/// Reads until the node closes, after the peer has sent its bytes, and checks for the REFUSED.
pub(crate) async fn hear(mut stranger: Raw, leaves: bool, told: Option<Code>, name: &str) {
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

/// The node under test dials the peer.
pub(crate) async fn dial_stranger(stage: &Stage, stranger: &Stranger, expected: Expected) {
    let (listener, address) = listen().await;
    let there = format!("{address}/counter");
    let us = async {
        let error = stage.node.actor::<Counter>(&there).await;
        let error = error.map(drop).unwrap_err();
        let seen = Seen {
            kind: Some((kind_of(&error), error.fault())),
            text: format!("{error:#}"),
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

/// The peer dials the node under test, whose log is read.
pub(crate) async fn be_dialed(stage: &Stage, stranger: &Stranger, expected: Expected) {
    let mut stream = connect(&stage.address).await;
    let who = format!("tcp://{}", stream.local_addr().unwrap());
    stream.write_all(&stranger.says).await.unwrap();
    let raw = Raw::new(stream, Framing::Tcp);
    hear(raw, stranger.leaves, stranger.told, stranger.name).await;
    let words = ["a peer was refused", &who];
    let seen =
        Seen { kind: None, text: log::line_with(&words, HANDSHAKE * GRACE).await, peer: who };
    expected.check(stranger.name, &seen);
}

pub(crate) fn strangers() -> Vec<Row> {
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
