//! The screens, compared with files in `screens`. After a wanted change, `UPDATE_SCREENS=1 cargo test -p inmost-browse screens`
//! writes them anew.

use std::path::Path;
use std::{env, fs};

use super::Desk;
use crate::event::Event;
use crate::key::Key;

const FILES: &[(&str, &str)] = &[
    (
        "/memories/garden/plan.md",
        "# The garden\n\nThree beds, south of the house. The soil is loam, limed in autumn, and dry by June.\n\n- beans\n- peas\n",
    ),
    ("/memories/garden/seeds.md", "beans: 40\npeas: 60\n"),
    ("/memories/people/ada.md", "Ada prefers tea.\nBirthday: 10 December.\n"),
    ("/memories/people/empty.md", ""),
    (
        "/memories/odd name.md",
        "an escape \u{1b}[2J and a bell \u{7}\n\tindented \u{6f22}\u{5b57}\n",
    ),
];

fn desk() -> Desk {
    Desk::new(FILES, (80, 24))
}

/// Dates depend on the time of the test: each becomes the same one.
fn without_dates(screen: &str) -> String {
    let letters: Vec<char> = screen.chars().collect();
    let is_alike = |from: usize, pattern: &str| {
        let pattern: Vec<char> = pattern.chars().collect();
        letters.get(from..from + pattern.len()).is_some_and(|found| {
            let mut pairs = found.iter().zip(&pattern);
            pairs.all(
                |(letter, wanted)| {
                    if *wanted == '0' { letter.is_ascii_digit() } else { letter == wanted }
                },
            )
        })
    };
    let mut result = String::new();
    let mut at = 0;
    while at < letters.len() {
        let known = [
            ("0000-00-00 00:00:00", "2026-01-02 03:04:05"),
            ("0000-00-00 00:00", "2026-01-02 03:04"),
        ];
        if let Some((_, instead)) = known.into_iter().find(|(pattern, _)| is_alike(at, pattern)) {
            result.push_str(instead);
            at += instead.len();
        } else {
            result.push(letters[at]);
            at += 1;
        }
    }
    result
}

#[track_caller]
fn expect(desk: &mut Desk, name: &str) {
    let screen = without_dates(&desk.screen());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/screens");
    let file = folder.join(name).with_extension("txt");
    if env::var_os("UPDATE_SCREENS").is_some() {
        fs::create_dir_all(folder).unwrap();
        fs::write(file, screen).unwrap();
        return;
    }
    let expected = fs::read_to_string(&file).unwrap();
    assert!(screen == expected, "{name} is not the screen:\n{screen}");
}

#[test]
fn the_tree_and_a_text() {
    let mut desk = desk();
    expect(&mut desk, "start");
    desk.press(&[Key::Right, Key::Down]);
    expect(&mut desk, "text");
    desk.press(&[Key::Down, Key::Down]);
    expect(&mut desk, "escapes");
}

#[test]
fn versions_and_their_differences() {
    let mut desk = desk();
    desk.press(&[Key::Right, Key::Down]);
    let path = "/memories/garden/plan.md";
    let text = desk.files().read(path).unwrap().as_str().replace("Three", "Four");
    desk.files().write(path, &text.replace("peas", "leeks")).unwrap();
    desk.press(&[Key::Refresh, Key::Char('v')]);
    expect(&mut desk, "versions");
    desk.press(&[Key::Enter]);
    expect(&mut desk, "differences");
    desk.press(&[Key::Left, Key::Down, Key::Char('r')]);
    expect(&mut desk, "restore");
    desk.press(&[Key::Char('y')]);
    expect(&mut desk, "restored");
    assert!(desk.files().read(path).unwrap().as_str().contains("peas"));
}

#[test]
fn a_search_in_names_and_texts() {
    let mut desk = desk();
    desk.press(&[Key::Char('/')]);
    expect(&mut desk, "search");
    desk.type_in("ea");
    expect(&mut desk, "hits");
    desk.type_in("ns:");
    desk.press(&[Key::Enter]);
    expect(&mut desk, "opened");
}

#[test]
fn questions_and_the_help() {
    let mut desk = desk();
    desk.press(&[Key::Char('d')]);
    expect(&mut desk, "delete");
    desk.press(&[Key::Escape, Key::Char('F')]);
    desk.type_in("ye");
    expect(&mut desk, "forget");
    desk.press(&[Key::Escape, Key::Down, Key::Char('?')]);
    expect(&mut desk, "help");
}

#[test]
fn a_locked_store_shows_nothing() {
    let mut desk = desk();
    desk.press(&[Key::Right, Key::Down, Key::Char('L')]);
    expect(&mut desk, "locked");
    assert_eq!(desk.outside, ["lock"]);
}

#[test]
fn a_small_terminal_gets_a_message() {
    let mut desk = desk();
    desk.send(Event::Resize(79, 24));
    expect(&mut desk, "small");
    desk.send(Event::Resize(120, 30));
    expect(&mut desk, "large");
}
