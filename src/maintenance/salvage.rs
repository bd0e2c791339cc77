//! Salvage: extracts everything that still authenticates from a damaged store.
//!
//! It first follows the tree as far as possible. Then it scans the records, each of which states what it is: this finds
//! the folders and files that no readable folder refers to, even if the root is lost.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::check_report::list_bounded;
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

/// An object that a salvage could not extract.
///
/// # Security
/// The path is a plain string for the application to show. It is not wiped.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SalvageLoss {
    /// The path of the lost object, or of the folder that lost a part; empty if the path is unknown.
    pub path: String,
    /// The kind of object, in general words.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::session::phrase"))]
    pub what: &'static std::primitive::str,
    /// The problem with it.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::session::phrase"))]
    pub how: &'static std::primitive::str,
}

/// The result of a salvage.
#[derive(Clone, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SalvageReport {
    /// Files saved.
    pub files: u64,
    /// Bytes of text saved.
    pub bytes: u64,
    /// The lost objects; the first 10,000.
    pub lost: Vec<SalvageLoss>,
    /// The number of further lost objects.
    pub unlisted: u64,
}

impl Vault {
    /// Extracts every file that still authenticates: calls `save` with the path and the text of each, and reports what
    /// is lost.
    ///
    /// Only the header must be intact, and one credential must open it. The store is not changed.
    ///
    /// A file that no readable folder refers to gets a path below `/memories/salvaged`. If the root or a part of the
    /// system folder cannot be read, these include deleted files that were not reaped yet, because they cannot be told
    /// apart.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("claude.inmost");
    /// use inmost::{Passphrase, StoreError, Vault};
    ///
    /// let passphrase = Passphrase::new("correct horse battery staple")?;
    /// # let session = Vault::create(&path, &passphrase)?;
    /// # session.files().write("/memories/notes.md", "Dig.\n")?;
    /// # session.lock();
    /// let mut files = Vec::new();
    /// let report = Vault::open(&path)?.salvage(&passphrase, |path, text| {
    ///     files.push((path.to_owned(), text.to_owned()));
    ///     Ok::<(), StoreError>(())
    /// })?;
    /// assert_eq!((report.files, report.lost.len()), (1, 0));
    /// assert_eq!(files, [("/memories/notes.md".to_owned(), "Dig.\n".to_owned())]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`Vault::unlock`] that concern the header and the engine, and the errors of `save`.
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
        salvage.follow_tree()?;
        salvage.scan_orphans()?;
        Ok(salvage.report)
    }
}

struct Salvage<'a, F> {
    raw: &'a RawStore,
    save: F,
    report: SalvageReport,
    /// Files and folders already visited.
    reached: HashSet<ObjectId>,
    /// Visited nodes of folder trees.
    nodes: Reached,
}

impl<F> Salvage<'_, F> {
    fn follow_tree<E: From<StoreError>>(&mut self) -> Result<(), E>
    where
        F: FnMut(&str, &str) -> Result<(), E>,
    {
        let root = match self.raw.root() {
            Ok(root) => root,
            Err(error) => return self.record_loss("", &error.into()).map_err(E::from),
        };
        // Deleted files that wait to be reaped are not extracted.
        self.skip(root.system.id, root.system.tag);
        self.folder("/memories", Depth::TOP, root.tree.id, &root.tree.tag)
    }

    fn scan_orphans<E: From<StoreError>>(&mut self) -> Result<(), E>
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
        depth: Depth,
        object: ObjectId,
        tag: &Tag,
    ) -> Result<(), E>
    where
        F: FnMut(&str, &str) -> Result<(), E>,
    {
        if !self.reached.insert(object) {
            return self.record_loss(path, &repeated(RecordId::folder(object))).map_err(E::from);
        }
        let loaded = load_folder(self.raw, object, tag)
            .and_then(|head| Ok((depth.below(&Node::Folder(head.clone()))?, head)));
        let (depth, head) = match loaded {
            Ok(found) => found,
            Err(error) => {
                // The parts of the folder may still be found by the scan.
                self.reached.remove(&object);
                return self.record_loss(path, &error).map_err(E::from);
            }
        };
        match &head.body {
            Body::Inline(entries) => self.entries(path, depth, &entries.0),
            Body::Tree(inner) => self.inner(path, depth, object, inner),
        }
    }

    fn inner<E: From<StoreError>>(
        &mut self,
        path: &str,
        depth: Depth,
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
                .and_then(|node| Ok((depth.below(&node)?, node)));
            match loaded {
                Ok((depth, Node::FolderLeaf(leaf))) => self.entries(path, depth, &leaf.0)?,
                Ok((depth, Node::FolderInner(inner))) => self.inner(path, depth, object, &inner)?,
                Ok(_) => self.record_loss(path, &malformed(id))?,
                Err(error) => self.record_loss(path, &error)?,
            }
        }
        Ok(())
    }

    fn entries<E: From<StoreError>>(
        &mut self,
        path: &str,
        depth: Depth,
        entries: &[Entry],
    ) -> Result<(), E>
    where
        F: FnMut(&str, &str) -> Result<(), E>,
    {
        for entry in entries {
            let path = secret::format(format_args!("{path}/{}", entry.name.as_str()));
            match entry.what {
                What::Folder => self.folder(&path, depth, entry.id, &entry.tag)?,
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
            return self.record_loss(path, &repeated(RecordId::file(object))).map_err(E::from);
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
            Err(error) => self.record_loss(path, &error).map_err(E::from),
        }
    }

    /// Marks everything below a folder as visited, as far as it can be read, so that it is not extracted.
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

    fn record_loss(&mut self, path: &str, error: &RecordError) -> Result<(), StoreError> {
        let (what, how) = match *error {
            RecordError::Damaged { kind, flaw } => (kind.describe(), flaw.describe()),
            // If the engine cannot read a part of its files, that counts as damage too.
            RecordError::Storage(_) => ("a record", "cannot be read"),
            RecordError::Randomness => return Err(StoreError::RandomnessFailed),
            RecordError::TooLarge => return Err(StoreError::TooLarge),
        };
        let lost = || SalvageLoss { path: path.to_owned(), what, how };
        list_bounded(&mut self.report.lost, &mut self.report.unlisted, lost);
        Ok(())
    }
}

impl std::fmt::Debug for SalvageLoss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A store hides its names, so `Debug` does not show them.
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
