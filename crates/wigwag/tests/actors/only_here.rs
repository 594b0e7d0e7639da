//! Process-local values: passed between actors of one process, refused on the way to another
//! process.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::oneshot;
use wigwag::{Actor, AskError, CallErrorKind, Local, Message, Node, codec::Encode};

type Sum = Local<Arc<AtomicU64>>;
/// A reference that is not sent to other processes.
type Here = Local<PeerRef>;

#[derive(Default)]
struct Peer {
    number: u64,
    peers: Vec<PeerRef>,
}

/// Process-local, because a variant holds such a reference.
#[derive(Message)]
enum Guest {
    #[allow(dead_code, reason = "the other variant makes the type process-local")]
    Unknown(String),
    Known {
        peer: Here,
        note: Option<u8>,
    },
}

#[wigwag::actor]
impl Peer {
    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn join(&mut self, peer: Here) {
        self.peers.push(peer.0);
    }

    pub fn join_all(&mut self, peers: Vec<Here>, last: Option<Here>) {
        self.peers.extend(peers.into_iter().chain(last).map(|peer| peer.0));
    }

    pub fn host(&mut self, guest: Guest) {
        if let Guest::Known { peer, note: Some(_) } = guest {
            self.peers.push(peer.0);
        }
    }

    pub fn peer(&self, at: u64) -> Option<Here> {
        self.peers.get(at as usize).cloned().map(Local)
    }

    pub async fn peer_later(&mut self, at: u64) -> Option<Here> {
        tokio::task::yield_now().await;
        self.peer(at)
    }

    /// Tells all its peers, while it handles a call itself.
    pub fn count_all(&self, sum: Sum) {
        for peer in &self.peers {
            peer.count(sum.clone()).try_tell().unwrap();
        }
    }

    pub fn count(&self, sum: Sum) -> Sum {
        sum.fetch_add(self.number, Ordering::Relaxed);
        sum
    }

    pub fn run(&self, job: Local<Box<dyn FnOnce(u64) -> u64 + Send>>) -> u64 {
        (job.0)(self.number)
    }

    /// Answers through the channel in the argument.
    pub fn answer(&self, to: Local<oneshot::Sender<u64>>) {
        let _ = to.0.send(self.number);
    }
}

fn peer(number: u64) -> PeerRef {
    Peer { number, peers: Vec::new() }.spawn()
}

/// Two nodes, the first of which exports an actor: returns the second node's reference, the actor's
/// own reference, and the nodes.
async fn elsewhere() -> (PeerRef, PeerRef, (Node, Node)) {
    let (service, client) = (Node::new(), Node::new());
    let actor = peer(7);
    service.export("peer", &actor).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = client.actor::<Peer>(&format!("{bound}/peer")).await.unwrap();
    (there, actor, (service, client))
}

#[tokio::test]
async fn actors_of_one_process_pass_references_along_and_answer_with_them() {
    let hub = peer(0);
    hub.join(Local(peer(1))).tell().await.unwrap();
    hub.join_all(vec![Local(peer(2)), Local(peer(3))], Some(Local(peer(4)))).tell().await.unwrap();
    hub.host(Guest::Known { peer: Local(peer(5)), note: Some(1) }).tell().await.unwrap();
    for at in 0..5 {
        let plain = hub.peer(at).ask().await.unwrap().unwrap();
        let later = hub.peer_later(at).ask().await.unwrap().unwrap();
        assert_eq!(plain.number().ask().await.unwrap(), at + 1);
        assert_eq!(later.number().ask().await.unwrap(), at + 1);
    }
    assert!(hub.peer(5).ask().await.unwrap().is_none());

    let mut peers = hub.pipeline(8).unwrap();
    for at in 0..5 {
        peers.push(hub.peer(at), at).await.unwrap();
    }
    while let Some((at, found)) = peers.answer().await {
        let found = found.unwrap().unwrap();
        assert_eq!(found.number().ask().await.unwrap(), at + 1);
    }
}

#[tokio::test]
async fn shared_memory_channels_and_closures_reach_an_actor_of_this_process() {
    let hub = peer(0);
    hub.join_all((1..=100).map(|number| Local(peer(number))).collect(), None).tell().await.unwrap();
    let sum = Local(Arc::new(AtomicU64::new(0)));
    hub.count_all(sum.clone()).ask().await.unwrap();
    // Each peer was told before this ask.
    for at in 0..100 {
        let one = hub.peer(at).ask().await.unwrap().unwrap();
        one.number().ask().await.unwrap();
    }
    assert_eq!(sum.load(Ordering::Relaxed), 5050);
    let same = peer(1).count(sum.clone()).ask().await.unwrap();
    assert!(Arc::ptr_eq(&same, &sum));

    let (to, answer) = oneshot::channel();
    peer(9).answer(Local(to)).tell().await.unwrap();
    assert_eq!(answer.await.unwrap(), 9);
    let base = 30_u64;
    let job = Local(Box::new(move |number| base + number) as Box<dyn FnOnce(u64) -> u64 + Send>);
    assert_eq!(peer(12).run(job).ask().await.unwrap(), 42);
}

/// Checks the refusals; run within a turn and outside of one, which send by different paths.
async fn is_refused(there: PeerRef) {
    let guest = Local(peer(3));
    let refused = there.join(guest.clone()).tell().await.unwrap_err();
    assert_eq!(refused.error.kind, CallErrorKind::NotSerializable);
    assert!(refused.error.to_string().contains("`join`"), "{}", refused.error);
    let PeerMessage::Join { peer: back } = refused.message else { panic!("another call") };
    assert_eq!(back.number().ask().await.unwrap(), 3);

    let refused = there.join(back.clone()).try_tell().unwrap_err();
    assert_eq!(refused.error.kind, CallErrorKind::NotSerializable);
    assert!(matches!(refused.message, PeerMessage::Join { .. }));

    let error = there.join_all(Vec::new(), None).ask().await.unwrap_err();
    assert_eq!(error.error().kind, CallErrorKind::NotSerializable);
    assert!(matches!(error.into_message(), Some(PeerMessage::JoinAll { .. })));
    let error = there.host(Guest::Unknown("x".into())).try_ask().err().unwrap();
    assert_eq!(error.error.kind, CallErrorKind::NotSerializable);

    let mut joins = there.pipeline(8).unwrap();
    let unsent = joins.push(there.join(guest.clone()), 5).await.unwrap_err();
    assert_eq!((unsent.refused.error.kind, unsent.context), (CallErrorKind::NotSerializable, 5));
    assert!(matches!(unsent.refused.message, PeerMessage::Join { .. }));
    let unsent = joins.try_push(there.join(guest), 6).unwrap_err();
    assert_eq!((unsent.refused.error.kind, unsent.context), (CallErrorKind::NotSerializable, 6));
    assert!(joins.is_empty());

    // The session is unharmed.
    assert_eq!(there.number().ask().await.unwrap(), 7);
}

#[tokio::test]
async fn a_call_that_stays_comes_back_on_its_way_to_another_process() {
    let (there, actor, _nodes) = elsewhere().await;
    is_refused(there.clone()).await;
    wigwag::spawn(is_refused(there)).await.unwrap();
    assert!(actor.peer(0).ask().await.unwrap().is_none(), "nothing has arrived");
}

async fn has_no_reply(there: PeerRef) {
    for error in [
        there.peer(0).ask().await.unwrap_err(),
        there.peer(9).ask().await.unwrap_err(),
        there.peer_later(0).ask().await.unwrap_err(),
    ] {
        assert!(matches!(error, AskError::Failed(_)), "it was sent");
        assert_eq!(error.error().kind, CallErrorKind::NotSerializable);
    }
    let mut peers = there.pipeline(64).unwrap();
    for at in 0..64_u64 {
        peers.push(there.peer(at), at).await.unwrap();
    }
    let mut expected = 0..64;
    while let Some((at, reply)) = peers.answer().await {
        assert_eq!(Some(at), expected.next());
        assert_eq!(reply.unwrap_err().kind, CallErrorKind::NotSerializable);
    }
    assert_eq!(expected.next(), None);
    // A tell needs no reply.
    there.peer(0).tell().await.unwrap();
    assert_eq!(there.number().ask().await.unwrap(), 7);
}

#[tokio::test]
async fn a_reply_that_stays_is_an_error_to_an_asker_of_another_process() {
    let (there, actor, _nodes) = elsewhere().await;
    actor.join(Local(peer(1))).tell().await.unwrap();
    has_no_reply(there.clone()).await;
    wigwag::spawn(has_no_reply(there)).await.unwrap();
    assert!(actor.peer(0).ask().await.unwrap().is_some(), "here it arrives");
}

/// A caller without static types may send any value.
#[tokio::test]
async fn an_argument_that_stays_cannot_be_made_up_elsewhere() {
    let (_there, actor, (_service, client)) = elsewhere().await;
    let service = Node::new();
    service.export("peer", &actor).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let dynamic = client.dynamic(&format!("{bound}/peer")).await.unwrap();
    for arguments in [&[0x91, 0xC0][..], &[0x91, 5]] {
        let error = dynamic.ask("join", arguments).await.unwrap_err();
        assert_eq!(error.kind, CallErrorKind::NotSerializable, "{error}");
    }
    let error = dynamic.ask("join", &[0x90]).await.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::BadArguments);
}

#[derive(Message)]
struct Tree {
    value: u8,
    children: Vec<Tree>,
}

#[derive(Message)]
struct Held<T> {
    value: T,
    count: u8,
}

#[derive(Message)]
enum Nothing {
    One,
    Two(u8),
}

#[test]
fn a_derived_type_travels_if_all_its_fields_do() {
    const { assert!(Tree::TRAVELS && Held::<Vec<Tree>>::TRAVELS && Nothing::TRAVELS) };
    const {
        assert!(
            !Guest::TRAVELS
                && !Held::<Guest>::TRAVELS
                && !Held::<Here>::TRAVELS
                && Held::<PeerRef>::TRAVELS
        )
    };
    const { assert!(!<Option<Held<Box<Sum>>>>::TRAVELS) };
    let tree = Tree { value: 1, children: vec![] };
    let held = Held { value: tree, count: 2 };
    assert!(held.value.children.is_empty() && held.value.value < held.count);
    assert!(matches!([Nothing::One, Nothing::Two(1)], [Nothing::One, Nothing::Two(1)]));
}
