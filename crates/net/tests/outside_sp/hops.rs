//! Chains of forwarders as long as a message may travel, and one longer.
//!
//! A request that has passed k forwarders has k words and its own id in front of it, and so has a
//! survey; pair version 1 counts its hops in one word and begins with one. Eight is the default
//! limit of every implementation. A message with one more is dropped by its receiver, and counted
//! if the receiver is ours. nanomsg 1.2 breaks on exactly eight words, so that case is skipped for
//! it.

use std::thread;

use bytes::Bytes;
use wigwag_net::socket::raw;
use wigwag_net::socket::{Forwarder, Pair, Rep, Req, Respondent, Statistics, Surveyor};

use crate::peer::{ALL, OURS, PATIENCE, Peer, dial, each, eventually, inproc};

/// Words in front of the body when it arrives, or hops, and whether it is accepted.
const WORDS: [(usize, bool); 3] = [(7, true), (8, true), (9, false)];

/// The asker and the answerer, theirs by role and ours as sockets, and the chain between them.
struct Kind {
    asker: &'static str,
    answerer: &'static str,
    /// Arguments of their asker.
    asks: &'static [&'static str],
    programs: &'static [&'static str],
    /// Our asker, connected to an address.
    asking: fn(&str) -> Box<dyn End>,
    /// Our answerer, and the address it listens at.
    answering: fn(&str) -> (Box<dyn End>, String),
    /// A chain of forwarders that leads to the second address; the first one listens at the first.
    chain: fn(usize, &str, &str) -> Chain,
}

const REQUESTS: Kind = Kind {
    asker: "req",
    answerer: "rep",
    asks: &["--data", "from afar"],
    programs: &ALL,
    asking: |address| dialled(Req::new(), address),
    answering: |address| listening(Rep::new(), address),
    chain: chain::<raw::Rep, raw::Req>,
};

const SURVEYS: Kind = Kind {
    asker: "surveyor",
    answerer: "respondent",
    asks: &["--data", "from afar", "--interval", "1"],
    programs: &ALL,
    asking: |address| {
        let surveyor = Surveyor::new();
        surveyor.set_survey_time(Some(PATIENCE));
        dialled(surveyor, address)
    },
    answering: |address| listening(Respondent::new(), address),
    chain: chain::<raw::Respondent, raw::Surveyor>,
};

const PAIRS: Kind = Kind {
    asker: "pair1",
    answerer: "pair1",
    asks: &["--data", "from afar", "--interval", "1"],
    // The pair of mangos begins with no hop: it reaches one hop further, and ours does not reach
    // back.
    programs: &["nngcat", "pynng"],
    asking: |address| dialled(Pair::new(), address),
    answering: |address| listening(Pair::new(), address),
    chain: chain::<raw::Pair, raw::Pair>,
};

/// A socket at the end of a chain.
trait End {
    fn be_patient(&self);
    fn dial(&self, address: &str);
    fn listen(&self, address: &str) -> String;
    fn say(&self, body: &'static str);
    fn hear(&self) -> Bytes;
    fn hears_nothing(&self) -> bool;
    fn statistics(&self) -> Statistics;
}

macro_rules! ends {
    ($($kind:ident)+) => {
        $(impl End for $kind {
            fn be_patient(&self) {
                self.set_receive_timeout(Some(PATIENCE));
            }

            fn dial(&self, address: &str) {
                dial(|| self.blocking_dial(address));
            }

            fn listen(&self, address: &str) -> String {
                self.blocking_listen(address).unwrap().to_string()
            }

            fn say(&self, body: &'static str) {
                self.blocking_send(body).unwrap();
            }

            fn hear(&self) -> Bytes {
                self.blocking_recv().unwrap()
            }

            fn hears_nothing(&self) -> bool {
                self.try_recv().is_err()
            }

            fn statistics(&self) -> Statistics {
                $kind::statistics(self)
            }
        })+
    };
}

ends!(Req Rep Surveyor Respondent Pair);

fn dialled(end: impl End + 'static, address: &str) -> Box<dyn End> {
    end.be_patient();
    end.dial(address);
    Box::new(end)
}

fn listening(end: impl End + 'static, address: &str) -> (Box<dyn End>, String) {
    end.be_patient();
    let address = end.listen(address);
    (Box::new(end), address)
}

/// One side of a forwarder.
trait Side {
    fn new() -> Self
    where
        Self: Sized;
    fn dial(&self, address: &str);
    fn listen(&self, address: &str) -> String;
    fn end(&self) -> raw::End;
    fn statistics(&self) -> Statistics;
    fn close(&self);
}

macro_rules! sides {
    ($($kind:ident)+) => {
        $(impl Side for raw::$kind {
            fn new() -> raw::$kind {
                raw::$kind::new()
            }

            fn dial(&self, address: &str) {
                dial(|| self.blocking_dial(address));
            }

            fn listen(&self, address: &str) -> String {
                self.blocking_listen(address).unwrap().to_string()
            }

            fn end(&self) -> raw::End {
                self.into()
            }

            fn statistics(&self) -> Statistics {
                raw::$kind::statistics(self)
            }

            fn close(&self) {
                self.blocking_close();
            }
        })+
    };
}

sides!(Req Rep Surveyor Respondent Pair);

/// A chain of forwarders: the address of its front, and the receiving and sending sockets of each
/// of them, the nearest to the front first.
struct Chain {
    front: String,
    receiving: Vec<Box<dyn Side>>,
    sending: Vec<Box<dyn Side>>,
}

fn chain<F: Side + 'static, B: Side + 'static>(length: usize, ours: &str, worker: &str) -> Chain {
    let mut chain = Chain { front: worker.to_owned(), receiving: Vec::new(), sending: Vec::new() };
    for place in (0..length).rev() {
        let (front, back) = (F::new(), B::new());
        back.dial(&chain.front);
        chain.front = front.listen(&if place == 0 { ours.to_owned() } else { inproc() });
        let forwarder = Forwarder::between(front.end(), back.end()).unwrap();
        thread::spawn(move || forwarder.blocking_run());
        chain.receiving.insert(0, Box::new(front));
        chain.sending.insert(0, Box::new(back));
    }
    chain
}

impl Chain {
    /// Waits until the last forwarder has forwarded one message.
    fn has_passed_on(&self) {
        let last = self.sending.last().unwrap();
        eventually(|| last.statistics().traffic.messages_sent == 1);
    }
}

impl Drop for Chain {
    /// Frees its address for the next one.
    fn drop(&mut self) {
        self.receiving[0].close();
    }
}

fn too_many_hops(statistics: Statistics) -> u64 {
    statistics.counters.dropped_too_many_hops
}

fn ours_come_as_far_as_theirs_let_them(kind: &Kind) {
    each(&format!("hops-{}", kind.answerer), kind.programs, |program, ours, theirs| {
        for (words, taken) in WORDS {
            if program == "nanocat" && words == 8 {
                continue;
            }
            let more = ["--data", "answer"];
            let mut peer = Peer::start(program, kind.answerer, false, theirs, &more);
            let chain = (kind.chain)(words - 1, ours, theirs);
            let far = (kind.asking)(&chain.front);
            far.say("from afar");
            if taken {
                assert_eq!(far.hear(), "answer", "{words} words");
                assert_eq!(peer.line(), "from afar");
                continue;
            }
            chain.has_passed_on();
            // The program goes on, and its first message is not the one from afar.
            let near = (kind.asking)(theirs);
            near.say("from near");
            assert_eq!(near.hear(), "answer");
            assert_eq!(peer.line(), "from near");
            assert!(far.hears_nothing());
            assert_eq!(far.statistics().counters.received, 0);
        }
    });
}

#[test]
fn our_requests_come_as_far_as_their_rep_lets_them() {
    ours_come_as_far_as_theirs_let_them(&REQUESTS);
}

#[test]
fn our_surveys_come_as_far_as_their_respondent_lets_them() {
    ours_come_as_far_as_theirs_let_them(&SURVEYS);
}

/// Their pair answers nothing, so it echoes its messages.
#[test]
fn our_pair_reaches_theirs_over_as_many_hops() {
    each("hops-pair", &OURS, |program, ours, theirs| {
        for (words, _) in WORDS.into_iter().filter(|(_, taken)| *taken) {
            let _peer = Peer::start(program, "pair1", false, theirs, &["--echo"]);
            let chain = (PAIRS.chain)(words - 1, ours, theirs);
            let pair = (PAIRS.asking)(&chain.front);
            pair.say("from afar");
            assert_eq!(pair.hear(), "from afar", "{words} hops");
        }
    });
}

fn theirs_come_as_far_as_ours_let_them(kind: &Kind) {
    each(&format!("hops-{}", kind.asker), kind.programs, |program, ours, _| {
        for (words, taken) in WORDS {
            let (answerer, worker) = (kind.answering)(&inproc());
            let chain = (kind.chain)(words - 1, ours, &worker);
            let mut peer = Peer::start(program, kind.asker, true, &chain.front, kind.asks);
            if taken {
                assert_eq!(answerer.hear(), "from afar", "{words} words");
                answerer.say("answer");
                assert_eq!(peer.line(), "answer");
            } else {
                eventually(|| too_many_hops(answerer.statistics()) > 0);
                assert!(answerer.hears_nothing());
            }
        }
    });
}

#[test]
fn their_requests_come_as_far_as_our_rep_lets_them() {
    theirs_come_as_far_as_ours_let_them(&REQUESTS);
}

#[test]
fn their_surveys_come_as_far_as_our_respondent_lets_them() {
    theirs_come_as_far_as_ours_let_them(&SURVEYS);
}

#[test]
fn their_pair_reaches_ours_over_as_many_hops() {
    theirs_come_as_far_as_ours_let_them(&PAIRS);
}

/// One forwarder too many in our chain: the last of them drops the message, and counts it.
#[test]
fn a_forwarder_of_ours_drops_what_comes_over_nine_words() {
    for kind in [REQUESTS, SURVEYS] {
        each(&format!("hops-ours-{}", kind.asker), &ALL, |program, ours, theirs| {
            let more = ["--data", "answer"];
            let _peer = Peer::start(program, kind.answerer, false, theirs, &more);
            let chain = (kind.chain)(9, ours, theirs);
            let far = (kind.asking)(&chain.front);
            far.say("from afar");
            eventually(|| too_many_hops(chain.receiving[8].statistics()) == 1);
            assert_eq!(chain.sending[8].statistics().traffic.messages_sent, 0);
            for front in &chain.receiving[..8] {
                assert_eq!(too_many_hops(front.statistics()), 0);
            }
        });
    }
}

/// One of their devices in front of a chain of ours.
fn their_devices_are_hops_as_ours_are(kind: &Kind) {
    each(&format!("hops-device-{}", kind.asker), &OURS, |program, ours, theirs| {
        for (words, taken) in WORDS {
            let (answerer, worker) = (kind.answering)(&inproc());
            let chain = (kind.chain)(words - 2, ours, &worker);
            let _device = device(kind, program, theirs, &chain.front);
            let far = (kind.asking)(theirs);
            far.say("from afar");
            if taken {
                assert_eq!(answerer.hear(), "from afar", "{words} words");
                answerer.say("answer");
                assert_eq!(far.hear(), "answer");
            } else {
                eventually(|| too_many_hops(answerer.statistics()) == 1);
            }
        }
    });
}

/// Two raw sockets of theirs, joined: one listens at `here`, the other dials `there`.
fn device(kind: &Kind, program: &str, here: &str, there: &str) -> Peer {
    let ends = ["--front", kind.answerer, "--back", kind.asker];
    let more = [&ends[..], &["--back-connect", there]].concat();
    Peer::start(program, "device", false, here, &more)
}

#[test]
fn their_devices_are_hops_of_a_request() {
    their_devices_are_hops_as_ours_are(&REQUESTS);
}

#[test]
fn their_devices_are_hops_of_a_survey() {
    their_devices_are_hops_as_ours_are(&SURVEYS);
}

#[test]
fn their_devices_are_hops_of_a_pair() {
    their_devices_are_hops_as_ours_are(&PAIRS);
}

/// Their device is the one too many, behind eight forwarders of ours.
#[test]
fn their_device_drops_what_comes_over_nine_words() {
    for kind in [REQUESTS, SURVEYS] {
        each(&format!("hops-their-{}", kind.asker), &OURS, |program, ours, theirs| {
            let (answerer, worker) = (kind.answering)(ours);
            let _device = device(&kind, program, theirs, &worker);
            let chain = (kind.chain)(8, &inproc(), theirs);
            let far = (kind.asking)(&chain.front);
            far.say("from afar");
            chain.has_passed_on();
            let near = (kind.asking)(theirs);
            near.say("from near");
            assert_eq!(answerer.hear(), "from near");
            answerer.say("answer");
            assert_eq!(near.hear(), "answer");
            assert_eq!(answerer.statistics().traffic.messages_received, 1);
        });
    }
}
