//! Both ends of a ring of shared memory, in turn, and a hand that writes into it in between.
//!
//! The bytes are a script. If the first one is even, nobody writes but the two ends, and each result
//! must be that of a model; if it is odd, a step may write anywhere, and each end must report what is
//! impossible and stay within the ring.

use std::fs::File;
use std::io::IoSlice;
use std::os::unix::fs::FileExt;

use bytes::BytesMut;
use wigwag_shm::{Broken, Consumer, Direction, Producer, Progress, RING_BYTES_MIN, Segment, Side};

use crate::fuzz::{Verdict, ensure};

/// Bytes of the ring.
const CAPACITY: u64 = RING_BYTES_MIN as u64;

/// A step moves up to 255 times as many bytes: more than fit.
const UNIT: u64 = 23;

/// Bytes of the segment that a hand writes to: the counters and flags of both rings.
const HEADERS: u64 = 8192;

/// Checks a script.
pub fn check(input: &[u8]) -> Verdict {
    check_with(|_, progress| progress, input)
}

/// Checks a script, with writes whose result `written` may change; it is told the bytes in the ring.
pub fn check_with(written: impl Fn(u64, Progress) -> Progress, input: &[u8]) -> Verdict {
    let Some((mode, script)) = input.split_first() else { return Ok(()) };
    let mut ends = Ends::new(mode % 2 == 1)?;
    for step in script.chunks(3) {
        let [kind, amount, more] = [0, 1, 2].map(|at| step.get(at).copied().unwrap_or(0));
        let length = u64::from(amount) * UNIT;
        let outcome = match kind % 8 {
            0 | 1 => ends.write(length, &written),
            2 | 3 => ends.read(length, kind % 8 == 3),
            4 => ends.wait_for_room(),
            5 => ends.wait_for_bytes(),
            6 if ends.is_scribbled => ends.scribble(amount, more),
            7 if amount == 0 => ends.finish(),
            _ => continue,
        };
        match outcome {
            Err(Outcome::Wrong(why)) => return Err(why),
            // Only a hand makes that; the connection ends there.
            Err(Outcome::Broken(_)) if ends.is_scribbled => return Ok(()),
            Err(Outcome::Broken(error)) => return Err(format!("without a hand: {error}")),
            Ok(()) => {}
        }
    }
    Ok(())
}

/// Why a script ends.
enum Outcome {
    Broken(Broken),
    Wrong(String),
}

impl From<Broken> for Outcome {
    fn from(error: Broken) -> Outcome {
        Outcome::Broken(error)
    }
}

/// Both ends, and what must be true of them.
struct Ends {
    producer: Producer,
    consumer: Consumer,
    /// The memory, for the hand.
    memory: File,
    is_scribbled: bool,
    written: u64,
    read: u64,
    has_ended: bool,
    reader_waits: bool,
    writer_waits: bool,
}

impl Ends {
    fn new(is_scribbled: bool) -> Result<Ends, String> {
        let make = || {
            let created = Segment::create(RING_BYTES_MIN)?;
            let descriptor = || created.descriptor().try_clone_to_owned();
            let opened = Segment::open(descriptor()?, CAPACITY)?;
            let memory = File::from(descriptor()?);
            let (producer, _) = created.into_rings(Side::Creator);
            let (_, consumer) = opened.into_rings(Side::Opener);
            Ok::<_, wigwag_shm::SegmentError>((producer, consumer, memory))
        };
        let (producer, consumer, memory) =
            make().map_err(|error| format!("no segment: {error}"))?;
        let (has_ended, reader_waits, writer_waits) = (false, false, false);
        let (written, read) = (0, 0);
        let flags = Ends {
            producer,
            consumer,
            memory,
            is_scribbled,
            written,
            read,
            has_ended,
            reader_waits,
            writer_waits,
        };
        Ok(flags)
    }

    /// The result must be that of the model, unless a hand has written.
    fn expect<T: PartialEq + std::fmt::Debug>(
        &self,
        what: &str,
        found: T,
        expected: T,
    ) -> Result<(), Outcome> {
        let told = || format!("{what}: {found:?}, expected {expected:?}");
        ensure(self.is_scribbled || found == expected, told).map_err(Outcome::Wrong)
    }

    fn write(
        &mut self,
        length: u64,
        written: impl Fn(u64, Progress) -> Progress,
    ) -> Result<(), Outcome> {
        if self.has_ended {
            return Ok(());
        }
        let bytes: Vec<u8> =
            (self.written..self.written.saturating_add(length)).map(byte).collect();
        let (front, back) = bytes.split_at(bytes.len() / 3);
        let progress = self.producer.write(&[IoSlice::new(front), IoSlice::new(back)])?;
        let held = self.written.wrapping_sub(self.read);
        ensure(progress.bytes as u64 <= length, || "more was written than given".to_owned())
            .map_err(Outcome::Wrong)?;
        let bytes = length.min(CAPACITY.saturating_sub(held));
        let due = Progress { bytes: bytes as usize, wake: bytes > 0 && self.reader_waits };
        let progress = written(held.wrapping_add(bytes), progress);
        self.expect("a write", progress, due)?;
        self.written += progress.bytes as u64;
        self.reader_waits &= progress.bytes == 0;
        Ok(())
    }

    fn read(&mut self, length: u64, to_slice: bool) -> Result<(), Outcome> {
        let mut out = BytesMut::new();
        let progress = if to_slice {
            out.resize(length as usize, 0);
            let progress = self.consumer.read_to(&mut out)?;
            out.truncate(progress.bytes);
            progress
        } else {
            self.consumer.read(&mut out, length as usize)?
        };
        let is_within = out.len() == progress.bytes && out.len() as u64 <= length.min(CAPACITY);
        ensure(is_within, || format!("{} bytes of {length}: {progress:?}", out.len()))
            .map_err(Outcome::Wrong)?;
        let bytes = length.min(self.written.saturating_sub(self.read));
        let due = Progress { bytes: bytes as usize, wake: bytes > 0 && self.writer_waits };
        self.expect("a read", progress, due)?;
        let sent: Vec<u8> = (self.read..self.read + bytes).map(byte).collect();
        self.expect("the bytes that were read", &out[..], &sent)?;
        self.read += progress.bytes as u64;
        self.writer_waits &= progress.bytes == 0;
        Ok(())
    }

    fn wait_for_room(&mut self) -> Result<(), Outcome> {
        let waits = self.producer.wait()?;
        self.expect("the wait for room", waits, self.written.wrapping_sub(self.read) == CAPACITY)?;
        self.writer_waits = waits;
        Ok(())
    }

    fn wait_for_bytes(&mut self) -> Result<(), Outcome> {
        let waits = self.consumer.wait()?;
        self.expect("the wait for bytes", waits, self.written == self.read && !self.has_ended)?;
        self.reader_waits = waits;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Outcome> {
        let wake = self.producer.end(Direction::Finished);
        self.expect("the wake of an end", wake, self.reader_waits)?;
        (self.has_ended, self.reader_waits) = (true, false);
        let direction = self.consumer.direction()?;
        self.expect("the direction", direction, Direction::Finished)
    }

    /// Writes a value that is near the counts, or far away, to a counter, a flag or behind them.
    fn scribble(&mut self, place: u8, value: u8) -> Result<(), Outcome> {
        let at = match place % 4 {
            0 => u64::from(place) * 64,
            _ => u64::from(place / 4) * 128,
        };
        let near = self.written.wrapping_add(u64::from(value)).wrapping_sub(64);
        let value =
            [near, near.wrapping_add(CAPACITY), u64::MAX - u64::from(value), u64::from(value)];
        let value = value[usize::from(place) / 4 % 4];
        let failed = |error| Outcome::Wrong(format!("the hand: {error}"));
        self.memory.write_all_at(&value.to_le_bytes(), at % (HEADERS - 8)).map_err(failed)
    }
}

/// The byte at a place of the stream; no part of the ring's length repeats it.
fn byte(at: u64) -> u8 {
    (at ^ at >> 8).wrapping_mul(31) as u8
}

/// Scripts that fill and empty the ring, with waits, ends and a hand.
pub fn seeds() -> Vec<Vec<u8>> {
    vec![
        vec![0, 0, 9, 0, 5, 0, 0, 2, 9, 0, 5, 0, 0, 0, 1, 0, 2, 255, 0],
        vec![0, 0, 255, 0, 4, 0, 0, 3, 40, 0, 0, 255, 0, 2, 255, 0, 2, 255, 0, 7, 0, 0, 5, 0, 0],
        vec![0, 0, 178, 0, 0, 1, 0, 4, 0, 0, 2, 1, 0, 5, 0, 0],
        vec![1, 0, 9, 0, 6, 0, 70, 2, 9, 0, 6, 9, 200, 0, 9, 0, 6, 16, 3, 5, 0, 0],
    ]
}
