//! Getting out of a damaged store whatever still authenticates.
//!
//! First along the tree, as far as it can be followed. Then from the records themselves, each of which says what
//! it is: folders and files that no readable folder leads to are found by their own names, even if the root is gone.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::check::list;
use super::raw::RawStore;
use crate::session::{StoreError, Vault};
use inmost_format::header::Credential;
use inmost_format::record::node::{Entries, Entry, What};
use inmost_format::record::tree::{Body, Inner, Leaf};
use inmost_format::record::{
    Depth, Flaw, Node, NodeSource, ObjectId, Reached, RecordError, RecordId, Tag, load_file,
    load_folder, read_text,
};
use inmost_format::secret;

/// What a salvage could not save.
///
/// # Security
/// The path is a plain string, for the application to show: nothing wipes it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SalvageLoss {
    /// The path of what is missing, or of the folder that misses something; empty if nothing leads to it.
    pub path: String,
    /// What it is, in general words.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::session::phrase"))]
    pub what: &'static std::primitive::str,
    /// What is wrong with it.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::session::phrase"))]
    pub how: &'static std::primitive::str,
}

/// What a salvage saved and missed.
#[derive(Clone, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SalvageReport {
    /// Files saved.
    pub files: u64,
    /// Bytes of text saved.
    pub bytes: u64,
    /// What is missing; the first 10,000.
    pub lost: Vec<SalvageLoss>,
    /// How much more is missing.
    pub unlisted: u64,
}

impl Vault {
    /// Hands every file that still authenticates to `save`, with a path and its text, and tells what is missing. Changes
    /// nothing in the store; asks for the header and a credential, and for nothing else to be intact.
    ///
    /// Files that no readable folder leads to come with a path below `/memories/salvaged`. If the root, or a part of the
    /// system folder, cannot be read, files that were deleted and not yet reaped are among them: nothing tells them apart.
    ///
    /// # Errors
    /// Those of [`Vault::unlock`] that concern the header and the engine, and what `save` answers.
    pub fn salvage<'a, E: From<StoreError>>(
        &self,
        credential: impl Into<Credential<'a>>,
        save: impl FnMut(&str, &str) -> Result<(), E>,
    ) -> Result<SalvageReport, E> {
        let raw = self.open_raw(&credential.into())?;
        let mut salvage = Salvage {
            raw: &raw,
            save,
            report: SalvageReport::default(),
            reached: HashSet::new(),
            nodes: Reached::default(),
        };
        salvage.along_the_tree()?;
        salvage.orphans()?;
        Ok(salvage.report)
    }
}

struct Salvage<'a, F> {
    raw: &'a RawStore,
    save: F,
    report: SalvageReport,
    /// Files and folders.
    reached: HashSet<ObjectId>,
    /// Nodes of the trees of folders.
    nodes: Reached,
}

impl<F> Salvage<'_, F> {
    fn along_the_tree<E: From<StoreError>>(&mut self) -> Result<(), E>
    where
        F: FnMut(&str, &str) -> Result<(), E>,
    {
        let root = match self.raw.root() {
            Ok(root) => root,
            Err(error) => return self.lose("", &error.into()).map_err(E::from),
        };
        // What was deleted and waits to be reaped is not to come back.
        self.skip(root.system.id, root.system.tag);
        self.folder("/memories", Depth::TOP, root.tree.id, &root.tree.tag)
    }

    fn orphans<E: From<StoreError>>(&mut self) -> Result<(), E>
    where
        F: FnMut(&str, &str) -> Result<(), E>,
    {
        let mut folders: HashMap<ObjectId, Vec<Entry>> = HashMap::new();
        let mut files: Vec<(ObjectId, Tag)> = Vec::new();
        self.raw.scan(&mut |id, tag, node| {
            if self.reached.contains(&id.object) {
                return;
            }
            match node {
                Node::Folder(head) => {
                    let entries = folders.entry(id.object).or_default();
                    if let Body::Inline(inline) = &head.body {
                        entries.extend(inline.0.iter().cloned());
                    }
                }
                Node::FolderLeaf(leaf) => {
                    folders.entry(id.object).or_default().extend(leaf.0.iter().cloned());
                }
                Node::File(_) => files.push((id.object, tag)),
                _ => {}
            }
        })?;
        let children: HashSet<ObjectId> =
            folders.values().flatten().map(|entry| entry.id).collect();
        let mut tops: Vec<ObjectId> =
            folders.keys().filter(|folder| !children.contains(*folder)).copied().collect();
        tops.sort_by_key(|folder| folder.0);
        for top in tops {
            let entries = folders.get(&top).cloned().unwrap_or_default();
            let path = format!("/memories/salvaged/{}", hex(top));
            self.entries(&path, Depth::TOP, &entries)?;
        }
        for (file, tag) in files {
            if !self.reached.contains(&file) {
                self.file(&format!("/memories/salvaged/{}", hex(file)), file, &tag)?;
            }
        }
        Ok(())
    }

    fn folder<E: From<StoreError>>(
        &mut self,
        path: &str,
        place: Depth,
        object: ObjectId,
        tag: &Tag,
    ) -> Result<(), E>
    where
        F: FnMut(&str, &str) -> Result<(), E>,
    {
        if !self.reached.insert(object) {
            return self.lose(path, &repeated(RecordId::folder(object))).map_err(E::from);
        }
        let loaded = load_folder(self.raw, object, tag)
            .and_then(|head| Ok((place.below(&Node::Folder(head.clone()))?, head)));
        let (place, head) = match loaded {
            Ok(found) => found,
            Err(error) => {
                // Its parts may still be found by themselves.
                self.reached.remove(&object);
                return self.lose(path, &error).map_err(E::from);
            }
        };
        match &head.body {
            Body::Inline(entries) => self.entries(path, place, &entries.0),
            Body::Tree(inner) => self.inner(path, place, object, inner),
        }
    }

    fn inner<E: From<StoreError>>(
        &mut self,
        path: &str,
        place: Depth,
        object: ObjectId,
        inner: &Inner<<Entries as Leaf>::Summary>,
    ) -> Result<(), E>
    where
        F: FnMut(&str, &str) -> Result<(), E>,
    {
        for (id, tag, _) in inner.children::<Entries>(object) {
            let loaded = self
                .nodes
                .mark(id)
                .and_then(|()| self.raw.load(id, tag))
                .and_then(|node| Ok((place.below(&node)?, node)));
            match loaded {
                Ok((place, Node::FolderLeaf(leaf))) => self.entries(path, place, &leaf.0)?,
                Ok((place, Node::FolderInner(inner))) => self.inner(path, place, object, &inner)?,
                Ok(_) => self.lose(path, &malformed(id))?,
                Err(error) => self.lose(path, &error)?,
            }
        }
        Ok(())
    }

    fn entries<E: From<StoreError>>(
        &mut self,
        path: &str,
        place: Depth,
        entries: &[Entry],
    ) -> Result<(), E>
    where
        F: FnMut(&str, &str) -> Result<(), E>,
    {
        for entry in entries {
            let path = secret::format(format_args!("{path}/{}", entry.name.as_str()));
            match entry.what {
                What::Folder => self.folder(&path, place, entry.id, &entry.tag)?,
                What::File(_) => self.file(&path, entry.id, &entry.tag)?,
            }
        }
        Ok(())
    }

    fn file<E: From<StoreError>>(
        &mut self,
        path: &str,
        object: ObjectId,
        tag: &Tag,
    ) -> Result<(), E>
    where
        F: FnMut(&str, &str) -> Result<(), E>,
    {
        if !self.reached.insert(object) {
            return self.lose(path, &repeated(RecordId::file(object))).map_err(E::from);
        }
        let text = load_file(self.raw, object, tag)
            .and_then(|head| read_text(self.raw, object, &head.body));
        match text {
            Ok(text) => {
                (self.save)(path, &text)?;
                self.report.files = self.report.files.saturating_add(1);
                let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
                self.report.bytes = self.report.bytes.saturating_add(bytes);
                Ok(())
            }
            Err(error) => self.lose(path, &error).map_err(E::from),
        }
    }

    /// Marks everything below a folder as not to be saved, as far as it can be read.
    fn skip(&mut self, object: ObjectId, tag: Tag) {
        let mut folders = vec![(object, tag)];
        while let Some((object, tag)) = folders.pop() {
            if !self.reached.insert(object) {
                continue;
            }
            let Ok(head) = load_folder(self.raw, object, &tag) else { continue };
            let visited =
                head.body.visit::<RecordError>(self.raw, object, 0, &mut |_, leaf: &Entries| {
                    for entry in &leaf.0 {
                        match entry.what {
                            What::Folder => folders.push((entry.id, entry.tag)),
                            What::File(_) => drop(self.reached.insert(entry.id)),
                        }
                    }
                    Ok(true)
                });
            drop(visited);
        }
    }

    fn lose(&mut self, path: &str, error: &RecordError) -> Result<(), StoreError> {
        let (what, how) = match *error {
            RecordError::Damaged { kind, flaw } => (kind.describe(), flaw.describe()),
            // The engine cannot read a part of its files: that is damage too.
            RecordError::Storage(_) => ("a record", "cannot be read"),
            RecordError::Randomness => return Err(StoreError::RandomnessFailed),
            RecordError::TooLarge => return Err(StoreError::TooLarge),
        };
        let lost = || SalvageLoss { path: path.to_owned(), what, how };
        list(&mut self.report.lost, &mut self.report.unlisted, lost);
        Ok(())
    }
}

impl std::fmt::Debug for SalvageLoss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Names are what the store hides.
        write!(f, "{} {}", self.what, self.how)
    }
}

impl std::fmt::Debug for SalvageReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} files saved, {} lost: {:?}", self.files, self.lost.len(), self.lost)
    }
}

fn repeated(id: RecordId) -> RecordError {
    RecordError::Damaged { kind: id.kind, flaw: Flaw::Repeated }
}

fn malformed(id: RecordId) -> RecordError {
    RecordError::Damaged { kind: id.kind, flaw: Flaw::Malformed }
}

fn hex(object: ObjectId) -> String {
    let mut text = String::with_capacity(32);
    for byte in object.0 {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
