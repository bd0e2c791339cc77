//! Clients other than the program that connect to the key agent.

use super::*;

/// A frame; see the frame format of the key agent.
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
fn another_version_is_told_so_and_can_lock() {
    let place = Place::with_store();
    let agent = place.unlock(&[]);
    let (_, said) = greet(&place, &json!({ "version": 2 }));
    let what = said["Refused"]["Error"]["message"].as_str().unwrap();
    assert!(what.contains("another version") && what.contains("protocol 2"), "{what}");
    let (mut stream, said) = greet(&place, &json!({ "version": 2, "purpose": "Lock" }));
    assert_eq!(said, "Ending");
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    wait_until("its process is gone", || is_gone(agent));
}

#[test]
fn rubbish_stalled_and_oversized_clients_harm_nobody_else() {
    let place = Place::with_files(&[("/memories/a", "kept")]);
    let agent = place.unlock(&[]);
    let connect = || UnixStream::connect(socket(&place)).unwrap();
    let mut rubbish = connect();
    rubbish.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(receive(&mut rubbish).unwrap().0["Refused"].is_object());
    // The maximum of clients that never send a hello. They time out.
    let stalled: Vec<_> = (0..100).map(|_| connect()).collect();
    wait_until("others come through", || ask(&place, &["cat", "/memories/a"], "").code == Some(0));
    drop(stalled);
    // An accepted client that stops in the middle of a request.
    let (mut half, said) = greet(&place, &json!({ "version": 1 }));
    assert!(said["Come"].is_object(), "{said}");
    half.write_all(&frame(&json!({ "Store": "Call" }), &[b'x'; 10_000])[..5_000]).unwrap();
    // A client that announces too long a frame, and one that sends an unknown request.
    let (mut oversized, _) = greet(&place, &json!({ "version": 1 }));
    oversized.write_all(&[0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff]).unwrap();
    assert!(receive(&mut oversized).unwrap().0["Failed"].is_object());
    assert!(receive(&mut oversized).is_none(), "and it is let go");
    let (mut odd, _) = greet(&place, &json!({ "version": 1 }));
    assert!(reply(&mut odd, &json!({ "Store": "Fly" }), b"").0["Failed"].is_object());
    // A client that does not read its replies.
    let (mut deaf, _) = greet(&place, &json!({ "version": 1 }));
    deaf.set_nonblocking(true).unwrap();
    let read = frame(&json!({ "Store": { "Read": { "path": "/memories/a" } } }), b"");
    while deaf.write_all(&read).is_ok() {}
    assert_eq!(ask(&place, &["cat", "/memories/a"], "").expect(0).out, "kept");
    assert_eq!(place.agent(), Some(agent));
    place.run(["lock"], "").expect(0);
    wait_until("nor do they keep it from ending", || is_gone(agent));
}

#[test]
fn clients_beyond_the_limit_are_told() {
    let place = Place::with_store();
    place.unlock(&[]);
    let mut all: Vec<_> = (0..64)
        .map(|_| {
            let (stream, said) = greet(&place, &json!({ "version": 1 }));
            assert!(said["Come"].is_object(), "{said}");
            stream
        })
        .collect();
    place.run(["ls"], "").expect_failure(13, "Too many processes");
    all.pop();
    wait_until("there is room again", || place.run(["ls"], "").code == Some(0));
    place.run(["lock"], "").expect(0);
}

#[test]
fn a_restricted_connection_reaches_what_it_may_and_no_more() {
    let place = Place::with_files(&[("/memories/a", "kept")]);
    place.unlock(&[]);
    let (_, said) = greet(&place, &json!({ "version": 1, "restrictions": { "write_once": true } }));
    assert!(said["Refused"].is_object(), "what is not known is not passed over: {said}");
    let restricted = json!({ "version": 1, "restrictions": {
        "read_only": true, "subtree": null, "create_overwrites": false } });
    let (mut stream, said) = greet(&place, &restricted);
    assert!(said["Come"].is_object(), "{said}");
    let call = json!({ "Store": "Call" });
    let (head, content) = reply(&mut stream, &call, VIEW.as_bytes());
    assert_eq!(head["Reply"]["Answer"]["is_error"], false);
    assert!(String::from_utf8(content).unwrap().contains("/memories/a"));
    let (head, content) = reply(&mut stream, &call, create("/memories/b", "no").as_bytes());
    assert_eq!(head["Reply"]["Answer"]["is_error"], true);
    assert_eq!(content, b"Error: Memory is read-only.");
    for asked in [
        json!({ "Store": { "Read": { "path": "/memories/a" } } }),
        json!({ "Store": { "Write": { "path": "/memories/a" } } }),
        json!({ "Store": { "Remove": { "path": "/memories/a" } } }),
        json!({ "Store": "Slots" }),
        json!({ "Store": "Purge" }),
        json!({ "Store": "Backup" }),
        json!({ "Store": { "RemoveSlot": { "number": 0 } } }),
    ] {
        let (head, content) = reply(&mut stream, &asked, b"");
        let what = head["Failed"]["Error"]["message"].as_str().unwrap();
        assert!(what.contains("restricted to calls"), "{asked}: {head}");
        assert!(content.is_empty());
    }
    assert_eq!(place.cat("/memories/a"), "kept");
    assert_eq!(place.names("/memories"), ["a"]);
}
