//! The behaviour of an unlocked store, on a session and on a client of a real daemon.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at an unexpected value"
)]

mod restricted;
#[path = "../../../../tests/store/unlocked_store/suite.rs"]
mod suite;

use std::path::PathBuf;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use inmost::{
    BackupOptions, ExpiryHindrance, ExpirySettings, FileError, Files, HistorySettings, MemoryTool,
    NewFile, Passphrase, Precondition, Screen, ScreenInput, ScreenVerdict, SearchQuery, Session,
    StoreError, ToolOptions, Undone, UnlockedStore, VaultOptions, VersionChannel, VersionQuery,
    WriteOutcome,
};
use inmost_keyd::{
    Client, ConnectOptions, DaemonError, DaemonOptions, Limits, Secret, SlotOptions,
};
use inmost_screen::SecretScreen;
use inmost_testing::{CHEAP, passphrase};
use suite::{SUITE, transcript};

/// A daemon on a thread of this process, and the folder of its store.
struct Daemon {
    store: PathBuf,
    thread: Option<JoinHandle<Result<(), DaemonError>>>,
    _home: tempfile::TempDir,
}

/// How long the daemon may take to start on a busy machine.
const START: Duration = Duration::from_secs(120);

impl Daemon {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = home.path().join("store");
        let options = VaultOptions::new().kdf_cost(CHEAP);
        options.create(&store, &passphrase()).unwrap().lock();
        let (ready, wait) = mpsc::channel();
        let limits = Limits { idle: Duration::from_secs(600), total: Duration::from_secs(3_600) };
        let place = store.clone();
        let thread = thread::spawn(move || {
            let secret = Secret::new(passphrase(), None);
            inmost_keyd::serve::<DaemonError>(&place, &DaemonOptions::new(limits), secret, |_| {
                ready.send(()).unwrap();
                Ok(())
            })
        });
        wait.recv_timeout(START).expect("the daemon did not start in time");
        Self { store, thread: Some(thread), _home: home }
    }

    fn client(&self) -> Client {
        Client::connect(&self.store).unwrap().unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Not joined: the client waits for the end of the daemon's process, which is this process.
        let store = self.store.clone();
        thread::spawn(move || inmost_keyd::lock(store));
        let served = self.thread.take().map(JoinHandle::join);
        assert!(matches!(served, Some(Ok(Ok(()))) | None), "{served:?}");
    }
}

#[test]
fn a_watcher_that_looks_does_not_restart_the_idle_time() {
    let daemon = Daemon::start();
    let (client, options) = (daemon.client(), ConnectOptions::new().as_watcher());
    let watcher = options.connect(&daemon.store).unwrap().unwrap();
    Files::new(&client).write("/memories/a/b.md", "text\n").unwrap();
    let left = || client.daemon().unwrap().idle_left;
    let pass = || thread::sleep(Duration::from_millis(20));
    let files = Files::new(&watcher);
    let before = left();
    pass();
    files.metadata("/memories/a/b.md").unwrap();
    assert_eq!(files.list("/memories/a").unwrap().len(), 1);
    assert_eq!(files.walk("/memories").count(), 2);
    assert!(files.version("/memories/a/b.md").unwrap().is_some());
    let looked = left();
    assert!(looked < before, "{looked:?} {before:?}");
    let is_restarted = |work: &dyn Fn()| {
        pass();
        let before = left();
        work();
        left() > before
    };
    assert!(is_restarted(&|| drop(files.read("/memories/a/b.md").unwrap())));
    assert!(is_restarted(&|| files.write("/memories/a/b.md", "new\n").unwrap()));
    assert!(
        is_restarted(&|| drop(Files::new(&client).list("/memories").unwrap())),
        "another client"
    );
}

#[test]
fn a_session_behaves() {
    for (name, case) in SUITE {
        println!("{name}");
        case(&Session::in_memory().unwrap());
    }
}

#[test]
fn a_client_behaves_as_a_session_does() {
    let daemon = Daemon::start();
    let client = daemon.client();
    for (name, case) in SUITE {
        println!("{name}");
        case(&client);
        let files = Files::new(&client);
        for entry in files.list("/memories").unwrap() {
            files.remove(&format!("/memories/{}", entry.name)).unwrap();
        }
    }
}

#[test]
fn a_file_that_no_request_can_contain_stops_none_of_the_others() {
    let daemon = Daemon::start();
    let client = daemon.client();
    let long = "x".repeat(64 << 20);
    let results = client.write_many(&[
        NewFile::new("/memories/a", "1"),
        NewFile::new("/memories/long", &long),
        NewFile::new("/memories/b", "2"),
    ]);
    assert!(matches!(
        results.unwrap()[..],
        [
            Ok(WriteOutcome::Written),
            Err(FileError::Store(StoreError::TooLarge)),
            Ok(WriteOutcome::Written)
        ]
    ));
    assert_eq!(client.status().unwrap().files, 2);
}

#[test]
fn tool_calls_give_the_same_bytes_on_both() {
    let daemon = Daemon::start();
    let here = transcript(&MemoryTool::new(Session::in_memory().unwrap()));
    assert_eq!(transcript(&MemoryTool::new(daemon.client())), here);
}

#[test]
fn maintenance_and_keyslots_work_through_a_client() {
    let daemon = Daemon::start();
    let client = daemon.client();
    Files::new(&client).write("/memories/a", "text").unwrap();
    assert_eq!(client.status().unwrap().files, 1);
    assert_eq!(client.daemon().unwrap().process, std::process::id());
    assert!(!client.compaction_due().unwrap());
    assert!(client.check(|_| {}).unwrap().problems.is_empty());
    client.purge(|_| {}).unwrap();
    let copy = daemon.store.with_file_name("copy");
    let report = client.backup_into(&copy, &BackupOptions::default(), |_| {}).unwrap();
    assert_eq!((report.number, report.verified.files), (1, 1));
    let secret = Secret::new(Passphrase::new("another one").unwrap(), None);
    let number = client.add_slot(&secret, SlotOptions::new()).unwrap();
    assert_eq!(client.slots().unwrap().len(), 2);
    client.replace_slot(number, &secret, SlotOptions::new()).unwrap();
    client.remove_slot(number).unwrap();
    assert!(matches!(client.remove_slot(number), Err(StoreError::NoSuchSlot(_))));
    assert!(client.rotate(&Secret::new(passphrase(), None), |_| {}).unwrap().is_empty());
    assert_eq!(Files::new(&client).read("/memories/a").unwrap().as_str(), "text");
}

#[test]
fn the_history_shows_the_actor_and_the_channel_of_each_client() {
    let daemon = Daemon::start();
    let connect = |options: ConnectOptions| options.connect(&daemon.store).unwrap().unwrap();
    let program = connect(ConnectOptions::new().as_program());
    let night = connect(ConnectOptions::new().actor(Some("night\n")));
    let history = program.history();
    history.set(HistorySettings::keep(Duration::from_secs(3_600))).unwrap();
    assert_eq!(history.status().unwrap().settings.time(), Some(Duration::from_secs(3_600)));

    Files::new(&program).write("/memories/a", "1\n").unwrap();
    Files::new(&night).write("/memories/a", "2\n").unwrap();
    let call = br#"{"command":"create","path":"/memories/b","file_text":"b"}"#;
    assert!(!MemoryTool::new(night.clone()).run_json(call).into_parts().0.is_error());
    let page = history.page(&VersionQuery::all(), None, 10).unwrap();
    let authors: Vec<_> = page.items.iter().map(|it| (it.channel, it.actor.as_str())).collect();
    assert_eq!(
        authors,
        [
            (VersionChannel::Tool, "night"),
            (VersionChannel::Files, "night"),
            (VersionChannel::Program, ""),
        ]
    );
    let first = page.items[2].number;
    let page = history.page(&VersionQuery::all(), None, 2).unwrap();
    assert_eq!(page.next, Some(page.items[1].number));
    assert_eq!(history.page(&VersionQuery::all(), page.next, 2).unwrap().items[0].number, first);

    assert_eq!(history.text(first).unwrap().as_str(), "1\n");
    let query = VersionQuery::all().actor("night");
    let plan = history.plan_undo(&query).unwrap();
    let results = history.undo(&plan, |_| {}).unwrap();
    assert!(matches!(results[..], [Undone::Done(_), Undone::Done(_)]), "{results:?}");
    assert_eq!(Files::new(&program).read("/memories/a").unwrap().as_str(), "1\n");
    assert_eq!(program.status().unwrap().files, 1);
    let again = history.restore(first, Some("/memories/c")).unwrap();
    assert!(again > first);

    let second = page.items[1].number;
    assert!(history.forget("/memories/a", Some(second), |_| {}).unwrap() > 1);
    assert!(matches!(history.text(second), Err(FileError::VersionGone(it)) if it == second));
    assert!(matches!(history.text(7), Err(FileError::NoSuchVersion(7))));
    program.compact(|_| {}).unwrap();
    assert!(history.status().unwrap().entries > 0);
    assert!(history.forget("/memories", None, |_| {}).unwrap() > 0);
    program.purge(|_| {}).unwrap();
    assert_eq!(history.status().unwrap().entries, 0);
    assert_eq!(history.status().unwrap().settings.time(), Some(Duration::from_secs(3_600)));
}

#[test]
fn readings_through_a_client_are_recorded_along_with_the_next_change() {
    let daemon = Daemon::start();
    let connect = |options: ConnectOptions| options.connect(&daemon.store).unwrap().unwrap();
    let (client, export) = (daemon.client(), connect(ConnectOptions::new().without_recording()));
    let year = Duration::from_secs(365 * 86_400);
    let report = client.expiry().expire(year, true, |_| {}).unwrap();
    assert_eq!((report.count(), report.hindrance), (0, Some(ExpiryHindrance::NotRecording)));

    client.expiry().set(ExpirySettings::at_unlock(year)).unwrap();
    let write = |path: &str| Files::new(&client).write(path, "text\n").unwrap();
    write("/memories/a");
    write("/memories/b");
    Files::new(&export).read("/memories/a").unwrap();
    write("/memories/c");
    assert_eq!(export.expiry().status().unwrap().readings, 0);
    Files::new(&client).read("/memories/a").unwrap();
    let view = br#"{"command":"view","path":"/memories/b"}"#;
    assert!(!MemoryTool::new(client.clone()).run_json(view).into_parts().0.is_error());
    let status = connect(ConnectOptions::new().status_only());
    assert_eq!(status.expiry().status().unwrap().readings, 0);
    write("/memories/c");
    let found = status.expiry().status().unwrap();
    assert_eq!((found.readings, found.settings), (2, ExpirySettings::at_unlock(year)));

    let report = client.expiry().expire(year, false, |_| {}).unwrap();
    assert_eq!((report.count(), report.hindrance), (0, None));
    let expired = client.expiry().expire(Duration::ZERO, false, |_| {}).unwrap();
    assert!(expired.files.iter().any(|file| file.path.as_str() == "/memories/c"));
    assert!(!Files::new(&client).exists("/memories/c").unwrap());

    let restricted = connect(ConnectOptions::new().tool(ToolOptions::new().read_only(true)));
    assert!(restricted.expiry().status().is_err());
    assert!(restricted.expiry().expire(year, true, |_| {}).is_err());
    assert!(restricted.expiry().set(ExpirySettings::off()).is_err());
    assert!(status.expiry().set(ExpirySettings::off()).is_err());
}

#[test]
fn threads_share_a_client() {
    let daemon = Daemon::start();
    let client = daemon.client();
    thread::scope(|scope| {
        for number in 0..4 {
            let client = client.clone();
            scope.spawn(move || {
                let files = Files::new(&client);
                for file in 0..5 {
                    files.write(&format!("/memories/{number}/{file}"), "tea\n").unwrap();
                }
                assert!(files.search("/memories", SearchQuery::text("tea")).count() >= 5);
            });
        }
    });
    assert_eq!(client.status().unwrap().files, 20);
}

/// Two connections stand for two programs.
#[test]
fn two_programs_that_count_together_lose_nothing() {
    const PATH: &str = "/memories/count";
    let daemon = Daemon::start();
    let clients = [daemon.client(), daemon.client()];
    Files::new(&clients[0]).write_if(PATH, "0", &Precondition::Absent).unwrap();
    thread::scope(|scope| {
        for number in 0..8 {
            let client = &clients[number % 2];
            scope.spawn(move || {
                let files = Files::new(client);
                for _ in 0..10 {
                    let (mut seen, mut text) = (None, String::new());
                    loop {
                        let condition = match seen {
                            Some(version) => Precondition::Version(version),
                            None => Precondition::Version(0),
                        };
                        match files.write_if(PATH, &text, &condition) {
                            Ok(_) => break,
                            Err(FileError::Changed(Some(now))) => {
                                // The text that belongs to this state, or a later one, which the next attempt notices.
                                let read = files.read(PATH).unwrap().into_string();
                                text = (read.parse::<u32>().unwrap() + 1).to_string();
                                let still = files.version(PATH).unwrap().unwrap();
                                seen = (still == *now).then_some(now.version);
                            }
                            Err(error) => panic!("{error}"),
                        }
                    }
                }
            });
        }
    });
    assert_eq!(Files::new(&clients[1]).read(PATH).unwrap().as_str(), "80");
}

#[test]
fn connecting_without_a_daemon_returns_none() {
    let home = tempfile::tempdir().unwrap();
    assert!(Client::connect(home.path()).unwrap().is_none());
    assert!(Client::connect(home.path().join("none")).unwrap().is_none());
    assert!(!inmost_keyd::lock(home.path()).unwrap());
}

#[test]
fn a_request_that_is_too_long_is_refused_before_it_is_sent() {
    let daemon = Daemon::start();
    let client = daemon.client();
    let history = client.history();
    history.set(HistorySettings::keep(Duration::from_secs(600))).unwrap();
    client.write("/memories/a", "tea").unwrap();
    let plan = history.plan_undo(&VersionQuery::all()).unwrap();
    // Regression: the daemon refused such a request and ended the connection.
    let steps: Vec<_> = plan.steps.iter().cloned().cycle().take(20_000).collect();
    let refused = inmost::HistoryStore::revert_together(&client, &steps);
    assert!(matches!(refused, Err(FileError::Store(StoreError::TooLarge))), "{refused:?}");
    let long = format!("/memories/{}", "x".repeat(3 << 20));
    let refused = client.read(&long, None).map(drop);
    assert!(matches!(refused, Err(FileError::Store(StoreError::TooLarge))), "{refused:?}");
    assert_eq!(Files::new(&client).read("/memories/a").unwrap().as_str(), "tea");
}

/// serde refuses a time before 1970. The client waited for ever for the reply to a request that it had not sent.
#[test]
fn a_request_that_cannot_be_sent_is_an_error() {
    let daemon = Daemon::start();
    let client = daemon.client();
    let history = client.history();
    history.set(HistorySettings::keep(Duration::from_secs(600))).unwrap();
    client.write("/memories/a", "tea").unwrap();
    let before_1970 = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
    let page = |query| history.page(&query, None, 10).unwrap().items.len();
    assert_eq!(page(VersionQuery::all().since(before_1970)), 1);
    assert_eq!(page(VersionQuery::all().until(before_1970)), 0);

    let mut plan = history.plan_undo(&VersionQuery::all()).unwrap();
    plan.steps[0].newest.time = before_1970;
    let refused = history.undo(&plan, |_| {});
    assert!(matches!(refused, Err(StoreError::KeyDaemon(_))), "{refused:?}");
    assert_eq!(Files::new(&client).read("/memories/a").unwrap().as_str(), "tea");
}
