//! Protocols in which a message goes to every peer.

use std::thread;
use std::time::Duration;

use wigwag_net::socket::{Bus, Pub, Respondent, SocketErrorKind, Star, Sub, Surveyor};

use crate::peer::{ALL, PATIENCE, Peer, dial, each};

/// The program subscribes at any time, and a publisher is not told: it sends until the program has
/// received a message.
#[test]
fn our_pub_is_heard_by_their_sub() {
    each("sub", &ALL, |program, ours, theirs| {
        let more = ["--subscribe", "wind"];
        for connect in [true, false] {
            let publisher = Pub::new();
            let mut peer = if connect {
                let address = publisher.blocking_listen(ours).unwrap().to_string();
                Peer::start(program, "sub", true, &address, &more)
            } else {
                let peer = Peer::start(program, "sub", false, theirs, &more);
                dial(|| publisher.blocking_dial(theirs));
                peer
            };
            thread::scope(|scope| {
                let (publisher, (heard, listener)) = (&publisher, std::sync::mpsc::channel());
                scope.spawn(move || {
                    while listener.try_recv().is_err() {
                        publisher.blocking_send("rain").unwrap();
                        publisher.blocking_send("wind/north").unwrap();
                        thread::sleep(Duration::from_millis(10));
                    }
                });
                let line = peer.line();
                heard.send(()).unwrap();
                assert_eq!(line, "wind/north");
            });
        }
    });
}

#[test]
fn our_sub_hears_their_pub() {
    each("pub", &ALL, |program, ours, theirs| {
        let more = ["--data", "wind/north", "--interval", "1"];
        for connect in [true, false] {
            let (sub, deaf) = (Sub::new(), Sub::new());
            sub.subscribe("wind/").unwrap();
            deaf.subscribe("rain").unwrap();
            sub.set_receive_timeout(Some(PATIENCE));
            let _peer = if connect {
                let address = sub.blocking_listen(ours).unwrap().to_string();
                Peer::start(program, "pub", true, &address, &more)
            } else {
                let peer = Peer::start(program, "pub", false, theirs, &more);
                dial(|| sub.blocking_dial(theirs));
                dial(|| deaf.blocking_dial(theirs));
                peer
            };
            for _ in 0..2 {
                assert_eq!(sub.blocking_recv().unwrap(), "wind/north");
            }
            assert!(matches!(deaf.try_recv().unwrap_err().kind, SocketErrorKind::Empty));
        }
    });
}

#[test]
fn their_respondent_answers_our_survey() {
    each("respondent", &ALL, |program, ours, theirs| {
        for connect in [true, false] {
            let surveyor = Surveyor::new();
            surveyor.set_survey_time(Some(PATIENCE));
            let more = ["--data", "answer"];
            let mut peer = if connect {
                let address = surveyor.blocking_listen(ours).unwrap().to_string();
                let peer = Peer::start(program, "respondent", true, &address, &more);
                while surveyor.statistics().pipes_open == 0 {
                    thread::sleep(Duration::from_millis(5));
                }
                peer
            } else {
                let peer = Peer::start(program, "respondent", false, theirs, &more);
                dial(|| surveyor.blocking_dial(theirs));
                peer
            };
            for round in 0..3 {
                let question = format!("question {round}");
                surveyor.blocking_send(question.clone()).unwrap();
                assert_eq!(surveyor.blocking_recv().unwrap(), "answer");
                assert_eq!(peer.line(), question);
            }
        }
    });
}

#[test]
fn our_respondent_answers_their_survey() {
    each("surveyor", &ALL, |program, ours, theirs| {
        // The end of nanocat's surveys can only be set by its own option; a second is enough here.
        let more = ["--data", "question", "--interval", "1"];
        for connect in [true, false] {
            let respondent = Respondent::new();
            respondent.set_receive_timeout(Some(PATIENCE));
            let mut peer = if connect {
                let address = respondent.blocking_listen(ours).unwrap().to_string();
                Peer::start(program, "surveyor", true, &address, &more)
            } else {
                // A survey without listeners still waits for answers, so our socket must connect
                // first.
                let later = [&more[..], &["--delay", "1"]].concat();
                let peer = Peer::start(program, "surveyor", false, theirs, &later);
                dial(|| respondent.blocking_dial(theirs));
                peer
            };
            assert_eq!(respondent.blocking_recv().unwrap(), "question");
            respondent.blocking_send("answer").unwrap();
            assert_eq!(peer.line(), "answer");
        }
    });
}

#[test]
fn our_bus_and_theirs_hear_each_other() {
    each("bus", &ALL, |program, ours, theirs| {
        let more = ["--data", "theirs", "--interval", "1"];
        for connect in [true, false] {
            let bus = Bus::new();
            bus.set_receive_timeout(Some(PATIENCE));
            let mut peer = if connect {
                let address = bus.blocking_listen(ours).unwrap().to_string();
                Peer::start(program, "bus", true, &address, &more)
            } else {
                let peer = Peer::start(program, "bus", false, theirs, &more);
                dial(|| bus.blocking_dial(theirs));
                peer
            };
            assert_eq!(bus.blocking_recv().unwrap(), "theirs");
            bus.blocking_send("ours").unwrap();
            assert_eq!(peer.line(), "ours");
        }
    });
}

/// A message to our star in the middle goes on to the other. The program that listens repeats its
/// message: a star discards what it sends before a peer is there.
#[test]
fn our_star_passes_on_between_theirs() {
    each("star", &["mangos"], |program, ours, theirs| {
        let star = Star::new();
        star.set_receive_timeout(Some(PATIENCE));
        let receive_until = |wanted: &str| while star.blocking_recv().unwrap() != wanted {};
        let address = star.blocking_listen(ours).unwrap().to_string();
        let more = ["--data", "first", "--interval", "1"];
        let mut hears = Peer::start(program, "star", false, theirs, &more);
        dial(|| star.blocking_dial(theirs));
        receive_until("first");
        let more = ["--data", "second", "--interval", "1"];
        let _says = Peer::start(program, "star", true, &address, &more);
        receive_until("second");
        assert_eq!(hears.line(), "second");
        star.blocking_send("ours").unwrap();
        while hears.line() != "ours" {}
    });
}
