//! Every interleaving of both ends of a ring of two bytes: what is written arrives, in order, and no
//! end sleeps on when there is something to do. A wake that is lost leaves both ends asleep, which
//! loom reports.

use std::io::IoSlice;
use std::sync::Arc;

use bytes::BytesMut;
use loom::model::Builder;
use loom::sync::Notify;
use loom::thread;

use super::{
    Consumer, Direction, ENDING, HEADER_BYTES, Place, Producer, READ, READER_WAITS, WRITER_WAITS,
    WRITTEN,
};
use crate::memory::Memory;

const CAPACITY: usize = 2;

/// How often a thread is preempted, at most, in the model with more bytes than the ring has.
const PREEMPTIONS: usize = 4;

/// Where each end sleeps until the other wakes it.
#[derive(Default)]
struct Bells {
    reader: Notify,
    writer: Notify,
}

/// Both ends of a new ring.
fn ends() -> (Producer, Consumer, Arc<Bells>) {
    let (counters, flags) = ([WRITTEN, READ], [READER_WAITS, WRITER_WAITS, ENDING]);
    let memory = Arc::new(Memory::model(&counters, &flags, HEADER_BYTES, CAPACITY));
    let place = Place { memory, header: 0, data: HEADER_BYTES, capacity: CAPACITY };
    (Producer::new(place.clone()), Consumer::new(place), Arc::default())
}

/// Writes all of `bytes`, and sleeps where there is no room.
fn write_all(producer: &mut Producer, mut bytes: &[u8], bells: &Bells) {
    while !bytes.is_empty() {
        let progress = producer.write(&[IoSlice::new(bytes)]).expect("the counters are possible");
        if progress.wake {
            bells.reader.notify();
        }
        bytes = &bytes[progress.bytes..];
        if !bytes.is_empty() && producer.wait().expect("the counters are possible") {
            bells.writer.wait();
        }
    }
}

/// Reads until the direction ends, at most `most` bytes at a time, and sleeps where there are none.
fn read_all(consumer: &mut Consumer, most: usize, bells: &Bells) -> (BytesMut, Direction) {
    let mut out = BytesMut::new();
    loop {
        // Before the bytes: those that are written before the end are in the ring then.
        let direction = consumer.direction().expect("the flag has a meaning");
        let progress = consumer.read(&mut out, most).expect("the counters are possible");
        if progress.wake {
            bells.writer.notify();
        }
        if progress.bytes > 0 {
            continue;
        }
        if direction != Direction::Open {
            return (out, direction);
        }
        if consumer.wait().expect("the counters are possible") {
            bells.reader.wait();
        }
    }
}

/// The writer finds the ring full and the reader finds it empty, and each wakes the other.
#[test]
fn loom_all_bytes_arrive_in_order_and_no_wake_is_lost() {
    for most in [1, CAPACITY] {
        let mut builder = Builder::new();
        // All interleavings take minutes.
        builder.preemption_bound = Some(PREEMPTIONS);
        builder.check(move || {
            let (mut producer, mut consumer, bells) = ends();
            let writing = {
                let bells = bells.clone();
                thread::spawn(move || {
                    write_all(&mut producer, &[1, 2, 3], &bells);
                    if producer.end(Direction::Finished) {
                        bells.reader.notify();
                    }
                })
            };
            let (read, how) = read_all(&mut consumer, most, &bells);
            assert_eq!((&read[..], how), (&[1, 2, 3][..], Direction::Finished));
            writing.join().expect("it has ended");
        });
    }
}

/// The reader waits for a first byte that never comes.
#[test]
fn loom_the_end_of_an_empty_direction_wakes_the_reader() {
    for how in [Direction::Finished, Direction::Aborted] {
        loom::model(move || {
            let (mut producer, mut consumer, bells) = ends();
            let ending = {
                let bells = bells.clone();
                thread::spawn(move || {
                    if producer.end(how) {
                        bells.reader.notify();
                    }
                })
            };
            assert_eq!(read_all(&mut consumer, 1, &bells), (BytesMut::new(), how));
            ending.join().expect("it has ended");
        });
    }
}

/// The bytes in front of an end are read before the end is seen.
#[test]
fn loom_an_end_comes_behind_the_bytes_that_were_written_before_it() {
    loom::model(|| {
        let (mut producer, mut consumer, bells) = ends();
        let writing = {
            let bells = bells.clone();
            thread::spawn(move || {
                write_all(&mut producer, &[7], &bells);
                if producer.end(Direction::Finished) {
                    bells.reader.notify();
                }
            })
        };
        let (read, how) = read_all(&mut consumer, CAPACITY, &bells);
        assert_eq!((&read[..], how), (&[7][..], Direction::Finished));
        writing.join().expect("it has ended");
    });
}
