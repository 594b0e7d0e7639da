//! Tells of threads and tasks outside turns, which gather until the driver publishes them: they hold
//! neither a channel nor its credit longer than that.

use std::collections::VecDeque;
use std::sync::mpsc;
use std::thread;

use wigwag::Node;
use wigwag_link::frame::{Frame, kind};
use wigwag_link::{Identity, features};
use wigwag_testkit::raw::{Raw, arrival, identity, listen};

use super::{CounterRef, attach, patient, soon};

/// A hand-written peer that understands runs of tells.
struct Peer {
    raw: Raw,
    told: VecDeque<u8>,
}

impl Peer {
    /// The amount of the next tell, in a frame of its own or in a run.
    async fn told(&mut self) -> u8 {
        loop {
            if let Some(amount) = self.told.pop_front() {
                return amount;
            }
            let seen = soon("a tell", self.raw.frame()).await.expect("the connection is open");
            let amount = |arguments: &[u8]| match arguments {
                // An array of one small number.
                [0x91, amount] => *amount,
                other => panic!("expected a small amount, got {other:?}"),
            };
            match seen.kind {
                kind::TELLS => self.told.extend(seen.run().items.map(amount)),
                kind::TELL => match seen.frame() {
                    Frame::Tell { arguments, .. } => self.told.push_back(amount(arguments)),
                    other => panic!("expected a tell, got {other:?}"),
                },
                _ => {}
            }
        }
    }
}

/// A node that has attached to a counter of the peer, which grants `units`.
async fn attached(units: u64) -> (Node, CounterRef, Peer) {
    let ((listener, address), node) = (listen().await, Node::new());
    let accept = async {
        let mut raw = arrival(&listener).await;
        raw.accept(Identity { offered: features::RUNS, limits: patient(), ..identity() }).await;
        raw.attached(units).await;
        raw
    };
    let (counter, raw) = tokio::join!(attach(&node, &address), accept);
    (node, counter, Peer { raw, told: VecDeque::new() })
}

/// Tells of one thread: the first ones go at once, until the driver has to do, and the others
/// gather.
const TELLS: u8 = 100;

/// Rounds in which a thread and the driver may meet in another way.
const ROUNDS: usize = 20;

/// A thread that has told and lives on.
struct Teller {
    /// Ends the thread when it is dropped.
    _end: mpsc::Sender<()>,
    thread: thread::JoinHandle<()>,
}

impl Teller {
    fn start(counter: &CounterRef) -> Teller {
        let (counter, (end, ended)) = (counter.clone(), mpsc::channel::<()>());
        let thread = thread::spawn(move || {
            for number in 0..TELLS {
                counter.add(u64::from(number)).blocking_tell().unwrap();
            }
            drop(counter);
            let _ = ended.recv();
        });
        Teller { _end: end, thread }
    }

    fn end(self) {
        drop(self._end);
        self.thread.join().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_channel_is_detached_though_a_thread_that_has_told_lives_on() {
    for _ in 0..ROUNDS {
        let (_node, counter, mut peer) = attached(1000).await;
        let teller = Teller::start(&counter);
        for number in 0..TELLS {
            assert_eq!(peer.told().await, number);
        }
        drop(counter);
        soon("the detaching", peer.raw.until(kind::DETACH)).await;
        teller.end();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_that_have_told_and_live_on_keep_no_credit_but_for_one_call_each() {
    const CREDIT: u64 = 5000;
    const TELLERS: u64 = 8;
    let (_node, counter, mut peer) = attached(CREDIT).await;
    let mut tellers = Vec::new();
    for _ in 0..TELLERS {
        tellers.push(Teller::start(&counter));
        for number in 0..TELLS {
            assert_eq!(peer.told().await, number);
        }
    }
    let left = CREDIT - TELLERS * u64::from(TELLS);
    let more = (0..left).take_while(|_| counter.add(1).try_tell().is_ok()).count() as u64;
    assert!((left - TELLERS..=left).contains(&more), "{more} of {left}");
    tellers.into_iter().for_each(Teller::end);
}

/// The thread ends while the run that it could add to is handed out to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tells_of_a_thread_right_before_its_end_arrive() {
    let (_node, counter, mut peer) = attached(u64::MAX).await;
    for _ in 0..ROUNDS {
        Teller::start(&counter).end();
        for number in 0..TELLS {
            assert_eq!(peer.told().await, number);
        }
    }
}
