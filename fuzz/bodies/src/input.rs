//! Structured input: small choices, texts and names read from the fuzzer's bytes.
//!
//! Reading never fails: after the end of the bytes, every choice is the first one and every text is empty.

use arbitrary::Unstructured;

/// The rest of an input.
pub(crate) struct Input<'a>(Unstructured<'a>);

impl<'a> Input<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self(Unstructured::new(data))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number below `bound`, which is at least 1.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0.int_in_range(0..=bound.saturating_sub(1)).unwrap_or(0)
    }

    /// True for one of `n` equal choices, and false after the end of the input.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) + 1 == n
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.0.arbitrary().unwrap_or(0)
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Up to `most` bytes, unchanged.
    pub(crate) fn bytes(&mut self, most: usize) -> &'a [u8] {
        let length = self.below(most + 1).min(self.0.len());
        self.0.bytes(length).unwrap_or_default()
    }

    /// All bytes that are left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        self.0.bytes(self.0.len()).unwrap_or_default()
    }

    /// A line number, often of a line that exists, sometimes beyond any file.
    pub(crate) fn line(&mut self) -> i64 {
        match self.below(8) {
            0..=4 => i64::try_from(self.below(9)).unwrap() - 2,
            5 => i64::try_from(self.below(100)).unwrap(),
            6 => i64::try_from(self.below(10_000)).unwrap(),
            _ => self.pick(&[i64::MAX, i64::MIN, 1 << 32, -3]),
        }
    }

    /// A text of unusual pieces, mostly short, sometimes long enough for a rope or a staged write.
    pub(crate) fn text(&mut self) -> String {
        match self.below(16) {
            0..=7 => self.pieces(12),
            8..=10 => String::from_utf8_lossy(self.bytes(48)).into_owned(),
            11 | 12 => repeated(&self.pieces(8), self.below(64)),
            13 => numbered(self.below(40)),
            14 => numbered(self.below(1_200)),
            _ => repeated(&self.pieces(8), self.below(20_000)),
        }
    }

    fn pieces(&mut self, most: usize) -> String {
        (0..self.below(most)).map(|_| self.pick(&PIECES)).collect()
    }
}

fn repeated(text: &str, times: usize) -> String {
    text.repeat(times.min(TEXT_BYTES / text.len().max(1)))
}

/// Lines that all differ, so that a misplaced line is detected.
fn numbered(lines: usize) -> String {
    let line = |line| ["line ", &format!("{line} \u{e9}"), &"-".repeat(line % 70), "\n"].concat();
    (0..lines).map(line).collect()
}

const PIECES: [&str; 16] = [
    "a",
    "b",
    "\n",
    "aa",
    "ab\n",
    "\n\n",
    "\u{e9}",
    "\u{1f600}",
    "\r\n",
    "\t",
    " ",
    "\0",
    "$&",
    "\\n",
    "e\u{301}",
    "line\n",
];
/// Enough for three steps of a staged write.
const TEXT_BYTES: usize = 180_000;
