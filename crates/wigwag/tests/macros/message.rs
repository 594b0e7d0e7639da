//! The output of `#[derive(Message)]`: positions on the wire, and growth at the end.
#![deny(missing_docs, unused, clippy::pedantic)]

use wigwag::__private::{Buffer, DecodeError, Reader};
use wigwag::{
    Message,
    codec::{Decode, Encode},
};

#[derive(Message, Debug, PartialEq)]
struct Point {
    x: i32,
    y: i32,
    label: Option<String>,
    r#type: Option<u8>,
}

#[derive(Message, Debug, PartialEq)]
struct Pair<A, B: Clone = u8>(A, B)
where
    A: Sized;

#[derive(Message, Debug, PartialEq)]
struct Unit;

#[derive(Message, Debug, PartialEq)]
enum Shape<const N: usize = 2> {
    Empty,
    Polygon([i32; N], u8),
    Named { name: String, parent: Option<Box<Shape<N>>> },
}

#[derive(Message, Debug)]
enum Never {}

fn written(value: &impl Encode) -> Vec<u8> {
    let mut out = Buffer::default();
    value.encode(&mut out);
    out.as_slice().to_vec()
}

/// Reads a value and checks that all of its bytes are used.
fn read<T: for<'a> Decode<'a>>(bytes: &[u8]) -> Result<T, DecodeError> {
    let after = [bytes, &[0x2A]].concat();
    let mut reader = Reader::new(&after);
    let value = T::decode(&mut reader)?;
    assert_eq!(reader.rest(), [0x2A], "exactly one value is read");
    Ok(value)
}

fn point(x: i32, label: Option<&str>) -> Point {
    Point { x, y: -1, label: label.map(str::to_owned), r#type: None }
}

#[test]
fn a_struct_is_the_array_of_its_fields() {
    assert_eq!(written(&point(1, None)), [0x94, 1, 0xFF, 0xC0, 0xC0]);
    assert_eq!(written(&Pair(true, 9u8)), [0x92, 0xC3, 9]);
    assert_eq!(written(&Unit), [0x90]);
}

#[test]
fn an_enum_is_the_array_of_its_variant_and_the_fields() {
    assert_eq!(written(&Shape::<2>::Empty), [0x91, 0]);
    assert_eq!(written(&Shape::Polygon([3, 4], 5)), [0x93, 1, 0x92, 3, 4, 5]);
    let named = Shape::<1>::Named { name: "a".into(), parent: Some(Box::new(Shape::Empty)) };
    assert_eq!(written(&named), [0x93, 2, 0xA1, b'a', 0x91, 0]);
}

#[test]
fn values_come_back() {
    let point = point(70_000, Some("here"));
    assert_eq!(read(&written(&point)), Ok(point));
    let pair = Pair(vec![Unit, Unit], "text".to_owned());
    assert_eq!(read(&written(&pair)), Ok(pair));
    let named = Shape::<3>::Named {
        name: "a".into(),
        parent: Some(Box::new(Shape::Polygon([1, 2, 3], 4))),
    };
    assert_eq!(read(&written(&named)), Ok(named));
}

#[test]
fn options_that_are_missing_at_the_end_are_none() {
    for bytes in [&[0x92, 1, 0xFF][..], &[0x93, 1, 0xFF, 0xC0]] {
        assert_eq!(read(bytes), Ok(point(1, None)));
    }
    let named = Shape::<2>::Named { name: "a".into(), parent: None };
    assert_eq!(read(&[0x92, 2, 0xA1, b'a']), Ok(named));
}

#[test]
fn missing_fields_without_a_default_are_an_error() {
    let error = read::<Point>(&[0x91, 1]).unwrap_err();
    assert_eq!(error, DecodeError::OutOfRange { expected: "2 fields" });
    let error = read::<Shape>(&[0x91, 2]).unwrap_err();
    assert_eq!(error, DecodeError::OutOfRange { expected: "2 values" });
    let error = read::<Shape>(&[0x90]).unwrap_err();
    assert_eq!(error, DecodeError::OutOfRange { expected: "1 value" });
    let torn = Point::decode(&mut Reader::new(&[0x92, 1]));
    assert!(matches!(torn, Err(DecodeError::Short { .. })));
}

#[test]
fn fields_of_a_newer_sender_are_skipped() {
    let newer = [0x96, 1, 0xFF, 0xC0, 0xC0, 0x81, 0xA1, b'k', 0x92, 1, 2, 0xC3];
    assert_eq!(read(&newer), Ok(point(1, None)));
    assert_eq!(read(&[0x93, 0, 0xC0, 7]), Ok(Shape::<2>::Empty));
    assert_eq!(read(&[0x91, 7]), Ok(Unit));
}

#[test]
fn an_unknown_variant_is_an_error() {
    let expected = "one of 3 variants";
    assert_eq!(read::<Shape>(&[0x91, 3]), Err(DecodeError::OutOfRange { expected }));
    assert!(read::<Never>(&[0x91, 0]).is_err());
}

/// A value that contains itself: excessive depth is refused without overflowing the stack.
#[test]
fn nesting_is_bounded() {
    let mut bytes = Vec::new();
    for _ in 0..100 {
        bytes.extend([0x93, 2, 0xA0]);
    }
    bytes.extend([0x91, 0]);
    assert_eq!(read::<Shape>(&bytes), Err(DecodeError::TooDeep));
}

#[derive(Message, Debug, PartialEq)]
#[repr(u16)]
enum Numbered {
    First = 5,
    Next(bool),
    Before = 0x2,
    Last { value: u8 } = (300),
}

#[test]
fn a_variant_is_sent_as_its_discriminant() {
    assert_eq!(written(&Numbered::First), [0x91, 5]);
    assert_eq!(written(&Numbered::Next(true)), [0x92, 6, 0xC3]);
    assert_eq!(written(&Numbered::Before), [0x91, 2]);
    assert_eq!(written(&Numbered::Last { value: 1 }), [0x92, 0xCD, 1, 44, 1]);
    for value in [Numbered::First, Numbered::Before, Numbered::Last { value: 7 }] {
        assert_eq!(read(&written(&value)), Ok(value));
    }
    let expected = "one of 4 variants";
    assert_eq!(read::<Numbered>(&[0x91, 0]), Err(DecodeError::OutOfRange { expected }));
}
