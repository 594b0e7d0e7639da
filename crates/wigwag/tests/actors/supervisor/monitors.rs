//! The monitors that a supervised actor has set end with the life that has set them.

use tokio::sync::mpsc::{UnboundedSender, error::TryRecvError, unbounded_channel};
use wigwag::lifecycle::{Alive, Down, Monitor};
use wigwag::supervise::{Child, Strategy, Supervisor};
use wigwag::{Actor, Handle, Life, Reason, This};

use wigwag_testkit::ledger::in_time;

const LIMIT: std::time::Duration = std::time::Duration::from_secs(60);

struct Watched;

#[wigwag::actor]
impl Watched {
    pub fn nothing(&self) {}
}

/// Monitors an actor from the start of each of its lives, and reports whose monitor fires.
#[derive(Clone)]
struct Guard {
    watched: Handle,
    own: Option<Monitor>,
    says: UnboundedSender<bool>,
}

#[wigwag::actor(life)]
impl Guard {
    pub fn panic(&self) {
        panic!("on purpose");
    }

    pub fn nothing(&self) {}
}

impl Life for Guard {
    async fn started(&mut self, this: &This<Guard>) -> Result<(), Reason> {
        self.own = Some(this.monitor(&self.watched).map_err(Reason::failed)?);
        Ok(())
    }

    fn down(&mut self, _: &This<Guard>, down: Down) {
        let _ = self.says.send(Some(down.monitor) == self.own);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn monitors_end_with_each_life_of_a_supervised_actor() {
    let (says, mut heard) = unbounded_channel();
    let watched = Watched.spawn();
    let watched = watched.handle().unwrap();
    let guard = Guard { watched: watched.clone(), own: None, says };
    let child = Child::new("guard", move || guard.clone());
    let tree = Supervisor::new(Strategy::OneForOne).child(child).intensity(5, LIMIT);
    let tree = tree.start().await.unwrap();
    let guard = tree.child::<Guard>("guard").await.unwrap().unwrap();

    for _ in 0..4 {
        guard.panic().tell().await.unwrap();
        guard.nothing().ask().await.unwrap();
    }
    watched.stop();
    assert_eq!(in_time(LIMIT, heard.recv()).await, Some(true));
    watched.ended().await;
    guard.nothing().ask().await.unwrap();
    assert_eq!(heard.try_recv(), Err(TryRecvError::Empty));

    // The next life is told that the actor has ended already.
    guard.panic().tell().await.unwrap();
    assert_eq!(in_time(LIMIT, heard.recv()).await, Some(true));
    guard.nothing().ask().await.unwrap();
    assert_eq!(heard.try_recv(), Err(TryRecvError::Empty));
    let tree = tree.handle().unwrap();
    tree.stop();
    tree.ended().await;
}
