//! Long random histories of a mailbox: several senders of every kind, an actor that breaks off its
//! runs, and an end in the middle. The interleavings that loom tries exhaustively (`mailbox_loom`)
//! are shorter.
//!
//! Shuttle prints a schedule that fails, and `shuttle::replay` runs it again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread::{self, JoinHandle};
use wigwag_wire::{Buffer, DecodeError, Reader};

use crate::error::CallErrorKind;
use crate::lifecycle::control::ControlMessage;
use crate::lifecycle::handle::AnyActor;
use crate::mailbox::Mailbox;
use crate::mailbox::backlog::Pushed;
use crate::mailbox::backlog::batches::Batch;
use crate::mailbox::backlog::chunk::Chunk;
use crate::mailbox::backlog::parked::Ticket;
use crate::mailbox::taking::{NextMail, TakenCalls};
use crate::message::Message;
use crate::options::WhenFull;
use crate::reason::Reason;
use crate::reply::{Asker, LocalReply};
use crate::schema::Schema;

/// The number of random histories of each test.
const HISTORIES: usize = 6_000;
/// The number of further histories with few context switches at random moments. They find errors
/// that need one thread to be stopped for long at a certain place.
const HISTORIES_WITH_FEW_CHANGES: usize = 3_000;
/// The depth given to shuttle's PCT scheduler, which bounds the random context switches of a
/// history.
const CHANGES: usize = 4;

/// The capacities of a mailbox. Most are less than the number of messages of one sender, so that
/// senders must wait; the last one lets turns lease several places at once.
const ROOMS: [usize; 4] = [1, 2, 3, 16];
const SENDERS: usize = 4;
/// The number of messages that each sender sends.
const EACH: usize = 10;

static SCHEMA: Schema = Schema::new("Model", &[]);

/// The outcomes of all messages of a history.
#[derive(Default)]
struct Tally {
    dropped: AtomicUsize,
    handled: AtomicUsize,
    refused: AtomicUsize,
    /// The number of messages that each sender has sent, counted after the sends.
    sent: [AtomicUsize; SENDERS],
}

impl Tally {
    fn count(of: &AtomicUsize) {
        of.fetch_add(1, Ordering::SeqCst);
    }
}

struct Numbered {
    sender: usize,
    number: usize,
    /// The messages of each sender whose sending was over before this one began.
    before: [usize; SENDERS],
    /// A tell that was sent and not handled, which counts as refused when it is dropped.
    is_told: bool,
    tally: Arc<Tally>,
}

impl Drop for Numbered {
    fn drop(&mut self) {
        Tally::count(&self.tally.dropped);
        if self.is_told {
            Tally::count(&self.tally.refused);
        }
    }
}

impl Message for Numbered {
    fn method(&self) -> u32 {
        0
    }

    fn encode_arguments(&self, _: &mut Buffer) {}

    fn decode(_: u32, _: &mut Reader<'_>) -> Result<Option<Numbered>, DecodeError> {
        Ok(None)
    }
}

/// The asker of a message, which counts a failure as a refusal.
struct Awaits(Arc<Tally>);

impl LocalReply for Awaits {
    fn is_awaited(&self) -> bool {
        true
    }

    fn fail(&self, _: CallErrorKind, _: Option<&str>) {
        Tally::count(&self.0.refused);
    }
}

#[derive(Default)]
struct Bell {
    rings: Mutex<bool>,
    rang: Condvar,
}

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        *self.rings.lock().unwrap() = true;
        self.rang.notify_one();
    }
}

/// Polls until the result is ready, and sleeps between two polls until woken. Shuttle fails a
/// history in which all threads sleep.
fn wait<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(bell.clone());
    loop {
        if let Poll::Ready(ready) = poll(&mut Context::from_waker(&waker)) {
            return ready;
        }
        let mut rings = bell.rings.lock().unwrap();
        while !std::mem::take(&mut *rings) {
            rings = bell.rang.wait(rings).unwrap();
        }
    }
}

/// A thread that sends [`EACH`] messages.
struct Sender {
    mailbox: Arc<Mailbox<Numbered>>,
    number: usize,
    tally: Arc<Tally>,
}

impl Sender {
    fn message(&self, number: usize) -> Numbered {
        let before = self.tally.sent.each_ref().map(|sent| sent.load(Ordering::SeqCst));
        let tally = self.tally.clone();
        Numbered { sender: self.number, number, before, is_told: false, tally }
    }

    fn asker(&self) -> Asker {
        Some(Arc::new(Awaits(self.tally.clone())))
    }

    /// Sends one message after the other and waits for room; sometimes gives up its place in the
    /// queue and parks again.
    fn one_by_one(&self, is_urgent: bool, asks: bool) {
        for number in 0..EACH {
            let (mut message, mut ticket) = (Some(self.message(number)), Ticket::default());
            let is_in = wait(|context| {
                if ticket.is_parked() && thread_rng().gen_bool(0.2) {
                    self.leave(&mut ticket, is_urgent);
                }
                let waker = Some(context.waker());
                let asker = if asks { self.asker() } else { None };
                let pushed = match is_urgent {
                    true => self.mailbox.push_urgent(&mut message, asker, &mut ticket, waker),
                    false => self.mailbox.push(&mut message, asker, &mut ticket, waker),
                };
                match pushed {
                    Pushed::In { .. } => Poll::Ready(true),
                    Pushed::Refused | Pushed::Closed => Poll::Ready(false),
                    Pushed::Full => Poll::Pending,
                }
            });
            Tally::count(if is_in { &self.tally.sent[self.number] } else { &self.tally.refused });
        }
    }

    fn leave(&self, ticket: &mut Ticket, is_urgent: bool) {
        match is_urgent {
            true => self.mailbox.leave_urgent(ticket),
            false => self.mailbox.leave(ticket),
        }
    }

    /// Tells in turns, which lease places and publish their messages together.
    fn in_turns(&self) {
        let (mut batch, mut number, mut refused) = (Batch::default(), 0, None);
        while number < EACH && !self.mailbox.is_closed() {
            for _ in 0..thread_rng().gen_range(0..=EACH - number) {
                let mut message = refused.take().unwrap_or_else(|| self.message(number));
                message.is_told = true;
                let (mut message, mut ticket) = (Some(message), Ticket::default());
                if !batch.push(&mut message) {
                    let want = EACH - number;
                    self.mailbox.push_in_turn(&mut batch, want, &mut message, &mut ticket, None);
                }
                if let Some(mut message) = message {
                    message.is_told = false;
                    refused = Some(message);
                    break;
                }
                Tally::count(&self.tally.sent[self.number]);
                number += 1;
            }
            if thread_rng().gen_bool(0.5) {
                self.mailbox.finish(&mut batch);
            }
            thread::yield_now();
        }
        self.mailbox.finish(&mut batch);
        self.tally.refused.fetch_add(EACH - number, Ordering::SeqCst);
        let first = number + usize::from(refused.is_some());
        (first..EACH).for_each(|number| drop(self.message(number)));
    }
}

fn mailbox() -> Arc<Mailbox<Numbered>> {
    Arc::new(Mailbox::new(&SCHEMA, ROOMS[thread_rng().gen_range(0..ROOMS.len())], WhenFull::Wait))
}

fn senders(mailbox: &Arc<Mailbox<Numbered>>, tally: &Arc<Tally>) -> Vec<JoinHandle<()>> {
    let start = |number| {
        mailbox.refer();
        let sender = Sender { mailbox: mailbox.clone(), number, tally: tally.clone() };
        thread::spawn(move || {
            match number {
                0 | 1 => sender.in_turns(),
                // The third sends by the lock, and the last one sends urgent messages.
                _ => sender.one_by_one(number == SENDERS - 1, true),
            }
            sender.mailbox.release();
        })
    };
    (0..SENDERS).map(start).collect()
}

/// The messages that the actor has handled, in order.
struct Reads<'a> {
    mailbox: &'a Mailbox<Numbered>,
    heard: [Vec<usize>; SENDERS],
}

impl Reads<'_> {
    fn one(&mut self, mut message: Numbered) {
        // An urgent message goes before others.
        if message.sender < SENDERS - 1 {
            let heard = self.heard.each_ref().map(Vec::len);
            let before = message.before.iter().zip(heard);
            assert!(before.take(SENDERS - 1).all(|(sent, heard)| *sent <= heard), "out of order");
        }
        self.heard[message.sender].push(message.number);
        Tally::count(&message.tally.handled);
        message.is_told = false;
    }

    /// Handles some calls of a chunk and puts back the rest, as an actor does whose run is broken
    /// off.
    fn some(&mut self, (chunk, source): TakenCalls<Numbered>) {
        let Chunk::Mails(mut mails) = chunk else {
            panic!("the chunk holds mails of local senders")
        };
        let end = thread_rng().gen_range(0..=mails.len());
        for _ in 0..end {
            let Some((message, _)) = mails.pop_first() else { break };
            self.one(message);
        }
        match mails.is_empty() {
            true => self.mailbox.give_back(Chunk::Mails(mails), &source),
            false => self.mailbox.put_back(Chunk::Mails(mails), &source),
        }
    }

    /// Handles mail until no reference is left or the actor has ended.
    fn run(&mut self) {
        wait(|context| {
            loop {
                match self.mailbox.poll_next(context, false) {
                    Poll::Ready(NextMail::Call { message, only, .. }) => {
                        self.one(message);
                        if only {
                            self.mailbox.rests();
                            return Poll::Pending;
                        }
                    }
                    Poll::Ready(NextMail::Calls(taken)) => self.some(taken),
                    Poll::Ready(NextMail::Over) => return Poll::Ready(()),
                    Poll::Ready(NextMail::Orders) if self.mailbox.control().ended().is_some() => {
                        return Poll::Ready(());
                    }
                    Poll::Ready(NextMail::Orders) => {
                        while let Some(order) = self.mailbox.control().take() {
                            assert!(matches!(order, ControlMessage::Urgent));
                        }
                    }
                    Poll::Pending => return Poll::Pending,
                }
            }
        });
    }
}

fn histories(body: fn()) {
    shuttle::check_random(body, HISTORIES);
    shuttle::check_pct(body, HISTORIES_WITH_FEW_CHANGES, CHANGES);
}

#[test]
fn shuttle_messages_of_each_sender_are_handled_once_and_in_order() {
    histories(|| {
        let (mailbox, tally) = (mailbox(), Arc::default());
        let senders = senders(&mailbox, &tally);
        let mut reads = Reads { mailbox: &mailbox, heard: Default::default() };
        reads.run();
        let all: Vec<usize> = (0..EACH).collect();
        assert!(reads.heard.iter().all(|heard| *heard == all), "{:?}", reads.heard);
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        assert_eq!(tally.dropped.load(Ordering::SeqCst), SENDERS * EACH);
        assert_eq!(tally.refused.load(Ordering::SeqCst), 0);
    });
}

/// Each message has one outcome: it is handled, it is refused or lost, or its ask fails.
#[test]
fn shuttle_a_message_sent_while_the_actor_ends_is_handled_or_refused() {
    histories(|| {
        let (mailbox, tally) = (mailbox(), Arc::default());
        let senders = senders(&mailbox, &tally);
        let killer = {
            let mailbox = mailbox.clone();
            thread::spawn(move || mailbox.end(Reason::Killed))
        };
        let mut reads = Reads { mailbox: &mailbox, heard: Default::default() };
        reads.run();
        killer.join().unwrap();
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        let [handled, refused, dropped] = [&tally.handled, &tally.refused, &tally.dropped]
            .map(|count: &AtomicUsize| count.load(Ordering::SeqCst));
        assert_eq!((handled + refused, dropped), (SENDERS * EACH, SENDERS * EACH), "{handled}");
        let in_order = |heard: &Vec<usize>| heard.iter().copied().eq(0..heard.len());
        assert!(reads.heard.iter().all(in_order), "{:?}", reads.heard);
    });
}
