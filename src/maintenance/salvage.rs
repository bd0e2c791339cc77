//! Salvage: saves everything that a recovery finds, without the engine.

use super::bare_records::BareRecords;
use super::recovery::{FoundFile, Later, Recovery, RecoveryReport, Target};
use crate::session::{StoreError, Vault};
use inmost_format::header::Credential;
use inmost_format::record::node::{Entry, Name, Totals};
use inmost_format::record::{ObjectId, Tag, read_text};
use inmost_format::secret::Wiped;

impl Vault {
    /// Saves every file of a damaged store that can still be read: calls `save` with the path and the text of each, and
    /// reports what is older or lost.
    ///
    /// Only the header must be intact, and one credential must open it. The engine is not opened, and the store is not
    /// changed.
    ///
    /// The path of a file whose name was lost is in `/memories/lost-and-found`. Where a list of names was lost, deleted
    /// files may be found too, if nothing tells that they were deleted.
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
    /// Those of [`Vault::unlock`] that concern the header, an error when reading the store's files, and the errors of
    /// `save`.
    pub fn salvage<'a, E: From<StoreError>>(
        &self,
        credential: impl Into<Credential<'a>>,
        save: impl FnMut(&str, &str) -> Result<(), E>,
    ) -> Result<RecoveryReport, E> {
        let (records, _) = BareRecords::of(self, &credential.into(), &mut |_| {})?;
        let root = records.root();
        let later = Later::find(&records, root.as_ref());
        Ok(Recovery::run(&records, root.as_ref(), &later, &mut Save(save))?.report)
    }
}

/// Passes the texts on.
struct Save<F>(F);

impl<E: From<StoreError>, F: FnMut(&str, &str) -> Result<(), E>> Target for Save<F> {
    type Error = E;

    fn file(&mut self, found: &FoundFile<'_>) -> Result<Tag, E> {
        let text = read_text(found.records, found.head_id.object, &found.head.body);
        let text = text.map_err(StoreError::from)?;
        (self.0)(&path_of(found.names), &text)?;
        Ok(found.tag)
    }

    fn folder(&mut self, _: ObjectId, _: Vec<Entry>, _: Totals) -> Result<Tag, E> {
        Ok(Tag::default())
    }
}

fn path_of(names: &[Name]) -> Wiped<String> {
    let length = names.iter().map(|name| 1 + name.as_str().len()).sum::<usize>();
    let mut path = Wiped::new(String::with_capacity("/memories".len() + length));
    path.append("/memories");
    for name in names {
        path.append("/");
        path.append(name.as_str());
    }
    path
}
