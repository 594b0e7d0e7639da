//! Calls whose arguments have a fixed width: the same values arrive in the fixed-width form and as
//! MessagePack, and two ends that do not know the same types never use the fixed form.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use wigwag::{Actor, CallErrorKind, Message, Node, NodeOptions, Reason, This, codec::Decode};
use wigwag_link::{Code, Identity, features};
use wigwag_testkit::raw;
use wigwag_wire::Reader;

/// Method number of [`Register::place`].
const PLACE: u8 = 2;
/// Method number of [`Register::count`].
const COUNT: u8 = 6;

#[derive(Message, Clone, Copy, Debug, Default, PartialEq)]
struct Point {
    x: i32,
    y: i32,
    on: bool,
}

#[derive(Default)]
struct Register {
    seen: u64,
}

#[wigwag::actor]
impl Register {
    /// Takes an argument of every kind that has a fixed width.
    pub fn numbers(&mut self, small: (u8, i8, u16), wide: [i64; 2], real: f64) -> String {
        self.seen += 1;
        format!("{small:?} {wide:?} {real}")
    }

    /// Takes a user-defined struct.
    pub fn place(&mut self, at: Point, weight: f32) -> (Point, f32) {
        self.seen += 1;
        (at, weight)
    }

    /// Takes more bytes than the fixed-width form allows.
    pub fn six(&mut self, all: [u64; 6]) -> u64 {
        self.seen += 1;
        all.iter().sum()
    }

    /// Takes a text, which has no fixed width.
    pub fn named(&mut self, name: &str, number: u64) -> String {
        self.seen += 1;
        format!("{name} {number}")
    }

    /// Takes no arguments.
    pub fn seen(&mut self) -> u64 {
        self.seen
    }

    /// Takes one of many numbers, in order.
    pub fn count(&mut self, number: u64) {
        assert_eq!(number, self.seen);
        self.seen += 1;
    }

    /// Answers asynchronously.
    pub async fn sum(&self, a: i64, b: i64) -> i64 {
        tokio::task::yield_now().await;
        a.wrapping_add(b)
    }
}

/// A service, its client and the client's reference; each side offers the fixed-width form or not.
async fn reached(service: bool, client: bool) -> (Node, Node, RegisterRef) {
    let service = Node::with(NodeOptions::default().fixed_width(service));
    service.export("register", &Register::default().spawn()).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let client = Node::with(NodeOptions::default().fixed_width(client));
    let there = client.actor::<Register>(&format!("{bound}/register")).await.unwrap();
    (service, client, there)
}

fn sent(node: &Node) -> u64 {
    node.statistics().iter().map(|one| one.session.bytes_sent).sum()
}

#[tokio::test]
async fn all_values_arrive_in_whatever_form_they_travel() {
    for (service, client) in [(true, true), (true, false), (false, true), (false, false)] {
        let (_service, _client, there) = reached(service, client).await;
        for edge in [i64::MIN, -1, 0, 1, i64::MAX] {
            let said = there.numbers((0xFF, -128, edge as u16), [edge, !edge], 0.5).ask().await;
            let expected = format!("{:?} {:?} 0.5", (0xFF, -128, edge as u16), [edge, !edge]);
            assert_eq!(said.unwrap(), expected);
            assert_eq!(there.sum(edge, 2).ask().await.unwrap(), edge.wrapping_add(2));
        }
        let at = Point { x: i32::MIN, y: 7, on: true };
        assert_eq!(there.place(at, -1.5).ask().await.unwrap(), (at, -1.5));
        assert_eq!(there.six([1; 6]).ask().await.unwrap(), 6);
        assert_eq!(there.named("six", u64::MAX).ask().await.unwrap(), format!("six {}", u64::MAX));
        assert_eq!(there.seen().ask().await.unwrap(), 8);
    }
}

#[tokio::test]
async fn many_calls_go_in_their_order_in_either_form_and_only_one_is_of_equal_length() {
    const CALLS: u64 = 100_000;
    for (service, client) in [(true, true), (true, false)] {
        let (_service, node, there) = reached(service, client).await;
        let before = sent(&node);
        wigwag::spawn({
            let there = there.clone();
            async move {
                for number in 0..CALLS {
                    there.count(number).tell().await.unwrap();
                }
            }
        })
        .await
        .unwrap();
        assert_eq!(there.seen().timeout(Duration::from_secs(20)).ask().await.unwrap(), CALLS);
        // An item of a run is a length, a mark and eight bytes; MessagePack takes one to nine
        // bytes.
        let each = (sent(&node) - before) as f64 / CALLS as f64;
        assert_eq!((9.9..11.0).contains(&each), client, "{each} bytes a call");
    }
}

mod other {
    /// The actor's view of the interface: the same type name with another width.
    pub(crate) type Id = u32;

    #[derive(Default)]
    pub(crate) struct Store;

    #[wigwag::actor]
    impl Store {
        /// Puts the id in.
        pub fn put(&mut self, id: Id) -> u32 {
            id
        }
    }
}

/// The caller's view of the interface.
type Id = u64;

#[wigwag::actor]
trait Store {
    /// Puts the id in.
    fn put(&mut self, id: Id) -> u32;
}

#[tokio::test]
async fn two_ends_that_mean_different_widths_by_one_name_understand_each_other() {
    let service = Node::new();
    service.export("store", &other::Store.spawn()).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let client = Node::new();
    let there = client.actor::<StoreInterface>(&format!("{bound}/store")).await.unwrap();
    assert_eq!(there.put(7).ask().await.unwrap(), 7);
    let refused = there.put(1 << 40).ask().await.unwrap_err();
    assert_eq!(refused.error().kind, CallErrorKind::BadArguments, "{refused}");
}

/// The peer writes the form by hand, and wrongly: the malformed call fails, its neighbours do not.
#[tokio::test]
async fn a_value_of_another_width_than_its_type_is_refused() {
    let (service, _, _) = reached(true, true).await;
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let client = Node::new();
    let there = client.dynamic(&format!("{bound}/register")).await.unwrap();
    for (arguments, good) in [
        (&[0xC1, 0, 0, 0, 0, 0, 0, 0, 0][..], true),
        (&[0xC1, 0, 0, 0, 0, 0, 0, 0], false),
        (&[0xC1, 0, 0, 0, 0, 0, 0, 0, 0, 0], false),
        (&[0xC1], false),
        (&[0x91, 1], true),
    ] {
        let answer = there.ask("count", arguments).await;
        match answer {
            Ok(_) => assert!(good, "{arguments:?}"),
            Err(error) => {
                assert!(!good, "{arguments:?}: {error}");
                assert_eq!(error.kind, CallErrorKind::BadArguments, "{error}");
            }
        }
    }
}

/// Consecutive calls may change their form from one to the next, and a call that cannot be decoded
/// does not affect its neighbours.
#[tokio::test]
async fn a_run_of_calls_in_every_form_is_answered_in_order() {
    const ON: &[u8] = &[0xC1, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0];
    const NEITHER: &[u8] = &[0xC1, 1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0];
    const SHORT: &[u8] = &[0xC1, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0];
    const ARRAY: &[u8] = &[0x92, 0x93, 3, 4, 0xC2, 1];
    let all = [ON, ON, ARRAY, ON, NEITHER, ON, SHORT, ARRAY, ARRAY, ON];
    let (service, _client, there) = reached(true, true).await;
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let mut peer = raw::Raw::dial(&bound.to_string()).await;
    peer.open(Identity { offered: features::RUNS, ..raw::identity() }).await;
    peer.attach(0, "register").await;
    peer.ask_all(0, PLACE, &all).await;
    let mut outcomes = Vec::new();
    while outcomes.len() < all.len() {
        let seen = peer.frame().await.expect("the session goes on");
        outcomes.extend(seen.outcomes());
    }
    for (at, (item, (slot, outcome))) in all.into_iter().zip(outcomes).enumerate() {
        let expected = match item {
            ON => Ok((Point { x: 1, y: 2, on: true }, 0.0)),
            ARRAY => Ok((Point { x: 3, y: 4, on: false }, 1.0)),
            _ => Err(Code::BAD_ARGUMENTS),
        };
        let outcome = outcome.map(|value| Decode::decode(&mut Reader::new(&value)).unwrap());
        assert_eq!((slot, outcome), (at as u64, expected));
    }
    assert_eq!(there.seen().ask().await.unwrap(), 8);
}

/// Methods without a reply are asked, and methods with a reply are told: both are allowed.
#[tokio::test]
async fn runs_of_either_kind_are_handled_in_every_form() {
    const AT: &[u8] = &[0xC1, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0];
    const AT_IN_AN_ARRAY: &[u8] = &[0x92, 0x93, 3, 4, 0xC2, 1];
    let fixed = |number: u8| [0xC1, number, 0, 0, 0, 0, 0, 0, 0];
    let (service, _client, there) = reached(true, true).await;
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let mut peer = raw::Raw::dial(&bound.to_string()).await;
    peer.open(Identity { offered: features::RUNS, ..raw::identity() }).await;
    peer.attach(0, "register").await;
    // Each number is the count of the calls before it; otherwise the handler panics.
    peer.tell_all(0, COUNT, &[&fixed(0), &fixed(1), &[0x91, 2], &fixed(3)]).await;
    peer.ask_all(0, COUNT, &[&fixed(4), &fixed(5), &[0x91, 6], &[0xC1, 7], &fixed(7)]).await;
    let mut outcomes = Vec::new();
    let answers = async {
        while outcomes.len() < 5 {
            let seen = peer.frame().await.expect("the session goes on");
            outcomes.extend(seen.outcomes());
        }
    };
    tokio::time::timeout(Duration::from_secs(10), answers).await.expect("all are answered");
    for (slot, outcome) in outcomes {
        let refused = (slot == 3).then_some(Code::BAD_ARGUMENTS);
        assert_eq!(outcome.err(), refused, "slot {slot}");
    }
    peer.tell_all(0, PLACE, &[AT, AT_IN_AN_ARRAY, AT]).await;
    peer.ask_all(0, COUNT, &[&fixed(11)]).await;
    let answer = peer.until(wigwag_link::frame::kind::REPLY);
    let answer = tokio::time::timeout(Duration::from_secs(10), answer).await;
    assert!(answer.is_ok(), "all before it were handled, and it too");
    assert_eq!(there.seen().ask().await.unwrap(), 12);
}

/// An actor that stops itself in its second call.
struct Twice {
    handled: Arc<AtomicU64>,
}

#[wigwag::actor]
impl Twice {
    pub fn tell(&mut self, this: &This<Self>, number: u64) {
        self.ask(this, number);
    }

    pub fn ask(&mut self, this: &This<Self>, number: u64) -> u64 {
        if self.handled.fetch_add(1, Ordering::SeqCst) == 1 {
            this.stop(Reason::Normal);
        }
        number
    }
}

/// The result is the same in every form, although the calls of a run follow each other directly.
#[tokio::test]
async fn an_actor_that_ends_itself_handles_no_more_of_a_run() {
    const FIXED: &[u8] = &[0xC1, 1, 0, 0, 0, 0, 0, 0, 0];
    const ARRAY: &[u8] = &[0x91, 1];
    let node = Node::new();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    for (item, asks) in [(FIXED, false), (FIXED, true), (ARRAY, false), (ARRAY, true)] {
        let handled = Arc::new(AtomicU64::new(0));
        node.export("twice", &Twice { handled: handled.clone() }.spawn()).unwrap();
        let mut peer = raw::Raw::dial(&bound.to_string()).await;
        peer.open(Identity { offered: features::RUNS, ..raw::identity() }).await;
        peer.attach(0, "twice").await;
        let run = [item; 6];
        if asks {
            peer.ask_all(0, 2, &run).await
        } else {
            peer.tell_all(0, 1, &run).await
        };
        let gone = peer.until(wigwag_link::frame::kind::DETACHED);
        tokio::time::timeout(Duration::from_secs(10), gone).await.expect("it has ended");
        assert_eq!(handled.load(Ordering::SeqCst), 2, "{item:?}, {asks}");
    }
}
