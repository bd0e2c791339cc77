//! Signatures of texts, so that a search need not read every file again.
//!
//! A signature is a Bloom filter over the trigrams of a text: the sequences of three characters in it, without case. It has
//! one bit for each byte of the text, and each trigram sets one of them. A text that lacks a bit of what is searched for does
//! not contain that. (Trigrams as an index: Cox, "Regular Expression Matching with a Trigram Index", 2012; the filter: Bloom,
//! "Space/time trade-offs in hash coding with allowable errors", 1970.)
//!
//! A search makes the signature of each text that it reads. They are in memory only, bound to the tags of the files, and
//! wiped with the keys.
//!
//! What they are for, measured by tests/browse/latency.py at 100,001 files: with them the first hit of a text that one file has
//! comes after 119 ms in the browser and 77 ms through the key daemon; without them, while every text has to be read, after
//! 4,882 ms and 4,745 ms. The goal is 300 ms. Of 10,000 files it is a tenth, which misses the goal too.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inmost_format::record::{ObjectId, Tag};
use inmost_format::secret::{PerProcess, Wiped};

use crate::limits::SIGNATURES_BYTES;

/// The signatures of a session.
pub(crate) struct Signatures {
    files: Mutex<HashMap<ObjectId, Signature>>,
    /// Bytes of these signatures, or of those of all sessions that share the bound.
    bytes: Arc<AtomicUsize>,
    bound: usize,
}

impl Signatures {
    /// Signatures within the bound that the sessions of the process share, or within this one.
    pub(crate) fn new(own_bound: Option<usize>) -> Self {
        static SHARED: PerProcess<Arc<AtomicUsize>> = PerProcess::new();
        let (bytes, bound) = own_bound.map_or_else(
            || (Arc::clone(SHARED.get(|_| Arc::default())), SIGNATURES_BYTES),
            |bound| (Arc::default(), bound),
        );
        Self { files: Mutex::default(), bytes, bound }
    }

    /// Whether the text of this file is known to lack one of the trigrams.
    pub(crate) fn exclude(&self, file: ObjectId, tag: &Tag, trigrams: &Trigrams) -> bool {
        let files = self.files();
        let signature = files.get(&file).filter(|signature| signature.tag == *tag);
        signature.is_some_and(|signature| !signature.may_have(trigrams))
    }

    /// Keeps the signature of a file that was read, unless the bound is reached.
    pub(crate) fn note(&self, file: ObjectId, tag: Tag, text: &str) {
        if self.files().get(&file).is_some_and(|signature| signature.tag == tag) {
            return;
        }
        self.remove(file);
        let added = Signature::bytes_for(text);
        let add = |bytes: usize| bytes.checked_add(added).filter(|bytes| *bytes <= self.bound);
        if self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_err() {
            return;
        }
        let before = self.files().insert(file, Signature::new(tag, text));
        // Another search may have been faster.
        self.release(before.as_ref());
    }

    /// Drops the signature of a file that is removed.
    pub(crate) fn remove(&self, file: ObjectId) {
        let removed = self.files().remove(&file);
        self.release(removed.as_ref());
    }

    /// Drops all signatures.
    pub(crate) fn clear(&self) {
        for signature in std::mem::take(&mut *self.files()).values() {
            self.release(Some(signature));
        }
    }

    fn release(&self, signature: Option<&Signature>) {
        self.bytes.fetch_sub(signature.map_or(0, Signature::bytes), Ordering::Relaxed);
    }

    fn files(&self) -> MutexGuard<'_, HashMap<ObjectId, Signature>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Signatures {
    fn drop(&mut self) {
        self.clear();
    }
}

struct Signature {
    /// The tag of the file's head, and so of its text.
    tag: Tag,
    words: Wiped<Vec<u64>>,
}

impl Signature {
    fn new(tag: Tag, text: &str) -> Self {
        let mut words = Wiped::new(vec![0; words_for(text)]);
        for trigram in trigrams(text) {
            let (word, bit) = place(trigram, words.len());
            if let Some(word) = words.get_mut(word) {
                *word |= bit;
            }
        }
        Self { tag, words }
    }

    /// Whether the text may contain all of these.
    fn may_have(&self, trigrams: &Trigrams) -> bool {
        trigrams.0.iter().all(|trigram| {
            let (word, bit) = place(*trigram, self.words.len());
            self.words.get(word).is_none_or(|word| word & bit != 0)
        })
    }

    fn bytes(&self) -> usize {
        size_of_val(self.words.as_slice()).saturating_add(OVERHEAD)
    }

    /// What [`bytes`](Self::bytes) will be for this text.
    fn bytes_for(text: &str) -> usize {
        words_for(text).saturating_mul(size_of::<u64>()).saturating_add(OVERHEAD)
    }
}

/// The trigrams of a text that is searched for.
#[derive(Default)]
pub(crate) struct Trigrams(Wiped<Vec<u64>>);

impl Trigrams {
    /// The trigrams that every text has that contains this one, in whatever case.
    pub(crate) fn of(text: &str) -> Self {
        let mut found = Wiped::new(Vec::with_capacity(text.len()));
        found.extend(trigrams(text));
        Self(found)
    }
}

/// Hashes of the trigrams of a text, in its order.
fn trigrams(text: &str) -> impl Iterator<Item = u64> {
    let (mut first, mut second) = (None, None);
    text.chars().filter_map(move |character| {
        let third = fold(character);
        let trigram = [first, second, third];
        (first, second) = (second, third);
        let [first, second, third] = trigram;
        Some(hash(first?, second?, third?))
    })
}

/// The same character for all that a search without case takes for one. `None` if that is not certain.
fn fold(character: char) -> Option<char> {
    if character.is_ascii() {
        return Some(character.to_ascii_lowercase());
    }
    // By way of the capital letter, so that the two small sigmas are one. And back: there is a capital letter whose small one
    // has two as its capital.
    let small = only(only(character.to_uppercase())?.to_lowercase())?;
    only(small.to_uppercase()).map(|_| small)
}

fn only(mut characters: impl Iterator<Item = char>) -> Option<char> {
    characters.next().filter(|_| characters.next().is_none())
}

/// Multiplicative hashing; see Knuth, The Art of Computer Programming, volume 3, section 6.4. The high bits are good.
fn hash(first: char, second: char, third: char) -> u64 {
    // 21 bits each.
    let trigram = u64::from(first) << 42 | u64::from(second) << 21 | u64::from(third);
    trigram.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The word and the bit of a hash.
fn place(hash: u64, words: usize) -> (usize, u64) {
    let bits = u128::try_from(words).unwrap_or(0).saturating_mul(64);
    // The high half of the product: a number below `bits`.
    let bit = u128::from(hash).saturating_mul(bits) >> 64;
    (usize::try_from(bit / 64).unwrap_or(0), 1 << (bit % 64))
}

fn words_for(text: &str) -> usize {
    text.len().div_ceil(64).clamp(1, MOST_WORDS)
}

/// 32 KiB: a longer text repeats its trigrams.
const MOST_WORDS: usize = 4 << 10;
/// Bytes that a signature takes besides its bits.
const OVERHEAD: usize = 96;

#[cfg(test)]
mod tests {
    use regex::RegexBuilder;
    use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

    use super::*;

    const FILE: ObjectId = ObjectId([1; 16]);
    const TAG: Tag = Tag([2; 16]);

    fn excludes(text: &str, wanted: &str) -> bool {
        let signatures = Signatures::new(Some(1 << 20));
        signatures.note(FILE, TAG, text);
        signatures.exclude(FILE, &TAG, &Trigrams::of(wanted))
    }

    #[test]
    fn a_character_is_folded_as_a_search_without_case_does_it() {
        for character in '\0'..=char::MAX {
            let mut class = ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
            class.case_fold_simple();
            for range in class.ranges() {
                for other in range.start()..=range.end() {
                    assert_eq!(fold(character), fold(other), "{character:?} {other:?}");
                }
            }
        }
    }

    #[test]
    fn no_text_that_a_search_finds_is_excluded() {
        let texts = [
            "Beans need a stake.\nLeeks do not.\n",
            "Ri\u{17f}k, 273 \u{212a}elvin, Stra\u{df}e, STRASSE, STRA\u{1e9e}E\n",
            "\u{39f}\u{394}\u{39f}\u{3a3} \u{3bf}\u{3b4}\u{3cc}\u{3c2} \u{3c3}\u{3cc}\u{3c3}\u{390}\u{1fd3}\u{1f80}\u{1f88}\n",
            "\u{434}\u{435}\u{440}\u{435}\u{432}\u{43d}\u{44f} \u{414}\u{415}\u{420} \u{8c46}\u{8150}\u{6c64} \u{130}stanbul \u{131}i\u{149}",
        ];
        let mut found = 0;
        for wanted in texts {
            let characters: Vec<char> = wanted.chars().collect();
            for length in 1..=12 {
                for part in characters.windows(length) {
                    let part: String = part.iter().collect();
                    for part in [part.to_lowercase(), part.to_uppercase(), part] {
                        let escaped = regex::escape(&part);
                        let search =
                            RegexBuilder::new(&escaped).case_insensitive(true).build().unwrap();
                        for text in texts.into_iter().filter(|text| search.is_match(text)) {
                            found += 1;
                            assert!(!excludes(text, &part), "{part:?} {text:?}");
                        }
                    }
                }
            }
        }
        assert!(found > 1_000);
    }

    #[test]
    fn nearly_all_other_texts_are_excluded() {
        let words = ["garden", "bean", "order", "letter", "invoice", "roof", "window", "meeting"];
        let text = |number: usize| -> String {
            let word = |at: usize| words[(number * 31 + at * (at + number)) % words.len()];
            (0..300).map(|at| [word(at), " ", &(number * at).to_string(), "\n"].concat()).collect()
        };
        let excluded = (0..1_000).filter(|number| excludes(&text(*number), "zanzibar")).count();
        assert!(excluded > 950, "{excluded}");
        assert!(!excludes("", "be") && excludes("", "bee"), "too short for a trigram");
    }

    #[test]
    fn a_signature_is_of_one_text_of_one_file() {
        let signatures = Signatures::new(Some(1 << 20));
        let wanted = Trigrams::of("zanzibar");
        signatures.note(FILE, TAG, "beans");
        assert!(signatures.exclude(FILE, &TAG, &wanted));
        assert!(!signatures.exclude(FILE, &Tag([3; 16]), &wanted), "of another text");
        assert!(!signatures.exclude(ObjectId([3; 16]), &TAG, &wanted), "of another file");
        signatures.note(FILE, Tag([3; 16]), "in zanzibar");
        assert!(!signatures.exclude(FILE, &Tag([3; 16]), &wanted));
        assert_eq!(signatures.files().len(), 1);
        signatures.remove(FILE);
        assert!(signatures.files().is_empty());
        assert_eq!(signatures.bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn the_bound_holds_over_all_that_share_it() {
        let (mut first, mut second) = (Signatures::new(Some(10_000)), Signatures::new(None));
        second.bytes = Arc::clone(&first.bytes);
        second.bound = first.bound;
        let bytes = Arc::clone(&first.bytes);
        let text = "beans ".repeat(60);
        for number in 0..100 {
            let signatures = if number % 2 == 0 { &mut first } else { &mut second };
            signatures.note(ObjectId([number; 16]), TAG, &text);
            assert!(bytes.load(Ordering::Relaxed) <= 10_000);
        }
        assert!(bytes.load(Ordering::Relaxed) > 9_500);
        let kept = |signatures: &Signatures| {
            signatures.files().values().map(Signature::bytes).sum::<usize>()
        };
        assert_eq!(kept(&first) + kept(&second), bytes.load(Ordering::Relaxed));
        drop(first);
        assert_eq!(kept(&second), bytes.load(Ordering::Relaxed));
        drop(second);
        assert_eq!(bytes.load(Ordering::Relaxed), 0);
        let none = Signatures::new(Some(0));
        none.note(FILE, TAG, "beans");
        assert!(none.files().is_empty());
    }
}
