//! F: the files that a set of heads shows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::chains::{Chains, Dot, Vector};
use crate::merge::merge;
use crate::names::{beside, day, folders, hex, is_structured};

/// The id of a file: it stays when the file is renamed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FileId(pub [u8; 16]);

/// The text of a file, wiped when the last holder drops it.
pub type Text = Arc<Zeroizing<String>>;

/// A text that later texts may come from.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Base {
    /// The states that were merged into the text.
    pub vector: Vector,
    /// The text.
    pub text: Text,
}

/// A text that was given to a file, and that no known state replaces.
#[derive(Clone, PartialEq, Eq)]
pub struct TextHead {
    /// The object that carries it.
    pub dot: Dot,
    /// The states of the text that it replaces.
    pub over: Vector,
    /// Lamport time: greater than that of every state its device knew.
    pub lamport: u64,
    /// The text.
    pub text: Text,
    /// The path below `/memories/` that its device showed, such as `notes/today.md`.
    pub path: String,
    /// The name of its device.
    pub label: String,
    /// The time of its device, in milliseconds since 1970.
    pub time: u64,
    /// Earlier texts, for merging.
    pub bases: Vec<Base>,
}

impl TextHead {
    /// Its text, and the vector of its state.
    pub(crate) fn base(&self, chains: &Chains) -> Base {
        let vector = chains.join([&self.over, &Vector::from_iter([self.dot])]);
        Base { vector, text: self.text.clone() }
    }
}

/// A path that was given to a file, and that no known state replaces.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathHead {
    /// The object that carries it.
    pub dot: Dot,
    /// The states of the path that it replaces.
    pub over: Vector,
    /// Lamport time.
    pub lamport: u64,
    /// The path below `/memories/`.
    pub path: String,
}

/// What is known of a file.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct FileHeads {
    /// The heads of its text. A file without one is not shown.
    pub texts: Vec<TextHead>,
    /// The heads of its path.
    pub paths: Vec<PathHead>,
    /// Base texts within this vector were forgotten and are not used.
    pub forgotten: Vector,
}

impl FileHeads {
    /// Whether a base text is not used any more.
    pub(crate) fn has_forgotten(&self, chains: &Chains, base: &Base) -> bool {
        chains.is_within(&base.vector, &self.forgotten)
    }

    /// Drops the base texts that are not used any more.
    pub(crate) fn drop_forgotten(&mut self, chains: &Chains) {
        for head in &mut self.texts {
            head.bases.retain(|base| !chains.is_within(&base.vector, &self.forgotten));
        }
    }
}

/// What is known of all files.
pub type Heads = BTreeMap<FileId, FileHeads>;

/// A file that is shown.
#[derive(Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// The path below `/memories/` that it is shown at.
    pub path: String,
    /// The path that it would have if it were alone.
    pub wanted: String,
    /// Its text.
    pub text: Text,
    /// The states that are merged in the text. Empty for a conflict copy.
    pub merged: Vector,
    /// For a conflict copy, the file that it is a copy of.
    pub copy_of: Option<FileId>,
}

/// The files that these heads show, by id. A text that cannot be merged is shown as a file of its own, a conflict copy. Does no I/O
/// and depends on nothing but its arguments.
#[must_use]
pub fn tree(chains: &Chains, heads: &Heads) -> BTreeMap<FileId, TreeFile> {
    let mut files = BTreeMap::new();
    let mut all_copies = Vec::new();
    for (id, file) in heads {
        let Some((shown, copies)) = fold(chains, file) else { continue };
        files.insert(*id, shown);
        all_copies.extend(copies.into_iter().map(|copy| (*id, copy)));
    }
    for (id, head) in all_copies {
        let copy = copy_id(id, &head.dot);
        // A copy that somebody touched is a file with heads. This one is it, so it is not shown again.
        files.entry(copy).or_insert_with(|| {
            let wanted = copy_path(head);
            let (path, text) = (wanted.clone(), head.text.clone());
            TreeFile { path, wanted, text, merged: Vector::default(), copy_of: Some(id) }
        });
    }
    arrange(&mut files);
    files
}

/// The id of the conflict copy of a state: 16 bytes of the SHA-256 of `inmost-sync copy`, the id of the file, and the log, number
/// (8 bytes, the greatest first) and tag of the state.
pub(crate) fn copy_id(file: FileId, dot: &Dot) -> FileId {
    let mut hash = Sha256::new();
    for part in
        [&b"inmost-sync copy"[..], &file.0, &dot.log.0, &dot.number.to_be_bytes(), &dot.tag.0]
    {
        hash.update(part);
    }
    let digest: [u8; 32] = hash.finalize().into();
    let mut id = [0; 16];
    id.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    FileId(id)
}

/// The path that the conflict copy of a state wants.
pub(crate) fn copy_path(head: &TextHead) -> String {
    beside(&head.path, &format!(" (from {} {})", head.label, day(head.time)))
}

/// The text of a file from its heads, and the heads to show as copies. `None` without a head.
fn fold<'h>(chains: &Chains, file: &'h FileHeads) -> Option<(TreeFile, Vec<&'h TextHead>)> {
    let mut heads: Vec<&TextHead> = file.texts.iter().collect();
    heads.sort_by_key(|head| (head.lamport, head.dot.tag));
    let last = *heads.last()?;
    let path_head = file.paths.iter().max_by_key(|head| (head.lamport, head.dot.tag));
    let wanted = path_head.map_or(&last.path, |head| &head.path);
    let may_merge = !is_structured(wanted);

    let mut groups = groups(chains, file, &heads);
    let mut shown = groups.pop()?;
    let mut copies = Vec::new();
    while let Some(group) = groups.pop() {
        let merged = if group.text == shown.text {
            Some(shown.text.clone())
        } else {
            base(chains, &shown, &group)
                .filter(|_| may_merge)
                .and_then(|base| merge(&base, &group.text, &shown.text))
                .map(Arc::new)
        };
        match merged {
            Some(text) => {
                shown.text = text;
                shown.vector = chains.join([&shown.vector, &group.vector]);
                shown.bases.extend(group.bases);
            }
            None => copies.push(group.last),
        }
    }
    copies.retain(|copy| copy.text != shown.text);
    let file = TreeFile {
        path: wanted.clone(),
        wanted: wanted.clone(),
        text: shown.text,
        merged: shown.vector,
        copy_of: None,
    };
    Some((file, copies))
}

/// Heads of equal text, which count as one.
struct Group<'h> {
    last: &'h TextHead,
    text: Text,
    vector: Vector,
    /// The base texts of the heads, and their own texts.
    bases: Vec<Base>,
}

/// Groups heads that are in order; the groups are in the order of their last heads.
fn groups<'h>(chains: &Chains, file: &FileHeads, heads: &[&'h TextHead]) -> Vec<Group<'h>> {
    let mut groups: Vec<Group<'h>> = Vec::new();
    for head in heads {
        let own = head.base(chains);
        let is_known = |base: &&Base| !file.has_forgotten(chains, base);
        let mut bases: Vec<Base> = head.bases.iter().filter(is_known).cloned().collect();
        let mut vector = own.vector.clone();
        bases.push(own);
        if let Some(at) = groups.iter().position(|group| group.text == head.text) {
            let mut before = groups.remove(at);
            vector = chains.join([&before.vector, &vector]);
            before.bases.append(&mut bases);
            bases = before.bases;
        }
        groups.push(Group { last: head, text: head.text.clone(), vector, bases });
    }
    groups
}

/// The text that both come from: the newest that both vectors include, or else a text that both carry. `None` if there is no such
/// text, or several: to take one of them could repeat lines.
fn base(chains: &Chains, one: &Group, other: &Group) -> Option<Text> {
    let is_common = |base: &&Base| {
        chains.is_within(&base.vector, &one.vector) && chains.is_within(&base.vector, &other.vector)
    };
    let mut common: Vec<&Base> = one.bases.iter().chain(&other.bases).filter(is_common).collect();
    if common.is_empty() {
        let is_carried = |base: &&Base| one.bases.iter().any(|its| its.text == base.text);
        common = other.bases.iter().filter(is_carried).collect();
    }
    let is_newest = |base: &&&Base| {
        let is_older = |than: &&Base| {
            than.vector != base.vector && chains.is_within(&base.vector, &than.vector)
        };
        !common.iter().any(is_older)
    };
    let mut newest = common.iter().filter(is_newest).map(|base| &base.text);
    let text = newest.next()?;
    newest.all(|other| other == text).then(|| text.clone())
}

/// Gives each file a path of its own. The smallest id that wants a path has it, unless it is a folder of another wanted path.
fn arrange(files: &mut BTreeMap<FileId, TreeFile>) {
    let wanted: BTreeSet<String> = files.values().map(|file| file.wanted.clone()).collect();
    let above: BTreeSet<String> =
        wanted.iter().flat_map(|path| folders(path)).map(str::to_owned).collect();
    let mut taken = BTreeSet::new();
    let mut losers = Vec::new();
    for (id, file) in files.iter_mut() {
        if above.contains(&file.wanted) || !taken.insert(file.wanted.clone()) {
            losers.push((*id, file));
        }
    }
    for (id, file) in losers {
        let is_free = |path: &String| {
            !wanted.contains(path) && !taken.contains(path) && !above.contains(path)
        };
        let path = suffixes(id).map(|suffix| beside(&file.wanted, &suffix)).find(is_free);
        file.path = path.unwrap_or_default(); // the suffixes never end
        taken.insert(file.path.clone());
    }
}

/// ` (4 digits of the id)`, 8, 12, then all 12 and a counter.
fn suffixes(id: FileId) -> impl Iterator<Item = String> {
    let digits = hex(&id.0);
    let prefix = move |length: usize| digits.get(..length).unwrap_or_default().to_owned();
    let most = prefix(12);
    let short = [4, 8, 12].map(|length| format!(" ({})", prefix(length)));
    short.into_iter().chain((2_u64..).map(move |count| format!(" ({most} {count})")))
}
