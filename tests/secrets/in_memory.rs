//! Tests that search memory from outside: a child process works with secrets and locks, and its parent
//! searches all of the child's memory for keys, passphrase and text, in every form and in parts.
//!
//! The child wipes its own copies, so every trace comes from the library.

mod process;

use crate::host::child::Order;
use crate::host::{self, Run, WAYS};
use crate::traces::{Counts, Needle, Search, keys, of_bytes, of_text, of_words, word};

/// Starts a child with a new, unlocked store. Returns `None` if the system forbids reading its memory.
fn start() -> Option<Run> {
    let run = Run::start();
    if process::is_readable(run.child.id()) {
        return Some(run);
    }
    eprintln!("SKIPPED: this system does not allow a process to read the memory of its child");
    None
}

fn traces_in(run: &Run, needles: Vec<Needle>) -> Counts {
    process::traces(run.child.id(), &Search::new(needles))
}

fn assert_clean(counts: &Counts, when: &str) {
    for ((name, place), count) in counts {
        eprintln!("{when}: {count:4} of {name} in {place}");
    }
    assert!(counts.is_empty(), "{when}: traces of {} secrets, listed above", counts.len());
}

#[test]
fn a_secret_that_is_left_lying_about_is_found() {
    let Some(mut run) = start() else { return };
    let leaked = word("left behind");
    assert!(
        traces_in(&run, of_text("leaked", &leaked)).is_empty(),
        "the word was already in memory"
    );
    run.tell(Order::Leak, &leaked);
    assert_eq!(traces_in(&run, of_text("leaked", &leaked)).values().sum::<usize>(), 1);
    // A control: the keys are where they should be, so the search works for keys.
    let counts = traces_in(&run, run.secrets());
    for key in ["master key", "data key", "record key"] {
        assert_eq!(
            counts.get(&(key.to_owned(), "locked".to_owned())),
            Some(&1),
            "{key}: {counts:?}"
        );
    }
}

#[test]
fn an_unlocked_session_holds_keys_in_locked_memory_only() {
    let Some(mut run) = start() else { return };
    for (_, way) in WAYS {
        way(&mut run);
    }
    let mut counts = traces_in(&run, run.secrets());
    counts.retain(|(_, place), _| place != "locked");
    assert_clean(&counts, "unlocked");
}

#[test]
fn an_unlocked_session_leaves_no_text_on_stacks() {
    let Some(mut run) = start() else { return };
    let labels: Vec<String> = WAYS.iter().flat_map(|(_, way)| way(&mut run)).collect();
    let mut counts = traces_in(&run, of_words(&labels));
    counts.retain(|(_, place), _| place.contains("stack"));
    assert_clean(&counts, "unlocked");
}

#[test]
fn lock_leaves_no_text() {
    // Each way is tested separately, before the next can overwrite its traces.
    let mut all = Counts::new();
    for (way, use_memory) in WAYS {
        let Some(mut run) = start() else { return };
        let labels = use_memory(&mut run);
        assert_eq!(run.tell(Order::Lock, ""), "locked");
        let counts = traces_in(&run, of_words(&labels));
        all.extend(
            counts
                .into_iter()
                .map(|((name, place), count)| ((format!("{name}, by {way}"), place), count)),
        );
    }
    assert_clean(&all, "locked");
}

#[test]
fn lock_leaves_no_keys() {
    let Some(mut run) = start() else { return };
    assert_eq!(run.tell(Order::Lock, ""), "locked");
    assert_clean(&traces_in(&run, run.secrets()), "locked");
}

#[test]
fn dropping_a_session_leaves_neither_keys_nor_text() {
    let Some(mut run) = start() else { return };
    let labels = host::files(&mut run);
    assert_eq!(run.tell(Order::Drop, ""), "dropped");
    assert_clean(&traces_in(&run, run.secrets()), "dropped");
    assert_clean(&traces_in(&run, of_words(&labels)), "dropped");
}

#[test]
fn an_idle_lock_leaves_neither_keys_nor_text() {
    let Some(mut run) = start() else { return };
    let labels = host::files(&mut run);
    run.restart();
    assert_eq!(run.tell(Order::UnlockWhileUsed, &run.passphrase.clone()), "unlocked");
    let path = format!("/memories/{}", word("typed name"));
    assert_eq!(run.tell(Order::Read, &path), word("typed text"));
    assert_eq!(run.tell(Order::Await, ""), "locked");
    assert_clean(&traces_in(&run, run.secrets()), "after an idle lock");
    assert_clean(&traces_in(&run, of_words(&labels)), "after an idle lock");
}

#[test]
fn a_failed_unlock_leaves_nothing() {
    let Some(mut run) = start() else { return };
    let secrets = run.secrets();
    run.restart();
    let wrong = format!("{} caf\u{e9} cafe\u{301}", word("wrong passphrase"));
    assert_eq!(run.tell(Order::Unlock, &wrong), "The passphrase is wrong.");
    assert_clean(&traces_in(&run, secrets), "after a failed unlock");
    let header = std::fs::read(run.store().join("header.a")).unwrap();
    let mut needles = of_text("wrong passphrase", &wrong);
    needles.extend(of_bytes("wrong password key", &keys::password_key(&header, &wrong)));
    assert_clean(&traces_in(&run, needles), "after a failed unlock");
}

#[test]
fn unlocking_and_reading_leaves_neither_keys_nor_text() {
    let Some(mut run) = start() else { return };
    let labels = host::files(&mut run);
    run.restart();
    assert_eq!(run.tell(Order::Unlock, &run.passphrase.clone()), "unlocked");
    let reply = run.call(r#"{"command":"view","path":"/memories"}"#);
    assert!(reply.contains(&word("typed name")), "{reply}");
    let path = format!("/memories/{}", word("typed name"));
    assert_eq!(run.tell(Order::Read, &path), word("typed text"));
    assert_eq!(run.tell(Order::Lock, ""), "locked");
    assert_clean(&traces_in(&run, run.secrets()), "locked");
    assert_clean(&traces_in(&run, of_words(&labels)), "locked");
}

#[test]
fn upkeep_and_salvage_leave_neither_keys_nor_text() {
    let Some(mut run) = start() else { return };
    let labels = host::files(&mut run);
    let before = run.secrets();
    assert_eq!(run.tell(Order::Upkeep, ""), "done");
    let counts = traces_in(&run, before);
    let old_keys = ["data key", "record key", "address key"];
    for ((name, place), count) in &counts {
        // The master key is still in use; the keys of the removed generation are not.
        assert!(
            place == "locked" && !old_keys.contains(&name.as_str()),
            "{count} {name} in {place}"
        );
    }
    assert_eq!(run.tell(Order::Lock, ""), "locked");
    assert_eq!(run.tell(Order::Salvage, &run.passphrase.clone()), "1");
    assert_clean(&traces_in(&run, run.secrets()), "locked");
    let backup = std::fs::read(run.folder().join("store.backup/header.a")).unwrap();
    let keys = keys::of_header(&backup, &run.passphrase);
    let keys = keys.iter().flat_map(|(name, key)| of_bytes(name, key)).collect();
    assert_clean(&traces_in(&run, keys), "locked");
    assert_clean(&traces_in(&run, of_words(&labels)), "locked");
}

#[test]
fn a_core_dump_has_text_but_no_keys_and_a_hardened_process_makes_none() {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if pattern.trim() != "core" {
        eprintln!("SKIPPED: core dumps go elsewhere on this system: {pattern}");
        return;
    }
    // The registers and stacks at a crash depend on the last call.
    let lasts: [(&str, host::Way); 4] = [
        ("unlock", |_| Vec::new()),
        ("files", host::files),
        ("calls", host::calls),
        ("read", |run| {
            let labels = host::files(run);
            run.tell(Order::Read, &format!("/memories/{}", word("typed name")));
            labels
        }),
    ];
    for (last, way) in lasts {
        let mut run = Run::start_with(&UNLIMITED);
        let labels = way(&mut run);
        let Some(dump) = dump_of(&mut run) else {
            eprintln!("SKIPPED: this system writes no core dump");
            return;
        };
        // The cache of an unlocked session contains text, which is outside the promise. It shows that the
        // search works.
        assert_eq!(Search::new(of_words(&labels)).traces(&dump).is_empty(), last == "unlock");
        assert_eq!(Search::new(run.secrets()).traces(&dump), [], "after {last}");
    }
    let mut run = Run::start_with(&UNLIMITED);
    let protections = run.tell(Order::Harden, "");
    assert!(protections.contains("core_dumps_off: true, not_dumpable: true"), "{protections}");
    assert!(dump_of(&mut run).is_none());
}

const UNLIMITED: [&str; 3] = ["sh", "-c", "ulimit -c unlimited 2>/dev/null; exec \"$0\" \"$@\""];

/// Makes the child abort and reads its core dump.
fn dump_of(run: &mut Run) -> Option<Vec<u8>> {
    run.order(Order::Abort, "");
    run.child.wait().unwrap();
    let mut dumps = std::fs::read_dir(run.folder().join("work")).unwrap();
    let path = dumps.next()?.unwrap().path();
    Some(std::fs::read(path).unwrap())
}

#[test]
fn what_protects_a_process_is_reported() {
    let mut run = Run::start();
    let protections = run.tell(Order::Protections, "");
    let locked = process::mappings(run.child.id()).iter().any(|mapping| mapping.place == "locked");
    assert_eq!(protections.contains("keys_locked: true"), locked, "{protections}");
    assert!(protections.contains("not_dumpable: false"), "{protections}");
    // Where locking memory is forbidden, everything works without it. The limit does not apply to root.
    let refused = r#"ulimit -l 0
        if [ "$(id -u)" = 0 ]; then exec setpriv --reuid=65534 --clear-groups "$0" "$@"; fi
        exec "$0" "$@""#;
    let mut run = Run::spawn(&["sh", "-c", refused]);
    let protections = run.tell(Order::Protections, "");
    assert!(protections.contains("keys_locked: false, keys_undumped: true"), "{protections}");
}
