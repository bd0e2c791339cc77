//! Passphrases of random words. Only this file of the program draws randomness.
//!
//! The words are those of the long list of the Electronic Frontier Foundation (Joseph Bonneau, 2016), licensed
//! CC BY 3.0 US: <https://www.eff.org/deeplinks/2016/07/new-wordlists-random-passphrases>.

use diceware_wordlists::EFF_LONG_WORDLIST;

use inmost_console::Wiped;

/// Six words of the long list of the EFF, 77.5 bits. At the default KDF cost, nobody can afford that many guesses.
///
/// # Errors
/// If the operating system returns no randomness.
pub(crate) fn draw() -> Result<Wiped, getrandom::Error> {
    // Allocated at its final size: the longest word has nine letters.
    let mut words = Wiped::new(Vec::with_capacity(WORDS * 10));
    for number in 0..WORDS {
        if number > 0 {
            words.append(b" ");
        }
        words.append(word()?.as_bytes());
    }
    Ok(words)
}

const WORDS: usize = 6;

/// One word. All words are equally likely.
fn word() -> Result<&'static str, getrandom::Error> {
    loop {
        let mut bytes = [0; 2];
        getrandom::fill(&mut bytes)?;
        if let Some(index) = index(u16::from_le_bytes(bytes))
            && let Some(word) = EFF_LONG_WORDLIST.get(index)
        {
            return Ok(word);
        }
    }
}

/// Numbers beyond the last multiple of the list's length are rejected: the remainder alone would favour the first
/// words.
fn index(draw: u16) -> Option<usize> {
    let (draw, words) = (usize::from(draw), EFF_LONG_WORDLIST.len());
    let fair = (usize::from(u16::MAX) + 1) / words * words;
    (draw < fair).then_some(draw % words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_list_is_the_long_one_of_the_eff() {
        assert_eq!(EFF_LONG_WORDLIST.len(), 7_776);
        assert_eq!(EFF_LONG_WORDLIST.first(), Some(&"abacus"));
        assert_eq!(EFF_LONG_WORDLIST.last(), Some(&"zoom"));
        assert_eq!(EFF_LONG_WORDLIST.iter().collect::<HashSet<_>>().len(), 7_776);
        assert!(EFF_LONG_WORDLIST.iter().all(|word| (3..=9).contains(&word.len())));
    }

    #[test]
    fn every_word_is_as_likely_as_any_other() {
        let mut hits = vec![0; EFF_LONG_WORDLIST.len()];
        for draw in 0..=u16::MAX {
            if let Some(index) = index(draw) {
                hits[index] += 1;
            }
        }
        assert!(hits.iter().all(|count| *count == 8));
    }

    #[test]
    fn six_words_are_drawn_anew_each_time() {
        let draw = || String::from_utf8(draw().unwrap().into_inner()).unwrap();
        let (first, second) = (draw(), draw());
        assert_ne!(first, second);
        assert_eq!(first.split(' ').count(), 6);
        assert!(first.split(' ').all(|word| EFF_LONG_WORDLIST.contains(&word)));
    }
}
