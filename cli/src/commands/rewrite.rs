//! The part that `compact`, `purge` and `migrate` share: they rewrite the whole store.

use inmost::{SessionStatus, StoreError};
use serde::Serialize;

use crate::args::StoreArgs;
use crate::display::size;
use crate::exit::Failure;
use crate::json_line;
use crate::output::say;
use crate::progress::Progress;
use crate::store::OpenStore;
use crate::store::opening::OpenOptions;

/// The result as JSON.
#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are those of the JSON object")]
struct Object {
    before_bytes: u64,
    after_bytes: u64,
    set_aside_bytes: u64,
}

/// Rewrites a store and prints its size on disk before and after.
pub(super) fn rewrite(
    args: &StoreArgs,
    json: bool,
    verb: &str,
    work: impl FnOnce(&OpenStore, &mut dyn FnMut(u64)) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let store = args.open(&OpenOptions::default())?;
    let before = args.stored_bytes(&store)?;
    let mut progress = Progress::new("records written");
    let done = work(&store, &mut |records| progress.update(records));
    done.map_err(|failure| without_room(failure, verb, before))?;
    drop(progress);
    let status = store.status()?;
    let after = args.stored_bytes(&store)?;
    drop(store);
    if json {
        let set_aside_bytes = status.set_aside_bytes;
        let object = Object { before_bytes: before, after_bytes: after, set_aside_bytes };
        return json_line::print(&object);
    }
    let (before, after) = (size(before), size(after));
    let mut text = format!("The store was {verb}: {before} on disk before, {after} now.\n");
    text.push_str(&remaining(&status));
    say(&text)
}

/// The failure of a rewrite on a full disk says how much room would do: the new files are written before the old ones go, and are
/// no larger.
fn without_room(failure: Failure, verb: &str, before: u64) -> Failure {
    match failure {
        Failure::Error { exit, message, .. } if message == StoreError::DiskFull.to_string() => {
            Failure::new(
                exit,
                format!("The disk is full: the store was not {verb}, and has not changed."),
                format!(
                    "This needs up to {} of free space, for the new files beside the old ones. Free that much on this disk first.",
                    size(before)
                ),
            )
        }
        failure => failure,
    }
}

/// The line about records that no rewrite removes; empty without such records.
pub(super) fn remaining(status: &SessionStatus) -> String {
    match status.set_aside_bytes {
        0 => String::new(),
        bytes => format!(
            "Records that were set aside are still there: {}. `inmost discard` removes them.\n",
            size(bytes)
        ),
    }
}
