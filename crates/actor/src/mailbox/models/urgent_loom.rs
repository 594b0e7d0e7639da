//! Interleavings of senders of urgent calls and the actor.

use std::task::Poll;

use crate::lifecycle::control::ControlMessage;
use crate::lifecycle::handle::AnyActor;
use crate::limits::URGENT_CALLS_MAX;
use crate::mailbox::backlog::Pushed;
use crate::mailbox::backlog::parked::Ticket;
use crate::mailbox::models::mailbox_loom::{
    Heard, Number, handle, holder, mailbox, model, push, wait,
};
use crate::mailbox::{Mailbox, NextMail};
use crate::reason::Reason;
use crate::reply::Asker;

fn push_urgent(mailbox: &Mailbox<Number>, number: u8, asker: Asker) -> Pushed {
    mailbox.push_urgent(&mut Some(Number(number)), asker, &mut Ticket::default(), None)
}

/// Sends an urgent call and waits for room.
fn send_urgent(mailbox: &Mailbox<Number>, number: u8) {
    let (mut message, mut ticket) = (Some(Number(number)), Ticket::default());
    wait(|context| {
        match mailbox.push_urgent(&mut message, None, &mut ticket, Some(context.waker())) {
            Pushed::In { .. } => Poll::Ready(()),
            Pushed::Full => Poll::Pending,
            Pushed::Refused | Pushed::Closed => panic!("no thread closes the mailbox"),
        }
    });
}

/// Takes the orders; all of them come from urgent calls.
fn obey(mailbox: &Mailbox<Number>) {
    while let Some(order) = mailbox.control().take() {
        assert!(matches!(order, ControlMessage::Urgent));
    }
}

/// Handles mail as the worker does until no reference is left: a run is broken off when there are
/// orders.
fn run(mailbox: &Mailbox<Number>) -> Vec<u8> {
    let mut heard = Vec::new();
    loop {
        match wait(|context| mailbox.poll_next(context, false)) {
            NextMail::Call { message, .. } => heard.push(message.0),
            NextMail::Calls((chunk, source)) if mailbox.control().is_marked() => {
                mailbox.put_back(chunk, &source);
            }
            NextMail::Calls((chunk, source)) => heard.extend(handle(mailbox, chunk, &source)),
            NextMail::Over => return heard,
            NextMail::Orders => obey(mailbox),
        }
    }
}

/// The urgent call arrives while the actor sleeps, is awake, or handles a run.
#[test]
fn loom_an_urgent_call_among_others_is_handled_once() {
    model(|| {
        let mailbox = mailbox(8, 2);
        push(&mailbox, 1, None);
        push(&mailbox, 2, None);
        let ordinary = holder(&mailbox, |mailbox| drop(push(mailbox, 3, None)));
        let urgent = holder(&mailbox, |mailbox| drop(push_urgent(mailbox, 9, None)));
        let heard = run(&mailbox);
        let ordinary_ones: Vec<u8> = heard.iter().copied().filter(|one| *one != 9).collect();
        assert_eq!((heard.len(), &*ordinary_ones), (4, &[1, 2, 3][..]), "{heard:?}");
        ordinary.join().unwrap();
        urgent.join().unwrap();
    });
}

#[test]
fn loom_a_sleeping_actor_is_woken_by_urgent_mail() {
    model(|| {
        let mailbox = mailbox(8, 1);
        let urgent = holder(&mailbox, |mailbox| {
            push_urgent(mailbox, 1, None);
            push_urgent(mailbox, 2, None);
        });
        assert_eq!(run(&mailbox), [1, 2]);
        urgent.join().unwrap();
    });
}

/// When an ordinary and an urgent call wait, the urgent one is next, even if another ordinary call
/// arrives at the same moment.
#[test]
fn loom_an_urgent_call_goes_before_a_call_that_waits() {
    model(|| {
        let mailbox = mailbox(8, 1);
        push(&mailbox, 1, None);
        push_urgent(&mailbox, 9, None);
        let ordinary = holder(&mailbox, |mailbox| drop(push(mailbox, 2, None)));
        assert_eq!(run(&mailbox), [9, 1, 2]);
        ordinary.join().unwrap();
    });
}

/// A run is put back while an urgent call arrives. The next call is the urgent one, or, if the run
/// was taken again before it arrived, one of the run. Afterwards the run continues where it was.
#[test]
fn loom_a_run_continues_after_the_urgent_call_that_broke_it_off() {
    model(|| {
        let mailbox = mailbox(8, 1);
        (0..3).for_each(|number| drop(push(&mailbox, number, None)));
        assert!(matches!(wait(|context| mailbox.poll_next(context, false)), NextMail::Call { .. }));
        let NextMail::Calls((chunk, source)) = wait(|context| mailbox.poll_next(context, false))
        else {
            panic!("a run waits");
        };
        let urgent = holder(&mailbox, |mailbox| drop(push_urgent(mailbox, 9, None)));
        let marked = mailbox.control().is_marked();
        mailbox.put_back(chunk, &source);
        let heard = run(&mailbox);
        assert!(heard == [9, 1, 2] || heard == [1, 2, 9] && !marked, "{heard:?}, marked: {marked}");
        urgent.join().unwrap();
    });
}

#[test]
fn loom_a_parked_urgent_call_gets_room() {
    model(|| {
        let mailbox = mailbox(8, 1);
        (0..URGENT_CALLS_MAX).for_each(|_| drop(push_urgent(&mailbox, 1, None)));
        assert!(matches!(push_urgent(&mailbox, 1, None), Pushed::Full));
        let parked = holder(&mailbox, |mailbox| send_urgent(mailbox, 2));
        let heard = run(&mailbox);
        assert_eq!((heard.len(), heard.last()), (URGENT_CALLS_MAX + 1, Some(&2)));
        parked.join().unwrap();
    });
}

#[test]
fn loom_an_urgent_asker_whose_actor_is_killed_is_notified_once() {
    model(|| {
        let mailbox = mailbox(8, 1);
        let heard = Heard::new();
        let asking = {
            let (mailbox, asker) = (mailbox.clone(), heard.asker());
            loom::thread::spawn(move || matches!(push_urgent(&mailbox, 1, asker), Pushed::Closed))
        };
        mailbox.clone().end(Reason::Killed);
        let refused = asking.join().unwrap();
        assert_eq!(heard.times(), u32::from(!refused), "refused at once: {refused}");
    });
}
