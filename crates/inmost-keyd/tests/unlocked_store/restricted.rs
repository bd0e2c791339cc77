//! Clients that may do less than their user.

use super::*;

#[test]
fn a_restricted_client_has_no_history_and_one_for_the_status_only_its_settings() {
    let daemon = Daemon::start();
    let restricted = ConnectOptions::new().tool(ToolOptions::new().read_only(true));
    let restricted = restricted.connect(&daemon.store).unwrap().unwrap();
    let (history, step) = (restricted.history(), VersionQuery::all());
    assert!(history.page(&step, None, 1).is_err());
    assert!(history.text(64).is_err() && history.restore(64, None).is_err());
    assert!(history.forget("/memories", None, |_| {}).is_err());
    assert!(history.status().is_err() && history.set(HistorySettings::off()).is_err());

    let status = ConnectOptions::new().status_only().connect(&daemon.store).unwrap().unwrap();
    assert_eq!(status.history().status().unwrap().settings.time(), None);
    assert!(status.history().page(&VersionQuery::all(), None, 1).is_err());
}

#[test]
fn a_restricted_client_runs_tool_calls_and_nothing_else() {
    let daemon = Daemon::start();
    let options = ToolOptions::new().read_only(true);
    let client = ConnectOptions::new().tool(options).connect(&daemon.store).unwrap().unwrap();
    let refused = Files::new(&client).read("/memories/a").unwrap_err();
    assert!(
        matches!(&refused, FileError::Store(StoreError::KeyDaemon(why)) if why.contains("does not allow this request"))
    );
    assert!(matches!(client.slots(), Err(StoreError::KeyDaemon(_))));
    // The options of the connection override those of the tool.
    let tool = MemoryTool::new(client);
    let reply = tool.run_json(r#"{"command": "create", "path": "/memories/a", "file_text": ""}"#);
    assert_eq!(reply.result().content(), "Error: Memory is read-only.");
}

#[test]
fn a_screened_client_is_screened_by_the_daemon_and_has_no_other_way_to_write() {
    let daemon = Daemon::start();
    let options = ToolOptions::new().screen(SecretScreen::redacting());
    let client = ConnectOptions::new().tool(options).connect(&daemon.store).unwrap().unwrap();
    let create =
        r#"{"command": "create", "path": "/memories/a", "file_text": "4111 1111 1111 1111"}"#;
    // The options of the connection override those of the tool.
    let reply = MemoryTool::new(client.clone()).run_json(create);
    assert_eq!(
        reply.result().content(),
        "File created successfully at: /memories/a\n[1 redacted: card number]"
    );
    let refused = Files::new(&client).write("/memories/b", "4111 1111 1111 1111").unwrap_err();
    assert!(
        matches!(&refused, FileError::Store(StoreError::KeyDaemon(why)) if why.contains("does not allow this request"))
    );
    let files = daemon.client();
    assert_eq!(Files::new(&files).read("/memories/a").unwrap().as_str(), "[redacted: card number]");
    assert_eq!(files.status().unwrap().files, 1);
    // The options of a tool go with each call, if the connection has none.
    let tool = MemoryTool::with_options(files, ToolOptions::new().screen(SecretScreen::refusing()));
    let reply = tool.run_json(create.replace("/a", "/c"));
    assert_eq!(
        reply.result().content(),
        "Error: Not saved: the text contains card number. Leave it out and try again."
    );
}

struct AllowAll;

impl Screen for AllowAll {
    fn screen(&self, _: &ScreenInput<'_>) -> ScreenVerdict {
        ScreenVerdict::Allow
    }
}

#[test]
fn a_screen_of_the_application_is_never_left_out() {
    let daemon = Daemon::start();
    let options = ToolOptions::new().screen(AllowAll);
    let failed = ConnectOptions::new().tool(options.clone()).connect(&daemon.store);
    let what = "The key daemon cannot run a screen of the application.";
    assert!(matches!(failed, Err(DaemonError::Store(StoreError::KeyDaemon(why))) if why == what));
    let tool = MemoryTool::with_options(daemon.client(), options);
    let create = r#"{"command": "create", "path": "/memories/a", "file_text": ""}"#;
    let (result, failed) = tool.run_json(create).into_parts();
    assert_eq!(result.content(), "Error: Memory is unavailable.");
    assert!(matches!(failed, Some(StoreError::KeyDaemon(why)) if why == what));
    assert_eq!(daemon.client().status().unwrap().files, 0);
}

#[test]
fn a_client_for_the_status_reads_it_and_nothing_else() {
    let daemon = Daemon::start();
    let client = ConnectOptions::new().status_only().connect(&daemon.store).unwrap().unwrap();
    assert_eq!(client.status().unwrap().files, 0);
    assert_eq!(client.daemon().unwrap().process, client.process());
    let refused = client.compaction_due().unwrap_err();
    assert!(
        matches!(&refused, StoreError::KeyDaemon(why) if why.contains("does not allow this request"))
    );
    assert!(Files::new(&client).write("/memories/a", "").is_err());
    assert_eq!(client.status().unwrap().files, 0);
}
