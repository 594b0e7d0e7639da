//! An actor that counts and digests what it is told, in the order in which it is told.

use std::time::Duration;

use wigwag::{Items, Yield};

/// The factor of FNV-1a; the multiplication makes the digest depend on the order of the notes.
const PRIME: u64 = 0x0100_0000_01b3;

#[derive(Default)]
pub(crate) struct Ledger {
    notes: u64,
    digest: u64,
    naps: u64,
    /// The items of the last stream that were sent.
    produced: u64,
}

/// Keeps a digest of its notes.
#[wigwag::actor]
impl Ledger {
    /// Adds a note.
    pub fn note(&mut self, number: u64, text: String) {
        let mixed = (self.digest ^ number).wrapping_mul(PRIME);
        self.digest = mixed.wrapping_add(text.len() as u64);
        self.notes += 1;
    }

    /// Adds a note, and returns the digest of all notes.
    pub fn count(&mut self, number: u64, text: String) -> u64 {
        self.note(number, text);
        self.digest
    }

    /// The number of notes, and their digest.
    pub fn total(&self) -> (u64, u64) {
        (self.notes, self.digest)
    }

    /// Answers the text that it is given.
    pub fn echo(&self, text: String) -> String {
        text
    }

    /// Answers the bytes that it is given.
    pub fn blob(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }

    /// Answers the number that it is given.
    pub fn number(&self, number: i64) -> i64 {
        number
    }

    /// Handles nothing else for a time, and counts the naps.
    pub async fn nap(&mut self, milliseconds: u64) -> u64 {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
        self.naps += 1;
        self.naps
    }

    /// The naps that were taken.
    pub fn naps(&self) -> u64 {
        self.naps
    }

    /// The numbers from 0 on.
    pub async fn numbers(&mut self, count: u64, mut items: Yield<u64>) {
        self.produced = 0;
        for number in 0..count {
            if items.send(number).await.is_err() {
                return;
            }
            self.produced += 1;
        }
        items.finish();
    }

    /// The numbers that the last stream has produced.
    pub fn produced(&self) -> u64 {
        self.produced
    }

    /// Takes numbers until they end, or `most` of them: how many, their sum, and how they have ended.
    pub async fn take(&mut self, mut numbers: Items<u64>, most: u64) -> (u64, u64, String) {
        let (mut count, mut sum) = (0, 0_u64);
        while count < most {
            match numbers.next().await {
                Some(Ok(number)) => (count, sum) = (count + 1, sum.wrapping_add(number)),
                Some(Err(error)) => return (count, sum, error.to_string()),
                None => return (count, sum, "finished".to_owned()),
            }
        }
        (count, sum, "left".to_owned())
    }

    /// Panics, which ends the actor.
    pub fn panic(&mut self) {
        panic!("it was told to");
    }
}
