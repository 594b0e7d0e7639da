//! A reference to an actor of a third node.

use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use wigwag::lifecycle::Alive;
use wigwag::transport::{
    Boxed, Connection, DialOptions, HttpEndpoint, ListenOptions, Listener, NetError, WsDialOptions,
};
use wigwag::{Actor, ActorOptions, Address, CallErrorKind, Node, NodeOptions};
use wigwag_testkit::ledger::in_time;

use super::{PATIENCE, Room, member, next, node, room_at};

/// Calls that wait at a relay in front of an actor that takes one.
const TOLD: usize = 40;

#[tokio::test]
async fn a_reference_to_an_actor_of_a_third_node_goes_direct() {
    // The first client has a member that listens nowhere; the third node has one that can be reached.
    let (_service, _, url) = room_at("tcp://127.0.0.1:0").await;
    let third = node();
    let bound = third.listen("tcp://127.0.0.1:0").await.unwrap();
    let (ann, mut heard) = member("ann");
    third.export("ann", &ann).unwrap();
    drop(ann);
    let client = node();
    let room = client.actor::<Room>(&url).await.unwrap();
    let ann = client.actor::<super::Member>(&format!("{bound}/ann")).await.unwrap();
    assert_eq!(room.join_all(Vec::new(), Some(ann.clone())).ask().await.unwrap(), 1);
    assert_eq!(room.say("direct".to_owned()).timeout(PATIENCE).ask().await.unwrap(), 1);
    assert_eq!(next(&mut heard).await.as_deref(), Some("direct"));
    // Without the node that gave it.
    drop(ann);
    client.close(PATIENCE).await;
    drop(client);
    let other = node();
    let room = other.actor::<Room>(&url).await.unwrap();
    assert_eq!(room.say("still".to_owned()).timeout(PATIENCE).ask().await.unwrap(), 1);
    assert_eq!(next(&mut heard).await.as_deref(), Some("still"));
    // And on to a fourth one.
    let members = room.members().ask().await.unwrap();
    assert_eq!(members[0].name().timeout(PATIENCE).ask().await.unwrap(), "ann");
    third.withdraw("ann");
    room.leave_all().ask().await.unwrap();
    drop(members);
    assert_eq!(next(&mut heard).await, None, "nobody holds it");
}

/// Makes a member each time, and keeps none.
struct Nursery;

#[wigwag::actor]
impl Nursery {
    pub fn fresh(&self) -> super::MemberRef {
        member("new").0
    }
}

/// Passes on what the nursery of another node has made, and keeps nothing of it.
struct Agency(NurseryRef);

#[wigwag::actor]
impl Agency {
    pub async fn fresh(&mut self) -> Option<super::MemberRef> {
        self.0.fresh().ask().await.ok()
    }
}

/// The node between lets the actor go as soon as the receiver does, which must be later than the
/// receiver's own channel to it is open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_actor_that_only_its_last_receiver_knows_is_alive() {
    let (nursery, agency, client) = (node(), node(), node());
    nursery.export("nursery", &Nursery.spawn()).unwrap();
    let bound = nursery.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = agency.actor::<Nursery>(&format!("{bound}/nursery")).await.unwrap();
    agency.export("agency", &Agency(there).spawn()).unwrap();
    let bound = agency.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = client.actor::<Agency>(&format!("{bound}/agency")).await.unwrap();
    for round in 0..200 {
        let fresh = there.fresh().timeout(PATIENCE).ask().await.unwrap().unwrap();
        match fresh.name().timeout(PATIENCE).ask().await {
            Ok(name) => assert_eq!(name, "new"),
            Err(error) => panic!("in round {round}: {}", error.error()),
        }
    }
}

/// A node that listens for an HTTP server, as gateways have it do, is sought where it listens itself.
#[tokio::test]
async fn a_node_is_not_sought_where_a_server_hands_connections_over() {
    let agency = Node::with(NodeOptions::default().relay_references(false));
    let (nursery, client) = (node(), node());
    nursery.export("nursery", &Nursery.spawn()).unwrap();
    let endpoints: Vec<_> =
        (0..4).map(|_| HttpEndpoint::new("/session").unwrap().local()).collect();
    for endpoint in &endpoints {
        nursery.listen(&endpoint.address().to_string()).await.unwrap();
    }
    let bound = nursery.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = agency.actor::<Nursery>(&format!("{bound}/nursery")).await.unwrap();
    agency.export("agency", &Agency(there).spawn()).unwrap();
    let bound = agency.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = client.actor::<Agency>(&format!("{bound}/agency")).await.unwrap();
    let fresh = there.fresh().timeout(PATIENCE).ask().await.unwrap().unwrap();
    assert_eq!(fresh.name().timeout(PATIENCE).ask().await.unwrap(), "new");
}

#[tokio::test]
async fn a_third_node_that_cannot_be_reached_is_an_error_that_says_why() {
    let service = Node::with(NodeOptions::default().dial_references(false));
    let there = Room::default().spawn();
    service.export("room", &there).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let third = node();
    let third_bound = third.listen("tcp://127.0.0.1:0").await.unwrap();
    let (ann, _heard) = member("ann");
    third.export("ann", &ann).unwrap();
    let client = Node::with(NodeOptions::default().relay_references(false));
    let room = client.actor::<Room>(&format!("{bound}/room")).await.unwrap();
    let ann = client.actor::<super::Member>(&format!("{third_bound}/ann")).await.unwrap();
    room.join_all(Vec::new(), Some(ann)).ask().await.unwrap();
    let member = there.members().ask().await.unwrap().remove(0);
    let error = member.name().timeout(PATIENCE).ask().await.unwrap_err();
    assert_eq!(error.error().kind, CallErrorKind::NotDelivered);
    assert!(error.to_string().contains("does not dial"), "{error}");
}

/// Two clients of one service, which can reach nobody but the service.
#[tokio::test]
async fn clients_that_listen_nowhere_reach_each_other_through_the_service() {
    let (_service, _, url) = room_at("tcp://127.0.0.1:0").await;
    let (first, second) = (node(), node());
    let room = first.actor::<Room>(&url).await.unwrap();
    let (ann, mut heard) = member("ann");
    room.join_all(Vec::new(), Some(ann.clone())).ask().await.unwrap();

    let room = second.actor::<Room>(&url).await.unwrap();
    let there = room.members().ask().await.unwrap().remove(0);
    assert_eq!(there.name().timeout(PATIENCE).ask().await.unwrap(), "ann");
    // Twice the credit of the largest window.
    let text = |n: usize| format!("{n} {:4000}", "");
    for n in 0..2_000 {
        there.heard(text(n)).timeout(PATIENCE).tell().await.unwrap();
    }
    for n in 0..2_000 {
        assert_eq!(next(&mut heard).await, Some(text(n)));
    }
    // Many asks at once.
    let mut names = there.pipeline(64).unwrap();
    for n in 0..500 {
        names.push(there.name(), n).await.unwrap();
        if names.is_full() {
            assert_eq!(names.answer().await.unwrap().1.unwrap(), "ann");
        }
    }
    while let Some((_, name)) = names.answer().await {
        assert_eq!(name.unwrap(), "ann");
    }
    // It lives as long as the second client holds it.
    drop(ann);
    room.leave_all().ask().await.unwrap();
    assert_eq!(there.name().ask().await.unwrap(), "ann");
    drop(names);
    drop(there);
    assert_eq!(next(&mut heard).await, None);
}

/// The node between has not passed it on, because the actor takes no calls.
#[tokio::test]
async fn an_ask_that_is_given_up_before_it_is_relayed_is_not_handled() {
    let (_service, _, url) = room_at("tcp://127.0.0.1:0").await;
    let (first, second) = (node(), node());
    let room = first.actor::<Room>(&url).await.unwrap();
    let (says, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let ann = super::Member { name: "ann".to_owned(), heard: says };
    let ann = ann.spawn_with(ActorOptions::default().mailbox_calls(1));
    room.join_all(Vec::new(), Some(ann.clone())).ask().await.unwrap();
    let room = second.actor::<Room>(&url).await.unwrap();
    let there = room.members().ask().await.unwrap().remove(0);
    assert_eq!(there.name().timeout(PATIENCE).ask().await.unwrap(), "ann");
    ann.handle().unwrap().suspend();
    // More than the relay can pass on, and fewer than it takes.
    for _ in 0..TOLD {
        there.heard("told".to_owned()).timeout(PATIENCE).tell().await.unwrap();
    }
    let ask = there.heard("given up".to_owned()).timeout(PATIENCE).ask().sent().await.unwrap();
    drop(ask);
    in_time(PATIENCE, second.flush()).await.unwrap();
    ann.handle().unwrap().resume();
    assert_eq!(there.name().timeout(PATIENCE).ask().await.unwrap(), "ann");
    for _ in 0..TOLD {
        assert_eq!(next(&mut heard).await.as_deref(), Some("told"));
    }
    assert!(heard.try_recv().is_err());
}

/// References within relayed calls and replies are lent on, and let go again.
#[tokio::test]
async fn references_go_through_a_relay() {
    let (_service, _, url) = hall_at().await;
    let (first, second) = (node(), node());
    let room = Room::default().spawn();
    let hall = first.actor::<Hall>(&url).await.unwrap();
    hall.open(room.clone()).ask().await.unwrap();

    let hall = second.actor::<Hall>(&url).await.unwrap();
    let there = hall.room().ask().await.unwrap().unwrap();
    let (bob, mut heard) = member("bob");
    assert_eq!(there.join_all(Vec::new(), Some(bob)).timeout(PATIENCE).ask().await.unwrap(), 1);
    // From the first client through the service to the second one.
    assert_eq!(room.say("hello".to_owned()).timeout(PATIENCE).ask().await.unwrap(), 1);
    assert_eq!(next(&mut heard).await.as_deref(), Some("hello"));
    // In a reply, which the service does not read: it comes home.
    let members = there.members().timeout(PATIENCE).ask().await.unwrap();
    assert_eq!(members[0].name().timeout(PATIENCE).ask().await.unwrap(), "bob");
    drop(members);
    // The session goes on: the reference was lent with the reply, so it may be released.
    assert_eq!(there.say("again".to_owned()).timeout(PATIENCE).ask().await.unwrap(), 1);
    assert_eq!(next(&mut heard).await.as_deref(), Some("again"));
    assert!(second.statistics().iter().all(|peer| peer.session.cuts == 0));
    room.leave_all().ask().await.unwrap();
    assert_eq!(next(&mut heard).await, None, "nobody holds it");
}

/// The service has lent it in a reply that it has not read, and is given it back by the client, which
/// cannot reach its actor. Lent to the client once more, it would keep itself there.
#[tokio::test]
async fn a_reference_that_leads_nowhere_is_let_go_however_often_it_goes_back_and_forth() {
    let (service, _, url) = hall_at().await;
    let kept = Room::default().spawn();
    service.export("kept", &kept).unwrap();
    let (first, second) = (node(), node());
    let room = Room::default().spawn();
    room.join_all(Vec::new(), Some(member("ann").0)).ask().await.unwrap();
    let hall = first.actor::<Hall>(&url).await.unwrap();
    hall.open(room).ask().await.unwrap();

    let hall = second.actor::<Hall>(&url).await.unwrap();
    let there = hall.room().ask().await.unwrap().unwrap();
    let mut members = there.members().timeout(PATIENCE).ask().await.unwrap();
    first.close(PATIENCE).await;
    drop(first);
    while there.members().timeout(PATIENCE).ask().await.is_ok() {}
    drop((there, hall));

    let kept_url = url.replace("/hall", "/kept");
    let there = second.actor::<Room>(&kept_url).await.unwrap();
    for _ in 0..3 {
        let last = members.pop();
        there.join_all(Vec::new(), last).ask().await.unwrap();
        members = there.members().ask().await.unwrap();
    }
    there.leave_all().ask().await.unwrap();
    drop((members, there));
    let let_go = async {
        let holds =
            |node: &Node| node.held_actors().iter().any(|peer| !peer.held.actors.is_empty());
        while holds(&service) || holds(&second) {
            tokio::task::yield_now().await;
        }
    };
    in_time(PATIENCE, let_go).await;
}

#[tokio::test]
async fn the_end_behind_a_relay_is_told() {
    let (_service, _, url) = room_at("tcp://127.0.0.1:0").await;
    let (first, second) = (node(), node());
    let room = first.actor::<Room>(&url).await.unwrap();
    let (ann, _heard) = member("ann");
    room.join_all(Vec::new(), Some(ann)).ask().await.unwrap();
    let room = second.actor::<Room>(&url).await.unwrap();
    let there = room.members().ask().await.unwrap().remove(0);
    assert_eq!(there.name().timeout(PATIENCE).ask().await.unwrap(), "ann");
    first.close(PATIENCE).await;
    let error = loop {
        match there.name().timeout(PATIENCE).ask().await {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    // The ask may have been on its way to the service, or between it and the first client.
    use CallErrorKind as K;
    let kind = &error.error().kind;
    assert!(
        matches!(kind, K::ActorStopped | K::NotDelivered | K::Draining | K::Unknown),
        "{error}"
    );
    let later = there.name().timeout(PATIENCE).ask().await.unwrap_err();
    assert_eq!(later.error().kind, K::ActorStopped, "{later}");
}

/// Keeps a reference to an actor of another node.
#[derive(Default)]
struct Hall {
    room: Option<super::RoomRef>,
}

#[wigwag::actor]
impl Hall {
    pub fn open(&mut self, room: super::RoomRef) {
        self.room = Some(room);
    }

    pub fn room(&self) -> Option<super::RoomRef> {
        self.room.clone()
    }
}

async fn hall_at() -> (Node, HallRef, String) {
    let (service, hall) = (node(), Hall::default().spawn());
    service.export("hall", &hall).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    (service, hall, format!("{bound}/hall"))
}

/// A listener whose connections another one accepts, at an address that references carry.
struct Elsewhere(Address);

impl Listener for Elsewhere {
    fn address(&self) -> &Address {
        &self.0
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        Box::pin(std::future::pending())
    }

    fn is_local(&self) -> bool {
        true
    }

    fn takes_descriptors(&self) -> bool {
        false
    }
}

/// The first lines that come to a listener of `ws://`.
async fn head_at(listener: &TcpListener) -> String {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut head = vec![0; 2048];
    let length = stream.read(&mut head).await.unwrap();
    String::from_utf8(head[..length].to_vec()).unwrap()
}

#[tokio::test]
async fn the_headers_of_a_node_are_not_sent_to_the_address_of_a_reference() {
    let (_service, _, url) = room_at("tcp://127.0.0.1:0").await;
    let spy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address: Address = format!("ws://{}/spy", spy.local_addr().unwrap()).parse().unwrap();
    let (third, (ann, _heard)) = (node(), member("ann"));
    third.listen_on(Box::new(Elsewhere(address.clone())), ListenOptions::default()).unwrap();
    let room = third.actor::<Room>(&url).await.unwrap();
    room.join_all(Vec::new(), Some(ann)).ask().await.unwrap();

    let ws = WsDialOptions::default().header("Authorization", "Bearer 6f1c0f9b2d").unwrap();
    let client = Node::with(NodeOptions::default().dial_options(DialOptions::default().ws(ws)));
    let room = client.actor::<Room>(&url).await.unwrap();
    let _members = room.members().ask().await.unwrap();
    let head = in_time(PATIENCE, head_at(&spy)).await;
    assert!(head.starts_with("GET /spy ") && !head.contains("6f1c0f9b2d"), "{head}");
    // An address of the program's own choice gets them.
    let fetching = tokio::spawn(client.actor::<Room>(&format!("{address}/room")));
    let head = in_time(PATIENCE, head_at(&spy)).await;
    assert!(head.contains("6f1c0f9b2d"), "{head}");
    fetching.abort();
}
