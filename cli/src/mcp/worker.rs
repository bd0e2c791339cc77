//! The thread that holds the store. It opens the store at the first call, and again after a failure.

use std::sync::mpsc::Receiver;

use inmost::{
    FileError, FileText, MemoryTool, Page, PageCursor, StoreError, ToolCall, ToolResult, WalkEntry,
};
use tokio::sync::oneshot::Sender;

use super::resources::{PAGE, ResourceError};
use crate::args::StoreArgs;
use crate::memory_path::ROOT;
use crate::passphrase::Input;
use crate::store::OpenStore;
use crate::store::no_store::NoStore;
use crate::store::opening::{OpenOptions, Unused};
use crate::store::restrictions::Restrictions;
use crate::streams::ErrorLog;

/// A request that needs the store.
pub(super) struct Call {
    pub(super) work: Work,
    /// The name that the client gave when it connected.
    pub(super) client: Option<String>,
}

/// What to do, and the channel for the result. Sending fails if the client has cancelled the request in the meantime.
pub(super) enum Work {
    /// Run the memory tool.
    Tool(ToolCall, Sender<ToolResult>),
    /// List files after this position.
    List(Option<PageCursor>, Sender<Result<Page<WalkEntry>, ResourceError>>),
    /// Read the file at this path.
    Read(String, Sender<Result<FileText, ResourceError>>),
}

impl Work {
    /// Whether the client has cancelled the request.
    fn is_cancelled(&self) -> bool {
        match self {
            Self::Tool(_, result) => result.is_closed(),
            Self::List(_, result) => result.is_closed(),
            Self::Read(_, result) => result.is_closed(),
        }
    }
}

/// How work ended.
enum Ended {
    /// The client has its result.
    Done,
    /// The client has an error, because the store failed.
    Failed(StoreError),
    /// The store is locked, and nothing was done.
    Locked(Work),
}

/// Runs calls until the server ends. While the store cannot be opened, each call tries again and tells the model that
/// memory is locked or unavailable; the reason is printed once.
pub(super) fn run(
    store: &StoreArgs,
    actor: Option<&str>,
    restrictions: &Restrictions,
    calls: &Receiver<Call>,
) {
    let mut errors = ErrorLog::default();
    let mut again = None;
    while let Some(call) = again.take().or_else(|| calls.recv().ok()) {
        let options = OpenOptions {
            input: Input::Unattended,
            unused: Unused::Expire,
            restrictions: restrictions.clone(),
            actor: actor.or(call.client.as_deref()),
            ..OpenOptions::default()
        };
        let ran = store.open(&options).and_then(|store| Ok((restrictions.tool_on(&store)?, store)));
        match ran {
            Ok((tool, store)) => {
                again = run_calls(&store, &tool, call, calls, &mut errors);
                drop(store);
            }
            Err(failure) => {
                errors.print(&failure);
                refuse(call.work, NoStore::of(&failure), restrictions);
            }
        }
    }
}

/// Returns the reason why there is no store. If a call of the tool is itself invalid, returns that error.
fn refuse(work: Work, why: NoStore, restrictions: &Restrictions) {
    match work {
        Work::Tool(parsed, result) => {
            // The restrictions were checked when the server started.
            let Ok(reply) = restrictions.refuse(&parsed, why) else { return };
            let _ = result.send(reply.into_parts().0);
        }
        Work::List(_, result) => drop(result.send(Err(ResourceError::NoStore(why)))),
        Work::Read(_, result) => drop(result.send(Err(ResourceError::NoStore(why)))),
    }
}

/// Runs calls until the store fails or the server ends. The caller opens the store again for the next call, unless another
/// program has changed its files: then every call is refused.
///
/// Returns the call that found the store locked, which has done nothing. It runs again, so that the key daemon's lock costs
/// no call if the store can be opened in another way. The first call is not returned: the store was opened for it.
fn run_calls(
    store: &OpenStore,
    tool: &MemoryTool,
    first: Call,
    calls: &Receiver<Call>,
    errors: &mut ErrorLog,
) -> Option<Call> {
    let mut next = Some(first);
    let mut is_first = true;
    while let Some(Call { work, client }) = next {
        if !work.is_cancelled() {
            match run_work(store, tool, work, is_first) {
                Ended::Done => errors.reset(),
                Ended::Failed(error) => {
                    // Somebody must look at the files before they are used again.
                    let stays = matches!(error, StoreError::FilesReplaced(_));
                    errors.print(&error.into());
                    if !stays {
                        return None;
                    }
                }
                Ended::Locked(work) => return Some(Call { work, client }),
            }
        }
        is_first = false;
        next = calls.recv().ok();
    }
    None
}

fn run_work(store: &OpenStore, tool: &MemoryTool, work: Work, is_first: bool) -> Ended {
    match work {
        Work::Tool(parsed, result) => {
            let (told, error) = tool.run_call(&parsed).into_parts();
            if matches!(error, Some(StoreError::Locked)) && !is_first {
                return Ended::Locked(Work::Tool(parsed, result));
            }
            let _ = result.send(told);
            error.map_or(Ended::Done, Ended::Failed)
        }
        Work::List(after, result) => {
            let page = store.unlocked().walk(ROOT, usize::MAX, after.as_ref(), PAGE);
            if is_locked(&page) && !is_first {
                return Ended::Locked(Work::List(after, result));
            }
            reply(page, result)
        }
        Work::Read(path, result) => {
            let text = store.unlocked().read(&path, None);
            if is_locked(&text) && !is_first {
                return Ended::Locked(Work::Read(path, result));
            }
            reply(text, result)
        }
    }
}

fn is_locked<T>(result: &Result<T, FileError>) -> bool {
    matches!(result, Err(FileError::Store(StoreError::Locked)))
}

fn reply<T>(found: Result<T, FileError>, result: Sender<Result<T, ResourceError>>) -> Ended {
    match found.map_err(ResourceError::of) {
        Ok(found) => {
            let _ = result.send(Ok(found));
            Ended::Done
        }
        Err((error, store_error)) => {
            let _ = result.send(Err(error));
            store_error.map_or(Ended::Done, Ended::Failed)
        }
    }
}
