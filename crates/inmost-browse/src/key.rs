//! The keys of a keyboard, as far as the browser uses them.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Key {
    Char(char),
    Control(char),
    Enter,
    Escape,
    Tab,
    Backspace,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Refresh,
    Help,
}

impl Key {
    /// The key of an event of the terminal; `None` for a key that the browser does not use.
    pub(super) fn of(event: &KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release || event.modifiers.contains(KeyModifiers::ALT) {
            return None;
        }
        Some(match event.code {
            KeyCode::Char(letter) if event.modifiers.contains(KeyModifiers::CONTROL) => {
                Self::Control(letter.to_ascii_lowercase())
            }
            KeyCode::Char(letter) => Self::Char(letter),
            KeyCode::Enter => Self::Enter,
            KeyCode::Esc => Self::Escape,
            KeyCode::Tab | KeyCode::BackTab => Self::Tab,
            KeyCode::Backspace => Self::Backspace,
            KeyCode::Up => Self::Up,
            KeyCode::Down => Self::Down,
            KeyCode::Left => Self::Left,
            KeyCode::Right => Self::Right,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            KeyCode::Home => Self::Home,
            KeyCode::End => Self::End,
            KeyCode::F(1) => Self::Help,
            KeyCode::F(5) => Self::Refresh,
            _ => return None,
        })
    }
}

/// A movement through a list or a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Motion {
    Up,
    Down,
    PageUp,
    PageDown,
    Start,
    End,
}

impl Motion {
    /// The movement of a key, outside of a field in which letters are typed.
    pub(super) fn of(key: Key) -> Option<Self> {
        Some(match key {
            Key::Char('k') => Self::Up,
            Key::Char('j') => Self::Down,
            Key::Char('g') => Self::Start,
            Key::Char('G') => Self::End,
            Key::Char(' ') => Self::PageDown,
            Key::Char('b') => Self::PageUp,
            key => return Self::of_arrow(key),
        })
    }

    /// The movement of a key that types no letter.
    pub(super) fn of_arrow(key: Key) -> Option<Self> {
        Some(match key {
            Key::Up => Self::Up,
            Key::Down => Self::Down,
            Key::PageUp => Self::PageUp,
            Key::PageDown => Self::PageDown,
            Key::Home => Self::Start,
            Key::End => Self::End,
            _ => return None,
        })
    }

    /// The place after this movement in a list of `length` with a page of `page`.
    pub(super) fn within(self, at: usize, length: usize, page: usize) -> usize {
        let last = length.saturating_sub(1);
        match self {
            Self::Up => at.saturating_sub(1),
            Self::Down => at.saturating_add(1).min(last),
            Self::PageUp => at.saturating_sub(page.max(1)),
            Self::PageDown => at.saturating_add(page.max(1)).min(last),
            Self::Start => 0,
            Self::End => last,
        }
    }
}
