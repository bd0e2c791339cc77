//! What keys do, and that no order of keys, sizes and replies breaks anything.

use inmost::{FileError, FileText};

use super::{Desk, many};
use crate::event::{Effect, Event, Problem, Reply};
use crate::key::Key;
use crate::model::{Dialog, Focus, Right};
use inmost_console::display::needs_escape;

/// A generator of random numbers with a fixed start (xorshift).
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end).unwrap()).unwrap()
    }
}

const KEYS: &[Key] = &[
    Key::Up,
    Key::Down,
    Key::Down,
    Key::Left,
    Key::Right,
    Key::Right,
    Key::PageUp,
    Key::PageDown,
    Key::Home,
    Key::End,
    Key::Enter,
    Key::Enter,
    Key::Escape,
    Key::Tab,
    Key::Backspace,
    Key::Refresh,
    Key::Help,
    Key::Control('u'),
    Key::Char('/'),
    Key::Char('a'),
    Key::Char('v'),
    Key::Char('V'),
    Key::Char('e'),
    Key::Char('d'),
    Key::Char('y'),
    Key::Char('F'),
    Key::Char('r'),
    Key::Char('L'),
    Key::Char('u'),
    Key::Char('\u{202e}'),
    Key::Char('\u{e9}'),
];

/// Presses keys in random order. Replies come late, in their order, and the window changes its size.
fn wander(seed: u64, steps: usize, files: &[(&str, &str)]) {
    let mut draw = Draw(seed);
    let mut desk = Desk::new(files, (80, 24));
    for _ in 0..steps {
        match draw.below(12) {
            0 => {
                let size = |draw: &mut Draw, usual: usize| match draw.below(4) {
                    0 => draw.below(3),
                    1 => draw.below(400),
                    _ => usual + draw.below(40),
                };
                let (columns, rows) = (size(&mut draw, 80), size(&mut draw, 24));
                desk.send(Event::Resize(
                    u16::try_from(columns).unwrap(),
                    u16::try_from(rows).unwrap(),
                ));
            }
            1 => desk.send(Event::Tick),
            2 => desk.send(Event::Paste(FileText::from("a\u{1b}[31m\n".to_owned()))),
            3..6 => desk.settle(),
            6 => desk.step(),
            _ => desk.send(Event::Key(KEYS[draw.below(KEYS.len())])),
        }
        let screen = desk.screen();
        assert!(
            !screen.chars().any(|letter| needs_escape(letter) && letter != '\n'),
            "seed {seed}: {screen:?}"
        );
    }
}

#[test]
fn keys_in_any_order_break_nothing() {
    let odd = "\u{1b}[2J\u{202e}\u{200b}e\u{301}\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\u{200d}\u{1f466}\r\n\n";
    let long = "word ".repeat(5_000);
    let wide = "\u{6f22}\u{5b57}".repeat(400);
    let files = [
        ("/memories/a/b/c/d/e/f/g/h/i/j.md", "deep\n"),
        ("/memories/a/empty.md", ""),
        ("/memories/a/odd \u{6f22}\u{1f600} name", odd),
        ("/memories/a/long.md", long.as_str()),
        ("/memories/a/wide.md", wide.as_str()),
        ("/memories/b.md", "b\n\n\nb"),
    ];
    for seed in 1..=12 {
        wander(seed * 7_919, 200, &files);
    }
    wander(3, 50, &[]);
}

#[test]
fn keys_in_any_order_break_nothing_in_a_long_folder() {
    let files = many(3_000);
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    wander(11, 100, &files);
}

#[test]
fn a_deletion_is_made_only_after_yes() {
    let mut desk = Desk::new(&[("/memories/a.md", "a"), ("/memories/b.md", "b")], (80, 24));
    for no in [Key::Enter, Key::Escape, Key::Char('n')] {
        desk.press(&[Key::Char('d'), no]);
    }
    // A key that means nothing here is not taken for an answer.
    desk.press(&[Key::Char('d'), Key::Char('x'), Key::Tab]);
    assert!(desk.model.dialog.is_some() && desk.files().exists("/memories/a.md").unwrap());
    desk.press(&[Key::Char('y')]);
    assert!(!desk.files().exists("/memories/a.md").unwrap());
    assert!(desk.screen().contains("Deleted /memories/a.md. V and r bring it back until "));
    assert_eq!(desk.model.current_path().unwrap().as_str(), "/memories/b.md");
    // And back.
    desk.press(&[Key::Char('V'), Key::Char('r'), Key::Char('y')]);
    assert_eq!(desk.files().read("/memories/a.md").unwrap().as_str(), "a");
}

#[test]
fn versions_are_forgotten_only_after_the_word() {
    let mut desk = Desk::new(&[("/memories/a.md", "a")], (80, 24));
    desk.files().write("/memories/a.md", "b").unwrap();
    for typed in ["ye", "y", "no", "yess"] {
        desk.press(&[Key::Char('F')]);
        desk.type_in(typed);
        desk.press(&[Key::Enter]);
        assert!(desk.screen().contains("Nothing was changed."));
    }
    desk.press(&[Key::Char('F')]);
    desk.type_in("yes");
    desk.press(&[Key::Enter]);
    let screen = desk.screen();
    assert!(screen.contains("Forgot 2 versions."), "{screen}");
    assert_eq!(desk.files().read("/memories/a.md").unwrap().as_str(), "b");
}

#[test]
fn keys_that_are_typed_ahead_of_the_store_are_not_lost() {
    let files = [("/memories/a/b/x.md", "x"), ("/memories/a/b/y.md", "y"), ("/memories/c.md", "c")];
    let mut desk = Desk::new(&files, (80, 24));
    for key in [Key::Right, Key::Down, Key::Right, Key::Down, Key::Down, Key::Enter] {
        desk.send(Event::Key(key));
    }
    assert_eq!(desk.model.tree.selected_path().unwrap().as_str(), "/memories/a");
    desk.settle();
    assert_eq!(desk.model.tree.selected_path().unwrap().as_str(), "/memories/a/b/y.md");
    assert_eq!(desk.model.focus, Focus::Right);
    // Quitting waits for nothing.
    desk.press(&[Key::Tab, Key::Home, Key::Right]);
    desk.press(&[Key::Left, Key::Left]);
    for key in [Key::Right, Key::Down, Key::Char('q')] {
        desk.send(Event::Key(key));
    }
    assert!(desk.waiting.iter().any(|effect| matches!(effect, Effect::Quit)));
}

#[test]
fn letters_of_a_search_that_are_typed_ahead_are_text() {
    let mut desk = Desk::new(&[("/memories/a/quiet Lake.md", "x")], (80, 24));
    for key in [Key::Right, Key::Down, Key::Char('/'), Key::Char('q'), Key::Char('L')] {
        desk.send(Event::Key(key));
    }
    desk.settle();
    assert_eq!(desk.model.search.as_ref().unwrap().query.as_str(), "qL");
    assert_eq!(desk.outside, [""; 0]);
    // After the search they are what they were.
    desk.press(&[Key::Escape, Key::Left, Key::Left]);
    for key in [Key::Right, Key::Down, Key::Char('/'), Key::Escape, Key::Char('q')] {
        desk.send(Event::Key(key));
    }
    assert!(desk.waiting.iter().any(|effect| matches!(effect, Effect::Quit)));
}

/// After a change the first page of the versions is read again, and not every page.
#[test]
fn the_differences_of_one_version_never_stand_under_the_title_of_another() {
    let mut desk = Desk::new(&[("/memories/a.md", "0")], (80, 24));
    for number in 1..130 {
        desk.files().write("/memories/a.md", &format!("{number}")).unwrap();
    }
    desk.press(&[Key::Right, Key::Char('v'), Key::End, Key::End, Key::Enter]);
    let Right::Past(past) = &desk.model.right else { panic!("no versions") };
    assert!(past.selected > 100 && past.diff.is_some());
    desk.press(&[Key::Refresh]);
    let Right::Past(past) = &desk.model.right else { panic!("no versions") };
    assert!(past.selected == 0 && past.diff.is_none());
}

#[test]
fn a_paste_is_never_taken_for_commands() {
    let mut desk = Desk::new(&[("/memories/a.md", "a")], (80, 24));
    desk.send(Event::Paste(FileText::from("dyLq".to_owned())));
    desk.settle();
    assert!(desk.outside.is_empty() && desk.files().exists("/memories/a.md").unwrap());
    desk.press(&[Key::Char('/')]);
    desk.send(Event::Paste(FileText::from("d\ny\u{1b}".to_owned())));
    assert_eq!(desk.model.search.as_ref().unwrap().query.as_str(), "dy");
}

#[test]
fn a_change_of_another_program_appears_in_place() {
    let text: String = (1..=200)
        .flat_map(|line| ["line ".to_owned(), line.to_string(), "\n".to_owned()])
        .collect();
    let files = [("/memories/a/x.md", text.as_str()), ("/memories/b.md", "b")];
    let mut desk = Desk::new(&files, (80, 24));
    desk.press(&[Key::Right, Key::Right, Key::Tab, Key::PageDown, Key::PageDown]);
    let before = desk.screen();
    assert!(before.contains("line 41") && !before.contains("line 40"), "{before}");
    // As the key daemon would report it.
    desk.model.by_daemon = true;
    desk.files().write("/memories/a/new.md", "new").unwrap();
    desk.files().append("/memories/a/x.md", "the end\n").unwrap();
    desk.send(Event::Tick);
    desk.settle();
    let after = desk.screen();
    assert!(after.contains("new.md") && after.contains("201 lines"), "{after}");
    let first =
        |screen: &str| screen.lines().nth(3).unwrap().rsplit('\u{2502}').next().unwrap().to_owned();
    assert_eq!(first(&before), first(&after));
    assert_eq!(desk.model.current_path().unwrap().as_str(), "/memories/a/x.md");
    // The selected file is deleted.
    desk.files().remove("/memories/a/x.md").unwrap();
    desk.send(Event::Tick);
    desk.settle();
    assert_eq!(desk.model.current_path().unwrap().as_str(), "/memories/a/new.md");
    desk.files().remove("/memories/a").unwrap();
    desk.send(Event::Tick);
    desk.settle();
    assert_eq!(desk.model.current_path().unwrap().as_str(), "/memories/b.md");
}

#[test]
fn a_store_that_locks_itself_is_cleared_and_can_be_unlocked() {
    let secret = [("/memories/secret-name.md", "secret text\n")];
    let mut desk = Desk::new(&secret, (80, 24));
    desk.press(&[Key::Char('/')]);
    desk.type_in("secret");
    assert!(desk.screen().contains("secret text"));
    desk.send(Event::Reply(Box::new(Reply::Status(Err(Problem::Locked(
        "It was idle.".to_owned(),
    ))))));
    let screen = desk.screen();
    assert!(!screen.contains("secret") && screen.contains("It was idle."), "{screen}");
    assert!(desk.model.search.is_none() && matches!(desk.model.right, Right::Empty));
    desk.press(&[Key::Char('d'), Key::Char('y'), Key::Char('u')]);
    assert_eq!(desk.outside, ["unlock"]);
    assert!(desk.screen().contains("secret-name.md"));
    desk.send(Event::Idle);
    desk.settle();
    assert_eq!(desk.outside, ["unlock", "lock"]);
    desk.press(&[Key::Char('q')]);
    assert_eq!(desk.outside, ["unlock", "lock", "quit"]);
}

#[test]
fn an_error_is_shown_with_its_advice() {
    let mut desk = Desk::new(&[("/memories/a.md", "a")], (80, 24));
    let problem = crate::jobs::problem("/memories/a\u{1b}", FileError::AlreadyExists);
    desk.send(Event::Reply(Box::new(Reply::Done(Err(problem)))));
    assert!(matches!(desk.model.dialog, Some(Dialog::Message(..))));
    let screen = desk.screen();
    assert!(
        screen.contains("There is already a file or folder at /memories/a\\u{1b}."),
        "{screen}"
    );
}

#[test]
fn a_hit_is_opened_in_the_tree_wherever_it_is() {
    let mut files = many(2_600);
    files.push(("/memories/log/deep/er/here.md".to_owned(), "one\ntwo\nthe quokka\n".to_owned()));
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut desk = Desk::new(&files, (80, 24));
    for (query, found) in
        [("quokka", "/memories/log/deep/er/here.md"), ("02222", "/memories/log/02222.md")]
    {
        desk.press(&[Key::Char('/')]);
        desk.type_in(query);
        desk.press(&[Key::Enter]);
        assert_eq!(desk.model.tree.selected_path().unwrap().as_str(), found);
        assert_eq!(desk.model.focus, Focus::Right);
        let screen = desk.screen();
        assert!(screen.contains(found.rsplit('/').next().unwrap()), "{screen}");
    }
}
