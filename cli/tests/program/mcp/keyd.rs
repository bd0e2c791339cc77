//! Servers whose store is held by a key daemon.

use std::process::Command;

use serde_json::{Value, json};

use super::client::{Client, LISTING, done, locked, refused, view};
use crate::inmost::{PASSPHRASE, Place, run};

/// A server without a passphrase, started from the configuration for a client.
fn without_passphrase(place: &Place, args: &[&str]) -> Client {
    let mut command = place.bare_command(["mcp", "--store"]);
    command.arg(place.store()).args(args).args(["--print-config", "generic"]);
    let block: Value = serde_json::from_str(&run(&mut command, b"").expect(0).out).unwrap();
    let server = &block["mcpServers"]["inmost"];
    let mut command = Command::new(server["command"].as_str().unwrap());
    command.env_clear().current_dir("/");
    command.args(server["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()));
    for (name, value) in server["env"].as_object().unwrap() {
        command.env(name, value.as_str().unwrap());
    }
    Client::of(&mut command)
}

fn create(path: &str, text: &str) -> Value {
    json!({ "command": "create", "path": path, "file_text": text })
}

#[test]
fn servers_share_a_store_each_within_its_limits() {
    let place = Place::with_files(&[("/memories/mine", "outside")]);
    place.unlock(&[]);
    let mut one = without_passphrase(&place, &["--subtree", "/memories/one"]);
    let mut other = without_passphrase(&place, &["--subtree", "/memories/two"]);
    let mut reader = without_passphrase(&place, &["--read-only"]);
    assert_eq!(
        one.call(&create("/memories/a", "1")),
        done("File created successfully at: /memories/a")
    );
    assert_eq!(
        other.call(&create("/memories/a", "22")),
        done("File created successfully at: /memories/a")
    );
    assert_eq!(
        one.call(&view("/memories")),
        done(&format!("{LISTING}1B\t/memories\n1B\t/memories/a"))
    );
    assert_eq!(
        other.call(&view("/memories")),
        done(&format!("{LISTING}2B\t/memories\n2B\t/memories/a"))
    );
    assert_eq!(
        reader.call(&view("/memories/one/a")),
        done("Here's the content of /memories/one/a with line numbers:\n     1\t1")
    );
    assert_eq!(reader.call(&create("/memories/b", "")), refused("Error: Memory is read-only."));
    for client in [one, other, reader] {
        client.end().expect(0);
    }
    assert_eq!(place.cat("/memories/two/a"), "22");
}

#[test]
fn a_screened_server_is_screened_by_the_key_daemon() {
    let place = Place::with_store();
    place.unlock(&[]);
    let mut redacting = without_passphrase(&place, &["--screen", "redact"]);
    let mut refusing = without_passphrase(&place, &["--screen", "refuse"]);
    let call = create("/memories/a", "pays with 4111 1111 1111 1111");
    let told = "Error: Not saved: the text contains card number. Leave it out and try again.";
    assert_eq!(refusing.call(&call), refused(told));
    let told = "File created successfully at: /memories/a\n[1 redacted: card number]";
    assert_eq!(redacting.call(&call), done(told));
    for client in [redacting, refusing] {
        let ended = client.end();
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "nothing is logged");
    }
    assert_eq!(place.cat("/memories/a"), "pays with [redacted: card number]");
}

#[test]
fn a_store_that_is_locked_meanwhile_is_locked_for_the_model_until_it_is_unlocked() {
    let place = Place::with_store();
    let mut client = without_passphrase(&place, &[]);
    assert_eq!(client.call(&view("/memories")), locked());
    place.unlock(&[]);
    let empty = done(&format!("{LISTING}0B\t/memories"));
    assert_eq!(client.call(&view("/memories")), empty);
    place.lock();
    for _ in 0..3 {
        assert_eq!(client.call(&view("/memories")), locked());
    }
    place.unlock(&[]);
    assert_eq!(client.call(&view("/memories")), empty);
    let ended = client.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.contains("Run `inmost unlock"), "{ended:?}");
    assert!(!ended.err.contains(PASSPHRASE) && ended.err.lines().count() <= 6, "{ended:?}");
}

/// Regression: the first call after the lock was refused, and the second opened the store.
#[test]
fn a_server_with_a_passphrase_opens_the_store_at_the_first_call_after_a_lock() {
    let place = Place::with_store();
    place.unlock(&[]);
    let mut client = Client::with(&place, &[]);
    for number in 0..3 {
        let path = format!("/memories/{number}");
        let created = done(&format!("File created successfully at: {path}"));
        assert_eq!(client.call(&create(&path, "before")), created);
        place.lock();
        let path = format!("{path}-after");
        let created = done(&format!("File created successfully at: {path}"));
        assert_eq!(client.call(&create(&path, "after")), created, "the call is run once");
        assert!(!client.call(&view("/memories")).1);
        client.end().expect(0);
        place.unlock(&[]);
        client = Client::with(&place, &[]);
    }
    client.end().expect(0);
}
