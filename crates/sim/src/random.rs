//! Random numbers from a seed: splitmix64 (Steele, Lea, Flood 2014).
//!
//! Implemented here, so that a seed from an old log still gives the same run after a library has
//! changed its generator.

/// A stream of numbers that follows from its seed.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.state)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        // The bias of a remainder is 2^-50 for the small numbers that are asked for here.
        self.draw().checked_rem(end).unwrap_or(0)
    }

    /// A number from `first` to `last`, both included.
    pub fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last.saturating_sub(first) + 1)
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `choices`, which are not empty.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// 128 bits, for ids.
    pub fn draw_u128(&mut self) -> u128 {
        u128::from(self.draw()) << 64 | u128::from(self.draw())
    }
}

/// Scrambles 64 bits; also a cheap hash of a number.
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of seed 1234567, as the reference implementation prints them.
    #[test]
    fn it_is_splitmix64() {
        let mut random = Random::new(1_234_567);
        let drawn: [u64; 3] = core::array::from_fn(|_| random.draw());
        let known =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(drawn, known);
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut random = Random::new(1);
        assert!((0..1000).all(|_| (3..=5).contains(&random.between(3, 5))));
        assert_eq!(random.below(0), 0);
        assert_eq!(random.between(4, 4), 4);
    }
}
