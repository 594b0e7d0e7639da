//! `#[message(serde)]` and `#[message(with = "module")]`: types and fields with another codec.

use std::collections::BTreeMap;

use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use wigwag::__private::Message as _;
use wigwag::codec::{Buffer, Decode, DecodeError, Encode, Reader};
use wigwag::{Actor, CallErrorKind, Message, Node};

/// A type of another crate: it has impls of serde and none of wigwag.
mod foreign {
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
    pub(crate) struct Money<T> {
        pub(crate) amount: T,
        pub(crate) currency: String,
    }

    /// A type without any impls.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Angle(pub(crate) f64);
}

use foreign::{Angle, Money};

/// An angle in whole degrees.
mod degrees {
    use super::*;

    pub(super) fn encode(angle: &Angle, out: &mut Buffer) {
        (angle.0 as i32).encode(out);
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Angle, DecodeError> {
        i32::decode(reader).map(|degrees| Angle(degrees.into()))
    }
}

#[derive(Serialize, Deserialize, Message, Clone, Debug, PartialEq)]
#[message(serde)]
#[serde(rename_all = "snake_case")]
enum Event {
    Opened,
    Paid(Money<u32>),
    Named {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tags: Vec<String>,
        name: Option<String>,
    },
    #[serde(untagged)]
    Nothing(()),
}

#[derive(Serialize, Deserialize, Message, Clone, Debug, PartialEq)]
#[message(serde)]
struct Tree<T> {
    value: T,
    children: Vec<Tree<T>>,
}

#[derive(Message, Clone, Debug, PartialEq)]
struct Order<T> {
    id: u32,
    #[message(serde)]
    price: Money<T>,
    #[message(with = "degrees")]
    angle: Angle,
    event: Option<Event>,
    #[message(serde)]
    discount: Option<Money<u8>>,
}

#[derive(Message, Clone, Debug, PartialEq)]
enum Turn {
    Left(#[message(with = "self::degrees")] Angle),
    Stay,
}

fn written(value: &impl Encode) -> Vec<u8> {
    let mut out = Buffer::new();
    value.encode(&mut out);
    out.as_slice().to_vec()
}

fn read<T: for<'a> Decode<'a>>(bytes: &[u8]) -> Result<T, DecodeError> {
    let mut reader = Reader::new(bytes);
    let value = T::decode(&mut reader)?;
    assert!(reader.is_empty(), "{:x?} is left", reader.rest());
    Ok(value)
}

fn order() -> Order<i64> {
    Order {
        id: 3,
        price: Money { amount: -1, currency: "€".into() },
        angle: Angle(90.0),
        event: Some(Event::Paid(Money { amount: 2, currency: "x".into() })),
        discount: None,
    }
}

#[test]
fn serde_writes_maps_and_names() {
    let paid = Event::Paid(Money { amount: 2, currency: "x".into() });
    assert_eq!(written(&paid), b"\x81\xA4paid\x82\xA6amount\x02\xA8currency\xA1x");
    assert_eq!(written(&Event::Opened), b"\xA6opened");
    assert_eq!(written(&Turn::Left(Angle(7.2))), [0x92, 0, 7]);
    assert_eq!(written(&Turn::Stay), [0x91, 1]);
}

#[test]
fn values_of_serde_come_back_inside_of_others() {
    let named = Event::Named { tags: Vec::new(), name: None };
    let events = vec![Event::Opened, named, Event::Nothing(())];
    for event in &events {
        assert_eq!(read::<Event>(&written(event)).as_ref(), Ok(event));
        // Nil is a form of `Event`, so `Some` of it differs from `None`.
        assert_eq!(read(&written(&Some(event.clone()))), Ok(Some(event.clone())));
    }
    let map = BTreeMap::from([("all".to_owned(), events)]);
    assert_eq!(read(&written(&map)), Ok(map));
    assert_eq!(read(&written(&order())), Ok(order()));
    let tree = Tree { value: 1_u8, children: vec![Tree { value: 2, children: Vec::new() }] };
    assert_eq!(read(&written(&tree)), Ok(tree));
}

#[test]
fn an_option_of_serde_at_the_end_may_be_missing() {
    let mut bytes = written(&order());
    assert_eq!(bytes.pop(), Some(0xC0));
    bytes[0] -= 1;
    assert_eq!(read(&bytes), Ok(order()));
}

#[test]
fn refusals_of_serde_name_the_type() {
    let expected = std::any::type_name::<Event>();
    assert_eq!(read::<Event>(b"\xA3bad"), Err(DecodeError::OutOfRange { expected }));
    assert!(matches!(read::<Event>(b"\xA3ba"), Err(DecodeError::Short { .. })));
    assert_eq!(read::<String>(b"\xA1\xFF"), Err(DecodeError::NotUtf8));
}

#[test]
fn values_of_serde_nest_as_deeply_as_others() {
    let nested = |levels: u32| {
        let leaf = Tree { value: 0_u8, children: Vec::new() };
        (1..levels).fold(leaf, |tree, _| Tree { value: 0, children: vec![tree] })
    };
    // Each tree is a map, and its children an array.
    assert_eq!(read(&written(&nested(32))), Ok(nested(32)));
    assert_eq!(read::<Tree<u8>>(&written(&nested(33))), Err(DecodeError::TooDeep));
}

/// A value that cannot always be encoded.
#[derive(Deserialize, Message, Clone, Debug, PartialEq)]
#[message(serde)]
struct Even(u32);

impl Serialize for Even {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.0.is_multiple_of(2) {
            return Err(S::Error::custom("it is odd"));
        }
        serializer.serialize_u32(self.0)
    }
}

struct Echo;

#[wigwag::actor]
impl Echo {
    pub fn order(&self, order: Order<i64>) -> Order<i64> {
        order
    }

    pub fn even(&self, value: Even) -> u32 {
        value.0
    }

    pub fn made(&self, value: u32) -> Even {
        Even(value)
    }
}

#[tokio::test]
async fn values_of_serde_are_arguments_and_replies() {
    let here = Echo.spawn();
    let (service, client) = (Node::new(), Node::new());
    service.export("echo", &here).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = client.actor::<Echo>(&format!("{bound}/echo")).await.unwrap();
    for echo in [&here, &there] {
        assert_eq!(echo.order(order()).ask().await.unwrap(), order());
        assert_eq!(echo.even(Even(4)).ask().await.unwrap(), 4);
        assert_eq!(echo.made(4).ask().await.unwrap(), Even(4));
    }
}

#[tokio::test]
async fn a_value_that_cannot_be_encoded_is_reported_as_the_writers_fault() {
    let here = Echo.spawn();
    let (service, client) = (Node::new(), Node::new());
    service.export("echo", &here).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = client.actor::<Echo>(&format!("{bound}/echo")).await.unwrap();
    let argument = there.even(Even(3)).ask().await.unwrap_err().into_error();
    assert_eq!(argument.kind, CallErrorKind::BadArguments);
    assert!(argument.to_string().contains("could not encode"), "{argument}");
    let reply = there.made(3).ask().await.unwrap_err().into_error();
    assert_eq!(reply.kind, CallErrorKind::BadReply);
    assert!(reply.to_string().contains("could not encode"), "{reply}");
    // Within the process nothing is encoded.
    assert_eq!(here.even(Even(3)).ask().await.unwrap(), 3);
}

#[derive(Message)]
struct Plain<T> {
    parts: Vec<Option<T>>,
    unit: (),
}

#[derive(Message)]
enum WithModule {
    None,
    Turned(#[message(with = "degrees")] Angle),
}

#[derive(Message)]
struct Nested(Vec<Nested>);

#[derive(Message)]
#[message(travels)]
struct Declared(Vec<u8>);

#[derive(Message)]
#[message(travels)]
struct Wide(u32, [u8; 2]);

/// A type that an encoder of the program takes part in is not plain, nor is one that the macro cannot ask.
#[test]
fn a_message_is_plain_if_all_of_its_encoders_are() {
    const { assert!(Plain::<u8>::IS_PLAIN && Wide::IS_PLAIN && !EchoRef::IS_PLAIN) };
    const { assert!(!Plain::<Even>::IS_PLAIN && !Plain::<WithModule>::IS_PLAIN) };
    const { assert!(!Order::<u8>::IS_PLAIN && !Even::IS_PLAIN && !WithModule::IS_PLAIN) };
    const { assert!(!Nested::IS_PLAIN && !Declared::IS_PLAIN) };
    assert!(EchoMessage::Made { value: 1 }.is_plain());
    assert!(!EchoMessage::Even { value: Even(2) }.is_plain());
}
