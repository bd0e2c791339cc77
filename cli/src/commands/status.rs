//! `inmost status`

use std::fmt::Write;

use inmost::{
    AnchorStatus, ExpiryStatus, HistoryStatus, Protections, SessionStatus, StorageEngine,
    StoreError,
};
use inmost_keyd::DaemonFacts;
use serde::Serialize;

use super::{expire, history, sync};
use crate::args::StoreArgs;
use crate::display::{self, count, duration, size};
use crate::exit::{Exit, Failure};
use crate::output::{print, say};
use crate::store::opening::{Access, Held, OpenOptions};
use crate::{hints, json_line};
#[cfg(feature = "postgres")]
use crate::{store::database, streams};
use inmost_console::Wiped;

/// Show the size, the history, the protections and the key daemon of a store
///
/// Never asks for a passphrase. If the store is locked and no other source of the passphrase is given, prints what can be
/// known of a locked store, and exits with 18. Without a store it exits with 10.
///
/// With --json one object is printed. `state` is locked, opened (for this command, with the passphrase given) or unlocked (by
/// the key daemon). A locked store has store, state, `disk_bytes` and `opens_with` only. `history` is that of
/// `inmost history --json`, `expiry` that of `inmost expire --json`, and `daemon` is null if no key daemon holds the store. Its
/// `sync` has `every_seconds` (null without `inmost unlock --sync`), `last_success` in milliseconds since 1970, and `last_error`.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost status --store notes.inmost")]
pub(crate) struct Status {
    #[command(flatten)]
    store: StoreArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What a command asks for.
struct Facts {
    disk_bytes: u64,
    status: SessionStatus,
    history: HistoryStatus,
    expiry: ExpiryStatus,
    daemon: Option<DaemonFacts>,
    #[cfg(feature = "postgres")]
    server: Option<inmost::ServerFacts>,
}

impl Status {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if let Some(opens_with) = self.locked()? {
            return self.print_locked(&opens_with);
        }
        let facts = match self.ask()? {
            // A key daemon locked the store after it had accepted the connection. The next attempt finds no daemon.
            Err(StoreError::Locked) => self.ask()??,
            facts => facts?,
        };
        let place = self.store.place()?.display().to_string();
        if self.json {
            return json_line::print(&Object::of(&place, &facts));
        }
        let has_anchor = self.store.open.anchor.is_some();
        say(&as_text(&place, &facts, has_anchor))
    }

    /// The kinds of credential that open the store, if it is locked and none was given.
    fn locked(&self) -> Result<Option<Vec<String>>, Failure> {
        if !self.store.open.credential.passphrase.prompts(self.store.by()) {
            return Ok(None);
        }
        Ok(match self.store.hold_for_status()? {
            Held::Daemon(_) => None,
            Held::Here(vault) => Some(vault.slot_kinds().iter().map(ToString::to_string).collect()),
        })
    }

    fn print_locked(&self, opens_with: &[String]) -> Result<(), Failure> {
        let (place, disk_bytes) =
            (self.store.place()?.display().to_string(), self.store.disk_bytes()?);
        let mut text = Wiped::default();
        if self.json {
            let object = Locked { store: &place, state: "locked", disk_bytes, opens_with };
            json_line::append(&object, &mut text)?;
        } else {
            let lines = [
                ("store", Some(display::path(&place))),
                ("state", Some(hints::runnable("locked; `inmost unlock` unlocks it").into_owned())),
                ("on disk", disk_bytes.map(size)),
                ("opens with", Some(opens_with.join(", or "))),
            ];
            for (name, value) in lines.into_iter().filter_map(|(name, value)| Some((name, value?)))
            {
                text.append(format!("{name:<11} {value}\n").as_bytes());
            }
        }
        print(text.as_slice())?;
        Err(Failure::Reported(Exit::Locked))
    }

    /// The outer error is of opening the store, the inner one of asking for its status.
    fn ask(&self) -> Result<Result<Facts, StoreError>, Failure> {
        let options = OpenOptions { access: Access::Status, ..OpenOptions::default() };
        let store = self.store.open(&options)?;
        let disk_bytes = self.store.stored_bytes(&store)?;
        #[cfg(feature = "postgres")]
        let server = match database::url(&self.store.place()?) {
            None => None,
            Some(url) => match database::database(url)?.0.facts() {
                // The key daemon has its own connection, and knows the rest.
                Err(error) if store.daemon()?.is_some() => {
                    streams::warn(&format!("The server did not say what it is: {error}"));
                    None
                }
                facts => Some(facts?),
            },
        };
        let ask = || {
            let (status, history) = (store.status()?, store.history().status()?);
            let expiry = store.expiry().status()?;
            Ok(Facts {
                disk_bytes,
                status,
                history,
                expiry,
                daemon: store.daemon()?,
                #[cfg(feature = "postgres")]
                server,
            })
        };
        Ok(ask())
    }
}

/// `has_anchor` says that the command was given an anchor outside the store.
fn as_text(place: &str, facts: &Facts, has_anchor: bool) -> String {
    let Facts { disk_bytes, status, history, expiry, daemon, .. } = facts;
    let mut text = format!("store       {}\n", display::path(place));
    let mut line = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<11} {value}");
    };
    line("state", state_in_words(daemon.is_some()).to_owned());
    line("files", status.files.to_string());
    line("text", size(status.bytes));
    line("commits", status.commit.to_string());
    line("on disk", size(*disk_bytes));
    if status.set_aside_bytes > 0 {
        line(
            "set aside",
            format!("{} of records that the store no longer uses", size(status.set_aside_bytes)),
        );
        line(
            "",
            "`inmost discard` lists and removes them; docs/OPERATIONS.md says how to read them"
                .to_owned(),
        );
    }
    for (name, value) in history::lines(history) {
        line(name, value);
    }
    if expiry.settings.is_recording() {
        for (name, value) in expire::lines(expiry) {
            line(name, value);
        }
    }
    line("engine", engine(status.engine).to_owned());
    #[cfg(feature = "postgres")]
    for (name, value) in server_lines(facts.server.as_ref()) {
        line(name, value);
    }
    if let Some(cost) = status.kdf_cost {
        let (memory, passes, lanes) = (cost.memory_kib() >> 10, cost.passes(), cost.lanes());
        line("passphrase", format!("Argon2id, {memory} MiB, {passes} passes, {lanes} lanes"));
        if cost.is_below_default() {
            line("", "below the current default; `inmost passwd` raises it".to_owned());
        }
    }
    line("freshness", freshness(status.anchor).to_owned());
    if status.anchor == AnchorStatus::Known && !has_anchor {
        line("", INSIDE.to_owned());
    }
    let durability = match status.engine {
        Some(StorageEngine::Postgres) => "a change is acknowledged when the server has stored it",
        _ => "a change is synced to disk before it is acknowledged",
    };
    line("durability", durability.to_owned());
    for (name, value) in protections(status.protections) {
        line(name, value.to_owned());
    }
    match daemon {
        None => line("key daemon", "none; `inmost unlock` starts one".to_owned()),
        Some(daemon) => {
            let (idle, total) = (duration(daemon.idle_left), duration(daemon.total_left));
            line("key daemon", format!("process {} holds the store unlocked", daemon.process));
            line("locks in", format!("{idle} if unused, {total} at the latest"));
            line("connected", connected(&daemon.connected));
            for (at, rounds) in sync::rounds_in_words(&daemon.sync).into_iter().enumerate() {
                line(if at == 0 { "sync" } else { "" }, rounds);
            }
        }
    }
    text
}

/// What the server of a store in a database says about itself.
#[cfg(feature = "postgres")]
fn server_lines(server: Option<&inmost::ServerFacts>) -> Vec<(&'static str, String)> {
    let Some(server) = server else { return Vec::new() };
    let way = if server.uses_tls { "TLS, verified" } else { "this machine, without TLS" };
    let replication = if server.synchronous_standbys.is_empty() {
        "no standby: what the server acknowledges is lost with its disk".to_owned()
    } else {
        format!("commits wait for {} ({})", server.synchronous_standbys, server.synchronous_commit)
    };
    let role = if server.is_standby { "standby, which takes no changes" } else { "primary" };
    vec![
        ("server", format!("PostgreSQL {} at {}, {role}; {way}", server.version, server.address)),
        ("replicas", replication),
    ]
}

fn state_in_words(has_daemon: bool) -> &'static str {
    if has_daemon { "unlocked" } else { "locked; opened for this command" }
}

/// The protections of the process that holds the store.
fn protections(in_force: Protections) -> [(&'static str, &'static str); 4] {
    let Protections { keys_locked, keys_undumped, core_dumps_off, not_dumpable, .. } = in_force;
    [
        ("keys", if keys_locked { "locked in memory, never swapped" } else { "may be swapped" }),
        (
            "",
            if keys_undumped { "excluded from core dumps" } else { "not excluded from core dumps" },
        ),
        ("process", if core_dumps_off { "writes no core dump" } else { "may write a core dump" }),
        (
            "",
            if not_dumpable {
                "other processes of the user cannot read its memory"
            } else {
                "other processes of the user can read its memory"
            },
        ),
    ]
}

fn connected(processes: &[u32]) -> String {
    let number = u64::try_from(processes.len()).unwrap_or(u64::MAX);
    let others = count(number, "other process", "other processes");
    let list: Vec<_> = processes.iter().map(u32::to_string).collect();
    if list.is_empty() { others } else { format!("{others}: {}", list.join(", ")) }
}

fn engine(engine: Option<StorageEngine>) -> &'static str {
    match engine {
        Some(StorageEngine::Sled) => "sled",
        Some(StorageEngine::Redb) => "redb",
        Some(StorageEngine::Postgres) => "postgres",
        _ => "none",
    }
}

const INSIDE: &str = "an anchor in the folder of the store cannot tell whether the whole folder was replaced; `--anchor` can";

/// Whether the store is known to be the newest. One that is known to be older does not open.
fn freshness(freshness: AnchorStatus) -> &'static str {
    match freshness {
        AnchorStatus::Known => "known: the store is not older than its rollback anchor",
        AnchorStatus::Unknown => {
            "unknown: the rollback anchor is damaged, incomplete or older, or a repair did not find everything; see `inmost accept-rollback`"
        }
        AnchorStatus::WasMissing => {
            "unknown this time: the anchor file had no value for this store, so it was made"
        }
        AnchorStatus::Failing => "unknown: the rollback anchor cannot be read or written",
        _ => "unknown",
    }
}

/// The status of a locked store as JSON.
#[derive(Serialize)]
struct Locked<'a> {
    store: &'a str,
    state: &'static str,
    /// `None` for a store in a database.
    disk_bytes: Option<u64>,
    opens_with: &'a [String],
}

/// The status as JSON.
#[derive(Serialize)]
struct Object<'a> {
    store: &'a str,
    state: &'static str,
    files: u64,
    bytes: u64,
    commits: u64,
    disk_bytes: u64,
    set_aside_bytes: u64,
    engine: &'static str,
    freshness: &'static str,
    history: history::Object,
    expiry: expire::Object,
    daemon: Option<Daemon<'a>>,
    /// Left out for a store in a folder.
    #[cfg(feature = "postgres")]
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<Server<'a>>,
}

#[cfg(feature = "postgres")]
#[derive(Serialize)]
struct Server<'a> {
    address: &'a str,
    version: &'a str,
    uses_tls: bool,
    is_standby: bool,
    synchronous_commit: &'a str,
    synchronous_standbys: &'a str,
}

#[derive(Serialize)]
struct Daemon<'a> {
    process: u32,
    idle_left_seconds: u64,
    total_left_seconds: u64,
    connected: Vec<u32>,
    sync: sync::Rounds<'a>,
}

impl<'a> Object<'a> {
    fn of(place: &'a str, facts: &'a Facts) -> Self {
        let status = &facts.status;
        Self {
            store: place,
            state: if facts.daemon.is_some() { "unlocked" } else { "opened" },
            files: status.files,
            bytes: status.bytes,
            commits: status.commit,
            disk_bytes: facts.disk_bytes,
            set_aside_bytes: status.set_aside_bytes,
            engine: engine(status.engine),
            freshness: match status.anchor {
                AnchorStatus::Known => "known",
                _ => "unknown",
            },
            history: history::Object::of(&facts.history),
            expiry: expire::Object::of(&facts.expiry),
            daemon: facts.daemon.as_ref().map(|daemon| Daemon {
                process: daemon.process,
                idle_left_seconds: daemon.idle_left.as_secs(),
                total_left_seconds: daemon.total_left.as_secs(),
                connected: daemon.connected.clone(),
                sync: sync::Rounds::of(&daemon.sync),
            }),
            #[cfg(feature = "postgres")]
            server: facts.server.as_ref().map(|server| Server {
                address: &server.address,
                version: &server.version,
                uses_tls: server.uses_tls,
                is_standby: server.is_standby,
                synchronous_commit: &server.synchronous_commit,
                synchronous_standbys: &server.synchronous_standbys,
            }),
        }
    }
}
