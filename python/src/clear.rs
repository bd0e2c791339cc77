//! Deletes everything that a memory tool can reach.

use inmost::{FileError, MemoryTool, ToolCommand, ToolReply, UnlockedStore};

use crate::shared::Opened;

/// Deletes every entry of the tool's folder with the tool's own command, so that its options hold. Each entry is one
/// atomic step; the whole is not. Returns the reply that stopped it, if one did.
///
/// # Errors
/// Those of listing the folder.
pub(crate) fn clear(
    store: &dyn Opened,
    tool: &MemoryTool,
    folder: &str,
) -> Result<Option<ToolReply>, FileError> {
    // Tells whether the tool may change anything, even if there is nothing to delete.
    let probe = tool.run(&ToolCommand::Delete { path: "/memories".to_owned() });
    if probe.store_error().is_some() || probe.result().content() == READ_ONLY {
        return Ok(Some(probe));
    }
    let store: &dyn UnlockedStore = store;
    let mut after = None;
    loop {
        let page = match store.list(folder, after.as_ref(), PAGE) {
            // The folder of a subtree need not exist.
            Err(FileError::NotFound) => return Ok(None),
            page => page?,
        };
        for entry in page.items {
            let reply =
                tool.run(&ToolCommand::Delete { path: format!("/memories/{}", entry.name) });
            let failed = reply.result().is_error();
            // Someone else may have deleted it first.
            if failed && store_has(store, folder, &entry.name)? {
                return Ok(Some(reply));
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(None),
        }
    }
}

fn store_has(store: &dyn UnlockedStore, folder: &str, name: &str) -> Result<bool, FileError> {
    match store.metadata(&format!("{folder}/{name}")) {
        Ok(_) => Ok(true),
        Err(FileError::NotFound) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The contract's sentence for a tool that may only read.
const READ_ONLY: &str = "Error: Memory is read-only.";
const PAGE: usize = 1_000;
