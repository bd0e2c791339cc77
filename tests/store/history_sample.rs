//! A sample store that kept versions and recorded readings, for other readers, and what it says of them.

use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use inmost::{
    ExpirySettings, FileError, HistorySettings, MemoryTool, NewFile, Passphrase, Session,
    VaultOptions, VersionInfo, VersionQuery,
};
use inmost_testing::CHEAP;
use serde_json::{Value, json};

use crate::golden;

/// Writes a store with every kind of change, and `files.json`, `versions.json` and `readings.json`, into a folder with a
/// passphrase.
pub(super) fn write(folder: &Path) {
    let passphrase = fs::read_to_string(folder.join("passphrase")).unwrap();
    let passphrase = Passphrase::new(&passphrase).unwrap();
    let options = VaultOptions::new().kdf_cost(CHEAP);
    let session = options.create(folder.join("store"), &passphrase).unwrap();
    session.files().write("/memories/before.md", "before there was a history\n").unwrap();
    // Leaves a small log.
    session.purge().unwrap();
    session.history().set(HistorySettings::keep(YEARS)).unwrap();
    session.expiry().set(ExpirySettings::record()).unwrap();
    change(&session.acting_as("night-agent"));
    go_back(&session);
    let lines = |name: &str, values: Vec<Value>| {
        fs::write(folder.join(name), serde_json::to_string_pretty(&values).unwrap() + "\n")
            .unwrap();
    };
    lines("files.json", golden::files(&session));
    lines("versions.json", versions(&session));
    lines("readings.json", vec![readings(&session)]);
    session.lock();
}

fn change(session: &Session) {
    let files = session.files();
    let long = |from: usize, to: usize| {
        (from..to).map(|n| ["line ", &n.to_string(), "\n"].concat()).collect::<String>()
    };
    files.append("/memories/before.md", "and after\n").unwrap();
    files.write("/memories/long.md", &long(0, 1_500)).unwrap();
    let tool = MemoryTool::new(session.clone());
    for line in [3, 700, 1_400] {
        let call = json!({"command": "insert", "path": "/memories/long.md", "insert_line": line, "insert_text": "new\n"});
        assert!(!tool.try_run_json(call.to_string()).unwrap().is_error());
    }
    for path in ["/memories/before.md", "/memories/long.md"] {
        files.read(path).unwrap();
    }
    files.write("/memories/short.md", "first\n").unwrap();
    files.write("/memories/short.md", "second\n").unwrap();
    files.rename("/memories/short.md", "/memories/moved/sh\u{f6}rt.md").unwrap();
    files.write("/memories/moved/sh\u{f6}rt.md", "third\n").unwrap();
    let imported =
        [NewFile::new("/memories/folder/a.md", "a"), NewFile::new("/memories/folder/b/c.md", "c")];
    assert!(files.write_many(&imported).unwrap().iter().all(Result::is_ok));
    files.write("/memories/folder/b/secret.md", "not for ever\n").unwrap();
    files.rename("/memories/folder/b", "/memories/folder/d").unwrap();
    files.remove("/memories/folder").unwrap();
    files.write("/memories/alone/in folder.md", "not alone\n").unwrap();
    files.remove("/memories/alone").unwrap();
    for text in ["one\n", "a password\n", "three\n"] {
        files.write("/memories/told.md", text).unwrap();
    }
    files.write("/memories/forgotten.md", "soon\n").unwrap();
    files.append("/memories/forgotten.md", "forgotten\n").unwrap();
    files.write("/memories/gone.md", &long(0, 900)).unwrap();
    files.remove("/memories/gone.md").unwrap();
    files.write("/memories/back.md", "is back\n").unwrap();
    files.remove("/memories/back.md").unwrap();
}

fn go_back(session: &Session) {
    let history = session.history();
    let numbers = |path: &str| -> Vec<u64> {
        let page = history.page(&VersionQuery::all().path(path), None, 100).unwrap();
        page.items.iter().rev().map(|version| version.number).collect()
    };
    let last = |path: &str| *numbers(path).last().unwrap();
    history.restore(last("/memories/back.md"), None).unwrap();
    // Of the old end of a file, an entry without the text before it is left.
    let long = numbers("/memories/long.md");
    history.forget("/memories/long.md", Some(long[1]), |_| {}).unwrap();
    history.restore(long[2], None).unwrap();
    history.restore(last("/memories/folder"), Some("/memories/again")).unwrap();
    session.files().remove("/memories/again").unwrap();
    let told = numbers("/memories/told.md");
    history.forget("/memories/told.md", Some(told[1]), |_| {}).unwrap();
    let moved = numbers("/memories/moved/sh\u{f6}rt.md");
    history.forget("/memories/moved", Some(moved[0] - 1), |_| {}).unwrap();
    let alone = numbers("/memories/alone/in folder.md")[0];
    history.forget("/memories/alone/in folder.md", Some(alone), |_| {}).unwrap();
    history.forget("/memories/forgotten.md", None, |_| {}).unwrap();
    history.forget("/memories/again/d/secret.md", None, |_| {}).unwrap();
}

/// The number of files whose readings are recorded.
pub(super) fn readings(session: &Session) -> Value {
    json!(session.expiry().status().unwrap().readings)
}

/// What the history says, the oldest version first, with the texts that are still there.
pub(super) fn versions(session: &Session) -> Vec<Value> {
    let history = session.history();
    let (mut versions, mut before) = (Vec::new(), None);
    loop {
        let page = history.page(&VersionQuery::all(), before, 100).unwrap();
        versions.extend(page.items);
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    versions.iter().rev().map(|version| described(session, version)).collect()
}

fn described(session: &Session, version: &VersionInfo) -> Value {
    let text = match session.history().text(version.number) {
        Ok(text) => Some(text.as_str().to_owned()),
        Err(FileError::VersionGone(_) | FileError::NoSuchVersion(_) | FileError::IsAFolder(_)) => {
            None
        }
        Err(error) => panic!("{error}"),
    };
    let path = |path: &Option<inmost::FileText>| {
        path.as_ref().map_or(String::new(), |path| path.as_str().to_owned())
    };
    let milliseconds = |time: std::time::SystemTime| {
        u64::try_from(time.duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
    };
    json!({
        "number": version.number, "time": milliseconds(version.time), "operation": version.kind.name(),
        "channel": version.channel.name(), "actor": version.actor.as_str(), "file": version.file.unwrap_or(0),
        "previous": version.previous.unwrap_or(0), "path": path(&version.path),
        "old_path": path(&version.old_path), "bytes": version.bytes, "lines": version.lines,
        "text": text,
    })
}

/// A thousand years: the versions must not expire.
const YEARS: Duration = Duration::from_secs(1_000 * 365 * 24 * 60 * 60);
