//! Tests of a tool that is confined to a folder, next to other tools on the same store. The transcripts test
//! that it returns the same results as any other tool. These tests cover its surroundings.

use inmost::{FileError, MemoryTool, Session, SessionOptions, StoreError, ToolOptions};
use inmost_testing::for_all;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::store::{create, done, refused};

const LISTING: &str = "Here're the files and directories up to 2 levels deep in /memories, \
                       excluding hidden items and node_modules:\n";

fn confined(session: &Session, folder: &str) -> MemoryTool {
    MemoryTool::with_options(session.clone(), ToolOptions::new().subtree(folder).unwrap())
}

fn view(tool: &MemoryTool) -> String {
    done(tool, &json!({"command": "view", "path": "/memories"}))
}

fn read(session: &Session, path: &str) -> String {
    session.files().read(path).unwrap().as_str().to_owned()
}

/// Returns every command with this path in each place that takes a path.
fn calls(path: &str) -> [Value; 7] {
    [
        json!({"command": "view", "path": path}),
        json!({"command": "create", "path": path, "file_text": "x"}),
        json!({"command": "str_replace", "path": path, "old_str": "outside", "new_str": "x"}),
        json!({"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"}),
        json!({"command": "delete", "path": path}),
        json!({"command": "rename", "old_path": path, "new_path": "/memories/here"}),
        json!({"command": "rename", "old_path": "/memories/own", "new_path": path}),
    ]
}

#[test]
fn no_form_of_a_path_leads_out_of_a_subtree() {
    let session = Session::in_memory().unwrap();
    for path in ["/memories/secret", "/memories/a/secret", "/memories/a/bc/secret", "/memories/é"]
    {
        session.files().write(path, "outside").unwrap();
    }
    session.files().write("/memories/a/b/own", "inside").unwrap();
    let tool = confined(&session, "/memories/a/b");
    let before = session.status().unwrap();
    for way in [
        "/memories/../secret",
        "/memories/../../secret",
        "/memories/own/../../secret",
        "/memories/./../secret",
        "/memories/%2e%2e/secret",
        "/memories/%2E%2e%2fsecret",
        "/memories/%252e%252e/secret",
        "/memories/..%2fsecret",
        "/memories/..%5csecret",
        "/memories/..\\secret",
        "/memories/%c0%ae%c0%ae/secret",
        "/memories//../secret",
        "/memories/\u{0}/../secret",
        "/memoriessecret",
        "/memories/\u{2024}\u{2024}/secret",
        "/memories/\u{FF0E}\u{FF0E}/secret",
        "/memories/~/secret",
        "/memories/a/b/secret",
        "/memories/memories/secret",
        "/memories/secret",
        "/memories/../../memories/secret",
        "/memories/bc/secret",
        "/memories/e\u{301}",
        "/secret",
        "secret",
        "../secret",
        "/",
        "",
        "/memories\u{0}/secret",
    ] {
        for call in calls(way) {
            let result = tool.try_run_json(call.to_string()).unwrap();
            assert!(!result.content().contains("outside"), "{call}: {}", result.content());
            for name in ["secret", "a/secret", "a/bc/secret", "é"] {
                assert_eq!(read(&session, &format!("/memories/{name}")), "outside", "{call}");
            }
            // Removes everything that the calls made inside; they may have left nothing.
            session.files().remove("/memories/a/b").unwrap_or_default();
            session.files().write("/memories/a/b/own", "inside").unwrap();
            let now = session.status().unwrap();
            assert_eq!((now.files, now.bytes), (before.files, before.bytes), "{call}");
        }
    }
}

#[test]
fn two_tools_on_two_folders_do_not_see_each_other() {
    let session = Session::in_memory().unwrap();
    let (one, other) = (confined(&session, "/memories/x"), confined(&session, "/memories/xy"));
    create(&one, "/memories/f", "of one");
    create(&other, "/memories/f", "of another, longer");
    create(&other, "/memories/g/h", "more");
    assert_eq!(view(&one), format!("{LISTING}6B\t/memories\n6B\t/memories/f"));
    assert_eq!(
        view(&other),
        format!("{LISTING}22B\t/memories\n18B\t/memories/f\n4B\t/memories/g/\n4B\t/memories/g/h")
    );
    let moved = json!({"command": "rename", "old_path": "/memories/g", "new_path": "/memories/x"});
    assert_eq!(done(&other, &moved), "Successfully renamed /memories/g to /memories/x");
    assert_eq!(view(&one), format!("{LISTING}6B\t/memories\n6B\t/memories/f"));
    assert_eq!(read(&session, "/memories/xy/x/h"), "more");
    done(&one, &json!({"command": "delete", "path": "/memories/f"}));
    assert_eq!(view(&one), format!("{LISTING}0B\t/memories"));
    assert_eq!(read(&session, "/memories/xy/f"), "of another, longer");
}

#[test]
fn a_missing_folder_is_an_empty_root() {
    let session = Session::in_memory().unwrap();
    let tool = confined(&session, "/memories/new/er/");
    assert_eq!(view(&tool), format!("{LISTING}0B\t/memories"));
    for (call, told) in [
        (
            json!({"command": "view", "path": "/memories/a"}),
            "The path /memories/a does not exist. Please provide a valid path.",
        ),
        (
            json!({"command": "create", "path": "/memories", "file_text": ""}),
            "Error: File /memories already exists",
        ),
        (
            json!({"command": "insert", "path": "/memories", "insert_line": 0, "insert_text": ""}),
            "Error: The path /memories does not exist",
        ),
        (
            json!({"command": "delete", "path": "/memories/"}),
            "Error: Cannot delete the /memories directory itself",
        ),
        (
            json!({"command": "rename", "old_path": "/memories", "new_path": "/memories/a"}),
            "Error: Cannot rename the /memories directory itself",
        ),
        (
            json!({"command": "rename", "old_path": "/memories/a", "new_path": "/memories"}),
            "Error: The path /memories/a does not exist",
        ),
    ] {
        assert_eq!(refused(&tool, &call), told, "{call}");
    }
    assert_eq!(session.status().unwrap().files, 0);
    create(&tool, "/memories/a", "1");
    assert_eq!(read(&session, "/memories/new/er/a"), "1");
    done(&tool, &json!({"command": "delete", "path": "/memories/a"}));
    assert!(session.files().list("/memories").unwrap().is_empty());
    assert_eq!(view(&tool), format!("{LISTING}0B\t/memories"));
}

#[test]
fn others_may_move_the_folder_away_and_back() {
    let session = Session::in_memory().unwrap();
    let tool = confined(&session, "/memories/p");
    create(&tool, "/memories/a", "1\n");
    session.files().rename("/memories/p", "/memories/old").unwrap();
    assert_eq!(view(&tool), format!("{LISTING}0B\t/memories"));
    let edit =
        json!({"command": "insert", "path": "/memories/a", "insert_line": 1, "insert_text": "2"});
    assert_eq!(refused(&tool, &edit), "Error: The path /memories/a does not exist");
    session.files().rename("/memories/old", "/memories/p").unwrap();
    done(&tool, &edit);
    session.files().remove("/memories/p").unwrap();
    create(&tool, "/memories/b", "anew");
    assert_eq!(read(&session, "/memories/p/b"), "anew");
}

#[test]
fn a_file_in_place_of_the_folder_is_an_error_for_the_application() {
    for (folder, file) in [("/memories/p", "/memories/p"), ("/memories/p/q/r", "/memories/p/q")] {
        let session = Session::in_memory().unwrap();
        let tool = confined(&session, folder);
        session.files().write(file, "outside").unwrap();
        for path in ["/memories", "/memories/own", "/memories/a/b"] {
            for call in calls(path) {
                let Err(error) = tool.try_run_json(call.to_string()) else {
                    panic!("{call} returned a result")
                };
                assert!(matches!(error, StoreError::SubtreeIsFile), "{call}: {error}");
                assert_eq!(error.for_model().content(), "Error: Memory is unavailable.");
            }
        }
        assert_eq!(read(&session, file), "outside");
        session.files().remove(file).unwrap();
        create(&tool, "/memories/own", "");
    }
}

#[test]
fn a_parent_that_is_a_file_is_named_by_the_models_path() {
    let session = Session::in_memory().unwrap();
    let tool = confined(&session, "/memories/p/q");
    create(&tool, "/memories/a/f", "");
    let below = json!({"command": "create", "path": "/memories/a/f/g/h", "file_text": ""});
    assert_eq!(refused(&tool, &below), "Error: /memories/a/f is a file, not a directory");
}

#[test]
fn a_full_store_does_not_reveal_its_limit_to_a_subtree() {
    for (options, more) in [
        (SessionOptions::new().max_files(3), ""),
        (SessionOptions::new().max_store_bytes(20), "123456789"),
    ] {
        let session = options.in_memory().unwrap();
        session.files().write("/memories/other/a", "1234567890").unwrap();
        session.files().write("/memories/other/b", "1").unwrap();
        let tool = confined(&session, "/memories/p");
        create(&tool, "/memories/f", more);
        let call = json!({"command": "create", "path": "/memories/g", "file_text": "1"});
        assert_eq!(refused(&tool, &call), "Error: Memory is full: there is no room left");
        assert!(refused(&MemoryTool::new(session), &call).contains("it may hold at most"));
    }
}

/// Everything that a confined tool creates can be reached from the whole store.
#[test]
fn limits_hold_for_the_path_in_the_store() {
    let session = Session::in_memory().unwrap();
    let tool = confined(&session, "/memories/pq/r"); // five bytes and two names
    let names = ["a", "b", "c"].map(|name| name.repeat(255)).join("/");
    let path = |last: usize| format!("/memories/{names}/{}", "d".repeat(last));
    let call = |path: &str| json!({"command": "create", "path": path, "file_text": ""});
    assert_eq!(
        refused(&tool, &call(&path(242))),
        format!("Error: Invalid path {}: it is longer than 1019 bytes", path(242))
    );
    create(&tool, &path(241), "");
    let below = path(241).replace("/memories", "/memories/pq/r");
    assert_eq!((below.len(), read(&session, &below)), (1_024, String::new()));

    let deep = |depth: usize| format!("/memories{}", "/s".repeat(depth));
    assert_eq!(
        refused(&tool, &call(&deep(19))),
        format!("Error: Invalid path {}: it is more than 18 levels below /memories", deep(19))
    );
    create(&tool, &deep(18), "");
    let rename =
        |old: &str, new: &str| json!({"command": "rename", "old_path": old, "new_path": new});
    assert_eq!(
        refused(&tool, &rename("/memories/s", "/memories/t/s")),
        "Error: Invalid path /memories/t/s: it is more than 18 levels below /memories"
    );
    let name = "a".repeat(255);
    assert_eq!(
        refused(&tool, &rename(&format!("/memories/{name}"), &format!("/memories/x/{name}"))),
        format!("Error: Invalid path /memories/x/{name}: it is longer than 1019 bytes")
    );
}

#[test]
fn a_subtree_is_named_by_a_path_of_the_store() {
    let session = Session::in_memory().unwrap();
    for folder in ["", "project-x", "/project-x", "/memories/..", "/memories/a\u{0}"] {
        let refused = ToolOptions::new().subtree(folder);
        assert!(matches!(refused, Err(FileError::InvalidPath(_))), "{folder:?}");
    }
    let whole = confined(&session, "/memories//");
    create(&whole, "/memories/f", "");
    assert_eq!(read(&session, "/memories/f"), "");
}

fn path() -> impl Strategy<Value = String> {
    const NAMES: &[&str] =
        &["a", "b", "c", ".h", "node_modules", "é", "e\u{301}", "..", "%2e%2e", "own", "p"];
    vec(select(NAMES), 0..4).prop_map(|names| {
        names.iter().fold("/memories".to_owned(), |path, name| format!("{path}/{name}"))
    })
}

fn call() -> impl Strategy<Value = Value> {
    const TEXTS: &[&str] = &["", "a", "a\n", "b\nc", "a\nb\nc\n", "é"];
    let text = || select(TEXTS);
    prop_oneof![
        2 => path().prop_map(|path| json!({"command": "view", "path": path})),
        4 => (path(), text()).prop_map(
            |(path, text)| json!({"command": "create", "path": path, "file_text": text})
        ),
        1 => (path(), text(), text()).prop_map(|(path, old, new)| {
            json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new})
        }),
        1 => (path(), 0..3, text()).prop_map(|(path, line, text)| {
            json!({"command": "insert", "path": path, "insert_line": line, "insert_text": text})
        }),
        1 => path().prop_map(|path| json!({"command": "delete", "path": path})),
        2 => (path(), path()).prop_map(
            |(old, new)| json!({"command": "rename", "old_path": old, "new_path": new})
        ),
    ]
}

#[test]
fn random_calls_return_the_same_as_in_the_whole_store() {
    for_all(200, &vec(call(), 0..40), |calls| {
        let whole = MemoryTool::new(Session::in_memory().unwrap());
        let session = Session::in_memory().unwrap();
        session.files().write("/memories/p/own", "outside").unwrap();
        session.files().write("/memories/a/b", "outside").unwrap();
        let tool = confined(&session, "/memories/p/p");
        for call in calls {
            let (expected, told) =
                (whole.try_run_json(call.to_string()), tool.try_run_json(call.to_string()));
            let (expected, told) = (expected.unwrap(), told.unwrap());
            prop_assert_eq!(told.content(), expected.content(), "{}", call);
            prop_assert_eq!(told.is_error(), expected.is_error());
        }
        prop_assert_eq!(read(&session, "/memories/p/own"), "outside");
        prop_assert_eq!(read(&session, "/memories/a/b"), "outside");
        Ok(())
    });
}
