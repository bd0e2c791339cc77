//! Completions and manual pages, generated from the description of the command line.

use std::fs;
use std::process::Command;

use crate::commands::COMMANDS;
use crate::inmost::{Place, run};

fn bare(args: &[&str]) -> String {
    run(&mut Place::vacant().bare_command(args), b"").expect(0).out
}

#[test]
fn shells_get_completions_of_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = bare(&["completions", shell]);
        assert!(COMMANDS.iter().all(|command| script.contains(command)), "{shell}");
        assert!(script.contains("passphrase-file"), "{shell}");
    }
    run(&mut Place::vacant().bare_command(["completions", "ksh"]), b"").expect(2);
}

#[test]
fn bash_completes_with_them() {
    let place = Place::vacant();
    fs::write(place.beside("script"), bare(&["completions", "bash"])).unwrap();
    let asked = "source ./script; COMP_WORDS=(inmost gr); COMP_CWORD=1; _inmost inmost gr inmost; \
                 printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", asked]).current_dir(place.beside(""));
    assert_eq!(run(&mut bash, b"").expect(0).out, "grep\n");
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
