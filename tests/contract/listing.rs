//! Tests of listings that are too large for a transcript.

use inmost::MemoryTool;
use serde_json::json;

use crate::store::{create, done, new_tool};

fn view(tool: &MemoryTool) -> String {
    done(tool, &json!({"command": "view", "path": "/memories"}))
}

#[test]
fn a_listing_is_cut_after_1_000_entries_by_default() {
    let tool = new_tool();
    // 1 folder with 998 files, and 1 file next to it.
    for n in 0..998 {
        create(&tool, &format!("/memories/d/{n:04}"), "x");
    }
    create(&tool, "/memories/e", "x");
    let shown = view(&tool);
    assert_eq!(shown.lines().count(), 2 + 1_000);
    assert!(shown.ends_with("\n1B\t/memories/d/0997\n1B\t/memories/e"));

    create(&tool, "/memories/f", "x");
    let shown = view(&tool);
    assert_eq!(shown.lines().count(), 2 + 1_000 + 1);
    assert!(shown.starts_with(
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden \
         items and node_modules:\n1000B\t/memories\n998B\t/memories/d/\n1B\t/memories/d/0000\n"
    ));
    assert!(shown.ends_with(
        "\n1B\t/memories/e\n[1 more entries not shown. View a sub-directory to see them.]"
    ));

    create(&tool, "/memories/a", "x");
    create(&tool, "/memories/b", "x");
    let shown = view(&tool);
    assert!(shown.ends_with(
        "\n1B\t/memories/d/0996\n[3 more entries not shown. View a sub-directory to see them.]"
    ));
}

/// The step from megabytes to gigabytes, which the sum of a folder reaches first.
#[test]
#[ignore = "writes 1 GiB of text"]
fn a_folder_of_gigabytes_steps_up() {
    let tool = new_tool();
    let full = "x".repeat(16 << 20);
    for n in 0..63 {
        create(&tool, &format!("/memories/d/{n:02}"), &full);
    }
    assert!(view(&tool).contains("\n1008.0M\t/memories/d/\n"));
    create(&tool, "/memories/d/63", &full[1..]);
    assert!(view(&tool).contains("\n1.0G\t/memories/d/\n"), "one byte short rounds up");
    done(
        &tool,
        &json!({
            "command": "insert", "path": "/memories/d/63", "insert_line": 0, "insert_text": ""
        }),
    );
    assert!(view(&tool).contains("\n1.0G\t/memories/d/\n"));
}
