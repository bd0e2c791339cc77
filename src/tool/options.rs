//! Options of a memory tool.

use std::sync::Arc;

use super::error::ToolError;
use super::screen::{Screen, ScreenSetting, SecretScreen};
use crate::limits;
use crate::session::Quotas;
use crate::vfs::FileError;
use crate::vfs::path::MemoryPath;
use crate::vfs::subtree::Subtree;

/// What a [`MemoryTool`](crate::MemoryTool) may change, and how much it shows.
///
/// With the feature `serde` they can be sent to the process that holds the store.
#[derive(Clone)]
#[must_use]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct ToolOptions {
    #[cfg_attr(feature = "serde", serde(with = "subtree"))]
    pub(crate) subtree: Subtree,
    pub(crate) read_only: bool,
    pub(crate) create_overwrites: bool,
    pub(crate) view_characters: usize,
    pub(crate) ranged_view_characters: usize,
    pub(crate) listing_entries: usize,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "ScreenSetting::is_off"))]
    pub(crate) screen: ScreenSetting,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub(crate) actor: Option<String>,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "std::ops::Not::not"))]
    pub(crate) delete_forgets: bool,
    #[cfg_attr(feature = "serde", serde(default = "no_quotas"))]
    pub(crate) quotas: Quotas,
}

#[cfg(feature = "serde")]
fn no_quotas() -> Quotas {
    Quotas::NONE
}

impl Default for ToolOptions {
    fn default() -> Self {
        Self {
            subtree: Subtree::default(),
            read_only: false,
            create_overwrites: false,
            view_characters: limits::VIEW_CHARACTERS,
            ranged_view_characters: limits::RANGED_VIEW_CHARACTERS,
            listing_entries: limits::LISTING_ENTRIES,
            screen: ScreenSetting::Off,
            actor: None,
            delete_forgets: false,
            quotas: Quotas::NONE,
        }
    }
}

impl ToolOptions {
    /// Returns the defaults: the whole store, for reading and writing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Refuses every change; off by default.
    ///
    /// `create`, `str_replace`, `insert`, `delete` and `rename` then return `Error: Memory is read-only.` once their
    /// paths are valid, whatever change they ask for.
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Labels the tool's changes in the history of the store, with the name of the agent for example; none by default. See
    /// [`Session::acting_as`](crate::Session::acting_as) for what becomes of a label. The model does not see it.
    pub fn actor(mut self, actor: &str) -> Self {
        self.actor = Some(actor.to_owned());
        self
    }

    /// Keeps no text of this tool's changes in the history of the store; off by default. It makes no difference where the
    /// history is off.
    ///
    /// An edit, or a `create` that replaces a file, then leaves an entry that says what was changed and when, but the text
    /// before the change is gone: neither the model nor a person can go back to it. A `delete` leaves nothing: it also forgets
    /// every earlier version of what is or was at or below the path, as [`History::forget`](crate::History::forget) does, and
    /// reads the whole history for that. A crash in the middle of it may leave some versions, and damage to the history leaves
    /// all of them. Versions that other changes keep stay: what such a tool wrote and somebody else changes later is a
    /// version like any other.
    ///
    /// A text is kept after all, as without this option, if the history is damaged there, if the file had more than 1,024
    /// changes since an earlier version that others left, or if a `create` replaces a file of which more than 60 records, at
    /// most 240 KiB of text, were written since such a version.
    ///
    /// # Security
    /// As for [`History::forget`](crate::History::forget): the ciphertext stays in the store's files until the next
    /// [`Session::compact`](crate::Session::compact) or [`Session::purge`](crate::Session::purge).
    pub fn delete_forgets(mut self, forgets: bool) -> Self {
        self.delete_forgets = forgets;
        self
    }

    /// Lets `create` replace an existing file; off by default.
    pub fn create_overwrites(mut self, overwrites: bool) -> Self {
        self.create_overwrites = overwrites;
        self
    }

    /// Shows the model one folder of the store as its `/memories`; the whole store by default.
    ///
    /// `folder` is a path in the whole store, such as `/memories/project-x`. Every path that the model sends or reads
    /// lies inside it; nothing outside can be reached, seen or counted. The folder need not exist: until the first file
    /// is written, and after someone else deletes or moves the folder, the model sees an empty `/memories`.
    ///
    /// Two limits are those of the whole store. The length and depth of a path are limited as a path of the whole
    /// store. Quotas count everything in the store: a model that reaches one learns that no room is left, but not how
    /// much is stored.
    ///
    /// If someone else puts a file at `folder`, or at a folder above it, calls fail with [`StoreError::SubtreeIsFile`](crate::StoreError::SubtreeIsFile).
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = inmost::Session::in_memory()?;
    /// session.files().write("/memories/project-x/plan.md", "Dig.\n")?;
    /// session.files().write("/memories/private.md", "Not for agents.\n")?;
    /// let options = inmost::ToolOptions::new().subtree("/memories/project-x")?;
    /// let memory = inmost::MemoryTool::builder(session).options(options).build();
    /// let listing = memory.run_json(r#"{"command": "view", "path": "/memories"}"#);
    /// assert!(listing.result().content().ends_with(":\n5B\t/memories\n5B\t/memories/plan.md"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`FileError::InvalidPath`].
    pub fn subtree(mut self, folder: &str) -> Result<Self, FileError> {
        self.subtree = MemoryPath::parse(folder)?.to_subtree();
        Ok(self)
    }

    /// Sets how many characters of file text a `view` without a range shows before it cuts; 16,000 by default.
    pub fn max_view_characters(mut self, characters: usize) -> Self {
        self.view_characters = characters;
        self
    }

    /// Sets how many characters a `view` with a range, or the snippet of an edit, shows before it cuts; 64,000 by
    /// default.
    pub fn max_ranged_view_characters(mut self, characters: usize) -> Self {
        self.ranged_view_characters = characters;
        self
    }

    /// Sets how many entries a listing shows before it cuts, not counting the first line; 1,000 by default.
    pub fn max_listing_entries(mut self, entries: usize) -> Self {
        self.listing_entries = entries;
        self
    }

    /// Sets the most bytes of one file that the model can write; by default what the session allows.
    ///
    /// The lower one of this and the quota of the session holds, for a tool that works through a key daemon too. So for the
    /// quotas below, which count everything in the store.
    pub fn max_file_bytes(mut self, bytes: u64) -> Self {
        self.quotas.file_bytes = bytes;
        self
    }

    /// Sets the most files in the store with which the model can create another; by default what the session allows.
    pub fn max_files(mut self, files: u64) -> Self {
        self.quotas.store_files = files;
        self
    }

    /// Sets the most bytes of text in the store up to which the model can add some; by default what the session allows.
    pub fn max_store_bytes(mut self, bytes: u64) -> Self {
        self.quotas.store_bytes = bytes;
        self
    }

    /// Screens what the model writes for secrets; off by default.
    ///
    /// The new text of `create`, `str_replace` and `insert`, and the new path of `create` and `rename`, pass the screen
    /// before anything is saved. A tool without a screen saves what it is given.
    pub fn screen(mut self, screen: SecretScreen) -> Self {
        self.screen = ScreenSetting::Secrets(screen);
        self
    }

    /// As [`screen`](Self::screen), with a screen of the application's own.
    ///
    /// It runs in the process that holds the store, so it works on a [`Session`](crate::Session) and not through a key
    /// agent. The options then cannot be serialized.
    pub fn custom_screen(mut self, screen: Arc<dyn Screen>) -> Self {
        self.screen = ScreenSetting::Custom(screen);
        self
    }

    /// Whether they have a [`custom_screen`](Self::custom_screen), which no other process can run.
    #[must_use]
    pub fn has_custom_screen(&self) -> bool {
        matches!(self.screen, ScreenSetting::Custom(_))
    }

    /// Parses a path that a model sent.
    pub(super) fn parse_path(&self, sent: &str) -> Result<MemoryPath, ToolError> {
        MemoryPath::parse_in(&self.subtree, sent).map_err(|error| ToolError::of_path(error, sent))
    }

    /// Whether the tool is limited to reading or to a part of the store, or is screened, so that other ways to the store
    /// would give more access.
    #[must_use]
    pub fn is_restricted(&self) -> bool {
        self.read_only || !self.subtree.is_whole() || !self.screen.is_off()
    }
}

/// Serializes a subtree as the path of its folder.
#[cfg(feature = "serde")]
mod subtree {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::vfs::path::MemoryPath;
    use crate::vfs::subtree::Subtree;

    pub(super) fn serialize<S: Serializer>(
        subtree: &Subtree,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(subtree.folder())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Subtree, D::Error> {
        let folder = String::deserialize(deserializer)?;
        let folder = MemoryPath::parse(&folder).map_err(|_| D::Error::custom("no folder"))?;
        Ok(folder.to_subtree())
    }
}
