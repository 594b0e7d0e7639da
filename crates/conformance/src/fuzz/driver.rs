//! A driver that generates inputs from seeds and a dictionary, runs them, and minimizes failures.
//!
//! Each input is determined by a seed and the number of its run, so a run is replayed without those
//! before it. The code gives no feedback: a bug behind magic bytes must be within reach of the
//! dictionary.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::fuzz::{INPUT_BYTES_MAX, Verdict};

/// The words that inputs are made of, in libFuzzer's format.
const DICTIONARY: &str = include_str!("../../../../fuzz/sp.dict");

/// The most changes that are made to a seed.
const MUTATIONS_MAX: usize = 6;

/// A generator of 64-bit numbers (splitmix64): small, and the same on all platforms.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator that is seeded with `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `count`; 0 if `count` is 0.
    pub fn below(&mut self, count: usize) -> usize {
        if count == 0 { 0 } else { (self.number() % count as u64) as usize }
    }
}

/// Generates inputs.
#[derive(Clone, Debug)]
pub struct Driver {
    seed: u64,
    seeds: Vec<Vec<u8>>,
    dictionary: Vec<Vec<u8>>,
}

/// An input that breaks a property.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The seed of the driver, and the number of the run.
    pub replay: (u64, u64),
    /// The input, minimized.
    pub input: Vec<u8>,
    /// The broken property.
    pub why: String,
}

impl Display for Counterexample {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (seed, run) = self.replay;
        write!(f, "{}\n  seed {seed}, run {run}, made small: {:02x?}", self.why, self.input)
    }
}

impl Driver {
    /// A driver with `seeds` and the words of the dictionary.
    pub fn new(seed: u64, seeds: Vec<Vec<u8>>) -> Driver {
        Driver { seed, seeds, dictionary: words() }
    }

    /// A driver without seeds and dictionary, to measure what they contribute.
    pub fn blind(seed: u64) -> Driver {
        Driver { seed, seeds: Vec::new(), dictionary: Vec::new() }
    }

    /// The input of one run.
    pub fn input(&self, run: u64) -> Vec<u8> {
        let mut random = Random::new(self.seed ^ run.wrapping_mul(0xd134_2543_de82_ef95));
        let mut input = match self.seeds.get(random.below(self.seeds.len())) {
            Some(seed) => seed.clone(),
            None => (0..random.below(64)).map(|_| random.number() as u8).collect(),
        };
        for _ in 0..random.below(MUTATIONS_MAX + 1) {
            self.mutate(&mut input, &mut random);
        }
        input.truncate(INPUT_BYTES_MAX);
        input
    }

    /// Runs inputs until one breaks a property.
    pub fn find_failure(
        &self,
        runs: Range<u64>,
        check: impl Fn(&[u8]) -> Verdict,
    ) -> Option<Counterexample> {
        for run in runs {
            let input = self.input(run);
            if run_check(&check, &input).is_err() {
                let input = shrink(input, |smaller| run_check(&check, smaller).is_err());
                let why = run_check(&check, &input).expect_err("kept only while it fails");
                return Some(Counterexample { replay: (self.seed, run), input, why });
            }
        }
        None
    }

    fn mutate(&self, input: &mut Vec<u8>, random: &mut Random) {
        let position = random.below(input.len() + 1);
        match random.below(9) {
            0 => {
                if let Some(byte) = input.get_mut(position) {
                    *byte ^= 1 << random.below(8);
                }
            }
            1 => {
                if let Some(byte) = input.get_mut(position) {
                    *byte = [0, 1, 2, 0x7f, 0x80, 0xff, random.number() as u8][random.below(7)];
                }
            }
            2 => input.truncate(position),
            3 => {
                let end = (position + 1 + random.below(16)).min(input.len());
                input.drain(position..end.max(position));
            }
            4 => {
                let end = (position + 1 + random.below(32)).min(input.len());
                let again = input[position..end.max(position)].to_vec();
                input.splice(position..position, again);
            }
            5 => drop(input.splice(position..position, self.word(random))),
            6 => {
                let word = self.word(random);
                let end = (position + word.len()).min(input.len());
                drop(input.splice(position..end, word));
            }
            7 => {
                // A whole frame, as tcp has it; its length is right, or wrong by a little.
                let body = self.word(random);
                let length = (body.len() + random.below(3)).saturating_sub(random.below(2));
                let frame = [&(length as u64).to_be_bytes()[..], &body].concat();
                input.splice(position..position, frame);
            }
            _ => {
                let other = self.seeds.get(random.below(self.seeds.len()));
                let from = other.map_or(0, |other| random.below(other.len() + 1));
                let tail = other.map_or(Vec::new(), |other| other[from..].to_vec());
                input.splice(position.., tail);
            }
        }
    }

    fn word(&self, random: &mut Random) -> Vec<u8> {
        let word = self.dictionary.get(random.below(self.dictionary.len()));
        word.cloned().unwrap_or_else(|| vec![random.number() as u8])
    }
}

/// The verdict of a check on an input; a panic counts as a broken property.
pub fn run_check(check: &impl Fn(&[u8]) -> Verdict, input: &[u8]) -> Verdict {
    let judged = catch_unwind(AssertUnwindSafe(|| check(input)));
    judged.unwrap_or_else(|_| Err("it panics".to_owned()))
}

/// Removes all parts of the input without which it still fails.
fn shrink(mut input: Vec<u8>, fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut piece = input.len() / 2;
    while piece > 0 {
        let before = input.len();
        let mut position = 0;
        while position < input.len() {
            let mut smaller = input.clone();
            smaller.drain(position..(position + piece).min(input.len()));
            if fails(&smaller) {
                input = smaller;
            } else {
                position += piece;
            }
        }
        // A part that could not be removed alone may be removable now that another one is gone.
        if input.len() == before {
            piece /= 2;
        }
    }
    input
}

/// The words of the dictionary: lines of `name="bytes"`, with `\x` before two hex digits.
fn words() -> Vec<Vec<u8>> {
    let lines = DICTIONARY.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once('=')).map(|(_, word)| unescape(word)).collect()
}

fn unescape(word: &str) -> Vec<u8> {
    let word = word.trim_matches('"').as_bytes();
    let (mut bytes, mut rest) = (Vec::new(), word);
    while let Some((first, behind)) = rest.split_first() {
        let escaped = behind.strip_prefix(b"x").and_then(|hex| hex.split_at_checked(2));
        let byte = escaped.and_then(|(hex, behind)| {
            let digits = std::str::from_utf8(hex).ok()?;
            Some((u8::from_str_radix(digits, 16).ok()?, behind))
        });
        let (byte, behind) = match (first, byte) {
            (b'\\', Some(read)) => read,
            _ => (*first, behind),
        };
        bytes.push(byte);
        rest = behind;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dictionary_is_read_as_it_is_written() {
        let words = words();
        assert!(words.contains(&b"\0SP\0".to_vec()) && words.contains(&b"GET / HT".to_vec()));
        assert!(words.contains(&vec![0xff; 8]) && words.len() >= 30);
    }

    #[test]
    fn a_run_is_replayed_from_its_number_alone() {
        let driver = Driver::new(7, vec![b"seed".to_vec()]);
        let inputs: Vec<Vec<u8>> = (0..50).map(|run| driver.input(run)).collect();
        assert_eq!(driver.clone().input(31), inputs[31]);
        assert!(inputs.iter().any(|input| *input != inputs[0]));
    }

    #[test]
    fn a_counterexample_is_minimized() {
        let needle = |input: &[u8]| input.windows(2).any(|pair| pair == b"ab");
        assert_eq!(shrink(b"xxxxabxxxx".to_vec(), needle), b"ab");
    }
}
