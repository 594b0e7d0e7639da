//! Random values of the types of other crates that have a form.

use chrono::{DateTime, FixedOffset, Utc};
use proptest::prelude::*;
use rust_decimal::Decimal;
use serde_json::{Number, Value};
use time::{OffsetDateTime, UtcOffset};

use super::strategies::float;

pub(crate) fn decimal() -> impl Strategy<Value = Decimal> + Clone {
    (any::<(u32, u32, u32, bool)>(), 0..29_u32).prop_map(
        |((low, middle, high, negative), scale)| {
            Decimal::from_parts(low, middle, high, negative, scale)
        },
    )
}

pub(crate) fn json() -> impl Strategy<Value = Value> + Clone {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        float().prop_map(|float| Number::from_f64(float).map_or(Value::Null, Value::Number)),
        any::<String>().prop_map(Value::String),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::hash_map(any::<String>(), inner, 0..3)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Every moment of which chrono knows, most of them within some ten thousand years; leap seconds too.
pub(crate) fn chrono_utc() -> impl Strategy<Value = DateTime<Utc>> + Clone {
    let range = DateTime::<Utc>::MIN_UTC.timestamp()..=DateTime::<Utc>::MAX_UTC.timestamp();
    let seconds = prop_oneof![range, -300_000_000_000..300_000_000_000_i64];
    let plain = (seconds.clone(), 0..1_000_000_000_u32);
    let leap = (seconds, 1_000_000_000..2_000_000_000_u32)
        .prop_map(|(seconds, nanos)| (seconds - seconds.rem_euclid(60) + 59, nanos));
    prop_oneof![4 => plain, 1 => leap].prop_filter_map("chrono knows it", |(seconds, nanos)| {
        DateTime::from_timestamp(seconds, nanos)
    })
}

pub(crate) fn chrono_offset() -> impl Strategy<Value = DateTime<FixedOffset>> + Clone {
    let seconds = -300_000_000_000..300_000_000_000_i64;
    (seconds, 0..1_000_000_000_u32, -86_399..86_400).prop_map(|(seconds, nanos, offset)| {
        let moment = DateTime::from_timestamp(seconds, nanos).unwrap();
        moment.with_timezone(&FixedOffset::east_opt(offset).unwrap())
    })
}

pub(crate) fn time_offset() -> impl Strategy<Value = OffsetDateTime> + Clone {
    let seconds = -300_000_000_000..200_000_000_000_i64;
    (seconds, 0..1_000_000_000_u32, -86_399..86_400).prop_map(|(seconds, nanos, offset)| {
        let moment = OffsetDateTime::from_unix_timestamp(seconds).unwrap();
        let moment = moment.replace_nanosecond(nanos).unwrap();
        moment.to_offset(UtcOffset::from_whole_seconds(offset).unwrap())
    })
}
