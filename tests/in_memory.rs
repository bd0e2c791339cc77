//! What is left in memory, looked at from outside: a child process works with secrets and locks, and its parent
//! searches all of its memory for keys, passphrase and text, in every form and in parts.
//!
//! The child wipes what it holds itself, so what is found is the library's.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a test that meets the unexpected should stop there and say so"
)]

#[path = "in_memory/child.rs"]
mod child;
#[path = "in_memory/process.rs"]
mod process;
mod traces;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use child::Order;
use tempfile::TempDir;
use traces::{Counts, Needle, Search, keys, of_bytes, of_text, word};

/// Not a test: what the other tests start.
#[test]
fn the_child() {
    if let Ok(store) = std::env::var(child::STORE) {
        child::serve(&store);
    }
}

/// A store and the process that uses it.
struct Run {
    child: Child,
    folder: TempDir,
    passphrase: String,
}

impl Run {
    /// A child with a new store, unlocked. `None` where processes may not be looked into.
    fn start() -> Option<Self> {
        let mut run = Self::spawn(tempfile::tempdir().unwrap());
        if !process::is_readable(run.child.id()) {
            eprintln!("SKIPPED: this system does not let a process read the memory of its child");
            return None;
        }
        assert_eq!(run.tell(Order::Create, &run.passphrase.clone()), "unlocked");
        Some(run)
    }

    fn spawn(folder: TempDir) -> Self {
        let child = Self::child(&folder);
        // One part is NFC, one is not: the library has to normalise.
        let passphrase = format!("{} caf\u{e9} cafe\u{301} {}", word("pass"), word("phrase"));
        Self { child, folder, passphrase }
    }

    fn child(folder: &TempDir) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_child", "--nocapture", "--test-threads=1"])
            .env(child::STORE, folder.path().join("store"))
            .env_remove("INMOST_TRACES")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Another process for the same store, not unlocked.
    fn restart(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
        self.child = Self::child(&self.folder);
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    fn tell(&mut self, order: Order, text: &str) -> String {
        self.order(order, text);
        self.answer()
    }

    fn order(&mut self, order: Order, text: &str) {
        let mut pipe = self.child.stdin.as_ref().unwrap();
        let length = u32::try_from(text.len()).unwrap().to_le_bytes();
        pipe.write_all(&[&[order as u8], length.as_slice(), text.as_bytes()].concat()).unwrap();
    }

    fn answer(&mut self) -> String {
        let pipe = self.child.stderr.as_mut().unwrap();
        let mut length = [0; 4];
        pipe.read_exact(&mut length).unwrap();
        let mut text = vec![0; usize::try_from(u32::from_le_bytes(length)).unwrap()];
        pipe.read_exact(&mut text).unwrap_or_else(|error| panic!("{error}, {length:?}"));
        String::from_utf8(text).unwrap()
    }

    /// Every form of the passphrase and of every key.
    fn secrets(&self) -> Vec<Needle> {
        let mut needles = of_text("passphrase", &self.passphrase);
        let header = std::fs::read(self.store().join("header.a")).unwrap();
        for (name, key) in keys::of_header(&header, &self.passphrase) {
            needles.extend(of_bytes(name, &key));
        }
        needles
    }

    fn traces(&self, needles: Vec<Needle>) -> Counts {
        process::traces(self.child.id(), &Search::new(needles))
    }

    fn call(&mut self, json: &str) -> String {
        self.tell(Order::Call, json)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn new(&mut self, label: &str) -> String {
        self.0.push(label.to_owned());
        word(label)
    }
}

fn of_words(labels: &[String]) -> Vec<Needle> {
    labels.iter().flat_map(|label| of_text(label, &word(label))).collect()
}

/// A way to use the memory: answers the labels of the words that have gone through it.
type Way = fn(&mut Run) -> Vec<String>;

const WAYS: [(&str, Way); 7] = [
    ("calls", calls),
    ("a listing", listing),
    ("moving", moving),
    ("a long file", long_file),
    ("failures", failures),
    ("no calls", no_calls),
    ("files", files),
];

/// Calls as a model makes them.
fn calls(run: &mut Run) -> Vec<String> {
    let mut words = Words::default();
    let (name, text) = (words.new("name"), words.new("text"));
    let path = format!("/memories/{name}.md");
    let create = r#"{"command":"create","file_text":"first\n"#;
    run.call(&format!(r#"{create}{text}\n\u0041 last\n","path":"{path}"}}"#));
    let answer = run.call(&format!(r#"{{"command":"view","path":"{path}"}}"#));
    assert!(answer.contains(&text), "{answer}");
    let (new, line) = (words.new("new text"), words.new("line"));
    let replace = format!(r#"{{"command":"str_replace","path":"{path}","old_str":"{text}""#);
    let answer = run.call(&format!(r#"{replace},"new_str":"{new}"}}"#));
    assert!(answer.contains(&new), "{answer}");
    let insert = format!(r#"{{"command":"insert","path":"{path}","insert_line":1"#);
    run.call(&format!(r#"{insert},"insert_text":"{line}"}}"#));
    let view = format!(r#"{{"command":"view","path":"{path}","view_range":[1,2]}}"#);
    let answer = run.call(&view);
    assert!(answer.contains(&line), "{answer}");
    words.0
}

/// Many names in a folder, and names that are normalised.
fn listing(run: &mut Run) -> Vec<String> {
    let mut words = Words::default();
    let (folder, accents, name) = (words.new("folder"), words.new("accents"), words.new("name"));
    run.call(&format!(
        r#"{{"type":"tool_use","id":"toolu_1","name":"memory","input":{{"command":"create",
        "path":"/memories/{folder}/sub/{accents}\u0065\u0301.md","file_text":""}}}}"#
    ));
    for number in 0..60 {
        run.call(&format!(
            r#"{{"command":"create","path":"/memories/{folder}/{name}-{number}","file_text":"x"}}"#
        ));
    }
    let answer = run.call(r#"{"command":"view","path":"/memories"}"#);
    assert!(answer.contains(&name), "{answer}");
    words.0
}

fn moving(run: &mut Run) -> Vec<String> {
    let mut words = Words::default();
    let (folder, name, moved) = (words.new("folder"), words.new("name"), words.new("moved"));
    let create = format!(r#"{{"command":"create","path":"/memories/{folder}/{name}/file""#);
    run.call(&format!(r#"{create},"file_text":"x"}}"#));
    let rename = format!(r#"{{"command":"rename","old_path":"/memories/{folder}/{name}""#);
    run.call(&format!(r#"{rename},"new_path":"/memories/{moved}"}}"#));
    run.call(&format!(r#"{{"command":"delete","path":"/memories/{moved}"}}"#));
    words.0
}

/// A file that is a rope, edited across its chunks and in bulk.
fn long_file(run: &mut Run) -> Vec<String> {
    let mut words = Words::default();
    let (rope, edit, bulk) = (words.new("rope"), words.new("edit"), words.new("bulk"));
    let text = long(&rope).replace('\n', "\\n");
    let create = r#"{"command":"create","path":"/memories/rope","file_text":""#;
    run.call(&format!(r#"{create}{text}"}}"#));
    run.call(r#"{"command":"view","path":"/memories/rope","view_range":[100,700]}"#);
    let replace = r#"{"command":"str_replace","path":"/memories/rope","old_str":""#;
    let answer = run.call(&format!(r#"{replace}{rope} 500 and","new_str":"{edit} "}}"#));
    assert!(answer.contains(&edit), "{answer}");
    let text = long(&bulk).replace('\n', "\\n");
    let insert = r#"{"command":"insert","path":"/memories/rope","insert_line":3,"insert_text":""#;
    run.call(&format!(r#"{insert}{text}"}}"#));
    words.0
}

/// 60 KB: written in steps.
fn long(mark: &str) -> String {
    (0..1_000).map(|line| format!("{mark} {line} and some more of it, up to here\n")).collect()
}

/// What goes wrong quotes what was sent.
fn failures(run: &mut Run) -> Vec<String> {
    let mut words = Words::default();
    let (wrong, old, file) = (words.new("wrong path"), words.new("old text"), words.new("file"));
    let path = format!("/memories/{file}");
    let create = format!(r#"{{"command":"create","path":"{path}""#);
    run.call(&format!(r#"{create},"file_text":"{old} {old}"}}"#));
    for call in [
        format!(r#"{{"command":"view","path":"/memories/{wrong}"}}"#),
        format!(r#"{{"command":"view","path":"/{wrong}"}}"#),
        format!(r#"{{"command":"view","path":"/memories/../{wrong}"}}"#),
        format!(r#"{{"command":"view","path":"{path}","view_range":["{wrong}"]}}"#),
        format!(r#"{{"command":"create","path":"{path}/{wrong}","file_text":"{wrong}"}}"#),
        format!(r#"{{"command":"create","path":"{path}","file_text":"{wrong}"}}"#),
        format!(r#"{{"command":"str_replace","path":"{path}","old_str":"{wrong}"}}"#),
        format!(r#"{{"command":"str_replace","path":"{path}","old_str":"{old}"}}"#),
        format!(r#"{{"command":"str_replace","path":"{path}/{wrong}","old_str":"{old}"}}"#),
        format!(r#"{{"command":"rename","old_path":"{path}","new_path":"{path}"}}"#),
        format!(r#"{{"command":"rename","old_path":"/memories/{wrong}","new_path":"/memories"}}"#),
        format!(r#"{{"command":"delete","path":"/memories/{wrong}"}}"#),
    ] {
        let answer = run.call(&call);
        assert!(!answer.is_empty(), "{call}");
    }
    words.0
}

/// Input that is no call, and fields that no command has.
fn no_calls(run: &mut Run) -> Vec<String> {
    let mut words = Words::default();
    let field = words.new("field");
    for call in [
        format!(r#"{{"command":"{field}","path":"/memories"}}"#),
        format!(r#"{{"command":"view","path":"/memories","{field}":"{field}"}}"#),
        format!(r#"{{"command":"view","path":"/memories","\u0041{field}":"\u0041{field}"}}"#),
        format!(r#"{{"command":"view","path":"/memories","{field}":"{field}"#),
        format!(r#"{{"command":"view","path":"\ud800{field}"}}"#),
        format!(r#"{{"command":"view","path":["{field}"]}}"#),
        field.clone(),
    ] {
        run.call(&call);
    }
    words.0
}

/// Files as a host that is no agent uses them.
fn files(run: &mut Run) -> Vec<String> {
    let mut words = Words::default();
    let (text, name) = (words.new("typed text"), words.new("typed name"));
    let path = format!("/memories/{name}");
    assert_eq!(run.tell(Order::Write, &format!("{path}\0{}", long(&text))), "written");
    assert_eq!(run.tell(Order::Read, &path), long(&text));
    assert_eq!(run.tell(Order::Write, &format!("{path}\0{text}")), "written");
    assert_eq!(run.tell(Order::Read, &path), text);
    assert!(run.tell(Order::Write, &format!("{path}/{text}\0")).contains(&path));
    assert_eq!(run.tell(Order::List, &path), name);
    words.0
}

fn assert_clean(counts: &Counts, when: &str) {
    for ((name, place), count) in counts {
        eprintln!("{when}: {count:4} of {name} in {place}");
    }
    assert!(counts.is_empty(), "{when}: traces of {} secrets, listed above", counts.len());
}

#[test]
fn a_secret_that_is_left_lying_about_is_found() {
    let Some(mut run) = Run::start() else { return };
    let leaked = word("left behind");
    assert!(run.traces(of_text("leaked", &leaked)).is_empty(), "not there before");
    run.tell(Order::Leak, &leaked);
    assert_eq!(run.traces(of_text("leaked", &leaked)).values().sum::<usize>(), 1);
    // And keys are where they should be, so the search knows what they look like.
    let counts = run.traces(run.secrets());
    for key in ["master key", "data key", "record key"] {
        assert_eq!(
            counts.get(&(key.to_owned(), "locked".to_owned())),
            Some(&1),
            "{key}: {counts:?}"
        );
    }
}

#[test]
fn an_unlocked_session_holds_keys_in_locked_memory_only() {
    let Some(mut run) = Run::start() else { return };
    for (_, way) in WAYS {
        way(&mut run);
    }
    let mut counts = run.traces(run.secrets());
    counts.retain(|(_, place), _| place != "locked");
    assert_clean(&counts, "unlocked");
}

#[test]
fn lock_leaves_no_text() {
    // Each way by itself, before the next one can overwrite what it leaves.
    let mut all = Counts::new();
    for (way, use_memory) in WAYS {
        let Some(mut run) = Run::start() else { return };
        let labels = use_memory(&mut run);
        assert_eq!(run.tell(Order::Lock, ""), "locked");
        let counts = run.traces(of_words(&labels));
        all.extend(
            counts
                .into_iter()
                .map(|((name, place), count)| ((format!("{name}, by {way}"), place), count)),
        );
    }
    assert_clean(&all, "locked");
}

#[test]
fn lock_leaves_no_keys() {
    let Some(mut run) = Run::start() else { return };
    assert_eq!(run.tell(Order::Lock, ""), "locked");
    assert_clean(&run.traces(run.secrets()), "locked");
}

#[test]
fn dropping_a_session_leaves_neither_keys_nor_text() {
    let Some(mut run) = Run::start() else { return };
    let labels = files(&mut run);
    assert_eq!(run.tell(Order::Drop, ""), "dropped");
    assert_clean(&run.traces(run.secrets()), "dropped");
    assert_clean(&run.traces(of_words(&labels)), "dropped");
}

#[test]
fn a_failed_unlock_leaves_nothing() {
    let Some(mut run) = Run::start() else { return };
    let secrets = run.secrets();
    run.restart();
    let wrong = format!("{} caf\u{e9} cafe\u{301}", word("wrong passphrase"));
    assert_eq!(run.tell(Order::Unlock, &wrong), "The passphrase is wrong.");
    assert_clean(&run.traces(secrets), "after a failed unlock");
    let header = std::fs::read(run.store().join("header.a")).unwrap();
    let mut needles = of_text("wrong passphrase", &wrong);
    needles.extend(of_bytes("wrong password key", &keys::password_key(&header, &wrong)));
    assert_clean(&run.traces(needles), "after a failed unlock");
}

#[test]
fn unlocking_and_reading_leaves_neither_keys_nor_text() {
    let Some(mut run) = Run::start() else { return };
    let labels = files(&mut run);
    run.restart();
    assert_eq!(run.tell(Order::Unlock, &run.passphrase.clone()), "unlocked");
    let answer = run.call(r#"{"command":"view","path":"/memories"}"#);
    assert!(answer.contains(&word("typed name")), "{answer}");
    let path = format!("/memories/{}", word("typed name"));
    assert_eq!(run.tell(Order::Read, &path), word("typed text"));
    assert_eq!(run.tell(Order::Lock, ""), "locked");
    assert_clean(&run.traces(run.secrets()), "locked");
    assert_clean(&run.traces(of_words(&labels)), "locked");
}
