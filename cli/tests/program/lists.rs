//! Lists of paths, patterns, special files, and completion while the key daemon does not reply.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::inmost::{Place, run};

#[test]
fn a_path_that_is_given_twice_counts_once() {
    let place = Place::with_files(&[("/memories/a", "1"), ("/memories/d/f", "2")]);
    place.run(["mv", "a", "a", "d/f", "to/"], "").expect(0);
    assert_eq!(place.cat("to/a") + &place.cat("to/f"), "12");
    // Regression: both were deleted, and then the second one was not found.
    place.run(["rm", "to/a", "to/a"], "").expect(0);
    place.run(["rm", "-r", "to", "to/f"], "").expect(0);
    assert_eq!(place.run(["ls"], "").expect(0).out.matches("to").count(), 0);
}

#[test]
fn a_list_is_moved_as_a_whole_or_not_at_all() {
    let place = Place::with_files(&[
        ("/memories/a", "1"),
        ("/memories/b/a", "2"),
        ("/memories/b/c", "3"),
        ("/memories/to/c", "4"),
        ("/memories/z", "5"),
    ]);
    let before = place.run(["ls", "--json"], "").expect(0).out;
    for (list, code, what) in [
        (&["a", "none", "to"][..], 19, "at /memories/none."),
        (&["a", "b/c", "to"], 1, "at /memories/to/c."),
        (&["a", "b/a", "to"], 2, "would both become /memories/to/a."),
        (&["b", "b/a", "new/"], 2, "/memories/b/a is in /memories/b"),
        (&["z", "b", "b"], 1, "/memories/b cannot be moved into itself, to /memories/b/b."),
        (&["z", "to/c", "to"], 1, "/memories/to/c has this path already."),
    ] {
        let refused = place.run(["mv"].iter().chain(list), "").expect_failure(code, what);
        assert!(refused.err.contains("Nothing was moved."), "{refused:?}");
        assert_eq!(place.run(["ls", "--json"], "").expect(0).out, before, "{list:?}");
    }
}

#[test]
fn a_folder_that_is_moved_into_itself_is_named() {
    let place = Place::with_files(&[("/memories/a/b", "1")]);
    for (new, path) in [("a/c", "a/c"), ("a/b/c", "a/b/c"), ("a/", "a/a")] {
        let message = format!("/memories/a cannot be moved into itself, to /memories/{path}.");
        place.run(["mv", "a", new], "").expect_failure(1, &message);
    }
}

#[test]
fn a_pattern_as_a_path_is_explained() {
    let place = Place::with_files(&[("/memories/a.md", "1")]);
    for command in ["cat", "ls", "rm"] {
        let refused = place.run([command, "*.md"], "").expect_failure(19, "at /memories/*.md.");
        assert!(refused.err.contains("Only `grep` takes patterns"), "{refused:?}");
    }
    let refused = place.run(["cat", "b.md"], "").expect_failure(19, "at /memories/b.md.");
    assert!(!refused.err.contains("patterns"), "{refused:?}");
}

#[test]
fn a_pipe_and_a_link_to_a_file_are_not_imported() {
    let place = Place::with_store();
    let (pipe, link, file) = (place.beside("pipe"), place.beside("link"), place.beside("file"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::write(&file, "x").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let import = |path: &std::path::Path| place.run(["import".as_ref(), path.as_os_str()], "");
    import(&pipe).expect_failure(2, "pipe is a special file");
    import(&link).expect_failure(2, "link is a link to a file");
}

#[test]
fn a_key_daemon_of_another_runtime_folder_is_explained() {
    let (place, other) = (Place::with_files(&[("/memories/a", "1")]), Place::vacant());
    place.unlock(&[]);
    let mut command = place.command(["ls", "--wait", "0"]);
    let refused = run(command.env("XDG_RUNTIME_DIR", other.runtime()), b"");
    let refused = refused.expect_failure(13, "is in use by the key daemon, process");
    assert!(refused.err.contains("use its XDG_RUNTIME_DIR"), "{refused:?}");
}

#[test]
fn completion_does_not_wait_for_a_key_daemon_that_does_not_reply() {
    let place = Place::with_files(&[("/memories/people/ada", "1")]);
    let daemon = place.unlock(&[]).to_string();
    let complete = || {
        let store = format!("'{}'", place.store().display());
        let mut command = place.bare_command(["--", "inmost", "--store", &store, "cat", "peo"]);
        command.env("INMOST_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", "4");
        run(command.env("_CLAP_IFS", "\n"), b"").expect(0).out
    };
    assert_eq!(complete().trim_end(), "people/");
    let signal = |name: &str| {
        assert!(Command::new("kill").args([name, &daemon]).status().unwrap().success());
    };
    signal("-STOP");
    let start = Instant::now();
    let (completed, elapsed) = (complete(), start.elapsed());
    signal("-CONT");
    assert_eq!(completed.trim_end(), "");
    // It waits for 1 s; connecting alone can wait for 60 s.
    assert!(elapsed < Duration::from_secs(30), "{elapsed:?}");
}
