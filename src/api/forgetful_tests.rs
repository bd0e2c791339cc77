//! Tests of a memory tool whose changes forget what was before them: of the tool alone, beside others, and in the bare files.

use serde_json::json;

use super::MemoryTool;
use crate::session::tests::store::TestStore;
use crate::session::{Session, StoreError};
use crate::tool::ToolOptions;
use crate::vfs::FileError;
use crate::vfs::edit::insert;
use crate::vfs::tests::forgotten::{NEEDLE, Store};
use crate::vfs::tests::model::parse;
use crate::vfs::tests::versions::{assert_whole, change, keeping, keeps, log};
use crate::vfs::{VersionChannel, VersionKind};
use inmost_format::record::Kind;
use inmost_format::record::plain::Random;

fn forgetful(session: &Session) -> MemoryTool {
    MemoryTool::with_options(
        session.clone(),
        ToolOptions::new().delete_forgets(true).create_overwrites(true),
    )
}

fn run(tool: &MemoryTool, call: &serde_json::Value) {
    let result = tool.try_run_json(call.to_string()).unwrap();
    assert!(!result.is_error(), "{call}: {}", result.content());
}

/// Every kind of change, after which no file has the needle.
fn work(tool: &MemoryTool) {
    let long = |text: &str| text.repeat(3_000);
    for (path, text) in [("a", NEEDLE), ("b", NEEDLE), ("d/c", NEEDLE), ("d/e/f", NEEDLE)] {
        let path = format!("/memories/{path}.md");
        run(tool, &json!({"command": "create", "path": path, "file_text": format!("{text} 0\n")}));
        for number in 1..4 {
            let line = format!("{text} {number}\n");
            run(
                tool,
                &json!({"command": "insert", "path": path, "insert_line": 1, "insert_text": line}),
            );
            let new = format!("other {number}\n");
            run(
                tool,
                &json!({"command": "str_replace", "path": path, "old_str": line, "new_str": new}),
            );
        }
    }
    let rope = "/memories/rope.md";
    let text = long(&format!("{NEEDLE}\n"));
    run(tool, &json!({"command": "create", "path": rope, "file_text": text}));
    run(
        tool,
        &json!({"command": "insert", "path": rope, "insert_line": 700, "insert_text": "more\n"}),
    );
    run(
        tool,
        &json!({"command": "insert", "path": rope, "insert_line": 9, "insert_text": long("much\n")}),
    );
    run(tool, &json!({"command": "create", "path": rope, "file_text": "short\n"}));
    run(tool, &json!({"command": "create", "path": "/memories/a.md", "file_text": "a\n"}));
    run(
        tool,
        &json!({"command": "rename", "old_path": "/memories/b.md", "new_path": "/memories/g.md"}),
    );
    run(tool, &json!({"command": "delete", "path": "/memories/g.md"}));
    run(tool, &json!({"command": "delete", "path": "/memories/d"}));
}

#[test]
fn nothing_that_a_forgetful_tool_ended_is_found_in_the_files_after_a_compaction() {
    let store = Store::new();
    let tool = forgetful(&store.session);
    work(&tool);
    let versions = log(&store.session);
    assert!(
        versions.iter().all(|version| version.channel == VersionChannel::Tool
            || version.kind == VersionKind::Forgotten)
    );
    // What was deleted has no entry any more. What was edited has one, without a text.
    let of = |path: &str| {
        let has = |version: &&crate::vfs::VersionInfo| {
            version.path.as_ref().is_some_and(|found| found.as_str() == path)
        };
        versions.iter().filter(has).count()
    };
    assert_eq!([of("/memories/g.md"), of("/memories/d/c.md"), of("/memories/d")], [0, 0, 0]);
    assert_eq!([of("/memories/a.md"), of("/memories/rope.md")], [1, 1]);
    assert_eq!(store.session.history().status().unwrap().bytes, 0);
    assert_whole(&store.session, "after the tool's work");
    store.session.compact().unwrap();
    let (records, found) = store.scan();
    assert!(records > 5);
    assert_eq!(found, 0, "of {records} records");
}

#[test]
fn an_ordinary_tool_leaves_the_same_work_in_the_files() {
    let store = Store::new();
    work(&MemoryTool::with_options(
        store.session.clone(),
        ToolOptions::new().create_overwrites(true),
    ));
    store.session.compact().unwrap();
    assert!(store.scan().1 > 10);
}

#[test]
fn a_deletion_forgets_the_earlier_versions_that_others_made() {
    let store = Store::new();
    store.write("/memories/a.md", NEEDLE);
    store.insert("/memories/a.md", "second\n");
    store.write("/memories/a.md", "third\n");
    store.write("/memories/other.md", "stays\n");
    store.insert("/memories/other.md", "stays, too\n");
    assert_eq!(log(&store.session).len(), 5);
    run(&forgetful(&store.session), &json!({"command": "delete", "path": "/memories/a.md"}));
    let paths: Vec<_> = log(&store.session).into_iter().filter_map(|it| it.path).collect();
    assert!(paths.len() == 2 && paths.iter().all(|path| path.as_str() == "/memories/other.md"));
    store.session.compact().unwrap();
    assert_eq!(store.scan().1, 0);
}

#[test]
fn a_deletion_in_a_subtree_forgets_there_and_nowhere_else() {
    let session = keeping();
    let files = session.files();
    for path in ["/memories/x/a.md", "/memories/a.md"] {
        files.write(path, "one\n").unwrap();
        files.write(path, "two\n").unwrap();
    }
    let options = ToolOptions::new().delete_forgets(true).subtree("/memories/x").unwrap();
    let tool = MemoryTool::with_options(session.clone(), options);
    run(&tool, &json!({"command": "delete", "path": "/memories/a.md"}));
    assert!(!files.exists("/memories/x/a.md").unwrap());
    let paths: Vec<_> = log(&session).into_iter().filter_map(|it| it.path).collect();
    assert!(paths.len() == 2 && paths.iter().all(|path| path.as_str() == "/memories/a.md"));
}

#[test]
fn an_edit_forgets_every_earlier_version_of_its_file_and_no_later_one() {
    let session = keeping();
    let files = session.files();
    let long = "a line of the file\n".repeat(2_000);
    files.write("/memories/a.md", &long).unwrap();
    let created = log(&session)[0].number;
    insert(&session, &parse("/memories/a.md"), 9, "one\n").unwrap();
    let inserted = log(&session)[0].number;
    run(
        &forgetful(&session),
        &json!({
            "command": "str_replace", "path": "/memories/a.md", "old_str": "one\n", "new_str": "two\n"
        }),
    );
    files.append("/memories/a.md", "three\n").unwrap();
    let [appended, edited] = log(&session).try_into().unwrap();
    let text = |number: u64| session.history().text(number);
    assert!(matches!(text(created), Err(FileError::NoSuchVersion(_))));
    assert!(matches!(text(inserted), Err(FileError::VersionGone(_))));
    assert!(text(edited.number).unwrap().as_str().contains("two\n"));
    assert!(text(appended.number).unwrap().as_str().ends_with("three\n"));
    assert_whole(&session, "after the edits");
}

#[test]
fn a_tool_without_a_history_works_as_before() {
    let session = Session::in_memory().unwrap();
    work(&forgetful(&session));
    assert_eq!(session.status().unwrap().files, 2);
    assert_whole(&session, "without a history");
}

#[test]
fn random_changes_of_forgetful_and_other_hands_leave_a_whole_store() {
    for seed in 0..8 {
        let session = keeping();
        let mut random = Random(seed + 70);
        for step in 0..80 {
            let one = if random.below(2) == 0 { session.without_texts() } else { session.clone() };
            change(&one, &mut random, step);
            if step % 8 == 7 {
                assert_whole(&session, &format!("seed {seed}, step {step}"));
                for version in log(&session) {
                    match session.history().text(version.number) {
                        Ok(_) | Err(FileError::VersionGone(_) | FileError::IsAFolder(_)) => {}
                        Err(error) => panic!("seed {seed}, step {step}: {error}"),
                    }
                }
            }
        }
    }
}

#[test]
fn a_damaged_history_refuses_what_cannot_be_forgotten_and_nothing_else() {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    for number in 0..300 {
        // Long names, so that the history has several leaves.
        let path = format!("/memories/{}/{}", "n".repeat(240), number % 3);
        session.files().write(&path, &format!("{number}\n")).unwrap();
        insert(&session, &parse(&path), 0, "line\n").unwrap();
    }
    drop(session);
    let leaves = store.records_of(Kind::HistoryLeaf);
    assert!(leaves.len() > 5);
    for leaf in [leaves[0], leaves[leaves.len() - 2]] {
        let (store, at) = (store.duplicate(), store.address(leaf));
        store.tamper(|records| records.get_mut(&at).unwrap()[40] ^= 1);
        let session = store.unlock().unwrap();
        let tool = forgetful(&session);
        let path = |number: usize| format!("/memories/{}/{number}", "n".repeat(240));
        let mut refused = 0;
        for number in 0..3 {
            let before = session.files().read(&path(number)).unwrap();
            let call = json!({"command": "insert", "path": path(number), "insert_line": 0, "insert_text": "new\n"});
            let done = tool.try_run_json(call.to_string());
            let after = session.files().read(&path(number)).unwrap();
            match done {
                Ok(_) => assert!(after.as_str().starts_with("new\n")),
                Err(StoreError::Tampered { .. }) => {
                    assert_eq!(after, before);
                    refused += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert!(refused > 0);
        // Which versions were at the path is not known, so the file stays.
        let call = json!({"command": "delete", "path": path(1)}).to_string();
        assert!(matches!(tool.try_run_json(call), Err(StoreError::Tampered { .. })));
        assert!(session.files().exists(&path(1)).unwrap());
        // An ordinary tool goes on.
        let call = json!({"command": "delete", "path": path(1)});
        run(&MemoryTool::new(session.clone()), &call);
    }
}

#[test]
fn a_call_forgets_more_versions_than_fit_into_its_commit() {
    let store = Store::new();
    store.write("/memories/a.md", "start\n");
    for number in 0..80 {
        store.insert("/memories/a.md", &format!("{NEEDLE} {number}\n"));
    }
    store.write("/memories/a.md", "one\n");
    for number in 0..40 {
        let path = format!("/memories/folder/{NEEDLE} {number}.md");
        store.write(&path, NEEDLE);
        store.insert(&path, "line\n");
    }
    let tool = forgetful(&store.session);
    let edit = json!({"command": "str_replace", "path": "/memories/a.md", "old_str": "one", "new_str": "two"});
    run(&tool, &edit);
    run(&tool, &json!({"command": "delete", "path": "/memories/folder"}));
    // A call that changes nothing forgets nothing.
    assert!(tool.try_run_json(edit.to_string()).unwrap().is_error());
    let left: Vec<_> = log(&store.session).into_iter().filter(|it| it.path.is_some()).collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(store.session.files().read("/memories/a.md").unwrap().as_str(), "two\n");
    assert_whole(&store.session, "forgotten");
    store.session.compact().unwrap();
    assert_eq!(store.scan().1, 0);
}
