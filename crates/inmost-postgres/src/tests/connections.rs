//! Warnings, time limits and connections that end.

use super::*;

#[test]
#[ignore = "needs a server: tests/postgres/run.sh"]
fn a_warning_during_a_commit_leaves_its_outcome_open() {
    let server = vault().server;
    let say = |level: &str| format!("DO $$ BEGIN RAISE {level} 'canceling wait'; END $$");
    let commit =
        |level| server.connection().unwrap().with(|connection| connection.query(&say(level), &[]));
    assert!(commit("NOTICE").is_ok());
    let warned = commit("WARNING").unwrap_err();
    assert!(
        matches!(warned.of_commit(), StorageError::Unknown(why) if why.contains("canceling wait"))
    );
    assert!(server.read(|connection| connection.read(&say("WARNING"), &[])).is_ok(), "a read");
}

#[test]
#[ignore = "needs a server: tests/postgres/run.sh"]
fn a_call_ends_at_its_time_limit_and_the_connection_with_it() {
    let url = std::env::var("INMOST_TEST_POSTGRES").unwrap();
    let config = PostgresConfig::new(&PostgresUrl::parse(&url).unwrap());
    let config = config.password_from_environment().unwrap();
    let server = Server::new(config.call_timeout(std::time::Duration::from_secs(1))).unwrap();
    let mut lease = server.connection().unwrap();
    let late = lease.with(|connection| connection.query("SELECT pg_sleep(60)", &[])).unwrap_err();
    assert!(late.is_lost());
    assert!(lease.with(|connection| Ok(connection.is_lost())).unwrap());
    drop(lease);
    assert!(server.facts().is_ok(), "on another connection");
}

#[test]
#[ignore = "needs a server: tests/postgres/run.sh"]
fn a_connection_that_the_server_ended_is_noticed_before_a_commit() {
    let (vault, _engine) = store();
    let server = server("INMOST_TEST_POSTGRES");
    let host = PostgresStorage::open(&server, vault.id).unwrap();
    let engine = host.open_generation(1, EngineKind::Postgres).unwrap();
    let admin = server_of_admin();
    let id = server.read(|connection| connection.read("SELECT pg_backend_pid()", &[])).unwrap();
    let id: i32 = rows::column(&id[0], 0).unwrap();
    let end = format!("SELECT pg_terminate_backend({id}, 10000)");
    admin.read(|connection| connection.run(&end)).unwrap();
    engine.shared().unwrap().commit(&root(Some(b"one"), b"two", 2)).unwrap();
    assert_eq!(engine.get_many(&[ROOT]).unwrap(), [Some(b"two".to_vec())]);
}
