//! A program that is killed and comes back at the same address.
//!
//! Where we dial, we dial again; where we listen, it dials again as a new program. Traffic resumes,
//! a request that nobody answered is asked again, and what was received once is not received twice.

use std::time::Duration;

use wigwag_net::options::Redial;
use wigwag_net::socket::{Bus, Pair, Pair0, Pub, Pull, Push, Rep, Req, Respondent, Sub, Surveyor};

use crate::peer::{ALL, NEWER, OURS, PATIENCE, Peer, dial, each, eventually};

/// Short pauses, so that the tests spend their time on the programs.
fn soon() -> Redial {
    Redial::new(Duration::from_millis(10), Duration::from_millis(100)).unwrap()
}

/// Nobody is there when the request is sent: it goes to the one who comes.
#[test]
fn a_request_waits_for_their_rep_to_come_back() {
    each("restart-rep", &ALL, |program, ours, theirs| {
        let req = Req::new();
        req.set_redial(soon());
        req.set_receive_timeout(Some(PATIENCE));
        req.set_send_timeout(Some(PATIENCE));
        let address = req.blocking_listen(ours).unwrap().to_string();
        for (connect, address) in [(false, theirs), (true, address.as_str())] {
            let start = |data| Peer::start(program, "rep", connect, address, &["--data", data]);
            let first = start("first");
            if !connect {
                dial(|| req.blocking_dial(address));
            }
            assert_eq!(req.blocking_ask("one").unwrap(), "first");
            drop(first);
            eventually(|| req.statistics().pipes_open == 0);
            let mut second = start("second");
            assert_eq!(req.blocking_ask("two").unwrap(), "second");
            assert_eq!(second.line(), "two");
            drop(second);
            eventually(|| req.statistics().pipes_open == 0);
        }
    });
}

/// The program has taken the request and dies with it. The next one is asked the same, once.
#[test]
fn a_request_that_died_with_their_rep_is_asked_again() {
    each("resend", &OURS, |program, _, theirs| {
        let mut first = Peer::start(program, "rep", false, theirs, &["--hold"]);
        let req = Req::new();
        req.set_redial(soon());
        req.set_receive_timeout(Some(PATIENCE));
        dial(|| req.blocking_dial(theirs));
        req.blocking_send("once more").unwrap();
        assert_eq!(first.line(), "once more");
        drop(first);
        let mut second = Peer::start(program, "rep", false, theirs, &["--data", "answer"]);
        assert_eq!(req.blocking_recv().unwrap(), "answer");
        assert_eq!(second.line(), "once more");
        assert_eq!(req.statistics().counters.resent, 1);
        assert_eq!(req.blocking_ask("and then").unwrap(), "answer");
        assert_eq!(second.line(), "and then");
        assert_eq!(req.statistics().counters.received, 2);
    });
}

/// Now it is our rep that goes with their request: they ask its successor, and get one answer.
#[test]
fn their_request_that_died_with_our_rep_is_asked_again() {
    each("resent-to-us", &ALL, |program, _, theirs| {
        let rep = || {
            let rep = Rep::new();
            rep.set_receive_timeout(Some(PATIENCE));
            rep
        };
        let first = rep();
        first.blocking_listen(theirs).unwrap();
        let mut peer = Peer::start(program, "req", true, theirs, &["--data", "question"]);
        assert_eq!(first.blocking_recv().unwrap(), "question");
        first.blocking_close();
        let second = rep();
        second.blocking_listen(theirs).unwrap();
        assert_eq!(second.blocking_recv().unwrap(), "question");
        second.blocking_send("answer").unwrap();
        assert_eq!(peer.line(), "answer");
        assert_eq!(second.statistics().counters.received, 1);
    });
}

/// Numbers come in order at both, and none at both.
#[test]
fn what_their_pull_has_taken_does_not_come_to_the_next_one() {
    each("restart-pull", &ALL, |program, ours, theirs| {
        let push = Push::new();
        push.set_redial(soon());
        push.set_send_timeout(Some(PATIENCE));
        let address = push.blocking_listen(ours).unwrap().to_string();
        for (connect, address) in [(false, theirs), (true, address.as_str())] {
            let mut first = Peer::start(program, "pull", connect, address, &[]);
            if !connect {
                dial(|| push.blocking_dial(address));
            }
            for number in 0..20 {
                push.blocking_send(number.to_string()).unwrap();
                assert_eq!(first.line(), number.to_string());
            }
            drop(first);
            eventually(|| push.statistics().pipes_open == 0);
            let mut second = Peer::start(program, "pull", connect, address, &[]);
            for number in 20..40 {
                push.blocking_send(number.to_string()).unwrap();
                assert_eq!(second.line(), number.to_string());
            }
            drop(second);
            eventually(|| push.statistics().pipes_open == 0);
        }
    });
}

#[test]
fn we_hear_their_push_and_pub_again() {
    each("restart-push", &ALL, |program, ours, theirs| {
        let (pull, sub) = (Pull::new(), Sub::new());
        sub.subscribe("").unwrap();
        pull.set_redial(soon());
        sub.set_redial(soon());
        pull.set_receive_timeout(Some(PATIENCE));
        sub.set_receive_timeout(Some(PATIENCE));
        let start = |role, connect, address: &str, data| {
            Peer::start(program, role, connect, address, &["--data", data, "--interval", "1"])
        };
        let address = pull.blocking_listen(ours).unwrap().to_string();
        for data in ["one", "two"] {
            let _pushing = start("push", true, &address, data);
            while pull.blocking_recv().unwrap() != data {}
        }
        let first = start("pub", false, theirs, "three");
        dial(|| sub.blocking_dial(theirs));
        assert_eq!(sub.blocking_recv().unwrap(), "three");
        drop(first);
        eventually(|| sub.statistics().pipes_open == 0);
        let _second = start("pub", false, theirs, "four");
        while sub.blocking_recv().unwrap() != "four" {}
        assert!(sub.statistics().redials > 0);
    });
}

/// A subscriber says nothing of itself; the publisher goes on until the new one has heard.
#[test]
fn their_sub_hears_our_pub_again() {
    each("restart-sub", &ALL, |program, _, theirs| {
        let publisher = Pub::new();
        publisher.set_redial(soon());
        for round in 0..2 {
            let more = ["--subscribe", "wind"];
            let mut peer = Peer::start(program, "sub", false, theirs, &more);
            if round == 0 {
                dial(|| publisher.blocking_dial(theirs));
            }
            eventually(|| publisher.statistics().pipes_open == 1);
            publisher.blocking_send(format!("wind {round}")).unwrap();
            assert_eq!(peer.line(), format!("wind {round}"));
            drop(peer);
            eventually(|| publisher.statistics().pipes_open == 0);
        }
    });
}

#[test]
fn a_survey_is_answered_by_the_one_who_came_back() {
    each("restart-respondent", &ALL, |program, _, theirs| {
        let surveyor = Surveyor::new();
        surveyor.set_redial(soon());
        surveyor.set_survey_time(Some(PATIENCE));
        for data in ["first", "second"] {
            let mut peer = Peer::start(program, "respondent", false, theirs, &["--data", data]);
            if data == "first" {
                dial(|| surveyor.blocking_dial(theirs));
            }
            eventually(|| surveyor.statistics().pipes_open == 1);
            surveyor.blocking_send("who?").unwrap();
            assert_eq!(surveyor.blocking_recv().unwrap(), data);
            assert_eq!(peer.line(), "who?");
            drop(peer);
            eventually(|| surveyor.statistics().pipes_open == 0);
        }
    });
}

#[test]
fn their_next_surveyor_is_answered_too() {
    each("restart-surveyor", &ALL, |program, ours, _| {
        let respondent = Respondent::new();
        respondent.set_receive_timeout(Some(PATIENCE));
        let address = respondent.blocking_listen(ours).unwrap().to_string();
        for data in ["first", "second"] {
            let more = ["--data", data, "--interval", "1"];
            let mut peer = Peer::start(program, "surveyor", true, &address, &more);
            while respondent.blocking_recv().unwrap() != data {}
            respondent.blocking_send("answer").unwrap();
            assert_eq!(peer.line(), "answer");
        }
    });
}

/// What talks in both directions, dialling and listening.
macro_rules! both_ways {
    ($test:ident, $name:literal, $socket:ident, $role:expr, $programs:expr) => {
        #[test]
        fn $test() {
            each($name, $programs, |program, ours, theirs| {
                for connect in [false, true] {
                    let socket = $socket::new();
                    socket.set_redial(soon());
                    socket.set_receive_timeout(Some(PATIENCE));
                    let address = match connect {
                        true => socket.blocking_listen(ours).unwrap().to_string(),
                        false => theirs.to_owned(),
                    };
                    let role =
                        if program == "nanocat" { $role.trim_end_matches('0') } else { $role };
                    for data in ["first", "second"] {
                        let more = ["--data", data, "--interval", "1"];
                        let mut peer = Peer::start(program, role, connect, &address, &more);
                        if data == "first" && !connect {
                            dial(|| socket.blocking_dial(&address));
                        }
                        while socket.blocking_recv().unwrap() != data {}
                        socket.blocking_send(format!("re {data}")).unwrap();
                        assert_eq!(peer.line(), format!("re {data}"));
                        drop(peer);
                        eventually(|| socket.statistics().pipes_open == 0);
                    }
                }
            });
        }
    };
}

both_ways!(our_pair_finds_theirs_again, "restart-pair", Pair, "pair1", &NEWER);
both_ways!(our_pair_of_version_0_finds_theirs_again, "restart-pair0", Pair0, "pair0", &ALL);
both_ways!(our_bus_finds_theirs_again, "restart-bus", Bus, "bus", &ALL);
