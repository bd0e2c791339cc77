//! What keeps the key daemon apart from other users and from the process that started it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;
use std::{fs, io};

use super::{ask, socket};
use crate::inmost::{PASSPHRASE, Place, run};

#[test]
fn only_its_user_can_access_the_socket_under_any_umask() {
    for mask in ["000", "022", "777"] {
        let place = Place::with_store();
        let inner = place.command(["unlock"]);
        let mut command = place.bare_command(["--version"]);
        command = {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("umask {mask}; exec \"$@\""), "sh"]);
            shell.arg(inner.get_program()).args(inner.get_args());
            shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
            shell.env("INMOST_PASSPHRASE", PASSPHRASE).env("INMOST_STORE", place.store());
            shell
        };
        run(&mut command, b"").expect(0);
        let mode =
            |path: PathBuf| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(place.runtime().join("inmost")), 0o700, "{mask}");
        assert_eq!(mode(socket(&place)), 0o600, "{mask}");
        ask(&place, &["write", "/memories/a"], "text").expect(0);
        for file in place.files_on_disk() {
            assert_eq!(mode(file), 0o600, "{mask}");
        }
    }
}

#[test]
fn a_folder_for_sockets_that_others_reach_or_that_is_a_link_is_not_used() {
    let place = Place::with_store();
    let folder = place.runtime().join("inmost");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    place.run(["unlock"], "").expect_failure(1, "is not private to this user");
    place.run(["ls"], "").expect(0);
    fs::remove_dir(&folder).unwrap();
    let elsewhere = place.beside("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &folder).unwrap();
    place.run(["unlock"], "").expect_failure(1, "is not private to this user");
    place.run(["ls"], "").expect(0);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn without_a_runtime_folder_it_makes_a_private_one() {
    let place = Place::with_store();
    let temporary = place.beside("tmp");
    fs::create_dir(&temporary).unwrap();
    let mut unlock = place.command(["unlock"]);
    run(unlock.env_remove("XDG_RUNTIME_DIR").env("TMPDIR", &temporary), b"").expect(0);
    let user = fs::metadata(&temporary).unwrap().uid();
    let folder = temporary.join(format!("inmost-{user}"));
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o7777, 0o700);
    let mut lock = place.bare_command(["lock", "--store"]);
    lock.arg(place.store()).env_remove("XDG_RUNTIME_DIR").env("TMPDIR", &temporary);
    assert!(run(&mut lock, b"").expect(0).out.starts_with("Locked"));
}

#[test]
fn a_folder_at_the_path_of_its_socket_is_named() {
    let place = Place::with_store();
    place.unlock(&[]);
    let path = socket(&place);
    place.lock();
    fs::create_dir(&path).unwrap();
    let ended = place.run(["unlock"], "");
    let ended = ended.expect_failure(14, &format!("cannot create its socket {}: ", path.display()));
    assert!(ended.err.contains("Remove what is at that path"), "{ended:?}");
    assert!(path.is_dir());
    // Commands open the store themselves.
    place.run(["ls"], "").expect(0);
}

#[test]
fn the_passphrase_is_not_in_the_environment_of_the_daemon() {
    let place = Place::with_store();
    let daemon = place.unlock(&[]);
    let environment = fs::read(format!("/proc/{daemon}/environ")).unwrap();
    assert!(!String::from_utf8_lossy(&environment).contains(PASSPHRASE));
    assert_eq!(fs::read_link(format!("/proc/{daemon}/cwd")).unwrap(), PathBuf::from("/"));
    for descriptor in 0..3 {
        let leads_to = fs::read_link(format!("/proc/{daemon}/fd/{descriptor}")).unwrap();
        assert_eq!(leads_to, PathBuf::from("/dev/null"));
    }
}

#[test]
fn the_daemon_inherits_no_open_descriptors() {
    let place = Place::with_store();
    let inner = place.command(["unlock"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec 7>held; flock 7; \"$@\"", "sh"]).current_dir(place.beside(""));
    shell.arg(inner.get_program()).args(inner.get_args());
    shell.env("INMOST_PASSPHRASE", PASSPHRASE).env("XDG_RUNTIME_DIR", place.runtime());
    run(shell.env("INMOST_STORE", place.store()), b"").expect(0);
    let daemon = place.daemon().unwrap();
    for descriptor in fs::read_dir(format!("/proc/{daemon}/fd")).unwrap() {
        match fs::read_link(descriptor.unwrap().path()) {
            Ok(leads_to) => assert_ne!(leads_to, place.beside("held")),
            // The daemon has closed it since the folder was read.
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::NotFound),
        }
    }
}
