//! Standard streams that are closed.

use std::process::Stdio;

use crate::inmost::{Place, run};

#[test]
fn a_change_is_made_in_full_though_nobody_reads_the_output() {
    let paths = ["/memories/a", "/memories/b", "/memories/c"];
    let place = Place::with_files(&paths.map(|path| (path, "1")));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut remove = place.command(["rm", "--json"].into_iter().chain(paths));
    assert!(remove.stdin(Stdio::null()).stdout(writer).status().unwrap().success());
    for path in paths {
        place.run(["cat", path], "").expect(19);
    }
}

#[test]
fn a_file_is_not_emptied_if_standard_input_is_closed() {
    let place = Place::with_files(&[("/memories/a", "1")]);
    let write = |input: &str| {
        let program = place.command(["write", "/memories/a"]);
        let arguments = program.get_args().map(|it| it.to_str().unwrap());
        let arguments = arguments.collect::<Vec<_>>().join(" ");
        let program = program.get_program().to_str().unwrap();
        let mut shell = place.shell(&format!("exec {program} {arguments} {input}"));
        shell.env("INMOST_PASSPHRASE", crate::inmost::PASSPHRASE);
        run(shell.env("INMOST_STORE", place.store()), b"")
    };
    write("<&-").expect_failure(14, "Standard input is closed");
    assert_eq!(place.cat("/memories/a"), "1");
    write("</dev/null").expect(0);
    assert_eq!(place.cat("/memories/a"), "");
}
