//! `inmost mcp --install`

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::client::{Client, LISTING, done, view};
use crate::inmost::{PASSPHRASE, Place, run};

/// The file that each client reads, below the home folder.
fn files() -> Vec<(&'static str, PathBuf)> {
    let settings = match () {
        () if cfg!(target_os = "macos") => "Library/Application Support",
        () if cfg!(windows) => "AppData/Roaming",
        () => ".config",
    };
    let settings = Path::new(settings);
    vec![
        ("claude-desktop", settings.join("Claude/claude_desktop_config.json")),
        ("vscode", settings.join("Code/User/mcp.json")),
        ("cursor", ".cursor/mcp.json".into()),
        ("codex", ".codex/config.toml".into()),
        ("gemini", ".gemini/settings.json".into()),
    ]
}

fn install(place: &Place, client: &str, more: &[&str]) -> std::process::Command {
    let args = ["mcp", "--store", "store", "--passphrase-file", "secret", "--install", client];
    let mut command = place.bare_command(args.into_iter().chain(more.iter().copied()));
    command.env("HOME", place.beside("home")).env_remove("CODEX_HOME");
    command.env_remove("XDG_CONFIG_HOME");
    #[cfg(windows)]
    command.env("USERPROFILE", place.beside("home")).env_remove("APPDATA");
    command
}

#[test]
fn each_client_gets_its_file_once() {
    let place = Place::with_files(&[("/memories/a", "1")]);
    fs::write(place.beside("secret"), PASSPHRASE).unwrap();
    for (client, file) in files() {
        let file = place.beside("home").join(file);
        let out = run(&mut install(&place, client, &["--yes"]), b"").expect(0).out;
        assert!(out.contains("+++ ") && out.contains("Restart the client"), "{out}");
        let written = fs::read_to_string(&file).unwrap();
        assert!(!written.contains(PASSPHRASE), "{written}");
        let out = run(&mut install(&place, client, &[]), b"").expect(0).out;
        assert!(out.contains("is already connected by"), "{out}");
        assert_eq!(fs::read_to_string(&file).unwrap(), written);
    }
    let codex = fs::read_to_string(place.beside("home/.codex/config.toml")).unwrap();
    assert!(codex.starts_with("[mcp_servers.inmost]\n"), "{codex}");

    let text = fs::read_to_string(place.beside("home/.cursor/mcp.json")).unwrap();
    let server = serde_json::from_str::<Value>(&text).unwrap()["mcpServers"]["inmost"].clone();
    let args = server["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
    let mut command = std::process::Command::new(server["command"].as_str().unwrap());
    // Windows needs variables of its own to run any program.
    #[cfg(unix)]
    command.env_clear();
    let mut client = Client::of(command.args(args).current_dir("/"));
    let listing = done(&format!("{LISTING}1B\t/memories\n1B\t/memories/a"));
    assert_eq!(client.call(&view("/memories")), listing);
    client.end().expect(0);
}

#[test]
fn a_change_is_shown_and_needs_consent_and_keeps_the_old_file() {
    let place = Place::with_store();
    let file = place.beside("config.json");
    let old = "{\n  // my servers\n  \"mcpServers\": {\"other\": {\"command\": \"x\"}}\n}\n";
    fs::write(&file, old).unwrap();
    #[cfg(unix)]
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let name = ["--config-file", "config.json"];
    let refused = run(&mut install(&place, "generic", &name), b"");
    assert!(refused.out.contains("+      \"command\": "), "{}", refused.out);
    refused.expect_failure(2, "This command needs a confirmation");
    assert_eq!(fs::read_to_string(&file).unwrap(), old);

    let with_consent = ["--config-file", "config.json", "--yes"];
    run(&mut install(&place, "generic", &with_consent), b"").expect(0);
    let new = fs::read_to_string(&file).unwrap();
    assert!(
        new.contains("// my servers") && new.contains("\"other\": {\"command\": \"x\"}"),
        "{new}"
    );
    assert_eq!(fs::read_to_string(place.beside("config.json.bak")).unwrap(), old);
    #[cfg(unix)]
    for name in ["config.json", "config.json.bak"] {
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &fs::metadata(place.beside(name)).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o640, "{name}");
    }

    // Another option is another entry, which replaces the first; the first copy stays.
    let more = ["--config-file", "config.json", "--yes", "--read-only"];
    let out = run(&mut install(&place, "generic", &more), b"").expect(0).out;
    assert!(out.contains("secret\", \"--read-only\"],\n"), "{out}");
    assert_eq!(fs::read_to_string(place.beside("config.json.bak2")).unwrap(), new);
    assert_eq!(fs::read_to_string(place.beside("config.json.bak")).unwrap(), old);
}

#[test]
fn a_file_that_cannot_be_changed_safely_stays_as_it_is() {
    let place = Place::with_store();
    let with_consent = ["--config-file", "config.json", "--yes"];
    let cases: [(&[u8], &str); 4] = [
        (b"{\"mcpServers\": ", "it cannot be parsed"),
        (b"[1]", "is not a set of named values"),
        (b"{\"mcpServers\": {}, \"mcpServers\": {}}", "twice"),
        (b"\xff\xfe", "it is not UTF-8"),
    ];
    for (bytes, reason) in cases {
        fs::write(place.beside("config.json"), bytes).unwrap();
        let failed = run(&mut install(&place, "generic", &with_consent), b"");
        assert!(failed.err.contains(reason), "{}", failed.err);
        failed.expect_failure(1, "config.json was not changed");
        assert_eq!(fs::read(place.beside("config.json")).unwrap(), bytes);
    }
    #[cfg(unix)]
    {
        fs::rename(place.beside("config.json"), place.beside("end.json")).unwrap();
        std::os::unix::fs::symlink("end.json", place.beside("config.json")).unwrap();
        run(&mut install(&place, "generic", &with_consent), b"")
            .expect_failure(1, "it is a link to end.json");
    }
    run(&mut install(&place, "generic", &[]), b"")
        .expect_failure(2, "The configuration file of this client is unknown");
    run(&mut install(&place, "claude-command", &[]), b"")
        .expect_failure(2, "Claude Code adds a server for all projects");
    run(&mut install(&place, "emacs", &[]), b"").expect_failure(2, "Invalid value 'emacs'");
}

#[test]
fn a_second_store_gets_an_entry_of_its_own() {
    let place = Place::vacant();
    let with = |store: &str, more: &[&str]| {
        let args = ["mcp", "--store", store, "--install", "generic", "--config-file", "c.json"];
        let mut command = place.bare_command(args.into_iter().chain(more.iter().copied()));
        fs::create_dir_all(place.beside(store)).unwrap();
        run(&mut command, b"")
    };
    with("one", &["--yes"]).expect(0);
    let old = fs::read_to_string(place.beside("c.json")).unwrap();
    with("two", &["--yes"]).expect_failure(1, "connects another store as `inmost`: /");
    assert!(with("two", &[]).out.contains('+'), "a person is asked");
    assert_eq!(fs::read_to_string(place.beside("c.json")).unwrap(), old);
    with("two", &["--yes", "--name", "work", "--tool-name", "work_memory"]).expect(0);
    with("one", &["--yes", "--read-only"]).expect(0);
    let new = fs::read_to_string(place.beside("c.json")).unwrap();
    let new: Value = serde_json::from_str(&new).unwrap();
    let args = |name: &str| new["mcpServers"][name]["args"].to_string();
    assert!(args("inmost").contains("/one\",\"--read-only\"]"), "{new}");
    assert!(args("work").contains("/two\",\"--tool-name\",\"work_memory\"]"), "{new}");
    assert!(new["mcpServers"]["work"]["env"].get("TMPDIR").is_none(), "{new}");
    with("two", &["--name", "a b"]).expect_failure(2, "letters, digits");
    // An entry of another form, or of another program.
    let joined = format!("--store={}", place.beside("one").display());
    let entry = |value: Value| {
        let config = json!({ "mcpServers": { "inmost": value } });
        fs::write(place.beside("c.json"), config.to_string()).unwrap();
    };
    entry(json!({ "command": "inmost", "args": ["mcp", joined] }));
    with("two", &["--yes"]).expect_failure(1, "connects another store as `inmost`: /");
    with("one", &["--yes"]).expect(0);
    entry(json!({ "command": "x", "env": { "INMOST_STORE": "/three" } }));
    with("one", &["--yes"]).expect_failure(1, "one that its arguments do not name");
}

#[test]
fn a_missing_store_is_a_warning() {
    let place = Place::vacant();
    let done = run(&mut install(&place, "cursor", &["--yes"]), b"");
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.err.contains("there is no store at"), "{}", done.err);
}
