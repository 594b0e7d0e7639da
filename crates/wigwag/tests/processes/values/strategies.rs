//! Random values of types for which proptest has none, and of types of this test.

use std::ffi::OsString;
use std::net::{SocketAddr, SocketAddrV6};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use wigwag::Message;

/// A type of fixed width.
#[derive(Message, Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    x: i32,
    y: i16,
    on: bool,
}

pub(crate) fn point() -> impl Strategy<Value = Point> + Clone {
    any::<(i32, i16, bool)>().prop_map(|(x, y, on)| Point { x, y, on })
}

/// A type with the codec of serde.
#[derive(Serialize, Deserialize, Message, Clone, Debug, PartialEq)]
#[message(serde)]
pub(crate) enum Event {
    Opened,
    Paid(u32, f64),
    Named {
        name: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tags: Vec<Vec<i8>>,
    },
    Nested(Box<Option<Event>>),
}

pub(crate) fn event() -> impl Strategy<Value = Event> + Clone {
    let leaf = prop_oneof![
        Just(Event::Opened),
        any::<(u32, f64)>().prop_map(|(cents, rate)| Event::Paid(cents, rate)),
        any::<(Option<String>, Vec<Vec<i8>>)>().prop_map(|(name, mut tags)| {
            tags.truncate(3);
            Event::Named { name, tags }
        }),
    ];
    leaf.prop_recursive(3, 4, 1, |inner| {
        prop::option::of(inner).prop_map(|inner| Event::Nested(Box::new(inner)))
    })
}

pub(crate) fn float() -> impl Strategy<Value = f64> + Clone {
    prop_oneof![8 => any::<f64>(), 1 => Just(f64::INFINITY), 1 => Just(f64::NEG_INFINITY)]
}

pub(crate) fn short(most: usize) -> impl Strategy<Value = Vec<u8>> + Clone {
    prop::collection::vec(any::<u8>(), 0..most)
}

pub(crate) fn path() -> impl Strategy<Value = PathBuf> + Clone {
    prop_oneof![
        any::<String>().prop_map(PathBuf::from),
        short(20).prop_map(|bytes| PathBuf::from(OsString::from_vec(bytes))),
    ]
}

pub(crate) fn duration() -> impl Strategy<Value = Duration> + Clone {
    (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(whole, nanos)| Duration::new(whole, nanos))
}

pub(crate) fn system_time() -> impl Strategy<Value = SystemTime> + Clone {
    (any::<u32>(), 0..1_000_000_000_u32, any::<bool>()).prop_map(|(whole, nanos, is_before)| {
        let span = Duration::new(whole.into(), nanos);
        let epoch = SystemTime::UNIX_EPOCH;
        if is_before { epoch - span } else { epoch + span }
    })
}

pub(crate) fn address() -> impl Strategy<Value = SocketAddr> + Clone {
    prop_oneof![any::<SocketAddr>(), address_6().prop_map(SocketAddr::V6)]
}

pub(crate) fn address_6() -> impl Strategy<Value = SocketAddrV6> + Clone {
    let parts = any::<(u128, u16, u32, u32)>();
    parts.prop_map(|(ip, port, flow, scope)| SocketAddrV6::new(ip.into(), port, flow, scope))
}
