use alloc::vec::Vec;
use core::fmt::Debug;

use ::chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use ::rust_decimal::Decimal;
use ::serde_json::{Value, json};
use ::time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset};
use ::uuid::Uuid;

use crate::{Buffer, Decode, DecodeError, Encode, Reader};

fn encoded(value: &impl Encode) -> Vec<u8> {
    let mut out = Buffer::new();
    value.encode(&mut out);
    out.as_slice().to_vec()
}

fn read<T: for<'a> Decode<'a>>(bytes: &[u8]) -> Result<T, DecodeError> {
    T::decode(&mut Reader::new(bytes))
}

/// Checks the form of a value, and that it comes back from it.
#[track_caller]
fn form<T>(value: T, bytes: &[u8])
where
    T: Encode + for<'a> Decode<'a> + PartialEq + Debug,
{
    assert_eq!(encoded(&value), bytes);
    assert_eq!(read::<T>(bytes).as_ref(), Ok(&value));
}

#[track_caller]
fn out_of_range<T: for<'a> Decode<'a> + Debug>(bytes: &[u8]) {
    let outcome = read::<T>(bytes);
    assert!(matches!(outcome, Err(DecodeError::OutOfRange { .. })), "{outcome:?}");
}

const SECOND: [u8; 5] = [0xCE, 0x3B, 0x9A, 0xCA, 0x00];

#[test]
fn a_uuid_is_bin_and_is_read_from_text() {
    let bytes = core::array::from_fn(|at| at as u8);
    let id = Uuid::from_bytes(bytes);
    form(id, &[&[0xC4, 16][..], &bytes].concat());
    form(Some(Uuid::nil()), &[&[0xC4, 16][..], &[0; 16]].concat());
    let text = b"\xD9\x2400010203-0405-0607-0809-0a0b0c0d0e0f";
    assert_eq!(read(text), Ok(id));
    out_of_range::<Uuid>(b"\xA1x");
    out_of_range::<Uuid>(&[0xC4, 1, 0]);
    let mut small = Buffer::new();
    small.small(|scratch| id.encode_small(scratch, 0));
    assert_eq!(small.as_slice(), encoded(&id));
}

#[test]
fn a_decimal_is_text_and_keeps_its_digits() {
    form(Decimal::new(-1250, 2), b"\xA6-12.50");
    let back: Decimal = read(b"\xA6-12.50").unwrap();
    assert_eq!(back.scale(), 2);
    form(Decimal::MAX, b"\xBD79228162514264337593543950335");
    assert_eq!(read(&[0xFF]), Ok(Decimal::NEGATIVE_ONE));
    out_of_range::<Decimal>(b"\xA1x");
    out_of_range::<Decimal>(b"\xBD79228162514264337593543950336");
    // Rounding would lose the last digit.
    out_of_range::<Decimal>(b"\xBF1.00000000000000000000000000001");
    out_of_range::<Decimal>(&[&[0xC4, 16][..], &[0x7F; 16]].concat());
    let float = read::<Decimal>(&[0xCB, 0x3F, 0xF8, 0, 0, 0, 0, 0, 0]);
    assert!(matches!(float, Err(DecodeError::WrongType { .. })), "{float:?}");
}

#[test]
fn json_has_the_forms_of_its_parts() {
    form(Value::Null, &[0xC0]);
    form(Some(Value::Null), &[0x91, 0xC0]);
    form(None::<Value>, &[0xC0]);
    form(json!([true, -1, 2, "x", {"a": []}]), b"\x95\xC3\xFF\x02\xA1x\x81\xA1a\x90");
    form(json!(2.0), &[0xCB, 0x40, 0, 0, 0, 0, 0, 0, 0]);
    form(json!(u64::MAX), &[0xCF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]);
    assert_eq!(read(&[0xC4, 2, 1, 200]), Ok(json!([1, 200])));
    out_of_range::<Value>(&[0xCB, 0x7F, 0xF0, 0, 0, 0, 0, 0, 0]);
    let key = read::<Value>(&[0x81, 1, 2]);
    assert!(matches!(key, Err(DecodeError::WrongType { .. })), "{key:?}");
    let extension = read::<Value>(&[0xD4, 1, 1]);
    assert!(matches!(extension, Err(DecodeError::WrongType { .. })), "{extension:?}");
    assert!(matches!(read::<Value>(&[]), Err(DecodeError::Short { .. })));
}

#[test]
fn json_nests_as_deeply_as_other_values() {
    let nested = |levels: usize| [&alloc::vec![0x91; levels][..], &[0xC0]].concat();
    assert!(read::<Value>(&nested(64)).is_ok());
    assert_eq!(read::<Value>(&nested(65)), Err(DecodeError::TooDeep));
}

#[test]
fn dates_and_times_of_both_crates_have_the_same_forms() {
    form(NaiveDate::from_ymd_opt(2026, 2, 28).unwrap(), &[0x93, 0xCD, 0x07, 0xEA, 2, 28]);
    let date = Date::from_calendar_date(2026, Month::February, 28).unwrap();
    form(date, &[0x93, 0xCD, 0x07, 0xEA, 2, 28]);
    form(NaiveTime::from_hms_nano_opt(0, 1, 2, 3).unwrap(), &[0x92, 62, 3]);
    form(Time::from_hms_nano(0, 1, 2, 3).unwrap(), &[0x92, 62, 3]);
    form(DateTime::<Utc>::from_timestamp(-1, 5).unwrap(), &[0x92, 0xFF, 5]);
    form(DateTime::<Utc>::from_timestamp(-1, 5).unwrap().naive_utc(), &[0x92, 0xFF, 5]);
    let moment = OffsetDateTime::from_unix_timestamp(-1).unwrap().replace_nanosecond(5).unwrap();
    form(moment, &[0x92, 0xFF, 5]);
    form(PrimitiveDateTime::new(moment.date(), moment.time()), &[0x92, 0xFF, 5]);
    let bytes = [0x93, 0xFF, 5, 0xD1, 0xF1, 0xF0];
    let moment = moment.to_offset(UtcOffset::from_hms(-1, 0, 0).unwrap());
    form(moment, &bytes);
    let back: OffsetDateTime = read(&bytes).unwrap();
    assert_eq!(back.offset(), moment.offset());
    let offset = FixedOffset::west_opt(3_600).unwrap();
    form(DateTime::from_timestamp(-1, 5).unwrap().with_timezone(&offset), &bytes);
    assert_eq!(read(&bytes), Ok(DateTime::<Utc>::from_timestamp(-1, 5).unwrap()));
}

#[test]
fn only_chrono_reads_a_leap_second() {
    let leap = NaiveTime::from_hms_nano_opt(0, 0, 59, 1_000_000_000).unwrap();
    let bytes = [&[0x92, 59][..], &SECOND].concat();
    form(leap, &bytes);
    form(DateTime::<Utc>::from_timestamp(59, 1_000_000_000).unwrap(), &bytes);
    out_of_range::<Time>(&bytes);
    out_of_range::<OffsetDateTime>(&bytes);
    out_of_range::<DateTime<Utc>>(&[&[0x92, 58][..], &SECOND].concat());
}

#[test]
fn values_that_are_no_date_or_time_are_refused() {
    for date in [&[0x93, 0xCD, 0x07, 0xEA, 2, 29][..], &[0x93, 1, 13, 1], &[0x93, 1, 0, 1]] {
        out_of_range::<NaiveDate>(date);
        out_of_range::<Date>(date);
    }
    for time in [&[0x92, 0xCE, 0, 1, 0x51, 0x80, 0][..], &[0x92, 0xCE, 0xFF, 0xFF, 0xFF, 0xFF, 0]] {
        out_of_range::<NaiveTime>(time);
        out_of_range::<Time>(time);
    }
    let never = [0x92, 0xCF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0];
    out_of_range::<DateTime<Utc>>(&never);
    out_of_range::<NaiveDateTime>(&never);
    out_of_range::<OffsetDateTime>(&never);
    out_of_range::<PrimitiveDateTime>(&never);
    let offset = [0x93, 0, 0, 0xCE, 0, 1, 0x51, 0x80];
    out_of_range::<DateTime<FixedOffset>>(&offset);
    out_of_range::<OffsetDateTime>(&[0x93, 0, 0, 0xCE, 0, 2, 0x51, 0x80]);
    out_of_range::<DateTime<Utc>>(&[0x91, 0]);
}
