//! Completions and manual pages, generated from the description of the command line.

use std::fs;

use crate::commands::COMMANDS;
use crate::inmost::{Place, run};

fn bare(args: &[&str]) -> String {
    run(&mut Place::vacant().bare_command(args), b"").expect(0).out
}

#[test]
fn shells_get_a_script_that_asks_the_program() {
    for shell in ["bash", "zsh", "fish"] {
        let script = bare(&["completions", shell]);
        assert!(script.contains("INMOST_COMPLETE") && script.contains("inmost"), "{script}");
    }
    run(&mut Place::vacant().bare_command(["completions", "ksh"]), b"").expect(2);
    let place = Place::vacant();
    let mut ls = place.bare_command(["ls"]);
    ls.env("INMOST_COMPLETE", "ksh");
    run(&mut ls, b"").expect_failure(2, "does not name a shell");
}

/// What bash completes the last of these words to.
#[cfg(unix)]
fn complete(place: &Place, words: &[&str]) -> Vec<String> {
    fs::write(place.beside("script"), bare(&["completions", "bash"])).unwrap();
    let asked = "source ./script; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
                 _clap_complete_inmost inmost \"${@: -1}\" \"${@: -2:1}\"; \
                 printf '%s\\n' \"${COMPREPLY[@]}\"";
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_inmost")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let bash = place.bare_command(Vec::<&str>::new());
    let mut command = std::process::Command::new("bash");
    command.args(["--norc", "-c", asked, "bash"]).args(words).current_dir(place.beside(""));
    // The variables that keep the test to its own folders.
    bash.get_envs().for_each(|(name, value)| match value {
        Some(value) => drop(command.env(name, value)),
        None => drop(command.env_remove(name)),
    });
    let out = run(command.env("PATH", path), b"").expect(0).out;
    out.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[cfg(unix)]
#[test]
fn bash_completes_commands_and_options() {
    let place = Place::vacant();
    assert_eq!(complete(&place, &["inmost", "gr"]), ["grep"]);
    assert_eq!(complete(&place, &["inmost", "cat", "--num"]), ["--number"]);
}

#[cfg(unix)]
#[test]
fn bash_completes_memory_paths_while_the_store_is_unlocked() {
    let place = Place::with_files(&[
        ("/memories/notes.md", "1"),
        ("/memories/north/a.md", "1"),
        ("/memories/north/b c.md", "1"),
        ("/memories/north/$(touch x)", "1"),
        ("/memories/.hidden", "1"),
    ]);
    let ask = |words: &[&str]| complete(&place, &[&["inmost", "--store", "store"], words].concat());
    place.lock();
    assert!(ask(&["cat", "no"]).is_empty());
    run(&mut place.command(["unlock"]), b"").expect(0);
    assert_eq!(ask(&["cat", "no"]), ["north/", "notes.md"]);
    let all = ask(&["cat", ""]);
    let names: Vec<_> = all.iter().filter(|word| !word.starts_with('-')).collect();
    assert_eq!(names, ["north/", "notes.md"]);
    assert_eq!(ask(&["rm", "north/"]), ["north/a.md"]);
    assert_eq!(
        ask(&["mv", "notes.md", "/memories/no"]),
        ["/memories/north/", "/memories/notes.md"]
    );
    assert_eq!(ask(&["cat", ".h"]), [".hidden"]);
    assert!(ask(&["cat", "none/"]).is_empty());
    place.lock();
}

#[test]
fn there_is_a_manual_page_of_the_program_and_of_each_command() {
    let page = bare(&["man"]);
    assert!(page.contains(".TH inmost 1"), "{page}");
    assert!(COMMANDS.iter().all(|command| page.contains(&command.replace('-', "\\-"))), "{page}");

    let place = Place::vacant();
    let folder = place.beside("man1");
    let man = || run(&mut place.bare_command(["man", "man1"]), b"");
    fs::write(&folder, "").unwrap();
    man().expect_failure(14, "manual pages cannot be written");
    fs::remove_file(&folder).unwrap();
    man().expect(0);
    man().expect(0);
    for command in COMMANDS {
        let page = fs::read_to_string(folder.join(format!("inmost-{command}.1"))).unwrap();
        for section in ["SYNOPSIS", "EXAMPLES", "\"EXIT STATUS\"", "ENVIRONMENT", "FILES"] {
            assert!(page.contains(&format!(".SH {section}\n")), "{command}: {section}: {page}");
        }
        let headings = page.lines().filter(|line| line.starts_with(".SH "));
        assert!(headings.clone().all(|heading| heading.len() < 30), "{command}: {page}");
        assert!(!page.contains("EXTRA"), "{command}: {page}");
    }
    assert!(folder.join("inmost.1").exists());
    assert!(folder.join("inmost-slot-add.1").exists());
}
