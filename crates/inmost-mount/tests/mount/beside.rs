//! Random operations on a mount and on a plain folder, in lock step: every result, every error and every text is the same.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use crate::mounted::mounted;

/// A small generator of numbers with a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn path(&mut self) -> String {
        const NAMES: [&str; 7] = ["a", "b.md", "c", "d~", "e.tmp.1", "f.lock", "g"];
        let depth = 1 + self.below(3);
        let names: Vec<&str> =
            (0..depth).map(|_| NAMES[usize::try_from(self.below(7)).unwrap()]).collect();
        names.join("/")
    }

    fn text(&mut self) -> String {
        let length = [0, 1, 10, 5_000][usize::try_from(self.below(4)).unwrap()];
        (0..length).map(|_| char::from(b'a' + u8::try_from(self.below(26)).unwrap())).collect()
    }
}

/// One operation; files that stay open have a number.
#[derive(Debug)]
enum Operation {
    Write(String, String),
    Append(String, String),
    Open(u64, String),
    WriteAt(u64, u64, String),
    Sync(u64),
    SetLength(u64, u64),
    Close(u64),
    Read(String),
    Remove(String),
    RemoveFolder(String),
    MakeFolder(String),
    Rename(String, String),
}

impl Operation {
    fn new(random: &mut Random) -> Self {
        let slot = random.below(4);
        match random.below(16) {
            0 | 1 => Self::Write(random.path(), random.text()),
            2 => Self::Append(random.path(), random.text()),
            3 => Self::Open(slot, random.path()),
            4 | 5 => Self::WriteAt(slot, random.below(6_000), random.text()),
            6 => Self::Sync(slot),
            7 => Self::SetLength(slot, random.below(6_000)),
            8 => Self::Close(slot),
            9 => Self::Read(random.path()),
            10 => Self::Remove(random.path()),
            11 => Self::RemoveFolder(random.path()),
            12 | 13 => Self::MakeFolder(random.path()),
            _ => Self::Rename(random.path(), random.path()),
        }
    }

    /// What the system answers.
    fn run(&self, root: &Path, open: &mut BTreeMap<u64, File>) -> Result<Vec<u8>, Option<i32>> {
        let unit = |result: io::Result<()>| result.map(|()| Vec::new());
        let result = match self {
            Self::Write(path, text) => unit(fs::write(root.join(path), text)),
            Self::Append(path, text) => unit(
                OpenOptions::new()
                    .append(true)
                    .create(true)
                    .open(root.join(path))
                    .and_then(|mut file| file.write_all(text.as_bytes())),
            ),
            Self::Open(slot, path) => {
                let file = OpenOptions::new().read(true).write(true).open(root.join(path));
                unit(file.map(|file| drop(open.insert(*slot, file))))
            }
            Self::WriteAt(slot, at, text) => {
                let Some(file) = open.get(slot) else { return Ok(Vec::new()) };
                unit(file.write_all_at(text.as_bytes(), *at)).and_then(|_| whole(file))
            }
            Self::Sync(slot) => unit(open.get(slot).map_or(Ok(()), File::sync_all)),
            Self::SetLength(slot, length) => {
                let Some(file) = open.get(slot) else { return Ok(Vec::new()) };
                unit(file.set_len(*length)).and_then(|_| whole(file))
            }
            Self::Close(slot) => {
                open.remove(slot);
                Ok(Vec::new())
            }
            Self::Read(path) => fs::read(root.join(path)),
            Self::Remove(path) => unit(fs::remove_file(root.join(path))),
            Self::RemoveFolder(path) => unit(fs::remove_dir(root.join(path))),
            Self::MakeFolder(path) => unit(fs::create_dir(root.join(path))),
            Self::Rename(old, new) => unit(fs::rename(root.join(old), root.join(new))),
        };
        result.map_err(|error| error.raw_os_error())
    }

    /// A scratch folder cannot get a lasting name, nor the other way round; and paths have a limit.
    fn is_different(&self, root: &Path) -> bool {
        let is_scratch =
            |path: &str| path.split('/').any(|name| ["d~", "e.tmp.1", "f.lock"].contains(&name));
        match self {
            Self::Rename(old, new) if root.join(old).is_dir() => {
                let deep = new.split('/').count() + depth(&root.join(old));
                is_scratch(old) != is_scratch(new) || deep > DEEPEST
            }
            _ => false,
        }
    }
}

/// Names of a path in a mount of `/memories`.
const DEEPEST: usize = 19;

/// How many names are below a folder, in the longest path.
fn depth(folder: &Path) -> usize {
    let below = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    below.map(|path| 1 + if path.is_dir() { depth(&path) } else { 0 }).max().unwrap_or_default()
}

fn whole(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(file.metadata()?.len()).unwrap()];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// Every path with its text.
fn tree(root: &Path, at: &Path, into: &mut BTreeMap<String, Option<Vec<u8>>>) {
    let entries = fs::read_dir(at);
    for entry in entries.unwrap_or_else(|error| panic!("{}: {error}", at.display())) {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            into.insert(name, None);
            tree(root, &path, into);
        } else {
            into.insert(name, Some(fs::read(&path).unwrap()));
        }
    }
}

#[test]
fn a_mount_answers_as_a_plain_folder_does() {
    let operations = std::env::var("INMOST_MOUNT_OPERATIONS").ok();
    let operations = operations.map_or(4_000, |number| number.parse().unwrap());
    let Some(mount) = mounted() else { return };
    let plain = tempfile::tempdir().unwrap();
    let (mut own, mut theirs) = (BTreeMap::new(), BTreeMap::new());
    let seed = std::env::var("INMOST_MOUNT_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let mut random = Random(seed.unwrap_or(0x0123_4567_89ab_cdef));
    let begun = Instant::now();
    for step in 0..operations {
        if step > 0 && step % 50_000 == 0 {
            println!("{step} of {operations} operations after {} s", begun.elapsed().as_secs());
        }
        let operation = Operation::new(&mut random);
        if operation.is_different(plain.path()) {
            continue;
        }
        if std::env::var_os("INMOST_MOUNT_TRACE").is_some() {
            println!("{step}: {operation:?}");
        }
        let expected = operation.run(plain.path(), &mut theirs);
        let found = operation.run(&mount.at(""), &mut own);
        assert_eq!(found, expected, "step {step}: {operation:?}");
        if step % 50 == 0 {
            let (mut found, mut expected) = (BTreeMap::new(), BTreeMap::new());
            tree(plain.path(), plain.path(), &mut expected);
            tree(&mount.at(""), &mount.at(""), &mut found);
            assert_eq!(found, expected, "step {step}");
        }
    }
    drop((own, theirs));
    // What lasts is in the store.
    let mut expected = BTreeMap::new();
    tree(plain.path(), plain.path(), &mut expected);
    let session = mount.session.clone();
    assert_eq!(mount.unmount(), 0);
    for (path, text) in expected {
        let is_scratch = path.split('/').any(|name| ["d~", "e.tmp.1", "f.lock"].contains(&name));
        let Some(text) = text.filter(|_| !is_scratch) else { continue };
        let stored = session.files().read(&format!("/memories/{path}")).unwrap();
        assert_eq!(stored.as_str().as_bytes(), text, "{path}");
    }
}
