//! Panics in destructors, and ends that go along a chain of links.

use wigwag::lifecycle::Alive;
use wigwag::supervise::{Child, Strategy, Supervisor};
use wigwag::{Actor, Reason, This};

use super::*;

/// Its destructor panics.
struct Fragile;

impl Drop for Fragile {
    fn drop(&mut self) {
        // A panic during the unwinding of another one would abort the process.
        if !std::thread::panicking() {
            panic!("the state is broken");
        }
    }
}

struct Vase {
    _fragile: Fragile,
    touched: u64,
}

fn vase() -> Vase {
    Vase { _fragile: Fragile, touched: 0 }
}

#[wigwag::actor]
impl Vase {
    pub fn touch(&mut self) -> u64 {
        self.touched += 1;
        self.touched
    }

    pub fn fall(&mut self) {
        panic!("it has fallen");
    }

    pub async fn hang(&mut self) {
        let _fragile = Fragile;
        std::future::pending().await
    }
}

#[tokio::test]
async fn an_actor_ends_for_the_panic_of_its_destructor_or_for_the_failure_before_it() {
    let broken = Reason::Panicked("the state is broken".into());
    let unreferenced = vase().spawn();
    let ended = unreferenced.handle().unwrap();
    drop(unreferenced);
    assert_eq!(timeout(PATIENCE, ended.ended()).await.unwrap(), broken);

    let stopped = vase().spawn();
    stopped.handle().unwrap().stop();
    assert_eq!(timeout(PATIENCE, stopped.handle().unwrap().ended()).await.unwrap(), broken);

    let fallen = vase().spawn();
    fallen.fall().tell().await.unwrap();
    let reason = timeout(PATIENCE, fallen.handle().unwrap().ended()).await.unwrap();
    assert_eq!(reason, Reason::Panicked("it has fallen".into()));

    let killed = vase().spawn();
    killed.hang().tell().await.unwrap();
    killed.handle().unwrap().kill();
    assert_eq!(timeout(PATIENCE, killed.handle().unwrap().ended()).await.unwrap(), Reason::Killed);
}

#[tokio::test]
async fn a_child_whose_destructor_panics_is_restarted_behind_the_same_reference() {
    let supervisor = Supervisor::new(Strategy::OneForOne).child(Child::new("vase", vase));
    let supervisor = supervisor.start().await.unwrap();
    let child = supervisor.child::<Vase>("vase").await.unwrap().unwrap();
    assert_eq!(child.touch().ask().await.unwrap(), 1);
    let error = child.fall().ask().await.unwrap_err();
    assert_eq!(error.kind(), CallErrorKind::Panicked);
    assert_eq!(timeout(PATIENCE, child.touch().ask()).await.unwrap().unwrap(), 1);
}

/// A member of a chain.
struct Member(Option<MemberRef>);

#[wigwag::actor]
impl Member {
    pub fn link(&mut self, this: &This<Self>) {
        if let Some(next) = &self.0 {
            this.link(&next.handle().unwrap()).unwrap();
        }
    }

    pub fn fail(&mut self) {
        panic!("the first has failed");
    }
}

/// A reason that held one for each link would overflow the stack of what prints or drops it.
#[tokio::test]
async fn the_last_of_a_long_chain_of_links_ends_for_the_reason_of_the_first() {
    let mut members: Vec<MemberRef> = Vec::new();
    for _ in 0..30_000 {
        let next = members.last().cloned();
        members.push(Member(next).spawn());
    }
    for member in &members {
        member.link().ask().await.unwrap();
    }
    members[0].fail().tell().await.unwrap();
    let last = members.last().unwrap().handle().unwrap();
    let reason = timeout(PATIENCE, last.ended()).await.unwrap();
    let first = Reason::Panicked("the first has failed".into());
    assert_eq!(reason, Reason::Linked(Arc::new(first)));
    let text = "an actor that it is linked to ended: it panicked: the first has failed";
    assert_eq!(reason.to_string(), text);
}
