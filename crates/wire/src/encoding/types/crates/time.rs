//! Dates and times of the crate `time`. It has no leap seconds, so those of another sender are
//! refused.

use ::time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset};

use super::calendar::{
    DATE, MOMENT, TIME, put_date, put_moment, put_time, take_date, take_moment, take_time,
};
use crate::{Buffer, Decode, DecodeError, Encode, Reader};

/// `[seconds, nanoseconds]` since 1970, with the offset from UTC in seconds as third value unless it
/// is 0.
impl Encode for OffsetDateTime {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        put_moment(out, self.unix_timestamp(), self.nanosecond(), self.offset().whole_seconds());
    }
}

impl<'a> Decode<'a> for OffsetDateTime {
    fn decode(reader: &mut Reader<'a>) -> Result<OffsetDateTime, DecodeError> {
        let (seconds, nanos, offset) = take_moment(reader)?;
        let offset = UtcOffset::from_whole_seconds(offset).map_err(|_| MOMENT)?;
        utc(seconds, nanos)?.checked_to_offset(offset).ok_or(MOMENT)
    }
}

fn utc(seconds: i64, nanos: u32) -> Result<OffsetDateTime, DecodeError> {
    let whole = OffsetDateTime::from_unix_timestamp(seconds);
    whole.and_then(|whole| whole.replace_nanosecond(nanos)).map_err(|_| MOMENT)
}

/// `[seconds, nanoseconds]` since the start of 1970 in the same local time.
impl Encode for PrimitiveDateTime {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        self.assume_utc().encode(out);
    }
}

impl<'a> Decode<'a> for PrimitiveDateTime {
    fn decode(reader: &mut Reader<'a>) -> Result<PrimitiveDateTime, DecodeError> {
        let (seconds, nanos, _) = take_moment(reader)?;
        let moment = utc(seconds, nanos)?;
        Ok(PrimitiveDateTime::new(moment.date(), moment.time()))
    }
}

/// `[year, month, day]`.
impl Encode for Date {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        put_date(out, self.year(), self.month().into(), self.day());
    }
}

impl<'a> Decode<'a> for Date {
    fn decode(reader: &mut Reader<'a>) -> Result<Date, DecodeError> {
        let (year, month, day) = take_date(reader)?;
        let month = Month::try_from(month).map_err(|_| DATE)?;
        Date::from_calendar_date(year, month, day).map_err(|_| DATE)
    }
}

/// `[seconds, nanoseconds]` since midnight.
impl Encode for Time {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        let (hours, minutes, seconds, nanos) = self.as_hms_nano();
        let minutes = u32::from(hours) * 60 + u32::from(minutes);
        put_time(out, minutes * 60 + u32::from(seconds), nanos);
    }
}

impl<'a> Decode<'a> for Time {
    fn decode(reader: &mut Reader<'a>) -> Result<Time, DecodeError> {
        let (seconds, nanos) = take_time(reader)?;
        let hours = u8::try_from(seconds / 3_600).map_err(|_| TIME)?;
        let (minutes, seconds) = ((seconds / 60 % 60) as u8, (seconds % 60) as u8);
        Time::from_hms_nano(hours, minutes, seconds, nanos).map_err(|_| TIME)
    }
}
