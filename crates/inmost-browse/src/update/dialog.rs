//! Keys in a dialog.

use super::super::event::{Effect, Job};
use super::super::key::Key;
use super::super::model::{Action, Dialog, Model};

/// Handles a key.
pub(super) fn key(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    let Some(dialog) = model.dialog.take() else { return };
    model.dialog = match dialog {
        Dialog::Help(top) => match key {
            Key::Down | Key::Char('j') => Some(Dialog::Help(top.saturating_add(1).min(LONGEST))),
            Key::Up | Key::Char('k') => Some(Dialog::Help(top.saturating_sub(1))),
            _ => None,
        },
        Dialog::Message(..) => None,
        Dialog::Ask { question, detail, action } => match key {
            Key::Char('y' | 'Y') => run(model, action, effects),
            // Enter is no, like every key that is easily pressed by mistake.
            Key::Char('n' | 'N' | 'q') | Key::Escape | Key::Enter => cancelled(model),
            _ => Some(Dialog::Ask { question, detail, action }),
        },
        Dialog::Confirm { question, detail, mut typed, action } => match key {
            Key::Enter if typed == "yes" => run(model, action, effects),
            Key::Enter | Key::Escape => cancelled(model),
            key => {
                match key {
                    Key::Char(letter) if typed.len() < WORD => typed.push(letter),
                    Key::Backspace => drop(typed.pop()),
                    _ => {}
                }
                Some(Dialog::Confirm { question, detail, typed, action })
            }
        },
    };
}

fn run(model: &mut Model, action: Action, effects: &mut Vec<Effect>) -> Option<Dialog> {
    let job = match action {
        Action::Remove(path) => Job::Remove(path),
        Action::Forget(path) => Job::Forget(path),
        Action::Restore(number) => Job::Restore(number),
    };
    model.note = Some("Working...".to_owned());
    model.ask(job, effects);
    None
}

fn cancelled(model: &mut Model) -> Option<Dialog> {
    model.note = Some("Nothing was changed.".to_owned());
    None
}

/// Bytes of the word that is typed to confirm.
const WORD: usize = 16;

/// More rows than the help has.
const LONGEST: u16 = 60;
