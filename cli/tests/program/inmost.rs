//! Runs the program on a temporary store.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// The passphrase of every store in these tests.
pub(crate) const PASSPHRASE: &str = "correct horse";

/// The minimum KDF cost, so that tests are quick.
pub(crate) const CHEAP: [&str; 4] = ["--kdf-memory-mib", "19", "--kdf-passes", "2"];

/// A temporary folder for one store. Its key daemon is ended and the folder removed when the test ends.
pub(crate) struct Place {
    folder: TempDir,
    /// The folder for sockets.
    runtime: TempDir,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.lock();
    }
}

impl Place {
    /// Without a store.
    pub(crate) fn vacant() -> Self {
        Self { folder: TempDir::new().unwrap(), runtime: TempDir::new().unwrap() }
    }

    /// The folder for sockets.
    pub(crate) fn runtime(&self) -> PathBuf {
        self.runtime.path().to_owned()
    }

    /// Starts a key daemon for the store if this test program uses one.
    fn unlock_if_wanted(self) -> Self {
        if crate::WITH_DAEMON {
            self.unlock(&[]);
        }
        self
    }

    /// Starts a key daemon for the store; returns its process id.
    pub(crate) fn unlock(&self, args: &[&str]) -> u32 {
        let out = self.run(["unlock"].iter().chain(args), "").expect(0).out;
        assert!(out.starts_with("Unlocked. "), "{out}");
        self.daemon().unwrap()
    }

    /// The process id of the key daemon, if one holds the store.
    pub(crate) fn daemon(&self) -> Option<u32> {
        let out = self.run(["status"], "").expect(0).out;
        let line = out.lines().find(|line| line.starts_with("key daemon")).unwrap();
        let process = line.strip_prefix("key daemon  process ")?;
        Some(process.split(' ').next().unwrap().parse().unwrap())
    }

    /// Locks the store if a key daemon holds it. Needed before its files are changed.
    pub(crate) fn lock(&self) {
        if self.runtime().join("inmost").exists() {
            run(self.bare_command(["lock", "--store"]).arg(self.store()), b"");
        }
    }

    /// With an empty store.
    pub(crate) fn with_store() -> Self {
        let place = Self::vacant();
        place.run(["init"].iter().chain(&CHEAP), "").expect(0);
        place.unlock_if_wanted()
    }

    /// With a store that holds these files.
    pub(crate) fn with_files(files: &[(&str, &str)]) -> Self {
        let place = Self::vacant();
        let calls: String = files.iter().map(|(path, text)| create(path, text)).collect();
        place.run(["call", "--create"].iter().chain(&CHEAP), &calls).expect(0);
        place.unlock_if_wanted()
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// A path beside the store.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program on this store, with the passphrase in the environment.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.bare_command(args);
        // By a variable, which the commands that messages offer need not repeat.
        command.env("INMOST_STORE", self.store()).env("INMOST_PASSPHRASE", PASSPHRASE);
        command
    }

    /// The program with these arguments only.
    pub(crate) fn bare_command<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_inmost"));
        command
            .args(args)
            .env_remove("INMOST_PASSPHRASE")
            .env_remove("INMOST_STORE")
            .env_remove("INMOST_ANCHOR")
            .env_remove("INMOST_ACTOR")
            .env("RUST_BACKTRACE", "1")
            .env("HOME", self.folder.path())
            .env("XDG_DATA_HOME", self.folder.path().join("data"))
            .env("XDG_RUNTIME_DIR", self.runtime())
            // `lock --all` must not lock what other tests have unlocked.
            .env("INMOST_TEST_DAEMONS", "")
            .current_dir(self.folder.path());
        command
    }

    /// A shell script in the same environment.
    #[cfg(unix)]
    pub(crate) fn shell(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env_remove("INMOST_PASSPHRASE");
        command.env("HOME", self.folder.path()).env("XDG_RUNTIME_DIR", self.runtime());
        command.current_dir(self.folder.path());
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &str,
    ) -> Ended {
        run(&mut self.command(args), input.as_bytes())
    }

    /// The text of a file, from `cat`.
    pub(crate) fn cat(&self, path: &str) -> String {
        self.run(["cat", path], "").expect(0).out
    }

    /// The names that `ls` prints.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let out = self.run(["ls", "-R", path], "").expect(0).out;
        let name = |line: &str| line.split_whitespace().last().unwrap().to_owned();
        out.lines().map(name).collect()
    }

    /// Changes the given copies of the header.
    pub(crate) fn change_headers(&self, names: &[&str], change: impl Fn(&mut Vec<u8>)) {
        self.lock();
        for name in names {
            let path = self.store().join(name);
            let mut bytes = fs::read(&path).unwrap();
            change(&mut bytes);
            fs::write(&path, bytes).unwrap();
        }
    }

    /// Copies the folder of the store.
    pub(crate) fn copy_store(&self, name: &str) {
        self.lock();
        copy(&self.store(), &self.beside(name));
    }

    /// Replaces the store with a copy.
    pub(crate) fn put_back(&self, name: &str) {
        self.lock();
        fs::remove_dir_all(self.store()).unwrap();
        copy(&self.beside(name), &self.store());
    }

    /// Changes one byte of the longest record, with a valid checksum of the engine. Intact bytes of it stay in the log.
    pub(crate) fn damage_longest_record(&self) {
        let (records, address, mut damaged) = self.longest_record();
        damaged[100] ^= 1;
        records.insert(address, damaged).unwrap();
        records.flush().unwrap();
    }

    /// Changes one byte of the longest record wherever it is in the files, without regard to the engine.
    pub(crate) fn damage_longest_record_in_the_files(&self) {
        let (records, _, value) = self.longest_record();
        drop(records);
        let nonce = &value[1..25];
        let mut places = 0;
        for path in self.files_on_disk() {
            let mut bytes = fs::read(&path).unwrap();
            let found = bytes.windows(nonce.len()).enumerate().filter(|(_, it)| *it == nonce);
            let found: Vec<usize> = found.map(|(at, _)| at).collect();
            for at in &found {
                bytes[at + 99] ^= 1;
            }
            if !found.is_empty() {
                fs::write(&path, bytes).unwrap();
                places += found.len();
            }
        }
        assert!(places > 0);
    }

    fn longest_record(&self) -> (sled::Db, sled::IVec, Vec<u8>) {
        self.lock();
        let is_generation =
            |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("gen-");
        let entries = fs::read_dir(self.store()).unwrap().map(|entry| entry.unwrap().path());
        let generation = entries.filter(is_generation).max().unwrap();
        let records = sled::Config::new().path(generation).segment_size(2 << 20).open().unwrap();
        let all = records.iter().map(Result::unwrap);
        let (address, value) = all.max_by_key(|(_, value)| value.len()).unwrap();
        (records, address, value.to_vec())
    }

    /// Every file in the folder of the store.
    pub(crate) fn files_on_disk(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        walk(&self.store(), &mut found);
        found
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &to) } else { assert!(fs::copy(&path, &to).is_ok()) }
    }
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, found) } else { found.push(path) }
    }
}

/// Checks that only its owner can access a file or a folder. On Windows the access lists are those of the folder above.
#[track_caller]
pub(crate) fn assert_private(path: &Path) {
    let found = fs::metadata(path).unwrap();
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o777;
        assert_eq!(mode, if found.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
    assert!(found.is_dir() || found.is_file());
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Checks the exit code, and that a failure prints two lines and a success none.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        let lines: Vec<_> = self.err.lines().collect();
        if code == 0 {
            assert!(lines.is_empty(), "{self:?}");
        } else {
            assert_eq!(lines.len(), 2, "{self:?}");
            assert!(lines[0].starts_with("inmost: "), "{self:?}");
        }
        self
    }

    /// Checks the exit code and the message.
    #[track_caller]
    pub(crate) fn expect_failure(self, code: i32, what: &str) -> Self {
        let ended = self.expect(code);
        assert!(ended.err.contains(what), "{what:?} in {ended:?}");
        ended
    }
}

/// Runs to the end with these bytes on standard input. The output goes to files: a key daemon that the program starts here
/// inherits its streams, so a pipe would stay open until the daemon ends.
#[cfg(windows)]
pub(crate) fn run(command: &mut Command, input: &[u8]) -> Ended {
    use std::io::{Read, Seek};
    let mut streams = [tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap()];
    let [out, err] = &streams;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(out.try_clone().unwrap())
        .stderr(err.try_clone().unwrap())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let status = std::thread::scope(|scope| {
        // The program may end before it has read everything.
        scope.spawn(move || {
            let _ = stdin.write_all(input);
        });
        child.wait().unwrap()
    });
    let [stdout, stderr] = streams.each_mut().map(|stream| {
        let mut bytes = Vec::new();
        stream.rewind().unwrap();
        stream.read_to_end(&mut bytes).unwrap();
        bytes
    });
    Ended::of(Output { status, stdout, stderr })
}

/// Runs to the end with these bytes on standard input.
#[cfg(not(windows))]
pub(crate) fn run(command: &mut Command, input: &[u8]) -> Ended {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // The program may end before it has read everything.
        scope.spawn(move || {
            let _ = stdin.write_all(input);
        });
        Ended::of(child.wait_with_output().unwrap())
    })
}

/// A call that creates a file, as a line.
pub(crate) fn create(path: &str, text: &str) -> String {
    let call = serde_json::json!({ "command": "create", "path": path, "file_text": text });
    format!("{call}\n")
}

/// How long a test waits for another process before it fails. Far more than a busy machine needs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
