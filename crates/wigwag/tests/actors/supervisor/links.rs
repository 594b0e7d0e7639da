//! The links of a supervised actor belong to the actor, over its restarts.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::mpsc::{UnboundedSender, error::TryRecvError, unbounded_channel};
use wigwag::lifecycle::{Alive, Exit};
use wigwag::supervise::{Child, Strategy, Supervisor};
use wigwag::{Actor, Handle, Life, Local, Reason, This};

use wigwag_testkit::ledger::in_time;

const LIMIT: std::time::Duration = std::time::Duration::from_secs(60);

/// Says which of its lives was told of an exit, and with which reason.
struct Partner {
    life: u32,
    says: UnboundedSender<(u32, Reason)>,
}

#[wigwag::actor(life)]
impl Partner {
    pub fn link(&self, this: &This<Self>, other: Local<Handle>) {
        this.link(&other.0).unwrap();
    }

    pub fn panic(&self) {
        panic!("on purpose");
    }

    pub fn nothing(&self) {}
}

impl Life for Partner {
    fn exited(&mut self, _: &This<Partner>, exit: Exit) -> Result<(), Reason> {
        let _ = self.says.send((self.life, exit.reason));
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_outlives_the_restarts_of_its_actor_and_ends_with_the_last_of_its_lives() {
    let (says, mut heard) = unbounded_channel();
    let (says_of_child, lives) = (says.clone(), AtomicU32::new(0));
    let child = Child::new("partner", move || {
        let life = 1 + lives.fetch_add(1, Ordering::Relaxed);
        Partner { life, says: says_of_child.clone() }
    });
    let tree = Supervisor::new(Strategy::OneForOne).child(child).intensity(3, LIMIT);
    let tree = tree.start().await.unwrap();
    let partner = tree.child::<Partner>("partner").await.unwrap().unwrap();
    let (first, second) =
        (Partner { life: 101, says: says.clone() }.spawn(), Partner { life: 102, says }.spawn());
    for other in [&first, &second] {
        partner.link(Local(other.handle().unwrap())).ask().await.unwrap();
    }

    for _ in 0..3 {
        partner.panic().tell().await.unwrap();
        partner.nothing().ask().await.unwrap();
    }
    for other in [&first, &second] {
        other.nothing().ask().await.unwrap();
    }
    assert_eq!(heard.try_recv(), Err(TryRecvError::Empty), "a restart is no end");

    first.handle().unwrap().stop_with(Reason::failed("at the other end"));
    let (life, reason) = in_time(LIMIT, heard.recv()).await.unwrap();
    assert_eq!((life, reason.to_string().contains("at the other end")), (4, true), "{reason}");

    // The supervisor gives up.
    partner.panic().tell().await.unwrap();
    let (life, reason) = in_time(LIMIT, heard.recv()).await.unwrap();
    assert_eq!((life, reason.to_string().contains("on purpose")), (102, true), "{reason}");
    tree.handle().unwrap().ended().await;
    assert!(heard.try_recv().is_err());
}
