//! Interleavings of senders, control mail, the end of the actor, and the actor itself at a mailbox.
//!
//! A waiting thread of a model sleeps until it is woken, and loom fails a model in which all
//! threads sleep, so each model shows that no wake is lost. The models try every interleaving up to
//! a number of preemptions; longer histories are sampled (`mailbox_shuttle`).

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use loom::sync::Notify;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread::{self, JoinHandle};
use wigwag_wire::{Buffer, DecodeError, Reader};

use crate::error::CallErrorKind;
use crate::lifecycle::control::{Control, ControlMessage};
use crate::lifecycle::handle::AnyActor;
use crate::mailbox::backlog::Pushed;
use crate::mailbox::backlog::chunk::Chunk;
use crate::mailbox::backlog::parked::Ticket;
use crate::mailbox::ready_queues::Source;
use crate::mailbox::{Mailbox, NextMail};
use crate::message::Message;
use crate::options::WhenFull;
use crate::reason::Reason;
use crate::reply::{Asker, LocalReply};
use crate::schema::Schema;

/// The number of times that a thread is preempted, as loom advises: with it, all models together
/// take less than a minute.
const PREEMPTIONS_MAX: usize = 2;

pub(crate) fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS_MAX);
    builder.check(body);
}

static SCHEMA: Schema = Schema::new("Model", &[]);

#[derive(Debug, PartialEq)]
pub(crate) struct Number(pub(crate) u8);

impl Message for Number {
    fn method(&self) -> u32 {
        0
    }

    fn encode_arguments(&self, _: &mut Buffer) {}

    fn decode(_: u32, _: &mut Reader<'_>) -> Result<Option<Number>, DecodeError> {
        Ok(None)
    }
}

/// Wakes a thread of the model from one sleep only. Loom's `unpark` would also wake a thread that
/// sleeps for another reason.
struct Bell(Notify);

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        self.0.notify();
    }
}

/// Polls until the result is ready, and sleeps between two polls until woken.
pub(crate) fn wait<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    let bell = Arc::new(Bell(Notify::new()));
    let waker = Waker::from(bell.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(ready) = poll(&mut context) {
            return ready;
        }
        bell.0.wait();
    }
}

/// Counts the failures or wakes that an asker or a watcher receives.
pub(crate) struct Heard(AtomicU32);

impl Heard {
    pub(crate) fn new() -> Arc<Heard> {
        Arc::new(Heard(AtomicU32::new(0)))
    }

    pub(crate) fn times(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn asker(self: &Arc<Heard>) -> Asker {
        Some(self.clone())
    }
}

impl LocalReply for Heard {
    fn is_awaited(&self) -> bool {
        true
    }

    fn fail(&self, _: CallErrorKind, _: Option<&str>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Wake for Heard {
    fn wake(self: Arc<Heard>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Returns a mailbox with the given number of references.
pub(crate) fn mailbox(capacity: usize, references: usize) -> Arc<Mailbox<Number>> {
    let mailbox = Arc::new(Mailbox::new(&SCHEMA, capacity, WhenFull::Wait));
    (0..references).for_each(|_| mailbox.refer());
    mailbox
}

pub(crate) fn push(mailbox: &Mailbox<Number>, number: u8, asker: Asker) -> Pushed {
    mailbox.push(&mut Some(Number(number)), asker, &mut Ticket::default(), None)
}

/// Sends a message and waits for room.
fn send(mailbox: &Mailbox<Number>, number: u8) {
    let (mut message, mut ticket) = (Some(Number(number)), Ticket::default());
    wait(|context| match mailbox.push(&mut message, None, &mut ticket, Some(context.waker())) {
        Pushed::In { .. } => Poll::Ready(()),
        Pushed::Full => Poll::Pending,
        Pushed::Refused | Pushed::Closed => panic!("no thread closes the mailbox"),
    });
}

/// Spawns a thread that holds a reference while it does its work, and releases it then.
pub(crate) fn holder(
    mailbox: &Arc<Mailbox<Number>>,
    work: impl FnOnce(&Mailbox<Number>) + 'static,
) -> JoinHandle<()> {
    let mailbox = mailbox.clone();
    thread::spawn(move || {
        work(&mailbox);
        mailbox.release();
    })
}

/// Handles the messages of a chunk, returns their numbers, and gives the chunk back.
pub(crate) fn handle(
    mailbox: &Mailbox<Number>,
    mut chunk: Chunk<Number>,
    source: &Source<Number>,
) -> Vec<u8> {
    let Chunk::Mails(mails) = &mut chunk else { panic!("the chunk holds mails of local senders") };
    let numbers = mails.drain().map(|(number, _)| number.0).collect();
    mailbox.give_back(chunk, source);
    numbers
}

/// Handles mail until no reference is left, and returns the numbers. After an `only` call it sleeps
/// without another poll, as an actor does.
fn run(mailbox: &Mailbox<Number>) -> Vec<u8> {
    let mut heard = Vec::new();
    wait(|context| {
        loop {
            match mailbox.poll_next(context, false) {
                Poll::Ready(NextMail::Call { message, only, .. }) => {
                    heard.push(message.0);
                    if only {
                        mailbox.rests();
                        return Poll::Pending;
                    }
                }
                Poll::Ready(NextMail::Calls((chunk, source))) => {
                    heard.extend(handle(mailbox, chunk, &source));
                }
                Poll::Ready(NextMail::Over) => return Poll::Ready(()),
                Poll::Ready(NextMail::Orders) => panic!("no thread gives orders"),
                Poll::Pending => return Poll::Pending,
            }
        }
    });
    heard
}

#[test]
fn loom_a_sleeping_actor_is_woken_by_mail_and_by_the_last_release() {
    model(|| {
        let mailbox = mailbox(8, 1);
        let sender = holder(&mailbox, |mailbox| {
            push(mailbox, 1, None);
            push(mailbox, 2, None);
        });
        assert_eq!(run(&mailbox), [1, 2]);
        sender.join().unwrap();
    });
}

#[test]
fn loom_messages_of_two_senders_are_handled_once_each() {
    model(|| {
        let mailbox = mailbox(8, 2);
        let senders =
            [1, 2].map(|number| holder(&mailbox, move |mailbox| drop(push(mailbox, number, None))));
        let mut heard = run(&mailbox);
        heard.sort_unstable();
        assert_eq!(heard, [1, 2]);
        senders.into_iter().for_each(|sender| sender.join().unwrap());
    });
}

#[test]
fn loom_a_sleeping_actor_is_woken_by_an_order() {
    model(|| {
        let mailbox = mailbox(8, 1);
        let giver = {
            let mailbox = mailbox.clone();
            thread::spawn(move || assert!(mailbox.order(ControlMessage::Stop(Reason::Shutdown))))
        };
        assert!(matches!(wait(|context| mailbox.poll_next(context, false)), NextMail::Orders));
        assert!(matches!(mailbox.control().take(), Some(ControlMessage::Stop(_))));
        assert!(mailbox.control().take().is_none());
        giver.join().unwrap();
    });
}

#[test]
fn loom_an_order_wakes_an_actor_in_an_async_handler() {
    model(|| {
        let control = Arc::new(Control::new());
        let giver = {
            let control = control.clone();
            thread::spawn(move || assert!(control.order(ControlMessage::Stop(Reason::Shutdown))))
        };
        let registered = |context: &mut Context<'_>| control.register(context);
        wait(|context| if registered(context) { Poll::Ready(()) } else { Poll::Pending });
        assert!(matches!(control.take(), Some(ControlMessage::Stop(_))));
        giver.join().unwrap();
    });
}

#[test]
fn loom_a_parked_sender_gets_room() {
    model(|| {
        let mailbox = mailbox(1, 1);
        push(&mailbox, 1, None);
        let sender = holder(&mailbox, |mailbox| send(mailbox, 2));
        assert_eq!(run(&mailbox), [1, 2]);
        sender.join().unwrap();
    });
}

/// The first of two parked senders gives up, before or after its place is free: the second gets the
/// place.
#[test]
fn loom_a_sender_that_gives_up_leaves_its_place_to_the_next() {
    model(|| {
        let mailbox = mailbox(1, 1);
        push(&mailbox, 1, None);
        let mut ticket = Ticket::default();
        let mut message = Some(Number(9));
        let full = mailbox.push(&mut message, None, &mut ticket, Some(Waker::noop()));
        assert!(matches!(full, Pushed::Full));
        let second = holder(&mailbox, |mailbox| send(mailbox, 2));
        let first = {
            let mailbox = mailbox.clone();
            thread::spawn(move || mailbox.leave(&mut ticket))
        };
        assert_eq!(run(&mailbox), [1, 2]);
        first.join().unwrap();
        second.join().unwrap();
    });
}

#[test]
fn loom_an_asker_whose_actor_is_killed_is_notified_once() {
    model(|| {
        let mailbox = mailbox(8, 1);
        let heard = Heard::new();
        let asking = {
            let (mailbox, asker) = (mailbox.clone(), heard.asker());
            thread::spawn(move || matches!(push(&mailbox, 1, asker), Pushed::Closed))
        };
        mailbox.clone().end(Reason::Killed);
        let refused = asking.join().unwrap();
        assert_eq!(heard.times(), u32::from(!refused), "refused at once: {refused}");
    });
}

#[test]
fn loom_a_call_put_back_while_the_actor_is_killed_is_answered_once() {
    model(|| {
        let mailbox = mailbox(8, 1);
        let heard = Heard::new();
        push(&mailbox, 1, None);
        push(&mailbox, 2, heard.asker());
        assert!(matches!(wait(|context| mailbox.poll_next(context, false)), NextMail::Call { .. }));
        let NextMail::Calls((chunk, source)) = wait(|context| mailbox.poll_next(context, false))
        else {
            panic!("there is a call");
        };
        let killer = {
            let mailbox = mailbox.clone();
            thread::spawn(move || mailbox.end(Reason::Killed))
        };
        mailbox.put_back(chunk, &source);
        killer.join().unwrap();
        assert_eq!(heard.times(), 1);
    });
}

#[test]
fn loom_a_task_that_waits_for_the_end_is_woken_once() {
    model(|| {
        let mailbox = mailbox(8, 1);
        let heard = Heard::new();
        let enders = [Reason::Killed, Reason::Normal].map(|reason| {
            let mailbox = mailbox.clone();
            thread::spawn(move || mailbox.end(reason))
        });
        let ended = mailbox.control().poll_end(1, &Waker::from(heard.clone()));
        enders.into_iter().for_each(|ender| ender.join().unwrap());
        assert_eq!(heard.times() + u32::from(ended.is_ready()), 1);
    });
}

/// A thread creates a reference while the last one is released: its call is handled, refused, or
/// failed by the end.
#[test]
fn loom_a_new_reference_beside_the_last_release_leaves_no_asker_waiting() {
    model(|| {
        let mailbox = mailbox(8, 1);
        let heard = Heard::new();
        let last = holder(&mailbox, |_| {});
        let new = {
            let (mailbox, asker) = (mailbox.clone(), heard.asker());
            thread::spawn(move || {
                mailbox.refer();
                let pushed = push(&mailbox, 1, asker);
                mailbox.release();
                matches!(pushed, Pushed::Closed)
            })
        };
        let handled = run(&mailbox).len();
        mailbox.clone().end(Reason::Normal);
        last.join().unwrap();
        let refused = new.join().unwrap();
        let failed = usize::try_from(heard.times()).unwrap();
        assert_eq!(handled + failed + usize::from(refused), 1);
    });
}
