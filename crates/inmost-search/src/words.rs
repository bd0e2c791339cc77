//! What is made of texts and queries: the hashes of their words.

use std::fmt::{self, Debug, Formatter};
use std::hash::{BuildHasher as _, RandomState};

use zeroize::Zeroizing;

use crate::fold::TOKEN_BYTES;
use crate::stem::{Counts, LATIN, Language, Stemmers, language_of};
use crate::token;

/// Makes [`Terms`] of texts and a [`Query`] of words. Made once a session: the terms of one do not fit the queries of another.
///
/// # Security
/// It holds the random key of the hashes. Without the key, nobody can look up the words of a memory dump in a dictionary by their
/// hashes, or write texts whose words collide. The standard library makes the key and does not let it be wiped. What protects the
/// words after a lock is that their hashes are wiped.
pub struct Words {
    key: RandomState,
    pub(crate) stemmers: Stemmers,
}

/// The words of one text, without their order: 8 bytes for each different one. Wiped when dropped.
pub struct Terms {
    /// Sorted; the hash of a word with how often it occurs in the lower bits.
    hashes: Zeroizing<Box<[u64]>>,
    length: u32,
}

/// The words to look for. Wiped when dropped.
///
/// A query is too short to guess its language, so a word is found by any of the stems that it has in the languages of the Latin
/// alphabet. Such alternatives are one term: its frequency in a text is the sum of theirs. Words that share an alternative are one
/// term, too, so that a word that is repeated counts once. At most 64 words are looked for.
pub struct Query {
    /// Sorted; the hash of an alternative with the number of its term in the lower bits.
    hashes: Zeroizing<Vec<u64>>,
    terms: usize,
}

impl Words {
    /// Makes a new random key.
    #[must_use]
    pub fn new() -> Self {
        Self { key: RandomState::new(), stemmers: Stemmers::new() }
    }

    /// Returns the words of a text and of its path. A word of the path counts as often as three of the text.
    ///
    /// The work is linear in the text, but for the sorting of its words.
    #[must_use]
    pub fn terms(&self, path: &str, text: &str) -> Terms {
        let mut hashes = Hashes::new();
        let mut length = 0_u32;
        self.for_each_token(path, text, |token| {
            hashes.push(self.hash(token) | 1);
            length = length.saturating_add(1);
        });
        hashes.merge();
        Terms { hashes: Zeroizing::new(Box::from(hashes.0.as_slice())), length }
    }

    /// Returns what to look for.
    #[must_use]
    pub fn query(&self, words: &str) -> Query {
        let mut query = Query {
            hashes: Zeroizing::new(Vec::with_capacity(QUERY_WORDS * LATIN.len())),
            terms: 0,
        };
        let mut of_word = Zeroizing::new(Vec::with_capacity(LATIN.len()));
        let mut number = 0;
        self.for_each_alternative(words, |word, form| {
            if word != number {
                query.add(&of_word);
                of_word.clear();
                number = word;
            }
            of_word.push(self.hash(form));
        });
        query.add(&of_word);
        query.hashes.sort_unstable();
        query
    }

    /// The tokens of a text as they are counted, for comparisons with other implementations.
    #[doc(hidden)]
    pub fn for_each_token(&self, path: &str, text: &str, mut each: impl FnMut(&str)) {
        let language = self.guess(text);
        token::for_each(text, |token| {
            self.stemmers.stem(token, language);
            each(token);
        });
        token::for_each(path, |token| {
            self.stemmers.stem(token, language);
            (0..PATH_WEIGHT).for_each(|_| each(token));
        });
    }

    /// The alternatives of each word of a query with its number, for comparisons with other implementations.
    #[doc(hidden)]
    pub fn for_each_alternative(&self, words: &str, mut each: impl FnMut(usize, &str)) {
        let mut form = Zeroizing::new(String::with_capacity(TOKEN_BYTES));
        let mut number = 0;
        token::for_each(words, |token| {
            if number >= QUERY_WORDS {
                return;
            }
            // A word of another alphabet has one stem.
            let is_latin = language_of(token, Language::English) == Some(Language::English);
            for language in LATIN.into_iter().take(if is_latin { LATIN.len() } else { 1 }) {
                form.clear();
                form.push_str(token);
                self.stemmers.stem(&mut form, language);
                each(number, &form);
            }
            number += 1;
        });
    }

    /// The language of the words of the Latin alphabet in a text.
    pub(crate) fn guess(&self, text: &str) -> Language {
        let end = (0..=text.len().min(GUESS_BYTES)).rev().find(|end| text.is_char_boundary(*end));
        let (start, _) = text.split_at(end.unwrap_or(0));
        let mut counts = Counts::default();
        token::for_each(start, |token| self.stemmers.count(token, &mut counts));
        Stemmers::guess(&counts)
    }

    /// The hash of a token. The lower bits are 0.
    pub(crate) fn hash(&self, token: &str) -> u64 {
        self.key.hash_one(token) & !LOWER
    }
}

impl Default for Words {
    fn default() -> Self {
        Self::new()
    }
}

impl Terms {
    /// The bytes that it holds.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of::<Self>() + size_of_val::<[u64]>(&self.hashes)
    }

    /// The number of words, repeated ones included.
    pub(crate) fn length(&self) -> u32 {
        self.length
    }

    /// How often the word of a hash occurs, at most 65,535.
    pub(crate) fn frequency(&self, hash: u64) -> u32 {
        let after = place(&self.hashes, hash);
        let found = after.first().filter(|it| **it & !LOWER == hash);
        found.map_or(0, |it| lower(*it))
    }
}

impl Query {
    /// Whether nothing is looked for: there was no letter and no digit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// The numbers of terms are below it.
    pub(crate) fn terms(&self) -> usize {
        self.terms
    }

    /// Each hash, and the number of its term.
    pub(crate) fn alternatives(&self) -> impl Iterator<Item = (u64, usize)> {
        self.hashes.iter().map(|it| (it & !LOWER, usize::try_from(it & LOWER).unwrap_or(0)))
    }

    /// The number of the term that a hash belongs to.
    pub(crate) fn term_of(&self, hash: u64) -> Option<u32> {
        let at = self.hashes.partition_point(|it| *it < hash);
        self.hashes.get(at).filter(|it| **it & !LOWER == hash).map(|it| lower(*it))
    }

    /// Adds a word with the hashes of its alternatives. It becomes one term with all words that share one of them.
    fn add(&mut self, of_word: &[u64]) {
        let Ok(new) = u64::try_from(self.terms) else { return };
        let is_shared = |it: &&u64| of_word.contains(&(**it & !LOWER));
        let shared: Zeroizing<Vec<u64>> =
            Zeroizing::new(self.hashes.iter().filter(is_shared).map(|it| it & LOWER).collect());
        for it in self.hashes.iter_mut().filter(|it| shared.contains(&(**it & LOWER))) {
            *it = *it & !LOWER | new;
        }
        for hash in of_word {
            if !self.hashes.iter().any(|it| it & !LOWER == *hash) {
                self.hashes.push(hash | new);
            }
        }
        self.terms += 1;
    }
}

macro_rules! shows_nothing {
    ($($name:ident),*) => {$(
        impl Debug for $name {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}
shows_nothing!(Words, Terms, Query);

/// The hashes of a text while it is read. They are merged instead of growing, where that makes enough room.
struct Hashes(Zeroizing<Vec<u64>>);

impl Hashes {
    fn new() -> Self {
        Self(Zeroizing::new(Vec::with_capacity(512)))
    }

    fn push(&mut self, hash: u64) {
        let capacity = self.0.capacity();
        if self.0.len() == capacity {
            self.merge();
            if self.0.len() > capacity / 2 {
                // Not by the vector itself, which would not wipe what it leaves.
                let mut larger = Zeroizing::new(Vec::with_capacity(capacity * 2));
                larger.extend_from_slice(&self.0);
                self.0 = larger;
            }
        }
        self.0.push(hash);
    }

    /// Sorts, and adds up the frequencies of equal hashes.
    fn merge(&mut self) {
        self.0.sort_unstable();
        self.0.dedup_by(|next, kept| {
            let is_same = *next & !LOWER == *kept & !LOWER;
            if is_same {
                *kept = *kept & !LOWER | LOWER.min((*kept & LOWER) + (*next & LOWER));
            }
            is_same
        });
    }
}

/// The part of some sorted hashes from the first on that is not below one. Hashes are spread evenly, so its place is guessed and
/// corrected by some steps. A search in halves would wait for the memory several times.
fn place(hashes: &[u64], hash: u64) -> &[u64] {
    let guess =
        usize::try_from((u128::from(hash) * u128::try_from(hashes.len()).unwrap_or(0)) >> 64)
            .unwrap_or(0);
    let (before, after) = hashes.split_at(guess.min(hashes.len()));
    let back = before.iter().rev().take_while(|it| **it >= hash).count();
    if back > 0 {
        return hashes.get(guess - back..).unwrap_or_default();
    }
    let forth = after.iter().take_while(|it| **it < hash).count();
    after.get(forth..).unwrap_or_default()
}

fn lower(it: u64) -> u32 {
    u32::try_from(it & LOWER).unwrap_or(0)
}

/// The bits below a hash. With the other 48, a query of 64 words mistakes one of a million words with a chance of 1 in a million.
const LOWER: u64 = 0xffff;

/// How often a word of the path counts. Of 0, 1, 2, 3, 4, 6 and 10, 3 finds best on average: `tests/search/run.sh --found` returns a
/// mean reciprocal rank of 0.561 (numpy), 0.590 (docutils) and 0.441 (sympy), where 1 returns 0.565, 0.570 and 0.427.
const PATH_WEIGHT: usize = 3;

/// More words only make a search longer. The terms of a line are the bits of a number.
const QUERY_WORDS: usize = 64;

/// The language is guessed from the start of a text.
const GUESS_BYTES: usize = 4096;
