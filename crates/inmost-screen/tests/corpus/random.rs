//! A seeded source of random text, so that every run of the tests sees the same corpus.

/// Random texts.
pub(crate) struct Random(inmost_testing::Random);

pub(crate) const DIGITS: &str = "0123456789";
pub(crate) const HEX: &str = "0123456789abcdef";
pub(crate) const UPPER_HEX: &str = "0123456789ABCDEF";
pub(crate) const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
pub(crate) const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
pub(crate) const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
/// `A-Z 2-7`, of RFC 4648.
pub(crate) const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/// `A-Z a-z 0-9`
pub(crate) const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// `A-Z a-z 0-9 + /`, of RFC 4648.
pub(crate) const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// `A-Z a-z 0-9 - _`, of RFC 4648.
pub(crate) const BASE64URL: &str =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(inmost_testing::Random(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next()
    }

    /// A number from `low` to `high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// One of these.
    pub(crate) fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        let last = u64::try_from(of.len() - 1).unwrap();
        of[usize::try_from(self.between(0, last)).unwrap()]
    }

    /// This many characters of an alphabet.
    pub(crate) fn text(&mut self, alphabet: &str, length: usize) -> String {
        let alphabet = alphabet.as_bytes();
        let last = u64::try_from(alphabet.len() - 1).unwrap();
        (0..length)
            .map(|_| char::from(alphabet[usize::try_from(self.between(0, last)).unwrap()]))
            .collect()
    }

    pub(crate) fn hex(&mut self, length: usize) -> String {
        self.text(HEX, length)
    }

    pub(crate) fn digits(&mut self, length: usize) -> String {
        self.text(DIGITS, length)
    }

    pub(crate) fn uuid(&mut self) -> String {
        [8, 4, 4, 4, 12].map(|length| self.hex(length)).join("-")
    }

    /// Random bytes of this number in base64, with padding.
    pub(crate) fn base64(&mut self, bytes: usize) -> String {
        let padding = (3 - bytes % 3) % 3;
        let text = self.text(BASE64, (bytes + padding) / 3 * 4 - padding);
        text + &"=".repeat(padding)
    }

    /// A date and time of the last years, as in logs.
    pub(crate) fn time(&mut self) -> String {
        let (year, month, day) =
            (self.between(2019, 2026), self.between(1, 12), self.between(1, 28));
        let (hour, minute, second) =
            (self.between(0, 23), self.between(0, 59), self.between(0, 59));
        let millis = self.between(0, 999);
        format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }

    pub(crate) fn version(&mut self) -> String {
        format!("{}.{}.{}", self.between(0, 12), self.between(0, 40), self.between(0, 200))
    }
}
