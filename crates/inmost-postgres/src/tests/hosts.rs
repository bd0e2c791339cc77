//! Several hosts, which the tests play themselves.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::*;
use crate::connection::Connection;
use crate::failure::Failure;

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(4 + body.len()).unwrap();
    [&[kind], &length.to_be_bytes()[..], body].concat()
}

/// The rest of a message after its kind. The first one of a client has no kind.
fn read_message(stream: &mut impl Read) -> Vec<u8> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut rest = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap() - 4];
    stream.read_exact(&mut rest).unwrap();
    rest
}

/// Logs a client in without a password.
fn let_in(stream: &mut (impl Read + Write)) {
    read_message(stream);
    stream.write_all(&[message(b'R', &[0; 4]), message(b'Z', b"I")].concat()).unwrap();
}

/// Logs a client in and says whether the server only reads. Returns what comes then, until the client hangs up.
fn session(mut stream: impl Read + Write, only_reads: &str) -> Vec<u8> {
    let_in(&mut stream);
    let mut kind = [0];
    stream.read_exact(&mut kind).unwrap();
    assert_eq!((kind[0], read_message(&mut stream).as_slice()), (b'Q', SHOW.as_bytes()));
    let columns = [b"\0\x01x\0".as_slice(), &[0; 18]].concat();
    let length = u32::try_from(only_reads.len()).unwrap().to_be_bytes();
    let row = [b"\0\x01", &length[..], only_reads.as_bytes()].concat();
    let answer = [
        message(b'T', &columns),
        message(b'D', &row),
        message(b'C', b"SHOW\0"),
        message(b'Z', b"I"),
    ];
    stream.write_all(&answer.concat()).unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    rest
}

/// The only client of a listener is handled by a thread.
fn tcp<T: Send + 'static>(
    serve: impl FnOnce(std::net::TcpStream) -> T + Send + 'static,
) -> (u16, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (port, thread::spawn(move || serve(listener.accept().unwrap().0)))
}

fn open(url: &str) -> Result<Connection, Failure> {
    open_with(&PostgresConfig::new(&PostgresUrl::parse(url).unwrap()))
}

fn open_with(config: &PostgresConfig) -> Result<Connection, Failure> {
    Connection::open(config, None, std::sync::Arc::default())
}

fn reason(opened: Result<Connection, Failure>) -> String {
    match opened.err().unwrap() {
        Failure::Unreachable(why) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_host_that_accepts_and_says_nothing_does_not_keep_the_next_one_from_being_tried() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_port = silent.local_addr().unwrap().port();
    let (port, server) = tcp(|stream| session(stream, "off"));
    let url =
        format!("postgres://app@127.0.0.1:{silent_port},127.0.0.1:{port}/m?connect_timeout=1");
    let begun = Instant::now();
    let connection = open(&url).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    drop(connection);
    server.join().unwrap();
    // Alone, it is named.
    let alone = open(&format!("postgres://app@127.0.0.1:{silent_port}/m?connect_timeout=1"));
    assert_eq!(reason(alone), format!("127.0.0.1:{silent_port} does not respond within 1 s"));
}

#[test]
fn each_host_has_its_part_of_the_limit_of_a_call() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let url = PostgresUrl::parse(&format!("postgres://app@{address},{address}/m")).unwrap();
    let config = PostgresConfig::new(&url).call_timeout(Duration::from_secs(3));
    let why = reason(open_with(&config));
    let each = format!("{address} does not respond within 1 s");
    assert_eq!(why, format!("{each}; {each}"));
    // A single one has all of it.
    let url = PostgresUrl::parse(&format!("postgres://app@{address}/m")).unwrap();
    let config = PostgresConfig::new(&url).call_timeout(Duration::from_secs(6));
    assert_eq!(reason(open_with(&config)), format!("{address} does not respond within 6 s"));
}

#[test]
fn the_error_says_of_each_host_why_it_is_of_no_use() {
    let (port, server) = tcp(|stream| session(stream, "on"));
    let why = reason(open(&format!("postgres://app@127.0.0.1:1,127.0.0.1:{port}/m")));
    assert!(why.starts_with("cannot connect to 127.0.0.1:1: "), "{why}");
    let second = format!("; cannot connect to 127.0.0.1:{port}: it takes no writes");
    assert!(why.ends_with(&second), "{why}");
    server.join().unwrap();
    let (port, server) = tcp(|stream| session(stream, "off"));
    let url = format!("postgres://app@127.0.0.1:{port}/m?target_session_attrs=read-only");
    assert!(reason(open(&url)).ends_with("it takes writes"));
    server.join().unwrap();
}

#[cfg(unix)]
#[test]
fn of_several_sockets_the_one_of_the_server_that_takes_writes_is_used() {
    use std::os::unix::net::UnixListener;
    let folder = tempfile::tempdir().unwrap();
    let listen = |name: &str| {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        UnixListener::bind(folder.path().join(name).join(".s.PGSQL.5432")).unwrap()
    };
    let (refuses, reads, writes) = (listen("refuses"), listen("reads"), listen("writes"));
    let servers = [
        thread::spawn(move || drop(refuses.accept().unwrap())),
        thread::spawn(move || drop(session(reads.accept().unwrap().0, "on"))),
        thread::spawn(move || drop(session(writes.accept().unwrap().0, "off"))),
    ];
    let path = folder.path().display();
    let hosts = format!("{path}/missing,{path}/refuses,{path}/reads,{path}/writes");
    drop(open(&format!("postgres://app@/m?host={hosts}")).unwrap());
    for server in servers {
        server.join().unwrap();
    }
    let url = format!("postgres://app@/m?host={path}&sslmode=verify-full");
    let config = PostgresConfig::new(&PostgresUrl::parse(&url).unwrap());
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let tls = tokio_postgres_rustls::MakeRustlsConnect::new(tls);
    let why = reason(Connection::open(&config, Some(&tls), std::sync::Arc::default()));
    assert!(why.ends_with("a Unix socket has no TLS"), "{why}");
}

#[test]
fn no_host_is_offered_the_password_of_another() {
    // Each asks for a proof by SCRAM, and hangs up after the first answer.
    let ask = || {
        tcp(|mut stream| {
            read_message(&mut stream);
            let request = [b"\0\0\0\x0A".as_slice(), b"SCRAM-SHA-256\0\0"].concat();
            stream.write_all(&message(b'R', &request)).unwrap();
            stream.read(&mut [0; 512]).unwrap()
        })
    };
    let ((first, asked), (second, answered)) = (ask(), ask());
    let url = format!("postgres://app@127.0.0.1:{first},127.0.0.1:{second}/m");
    let mut config = PostgresConfig::new(&PostgresUrl::parse(&url).unwrap());
    config.passwords = vec![None, Some(b"hunter2".to_vec())];
    let why = reason(open_with(&config));
    assert!(why.contains("password missing") && !why.contains("hunter2"), "{why}");
    assert_eq!(asked.join().unwrap(), 0);
    assert!(answered.join().unwrap() > 0);
}

#[test]
fn a_connection_that_is_lost_is_not_waited_for_again() {
    let (port, server) = tcp(|mut stream| {
        let_in(&mut stream);
        let mut asked = Vec::new();
        stream.read_to_end(&mut asked).unwrap();
        asked
    });
    let url = PostgresUrl::parse(&format!("postgres://app@127.0.0.1:{port}/m")).unwrap();
    let config = PostgresConfig::new(&url).call_timeout(Duration::from_secs(1));
    let mut connection = open_with(&config).unwrap();
    assert!(connection.run("SELECT 1").unwrap_err().is_lost());
    let begun = Instant::now();
    // Regression: it waited for the time limit once more, and the connection then counted by how this call ended.
    assert!(connection.run("ROLLBACK").unwrap_err().is_lost());
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    assert!(connection.is_lost());
    drop(connection);
    assert!(!server.join().unwrap().windows(8).any(|part| part == b"ROLLBACK"));
}

#[test]
fn hosts_are_tried_in_their_order_or_at_random() {
    let ordered: Vec<u32> = (0..100).collect();
    let tried = |order: &str| {
        let url = format!("postgres://app@localhost/m?load_balance_hosts={order}");
        let mut hosts = ordered.clone();
        crate::login::in_order(&PostgresUrl::parse(&url).unwrap().config, &mut hosts);
        hosts
    };
    assert_eq!(tried("disable"), ordered);
    assert_ne!(tried("random"), tried("random"));
}

const SHOW: &str = "SHOW transaction_read_only\0";
