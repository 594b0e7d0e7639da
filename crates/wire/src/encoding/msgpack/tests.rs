use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZero;

use bytes::Bytes;
use proptest::prelude::*;

use super::*;

fn encoded(value: &impl Encode) -> Vec<u8> {
    let mut out = Buffer::new();
    value.encode(&mut out);
    out.as_slice().to_vec()
}

fn decoded<'a, T: Decode<'a>>(bytes: &'a [u8]) -> Result<T, DecodeError> {
    let mut reader = Reader::new(bytes);
    let value = T::decode(&mut reader)?;
    assert!(reader.is_empty(), "{} bytes left", reader.rest().len());
    Ok(value)
}

#[track_caller]
fn comes_back<T>(value: T)
where
    T: Encode + for<'a> Decode<'a> + PartialEq + core::fmt::Debug,
{
    let bytes = encoded(&value);
    assert_eq!(decoded::<T>(&bytes).as_ref(), Ok(&value), "{bytes:x?}");
    for cut in 0..bytes.len() {
        let torn = T::decode(&mut Reader::new(&bytes[..cut]));
        assert!(matches!(torn, Err(DecodeError::Short { .. })), "cut at {cut}: {torn:?}");
    }
}

proptest! {
    #[test]
    fn numbers_round_trip_and_truncated_ones_are_short(wide: i64, shift in 0_u32..64) {
        comes_back(wide >> shift);
        comes_back((wide as u64) >> shift);
        comes_back((wide >> shift) as i16);
        comes_back((wide >> shift) as u8);
        comes_back(f64::from_bits(wide as u64 & !(1 << 62)));
    }

    #[test]
    fn texts_lists_and_maps_round_trip(
        text in ".{0,300}",
        list in prop::collection::vec(any::<Option<u32>>(), 0..40),
        map in prop::collection::btree_map(any::<u16>(), any::<bool>(), 0..20),
    ) {
        comes_back((text, list));
        comes_back(map);
    }

    /// `None` is nil, so what is inside must not be nil as well.
    #[test]
    fn nested_options_keep_their_depth(
        values: Vec<Option<Option<Option<u8>>>>, pair: (Option<()>, Option<Box<Option<()>>>),
    ) {
        for value in &values {
            comes_back(*value);
        }
        comes_back((values, pair));
    }

    /// Arbitrary bytes give a result, never a panic.
    #[test]
    fn noise_never_panics_the_decoder(noise in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = Vec::<Vec<(u64, String)>>::decode(&mut Reader::new(&noise));
        let _ = BTreeMap::<u8, Option<f64>>::decode(&mut Reader::new(&noise));
        let _ = Result::<i8, Bytes>::decode(&mut Reader::new(&noise));
    }
}

#[test]
fn numbers_take_their_shortest_form() {
    for (value, length) in
        [(0, 1), (127, 1), (128, 2), (255, 2), (256, 3), (65_535, 3), (65_536, 5), (1_u64 << 32, 9)]
    {
        assert_eq!(encoded(&value).len(), length, "{value}");
    }
    for (value, length) in [(-1_i32, 1), (-32, 1), (-33, 2), (-128, 2), (-129, 3), (-32_769, 5)] {
        assert_eq!(encoded(&i64::from(value)).len(), length, "{value}");
    }
}

#[test]
fn the_bytes_are_those_of_the_specification() {
    assert_eq!(encoded(&(100_u8, -1_i64)), [0x92, 0x64, 0xFF]);
    assert_eq!(encoded(&"hé"), [0xA3, b'h', 0xC3, 0xA9]);
    assert_eq!(encoded(&Bytes::from_static(&[1, 2])), [0xC4, 2, 1, 2]);
    assert_eq!(encoded(&None::<u8>), [0xC0]);
    assert_eq!(encoded(&true), [0xC3]);
    assert_eq!(encoded(&vec![1_u16; 16])[..3], [0xDC, 0, 16]);
    assert_eq!(encoded(&BTreeMap::from([(1_u8, 2_u8)])), [0x81, 1, 2]);
}

#[test]
fn a_number_is_read_from_any_form_that_fits() {
    assert_eq!(decoded::<u8>(&[0xD3, 0, 0, 0, 0, 0, 0, 0, 7]), Ok(7));
    assert_eq!(decoded::<i64>(&[0xCC, 200]), Ok(200));
    assert_eq!(decoded::<f64>(&[0x02]), Ok(2.0));
    assert_eq!(decoded::<u8>(&[0xFF]), Err(DecodeError::OutOfRange { expected: "u8" }));
    assert_eq!(decoded::<i8>(&[0xCC, 200]), Err(DecodeError::OutOfRange { expected: "i8" }));
}

#[test]
fn a_wrong_type_is_named() {
    let error = decoded::<u64>(&encoded(&"ten")).expect_err("text is no number");
    assert_eq!(error, DecodeError::WrongType { expected: "u64", found: 0xA3 });
    assert_eq!(error.to_string(), "expected u64, found MessagePack marker 0xa3");
    assert_eq!(decoded::<&str>(&[0xA1, 0xFF]), Err(DecodeError::NotUtf8));
}

#[test]
fn a_claimed_length_allocates_nothing() {
    let four_billion = [0xDD, 0xFF, 0xFF, 0xFF, 0xFF];
    assert!(matches!(decoded::<Vec<()>>(&four_billion), Err(DecodeError::Short { .. })));
    let map = [0xDF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0];
    assert!(matches!(decoded::<BTreeMap<u8, u8>>(&map), Err(DecodeError::Short { .. })));
}

#[test]
fn deep_nesting_is_refused_before_the_stack_overflows() {
    #[derive(Debug)]
    struct Nest(#[expect(dead_code, reason = "only its depth matters")] Vec<Nest>);
    impl<'a> Decode<'a> for Nest {
        fn decode(reader: &mut Reader<'a>) -> Result<Nest, DecodeError> {
            Vec::decode(reader).map(Nest)
        }
    }
    let deep = vec![0x91; 100_000];
    assert_eq!(decoded::<Nest>(&deep).err(), Some(DecodeError::TooDeep));
}

/// The keys of JSON are texts, and so are those of a program that has made its arguments of JSON.
#[test]
fn keys_that_are_numbers_are_read_from_their_digits_and_from_no_other_text() {
    fn read<K: for<'a> Decode<'a> + Ord>(key: &str) -> Result<Option<K>, DecodeError> {
        let mut out = Buffer::new();
        put_map(&mut out, 1);
        key.encode(&mut out);
        true.encode(&mut out);
        let map: BTreeMap<K, bool> = decoded(out.as_slice())?;
        Ok(map.into_keys().next())
    }
    assert_eq!(read("7"), Ok(Some(7_u8)));
    assert_eq!(read("-128"), Ok(Some(i8::MIN)));
    assert_eq!(read(&u64::MAX.to_string()), Ok(Some(u64::MAX)));
    assert_eq!(read(&u128::MAX.to_string()), Ok(Some(u128::MAX)));
    assert_eq!(read("3"), Ok(NonZero::new(3_u16)));
    assert_eq!(read("true"), Ok(Some(true)));
    for other in ["", "256", "-1", "+7", "07", " 7", "7.0", "seven"] {
        assert_eq!(read::<u8>(other), Err(DecodeError::OutOfRange { expected: "u8" }), "{other}");
    }
    assert!(read::<NonZero<u16>>("0").is_err() && read::<bool>("True").is_err());
    let value = [0x81, 1, 0xA1, b'7'];
    assert!(decoded::<BTreeMap<u8, u8>>(&value).is_err(), "the values are as everywhere");
}
