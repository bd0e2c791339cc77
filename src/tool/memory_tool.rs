//! The tool itself: one call in, one answer out.

use super::command::Command;
use super::commands;
use super::error::ToolError;
use super::parse::{self, Parsed};
use super::result::ToolResult;
use super::wording;
use crate::limits;
use crate::session::{Session, StoreError};
use crate::vfs::FileError;
use crate::vfs::subtree::Subtree;

/// Claude's memory tool (`memory_20250818`) on an unlocked store.
///
/// Shared between threads as it is; parallel calls lose nothing.
///
/// ```
/// # fn main() -> Result<(), inmost::StoreError> {
/// let memory = inmost::MemoryTool::new(inmost::Session::in_memory()?);
/// let result = memory.call(r#"{"command": "view", "path": "/memories"}"#)?;
/// assert!(!result.is_error());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct MemoryTool {
    session: Session,
    options: Options,
}

/// What an application may set for a tool.
#[derive(Clone)]
pub(super) struct Options {
    pub(super) subtree: Subtree,
    pub(super) read_only: bool,
    pub(super) create_overwrites: bool,
    pub(super) view_characters: usize,
    pub(super) ranged_view_characters: usize,
    pub(super) listing_entries: usize,
}

/// Builds a [`MemoryTool`] with other than the default options.
#[must_use]
pub struct MemoryToolBuilder(MemoryTool);

impl MemoryTool {
    /// The tool with the documented defaults.
    #[must_use]
    pub fn new(session: Session) -> Self {
        Self::builder(session).build()
    }

    /// Starts from the defaults.
    pub fn builder(session: Session) -> MemoryToolBuilder {
        let options = Options {
            subtree: Subtree::default(),
            read_only: false,
            create_overwrites: false,
            view_characters: limits::VIEW_CHARACTERS,
            ranged_view_characters: limits::RANGED_VIEW_CHARACTERS,
            listing_entries: limits::LISTING_ENTRIES,
        };
        MemoryToolBuilder(Self { session, options })
    }

    /// Answers a call given as JSON: the `input` of a `tool_use` block, or the whole block.
    ///
    /// What the model did wrong is an `Ok` with [`is_error`](ToolResult::is_error) set.
    ///
    /// # Errors
    /// Only what the application must act on, when the store is locked or fails; the model is then told
    /// [`StoreError::for_model`].
    pub fn call(&self, json: &str) -> Result<ToolResult, StoreError> {
        match self.answer(json.as_bytes()) {
            (result, None) => Ok(result),
            (_, Some(error)) => Err(error),
        }
    }

    /// Answers a call given as JSON in any case: where [`call`](MemoryTool::call) fails, with what the
    /// model is told then, and the error beside it. For a host that passes on whatever comes.
    ///
    /// Bytes that are not UTF-8 are not JSON, which the model is told.
    #[must_use]
    pub fn answer(&self, json: &[u8]) -> (ToolResult, Option<StoreError>) {
        let Parsed { tool_use_id, command } = parse::parse_bytes(json);
        let (result, failed) = match command.map(|command| self.run(&command)) {
            Ok(Ok(result)) => (result, None),
            Ok(Err(error)) => (error.for_model(), Some(error)),
            Err(error) => (error.into(), None),
        };
        (result.with_tool_use_id(tool_use_id), failed)
    }

    /// Answers a typed call.
    ///
    /// # Errors
    /// As for [`call`](MemoryTool::call).
    pub fn run(&self, command: &Command) -> Result<ToolResult, StoreError> {
        match commands::run(&self.session, &self.options, command) {
            Ok(result) => Ok(result),
            Err(Failure::Tool(error)) => Ok(error.into()),
            Err(Failure::Store(error)) => Err(error),
        }
    }
}

impl MemoryToolBuilder {
    /// Whether every change is refused; off by default.
    ///
    /// `create`, `str_replace`, `insert`, `delete` and `rename` then answer `Error: Memory is read-only.` once their
    /// paths are in order, whatever they were to change.
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.0.options.read_only = read_only;
        self
    }

    /// Whether `create` replaces a file that is there; off by default.
    pub fn create_overwrites(mut self, overwrites: bool) -> Self {
        self.0.options.create_overwrites = overwrites;
        self
    }

    /// Shows the model one folder of the store as its `/memories`; all of the store by default.
    ///
    /// `folder` is named as in the whole store, such as `/memories/project-x`. Every path the model sends and reads is
    /// one inside it, and nothing outside can be reached, seen or counted. It need not be there: until the first file is
    /// written, and after someone else deleted or moved the folder, the model sees an empty `/memories`.
    ///
    /// Two limits are those of the whole store. A path may be only so long and deep that the one it stands for is within
    /// bounds. And quotas count everything in the store; a model that meets one learns that there is no room left, not
    /// how much there is.
    ///
    /// If someone else puts a file at `folder`, or at a folder above it, calls fail with
    /// [`StoreError::SubtreeIsFile`].
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = inmost::Session::in_memory()?;
    /// session.files().write("/memories/project-x/plan.md", "Dig.\n")?;
    /// session.files().write("/memories/private.md", "Not for agents.\n")?;
    /// let memory = inmost::MemoryTool::builder(session).subtree("/memories/project-x")?.build();
    /// let listing = memory.call(r#"{"command": "view", "path": "/memories"}"#)?;
    /// assert!(listing.content().ends_with(":\n5B\t/memories\n5B\t/memories/plan.md"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`FileError::InvalidPath`].
    pub fn subtree(mut self, folder: &str) -> Result<Self, FileError> {
        self.0.options.subtree = Subtree::parse(folder)?;
        Ok(self)
    }

    /// Characters of file text that a `view` without a range shows before it cuts; 16,000 by default.
    pub fn view_characters(mut self, characters: usize) -> Self {
        self.0.options.view_characters = characters;
        self
    }

    /// Characters that a `view` with a range, or the snippet of an edit, shows before it cuts; 64,000 by default.
    pub fn ranged_view_characters(mut self, characters: usize) -> Self {
        self.0.options.ranged_view_characters = characters;
        self
    }

    /// Entries that a listing shows before it cuts, the first line not counted; 1,000 by default.
    pub fn listing_entries(mut self, entries: usize) -> Self {
        self.0.options.listing_entries = entries;
        self
    }

    /// The tool.
    #[must_use]
    pub fn build(self) -> MemoryTool {
        self.0
    }
}

impl StoreError {
    /// What the model reads in place of this error; the same for all of them, since the reason is none of its
    /// business.
    #[must_use]
    pub fn for_model(&self) -> ToolResult {
        ToolResult::failure(wording::unavailable().to_owned().into())
    }
}

/// Why a call has no result yet: the model's doing, or the store's.
pub(super) enum Failure {
    Tool(ToolError),
    Store(StoreError),
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        Self::Tool(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = r#"{"type": "tool_use", "id": "toolu_1", "name": "memory",
        "input": {"command": "view", "path": "/memories"}}"#;

    #[test]
    fn a_locked_store_is_answered_with_the_id_of_the_block_and_reported() {
        let session = Session::in_memory().unwrap();
        let memory = MemoryTool::new(session.clone());
        let (result, failed) = memory.answer(BLOCK.as_bytes());
        assert!(!result.is_error() && failed.is_none());
        session.lock();
        let (result, failed) = memory.answer(BLOCK.as_bytes());
        assert_eq!(result.content(), "Error: Memory is unavailable.");
        assert_eq!(result.tool_use_id(), Some("toolu_1"));
        assert!(result.is_error() && matches!(failed, Some(StoreError::Locked)));
        assert!(matches!(memory.call(BLOCK), Err(StoreError::Locked)));
    }

    #[test]
    fn bytes_that_are_no_text_are_no_json() {
        let memory = MemoryTool::new(Session::in_memory().unwrap());
        let (result, failed) = memory.answer(b"{\"command\": \"view\xff\"}");
        assert_eq!(result.content(), "Error: Invalid tool input: it is not valid JSON");
        assert!(result.is_error() && failed.is_none());
    }
}
