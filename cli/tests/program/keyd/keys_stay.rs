//! Which process still holds keys after each way to lock, or to lose the daemon: none, or the command failed and named it.

use super::*;

/// `inmost lock --all`, which may find these processes.
fn lock_all(place: &Place, daemon: u32) -> Command {
    let mut command = place.bare_command(["lock", "--all"]);
    command.env("INMOST_TEST_DAEMONS", daemon.to_string());
    command
}

/// What happens to a daemon before `inmost lock --all`.
type Event = fn(&Place, u32);

#[test]
fn no_process_keeps_keys_unless_a_command_that_failed_has_named_it() {
    let events: [(&str, Event); 7] = [
        ("nothing", |_, _| {}),
        ("lock", |place, _| drop(ask(place, &["lock"], "").expect(0))),
        ("killed", |_, daemon| {
            signal(daemon, "-KILL");
            wait_until("it is killed", || is_gone(daemon));
        }),
        ("socket removed", |place, _| fs::remove_file(socket(place)).unwrap()),
        ("folder removed", |place, _| fs::remove_dir_all(place.runtime().join("inmost")).unwrap()),
        ("socket replaced", |place, _| {
            let path = socket(place);
            fs::remove_file(&path).unwrap();
            fs::write(path, "").unwrap();
        }),
        ("runtime folder removed", |place, _| fs::remove_dir_all(place.runtime()).unwrap()),
    ];
    for (name, event) in events {
        let place = Place::with_store();
        let daemon = place.unlock(&[]);
        event(&place, daemon);
        let ended = run(&mut lock_all(&place, daemon), b"");
        let is_named = ended.code == Some(13) && ended.err.contains(&daemon.to_string());
        // A process whose memory is gone has no arguments any more, even if the system has not buried it yet.
        let line = fs::read(format!("/proc/{daemon}/cmdline")).unwrap_or_default();
        assert!(line.is_empty() && ended.code == Some(0) || is_named, "{name}: {ended:?}");
        // Without any command, too.
        wait_until(name, || is_gone(daemon));
    }
}

/// `unlock` by cron, after `su` or through ssh has no `XDG_RUNTIME_DIR`, and maybe another folder for temporary files.
#[test]
fn a_daemon_of_another_environment_is_locked_too() {
    let place = Place::with_store();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut unlock = place.command(["unlock"]);
    run(unlock.env_remove("XDG_RUNTIME_DIR").env("TMPDIR", elsewhere.path()), b"").expect(0);
    let mut status = place.command(["status"]);
    let status = run(status.env_remove("XDG_RUNTIME_DIR").env("TMPDIR", elsewhere.path()), b"");
    let line = status.out.lines().find(|line| line.starts_with("key daemon")).unwrap().to_owned();
    let daemon = line.split(' ').find_map(|word| word.parse().ok()).unwrap();
    assert_eq!(run(&mut lock_all(&place, daemon), b"").expect(0).out, "Locked 1 store.\n");
    wait_until("it is gone", || is_gone(daemon));
}

/// As cron and a bare ssh see it, or the other way round.
#[test]
fn a_daemon_in_the_folder_for_temporary_files_is_found() {
    let place = Place::with_files(&[("/memories/a", "kept")]);
    let temporary = tempfile::tempdir().unwrap();
    let with =
        |command: &mut Command| run(command.env("TMPDIR", temporary.path()), b"").expect(0).out;
    with(place.command(["unlock"]).env_remove("XDG_RUNTIME_DIR"));
    assert_eq!(with(&mut without_passphrase(&place, &["cat", "/memories/a"])), "kept");
    assert!(with(&mut without_passphrase(&place, &["lock"])).starts_with("Locked"));
}

/// A stick was pulled: `inmost lock` advised to create a store there.
#[test]
fn a_store_whose_folder_is_gone_is_locked() {
    let place = Place::with_store();
    let daemon = place.unlock(&[]);
    fs::rename(place.store(), place.beside("pulled")).unwrap();
    // The daemon may report that its files are gone.
    let ended = ask(&place, &["lock"], "");
    assert!(matches!(ended.code, Some(0 | 14)), "{ended:?}");
    wait_until("it is gone", || is_gone(daemon));
    let refused = ask(&place, &["lock"], "").expect_failure(10, "There is no store at ");
    assert!(refused.err.contains("--all"), "{refused:?}");
}

#[test]
fn a_daemon_that_is_stopped_is_named_in_time() {
    let place = Place::with_store();
    let daemon = place.unlock(&[]);
    signal(daemon, "-STOP");
    let start = Instant::now();
    let ended = run(&mut lock_all(&place, daemon), b"");
    let took = start.elapsed();
    signal(daemon, "-CONT");
    let ended = ended.expect_failure(13, &format!("does not respond: process {daemon}."));
    assert!(ended.err.contains("kill -CONT"), "{ended:?}");
    assert!(took < Duration::from_secs(20), "{took:?}");
    ask(&place, &["lock"], "").expect(0);
    wait_until("it is gone", || is_gone(daemon));
}

/// The path was found too long for a socket only after the passphrase was asked for.
#[test]
fn a_runtime_folder_with_a_long_path_is_passed_over() {
    use std::os::unix::fs::DirBuilderExt;

    let place = Place::with_files(&[("/memories/a", "kept")]);
    let long = place.beside(&"r".repeat(120));
    fs::DirBuilder::new().mode(0o700).create(&long).unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let with = |command: &mut Command| {
        command.env("XDG_RUNTIME_DIR", &long).env("TMPDIR", temporary.path());
        run(command, b"").expect(0).out
    };
    with(&mut place.command(["unlock"]));
    let mut cat = without_passphrase(&place, &["cat", "/memories/a"]);
    assert_eq!(with(&mut cat), "kept");
    assert!(with(&mut without_passphrase(&place, &["lock"])).starts_with("Locked"));
}

/// In a container of 64 MiB, the system kills the daemon. `unlock` said "unexpected end of file".
#[test]
fn a_daemon_that_is_killed_while_it_unlocks_is_told_from_any_other_failure() {
    let place = Place::vacant();
    // A cost that takes long enough to be interrupted.
    let init = ["init", "--kdf-memory-mib", "512", "--kdf-passes", "4"];
    place.run(init, "").expect(0);
    let mut unlock = place.command(["unlock"]);
    let child = unlock.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let is_daemon = |process: &u32| {
        let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        line.ends_with(b"\0keyd\0") && status.contains(&format!("PPid:\t{}\n", child.id()))
    };
    let processes = || fs::read_dir("/proc").unwrap().flatten();
    let numbers = || processes().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut daemon = None;
    wait_until("it starts", || {
        daemon = numbers().find(is_daemon);
        daemon.is_some()
    });
    signal(daemon.unwrap(), "-KILL");
    let ended = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&ended.stderr);
    assert!(message.contains("was killed while it unlocked"), "{message}");
    assert!(message.contains("MiB by default"), "{message}");
}
