//! Files and folders that no list names any more, because the list is gone.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;

use super::list::is_long;
use super::{Recovery, Reference, Target};
use crate::maintenance::bare_records::Version;
use crate::session::{StoreError, now};
use inmost_format::crypto::rng;
use inmost_format::record::node::{Entry, FileInfo, Name, Totals, What};
use inmost_format::record::{Kind, Node, ObjectId, Tag};

impl<T: Target> Recovery<'_, T> {
    /// Recovers what no list names into a folder of its own, beside the entries of the root folder. Returns its entry.
    ///
    /// An object that only older lists name was deleted, so it is left out. An object that no list names belonged to the list
    /// that is lost, so it is recovered.
    pub(super) fn lost_and_found(
        &mut self,
        beside: &[Entry],
    ) -> Result<Option<(Entry, Totals)>, T::Error> {
        let (folders, files) = if self.names_lost { self.unnamed() } else { Default::default() };
        self.names.push(free_name(beside));
        let mut kept = (Vec::new(), Totals::default());
        for object in folders {
            let newest = self.records.versions(Kind::Folder, object, None).into_iter().next();
            let tag = newest.map(|Version { tag, .. }| tag).unwrap_or_default();
            self.unnamed_object(object, What::Folder, Reference::Unnamed(tag), &mut kept)?;
        }
        while let Some((object, reference)) = self.too_deep.pop() {
            self.reached.remove(&object);
            self.report.add_found(&self.names, Kind::Folder.describe());
            self.unnamed_object(object, What::Folder, reference, &mut kept)?;
        }
        // The list had the times, too.
        let times = now();
        let info = FileInfo::of_times(times, times);
        for object in files {
            let reference = Reference::Unnamed(Tag::default());
            self.unnamed_object(object, What::File(info), reference, &mut kept)?;
        }
        let recovered = if kept.0.is_empty() {
            None
        } else {
            kept.0.sort_by(|left, right| left.name.as_str().cmp(right.name.as_str()));
            let object = ObjectId(rng::array().map_err(StoreError::from)?);
            let folder = self.seal(object, kept)?;
            let name = self.names.last().cloned().unwrap_or_else(|| Name::new(FOLDER));
            let totals = Totals::of_folder(&name, &folder.totals);
            let (tag, what) = (folder.tag, What::Folder);
            Some((Entry::new(name, object, tag, what), totals))
        };
        self.names.pop();
        Ok(recovered)
    }

    fn unnamed_object(
        &mut self,
        id: ObjectId,
        what: What,
        reference: Reference,
        kept: &mut (Vec<Entry>, Totals),
    ) -> Result<(), T::Error> {
        let name = name_of(id);
        self.names.push(name.clone());
        let entry = Entry::new(name, id, Tag::default(), what);
        let recovered = self.entry(entry, reference)?;
        self.names.pop();
        if let Some((entry, added)) = recovered {
            kept.1 = kept.1.plus(&added);
            kept.0.push(entry);
        }
        Ok(())
    }

    /// The folders and files that were not reached and that no list names, of whatever version.
    fn unnamed(&self) -> (BTreeSet<ObjectId>, BTreeSet<ObjectId>) {
        let mut named = HashSet::new();
        let (mut folders, mut files) = (BTreeSet::new(), BTreeSet::new());
        for Version { id, node, .. } in self.records.all() {
            // A long file that is being written is in the system folder, too.
            let is_written = |entry: &&Entry| match entry.what {
                What::File(info) => id.object == ObjectId::SYSTEM && is_long(info.bytes),
                What::Folder => false,
            };
            let entries = node.entries().iter().filter(|entry| !is_written(entry));
            named.extend(entries.map(|entry| entry.id));
            if self.reached.contains(&id.object) {
                continue;
            }
            match id.kind {
                Kind::Folder | Kind::FolderLeaf => drop(folders.insert(id.object)),
                // A partial text is no file of the tree: it was never finished, or is the ledger of readings.
                Kind::File if matches!(&node, Node::File(head) if !head.is_partial) => {
                    files.insert(id.object);
                }
                _ => {}
            }
        }
        folders.retain(|object| !named.contains(object));
        files.retain(|object| !named.contains(object));
        (folders, files)
    }
}

/// A name that no entry has.
fn free_name(beside: &[Entry]) -> Name {
    let is_taken = |name: &str| beside.iter().any(|entry| entry.name.as_str() == name);
    let mut name = FOLDER.to_owned();
    let mut number = 1_u64;
    while is_taken(&name) {
        number = number.saturating_add(1);
        name = format!("{FOLDER}-{number}");
    }
    Name::new(&name)
}

fn name_of(object: ObjectId) -> Name {
    let mut text = String::with_capacity(32);
    for byte in object.0 {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Name::new(&text)
}

/// The name of the folder.
const FOLDER: &str = "lost-and-found";
