//! The payloads that a sender draws, and what they add up to.
//!
//! The lab adds up again what every program was to send, hundreds of millions a run. One draw waits
//! for the one before it; so the sum is taken over several stretches at once, each from where it
//! begins. A step of the generator is linear over single bits, and so is any number of steps: a
//! matrix says where a stretch begins.

/// Stretches that are drawn side by side: as many as the processor does at the price of one.
const LANES: usize = 16;
/// Fewer draws than this are not worth the matrices.
const LONG: u64 = 4_096;

/// The payloads of one sender, as the contract has them.
#[derive(Clone, Debug)]
pub struct Payloads(u32);

impl Payloads {
    /// The payloads of `sender` under `seed`.
    pub fn new(seed: u32, sender: u32) -> Self {
        let mixed = seed ^ sender.wrapping_add(1).wrapping_mul(2_654_435_761);
        // Xorshift never leaves zero.
        Self(mixed.max(1))
    }

    /// The next one.
    #[inline]
    pub fn draw(&mut self) -> u32 {
        self.0 = step(self.0);
        self.0
    }

    /// The sum of the next `count`, modulo 2^64.
    pub fn sum(mut self, count: u64) -> u64 {
        let mut sum = 0_u64;
        let mut left = count;
        if count >= LONG {
            let stretch = count / LANES as u64;
            sum = self.sum_of_lanes(stretch);
            left -= stretch * LANES as u64;
        }
        for _ in 0..left {
            sum = sum.wrapping_add(self.draw().into());
        }
        sum
    }

    /// The sum of [`LANES`] stretches; stands behind the last one then.
    fn sum_of_lanes(&mut self, stretch: u64) -> u64 {
        let ahead = StepMatrix::of(stretch);
        let mut lanes = [self.0; LANES];
        for lane in 1..LANES {
            lanes[lane] = ahead.from(lanes[lane - 1]);
        }
        let mut sums = [0_u64; LANES];
        for _ in 0..stretch {
            for (lane, sum) in lanes.iter_mut().zip(&mut sums) {
                *lane = step(*lane);
                *sum = sum.wrapping_add((*lane).into());
            }
        }
        self.0 = lanes[LANES - 1];
        sums.iter().fold(0, |all, sum| all.wrapping_add(*sum))
    }
}

/// Xorshift, 32 bits wide.
#[inline(always)]
pub(crate) fn step(mut x: u32) -> u32 {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    x
}

/// A number of steps as a matrix: the effect on each single bit.
#[derive(Clone, Copy)]
struct StepMatrix([u32; 32]);

impl StepMatrix {
    fn of(count: u64) -> StepMatrix {
        let bit = |at: usize| 1_u32 << at;
        let mut all = StepMatrix(std::array::from_fn(bit));
        let mut power = StepMatrix(std::array::from_fn(|at| step(bit(at))));
        let mut left = count;
        while left > 0 {
            if left & 1 == 1 {
                all = all.then(&power);
            }
            power = power.then(&power);
            left >>= 1;
        }
        all
    }

    /// These steps and then those.
    fn then(&self, next: &StepMatrix) -> StepMatrix {
        StepMatrix(self.0.map(|column| next.from(column)))
    }

    /// Where they lead from `x`.
    fn from(&self, x: u32) -> u32 {
        let columns = self.0.iter().enumerate();
        columns.fold(0, |sum, (at, column)| if x >> at & 1 == 1 { sum ^ column } else { sum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked out by hand for seed 1, sender 0: x = 1 xor 2654435761 = 2654435760, then the three
    /// shifts modulo 2^32.
    #[test]
    fn the_first_payloads_are_those_of_the_contract() {
        let mut x: u64 = 1 ^ 2_654_435_761;
        let mut payloads = Payloads::new(1, 0);
        for _ in 0..1_000 {
            x ^= (x << 13) % (1 << 32);
            x ^= x >> 17;
            x ^= (x << 5) % (1 << 32);
            assert_eq!(u64::from(payloads.draw()), x);
        }
    }

    #[test]
    fn a_seed_that_mixes_to_zero_still_draws() {
        assert_ne!(Payloads::new(2_654_435_761, 0).draw(), 0);
    }

    #[test]
    fn a_sum_is_that_of_the_draws() {
        for count in [0, 1, 15, LONG - 1, LONG, LONG + 1, 100_003] {
            let mut drawn = Payloads::new(77, 3);
            let one_by_one: u64 = (0..count).map(|_| u64::from(drawn.draw())).sum();
            assert_eq!(Payloads::new(77, 3).sum(count), one_by_one, "{count}");
        }
    }
}
