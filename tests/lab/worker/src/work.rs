//! The work: several threads call the tool, and each notes a call only after it was answered.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use inmost::{KdfCost, MemoryTool, Session, VaultOptions};
use serde_json::{Value, json};

use crate::plan::{self, Position, Settings, Step};
use crate::verify::{self, Acknowledged, Wrong};

/// The cheapest key derivation that is accepted.
const CHEAP: KdfCost = KdfCost::new(19 << 10, 2, 1);

/// Goes on where the last one stopped, until killed.
pub fn work(store: &Path, ack: &Path, settings: Settings) -> Result<(), Wrong> {
    let acknowledged = Acknowledged::read(ack);
    let ack = OpenOptions::new().create(true).append(true).open(ack).expect("the ack file");
    note(&ack, "A begun");
    let session = match verify::unlock(store, &acknowledged)? {
        Some(session) => session,
        None => create(store),
    };
    note(&ack, "A created");
    let next = verify::verify(&session, &settings, &acknowledged)?;
    for (thread, at) in (0..).zip(&next) {
        // What was under way and is there may not vanish any more.
        if at.step > 0 {
            note(&ack, &format!("A {thread} {} {}", at.round, at.step - 1));
        }
    }
    note(&ack, "R");
    std::thread::scope(|scope| {
        for (thread, at) in (0..).zip(next) {
            let (session, ack) = (&session, &ack);
            scope.spawn(move || go_on(session, ack, &settings, thread, at));
        }
    });
    Ok(())
}

pub fn create(store: &Path) -> Session {
    let created = VaultOptions::new().kdf_cost(CHEAP).create(store, &verify::passphrase());
    created.unwrap_or_else(|error| fail("create", &error))
}

fn go_on(session: &Session, ack: &File, settings: &Settings, thread: u64, mut at: Position) {
    let tool = MemoryTool::new(session.clone());
    loop {
        let steps = plan::round(settings, thread, at.round);
        while at.step < steps.len() {
            let step = &steps[at.step];
            if matches!(step, Step::Purge) {
                std::thread::sleep(Duration::from_millis(settings.purge_every));
            }
            note(ack, &format!("B {thread} {} {}", at.round, at.step));
            make(session, &tool, step);
            note(ack, &format!("A {thread} {} {}", at.round, at.step));
            at.step += 1;
        }
        at = Position { round: at.round + 1, step: 0 };
    }
}

fn make(session: &Session, tool: &MemoryTool, step: &Step) {
    let call = match step {
        Step::Create(path, text) => json!({"command": "create", "path": path, "file_text": text}),
        Step::Insert(path, line, text) => {
            json!({"command": "insert", "path": path, "insert_line": line, "insert_text": text})
        }
        Step::Replace(path, old, new) => {
            json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new})
        }
        Step::Delete(path) => json!({"command": "delete", "path": path}),
        Step::Rename(from, to) => json!({"command": "rename", "old_path": from, "new_path": to}),
        Step::Purge => {
            return session.purge(|_| {}).unwrap_or_else(|error| fail("purge", &error));
        }
    };
    answer(tool, &call);
}

/// Makes one call; anything but success ends the program.
pub fn answer(tool: &MemoryTool, call: &Value) {
    match tool.call(&call.to_string()) {
        Ok(result) if !result.is_error() => {}
        Ok(result) => fail(&call.to_string(), &result.content()),
        Err(error) => fail(&call.to_string(), &error),
    }
}

fn note(ack: &File, line: &str) {
    let mut ack = ack;
    ack.write_all(format!("{line}\n").as_bytes()).expect("the ack file");
}

fn fail(what: &str, error: &dyn std::fmt::Display) -> ! {
    let what: String = what.chars().take(80).collect();
    eprintln!("FAILED {what}: {error}");
    std::process::exit(3)
}
