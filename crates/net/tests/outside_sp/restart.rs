//! A program that is killed and restarted at the same address, in each role that it has.
//!
//! If our socket dials, it dials again; if it listens, the program dials again as a new process.
//! Traffic resumes, an unanswered request is sent again, and no message is received twice.

use std::time::Duration;

use bytes::Bytes;
use wigwag_net::NetError;
use wigwag_net::options::Redial;
use wigwag_net::socket::{
    Bus, Dialer, Pair, Pair0, Pub, Pull, Push, Rep, Req, Respondent, SocketErrorKind, Star,
    Statistics, Sub, Surveyor,
};

use crate::peer::{ALL, NEWER, OURS, PATIENCE, Peer, between_starts, dial, each, eventually};

/// Repeats its message, for peers that do not receive it yet.
const AGAIN: [&str; 2] = ["--interval", "1"];

/// Repeats its message, and waits until a peer may be there: nanocat and nngcat wait for answers to
/// a survey that no peer has received.
const LATER: [&str; 4] = ["--interval", "1", "--delay", "1"];

/// Short pauses, so that the tests spend their time on the programs.
fn soon() -> Redial {
    Redial::new(Duration::from_millis(10), Duration::from_millis(100)).unwrap()
}

/// The part that sockets of all kinds have.
trait Socket {
    fn set_redial(&self, redial: Redial);
    fn listen(&self, address: &str) -> String;
    fn dial(&self, address: &str) -> Result<Dialer, NetError>;
    fn statistics(&self) -> Statistics;
}

macro_rules! sockets {
    ($($kind:ident)+) => {
        $(impl Socket for $kind {
            fn set_redial(&self, redial: Redial) {
                $kind::set_redial(self, redial);
            }

            fn listen(&self, address: &str) -> String {
                self.blocking_listen(address).unwrap().to_string()
            }

            fn dial(&self, address: &str) -> Result<Dialer, NetError> {
                self.blocking_dial(address)
            }

            fn statistics(&self) -> Statistics {
                $kind::statistics(self)
            }
        })+
    };
}

sockets!(Bus Pair Pair0 Pub Pull Push Rep Req Respondent Star Sub Surveyor);

/// A program starts, talks to our socket as `first`, and is killed; the next one talks as `second`.
/// Once with the program listening, and once with the program dialling.
fn comes_back<S: Socket>(
    role: &str,
    programs: &[&str],
    more: &[&str],
    make: impl Fn() -> S,
    talk: impl Fn(&S, &mut Peer, &str),
) {
    each(&format!("restart-{role}"), programs, |program, ours, theirs| {
        // nanocat has one pair and knows no version.
        let role = if program == "nanocat" { role.trim_end_matches('0') } else { role };
        for connect in [false, true] {
            let socket = make();
            socket.set_redial(soon());
            let address = if connect { socket.listen(ours) } else { theirs.to_owned() };
            for data in ["first", "second"] {
                // nanocat does not start with data for roles that send nothing.
                let silent = role == "pull" || role == "sub";
                let says: &[&str] = if silent { &[] } else { &["--data", data] };
                let more = [says, more].concat();
                let mut peer = Peer::start(program, role, connect, &address, &more);
                if data == "first" && !connect {
                    dial(|| socket.dial(&address));
                }
                talk(&socket, &mut peer, data);
                drop(peer);
                eventually(|| socket.statistics().pipes_open == 0);
            }
            assert_eq!(socket.statistics().redials > 0, !connect);
        }
    });
}

/// Receives until the message is from the current program: the previous one may have sent more than
/// was received.
fn hear(recv: impl Fn() -> Bytes, data: &str) {
    while recv() != data {}
}

/// No program runs yet when the second request is sent: it goes to the next one.
#[test]
fn a_request_waits_for_their_rep_to_come_back() {
    let make = || {
        let req = Req::new();
        req.set_receive_timeout(Some(PATIENCE));
        req.set_send_timeout(Some(PATIENCE));
        req
    };
    comes_back("rep", &ALL, &[], make, |req, peer, data| {
        let question = format!("question to {data}");
        assert_eq!(req.blocking_ask(question.clone()).unwrap(), data);
        assert_eq!(peer.line(), question);
    });
}

#[test]
fn a_restarted_req_of_theirs_is_answered() {
    let make = || {
        let rep = Rep::new();
        rep.set_receive_timeout(Some(PATIENCE));
        rep
    };
    comes_back("req", &ALL, &[], make, |rep, peer, data| {
        assert_eq!(rep.blocking_recv().unwrap(), data);
        rep.blocking_send(format!("re {data}")).unwrap();
        assert_eq!(peer.line(), format!("re {data}"));
    });
}

/// The program has received the request and dies with it. The next one gets the same request, once.
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

/// Here our rep dies with their request: they ask its successor, and get one answer.
#[test]
fn their_request_that_died_with_our_rep_is_asked_again() {
    each("resent-to-us", &ALL, |program, _, theirs| {
        let rep = || {
            let rep = Rep::new();
            rep.set_receive_timeout(Some(PATIENCE));
            rep.blocking_listen(theirs).unwrap();
            rep
        };
        let first = rep();
        let mut peer = Peer::start(program, "req", true, theirs, &["--data", "question"]);
        assert_eq!(first.blocking_recv().unwrap(), "question");
        // A listener that closes with a program in its backlog ends an upgrade to WebSocket, after
        // which nanomsg 1.1.5 never dials again.
        let second = between_starts(|| {
            first.blocking_close();
            rep()
        });
        let mut asked = 0;
        loop {
            assert_eq!(second.blocking_recv().unwrap(), "question");
            asked += 1;
            match second.blocking_send("answer") {
                Ok(()) => break,
                // The connection over which the program has asked is gone: it asks over the next one.
                Err(error) if matches!(error.error.kind, SocketErrorKind::NoPeer { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(peer.line(), "answer");
        assert_eq!(second.statistics().counters.received, asked);
    });
}

/// Numbers arrive in order at both programs, and none at both.
#[test]
fn messages_received_by_their_pull_do_not_go_to_the_next_one() {
    let make = || {
        let push = Push::new();
        push.set_send_timeout(Some(PATIENCE));
        push
    };
    comes_back("pull", &ALL, &[], make, |push, peer, data| {
        for number in 0..20 {
            let work = format!("{data} {number}");
            push.blocking_send(work.clone()).unwrap();
            assert_eq!(peer.line(), work);
        }
    });
}

#[test]
fn we_receive_from_their_push_again() {
    let make = || {
        let pull = Pull::new();
        pull.set_receive_timeout(Some(PATIENCE));
        pull
    };
    comes_back("push", &ALL, &AGAIN, make, |pull, _, data| {
        hear(|| pull.blocking_recv().unwrap(), data);
    });
}

#[test]
fn we_receive_from_their_pub_again() {
    let make = || {
        let sub = Sub::new();
        sub.subscribe("").unwrap();
        sub.set_receive_timeout(Some(PATIENCE));
        sub
    };
    comes_back("pub", &ALL, &AGAIN, make, |sub, _, data| {
        hear(|| sub.blocking_recv().unwrap(), data);
    });
}

/// A subscriber sends nothing, but all of them subscribe before they connect.
#[test]
fn their_sub_receives_from_our_pub_again() {
    comes_back("sub", &ALL, &["--subscribe", "wind"], Pub::new, |publisher, peer, data| {
        eventually(|| publisher.statistics().pipes_open == 1);
        publisher.blocking_send(format!("wind {data}")).unwrap();
        assert_eq!(peer.line(), format!("wind {data}"));
    });
}

#[test]
fn a_survey_is_answered_by_a_restarted_respondent() {
    let make = || {
        let surveyor = Surveyor::new();
        surveyor.set_survey_time(Some(PATIENCE));
        surveyor
    };
    comes_back("respondent", &ALL, &[], make, |surveyor, peer, data| {
        eventually(|| surveyor.statistics().pipes_open == 1);
        surveyor.blocking_send("who?").unwrap();
        assert_eq!(surveyor.blocking_recv().unwrap(), data);
        assert_eq!(peer.line(), "who?");
    });
}

#[test]
fn a_restarted_surveyor_of_theirs_is_answered() {
    let make = || {
        let respondent = Respondent::new();
        respondent.set_receive_timeout(Some(PATIENCE));
        respondent
    };
    comes_back("surveyor", &ALL, &LATER, make, |respondent, peer, data| {
        hear(|| respondent.blocking_recv().unwrap(), data);
        respondent.blocking_send(format!("re {data}")).unwrap();
        assert_eq!(peer.line(), format!("re {data}"));
    });
}

/// Tests a socket that sends and receives: `$socket` of ours, `$role` of theirs.
macro_rules! both_talk {
    ($test:ident, $socket:ident, $role:literal, $programs:expr) => {
        #[test]
        fn $test() {
            let make = || {
                let socket = $socket::new();
                socket.set_receive_timeout(Some(PATIENCE));
                socket
            };
            comes_back($role, $programs, &AGAIN, make, |socket, peer, data| {
                hear(|| socket.blocking_recv().unwrap(), data);
                socket.blocking_send(format!("re {data}")).unwrap();
                assert_eq!(peer.line(), format!("re {data}"));
            });
        }
    };
}

both_talk!(our_pair_finds_theirs_again, Pair, "pair1", &NEWER);
both_talk!(our_pair_of_version_0_finds_theirs_again, Pair0, "pair0", &ALL);
both_talk!(our_bus_finds_theirs_again, Bus, "bus", &ALL);
both_talk!(our_star_finds_theirs_again, Star, "star", &["mangos"]);
