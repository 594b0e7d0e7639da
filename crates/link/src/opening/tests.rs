use alloc::vec::Vec;

use super::*;

fn identity(seed: u128) -> Identity {
    Identity {
        node: seed,
        incarnation: seed + 1,
        nonce: seed + 2,
        offered: 0,
        required: 0,
        limits: Limits::default(),
    }
}

fn sent(step: Result<Step, LinkError>) -> Buffer {
    match step {
        Ok(Step::Send(message)) => message,
        other => panic!("expected a message, got {other:?}"),
    }
}

#[test]
fn two_nodes_open_a_session_in_two_round_trips() {
    let (mut dialer, first) = Opening::dial(identity(10), 7);
    let mut listener = Opening::listen(identity(20));
    let answer = sent(listener.receive(first.as_slice()));
    let open = sent(dialer.receive(answer.as_slice()));
    assert_eq!(listener.receive(open.as_slice()), Ok(Step::OpenRequested));
    let (opened, theirs) = listener.accept(99, 60_000).unwrap();
    let Ok(Step::Opened(ours)) = dialer.receive(opened.as_slice()) else { panic!("not opened") };
    assert_eq!((ours.session, ours.token, ours.peer), (7, 99, identity(20)));
    assert_eq!((theirs.session, theirs.token, theirs.peer), (7, 99, identity(10)));
    assert_eq!((ours.ttl_ms, theirs.ttl_ms), (60_000, 60_000));
}

#[test]
fn each_side_learns_the_name_that_the_other_gives_itself() {
    let too_long = "n".repeat(256);
    for (name, told) in [("shop", Some("shop")), ("", None), ("a\nb", None), (&*too_long, None)] {
        let (dialer, first) = Opening::dial(identity(10), 7);
        let (mut dialer, mut listener) =
            (dialer.with_name(name), Opening::listen(identity(20)).with_name(name));
        let answer = sent(listener.receive(first.as_slice()));
        let open = sent(dialer.receive(answer.as_slice()));
        assert_eq!(listener.receive(open.as_slice()), Ok(Step::OpenRequested));
        let (opened, theirs) = listener.accept(99, 60_000).unwrap();
        let Ok(Step::Opened(ours)) = dialer.receive(opened.as_slice()) else { panic!("{name:?}") };
        assert_eq!((ours.peer_name.as_deref(), theirs.peer_name.as_deref()), (told, told));
    }
}

/// Tags of later releases may stand before and behind the name.
#[test]
fn unknown_tags_of_open_are_skipped_and_torn_ones_are_refused() {
    let (mut dialer, first) = Opening::dial(identity(10), 7);
    let mut listener = Opening::listen(identity(20));
    let answer = sent(listener.receive(first.as_slice()));
    let open = sent(dialer.receive(answer.as_slice()));
    let with = |tags: &[u8]| [open.as_slice(), tags].concat();
    let tags = [9, 2, 0xFF, 0xFF, 1, 2, b'h', b'i', 4, 0];
    assert_eq!(listener.receive(&with(&tags)), Ok(Step::OpenRequested));
    assert_eq!(listener.accept(99, 0).unwrap().1.peer_name.as_deref(), Some("hi"));
    assert!(listener.receive(&with(&tags[..3])).is_err());
}

#[test]
fn a_returning_dialer_resumes_its_session() {
    let (mut dialer, first) = Opening::redial(identity(10));
    let mut listener = Opening::listen(identity(20));
    let answer = sent(listener.receive(first.as_slice()));
    assert_eq!(dialer.receive(answer.as_slice()), Ok(Step::PeerKnown));
    assert_eq!(dialer.nonces(), Some([12, 22]));
    let claim = Claim { session: 7, epoch: 3, recv_next: 500, nonces: [12, 22] };
    let resume = dialer.resume(&claim, &[5; PROOF_BYTES]);
    let claimed = listener.receive(resume.as_slice());
    assert_eq!(claimed, Ok(Step::ResumeRequested(claim, [5; PROOF_BYTES])));
    let resumed = Opening::resumed(&claim, 600, 77);
    let step = dialer.receive(resumed.as_slice());
    assert_eq!(step, Ok(Step::Resumed(Resumed { recv_next: 600, token: 77 })));
    let other = Opening::resumed(&Claim { epoch: 4, ..claim }, 600, 77);
    assert!(dialer.receive(other.as_slice()).is_err(), "another epoch");
    for cut in 1..resume.len() {
        assert!(listener.receive(&resume.as_slice()[..cut]).is_err(), "torn at {cut}");
    }
    let (mut early, _) = Opening::redial(identity(10));
    early.receive(answer.as_slice()).unwrap();
    assert!(early.receive(resumed.as_slice()).is_err(), "nothing was claimed");
}

#[test]
fn a_refusal_carries_code_and_rule() {
    let (mut dialer, _) = Opening::dial(identity(1), 7);
    let refusal = Opening::refuse(Code::TOO_MANY, "at most 1 session", "come back later");
    let error = dialer.receive(refusal.as_slice()).unwrap_err();
    let expected = LinkError::ClosedByPeer {
        code: Code::TOO_MANY,
        rule: "at most 1 session".into(),
        detail: "come back later".into(),
    };
    assert_eq!(error, expected);
}

/// Terminals obey control characters, and a line end would forge a line of a log.
#[test]
fn control_characters_in_a_refusal_are_replaced() {
    let (mut dialer, _) = Opening::dial(identity(1), 7);
    let refusal = Opening::refuse(Code::TOO_MANY, "\u{1B}[2J\r\nno ü", "\u{9B}\0");
    let error = dialer.receive(refusal.as_slice()).unwrap_err();
    let expected = LinkError::ClosedByPeer {
        code: Code::TOO_MANY,
        rule: " [2J  no ü".into(),
        detail: "  ".into(),
    };
    assert_eq!(error, expected);
}

#[test]
fn strangers_learn_nothing() {
    let (_, first) = Opening::dial(identity(1), 7);
    let mut listener = Opening::listen(identity(2));
    for noise in [&b""[..], b"hello", &[OPEN; 20], b"\x01WIGWAG\n\n"] {
        assert_eq!(listener.receive(noise), Err(LinkError::NotWigwag));
    }
    for cut in 10..first.len() {
        let torn = Opening::listen(identity(2)).receive(&first.as_slice()[..cut]);
        let shorter_limits = matches!(torn, Ok(Step::Send(_)));
        assert!(torn.is_err() || shorter_limits && cut >= 77, "torn at {cut}: {torn:?}");
    }
}

#[test]
fn versions_and_features_are_refused_by_number() {
    let (_, first) = Opening::dial(identity(1), 7);
    let code = |opening: &mut Opening, message: &[u8]| match opening.receive(message) {
        Err(LinkError::Misbehaved { code, .. }) => code,
        other => panic!("expected a refusal, got {other:?}"),
    };
    let mut newer: Vec<u8> = first.as_slice().to_vec();
    (newer[9], newer[10]) = (2, 3);
    assert_eq!(code(&mut Opening::listen(identity(2)), &newer), Code::VERSION);
    (newer[9], newer[10]) = (1, 9);
    assert!(Opening::listen(identity(2)).receive(&newer).is_ok(), "version 1 is common to both");
    let picky = Identity { required: 4, ..identity(3) };
    let refusal = code(&mut Opening::listen(picky), first.as_slice());
    assert_eq!(refusal, Code::FEATURE_REQUIRED);
    let mut listener = Opening::listen(identity(2));
    listener.receive(first.as_slice()).unwrap();
    assert_eq!(code(&mut listener, &[RESUME, 0]), Code::PROTOCOL);
    assert_eq!(code(&mut listener, &[AUTH, 2, 0, 0]), Code::AUTH_FAILED, "without keys");
    assert_eq!(listener.receive(&[AUTH, 0, 0, 0]), Ok(Step::Wait));
}

/// A node without a name draws a new identity in each life, so two nameless nodes at one address are
/// lives of one node; a named node is known by its name.
#[test]
fn a_restarted_node_is_told_from_another_node() {
    let named = |node, incarnation| Identity { node, incarnation, ..identity(0) };
    let nameless = |number| named(number, number);
    assert_eq!(named(1, 5).recognize(&named(1, 5)), Recognized::Same);
    assert_eq!(named(1, 5).recognize(&named(1, 6)), Recognized::Restarted);
    assert_eq!(named(1, 5).recognize(&named(2, 6)), Recognized::Another);
    assert_eq!(nameless(5).recognize(&nameless(6)), Recognized::Restarted);
    assert_eq!(nameless(5).recognize(&named(1, 6)), Recognized::Another);
    assert_eq!(named(1, 5).recognize(&nameless(6)), Recognized::Another);
}
