//! `inmost edit`: the text goes to the editor and back, and is not written elsewhere.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::conversation::{Conversation, bare};
use crate::inmost::{Ended, PASSPHRASE, PATIENCE, Place, run};

const CANARY: &str = "xylophonequartzcanary";

/// A store, and an in-memory folder for this test.
struct Desk {
    place: Place,
    memory: TempDir,
}

impl Desk {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = Place::with_files(files);
        fs::create_dir(place.beside("tmp")).unwrap();
        Self { place, memory: TempDir::new_in("/dev/shm").unwrap() }
    }

    /// `edit` with an editor that is a script; the file is its `$1`.
    fn command(&self, path: &str, script: &str) -> Command {
        let editor = self.place.beside("editor");
        fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&editor, fs::Permissions::from_mode(0o700)).unwrap();
        let mut command = self.place.command(["edit", path]);
        self.set_up(&mut command, editor.to_str().unwrap());
        command
    }

    fn set_up(&self, command: &mut Command, editor: &str) {
        command
            .env("EDITOR", editor)
            .env_remove("VISUAL")
            .env("XDG_RUNTIME_DIR", self.memory.path())
            .env("TMPDIR", self.place.beside("tmp"));
    }

    fn edit(&self, path: &str, script: &str) -> Ended {
        let ended = run(&mut self.command(path, script), b"");
        // The editor of these tests is unknown to inmost.
        let (warning, rest) = ended.err.split_once('\n').unwrap();
        assert!(warning.starts_with("inmost: warning: This editor is unknown"), "{warning}");
        Ended { err: rest.to_owned(), ..ended }
    }

    #[track_caller]
    fn expect_clean(&self) {
        let left: Vec<_> = fs::read_dir(self.memory.path()).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
        let found = holding(&self.place.beside(""), CANARY);
        assert!(found.is_empty(), "the text is in {found:?}");
    }
}

/// The files below a folder whose content or name contains a text.
fn holding(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            if bytes.windows(text.len()).any(|window| window == text.as_bytes())
                || path.to_string_lossy().contains(text)
            {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn saved_text_is_written_to_the_store() {
    let desk = Desk::new(&[("/memories/a.md", "one\n")]);
    desk.edit("/memories/a.md", "echo two >> \"$1\"").expect(0);
    assert_eq!(desk.place.cat("/memories/a.md"), "one\ntwo\n");
    desk.edit("/memories/new/b", "test ! -s \"$1\" && printf 'no end' > \"$1\"").expect(0);
    assert_eq!(desk.place.cat("/memories/new/b"), "no end");
    // vim does this with `backupcopy=no`.
    desk.edit("/memories/a.md", "echo three > \"$1~\"; mv \"$1~\" \"$1\"").expect(0);
    assert_eq!(desk.place.cat("/memories/a.md"), "three\n");
    desk.expect_clean();
}

#[test]
fn the_text_is_only_in_a_private_folder_in_memory() {
    let text = format!("{CANARY} 1\n");
    let desk = Desk::new(&[(&format!("/memories/{CANARY}.md"), &text)]);
    // The script names the canary, so it is removed once it runs.
    let script = format!(
        "rm \"$0\"; exec > {home:?}/log\n\
         echo \"$1\"; stat -f -c %T \"$1\"; stat -c '%a %u' \"$1\" \"$(dirname \"$1\")\"; id -u\n\
         test \"$TMPDIR\" = \"$(dirname \"$1\")\" && echo inside\n\
         echo \"[$INMOST_PASSPHRASE]\"\n\
         ps -o args= -p $$\n\
         cp \"$1\" \"$TMPDIR/backup~\"; mkdir \"$TMPDIR/undo\"; cp \"$1\" \"$TMPDIR/undo/\"\n\
         echo here; grep -rl {CANARY} {home:?}\n\
         echo 2 >> \"$1\"",
        home = desk.place.beside("")
    );
    desk.edit(&format!("/memories/{CANARY}.md"), &script).expect(0);
    let log = fs::read_to_string(desk.place.beside("log")).unwrap();
    let lines: Vec<_> = log.lines().collect();
    let [file, system, mode, folder_mode, user, inside, passphrase, args, here] = lines.as_slice()
    else {
        panic!("{log}");
    };
    assert!(Path::new(file).starts_with(desk.memory.path()), "{log}");
    assert_eq!(Path::new(file).file_name().unwrap(), "memory.md");
    assert_eq!((*system, *inside, *here), ("tmpfs", "inside", "here"));
    assert_eq!(*mode, format!("600 {user}"));
    assert_eq!(*folder_mode, format!("700 {user}"));
    assert_eq!(*passphrase, "[]");
    assert!(!args.contains(CANARY), "the name of the file is no business of the list of processes");
    assert!(desk.place.cat(&format!("/memories/{CANARY}.md")).ends_with("1\n2\n"));
    desk.expect_clean();
}

#[test]
fn unchanged_text_is_not_written() {
    let desk = Desk::new(&[("/memories/a", "one\n")]);
    let before = desk.place.run(["status"], "").expect(0).out;
    for (path, script) in [
        ("/memories/a", "true"),
        ("/memories/a", "echo one > \"$1\""),
        ("/memories/new", ": > \"$1\""),
    ] {
        let ended = desk.edit(path, script).expect(0);
        assert!(ended.out.contains("Nothing was written"), "{ended:?}");
    }
    assert_eq!(desk.place.run(["status"], "").expect(0).out, before, "no commit was made");
    desk.place.run(["cat", "/memories/new"], "").expect(19);
    desk.expect_clean();
}

#[test]
fn an_editor_that_fails_changes_nothing() {
    let desk = Desk::new(&[("/memories/a", "one\n")]);
    desk.edit("/memories/a", "exit 3").expect_failure(1, "The editor failed: exit status: 3.");
    let script = format!("echo {CANARY} >> \"$1\"; rm \"$0\"; kill -KILL $$");
    desk.edit("/memories/a", &script).expect_failure(1, "The editor failed: signal: 9");
    let mut command = desk.command("/memories/a", "");
    let ended = run(command.env("EDITOR", "/no/such/editor"), b"");
    assert!(ended.err.contains("The editor failed: exit status: 127"), "{ended:?}");
    assert_eq!(desk.place.cat("/memories/a"), "one\n");
    desk.expect_clean();
}

#[test]
fn a_path_that_cannot_be_edited_is_reported_before_the_editor_runs() {
    let desk = Desk::new(&[("/memories/a/b", "")]);
    let script = "touch \"$(dirname \"$0\")/ran\"";
    for (path, code, what) in [
        (
            "/memories/a",
            1,
            "/memories/a is a folder, not a file.\nList it with `inmost ls`, or name a file in it.",
        ),
        ("/memories", 1, "/memories is a folder, not a file."),
        ("/memories/../a", 2, "would escape"),
    ] {
        desk.edit(path, script).expect_failure(code, what);
    }
    let mut command = desk.command("/memories/a/b", script);
    command.env("PATH", "/no/such/folder");
    run(command.env_remove("EDITOR"), b"").expect_failure(2, "there is no vi");
    run(command.env("EDITOR", "").env("VISUAL", ""), b"").expect_failure(2, "there is no vi");
    assert!(!desk.place.beside("ran").exists());
    desk.expect_clean();
}

#[test]
fn vi_is_the_editor_if_none_is_configured() {
    let desk = Desk::new(&[("/memories/a", "old")]);
    let vi = desk.place.beside("vi");
    fs::write(&vi, "#!/bin/sh\nfor last; do :; done; echo new > \"$last\"\n").unwrap();
    fs::set_permissions(&vi, fs::Permissions::from_mode(0o700)).unwrap();
    let path = format!("{}:{}", desk.place.beside("").display(), std::env::var("PATH").unwrap());
    let mut command = desk.command("/memories/a", "");
    let ended = run(command.env_remove("EDITOR").env("PATH", path), b"");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(desk.place.cat("/memories/a"), "new\n");
}

#[test]
fn what_a_killed_edit_left_is_removed_by_the_next() {
    let desk = Desk::new(&[("/memories/a", "private text")]);
    let killed = desk.edit("/memories/a", "kill -KILL $PPID");
    assert_eq!(killed.code, None, "{killed:?}");
    assert_eq!(fs::read_dir(desk.memory.path()).unwrap().count(), 1, "of the killed process");
    let next = desk.edit("/memories/a", "true");
    assert_eq!(next.code, Some(0), "{next:?}");
    assert!(next.err.contains("An earlier `inmost edit` was killed."), "{next:?}");
    desk.expect_clean();
}

#[test]
fn visual_precedes_editor_and_may_have_options() {
    let desk = Desk::new(&[("/memories/a", "one\n")]);
    let mut command = desk.command("/memories/a", "echo \"$1\" > \"$2\"");
    let editor = desk.place.beside("editor");
    command.env("VISUAL", format!("{} 'two words'", editor.display())).env("EDITOR", "false");
    let ended = run(&mut command, b"");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(desk.place.cat("/memories/a"), "two words\n");
}

#[test]
fn a_store_whose_files_are_replaced_before_it_is_closed_is_a_failure() {
    let desk = Desk::new(&[("/memories/a", "one\n")]);
    let store = desk.place.store();
    let script = format!("cd '{}' && cp -p lock copy && mv copy lock", store.display());
    desk.edit("/memories/a", &script).expect_failure(14, "lock was replaced");
}

#[test]
fn a_text_that_cannot_be_written_is_kept_in_memory() {
    let desk = Desk::new(&[("/memories/a", "one\n")]);
    for (path, script, what) in [
        ("/memories/a", "printf 'caf\\351 mine' > \"$1\"", "not UTF-8"),
        ("/memories/a/b", "echo mine > \"$1\"", "/memories/a is a file"),
        // It took the text with it.
        ("/memories/a", "echo mine > \"$1\"; exit 3", "The editor failed: exit status: 3."),
    ] {
        let ended = desk.edit(path, script).expect_failure(1, what);
        let folders: Vec<_> = fs::read_dir(desk.memory.path()).unwrap().collect();
        let [Ok(folder)] = folders.as_slice() else { panic!("{folders:?}") };
        let file = folder.path().join("memory");
        assert!(ended.err.contains(file.to_str().unwrap()), "{ended:?}");
        assert!(String::from_utf8_lossy(&fs::read(&file).unwrap()).contains("mine"));
        fs::remove_dir_all(folder.path()).unwrap();
    }
    assert_eq!(desk.place.cat("/memories/a"), "one\n");
}

#[test]
fn a_file_that_was_changed_in_the_store_meanwhile_is_not_overwritten_and_the_text_kept() {
    let desk = Desk::new(&[("/memories/a", "one\n")]);
    desk.place.unlock(&[]);
    let program = desk.place.bare_command::<&str>([]).get_program().to_owned();
    let script =
        "echo mine >> \"$1\"; echo theirs | \"$INMOST\" write --store \"$STORE\" /memories/a";
    let mut command = desk.command("/memories/a", script);
    command.env("INMOST", program).env("STORE", desk.place.store());
    // The folder of the daemon's socket is on a disk here.
    command.env("XDG_RUNTIME_DIR", desk.place.runtime());
    let ended = run(&mut command, b"");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("changed in the store in the meantime"), "{ended:?}");
    assert_eq!(desk.place.cat("/memories/a"), "theirs\n");
    let kept = ended.err.split_once("is kept in ").unwrap().1.split_once(". ").unwrap().0;
    assert_eq!(fs::read_to_string(kept).unwrap(), "one\nmine\n");
    fs::remove_dir_all(Path::new(kept).parent().unwrap()).unwrap();
}

/// Without an in-memory file system, nothing is edited.
#[test]
fn a_folder_on_a_disk_is_not_used() {
    let desk = Desk::new(&[("/memories/a", "one\n")]);
    let runtime = desk.place.beside("runtime");
    fs::create_dir(&runtime).unwrap();
    let log = desk.place.beside("log");
    let mut command = desk.command("/memories/a", &format!("echo \"$1\" > {log:?}"));
    run(command.env("XDG_RUNTIME_DIR", &runtime), b"");
    let is_disk = rustix_type(&runtime) != "tmpfs";
    let file = fs::read_to_string(log).unwrap();
    assert_eq!(file.starts_with("/dev/shm/inmost-edit-"), is_disk, "{file}");
    assert_eq!(fs::read_dir(&runtime).unwrap().count(), 0);
}

/// The kind of file system, as `stat` names it.
fn rustix_type(folder: &Path) -> String {
    let output = Command::new("stat").args(["-f", "-c", "%T"]).arg(folder).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Waits for an effect of the editor.
#[track_caller]
fn wait_for(file: &Path) {
    let deadline = Instant::now() + PATIENCE;
    while !file.exists() {
        assert!(Instant::now() < deadline, "{}", file.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn signals_leave_nothing_behind() {
    for signal in ["TERM", "HUP"] {
        let desk = Desk::new(&[("/memories/a", CANARY)]);
        let ready = desk.place.beside("ready");
        let script = format!("echo more >> \"$1\"; touch {ready:?}; exec sleep 60");
        let mut command = desk.command("/memories/a", &script);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for(&ready);
        let killed = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
        assert!(killed.unwrap().success());
        let ended = Ended::of(child.wait_with_output().unwrap());
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.err.contains("A signal ended the edit"), "{ended:?}");
        assert_eq!(desk.place.cat("/memories/a"), CANARY);
        desk.expect_clean();
    }
}

#[test]
fn ctrl_c_ends_an_editor_and_leaves_nothing_behind() {
    let desk = Desk::new(&[("/memories/a", CANARY)]);
    let inner = desk.command("/memories/a", "echo more >> \"$1\"; echo at work; exec sleep 60");
    let mut command = bare(&desk.place, &["edit", "/memories/a"]);
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut talk = Conversation::start(&command);
    talk.until("at work");
    talk.type_in("\u{3}");
    talk.until("The editor failed: signal: 2");
    talk.expect_end(1);
    assert_eq!(desk.place.cat("/memories/a"), CANARY);
    desk.expect_clean();
}

/// Starts a known editor in a terminal, with user settings that enable every kind of copy.
fn known_editor(desk: &Desk, name: &str) -> Option<Conversation> {
    let is_there = Command::new("sh").args(["-c", &format!("command -v {name}")]).output();
    if !is_there.unwrap().status.success() {
        eprintln!("SKIPPED: {name} is not installed here");
        return None;
    }
    let home = desk.place.beside("");
    fs::create_dir_all(home.join("copies")).unwrap();
    let vimrc = "set nocompatible backup writebackup undofile swapfile updatecount=1 backupdir=~/copies \
                 undodir=~/copies directory=~/copies\nset viminfo='100,<50,s10,n~/copies/info\n";
    fs::write(home.join(".vimrc"), vimrc).unwrap();
    fs::write(home.join(".nanorc"), "set backup\nset backupdir \"~/copies\"\nset historylog\n")
        .unwrap();
    let emacs = "(setq backup-directory-alist '((\".\" . \"~/copies\")) auto-save-default t \
                 auto-save-interval 20 savehist-file \"~/copies/history\" \
                 savehist-additional-variables '(kill-ring) inhibit-startup-screen t)\n(savehist-mode 1)\n";
    fs::write(home.join(".emacs"), emacs).unwrap();
    let mut command = bare(&desk.place, &["edit", "/memories/a.txt"]);
    desk.set_up(&mut command, name);
    command.env("INMOST_PASSPHRASE", PASSPHRASE).env("TERM", "xterm");
    Some(Conversation::start(&command))
}

#[test]
fn vim_keeps_no_copy_under_any_settings() {
    let desk = Desk::new(&[("/memories/a.txt", &format!("{CANARY}\nlast line without end"))]);
    let Some(mut talk) = known_editor(&desk, "vim") else { return };
    talk.until("last line");
    // Copies a line, which viminfo would record, and changes the text twice.
    talk.type_in("ggyyPGoadded\u{1b}:w\r");
    talk.until("written");
    talk.type_in(":wq\r");
    let screen = talk.expect_end(0);
    desk.expect_clean();
    assert!(!screen.contains("warning"), "{screen:?}");
    let expected = format!("{CANARY}\n{CANARY}\nlast line without end\nadded");
    assert_eq!(desk.place.cat("/memories/a.txt"), expected);
}

#[test]
fn nano_keeps_no_copy_under_any_settings() {
    let desk = Desk::new(&[("/memories/a.txt", CANARY)]);
    let Some(mut talk) = known_editor(&desk, "nano") else { return };
    talk.until(CANARY);
    talk.type_in("added \u{f}\r");
    talk.until("Wrote");
    talk.type_in("\u{18}");
    talk.expect_end(0);
    desk.expect_clean();
    assert_eq!(desk.place.cat("/memories/a.txt"), format!("added {CANARY}"));
}

#[test]
fn emacs_keeps_no_copy_under_any_settings() {
    let desk = Desk::new(&[("/memories/a.txt", &format!("{CANARY}\n"))]);
    let Some(mut talk) = known_editor(&desk, "emacs") else { return };
    talk.until(CANARY);
    // Kills and yanks the line, and saves.
    talk.type_in("\u{b}\u{19}added\u{18}\u{13}");
    talk.until("Wrote");
    talk.type_in("\u{18}\u{3}");
    talk.expect_end(0);
    desk.expect_clean();
    assert_eq!(desk.place.cat("/memories/a.txt"), format!("{CANARY}added\n"));
}
