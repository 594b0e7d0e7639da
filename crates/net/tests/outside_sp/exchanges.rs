//! Many exchanges on one socket of another implementation: contexts, and NNG's pair with many
//! peers.

use std::thread;

use wigwag_net::socket::{Pair, Rep, Req};

use crate::peer::{PATIENCE, Peer, dial, each};

/// Exchanges at a time on either side.
const CONTEXTS: usize = 8;
const ROUNDS: usize = 20;

#[test]
fn their_contexts_ask_and_ours_answer() {
    each("their-contexts", &["pynng"], |program, ours, _| {
        let rep = Rep::new();
        rep.set_receive_timeout(Some(PATIENCE));
        let address = rep.blocking_listen(ours).unwrap().to_string();
        let mut peer = Peer::start(program, "req", true, &address, &["--contexts", "8"]);
        thread::scope(|scope| {
            for context in (0..CONTEXTS).map(|_| rep.context().unwrap()) {
                scope.spawn(move || {
                    for _ in 0..ROUNDS {
                        let question = context.blocking_recv().unwrap();
                        let reply = [b"re ".as_slice(), &question].concat();
                        context.blocking_send(reply).unwrap();
                    }
                });
            }
        });
        let mut done: Vec<_> = (0..CONTEXTS).map(|_| peer.line()).collect();
        done.sort();
        let all: Vec<_> = (0..CONTEXTS).map(|who| format!("done {who}")).collect();
        assert_eq!(done, all);
    });
}

/// The program takes eight requests before it answers, the last of them first.
#[test]
fn our_contexts_ask_and_theirs_answer_in_reverse_order() {
    each("our-contexts", &["pynng"], |program, _, theirs| {
        let _peer = Peer::start(program, "rep", false, theirs, &["--contexts", "8"]);
        let req = Req::new();
        req.set_receive_timeout(Some(PATIENCE));
        dial(|| req.blocking_dial(theirs));
        thread::scope(|scope| {
            for who in 0..CONTEXTS {
                let context = req.context().unwrap();
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let reply = context.blocking_ask(format!("{who}/{round}")).unwrap();
                        assert_eq!(reply, format!("re {who}/{round}"));
                    }
                });
            }
        });
    });
}

/// NNG's polyamorous pair: each of our sockets gets its own messages, whichever side dialled.
#[test]
fn their_pair_of_many_answers_each_of_ours() {
    each("poly", &["pynng"], |program, ours, theirs| {
        let pair = || {
            let pair = Pair::new();
            pair.set_receive_timeout(Some(PATIENCE));
            pair.set_send_timeout(Some(PATIENCE));
            pair
        };
        let listening = Peer::start(program, "pair1", false, theirs, &["--poly"]);
        let (first, second) = (pair(), pair());
        dial(|| first.blocking_dial(theirs));
        dial(|| second.blocking_dial(theirs));
        for round in 0..ROUNDS {
            first.blocking_send(format!("first {round}")).unwrap();
            second.blocking_send(format!("second {round}")).unwrap();
            assert_eq!(first.blocking_recv().unwrap(), format!("re first {round}"));
            assert_eq!(second.blocking_recv().unwrap(), format!("re second {round}"));
        }
        drop(listening);
        let third = pair();
        let address = third.blocking_listen(ours).unwrap().to_string();
        let _dialling = Peer::start(program, "pair1", true, &address, &["--poly"]);
        third.blocking_send("third").unwrap();
        assert_eq!(third.blocking_recv().unwrap(), "re third");
    });
}
