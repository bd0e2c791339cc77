//! Seeded random numbers, so that the trace is the same on every machine and in every run.

/// The `SplitMix64` generator (Steele, Lea, Flood 2014). It is sufficient for choosing words, and simple.
pub struct Random(u64);

impl Random {
    /// Creates a generator from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`, which must be above 0. Its bias is below one in 2^40 for the bounds
    /// used here.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    /// Returns a number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns one of the choices.
    pub fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// Returns incompressible bytes.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let words = length.div_ceil(8);
        let mut bytes: Vec<u8> = (0..words).flat_map(|_| self.bits().to_le_bytes()).collect();
        bytes.truncate(length);
        bytes
    }
}
