//! Runs calls on a store and the same calls on a plain map of paths to texts.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::session::ledger::DAY;
use crate::session::tests::store::TestStore;
use crate::session::{ExpirySettings, Session, StoreError, Txn, freeze_clock, reap};
use crate::vfs::error::FileError;
use crate::vfs::folder::{self, ResolvedPath, Target};
use crate::vfs::path::MemoryPath;
use crate::vfs::{EntryKind, VersionInfo, VersionQuery};
use crate::vfs::{change, edit};
use inmost_format::record::history::Operation;
use inmost_format::record::tree::Owner;
use inmost_format::record::{NodeSink, RecordId, Tag, rope};

/// The text of every file by its path.
pub(crate) type Model = BTreeMap<String, String>;

/// One atomic change.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    /// Writes a file, replacing an existing one.
    Write(&'static str, String),
    /// Inserts whole lines after a line of a file that ends in a newline.
    Insert(&'static str, usize, String),
    /// Replaces the only occurrence of a text.
    Replace(&'static str, String, String),
    /// Makes many small files in one folder.
    Fill(&'static str, std::ops::Range<usize>),
    /// Removes many small files of one folder.
    Clear(&'static str, std::ops::Range<usize>),
    /// Removes a file or folder.
    Remove(&'static str),
    /// Moves a file or folder.
    Rename(&'static str, &'static str),
    /// Changes the header.
    Header,
    /// Rewrites the whole store.
    Purge,
    /// Rewrites the whole store with its versions.
    Compact,
    /// Forgets the versions below a path.
    Forget(&'static str),
    /// Forgets the versions of a path but for the newest.
    ForgetOld(&'static str),
    /// Brings back a deleted file with this text.
    Back(&'static str, String),
    /// Brings back a deleted folder, with one file of this text.
    BackFolder(&'static str, &'static str, String),
    /// Writes a file on this day.
    Later(u64, &'static str),
    /// Reads a file, and writes another.
    Read(&'static str, &'static str),
    /// Deletes what was not used for this many days: these files.
    Expire(u64, &'static [&'static str]),
    /// Switches the record of readings on or off.
    Record(bool),
}

/// The time of the tests that set the clock: noon of a day.
pub(crate) fn set_day(day: u64) {
    freeze_clock((20_700 + day) * DAY + DAY / 2);
}

impl Call {
    /// Makes the call.
    pub(crate) fn make(&self, store: &TestStore, session: &Session) -> Result<(), FileError> {
        let files = session.files();
        match self {
            Self::Write(path, text) => files.write(path, text),
            Self::Insert(path, line, text) => {
                edit::insert(session, &parse(path), i64::try_from(*line).unwrap(), text)
            }
            Self::Replace(path, old, new) => {
                edit::replace(session, &parse(path), old, new, 1_000).map(drop)
            }
            Self::Fill(folder, numbers) => session.write(|txn| {
                numbers.clone().try_for_each(|number| {
                    put(txn, &numbered(folder, number), &number.to_string()).map(drop)
                })
            }),
            Self::Clear(folder, numbers) => session.write(|txn| {
                numbers.clone().try_for_each(|number| take(txn, &numbered(folder, number)))
            }),
            Self::Remove(path) => files.remove(path),
            Self::Rename(old, new) => files.rename(old, new),
            Self::Header => Ok(store.change_header(session)?),
            Self::Purge => Ok(session.purge()?),
            Self::Compact => Ok(session.compact()?),
            Self::Forget(path) => session.history().forget(path, None, |_| {}).map(drop),
            Self::ForgetOld(path) => {
                let until = newest(session, path).previous;
                session.history().forget(path, until, |_| {}).map(drop)
            }
            Self::Back(path, _) | Self::BackFolder(path, ..) => {
                session.history().restore(newest(session, path).number, None).map(drop)
            }
            Self::Later(day, path) => {
                set_day(*day);
                files.write(path, "later\n")
            }
            Self::Read(path, other) => {
                files.read(path)?;
                files.write(other, "read\n")
            }
            Self::Expire(days, expected) => {
                let report = session.expiry().expire(of_days(*days), false, |_| {})?;
                assert_eq!(report.hindrance, None);
                let paths: Vec<&str> = report.files.iter().map(|file| file.path.as_str()).collect();
                assert_eq!(paths, *expected);
                Ok(())
            }
            Self::Record(true) => Ok(session.expiry().set(ExpirySettings::record())?),
            Self::Record(false) => Ok(session.expiry().set(ExpirySettings::off())?),
        }
    }

    /// Makes the call on the model.
    pub(crate) fn apply(&self, model: &mut Model) {
        match self {
            Self::Write(path, text) => drop(model.insert((*path).to_owned(), text.clone())),
            Self::Insert(path, line, text) => {
                let old = &model[*path];
                let at: usize = old.split_inclusive('\n').take(*line).map(str::len).sum();
                let (head, tail) = old.split_at(at);
                let new = [head, text, tail].concat();
                model.insert((*path).to_owned(), new);
            }
            Self::Replace(path, old, new) => {
                let text = model.get_mut(*path).unwrap();
                assert_eq!(text.matches(old.as_str()).count(), 1);
                *text = text.replacen(old.as_str(), new, 1);
            }
            Self::Fill(folder, numbers) => model.extend(
                numbers.clone().map(|number| (numbered(folder, number), number.to_string())),
            ),
            Self::Clear(folder, numbers) => {
                for number in numbers.clone() {
                    model.remove(&numbered(folder, number)).unwrap();
                }
            }
            Self::Remove(path) => model.retain(|other, _| below(other, path).is_none()),
            Self::Rename(old, new) => {
                let moved = std::mem::take(model).into_iter().map(|(path, text)| {
                    let path =
                        below(&path, old).map_or(path.clone(), |rest| format!("{new}{rest}"));
                    (path, text)
                });
                *model = moved.collect();
            }
            Self::Back(path, text) | Self::BackFolder(_, path, text) => {
                model.insert((*path).to_owned(), text.clone());
            }
            Self::Later(_, path) => drop(model.insert((*path).to_owned(), "later\n".to_owned())),
            Self::Read(_, path) => drop(model.insert((*path).to_owned(), "read\n".to_owned())),
            Self::Expire(_, expected) => model.retain(|path, _| !expected.contains(&path.as_str())),
            Self::Header
            | Self::Purge
            | Self::Compact
            | Self::Forget(_)
            | Self::ForgetOld(_)
            | Self::Record(_) => {}
        }
    }
}

pub(crate) fn of_days(days: u64) -> Duration {
    Duration::from_millis(days * DAY)
}

/// The newest change of a path.
fn newest(session: &Session, path: &str) -> VersionInfo {
    let query = VersionQuery::all().path(path).confined();
    session.history().page(&query, None, 1).unwrap().items.remove(0)
}

/// The rest of `path` below `folder`, if it is `folder` or lies below it.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    path.strip_prefix(folder).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The path of one of many files; their names differ in length.
pub(crate) fn numbered(folder: &str, number: usize) -> String {
    format!("{folder}/{number:03}-{}", "n".repeat(number % 40))
}

/// Parses a path that is known to be valid.
pub(crate) fn parse(path: &str) -> MemoryPath {
    MemoryPath::parse(path).ok().unwrap()
}

/// Puts a file as part of a larger change. Quotas are not checked.
pub(crate) fn put(txn: &mut Txn<'_>, path: &str, text: &str) -> Result<(), FileError> {
    let id = folder::fresh_id()?;
    let mut file = change::empty();
    let mut owner = Owner { sink: txn, object: id, next_index: &mut file.next_index };
    rope::splice(&mut owner, &mut file.body, 0..0, text)?;
    txn.put(RecordId::file(id, 0), file.into());
    let path = parse(path);
    let resolved = ResolvedPath::new(txn, &txn.root()?, &path)?;
    let info = change::new_info(text, None);
    change::set_entry(txn, (&path, &resolved), (id, Tag::default()), info, None, Operation::Created)
}

/// Removes a file as part of a larger change.
fn take(txn: &mut Txn<'_>, path: &str) -> Result<(), FileError> {
    let path = parse(path);
    let resolved = ResolvedPath::new(txn, &txn.root()?, &path)?;
    let Target::Entry(entry) = &resolved.target else { return Err(FileError::NotFound) };
    let entry = entry.clone();
    folder::remove(txn, &path, &resolved)?;
    Ok(reap::remove(txn, entry)?)
}

/// The whole content of the store, read through the public API.
pub(crate) fn dump(session: &Session) -> Result<Model, FileError> {
    fn walk(session: &Session, folder: &str, model: &mut Model) -> Result<u64, FileError> {
        let mut sum = 0;
        for entry in session.files().list(folder)? {
            let path = format!("{folder}/{}", entry.name);
            let bytes = match entry.metadata.kind {
                EntryKind::Folder => walk(session, &path, model)?,
                EntryKind::File { lines, .. } => {
                    let text = session.files().read(&path)?.as_str().to_owned();
                    assert_eq!(lines, super::super::text::count_lines(&text), "{path}");
                    let bytes = u64::try_from(text.len()).unwrap();
                    model.insert(path.clone(), text);
                    bytes
                }
            };
            assert_eq!(entry.metadata.bytes, bytes, "the folder's total: {path}");
            sum += bytes;
        }
        Ok(sum)
    }
    let mut model = Model::new();
    let bytes = walk(session, "/memories", &mut model)?;
    let status = session.status()?;
    let files = u64::try_from(model.len()).unwrap();
    assert_eq!((status.files, status.bytes), (files, bytes), "the root's totals");
    Ok(model)
}

/// Text of about this many bytes. No line repeats within a text or in texts of another name.
pub(crate) fn text(name: &str, bytes: usize) -> String {
    let lines = (0..).map(|number| format!("{name} {number} žluťoučký kůň\n"));
    let mut text = String::with_capacity(bytes + 80);
    for line in lines {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&line);
    }
    text
}

/// Commits that change one small file, so that reaping continues.
pub(crate) fn make_commits(session: &Session, count: usize) {
    for number in 0..count {
        session.files().write("/memories/commit", &number.to_string()).unwrap();
    }
    session.files().remove("/memories/commit").unwrap();
}

/// The affected object and the problem, if the error is tampering.
pub(crate) fn tampered(error: &FileError) -> Option<(&'static str, &'static str)> {
    match error {
        FileError::Store(StoreError::Tampered { what, how }) => Some((what, how)),
        _ => None,
    }
}
