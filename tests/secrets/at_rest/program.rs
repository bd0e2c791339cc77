//! The program, run under strace like a person and a model would run it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::calls::{self, Calls};
use crate::host::Words;
use crate::traces::{Needle, of_text, of_words, word};

/// The program with a store in `folder`. An environment variable has the path of the program.
pub(crate) struct Program {
    path: PathBuf,
    folder: PathBuf,
    /// Everything that was recorded.
    pub(crate) calls: Calls,
    words: Words,
}

/// The environment variable with the path of the program.
pub(crate) const PROGRAM: &str = "INMOST_TEST_PROGRAM";

/// Whether the command or a key daemon opens the store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Through {
    Nobody,
    Daemon,
}

impl Program {
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let path = PathBuf::from(std::env::var_os(PROGRAM)?);
        for name in ["tmp", "home", "work", "run"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        Some(Self {
            path,
            folder: folder.to_owned(),
            calls: Calls::default(),
            words: Words::default(),
        })
    }

    /// Returns a word that must not appear anywhere from now on.
    fn word(&mut self, label: &str) -> String {
        self.words.add(label)
    }

    /// Starts one command and records it in `log`.
    fn start(&self, passphrase: &str, arguments: &[&str], log: &Path) -> Child {
        let secret = self.folder.join("passphrase.fifo");
        let made = Command::new("mkfifo").arg(&secret).status().unwrap();
        assert!(made.success());
        let [strace, options @ ..] = &calls::STRACE;
        // The passphrase comes through a pipe, which leaves nothing on the disk.
        let line = format!("exec 9<{}; exec \"$@\"", secret.display());
        let child = Command::new("sh")
            .args(["-c", &line, "sh", strace])
            .args(options)
            .arg("-o")
            .arg(log)
            .arg(&self.path)
            .args(arguments)
            .args(["--passphrase-fd", "9"])
            .env("INMOST_STORE", self.folder.join("store"))
            .env("TMPDIR", self.folder.join("tmp"))
            .env("HOME", self.folder.join("home"))
            .env("XDG_RUNTIME_DIR", self.folder.join("run"))
            .current_dir(self.folder.join("work"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        fs::write(&secret, passphrase).unwrap();
        fs::remove_file(&secret).unwrap();
        child
    }

    /// Adds the recorded calls in `log`.
    fn record(&mut self, log: &Path) {
        let seen = calls::parse(&fs::read_to_string(log).unwrap());
        fs::remove_file(log).unwrap();
        self.calls.opened_for_writing.extend(seen.opened_for_writing);
        self.calls.written.extend(seen.written);
        self.calls.shared_mappings += seen.shared_mappings;
    }

    /// Runs one command. Returns its exit code and the text of both streams.
    fn run(&mut self, passphrase: &str, arguments: &[&str], input: &str) -> (i32, String) {
        let log = self.folder.join("strace.log");
        let mut child = self.start(passphrase, arguments, &log);
        // A program that needs no input may exit before it gets any.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let ended = child.wait_with_output().unwrap();
        self.record(&log);
        let said = [ended.stdout, ended.stderr].concat();
        (ended.status.code().unwrap(), String::from_utf8(said).unwrap())
    }

    /// Starts a key daemon. Its calls are recorded when it has ended.
    fn unlock(&self, passphrase: &str) -> Child {
        let mut daemon =
            self.start(passphrase, &["unlock", "--foreground"], &self.folder.join("daemon.log"));
        let mut line = String::new();
        BufReader::new(daemon.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("Unlocked. "), "{line}");
        daemon
    }

    /// Uses every command that handles text, names, labels and passphrases, with valid and invalid input,
    /// with or without a key daemon.
    pub(crate) fn use_everything(&mut self, through: Through) -> Vec<Needle> {
        let passphrase = format!("{} caf\u{e9} {}", word("program pass"), word("program phrase"));
        let wrong = format!("{} and more", word("program wrong"));
        let [name, moved, text, edit, label, odd] =
            ["typed name", "moved name", "typed text", "edited text", "slot label", "odd path"]
                .map(|label| self.word(label));
        let file = format!("/memories/{name}.md");
        let cheap = ["--kdf-memory-mib", "19", "--kdf-passes", "2"];
        let init = [&["init"], &cheap[..]].concat();
        let done = |(code, said): (i32, String)| assert_eq!(code, 0, "{said}");
        done(self.run(&passphrase, &init, ""));
        let daemon = (through == Through::Daemon).then(|| self.unlock(&passphrase));
        done(self.run(&passphrase, &["write", &file], &format!("{text}\nsecond line\n")));
        let insert = format!(
            r#"{{"command":"insert","path":"{file}","insert_line":1,"insert_text":"{edit}\n"}}"#
        );
        let escape = format!(r#"{{"command":"view","path":"/memories/../{odd}"}}"#);
        let missing = format!(r#"{{"command":"delete","path":"/memories/{odd}"}}"#);
        let rubbish = format!("{{\"command\":\"{odd}\", not JSON\n");
        let view = format!(r#"{{"command":"view","path":"{file}"}}"#);
        let lines = [&insert, &escape, &missing, &rubbish, &view].map(|line| format!("{line}\n"));
        let (_, said) = self.run(&passphrase, &["call"], &lines.concat());
        assert!(said.contains(&text) && said.contains(&edit), "{said}");
        done(self.run(&passphrase, &["cat", &file], ""));
        done(self.run(&passphrase, &["mv", &file, &format!("/memories/{moved}")], ""));
        done(self.run(&passphrase, &["ls", "/memories"], ""));
        let slot = ["slot", "add", "--recovery-key", "--label", &label];
        let (code, said) = self.run(&passphrase, &slot, "");
        assert_eq!(code, 0, "{said}");
        let (code, listed) = self.run(&passphrase, &["slot", "list"], "");
        assert!(code == 0 && listed.contains(&label), "{listed}");
        done(self.run(&passphrase, &["check"], ""));
        done(self.run(&passphrase, &["purge"], ""));
        let copy = self.folder.join("copy");
        done(self.run(&passphrase, &["backup", copy.to_str().unwrap()], ""));
        assert_ne!(self.run(&passphrase, &["cat", &format!("/memories/{odd}")], "").0, 0);
        done(self.run(&passphrase, &["rm", &format!("/memories/{moved}")], ""));
        if let Some(mut daemon) = daemon {
            let mut lock = Command::new(&self.path);
            lock.args(["lock", "--store"]).arg(self.folder.join("store"));
            lock.env("XDG_RUNTIME_DIR", self.folder.join("run"));
            assert!(lock.status().unwrap().success());
            assert!(daemon.wait().unwrap().success());
            self.record(&self.folder.join("daemon.log"));
        }
        assert_eq!(self.run(&wrong, &["ls"], "").0, 11);
        let mut needles = of_words(self.words.labels());
        needles.extend(of_text("passphrase", &passphrase));
        needles.extend(of_text("wrong passphrase", &wrong));
        // The groups of the recovery key without their separators.
        let key = said.lines().map(str::trim).find(|line| line.len() > 40 && !line.contains(". "));
        needles.extend(of_text("recovery key", key.unwrap()));
        needles
    }
}
