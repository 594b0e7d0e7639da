//! Numbered messages from many senders of every kind to one actor: each arrives once, and those of
//! one sender arrive in order.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tokio::runtime::{self, Runtime};
use wigwag::{Actor, ActorOptions, Call, CallErrorKind, Node, WhenFull, lifecycle::Alive};

/// Checks each sender's numbers against the expected next one.
struct Inbox {
    next: Vec<u64>,
}

#[wigwag::actor]
impl Inbox {
    pub fn note(&mut self, sender: u32, number: u64) {
        let next = &mut self.next[sender as usize];
        assert_eq!(*next, number, "sender {sender}");
        *next += 1;
    }

    pub fn seen(&self) -> Vec<u64> {
        self.next.clone()
    }
}

/// A sender that is an actor: its messages gather in the send buffer of its turn.
struct Feeder {
    inbox: InboxRef,
}

#[wigwag::actor]
impl Feeder {
    pub async fn feed(&mut self, sender: u32, count: u64) {
        for number in 0..count {
            self.inbox.note(sender, number).tell().await.unwrap();
        }
    }
}

fn inbox(senders: u32, options: ActorOptions) -> InboxRef {
    Inbox { next: vec![0; senders as usize] }.spawn_with(options)
}

/// Sends from threads, tasks, tasks in turns and actors, each with numbers of its own.
async fn flood(senders: u32, capacity: usize, count: u64) {
    let inbox = inbox(senders, ActorOptions::default().mailbox_calls(capacity));
    let (mut threads, mut tasks) = (Vec::new(), Vec::new());
    for sender in 0..senders {
        let to = inbox.clone();
        let send = async move {
            for number in 0..count {
                to.note(sender, number).tell().await.unwrap();
            }
        };
        match sender % 4 {
            0 => {
                let to = inbox.clone();
                threads.push(thread::spawn(move || {
                    for number in 0..count {
                        to.note(sender, number).blocking_tell().unwrap();
                    }
                }));
            }
            1 => tasks.push(tokio::spawn(send)),
            2 => tasks.push(wigwag::spawn(send)),
            _ => {
                let feeder = Feeder { inbox: inbox.clone() }.spawn();
                tasks.push(tokio::spawn(async move {
                    feeder.feed(sender, count).ask().await.unwrap();
                }));
            }
        }
    }
    for task in tasks {
        task.await.unwrap();
    }
    tokio::task::spawn_blocking(|| threads.into_iter().for_each(|one| one.join().unwrap()))
        .await
        .unwrap();
    let seen = inbox.seen().ask().await.unwrap();
    assert_eq!(seen, vec![count; senders as usize], "{senders} senders, room for {capacity}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_arrives_once_and_in_the_order_of_its_sender() {
    for senders in [1, 2, 8, 64] {
        for capacity in [1, 2, 1024] {
            flood(senders, capacity, 6_400 / u64::from(senders)).await;
        }
    }
}

/// Counts calls.
struct Count(u64);

#[wigwag::actor]
impl Count {
    pub fn add(&mut self) {
        self.0 += 1;
    }

    pub fn add_too(&mut self) {
        self.0 += 1;
    }

    pub fn total(&self) -> u64 {
        self.0
    }
}

/// How the code of a sender runs, each time on a thread of its own.
#[derive(Clone, Copy, Debug)]
enum Sender {
    /// A task with turns.
    Turns,
    /// A task of the runtime.
    Task,
    /// The thread itself.
    Thread,
}

impl Sender {
    fn run<T: Send + 'static>(
        self,
        runtime: &Runtime,
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        match self {
            Sender::Turns => runtime.block_on(async { wigwag::spawn(work).await.unwrap() }),
            Sender::Task => runtime.block_on(async { tokio::spawn(work).await.unwrap() }),
            Sender::Thread => runtime.block_on(work),
        }
    }
}

/// A runtime on whose one thread the tasks of a test may block.
fn one_thread() -> Runtime {
    runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// The next call of a round: one method in half of the rounds, and two methods in turn in the others.
fn add(count: &CountRef, call: u64, round: u64) -> Call<'_, Count, ()> {
    if call % 2 < round / 2 % 2 { count.add_too() } else { count.add() }
}

/// A task tells and then signals another task, which asks. The turn of the first one, and so what
/// it has not published, is still open when the ask is sent: in every fourth round until the answer
/// has come. In two of three rounds the other task tells as well, so that both turns hold calls.
fn tell_signal_and_ask(sender: Sender, count: &CountRef, asked: &CountRef) {
    let nightly = std::env::var_os("WIGWAG_NIGHTLY").is_some();
    let rounds: u64 = if nightly { 1_000_000 } else { 2_000 };
    let asker = one_thread();
    // The rounds that were told, and those that were answered.
    let signals = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let teller = thread::spawn({
        let (count, signals, runtime) = (count.clone(), signals.clone(), one_thread());
        move || {
            for round in 0..rounds {
                let (count, shared) = (count.clone(), signals.clone());
                sender.run(&runtime, async move {
                    for call in 0..round % 100 {
                        add(&count, call, round).tell().await.unwrap();
                    }
                    shared[0].store(round + 1, Ordering::Release);
                    while round % 4 == 0 && shared[1].load(Ordering::Acquire) <= round {
                        thread::yield_now();
                    }
                });
                while signals[1].load(Ordering::Acquire) <= round {
                    thread::yield_now();
                }
            }
        }
    });
    let (mut sent, mut wrong) = (0, None);
    for round in 0..rounds {
        let (count, shared) = (asked.clone(), signals.clone());
        let total = sender.run(&asker, async move {
            for call in 0..round % 3 * 30 {
                add(&count, call, round).tell().await.unwrap();
            }
            while shared[0].load(Ordering::Acquire) <= round {
                thread::yield_now();
            }
            count.total().ask().await.unwrap()
        });
        sent += round % 100 + round % 3 * 30;
        if total != sent {
            wrong = Some((round, total, sent));
            break;
        }
        signals[1].store(round + 1, Ordering::Release);
    }
    // The teller runs to its end, whatever was found.
    signals[1].store(u64::MAX, Ordering::Release);
    teller.join().unwrap();
    assert_eq!(wrong, None, "round, calls handled, calls sent before");
}

#[test]
fn a_call_is_handled_after_the_calls_that_were_sent_before_it_by_any_task() {
    let runtime = one_thread();
    // On a thread of its own, since the tasks hold their threads.
    let options = ActorOptions::default().own_thread();
    let count = runtime.block_on(async { Count(0).spawn_with(options) });
    tell_signal_and_ask(Sender::Turns, &count, &count);
}

#[test]
fn a_call_to_another_node_is_handled_after_the_calls_that_were_sent_before_it_by_any_task() {
    let runtime = Runtime::new().unwrap();
    let (_service, _client, [count, asked]) = runtime.block_on(count_of_another_node());
    tell_signal_and_ask(Sender::Turns, &count, &asked);
}

#[test]
fn a_call_outside_turns_is_handled_after_the_calls_that_were_sent_before_it() {
    let runtime = Runtime::new().unwrap();
    let (_service, _client, [count, asked]) = runtime.block_on(count_of_another_node());
    tell_signal_and_ask(Sender::Task, &count, &asked);
    let (_service, _client, [count, asked]) = runtime.block_on(count_of_another_node());
    tell_signal_and_ask(Sender::Thread, &count, &asked);
}

#[test]
fn references_that_come_back_keep_the_order_of_the_calls_that_were_sent_through_any_of_them() {
    let runtime = Runtime::new().unwrap();
    let (_service, client, [_, _]) = runtime.block_on(count_of_another_node());
    let [count, asked] = runtime.block_on(async {
        let address = client.statistics()[0].peer.to_string();
        let fetch = || client.actor::<Count>(&format!("{address}/count")).reconnecting();
        [fetch().await.unwrap(), fetch().await.unwrap()]
    });
    tell_signal_and_ask(Sender::Turns, &count, &asked);
}

/// Two nodes, and two references to an actor of the first one, fetched under two names.
async fn count_of_another_node() -> (Node, Node, [CountRef; 2]) {
    let (service, client) = (Node::new(), Node::new());
    let count = Count(0).spawn();
    service.export("count", &count).unwrap();
    service.export("alias", &count).unwrap();
    let address = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let count = client.actor::<Count>(&format!("{address}/count")).await.unwrap();
    let alias = client.actor::<Count>(&format!("{address}/alias")).await.unwrap();
    (service, client, [count, alias])
}

/// Remembers the last number of each sender.
struct Causes(Vec<u64>);

#[wigwag::actor]
impl Causes {
    /// Takes number `number` of `sender`, which has seen the numbers `seen` of all senders.
    pub fn note(&mut self, sender: u32, number: u64, seen: [u64; 3]) {
        self.check(sender, number, seen);
    }

    /// As `note`, in another method.
    pub fn note_too(&mut self, sender: u32, number: u64, seen: [u64; 3]) {
        self.check(sender, number, seen);
    }

    pub fn seen(&self) -> Vec<u64> {
        self.0.clone()
    }
}

impl Causes {
    fn check(&mut self, sender: u32, number: u64, seen: [u64; 3]) {
        for (sender, (known, seen)) in self.0.iter().zip(seen).enumerate() {
            assert!(*known >= seen, "number {seen} of sender {sender} is missing, {known} came");
        }
        let last = &mut self.0[sender as usize];
        assert_eq!(*last + 1, number, "sender {sender}");
        *last = number;
    }
}

#[test]
fn calls_of_three_tasks_to_another_node_are_handled_after_what_preceded_them() {
    three_at_once([Sender::Turns; 3], 1);
}

#[test]
fn calls_of_three_senders_of_every_kind_to_another_node_are_handled_after_what_preceded_them() {
    three_at_once([Sender::Turns, Sender::Task, Sender::Thread], 1);
}

#[test]
fn calls_of_two_methods_of_senders_of_every_kind_are_handled_after_what_preceded_them() {
    three_at_once([Sender::Turns; 3], 2);
    three_at_once([Sender::Turns, Sender::Task, Sender::Thread], 2);
}

/// Three senders send calls of one method, or of two in turn, at the same time, and each call names
/// the calls that precede it: those whose numbers were published to all before it was made.
fn three_at_once(senders: [Sender; 3], methods: u64) {
    let rounds = if std::env::var_os("WIGWAG_NIGHTLY").is_some() { 300_000 } else { 3_000 };
    let runtime = Runtime::new().unwrap();
    let (_service, _client, causes) = runtime.block_on(async {
        let (service, client) = (Node::new(), Node::new());
        service.export("causes", &Causes(vec![0; 3]).spawn()).unwrap();
        let address = service.listen("tcp://127.0.0.1:0").await.unwrap();
        let causes = client.actor::<Causes>(&format!("{address}/causes")).await.unwrap();
        (service, client, causes)
    });
    let sent: Arc<[AtomicU64; 3]> = Arc::default();
    thread::scope(|scope| {
        for (sender, runs) in (0_u32..).zip(senders) {
            let (causes, sent) = (&causes, &sent);
            scope.spawn(move || {
                let runtime = one_thread();
                let mut number = 0;
                for round in 0..rounds {
                    let (causes, sent) = (causes.clone(), sent.clone());
                    let count = 1 + (round * 7 + u64::from(sender)) % 9;
                    let first = number;
                    number += count;
                    runs.run(&runtime, async move {
                        for number in first + 1..=first + count {
                            let seen = [0, 1, 2].map(|one| sent[one].load(Ordering::Acquire));
                            let call = match number % methods {
                                0 => causes.note(sender, number, seen),
                                _ => causes.note_too(sender, number, seen),
                            };
                            call.tell().await.unwrap();
                            sent[sender as usize].store(number, Ordering::Release);
                        }
                    });
                }
            });
        }
    });
    let expected: Vec<u64> = sent.iter().map(|sent| sent.load(Ordering::Acquire)).collect();
    let seen = one_thread().block_on(async { causes.seen().ask().await.unwrap() });
    assert_eq!(seen, expected);
}

/// Checks that each sender's numbers increase, though some may be missing.
struct Gappy {
    last: Vec<Option<u64>>,
    came: u64,
}

#[wigwag::actor]
impl Gappy {
    pub fn note(&mut self, sender: u32, number: u64) {
        let last = self.last[sender as usize].replace(number);
        assert!(last.is_none_or(|last| last < number), "sender {sender}: {number} after {last:?}");
        self.came += 1;
    }

    pub fn came(&self) -> u64 {
        self.came
    }
}

/// A message without room is dropped or returned, by the rule; the others arrive once and in order,
/// and every missing message is counted. Under these rules no sender waits for room.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_rule_for_a_full_mailbox_keeps_the_order_of_the_rest() {
    const SENDERS: u32 = 64;
    const COUNT: u64 = 200;
    for rule in [WhenFull::Refuse, WhenFull::DropOldest, WhenFull::DropNewest] {
        for capacity in [1, 2, 16] {
            let options = ActorOptions::default().mailbox_calls(capacity).when_full(rule);
            let gappy = Gappy { last: vec![None; SENDERS as usize], came: 0 }.spawn_with(options);
            let handle = gappy.handle().unwrap();
            // The actor stays suspended until a sender has met a full mailbox.
            handle.suspend();
            let senders: Vec<_> = (0..SENDERS)
                .map(|sender| {
                    let to = gappy.clone();
                    let send = async move {
                        let mut refused = 0;
                        for number in 0..COUNT {
                            if let Err(back) = to.note(sender, number).tell().await {
                                assert_eq!(back.error.kind, CallErrorKind::Full);
                                refused += 1;
                            }
                            if number == COUNT / 2 {
                                to.handle().unwrap().resume();
                            }
                        }
                        refused
                    };
                    if sender % 2 == 0 { tokio::spawn(send) } else { wigwag::spawn(send) }
                })
                .collect();
            let mut refused = 0;
            for sender in senders {
                refused += sender.await.unwrap();
            }
            while handle.waiting() > 0 {
                tokio::task::yield_now().await;
            }
            // A visit overtakes the current run; this ordinary call waits behind it.
            let came = loop {
                match gappy.came().ask().await {
                    Ok(came) => break came,
                    // A run keeps its places in the mailbox until all of it is handled.
                    Err(full) if full.error().kind == CallErrorKind::Full => {
                        tokio::task::yield_now().await;
                    }
                    Err(other) => panic!("{other}"),
                }
            };
            let (sent, dropped) = (u64::from(SENDERS) * COUNT, handle.dropped());
            assert_eq!(came + refused + dropped, sent, "{rule:?}, room for {capacity}");
            assert_eq!(refused > 0, rule == WhenFull::Refuse);
            assert_eq!(dropped > 0, rule != WhenFull::Refuse);
        }
    }
}

/// A turn that has reserved places and not published its batch stands still: no other sender waits
/// for it, and what it has sent before is handled before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_that_stands_still_in_its_turn_holds_up_nobody() {
    let inbox = inbox(2, ActorOptions::default().mailbox_calls(8).own_thread());
    let (to, others) = (inbox.clone(), inbox.clone());
    let turn = wigwag::spawn(async move {
        // The first tell leaves by itself; the second reserves places and stays in this turn's
        // batch.
        to.note(0, 0).try_tell().unwrap();
        to.note(0, 1).try_tell().unwrap();
        let sender = thread::spawn(move || {
            for number in 0..1000 {
                others.note(1, number).blocking_tell().unwrap();
            }
            others.seen().blocking_ask().unwrap()
        });
        sender.join().unwrap()
    });
    assert_eq!(turn.await.unwrap(), [2, 1000]);
}

/// A blocking call in a task would stop the runtime, perhaps the very task that it waits for.
#[test]
fn a_blocking_call_is_refused_in_a_task_and_allowed_elsewhere() {
    let multi = || runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    for runtime in [one_thread(), multi()] {
        let options = ActorOptions::default().own_thread();
        let count = runtime.block_on(async { Count(3).spawn_with(options) });
        let [task, blocking, thread] = [count.clone(), count.clone(), count];
        let refused = runtime.block_on(async {
            tokio::spawn(async move { task.total().blocking_ask().unwrap() }).await
        });
        assert!(refused.unwrap_err().is_panic());
        let total = runtime.block_on(async {
            tokio::task::spawn_blocking(move || blocking.total().blocking_ask().unwrap()).await
        });
        assert_eq!(total.unwrap(), 3);
        let total = thread::spawn(move || thread.total().blocking_ask().unwrap());
        assert_eq!(total.join().unwrap(), 3);
    }
}
