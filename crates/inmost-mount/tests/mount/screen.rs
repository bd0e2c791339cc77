//! Screening: no secret that a program writes reaches the store, and no other text is lost.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;

use inmost_mount::MountOptions;
use inmost_screen::SecretScreen;
use rustix::io::Errno;

use crate::mounted::{Mounted, create, errno, eventually, mounted_with, options, session};

const CARD: &str = "4111 1111 1111 1111";
const MARK: &str = "[redacted: card number]";

fn screened(screen: SecretScreen) -> Option<Mounted> {
    mounted_with(session(), &MountOptions { screen: Some(screen), ..options() })
}

/// Fails if the store has it anywhere, also in an earlier version.
fn is_nowhere(mount: &Mounted, text: &str) {
    let versions = inmost::VersionQuery::all();
    let page = mount.session.history().page(&versions, None, 1_000).unwrap();
    for version in page.items {
        if let Ok(stored) = mount.session.history().text(version.number) {
            assert!(!stored.as_str().contains(text), "version {}", version.number);
        }
    }
    let files = mount.session.files();
    for entry in files.walk("/memories") {
        if let Ok(stored) = files.read(entry.unwrap().path.as_str()) {
            assert!(!stored.as_str().contains(text));
        }
    }
}

#[test]
fn a_refused_text_stays_in_the_folder_until_it_is_mended() {
    let Some(mount) = screened(SecretScreen::refusing()) else { return };
    fs::write(mount.at("pay.md"), "cash\n").unwrap();
    let mut file = create(&mount.at("pay.md"));
    writeln!(file, "pays with {CARD}").unwrap();
    assert_eq!(errno(file.sync_all()), Errno::ACCESS);
    drop(file);
    let with_card = format!("pays with {CARD}\n");
    assert_eq!(fs::read_to_string(mount.at("pay.md")).unwrap(), with_card);
    assert_eq!(mount.stored("pay.md").unwrap(), "cash\n");
    // With another digit it is no number of a card.
    let file = OpenOptions::new().write(true).open(mount.at("pay.md")).unwrap();
    file.write_all_at(b"x", u64::try_from(with_card.len() - 3).unwrap()).unwrap();
    file.sync_all().unwrap();
    assert!(mount.stored("pay.md").unwrap().contains("11x1\n"));
    drop(file);
    is_nowhere(&mount, CARD);
    assert_eq!(mount.unmount(), 0);
}

#[test]
fn an_append_that_completes_a_secret_is_refused() {
    let Some(mount) = screened(SecretScreen::refusing()) else { return };
    let append = || OpenOptions::new().append(true).create(true).open(mount.at("log.md")).unwrap();
    append().write_all(b"card 4111 1111 ").unwrap();
    let mut file = append();
    file.write_all(b"1111 1111\n").unwrap();
    assert_eq!(errno(file.sync_all()), Errno::ACCESS);
    is_nowhere(&mount, CARD);
    drop(file);
    assert_eq!(mount.unmount(), 1, "it says that one could not be saved");
}

#[test]
fn a_refused_rename_leaves_both_files() {
    let Some(mount) = screened(SecretScreen::refusing()) else { return };
    fs::write(mount.at("a.md"), "cash\n").unwrap();
    for (scratch, target) in [("a.md.tmp.1.2", "a.md"), ("b.md.tmp.1.2", "b.md")] {
        fs::write(mount.at(scratch), CARD).unwrap();
        let renamed = fs::rename(mount.at(scratch), mount.at(target));
        assert_eq!(errno(renamed), Errno::ACCESS);
        assert_eq!(fs::read_to_string(mount.at(scratch)).unwrap(), CARD);
    }
    assert_eq!(fs::read_to_string(mount.at("a.md")).unwrap(), "cash\n");
    is_nowhere(&mount, CARD);
}

#[test]
fn a_name_with_a_secret_is_refused() {
    for screen in [SecretScreen::refusing(), SecretScreen::redacting()] {
        let Some(mount) = screened(screen) else { return };
        fs::write(mount.at("a.md"), "cash\n").unwrap();
        assert_eq!(errno(fs::write(mount.at(CARD), "x")), Errno::ACCESS);
        assert_eq!(errno(fs::create_dir(mount.at(CARD))), Errno::ACCESS);
        assert_eq!(errno(fs::rename(mount.at("a.md"), mount.at(CARD))), Errno::ACCESS);
        assert_eq!(mount.stored("a.md").unwrap(), "cash\n");
    }
}

#[test]
fn a_redacted_file_is_whole_for_the_program_that_writes_it() {
    let Some(mount) = screened(SecretScreen::redacting()) else { return };
    let mut file = create(&mount.at("pay.md"));
    writeln!(file, "with {CARD},").unwrap();
    file.sync_all().unwrap();
    assert_eq!(mount.stored("pay.md").unwrap(), format!("with {MARK},\n"));
    let raw = format!("with {CARD},\n");
    assert_eq!(file.metadata().unwrap().len(), u64::try_from(raw.len()).unwrap());
    // It goes on at the places that it knows, also under another name.
    fs::rename(mount.at("pay.md"), mount.at("paid.md")).unwrap();
    let length = u64::try_from(raw.len()).unwrap();
    assert_eq!(fs::metadata(mount.at("paid.md")).unwrap().len(), length);
    assert_eq!(fs::read_to_string(mount.at("paid.md")).unwrap(), raw);
    fs::rename(mount.at("paid.md"), mount.at("pay.md")).unwrap();
    file.write_all(b"in euros\n").unwrap();
    file.write_all_at(b"WITH", 0).unwrap();
    file.sync_all().unwrap();
    let marked = format!("WITH {MARK},\nin euros\n");
    assert_eq!(mount.stored("pay.md").unwrap(), marked);
    drop(file);
    eventually(|| fs::read_to_string(mount.at("pay.md")).unwrap() == marked);
    let mut file = OpenOptions::new().append(true).open(mount.at("pay.md")).unwrap();
    file.write_all(b"or cash\n").unwrap();
    drop(file);
    assert_eq!(mount.stored("pay.md").unwrap(), format!("{marked}or cash\n"));
    fs::write(mount.at("b.md.tmp.1"), CARD).unwrap();
    fs::rename(mount.at("b.md.tmp.1"), mount.at("b.md")).unwrap();
    assert_eq!(fs::read_to_string(mount.at("b.md")).unwrap(), MARK);
    is_nowhere(&mount, CARD);
    assert_eq!(mount.unmount(), 0);
}

#[test]
fn what_the_store_has_already_is_no_find() {
    for screen in [SecretScreen::refusing(), SecretScreen::redacting()] {
        let Some(mount) = screened(screen) else { return };
        let text = format!("one\n{CARD}\ntwo\n");
        mount.session.files().write("/memories/a.md", &text).unwrap();
        let changed = text.replace("one", "1").replace("two", "2");
        fs::write(mount.at("a.md.tmp.1"), &changed).unwrap();
        fs::rename(mount.at("a.md.tmp.1"), mount.at("a.md")).unwrap();
        assert_eq!(mount.stored("a.md").unwrap(), changed);
        fs::rename(mount.at("a.md"), mount.at("b.md")).unwrap();
        assert_eq!(mount.stored("b.md").unwrap(), changed);
    }
}

#[test]
fn a_conflict_with_others_is_screened_too() {
    let Some(mount) = screened(SecretScreen::redacting()) else { return };
    mount.session.files().write("/memories/a.md", "one\n").unwrap();
    let file = OpenOptions::new().read(true).write(true).open(mount.at("a.md")).unwrap();
    mount.session.files().write("/memories/a.md", "theirs\n").unwrap();
    file.write_all_at(CARD.as_bytes(), 0).unwrap();
    assert_eq!(errno(file.sync_all()), Errno::STALE);
    assert_eq!(mount.stored("a.md").unwrap(), "theirs\n");
    is_nowhere(&mount, CARD);
}
