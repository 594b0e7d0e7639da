//! Interleavings of a caller that hands its call to an idle actor directly and other senders.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use loom::sync::Mutex;
use loom::thread;

use crate::mailbox::backlog::parked::Ticket;
use crate::mailbox::models::mailbox_loom::{Number, handle, mailbox, model, push};
use crate::mailbox::{Mailbox, NextMail};
use crate::scheduler::{AfterRun, TaskState};

/// An actor as a job. The thread that wakes it also runs it, as an executor would.
struct Table {
    mailbox: Arc<Mailbox<Number>>,
    task: TaskState,
    /// Locked while the actor runs, to check that it does not run on two threads at once.
    heard: Mutex<Vec<u8>>,
}

impl Wake for Table {
    fn wake(self: Arc<Table>) {
        if self.task.wake() {
            self.run();
        }
    }
}

impl Table {
    /// Returns an actor that sleeps after it has found no mail.
    fn asleep(references: usize) -> Arc<Table> {
        let mailbox = mailbox(8, references);
        let task = TaskState::asleep();
        let table = Arc::new(Table { mailbox, task, heard: Mutex::new(Vec::new()) });
        assert!(table.task.begin_asleep());
        table.work();
        assert_eq!(table.task.end(), AfterRun::Sleeps);
        table
    }

    fn run(self: &Arc<Table>) {
        while self.task.begin() {
            self.work();
            if self.task.end() != AfterRun::Again {
                return;
            }
        }
    }

    fn work(self: &Arc<Table>) {
        let mut heard = self.heard.try_lock().expect("the actor runs on one thread at a time");
        let waker = Waker::from(self.clone());
        loop {
            match self.mailbox.poll_next(&Context::from_waker(&waker), false) {
                Poll::Ready(NextMail::Call { message, only, .. }) => {
                    heard.push(message.0);
                    if only {
                        return self.mailbox.rests();
                    }
                }
                Poll::Ready(NextMail::Calls((chunk, source))) => {
                    heard.extend(handle(&self.mailbox, chunk, &source));
                }
                Poll::Ready(NextMail::Over | NextMail::Orders) => {
                    panic!("no thread ends the actor")
                }
                Poll::Pending => return,
            }
        }
    }

    /// Asks as a caller does: hands the call over if the actor sleeps, and enqueues it otherwise.
    fn ask(self: &Arc<Table>, number: u8) {
        let (mut message, mut ticket) = (Some(Number(number)), Ticket::default());
        let asleep =
            self.mailbox.push_or_find_asleep(&mut message, &mut None, &mut ticket, None).err();
        if asleep.is_some() && self.task.begin_asleep() {
            self.mailbox.works();
            self.heard
                .try_lock()
                .expect("the actor runs on one thread at a time")
                .extend(message.map(|it| it.0));
            self.mailbox.rests();
            if self.task.end() == AfterRun::Again {
                self.run();
            }
        } else if let Some(Number(number)) = message {
            push(&self.mailbox, number, None);
        }
    }
}

#[test]
fn loom_a_direct_call_and_a_sent_call_are_each_handled_once() {
    model(|| {
        let table = Table::asleep(2);
        let sender = {
            let table = table.clone();
            thread::spawn(move || drop(push(&table.mailbox, 2, None)))
        };
        table.ask(1);
        sender.join().unwrap();
        let mut heard = std::mem::take(&mut *table.heard.lock().unwrap());
        heard.sort_unstable();
        assert_eq!(heard, [1, 2]);
    });
}

/// The first caller asks twice, and its second call is handled after its first.
#[test]
fn loom_direct_calls_of_one_caller_are_handled_in_order() {
    model(|| {
        let table = Table::asleep(2);
        let other = {
            let table = table.clone();
            thread::spawn(move || {
                table.ask(1);
                table.ask(2);
            })
        };
        table.ask(3);
        other.join().unwrap();
        let heard = std::mem::take(&mut *table.heard.lock().unwrap());
        let of_one: Vec<u8> = heard.iter().copied().filter(|number| *number < 3).collect();
        assert_eq!((heard.len(), of_one), (3, vec![1, 2]), "{heard:?}");
    });
}
