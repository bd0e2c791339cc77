//! What searches have noted of texts, so that they need not read every file again: signatures for patterns, and terms for words.
//! Both are in memory only, bound to the tags of the files, and wiped with the keys.
//!
//! A signature is a Bloom filter over the trigrams of a text: the sequences of three characters in it, without case. It has
//! one bit for each byte of the text, and each trigram sets one of them. A text that lacks a bit of what is searched for does
//! not contain that. (Trigrams as an index: Cox, "Regular Expression Matching with a Trigram Index", 2012; the filter: Bloom,
//! "Space/time trade-offs in hash coding with allowable errors", 1970.)
//!
//! A search makes the signature of each text that it reads. What they are for, measured by tests/browse/latency.py at 100,001 files: with them the first hit of a text that one file has
//! comes after 119 ms in the browser and 77 ms through the key daemon; without them, while every text has to be read, after
//! 4,882 ms and 4,745 ms. The goal is 300 ms. Of 10,000 files it is a tenth, which misses the goal too.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use inmost_format::record::{ObjectId, Tag};
use inmost_format::secret::{PerProcess, Wiped};
use inmost_search::{Terms, Words};

use crate::limits::SEARCH_NOTES_BYTES;

/// What the searches of a session have noted.
pub(crate) struct SearchNotes {
    signatures: PerText<Signature>,
    /// Terms with the hash of the path, whose words are among them: a file that was renamed keeps its tag.
    terms: PerText<(u64, Arc<Terms>)>,
    paths: RandomState,
    words: OnceLock<Words>,
}

impl SearchNotes {
    /// Notes within the bound that the sessions of the process share, or within this one.
    pub(crate) fn new(own_bound: Option<usize>) -> Self {
        static SHARED: PerProcess<Arc<AtomicUsize>> = PerProcess::new();
        let (bytes, bound) = own_bound.map_or_else(
            || (Arc::clone(SHARED.get(|_| Arc::default())), SEARCH_NOTES_BYTES),
            |bound| (Arc::default(), bound),
        );
        let signatures = PerText { files: Mutex::default(), bytes: Arc::clone(&bytes), bound };
        let terms = PerText { files: Mutex::default(), bytes, bound };
        Self { signatures, terms, paths: RandomState::new(), words: OnceLock::new() }
    }

    /// Whether the text of this file is known to lack one of the trigrams.
    pub(crate) fn exclude(&self, file: ObjectId, tag: &Tag, trigrams: &Trigrams) -> bool {
        self.signatures.get(file, tag, |signature| !signature.may_have(trigrams)).unwrap_or(false)
    }

    /// Keeps the signature of a file that was read, unless the bound is reached.
    pub(crate) fn note(&self, file: ObjectId, tag: Tag, text: &str) {
        if self.signatures.get(file, &tag, |_| ()).is_none() {
            self.signatures.insert(file, tag, Signature::bytes_for(text), || Signature::new(text));
        }
    }

    /// Cuts texts into terms.
    pub(crate) fn words(&self) -> &Words {
        self.words.get_or_init(Words::new)
    }

    /// Returns the terms of a file, from an earlier search or of the text that is read now. They are kept unless the bound is
    /// reached.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn terms<E>(
        &self,
        (file, tag): (ObjectId, Tag),
        path: &str,
        read: impl FnOnce() -> Result<Wiped<String>, E>,
    ) -> Result<Arc<Terms>, E> {
        let hash = self.paths.hash_one(path);
        let known =
            self.terms.get(file, &tag, |(of, terms)| (*of == hash).then(|| Arc::clone(terms)));
        if let Some(terms) = known.flatten() {
            return Ok(terms);
        }
        let terms = Arc::new(self.words().terms(path, &read()?));
        let bytes = terms.size().saturating_add(OVERHEAD);
        self.terms.insert(file, tag, bytes, || (hash, Arc::clone(&terms)));
        Ok(terms)
    }

    /// Drops what is noted of a file that is removed.
    pub(crate) fn remove(&self, file: ObjectId) {
        self.signatures.remove(file);
        self.terms.remove(file);
    }

    /// Drops everything.
    pub(crate) fn clear(&self) {
        self.signatures.clear();
        self.terms.clear();
    }
}

/// Something of the text of each file, with the tag of the file's head, and so of its text, and its size in bytes.
struct PerText<V> {
    files: Mutex<HashMap<ObjectId, (Tag, usize, V)>>,
    /// Bytes of all that share the bound.
    bytes: Arc<AtomicUsize>,
    bound: usize,
}

impl<V> PerText<V> {
    fn get<R>(&self, file: ObjectId, tag: &Tag, look: impl FnOnce(&V) -> R) -> Option<R> {
        let files = self.files();
        files.get(&file).filter(|(of, ..)| of == tag).map(|(.., value)| look(value))
    }

    fn insert(&self, file: ObjectId, tag: Tag, bytes: usize, make: impl FnOnce() -> V) {
        self.remove(file);
        let add = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.bound);
        if self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_err() {
            return;
        }
        let value = make();
        let before = self.files().insert(file, (tag, bytes, value));
        // Another search may have been faster.
        self.release(before);
    }

    fn remove(&self, file: ObjectId) {
        let removed = self.files().remove(&file);
        self.release(removed);
    }

    fn clear(&self) {
        let files = std::mem::take(&mut *self.files());
        for file in files.into_values() {
            self.release(Some(file));
        }
    }

    fn release(&self, file: Option<(Tag, usize, V)>) {
        self.bytes.fetch_sub(file.map_or(0, |(_, bytes, _)| bytes), Ordering::Relaxed);
    }

    fn files(&self) -> MutexGuard<'_, HashMap<ObjectId, (Tag, usize, V)>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Drop for PerText<V> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The bits of a Bloom filter.
struct Signature(Wiped<Vec<u64>>);

impl Signature {
    fn new(text: &str) -> Self {
        let mut words = Wiped::new(vec![0; words_for(text)]);
        for trigram in trigrams(text) {
            let (word, bit) = place(trigram, words.len());
            if let Some(word) = words.get_mut(word) {
                *word |= bit;
            }
        }
        Self(words)
    }

    /// Whether the text may contain all of these.
    fn may_have(&self, trigrams: &Trigrams) -> bool {
        trigrams.0.iter().all(|trigram| {
            let (word, bit) = place(*trigram, self.0.len());
            self.0.get(word).is_none_or(|word| word & bit != 0)
        })
    }

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
/// Bytes that a note takes besides its content.
const OVERHEAD: usize = 96;

#[cfg(test)]
mod tests {
    use regex::RegexBuilder;
    use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

    use super::*;

    const FILE: ObjectId = ObjectId([1; 16]);
    const TAG: Tag = Tag([2; 16]);

    fn excludes(text: &str, wanted: &str) -> bool {
        let signatures = SearchNotes::new(Some(1 << 20));
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
        let signatures = SearchNotes::new(Some(1 << 20));
        let wanted = Trigrams::of("zanzibar");
        signatures.note(FILE, TAG, "beans");
        assert!(signatures.exclude(FILE, &TAG, &wanted));
        assert!(!signatures.exclude(FILE, &Tag([3; 16]), &wanted), "of another text");
        assert!(!signatures.exclude(ObjectId([3; 16]), &TAG, &wanted), "of another file");
        signatures.note(FILE, Tag([3; 16]), "in zanzibar");
        assert!(!signatures.exclude(FILE, &Tag([3; 16]), &wanted));
        assert_eq!(signatures.signatures.files().len(), 1);
        signatures.remove(FILE);
        assert!(signatures.signatures.files().is_empty());
        assert_eq!(signatures.signatures.bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn the_bound_holds_over_all_that_share_it() {
        let (mut first, mut second) = (SearchNotes::new(Some(10_000)), SearchNotes::new(None));
        let bytes = Arc::clone(&first.terms.bytes);
        second.signatures.bytes = Arc::clone(&bytes);
        second.terms.bytes = Arc::clone(&bytes);
        (second.signatures.bound, second.terms.bound) = (10_000, 10_000);
        let text = "beans ".repeat(60);
        for number in 0..100 {
            let notes = if number % 2 == 0 { &mut first } else { &mut second };
            notes.note(ObjectId([number; 16]), TAG, &text);
            let read = || Ok::<_, ()>(Wiped::new(text.clone()));
            notes.terms((ObjectId([number; 16]), TAG), "/memories/a", read).unwrap();
            assert!(bytes.load(Ordering::Relaxed) <= 10_000);
        }
        assert!(bytes.load(Ordering::Relaxed) > 9_500);
        let kept = |notes: &SearchNotes| {
            let signatures: usize = notes.signatures.files().values().map(|file| file.1).sum();
            let terms: usize = notes.terms.files().values().map(|file| file.1).sum();
            assert!(signatures > 0 && terms > 0);
            signatures + terms
        };
        assert_eq!(kept(&first) + kept(&second), bytes.load(Ordering::Relaxed));
        drop(first);
        assert_eq!(kept(&second), bytes.load(Ordering::Relaxed));
        drop(second);
        assert_eq!(bytes.load(Ordering::Relaxed), 0);
        let none = SearchNotes::new(Some(0));
        none.note(FILE, TAG, "beans");
        assert!(none.signatures.files().is_empty());
    }

    #[test]
    fn terms_are_of_one_text_at_one_path() {
        let notes = SearchNotes::new(Some(1 << 20));
        let made = |tag: Tag, path: &str| {
            let mut was_read = false;
            let read = || {
                was_read = true;
                Ok::<_, ()>(Wiped::new("beans".to_owned()))
            };
            notes.terms((FILE, tag), path, read).unwrap();
            was_read
        };
        assert!(made(TAG, "/memories/a"));
        assert!(!made(TAG, "/memories/a"));
        assert!(made(TAG, "/memories/b"), "renamed");
        assert!(made(Tag([3; 16]), "/memories/b"), "edited");
        notes.remove(FILE);
        assert_eq!(notes.terms.bytes.load(Ordering::Relaxed), 0);
        assert!(made(Tag([3; 16]), "/memories/b"), "removed");
    }
}
