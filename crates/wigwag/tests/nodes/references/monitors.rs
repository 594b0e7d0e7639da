//! Actors of other processes are monitored, and their end is told with its reason.

use std::time::Duration;

use tokio::sync::mpsc;
use wigwag::lifecycle::{Alive, Down, Monitor};
use wigwag::session::SessionChange;
use wigwag::{Actor, Life, Local, Node, NodeOptions, Reason, This};
use wigwag_testkit::relay::{Fault, Relay};

use super::PATIENCE;

/// Monitors members, and passes on what it is told of them.
struct Host {
    downs: mpsc::UnboundedSender<Down>,
    members: Vec<MemberRef>,
}

fn host(downs: mpsc::UnboundedSender<Down>) -> HostRef {
    Host { downs, members: Vec::new() }.spawn()
}

#[wigwag::actor(life)]
impl Host {
    pub async fn watch(&mut self, member: MemberRef, this: &This<Self>) {
        this.monitor_ref(&member).unwrap();
        // The interface is another one, so the reference is attached after a round trip.
        assert_eq!(member.name().ask().await.unwrap(), "guest");
        self.members.push(member);
    }

    pub fn watch_briefly(&mut self, member: MemberRef, this: &This<Self>) {
        let monitor = this.monitor_ref(&member).unwrap();
        this.demonitor_ref(monitor, &member);
        self.members.push(member);
    }

    pub fn watch_here(&mut self, member: Local<MemberRef>, this: &This<Self>) -> Local<Monitor> {
        Local(this.monitor_ref(&member.0).unwrap())
    }
}

impl Life for Host {
    fn down(&mut self, _: &This<Host>, down: Down) {
        let _ = self.downs.send(down);
    }
}

/// An actor that ends in several ways.
#[derive(Default)]
struct Guest;

#[wigwag::actor]
impl Guest {
    pub fn heard(&mut self, text: String) {
        drop(text);
    }

    pub fn name(&self) -> String {
        "guest".to_owned()
    }

    pub fn fail(&self) {
        panic!("the guest has failed");
    }
}

#[wigwag::actor]
trait Member {
    fn heard(&mut self, text: String);
    fn name(&self) -> String;
}

type Downs = mpsc::UnboundedReceiver<Down>;

struct Stage {
    service: Node,
    client: Node,
    host: HostRef,
    relay: Relay,
    downs: Downs,
}

async fn stage() -> Stage {
    let options = || NodeOptions::default().keep_sessions(Duration::from_secs(1));
    let (service, client) = (Node::with(options()), Node::with(options().name("client")));
    let (says, downs) = mpsc::unbounded_channel();
    service.export("host", &host(says)).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let relay = Relay::to(bound.rest()).await;
    let host = client.actor::<Host>(&format!("{}/host", relay.address)).await.unwrap();
    Stage { service, client, host, relay, downs }
}

fn guest() -> (GuestRef, MemberRef) {
    let guest = Guest.spawn();
    let member = MemberRef::from(&guest);
    (guest, member)
}

async fn reason(downs: &mut Downs) -> Reason {
    let down = tokio::time::timeout(PATIENCE, downs.recv()).await.unwrap().unwrap();
    assert!(down.actor.is_none(), "it lives in another process");
    assert!(down.target.contains("reference-"), "{}", down.target);
    assert_eq!(down.peer.unwrap().node.as_deref(), Some("client"));
    down.reason
}

#[tokio::test]
async fn the_end_of_an_actor_of_another_process_is_told_with_its_reason() {
    let Stage { service: _service, client: _client, host, relay: _relay, mut downs } =
        stage().await;
    let (guest, member) = guest();
    host.watch(member.clone()).ask().await.unwrap();
    host.watch_briefly(member).ask().await.unwrap();
    guest.handle().unwrap().stop();
    assert_eq!(reason(&mut downs).await, Reason::Shutdown);

    let (killed, member) = self::guest();
    host.watch(member).ask().await.unwrap();
    killed.handle().unwrap().kill();
    assert_eq!(reason(&mut downs).await, Reason::Killed);

    let (failing, member) = self::guest();
    host.watch(member).ask().await.unwrap();
    failing.fail().tell().await.unwrap();
    assert_eq!(reason(&mut downs).await, Reason::Panicked("the guest has failed".into()));
    assert!(downs.try_recv().is_err(), "a monitor that was removed is not told");
}

#[tokio::test]
async fn a_monitor_ends_in_silence_with_the_last_reference() {
    let (says, mut downs) = mpsc::unbounded_channel();
    let host = host(says);
    let (client, service) = (Node::new(), Node::new());
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let (brief, member) = guest();
    let handle = brief.handle().unwrap();
    service.export("brief", &member).unwrap();
    let there = client.actor::<MemberInterface>(&format!("{bound}/brief")).await.unwrap();
    drop((brief, member));
    service.withdraw("brief");
    // The host keeps no reference, and nothing else keeps the actor alive.
    host.watch_here(Local(there)).ask().await.unwrap();
    assert_eq!(tokio::time::timeout(PATIENCE, handle.ended()).await.unwrap(), Reason::Normal);
    // The answer to the end of the channel goes before these calls.
    let (stopping, member) = guest();
    service.export("stopping", &member).unwrap();
    let there = client.actor::<MemberInterface>(&format!("{bound}/stopping")).await.unwrap();
    let monitor = host.watch_here(Local(there.clone())).ask().await.unwrap();
    stopping.handle().unwrap().stop();
    let down = tokio::time::timeout(PATIENCE, downs.recv()).await.unwrap().unwrap();
    assert_eq!((down.monitor, down.reason), (monitor.0, Reason::Shutdown));
    assert!(downs.try_recv().is_err(), "a monitor was told twice");
}

#[tokio::test]
async fn a_client_that_leaves_and_one_that_vanishes_are_told_apart() {
    let Stage { service, client, host, relay: _relay, mut downs } = stage().await;
    let mut events = service.session_events();
    let (_guest, member) = guest();
    host.watch(member).ask().await.unwrap();
    client.close(PATIENCE).await;
    assert_eq!(reason(&mut downs).await, Reason::NodeClosed);
    let closed = async |events: &mut wigwag::session::SessionEvents| loop {
        if let SessionChange::Ended { closed, .. } = events.next().await.unwrap().what {
            return closed;
        }
    };
    assert!(closed(&mut events).await);

    let Stage { service, client: _client, host, relay, mut downs } = stage().await;
    let mut events = service.session_events();
    let (_guest, member) = guest();
    host.watch(member).ask().await.unwrap();
    relay.lead_to("127.0.0.1:1");
    relay.strike(Fault::End);
    assert!(matches!(reason(&mut downs).await, Reason::Unreachable(_)));
    assert!(!closed(&mut events).await);
}

#[tokio::test]
async fn an_actor_that_has_ended_is_told_at_once() {
    let (says, mut downs) = mpsc::unbounded_channel();
    let host = host(says);
    let (client, service) = (Node::new(), Node::new());
    let (guest, member) = guest();
    service.export("guest", &member).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = client.actor::<MemberInterface>(&format!("{bound}/guest")).await.unwrap();
    guest.handle().unwrap().kill();
    while there.name().ask().await.is_ok() {}
    let monitor = host.watch_here(Local(there)).ask().await.unwrap();
    let down = tokio::time::timeout(PATIENCE, downs.recv()).await.unwrap().unwrap();
    assert_eq!((down.monitor, down.reason), (monitor.0, Reason::Killed));
    // Of this process.
    let (guest, member) = self::guest();
    let monitor = host.watch_here(Local(member)).ask().await.unwrap();
    guest.handle().unwrap().stop();
    let down = tokio::time::timeout(PATIENCE, downs.recv()).await.unwrap().unwrap();
    assert_eq!((down.monitor, down.reason), (monitor.0, Reason::Shutdown));
    assert!(down.actor.is_some());
}
