//! Types that only the standard library has: tables by hash, paths, and points in time.
//!
//! This is the only file of the pure crates that links the standard library, and it uses values of
//! it alone: no file, no clock, no thread. `cargo xtask check` looks for those.

extern crate std;

use core::hash::{BuildHasher, Hash};
use core::time::Duration;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::encoding::bytes::put_bin;
use crate::encoding::collections::{nested, put_pairs, take_pairs};
use crate::encoding::fields::{Field, Fields};
use crate::encoding::msgpack::put_array;
use crate::encoding::types::time::{NANOS, take_seconds};
use crate::{Buffer, Decode, DecodeError, Encode, Reader};

/// An array of the items, in any order.
impl<T: Encode, S> Encode for HashSet<T, S> {
    const TRAVELS: bool = T::TRAVELS;
    const IS_PLAIN: bool = T::IS_PLAIN;
    const FIELDS: &'static Fields = T::FIELDS;
    fn encode(&self, out: &mut Buffer) {
        put_array(out, self.len());
        self.iter().for_each(|item| item.encode(out));
    }
}

impl<'a, T, S> Decode<'a> for HashSet<T, S>
where
    T: Decode<'a> + Eq + Hash,
    S: BuildHasher + Default,
{
    fn decode(reader: &mut Reader<'a>) -> Result<HashSet<T, S>, DecodeError> {
        nested(reader, |reader, count| {
            // Grows as items are read, so a length alone allocates nothing.
            let mut items = HashSet::default();
            for _ in 0..count {
                items.insert(T::decode(reader)?);
            }
            Ok(items)
        })
    }
}

/// A map, in any order.
impl<K: Encode, V: Encode, S> Encode for HashMap<K, V, S> {
    const TRAVELS: bool = K::TRAVELS && V::TRAVELS;
    const IS_PLAIN: bool = K::IS_PLAIN && V::IS_PLAIN;
    const FIELDS: &'static Fields = &Fields {
        name: "",
        fields: &[Field::unnamed("0", K::FIELDS), Field::unnamed("1", V::FIELDS)],
        comment: "",
    };
    fn encode(&self, out: &mut Buffer) {
        put_pairs(out, self.iter());
    }
}

impl<'a, K, V, S> Decode<'a> for HashMap<K, V, S>
where
    K: Decode<'a> + Eq + Hash,
    V: Decode<'a>,
    S: BuildHasher + Default,
{
    fn decode(reader: &mut Reader<'a>) -> Result<HashMap<K, V, S>, DecodeError> {
        let mut map = HashMap::default();
        take_pairs(reader, |key, value| drop(map.insert(key, value)))?;
        Ok(map)
    }
}

/// A text if the path is UTF-8, and otherwise bin. A reader takes either form.
impl Encode for Path {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        match self.to_str() {
            Some(text) => text.encode(out),
            None => put_bin(out, self.as_os_str().as_bytes()),
        }
    }
}

impl Encode for PathBuf {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        self.as_path().encode(out);
    }
}

impl<'a> Decode<'a> for PathBuf {
    fn decode(reader: &mut Reader<'a>) -> Result<PathBuf, DecodeError> {
        match reader.peek() {
            Some(0xC4..=0xC6) => {
                <&[u8]>::decode(reader).map(|bytes| OsStr::from_bytes(bytes).into())
            }
            _ => <&str>::decode(reader).map(PathBuf::from),
        }
    }
}

/// `[seconds, nanoseconds]` since 1970. Seconds are negative before; nanoseconds count forward
/// in any case.
impl Encode for SystemTime {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        let (seconds, nanos) = match self.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => (after.as_secs() as i64, after.subsec_nanos()),
            Err(before) => {
                let before = before.duration();
                let (seconds, nanos) = (-(before.as_secs() as i64), before.subsec_nanos());
                if nanos == 0 { (seconds, 0) } else { (seconds - 1, NANOS - nanos) }
            }
        };
        put_array(out, 2);
        seconds.encode(out);
        nanos.encode(out);
    }
}

impl<'a> Decode<'a> for SystemTime {
    fn decode(reader: &mut Reader<'a>) -> Result<SystemTime, DecodeError> {
        let (seconds, nanos): (i64, u32) = take_seconds(reader)?;
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let second = match seconds {
            0.. => SystemTime::UNIX_EPOCH.checked_add(whole),
            _ => SystemTime::UNIX_EPOCH.checked_sub(whole),
        };
        second
            .and_then(|second| second.checked_add(Duration::from_nanos(u64::from(nanos))))
            .ok_or(DecodeError::OutOfRange { expected: "a time that the clock can represent" })
    }
}
