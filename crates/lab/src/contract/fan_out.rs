//! The cells of sp with one sender and several receivers, from a program's side: messages that say
//! when they were due, and what a receiver saw of them.

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::contract::Orders;
use crate::contract::schedule::SendSchedule;
use crate::figures::times::Times;

/// Bytes of sender, number, payload and time, which every message has.
pub(crate) const STAMP_BYTES: usize = 24;

/// The number of a greeting, which is sent until GO.
const GREETING: u64 = u64::MAX - 1;
/// The number of the mark behind the last message.
const END: u64 = u64::MAX;
/// A time may differ so much from that of its number, in nanoseconds: programs round differently.
const ROUNDING: u64 = 1_000;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) number: u64,
    pub(crate) payload: u32,
    /// When it was due: nanoseconds of the clock that all processes of a system share.
    pub(crate) due: u64,
}

impl Stamp {
    pub(crate) const GREETING: Stamp = Stamp { number: GREETING, payload: 0, due: 0 };
    pub(crate) const END: Stamp = Stamp { number: END, payload: 0, due: 0 };

    /// A message of `size` bytes.
    pub(crate) fn to_message(self, size: usize) -> Vec<u8> {
        let mut message = Vec::with_capacity(size);
        message.extend_from_slice(&0_u32.to_le_bytes());
        message.extend_from_slice(&self.number.to_le_bytes());
        message.extend_from_slice(&self.payload.to_le_bytes());
        message.extend_from_slice(&self.due.to_le_bytes());
        let word = self.payload.to_le_bytes();
        message.extend(word.into_iter().cycle().take(size.saturating_sub(STAMP_BYTES)));
        message
    }

    /// Reads a message, and looks at three words of its filling; `None` if one of them is wrong.
    pub(crate) fn read(message: &[u8]) -> Option<Stamp> {
        let (words, _) = message.as_chunks::<4>();
        let [sender, low, high, payload, early, late, fill @ ..] = words else { return None };
        let long = |low: &[u8; 4], high: &[u8; 4]| {
            u64::from(u32::from_le_bytes(*high)) << 32 | u64::from(u32::from_le_bytes(*low))
        };
        let looked_at = [fill.first(), fill.get(fill.len() / 2), fill.last()];
        let right = looked_at.into_iter().flatten().all(|word| word == payload);
        let stamp = Stamp {
            number: long(low, high),
            payload: u32::from_le_bytes(*payload),
            due: long(early, late),
        };
        (right && *sender == [0; 4]).then_some(stamp)
    }
}

/// Nanoseconds of the clock that all processes of a system share.
pub(crate) fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Nanoseconds from the beginning until a message is due.
pub(crate) fn offset(number: u64, rate: u64) -> u64 {
    number.saturating_mul(1_000_000_000) / rate.max(1)
}

/// The messages of a sender, each at its time.
pub(crate) struct Source {
    schedule: SendSchedule,
    start: u64,
    rate: u64,
    sent: u64,
    late: u64,
}

impl Source {
    /// The first message is due now.
    pub(crate) fn begin(orders: &Orders) -> Source {
        let (schedule, start) = (SendSchedule::begin(orders), now());
        Source { schedule, start, rate: orders.rate, sent: 0, late: 0 }
    }

    pub(crate) fn schedule(&self) -> SendSchedule {
        self.schedule
    }

    /// When a message is due.
    pub(crate) fn due(&self, number: u64) -> u64 {
        self.start + offset(number, self.rate)
    }

    /// The number of a message that is due and was not sent, if there is one.
    pub(crate) fn next_due(&mut self) -> Option<u64> {
        let now = std::time::Instant::now();
        let number = self.sent;
        if number >= self.schedule.due_by(now) {
            return None;
        }
        self.sent += 1;
        self.late += self.schedule.late(number, self.sent, now);
        Some(number)
    }

    pub(crate) fn is_done(&self, orders: &Orders) -> bool {
        self.sent == orders.messages
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({ "sent": self.sent, "late": self.late })
    }
}

/// A message of the wire, as a receiver takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// A greeting, a message, or one that is corrupt: the receiver is connected.
    Message,
    /// The mark behind the last message.
    End,
}

/// The messages that one receiver saw.
pub(crate) struct Receipts {
    size: usize,
    rate: u64,
    /// When number 0 was due, by the first message.
    start: Option<u64>,
    next: u64,
    count: u64,
    sum: u64,
    reordered: u64,
    corrupt: u64,
    /// A bit for each number.
    numbers: Vec<u8>,
    times: Times,
}

impl Receipts {
    pub(crate) fn new(orders: &Orders) -> Receipts {
        Receipts {
            size: orders.size,
            rate: orders.rate,
            start: None,
            next: 0,
            count: 0,
            sum: 0,
            reordered: 0,
            corrupt: 0,
            numbers: vec![0; orders.messages.div_ceil(8) as usize],
            times: Times::new(),
        }
    }

    pub(crate) fn take(&mut self, message: &[u8]) -> Arrival {
        let stamp = Stamp::read(message).filter(|_| message.len() == self.size);
        match stamp {
            Some(Stamp { number: END, .. }) => return Arrival::End,
            Some(Stamp { number: GREETING, .. }) => {}
            Some(stamp) if self.is_dated(stamp) && self.note(stamp.number) => {
                self.count += 1;
                self.sum += u64::from(stamp.payload);
                self.reordered += u64::from(stamp.number < self.next);
                self.next = stamp.number + 1;
                self.times.take(std::time::Duration::from_nanos(now().saturating_sub(stamp.due)));
            }
            _ => self.corrupt += 1,
        }
        Arrival::Message
    }

    /// Whether its time is that at which its number is due, by the first message.
    fn is_dated(&mut self, stamp: Stamp) -> bool {
        let start = stamp.due.wrapping_sub(offset(stamp.number, self.rate));
        self.start.get_or_insert(start).abs_diff(start) <= ROUNDING
    }

    /// Remembers a number; false if there is no such.
    fn note(&mut self, number: u64) -> bool {
        let place = usize::try_from(number / 8).ok().and_then(|at| self.numbers.get_mut(at));
        place.map(|byte| *byte |= 1 << (number % 8)).is_some()
    }

    /// The account of all receivers.
    pub(crate) fn account(all: &[Receipts]) -> Value {
        let mut times = Times::new();
        all.iter().for_each(|one| times.add(&one.times));
        let receivers = all.iter().map(|one| {
            let numbers: String = one.numbers.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({
                "count": one.count,
                "sum": one.sum.to_string(),
                "reordered": one.reordered,
                "numbers": numbers,
            })
        });
        json!({
            "receivers": receivers.collect::<Value>(),
            "corrupt": all.iter().map(|one| one.corrupt).sum::<u64>(),
            "latency_us": times.to_bins(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders() -> Orders {
        Orders { size: 40, messages: 10, rate: 1_000, ..Orders::read() }
    }

    fn message(number: u64) -> Stamp {
        Stamp { number, payload: 7 + number as u32, due: 5_000 + offset(number, 1_000) }
    }

    /// Bytes by hand: sender, number, payload, time, then the payload again, cut off where the
    /// message ends.
    #[test]
    fn a_message_is_laid_out_as_the_contract_says() {
        let stamp = Stamp { number: 0x0102_0304, payload: 0xA1B2_C3D4, due: 0x1112_1314_1516 };
        let due = [
            0, 0, 0, 0, 4, 3, 2, 1, 0, 0, 0, 0, 0xD4, 0xC3, 0xB2, 0xA1, 0x16, 0x15, 0x14, 0x13,
            0x12, 0x11, 0, 0, 0xD4, 0xC3, 0xB2, 0xA1, 0xD4, 0xC3,
        ];
        assert_eq!(stamp.to_message(30), due);
        assert_eq!(Stamp::read(&due), Some(stamp));
        assert_eq!(Stamp::read(&due[..23]), None);
    }

    #[test]
    fn a_receiver_tells_which_numbers_it_has_seen() {
        let mut receipts = Receipts::new(&orders());
        assert_eq!(receipts.take(&Stamp::GREETING.to_message(40)), Arrival::Message);
        for number in [1, 2, 9] {
            assert_eq!(receipts.take(&message(number).to_message(40)), Arrival::Message);
        }
        assert_eq!(receipts.take(&Stamp::END.to_message(40)), Arrival::End);
        let account = Receipts::account(&[receipts]);
        let one = &account["receivers"][0];
        assert_eq!((&one["numbers"], &one["count"]), (&"0602".into(), &3.into()));
        assert_eq!((&one["sum"], &account["corrupt"]), (&"33".into(), &0.into()));
    }

    /// Torn, of another length, dated by its sending, or with a number that was not ordered.
    #[test]
    fn a_message_that_cannot_be_is_corrupt_and_an_earlier_one_is_reordered() {
        let mut receipts = Receipts::new(&orders());
        receipts.take(&message(1).to_message(40));
        receipts.take(&Stamp { due: 9_000_000, ..message(2) }.to_message(40));
        receipts.take(&message(10_000).to_message(40));
        receipts.take(&message(3).to_message(39));
        for word in [6, 8, 9] {
            let mut torn = message(3).to_message(40);
            torn[word * 4] ^= 1;
            receipts.take(&torn);
        }
        receipts.take(&message(0).to_message(40));
        let account = Receipts::account(&[receipts]);
        let one = &account["receivers"][0];
        assert_eq!((&account["corrupt"], &one["reordered"]), (&6.into(), &1.into()));
        assert_eq!(&one["count"], 2);
    }
}
