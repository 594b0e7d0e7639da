//! Skips values of unknown types.
//!
//! A newer sender may send more than this receiver knows: additions are at the end of an array and
//! are skipped, whatever they are. The cost is proportional to the bytes, and the depth is bounded
//! as for every other value.

use crate::{DecodeError, Reader, Short};

/// Skips one value of any kind, without allocating and without reading a byte twice.
pub fn skip(reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    skip_with(reader, &mut |_, _| {})
}

/// Skips one value of any kind, and gives each extension in it to `extension`: its type and its
/// bytes.
pub fn skip_with<'a>(
    reader: &mut Reader<'a>,
    extension: &mut impl FnMut(u8, &'a [u8]),
) -> Result<(), DecodeError> {
    const EXPECTED: &str = "a value";
    let marker = reader.u8().map_err(|Short| DecodeError::Short { expected: EXPECTED })?;
    let bytes = match marker {
        // Numbers of one byte, nil, false and true.
        0x00..=0x7F | 0xE0..=0xFF | 0xC0 | 0xC2 | 0xC3 => 0,
        0xA0..=0xBF => usize::from(marker & 0x1F),
        0xCC | 0xD0 => 1,
        0xCD | 0xD1 => 2,
        0xCE | 0xD2 | 0xCA => 4,
        0xCF | 0xD3 | 0xCB => 8,
        0xC4 | 0xD9 => length::<1>(reader)?,
        0xC5 | 0xDA => length::<2>(reader)?,
        0xC6 | 0xDB => length::<4>(reader)?,
        0xD4..=0xD8 | 0xC7..=0xC9 => {
            let bytes = match marker {
                0xC7 => length::<1>(reader)?,
                0xC8 => length::<2>(reader)?,
                0xC9 => length::<4>(reader)?,
                _ => 1 << (marker - 0xD4),
            };
            let kind = reader.u8()?;
            extension(kind, reader.take(bytes)?);
            return Ok(());
        }
        0x90..=0x9F => return items(reader, usize::from(marker & 0x0F), extension),
        0xDC => return length::<2>(reader).and_then(|count| items(reader, count, extension)),
        0xDD => return length::<4>(reader).and_then(|count| items(reader, count, extension)),
        0x80..=0x8F => return items(reader, 2 * usize::from(marker & 0x0F), extension),
        0xDE => return length::<2>(reader).and_then(|pairs| items(reader, 2 * pairs, extension)),
        0xDF => {
            let pairs = length::<4>(reader)?;
            return items(reader, pairs.saturating_mul(2), extension);
        }
        // The format never uses this marker.
        0xC1 => {
            return Err(DecodeError::WrongType { expected: EXPECTED, found: marker });
        }
    };
    reader.take(bytes)?;
    Ok(())
}

/// Skips `count` values one level deeper. Each takes at least one byte, so a count beyond the
/// remaining bytes is refused at once.
fn items<'a>(
    reader: &mut Reader<'a>,
    count: usize,
    extension: &mut impl FnMut(u8, &'a [u8]),
) -> Result<(), DecodeError> {
    if count > reader.rest().len() {
        return Err(DecodeError::Short { expected: "an array or a map" });
    }
    if !reader.enter() {
        return Err(DecodeError::TooDeep);
    }
    for _ in 0..count {
        skip_with(reader, extension)?;
    }
    reader.leave();
    Ok(())
}

fn length<const N: usize>(reader: &mut Reader<'_>) -> Result<usize, DecodeError> {
    let bytes: [u8; N] = reader.array()?;
    Ok(bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)))
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::reader::DEPTH_MAX;

    /// One value of every form, nested up to a few levels, as the format specifies it.
    fn value() -> impl Strategy<Value = Vec<u8>> {
        let plain = prop_oneof![
            prop_oneof![0x00..=0x7Fu8, 0xE0..=0xFFu8, Just(0xC0), Just(0xC2), Just(0xC3)]
                .prop_map(|marker| alloc::vec![marker]),
            fixed(alloc::vec![(0xCC, 1), (0xD0, 1), (0xCD, 2), (0xD1, 2), (0xCE, 4), (0xD2, 4)]),
            fixed(alloc::vec![(0xCA, 4), (0xCF, 8), (0xD3, 8), (0xCB, 8)]),
            fixed(alloc::vec![(0xD4, 2), (0xD5, 3), (0xD6, 5), (0xD7, 9), (0xD8, 17)]),
            prop::collection::vec(any::<u8>(), 0..32).prop_map(|body| [
                &[0xA0 | body.len() as u8],
                &body[..]
            ]
            .concat()),
            counted(
                alloc::vec![(0xC4, 1), (0xD9, 1), (0xC5, 2), (0xDA, 2), (0xC6, 4), (0xDB, 4)],
                0
            ),
            counted(alloc::vec![(0xC7, 1), (0xC8, 2), (0xC9, 4)], 1),
        ];
        plain.prop_recursive(4, 64, 6, |inner| {
            let heads = prop_oneof![
                Just((0x90, 0, 1)),
                Just((0xDC, 2, 1)),
                Just((0xDD, 4, 1)),
                Just((0x80, 0, 2)),
                Just((0xDE, 2, 2)),
                Just((0xDF, 4, 2)),
            ];
            (heads, prop::collection::vec(inner, 0..8)).prop_map(
                |((marker, width, each), mut items)| {
                    items.truncate(items.len() / each * each);
                    let count = items.len() / each;
                    let mut bytes = match width {
                        0 => alloc::vec![marker | count as u8],
                        _ => alloc::vec![marker],
                    };
                    bytes.extend(&(count as u32).to_be_bytes()[4 - width..]);
                    bytes.extend(items.concat());
                    bytes
                },
            )
        })
    }

    fn fixed(forms: Vec<(u8, usize)>) -> impl Strategy<Value = Vec<u8>> {
        (prop::sample::select(forms), any::<[u8; 17]>())
            .prop_map(|((marker, bytes), body)| [&[marker], &body[..bytes]].concat())
    }

    fn counted(forms: Vec<(u8, usize)>, more: usize) -> impl Strategy<Value = Vec<u8>> {
        (prop::sample::select(forms), prop::collection::vec(any::<u8>(), 0..80)).prop_map(
            move |((marker, width), body)| {
                let length = (body.len() as u32).to_be_bytes();
                let kind = alloc::vec![7; more];
                [&[marker], &length[4 - width..], &kind[..], &body[..]].concat()
            },
        )
    }

    proptest! {
        #[test]
        fn exactly_one_value_is_skipped(value in value(), after in any::<[u8; 3]>()) {
            let bytes = [&value[..], &after].concat();
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(skip(&mut reader), Ok(()));
            prop_assert_eq!(reader.rest(), &after[..]);
        }

        #[test]
        fn a_truncated_value_is_short(value in value(), cut in any::<prop::sample::Index>()) {
            let torn = &value[..cut.index(value.len())];
            let outcome = skip(&mut Reader::new(torn));
            prop_assert!(matches!(outcome, Err(DecodeError::Short { .. })), "{:?}", outcome);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = skip(&mut Reader::new(&bytes));
        }
    }

    #[test]
    fn nesting_ends_at_the_limit_and_the_depth_comes_back() {
        let depth = usize::from(DEPTH_MAX);
        let mut whole = alloc::vec![0x91; depth];
        whole.push(0xC0);
        let twice = [&whole[..], &whole[..]].concat();
        let mut reader = Reader::new(&twice);
        assert_eq!(skip(&mut reader), Ok(()));
        assert_eq!(skip(&mut reader), Ok(()));
        let mut deeper = alloc::vec![0x91; depth + 1];
        deeper.push(0xC0);
        assert_eq!(skip(&mut Reader::new(&deeper)), Err(DecodeError::TooDeep));
    }

    #[test]
    fn a_count_beyond_the_input_is_refused_at_once() {
        for head in [0xDD, 0xDF] {
            let bytes = [head, 0xFF, 0xFF, 0xFF, 0xFF, 0xC0];
            let outcome = skip(&mut Reader::new(&bytes));
            assert!(matches!(outcome, Err(DecodeError::Short { .. })));
        }
    }
}
