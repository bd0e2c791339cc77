//! Commands on one store at the same time.

use std::process::Stdio;

use crate::inmost::{Ended, PASSPHRASE, Place, run};

#[test]
fn parallel_commands_wait_for_each_other() {
    let place = Place::with_store();
    let write = |number: u32| {
        let mut command = place.command(["write", &format!("p{number}.md"), "--wait", "1m"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let writers: Vec<_> = (0..5).map(write).collect();
    for writer in writers {
        Ended::of(writer.wait_with_output().unwrap()).expect(0);
    }
    assert_eq!(place.names("/memories").len(), 5);
}

#[test]
#[cfg(target_os = "linux")]
fn a_command_that_gives_up_says_who_holds_the_store() {
    let place = Place::with_store();
    let hold = |args: &[&str]| {
        let mut holder = place.command(args);
        let mut holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let is_held = || place.run(["ls", "--wait", "0"], "").code == Some(13);
        while !is_held() {
            assert!(holder.try_wait().unwrap().is_none());
        }
        holder
    };
    let mut holder = hold(&["call"]);
    let id = holder.id();
    let what = format!("in use by the command inmost call, process {id}.");
    let ended = place.run(["ls", "--wait", "1s"], "").expect_failure(13, &what);
    assert!(ended.err.contains("with --wait 1m"), "{ended:?}");
    holder.kill().unwrap();
    holder.wait().unwrap();
    let mut list = place.bare_command(["ls", "--wait", "soon", "--store", "s"]);
    run(list.env("INMOST_PASSPHRASE", PASSPHRASE), b"").expect_failure(2, "expected a number");
}
