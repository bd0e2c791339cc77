//! Tests of calls from many threads: each is one atomic step, so none is lost and none is torn.

use std::thread;

use inmost::{MemoryTool, Session};
use serde_json::json;

use crate::store::{create, done, lines, new_tool, reader};

/// A bug of another backend: it reported 20 parallel inserts as done, and one survived.
#[test]
fn eight_threads_of_a_hundred_inserts_leave_800_lines() {
    let session = Session::in_memory().unwrap();
    let tool = MemoryTool::new(session.clone());
    create(&tool, "/memories/log", "");
    thread::scope(|scope| {
        for writer in 0..8 {
            let tool = &tool;
            scope.spawn(move || {
                for n in 0..100 {
                    let content = done(
                        tool,
                        &json!({
                            "command": "insert", "path": "/memories/log", "insert_line": 0,
                            "insert_text": format!("{writer} {n}\n"),
                        }),
                    );
                    assert_eq!(content, "The file /memories/log has been edited.");
                }
            });
        }
    });

    let mut found = lines(&reader(&session), "/memories/log");
    assert_eq!(found.len(), 800);
    // Each writer inserts at the beginning, so its own lines are in reverse order.
    for writer in 0..8 {
        let own: Vec<&str> =
            found.iter().filter_map(|line| line.strip_prefix(&format!("{writer} "))).collect();
        let expected: Vec<String> = (0..100).rev().map(|n| n.to_string()).collect();
        assert_eq!(own, expected);
    }
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 800, "a line occurs twice");
}

#[test]
fn twenty_inserts_at_once_all_survive() {
    let session = Session::in_memory().unwrap();
    create(&MemoryTool::new(session.clone()), "/memories/log", "start\n");
    thread::scope(|scope| {
        for n in 0..20 {
            let tool = MemoryTool::new(session.clone());
            scope.spawn(move || {
                done(
                    &tool,
                    &json!({
                        "command": "insert", "path": "/memories/log", "insert_line": 1,
                        "insert_text": format!("line {n}"),
                    }),
                );
            });
        }
    });
    assert_eq!(lines(&reader(&session), "/memories/log").len(), 21);
}

#[test]
fn of_many_creates_of_one_path_exactly_one_succeeds() {
    let tool = new_tool();
    let call = |n: usize| json!({"command": "create", "path": "/memories/f", "file_text": format!("{n}\n")});
    let winners: Vec<usize> = thread::scope(|scope| {
        let attempts: Vec<_> = (0..8)
            .map(|n| {
                let (tool, call) = (&tool, call(n).to_string());
                scope.spawn(move || (n, tool.try_run_json(&call).unwrap()))
            })
            .collect();
        attempts
            .into_iter()
            .map(|attempt| attempt.join().unwrap())
            .filter(|(_, result)| !result.is_error())
            .map(|(n, _)| n)
            .collect()
    });
    assert_eq!(winners.len(), 1);
    assert_eq!(lines(&tool, "/memories/f"), [winners[0].to_string()]);
}

/// A rename is one step: a folder that is moved back and forth is always seen complete, in one of two places.
#[test]
fn a_moving_folder_is_never_seen_in_halves() {
    let tool = new_tool();
    create(&tool, "/memories/a/f", "f\n");
    create(&tool, "/memories/a/g/h", "h\n");
    let listing = |name: &str| {
        format!(
            "Here're the files and directories up to 2 levels deep in /memories, excluding hidden \
             items and node_modules:\n4B\t/memories\n4B\t/memories/{name}/\n2B\t/memories/{name}/f\
             \n2B\t/memories/{name}/g/"
        )
    };
    let places = [listing("a"), listing("b")];
    thread::scope(|scope| {
        let mover = scope.spawn(|| {
            for (from, to) in [("a", "b"), ("b", "a")].into_iter().cycle().take(200) {
                done(
                    &tool,
                    &json!({
                        "command": "rename",
                        "old_path": format!("/memories/{from}"),
                        "new_path": format!("/memories/{to}"),
                    }),
                );
            }
        });
        while !mover.is_finished() {
            let seen = done(&tool, &json!({"command": "view", "path": "/memories"}));
            assert!(places.contains(&seen), "{seen}");
        }
    });
}
