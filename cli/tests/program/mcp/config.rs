//! `inmost mcp --print-config`

use std::process::Command;

use serde_json::{Value, json};

use super::client::{Client, LISTING, done, view};
use crate::inmost::{PASSPHRASE, Place, run};

/// Starts the configured server as a client would: in another folder, with an empty environment.
#[test]
fn the_block_for_each_client_starts_the_server() {
    let place = Place::with_files(&[("/memories/x/a", "1")]);
    std::fs::write(place.beside("secret"), PASSPHRASE).unwrap();
    for (client, key, typed) in [
        ("claude-code", "mcpServers", true),
        ("claude-desktop", "mcpServers", false),
        ("vscode", "servers", true),
        ("generic", "mcpServers", false),
    ] {
        let args =
            "mcp --store store --passphrase-file secret --subtree /memories/x --print-config";
        let mut command = place.bare_command(args.split(' ').chain([client]));
        let block: Value = serde_json::from_str(&run(&mut command, b"").expect(0).out).unwrap();
        let servers = block[key].as_object().unwrap();
        assert_eq!((block.as_object().unwrap().len(), servers.len()), (1, 1), "{block}");
        let server = &servers["inmost"];
        let runtime = place.runtime().to_str().unwrap().to_owned();
        assert_eq!(server["env"]["XDG_RUNTIME_DIR"], runtime, "clients do not pass it on");
        assert_eq!(server.get("type"), typed.then(|| json!("stdio")).as_ref(), "{block}");
        let args = server["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
        let mut command = Command::new(server["command"].as_str().unwrap());
        command.args(args).env_clear().current_dir("/");
        let mut client = Client::of(&mut command);
        let listing = done(&format!("{LISTING}1B\t/memories\n1B\t/memories/a"));
        assert_eq!(client.call(&view("/memories")), listing);
        client.end().expect(0);
    }
}

#[test]
fn a_block_holds_every_option_and_no_passphrase() {
    let place = Place::vacant();
    let args = "mcp --read-only --create-overwrites --delete-forgets --screen refuse --anchor anchor \
                --keyfile key --wait 1m --require-fresh --passphrase-command pass --print-config generic";
    let out = place.run(args.split_whitespace(), "").expect(0).out;
    let block: Value = serde_json::from_str(&out).unwrap();
    let beside = |name: &str| place.beside(name).to_str().unwrap().to_owned();
    let expected = json!([
        "mcp",
        "--store",
        beside("store"),
        "--anchor",
        beside("anchor"),
        "--keyfile",
        beside("key"),
        "--wait",
        "60s",
        "--require-fresh",
        "--passphrase-command",
        "pass",
        "--read-only",
        "--create-overwrites",
        "--delete-forgets",
        "--screen",
        "refuse",
    ]);
    assert_eq!(block["mcpServers"]["inmost"]["args"], expected);
    assert!(!out.contains(PASSPHRASE));
    for source in [["--passphrase-fd", "0"], ["--passphrase-file", "-"]] {
        // Windows has no numbered descriptors.
        if cfg!(windows) && source[0] == "--passphrase-fd" {
            continue;
        }
        place
            .run(["mcp", "--print-config", "generic"].iter().chain(&source), "")
            .expect_failure(2, "The passphrase cannot be read from standard input");
    }
}
