//! Seeded random numbers: the same trace on every machine and in every run.

/// `SplitMix64` (Steele, Lea, Flood 2014): enough for choosing words, and short enough to be read.
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is above 0. Its bias is below one in 2^40 for what is chosen here.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    /// A number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One of these.
    pub fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// Bytes that nothing compresses.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let words = length.div_ceil(8);
        let mut bytes: Vec<u8> = (0..words).flat_map(|_| self.bits().to_le_bytes()).collect();
        bytes.truncate(length);
        bytes
    }
}
