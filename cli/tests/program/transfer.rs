//! `import` and `export`.

#[cfg(unix)]
use std::ffi::OsStr;
use std::fs;
#[cfg(unix)]
use std::os::unix::ffi::OsStrExt;
#[cfg(unix)]
use std::os::unix::fs::symlink;
#[cfg(unix)]
use std::os::unix::net::UnixListener;
#[cfg(unix)]
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;

use crate::inmost::{Ended, Place, assert_private};

/// Writes files below a folder beside the store.
pub(crate) fn plain(place: &Place, folder: &str, files: &[(&str, &[u8])]) {
    for (name, bytes) in files {
        let path = place.beside(folder).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

pub(crate) fn last_line(ended: &Ended) -> Value {
    serde_json::from_str(ended.out.lines().last().unwrap()).unwrap()
}

pub(crate) fn export(place: &Place, args: &[&str]) -> Ended {
    place.run([&["export", "--yes"], args].concat(), "")
}

#[test]
fn a_folder_is_imported_byte_for_byte_and_the_plain_files_stay() {
    let place = Place::with_files(&[("/memories/there", "before")]);
    let files: &[(&str, &[u8])] = &[
        ("empty", b""),
        ("crlf.txt", b"a\r\nb\r\n"),
        ("deep/er/no-end", b"\xef\xbb\xbfno end"),
        ("deep/nul\u{e9}", "\0 e\u{301} \u{e9}".as_bytes()),
        (".hidden/x", b"hidden\n"),
        ("100%.txt", b"%"),
    ];
    plain(&place, "memory/memories", files);
    let out = place.run(["import", "./memory/memories"], "").expect(0).out;
    assert!(out.starts_with("Imported 6 files with "), "{out}");
    assert!(out.contains("./memory/memories were not removed"), "{out}");
    for (name, bytes) in files {
        assert_eq!(place.cat(&format!("/memories/{name}")).as_bytes(), *bytes, "{name}");
        assert_eq!(fs::read(place.beside("memory/memories").join(name)).unwrap(), *bytes);
    }
    assert_eq!(place.cat("/memories/there"), "before");
    place.run(["import", "memory", "--to", "/memories/old//"], "").expect(0);
    assert_eq!(place.cat("/memories/old/memories/empty"), "");
}

#[test]
fn an_imported_file_keeps_the_time_of_its_last_change() {
    let place = Place::with_store();
    plain(&place, "in", &[("old", b"text")]);
    let file = fs::File::options().write(true).open(place.beside("in/old")).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_millis(TIME)).unwrap();
    place.run(["import", "in"], "").expect(0);
    let entry = last_line(&place.run(["ls", "--json", "/memories/old"], "").expect(0));
    // The copy on this disk is younger than its text.
    assert_eq!((&entry["created"], &entry["modified"]), (&TIME.into(), &TIME.into()));
}

const TIME: u64 = 1_234_567_890_123;

#[test]
fn many_files_are_reported_in_their_order() {
    let place = Place::with_store();
    let bad = ["0000", "0499", "0500", "0777", "1199"];
    for number in 0..1_200 {
        let name = format!("{number:04}");
        let text: &[u8] = if bad.contains(&name.as_str()) { b"\xff" } else { b"text" };
        plain(&place, "in", &[(&name, text)]);
    }
    let ended = place.run(["import", "--json", "in"], "").expect(1);
    let lines: Vec<Value> =
        ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let refused: Vec<_> = lines.iter().filter_map(|line| line["file"].as_str()).collect();
    assert_eq!(refused, bad);
    assert_eq!((&lines[5]["copied"], &lines[5]["refused"]), (&1_195.into(), &5.into()));
    assert_eq!(place.names("/memories").len(), 1_195);
}

#[cfg(unix)]
#[test]
fn unsupported_files_are_refused_with_a_reason_and_the_rest_imported() {
    let place = Place::with_files(&[
        ("/memories/differs", "of the memory"),
        ("/memories/folder/x", ""),
        ("/memories/file", ""),
    ]);
    let long = vec![b'x'; (16 << 20) + 1];
    let deep = format!("{}leaf", "d/".repeat(20));
    plain(
        &place,
        "in",
        &[
            ("good", b"kept"),
            ("latin", b"caf\xe9"),
            ("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"),
            ("long", &long),
            ("back\\slash", b""),
            ("%2e%2e", b""),
            ("line\nfeed", b""),
            ("differs", b"of the folder"),
            ("folder", b""),
            ("file/below", b""),
            ("twice-e\u{301}", b"decomposed"),
            ("twice-\u{e9}", b"composed"),
            (&deep, b""),
        ],
    );
    let folder = place.beside("in");
    fs::File::create(folder.join("longer")).unwrap().set_len((64 << 20) + 1).unwrap();
    fs::write(folder.join(OsStr::from_bytes(b"name-\xff")), "").unwrap();
    fs::write(place.beside("secret"), "outside").unwrap();
    fs::create_dir(place.beside("elsewhere")).unwrap();
    fs::write(place.beside("elsewhere/x"), "outside").unwrap();
    symlink("../secret", folder.join("link-to-file")).unwrap();
    symlink("../elsewhere", folder.join("link-to-folder")).unwrap();
    symlink("nowhere", folder.join("link-to-nothing")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    let _socket = UnixListener::bind(folder.join("socket")).unwrap();

    let ended = place.run(["import", "in"], "").expect_failure(1, "18 files were refused.");
    for (file, reason) in [
        ("latin", "its text is not UTF-8; convert it first"),
        ("picture.png", "it is not text, and the memory holds only text"),
        ("long", "it is too long: a memory file may have at most 16777216 bytes"),
        ("longer", "it is too long for a memory file"),
        (
            "back\\slash",
            "its name has a backslash, which no path of the memory can have; rename it",
        ),
        ("%2e%2e", "its path is not valid in the memory: it would escape /memories; rename it"),
        ("line\\u{a}feed", "its path is not valid in the memory: "),
        ("differs", "the memory has a different file at its path; --overwrite replaces it"),
        ("folder", "the memory has a folder at its path; choose another folder with --to"),
        ("file/below", "/memories/file is a file, not a folder; choose another folder with --to"),
        (&deep, "its path is not valid in the memory: "),
        ("name-\u{fffd}", "its name is not UTF-8; rename it"),
        ("link-to-file", "it is a link, and links are not followed"),
        ("link-to-folder", "it is a link, and links are not followed"),
        ("link-to-nothing", "it is a link, and links are not followed"),
        ("pipe", "it is a special file, such as a pipe"),
        ("socket", "it is a special file, such as a pipe"),
        ("twice-\u{e9}", "another file has the same name in Unicode NFC; rename one of them"),
    ] {
        assert!(ended.out.contains(&format!("refused {file}: {reason}")), "{file}: {}", ended.out);
    }
    assert!(ended.out.contains("Imported 2 files"), "{}", ended.out);
    assert_eq!(place.cat("/memories/good"), "kept");
    assert_eq!(place.cat("/memories/twice-\u{e9}"), "decomposed");
    assert_eq!(place.cat("/memories/differs"), "of the memory");
    assert_eq!(place.run(["grep", "outside"], "").code, Some(1), "no link was followed");
}

#[test]
fn importing_again_skips_identical_files_and_replaces_only_with_overwrite() {
    let place = Place::with_store();
    plain(&place, "in", &[("a", b"1"), ("b", b"2")]);
    place.run(["import", "in"], "").expect(0);
    let out = place.run(["import", "in"], "").expect(0).out;
    assert!(
        out.starts_with(
            "Imported 0 files with 0B of text. 2 identical files were there already.\n"
        ),
        "{out}"
    );
    let ended = place.run(["import", "--json", "in"], "").expect(0);
    assert_eq!(
        last_line(&ended),
        serde_json::json!({"copied": 0, "bytes": 0, "same": 2, "refused": 0})
    );

    plain(&place, "in", &[("b", b"changed")]);
    let ended = place.run(["import", "--json", "in"], "").expect(1);
    let first: Value = serde_json::from_str(ended.out.lines().next().unwrap()).unwrap();
    assert_eq!(first["file"], "b");
    assert!(first["refused"].as_str().unwrap().contains("different"));
    assert_eq!(place.cat("/memories/b"), "2");

    place.run(["import", "--overwrite", "in"], "").expect_failure(2, "needs a confirmation");
    assert_eq!(place.cat("/memories/b"), "2");
    place.run(["import", "--overwrite", "--yes", "in"], "").expect(0);
    assert_eq!(place.cat("/memories/b"), "changed");
}

#[test]
fn an_impossible_import_is_reported_at_once() {
    let place = Place::with_files(&[("/memories/file", "")]);
    place.run(["import", "none"], "").expect_failure(14, "cannot be read");
    plain(&place, "in", &[("a", b"1")]);
    let ended = place.run(["import", "in", "--to", "/memories/file"], "");
    let ended = ended.expect_failure(1, "/memories/file is a file, not a folder.\n");
    assert_eq!(ended.out, "");
    place.run(["import", "in", "--to", "/etc"], "").expect_failure(2, "must start with /memories");
    place.run(["import", "in", "--yes"], "").expect(2);
}

#[cfg(target_os = "linux")]
#[test]
fn a_person_sees_a_bar_while_files_are_read() {
    let place = Place::with_store();
    plain(&place, "in", &[("a", b"1"), ("b", b"2")]);
    let mut command = crate::conversation::bare(&place, &["import", "in"]);
    command.env("INMOST_PASSPHRASE", crate::inmost::PASSPHRASE);
    let mut talk = crate::conversation::Conversation::start(&command);
    talk.until("of 2: 1 files read");
    talk.until("Imported 2 files");
    talk.expect_end(0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_person_is_warned_and_asked_before_anything_is_written_unencrypted() {
    let place = Place::with_files(&[("/memories/a", "1")]);
    let out = place.beside("out");
    for (typed, code) in [("\r", 1), ("no\r", 1), ("yes\r", 0)] {
        let mut command = crate::conversation::bare(&place, &["export", "out"]);
        command.env("INMOST_PASSPHRASE", crate::inmost::PASSPHRASE);
        let mut talk = crate::conversation::Conversation::start(&command);
        let shown = talk.until("Type yes to continue: ");
        assert!(shown.contains("will not be encrypted"), "{shown:?}");
        assert!(!out.exists());
        talk.type_in(typed);
        talk.expect_end(code);
    }
    assert_eq!(fs::read_to_string(out.join("a")).unwrap(), "1");
}

#[test]
fn a_source_without_files_is_reported() {
    let place = Place::with_store();
    fs::create_dir_all(place.beside("empty/below")).unwrap();
    let out = place.run(["import", "empty"], "").expect(0).out;
    assert_eq!(out, "There are no files to import in empty.\n");
    let out = export(&place, &["out"]).expect(0).out;
    assert_eq!(out, "There are no files to export in /memories.\n");
    assert!(!place.beside("out").exists());
    let ended = export(&place, &["out", "--json"]).expect(0);
    assert_eq!(
        last_line(&ended),
        serde_json::json!({"copied": 0, "bytes": 0, "same": 0, "refused": 0})
    );
}

#[test]
fn an_export_to_a_file_or_below_one_is_refused() {
    let place = Place::with_files(&[("/memories/a", "1")]);
    plain(&place, ".", &[("file", b"mine")]);
    export(&place, &["file"]).expect_failure(1, "file is not a folder but a file or a link.");
    export(&place, &["file/out"]).expect_failure(14, "file is not a folder.");
    export(&place, &["none/out"]).expect_failure(14, "The folder none does not exist.");
    assert_eq!(fs::read(place.beside("file")).unwrap(), b"mine");
}

#[test]
fn export_needs_a_confirmation_or_yes() {
    let place = Place::with_files(&[("/memories/a", "1")]);
    place.run(["export", "out"], "").expect_failure(2, "needs a confirmation");
    assert!(!place.beside("out").exists());
}

#[test]
fn exported_files_are_imported_again_byte_for_byte() {
    let files: &[(&str, &str)] = &[
        ("/memories/empty", ""),
        ("/memories/crlf", "a\r\n\r\n"),
        ("/memories/a/b/c.md", "\u{feff}no end"),
        ("/memories/a/.hidden", "\0\u{1b}"),
        ("/memories/caf\u{e9} \u{1f600}", &"long\n".repeat(5_000)),
        ("/memories/100%", "%"),
        ("/memories/-dash", "-"),
    ];
    let place = Place::with_files(files);
    let ended = export(&place, &["out"]).expect(0);
    assert!(ended.out.contains("Exported 7 files"), "{}", ended.out);
    assert!(ended.out.contains("are not encrypted"), "{}", ended.out);
    for (path, text) in files {
        let file = place.beside("out").join(path.strip_prefix("/memories/").unwrap());
        assert_eq!(fs::read_to_string(&file).unwrap(), *text, "{path}");
        assert_private(&file);
    }
    for folder in ["out", "out/a", "out/a/b"] {
        assert_private(&place.beside(folder));
    }
    assert_eq!(fs::read_dir(place.beside("out")).unwrap().count(), 6, "nothing else is there");

    let other = Place::with_store();
    let out = place.beside("out");
    other.run(["import", out.to_str().unwrap()], "").expect(0);
    for (path, text) in files {
        assert_eq!(other.cat(path), *text, "{path}");
    }
}

#[test]
fn an_export_keeps_the_times_of_the_files_unless_told_otherwise() {
    let place = Place::with_store();
    plain(&place, "in", &[("old.md", b"Dig.\n")]);
    let day = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    fs::File::options()
        .write(true)
        .open(place.beside("in/old.md"))
        .unwrap()
        .set_modified(day)
        .unwrap();
    place.run(["import", "in"], "").expect(0);
    export(&place, &["out"]).expect(0);
    export(&place, &["now", "--no-times"]).expect(0);
    let time_in =
        |folder| place.beside(folder).join("old.md").metadata().unwrap().modified().unwrap();
    assert_eq!(time_in("out"), day);
    assert!(time_in("now") > day + Duration::from_secs(86_400));
}

#[test]
fn a_part_of_the_memory_can_be_exported() {
    let place = Place::with_files(&[("/memories/a/b/c", "1"), ("/memories/d", "2")]);
    export(&place, &["folder", "--from", "/memories/a/"]).expect(0);
    assert_eq!(fs::read_to_string(place.beside("folder/b/c")).unwrap(), "1");
    export(&place, &["file", "--from", "/memories/d"]).expect(0);
    assert_eq!(fs::read_to_string(place.beside("file/d")).unwrap(), "2");
    assert_eq!(fs::read_dir(place.beside("file")).unwrap().count(), 1);
    export(&place, &["none", "--from", "/memories/none"])
        .expect_failure(19, "no file or folder at /memories/none.");
    assert!(!place.beside("none").exists());
}

#[cfg(unix)]
#[test]
fn export_does_not_change_existing_files() {
    let place = Place::with_files(&[
        ("/memories/same", "1"),
        ("/memories/differs", "2"),
        ("/memories/link", "3"),
        ("/memories/folder/x", "4"),
        ("/memories/way/x", "5"),
        ("/memories/new", "6"),
    ]);
    plain(&place, "out", &[("same", b"1"), ("differs", b"mine"), ("other", b"mine")]);
    let out = place.beside("out");
    export(&place, &["out"]).expect_failure(1, "not empty");
    symlink("/nowhere", place.beside("dangling")).unwrap();
    symlink("out", place.beside("linked")).unwrap();
    for link in ["dangling", "linked"] {
        export(&place, &[link, "--resume"]).expect_failure(1, "a file or a link");
    }
    export(&place, &["store/out"]).expect_failure(2, "is inside the store");
    export(&place, &["no/such/out"]).expect(14);

    fs::create_dir(place.beside("elsewhere")).unwrap();
    symlink(place.beside("elsewhere/y"), out.join("link")).unwrap();
    symlink(place.beside("elsewhere"), out.join("folder")).unwrap();
    plain(&place, "out", &[("way", b"a file")]);
    let ended =
        export(&place, &["out", "--resume", "--json"]).expect_failure(1, "4 files were refused");
    assert_eq!(
        last_line(&ended),
        serde_json::json!({"copied": 1, "bytes": 1, "same": 1, "refused": 4})
    );
    assert_eq!(fs::read_dir(place.beside("elsewhere")).unwrap().count(), 0, "no link was followed");
    for (name, text) in [("differs", "mine"), ("other", "mine"), ("way", "a file"), ("new", "6")] {
        assert_eq!(fs::read_to_string(out.join(name)).unwrap(), text, "{name}");
    }
}

#[test]
fn a_single_file_is_imported() {
    let place = Place::with_store();
    plain(&place, "in", &[("ada.md", b"tea")]);
    place.run(["import", "in/ada.md"], "").expect(0);
    assert_eq!(place.cat("ada.md"), "tea");
    place.run(["import", "--to", "people", "in/ada.md"], "").expect(0);
    assert_eq!(place.cat("people/ada.md"), "tea");
    place.run(["import", "in/none"], "").expect_failure(14, "in/none cannot be read");
    // Windows does not allow such a name.
    if cfg!(windows) {
        return;
    }
    plain(&place, "odd", &[("bad\\slash.md", b"")]);
    let refused = place.run(["import", "odd"], "").expect(1);
    assert!(refused.out.contains("its name has a backslash"), "{refused:?}");
    assert!(refused.err.contains("There were no other files."), "{refused:?}");
    plain(&place, "odd", &[("good.md", b"")]);
    let refused = place.run(["import", "odd"], "").expect(1);
    assert!(refused.err.contains("All other files are there."), "{refused:?}");
}

/// Windows would write the first as `a` and send the second to a device.
#[test]
fn a_name_that_the_system_changes_is_refused_and_any_other_exported() {
    let files = [("/memories/a.", "1"), ("/memories/nul.txt", "2"), ("/memories/b", "3")];
    let place = Place::with_files(&files);
    let ended = export(&place, &["out"]);
    let names = ["a.", "nul.txt", "b"].map(|name| place.beside("out").join(name));
    assert_eq!(fs::read_to_string(&names[2]).unwrap(), "3");
    if cfg!(windows) {
        let ended = ended.expect_failure(1, "2 files were refused");
        assert_eq!(ended.out.matches("does not accept its name").count(), 2, "{}", ended.out);
        assert_eq!(fs::read_dir(place.beside("out")).unwrap().count(), 1);
    } else {
        ended.expect(0);
        assert_eq!(fs::read_to_string(&names[0]).unwrap(), "1");
        assert_eq!(fs::read_to_string(&names[1]).unwrap(), "2");
    }
}
