//! sled as inmost uses it, without encryption, tree or tool. It shows the cost of the engine alone.

use std::collections::HashMap;
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::Path;
use std::sync::Mutex;

use crate::peer::{CallResult, Peer};
use crate::random::Random;
use crate::trace::Call;

/// A database with random values of the lengths of sealed records.
pub struct BareSled {
    db: sled::Db,
    log: File,
    hasher: BuildHasherDefault<DefaultHasher>,
    state: Mutex<State>,
}

struct State {
    random: Random,
    /// The length of the record of each file, in bytes.
    lengths: HashMap<String, usize>,
}

impl BareSled {
    /// Creates an empty database.
    ///
    /// # Errors
    /// The errors of sled.
    pub fn begin(path: &Path) -> Result<Self, Box<dyn Error>> {
        // The same configuration as the library's engine.
        let config = sled::Config::new().path(path).cache_capacity(32 << 20);
        let db = config.segment_size(2 << 20).flush_every_ms(None).open()?;
        let log = OpenOptions::new().write(true).open(path.join("db"))?;
        let state = State { random: Random::new(3), lengths: HashMap::new() };
        Ok(Self { db, log, hasher: BuildHasherDefault::new(), state: Mutex::new(state) })
    }

    /// Makes one change: writes and syncs one batch of the records that an edit of a small file two folders
    /// down rewrites.
    ///
    /// # Errors
    /// The errors of sled.
    pub fn change(&self, path: &str, file: usize) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut batch = sled::Batch::default();
        {
            let mut state = self.state.lock().expect("no panic");
            // The root, the top folder, the folder, one of its nodes, and the file. A path with fewer folders
            // repeats its own.
            let folders: Vec<&str> = path.match_indices('/').map(|(at, _)| &path[..at]).collect();
            for (index, length) in [297, 2_089, 1_065, 2_089].into_iter().enumerate() {
                let folder = folders[index.min(folders.len() - 1)];
                batch.insert(&self.key(folder, index), state.random.bytes(length));
            }
            let length = class(file);
            batch.insert(&self.key(path, 4), state.random.bytes(length));
            state.lengths.insert(path.to_owned(), file);
        }
        self.db.apply_batch(batch)?;
        self.db.flush()?;
        Ok(self.log.sync_data()?)
    }

    /// Returns 32 evenly distributed bytes, like the addresses of records.
    fn key(&self, path: &str, index: usize) -> [u8; 32] {
        let mut random = Random::new(self.hasher.hash_one((path, index)));
        random.bytes(32).try_into().expect("32 bytes")
    }

    fn length(&self, path: &str) -> usize {
        self.state.lock().expect("no panic").lengths.get(path).copied().unwrap_or(1_000)
    }
}

impl Peer for BareSled {
    fn call(&self, json: &str) -> CallResult {
        match serde_json::from_str(json)? {
            Call::View { path, .. } => {
                self.db.get(self.key(&path, 4))?;
            }
            Call::Create { path, file_text } => self.change(&path, file_text.len())?,
            Call::StrReplace { path, .. } | Call::Insert { path, .. } => {
                self.change(&path, self.length(&path))?;
            }
            Call::Delete { path } => self.change(&path, 0)?,
            Call::Rename { old_path, new_path } => {
                self.change(&new_path, self.length(&old_path))?;
            }
        }
        Ok(String::new())
    }

    fn text(&self, _: &str) -> Option<CallResult> {
        None
    }
}

/// Returns the length of the sealed record of a file with this many bytes. A longer file is a rope, and a
/// change rewrites one chunk of it.
fn class(bytes: usize) -> usize {
    let classes = [256, 512, 1_024, 2_048].into_iter();
    classes.filter(|class| bytes + 60 <= *class).min().unwrap_or(4_096) + 41
}
