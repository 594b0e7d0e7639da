//! The raw limit over a real loopback pair: that it moves everything, that it never waits for
//! ever, and that it finds what a meddler does to the stream.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::{
    io::{ErrorKind, Read, Result, Write},
    net::{Shutdown, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use wigwag_lab::raw;

/// What a relay does to the bytes of one direction, given all of them.
type Damage = fn(&mut Vec<u8>);

/// A connected pair: the driver's end and the service's.
fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let driver = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (driver, listener.accept().unwrap().0)
}

/// A pair with a relay between, which holds back all that the driver sends until the driver has
/// ended its half, and damages it.
fn damaged_pair(damage: Damage) -> (TcpStream, TcpStream) {
    let ((driver, mut near), (mut far, service)) = (pair(), pair());
    thread::spawn(move || -> Result<()> {
        let mut bytes = Vec::new();
        near.read_to_end(&mut bytes)?;
        damage(&mut bytes);
        far.write_all(&bytes)?;
        far.shutdown(Shutdown::Write)?;
        std::io::copy(&mut far, &mut near).map(drop)
    });
    (driver, service)
}

/// A pair whose relay swallows `length` bytes of what the service sends, after the first `after`.
fn swallowing_pair(after: usize, length: usize) -> (TcpStream, TcpStream) {
    let ((driver, mut near), (mut far, service)) = (pair(), pair());
    let (mut requests_in, mut requests_out) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    thread::spawn(move || -> Result<()> {
        std::io::copy(&mut requests_in, &mut requests_out)?;
        requests_out.shutdown(Shutdown::Write)
    });
    thread::spawn(move || -> Result<()> {
        std::io::copy(&mut Read::by_ref(&mut far).take(after as u64), &mut near)?;
        far.read_exact(&mut vec![0; length])?;
        std::io::copy(&mut far, &mut near).map(drop)
    });
    (driver, service)
}

const TELL_BYTES: usize = 16;
const TELLS: u64 = 1_000;

/// Where tell `number` stands in the stream, behind the word that announces their count.
fn tell(number: usize) -> std::ops::Range<usize> {
    let start = 8 + number * TELL_BYTES;
    start..start + TELL_BYTES
}

fn damaged_tell(damage: Damage) -> wigwag_lab::digest::Verified {
    let (driver, service) = damaged_pair(damage);
    let receiver = thread::spawn(move || raw::serve_tell(&service, TELL_BYTES));
    let moved = raw::send_tell(&driver, TELL_BYTES, TELLS).unwrap();
    receiver.join().unwrap().unwrap();
    assert_eq!(moved.verified.sent, TELLS);
    moved.verified
}

/// Sizes around one word, two words, and one write, so that messages are torn everywhere.
#[test]
fn every_tell_arrives_whatever_its_size() {
    for size in [8, 9, 15, 16, 17, 21, 1_000, 40_000, 65_535, 65_536, 65_537] {
        for count in [0, 1, 7_001.min(40_000_000 / size as u64)] {
            let (driver, service) = pair();
            let receiver = thread::spawn(move || raw::serve_tell(&service, size));
            let moved = raw::send_tell(&driver, size, count).unwrap();
            receiver.join().unwrap().unwrap();
            assert_eq!(moved.verified.received, count, "{size} bytes");
            assert!(moved.verified.is_clean(), "{size} bytes: {moved:?}");
        }
    }
}

#[test]
fn an_untouched_relay_changes_nothing() {
    assert!(damaged_tell(|_| ()).is_clean());
}

#[test]
fn a_tell_that_a_relay_drops_is_lost() {
    let found = damaged_tell(|bytes| drop(bytes.drain(tell(500))));
    assert_eq!((found.received, found.lost), (TELLS - 1, 1));
    let last = damaged_tell(|bytes| bytes.truncate(tell(999).start));
    assert_eq!((last.received, last.lost), (TELLS - 1, 1));
    let torn = damaged_tell(|bytes| bytes.truncate(tell(999).end - 1));
    assert_eq!((torn.received, torn.lost), (TELLS - 1, 1));
}

#[test]
fn a_tell_that_a_relay_doubles_is_duplicated() {
    let found = damaged_tell(|bytes| {
        let copy = bytes[tell(500)].to_vec();
        bytes.splice(tell(501).start..tell(501).start, copy);
    });
    assert_eq!((found.received, found.duplicated), (TELLS + 1, 1));
    assert_eq!((found.lost, found.corrupt), (0, 0));
}

#[test]
fn a_duplicate_in_place_of_another_tell_does_not_mask_it() {
    let found = damaged_tell(|bytes| bytes.copy_within(tell(10), tell(500).start));
    assert_eq!((found.received, found.lost, found.duplicated), (TELLS, 1, 1));
}

#[test]
fn tells_that_a_relay_swaps_are_reordered() {
    let found = damaged_tell(|bytes| bytes[tell(500).start..tell(501).end].rotate_left(TELL_BYTES));
    assert_eq!((found.reordered, found.lost, found.corrupt), (1, 0, 0));
}

#[test]
fn a_bit_that_a_relay_flips_is_corrupt() {
    let found = damaged_tell(|bytes| bytes[tell(500).end - 1] ^= 0x80);
    assert_eq!((found.received, found.lost, found.corrupt), (TELLS, 0, 1));
}

#[test]
fn every_ask_is_answered_whatever_the_sizes_and_the_window() {
    for sizes in [[16, 8], [25, 16], [16, 300], [65_536, 8], [65_537, 65_537]] {
        for window in [0, 1, 2, 3, 64, 32_768] {
            let count = (3_001 * window.clamp(1, 30)).min(8_000_000 / (sizes[0] + sizes[1]) as u64);
            let (driver, service) = pair();
            let receiver = thread::spawn(move || raw::serve_ask(&service, sizes));
            let (moved, _) = raw::send_ask(&driver, sizes, count, window).unwrap();
            drop(driver);
            receiver.join().unwrap().unwrap();
            assert_eq!(moved.verified.received, count, "{sizes:?}, {window} in flight");
            assert!(moved.verified.is_clean(), "{sizes:?}, {window} in flight: {moved:?}");
        }
    }
}

/// 160 MB of replies are asked for at once: far more than the sockets hold. The service cannot
/// write and so does not read, and the driver must read although it would rather write.
#[test]
fn a_window_larger_than_the_sockets_does_not_deadlock() {
    let sizes = [4_000, 8_000];
    let (driver, service) = pair();
    let receiver = thread::spawn(move || raw::serve_ask(&service, sizes));
    let (moved, _) = raw::send_ask(&driver, sizes, 20_000, 32_768).unwrap();
    drop(driver);
    receiver.join().unwrap().unwrap();
    assert!(moved.verified.is_clean(), "{moved:?}");
}

#[test]
fn with_one_in_flight_there_is_a_time_for_each_round_trip() {
    let (driver, service) = pair();
    let receiver = thread::spawn(move || raw::serve_ask(&service, [111, 111]));
    let (moved, times) = raw::send_ask(&driver, [111, 111], 200, 1).unwrap();
    drop(driver);
    receiver.join().unwrap().unwrap();
    assert!(moved.verified.is_clean());
    assert_eq!(times.len(), 200);
    // Two threads and four system calls lie in each.
    assert!(times.iter().all(|time| (1_000..=moved.elapsed.as_nanos() as u64).contains(time)));
}

#[test]
fn no_ask_at_all_ends_at_once() {
    let (driver, _service) = pair();
    let (moved, times) = raw::send_ask(&driver, [16, 8], 0, 64).unwrap();
    assert!(moved.verified.is_clean() && times.is_empty());
}

#[test]
fn a_reply_that_a_relay_swallows_is_found_by_the_next() {
    let (driver, service) = swallowing_pair(500 * 16, 16);
    thread::spawn(move || raw::serve_ask(&service, [25, 16]));
    let (moved, _) = raw::send_ask(&driver, [25, 16], 1_000, 64).unwrap();
    assert!(moved.verified.corrupt > 0, "{moved:?}");
}

#[test]
fn a_last_reply_that_never_comes_ends_by_the_read_timeout() {
    let (driver, service) = swallowing_pair(999 * 16, 16);
    thread::spawn(move || raw::serve_ask(&service, [25, 16]));
    driver.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let error = raw::send_ask(&driver, [25, 16], 1_000, 64).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_service_that_goes_away_has_lost_the_rest() {
    let (driver, mut service) = pair();
    let away = thread::spawn(move || {
        service.read_exact(&mut [0; 16]).unwrap();
        service.shutdown(Shutdown::Write).unwrap();
        std::io::copy(&mut service, &mut std::io::sink()).map(drop)
    });
    let (moved, _) = raw::send_ask(&driver, [16, 8], 10, 10).unwrap();
    drop(driver);
    away.join().unwrap().unwrap();
    assert_eq!((moved.verified.received, moved.verified.lost), (0, 10));
}
