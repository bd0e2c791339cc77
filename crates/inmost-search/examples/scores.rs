//! Prints the tokens and the scores of texts, for tests/search, which compares them with those of bm25s.
//!
//! Each line of the input is a path and a text, separated by a tab, or a query after a tab alone. Each line of the output begins with
//! `text`, `alternative` or `score`.

use std::io::{self, BufWriter, Write as _};
use std::time::Instant;

use inmost_search::{Words, rank};

fn main() -> io::Result<()> {
    let words = Words::new();
    let mut out = BufWriter::new(io::stdout().lock());
    let mut texts = Vec::new();
    let mut queries = Vec::new();
    for line in io::stdin().lines() {
        let line = line?;
        match line.split_once('\t') {
            Some(("", query)) => queries.push(query.to_owned()),
            Some((path, text)) => texts.push((path.to_owned(), text.to_owned())),
            None => return Err(io::Error::other("a line without a tab")),
        }
    }
    for (path, text) in &texts {
        write!(out, "text")?;
        let mut tokens = Vec::new();
        words.for_each_token(path, text, |token| tokens.push(token.to_owned()));
        for token in tokens {
            write!(out, "\t{token}")?;
        }
        writeln!(out)?;
    }
    let start = Instant::now();
    let terms: Vec<_> = texts.iter().map(|(path, text)| words.terms(path, text)).collect();
    eprintln!("terms of {} texts: {:?}", texts.len(), start.elapsed());
    for (number, query) in queries.iter().enumerate() {
        let mut alternatives = Vec::new();
        words.for_each_alternative(query, |word, form| alternatives.push((word, form.to_owned())));
        for (word, form) in alternatives {
            writeln!(out, "alternative\t{number}\t{word}\t{form}")?;
        }
        let query = words.query(query);
        let start = Instant::now();
        let scores = rank(&query, terms.iter());
        let elapsed = start.elapsed().as_micros();
        write!(out, "score\t{number}\t{elapsed}")?;
        for score in scores {
            write!(out, "\t{score:e}")?;
        }
        writeln!(out)?;
    }
    out.flush()
}
