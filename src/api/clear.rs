//! Deletes everything that a memory tool can reach, with the tool's own command, so that its options hold.

use super::files::{PAGE, Pages};
use super::reply::ToolReply;
use super::store::UnlockedStore;
use crate::session::StoreError;
use crate::tool::{self, ToolCommand};
use crate::vfs::FileError;

/// Deletes every entry of a folder. `delete` runs the tool's command, with the path that the model has for the entry.
///
/// Returns the reply that stopped it, or the one for a memory that is empty.
///
/// # Errors
/// Those of listing the folder.
pub(super) fn clear(
    store: &dyn UnlockedStore,
    folder: &str,
    delete: impl Fn(&ToolCommand) -> ToolReply,
) -> Result<ToolReply, StoreError> {
    for entry in Pages::new(|after| store.list(folder, after, PAGE)) {
        let name = match entry {
            Ok(entry) => entry.name,
            // The folder of a subtree need not exist.
            Err(FileError::NotFound) => break,
            Err(FileError::Store(error)) => return Err(error),
            // The path itself is valid, so a file is in the way.
            Err(_) => return Err(StoreError::SubtreeIsFile),
        };
        let reply = delete(&ToolCommand::Delete { path: format!("{ROOT}/{name}") });
        // If the entry is gone, someone else has deleted it first.
        if reply.result().is_error() && is_there(store, &format!("{folder}/{name}"))? {
            return Ok(reply);
        }
    }
    Ok(ToolReply::new(tool::cleared(), None))
}

fn is_there(store: &dyn UnlockedStore, path: &str) -> Result<bool, StoreError> {
    match store.metadata(path) {
        Ok(_) => Ok(true),
        Err(FileError::Store(error)) => Err(error),
        Err(_) => Ok(false),
    }
}

/// The model's name of its memory.
pub(super) const ROOT: &str = "/memories";

#[cfg(test)]
mod tests {
    use crate::api::MemoryTool;
    use crate::session::{Session, StoreError};
    use crate::tool::ToolOptions;

    fn paths(session: &Session) -> Vec<String> {
        let files = session.files();
        let pages = files.walk("/memories");
        pages.map(|entry| entry.unwrap().path.as_str().to_owned()).collect()
    }

    #[test]
    fn only_what_the_tool_can_reach_is_deleted() {
        let session = Session::in_memory().unwrap();
        for path in ["x/a", "x/b/c", "x/.hidden", "x/100%", "other"] {
            session.files().write(&format!("/memories/{path}"), "tea").unwrap();
        }
        let tool = |folder: &str| {
            MemoryTool::with_options(session.clone(), ToolOptions::new().subtree(folder).unwrap())
                .clear()
        };
        let reply = tool("/memories/x");
        assert_eq!(reply.result().content(), "All memory cleared");
        assert!(!reply.result().is_error() && reply.store_error().is_none());
        assert_eq!(paths(&session), ["/memories/other"]);
        assert!(!tool("/memories/new").result().is_error());
        assert!(matches!(tool("/memories/other").store_error(), Some(StoreError::SubtreeIsFile)));
        assert!(!tool("/memories").result().is_error());
        assert!(paths(&session).is_empty());
    }

    #[test]
    fn a_tool_that_may_only_read_clears_nothing_and_a_locked_one_says_so() {
        let session = Session::in_memory().unwrap();
        let read_only =
            MemoryTool::with_options(session.clone(), ToolOptions::new().read_only(true));
        // Also if there is nothing to delete.
        for _ in 0..2 {
            let reply = read_only.clear();
            assert_eq!(reply.result().content(), "Error: Memory is read-only.");
            session.files().write("/memories/a", "tea").unwrap();
        }
        assert_eq!(paths(&session), ["/memories/a"]);
        session.lock();
        for tool in [read_only, MemoryTool::new(session.clone())] {
            let (result, failed) = tool.clear().into_parts();
            assert_eq!(result.content(), "Error: Memory is locked.");
            assert!(matches!(failed, Some(StoreError::Locked)));
        }
    }
}
