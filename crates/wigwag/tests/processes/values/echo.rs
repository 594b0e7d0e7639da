//! The actors that send values back: one method for each type.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::num::{NonZeroI64, NonZeroU8, NonZeroU128, Wrapping};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rust_decimal::Decimal;
use serde_json::Value;
use time::{Date, OffsetDateTime, PrimitiveDateTime, Time};
use uuid::Uuid;
use wigwag::{Bytes, Interface};

use super::around::{Around, Choice, around, choice};
use super::strategies::{
    Event, Point, address, address_6, duration, event, float, path, point, short, system_time,
};
use super::types_of_crates::{chrono_offset, chrono_utc, decimal, json, time_offset};
use super::{Places, check};

type Text = Cow<'static, str>;
type Slice = Cow<'static, [u16]>;
type Long = (u8, i8, u16, i16, u32, i32, u64, i64, bool, char, (), String);

/// An actor with one method for each type, which takes and returns a value and what `$Wrap` makes of
/// it; and the function that checks all of them, with such values from `$wrap`.
macro_rules! echo {
    ($Actor:ident, $check_all:ident, $Wrap:ident, $wrap:ident;
     $($name:ident: $Type:ty = $values:expr;)*) => {
        pub(crate) struct $Actor;

        #[wigwag::actor]
        impl $Actor {
            $(
                pub fn $name(&self, value: $Type, more: $Wrap<$Type>) -> ($Type, $Wrap<$Type>) {
                    (value, more)
                }
            )*
        }

        pub(crate) fn $check_all(
            runner: &mut TestRunner,
            places: &Places<<$Actor as Interface>::Ref>,
        ) {
            $(
                let values = ($values, $wrap::<$Type>($values));
                check(runner, stringify!($name), places, values, |there, (value, more)| {
                    let answer = there.$name(value, more).blocking_ask();
                    answer.map_err(|error| error.into_error().to_string())
                });
            )*
        }
    };
}

echo! { Echo, check_echo, Around, around;
    nothing: () = Just(());
    phantom: PhantomData<u8> = Just(PhantomData);
    boolean: bool = any::<bool>();
    byte: u8 = any::<u8>();
    number: u64 = any::<u64>();
    place: usize = any::<usize>();
    negative: i64 = any::<i64>();
    wide: u128 = (any::<u128>(), 0..128).prop_map(|(bits, shift)| bits >> shift);
    wide_negative: i128 = (any::<i128>(), 0..128).prop_map(|(bits, shift)| bits >> shift);
    not_zero: NonZeroU8 = any::<NonZeroU8>();
    not_zero_negative: NonZeroI64 = any::<NonZeroI64>();
    not_zero_wide: NonZeroU128 = any::<NonZeroU128>();
    wrapping: Wrapping<i32> = any::<i32>().prop_map(Wrapping);
    narrow_float: f32 = any::<f32>();
    wide_float: f64 = float();
    character: char = any::<char>();
    text: String = any::<String>();
    boxed_text: Box<str> = any::<String>().prop_map(Box::from);
    shared_text: Arc<str> = any::<String>().prop_map(Arc::from);
    static_text: Text = any::<String>().prop_map(Cow::Owned);
    static_slice: Slice = prop::collection::vec(any::<u16>(), 0..9).prop_map(Cow::Owned);
    bytes: Bytes = short(300).prop_map(Bytes::from);
    byte_list: Vec<u8> = short(300);
    byte_array: [u8; 20] = any::<[u8; 20]>();
    byte_queue: VecDeque<u8> = short(20).prop_map(VecDeque::from);
    list: Vec<i16> = prop::collection::vec(any::<i16>(), 0..20);
    array: [u16; 17] = any::<[u16; 17]>();
    ordered_set: BTreeSet<u16> = prop::collection::btree_set(any::<u16>(), 0..9);
    set: HashSet<String> = prop::collection::hash_set("[a-z]*", 0..9);
    ordered_map: BTreeMap<u8, i64> = prop::collection::btree_map(any::<u8>(), any::<i64>(), 0..9);
    map: HashMap<String, f64> = prop::collection::hash_map("[a-z]*", float(), 0..9);
    long: Long = any::<((u8, i8, u16, i16, u32, i32), (u64, i64, bool, char, String))>().prop_map(
        |((a, b, c, d, e, f), (g, h, i, j, k))| (a, b, c, d, e, f, g, h, i, j, (), k),
    );
    option: Option<u32> = any::<Option<u32>>();
    outcome: Result<u8, String> = any::<Result<u8, String>>();
    boxed: Box<i8> = any::<i8>().prop_map(Box::new);
    shared: Arc<u64> = any::<u64>().prop_map(Arc::new);
    range: Range<u16> = any::<(u16, u16)>().prop_map(|(start, end)| start..end);
    ordering: Ordering =
        prop::sample::select(vec![Ordering::Less, Ordering::Equal, Ordering::Greater]);
    span: Duration = duration();
    moment: SystemTime = system_time();
    ip: IpAddr = any::<IpAddr>();
    ip_4: Ipv4Addr = any::<Ipv4Addr>();
    ip_6: Ipv6Addr = any::<Ipv6Addr>();
    socket: SocketAddr = address();
    socket_4: SocketAddrV4 = any::<SocketAddrV4>();
    socket_6: SocketAddrV6 = address_6();
    file: PathBuf = path();
    own: Point = point();
    own_choice: Choice<String> = choice(any::<String>());
    of_serde: Event = event();
    uuid: Uuid = any::<u128>().prop_map(Uuid::from_u128);
    decimal: Decimal = decimal();
    json: Value = json();
    chrono_utc: DateTime<Utc> = chrono_utc();
    chrono_offset: DateTime<FixedOffset> = chrono_offset();
    chrono_naive: NaiveDateTime = chrono_utc().prop_map(|moment| moment.naive_utc());
    chrono_date: NaiveDate = chrono_utc().prop_map(|moment| moment.date_naive());
    chrono_time: NaiveTime = chrono_utc().prop_map(|moment| moment.time());
    time_offset: OffsetDateTime = time_offset();
    time_local: PrimitiveDateTime =
        time_offset().prop_map(|moment| PrimitiveDateTime::new(moment.date(), moment.time()));
    time_date: Date = time_offset().prop_map(|moment| moment.date());
    time_of_day: Time = time_offset().prop_map(|moment| moment.time());
}

/// More values of fixed width; with the first they fit the fixed-width form.
type Pairs<T> = (T, [T; 2]);

fn pairs<T: Debug>(values: impl Strategy<Value = T> + Clone) -> impl Strategy<Value = Pairs<T>> {
    (values.clone(), [values.clone(), values])
}

echo! { Widths, check_widths, Pairs, pairs;
    nothing: () = Just(());
    boolean: bool = any::<bool>();
    u_8: u8 = any::<u8>();
    u_16: u16 = any::<u16>();
    u_32: u32 = any::<u32>();
    u_64: u64 = any::<u64>();
    u_size: usize = any::<usize>();
    i_8: i8 = any::<i8>();
    i_16: i16 = any::<i16>();
    i_32: i32 = any::<i32>();
    i_64: i64 = any::<i64>();
    i_size: isize = any::<isize>();
    f_32: f32 = any::<f32>();
    f_64: f64 = float();
    tuple: (u8, (i16, bool), [u8; 3]) = any::<(u8, (i16, bool), [u8; 3])>();
    own: Point = point();
}
