//! The forms of dates and times, which `chrono` and `time` share.

use crate::encoding::collections::nested;
use crate::encoding::msgpack::put_array;
use crate::{Buffer, Decode, DecodeError, Encode, Reader};

/// Appends `[seconds, nanoseconds]` since 1970 in UTC, or `[seconds, nanoseconds, offset]` if the
/// offset of the local time from UTC, in seconds, is not 0.
pub(super) fn put_moment(out: &mut Buffer, seconds: i64, nanos: u32, offset: i32) {
    put_array(out, if offset == 0 { 2 } else { 3 });
    seconds.encode(out);
    nanos.encode(out);
    if offset != 0 {
        offset.encode(out);
    }
}

/// Reads seconds, nanoseconds and the offset, which the caller checks.
pub(super) fn take_moment(reader: &mut Reader<'_>) -> Result<(i64, u32, i32), DecodeError> {
    nested(reader, |reader, count| {
        let (seconds, nanos) = match count {
            2 | 3 => (i64::decode(reader)?, u32::decode(reader)?),
            _ => {
                return Err(DecodeError::OutOfRange {
                    expected: "[seconds, nanoseconds] or [seconds, nanoseconds, offset]",
                });
            }
        };
        Ok((seconds, nanos, if count == 3 { i32::decode(reader)? } else { 0 }))
    })
}

/// Appends `[year, month, day]`.
pub(super) fn put_date(out: &mut Buffer, year: i32, month: u8, day: u8) {
    (year, month, day).encode(out);
}

/// Reads year, month and day, which the caller checks.
pub(super) fn take_date(reader: &mut Reader<'_>) -> Result<(i32, u8, u8), DecodeError> {
    Decode::decode(reader)
}

/// Appends `[seconds, nanoseconds]` since midnight.
pub(super) fn put_time(out: &mut Buffer, seconds: u32, nanos: u32) {
    (seconds, nanos).encode(out);
}

/// Reads seconds and nanoseconds, which the caller checks.
pub(super) fn take_time(reader: &mut Reader<'_>) -> Result<(u32, u32), DecodeError> {
    Decode::decode(reader)
}

pub(super) const MOMENT: DecodeError =
    DecodeError::OutOfRange { expected: "a time that the type can represent" };
pub(super) const DATE: DecodeError = DecodeError::OutOfRange { expected: "a date" };
pub(super) const TIME: DecodeError = DecodeError::OutOfRange { expected: "a time of day" };
