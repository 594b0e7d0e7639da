//! Broken peers: a correct session, and then a breach of a rule.

use super::*;

/// A breach of a rule on an open session, and the code with which the node answers it.
#[derive(Clone, Copy)]
pub(crate) struct Broken {
    pub(crate) name: &'static str,
    pub(crate) code: Code,
    /// A part of the text of the rule that the peer receives.
    pub(crate) rule: &'static str,
    /// The bytes on the stream; `seq` is the number of the peer's next sequenced frame.
    pub(crate) says: fn(seq: u64) -> Vec<u8>,
}

/// TELLs of `add(1)` on a channel.
pub(crate) fn adds(channel: u64, count: usize) -> Vec<u8> {
    let mut out = Buffer::new();
    for _ in 0..count {
        write::tell(&mut out, channel, 1, |out| out.extend(&[0x91, 1]));
    }
    out.as_slice().to_vec()
}

/// One sequenced frame, alone in a well-formed batch.
pub(crate) fn alone(seq: u64, frame: &Frame<'_>) -> Vec<u8> {
    pair(&batch(0, seq, 1, &frames(&[*frame])))
}

/// An ATTACH of `channel`.
pub(crate) fn attach_of(channel: u64) -> Frame<'static> {
    Frame::Attach { channel, how: 0, target: b"counter", schema_hash: 0, codec: 0 }
}

pub(crate) const BROKEN: &[Broken] = &[
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
        name: "calls beyond credit on a channel that was refused",
        code: Code::CREDIT_EXCEEDED,
        rule: "more units than it was granted",
        says: |seq| {
            let (channel, target) = (5, b"nobody");
            let unknown = Frame::Attach { channel, how: 0, target, schema_hash: 0, codec: 0 };
            let attach = frames(&[unknown]);
            pair(&batch(0, seq, 66, &[attach, adds(5, 65)].concat()))
        },
    },
    Broken {
        name: "an ask with a slot and generation that were asked with",
        code: Code::PROTOCOL,
        rule: "once with each generation",
        says: |seq| {
            let arguments = &[0x91, 1];
            let ask = Frame::Ask { channel: 0, slot: 7, generation: 0, method: 1, arguments };
            pair(&batch(0, seq, 2, &frames(&[ask, ask])))
        },
    },
    Broken {
        name: "describe with a slot and generation that were asked with",
        code: Code::PROTOCOL,
        rule: "once with each generation",
        says: |seq| {
            let arguments = &[0x90];
            let ask = Frame::Ask { channel: 0, slot: 7, generation: 0, method: 0, arguments };
            pair(&batch(0, seq, 2, &frames(&[ask, ask])))
        },
    },
    Broken {
        name: "an ask from slot slots_max",
        code: Code::LIMIT_EXCEEDED,
        rule: "below slots_max",
        says: |seq| {
            let slot = wigwag::limits::ASKS_MAX as u64;
            let arguments = &[0x91, 1];
            let ask = Frame::Ask { channel: 0, slot, generation: 0, method: 1, arguments };
            pair(&batch(0, seq, 1, &frames(&[ask])))
        },
    },
    Broken {
        name: "more ATTACHes than may be unanswered",
        code: Code::LIMIT_EXCEEDED,
        rule: "attach_pending_max",
        says: |seq| {
            let attaches: Vec<_> = (100..117).map(attach_of).collect();
            pair(&batch(0, seq, 17, &frames(&attaches)))
        },
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
        // The body never comes; the node need not wait for it.
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
        says: |_| (Limits::default().batch_max + 1).to_be_bytes().to_vec(),
    },
];

/// Asserts that the peer receives the code and the rule that it broke. Returns the rule.
pub(crate) async fn is_told(raw: &mut Raw, broken: &Broken) -> String {
    let closed = raw.closed().await;
    let Some((code, rule)) = closed else {
        panic!("{}: closed without a word", broken.name);
    };
    assert_eq!(code, broken.code, "{}: {rule}", broken.name);
    assert!(rule.contains(broken.rule), "{}: {rule}", broken.name);
    assert!(raw.rest().await.is_empty(), "CLOSE is the last");
    rule
}

/// The node under test has dialed the peer and waits for an answer.
pub(crate) async fn break_as_listener(stage: &Stage, broken: Broken) {
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
        // Credit for the ask alone: the tell after it is parked.
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
        hint: "send it again only if handling it twice does no harm",
    };
    let error = asks.await.unwrap();
    let seen = seen_call(&error, address);
    assert!(seen.text.contains(&rule), "no {rule:?} in\n{}", seen.text);
    expected.check(broken.name, &seen);
}

/// The peer has dialed the node under test. `blind`: it sends everything at once, without waiting
/// for an answer.
pub(crate) async fn break_as_dialer(stage: &Stage, broken: Broken, blind: bool) {
    let stream = connect(&stage.address).await;
    let who = format!("tcp://{}", stream.local_addr().unwrap());
    let mut raw = Raw::new(stream, Framing::Tcp);
    let rule = if blind {
        let all = [
            header(ProtocolNumber::PAIR1),
            pair(&hello(identity())),
            pair(&wigwag_testkit::raw::open()),
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
    let words = ["a session has ended", &who, &rule];
    log::line_with(&words, AT_ONCE * GRACE).await;
}

pub(crate) fn broken_peers() -> Vec<Row> {
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
