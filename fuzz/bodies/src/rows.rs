//! Replies of a server that is not to be trusted, in the protocol of `PostgreSQL`.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use inmost_postgres::{PostgresConfig, PostgresStorage, PostgresUrl, Server, VaultId};
use inmost_storage::{
    Access, Address, Batch, Engine, EngineKind, HeaderCopy, Known, Limit, SharedBatch, Storage,
    limits,
};

use crate::input::Input;

/// What the server still has to say, and whether its last reply to a batch was a success.
#[derive(Default)]
struct Script {
    bytes: Vec<u8>,
    /// The columns that the client expects.
    columns: &'static [Column],
    has_acknowledged: bool,
    /// Whether it hangs up.
    has_hung_up: bool,
    /// Whether the client has asked everything.
    is_over: bool,
}

#[derive(Clone, Copy)]
enum Column {
    Kind,
    Number,
    Truth,
    Address,
    Value,
}
use Column::{Kind, Number, Truth, Value};

pub(crate) fn run(data: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join(".s.PGSQL.5432");
    let listener = UnixListener::bind(&socket).unwrap();
    let script = Mutex::new(Script { bytes: data.to_vec(), ..Script::default() });
    thread::scope(|scope| {
        scope.spawn(|| {
            for stream in listener.incoming().map_while(Result::ok) {
                if script.lock().unwrap().is_over {
                    break;
                }
                let script = &script;
                // A client that hangs up ends its thread.
                scope.spawn(move || serve(&stream, script));
            }
        });
        let outcome = std::panic::catch_unwind(|| ask(folder.path(), &script));
        script.lock().unwrap().is_over = true;
        drop(UnixStream::connect(&socket));
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
}

/// Asks the server everything.
fn ask(folder: &Path, script: &Mutex<Script>) {
    let expect = |columns| script.lock().unwrap().columns = columns;
    let url = format!("postgres://app@/m?host={}", folder.display());
    let config = PostgresConfig::new(&PostgresUrl::parse(&url).unwrap()).call_timeout(TIME);
    let server = Server::new(config).unwrap();
    expect(&[Kind, Number, Column::Address, Value]);
    let Ok(vault) = PostgresStorage::open(&server, VaultId([7; 16])) else { return };
    if let Some(delta) = vault.shared().unwrap().take_prefetched(1) {
        bounded(&delta.rows, limits::PULL_RECORDS);
    }
    expect(&[Value]);
    let _ = vault.read_header(HeaderCopy::A);
    expect(&[Number]);
    let _ = vault.size();
    let Ok(engine) = vault.open_generation(1, EngineKind::Postgres) else { return };
    read(&*engine, &expect);
    let shared = engine.shared().unwrap();
    for access in [Access::Snapshot, Access::Locked] {
        expect(&[Number]);
        if let Ok(transaction) = shared.begin(access, &ROOT) {
            read(&*transaction, &expect);
        }
    }
    expect(&[Number]);
    script.lock().unwrap().has_acknowledged = false;
    let records = Batch {
        puts: vec![(ROOT, vec![2; 297])],
        deletes: vec![Address([3; 32])],
        expect: Some((ROOT, Some(vec![1; 297]))),
    };
    let batch = SharedBatch { records, revision: 9, ..SharedBatch::default() };
    let stored = shared.commit(&batch).is_ok();
    assert!(!stored || script.lock().unwrap().has_acknowledged, "a commit nobody acknowledged");
    let _ = vault.remove_generation(2);
}

fn read(engine: &dyn Engine, expect: &dyn Fn(&'static [Column])) {
    expect(&[Value]);
    let asked = [ROOT, Address([2; 32])];
    if let Ok(found) = engine.get_many(&asked) {
        assert_eq!(found.len(), asked.len());
    }
    expect(&[Column::Address, Value]);
    if let Ok(found) = engine.scan(Some(&ROOT), 3) {
        bounded(&found, 3);
        assert!(found.iter().all(|(address, _)| *address > ROOT));
        assert!(found.is_sorted_by(|one, next| one.0 < next.0));
    }
    let shared = engine.shared().unwrap();
    expect(&[Number, Truth, Column::Address, Value]);
    let _ = shared.pull(&Known::nothing(ROOT), Limit { records: 3, bytes: 4_096 });
    expect(&[Value]);
    let _ = shared.trails(1, 9);
}

fn bounded(records: &[(Address, Vec<u8>)], most: usize) {
    assert!(records.len() <= most);
    assert!(records.iter().all(|(_, value)| value.len() <= limits::RECORD_VALUE_BYTES));
}

fn serve(stream: &UnixStream, script: &Mutex<Script>) -> io::Result<()> {
    let mut stream = stream;
    message(&mut stream)?;
    stream.write_all(&[&sent(b'R', &[0; 4])[..], &READY].concat())?;
    loop {
        let mut kind = [0];
        stream.read_exact(&mut kind)?;
        message(&mut stream)?;
        let reply = match kind[0] {
            // The end of any question, or a text of statements.
            b'S' => reply(&mut script.lock().unwrap(), true),
            b'Q' => reply(&mut script.lock().unwrap(), false),
            b'X' => return Ok(()),
            _ => continue,
        };
        stream.write_all(&reply)?;
        if script.lock().unwrap().has_hung_up {
            return Ok(());
        }
    }
}

/// Reads a message without its kind.
fn message(stream: &mut &UnixStream) -> io::Result<()> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let rest = u64::from(u32::from_be_bytes(length)).saturating_sub(4);
    io::copy(&mut stream.take(rest), &mut io::sink()).map(drop)
}

/// The next reply.
fn reply(script: &mut Script, is_extended: bool) -> Vec<u8> {
    let bytes = std::mem::take(&mut script.bytes);
    let mut input = Input::new(&bytes);
    let kind = input.below(16);
    let mut reply = Vec::new();
    script.has_acknowledged = false;
    if is_extended && kind < 14 {
        reply.extend([sent(b'1', &[]), sent(b'2', &[])].concat());
        let columns = script.columns;
        reply.extend(description(&mut input, columns));
        let rows = input.below(8);
        for number in 0..rows {
            let (row, is_one) = row(&mut input, columns, number);
            script.has_acknowledged = is_one && rows == 1;
            reply.extend(row);
        }
    }
    match kind {
        12 => {
            let state =
                input.pick(&["57014", "40001", "57P01", "08006", "22012", "25006", "XX001"]);
            let severity = input.pick(&["ERROR", "FATAL", "WARNING", ""]);
            let fields = ["S", severity, "\0V", severity, "\0C", state, "\0Mno\0\0"].concat();
            let is_notice = input.one_in(3);
            script.has_acknowledged &= is_notice;
            reply.extend(sent(if is_notice { b'N' } else { b'E' }, fields.as_bytes()));
        }
        13 => reply.extend(input.bytes(64)),
        _ => {}
    }
    // After bytes without a meaning, a client might wait for more.
    script.has_hung_up = matches!(kind, 13 | 15);
    reply.extend(sent(b'C', if kind == 14 { b"BEGIN\0" } else { b"SELECT 1\0" }));
    reply.extend(READY);
    script.bytes = input.rest().to_vec();
    reply
}

fn description(input: &mut Input<'_>, columns: &[Column]) -> Vec<u8> {
    let count = if input.one_in(32) { input.below(6) } else { columns.len() };
    let mut body = u16::try_from(count).unwrap().to_be_bytes().to_vec();
    for number in 0..count {
        let own: u32 = match columns.get(number) {
            Some(Kind) => 23,
            Some(Number) => 20,
            Some(Truth) => 16,
            _ => 17,
        };
        let kind = if input.one_in(32) { input.pick(&[16, 17, 20, 23, 25, 0]) } else { own };
        body.extend([b"c\0\0\0\0\0\0\0", &kind.to_be_bytes()[..], &[0xFF; 6], &[0, 1]].concat());
    }
    sent(b'T', &body)
}

/// A row, and whether it is the number 1 alone.
fn row(input: &mut Input<'_>, columns: &[Column], number: usize) -> (Vec<u8>, bool) {
    let mut body = u16::try_from(columns.len()).unwrap().to_be_bytes().to_vec();
    let mut is_one = false;
    for column in columns {
        let value = match column {
            _ if input.one_in(16) => input.bytes(40).to_vec(),
            Kind => u32::try_from(number).unwrap().to_be_bytes().to_vec(),
            Number => {
                let number = input.pick(&[1_i64, 2, 0, -1, i64::MIN, i64::MAX]);
                number.to_be_bytes().to_vec()
            }
            Truth => vec![input.byte() & 1],
            Column::Address => vec![input.byte(); 32],
            Value => vec![input.byte(); input.pick(&[297, 0, 192, 4_137, 4_138, 70_000])],
        };
        is_one = columns.len() == 1 && value == 1_i64.to_be_bytes();
        if input.one_in(16) {
            body.extend([0xFF; 4]);
            is_one = false;
        } else {
            body.extend(u32::try_from(value.len()).unwrap().to_be_bytes());
            body.extend(value);
        }
    }
    (sent(b'D', &body), is_one)
}

fn sent(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[kind], &length[..], body].concat()
}

const READY: [u8; 6] = [b'Z', 0, 0, 0, 5, b'I'];
const ROOT: Address = Address([1; 32]);
/// How long a reply may take. The server never lets one wait.
const TIME: Duration = Duration::from_secs(1);
