use super::*;
use crate::Buffer;
use alloc::vec;
use alloc::vec::Vec;

fn put(out: &mut Buffer, kind: u8, numbers: &[u64], arguments: &[u8]) {
    let mut body = Buffer::new();
    numbers.iter().for_each(|number| varint::put(&mut body, *number));
    body.extend(arguments);
    out.push(kind);
    varint::put(out, body.len() as u64);
    out.extend(body.as_slice());
}

#[test]
fn a_short_frame_ends_where_its_length_no_longer_fits_one_byte() {
    for (length, fits) in [(0, true), (125, true), (126, false)] {
        let mut out = Buffer::new();
        let written = small(&mut out, TELL, [5, 16], |_, at| Some(at + length));
        assert_eq!(written, fits.then_some(length + 2));
        assert_eq!(out.len(), if fits { length + 4 } else { 0 });
        let length_byte = out.as_slice().get(1).copied().map(usize::from);
        assert_eq!(length_byte, fits.then_some(length + 2));
    }
}

#[test]
fn calls_of_every_size_are_read_in_order() {
    let long = vec![7; 300];
    let mut bytes = Buffer::new();
    put(&mut bytes, TELL, &[5, 16], &[1, 2]);
    put(&mut bytes, TELL, &[500, 16], &[]);
    put(&mut bytes, TELL, &[5, 1600], &[3]);
    put(&mut bytes, ASK, &[5, 9, 10, 17], &[4]);
    put(&mut bytes, ASK, &[5, 90_000, 70_000, 17], &[5]);
    put(&mut bytes, ASK, &[5, 9, 10, 1700], &long);
    let mut by = Buffer::new();
    let deadline = (1_u64 << 40 | 9).to_le_bytes();
    put(&mut by, ASK_BY, &[], &[&deadline[..], &[5, 9, 10, 0xA5, 0x0D, 6]].concat());
    bytes.extend(by.as_slice());
    let mut items = Buffer::new();
    let limit = 4096_u64.to_le_bytes();
    put(&mut items, ASK_ITEMS, &[], &[&limit[..], &[5, 9, 11, 18, 7]].concat());
    bytes.extend(items.as_slice());
    put(&mut bytes, TELL, &[5, u64::MAX], &long);
    let call = |method, asker, arguments| {
        let extra = match method {
            1701 => Some(CallExtra::Deadline(Time::from_nanos(1 << 40 | 9))),
            18 => Some(CallExtra::Items(4096)),
            _ => None,
        };
        EncodedCall { method, asker, arguments, extra, trace: None }
    };
    let expected = vec![
        call(16, None, &[1, 2][..]),
        call(16, None, &[]),
        call(1600, None, &[3]),
        call(17, Some((9, 10)), &[4]),
        call(17, Some((90_000, 70_000)), &[5]),
        call(1700, Some((9, 10)), &long),
        call(1701, Some((9, 10)), &[6]),
        call(18, Some((9, 11)), &[7]),
        call(u32::MAX, None, &long),
    ];
    assert_eq!(Calls::new(bytes.as_slice()).collect::<Vec<_>>(), expected);
}

/// Some calls are taken in a loop, one outside it, and the rest from the iterator.
#[test]
fn a_run_continues_after_the_calls_taken_from_it() {
    let mut bytes = Buffer::new();
    put(&mut bytes, ASKS, &[5, 9, 10, 17], &[1, 1, 1, 2, 1, 3, 1, 4, 1, 5]);
    let mut calls = Calls::new(bytes.as_slice());
    assert_eq!(calls.next().map(|call| call.arguments), Some(&[1][..]));
    let mut run = calls.run().expect("four are left");
    let mut cursor = run.cursor();
    assert_eq!(cursor.take(), Some((10, &[2][..])));
    assert_eq!(cursor.take(), Some((11, &[3][..])));
    drop(cursor);
    assert_eq!(run.take(), Some((12, &[4][..])));
    drop(run);
    let (asker, arguments) = (Some((13, 10)), &[5][..]);
    let last = EncodedCall { method: 17, asker, arguments, extra: None, trace: None };
    assert_eq!((calls.next(), calls.next()), (Some(last), None));
}

#[test]
fn each_call_of_a_mixed_run_has_a_method_of_its_own() {
    let mut bytes = Buffer::new();
    let items = [2, 16, 1, 3, 0x81, 1, 2, 1, 17, 2, 18, 4];
    put(&mut bytes, MIXED_ASKS, &[5, 9, 10], &items);
    put(&mut bytes, MIXED_TELLS, &[5], &[&items[..7], &[6, 255, 255, 255, 255, 31, 5]].concat());
    let call = |method, asker, arguments| {
        let (extra, trace) = (None, None);
        EncodedCall { method, asker, arguments, extra, trace }
    };
    let mut calls = Calls::new(bytes.as_slice());
    assert_eq!(calls.next(), Some(call(16, Some((9, 10)), &[1][..])));
    let mut run = calls.run().expect("three are left");
    assert_eq!((run.method(), run.generation()), (None, Some(10)));
    let mut cursor = run.cursor();
    assert_eq!(cursor.take_mixed(), Some((0x81, 10, &[2][..])));
    assert_eq!(cursor.take_mixed(), Some((17, 11, &[][..])));
    drop(cursor);
    drop(run);
    let rest = [
        call(18, Some((12, 10)), &[4][..]),
        call(16, None, &[1]),
        call(0x81, None, &[2]),
        call(u32::MAX, None, &[5]),
    ];
    assert_eq!(calls.collect::<Vec<_>>(), rest);
}

#[test]
fn a_call_comes_with_its_trace_context_and_the_next_one_without() {
    let (mut inner, mut bytes) = (Buffer::new(), Buffer::new());
    let deadline = 9_u64.to_le_bytes();
    put(&mut inner, ASK_BY, &[], &[&deadline[..], &[5, 9, 10, 17, 4]].concat());
    let traced = [&[7; TRACE_BYTES], inner.as_slice()].concat();
    put(&mut bytes, TRACED_ASK, &[], &traced);
    put(&mut bytes, TELL, &[5, 16], &[1]);
    let calls: Vec<_> = Calls::new(bytes.as_slice()).collect();
    assert_eq!(calls.iter().map(|call| call.method).collect::<Vec<_>>(), [17, 16]);
    assert_eq!(calls[0].trace, Some(&[7; TRACE_BYTES]));
    assert_eq!(calls[0].extra, Some(CallExtra::Deadline(Time::from_nanos(9))));
    assert_eq!((calls[0].asker, calls[1].trace), (Some((9, 10)), None));
}

#[test]
fn calls_go_on_from_every_place_among_them() {
    let mut bytes = Buffer::new();
    put(&mut bytes, TELL, &[5, 16], &[1, 2]);
    put(&mut bytes, ASKS, &[5, 9, 10, 17], &[1, 1, 1, 2, 1, 3]);
    put(&mut bytes, MIXED_TELLS, &[5], &[2, 16, 1, 3, 0x81, 1, 2]);
    put(&mut bytes, ASK, &[5, 9, 10, 17], &[4]);
    let start = Calls::new(bytes.as_slice());
    let all: Vec<_> = start.clone().collect();
    let mut calls = start.clone();
    for taken in 0..=all.len() {
        let later = Calls::at(bytes.as_slice(), &calls.position());
        assert_eq!(later.collect::<Vec<_>>(), all[taken..]);
        let asks = all[..taken].iter().filter(|call| call.asker.is_some()).count();
        assert_eq!(calls.taken_since(&start), (taken, asks));
        calls.next();
    }
}

#[test]
fn invalid_bytes_end_the_iteration() {
    let mut bytes = Buffer::new();
    put(&mut bytes, ASK, &[5, 9, 10, 17], &[4]);
    for short in 0..bytes.len() {
        assert_eq!(Calls::new(&bytes.as_slice()[..short]).next(), None, "{short} bytes");
    }
    put(&mut bytes, ASK, &[5, u64::MAX, 10, 17], &[4]);
    assert_eq!(Calls::new(bytes.as_slice()).count(), 1);
}
