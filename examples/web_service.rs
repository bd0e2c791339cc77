//! A web service that keeps the memory of each of its users in a vault of its own, in one PostgreSQL database. Any number of
//! its processes can serve the same users.
//!
//! `web_service setup URL ACCOUNTS USERS` makes an account with a vault for each of the users `user-0`, `user-1` and so on, and
//! writes the file ACCOUNTS.
//! `web_service serve URL ACCOUNTS ADDRESS` serves `POST /memory/USER`. The body is the `input` of a `tool_use` block;
//! the reply is the `tool_result` block for the model, with the status 503 and a reason if the store failed.
//!
//! The password of the database comes from PGPASSWORD. ACCOUNTS stands for the service's own table of users: it holds the
//! id and the key of each vault, so its place is not the database that holds the vaults. HTTP is read just well enough for an
//! example; put a real server in its place.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use inmost::{
    MemoryTool, Postgres, PostgresConfig, PostgresUrl, RawKey, Session, StoreError, VaultId,
    VaultOptions,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["setup", url, accounts, users] => setup(&database(url)?, accounts, users.parse()?),
        ["serve", url, accounts, address] => {
            let service = Service { database: database(url)?, users: load(accounts)? };
            serve(&Arc::new(service), address)
        }
        _ => Err("setup URL ACCOUNTS USERS, or serve URL ACCOUNTS ADDRESS".into()),
    }
}

/// One pool of connections for all vaults of the process.
fn database(url: &str) -> Result<Postgres, Box<dyn Error>> {
    let config = PostgresConfig::new(&PostgresUrl::parse(url)?).password_from_environment()?;
    Ok(Postgres::new(config.max_connections(16))?)
}

/// A key in a raw slot needs no key derivation, so a vault opens in a few round trips.
fn setup(database: &Postgres, accounts: &str, users: u32) -> Result<(), Box<dyn Error>> {
    let mut lines = Vec::new();
    for number in 0..users {
        let id = Postgres::new_id()?;
        let mut key = [0; 32];
        fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
        let session = VaultOptions::new().create_in(database, id, &RawKey::from_bytes(&key))?;
        session.lock();
        lines.push(serde_json::json!([format!("user-{number}"), id.to_string(), key]).to_string());
    }
    Ok(fs::write(accounts, lines.join("\n"))?)
}

struct User {
    id: VaultId,
    key: RawKey,
    /// Open while it is used. Calls of one user wait for each other only here; other users do not.
    session: Mutex<Option<Session>>,
}

struct Service {
    database: Postgres,
    users: HashMap<String, User>,
}

fn load(accounts: &str) -> Result<HashMap<String, User>, Box<dyn Error>> {
    let mut users = HashMap::new();
    for line in fs::read_to_string(accounts)?.lines() {
        let (name, id, key): (String, String, [u8; 32]) = serde_json::from_str(line)?;
        let (id, key) = (id.parse()?, RawKey::from_bytes(&key));
        users.insert(name, User { id, key, session: Mutex::new(None) });
    }
    Ok(users)
}

impl Service {
    /// The open session of a user. A session that was locked, for example by a rotation of the keys elsewhere, is opened anew.
    fn session(&self, user: &User) -> Result<Session, StoreError> {
        let mut open = user.session.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = open.as_ref().filter(|session| !session.is_locked()) {
            return Ok(session.clone());
        }
        let vault = VaultOptions::new().open_in(&self.database, user.id)?;
        let session = { vault }.unlock_with(&user.key)?;
        *open = Some(session.clone());
        Ok(session)
    }

    /// The status and the body of a reply.
    fn call(&self, path: &str, body: &[u8]) -> (u16, String) {
        let name = path.strip_prefix("/memory/");
        let Some(user) = name.and_then(|name| self.users.get(name)) else {
            return (404, error("there is no such user"));
        };
        let session = match self.session(user) {
            Ok(session) => session,
            Err(failure) => return (503, error(failure.name())),
        };
        let reply = MemoryTool::new(session).run_json(body);
        if let Some(failure) = reply.store_error() {
            return (503, error(failure.name()));
        }
        let result = reply.result();
        let block = serde_json::json!({
            "type": "tool_result", "content": result.content(), "is_error": result.is_error(),
        });
        (200, block.to_string())
    }
}

fn error(reason: &str) -> String {
    serde_json::json!({ "error": reason }).to_string()
}

fn serve(service: &Arc<Service>, address: &str) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    for connection in listener.incoming() {
        let (service, connection) = (Arc::clone(service), connection?);
        std::thread::spawn(move || converse(&service, &connection));
    }
    Ok(())
}

/// Answers the requests of a connection until it ends.
fn converse(service: &Service, connection: &TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(connection);
    while let Some((path, body)) = request(&mut reader)? {
        let (status, reply) = service.call(&path, &body);
        let head = format!(
            "HTTP/1.1 {status} \r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            reply.len()
        );
        let mut writer = connection;
        writer.write_all([head, reply].concat().as_bytes())?;
    }
    Ok(())
}

/// The path and the body of a request; `None` at the end.
fn request(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut line = String::new();
    if reader.by_ref().take(HEAD_BYTES).read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        if reader.by_ref().take(HEAD_BYTES).read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    if length > BODY_BYTES {
        return Err(io::Error::other("the body is too long"));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((path, body)))
}

const HEAD_BYTES: u64 = 8 << 10;
/// The longest body; a longer one ends the connection.
const BODY_BYTES: usize = 1 << 20;
