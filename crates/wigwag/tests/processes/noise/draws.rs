//! Numbers drawn from a seed.

/// Draws by splitmix64.
pub(crate) struct Draws(u64);

impl Draws {
    /// Takes the seed from `WIGWAG_SEED` or from the clock, and prints it.
    pub(crate) fn new() -> Draws {
        let seed = std::env::var("WIGWAG_SEED").ok().and_then(|seed| seed.parse().ok());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let seed = seed.unwrap_or(now.unwrap().as_nanos() as u64);
        eprintln!("WIGWAG_SEED={seed}");
        Draws(seed)
    }

    /// A new generator, seeded with the next number of this one.
    pub(crate) fn fork(&mut self) -> Draws {
        Draws(self.word())
    }

    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((self.word() >> 8) % end as u64) as usize
    }

    pub(crate) fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    pub(crate) fn bytes(&mut self, most: usize) -> Vec<u8> {
        let length = self.below(most + 1);
        (0..length).map(|_| self.word() as u8).collect()
    }

    /// Copies `bytes` with a few mutations: bits flipped, bytes inserted, removed and repeated.
    pub(crate) fn mutated(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(4) {
            if bytes.is_empty() {
                return bytes;
            }
            let at = self.below(bytes.len());
            match self.below(5) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = *self.one_of(&[0, 1, 0x7F, 0x80, 0xFF]),
                2 => bytes.insert(at, self.word() as u8),
                3 => drop(bytes.remove(at)),
                _ => bytes.extend_from_within(at..),
            }
        }
        bytes
    }
}
