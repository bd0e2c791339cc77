//! Texts in objects and in the state: each once, named by its index.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::chains::{Dot, Vector};
use crate::tree::{Base, FileHeads, FileId, PathHead, Text, TextHead};

/// The texts of a message.
#[derive(Default)]
pub(crate) struct Pool {
    texts: Vec<Text>,
    /// Indices by the SHA-256 of the text, while texts are put in.
    indices: HashMap<[u8; 32], u32>,
    /// The bytes of the texts that were put in.
    len: usize,
}

/// A base text whose text is in a pool.
#[derive(Serialize, Deserialize)]
pub(crate) struct PooledBase {
    pub(crate) vector: Vector,
    pub(crate) text: u32,
}

/// What is known of a file, with its texts in a pool.
#[derive(Serialize, Deserialize)]
pub(crate) struct PooledFile {
    pub(crate) id: FileId,
    pub(crate) texts: Vec<PooledText>,
    pub(crate) paths: Vec<PathHead>,
    pub(crate) forgotten: Vector,
}

/// A head of a text.
#[derive(Serialize, Deserialize)]
pub(crate) struct PooledText {
    pub(crate) dot: Dot,
    pub(crate) over: Vector,
    pub(crate) lamport: u64,
    pub(crate) text: u32,
    pub(crate) path: String,
    pub(crate) label: String,
    pub(crate) time: u64,
    pub(crate) bases: Vec<PooledBase>,
}

/// Makes a text.
pub(crate) fn text(text: &str) -> Text {
    Arc::new(Zeroizing::new(text.to_owned()))
}

impl Pool {
    /// The index of a text, which is added if it is new.
    pub(crate) fn put(&mut self, text: &Text) -> u32 {
        let digest = Sha256::digest(text.as_bytes()).into();
        if let Some(index) = self.indices.get(&digest) {
            return *index;
        }
        let index = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push(text.clone());
        self.len += text.len();
        self.indices.insert(digest, index);
        index
    }

    /// The bytes of the texts that were put in.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn put_bases(&mut self, bases: &[Base]) -> Vec<PooledBase> {
        let put =
            |base: &Base| PooledBase { vector: base.vector.clone(), text: self.put(&base.text) };
        bases.iter().map(put).collect()
    }

    pub(crate) fn get(&self, index: u32) -> Option<Text> {
        self.texts.get(usize::try_from(index).ok()?).cloned()
    }

    pub(crate) fn bases(&self, bases: Vec<PooledBase>) -> Option<Vec<Base>> {
        let get = |base: PooledBase| Some(Base { vector: base.vector, text: self.get(base.text)? });
        bases.into_iter().map(get).collect()
    }
}

impl PooledFile {
    pub(crate) fn of(id: FileId, file: &FileHeads, pool: &mut Pool) -> Self {
        let text = |head: &TextHead| PooledText {
            dot: head.dot,
            over: head.over.clone(),
            lamport: head.lamport,
            text: pool.put(&head.text),
            path: head.path.clone(),
            label: head.label.clone(),
            time: head.time,
            bases: pool.put_bases(&head.bases),
        };
        let texts = file.texts.iter().map(text).collect();
        Self { id, texts, paths: file.paths.clone(), forgotten: file.forgotten.clone() }
    }

    pub(crate) fn heads(self, pool: &Pool) -> Option<FileHeads> {
        let text = |head: PooledText| {
            Some(TextHead {
                dot: head.dot,
                over: head.over,
                lamport: head.lamport,
                text: pool.get(head.text)?,
                path: head.path,
                label: head.label,
                time: head.time,
                bases: pool.bases(head.bases)?,
            })
        };
        Some(FileHeads {
            texts: self.texts.into_iter().map(text).collect::<Option<_>>()?,
            paths: self.paths,
            forgotten: self.forgotten,
        })
    }
}

impl Serialize for Pool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.texts.iter().map(|text| text.as_str()))
    }
}

impl<'de> Deserialize<'de> for Pool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        let texts = texts.into_iter().map(|text| Arc::new(Zeroizing::new(text))).collect();
        Ok(Self { texts, ..Self::default() })
    }
}
