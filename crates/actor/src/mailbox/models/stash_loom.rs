//! Interleavings of an actor that stashes calls and the end of the actor: each call ends once.

use std::sync::Arc;

use loom::thread;

use crate::error::CallErrorKind;
use crate::lifecycle::handle::AnyActor;
use crate::mailbox::Mailbox;
use crate::mailbox::models::mailbox_loom::{Heard, Number, mailbox, model};
use crate::mailbox::taking::stash::Stashed;
use crate::reason::Reason;
use crate::reply::{Reply, ReplySlot};

fn asked(mailbox: &Mailbox<Number>, number: u8, heard: &Arc<Heard>) -> Option<Stashed<Number>> {
    let reply = Reply::new(ReplySlot::Local(heard.clone()), None);
    Some(Stashed { call: Some((Number(number), reply)), origin: mailbox.origin(), owner: None })
}

/// Spawns a thread that kills the actor.
fn killer(mailbox: &Arc<Mailbox<Number>>) -> thread::JoinHandle<()> {
    let mailbox = mailbox.clone();
    thread::spawn(move || mailbox.end(Reason::Killed))
}

#[test]
fn loom_a_call_stashed_while_the_actor_is_killed_ends_once() {
    model(|| {
        let mailbox = mailbox(8, 1);
        let heard = Heard::new();
        let killer = killer(&mailbox);
        let mut call = asked(&mailbox, 1, &heard);
        let refused = mailbox.stash(&mut call);
        assert_eq!(
            refused.is_err(),
            call.is_some(),
            "the call is stashed, or left with the caller"
        );
        if let Err(kind) = refused {
            assert_eq!(kind, CallErrorKind::ActorStopped);
            assert_eq!(heard.times(), 0);
        }
        drop(call);
        killer.join().unwrap();
        assert_eq!(heard.times(), 1);
    });
}

/// The actor takes out its stashed calls, to handle them, while it is killed.
#[test]
fn loom_stashed_calls_taken_out_while_the_actor_is_killed_end_once() {
    model(|| {
        let mailbox = mailbox(8, 1);
        let heard = [Heard::new(), Heard::new()];
        for (number, heard) in (0..).zip(&heard) {
            assert!(mailbox.stash(&mut asked(&mailbox, number, heard)).is_ok());
        }
        let killer = killer(&mailbox);
        let taken = mailbox.take_stash();
        assert!(matches!(taken.len(), 0 | 2), "all calls are taken, or none");
        assert_eq!(mailbox.stashed(), 0);
        let handled = taken.len();
        for stashed in taken {
            let (_, mut reply, ..) = stashed.begin().expect("the asker still waits");
            reply.fail(CallErrorKind::Cancelled, "");
        }
        killer.join().unwrap();
        assert!(heard.iter().all(|heard| heard.times() == 1), "{handled} calls were handled");
        assert_eq!(mailbox.stashed(), 0);
    });
}
