//! What people and agents do to the files of a store.

use std::collections::BTreeSet;

use super::World;

impl World {
    pub(super) fn line(&mut self) -> String {
        self.lines += 1;
        let line = format!("L{}", self.lines);
        self.created.insert(line.clone());
        line
    }

    pub(super) fn create(&mut self, device: usize, path: &str, lines: &[String]) {
        let store = &self.nodes[device].store;
        let version = store.next();
        let text = text_of(lines);
        store.files.borrow_mut().insert(version, (path.to_owned(), text, version));
    }

    /// What people and agents do.
    pub(in crate::tests) fn act(&mut self, device: usize) {
        let kind = *self.rng.of(&[
            "create", "same", "edit", "edit", "edit", "append", "append", "rename", "delete",
            "folder", "swap", "replace",
        ]);
        let numbers: Vec<u64> = self.nodes[device].store.files.borrow().keys().copied().collect();
        let path = *self.rng.of(&["x", "y", "a/x", "a/y", "b/x", "a", "x (2)", "d.json"]);
        if matches!(kind, "create" | "same") {
            if self.nodes[device].store.is_free(path, &BTreeSet::new()) {
                let count = 1 + self.rng.below(3);
                let lines = match kind {
                    "same" => vec!["same".to_owned()],
                    _ => (0..count).map(|_| self.line()).collect(),
                };
                self.create(device, path, &lines);
            }
            return;
        }
        if numbers.is_empty() {
            return;
        }
        let number = *self.rng.of(&numbers);
        let (old_path, text, _) = self.nodes[device].store.files.borrow()[&number].clone();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        match kind {
            "edit" | "append" => {
                let at = self.rng.below(lines.len().max(1));
                if kind == "append" || lines.is_empty() {
                    lines.push(self.line());
                } else {
                    match self.rng.below(3) {
                        0 => {
                            let line = self.line();
                            lines.insert(at, line);
                        }
                        1 => {
                            self.removed.insert(lines.remove(at));
                        }
                        _ => {
                            let line = self.line();
                            self.removed.insert(std::mem::replace(&mut lines[at], line));
                        }
                    }
                }
                self.put(device, number, &old_path, &lines);
            }
            "rename" => {
                let store = &self.nodes[device].store;
                if store.is_free(path, &BTreeSet::from([number])) {
                    self.put(device, number, path, &lines);
                }
            }
            "delete" => {
                self.removed.extend(lines);
                let store = &self.nodes[device].store;
                store.files.borrow_mut().remove(&number);
                store.next();
            }
            "replace" => {
                let line = self.line();
                lines.push(line);
                self.nodes[device].store.files.borrow_mut().remove(&number);
                self.create(device, &old_path, &lines);
            }
            "folder" => self.move_folder(device),
            _ => {
                let other = *self.rng.of(&numbers);
                if other != number {
                    let store = &self.nodes[device].store;
                    let (first, second) = (store.next(), store.next());
                    let mut files = store.files.borrow_mut();
                    let other_path = files[&other].0.clone();
                    for (number, path, version) in
                        [(number, other_path, first), (other, old_path, second)]
                    {
                        if let Some(file) = files.get_mut(&number) {
                            (file.0, file.2) = (path, version);
                        }
                    }
                }
            }
        }
    }

    fn put(&self, device: usize, number: u64, path: &str, lines: &[String]) {
        let store = &self.nodes[device].store;
        let version = store.next();
        let text = text_of(lines);
        store.files.borrow_mut().insert(number, (path.to_owned(), text, version));
    }

    /// One entry in the history: no version of a file below moves.
    fn move_folder(&mut self, device: usize) {
        let (from, to) = *self.rng.of(&[("a", "b"), ("b", "a"), ("a", "c"), ("c", "b")]);
        let store = &self.nodes[device].store;
        let moved: BTreeSet<u64> = {
            let files = store.files.borrow();
            let is_below = |path: &str| path.starts_with(&format!("{from}/"));
            files.iter().filter(|(_, file)| is_below(&file.0)).map(|(number, _)| *number).collect()
        };
        let new = |path: &str| path.replacen(from, to, 1);
        let is_free = moved.iter().all(|number| {
            let path = new(&store.files.borrow()[number].0);
            store.is_free(&path, &moved)
        });
        if is_free {
            store.next();
            for number in &moved {
                if let Some(file) = store.files.borrow_mut().get_mut(number) {
                    file.0 = new(&file.0);
                }
            }
        }
    }
}

fn text_of(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |text, line| text + line + "\n")
}
