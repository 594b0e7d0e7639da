//! Protocols in which a message has one receiver.

use std::thread;
use std::time::Duration;

use wigwag_net::NetErrorKind;
use wigwag_net::socket::{Pair, Pair0, Pull, Push, Rep, Req};

use crate::peer::{ALL, NEWER, PATIENCE, Peer, dial, each};

#[test]
fn their_req_asks_our_rep() {
    each("req", &ALL, |program, ours, _| {
        let rep = Rep::new();
        rep.set_receive_timeout(Some(PATIENCE));
        let address = rep.blocking_listen(ours).unwrap().to_string();
        let mut peer = Peer::start(program, "req", true, &address, &["--data", "question"]);
        assert_eq!(rep.blocking_recv().unwrap(), "question");
        rep.blocking_send("answer").unwrap();
        assert_eq!(peer.line(), "answer");
    });
}

#[test]
fn our_rep_dials_their_req() {
    each("dialled-req", &ALL, |program, _, theirs| {
        let _peer = Peer::start(program, "req", false, theirs, &["--data", "question"]);
        let rep = Rep::new();
        rep.set_receive_timeout(Some(PATIENCE));
        dial(|| rep.blocking_dial(theirs));
        assert_eq!(rep.blocking_recv().unwrap(), "question");
        rep.blocking_send("answer").unwrap();
    });
}

#[test]
fn our_req_asks_their_rep() {
    each("rep", &ALL, |program, _, theirs| {
        let mut peer = Peer::start(program, "rep", false, theirs, &["--data", "answer"]);
        let req = Req::new();
        req.set_receive_timeout(Some(PATIENCE));
        dial(|| req.blocking_dial(theirs));
        for round in 0..20 {
            let question = format!("question {round}");
            assert_eq!(req.blocking_ask(question.clone()).unwrap(), "answer");
            assert_eq!(peer.line(), question);
        }
    });
}

#[test]
fn their_rep_dials_our_req() {
    each("dialling-rep", &ALL, |program, ours, _| {
        let req = Req::new();
        req.set_receive_timeout(Some(PATIENCE));
        req.set_send_timeout(Some(PATIENCE));
        let address = req.blocking_listen(ours).unwrap().to_string();
        let _peer = Peer::start(program, "rep", true, &address, &["--data", "answer"]);
        assert_eq!(req.blocking_ask("question").unwrap(), "answer");
        assert_eq!(req.blocking_ask("").unwrap(), "answer");
    });
}

#[test]
fn our_push_feeds_their_pull() {
    each("pull", &ALL, |program, ours, theirs| {
        let mut listening = Peer::start(program, "pull", false, theirs, &[]);
        let push = Push::new();
        push.set_send_timeout(Some(PATIENCE));
        dial(|| push.blocking_dial(theirs));
        for number in 0..100 {
            push.blocking_send(format!("work {number}")).unwrap();
        }
        for number in 0..100 {
            assert_eq!(listening.line(), format!("work {number}"));
        }
        drop(listening);
        let push = Push::new();
        push.set_send_timeout(Some(PATIENCE));
        let address = push.blocking_listen(ours).unwrap().to_string();
        let mut dialling = Peer::start(program, "pull", true, &address, &[]);
        push.blocking_send("more work").unwrap();
        assert_eq!(dialling.line(), "more work");
    });
}

/// nanomsg discards unread messages when its peer closes.
#[test]
fn messages_sent_before_a_push_closes_arrive() {
    each("last-words", &["nanocat", "nngcat"], |program, _, theirs| {
        let mut peer = Peer::start(program, "pull", false, theirs, &[]);
        for round in 0..25 {
            let push = Push::new();
            push.set_send_timeout(Some(PATIENCE));
            dial(|| push.blocking_dial(theirs));
            push.blocking_send(format!("last word {round}")).unwrap();
            push.blocking_close();
            assert_eq!(peer.line(), format!("last word {round}"));
        }
    });
}

#[test]
fn their_push_feeds_our_pull() {
    each("push", &ALL, |program, ours, theirs| {
        let more = ["--data", "work", "--interval", "1"];
        let pull = Pull::new();
        pull.set_receive_timeout(Some(PATIENCE));
        let address = pull.blocking_listen(ours).unwrap().to_string();
        let dialling = Peer::start(program, "push", true, &address, &more);
        assert_eq!(pull.blocking_recv().unwrap(), "work");
        drop(dialling);
        let _listening = Peer::start(program, "push", false, theirs, &more);
        let pull = Pull::new();
        pull.set_receive_timeout(Some(PATIENCE));
        dial(|| pull.blocking_dial(theirs));
        assert_eq!(pull.blocking_recv().unwrap(), "work");
    });
}

#[test]
fn our_pair_talks_to_theirs() {
    each("pair", &NEWER, |program, ours, theirs| {
        let more = ["--data", "theirs", "--interval", "1"];
        let pair = Pair::new();
        pair.set_receive_timeout(Some(PATIENCE));
        pair.set_send_timeout(Some(PATIENCE));
        let address = pair.blocking_listen(ours).unwrap().to_string();
        let mut dialling = Peer::start(program, "pair1", true, &address, &more);
        assert_eq!(pair.blocking_recv().unwrap(), "theirs");
        pair.blocking_send("ours").unwrap();
        assert_eq!(dialling.line(), "ours");
        drop(dialling);
        let mut listening = Peer::start(program, "pair1", false, theirs, &more);
        let pair = Pair::new();
        pair.set_receive_timeout(Some(PATIENCE));
        dial(|| pair.blocking_dial(theirs));
        pair.blocking_send("ours").unwrap();
        assert_eq!(listening.line(), "ours");
        assert_eq!(pair.blocking_recv().unwrap(), "theirs");
    });
}

#[test]
fn our_pair_of_version_0_talks_to_theirs() {
    each("pair0", &ALL, |program, ours, theirs| {
        let role = if program == "nanocat" { "pair" } else { "pair0" };
        let more = ["--data", "theirs", "--interval", "1"];
        let pair = Pair0::new();
        pair.set_receive_timeout(Some(PATIENCE));
        pair.set_send_timeout(Some(PATIENCE));
        let address = pair.blocking_listen(ours).unwrap().to_string();
        let mut dialling = Peer::start(program, role, true, &address, &more);
        assert_eq!(pair.blocking_recv().unwrap(), "theirs");
        pair.blocking_send("ours").unwrap();
        assert_eq!(dialling.line(), "ours");
        drop(dialling);
        let mut listening = Peer::start(program, role, false, theirs, &more);
        let pair = Pair0::new();
        pair.set_receive_timeout(Some(PATIENCE));
        dial(|| pair.blocking_dial(theirs));
        pair.blocking_send("ours").unwrap();
        assert_eq!(listening.line(), "ours");
        assert_eq!(pair.blocking_recv().unwrap(), "theirs");
    });
}

/// A socket of another kind is named in the error.
#[test]
fn their_wrong_kind_is_named() {
    each("wrong", &ALL, |program, _, theirs| {
        let _peer = Peer::start(program, "pull", false, theirs, &[]);
        let req = Req::new();
        let refused = (0..2000).find_map(|_| match req.blocking_dial(theirs) {
            Ok(_) => panic!("a REQ connected to a PULL"),
            Err(error) if matches!(error.kind, NetErrorKind::NobodyListens) => {
                thread::sleep(Duration::from_millis(10));
                None
            }
            Err(error) => Some(error),
        });
        let refused = refused.expect("the program listens").to_string();
        // Of the other implementations only the header names the kind, which ws does not have.
        let named = if theirs.starts_with("ws") { "400" } else { "PULL" };
        assert!(refused.contains(named), "{refused}");
    });
}
