//! `--passphrase-command`, with the shell of each system.

use std::fs;

use crate::inmost::{PASSPHRASE, Place, run};

#[test]
fn a_command_with_quotes_reaches_the_shell_as_it_was_typed() {
    let place = Place::with_store();
    fs::write(place.beside("with space"), PASSPHRASE).unwrap();
    let show = if cfg!(windows) { "type" } else { "cat" };
    let quoted = format!("{show} \"with space\"");
    let mut command = place.bare_command(["ls", "--passphrase-command", &quoted]);
    run(command.arg("--store").arg(place.store()), b"").expect(0);
}
