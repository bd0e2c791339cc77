//! A place in the tree that is reached page by page.

use inmost::FileText;

use super::{FolderId, Part, ROOT, Spot, Tree, Want};

/// Where the selection goes as soon as the pages on the way have come. Any key ends that.
pub(super) enum Goal {
    /// The first entry.
    Start,
    /// The last entry of `/memories`.
    End,
    /// A path. `asked` is the folder whose page with the next name was asked for.
    Path { path: FileText, asked: Option<FolderId> },
}

impl Tree {
    /// Selects a path, as soon as the folders on the way are open.
    pub(crate) fn reveal(&mut self, path: FileText) {
        self.goal = Some(Goal::Path { path, asked: None });
    }

    /// Goes as far towards the goal as possible, and returns the page that is needed next.
    pub(super) fn pursue(&mut self) -> Option<Want> {
        let want = match self.goal.take()? {
            Goal::Start => self.pursue_start(),
            Goal::End => self.pursue_end(),
            Goal::Path { path, asked } => self.pursue_path(path, asked),
        };
        want.map(|(folder, path, part)| Want { folder, path, part })
    }

    fn pursue_start(&mut self) -> Option<(FolderId, FileText, Part)> {
        let root = self.folders.get(&ROOT)?;
        if root.before.is_empty() {
            self.selected = (!root.entries.is_empty()).then_some(Spot { folder: ROOT, index: 0 });
            self.top = 0;
            return None;
        }
        self.goal = Some(Goal::Start);
        (!root.is_waiting()).then(|| (ROOT, root.path.clone(), Part::First))
    }

    fn pursue_end(&mut self) -> Option<(FolderId, FileText, Part)> {
        let root = self.folders.get(&ROOT)?;
        if let Some(index) = root.entries.len().checked_sub(1) {
            self.selected = Some(Spot { folder: ROOT, index });
        }
        root.next.as_ref()?;
        self.goal = Some(Goal::End);
        (!root.is_waiting()).then(|| (ROOT, root.path.clone(), root.after()))
    }

    fn pursue_path(
        &mut self,
        path: FileText,
        asked: Option<FolderId>,
    ) -> Option<(FolderId, FileText, Part)> {
        let mut id = ROOT;
        let mut names = path.as_str().strip_prefix("/memories/")?.split('/').peekable();
        while let Some(name) = names.next() {
            let folder = self.folders.get(&id)?;
            let found = folder.entries.iter().position(|entry| entry.name.as_str() == name);
            let Some(index) = found else {
                if folder.is_waiting() {
                    self.goal = Some(Goal::Path { path, asked });
                    return None;
                }
                if asked == Some(id) {
                    // It is not there any more.
                    return None;
                }
                let (place, name) = (folder.path.clone(), FileText::from(name.to_owned()));
                self.goal = Some(Goal::Path { path, asked: Some(id) });
                return Some((id, place, Part::With(name)));
            };
            let spot = Spot { folder: id, index };
            self.selected = Some(spot);
            if names.peek().is_some() {
                self.open_at(spot);
                id = self.entry(spot)?.child?;
            }
        }
        None
    }
}
