//! Sample stores for other readers: the reader in Python, and later versions of this crate.
//!
//! Scripts under tests/ run these tests with an output folder. The edits are not public API. `tests/store/samples.rs`, which
//! the scripts run next, adds the sealed records and a store in use.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::edit;
use super::entry::EntryKind;
use super::path::MemoryPath;
use crate::session::{Session, Vault, VaultOptions};
use inmost_format::crypto::passphrase::Passphrase;
use inmost_testing::CHEAP;

/// Contains combining characters and characters outside ASCII.
const PASSPHRASE: &str = "Zoe\u{308}\u{2019}s cafe\u{301} \u{1F512}";

/// The output folder from `INMOST_SAMPLE`; it must not exist yet.
fn folder() -> PathBuf {
    let folder =
        PathBuf::from(std::env::var_os("INMOST_SAMPLE").expect("INMOST_SAMPLE names a folder"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("passphrase"), PASSPHRASE).unwrap();
    folder
}

fn create(folder: &Path) -> Session {
    let passphrase = Passphrase::new(PASSPHRASE).unwrap();
    let options = VaultOptions::new().kdf_cost(CHEAP);
    options.create(folder.join("store"), &passphrase).unwrap()
}

fn unlock(folder: &Path) -> Session {
    Vault::open(folder.join("store"))
        .unwrap()
        .unlock(&Passphrase::new(PASSPHRASE).unwrap())
        .unwrap()
}

/// Milliseconds since 1970, as docs/FORMAT.md stores times.
fn milliseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
}

/// Writes `files.json`, the files as this crate reads them.
fn write_files(session: &Session, folder: &Path) {
    let mut files = Vec::new();
    walk(session, "/memories", &mut files);
    let json = serde_json::to_string_pretty(&files).unwrap();
    fs::write(folder.join("files.json"), json + "\n").unwrap();
}

fn walk(session: &Session, folder: &str, files: &mut Vec<Value>) {
    for entry in session.files().list(folder).unwrap() {
        let path = format!("{folder}/{}", entry.name);
        match entry.metadata.kind {
            EntryKind::Folder => walk(session, &path, files),
            EntryKind::File { lines, created, modified, .. } => {
                let text = session.files().read(&path).unwrap();
                files.push(json!({
                    "path": path, "bytes": entry.metadata.bytes, "lines": lines,
                    "created": milliseconds(created), "modified": milliseconds(modified), "text": text.as_str(),
                }));
            }
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, to).unwrap();
        }
    }
}

/// Text of about this many bytes. No two lines are alike.
fn text(bytes: usize) -> String {
    let mut text = String::new();
    for line in 1.. {
        if text.len() >= bytes {
            break;
        }
        let word = ["tea", "caf\u{e9}", "\u{1F375}\u{FE0F}", "茶"][line % 4];
        text.extend([&format!("line {line}: "), word, "\n"]);
    }
    text
}

fn path(text: &str) -> MemoryPath {
    MemoryPath::parse(text).unwrap()
}

/// Makes every shape of folder and file, and every kind of change.
fn fill(session: &Session) {
    let files = session.files();
    for (path, text) in [
        ("/memories/empty", String::new()),
        ("/memories/one-byte", "x".to_owned()),
        ("/memories/open-end.txt", "two lines\nand no end".to_owned()),
        ("/memories/small.md", text(700)),
        ("/memories/5k.md", text(5_000)),
        ("/memories/300k.md", text(300_000)),
        ("/memories/600k.md", text(600_000)),
        ("/memories/1m.md", text(1_000_000)),
        ("/memories/one long line", "\u{e4}".repeat(20_000)),
        ("/memories/Gr\u{fc}\u{df}e/\u{8336}/\u{1F375}\u{FE0F}.md", text(100)),
        ("/memories/a\u{200D}b/\u{10FFFD}", text(100)),
        ("/memories/.hidden", text(50)),
        ("/memories/visible/.hidden/below/deep.md", text(4_000)),
        ("/memories/visible/node_modules/x/y.js", text(90)),
        ("/memories/to-be-overwritten", text(9_000)),
    ] {
        files.write(path, &text).unwrap();
    }
    let deep: Vec<String> = (0..20).map(|level| level.to_string()).collect();
    files.write(&format!("/memories/{}", deep.join("/")), "at the bottom").unwrap();
    for number in 0..500 {
        files.write(&format!("/memories/many/note {number:03}"), &text(number)).unwrap();
    }
    for number in 0..70 {
        files.write(&format!("/memories/long names/{number:\u{e9}>120}"), "").unwrap();
    }
}

fn change(session: &Session) {
    let files = session.files();
    files.write("/memories/to-be-overwritten", "overwritten").unwrap();
    files.write("/memories/doomed/a/b", &text(40_000)).unwrap();
    for number in 0..60 {
        files.write(&format!("/memories/doomed/{number}/file"), &text(3_500)).unwrap();
    }
    for at in [0, 1, 7_000, 9_000, 17_000] {
        edit::insert(session, &path("/memories/300k.md"), at, "inserted\n").unwrap();
    }
    edit::insert(session, &path("/memories/300k.md"), 5_000, &text(5_000)).unwrap();
    edit::insert(session, &path("/memories/1m.md"), 30_000, &text(9_000)).unwrap();
    edit::insert(session, &path("/memories/5k.md"), 3, &text(40_000)).unwrap();
    edit::replace(session, &path("/memories/300k.md"), "line 4000:", "replaced:", 100).unwrap();
    let all_but_ends = text(600_000).get(5..599_000).unwrap().to_owned();
    edit::replace(session, &path("/memories/600k.md"), &all_but_ends, "", 100).unwrap();
    edit::replace(session, &path("/memories/one-byte"), "x", "", 100).unwrap();
    for number in (0..500).step_by(3) {
        files.remove(&format!("/memories/many/note {number:03}")).unwrap();
    }
    for number in 20..60 {
        files.remove(&format!("/memories/long names/{number:\u{e9}>120}")).unwrap();
    }
    files.rename("/memories/small.md", "/memories/moved/away/\u{fc}.md").unwrap();
    files.rename("/memories/many", "/memories/moved/many").unwrap();
    files.rename("/memories/visible/.hidden", "/memories/shown").unwrap();
    files.remove("/memories/doomed").unwrap();
}

#[test]
#[ignore = "run by tests/reader/run.sh"]
fn write_the_store_for_the_independent_reader() {
    let folder = folder();
    let session = create(&folder);
    fill(&session);
    change(&session);
    // Many deleted records are still there.
    write_files(&session, &folder);
    session.lock();

    let purged = folder.join("purged");
    copy(&folder.join("store"), &purged.join("store"));
    let session = unlock(&purged);
    session.purge().unwrap();
    session.files().write("/memories/after", "the purge").unwrap();
    write_files(&session, &purged);
    session.lock();
}

/// The smallest store with every shape except inner nodes of a file, which would take 300 KB.
#[test]
#[ignore = "run by tests/golden/make.sh"]
fn write_the_golden_store() {
    let folder = folder();
    let session = create(&folder);
    let files = session.files();
    for (path, text) in [
        ("/memories/empty", String::new()),
        ("/memories/open-end.txt", "two lines\nand no end".to_owned()),
        ("/memories/small.md", text(700)),
        ("/memories/8k.md", text(8_000)),
        ("/memories/Gr\u{fc}\u{df}e/\u{8336}/\u{1F375}\u{FE0F}.md", text(100)),
        ("/memories/.hidden/below.md", text(50)),
        ("/memories/node_modules/x.js", text(50)),
        ("/memories/doomed.md", text(9_000)),
    ] {
        files.write(path, &text).unwrap();
    }
    for number in 0..36 {
        files.write(&format!("/memories/long names/{number:x>255}"), "").unwrap();
    }
    edit::insert(&session, &path("/memories/8k.md"), 300, "inserted\n").unwrap();
    files.rename("/memories/small.md", "/memories/moved/\u{fc}.md").unwrap();
    files.remove("/memories/doomed.md").unwrap();
    // Leaves a small log, of a second generation.
    session.purge().unwrap();
    files.write("/memories/empty", "no more").unwrap();
    write_files(&session, &folder);
    session.lock();
}
