//! Numbers at the boundaries of every width, in every form that can carry them, through every type
//! that reads numbers: each is read exactly or refused, never changed.

use alloc::vec::Vec;
use core::fmt::Debug;

use super::*;

/// Marker, width in bytes, and whether the form is signed.
const FORMS: [(u8, usize, bool); 8] = [
    (0xCC, 1, false),
    (0xCD, 2, false),
    (0xCE, 4, false),
    (0xCF, 8, false),
    (0xD0, 1, true),
    (0xD1, 2, true),
    (0xD2, 4, true),
    (0xD3, 8, true),
];

/// The boundaries of all integer widths and of both mantissas, and their neighbours.
fn edges() -> Vec<i128> {
    let mut numbers = Vec::from([0, 1, 127, 128, -32, -33]);
    for bits in [7, 8, 15, 16, 24, 31, 32, 53, 54, 63, 64] {
        for near in -2..=2 {
            numbers.push((1 << bits) + near);
            numbers.push(-(1 << bits) + near);
        }
    }
    // Many bits wide, but still exactly an `f64`.
    numbers.extend([0x1F_FFFF_FFFF_FFFF << 11, -(0x1F_FFFF_FFFF_FFFF << 10)]);
    numbers.retain(|number| (i64::MIN.into()..=u64::MAX.into()).contains(number));
    numbers
}

/// The number in each form that can carry it.
fn forms_of(number: i128) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    if (-32..128).contains(&number) {
        forms.push(Vec::from([number as u8]));
    }
    for (marker, width, signed) in FORMS {
        let bits = 8 * width as u32;
        let range = match signed {
            true => -(1_i128 << (bits - 1))..1 << (bits - 1),
            false => 0..1 << bits,
        };
        if range.contains(&number) {
            let mut form = Vec::from([marker]);
            form.extend(&number.to_be_bytes()[16 - width..]);
            forms.push(form);
        }
    }
    forms
}

#[track_caller]
fn check<T>(bytes: &[u8], expected: Result<T, DecodeError>)
where
    T: for<'a> Decode<'a> + PartialEq + Debug,
{
    let mut reader = Reader::new(bytes);
    assert_eq!(T::decode(&mut reader), expected, "{bytes:02x?}");
    assert!(reader.is_empty(), "{bytes:02x?}");
}

fn check_whole<T>(bytes: &[u8], number: i128, expected: &'static str)
where
    T: TryFrom<i128> + for<'a> Decode<'a> + PartialEq + Debug,
{
    check(bytes, T::try_from(number).map_err(|_| DecodeError::OutOfRange { expected }));
}

#[test]
fn an_integer_is_read_exactly_or_refused() {
    for number in edges() {
        let forms = forms_of(number);
        assert!(!forms.is_empty(), "{number}");
        for bytes in &forms {
            check_whole::<u8>(bytes, number, "u8");
            check_whole::<u16>(bytes, number, "u16");
            check_whole::<u32>(bytes, number, "u32");
            check_whole::<u64>(bytes, number, "u64");
            check_whole::<usize>(bytes, number, "usize");
            check_whole::<i8>(bytes, number, "i8");
            check_whole::<i16>(bytes, number, "i16");
            check_whole::<i32>(bytes, number, "i32");
            check_whole::<i64>(bytes, number, "i64");
            check_whole::<isize>(bytes, number, "isize");
        }
    }
}

#[test]
fn an_integer_is_read_as_a_float_if_the_float_is_exact() {
    let (mut read, mut refused) = (0, 0);
    for number in edges() {
        let float = number as f64;
        let exact = float as i128 == number;
        *(if exact { &mut read } else { &mut refused }) += 1;
        let error = DecodeError::OutOfRange { expected: "f64" };
        for bytes in forms_of(number) {
            check::<f64>(&bytes, exact.then_some(float).ok_or(error));
            check::<f32>(&bytes, exact.then_some(float as f32).ok_or(error));
        }
    }
    assert!(read > 50 && refused > 5, "{read} read, {refused} refused");
}

fn form_of_f32(number: f32) -> Vec<u8> {
    [&[0xCA][..], &number.to_be_bytes()].concat()
}

fn form_of_f64(number: f64) -> Vec<u8> {
    [&[0xCB][..], &number.to_be_bytes()].concat()
}

#[test]
fn a_float_is_read_in_either_width_and_refused_if_it_would_become_infinite() {
    for number in [0.0, -0.0, 1.5, f32::MIN_POSITIVE, f32::MAX, f32::MIN, f32::INFINITY] {
        for form in [form_of_f32(number), form_of_f64(number.into())] {
            check::<f32>(&form, Ok(number));
            check::<f64>(&form, Ok(number.into()));
        }
    }
    check::<f32>(&form_of_f64(0.1), Ok(0.1));
    check::<f32>(&form_of_f64(f64::MIN_POSITIVE), Ok(0.0));
    check::<f64>(&form_of_f64(f64::MAX), Ok(f64::MAX));
    for beyond in [f64::MAX, f64::MIN, f64::from(f32::MAX) * 1.000_001] {
        check::<f32>(&form_of_f64(beyond), Err(DecodeError::OutOfRange { expected: "f32" }));
    }
    for form in [form_of_f32(f32::NAN), form_of_f64(f64::NAN)] {
        assert!(f32::decode(&mut Reader::new(&form)).is_ok_and(f32::is_nan));
        assert!(f64::decode(&mut Reader::new(&form)).is_ok_and(f64::is_nan));
    }
}

#[test]
fn a_float_is_not_read_as_an_integer() {
    for (form, found) in [(form_of_f32(2.0), 0xCA), (form_of_f64(2.0), 0xCB)] {
        let mut reader = Reader::new(&form);
        let refused = DecodeError::WrongType { expected: "i64", found };
        assert_eq!(i64::decode(&mut reader), Err(refused));
        let refused = DecodeError::WrongType { expected: "u8", found };
        assert_eq!(u8::decode(&mut Reader::new(&form)), Err(refused));
    }
}

#[test]
fn an_integer_at_a_boundary_round_trips_in_its_shortest_form() {
    for number in edges() {
        let mut out = Buffer::new();
        match u64::try_from(number) {
            Ok(number) => number.encode(&mut out),
            Err(_) => (number as i64).encode(&mut out),
        }
        let shortest = forms_of(number).iter().map(Vec::len).min();
        assert_eq!(Some(out.as_slice().len()), shortest, "{number}");
        assert!(forms_of(number).iter().any(|form| form == out.as_slice()), "{number}");
        if let Ok(signed) = i64::try_from(number) {
            let mut out = Buffer::new();
            signed.encode(&mut out);
            check::<i64>(out.as_slice(), Ok(signed));
            assert_eq!(Some(out.as_slice().len()), shortest, "{number}");
        }
    }
}
