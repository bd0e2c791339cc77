//! Okapi BM25, in the variant of Lucene.
//!
//! The score of a text is the sum over the terms of `idf * tf / (tf + k1 * (1 - b + b * length / mean length))`, with the frequency
//! `tf` of the term in the text and `idf = ln(1 + (N - n + 0.5) / (n + 0.5))`, where `n` of all `N` texts hold the term. See
//! Kamphuis et al., "Which BM25 Do You Mean?", ECIR 2020. bm25s computes the same with `method="lucene"`, `k1=1.5` and `b=0.75`.

use crate::token;
use crate::words::{Query, Terms, Words};

/// Returns a score for each text, in their order. It is 0 if the text holds no word of the query, and else above 0.
///
/// Scores can be compared within one ranking only. All texts that are searched must be in it, because a word counts the more, the
/// fewer of them hold it. The time is that of looking at every text once; the memory is 4 bytes for each text and word of the
/// query.
#[must_use]
pub fn rank<'a>(query: &Query, texts: impl Iterator<Item = &'a Terms> + Clone) -> Vec<f64> {
    // Zero for a query without words. Then there are no frequencies either.
    let terms = query.terms().max(1);
    let mut frequencies: Vec<u32> = Vec::new();
    let mut texts_with = vec![0_usize; terms];
    let mut total = 0_u64;
    let mut count = 0;
    for text in texts.clone() {
        let start = frequencies.len();
        frequencies.resize(start + terms, 0);
        for (hash, term) in query.alternatives() {
            if let Some(sum) = frequencies.get_mut(start + term) {
                *sum += text.frequency(hash);
            }
        }
        let of_text = frequencies.iter().skip(start);
        for (texts, frequency) in texts_with.iter_mut().zip(of_text) {
            *texts += usize::from(*frequency > 0);
        }
        total += u64::from(text.length());
        count += 1;
    }
    let weights: Vec<f64> = texts_with.iter().map(|with| rarity(count, *with)).collect();
    let mean = mean(total, count);
    let score = |text: &Terms, of_text: &[u32]| -> f64 {
        let damping = K1 * (1.0 - B + B * f64::from(text.length()) / mean);
        let found = weights.iter().zip(of_text).filter(|(_, frequency)| **frequency > 0);
        found
            .map(|(weight, frequency)| {
                let frequency = f64::from(*frequency);
                weight * frequency / (frequency + damping)
            })
            // Not `sum`, which of nothing is -0.
            .fold(0.0, |sum, of_term| sum + of_term)
    };
    texts.zip(frequencies.chunks_exact(terms)).map(|(text, of_text)| score(text, of_text)).collect()
}

impl Words {
    /// Returns the numbers, from 0, of at most `count` lines of a text that hold words of the query, best first. A line is the better,
    /// the more different words of the query it holds, and the fewer lines hold them; of equal lines the first is better.
    ///
    /// Empty if only the path holds words of the query.
    #[must_use]
    pub fn best_lines(&self, query: &Query, text: &str, count: usize) -> Vec<usize> {
        let language = self.guess(text);
        let mut lines_with = vec![0_usize; query.terms()];
        let mut found: Vec<(usize, u64)> = Vec::new();
        let mut lines = 0;
        for (number, line) in text.split('\n').enumerate() {
            lines = number + 1;
            let mut terms = 0_u64;
            token::for_each(line, |token| {
                self.stemmers.stem(token, language);
                terms |= query.term_of(self.hash(token)).map_or(0, |term| 1 << term);
            });
            if terms != 0 {
                found.push((number, terms));
                for (term, lines) in lines_with.iter_mut().enumerate() {
                    *lines += usize::from(terms >> term & 1 == 1);
                }
            }
        }
        let score = |terms: u64| -> f64 {
            let of_line = lines_with.iter().enumerate().filter(|(term, _)| terms >> term & 1 == 1);
            of_line.map(|(_, with)| rarity(lines, *with)).sum()
        };
        let mut scored: Vec<(f64, usize)> =
            found.into_iter().map(|(line, terms)| (score(terms), line)).collect();
        scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        scored.into_iter().map(|(_, line)| line).take(count).collect()
    }
}

/// The weight of a term that so many of all texts hold.
fn rarity(count: usize, with: usize) -> f64 {
    let with = float(with);
    ((float(count) - with + 0.5) / (with + 0.5)).ln_1p()
}

/// Above 0 where it is used: a text that holds a word has a length.
fn mean(total: u64, count: usize) -> f64 {
    // Exact below 2^52 words.
    let upper = f64::from(u32::try_from(total >> 32).unwrap_or(u32::MAX));
    let lower = f64::from(u32::try_from(total & u64::from(u32::MAX)).unwrap_or(u32::MAX));
    upper.mul_add(4_294_967_296.0, lower) / float(count)
}

fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// How soon the repetition of a word stops to matter.
const K1: f64 = 1.5;

/// How far a long text must repeat a word more often than a short one.
const B: f64 = 0.75;
