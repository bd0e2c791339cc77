//! Standard streams that are closed.

use crate::inmost::{Place, run};

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
