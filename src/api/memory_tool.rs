//! The memory tool: runs one call and returns one result.

use std::sync::Arc;

use super::clear;
use super::reply::ToolReply;
use super::store::UnlockedStore;
use crate::session::StoreError;
use crate::tool::{ToolCall, ToolCommand, ToolOptions, ToolResult};

/// Claude's memory tool (`memory_20250818`) on an unlocked store.
///
/// Threads can share one tool or use clones of it. No change of a parallel call is lost.
///
/// ```
/// # fn main() -> Result<(), inmost::StoreError> {
/// let memory = inmost::MemoryTool::new(inmost::Session::in_memory()?);
/// let reply = memory.run_json(r#"{"command": "view", "path": "/memories"}"#);
/// assert!(!reply.result().is_error() && reply.store_error().is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct MemoryTool {
    store: Arc<dyn UnlockedStore>,
    options: ToolOptions,
}

impl MemoryTool {
    /// Creates the tool with the documented defaults, on a [`Session`](crate::Session) or any other unlocked store.
    #[must_use]
    pub fn new(store: impl UnlockedStore + 'static) -> Self {
        Self::with_options(store, ToolOptions::default())
    }

    /// As [`new`](Self::new), with options other than the defaults.
    #[must_use]
    pub fn with_options(store: impl UnlockedStore + 'static, options: ToolOptions) -> Self {
        Self { store: Arc::new(store), options }
    }

    /// Runs a call given as JSON: the `input` of a `tool_use` block, or the whole block. The reply always has a result
    /// for the model. If the store failed, it has the store's error as well.
    ///
    /// Bytes that are not UTF-8 are handled as invalid JSON, and the result for the model says so.
    pub fn run_json(&self, json: impl AsRef<[u8]>) -> ToolReply {
        self.run_call(&ToolCall::parse(json.as_ref()))
    }

    /// Runs a call that is already parsed.
    pub fn run_call(&self, call: &ToolCall) -> ToolReply {
        reply(call, |command| self.run(command))
    }

    /// Returns the reply to a call for a host that has no store to run it on, because it is locked or cannot be opened. It is the
    /// reply of a tool with these options on a store that fails with this error.
    pub fn refuse(call: &ToolCall, options: &ToolOptions, error: StoreError) -> ToolReply {
        reply(call, |command| refused(command, options, error))
    }

    /// Runs a typed command.
    pub fn run(&self, command: &ToolCommand) -> ToolReply {
        match self.store.run_command(command, &self.options) {
            Ok(result) => ToolReply::new(result, None),
            Err(error) => refused(command, &self.options, error),
        }
    }

    /// As [`run_json`](MemoryTool::run_json), for hosts that treat a failing store as their own failure.
    ///
    /// # Errors
    /// [`StoreError`] if the store is locked or fails.
    pub fn try_run_json(&self, json: impl AsRef<[u8]>) -> Result<ToolResult, StoreError> {
        self.run_json(json).into_result()
    }

    /// As [`run`](MemoryTool::run), for hosts that treat a failing store as their own failure.
    ///
    /// # Errors
    /// As for [`try_run_json`](MemoryTool::try_run_json).
    pub fn try_run(&self, command: &ToolCommand) -> Result<ToolResult, StoreError> {
        self.run(command).into_result()
    }

    /// Deletes everything in the tool's memory, hidden files included, for a user who asks for it. The model has no such
    /// command.
    ///
    /// Each entry of the memory is deleted in one atomic step, and the whole is not one: if a step fails, its reply is
    /// returned, and the entries before it are gone. A tool that may only read deletes nothing. Earlier versions stay in the
    /// history, if that is on and the tool does not [forget](ToolOptions::delete_forgets) them.
    pub fn clear(&self) -> ToolReply {
        let root = ToolCommand::Delete { path: clear::ROOT.to_owned() };
        if self.options.read_only {
            // The reply of any change. The root is never deleted.
            return self.run(&root);
        }
        let folder = self.options.subtree.folder();
        clear::clear(&*self.store, folder, |command| self.run(command))
            .unwrap_or_else(|error| refused(&root, &self.options, error))
    }
}

/// The reply to a call, under the id of its block. A call that is not valid is not run.
fn reply(call: &ToolCall, run: impl FnOnce(&ToolCommand) -> ToolReply) -> ToolReply {
    let (result, store_error) = match call.command() {
        Ok(command) => run(command).into_parts(),
        Err(error) => (error.clone().into(), None),
    };
    ToolReply::new(result.with_tool_use_id(call.tool_use_id()), store_error)
}

/// The reply to a command that could not reach the store. A mistake in a path comes first, as it does when the store is
/// available, so the model reads the same error whether or not the store is locked.
fn refused(command: &ToolCommand, options: &ToolOptions, error: StoreError) -> ToolReply {
    let result = match command.check_paths(options) {
        Err(mistake) => mistake.into(),
        Ok(()) => error.for_model_with(options.locked_hint.as_deref()),
    };
    ToolReply::new(result, Some(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;

    const BLOCK: &str = r#"{"type": "tool_use", "id": "toolu_1", "name": "memory",
        "input": {"command": "view", "path": "/memories"}}"#;

    #[test]
    fn a_locked_store_is_reported_under_the_id_of_the_block() {
        let session = Session::in_memory().unwrap();
        let memory = MemoryTool::new(session.clone());
        let (result, failed) = memory.run_json(BLOCK).into_parts();
        assert!(!result.is_error() && failed.is_none());
        session.lock();
        let (result, failed) = memory.run_json(BLOCK).into_parts();
        assert_eq!(result.content(), "Error: Memory is locked.");
        assert_eq!(result.tool_use_id(), Some("toolu_1"));
        assert!(result.is_error() && matches!(failed, Some(StoreError::Locked)));
        assert!(matches!(memory.try_run_json(BLOCK), Err(StoreError::Locked)));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_invalid_json() {
        let memory = MemoryTool::new(Session::in_memory().unwrap());
        let (result, failed) = memory.run_json(b"{\"command\": \"view\xff\"}").into_parts();
        assert_eq!(result.content(), "Error: Invalid tool input: it is not valid JSON");
        assert!(result.is_error() && failed.is_none());
    }

    #[test]
    fn a_search_shows_no_more_than_a_view_and_says_how_much() {
        let session = Session::in_memory().unwrap();
        for name in ["a", "b", "c"] {
            session.files().write(&format!("/memories/{name}"), "one bean\n").unwrap();
        }
        let content = |characters| {
            let options = ToolOptions::new().max_view_characters(characters);
            let memory = MemoryTool::with_options(session.clone(), options);
            let (path, words) = ("/memories".to_owned(), "beans".to_owned());
            memory.run(&ToolCommand::Search { path, words }).result().content().to_owned()
        };
        let file = |name| format!("\n/memories/{name}\n     1\tone bean");
        let best = |count| {
            format!("The best {count} of 3 files below /memories that have any of these words:")
        };
        let each = file("a").chars().count();
        assert_eq!(content(1), best(1) + &file("a"));
        assert_eq!(content(2 * each), best(2) + &file("a") + &file("b"));
        assert!(content(3 * each).starts_with("The files below /memories that have"));
    }

    #[test]
    fn a_mistake_in_a_path_comes_before_the_hint_of_a_locked_store() {
        let session = Session::in_memory().unwrap();
        let memory = MemoryTool::with_options(
            session.clone(),
            ToolOptions::new().locked_hint("Ask the user."),
        );
        session.lock();
        let content = |json: &str| memory.run_json(json).result().content().to_owned();
        assert_eq!(
            content(r#"{"command": "view", "path": "/memories/a"}"#),
            "Error: Memory is locked. Ask the user."
        );
        assert_eq!(
            content(r#"{"command": "rename", "old_path": "/memories/a", "new_path": "/b"}"#),
            "Error: Path must start with /memories, got: /b"
        );
    }

    #[test]
    fn a_call_without_a_store_has_the_reply_of_a_locked_one() {
        let session = Session::in_memory().unwrap();
        let options = ToolOptions::new().locked_hint("Ask the user.");
        let memory = MemoryTool::with_options(session.clone(), options.clone());
        session.lock();
        for json in [
            BLOCK,
            r#"{"command": "view", "path": "/etc/passwd"}"#,
            r#"{"type": "tool_use", "id": "toolu_2", "input": {"command": "open"}}"#,
            "{",
        ] {
            let call = ToolCall::parse(json.as_bytes());
            let reply = MemoryTool::refuse(&call, &options, StoreError::Locked);
            let locked = memory.run_call(&call);
            assert_eq!(reply.result().content(), locked.result().content());
            assert_eq!(reply.result().tool_use_id(), locked.result().tool_use_id());
        }
    }
}
