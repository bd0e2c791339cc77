//! Traces: realistic calls of the memory tool, generated once from a seed and replayed on every peer.
//!
//! The generator tracks the files that the calls produce, so that every call succeeds, and writes them next
//! to the calls: a peer that ends with other files did other work. Every line of a file begins with a unique
//! number, ends in `\n` and is not blank. The peers differ in edge cases, and such lines avoid them, so all
//! peers return the same results.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// A call of the tool, as in its JSON.
#[derive(Clone, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Call {
    /// Shows a folder or a file.
    View {
        /// The path to show.
        path: String,
        /// The first and the last line.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        view_range: Option<[usize; 2]>,
    },
    /// Creates a file.
    Create {
        /// The path of the file.
        path: String,
        /// Its text.
        file_text: String,
    },
    /// Replaces the only occurrence of a text.
    StrReplace {
        /// The path of the file.
        path: String,
        /// The text to replace.
        old_str: String,
        /// The replacement.
        new_str: String,
    },
    /// Inserts text after a line.
    Insert {
        /// The path of the file.
        path: String,
        /// The line number; 0 inserts at the beginning.
        insert_line: usize,
        /// The text to insert.
        insert_text: String,
    },
    /// Removes a file.
    Delete {
        /// The path of the file.
        path: String,
    },
    /// Moves a file.
    Rename {
        /// The old path.
        old_path: String,
        /// The new path.
        new_path: String,
    },
}

impl Call {
    /// Returns the name of the command.
    #[must_use]
    pub fn command(&self) -> &'static str {
        match self {
            Self::View { .. } => "view",
            Self::Create { .. } => "create",
            Self::StrReplace { .. } => "str_replace",
            Self::Insert { .. } => "insert",
            Self::Delete { .. } => "delete",
            Self::Rename { .. } => "rename",
        }
    }
}

/// The calls that create the files, the timed calls, and the final files.
pub struct Trace {
    /// Calls that are not timed.
    pub setup: Vec<Call>,
    /// Calls that are timed.
    pub calls: Vec<Call>,
    /// The path and text of every final file.
    pub files: BTreeMap<String, String>,
}

impl Trace {
    /// Generates 60 % view, 15 % `str_replace`, 10 % insert, 10 % create, 3 % rename, 2 % delete over files
    /// of 0.2 to 8 KB.
    #[must_use]
    pub fn mixed(files: usize, calls: usize) -> Self {
        let mut maker = Maker::new(2025_0818);
        for _ in 0..files {
            maker.create();
        }
        let setup = std::mem::take(&mut maker.calls);
        for _ in 0..calls {
            match maker.random.below(100) {
                0..60 => maker.view(),
                60..75 => maker.str_replace(),
                75..85 => maker.insert(),
                85..95 => maker.create(),
                95..98 => maker.rename(),
                _ => maker.delete(),
            }
        }
        maker.finish(setup)
    }

    /// Generates half views of 100 lines, a quarter `str_replace`, a quarter insert, all in one file of this
    /// many bytes.
    #[must_use]
    pub fn long_file(bytes: usize, calls: usize) -> Self {
        let mut maker = Maker::new(2025_0819);
        maker.create_of("/memories/journal.md".into(), bytes);
        let setup = std::mem::take(&mut maker.calls);
        for _ in 0..calls {
            match maker.random.below(4) {
                0 => maker.str_replace(),
                1 => maker.insert(),
                _ => maker.view_lines(),
            }
        }
        maker.finish(setup)
    }

    /// Writes the trace to a folder: two files of JSON lines, and the final files as one object.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn write(&self, folder: &Path) -> Result<(), Box<dyn Error>> {
        fs::create_dir_all(folder)?;
        for (name, calls) in [("setup.jsonl", &self.setup), ("calls.jsonl", &self.calls)] {
            let mut file = BufWriter::new(File::create(folder.join(name))?);
            for call in calls {
                serde_json::to_writer(&mut file, call)?;
                file.write_all(b"\n")?;
            }
            file.flush()?;
        }
        fs::write(folder.join("files.json"), serde_json::to_vec(&self.files)?)?;
        Ok(())
    }

    /// Reads a trace that [`write`](Self::write) wrote.
    ///
    /// # Errors
    /// The errors of the file system, and files that are not a trace.
    pub fn read(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let calls = |name: &str| -> Result<Vec<Call>, Box<dyn Error>> {
            let lines = BufReader::new(File::open(folder.join(name))?).lines();
            lines.map(|line| Ok(serde_json::from_str(&line?)?)).collect()
        };
        Ok(Self {
            setup: calls("setup.jsonl")?,
            calls: calls("calls.jsonl")?,
            files: serde_json::from_slice(&fs::read(folder.join("files.json"))?)?,
        })
    }
}

/// Returns a text of about this many bytes. Each line has a unique number.
#[must_use]
pub fn text_of(bytes: usize, seed: u64) -> String {
    let mut maker = Maker::new(seed);
    let mut text = String::with_capacity(bytes + 100);
    while text.len() < bytes {
        text.push_str(&maker.line());
        text.push('\n');
    }
    text
}

const FOLDERS: usize = 25;
const LONGEST_FILE: usize = 8_000;

struct Maker {
    random: Random,
    number: usize,
    paths: Vec<String>,
    lines: BTreeMap<String, Vec<String>>,
    calls: Vec<Call>,
}

impl Maker {
    fn new(seed: u64) -> Self {
        let random = Random::new(seed);
        Self { random, number: 0, paths: Vec::new(), lines: BTreeMap::new(), calls: Vec::new() }
    }

    fn finish(self, setup: Vec<Call>) -> Trace {
        let text = |lines: Vec<String>| lines.iter().flat_map(|line| [line, "\n"]).collect();
        let files = self.lines.into_iter().map(|(path, lines)| (path, text(lines))).collect();
        Trace { setup, calls: self.calls, files }
    }

    fn line(&mut self) -> String {
        self.number += 1;
        let mut line = format!("- [{:07}]", self.number);
        for _ in 0..4 + self.random.below(10) {
            line.push(' ');
            line.push_str(self.random.of::<&str>(WORDS));
        }
        line
    }

    fn new_path(&mut self) -> String {
        self.number += 1;
        let folder = self.random.below(FOLDERS);
        let topic = self.random.of(WORDS);
        let number = self.number;
        match self.random.below(4) {
            0 => format!("/memories/{topic}-{number}.md"),
            1 => format!("/memories/project-{folder:02}/notes/{topic}-{number}.md"),
            _ => format!("/memories/project-{folder:02}/{topic}-{number}.md"),
        }
    }

    fn path(&mut self) -> String {
        self.random.of(&self.paths).clone()
    }

    fn create(&mut self) {
        // Spread evenly over the orders of magnitude, so that most notes are short.
        let bytes = (200.0 * 40_f64.powf(self.random.unit())) as usize;
        let path = self.new_path();
        self.create_of(path, bytes);
    }

    fn create_of(&mut self, path: String, bytes: usize) {
        let (mut lines, mut length) = (Vec::new(), 0);
        while length < bytes {
            let line = self.line();
            length += line.len() + 1;
            lines.push(line);
        }
        let file_text = lines.iter().flat_map(|line| [line, "\n"]).collect();
        self.paths.push(path.clone());
        self.lines.insert(path.clone(), lines);
        self.calls.push(Call::Create { path, file_text });
    }

    fn view(&mut self) {
        let path = match self.random.below(10) {
            0 => "/memories".into(),
            1 => {
                let file = self.path();
                file.rsplit_once('/').map(|(folder, _)| folder.to_owned()).unwrap_or(file)
            }
            _ => self.path(),
        };
        self.calls.push(Call::View { path, view_range: None });
    }

    fn view_lines(&mut self) {
        let path = self.path();
        let first = 1 + self.random.below(self.lines[&path].len().saturating_sub(100).max(1));
        self.calls.push(Call::View { path, view_range: Some([first, first + 99]) });
    }

    fn str_replace(&mut self) {
        let path = self.path();
        let new_str = self.line();
        let lines = self.lines.get_mut(&path).expect("a path of a file");
        let chosen = self.random.below(lines.len());
        let old_str = std::mem::replace(&mut lines[chosen], new_str.clone());
        self.calls.push(Call::StrReplace { path, old_str, new_str });
    }

    fn insert(&mut self) {
        let path = self.path();
        let line = self.line();
        let lines = self.lines.get_mut(&path).expect("a path of a file");
        let many = lines.iter().map(String::len).sum::<usize>() > LONGEST_FILE;
        if many && self.paths.len() > 1 {
            // Limits the growth of files. The share of changes stays the same.
            return self.str_replace();
        }
        let insert_line = self.random.below(lines.len() + 1);
        lines.insert(insert_line, line.clone());
        self.calls.push(Call::Insert { path, insert_line, insert_text: line + "\n" });
    }

    fn rename(&mut self) {
        let new_path = self.new_path();
        let chosen = self.random.below(self.paths.len());
        let old_path = std::mem::replace(&mut self.paths[chosen], new_path.clone());
        let lines = self.lines.remove(&old_path).expect("a path of a file");
        self.lines.insert(new_path.clone(), lines);
        self.calls.push(Call::Rename { old_path, new_path });
    }

    fn delete(&mut self) {
        let chosen = self.random.below(self.paths.len());
        let path = self.paths.swap_remove(chosen);
        self.lines.remove(&path);
        self.calls.push(Call::Delete { path });
    }
}

const WORDS: &[&str] = &[
    "agent", "answer", "archive", "billing", "branch", "build", "customer", "deadline", "decision",
    "deploy", "design", "draft", "error", "evening", "feature", "format", "garden", "history",
    "invoice", "kitchen", "language", "letter", "machine", "meeting", "memory", "morning",
    "network", "office", "password", "pattern", "people", "prefers", "project", "question",
    "release", "reminder", "review", "schedule", "summary", "travel",
];
