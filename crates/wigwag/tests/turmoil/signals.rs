//! Tasks of one process that signal each other between their calls to the same actors: what was
//! sent before a signal is handled before what is sent after it, also over cuts.
//!
//! A simulated host has one thread, whose turns never overlap, so its own tasks cannot show that a
//! turn holds calls back. Here the tasks run on threads of their own, in turns that stay open, and
//! a conductor on the host's thread has one of them send at a time and waits for its signal. So a
//! seed decides the order of all calls, and there is one right order to handle them.

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread::{self, JoinHandle};

use tokio::runtime::Handle;
use tokio::time::sleep;
use wigwag::call::Answer;
use wigwag::session::SessionStatistics;
use wigwag::{Actor, CallErrorKind, NodeOptions, Refused};
use wigwag_actor::turn;
use wigwag_testkit::ledger::in_time;

use crate::PATIENCE;
use crate::stage::{Draws, HOSTS, find, node, place};
use crate::storms::{Course, Fault, Weather, storm};

/// Threads whose turns stay open.
const TURNS: u64 = 3;

/// Checks that it handles numbered calls in the order of their numbers.
#[derive(Default)]
struct Sequence {
    next: u64,
    /// The first number that came at the wrong place, and the number that belongs there.
    wrong: Option<(u64, u64)>,
}

#[wigwag::actor]
impl Sequence {
    pub fn note(&mut self, number: u64) {
        if number != self.next {
            self.wrong.get_or_insert((number, self.next));
        }
        self.next = number + 1;
    }

    pub fn count(&mut self, number: u64) -> u64 {
        self.note(number);
        number
    }

    pub fn state(&self) -> (u64, Option<(u64, u64)>) {
        (self.next, self.wrong)
    }
}

type CountAnswer = Answer<'static, Sequence, u64>;

/// The messages that a task has sent: the calls before number `next`, and the answers that it was promised.
struct Sent {
    next: u64,
    answers: Vec<(u64, CountAnswer)>,
}

/// Sends calls with these numbers while there is room; every eighth is an ask.
fn send(to: &SequenceRef, numbers: Range<u64>) -> Sent {
    let mut sent = Sent { next: numbers.start, answers: Vec::new() };
    for number in numbers {
        let outcome = match number % 8 {
            0 => to.count(number).try_ask().map(|answer| {
                sent.answers.push((number, answer.into_owned()));
            }),
            _ => to.note(number).try_tell(),
        };
        if let Err(Refused { error, .. }) = outcome {
            assert_eq!(error.kind, CallErrorKind::Full, "{error}");
            break;
        }
        sent.next = number + 1;
    }
    sent
}

/// How a task signals that its calls are sent.
enum Signal {
    Channel(mpsc::Sender<Sent>),
    Mutex(Arc<(Mutex<Option<Sent>>, Condvar)>),
}

impl Signal {
    fn give(self, sent: Sent) {
        match self {
            Signal::Channel(channel) => drop(channel.send(sent)),
            Signal::Mutex(shared) => {
                *shared.0.lock().unwrap() = Some(sent);
                shared.1.notify_one();
            }
        }
    }
}

enum Order {
    Send(SequenceRef, Range<u64>, Signal),
    /// Ends the turn and opens another one. The sender is dropped in between.
    EndTurn(mpsc::Sender<()>),
}

/// A task on a thread of its own, whose turn stays open from order to order.
struct OpenTurn {
    orders: Option<mpsc::Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl OpenTurn {
    fn new() -> OpenTurn {
        let (orders, received) = mpsc::channel();
        let host = Handle::current();
        let thread = thread::spawn(move || {
            // The clock is that of the host.
            let _entered = host.enter();
            let mut turn = turn::open(false);
            for order in received {
                match order {
                    Order::Send(to, numbers, signal) => signal.give(send(&to, numbers)),
                    Order::EndTurn(ended) => {
                        drop(turn);
                        drop(ended);
                        turn = turn::open(false);
                    }
                }
            }
        });
        OpenTurn { orders: Some(orders), thread: Some(thread) }
    }

    fn order(&self, order: Order) {
        self.orders.as_ref().expect("it is not dropped").send(order).expect("the thread lives");
    }

    /// Makes the task send, and waits for a signal of the given kind.
    fn send(&self, to: &SequenceRef, numbers: Range<u64>, by_channel: bool) -> Sent {
        if by_channel {
            let (signal, signalled) = mpsc::channel();
            self.order(Order::Send(to.clone(), numbers, Signal::Channel(signal)));
            return signalled.recv().expect("it signals");
        }
        let shared = Arc::default();
        self.order(Order::Send(to.clone(), numbers, Signal::Mutex(Arc::clone(&shared))));
        let (sent, has_changed) = &*shared;
        let mut sent = has_changed.wait_while(sent.lock().unwrap(), |sent| sent.is_none()).unwrap();
        sent.take().expect("it was waited for")
    }

    fn end_turn(&self) {
        let (ended, has_ended) = mpsc::channel();
        self.order(Order::EndTurn(ended));
        // Nothing is sent: the channel closes when the turn has ended.
        has_ended.recv().unwrap_err();
    }
}

impl Drop for OpenTurn {
    fn drop(&mut self) {
        drop(self.orders.take());
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || matches!(ended, Some(Ok(()))), "a task has panicked");
    }
}

/// A thread that sends outside any turn, or in one, and is joined.
fn send_and_join(to: &SequenceRef, numbers: Range<u64>, in_turn: bool) -> Sent {
    let (to, host) = (to.clone(), Handle::current());
    let task = move || {
        let _entered = host.enter();
        let _turn = in_turn.then(|| turn::open(false));
        send(&to, numbers)
    };
    thread::spawn(task).join().expect("it sends")
}

/// The task that has all others send, one at a time.
struct Conductor {
    draws: Draws,
    turns: Vec<OpenTurn>,
    /// Two references to one actor of the peer, fetched by two names.
    peer: [SequenceRef; 2],
    here: SequenceRef,
    /// The next number of the actor here and of that of the peer.
    next: [u64; 2],
    answers: Vec<(u64, CountAnswer)>,
}

impl Conductor {
    /// Makes one task send to one actor. False if there was no room for all of it.
    fn step(&mut self) -> bool {
        let draws = &mut self.draws;
        let is_here = draws.between(0, 3) == 0;
        let to = if is_here { &self.here } else { &self.peer[draws.between(0, 1) as usize] };
        let next = &mut self.next[usize::from(is_here)];
        let most = if draws.between(0, 9) == 0 { 400 } else { 6 };
        let numbers = *next..*next + draws.between(1, most);
        let end = numbers.end;
        let sent = match draws.between(0, TURNS + 1) {
            0 => send(to, numbers),
            1 => send_and_join(to, numbers, draws.between(0, 1) == 0),
            turn => self.turns[turn as usize - 2].send(to, numbers, draws.between(0, 1) == 0),
        };
        *next = sent.next;
        self.answers.extend(sent.answers);
        if draws.between(0, 7) == 0 {
            self.turns[draws.between(0, TURNS - 1) as usize].end_turn();
        }
        sent.next == end
    }

    async fn check_answers(&mut self) {
        for (number, answer) in self.answers.drain(..) {
            assert_eq!(in_time(PATIENCE, answer).await.unwrap(), number);
        }
    }

    /// Sends as long as the storm lasts.
    async fn conduct(mut self, course: Arc<Course>) {
        let mut stalls = 0;
        while !course.is_over() {
            // This task is in a turn too, from one pause to the next.
            let steps = self.draws.between(1, 10);
            let had_room = (0..steps).all(|_| self.step());
            stalls = if had_room { 0 } else { stalls + 1 };
            // An open turn may hold the room that the others need.
            if stalls >= 3 || self.answers.len() > 1000 {
                self.turns.iter().for_each(OpenTurn::end_turn);
            }
            if self.answers.len() > 1000 {
                self.check_answers().await;
            }
            sleep(self.draws.pause(1, 60)).await;
        }
        self.turns.clear();
        self.check_answers().await;
        for (actor, next) in [(&self.peer[0], self.next[0]), (&self.here, self.next[1])] {
            let state = actor.state().timeout(PATIENCE).ask().await.unwrap();
            assert_eq!(state, (next, None), "(handled, (came, expected instead))");
        }
    }
}

async fn side(
    [name, peer]: [&'static str; 2],
    seed: u64,
    course: Arc<Course>,
) -> turmoil::Result<SessionStatistics> {
    let options = NodeOptions::default().heartbeat(std::time::Duration::from_millis(100));
    let node = node(name, options).await?;
    let exported = Sequence::default().spawn();
    node.export("sequence", &exported)?;
    node.export("alias", &exported)?;
    let conductor = Conductor {
        draws: Draws(2 * seed + u64::from(name == HOSTS[0])),
        turns: (0..TURNS).map(|_| OpenTurn::new()).collect(),
        peer: [
            find::<Sequence>(&node, &place(peer, "sequence")).await,
            find::<Sequence>(&node, &place(peer, "alias")).await,
        ],
        here: Sequence::default().spawn(),
        next: [0; 2],
        answers: Vec::new(),
    };
    in_time(PATIENCE, course.begin()).await;
    wigwag::spawn(conductor.conduct(course.clone())).await?;
    in_time(PATIENCE, course.end()).await;
    let statistics = node.statistics();
    assert_eq!(statistics.len(), 1, "{statistics:?}");
    Ok(statistics[0].session)
}

#[test]
fn calls_before_a_signal_are_handled_before_those_after_it_whatever_breaks() {
    storm(6, Weather::of(&[Fault::Partition, Fault::Hold, Fault::OneWay]), side);
}
