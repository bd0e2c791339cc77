//! Options of a memory tool.

use std::sync::Arc;

use super::error::ToolError;
use super::screen::{Screen, ScreenSetting};
use crate::limits;
use crate::session::Quotas;
use crate::vfs::FileError;
use crate::vfs::path::MemoryPath;
use crate::vfs::path::Subtree;

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
    pub(crate) range_characters: usize,
    pub(crate) listing_entries: usize,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "ScreenSetting::is_off"))]
    pub(crate) screen: ScreenSetting,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub(crate) actor: Option<String>,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "std::ops::Not::not"))]
    pub(crate) delete_forgets: bool,
    #[cfg_attr(feature = "serde", serde(default = "no_quotas"))]
    pub(crate) quotas: Quotas,
    /// Not sent: only the process of the application knows that it cannot reach the store.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) locked_hint: Option<Arc<str>>,
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
            range_characters: limits::RANGE_CHARACTERS,
            listing_entries: limits::LISTING_ENTRIES,
            screen: ScreenSetting::Off,
            actor: None,
            delete_forgets: false,
            quotas: Quotas::NONE,
            locked_hint: None,
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

    /// Keeps nothing from before this tool's changes in the history of the store; off by default. It makes no difference where
    /// the history is off.
    ///
    /// Each change that ends a text is followed by [`History::forget`](crate::History::forget) in the same commit. With an edit, or a
    /// `create` that replaces a file, go all earlier versions of the file, those that others made too: neither the model nor a
    /// person can go back to one. The entry of the change itself stays. With a `delete` goes every version of what is or was at or
    /// below the path; it reads the whole history for that. A rename ends no text, and leaves its entry. Of versions that are too
    /// many for one commit, the oldest go in earlier ones.
    ///
    /// A call is refused, as by a store that fails, if the history is damaged where these versions are. What such a tool wrote and
    /// somebody else changes later is a version like any other.
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
    /// let memory = inmost::MemoryTool::with_options(session, options);
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
    pub fn max_range_characters(mut self, characters: usize) -> Self {
        self.range_characters = characters;
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

    /// Shows what the model writes to a screen before it is saved; none by default.
    ///
    /// The new text of `create`, `str_replace` and `insert`, and the new path of `create` and `rename`, pass the screen.
    /// A tool without a screen saves what it is given. The screen runs in the process that holds the store: through a key
    /// daemon only one with a [name](Screen::name) that the daemon knows.
    pub fn screen(mut self, screen: impl Screen + 'static) -> Self {
        self.screen = ScreenSetting::On(Arc::new(screen));
        self
    }

    /// Sets the sentence that the model reads after `Error: Memory is locked.`, such as how the user can unlock it.
    /// None by default.
    pub fn locked_hint(mut self, sentence: &str) -> Self {
        self.locked_hint = Some(sentence.into());
        self
    }

    /// Whether they have a [`screen`](Self::screen) without a name, which no other process can run. Such options cannot be
    /// serialized.
    #[must_use]
    pub fn has_unnamed_screen(&self) -> bool {
        matches!(&self.screen, ScreenSetting::On(screen) if screen.name().is_none())
    }

    /// Finds the screen of options that another process has sent. Until it is found, every change is refused.
    #[cfg(feature = "serde")]
    pub fn find_screen(mut self, by_name: impl FnOnce(&str) -> Option<Arc<dyn Screen>>) -> Self {
        if let ScreenSetting::Named(name) = &self.screen
            && let Some(screen) = by_name(name)
        {
            self.screen = ScreenSetting::On(screen);
        }
        self
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
    use crate::vfs::path::Subtree;

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
