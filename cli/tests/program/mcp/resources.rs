//! Memory files as resources, and the prompt.

use serde_json::{Value, json};

use super::client::Client;
use crate::inmost::Place;

/// All resources, page by page.
fn all(client: &mut Client) -> Vec<Value> {
    let mut found = Vec::new();
    let mut params = json!({});
    loop {
        let page = client.ask("resources/list", &params);
        found.extend(page["resources"].as_array().unwrap().iter().cloned());
        match page.get("nextCursor") {
            None => return found,
            Some(cursor) => params = json!({ "cursor": cursor }),
        }
    }
}

#[test]
fn files_are_listed_and_read() {
    let files: Vec<_> = (0..600).map(|n| format!("/memories/many/{n:03}.txt")).collect();
    let mut stored: Vec<_> = files.iter().map(|path| (path.as_str(), "x")).collect();
    stored.extend([("/memories/ada l\u{e9}.md", "\u{e9}ins\nzwei\n"), ("/memories/.hidden", "h")]);
    let place = Place::with_files(&stored);
    let mut client = Client::with(&place, &[]);
    assert!(client.hello["capabilities"]["resources"].is_object(), "{}", client.hello);
    let found = all(&mut client);
    assert_eq!(found.len(), 602);
    let ada = found.iter().find(|it| it["name"] == "ada l\u{e9}.md").unwrap();
    assert_eq!(
        *ada,
        json!({
            "uri": "memory:///ada%20l%C3%A9.md", "name": "ada l\u{e9}.md", "mimeType": "text/markdown", "size": 11,
        })
    );
    let read = client.ask("resources/read", &json!({ "uri": ada["uri"] }));
    assert_eq!(
        read["contents"],
        json!([{ "uri": ada["uri"], "mimeType": "text/markdown", "text": "\u{e9}ins\nzwei\n" }])
    );
    for uri in [
        "memory:///none",
        "memory:///many",
        "memory:///../x",
        "file:///etc/passwd",
        "memory:///%ff",
    ] {
        let answer = client.answer("resources/read", &json!({ "uri": uri }));
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
    }
    for params in [json!({ "cursor": "x" }), json!({ "cursor": 1 }), json!([])] {
        assert_eq!(client.answer("resources/list", &params)["error"]["code"], -32602, "{params}");
    }
    assert_eq!(client.answer("resources/read", &json!({}))["error"]["code"], -32602);
    client.end().expect(0);
}

#[test]
fn a_restricted_server_offers_no_resources() {
    let place = Place::with_files(&[("/memories/a", "1")]);
    for restriction in [
        &["--read-only"][..],
        &["--subtree", "/memories/x"],
        &["--screen", "refuse"],
        &["--max-view-characters", "10"],
    ] {
        let mut client = Client::with(&place, restriction);
        assert!(client.hello["capabilities"].get("resources").is_none(), "{}", client.hello);
        let params = json!({ "uri": "memory:///a" });
        assert_eq!(client.answer("resources/read", &params)["error"]["code"], -32601);
        assert_eq!(client.answer("resources/list", &json!({}))["error"]["code"], -32601);
        client.end().expect(0);
    }
}

#[test]
fn a_locked_store_has_no_resources_to_list_and_none_to_read() {
    let place = Place::with_files(&[("/memories/a", "1")]);
    let mut client = Client::of(&mut place.bare_command(["mcp", "--store", "store"]));
    // Gemini CLI drops a server whose list is an error, and its tools with it.
    assert_eq!(client.ask("resources/list", &json!({}))["resources"], json!([]));
    let answer = client.answer("resources/read", &json!({ "uri": "memory:///a" }));
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    let message = "Memory is locked. The user can unlock it with `inmost unlock`.";
    assert_eq!(answer["error"]["message"], message);
    let ended = client.end();
    assert_eq!((ended.code, ended.err.matches("is locked: no passphrase").count()), (Some(0), 1));
}

#[test]
fn the_prompt_explains_the_memory() {
    let place = Place::vacant();
    let mut client = Client::with(&place, &[]);
    let prompts = client.ask("prompts/list", &json!({}));
    assert_eq!(prompts["prompts"].as_array().unwrap().len(), 1, "{prompts}");
    assert_eq!(prompts["prompts"][0]["name"], "memory");
    let prompt = client.ask("prompts/get", &json!({ "name": "memory" }));
    let instructions = client.hello["instructions"].as_str().unwrap();
    assert_eq!(prompt["messages"][0]["role"], "user");
    assert_eq!(prompt["messages"][0]["content"]["text"], instructions);
    assert_eq!(client.answer("prompts/get", &json!({ "name": "x" }))["error"]["code"], -32602);
    client.end().expect(0);
}
