//! A host of the library in a separate process, and the orders that tests send to it.

pub(crate) mod child;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::traces::{Needle, keys, of_bytes, of_text, word};
use child::Order;

/// A store and the process that uses it.
pub(crate) struct Run {
    pub(crate) child: Child,
    folder: TempDir,
    pub(crate) passphrase: String,
}

impl Run {
    /// Starts a child that has created and unlocked a store in its own folder.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts the child through a launcher program that executes the rest of its arguments.
    pub(crate) fn start_with(launcher: &[&str]) -> Self {
        let mut run = Self::spawn(launcher);
        assert_eq!(run.tell(Order::Create, &run.passphrase.clone()), "unlocked");
        run
    }

    /// Starts the child without a store.
    pub(crate) fn spawn(launcher: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["tmp", "home", "work"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let child = Self::child(folder.path(), launcher);
        // One part is NFC and one is not, so the library has to normalise.
        let passphrase = format!("{} caf\u{e9} cafe\u{301} {}", word("pass"), word("phrase"));
        Self { child, folder, passphrase }
    }

    fn child(folder: &Path, launcher: &[&str]) -> Child {
        let program = std::env::current_exe().unwrap();
        let mut words = launcher.iter().map(std::ffi::OsStr::new).chain([program.as_os_str()]);
        // Every folder that a process might write to by default is inside this one.
        Command::new(words.next().unwrap())
            .args(words)
            .args(["--exact", "the_child", "--nocapture", "--test-threads=1"])
            .env(child::STORE, folder.join("store"))
            .env("TMPDIR", folder.join("tmp"))
            .env("HOME", folder.join("home"))
            .current_dir(folder.join("work"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Starts another process for the same store, locked.
    #[cfg(target_os = "linux")]
    pub(crate) fn restart(&mut self) {
        self.finish();
        self.child = Self::child(self.folder.path(), &[]);
    }

    /// Ends the child.
    pub(crate) fn finish(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    pub(crate) fn tell(&mut self, order: Order, text: &str) -> String {
        self.order(order, text);
        self.reply()
    }

    pub(crate) fn order(&mut self, order: Order, text: &str) {
        let mut pipe = self.child.stdin.as_ref().unwrap();
        let length = u32::try_from(text.len()).unwrap().to_le_bytes();
        pipe.write_all(&[&[order as u8], length.as_slice(), text.as_bytes()].concat()).unwrap();
    }

    pub(crate) fn reply(&mut self) -> String {
        let pipe = self.child.stderr.as_mut().unwrap();
        let mut length = [0; 4];
        pipe.read_exact(&mut length).unwrap();
        let mut text = vec![0; usize::try_from(u32::from_le_bytes(length)).unwrap()];
        pipe.read_exact(&mut text).unwrap_or_else(|error| panic!("{error}, {length:?}"));
        String::from_utf8(text).unwrap()
    }

    /// Returns every form of the passphrase and of every key.
    pub(crate) fn secrets(&self) -> Vec<Needle> {
        let mut needles = of_text("passphrase", &self.passphrase);
        let header = std::fs::read(self.store().join("header.a")).unwrap();
        for (name, key) in keys::of_header(&header, &self.passphrase) {
            needles.extend(of_bytes(name, &key));
        }
        needles
    }

    /// The folder with everything that the child can have written.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn call(&mut self, json: &str) -> String {
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
pub(crate) struct Words(Vec<String>);

impl Words {
    pub(crate) fn add(&mut self, label: &str) -> String {
        self.0.push(label.to_owned());
        word(label)
    }

    pub(crate) fn labels(&self) -> &[String] {
        &self.0
    }
}

/// A way to use the memory. It returns the labels of the words that it used.
pub(crate) type Way = fn(&mut Run) -> Vec<String>;

pub(crate) const WAYS: [(&str, Way); 8] = [
    ("calls", calls),
    ("a listing", listing),
    ("moving", moving),
    ("a long file", long_file),
    ("failures", failures),
    ("no calls", no_calls),
    ("files", files),
    ("versions", versions),
];

/// Tool calls like those of a model.
pub(crate) fn calls(run: &mut Run) -> Vec<String> {
    let mut words = Words::default();
    let (name, text) = (words.add("name"), words.add("text"));
    let path = format!("/memories/{name}.md");
    let create = r#"{"command":"create","file_text":"first\n"#;
    run.call(&format!(r#"{create}{text}\n\u0041 last\n","path":"{path}"}}"#));
    let reply = run.call(&format!(r#"{{"command":"view","path":"{path}"}}"#));
    assert!(reply.contains(&text), "{reply}");
    let (new, line) = (words.add("new text"), words.add("line"));
    let replace = format!(r#"{{"command":"str_replace","path":"{path}","old_str":"{text}""#);
    let reply = run.call(&format!(r#"{replace},"new_str":"{new}"}}"#));
    assert!(reply.contains(&new), "{reply}");
    let insert = format!(r#"{{"command":"insert","path":"{path}","insert_line":1"#);
    run.call(&format!(r#"{insert},"insert_text":"{line}"}}"#));
    let view = format!(r#"{{"command":"view","path":"{path}","view_range":[1,2]}}"#);
    let reply = run.call(&view);
    assert!(reply.contains(&line), "{reply}");
    words.0
}

/// Many names in a folder, and names that need normalising.
fn listing(run: &mut Run) -> Vec<String> {
    let mut words = Words::default();
    let (folder, accents, name) = (words.add("folder"), words.add("accents"), words.add("name"));
    run.call(&format!(
        r#"{{"type":"tool_use","id":"toolu_1","name":"memory","input":{{"command":"create",
        "path":"/memories/{folder}/sub/{accents}\u0065\u0301.md","file_text":""}}}}"#
    ));
    for number in 0..60 {
        run.call(&format!(
            r#"{{"command":"create","path":"/memories/{folder}/{name}-{number}","file_text":"x"}}"#
        ));
    }
    let reply = run.call(r#"{"command":"view","path":"/memories"}"#);
    assert!(reply.contains(&name), "{reply}");
    words.0
}

fn moving(run: &mut Run) -> Vec<String> {
    let mut words = Words::default();
    let (folder, name, moved) = (words.add("folder"), words.add("name"), words.add("moved"));
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
    let (rope, edit, bulk) = (words.add("rope"), words.add("edit"), words.add("bulk"));
    let text = long(&rope).replace('\n', "\\n");
    let create = r#"{"command":"create","path":"/memories/rope","file_text":""#;
    run.call(&format!(r#"{create}{text}"}}"#));
    run.call(r#"{"command":"view","path":"/memories/rope","view_range":[100,700]}"#);
    let replace = r#"{"command":"str_replace","path":"/memories/rope","old_str":""#;
    let reply = run.call(&format!(r#"{replace}{rope} 500 and","new_str":"{edit} "}}"#));
    assert!(reply.contains(&edit), "{reply}");
    let text = long(&bulk).replace('\n', "\\n");
    let insert = r#"{"command":"insert","path":"/memories/rope","insert_line":3,"insert_text":""#;
    run.call(&format!(r#"{insert}{text}"}}"#));
    words.0
}

/// A text of 60 KB, which is written in steps.
fn long(mark: &str) -> String {
    let line = |number| format!("{mark} {number} and some more of it, up to here\n");
    (0..1_000).map(line).collect::<Vec<_>>().concat()
}

/// Failures, whose errors quote the input.
fn failures(run: &mut Run) -> Vec<String> {
    let mut words = Words::default();
    let (wrong, old, file) = (words.add("wrong path"), words.add("old text"), words.add("file"));
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
        let reply = run.call(&call);
        assert!(!reply.is_empty(), "{call}");
    }
    words.0
}

/// Input that is not a call, and unknown fields.
fn no_calls(run: &mut Run) -> Vec<String> {
    let mut words = Words::default();
    let field = words.add("field");
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

/// Uses files like a program that is not an agent.
pub(crate) fn files(run: &mut Run) -> Vec<String> {
    let mut words = Words::default();
    let (text, name) = (words.add("typed text"), words.add("typed name"));
    let path = format!("/memories/{name}");
    assert_eq!(run.tell(Order::Write, &format!("{path}\0{}", long(&text))), "written");
    assert_eq!(run.tell(Order::Read, &path), long(&text));
    assert_eq!(run.tell(Order::Write, &format!("{path}\0{text}")), "written");
    assert_eq!(run.tell(Order::Read, &path), text);
    assert!(run.tell(Order::Write, &format!("{path}/{text}\0")).contains(&path));
    assert_eq!(run.tell(Order::List, &path), name);
    words.0
}

/// Uses the history.
fn versions(run: &mut Run) -> Vec<String> {
    let mut words = Words::default();
    let (name, text) = (words.add("versioned name"), words.add("versioned text"));
    let (long_text, actor) = (words.add("long versioned text"), words.add("actor"));
    for text in [text, long(&long_text)] {
        let file = format!("/memories/{name}\0{text}\0{actor}");
        assert_eq!(run.tell(Order::Versions, &file), "done");
    }
    words.0
}
