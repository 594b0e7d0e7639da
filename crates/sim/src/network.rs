//! The transport of bytes between two nodes.
//!
//! A connection is two wires. A wire keeps the order of its bytes, as a stream socket does, and
//! nothing else: it splits and joins what was written, delays it, has a limited capacity, goes
//! dead, or is cut at a byte.

use core::time::Duration;
use std::collections::VecDeque;

use wigwag_wire::Time;

use crate::clock::micros;
use crate::random::Random;

/// The properties of a wire.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The number of bytes of the longest chunk.
    pub chunk_max: u64,
    /// The shortest and the longest time that a chunk takes, in microseconds.
    pub delay_us: (u64, u64),
    /// The chance in percent that a chunk is joined to the one before it.
    pub join_percent: u64,
    /// The number of bytes that may be in flight; beyond it the writer must wait.
    pub capacity: usize,
}

/// The way in which a wire ends, and the byte at which it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breakage {
    /// From this byte on nothing arrives, and neither end is notified.
    Dead(u64),
    /// From this byte on nothing arrives, and both ends are notified.
    Cut(u64),
}

/// An error of the network that no real one makes, planted to show that the checks detect it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The chunk with this number is lost, and later ones arrive.
    Drop(u64),
    /// The chunk arrives twice.
    Double(u64),
    /// The chunk and the one before it are swapped.
    Swap(u64),
}

#[derive(Debug)]
struct Chunk {
    bytes: Vec<u8>,
    due: Time,
}

/// One direction of a connection.
#[derive(Debug)]
pub struct Wire {
    profile: Profile,
    breakage: Option<Breakage>,
    damage: Option<Damage>,
    in_flight: VecDeque<Chunk>,
    /// The bytes in the writer's socket buffer.
    buffered_bytes: usize,
    /// The number of bytes written so far, including lost ones.
    written: u64,
    chunks: u64,
    severed: bool,
}

impl Wire {
    /// A wire without faults.
    pub fn new(profile: Profile) -> Wire {
        Wire {
            profile,
            breakage: None,
            damage: None,
            in_flight: VecDeque::new(),
            buffered_bytes: 0,
            written: 0,
            chunks: 0,
            severed: false,
        }
    }

    /// A wire that ends at a byte.
    pub fn with_breakage(mut self, breakage: Breakage) -> Wire {
        self.breakage = Some(breakage);
        self
    }

    /// A wire with a planted fault.
    pub fn with_damage(mut self, damage: Damage) -> Wire {
        self.damage = Some(damage);
        self
    }

    /// The number of bytes that may be written now.
    pub fn room(&self) -> usize {
        self.profile.capacity.saturating_sub(self.buffered_bytes)
    }

    /// The time at which the next chunk arrives.
    pub fn next_due(&self) -> Option<Time> {
        self.in_flight.front().map(|chunk| chunk.due)
    }

    /// Takes the chunk that has arrived by `now`.
    pub fn deliver(&mut self, now: Time) -> Option<Vec<u8>> {
        self.in_flight.front().filter(|chunk| chunk.due <= now)?;
        let chunk = self.in_flight.pop_front()?;
        self.buffered_bytes -= chunk.bytes.len();
        Some(chunk.bytes)
    }

    /// True once a byte was written at or after the place of the cut.
    pub fn is_cut(&self) -> bool {
        matches!(self.breakage, Some(Breakage::Cut(at)) if self.written > at)
    }

    /// Ends the wire: bytes that are written from now on do not arrive.
    pub fn sever(&mut self) {
        self.severed = true;
    }

    /// Ends the wire and loses the bytes in flight too.
    pub fn drop_in_flight(&mut self) {
        self.in_flight.clear();
    }

    /// Writes as many of `bytes` as there is room for; returns how many.
    pub fn write(&mut self, bytes: &[u8], now: Time, random: &mut Random) -> usize {
        let taken = bytes.len().min(self.room());
        let whole = self.written + taken as u64;
        let end = match self.breakage {
            _ if self.severed => self.written,
            Some(Breakage::Dead(at) | Breakage::Cut(at)) => whole.min(at.max(self.written)),
            None => whole,
        };
        let (mut rest, lost) = bytes[..taken].split_at((end - self.written) as usize);
        self.written = whole;
        // Lost bytes stay in the writer's socket buffer, which is not emptied any more.
        self.buffered_bytes += lost.len();
        while !rest.is_empty() {
            let length = random.between(1, self.profile.chunk_max).min(rest.len() as u64);
            let (chunk, behind) = rest.split_at(length as usize);
            self.push(chunk, now, random);
            rest = behind;
        }
        taken
    }

    fn push(&mut self, bytes: &[u8], now: Time, random: &mut Random) {
        let delay: Duration =
            micros(random.between(self.profile.delay_us.0, self.profile.delay_us.1));
        let join = random.chance(self.profile.join_percent);
        let number = self.chunks;
        self.chunks += 1;
        if self.damage == Some(Damage::Drop(number)) {
            return;
        }
        self.buffered_bytes += bytes.len();
        let last = self.in_flight.back().map(|chunk| chunk.due);
        match self.in_flight.back_mut() {
            Some(before) if join && self.damage.is_none() => before.bytes.extend_from_slice(bytes),
            _ => {
                let due = last.unwrap_or(now).max(now + delay);
                self.in_flight.push_back(Chunk { bytes: bytes.to_vec(), due });
            }
        }
        let places = self.in_flight.len();
        match self.damage {
            Some(Damage::Double(at)) if at == number => {
                let due = last.unwrap_or(now).max(now + delay);
                self.in_flight.push_back(Chunk { bytes: bytes.to_vec(), due });
                self.buffered_bytes += bytes.len();
            }
            Some(Damage::Swap(at)) if at <= number && places > 1 => {
                let before = self.in_flight[places - 2].due;
                self.in_flight.swap(places - 2, places - 1);
                self.in_flight[places - 1].due = self.in_flight[places - 2].due;
                self.in_flight[places - 2].due = before;
                self.damage = None;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(chunk_max: u64, join_percent: u64) -> Wire {
        Wire::new(Profile { chunk_max, delay_us: (5, 50), join_percent, capacity: 1000 })
    }

    fn all(wire: &mut Wire) -> Vec<u8> {
        let mut arrived = Vec::new();
        let mut last = Time::START;
        while let Some(due) = wire.next_due() {
            assert!(due >= last, "chunks arrive in order");
            last = due;
            assert!(wire.deliver(Time::START).is_none(), "nothing arrives at once");
            arrived.extend(wire.deliver(due).expect("it is due"));
        }
        arrived
    }

    #[test]
    fn bytes_arrive_torn_and_joined_but_whole_and_in_order() {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let mut wire = wire(1 + seed % 9, seed % 100);
            let bytes: Vec<u8> = (0..200).collect();
            for part in bytes.chunks(7) {
                assert_eq!(wire.write(part, Time::START, &mut random), part.len());
            }
            assert_eq!(all(&mut wire), bytes);
            assert_eq!(wire.room(), 1000);
        }
    }

    #[test]
    fn a_full_wire_takes_no_more() {
        let mut wire = wire(64, 0);
        assert_eq!(wire.write(&[1; 1500], Time::START, &mut Random::new(1)), 1000);
        assert_eq!(wire.write(&[1; 10], Time::START, &mut Random::new(1)), 0);
    }

    #[test]
    fn a_broken_wire_delivers_exactly_what_lies_before_the_break() {
        for breakage in [Breakage::Cut(33), Breakage::Dead(33)] {
            let mut wire = wire(10, 0).with_breakage(breakage);
            let bytes: Vec<u8> = (0..100).collect();
            wire.write(&bytes[..33], Time::START, &mut Random::new(2));
            assert!(!wire.is_cut());
            wire.write(&bytes[33..], Time::START, &mut Random::new(2));
            assert_eq!(wire.is_cut(), matches!(breakage, Breakage::Cut(_)));
            assert_eq!(all(&mut wire), &bytes[..33]);
        }
    }

    #[test]
    fn damage_is_done_where_it_was_asked_for() {
        let bytes: Vec<u8> = (0..30).collect();
        let damaged = |damage| {
            let mut wire = wire(3, 50).with_damage(damage);
            wire.write(&bytes, Time::START, &mut Random::new(3));
            all(&mut wire)
        };
        assert!(damaged(Damage::Drop(2)).len() < 30);
        assert!(damaged(Damage::Double(2)).len() > 30);
        let swapped = damaged(Damage::Swap(2));
        assert!(swapped.len() == 30 && swapped != bytes);
    }
}
