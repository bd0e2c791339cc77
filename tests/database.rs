//! Vaults in a PostgreSQL database through the public API, and how many round trips each call makes. `tests/postgres/run.sh`
//! starts the server.
#![allow(clippy::unwrap_used, reason = "a test should stop at the first unexpected result")]

use inmost::{
    FileError, MemoryTool, NewFile, Postgres, PostgresConfig, PostgresUrl, RawKey, SearchQuery,
    Session, StoreError, VaultId, VaultOptions,
};

const NEEDS: &str = "tests/postgres/run.sh sets the address of a server";

fn database() -> Postgres {
    let url = std::env::var("INMOST_TEST_POSTGRES").expect(NEEDS);
    let config = PostgresConfig::new(&PostgresUrl::parse(&url).unwrap());
    Postgres::new(config.password_from_environment().unwrap()).unwrap()
}

fn key() -> RawKey {
    RawKey::from_bytes(&[9; 32])
}

/// A new vault, and the session that made it.
fn vault(database: &Postgres) -> (VaultId, Session) {
    let id = Postgres::new_id().unwrap();
    (id, VaultOptions::new().create_in(database, id, &key()).unwrap())
}

fn open(database: &Postgres, id: VaultId) -> Session {
    VaultOptions::new().open_in(database, id).unwrap().unlock_with(&key()).unwrap()
}

/// The round trips that some work makes.
fn trips<T>(database: &Postgres, work: impl FnOnce() -> T) -> (u64, T) {
    let before = database.round_trips();
    let result = work();
    (database.round_trips() - before, result)
}

#[test]
#[ignore = "needs a server: tests/postgres/run.sh"]
fn two_hosts_work_on_one_vault() {
    let (here, there) = (database(), database());
    let (id, one) = vault(&here);
    let two = open(&there, id);
    one.files().write("/memories/a.md", "one\n").unwrap();
    assert_eq!(two.files().read("/memories/a.md").unwrap().as_str(), "one\n");
    two.files().append("/memories/a.md", "two\n").unwrap();
    one.files().append("/memories/a.md", "three\n").unwrap();
    assert_eq!(two.files().read("/memories/a.md").unwrap().as_str(), "one\ntwo\nthree\n");
    two.files().remove("/memories/a.md").unwrap();
    assert!(matches!(one.files().read("/memories/a.md"), Err(FileError::NotFound)));
    assert!(one.check().unwrap().is_clean());
    let again = VaultOptions::new().create_in(&here, id, &key());
    assert!(matches!(again, Err(StoreError::AlreadyExists)));
    here.destroy(id).unwrap();
    assert!(matches!(VaultOptions::new().open_in(&there, id), Err(StoreError::NotAStore)));
}

#[test]
#[ignore = "needs a server: tests/postgres/run.sh"]
fn nobody_loses_a_change_when_hosts_hammer_one_vault() {
    let here = database();
    let (id, one) = vault(&here);
    one.files().write("/memories/log.txt", "").unwrap();
    std::thread::scope(|scope| {
        for host in 0..4 {
            let database = database();
            scope.spawn(move || {
                let session = open(&database, id);
                for number in 0..25 {
                    session
                        .files()
                        .append("/memories/log.txt", &format!("{host}.{number}\n"))
                        .unwrap();
                }
            });
        }
    });
    let text = one.files().read("/memories/log.txt").unwrap();
    let mut lines: Vec<&str> = text.as_str().lines().collect();
    assert_eq!(lines.len(), 100);
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 100, "each change is there once");
}

#[test]
#[ignore = "needs a server: tests/postgres/run.sh"]
fn calls_make_few_round_trips() {
    let database = database();
    let (id, first) = vault(&database);
    let files: Vec<(String, String)> = (0..30)
        .map(|number| {
            (format!("/memories/f{}/n{number}.md", number % 6), format!("note {number}\n"))
        })
        .collect();
    for (path, text) in &files {
        first.files().write(path, text).unwrap();
    }
    first.lock();

    let (cold, session) = trips(&database, || open(&database, id));
    // One brings everything, and an unlock that looks for work that a crash left asks twice whether something has changed.
    assert!(cold <= 3, "open and unlock: {cold}");
    let tool = MemoryTool::new(session.clone());
    let calls = [
        r#"{"command":"view","path":"/memories"}"#,
        r#"{"command":"view","path":"/memories/f1/n1.md"}"#,
        r#"{"command":"create","path":"/memories/new.md","file_text":"one\n"}"#,
        r#"{"command":"str_replace","path":"/memories/new.md","old_str":"one","new_str":"two"}"#,
        r#"{"command":"insert","path":"/memories/new.md","insert_line":1,"insert_text":"three\n"}"#,
        r#"{"command":"rename","old_path":"/memories/new.md","new_path":"/memories/old.md"}"#,
        r#"{"command":"delete","path":"/memories/old.md"}"#,
    ];
    let made = calls.map(|call| {
        let (trips, result) = trips(&database, || tool.try_run_json(call).unwrap());
        assert!(!result.is_error(), "{call}: {}", result.content());
        trips
    });
    let (reads, changes) = made.split_at(2);
    assert_eq!(reads, [1, 1], "{calls:?}");
    assert_eq!(changes, [1; 5], "{calls:?}");
    let missing = r#"{"command":"view","path":"/memories/nowhere.md"}"#;
    let (refused, result) = trips(&database, || tool.try_run_json(missing).unwrap());
    assert!(result.is_error());
    assert_eq!(refused, 1, "a refusal rests on the newest state");
}

#[test]
#[ignore = "needs a server: tests/postgres/run.sh"]
fn work_on_1000_files_makes_tens_of_round_trips() {
    let database = database();
    let (id, first) = vault(&database);
    let texts: Vec<(String, String)> = (0..1_000)
        .map(|number| {
            (format!("/memories/f{}/n{number}.md", number % 20), format!("note {number}\n"))
        })
        .collect();
    let files: Vec<NewFile<'_>> =
        texts.iter().map(|(path, text)| NewFile::new(path, text)).collect();
    let (written, results) = trips(&database, || first.files().write_many(&files).unwrap());
    assert!(results.iter().all(Result::is_ok));
    first.lock();
    let session = open(&database, id);
    let search = || session.files().search("/memories", SearchQuery::text("note"));
    let (searched, found) = trips(&database, || search().map(Result::unwrap).count());
    assert_eq!(found, 1_000);
    let (checked, report) = trips(&database, || session.check().unwrap());
    assert!(report.is_clean());
    let (purged, ()) = trips(&database, || session.purge().unwrap());
    println!("write {written}, search {searched}, check {checked}, purge {purged}");
    assert!(written <= 150 && searched <= 40 && checked <= 80 && purged <= 200);
}

#[test]
#[ignore = "needs a server: tests/postgres/run.sh"]
fn one_connection_is_enough_for_every_call() {
    let url = std::env::var("INMOST_TEST_POSTGRES").expect(NEEDS);
    let config = PostgresConfig::new(&PostgresUrl::parse(&url).unwrap());
    let database =
        Postgres::new(config.password_from_environment().unwrap().max_connections(1)).unwrap();
    let (id, one) = vault(&database);
    one.files().write("/memories/a.md", &"line\n".repeat(20_000)).unwrap();
    one.purge().unwrap();
    one.compact().unwrap();
    one.rotate(&key()).unwrap();
    let two = open(&database, id);
    std::thread::scope(|scope| {
        for session in [&one, &two] {
            scope.spawn(move || {
                for round in 0..10 {
                    session.files().append("/memories/log.md", &format!("{round}\n")).unwrap();
                }
            });
        }
    });
    assert_eq!(one.files().read("/memories/log.md").unwrap().as_str().lines().count(), 20);
    let folder = tempfile::tempdir().unwrap();
    one.backup_with_versions(folder.path().join("copy.inmost")).unwrap();
    assert!(two.check().unwrap().is_clean());
}
