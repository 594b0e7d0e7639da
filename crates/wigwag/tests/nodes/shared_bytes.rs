//! Long bytes are not copied between the program and its socket: an actor gets a part of the block
//! that they were read into.

use std::sync::{Arc, Weak};
use std::time::Duration;

use wigwag::{Actor, Bytes, Node};
use wigwag_link::frame::{Frame, kind};
use wigwag_link::{Identity, features};
use wigwag_testkit::ledger::in_time;
use wigwag_testkit::raw::{self, Raw};

/// Every wait ends much earlier; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes before those of a second argument: their type and length.
const HEAD_BYTES: usize = 3;

/// Keeps all bytes that have come.
#[derive(Default)]
struct Shelf {
    kept: Vec<(u8, Bytes)>,
}

#[wigwag::actor]
impl Shelf {
    /// Keeps bytes.
    pub fn keep(&mut self, byte: u8, bytes: Bytes) {
        self.kept.push((byte, bytes));
    }

    /// The distance in memory between the beginnings of both.
    pub fn distance(&self, first: Bytes, second: Bytes) -> usize {
        (second.as_ptr() as usize).wrapping_sub(first.as_ptr() as usize)
    }

    /// Like `distance`, for bytes within other values.
    pub fn inner_distance(&self, both: Vec<Option<Bytes>>) -> usize {
        let [Some(first), Some(second)] = &both[..] else { return 0 };
        self.distance(first.clone(), second.clone())
    }

    /// Those that are not what came.
    pub fn spoiled(&self) -> usize {
        let is_right = |(byte, bytes): &&(u8, Bytes)| bytes.iter().all(|one| one == byte);
        self.kept.len() - self.kept.iter().filter(is_right).count()
    }

    /// How many are kept.
    pub fn count(&self) -> usize {
        self.kept.len()
    }

    /// The bytes that came first.
    pub fn first(&self) -> Bytes {
        self.kept.first().map(|(_, bytes)| bytes.clone()).unwrap_or_default()
    }
}

async fn shelf() -> (Node, Node, ShelfRef) {
    let server = Node::new();
    server.export("shelf", &Shelf::default().spawn()).unwrap();
    let address = server.listen("tcp://127.0.0.1:0").await.unwrap();
    let client = Node::new();
    let shelf = client.actor::<Shelf>(&format!("{address}/shelf")).await.unwrap();
    (server, client, shelf)
}

fn filled(length: usize, byte: u8) -> Bytes {
    vec![byte; length].into()
}

#[tokio::test]
async fn arguments_lie_in_memory_as_they_lay_on_the_wire() {
    let (_server, _client, shelf) = shelf().await;
    for length in [10_000, 30_000, 65_000, 1_000_000] {
        let (first, second) = (filled(length, 1), filled(length, 2));
        let head = if length > 0xFFFF { HEAD_BYTES + 2 } else { HEAD_BYTES };
        let distance = shelf.distance(first.clone(), second.clone()).ask();
        let distance = in_time(PATIENCE, distance).await.unwrap();
        assert_eq!(distance, length + head, "{length} bytes were copied");
        let both = vec![Some(first), Some(second)];
        let distance = in_time(PATIENCE, shelf.inner_distance(both).ask()).await.unwrap();
        assert_eq!(distance, length + head, "{length} bytes within others were copied");
    }
}

/// The memory that an actor keeps is not used for what comes later.
#[tokio::test]
async fn bytes_that_are_kept_stay_as_they_came() {
    let (_server, _client, shelf) = shelf().await;
    let lengths = [4095, 4096, 5000, 16_384, 20_000, 60_000, 65_536, 70_000, 300_000];
    let mut sent = 0;
    for round in 0..10_u8 {
        for (at, length) in (0_u8..).zip(lengths) {
            let byte = round * 10 + at;
            let tell = shelf.keep(byte, filled(length, byte)).tell();
            in_time(PATIENCE, tell).await.unwrap();
            sent += 1;
        }
    }
    assert_eq!(in_time(PATIENCE, shelf.count().ask()).await.unwrap(), sent);
    assert_eq!(in_time(PATIENCE, shelf.spoiled().ask()).await.unwrap(), 0);
    let first = in_time(PATIENCE, shelf.first().ask()).await.unwrap();
    assert_eq!(first, filled(4095, 0));
}

/// Calls that a turn has gathered with their bytes keep their order beside short ones.
#[tokio::test]
async fn long_bytes_keep_their_place_among_short_calls_of_a_turn() {
    let (_server, _client, shelf) = shelf().await;
    let turn = {
        let shelf = shelf.clone();
        wigwag::spawn(async move {
            for number in 0..200_u8 {
                let length = if number % 3 == 0 { 5000 + usize::from(number) } else { 3 };
                shelf.keep(number, filled(length, number)).tell().await.unwrap();
            }
        })
    };
    in_time(PATIENCE, turn).await.unwrap();
    assert_eq!(in_time(PATIENCE, shelf.count().ask()).await.unwrap(), 200);
    assert_eq!(in_time(PATIENCE, shelf.spoiled().ask()).await.unwrap(), 0);
    let first = in_time(PATIENCE, shelf.first().ask()).await.unwrap();
    assert_eq!(first, filled(5000, 0), "an answer goes back as it came");
}

/// Memory of the program that tells when it is given up.
struct Owned(Vec<u8>, #[expect(dead_code, reason = "it counts")] Arc<()>);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Bytes, and a handle that counts whether their memory is in use.
fn owned(length: usize) -> (Bytes, Weak<()>) {
    let in_use = Arc::new(());
    let handle = Arc::downgrade(&in_use);
    (Bytes::from_owner(Owned(vec![7; length], in_use)), handle)
}

fn is_in_use(handle: &Weak<()>) -> bool {
    handle.strong_count() > 0
}

/// Gives out memory of its own.
struct Source(Option<Bytes>);

#[wigwag::actor]
impl Source {
    /// Gives the bytes, once.
    pub fn take(&mut self) -> Bytes {
        self.0.take().unwrap_or_default()
    }
}

/// A node with a reference to an actor of a peer that is written by hand and acknowledges nothing.
async fn with_a_silent_peer() -> (Node, Raw, ShelfRef) {
    let (listener, address) = raw::listen().await;
    let node = Node::new();
    let attaching = {
        let (node, address) = (node.clone(), format!("{address}/shelf"));
        tokio::spawn(async move { node.actor::<Shelf>(&address).await })
    };
    let mut peer = raw::arrival(&listener).await;
    peer.accept(Identity { offered: features::PARTS, ..raw::identity() }).await;
    peer.attached(1 << 20).await;
    peer.acknowledges = false;
    (node, peer, in_time(PATIENCE, attaching).await.unwrap().unwrap())
}

/// Acknowledges what has come until the memory is given up.
async fn acknowledge_until_given_up(peer: &mut Raw, handle: &Weak<()>) {
    peer.acknowledges = true;
    let given_up = async {
        while is_in_use(handle) {
            peer.tell(&[]).await;
            tokio::task::yield_now().await;
        }
    };
    in_time(PATIENCE, given_up).await;
}

/// A session that had copied them would give up the memory of the program at once.
#[tokio::test]
async fn a_session_keeps_the_memory_of_the_program_until_the_ack() {
    for is_turn in [false, true] {
        for length in [4096, 60_000, 100_000] {
            let (_node, mut peer, shelf) = with_a_silent_peer().await;
            let (bytes, handle) = owned(length);
            let telling = {
                let shelf = shelf.clone();
                async move { shelf.keep(7, bytes).tell().await.unwrap() }
            };
            match is_turn {
                true => in_time(PATIENCE, wigwag::spawn(telling)).await.unwrap(),
                false => in_time(PATIENCE, telling).await,
            }
            let is_long = length > 65_536;
            let first = if is_long { kind::PARTS } else { kind::TELL };
            in_time(PATIENCE, peer.until(first)).await;
            // Each further part comes when the one before it is acknowledged.
            for _ in 0..if is_long { 3 } else { 0 } {
                peer.acknowledges = true;
                peer.tell(&[]).await;
                peer.acknowledges = false;
                in_time(PATIENCE, peer.until(kind::PART)).await;
            }
            assert!(is_in_use(&handle), "{length} bytes were copied, in a turn: {is_turn}");
            acknowledge_until_given_up(&mut peer, &handle).await;
            drop(shelf);
        }
    }
}

#[tokio::test]
async fn short_bytes_are_copied_and_hold_nothing() {
    let (_node, _peer, shelf) = with_a_silent_peer().await;
    let (bytes, handle) = owned(4095);
    in_time(PATIENCE, shelf.keep(7, bytes).tell()).await.unwrap();
    assert!(!is_in_use(&handle));
}

#[tokio::test]
async fn a_reply_is_sent_from_the_memory_of_the_actor() {
    let (bytes, handle) = owned(30_000);
    let node = Node::new();
    node.export("source", &Source(Some(bytes)).spawn()).unwrap();
    let address = node.listen("tcp://127.0.0.1:0").await.unwrap();
    let mut peer = Raw::dial(&address.to_string()).await;
    peer.open(raw::identity()).await;
    peer.attach(0, "source").await;
    peer.acknowledges = false;
    let ask = Frame::Ask { channel: 0, slot: 0, generation: 0, method: 1, arguments: &[0x90] };
    peer.tell(&[ask]).await;
    let seen = in_time(PATIENCE, peer.until(kind::REPLY)).await;
    let Frame::Reply { value, .. } = seen.frame() else { unreachable!("a REPLY") };
    assert_eq!(value.len(), 30_000 + HEAD_BYTES);
    assert!(is_in_use(&handle), "the reply was copied");
    acknowledge_until_given_up(&mut peer, &handle).await;
}
