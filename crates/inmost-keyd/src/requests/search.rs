//! The request for matching lines.

use std::ops::Range;

use inmost::{FileError, FileText, Page, PageCursor, SearchMatch, SearchQuery, UnlockedStore};
use serde::{Deserialize, Serialize};

use super::file::MAX_PAGE;
use crate::request::{Context, Reply, Request};
use crate::wiped::{Wiped, WipedPath};

#[derive(Serialize, Deserialize)]
pub(crate) struct Search {
    pub(crate) path: WipedPath,
    pub(crate) query: SearchQuery,
    pub(crate) after: Option<PageCursor>,
    pub(crate) most: usize,
}

impl Request for Search {
    type Reply = Page<SearchMatch>;

    fn is_change(&self) -> bool {
        false
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<Self::Reply, FileError> {
        let most = self.most.min(MAX_PAGE);
        context.session.search(&self.path, &self.query, self.after.as_ref(), most)
    }
}

/// A match; its text is in the body, after the texts of the matches before it.
#[derive(Serialize, Deserialize)]
pub(crate) struct MatchHead {
    path: FileText,
    line: u64,
    ranges: Vec<Range<usize>>,
    bytes: usize,
}

impl Reply for Page<SearchMatch> {
    type Head = Page<MatchHead>;

    fn into_parts(self) -> (Self::Head, Wiped) {
        let mut body = Wiped::default();
        let heads = self.items.into_iter().map(|found| {
            let text = found.text.as_str().as_bytes();
            body.append(text);
            let bytes = text.len();
            MatchHead { path: found.path, line: found.line, ranges: found.ranges, bytes }
        });
        (Page::new(heads.collect(), self.next), body)
    }

    fn from_parts(head: Self::Head, body: Wiped) -> Option<Self> {
        let mut rest = std::str::from_utf8(body.as_slice()).ok()?;
        let mut items = Vec::with_capacity(head.items.len());
        for found in head.items {
            let (text, after) = rest.split_at_checked(found.bytes)?;
            rest = after;
            // The host slices the text with these.
            let are_inside = found.ranges.iter().all(|range| text.get(range.clone()).is_some());
            if !are_inside {
                return None;
            }
            let text = FileText::from(text.to_owned());
            items.push(SearchMatch::new(found.path, found.line, text, found.ranges));
        }
        Some(Page::new(items, head.next))
    }
}
