//! Sets files aside whose text is to be removed, and removes them in steps.

use inmost_format::record::history::{Before, OldHead, Retired, Version};
use inmost_format::record::node::{Entry, File, FileInfo, What};
use inmost_format::record::tree::{Body, Owner};
use inmost_format::record::{
    Kind, Node, NodeSink, NodeSource, RecordError, RecordId, Tag, load_file,
};

use super::inside;
use super::locate::Place;
use super::past::Past;
use super::release::{self, Text, drop_held, edit, held};
use crate::session::history::nameless;
use crate::session::{Exclusive, Txn};
use crate::vfs::error::FileError;

/// Takes a file out of the entry that holds it, to a note of its own, because removing its text takes several steps. No version has
/// the text from then on, whatever comes between the steps.
pub(super) fn take(txn: &mut Txn<'_>, text: &Text) -> Result<(), FileError> {
    if let Place::Inside(_, below) = &text.place {
        return take_inside(txn, text.holder, below);
    }
    let Some((entry, _)) = held(txn, text)? else { return Ok(()) };
    drop_held(txn, text.holder)?;
    Ok(txn.note_forgotten(vec![entry.id], nameless(&entry))?)
}

/// As [`take`], for a file in a folder that an entry holds.
pub(super) fn take_inside(txn: &mut Txn<'_>, holder: u64, below: &str) -> Result<(), FileError> {
    let Some(entry) = inside::take(txn, holder, below)? else { return Ok(()) };
    Ok(txn.note_forgotten(vec![entry.id], nameless(&entry))?)
}

/// A file that was set aside.
pub(super) struct Note {
    pub(super) number: u64,
    pub(super) file: Entry,
    /// As in [`Text`].
    pub(super) older: Option<(u64, OldHead)>,
}

impl Note {
    /// The text as it is now. Each commit trims the history, so that the older head may be gone, and with it all before it.
    fn text(&self, txn: &Txn<'_>) -> Result<Text, FileError> {
        let mut older = self.older;
        if let Some((number, head)) = older {
            let root = txn.root()?;
            let entry = match Past::open(txn, &root, 0)? {
                Some(past) => past.entry(number)?,
                None => None,
            };
            let is_it = |entry: &Version| matches!(&entry.before, Before::Head(old) if old.id() == head.id());
            older = older.filter(|_| entry.as_ref().is_some_and(is_it));
        }
        let place = Place::Object(self.file.clone());
        Ok(Text { place, holder: self.number, object: self.file.id, older, newest: None })
    }
}

/// Removes a file that was set aside, in durable steps. An end of it may be gone already.
pub(super) fn remove(exclusive: &mut Exclusive<'_>, note: &Note) -> Result<(), FileError> {
    while exclusive.commit(|txn| shrink(txn, &note.text(txn)?))? {}
    exclusive.commit(|txn| release::remove_at_once(txn, &note.text(txn)?))?;
    Ok(exclusive.reap()?)
}

/// Cuts off an end of a file that was set aside, if it is not small. A note keeps what the older head needs of this end. Returns
/// whether anything is left.
fn shrink(txn: &mut Txn<'_>, text: &Text) -> Result<bool, FileError> {
    let Some((_, older)) = &text.older else { return Ok(false) };
    let Some((mut entry, info)) = held(txn, text)? else { return Ok(false) };
    let mut file = File::clone(&*load_file(txn, entry.head(), &entry.tag)?);
    if matches!(file.body, Body::Inline(_)) || release::is_small(txn, text)? {
        return Ok(false);
    }
    let (start, _) = file.body.tail(txn, entry.id, LEAVES_A_STEP)?;
    let end = u64::from(file.body.count());
    let mut sink = Shared { txn, last_index: older.last_index, retired: Vec::new() };
    let mut owner = Owner { sink: &mut sink, object: entry.id, next_index: &mut file.next_index };
    file.body.replace(&mut owner, start..end, Vec::new())?;
    let retired = sink.retired;
    let left = file.body.count();
    let (_, last) = file.body.find(txn, entry.id, |_, refs| refs.len())?;
    let is_closed = last.as_str().ends_with('\n');
    drop(last);
    let lines = left.newlines.saturating_add(u64::from(left.bytes > 0 && !is_closed));
    txn.put(entry.head(), file.into());
    entry.what = What::File(FileInfo { bytes: left.bytes, lines, ..info });
    let object = entry.id;
    edit(txn, text.holder, |note| {
        note.before = Before::Object(Box::new(entry));
        note.held = left.bytes;
    })?;
    if !retired.is_empty() {
        txn.note_rest(object, retired)?;
    }
    Ok(true)
}

/// Collects the nodes that a file no longer reaches, and keeps those that an older head shares.
struct Shared<'t, 'a> {
    txn: &'t mut Txn<'a>,
    last_index: u64,
    /// Those of them that the file does not reach any more.
    retired: Vec<Retired>,
}

impl NodeSource for Shared<'_, '_> {
    fn load(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        self.txn.load(id, tag)
    }
}

impl NodeSink for Shared<'_, '_> {
    fn put(&mut self, id: RecordId, node: Node) {
        self.txn.put(id, node);
    }

    fn remove(&mut self, id: RecordId) {
        self.txn.remove(id);
    }

    fn retires(&mut self, id: RecordId) -> bool {
        let is_shared = id.index <= self.last_index;
        if is_shared {
            self.retired.push(Retired { is_inner: id.kind == Kind::FileInner, index: id.index });
        }
        is_shared
    }
}

/// Leaves by which one step shortens a file that has more.
const LEAVES_A_STEP: usize = 40;
