//! Ranks texts by the words of a query, in memory: nothing is stored, and what is in memory is wiped.
//!
//! Each text becomes [`Terms`]: a hash of each of its words, and how often it occurs. A [`Query`] is looked up in all of them, and
//! [`rank`] returns a score for each text: [BM25](rank), the usual one. So there is no index to keep in order. The terms of a text
//! are replaced when the text changes, and may be dropped at any time and made again.
//!
//! ```
//! use inmost_search::{Words, rank};
//!
//! let words = Words::new();
//! let texts = [
//!     ("/memories/deploy.md", "Rotate the key of the server monthly.\nDeploy with `cargo run`."),
//!     ("/memories/people.md", "Ana prefers short replies.\nShe deploys on Fridays."),
//! ];
//! let terms = texts.map(|(path, text)| words.terms(path, text));
//! let query = words.query("when was the server deployed");
//! let scores = rank(&query, terms.iter());
//! assert!(scores[0] > scores[1] && scores[1] > 0.0);
//! assert_eq!(words.best_lines(&query, texts[0].1, 1), [0]);
//! ```
//!
//! # What is a word
//! Words end where Unicode (UAX 29) says. Case, accents and widths are folded: `Straße` is `strasse`. Words of English, German, Spanish,
//! Portuguese, Italian, Indonesian and Russian are reduced to stems, so that `queries` finds `query`; the language of a text is
//! guessed from its commonest words. Identifiers such as `read_file`, `HashMap`, `v1.2.3` and `python3` are found whole and by
//! their parts. Numbers are words. Text that is written without spaces (Han, kana, Hangul, Thai, Lao, Burmese, Khmer) is found by
//! two adjacent characters; one character is found only where it stands alone. A word is cut after 64 characters.
//!
//! # Security
//! Terms do not hold words, but hashes with a random key; see [`Words`]. They are wiped when they are dropped, as are the buffers in
//! which words are cut out and folded. Not wiped are: the few characters that the crate `unicode-normalization` and the hasher keep
//! on the stack while they work, the key, and the scores and line numbers that are returned.

mod fold;
mod rank;
mod stem;
mod token;
mod words;

pub use rank::rank;
pub use words::{Query, Terms, Words};

#[cfg(test)]
mod tests;
