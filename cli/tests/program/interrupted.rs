//! Imports, exports and backups that a kill interrupts.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::inmost::{PATIENCE, Place};
use crate::transfer::{export, last_line, plain};

/// Kills the program when the condition holds, before it ends.
#[track_caller]
fn kill_when(mut command: Command, is_due: impl Fn() -> bool) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while !is_due() {
        assert!(Instant::now() < deadline);
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be interrupted");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
}

const MANY: u64 = 1_500;

#[test]
fn an_interrupted_import_goes_on_where_it_was() {
    let place = Place::with_store();
    for number in 0..MANY {
        let (name, text) = (format!("{number:04}"), format!("text {number}\n"));
        plain(&place, "in", &[(&name, text.as_bytes())]);
    }
    let anchor = place.store().join("anchor");
    let before = fs::read(&anchor).unwrap();
    kill_when(place.command(["import", "in"]), || fs::read(&anchor).is_ok_and(|now| now != before));
    let ended = place.run(["import", "--json", "in"], "").expect(0);
    let count = |name: &str| last_line(&ended)[name].as_u64().unwrap();
    assert_eq!(count("copied") + count("same"), MANY);
    assert!(count("same") > 0 && count("copied") > 0, "{}", ended.out);
    assert_eq!(place.names("/memories").len(), usize::try_from(MANY).unwrap());
    assert_eq!(place.cat("/memories/0777"), "text 777\n");
}

#[test]
fn an_interrupted_export_goes_on_where_it_was() {
    let place = Place::with_store();
    for number in 0..MANY {
        let (name, text) = (format!("{number:04}"), format!("text {number}\n"));
        plain(&place, "in", &[(&name, text.as_bytes())]);
    }
    place.run(["import", "in"], "").expect(0);
    let out = place.beside("out");
    kill_when(place.command(["export", "out", "--yes"]), || out.join("0010").exists());
    let whole = |folder: &Path| {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.filter(|name| name != ".inmost%2Fpartial");
        names
            .inspect(|name| {
                let number: u64 = name.to_str().unwrap().parse().unwrap();
                let text = fs::read_to_string(folder.join(name)).unwrap();
                assert_eq!(text, format!("text {number}\n"));
            })
            .count()
    };
    let many = usize::try_from(MANY).unwrap();
    assert!((11..many).contains(&whole(&out)));
    // The partial file that a kill leaves behind.
    fs::write(out.join(".inmost%2Fpartial"), "te").unwrap();
    let ended = export(&place, &["out", "--resume", "--json"]).expect(0);
    assert!(last_line(&ended)["same"].as_u64().unwrap() > 10, "{}", ended.out);
    assert_eq!(whole(&out), many);
    assert!(!out.join(".inmost%2Fpartial").exists());
}

#[test]
fn a_backup_that_is_killed_leaves_the_earlier_ones_as_they_were() {
    let place = Place::with_store();
    for number in 0..MANY {
        let (name, text) = (format!("{number:04}"), format!("text {number}\n"));
        plain(&place, "in", &[(&name, text.as_bytes())]);
    }
    place.run(["import", "in"], "").expect(0);
    // A key daemon would go on with the backup of a killed command.
    place.run(["lock"], "").expect(0);
    place.run(["backup", "copies"], "").expect(0);
    let copies = place.beside("copies");
    for (round, due) in ["", "records.new", ".new", "records-", "backup-"].iter().enumerate() {
        // After a rotation nothing is shared, so each backup is as long as the first.
        place.run(["rotate"], "").expect(0);
        let count = || {
            fs::read_dir(&copies)
                .unwrap()
                .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains(due))
                .count()
        };
        let before = count();
        let mut command = place.command(["backup", "copies"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while count() == before && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let restored = format!("restored-{round}");
        place.run(["backup", "restore", "--number", "1", "copies", &restored], "").expect(0);
    }
    let out = place.run(["backup", "copies"], "").expect(0).out;
    assert!(out.contains(&format!(": {MANY} files with ")), "{out}");
    let names = fs::read_dir(&copies).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.filter(|name| name.to_string_lossy().contains("new")).count() == 0);
    place.run(["backup", "restore", "copies", "newest"], "").expect(0);
    place.put_back("newest");
    assert_eq!(place.names("/memories").len(), usize::try_from(MANY).unwrap());
}
