//! Chains of forwarders as long as a message may travel, and one longer.
//!
//! A request that has come over k forwarders has k words and its own id in front of it; eight words
//! are the most that everybody takes by default. What has one more is dropped by whoever receives
//! it, and counted when that is one of ours. nanomsg 1.2 breaks on exactly eight words and is spared
//! them.

use std::thread;

use wigwag_net::socket::raw;
use wigwag_net::socket::{Forwarder, Pair, Rep, Req, Respondent, Surveyor};

use crate::peer::{ALL, OURS, PATIENCE, Peer, dial, each, eventually, inproc};

/// A chain of forwarders: where one dials its front, and the sockets that receive at each of them,
/// the nearest to the front first.
struct Chain<F, B> {
    front: String,
    receiving: Vec<F>,
    sending: Vec<B>,
}

macro_rules! chain {
    ($name:ident, $front:ident, $back:ident) => {
        /// `length` forwarders that lead to `worker`; the first listens at `ours`.
        fn $name(length: usize, ours: &str, worker: &str) -> Chain<raw::$front, raw::$back> {
            let (mut receiving, mut sending) = (Vec::new(), Vec::new());
            let mut next = worker.to_owned();
            for place in (0..length).rev() {
                let (front, back) = (raw::$front::new(), raw::$back::new());
                dial(|| back.blocking_dial(&next));
                let here = if place == 0 { ours.to_owned() } else { inproc() };
                next = front.blocking_listen(&here).unwrap().to_string();
                let forwarder = Forwarder::between(&front, &back).unwrap();
                thread::spawn(move || forwarder.blocking_run());
                receiving.insert(0, front);
                sending.insert(0, back);
            }
            Chain { front: next, receiving, sending }
        }
    };
}

chain!(requests, Rep, Req);
chain!(surveys, Respondent, Surveyor);
chain!(pairs, Pair, Pair);

/// Words in front of the body when it arrives, and whether it is taken.
const WORDS: [(usize, bool); 3] = [(7, true), (8, true), (9, false)];

fn asking(address: &str) -> Req {
    let req = Req::new();
    req.set_receive_timeout(Some(PATIENCE));
    dial(|| req.blocking_dial(address));
    req
}

fn answering(address: &str) -> (Rep, String) {
    let rep = Rep::new();
    rep.set_receive_timeout(Some(PATIENCE));
    let address = rep.blocking_listen(address).unwrap().to_string();
    (rep, address)
}

#[test]
fn our_requests_come_as_far_as_their_rep_lets_them() {
    each("hops-rep", &ALL, |program, ours, theirs| {
        for (words, taken) in WORDS {
            if program == "nanocat" && words == 8 {
                continue;
            }
            let mut peer = Peer::start(program, "rep", false, theirs, &["--data", "answer"]);
            let chain = requests(words - 1, ours, theirs);
            let far = asking(&chain.front);
            far.blocking_send("from afar").unwrap();
            if taken {
                assert_eq!(far.blocking_recv().unwrap(), "answer", "{words} words");
                assert_eq!(peer.line(), "from afar");
            } else {
                let last = chain.sending.last().unwrap();
                eventually(|| last.statistics().traffic.messages_sent == 1);
                // The program goes on, and what it has heard first is not what came from afar.
                assert_eq!(asking(theirs).blocking_ask("from near").unwrap(), "answer");
                assert_eq!(peer.line(), "from near");
                assert!(far.try_recv().is_err());
                assert_eq!(far.statistics().counters.received, 0);
            }
            chain.receiving[0].blocking_close();
        }
    });
}

#[test]
fn their_requests_come_as_far_as_our_rep_lets_them() {
    each("hops-req", &ALL, |program, ours, _| {
        for (words, taken) in WORDS {
            let (rep, worker) = answering(&inproc());
            let chain = requests(words - 1, ours, &worker);
            let mut peer =
                Peer::start(program, "req", true, &chain.front, &["--data", "from afar"]);
            if taken {
                assert_eq!(rep.blocking_recv().unwrap(), "from afar", "{words} words");
                rep.blocking_send("answer").unwrap();
                assert_eq!(peer.line(), "answer");
            } else {
                eventually(|| rep.statistics().counters.dropped_too_many_hops == 1);
                assert_eq!(rep.statistics().counters.received, 0);
            }
            chain.receiving[0].blocking_close();
        }
    });
}

/// One forwarder too many among ours: the last of them drops it, and says so.
#[test]
fn a_forwarder_of_ours_drops_what_comes_over_nine_words() {
    each("hops-ours", &ALL, |program, ours, theirs| {
        let _peer = Peer::start(program, "rep", false, theirs, &["--data", "answer"]);
        let chain = requests(9, ours, theirs);
        let far = asking(&chain.front);
        far.blocking_send("from afar").unwrap();
        eventually(|| chain.receiving[8].statistics().counters.dropped_too_many_hops == 1);
        assert_eq!(chain.sending[8].statistics().traffic.messages_sent, 0);
        for front in &chain.receiving[..8] {
            assert_eq!(front.statistics().counters.dropped_too_many_hops, 0);
        }
        chain.receiving[0].blocking_close();
    });
}

/// One of their devices between our req and a chain of ours to our rep; and one behind eight of ours,
/// where it is the device that drops.
#[test]
fn their_devices_are_hops_as_ours_are() {
    each("hops-device", &OURS, |program, ours, theirs| {
        for (words, taken) in WORDS {
            let (rep, worker) = answering(&inproc());
            let chain = requests(words - 2, ours, &worker);
            let more = ["--front", "rep", "--back", "req", "--back-connect", &chain.front];
            let _device = Peer::start(program, "device", false, theirs, &more);
            let far = asking(theirs);
            far.blocking_send("from afar").unwrap();
            if taken {
                assert_eq!(rep.blocking_recv().unwrap(), "from afar", "{words} words");
                rep.blocking_send("answer").unwrap();
                assert_eq!(far.blocking_recv().unwrap(), "answer");
            } else {
                eventually(|| rep.statistics().counters.dropped_too_many_hops == 1);
            }
            chain.receiving[0].blocking_close();
        }
    });
}

#[test]
fn their_device_drops_what_comes_over_nine_words() {
    each("hops-their-device", &OURS, |program, ours, theirs| {
        let (rep, worker) = answering(ours);
        let more = ["--front", "rep", "--back", "req", "--back-connect", &worker];
        let _device = Peer::start(program, "device", false, theirs, &more);
        let chain = requests(8, &inproc(), theirs);
        let far = asking(&chain.front);
        far.blocking_send("from afar").unwrap();
        eventually(|| chain.sending[7].statistics().traffic.messages_sent == 1);
        let near = asking(theirs);
        near.blocking_send("from near").unwrap();
        assert_eq!(rep.blocking_recv().unwrap(), "from near");
        rep.blocking_send("answer").unwrap();
        assert_eq!(near.blocking_recv().unwrap(), "answer");
        assert_eq!(rep.statistics().traffic.messages_received, 1);
        chain.receiving[0].blocking_close();
    });
}

#[test]
fn surveys_come_as_far_as_requests() {
    each("hops-survey", &ALL, |program, ours, theirs| {
        for (words, taken) in WORDS {
            if program == "nanocat" && words == 8 {
                continue;
            }
            let more = ["--data", "answer"];
            let mut peer = Peer::start(program, "respondent", false, theirs, &more);
            let chain = surveys(words - 1, ours, theirs);
            let surveyor = |address: &str| {
                let surveyor = Surveyor::new();
                surveyor.set_survey_time(Some(PATIENCE));
                dial(|| surveyor.blocking_dial(address));
                surveyor
            };
            let far = surveyor(&chain.front);
            far.blocking_send("from afar").unwrap();
            if taken {
                assert_eq!(far.blocking_recv().unwrap(), "answer", "{words} words");
                assert_eq!(peer.line(), "from afar");
            } else {
                let last = chain.sending.last().unwrap();
                eventually(|| last.statistics().traffic.messages_sent == 1);
                let near = surveyor(theirs);
                near.blocking_send("from near").unwrap();
                assert_eq!(near.blocking_recv().unwrap(), "answer");
                assert_eq!(peer.line(), "from near");
            }
            chain.receiving[0].blocking_close();
        }
    });
}

#[test]
fn their_surveys_come_as_far_as_our_respondent_lets_them() {
    each("hops-surveyor", &ALL, |program, ours, _| {
        for (words, taken) in WORDS {
            let respondent = Respondent::new();
            respondent.set_receive_timeout(Some(PATIENCE));
            let worker = respondent.blocking_listen(&inproc()).unwrap().to_string();
            let chain = surveys(words - 1, ours, &worker);
            let more = ["--data", "from afar", "--interval", "1"];
            let mut peer = Peer::start(program, "surveyor", true, &chain.front, &more);
            if taken {
                assert_eq!(respondent.blocking_recv().unwrap(), "from afar", "{words} words");
                respondent.blocking_send("answer").unwrap();
                assert_eq!(peer.line(), "answer");
            } else {
                eventually(|| respondent.statistics().counters.dropped_too_many_hops > 0);
                assert_eq!(respondent.statistics().counters.received, 0);
            }
            chain.receiving[0].blocking_close();
        }
    });
}

/// pair version 1 counts its hops in one word; it begins with one.
#[test]
fn a_pair_reaches_theirs_over_as_many_hops() {
    each("hops-pair", &OURS, |program, ours, theirs| {
        for (words, _) in WORDS.into_iter().filter(|(_, taken)| *taken) {
            let _peer = Peer::start(program, "pair1", false, theirs, &["--echo"]);
            let chain = pairs(words - 1, ours, theirs);
            let pair = Pair::new();
            pair.set_receive_timeout(Some(PATIENCE));
            dial(|| pair.blocking_dial(&chain.front));
            pair.blocking_send("from afar").unwrap();
            assert_eq!(pair.blocking_recv().unwrap(), "from afar", "{words} hops");
            chain.receiving[0].blocking_close();
        }
    });
}

#[test]
fn their_devices_count_the_hops_of_a_pair() {
    each("hops-pair-device", &OURS, |program, ours, theirs| {
        for (words, taken) in WORDS {
            let last = Pair::new();
            last.set_receive_timeout(Some(PATIENCE));
            let worker = last.blocking_listen(&inproc()).unwrap().to_string();
            let chain = pairs(words - 2, ours, &worker);
            let more = ["--front", "pair1", "--back", "pair1", "--back-connect", &chain.front];
            let _device = Peer::start(program, "device", false, theirs, &more);
            let pair = Pair::new();
            dial(|| pair.blocking_dial(theirs));
            pair.blocking_send("from afar").unwrap();
            if taken {
                assert_eq!(last.blocking_recv().unwrap(), "from afar", "{words} hops");
            } else {
                eventually(|| last.statistics().counters.dropped_too_many_hops == 1);
            }
            chain.receiving[0].blocking_close();
        }
    });
}
