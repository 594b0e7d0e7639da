//! The descriptions of actors that peers get, and the list of the actors of a node.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use tokio::time::timeout;
use wigwag::dynamic::Described;
use wigwag::lifecycle::Alive;
use wigwag::{Actor, CallErrorKind, Interface, Message, Node, NodeError, NodeOptions, Yield};
use wigwag_link::frame::{Frame, kind};
use wigwag_testkit::raw;

/// Every wait ends almost at once; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// A price.
///
/// Never negative.
#[derive(Clone, Debug, Message)]
struct Price {
    /// In cents.
    cents: u64,
    #[message(with = "own")]
    note: String,
}

/// The codec of a field.
mod own {
    use wigwag::codec::{Buffer, Decode, DecodeError, Encode, Reader};

    pub(super) fn encode(text: &String, out: &mut Buffer) {
        text.encode(out);
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<String, DecodeError> {
        String::decode(reader)
    }
}

#[derive(Clone, Debug, Message)]
#[repr(u8)]
enum Refusal {
    /// There is none left.
    SoldOut,
    TooMany {
        /// Buy fewer.
        most: u32,
    } = 7,
    Other,
}

struct Shop;

/// Sells things.
/// It is open all day.
#[wigwag::actor]
impl Shop {
    /// The price of a thing.
    pub fn price(&self, thing: String) -> Result<Price, Refusal> {
        match &*thing {
            "" => Err(Refusal::SoldOut),
            "pen" => Ok(Price { cents: 90, note: thing }),
            "star" => Err(Refusal::TooMany { most: 0 }),
            _ => Err(Refusal::Other),
        }
    }

    pub fn cheapest(&self) -> Price {
        Price { cents: 1, note: String::new() }
    }

    pub fn sold(&self, items: Yield<u64>) {
        drop(items);
    }
}

mod silent {
    use super::{Message, Yield};

    #[derive(Clone, Debug, Message)]
    pub(super) struct Price {
        cents: u64,
        #[message(with = "super::own")]
        note: String,
    }

    #[derive(Clone, Debug, Message)]
    pub(super) enum Refusal {
        SoldOut,
        TooMany { most: u32 },
        Other,
    }

    #[wigwag::actor]
    pub(super) trait Shop {
        fn price(&self, thing: String) -> Result<Price, Refusal>;
        fn cheapest(&self) -> Price;
        fn sold(&self, items: Yield<u64>);
    }
}

async fn serve(options: NodeOptions) -> (Node, String) {
    let node = Node::with(options);
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
    (node, bound)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comments_of_actors_methods_types_and_fields_travel() {
    let (service, bound) = serve(NodeOptions::default()).await;
    service.export("shop", &Shop.spawn()).unwrap();
    let shop = Node::new().dynamic(&format!("{bound}/shop")).await.unwrap();
    let described = shop.described();
    assert_eq!(*described, Described::of::<Shop>(), "it is that of the program itself");
    assert_eq!(described.comment, "Sells things.\nIt is open all day.");
    assert_eq!(described.comment_of("price"), "The price of a thing.");
    assert_eq!((described.comment_of("cheapest"), described.comment_of("none")), ("", ""));
    let streams = ["price", "cheapest", "sold"].map(|method| described.is_stream(method));
    assert_eq!(streams, [false, false, true]);
    let names: Vec<_> = described.types.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["Price", "Refusal"], "each once, although two methods use it");
    let price = &described.types[0];
    assert_eq!(price.comment, "A price.\n\nNever negative.");
    let parts: Vec<_> = price.parts.iter().map(|one| (&*one.comment, one.has_own_codec)).collect();
    assert_eq!(parts, [("In cents.", false), ("", true)]);
    let refusal = &described.types[1].parts;
    let numbers: Vec<_> = refusal.iter().map(|one| (&*one.comment, one.number)).collect();
    assert_eq!(numbers, [("There is none left.", Some(0)), ("", Some(7)), ("", Some(8))]);
    assert_eq!(refusal[1].fields[0].comment, "Buy fewer.");
}

#[test]
fn comments_and_numbers_of_variants_do_not_change_the_hash() {
    assert_eq!(Shop::SCHEMA.hash, silent::ShopInterface::SCHEMA.hash);
}

/// A peer of an earlier release asks without the argument, and reads arrays of a fixed length.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_does_not_ask_for_comments_gets_none() {
    let (service, bound) = serve(NodeOptions::default()).await;
    service.export("shop", &Shop.spawn()).unwrap();
    let mut peer = raw::Raw::dial(&bound).await;
    peer.open(raw::identity()).await;
    peer.attach(0, "shop").await;
    let mut answers = Vec::new();
    for (slot, arguments) in [&[0x90][..], &[0x91, 1]].into_iter().enumerate() {
        let slot = slot as u64;
        peer.tell(&[Frame::Ask { channel: 0, slot, generation: 1, method: 0, arguments }]).await;
        let seen = loop {
            let seen = timeout(PATIENCE, peer.frame()).await.unwrap().unwrap();
            if let [(_, Ok(answer))] = &seen.outcomes()[..] {
                break answer.clone();
            }
        };
        answers.push(seen);
    }
    let has =
        |answer: &[u8], text: &str| answer.windows(text.len()).any(|at| at == text.as_bytes());
    for comment in ["Sells things.", "The price of a thing.", "A price.", "In cents.", "Buy fewer."]
    {
        assert_eq!(
            [has(&answers[0], comment), has(&answers[1], comment)],
            [false, true],
            "{comment}"
        );
    }
    assert_eq!((answers[0][0], answers[1][0]), (0x93, 0x94), "the length of the whole");
}

/// An actor with a type whose spelling alone is as long as a description may be.
mod long {
    use wigwag::codec::{Buffer, Decode, DecodeError, Encode, Reader};
    use wigwag::dynamic::{Field, Fields};

    macro_rules! sixteen_times {
        ($text:expr) => {
            concat!(
                $text, $text, $text, $text, $text, $text, $text, $text, $text, $text, $text, $text,
                $text, $text, $text, $text
            )
        };
    }
    const KIND: &str =
        sixteen_times!(sixteen_times!(sixteen_times!(sixteen_times!(sixteen_times!("a")))));

    pub(super) struct Spelled(u8);

    impl Encode for Spelled {
        const FIELDS: &'static Fields = &Fields {
            name: "Spelled",
            fields: &[Field { kind: KIND, ..Field::unnamed("number", Fields::NONE) }],
            comment: "",
        };
        fn encode(&self, out: &mut Buffer) {
            self.0.encode(out);
        }
    }

    impl Decode<'_> for Spelled {
        fn decode(reader: &mut Reader<'_>) -> Result<Spelled, DecodeError> {
            u8::decode(reader).map(Spelled)
        }
    }

    pub(super) struct Long;

    #[wigwag::actor]
    impl Long {
        pub fn take(&self, spelled: Spelled) -> u8 {
            spelled.0
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_description_that_is_too_long_is_refused_with_its_length() {
    let (service, bound) = serve(NodeOptions::default()).await;
    service.export("long", &long::Long.spawn()).unwrap();
    let Err(NodeError::Call(error)) = Node::new().dynamic(&format!("{bound}/long")).await else {
        panic!("it is too long");
    };
    assert_eq!(error.kind, CallErrorKind::BadReply);
    let said = error.to_string();
    assert!(said.contains(" bytes, 1048576 are allowed"), "{said}");
}

/// The peer describes an actor with `answer`; returns the error of the node that has asked.
async fn refused(answer: &[u8]) -> String {
    let (listener, address) = raw::listen().await;
    let node = Node::new();
    let asked = {
        let (node, address) = (node.clone(), format!("{address}/actor"));
        tokio::spawn(async move { node.dynamic(&address).await })
    };
    let mut peer = raw::arrival(&listener).await;
    peer.accept(raw::identity()).await;
    peer.attached(64).await;
    let (slot, generation) = timeout(PATIENCE, peer.until(kind::ASK)).await.unwrap().asker();
    peer.tell(&[Frame::Reply { slot, generation, value: answer }]).await;
    match timeout(PATIENCE, asked).await.unwrap().unwrap() {
        Err(NodeError::Call(error)) if error.kind == CallErrorKind::BadReply => error.to_string(),
        Err(other) => panic!("another error: {other}"),
        Ok(read) => panic!("it is no description: {:?}", read.described()),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_description_of_a_hostile_peer_is_refused() {
    // The first method has parts in parts; what is skipped is nested too.
    let start = [0x93, 0xA1, b'A', 0, 0x91];
    let parts = [0x92, 0xA1, b'P', 0x91, 0x93, 0xA1, b'p', 0x90];
    let method = [0x94, 0xA1, b'm', 0x90, 0xA1, b'u'];
    let deep = [&start[..], &method, &parts.repeat(30_000 / parts.len()), &[0xC0]].concat();
    let skipped = [&[0x94, 0xA1, b'A', 0, 0x90, 0xA0][..], &[0x91; 30_000], &[0xC0]].concat();
    let skipped = [&[0x95][..], &skipped[1..]].concat();
    for answer in [deep, skipped] {
        let said = refused(&answer).await;
        assert!(said.contains("nest"), "{said}");
    }
    // More methods than there are bytes.
    let many = [0x93, 0xA1, b'A', 0, 0xDD, 0xFF, 0xFF, 0xFF, 0xFF];
    for answer in [&[][..], &[0xC0], &[0x92, 0xA0, 0], &many] {
        refused(answer).await;
    }
}

#[derive(Default)]
struct Clock;

#[wigwag::actor]
impl Clock {
    pub fn hour(&self) -> u8 {
        12
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_lists_its_actors_in_the_order_of_their_names() {
    let (service, bound) = serve(NodeOptions::default()).await;
    let client = Node::new();
    assert_eq!(client.list_actors(&bound).await.unwrap(), []);
    service.export("shop", &Shop.spawn()).unwrap();
    // More than in one answer.
    let clock = Clock.spawn();
    for at in 0..600 {
        service.export(&format!("clock {at:03}"), &clock).unwrap();
    }
    let stopped = Clock.spawn();
    service.export("stopped", &stopped).unwrap();
    let handle = stopped.handle().unwrap();
    handle.kill();
    handle.ended().await;
    let listed = client.list_actors(&bound).await.unwrap();
    let names: Vec<_> = listed.iter().map(|one| one.name.clone()).collect();
    let mut expected: Vec<_> = (0..600).map(|at| format!("clock {at:03}")).collect();
    expected.push("shop".into());
    assert_eq!(names, expected);
    let shop = listed.last().unwrap();
    assert_eq!((&*shop.kind, &*shop.comment), ("Shop", "Sells things."));
    service.withdraw("shop");
    assert_eq!(client.list_actors(&bound).await.unwrap().len(), 600);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_may_forbid_to_list_its_actors() {
    let (service, bound) = serve(NodeOptions::default().lists_actors(false)).await;
    service.export("clock", &Clock.spawn()).unwrap();
    let client = Node::new();
    let Err(NodeError::Call(error)) = client.list_actors(&bound).await else {
        panic!("it lists none");
    };
    assert_eq!(error.kind, CallErrorKind::NoSuchActor);
    let clock = client.actor::<Clock>(&format!("{bound}/clock")).await.unwrap();
    assert_eq!(clock.hour().ask().await.unwrap(), 12);
}
