//! Dates and times of `chrono`. The nanoseconds of a leap second are from 1,000,000,000 on.

use ::chrono::{
    DateTime, Datelike, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Timelike, Utc,
};

use super::calendar::{
    DATE, MOMENT, TIME, put_date, put_moment, put_time, take_date, take_moment, take_time,
};
use crate::{Buffer, Decode, DecodeError, Encode, Reader};

/// `[seconds, nanoseconds]` since 1970.
impl Encode for DateTime<Utc> {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        put_moment(out, self.timestamp(), self.timestamp_subsec_nanos(), 0);
    }
}

/// An offset from UTC is read and ignored: it does not change the moment.
impl<'a> Decode<'a> for DateTime<Utc> {
    fn decode(reader: &mut Reader<'a>) -> Result<DateTime<Utc>, DecodeError> {
        let (seconds, nanos, _) = take_moment(reader)?;
        DateTime::from_timestamp(seconds, nanos).ok_or(MOMENT)
    }
}

/// As in UTC, with the offset as third value unless it is 0.
impl Encode for DateTime<FixedOffset> {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        let offset = self.offset().local_minus_utc();
        put_moment(out, self.timestamp(), self.timestamp_subsec_nanos(), offset);
    }
}

impl<'a> Decode<'a> for DateTime<FixedOffset> {
    fn decode(reader: &mut Reader<'a>) -> Result<DateTime<FixedOffset>, DecodeError> {
        let (seconds, nanos, offset) = take_moment(reader)?;
        let moment = DateTime::from_timestamp(seconds, nanos).ok_or(MOMENT)?;
        let offset = FixedOffset::east_opt(offset).ok_or(MOMENT)?;
        Ok(moment.with_timezone(&offset))
    }
}

/// `[seconds, nanoseconds]` since the start of 1970 in the same local time.
impl Encode for NaiveDateTime {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        self.and_utc().encode(out);
    }
}

impl<'a> Decode<'a> for NaiveDateTime {
    fn decode(reader: &mut Reader<'a>) -> Result<NaiveDateTime, DecodeError> {
        DateTime::<Utc>::decode(reader).map(|moment| moment.naive_utc())
    }
}

/// `[year, month, day]`.
impl Encode for NaiveDate {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        put_date(out, self.year(), self.month() as u8, self.day() as u8);
    }
}

impl<'a> Decode<'a> for NaiveDate {
    fn decode(reader: &mut Reader<'a>) -> Result<NaiveDate, DecodeError> {
        let (year, month, day) = take_date(reader)?;
        NaiveDate::from_ymd_opt(year, month.into(), day.into()).ok_or(DATE)
    }
}

/// `[seconds, nanoseconds]` since midnight.
impl Encode for NaiveTime {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        put_time(out, self.num_seconds_from_midnight(), self.nanosecond());
    }
}

impl<'a> Decode<'a> for NaiveTime {
    fn decode(reader: &mut Reader<'a>) -> Result<NaiveTime, DecodeError> {
        let (seconds, nanos) = take_time(reader)?;
        NaiveTime::from_num_seconds_from_midnight_opt(seconds, nanos).ok_or(TIME)
    }
}
