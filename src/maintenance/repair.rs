//! Repair: writes what a recovery finds to a new generation, and sets the damaged one aside.

use super::bare_records::BareRecords;
use super::copy::Copy;
use super::new_nodes::NewNodes;
use super::recovery::{FoundFile, KeptHistory, Later, Recovered, Recovery, RecoveryReport, Target};
use super::rewrite::{abandon, remove_unfinished, write_generation};
use crate::session::anchor::{Anchor, Mark};
use crate::session::generation::{NextGeneration, Written, write_headers};
use crate::session::ledger::restart_expiry;
use crate::session::{StoreError, VERSIONS_OF_GROUP, Vault, freshness, leftovers};
use inmost_format::header::Credential;
use inmost_format::header::Unlocked;
use inmost_format::record::node::{Child, Entry, Folder, Name, Root, Totals};
use inmost_format::record::tree::{Body, Owner};
use inmost_format::record::{Depth, Kind, ObjectId, RecordId, Tag};
use inmost_storage::{Rewriting, StorageError};

impl Vault {
    /// Finds out what a [`repair`](Vault::repair) would keep, and in which version. Changes nothing, and does not open the
    /// engine. `progress` gets the number of bytes searched so far.
    ///
    /// # Errors
    /// Those of [`Vault::unlock`] that concern the header, and an error when reading the store's files.
    /// [`StoreError::HeaderRolledBack`] if the header is older than the records or than an anchor says, and
    /// [`StoreError::ForeignAnchor`]: such a store can only be [salvaged](Vault::salvage).
    ///
    /// # Security
    /// The report contains names in plain strings, which are not wiped.
    pub fn plan_repair<'a>(
        &self,
        credential: impl Into<Credential<'a>>,
        mut progress: impl FnMut(u64),
    ) -> Result<RecoveryReport, StoreError> {
        let (records, keys) = BareRecords::of(self, &credential.into(), &mut progress)?;
        let root = records.root();
        self.anchor_of_repairable(&keys, root.as_ref())?;
        let later = Later::find(&records, root.as_ref());
        let Recovered { objects, mut report, .. } =
            Recovery::run(&records, root.as_ref(), &later, &mut Plan)?;
        if let Some(root) = &root {
            KeptHistory::find(&records, root, &later, &objects, &mut report)?;
        }
        Ok(report)
    }

    /// Writes everything that can still be read to a new generation, and makes it the store's. The damaged files are set
    /// aside, unchanged, until they are discarded on purpose.
    ///
    /// Where the newest version of a file is damaged, the newest intact one takes its place. Files whose names were lost are
    /// put into the folder `/memories/lost-and-found`. Everything else is kept. The vault stays locked.
    ///
    /// If that is not the newest state ([`RecoveryReport::is_newest`]), the freshness of the store is
    /// [`Unknown`](crate::AnchorStatus::Unknown) until somebody accepts it: who can damage records can choose which versions a repair
    /// finds.
    ///
    /// Of the history, everything that can be read is kept. A version whose text was damaged, or was ended by a change that is
    /// lost, is [`FileError::VersionGone`](crate::FileError::VersionGone) from then on. Of a folder that was deleted, the rest
    /// comes back.
    ///
    /// # Errors
    /// Those of [`plan_repair`](Vault::plan_repair); [`StoreError::DiskFull`], [`StoreError::Io`], [`StoreError::Storage`]. On an error the damaged records are as
    /// they were, in place or set aside.
    ///
    /// # Security
    /// The report contains names in plain strings, which are not wiped.
    pub fn repair<'a>(
        &self,
        credential: impl Into<Credential<'a>>,
        mut progress: impl FnMut(u64),
    ) -> Result<RecoveryReport, StoreError> {
        let (records, keys) = BareRecords::of(self, &credential.into(), &mut progress)?;
        let found = records.root();
        let storage = &**self.storage()?;
        let anchor = self.anchor_of_repairable(&keys, found.as_ref())?;
        let header = keys.header();
        let old = header.generation();
        // Above every number that was seen, so that the repaired store is not taken for a rolled back one.
        let commit = found.as_ref().map_or(0, |root| root.commit).max(records.expected_commit());
        // The numbers of the commits before it are for the files that come back as earlier versions.
        let numbers = records.heads() / VERSIONS_OF_GROUP + 1;
        let commit = commit.checked_add(numbers).ok_or(StoreError::TooLarge)?;
        let mut root = Root { commit, ..found.clone().unwrap_or_else(without_records) };
        anchor.check_sequence(root.anchored);
        // Readings may be lost with the newest records, so every file counts as used now.
        restart_expiry(&mut root);

        // As at an unlock. What an interrupted rewrite left behind is not needed, and its number is used again.
        leftovers::keep_only(storage, header, self.headers())?;
        let newest = storage.generations()?.into_iter().max().unwrap_or(old).max(old);
        let new = newest.checked_add(1).ok_or(StoreError::TooLarge)?;
        let scratch = new.checked_add(1).ok_or(StoreError::TooLarge)?;
        let next = NextGeneration::generation(&keys, new, header.engine())?;
        // Slots from before the repair must not vouch for the repaired store, whether they are here now or are put back later.
        root.anchored = anchor.skip_for_repaired(next.header_id().revision);
        let kept_header = Some(header.bytes().to_vec());
        let mut note = Rewriting { old, new, scratch, switched: false, kept_header };

        let mut report = RecoveryReport::default();
        let later = Later::find(&records, found.as_ref());
        let mut rebuild = |copy: &mut Copy<'_>, root: &Root| {
            let recovered = Recovery::run(&records, found.as_ref(), &later, &mut Rebuild { copy })?;
            report = recovered.report;
            // The root has the number of a commit that is to come.
            let root =
                &Root { history: root.history, ..found.clone().unwrap_or_else(|| root.clone()) };
            let kept = KeptHistory::find(&records, root, &later, &recovered.objects, &mut report)?;
            copy.keep_of_history(kept);
            Ok((recovered.tag, recovered.totals.files, recovered.totals.bytes))
        };
        storage.begin_rewrite(&note)?;
        let mut written =
            write_generation(&records, &root, storage, &next, &mut rebuild, &mut progress);
        let mut forged_history = false;
        if matches!(written, Err(StoreError::Tampered { .. })) && !root.history.is_none() {
            // What can be read of the history was verified, so this one was forged. It must not keep the files from being
            // repaired.
            let root = Root { history: Child::NONE, ..root.clone() };
            remove_unfinished(storage, &note)?;
            written =
                write_generation(&records, &root, storage, &next, &mut rebuild, &mut progress);
            forged_history = true;
        }
        let mut lost_readings = false;
        let closed = written.and_then(|Written { engine, root: copy, root_value }| {
            engine.close()?;
            lost_readings = copy.reads_since != root.reads_since;
            Ok(Mark::of(&copy, new, &root_value))
        });
        let mark = closed.inspect_err(|_| abandon(storage, &note))?;
        if !report.is_newest() {
            // Before a header names the new records: a crash must not leave them with slots that say that nothing is missing.
            anchor.doubt(storage);
        }
        // From here on a crash leaves either header, and the note says what becomes of the other generation.
        write_headers(storage, next.header())?;
        note.switched = true;
        let _ = storage.begin_rewrite(&note);
        if let Some(mark) = mark {
            anchor.renew(storage, &mark);
        }
        match storage.set_aside(old, note.kept_header.as_deref()) {
            // The records that were lost may be all of them, with their folder.
            Err(StorageError::Missing) => {}
            set_aside => set_aside?,
        }
        storage.finish_rewrite()?;
        if forged_history {
            let names = [Name::new("(history)")];
            report.add_lost(&names, Kind::History.describe(), "has a form that no store writes");
        }
        if lost_readings {
            let how = "is damaged: every file counts as used now";
            report.add_lost(&[Name::new("(readings)")], "the ledger of readings", how);
        }
        Ok(report)
    }
}

impl Vault {
    /// The anchor of a store that can be repaired.
    fn anchor_of_repairable(
        &self,
        keys: &Unlocked,
        found: Option<&Root>,
    ) -> Result<Anchor, StoreError> {
        let anchor = self.anchor(keys)?;
        if anchor.is_foreign() {
            return Err(StoreError::ForeignAnchor);
        }
        // An older header may have keyslots that were removed since.
        let bound = found.map(|root| &root.header);
        freshness::check_header(keys.header(), bound, anchor.newest_revision())?;
        Ok(anchor)
    }
}

/// The root of a store that lost all of its roots.
fn without_records() -> Root {
    let child = |id| Child { id, tag: Tag::default() };
    let (tree, system) = (child(ObjectId::TREE), child(ObjectId::SYSTEM));
    // Nothing says how much text there is, so it is not collected in memory.
    Root { bytes: u64::MAX, ..Root::new(tree, system) }
}

/// Writes nothing.
struct Plan;

impl Target for Plan {
    type Error = StoreError;
    const KEEPS_HISTORY: bool = true;

    fn file(&mut self, found: &FoundFile<'_>) -> Result<Tag, StoreError> {
        Ok(found.tag)
    }

    fn folder(&mut self, _: ObjectId, _: Vec<Entry>, _: Totals) -> Result<Tag, StoreError> {
        Ok(Tag::default())
    }
}

/// Writes to a new generation.
struct Rebuild<'a, 'c> {
    copy: &'a mut Copy<'c>,
}

impl Target for Rebuild<'_, '_> {
    type Error = StoreError;
    const KEEPS_HISTORY: bool = true;

    fn file(&mut self, found: &FoundFile<'_>) -> Result<Tag, StoreError> {
        if found.kept_as == found.head_id.object {
            return self.copy.node(Depth::TOP, found.head_id, &found.tag);
        }
        self.copy.as_another(Depth::TOP, found.head_id, &found.tag, found.kept_as)
    }

    fn folder(
        &mut self,
        object: ObjectId,
        entries: Vec<Entry>,
        totals: Totals,
    ) -> Result<Tag, StoreError> {
        self.copy.keep_readings(&entries);
        let mut nodes = NewNodes::default();
        let mut next_index = 0;
        let mut owner = Owner { sink: &mut nodes, object, next_index: &mut next_index };
        let body = Body::of_entries(&mut owner, entries)?;
        let folder = Folder { next_index, totals, body };
        self.copy.seal_new(&mut nodes, RecordId::folder(object), folder.into())
    }
}
