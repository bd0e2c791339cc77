//! `inmost unlock` and the key daemon that it starts.

mod isolation;
mod keeping;
mod keys_stay;
mod lifetime;
mod strangers;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::inmost::{Ended, PATIENCE, Place, create, run};

const LOCKED: &str = "Error: Memory is locked. The user can unlock it with `inmost unlock`.";

const VIEW: &str = r#"{"command": "view", "path": "/memories"}"#;

/// The program without a passphrase, and without a terminal to ask for it.
fn without_passphrase(place: &Place, args: &[&str]) -> Command {
    let program = place.bare_command(args);
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(program.get_program()).args(program.get_args());
    command.arg("--store").arg(place.store()).current_dir(place.beside(""));
    command.env_remove("INMOST_PASSPHRASE").env("XDG_RUNTIME_DIR", place.runtime());
    command
}

fn ask(place: &Place, args: &[&str], input: &str) -> Ended {
    run(&mut without_passphrase(place, args), input.as_bytes())
}

/// Whether the process has ended. Its zombie entry may remain if its parent does not wait for it.
fn is_gone(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The first thread becomes a zombie before the other threads, and the sockets, are gone.
    let threads = fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count);
    stat.is_empty() || (stat.contains(") Z ") && threads <= 1)
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn signal(process: u32, name: &str) {
    assert!(Command::new("kill").args([name, &process.to_string()]).status().unwrap().success());
}

fn socket(place: &Place) -> PathBuf {
    let mut sockets = fs::read_dir(place.runtime().join("inmost")).unwrap();
    sockets.next().unwrap().unwrap().path()
}

#[test]
fn commands_need_no_passphrase_while_it_is_unlocked() {
    let place = Place::with_files(&[("/memories/a", "kept")]);
    ask(&place, &["cat", "/memories/a"], "").expect_failure(18, " is locked: no passphrase");
    ask(&place, &["call"], VIEW).expect_failure(18, " is locked: no passphrase");
    let daemon = place.unlock(&[]);
    assert_eq!(ask(&place, &["cat", "/memories/a"], "").expect(0).out, "kept");
    ask(&place, &["write", "/memories/b"], "text").expect(0);
    let answer = ask(&place, &["call"], VIEW).expect(0).out;
    assert!(answer.contains("/memories/b"), "{answer}");
    for args in [&["check"][..], &["purge"], &["slot", "list"], &["backup", "copy"]] {
        ask(&place, args, "").expect(0);
    }
    assert!(
        place.beside("copy/backup-0000000000000001").exists(),
        "the backup is where the command was run"
    );

    let out = ask(&place, &["lock"], "").expect(0).out;
    assert!(out.starts_with("Locked"), "{out}");
    wait_until("the keys went with their process", || is_gone(daemon));
    assert_eq!(fs::read_dir(place.runtime().join("inmost")).unwrap().count(), 0);
    ask(&place, &["cat", "/memories/a"], "").expect_failure(18, " is locked: no passphrase");
    assert_eq!(place.cat("/memories/b"), "text");
    let out = ask(&place, &["lock"], "").expect(0).out;
    assert!(out.contains("was not unlocked"), "{out}");
}

#[test]
fn lock_reports_a_daemon_that_it_cannot_reach() {
    let place = Place::with_store();
    let daemon = place.unlock(&[]);
    let elsewhere = tempfile::tempdir().unwrap();
    let mut lock = place.command(["lock"]);
    lock.env("XDG_RUNTIME_DIR", elsewhere.path());
    run(&mut lock, b"").expect_failure(13, &format!("Process {daemon} holds the store"));
    assert!(ask(&place, &["lock"], "").expect(0).out.starts_with("Locked"));
}

#[test]
fn a_wrong_passphrase_unlocks_nothing() {
    let place = Place::with_store();
    let mut unlock = place.command(["unlock"]);
    run(unlock.env("INMOST_PASSPHRASE", "wrong"), b"").expect_failure(11, "passphrase is wrong");
    assert_eq!(place.daemon(), None);
    assert_eq!(fs::read_dir(place.runtime().join("inmost")).unwrap().count(), 0);
    let vacant = Place::vacant();
    vacant.run(["unlock"], "").expect_failure(10, "There is no store at ");
    vacant.run(["lock"], "").expect_failure(10, "There is no store at ");
    place.run(["unlock", "--idle", "soon"], "").expect_failure(2, "a number with s, m, h or d");
}

#[test]
fn status_shows_the_daemon_and_the_protections() {
    let place = Place::with_store();
    let protections = "other processes of the user cannot read its memory";
    let out = place.run(["status"], "").expect(0).out;
    assert!(out.contains("key daemon  none"), "{out}");
    assert!(out.contains(protections) && out.contains("writes no core dump"), "{out}");
    let daemon = place.unlock(&["--idle", "10m", "--for", "2h"]);
    let mut talk = Talk::with(&place);
    talk.ask(VIEW);
    let out = ask(&place, &["status"], "").expect(0).out;
    assert!(out.contains(&format!("process {daemon} holds the store unlocked")), "{out}");
    assert!(out.contains("9 min ") && out.contains("1 h 59 min at the latest"), "{out}");
    assert!(out.contains(&format!("1 other process: {}", talk.child.id())), "{out}");
    assert!(out.contains(protections) && out.contains("writes no core dump"), "{out}");
    talk.end().expect(0);
}

#[test]
fn leftovers_of_a_killed_daemon_do_not_block_the_next() {
    let place = Place::with_files(&[("/memories/a", "kept")]);
    let first = place.unlock(&[]);
    let mut talk = Talk::with(&place);
    talk.ask(&create("/memories/b", "acknowledged"));
    signal(first, "-KILL");
    wait_until("it is gone", || is_gone(first));
    assert!(socket(&place).exists());
    assert_eq!(talk.ask(VIEW)["content"], LOCKED);
    // The call was not sent, or its result is unknown.
    let code = talk.end().code;
    assert!(matches!(code, Some(14 | 18)), "{code:?}");
    assert_eq!(place.cat("/memories/b"), "acknowledged");
    ask(&place, &["ls"], "").expect_failure(18, " is locked: no passphrase");
    let second = place.unlock(&[]);
    assert_ne!(first, second);
    assert_eq!(ask(&place, &["cat", "/memories/a"], "").expect(0).out, "kept");
}

#[test]
fn twenty_clients_at_once_lose_no_edit_and_meet_no_store_in_use() {
    let place = Place::with_files(&[("/memories/log", "start\n")]);
    place.unlock(&[]);
    let all: Vec<_> = (0..20)
        .map(|client| {
            let insert = |n| {
                let text = format!("client {client} edit {n}");
                let call = json!({
                    "command": "insert", "path": "/memories/log", "insert_line": 1, "insert_text": text,
                });
                call.to_string() + "\n"
            };
            let calls: String = (0..10).map(insert).collect();
            let mut command = without_passphrase(&place, &["call", "--text"]);
            thread::spawn(move || run(&mut command, calls.as_bytes()))
        })
        .collect();
    for client in all {
        let out = client.join().unwrap().expect(0).out;
        assert_eq!(out, "The file /memories/log has been edited.\n".repeat(10));
    }
    let text = place.cat("/memories/log");
    let mut lines: Vec<_> = text.lines().skip(1).collect();
    lines.sort_unstable();
    let mut expected: Vec<_> =
        (0..200).map(|n| format!("client {} edit {}", n / 10, n % 10)).collect();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

#[test]
fn of_concurrent_unlocks_one_succeeds_and_the_others_find_its_daemon() {
    let place = Place::with_store();
    let outs: Vec<_> = thread::scope(|scope| {
        let all: Vec<_> =
            (0..4).map(|_| scope.spawn(|| place.run(["unlock"], "").expect(0).out)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let first = outs.iter().filter(|out| out.starts_with("Unlocked. ")).count();
    let others = outs.iter().filter(|out| out.contains("Already unlocked by process")).count();
    assert_eq!((first, others), (1, 3), "{outs:?}");
    assert!(place.daemon().is_some());
}

#[test]
fn in_the_foreground_it_runs_in_the_same_process() {
    let place = Place::with_store();
    let mut child = place
        .command(["unlock", "--foreground"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("Unlocked. "), "{line}");
    assert_eq!(place.daemon(), Some(child.id()));
    signal(child.id(), "-TERM");
    assert!(child.wait().unwrap().success());
}

#[test]
fn commands_that_must_hold_the_store_ask_to_lock_it_first() {
    let place = Place::with_files(&[("/memories/a", "kept")]);
    let daemon = place.unlock(&[]);
    for args in [
        &["salvage", "--to", "saved"][..],
        &["accept-rollback"],
        &["destroy", "--yes"],
        &["check", "--isolated"],
    ] {
        let ended =
            place.run(args, "").expect_failure(13, &format!("key daemon, process {daemon}"));
        assert!(ended.err.contains("inmost lock"), "{ended:?}");
    }
    assert_eq!(place.cat("/memories/a"), "kept");
}

#[test]
fn keyslots_are_changed_through_it_and_it_goes_on() {
    let place = Place::with_files(&[("/memories/a", "kept")]);
    let daemon = place.unlock(&[]);
    fs::write(place.beside("new"), "battery staple\n").unwrap();
    let new = ["--new-passphrase-file", "new", "--kdf-memory-mib", "19", "--kdf-passes", "2"];
    ask(&place, &[&["passwd"], &new[..]].concat(), "").expect(0);
    ask(&place, &["slot", "add", "--recovery-key", "--label", "safe"], "").expect(0);
    assert_eq!(ask(&place, &["slot", "list"], "").expect(0).out.lines().count(), 2);
    // The credential to keep must be given: the daemon has no passphrase.
    ask(&place, &["rotate"], "").expect_failure(2, "No passphrase was given");
    place.run(["rotate"], "").expect_failure(2, "needs a confirmation");
    place.run(["rotate", "--yes"], "").expect_failure(11, "passphrase is wrong");
    let out = ask(&place, &["rotate", "--yes", "--passphrase-file", "new"], "").expect(0).out;
    assert!(out.contains("recovery key  safe"), "{out}");
    assert_eq!(place.daemon(), Some(daemon));
    assert_eq!(ask(&place, &["cat", "/memories/a"], "").expect(0).out, "kept");
    place.lock();
    place.run(["ls"], "").expect(11);
    ask(&place, &["ls", "--passphrase-file", "new"], "").expect(0);
}

#[test]
fn an_anchor_that_it_was_not_unlocked_with_is_refused() {
    let place = Place::with_store();
    place.unlock(&[]);
    place.run(["ls", "--anchor", "newest"], "").expect_failure(2, "without this anchor");
    place.lock();
    fs::create_dir(place.beside("folder")).unwrap();
    let ended = place.run(["unlock", "--anchor", "folder"], "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.starts_with("inmost: warning: The anchor file"), "{ended:?}");
    place.lock();
    // Creates the anchor and prints the warning once.
    place.run(["ls", "--anchor", "newest"], "");
    place.unlock(&["--anchor", "newest"]);
    place.run(["write", "/memories/a", "--anchor", "newest"], "text").expect(0);
    place.run(["cat", "/memories/a", "--anchor", "folder/../newest"], "").expect(0);
    let view = r#"{"command": "view", "path": "/memories/a"}"#;
    let out = place.run(["call", "--read-only", "--require-fresh"], view).expect(0).out;
    assert!(out.contains("text"), "{out}");
    place.lock();
    place.run(["ls", "--anchor", "newest"], "").expect(0);
}

#[test]
fn another_store_at_the_same_path_is_not_taken_for_the_unlocked_one() {
    let place = Place::with_files(&[("/memories/a", "of the first")]);
    let daemon = place.unlock(&[]);
    fs::rename(place.store(), place.beside("moved")).unwrap();
    let init = ["init", "--kdf-memory-mib", "19", "--kdf-passes", "2"];
    place.run(init, "").expect(0);
    // Its user is told once that the files were moved away under it.
    place.run(["ls"], "").expect_failure(14, "the folder of the store was replaced");
    wait_until("a daemon that no client can find any more ends", || is_gone(daemon));
    assert_eq!(place.run(["ls"], "").expect(0).out, "");
    place.unlock(&[]);
    assert_eq!(ask(&place, &["ls"], "").expect(0).out, "");
}

#[test]
fn the_hidden_command_is_for_the_program_alone() {
    let place = Place::with_store();
    run(&mut place.bare_command(["keyd"]), b"{}")
        .expect_failure(2, "only the program itself runs it");
    let help = run(&mut place.bare_command(["--help"]), b"").expect(0).out;
    assert!(!help.contains("\n  keyd"), "{help}");
}

/// A running `inmost call` without a passphrase.
struct Talk {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Talk {
    fn with(place: &Place) -> Self {
        Self::of(place, &[])
    }

    fn of(place: &Place, args: &[&str]) -> Self {
        let mut command = place.bare_command([&["call"], args, &["--store"]].concat());
        command.arg(place.store()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, answers }
    }

    fn send(&mut self, call: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        // The program may have ended.
        let _ = writeln!(stdin, "{}", call.trim_end());
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn ask(&mut self, call: &str) -> Value {
        self.send(call);
        self.receive()
    }

    fn end(mut self) -> Ended {
        drop(self.child.stdin.take());
        Ended::of(self.child.wait_with_output().unwrap())
    }
}
