//! How files and text are spread over folders and ages.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::display;
use crate::memory_path::ROOT;

/// The files by the folder below `/memories` that they are in, and by the time since their last change.
#[derive(Default)]
pub(super) struct Shares {
    folders: BTreeMap<String, Share>,
    ages: [Share; AGES.len() + 1],
}

#[derive(Clone, Copy, Default, Serialize)]
struct Share {
    files: u64,
    bytes: u64,
}

impl Share {
    fn add(&mut self, other: Self) {
        self.files = self.files.saturating_add(other.files);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    fn line(self, name: &str) -> String {
        let size = display::size(self.bytes);
        let files = display::count(self.files, "file", "files");
        format!("  {size:>6}  {files:>12}  {name}\n")
    }
}

#[derive(Serialize)]
pub(super) struct Folder {
    path: String,
    #[serde(flatten)]
    share: Share,
}

#[derive(Serialize)]
pub(super) struct Age {
    /// `None` for the oldest files.
    days_below: Option<u64>,
    #[serde(flatten)]
    share: Share,
}

impl Shares {
    pub(super) fn add(&mut self, path: &str, bytes: u64, age: Duration) {
        let below = path.strip_prefix(ROOT).unwrap_or(path).trim_start_matches('/');
        let share = Share { files: 1, bytes };
        // Files that are in no folder have the empty name.
        let folder = below.split_once('/').map_or("", |(folder, _)| folder);
        if let Some(known) = self.folders.get_mut(folder) {
            known.add(share);
        } else {
            self.folders.insert(folder.to_owned(), share);
        }
        let days = age.as_secs() / 86_400;
        let index = AGES.iter().position(|(below, _)| days < *below).unwrap_or(AGES.len());
        if let Some(age) = self.ages.get_mut(index) {
            age.add(share);
        }
    }

    /// The folders, those with the most text first.
    fn sorted(&self) -> Vec<(&str, Share)> {
        let mut sorted: Vec<_> =
            self.folders.iter().map(|(name, share)| (name.as_str(), *share)).collect();
        sorted.sort_by_key(|(_, share)| std::cmp::Reverse(share.bytes));
        sorted
    }

    pub(super) fn folders(&self) -> Vec<Folder> {
        let path =
            |name: &str| if name.is_empty() { ROOT.to_owned() } else { format!("{ROOT}/{name}") };
        let folders = self.sorted().into_iter();
        folders.map(|(name, share)| Folder { path: path(name), share }).collect()
    }

    pub(super) fn ages(&self) -> Vec<Age> {
        let below = AGES.iter().map(|(days, _)| Some(*days)).chain([None]);
        below.zip(self.ages).map(|(days_below, share)| Age { days_below, share }).collect()
    }

    /// Lines for people; nothing without files.
    pub(super) fn as_text(&self) -> String {
        if self.folders.is_empty() {
            return String::new();
        }
        let mut text = "\nText by folder\n".to_owned();
        let sorted = self.sorted();
        for (name, share) in sorted.iter().take(SHOWN) {
            let path = display::path(name) + "/";
            text += &share.line(if name.is_empty() { "." } else { &path });
        }
        let mut others = Share::default();
        sorted.iter().skip(SHOWN).for_each(|(_, share)| others.add(*share));
        if others.files > 0 {
            let number = u64::try_from(sorted.len().saturating_sub(SHOWN)).unwrap_or(u64::MAX);
            text += &others.line(&display::count(number, "other", "others"));
        }
        text += "\nText by its last change\n";
        let names = AGES.iter().map(|(_, name)| *name).chain([OLDER]);
        names.zip(self.ages).for_each(|(name, share)| text += &share.line(name));
        text
    }
}

/// Ages by the number of days that they are below.
const AGES: [(u64, &str); 4] =
    [(1, "last day"), (7, "last week"), (30, "last 30 days"), (365, "last year")];
const OLDER: &str = "earlier";
/// Folders that are shown by themselves.
const SHOWN: usize = 10;

/// The age of a file; 0 if its time lies ahead of the clock.
pub(super) fn age(now: SystemTime, modified: SystemTime) -> Duration {
    now.duration_since(modified).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_counted_by_folder_and_age() {
        let mut shares = Shares::default();
        assert_eq!(shares.as_text(), "");
        let day = Duration::from_secs(86_400);
        shares.add("/memories/a/b/c", 3_000, Duration::ZERO);
        shares.add("/memories/a/d", 1_000, day);
        shares.add("/memories/top", 2_000, 29 * day);
        shares.add("/memories/\u{1b}/x", 500, 400 * day);
        let text = shares.as_text();
        for line in [
            "    3.9K       2 files  a/\n",
            "    500B        1 file  \\u{1b}/\n",
            "      0B       0 files  last year\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
        for folder in 0..20 {
            shares.add(&format!("/memories/more {folder}/x"), 10, day);
        }
        assert!(shares.as_text().contains("  13 others\n"), "{}", shares.as_text());
        assert_eq!(shares.folders().len(), 23);
    }
}
