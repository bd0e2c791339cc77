use inmost_testing::{Random, seeds};
use serde_json::json;

use super::*;

const JSON: Format = Format::Json("mcpServers");
const TOML: Format = Format::Toml("mcp_servers");

fn entry() -> Value {
    json!({ "command": "/bin/inmost", "args": ["mcp", "--store", "/a b"], "env": { "TMPDIR": "/t" } })
}

fn edited(format: Format, text: &str) -> Edited {
    with_server(format, text, "inmost", &entry()).unwrap().unwrap()
}

#[test]
fn json_keeps_comments_order_and_layout() {
    let text = "// mine\n{\n    \"z\": 1, /* why */\n    \"mcpServers\": {\n        \"other\": {\"command\": \"x\"} // last\n    },\n    \"a\": [1,2]\n}\n";
    let Edited { text: after, replaced } = edited(JSON, text);
    assert!(replaced.is_none());
    for kept in [
        "// mine\n{\n    \"z\": 1, /* why */\n",
        "\"other\": {\"command\": \"x\"}",
        "// last",
        "    \"a\": [1,2]\n}\n",
    ] {
        assert!(after.contains(kept), "{kept} in {after}");
    }
    let added = after.lines().filter(|line| !text.contains(line.trim())).count();
    assert!(added <= 14, "{after}");
    assert_eq!(with_server(JSON, &after, "inmost", &entry()), Ok(None), "the second time");
}

#[test]
fn missing_parts_of_json_are_created() {
    for text in [
        "",
        " \n",
        "{}",
        "{ }\n",
        "{\"mcpServers\": {}}",
        "{\"a\": 1}",
        "{\n\t\"a\": 1,\n}\n",
        "// nothing yet\n",
    ] {
        let Edited { text: after, .. } = edited(JSON, text);
        let root = parse_json(&after).unwrap().to_serde_value().unwrap();
        assert_eq!(root["mcpServers"]["inmost"], entry(), "{after}");
        assert!(after.ends_with('\n'));
    }
    // A file without comments stays readable for strict parsers.
    let after = edited(JSON, "{\n  \"a\": 1\n}").text;
    assert_eq!(serde_json::from_str::<Value>(&after).unwrap()["mcpServers"]["inmost"], entry());
}

#[test]
fn another_entry_of_the_name_is_replaced() {
    let after = edited(JSON, r#"{"mcpServers": {"inmost": {"command": "old"}, "b": {}}}"#);
    assert!(
        after.replaced.is_some() && !after.text.contains("old") && after.text.contains("\"b\": {}")
    );
    let after = edited(
        TOML,
        "[mcp_servers.inmost]\ncommand = \"old\"\n\n[mcp_servers.b]\ncommand = \"b\"\n",
    );
    assert!(
        after.replaced.is_some()
            && !after.text.contains("old")
            && after.text.contains("[mcp_servers.b]")
    );
}

#[test]
fn line_ends_and_the_byte_order_mark_are_kept() {
    let after = edited(JSON, "\u{feff}{\r\n  \"a\": 1\r\n}\r\n").text;
    assert!(after.starts_with("\u{feff}{\r\n"));
    assert_eq!(after.matches('\n').count(), after.matches("\r\n").count());
    let after = edited(TOML, "a = 1\r\n").text;
    assert_eq!(after.matches('\n').count(), after.matches("\r\n").count());
}

#[test]
fn toml_keeps_comments_order_and_layout() {
    let text =
        "# mine\nmodel = \"m\" # why\n\n[mcp_servers.other]\ncommand = 'x'\n\n[z]\na = [ 1,2 ]\n";
    let after = edited(TOML, text).text;
    for line in text.lines() {
        assert!(after.contains(line), "{line} in {after}");
    }
    assert!(after.contains("[mcp_servers.inmost]\n"), "{after}");
    assert_eq!(with_server(TOML, &after, "inmost", &entry()), Ok(None), "the second time");
    // An inline table stays one.
    let after = edited(TOML, "mcp_servers = { other = { command = \"x\" } }\n").text;
    assert!(after.starts_with("mcp_servers = { other = "), "{after}");
    assert_eq!(with_server(TOML, &after, "inmost", &entry()), Ok(None));
}

#[test]
fn what_cannot_be_edited_is_refused() {
    for (format, text, reason) in [
        (JSON, "{\"a\": }", "it cannot be parsed"),
        (JSON, "{a: 1}", "it cannot be parsed"),
        (JSON, "[]", "`the file` is not a set"),
        (JSON, "{\"mcpServers\": []}", "`mcpServers` is not a set"),
        (JSON, "{\"mcpServers\": {}, \"mcpServers\": {}}", "it has `mcpServers` twice"),
        (JSON, "{\"mcpServers\": {\"inmost\": 1, \"inm\\u006fst\": 2}}", "it has `inmost` twice"),
        (TOML, "a = \"secret\n", "it cannot be parsed"),
        (TOML, "mcp_servers = 1\n", "`mcp_servers` is not a set"),
        (TOML, "[a]\n[a]\n", "it cannot be parsed"),
    ] {
        let refused = with_server(format, text, "inmost", &entry()).unwrap_err().to_string();
        assert!(refused.starts_with(reason), "{text}: {refused}");
        assert!(!refused.contains("secret"), "{refused}");
    }
    let deep = "[".repeat(100_000);
    with_server(JSON, &deep, "inmost", &entry()).unwrap_err();
    with_server(TOML, &format!("a = {deep}"), "inmost", &entry()).unwrap_err();
}

#[test]
fn a_new_toml_document_has_the_entry() {
    let text = new_toml("mcp_servers", "inmost", &entry());
    assert!(text.starts_with("[mcp_servers.inmost]\n"), "{text}");
    assert_eq!(with_server(TOML, &text, "inmost", &entry()), Ok(None));
}

#[test]
fn changed_documents_are_refused_or_get_the_entry_once() {
    const DOCUMENTS: [(Format, &str); 4] = [
        (
            JSON,
            "// mine\n{\n  \"z\": 1, /* why */\n  \"mcpServers\": {\n    \"b\": {\"args\": [\"x\"]} // last\n  },\n  \"a\": [1, 2],\n}\n",
        ),
        (JSON, "{\"mcpServers\": {\"inmost\": {\"command\": \"old\"}}, \"a\": null}"),
        (
            TOML,
            "# mine\na = 1 # why\n\n[mcp_servers.b]\ncommand = \"x\"\nargs = [\"y\"]\n\n[c]\nd = {e = 1}\n",
        ),
        (TOML, "mcp_servers.inmost.command = 'old'\nmcp_servers.b = { command = 'x' }\n"),
    ];
    const WORDS: &[&str] = &[
        "\"",
        "'",
        "{",
        "}",
        "[",
        "]",
        "[[",
        "=",
        ".",
        ",",
        ":",
        "#",
        "//",
        "/*",
        "*/",
        "\n",
        "\r\n",
        "\r",
        "\\",
        "\\ud800",
        "null",
        "1e400",
        "mcpServers",
        "mcp_servers",
        "inmost",
        "\"mcpServers\": ",
        "[mcp_servers]\n",
        "\u{feff}",
        "\u{0}",
        "\t",
    ];
    for seed in seeds(0..10_000) {
        let mut random = Random(seed);
        let (format, text) = &DOCUMENTS[random.below(DOCUMENTS.len())];
        let text = random.changed(text, WORDS);
        if let Ok(Some(edited)) = with_server(*format, &text, "inmost", &entry()) {
            let again = with_server(*format, &edited.text, "inmost", &entry());
            assert_eq!(again, Ok(None), "{seed}: {text:?} became {:?}", edited.text);
        }
    }
}
