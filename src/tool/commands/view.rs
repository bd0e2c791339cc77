//! `view`.

use super::{Context, numbered};
use crate::limits::VIEW_LINES;
use crate::session::Open;
use crate::tool::command::ViewRange;
use crate::tool::error::ToolError;
use crate::tool::failure::Failure;
use crate::tool::wording;
use crate::vfs::file::FileView;
use crate::vfs::list::{self, FolderOrFile, Listing};
use crate::vfs::listing;
use crate::vfs::path::{MemoryPath, echo};
use inmost_format::secret::Wiped;

impl Context<'_> {
    pub(super) fn view(
        &self,
        sent: &str,
        range: Option<&ViewRange>,
    ) -> Result<Wiped<String>, Failure> {
        let path = self.parse(sent)?;
        self.session.read(|open| match list::find(open, open.root(), &path)? {
            FolderOrFile::Folder(folder) => self.view_folder(open, &path, &folder),
            FolderOrFile::File(entry) => {
                let view = FileView::of_entry(open, entry)?;
                let content = self.view_file(&view, &path, sent, range)?;
                // Reading alone must not make a tool that is read-only change the store.
                if self.session.counts_readings() && !self.options.read_only {
                    open.note_reading(view.info().number);
                }
                Ok(content)
            }
        })
    }

    fn view_folder(
        &self,
        open: &Open,
        path: &MemoryPath,
        folder: &Listing,
    ) -> Result<Wiped<String>, Failure> {
        let mut content = wording::folder_header(path.as_str());
        listing::push_first_line(path, folder.bytes, &mut content);
        let limit = self.options.listing_entries;
        folder.show(open, limit, |item| listing::push_item(path, item, &mut content))?;
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        if let Some(hidden) = folder.entries.checked_sub(limit).filter(|hidden| *hidden > 0) {
            content.append("\n");
            content.append(&wording::more_entries(hidden));
        }
        Ok(content)
    }

    fn view_file(
        &self,
        view: &FileView<'_, Open>,
        path: &MemoryPath,
        sent: &str,
        range: Option<&ViewRange>,
    ) -> Result<Wiped<String>, Failure> {
        let total = view.info().lines;
        if total > VIEW_LINES {
            return Err(ToolError::TooManyLines { path: echo(sent).to_owned() }.into());
        }
        let (lines, limit) = match range {
            None => (1..=total, self.options.view_characters),
            Some(range) => (range.resolve(total)?, self.options.range_characters),
        };
        let header = wording::file_header(path.as_str());
        if lines.is_empty() {
            return Ok(header);
        }
        let (first, last) = lines.into_inner();
        let requested = view.lines(first, last, limit)?;
        Ok(numbered(&header, &requested, (first, last, total), limit))
    }
}
