//! Clients other than the program that connect to the key daemon.

use super::*;

/// The version of the protocol.
const VERSION: u32 = 13;

/// A frame; see the frame format of the key daemon.
fn frame(head: &Value, bytes: &[u8]) -> Vec<u8> {
    let head = head.to_string();
    let mut frame = Vec::new();
    for length in [head.len(), bytes.len()] {
        frame.extend(u32::try_from(length).unwrap().to_be_bytes());
    }
    frame.extend(head.as_bytes());
    frame.extend(bytes);
    frame
}

/// The head and the bytes of the next frame, if there is one.
fn receive(stream: &mut UnixStream) -> Option<(Value, Vec<u8>)> {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut lengths = [0; 8];
    stream.read_exact(&mut lengths).ok()?;
    let length = |at: usize| u32::from_be_bytes(lengths[at..at + 4].try_into().unwrap());
    let mut head = vec![0; length(0).try_into().unwrap()];
    let mut bytes = vec![0; length(4).try_into().unwrap()];
    stream.read_exact(&mut head).ok()?;
    stream.read_exact(&mut bytes).ok()?;
    Some((serde_json::from_slice(&head).unwrap(), bytes))
}

/// A connection that was accepted with this hello, or the refusal.
fn greet(place: &Place, hello: &Value) -> (UnixStream, Value) {
    let mut stream = UnixStream::connect(socket(place)).unwrap();
    stream.write_all(&frame(hello, b"")).unwrap();
    let (said, _) = receive(&mut stream).unwrap();
    (stream, said)
}

fn reply(stream: &mut UnixStream, asked: &Value, bytes: &[u8]) -> (Value, Vec<u8>) {
    stream.write_all(&frame(asked, bytes)).unwrap();
    receive(stream).unwrap()
}

#[test]
fn a_client_of_another_version_is_refused_and_can_lock() {
    let place = Place::with_store();
    let daemon = place.unlock(&[]);
    let (_, said) = greet(&place, &json!({ "version": 1 }));
    assert_eq!(said, json!({ "Refused": { "OtherVersion": VERSION } }));
    let (mut stream, said) = greet(&place, &json!({ "version": 1, "purpose": "Lock" }));
    assert_eq!(said, "Ending");
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    wait_until("its process is gone", || is_gone(daemon));
}

#[test]
fn invalid_stalled_and_oversized_clients_do_not_affect_others() {
    let place = Place::with_files(&[("/memories/a", "kept")]);
    let daemon = place.unlock(&[]);
    let connect = || UnixStream::connect(socket(&place)).unwrap();
    let mut rubbish = connect();
    rubbish.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(receive(&mut rubbish).unwrap().0["Refused"] == "InvalidMessage");
    // Clients that never send a hello.
    let stalled: Vec<_> = (0..100).map(|_| connect()).collect();
    assert_eq!(ask(&place, &["cat", "/memories/a"], "").expect(0).out, "kept");
    drop(stalled);
    // An accepted client that stops in the middle of a request.
    let (mut half, said) = greet(&place, &json!({ "version": VERSION }));
    assert!(said["Accepted"].is_object(), "{said}");
    half.write_all(
        &frame(&json!({ "Write": { "path": "/memories/a" } }), &[b'x'; 10_000])[..5_000],
    )
    .unwrap();
    // A client that announces too long a frame, and one that sends an unknown request.
    let (mut oversized, _) = greet(&place, &json!({ "version": VERSION }));
    oversized.write_all(&[0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff]).unwrap();
    assert!(receive(&mut oversized).unwrap().0["Refused"] == "InvalidMessage");
    assert!(receive(&mut oversized).is_none(), "and it is let go");
    let (mut odd, _) = greet(&place, &json!({ "version": VERSION }));
    assert!(reply(&mut odd, &json!({ "Fly": {} }), b"").0["Refused"] == "InvalidMessage");
    // A client that does not read its replies.
    let (mut deaf, _) = greet(&place, &json!({ "version": VERSION }));
    deaf.set_nonblocking(true).unwrap();
    let read = frame(&json!({ "Read": { "path": "/memories/a", "lines": null } }), b"");
    while deaf.write_all(&read).is_ok() {}
    assert_eq!(ask(&place, &["cat", "/memories/a"], "").expect(0).out, "kept");
    assert_eq!(place.daemon(), Some(daemon));
    place.run(["lock"], "").expect(0);
    wait_until("nor do they keep it from ending", || is_gone(daemon));
}

#[test]
fn clients_beyond_the_limit_are_told() {
    let place = Place::with_store();
    place.unlock(&[]);
    let mut all: Vec<_> = (0..64)
        .map(|_| {
            let (stream, said) = greet(&place, &json!({ "version": VERSION }));
            assert!(said["Accepted"].is_object(), "{said}");
            stream
        })
        .collect();
    place.run(["ls"], "").expect_failure(13, "Too many processes");
    all.pop();
    wait_until("there is room again", || place.run(["ls"], "").code == Some(0));
    place.run(["lock"], "").expect(0);
}

#[test]
fn stalled_clients_do_not_keep_lock_and_status_from_the_daemon() {
    let place = Place::with_store();
    let daemon = place.unlock(&[]);
    // Every place is taken by a client that does nothing.
    let _idle: Vec<_> = (0..64).map(|_| greet(&place, &json!({ "version": VERSION }))).collect();
    // Connections that never send a hello, or only its beginning.
    let stall = |place: &Place| {
        let connect = |begun: &[u8]| {
            let mut stream = UnixStream::connect(socket(place)).unwrap();
            stream.write_all(begun).unwrap();
            stream
        };
        (0..100).flat_map(|_| [connect(b""), connect(b"\0\0\0\x20\0\0\0\0{")]).collect()
    };
    let _stalled: Vec<UnixStream> = stall(&place);
    let out = ask(&place, &["status"], "").expect(0).out;
    assert!(out.contains(&format!("process {daemon} holds the store unlocked")), "{out}");
    assert!(out.contains("64 other processes: "), "{out}");
    ask(&place, &["ls"], "").expect_failure(13, "Too many processes");
    let _more: Vec<UnixStream> = stall(&place);
    assert!(ask(&place, &["lock"], "").expect(0).out.starts_with("Locked"));
    wait_until("its process is gone", || is_gone(daemon));
}

#[test]
fn a_connection_for_the_status_allows_nothing_else() {
    let place = Place::with_store();
    place.unlock(&[]);
    let (mut stream, said) = greet(&place, &json!({ "version": VERSION, "status_only": true }));
    assert!(said["Accepted"].is_object(), "{said}");
    for asked in ["ExpiryStatus", "Facts", "HistoryStatus", "Status"] {
        let (head, _) = reply(&mut stream, &json!({ asked: {} }), b"");
        assert!(head["Reply"].is_object(), "{head}");
    }
    for asked in [
        json!({ "Read": { "path": "/memories/a", "lines": null } }),
        json!({ "Write": { "path": "/memories/a" } }),
        json!({ "Purge": {} }),
        json!({ "VersionText": { "number": 64 } }),
        json!({ "Expire": { "unused_for": { "secs": 1, "nanos": 0 }, "dry_run": true } }),
    ] {
        assert_eq!(reply(&mut stream, &asked, b"").0, json!({ "Refused": "Restricted" }));
    }
    assert_eq!(place.names("/memories").len(), 0);
}

/// The names of all requests: the rows of their table.
fn requests() -> impl Iterator<Item = &'static str> {
    let source = include_str!("../../../../crates/inmost-keyd/src/requests.rs");
    let (_, table) = source.split_once("\nrequests! {\n").unwrap();
    table.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("    ")?.split_once(" {")?;
        let is_row = name.bytes().all(|byte| byte.is_ascii_alphabetic()) && rest.contains("->");
        is_row.then_some(name)
    })
}

/// The fields of all requests. Each takes its own.
const FIELDS: &str = r#"{
    "path": "/memories/a", "old": "/memories/a", "new": "/memories/b", "to": null, "number": 0, "until": null,
    "lines": null, "after": null, "before": null, "most": 1, "max_depth": 1,
    "query": { "pattern": "kept", "is_regex": false, "ignores_case": false, "max_matches_per_file": 1,
        "words": "kept", "since": null, "skip": 0, "most": 1, "confined": false },
    "file": { "created": null, "modified": null, "replaces": true }, "files": [],
    "modified": { "secs_since_epoch": 0, "nanos_since_epoch": 0 },
    "condition": "Absent", "moved": "Absent", "replaced": "Absent",
    "step": { "newest": { "number": 1, "time": { "secs_since_epoch": 0, "nanos_since_epoch": 0 }, "kind": "modified",
        "channel": "files", "actor": "", "file": 1, "previous": null, "path": null, "old_path": null, "bytes": 0, "lines": 0,
        "restored": null }, "to": null, "path": null }, "steps": [],
    "settings": { "keep": null, "max_bytes": 1, "records": false, "unused_for": null },
    "unused_for": { "secs": 1, "nanos": 0 }, "dry_run": false,
    "kind": "Passphrase", "keep": "Passphrase", "name": "desk", "names": [], "engine": "Sled",
    "options": { "label": null, "kdf_cost": null, "with_versions": false, "keep": 1, "keep_within": { "secs": 1, "nanos": 0 } }
}"#;

#[test]
fn a_restricted_connection_cannot_exceed_its_restrictions() {
    let place = Place::with_files(&[("/memories/a", "kept")]);
    place.unlock(&[]);
    let mut options = json!({ "subtree": "/memories", "read_only": true, "create_overwrites": false,
        "view_characters": 1_000, "range_characters": 1_000, "listing_entries": 10 });
    let restricted = json!({ "version": VERSION, "tool": options });
    let (mut stream, said) = greet(&place, &restricted);
    assert!(said["Accepted"].is_object(), "{said}");
    // The options of the connection override those of a call.
    options["read_only"] = false.into();
    let call = |command: Value| json!({ "RunCommand": { "command": command, "options": options } });
    let view = call(json!({ "View": { "view_range": null } }));
    let (head, content) = reply(&mut stream, &view, &texts(&["/memories"]));
    assert_eq!(head, json!({ "Reply": false }));
    assert!(String::from_utf8(content).unwrap().contains("/memories/a"));
    let create = texts(&["/memories/b", "no"]);
    let (head, content) = reply(&mut stream, &call(json!("Create")), &create);
    assert_eq!(head, json!({ "Reply": true }));
    assert_eq!(content, b"Error: Memory is read-only.");
    let fields: Value = serde_json::from_str(FIELDS).unwrap();
    let names: Vec<_> = requests().filter(|name| *name != "RunCommand").collect();
    assert!(names.len() > 50, "{names:?}");
    for name in names {
        let asked = json!({ name: fields });
        let (head, content) = reply(&mut stream, &asked, b"");
        assert_eq!(head, json!({ "Refused": "Restricted" }), "{asked}");
        assert!(content.is_empty());
    }
    options["write_once"] = true.into();
    let (_, said) = greet(&place, &json!({ "version": VERSION, "tool": options }));
    assert_eq!(
        said,
        json!({ "Refused": "InvalidMessage" }),
        "an unknown restriction is not ignored"
    );
    assert_eq!(place.cat("/memories/a"), "kept");
    assert_eq!(place.names("/memories"), ["a"]);
}

/// The body of a tool call: each text behind its length.
fn texts(texts: &[&str]) -> Vec<u8> {
    let mut body = Vec::new();
    for text in texts {
        body.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
        body.extend(text.as_bytes());
    }
    body
}
