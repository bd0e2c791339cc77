//! What a power cut or a kill leaves of the disk.

use lab_worker::plan::Random;

use crate::content::{Content, PAGE, SECTOR};
use crate::disk::{Disk, Inode, What};
use crate::log::{Event, Number};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Every change survives.
    A,
    /// Only what was synced survives, and any prefix of the metadata.
    B,
    /// Each sector of a write survives or not: half of them, a tenth, or all but a tenth.
    C,
    /// The changes of each file survive all or not at all.
    F,
    /// The changes of each file survive up to some moment.
    P,
    /// As C, on a file system without ordered data: new blocks and lengths survive without their data, which reads as
    /// zeros. It is only made if LAB_KINDS has it.
    W,
    /// Everything survives a kill. The write that was going on may be cut off at the end of a page.
    Kill,
}

impl Kind {
    /// The kinds that LAB_KINDS names, with K for kills.
    pub fn of_environment() -> Vec<Self> {
        let letters = std::env::var("LAB_KINDS").unwrap_or_else(|_| "ABCFPK".into());
        let kind = |letter| match letter {
            'A' => Self::A,
            'B' => Self::B,
            'C' => Self::C,
            'F' => Self::F,
            'P' => Self::P,
            'W' => Self::W,
            'K' => Self::Kill,
            other => panic!("LAB_KINDS: {other} is not a kind"),
        };
        letters.chars().map(kind).collect()
    }
}

/// Files and folders (`None`), parents first.
pub type Tree = Vec<(String, Option<Content>)>;

pub struct Cut<'a> {
    pub disk: &'a Disk,
    pub log: &'a [u8],
    /// What would have happened next.
    pub next: Option<&'a Event>,
}

impl Cut<'_> {
    pub fn tree(&self, kind: Kind, random: &mut Random) -> Tree {
        let metadata = match kind {
            Kind::A | Kind::Kill => self.disk.issued,
            _ => self.choose_metadata(random),
        };
        let percent = [10, 50, 50, 90][random.below(4)];
        let names = self.disk.names_at(metadata);
        let mut tree = Tree::new();
        for (path, number) in names {
            let Some(inode) = self.disk.file(number) else {
                tree.push((path, None));
                continue;
            };
            let content = match kind {
                Kind::A => self.content(inode, metadata, &mut |_| true),
                Kind::B => self.content(inode, metadata, &mut |_| false),
                Kind::C => self.content(inode, metadata, &mut |_| random.below(100) < percent),
                Kind::W => {
                    self.content_in(inode, metadata, false, &mut |_| random.below(100) < percent)
                }
                Kind::F => {
                    let survives = random.below(2) == 0;
                    self.content(inode, metadata, &mut |_| survives)
                }
                Kind::P => {
                    let count = random.below(inode.pending.len() + 1);
                    let end = inode.pending.get(count).map_or(usize::MAX, |it| it.at);
                    self.content(inode, metadata, &mut |at| at < end)
                }
                Kind::Kill => self.killed(number, inode, random),
            };
            tree.push((path, Some(content)));
        }
        tree
    }

    /// What is committed, all, or something between.
    fn choose_metadata(&self, random: &mut Random) -> u64 {
        let more = self.disk.issued - self.disk.committed;
        self.disk.committed
            + match random.below(4) {
                0 => 0,
                1 => more,
                _ => random.below(more as usize + 1) as u64,
            }
    }

    fn killed(&self, number: Number, inode: &Inode, random: &mut Random) -> Content {
        let mut content = self.content(inode, self.disk.issued, &mut |_| true);
        if let Some(Event::Write { file, offset, bytes }) = self.next
            && *file == number
            && random.below(2) == 0
        {
            let end = offset + bytes.len() as u64;
            let pages = end.div_ceil(PAGE) - offset / PAGE;
            let page = offset / PAGE + random.below(pages as usize) as u64;
            let done = (page * PAGE).saturating_sub(*offset) as usize;
            content.write(*offset, &self.log[bytes.start..bytes.start + done]);
        }
        content
    }

    /// The content on a disk with ordered data.
    fn content(
        &self,
        inode: &Inode,
        metadata: u64,
        survives: &mut dyn FnMut(usize) -> bool,
    ) -> Content {
        self.content_in(inode, metadata, true, survives)
    }

    /// The content on the disk if this prefix of the metadata survives. `survives` is asked for each sector of a write in
    /// place, and for each page that gets a block, with the number of the event.
    fn content_in(
        &self,
        inode: &Inode,
        metadata: u64,
        is_ordered: bool,
        survives: &mut dyn FnMut(usize) -> bool,
    ) -> Content {
        let (mut live, mut disk) = (inode.stable.clone(), inode.stable.clone());
        // Pages from here on were given back, but the disk may not know that yet. What was written to them later needs
        // other blocks.
        let mut given_back = u64::MAX;
        for change in &inode.pending {
            let (offset, bytes, grown) = match &change.what {
                What::SetLength { length, metadata: number } => {
                    if *number <= metadata {
                        disk.set_length(*length);
                    } else if *length < live.length {
                        given_back = given_back.min(length.div_ceil(PAGE));
                    }
                    live.set_length(*length);
                    continue;
                }
                What::Write { offset, bytes, metadata, .. } => (*offset, bytes.clone(), *metadata),
            };
            let end = offset + bytes.len() as u64;
            live.write(offset, &self.log[bytes]);
            for page in offset / PAGE..end.div_ceil(PAGE).min(given_back) {
                let grows = live.end_in(page) > disk.length;
                let commits = !disk.has_page(page) || (grows && grown.is_none());
                if commits && change.before > metadata {
                    continue;
                }
                if commits && is_ordered {
                    // Ordered mode: the commit that gives the block, or the length, comes after the data.
                    if survives(change.at) {
                        disk.take_page(page, &live);
                    }
                    continue;
                }
                let first = offset.max(page * PAGE) / SECTOR;
                let last = end.min((page + 1) * PAGE).div_ceil(SECTOR);
                for sector in first..last {
                    if survives(change.at) {
                        disk.take_sector(sector, &live);
                    }
                }
                if grows && grown.map_or_else(|| survives(change.at), |number| number <= metadata) {
                    disk.length = live.end_in(page);
                }
            }
        }
        disk
    }
}
