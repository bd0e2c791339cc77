//! The calls of the measurements that repeat one call, and the files that these calls need.

use std::error::Error;

use serde_json::json;

use crate::peer::Peer;
use crate::trace::text_of;

/// Creates a file through the tool.
///
/// # Errors
/// The errors of the peer.
pub fn create(peer: &dyn Peer, path: &str, text: &str) -> Result<(), Box<dyn Error>> {
    let call = json!({"command": "create", "path": path, "file_text": text});
    peer.call(&call.to_string()).map_err(|error| error.to_string())?;
    Ok(())
}

/// Returns the JSON of a view of a path.
#[must_use]
pub fn view(path: &str) -> String {
    json!({"command": "view", "path": path}).to_string()
}

/// Returns an edit of one line and the edit that restores it, so that the file keeps its text. The file must
/// be one of [`create_edited`].
#[must_use]
pub fn edits(path: &str) -> [String; 2] {
    let edit = |old: &str, new: &str| {
        let call = json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new});
        call.to_string()
    };
    [edit(GREEN, AMBER), edit(AMBER, GREEN)]
}

/// Creates a file of 2 KiB with the line that [`edits`] change.
///
/// # Errors
/// The errors of the peer.
pub fn create_edited(peer: &dyn Peer, path: &str) -> Result<(), Box<dyn Error>> {
    create(peer, path, &format!("{}{GREEN}\n", text_of(2_000, 99)))
}

/// Creates a file for [`edits`] in a folder at this depth, and 20 other files in that folder and in every
/// folder above it. Returns the path of the file.
///
/// # Errors
/// The errors of the peer.
pub fn fill(peer: &dyn Peer, depth: usize) -> Result<String, Box<dyn Error>> {
    let mut folder = String::new();
    for name in FOLDERS.iter().take(depth) {
        folder = format!("{folder}/{name}");
        for number in 0..20 {
            create(peer, &format!("{folder}/other-{number}.md"), &text_of(2_000, number))?;
        }
    }
    let path = format!("{folder}/today.md");
    create_edited(peer, &path)?;
    Ok(path)
}

const FOLDERS: [&str; 3] = ["memories", "project", "notes"];
const GREEN: &str = "colour: green";
const AMBER: &str = "colour: amber";
