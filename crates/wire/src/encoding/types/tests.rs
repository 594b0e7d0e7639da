use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt::Debug;
use core::marker::PhantomData;
use core::net::{IpAddr, SocketAddr, SocketAddrV6};
use core::num::{NonZeroI128, NonZeroU8, NonZeroU64, Wrapping};
use core::time::Duration;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::SystemTime;

use proptest::prelude::*;

use crate::{Buffer, Decode, DecodeError, Encode, Reader};

fn encoded(value: &impl Encode) -> Vec<u8> {
    let mut out = Buffer::new();
    value.encode(&mut out);
    out.as_slice().to_vec()
}

/// Fails unless `value` comes back, and unless each of its prefixes is refused.
#[track_caller]
fn comes_back<T>(value: T)
where
    T: Encode + for<'a> Decode<'a> + PartialEq + Debug,
{
    let bytes = encoded(&value);
    let mut reader = Reader::new(&bytes);
    assert_eq!(T::decode(&mut reader).as_ref(), Ok(&value), "{bytes:x?}");
    assert!(reader.is_empty(), "{value:?}: {:x?} is left", reader.rest());
    for cut in 0..bytes.len() {
        let torn = T::decode(&mut Reader::new(&bytes[..cut]));
        assert!(torn.is_err(), "cut at {cut}: {torn:?}");
    }
}

/// A value, and the same behind everything that may surround it, three levels deep.
#[track_caller]
fn comes_back_nested<T>(value: T)
where
    T: Encode + for<'a> Decode<'a> + PartialEq + Debug + Clone,
{
    comes_back(value.clone());
    comes_back(Some(Some(Some(value.clone()))));
    comes_back::<Option<Option<T>>>(Some(None));
    comes_back(Box::new(Arc::new([Some(value.clone()), None])));
    comes_back(VecDeque::from([(value.clone(), Ok::<T, ()>(value.clone()))]));
    comes_back(BTreeMap::from([("a".to_owned(), Err::<(), _>(Some(value)))]));
}

fn refused<T: for<'a> Decode<'a> + Debug>(bytes: &[u8]) -> DecodeError {
    T::decode(&mut Reader::new(bytes)).expect_err("it is not a value of the type")
}

proptest! {
    #[test]
    fn numbers_come_back(wide: u128, shift in 0_u32..128, sign: bool) {
        let number = wide >> shift;
        comes_back_nested(number);
        comes_back_nested(if sign { (number as i128).wrapping_neg() } else { number as i128 });
        comes_back_nested(Wrapping(number as u16));
        if let Some(number) = NonZeroU64::new(number as u64) {
            comes_back_nested(number);
        }
        comes_back(NonZeroI128::new(number as i128));
        comes_back_nested((number as u8)..(wide as u8));
    }

    #[test]
    fn texts_and_paths_come_back(one: char, text: String, bytes: Vec<u8>) {
        comes_back_nested(one);
        comes_back_nested::<Box<str>>(text.as_str().into());
        comes_back_nested::<Arc<str>>(text.as_str().into());
        comes_back_nested::<Cow<'static, str>>(Cow::Owned(text.clone()));
        comes_back_nested(PathBuf::from(text));
        comes_back_nested(PathBuf::from(OsString::from_vec(bytes)));
    }

    #[test]
    fn sets_and_maps_come_back(items: Vec<(i16, Option<u8>)>) {
        comes_back_nested(items.iter().copied().collect::<VecDeque<_>>());
        comes_back_nested(items.iter().copied().collect::<BTreeSet<_>>());
        comes_back_nested(items.iter().copied().collect::<HashSet<_>>());
        comes_back_nested(items.iter().copied().collect::<HashMap<_, _>>());
    }

    #[test]
    fn times_come_back(seconds: u32, nanos in 0_u32..1_000_000_000, is_before: bool) {
        let span = Duration::new(u64::from(seconds), nanos);
        comes_back_nested(span);
        let epoch = SystemTime::UNIX_EPOCH;
        comes_back_nested(if is_before { epoch - span } else { epoch + span });
    }

    #[test]
    fn addresses_come_back(ip: IpAddr, port: u16, flow: u32, scope: u32) {
        comes_back_nested(ip);
        comes_back_nested(SocketAddr::new(ip, port));
        let ip = match ip { IpAddr::V4(ip) => ip.to_ipv6_mapped(), IpAddr::V6(ip) => ip };
        comes_back_nested(SocketAddr::V6(SocketAddrV6::new(ip, port, flow, scope)));
        comes_back_nested(SocketAddrV6::new(ip, port, 0, scope));
    }

    /// Arbitrary bytes give a result, never a panic.
    #[test]
    fn noise_never_panics_the_decoder(noise in prop::collection::vec(any::<u8>(), 0..64)) {
        let mut reader = Reader::new(&noise);
        let _ = HashMap::<Vec<SocketAddr>, (SystemTime, Duration, i128)>::decode(&mut reader);
        let mut reader = Reader::new(&noise);
        let _ = HashSet::<(char, PathBuf, NonZeroU8, Ordering)>::decode(&mut reader);
    }
}

#[test]
fn marks_and_long_tuples_come_back() {
    [Ordering::Less, Ordering::Equal, Ordering::Greater].into_iter().for_each(comes_back_nested);
    comes_back_nested(PhantomData::<SystemTime>);
    comes_back((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, "twelve".to_owned()));
}

#[test]
fn the_forms_are_as_documented() {
    assert_eq!(encoded(&7_u128), [7]);
    assert_eq!(encoded(&u128::MAX), [[0xC4, 16].as_slice(), &[0xFF; 16]].concat());
    assert_eq!(encoded(&'x'), [0xA1, b'x']);
    assert_eq!(encoded(&Duration::from_millis(1500)), [0x92, 1, 0xCE, 0x1D, 0xCD, 0x65, 0x00]);
    let before = SystemTime::UNIX_EPOCH - Duration::from_millis(500);
    assert_eq!(encoded(&before), [0x92, 0xFF, 0xCE, 0x1D, 0xCD, 0x65, 0x00]);
    let before = SystemTime::UNIX_EPOCH - Duration::from_secs(2);
    assert_eq!(encoded(&before), [0x92, 0xFE, 0]);
    comes_back(before);
    assert_eq!(encoded(&SocketAddr::from(([127, 0, 0, 1], 80))), b"\xAC127.0.0.1:80");
    assert_eq!(encoded(&PathBuf::from("/tmp")), b"\xA4/tmp");
    assert_eq!(encoded(&(3_u8..5)), [0x92, 3, 5]);
    assert_eq!(encoded(&Some(())), [0x91, 0xC0]);
}

#[test]
fn values_of_other_types_are_refused() {
    let out_of_range = |error| assert!(matches!(error, DecodeError::OutOfRange { .. }), "{error}");
    out_of_range(refused::<NonZeroU8>(&[0]));
    out_of_range(refused::<char>(b"\xA0"));
    out_of_range(refused::<char>(b"\xA2ab"));
    out_of_range(refused::<Ordering>(&[2]));
    out_of_range(refused::<u128>(&[0xC4, 2, 1, 1]));
    out_of_range(refused::<u128>(&[0xFF]));
    out_of_range(refused::<IpAddr>(b"\xA1x"));
    out_of_range(refused::<Duration>(&[0x92, 1, 0xCE, 0x3B, 0x9A, 0xCA, 0x00]));
    out_of_range(refused::<core::ops::Range<u8>>(&[0x91, 1]));
    out_of_range(refused::<Option<Option<u8>>>(&[0x92, 1, 1]));
}

/// A type whose encoder may do anything.
struct Own;

impl Encode for Own {
    fn encode(&self, out: &mut Buffer) {
        out.push(0xC0);
    }
}

/// Fails to compile unless each composite type is plain with a plain part and only then.
macro_rules! as_their_part {
    ($($name:ident: $kind:ty),* $(,)?) => {$(
        type $name<T> = $kind;
        const _: () = assert!(<$name<u8> as Encode>::IS_PLAIN && !<$name<Own> as Encode>::IS_PLAIN);
    )*};
}

#[test]
fn a_composite_type_is_plain_if_its_parts_are() {
    as_their_part!(
        Maybe: Option<T>, Good: Result<T, u8>, Bad: Result<u8, T>, List: Vec<T>, Boxed: Box<T>,
        Slice: Box<[T]>, Shared: Arc<T>, Fixed: [T; 2], Queue: VecDeque<T>, Set: BTreeSet<T>,
        Hashed: HashSet<T>, Keys: BTreeMap<T, u8>, Values: BTreeMap<u8, T>,
        HashedKeys: HashMap<T, u8>, HashedValues: HashMap<u8, T>, First: (T, u8), Last: (u8, T),
        Span: core::ops::Range<T>, Wrapped: Wrapping<T>, Borrowed: &'static T,
    );
    const { assert!(<PhantomData<Own> as Encode>::IS_PLAIN && <Duration as Encode>::IS_PLAIN) };
    // `Borrow` may be implemented by the program.
    const { assert!(!<Cow<'static, str> as Encode>::IS_PLAIN) };
}
