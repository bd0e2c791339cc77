//! The six commands: each turns a typed command into its result.
//!
//! Each checks in the order of the contract. Checks that need no store come first, so that a mistake in a path reads
//! the same whether or not the store is locked.

mod screened;

use inmost_format::secret::Wiped;

use self::screened::Seam;
use super::command::{ToolCommand, ViewRange};
use super::error::ToolError;
use super::failure::Failure;
use super::options::ToolOptions;
use super::result::ToolResult;
use super::wording;
use crate::limits::VIEW_LINES;
use crate::session::{Open, Session, StoreError};
use crate::vfs::file::FileView;
use crate::vfs::guard::{Guard, Surroundings};
use crate::vfs::list::{self, FolderOrFile, Listing};
use crate::vfs::path::{MemoryPath, echo};
use crate::vfs::rank::{self, RankQuery};
use crate::vfs::text::{self, Cut, is_unclosed};
use crate::vfs::{FileError, arrange, edit, listing, versions};

/// Runs a command. A mistake of the model is an `Ok` result.
pub(crate) fn run(
    session: &Session,
    options: &ToolOptions,
    command: &ToolCommand,
) -> Result<ToolResult, StoreError> {
    let session = &match &options.actor {
        Some(actor) => session.acting_as(actor),
        None => session.clone(),
    };
    let session = session.within(options.quotas);
    let session = &if options.delete_forgets { session.without_texts() } else { session };
    let call = Context { session, options };
    let mut content = call.run(command);
    let is_too_long = |failure: &Failure| {
        matches!(failure, Failure::File(FileError::Store(StoreError::TooLarge)))
    };
    if options.delete_forgets && content.as_ref().is_err_and(is_too_long) {
        // The call would be made, but the versions that it ends are too many for its commit. They go first, in several.
        call.forget_first(command)?;
        content = call.run(command);
    }
    match content {
        Ok(content) => Ok(ToolResult::success(content)),
        Err(failure) => failure.tool_error(command, options).map(ToolResult::from),
    }
}

struct Context<'a> {
    session: &'a Session,
    options: &'a ToolOptions,
}

impl Context<'_> {
    fn run(&self, command: &ToolCommand) -> Result<Wiped<String>, Failure> {
        match command {
            ToolCommand::View { path, view_range } => self.view(path, view_range.as_ref()),
            ToolCommand::Create { path, file_text } => self.create(path, file_text),
            ToolCommand::StrReplace { path, old_str, new_str } => {
                self.str_replace(path, old_str, new_str.as_deref().unwrap_or_default())
            }
            ToolCommand::Insert { path, insert_line, insert_text } => {
                self.insert(path, *insert_line, insert_text)
            }
            ToolCommand::Delete { path } => self.delete(path),
            ToolCommand::Rename { old_path, new_path } => self.rename(old_path, new_path),
            ToolCommand::Search { path, words } => self.search(path, words),
        }
    }

    /// Forgets what a call is going to forget.
    fn forget_first(&self, command: &ToolCommand) -> Result<(), StoreError> {
        let (_, target) = command.paths();
        let Ok(path) = self.parse(target) else { return Ok(()) };
        let deletes = matches!(command, ToolCommand::Delete { .. });
        match versions::forget_first(self.session, &path, deletes) {
            Err(FileError::Store(error)) => Err(error),
            _ => Ok(()),
        }
    }

    /// A locked store is reported before a read-only tool.
    fn check_writable(&self) -> Result<(), Failure> {
        if self.options.read_only {
            self.session.read(|_| Ok::<(), StoreError>(()))?;
            return Err(ToolError::ReadOnly.into());
        }
        // Without a look at what other hosts have changed: the change itself learns that.
        Ok(self.session.read_once(|_| Ok::<(), StoreError>(()))?)
    }

    fn parse(&self, sent: &str) -> Result<MemoryPath, ToolError> {
        self.options.parse_path(sent)
    }

    fn view(&self, sent: &str, range: Option<&ViewRange>) -> Result<Wiped<String>, Failure> {
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

    fn search(&self, sent: &str, words: &str) -> Result<Wiped<String>, Failure> {
        let path = self.parse(sent)?;
        let ranked = match rank::rank(self.session, &path, &RankQuery::new(words)) {
            Err(FileError::EmptySearch) => return Ok(wording::no_search_words()),
            ranked => ranked?,
        };
        let mut left = self.options.view_characters;
        let mut shown = Vec::new();
        for file in &ranked.files {
            let file = wording::found_file(file.path.as_str(), &file.lines);
            match left.checked_sub(file.chars().count()) {
                Some(rest) => left = rest,
                // The best file is shown even if a host allows less than one.
                None if !shown.is_empty() => break,
                None => left = 0,
            }
            shown.push(file);
        }
        let mut content = wording::search_header(path.as_str(), shown.len(), ranked.found);
        for file in &shown {
            content.append(file);
        }
        for path in &ranked.damaged {
            content.append(&wording::damaged_file(path.as_str()));
        }
        Ok(content)
    }

    fn create(&self, sent: &str, text: &str) -> Result<Wiped<String>, Failure> {
        let path = self.parse(sent)?;
        self.check_writable()?;
        let overwrite = self.options.create_overwrites;
        let check = || edit::check_target(self.session, &path, overwrite);
        let cleared = self.screen_path(&path, text, check)?;
        edit::write(self.session, &path, cleared.text(text), overwrite)?;
        Ok(screened::report(wording::created(echo(sent)), &cleared))
    }

    fn str_replace(&self, sent: &str, old: &str, new: &str) -> Result<Wiped<String>, Failure> {
        let path = self.parse(sent)?;
        self.check_writable()?;
        let limit = self.options.range_characters;
        let replace = |new: &str, guard: &Guard| {
            edit::replace_guarded(self.session, &path, (old, new), limit, guard)
        };
        let (snippet, cleared) = self.edit(&path, new, |_| Seam::default(), replace)?;
        let lines = (snippet.first, snippet.last, snippet.lines);
        let content = numbered(wording::edited_with_snippet(), &snippet.text, lines, limit);
        Ok(screened::report(content, &cleared))
    }

    fn insert(&self, sent: &str, line: i64, text: &str) -> Result<Wiped<String>, Failure> {
        let path = self.parse(sent)?;
        self.check_writable()?;
        let insert = |text: &str, guard: &Guard| {
            edit::insert_guarded(self.session, &path, line, text, guard)
        };
        let ((), cleared) = self.edit(&path, text, |around| seam(around, text), insert)?;
        Ok(screened::report(wording::inserted(echo(sent)), &cleared))
    }

    fn delete(&self, sent: &str) -> Result<Wiped<String>, Failure> {
        let path = self.parse(sent)?;
        self.check_writable()?;
        if self.session.keeps_texts() {
            arrange::delete(self.session, &path)?;
        } else {
            versions::delete(self.session, &path)?;
        }
        Ok(wording::deleted(echo(sent)))
    }

    fn rename(&self, old_sent: &str, new_sent: &str) -> Result<Wiped<String>, Failure> {
        let old = self.parse(old_sent)?;
        let new = self.parse(new_sent)?;
        self.check_writable()?;
        self.screen_path(&new, "", || arrange::check_rename(self.session, &old, &new))?;
        arrange::rename(self.session, &old, &new)?;
        Ok(wording::renamed(echo(old_sent), echo(new_sent)))
    }
}

/// Numbers the requested lines that fit a view, and adds a notice if some do not.
fn numbered(
    header: &str,
    requested: &str,
    (first, last, total): (u64, u64, u64),
    limit: usize,
) -> Wiped<String> {
    let Cut { text, shown } = text::cut(requested, first, limit);
    let notice = wording::cut_notice(shown, first, last, total).unwrap_or_default();
    // One allocation of the final size: a copy left behind by growth would not be wiped.
    let capacity = header.len() + text::numbered_size(text) + notice.len() + 2;
    let mut content = Wiped::new(String::with_capacity(capacity));
    content.push_str(header);
    if !text.is_empty() {
        if !content.ends_with('\n') {
            content.push('\n');
        }
        text::number_lines(first, text, &mut content);
    }
    if !notice.is_empty() {
        content.push('\n');
        content.push_str(&notice);
    }
    content
}

/// The line break that the rule for line ends adds, as [`insertion`](crate::vfs::text::insertion) does.
fn seam(around: &Surroundings, text: &str) -> Seam {
    if is_unclosed(&around.before) {
        Seam { before: "\n", after: "" }
    } else {
        Seam { before: "", after: if text.ends_with('\n') { "" } else { "\n" } }
    }
}
