//! The examples of the README and of docs/PROGRAM.md run as they are printed, line by line, and none waits for an answer that
//! its comment does not announce.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::inmost::{PASSPHRASE, Place, run};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The lines of all examples for a shell.
fn lines(page: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let blocks = text.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

/// The line with the confirmation that its comment says a person is asked for. Nobody answers in a test.
fn confirmed(line: &str) -> String {
    let Some((command, comment)) = line.split_once(" #") else { return line.to_owned() };
    let is_asked = comment.contains("asks") && !comment.contains("passphrase");
    let is_asked = is_asked && !command.contains(" unlock ");
    if is_asked { format!("{} --yes", command.trim_end()) } else { line.to_owned() }
}

fn runs(place: &Place, line: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_inmost")).parent().unwrap().display();
    let script = format!("PATH=bin:{program}:$PATH; {}", confirmed(line));
    let mut shell = place.shell(&script);
    shell.env("INMOST_PASSPHRASE", PASSPHRASE).env("TMPDIR", place.beside("tmp"));
    let ended = run(shell.env_remove("XDG_CONFIG_HOME"), b"");
    assert_eq!(ended.code, Some(0), "{line}: {ended:?}");
    ended.out
}

/// A home folder in which `cargo` builds nothing and runs the program.
fn home() -> Place {
    let place = Place::vacant();
    for folder in ["bin", "tmp", "notes"] {
        fs::create_dir(place.beside(folder)).unwrap();
    }
    let cargo = place.beside("bin/cargo");
    let script = "#!/bin/sh\n[ \"$1\" = run ] || exit 0\nwhile [ \"$1\" != -- ]; do shift; done; shift\nexec inmost \"$@\"\n";
    fs::write(&cargo, script).unwrap();
    fs::set_permissions(&cargo, PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(root().join("examples"), place.beside("examples")).unwrap();
    fs::write(place.beside("notes/drinks.md"), "Coffee at nine.\n").unwrap();
    place
}

#[test]
fn the_examples_of_the_readme_run() {
    let place = home();
    let out: Vec<String> = lines("README.md").iter().map(|line| runs(&place, line)).collect();
    assert!(out.iter().any(|out| out == "nothing readable\n"), "{out:?}");
    assert!(out.iter().any(|out| out.contains("drinks.md:1:Coffee at nine.")), "{out:?}");
    assert!(place.beside("plain/people/ada.md").exists());
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(text.lines().count() <= 200);
}

#[test]
fn the_examples_of_the_program_run() {
    let place = home();
    runs(&place, "inmost init --store notes.inmost");
    for text in ["tea", "coffee"] {
        let write = "inmost write --store notes.inmost people/ada.md --as claude-code";
        runs(&place, &format!("echo {text} | {write}"));
    }
    for line in lines("docs/PROGRAM.md") {
        runs(&place, &line);
    }
    runs(&place, "inmost lock --store notes.inmost");
}
