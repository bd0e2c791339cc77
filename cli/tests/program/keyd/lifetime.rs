//! When the key daemon locks the store and ends.

use super::*;

/// A daemon that was used for longer than its idle time of 3 s, and its connection. Where a busy machine has kept the uses too far
/// apart, it tries again.
fn long_used() -> (Place, u32, Talk) {
    let used = (0..20).find_map(|_| {
        let place = Place::with_store();
        let mut last = Instant::now();
        let daemon = place.unlock(&["--idle", "3s"]);
        let mut talk = Talk::with(&place);
        let mut longest = Duration::ZERO;
        let stays = (0..8).all(|_| {
            thread::sleep(Duration::from_millis(500));
            let reply = talk.ask(VIEW);
            longest = longest.max(last.elapsed());
            last = Instant::now();
            reply["is_error"] == false
        });
        assert!(stays || longest > Duration::from_secs(2), "use puts it off: {longest:?}");
        stays.then_some((place, daemon, talk))
    });
    used.expect("the machine is too busy")
}

#[test]
fn idle_connections_do_not_keep_it_unlocked() {
    let (place, daemon, mut talk) = long_used();
    let start = Instant::now();
    wait_until("it locks", || is_gone(daemon));
    assert!(start.elapsed() > Duration::from_secs(1), "{:?}", start.elapsed());
    let answer = talk.ask(VIEW);
    assert_eq!(answer, json!({ "content": LOCKED, "is_error": true }));
    talk.end().expect_failure(18, "locked in the meantime");
    place.run(["ls"], "").expect(0);
}

#[test]
fn looking_at_its_status_does_not_keep_it_unlocked() {
    let place = Place::with_store();
    let daemon = place.unlock(&["--idle", "2s"]);
    // Asked for its status all the time, a daemon that took this for use would never lock.
    wait_until("it locks", || place.daemon() != Some(daemon));
    wait_until("it ends", || is_gone(daemon));
}

#[test]
fn it_locks_after_its_time_however_much_it_is_used() {
    let place = Place::with_store();
    let daemon = place.unlock(&["--for", "5s"]);
    let mut talk = Talk::with(&place);
    let start = Instant::now();
    while talk.ask(VIEW)["is_error"] == false {
        assert!(start.elapsed() < PATIENCE, "it locks");
        thread::sleep(Duration::from_millis(100));
    }
    wait_until("it ends", || is_gone(daemon));
    talk.end().expect(18);
}

#[test]
fn signals_that_end_a_process_lock_it_first() {
    for name in ["-TERM", "-INT", "-HUP"] {
        let place = Place::with_files(&[("/memories/a", "kept")]);
        let daemon = place.unlock(&[]);
        signal(daemon, name);
        wait_until(name, || is_gone(daemon));
        assert_eq!(fs::read_dir(place.runtime().join("inmost")).unwrap().count(), 0);
        assert_eq!(place.cat("/memories/a"), "kept");
    }
}

#[test]
fn a_call_under_way_is_finished_before_it_locks() {
    let place = Place::with_store();
    let daemon = place.unlock(&[]);
    let text = "0123456789abcde\n".repeat(1 << 20);
    let mut talk = Talk::with(&place);
    talk.send(&create("/memories/long", &text));
    // The call is in transit or has begun. In both cases it is done completely or not at all.
    wait_until("it has begun", || place.store().join("gen-0000000000000001").exists());
    place.run(["lock"], "").expect(0);
    wait_until("its process is gone", || is_gone(daemon));
    let answer = talk.receive();
    let there = place.run(["cat", "/memories/long"], "");
    if answer["is_error"] == false {
        assert!(there.expect(0).out == text);
        talk.end().expect(0);
    } else {
        there.expect(19);
        talk.end();
    }
    place.run(["check"], "").expect(0);
}

#[test]
fn a_lock_waits_for_a_long_request() {
    let place = Place::with_store();
    let text = "line of text\n".repeat(1 << 20);
    let calls: String = (0..4).map(|n| create(&format!("/memories/{n}"), &text)).collect();
    place.run(["call"], &calls).expect(0);
    let daemon = place.unlock(&[]);
    let mut purge = without_passphrase(&place, &["purge", "--yes"]);
    let mut purge =
        purge.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    // Two generations exist during a rewrite.
    wait_until("it has begun", || {
        place.store().join("gen-0000000000000002").exists() || purge.try_wait().unwrap().is_some()
    });
    place.run(["lock"], "").expect(0);
    wait_until("its process is gone", || is_gone(daemon));
    assert!(!place.store().join("gen-0000000000000001").exists(), "it came to its end");
    // The request for the size afterwards may come too late.
    let code = Ended::of(purge.wait_with_output().unwrap()).code;
    assert!(matches!(code, Some(0 | 18)), "{code:?}");
    place.run(["check"], "").expect(0);
}

#[test]
fn ctrl_c_says_that_the_daemon_goes_on() {
    let place = Place::with_store();
    let text = "line of text\n".repeat(1 << 20);
    let calls: String = (0..4).map(|n| create(&format!("/memories/{n}"), &text)).collect();
    place.run(["call"], &calls).expect(0);
    let daemon = place.unlock(&[]);
    let mut purge = place.command(["purge", "--yes"]);
    let mut purge =
        purge.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    while !place.store().join("gen-0000000000000002").exists() {
        assert!(purge.try_wait().unwrap().is_none(), "it ended before it could be interrupted");
        thread::yield_now();
    }
    // So that the work does not end first.
    signal(daemon, "-STOP");
    signal(purge.id(), "-INT");
    let ended = Ended::of(purge.wait_with_output().unwrap());
    signal(daemon, "-CONT");
    let what = format!("the key daemon, process {daemon}, goes on");
    ended.expect_failure(130, &what);
    wait_until("the daemon has finished", || !place.store().join("gen-0000000000000001").exists());
    assert!(place.run(["log"], "").expect(0).out.starts_with("No change is kept"));
}

#[test]
fn calls_that_keep_going_outlive_a_lock_and_an_unlock() {
    let place = Place::with_files(&[("/memories/a", "kept")]);
    place.unlock(&[]);
    let mut talk = Talk::of(&place, &["--keep-going"]);
    assert_eq!(talk.ask(VIEW)["is_error"], false);
    place.lock();
    for _ in 0..2 {
        let locked = json!({ "content": LOCKED, "is_error": true, "reason": "locked" });
        assert_eq!(talk.ask(VIEW), locked);
    }
    let refused = talk.ask(r#"{"command": "fly"}"#);
    assert_eq!((&refused["is_error"], &refused["reason"]), (&json!(true), &json!("refused")));
    place.unlock(&[]);
    assert_eq!(talk.ask(VIEW)["is_error"], false);
    let ended = talk.end();
    assert_eq!(ended.err.lines().count(), 2, "the reason is printed once: {ended:?}");
    assert_eq!(ended.code, Some(18), "{ended:?}");
}
