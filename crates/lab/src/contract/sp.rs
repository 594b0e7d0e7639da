//! The messages of sp from a program's side: how they are filled, and how they are checked.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::contract::{Orders, PayloadDraws, Tally, senders};
use crate::figures::times::Times;

/// Bytes of sender, number and payload, which every message has.
pub(crate) const STAMP_BYTES: usize = 16;

/// The number of the mark behind a sender's last message.
const END: u64 = u64::MAX;

/// Sender, number and payload of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) sender: u32,
    pub(crate) number: u64,
    pub(crate) payload: u32,
}

impl Stamp {
    /// The mark behind the last message of `sender`.
    pub(crate) fn end(sender: u32) -> Stamp {
        Stamp { sender, number: END, payload: 0 }
    }

    pub(crate) fn is_end(self) -> bool {
        self.number == END
    }

    /// The reply that is due to it.
    pub(crate) fn reply(self) -> Stamp {
        Stamp { payload: !self.payload, ..self }
    }

    #[inline]
    fn bytes(self) -> [u8; STAMP_BYTES] {
        let [sender, payload] = [self.sender, self.payload].map(u128::from);
        // In one piece: parts that are written to memory and read as a whole cost 9 ns a message.
        (sender | u128::from(self.number) << 32 | payload << 96).to_le_bytes()
    }

    /// Fills a whole message.
    #[inline]
    pub(crate) fn write(self, message: &mut [u8]) {
        let (stamp, fill) = message.split_at_mut(STAMP_BYTES);
        stamp.copy_from_slice(&self.bytes());
        let word = self.payload.to_le_bytes();
        let (words, rest) = fill.as_chunks_mut();
        words.fill(word);
        rest.copy_from_slice(&word[..rest.len()]);
    }

    /// A message of `size` bytes.
    #[inline]
    pub(crate) fn to_message(self, size: usize) -> Vec<u8> {
        let mut message = Vec::with_capacity(size);
        message.extend_from_slice(&self.bytes());
        // The bytes so far are copied behind themselves, twice as many each time.
        while message.len() < size {
            let filled = message.len() - (STAMP_BYTES - 4);
            let more = filled.min(size - message.len());
            message.extend_from_within(STAMP_BYTES - 4..STAMP_BYTES - 4 + more);
        }
        message
    }

    /// Reads a message, and looks at three words of its filling; `None` if one of them is wrong.
    #[inline]
    pub(crate) fn read(message: &[u8]) -> Option<Stamp> {
        let (words, _) = message.as_chunks::<4>();
        let [sender, low, high, payload, fill @ ..] = words else { return None };
        let [low, high] = [low, high].map(|half| u64::from(u32::from_le_bytes(*half)));
        let looked_at = [fill.first(), fill.get(fill.len() / 2), fill.last()];
        let right = looked_at.into_iter().flatten().all(|word| word == payload);
        let stamp = Stamp {
            sender: u32::from_le_bytes(*sender),
            number: high << 32 | low,
            payload: u32::from_le_bytes(*payload),
        };
        right.then_some(stamp)
    }
}

/// How long an end of `shm-spin` looks at empty memory before it sleeps.
pub(crate) const SHM_SPIN: Duration = Duration::from_micros(200);

/// The messages that a receiver saw.
pub(crate) struct Receipts {
    size: usize,
    tallies: Vec<Tally>,
    corrupt: u64,
    /// Marks that are still to come.
    open: usize,
}

impl Receipts {
    pub(crate) fn new(size: usize, senders: u32) -> Receipts {
        let open = senders as usize;
        Receipts { size, tallies: vec![Tally::default(); open], corrupt: 0, open }
    }

    /// Takes a message; its stamp if it is right.
    #[inline]
    pub(crate) fn take(&mut self, message: &[u8]) -> Option<Stamp> {
        let stamp = Stamp::read(message).filter(|_| message.len() == self.size);
        let tally = stamp.and_then(|stamp| self.tallies.get_mut(stamp.sender as usize));
        match (stamp, tally) {
            (Some(stamp), Some(_)) if stamp.is_end() => self.open = self.open.saturating_sub(1),
            (Some(stamp), Some(tally)) => tally.take(stamp.number, stamp.payload),
            _ => {
                self.corrupt += 1;
                return None;
            }
        }
        stamp
    }

    /// Whether the mark of every sender has come.
    #[inline]
    pub(crate) fn are_complete(&self) -> bool {
        self.open == 0
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({ "senders": senders(&self.tallies), "corrupt": self.corrupt })
    }
}

/// Requests, one at a time, and their replies.
pub(crate) struct RoundTrips {
    messages: u64,
    size: usize,
    draws: PayloadDraws,
    asked: Stamp,
    next: u64,
    wrong: u64,
    sum: u64,
    times: Times,
}

impl RoundTrips {
    pub(crate) fn new(orders: &Orders) -> RoundTrips {
        RoundTrips {
            messages: orders.messages,
            size: orders.size,
            draws: PayloadDraws::of(orders.seed, 0),
            asked: Stamp::end(0),
            next: 0,
            wrong: 0,
            sum: 0,
            times: Times::new(),
        }
    }

    /// The next request; `None` when all have been made.
    pub(crate) fn request(&mut self) -> Option<Stamp> {
        if self.next == self.messages {
            return None;
        }
        self.asked = Stamp { sender: 0, number: self.next, payload: self.draws.next() };
        self.next += 1;
        Some(self.asked)
    }

    pub(crate) fn take(&mut self, reply: &[u8], begun: Instant) {
        self.times.take(begun.elapsed());
        let reply = Stamp::read(reply).filter(|_| reply.len() == self.size);
        self.wrong += u64::from(reply != Some(self.asked.reply()));
        self.sum = self.sum.wrapping_add(reply.map_or(0, |reply| reply.payload.into()));
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "replies": self.next,
            "wrong": self.wrong,
            "sum": self.sum.to_string(),
            "rtt_us": self.times.to_json(),
        })
    }
}

/// One account with the fields of both, for a program that has both ends.
pub(crate) fn merged(mut receiver: Value, sender: Value) -> Value {
    if let (Value::Object(all), Value::Object(more)) = (&mut receiver, sender) {
        all.extend(more);
    }
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { sender: 3, number: 0x0102_0304_0506_0708, payload: 0xA1B2_C3D4 };

    /// Bytes by hand: sender, number and payload, low bytes first, then the payload again, cut off
    /// where the message ends.
    #[test]
    fn a_message_is_laid_out_as_the_contract_says() {
        let due = [
            3, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1, 0xD4, 0xC3, 0xB2, 0xA1, 0xD4, 0xC3, 0xB2, 0xA1,
            0xD4, 0xC3,
        ];
        assert_eq!(STAMP.to_message(22), due);
        let mut written = [0; 22];
        STAMP.write(&mut written);
        assert_eq!(written, due);
    }

    #[test]
    fn both_ways_to_fill_a_message_agree_and_can_be_read() {
        for size in (16..200).chain([4_096, 65_536]) {
            let message = STAMP.to_message(size);
            let mut written = vec![0; size];
            STAMP.write(&mut written);
            assert_eq!(message, written, "{size}");
            assert_eq!(Stamp::read(&message), Some(STAMP), "{size}");
        }
        assert_eq!(Stamp::read(&[0; 15]), None);
    }

    /// The first, the middle and the last word of the filling are looked at.
    #[test]
    fn a_message_of_two_halves_is_corrupt() {
        let (mut receipts, size) = (Receipts::new(128, 4), 128);
        for word in [4, 18, 31] {
            let mut message = STAMP.to_message(size);
            message[word * 4] ^= 1;
            assert_eq!(receipts.take(&message), None, "{word}");
        }
        assert_eq!(receipts.take(&STAMP.to_message(size - 1)), None);
        assert_eq!(receipts.take(&Stamp { sender: 4, ..STAMP }.to_message(size)), None);
        assert!(receipts.take(&STAMP.to_message(size)).is_some());
        let account = receipts.to_json();
        assert_eq!((&account["corrupt"], &account["senders"][3]["count"]), (&5.into(), &1.into()));
    }

    #[test]
    fn a_receiver_is_complete_with_the_mark_of_every_sender() {
        let mut receipts = Receipts::new(16, 2);
        for sender in [0, 1] {
            assert!(!receipts.are_complete());
            receipts.take(&Stamp::end(sender).to_message(16));
        }
        assert!(receipts.are_complete());
    }
}
