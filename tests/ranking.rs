//! How often a ranked search puts the right note among the first, beside two searches for exact words, on the labelled questions of
//! tests/search/labelled. `cargo test --test ranking -- --nocapture` prints the table.

#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected should stop there")]
#![allow(missing_docs, reason = "a test")]

use std::collections::BTreeMap;
use std::fs;

use inmost::{NewFile, RankQuery, Session};
use serde_json::Value;

/// The least share of questions, in percent, whose answer must be among the first ten. German asks for parts of compounds, which the
/// ranking does not take apart.
const LEAST: [(&str, u32); 4] = [("en", 70), ("de", 53), ("es", 73), ("pt", 69)];

/// Reads a file with a JSON object in each line.
fn objects(name: &str) -> Vec<Value> {
    let text = fs::read_to_string(format!("tests/search/labelled/{name}")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Questions whose answer is among the first 5, and among the first 10, of all.
#[derive(Default)]
struct Recall {
    at_5: u32,
    at_10: u32,
    questions: u32,
}

impl Recall {
    /// Counts a question by the place of its first answer.
    fn count(&mut self, place: Option<usize>) {
        self.at_5 += u32::from(place.is_some_and(|place| place < 5));
        self.at_10 += u32::from(place.is_some_and(|place| place < 10));
        self.questions += 1;
    }

    fn percent(&self) -> (u32, u32) {
        (100 * self.at_5 / self.questions, 100 * self.at_10 / self.questions)
    }
}

#[test]
fn the_right_note_is_among_the_first() {
    let notes = objects("notes.jsonl");
    let notes: Vec<(&str, &str)> = notes
        .iter()
        .map(|note| (note["path"].as_str().unwrap(), note["text"].as_str().unwrap()))
        .collect();
    let questions = objects("questions.jsonl");
    assert!(notes.len() >= 500 && questions.len() >= 300);
    let session = Session::in_memory().unwrap();
    let files: Vec<_> = notes.iter().map(|(path, text)| NewFile::new(path, text)).collect();
    assert!(session.files().write_many(&files).unwrap().iter().all(Result::is_ok));

    let mut recalls: BTreeMap<(&str, &str), Recall> = BTreeMap::new();
    for question in &questions {
        let (words, language) =
            (question["question"].as_str().unwrap(), question["language"].as_str().unwrap());
        let answers: Vec<&str> =
            question["answers"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        let ranked = session.files().rank("/memories", &RankQuery::new(words)).unwrap();
        let ranked: Vec<&str> = ranked.files.iter().map(|file| file.path.as_str()).collect();
        // What a person can do with `grep -i`: the files in order of their paths.
        let lower = words.to_lowercase();
        let has = |text: &str, word: &str| text.to_lowercase().contains(word);
        let mut sorted = notes.clone();
        sorted.sort_unstable();
        let all =
            sorted.iter().filter(|(_, text)| lower.split_whitespace().all(|it| has(text, it)));
        let any =
            sorted.iter().filter(|(_, text)| lower.split_whitespace().any(|it| has(text, it)));
        let found = [
            ("rank", ranked),
            ("grep, all words", all.map(|(path, _)| *path).collect()),
            ("grep, any word", any.map(|(path, _)| *path).collect()),
        ];
        for (way, paths) in found {
            let place = paths.iter().position(|path| answers.contains(path));
            recalls.entry((way, language)).or_default().count(place);
        }
    }
    for ((way, language), recall) in &recalls {
        let (at_5, at_10) = recall.percent();
        println!(
            "{way:16} {language}  {at_5:3} % at 5  {at_10:3} % at 10  of {}",
            recall.questions
        );
    }
    for (language, least) in LEAST {
        let at_10 = |way| recalls[&(way, language)].percent().1;
        assert!(at_10("rank") >= least, "{language}");
        assert!(at_10("rank") > at_10("grep, all words").max(at_10("grep, any word")) + 20);
    }
}
