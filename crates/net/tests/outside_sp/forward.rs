//! Programs of other implementations with our forwarder between them, and the other way round.
//!
//! nanomsg breaks on eight words of backtrace, so no chain here is longer than six.

use std::thread;
use std::time::Duration;

use wigwag_net::socket::raw::{self, End};
use wigwag_net::socket::{Forwarder, Pair, PairMany, Rep, Req, Respondent, Surveyor};

use crate::peer::{ALL, NEWER, OURS, PATIENCE, Peer, dial, each};

/// Runs a forwarder in a thread, until one of its sockets is dropped.
fn forwarding(front: impl Into<End>, back: impl Into<End>) {
    let forwarder = Forwarder::between(front, back).unwrap();
    thread::spawn(move || forwarder.blocking_run());
}

/// Each program asks each program; the forwarder listens on one side and dials the other, and then
/// the other way round.
#[test]
fn their_req_reaches_their_rep() {
    each("forward-rep", &ALL, |program, ours, theirs| {
        for client in ALL {
            let (front, back) = (raw::Rep::new(), raw::Req::new());
            let clients = front.blocking_listen(ours).unwrap().to_string();
            let mut rep = Peer::start(program, "rep", false, theirs, &["--data", "answer"]);
            dial(|| back.blocking_dial(theirs));
            forwarding(&front, &back);
            let mut req = Peer::start(client, "req", true, &clients, &["--data", "question"]);
            assert_eq!((rep.line(), req.line()), ("question".into(), "answer".into()));
            drop((rep, req));
            front.blocking_close();
        }
    });
}

#[test]
fn their_rep_dials_our_forwarder_which_dials_their_req() {
    each("forward-dialled-req", &ALL, |program, ours, theirs| {
        let (front, back) = (raw::Rep::new(), raw::Req::new());
        let workers = back.blocking_listen(ours).unwrap().to_string();
        let mut rep = Peer::start(program, "rep", true, &workers, &["--data", "answer"]);
        let mut req = Peer::start(program, "req", false, theirs, &["--data", "question"]);
        dial(|| front.blocking_dial(theirs));
        forwarding(&front, &back);
        assert_eq!((rep.line(), req.line()), ("question".into(), "answer".into()));
    });
}

#[test]
fn their_push_feeds_their_pull() {
    each("forward-pull", &ALL, |program, ours, theirs| {
        let (front, back) = (raw::Pull::new(), raw::Push::new());
        let sources = front.blocking_listen(ours).unwrap().to_string();
        let mut pull = Peer::start(program, "pull", false, theirs, &[]);
        dial(|| back.blocking_dial(theirs));
        forwarding(&front, &back);
        let more = ["--data", "work", "--interval", "1"];
        let _push = Peer::start(program, "push", true, &sources, &more);
        assert_eq!((pull.line(), pull.line()), ("work".into(), "work".into()));
    });
}

#[test]
fn their_pub_is_heard_by_their_sub() {
    each("forward-sub", &ALL, |program, ours, theirs| {
        let (front, back) = (raw::Sub::new(), raw::Pub::new());
        let publishers = front.blocking_listen(ours).unwrap().to_string();
        let mut sub = Peer::start(program, "sub", false, theirs, &["--subscribe", "wind"]);
        dial(|| back.blocking_dial(theirs));
        forwarding(&front, &back);
        let publish = |data| {
            let more = ["--data", data, "--interval", "1"];
            Peer::start(program, "pub", true, &publishers, &more)
        };
        let _publishers = [publish("rain"), publish("wind/north")];
        assert_eq!((sub.line(), sub.line()), ("wind/north".into(), "wind/north".into()));
    });
}

#[test]
fn their_surveyor_hears_their_respondent() {
    each("forward-survey", &ALL, |program, ours, theirs| {
        let (front, back) = (raw::Respondent::new(), raw::Surveyor::new());
        let surveyors = front.blocking_listen(ours).unwrap().to_string();
        let mut respondent =
            Peer::start(program, "respondent", false, theirs, &["--data", "answer"]);
        dial(|| back.blocking_dial(theirs));
        forwarding(&front, &back);
        let more = ["--data", "question", "--interval", "1"];
        let mut surveyor = Peer::start(program, "surveyor", true, &surveyors, &more);
        assert_eq!(respondent.line(), "question");
        assert_eq!(surveyor.line(), "answer");
    });
}

#[test]
fn their_pairs_and_buses_hear_each_other() {
    each("forward-pair", &NEWER, |program, ours, theirs| {
        let (front, back) = (raw::Pair::new(), raw::Pair::new());
        let address = front.blocking_listen(ours).unwrap().to_string();
        let more = ["--data", "listener", "--interval", "1"];
        let mut listens = Peer::start(program, "pair1", false, theirs, &more);
        dial(|| back.blocking_dial(theirs));
        forwarding(&front, &back);
        let more = ["--data", "dialer", "--interval", "1"];
        let mut dials = Peer::start(program, "pair1", true, &address, &more);
        assert_eq!((listens.line(), dials.line()), ("dialer".into(), "listener".into()));
    });
    each("forward-bus", &ALL, |program, ours, theirs| {
        let (front, back) = (raw::Bus::new(), raw::Bus::new());
        let address = front.blocking_listen(ours).unwrap().to_string();
        let more = ["--data", "listener", "--interval", "1"];
        let mut listens = Peer::start(program, "bus", false, theirs, &more);
        dial(|| back.blocking_dial(theirs));
        forwarding(&front, &back);
        let more = ["--data", "dialer", "--interval", "1"];
        let mut dials = Peer::start(program, "bus", true, &address, &more);
        assert_eq!((listens.line(), dials.line()), ("dialer".into(), "listener".into()));
    });
}

/// mangos and NNG have devices of their own: our sockets are on either side, with many questions at
/// once.
#[test]
fn our_req_reaches_our_rep_through_their_device() {
    each("device", &OURS, |program, ours, theirs| {
        let rep = Rep::new();
        let workers = rep.blocking_listen(ours).unwrap().to_string();
        let more = ["--front", "rep", "--back", "req", "--back-connect", &workers];
        let _device = Peer::start(program, "device", false, theirs, &more);
        let answering = thread::spawn(move || {
            rep.set_receive_timeout(Some(PATIENCE));
            for _ in 0..200 {
                let question = rep.blocking_recv().unwrap();
                rep.blocking_send([b"re ".as_slice(), &question].concat()).unwrap();
            }
        });
        let req = Req::new();
        req.set_receive_timeout(Some(PATIENCE));
        dial(|| req.blocking_dial(theirs));
        let contexts: Vec<_> = (0..10).map(|_| req.context().unwrap()).collect();
        thread::scope(|scope| {
            for (who, context) in contexts.iter().enumerate() {
                scope.spawn(move || {
                    for round in 0..20 {
                        let question = format!("{who}/{round}");
                        let reply = context.blocking_ask(question.clone()).unwrap();
                        assert_eq!(reply, format!("re {question}"));
                    }
                });
            }
        });
        answering.join().unwrap();
    });
}

#[test]
fn our_survey_passes_their_device_and_our_forwarder() {
    each("device-survey", &OURS, |program, ours, theirs| {
        let (front, back) = (raw::Respondent::new(), raw::Surveyor::new());
        let respondents = back.blocking_listen("inproc://behind-their-device").unwrap();
        let middle = front.blocking_listen(ours).unwrap().to_string();
        forwarding(&front, &back);
        let more = ["--front", "respondent", "--back", "surveyor", "--back-connect", &middle];
        let _device = Peer::start(program, "device", false, theirs, &more);
        let respondent = Respondent::new();
        respondent.set_receive_timeout(Some(PATIENCE));
        respondent.blocking_dial(&respondents.to_string()).unwrap();
        let answering = thread::spawn(move || {
            while respondent.blocking_recv().unwrap() != "done" {
                respondent.blocking_send("I").unwrap();
            }
        });
        let surveyor = Surveyor::new();
        surveyor.set_survey_time(Some(Duration::from_millis(100)));
        dial(|| surveyor.blocking_dial(theirs));
        // The device accepts connections in its own time, and a survey never waits.
        let heard = (0..PATIENCE.as_millis() / 100).find_map(|_| {
            surveyor.blocking_send("who?").unwrap();
            surveyor.blocking_recv().ok()
        });
        assert_eq!(heard.unwrap(), "I");
        surveyor.blocking_send("done").unwrap();
        answering.join().unwrap();
    });
}

/// Two of their sockets at once, each with one peer; the wire does not show that ours has many.
#[test]
fn our_pair_of_many_talks_to_several_of_theirs() {
    each("many", &NEWER, |program, ours, theirs| {
        let hub = PairMany::new();
        hub.set_receive_timeout(Some(PATIENCE));
        let address = hub.blocking_listen(ours).unwrap().to_string();
        let start = |data, connect, address: &str| {
            Peer::start(program, "pair1", connect, address, &["--data", data, "--interval", "1"])
        };
        let mut first = start("first", true, &address);
        let mut second = start("second", true, &address);
        let mut third = start("third", false, theirs);
        dial(|| hub.blocking_dial(theirs));
        let mut heard = Vec::new();
        while heard.len() < 3 {
            let (peer, said) = hub.blocking_recv().unwrap();
            if !heard.contains(&said) {
                hub.blocking_send_to(peer, [b"re ".as_slice(), &said].concat()).unwrap();
                heard.push(said);
            }
        }
        assert_eq!(first.line(), "re first");
        assert_eq!(second.line(), "re second");
        assert_eq!(third.line(), "re third");
        let plain = Pair::new();
        plain.set_receive_timeout(Some(PATIENCE));
        plain.blocking_dial(&address).unwrap();
        plain.blocking_send("ours").unwrap();
        let peer = loop {
            let (peer, said) = hub.blocking_recv().unwrap();
            if said == "ours" {
                break peer;
            }
        };
        hub.blocking_send_to(peer, "re ours").unwrap();
        assert_eq!(plain.blocking_recv().unwrap(), "re ours");
    });
}
