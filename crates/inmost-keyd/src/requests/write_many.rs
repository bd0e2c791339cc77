//! Many files as heads and a body.

use std::time::{SystemTime, UNIX_EPOCH};

use inmost::{NewFile, StoreError};
use serde::{Deserialize, Serialize};

use crate::body::{Wiped, join, malformed, take};

/// A file without its path and text.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct FileHead {
    created: Option<SystemTime>,
    modified: Option<SystemTime>,
    replaces: bool,
}

/// The first of these files, as many as one request should contain and at least one, and the files after them.
pub(crate) fn split<'f, 't>(files: &'f [NewFile<'t>]) -> (&'f [NewFile<'t>], &'f [NewFile<'t>]) {
    let mut bytes = 0_usize;
    let fits = |file: &&NewFile<'_>| {
        bytes = bytes.saturating_add(file.path.len()).saturating_add(file.text.len());
        bytes <= BODY_BYTES
    };
    let count = files.iter().take(FILES).take_while(fits).count().max(1);
    files.split_at_checked(count).unwrap_or((files, &[]))
}

/// The heads of these files and their body; `None` if a file is too long.
pub(crate) fn heads(files: &[NewFile<'_>]) -> Option<(Vec<FileHead>, Wiped)> {
    let texts: Vec<&str> = files.iter().flat_map(|file| [file.path, file.text]).collect();
    let heads = files.iter().map(FileHead::of).collect();
    Some((heads, join(&texts)?))
}

/// The files of these heads, with the paths and texts of the body.
pub(crate) fn files(heads: Vec<FileHead>, body: &[u8]) -> Result<Vec<NewFile<'_>>, StoreError> {
    let mut rest = body;
    let mut file = |head: FileHead| Some(head.with(take(&mut rest)?, take(&mut rest)?));
    let files = heads.into_iter().map(&mut file).collect::<Option<_>>();
    files.filter(|_| rest.is_empty()).ok_or_else(|| malformed("malformed files"))
}

impl FileHead {
    /// The file of this head.
    pub(super) fn with<'a>(self, path: &'a str, text: &'a str) -> NewFile<'a> {
        let mut file = NewFile::new(path, text);
        Self { created: file.created, modified: file.modified, replaces: file.replaces } = self;
        file
    }

    pub(crate) fn of(file: &NewFile<'_>) -> Self {
        // serde refuses a time before 1970. The store would make it 1970 anyway.
        let time = |time: Option<SystemTime>| time.map(|time| time.max(UNIX_EPOCH));
        let (created, modified) = (time(file.created), time(file.modified));
        Self { created, modified, replaces: file.replaces }
    }
}

/// Files of one request at most. Their heads are far shorter than the longest head of a frame.
const FILES: usize = 4_096;

/// Bytes of paths and texts in one request, unless a single file is longer. Less than a frame may have, so that neither
/// side needs much memory.
const BODY_BYTES: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Path, length of the text, times, and whether it replaces another file.
    type Received = (String, usize, [Option<SystemTime>; 2], bool);

    /// What the daemon makes of all requests for these files, and their number.
    fn received(files: &[NewFile<'_>]) -> (Vec<Received>, usize) {
        let (mut rest, mut received, mut requests) = (files, Vec::new(), 0);
        while !rest.is_empty() {
            let (first, after) = split(rest);
            let (heads, body) = heads(first).unwrap();
            let json = serde_json::to_string(&heads).unwrap();
            let heads: Vec<FileHead> = serde_json::from_str(&json).unwrap();
            for file in super::files(heads, body.as_slice()).unwrap() {
                let times = [file.created, file.modified];
                received.push((file.path.to_owned(), file.text.len(), times, file.replaces));
            }
            (rest, requests) = (after, requests + 1);
        }
        (received, requests)
    }

    #[test]
    fn files_arrive_in_their_order_with_their_times() {
        let (day, before_1970) =
            (Duration::from_millis(86_400_123), UNIX_EPOCH - Duration::from_secs(1));
        let files = [
            NewFile::new("a\0", "\u{e9}").created(UNIX_EPOCH + day),
            NewFile::new("", "").modified(before_1970).keep_existing(),
        ];
        let expected = vec![
            ("a\0".to_owned(), 2, [Some(UNIX_EPOCH + day), None], true),
            (String::new(), 0, [None, Some(UNIX_EPOCH)], false),
        ];
        assert_eq!(received(&files), (expected, 1));
    }

    #[test]
    fn many_or_long_files_are_split_into_requests() {
        let small = vec![NewFile::new("a", "b"); 2 * FILES + 1];
        let (files, requests) = received(&small);
        assert_eq!((files.len(), requests), (small.len(), 3));
        let long = "x".repeat(BODY_BYTES);
        let half = "x".repeat(BODY_BYTES / 2 - 1);
        let texts = ["", &half, &half, "", &long, ""];
        let files: Vec<_> = texts.iter().map(|text| NewFile::new("a", text)).collect();
        let (received, requests) = received(&files);
        assert!(received.iter().map(|file| file.1).eq(texts.iter().map(|text| text.len())));
        assert_eq!(requests, 4);
    }

    #[test]
    fn a_body_that_does_not_match_its_head_is_refused() {
        let files = [NewFile::new("path", "text"), NewFile::new("path", "text")];
        let request = || heads(&files).unwrap();
        let body = request().1;
        for length in 0..body.as_slice().len() {
            let cut = &body.as_slice()[..length];
            assert!(super::files(request().0, cut).is_err(), "{length}");
        }
        let longer = [body.as_slice(), b"x"].concat();
        assert!(super::files(request().0, &longer).is_err());
    }
}
