//! Peers and calls that are neither malformed nor in breach of a rule.

use super::*;

pub(crate) fn seen_call(error: &CallError, peer: String) -> Seen {
    Seen { kind: Some((Kind::Call(error.kind), error.fault())), text: format!("{error:#}"), peer }
}

pub(crate) fn failed<M>(name: &str, address: &str, error: &AskError<M>, expected: Expected) {
    let seen = seen_call(error.error(), address.to_owned());
    expected.check(name, &seen);
}

pub(crate) const SAME_VERSION: &str = "use the same version of the interface at both ends";

pub(crate) fn call(kind: CallErrorKind, words: &'static str, hint: &'static str) -> Expected {
    Expected { kind: Kind::Call(kind), fault: kind.fault(), words, hint }
}

pub(crate) async fn nobody(stage: &Stage) {
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
        hint: "start the peer there, or dial again once it is up",
    };
    for address in [free, ipc, "inproc://nobody-here".to_owned()] {
        let there = format!("{address}/counter");
        let error = stage.node.actor::<Counter>(&there).await;
        let error = error.map(drop).unwrap_err();
        let seen = Seen {
            kind: Some((kind_of(&error), error.fault())),
            text: format!("{error:#}"),
            peer: address,
        };
        expected.check("nobody listens", &seen);
    }
}

pub(crate) async fn unknown_actor(stage: &Stage) {
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
            text: format!("{error:#}"),
            peer: there.clone(),
        };
        expected.check("unknown actor", &seen);
    }
}

pub(crate) async fn wrong_calls(stage: &Stage) {
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
    // No arguments, a text, invalid MessagePack, and no bytes at all.
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

    // The sender of a tell with wrong arguments awaits no result: the service counts the tell.
    other.add("one".into()).tell().await.unwrap();
    let counter = client.actor::<Counter>(&there).await.unwrap();
    counter.add(0).ask().await.unwrap();
    let undeliverable = |node: &Node| -> u64 {
        let links = node.statistics();
        links.iter().map(|peer| peer.session.tells_undeliverable).sum()
    };
    assert!(undeliverable(&stage.node) >= 1);
}

/// Unknown frames that may be skipped do no harm.
pub(crate) async fn unknown_frame_that_may_be_skipped(stage: &Stage) {
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

/// On IPC each message has a type byte, of which only one value is known.
pub(crate) async fn ipc_with_another_type(stage: &Stage) {
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
        hint: "the peer is broken or hostile",
    };
    let words = ["a peer was refused", &address];
    let seen =
        Seen { kind: None, text: log::line_with(&words, AT_ONCE * GRACE).await, peer: address };
    expected.check("ipc", &seen);
}

/// The session is open, and then nothing comes: three heartbeats are missed.
pub(crate) async fn silence_after_opened(stage: &Stage) {
    let (listener, address) = listen().await;
    let there = format!("{address}/counter");
    let expected = Expected {
        kind: Kind::Call(CallErrorKind::NotDelivered),
        fault: Fault::Network,
        words: "the peer has been silent for too long",
        hint: "it is safe to send it again",
    };
    let us = async {
        // Callers that join a dial in progress wait no longer than the first caller.
        let three = [(); 3].map(|()| stage.node.actor::<Counter>(&there));
        let [a, b, c] = three;
        let (a, b, c) = tokio::join!(a, b, c);
        for outcome in [a, b, c] {
            let error = outcome.map(drop).unwrap_err();
            let seen = Seen {
                kind: Some((kind_of(&error), error.fault())),
                text: format!("{error:#}"),
                peer: address.clone(),
            };
            expected.check("silence after OPENED", &seen);
        }
    };
    let them = async {
        let mut raw = arrival(&listener).await;
        raw.accept(identity()).await;
        while raw.frame().await.is_some() {}
        // The connection may end before the waiting callers get their error, so this side does not
        // return.
        pending::<()>().await;
    };
    tokio::select! {
        () = us => {}
        () = them => unreachable!("it is never over"),
    }
}

/// A process that is killed with asks under way.
pub(crate) async fn killed_peer(stage: &Stage) {
    let started = tokio::task::spawn_blocking(|| Child::start("bad_input::child_service", "stuck"));
    let mut service = started.await.unwrap();
    let there = format!("{}/stuck", service.said);
    let stuck = stage.node.actor::<Counter>(&there).await.unwrap();
    let mut answers = Vec::new();
    for _ in 0..10 {
        answers.push(stuck.never().ask().sent().await.unwrap());
    }
    // Sends until there is no more credit: the last tell is parked.
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
