//! Tests of the browser without a terminal: its screens, and keys that come in any order.

mod keys;
mod screens;

use std::collections::VecDeque;
use std::time::Duration;

use inmost::{HistorySettings, NewFile, Session};
use ratatui::backend::TestBackend;

use super::event::{Effect, Event, Reply};
use super::key::Key;
use super::model::Model;
use super::painter::Painter;
use super::searcher::Searcher;
use super::theme::Theme;
use super::{jobs, update};
use inmost_keyd::OpenStore;

/// The browser on a store in memory. Requests are done at once, or wait until they are asked for.
struct Desk {
    model: Model,
    store: OpenStore,
    painter: Painter<TestBackend>,
    searcher: Searcher,
    waiting: VecDeque<Effect>,
    /// The effects that need a terminal or end the browser.
    outside: Vec<&'static str>,
}

impl Desk {
    fn new(files: &[(&str, &str)], size: (u16, u16)) -> Self {
        let session = Session::in_memory().unwrap();
        session.history().set(HistorySettings::keep(Duration::from_secs(86_400))).unwrap();
        let author = session.acting_as("ada");
        let files: Vec<_> = files.iter().map(|(path, text)| NewFile::new(path, text)).collect();
        let written = author.files().write_many(&files).unwrap();
        assert!(written.iter().all(Result::is_ok));
        let store = OpenStore::Here(session.acting_as("night-agent").as_program());
        let backend = TestBackend::new(size.0, size.1);
        let painter = Painter::new(backend, Theme::new(false));
        let mut model = Model::new("garden.inmost".to_owned(), false, size);
        let waiting = update::start(&mut model).into();
        let (searcher, outside) = (Searcher::default(), Vec::new());
        let mut desk = Self { model, store, painter, searcher, waiting, outside };
        desk.settle();
        desk
    }

    fn send(&mut self, event: Event) {
        let effects = update::update(&mut self.model, event);
        self.waiting.extend(effects);
    }

    /// Presses keys, and waits for the store after each.
    fn press(&mut self, keys: &[Key]) {
        for key in keys {
            self.send(Event::Key(*key));
            self.settle();
        }
    }

    fn type_in(&mut self, text: &str) {
        for letter in text.chars() {
            self.press(&[Key::Char(letter)]);
        }
    }

    /// Does every request.
    fn settle(&mut self) {
        while !self.waiting.is_empty() {
            self.step();
        }
    }

    /// Does the oldest request.
    fn step(&mut self) {
        match self.waiting.pop_front() {
            None => {}
            Some(Effect::Ask(request)) => {
                let reply = jobs::run(&self.store, request.ticket, request.job);
                self.send(Event::Reply(Box::new(reply)));
            }
            Some(Effect::Search { ticket, query }) => {
                let mut found = Vec::new();
                if let Some(query) = query.filter(|query| !query.as_str().is_empty()) {
                    self.searcher.search(&self.store, query.as_str(), &mut |hits| {
                        found.extend(hits);
                        true
                    });
                }
                for hits in found {
                    self.send(Event::Reply(Box::new(Reply::Hits { ticket, hits })));
                }
            }
            Some(Effect::Edit(_)) => self.outside.push("edit"),
            Some(Effect::Lock) => self.outside.push("lock"),
            Some(Effect::Unlock) => {
                self.outside.push("unlock");
                self.send(Event::Unlocked(Ok(false)));
            }
            Some(Effect::Quit) => self.outside.push("quit"),
        }
    }

    /// The screen, as lines without trailing spaces.
    fn screen(&mut self) -> String {
        let (columns, rows) = self.model.size;
        self.painter.backend.resize(columns, rows);
        self.painter.paint(&self.model).unwrap();
        let buffer = self.painter.backend.buffer();
        let mut screen = String::new();
        for y in 0..rows {
            let line: String =
                (0..columns).map(|x| buffer.cell((x, y)).unwrap().symbol()).collect();
            screen.push_str(line.trim_end());
            screen.push('\n');
        }
        screen
    }

    fn files(&self) -> inmost::Files<'_> {
        self.store.files()
    }
}

/// Files of one folder, more than a window of it holds.
fn many(files: usize) -> Vec<(String, String)> {
    (0..files)
        .map(|number| (format!("/memories/log/{number:05}.md"), "a note\n".to_owned()))
        .collect()
}
