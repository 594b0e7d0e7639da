//! The answers to the asks of a pipeline, stored one behind the other in the order of the asks.
//!
//! The route appends them, the asker takes them all at once: neither pays for a place per answer.

use std::collections::VecDeque;

use bytes::Bytes;
use wigwag_wire::Buffer;

use crate::error::CallErrorKind;

/// The outcome of an ask: an encoded value, or the kind of the error with its detail.
pub type AnswerOutcome = Result<Bytes, (CallErrorKind, Box<str>)>;

/// Bytes of the longest value that is stored in line; longer ones are stored aside.
pub const SHORT_BYTES_MAX: usize = 64;
/// In the place of a length: the answer is stored aside.
const ASIDE: u8 = 0xFF;

/// Answers that were not taken yet.
#[derive(Debug, Default)]
pub struct Answers {
    /// For each answer its length in one byte, and the value.
    bytes: Buffer,
    /// The position of the first answer that was not taken.
    at: usize,
    /// Long values and errors, in their order.
    aside: VecDeque<AnswerOutcome>,
}

/// An answer taken from [`Answers`].
#[derive(Debug, PartialEq, Eq)]
pub enum TakenAnswer<'a> {
    /// A short value.
    Short(&'a [u8]),
    /// A long value or an error.
    Aside(AnswerOutcome),
}

impl Answers {
    /// True when all answers were taken.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Appends a value.
    #[inline(always)]
    pub fn push(&mut self, value: &[u8]) {
        // Two stores that overlap for nearly every length instead of a loop.
        if let (Some(first), Some(last), 8..=16) =
            (value.first_chunk::<8>(), value.last_chunk::<8>(), value.len())
        {
            let room = self.bytes.room::<24>();
            room.place[0] = value.len() as u8;
            room.place[1..9].copy_from_slice(first);
            let behind = (value.len() - 8) % 16;
            room.place[1 + behind..9 + behind].copy_from_slice(last);
            return room.keep(1 + value.len());
        }
        self.push_any(value);
    }

    #[inline(never)]
    fn push_any(&mut self, value: &[u8]) {
        if value.len() > SHORT_BYTES_MAX {
            return self.push_aside(Ok(Bytes::copy_from_slice(value)));
        }
        self.bytes.push(value.len() as u8);
        self.bytes.extend(value);
    }

    /// Appends many short values at once: each is its length in one byte, which is at most 64, and
    /// the value.
    pub fn push_all(&mut self, values: &[u8]) {
        self.bytes.extend(values);
    }

    /// Appends a long value or an error.
    pub fn push_aside(&mut self, outcome: AnswerOutcome) {
        self.bytes.push(ASIDE);
        self.aside.push_back(outcome);
    }

    /// Takes the next answer if it is a short value.
    #[inline(always)]
    pub fn take_short(&mut self) -> Option<&[u8]> {
        let mut front = self.front();
        let value = front.short()?;
        front.take(value);
        Some(value)
    }

    /// A view of the front, for callers that take many answers.
    #[inline(always)]
    pub fn front(&mut self) -> Front<'_> {
        Front { rest: self.bytes.as_slice().get(self.at..).unwrap_or_default(), at: &mut self.at }
    }

    /// Takes the next answer.
    pub fn take(&mut self) -> Option<TakenAnswer<'_>> {
        if self.bytes.as_slice().get(self.at) == Some(&ASIDE) {
            self.at += 1;
            return self.aside.pop_front().map(TakenAnswer::Aside);
        }
        self.take_short().map(TakenAnswer::Short)
    }

    /// Moves the answers of `other` behind the own ones; the two may exchange their memory.
    pub fn take_from(&mut self, other: &mut Answers) {
        if self.is_empty() {
            std::mem::swap(self, other);
        } else {
            self.bytes.extend(&other.bytes.as_slice()[other.at..]);
            self.aside.append(&mut other.aside);
        }
        other.clear();
    }

    /// Drops all answers.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.aside.clear();
        self.at = 0;
    }
}

/// A view of the answers that were not taken.
#[derive(Debug)]
pub struct Front<'a> {
    rest: &'a [u8],
    at: &'a mut usize,
}

impl<'a> Front<'a> {
    /// The next answer if it is a short value; it stays.
    #[inline(always)]
    pub fn short(&self) -> Option<&'a [u8]> {
        let (length, behind) = self.rest.split_first()?;
        behind.get(..usize::from(*length)).filter(|_| *length != ASIDE)
    }

    /// Takes the value that [`short`](Self::short) returned.
    #[inline(always)]
    pub fn take(&mut self, value: &[u8]) {
        self.rest = self.rest.get(1 + value.len()..).unwrap_or_default();
        *self.at += 1 + value.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(answers: &mut Answers) -> Vec<AnswerOutcome> {
        let mut all = Vec::new();
        while let Some(taken) = answers.take() {
            all.push(match taken {
                TakenAnswer::Short(value) => Ok(Bytes::copy_from_slice(value)),
                TakenAnswer::Aside(outcome) => outcome,
            });
        }
        all
    }

    fn of(length: usize) -> Bytes {
        (0..length).map(|byte| byte as u8 ^ length as u8).collect()
    }

    #[test]
    fn values_of_every_length_come_out_as_they_went_in() {
        let mut answers = Answers::default();
        (0..300).for_each(|length| answers.push(&of(length)));
        answers.push_all(&[2, 5, 6, 0, 1, 7]);
        answers.push_aside(Err((CallErrorKind::Panicked, "so".into())));
        answers.push(b"last");
        let mut expected: Vec<AnswerOutcome> = (0..300).map(|length| Ok(of(length))).collect();
        expected.extend([vec![5, 6], vec![], vec![7]].map(|value| Ok(value.into())));
        expected.push(Err((CallErrorKind::Panicked, "so".into())));
        expected.push(Ok("last".into()));
        assert_eq!(all(&mut answers), expected);
        assert!(answers.is_empty());
    }

    #[test]
    fn answers_taken_from_another_come_last() {
        let (mut one, mut other) = (Answers::default(), Answers::default());
        one.push(&of(9));
        one.push(&of(70));
        assert_eq!(one.take(), Some(TakenAnswer::Short(&of(9))));
        other.push(&of(3));
        other.push(&of(200));
        one.take_from(&mut other);
        assert!(other.is_empty());
        assert_eq!(all(&mut one), [70, 3, 200].map(|length| Ok(of(length))));
        other.push(&of(5));
        one.take_from(&mut other);
        assert_eq!(all(&mut one), [Ok(of(5))]);
        // Answers that were taken already stay in the buffer.
        one.push(&of(1));
        (6..8).for_each(|length| other.push(&of(length)));
        assert_eq!(other.take(), Some(TakenAnswer::Short(&of(6))));
        one.take_from(&mut other);
        assert_eq!(all(&mut one), [Ok(of(1)), Ok(of(7))]);
    }
}
