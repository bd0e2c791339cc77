//! Reproducible choices.

/// The generator `SplitMix64` (Steele, Lea, Flood 2014).
pub struct Random(pub u64);

impl Random {
    /// A random number.
    #[allow(clippy::should_implement_trait, reason = "a generator has no end")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        #[allow(clippy::unwrap_used, reason = "it is below a `usize`")]
        usize::try_from(self.below_u64(u64::try_from(bound).unwrap())).unwrap()
    }

    /// A text with one to four changes: a part of it is removed, doubled, or replaced by one of `words`.
    ///
    /// # Panics
    /// If there are no words.
    pub fn changed(&mut self, text: &str, words: &[&str]) -> String {
        let mut text: Vec<char> = text.chars().collect();
        for _ in 0..=self.below(4) {
            let from = self.below(text.len() + 1);
            let to = from + self.below((text.len() - from).min(12) + 1);
            let word = match self.below(4) {
                0 => String::new(),
                #[allow(clippy::indexing_slicing, reason = "both are within the text")]
                1 => text[from..to].repeat(2).into_iter().collect(),
                #[allow(clippy::indexing_slicing, reason = "below the length")]
                _ => words[self.below(words.len())].to_owned(),
            };
            text.splice(from..to, word.chars());
        }
        text.into_iter().collect()
    }

    /// A number below `bound`.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below_u64(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
