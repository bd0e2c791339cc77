//! The files of a store.

use std::mem;

use inmost::{
    FileError, FileText, LineRange, PageCursor, Precondition, RankQuery, SearchQuery, Wiped,
    WriteOutcome,
};
use napi::Env;
use napi::bindgen_prelude::{Array, AsyncTask, JsValue, Unknown};
use napi_derive::napi;

use crate::errors::{self, Failure, Thrown};
use crate::options::{count, size, time};
use crate::pages::{PAGE, Pages, Rows};
use crate::records::{self, FileVersion, FolderEntry, Metadata, number};
use crate::store::NativeStore;
use crate::task::{Work, plain};

/// A file of `writeMany`.
#[napi(object, object_to_js = false)]
pub struct NewFile {
    pub path: String,
    pub text: String,
    pub created_ms: Option<i64>,
    pub modified_ms: Option<i64>,
    pub replaces: Option<bool>,
}

/// What must be at a path: the file with this version or hash; without both, nothing.
#[napi(object, object_to_js = false)]
pub struct Condition {
    pub version: Option<i64>,
    pub sha256: Option<String>,
}

/// A search.
#[napi(object, object_to_js = false)]
pub struct Search {
    pub pattern: String,
    pub is_regex: bool,
    pub ignore_case: bool,
    pub max_matches_per_file: Option<i64>,
}

/// A ranked search.
#[napi(object, object_to_js = false)]
pub struct Rank {
    pub limit: Option<i64>,
    pub skip: Option<i64>,
    pub since_ms: Option<i64>,
}

#[napi]
impl NativeStore {
    /// The text of a file, or of some of its lines.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn read(
        &self,
        path: String,
        first: Option<i64>,
        last: Option<i64>,
    ) -> AsyncTask<Work<FileText>> {
        let lines = first.map(|first| match last {
            Some(last) => LineRange::new(count(first), count(last)),
            None => LineRange::from(count(first)),
        });
        self.with(records::text, move |store| store.unlocked().read(&path, lines))
    }

    /// The metadata of a file or folder.
    #[napi(ts_return_type = "Promise<Metadata>")]
    pub fn metadata(&self, path: String) -> AsyncTask<Work<Metadata>> {
        self.with(plain, move |store| {
            store.unlocked().metadata(&path).map(|metadata| records::metadata(&metadata))
        })
    }

    /// Writes a file, replacing an existing one.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn write(&self, path: String, text: String) -> AsyncTask<Work<()>> {
        let text = Wiped::new(text);
        self.with(plain, move |store| store.unlocked().write(&path, &text))
    }

    /// Appends text to a file; creates a missing one.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn append(&self, path: String, text: String) -> AsyncTask<Work<()>> {
        let text = Wiped::new(text);
        self.with(plain, move |store| store.unlocked().append(&path, &text))
    }

    /// The texts of files, or why one cannot be read.
    #[napi(ts_return_type = "Promise<Array<any>>")]
    pub fn read_many(
        &self,
        paths: Vec<String>,
    ) -> AsyncTask<Work<Vec<Result<FileText, FileError>>>> {
        self.with(texts, move |store| {
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            Ok::<_, Failure>(store.unlocked().read_many(&paths)?)
        })
    }

    /// Writes files in their order, several in a commit.
    #[napi(ts_return_type = "Promise<Array<any>>")]
    pub fn write_many(&self, files: Vec<NewFile>) -> AsyncTask<Work<Vec<Written>>> {
        self.with(written, move |store| {
            let new = files.iter().map(NewFile::borrow).collect::<Result<Vec<_>, _>>()?;
            Ok::<_, Failure>(store.unlocked().write_many(&new)?)
        })
    }

    /// The entries of a folder, hidden ones included.
    #[napi(ts_return_type = "Promise<Array<FolderEntry>>")]
    pub fn list(&self, path: String) -> AsyncTask<Work<Vec<FolderEntry>>> {
        self.with(plain, move |store| {
            let (mut entries, mut after) = (Vec::new(), None);
            loop {
                let page = store.unlocked().list(&path, after.as_ref(), PAGE)?;
                entries.extend(page.items.iter().map(records::folder_entry));
                match page.next {
                    Some(next) => after = Some(next),
                    None => return Ok::<_, FileError>(entries),
                }
            }
        })
    }

    /// Everything below a folder, depth first.
    #[napi]
    pub fn walk(&self, path: String, max_depth: Option<i64>) -> Pages {
        let max_depth = max_depth.map_or(usize::MAX, size);
        Pages::new(&self.shared, move |store, after: Option<&PageCursor>| {
            let page = store.unlocked().walk(&path, max_depth, after, PAGE)?;
            Ok((Rows::Walk(page.items), page.next))
        })
    }

    /// The lines that contain a text, or match a regular expression.
    #[napi]
    pub fn search(&self, env: Env, path: String, search: Search) -> napi::Result<Pages> {
        let query = search.query();
        query.check().map_err(|error| Failure::from(error).into_error(&env))?;
        Ok(Pages::new(&self.shared, move |store, after: Option<&PageCursor>| {
            let page = store.unlocked().search(&path, &query, after, PAGE)?;
            Ok((Rows::Matches(page.items), page.next))
        }))
    }

    /// The files that say most about some words.
    #[napi(ts_return_type = "Promise<Ranked>")]
    pub fn rank(
        &self,
        env: Env,
        path: String,
        words: String,
        options: Rank,
    ) -> napi::Result<AsyncTask<Work<records::Ranked>>> {
        let query = RankQuery::new(words).most(options.limit.map_or(10, size));
        let query = query.skip(options.skip.map_or(0, size));
        let since =
            options.since_ms.map(time).transpose().map_err(|error| error.into_error(&env))?;
        let query = since.into_iter().fold(query, RankQuery::since);
        Ok(self.with(plain, move |store| {
            Ok::<_, FileError>(records::ranked(&store.unlocked().rank(&path, &query)?))
        }))
    }

    /// Deletes a file, or a folder with everything below it.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn remove(&self, path: String) -> AsyncTask<Work<()>> {
        self.with(plain, move |store| store.unlocked().remove(&path))
    }

    /// Moves a file, or a folder with everything below it.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn rename(&self, from: String, to: String) -> AsyncTask<Work<()>> {
        self.with(plain, move |store| store.unlocked().rename(&from, &to))
    }

    /// The state of a file; `null` if there is no file.
    #[napi(ts_return_type = "Promise<FileVersion | null>")]
    pub fn version(&self, path: String) -> AsyncTask<Work<Option<FileVersion>>> {
        self.with(plain, move |store| {
            Ok::<_, FileError>(store.unlocked().version(&path)?.as_ref().map(records::file_version))
        })
    }

    /// Writes a file if the condition holds.
    #[napi(ts_return_type = "Promise<FileVersion>")]
    pub fn write_if(
        &self,
        path: String,
        text: String,
        condition: Condition,
    ) -> AsyncTask<Work<FileVersion>> {
        let text = Wiped::new(text);
        self.with(plain, move |store| {
            let version = store.files().write_if(&path, &text, &condition.parse()?)?;
            Ok::<_, Failure>(records::file_version(&version))
        })
    }

    /// Deletes a file if the condition holds.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn remove_if(&self, path: String, condition: Condition) -> AsyncTask<Work<()>> {
        self.with(plain, move |store| {
            Ok::<_, Failure>(store.unlocked().remove_if(&path, &condition.parse()?)?)
        })
    }

    /// Moves a file if the condition holds for the old path.
    #[napi(ts_return_type = "Promise<number>")]
    pub fn rename_if(
        &self,
        from: String,
        to: String,
        condition: Condition,
    ) -> AsyncTask<Work<i64>> {
        self.with(plain, move |store| {
            Ok::<_, Failure>(number(store.unlocked().rename_if(&from, &to, &condition.parse()?)?))
        })
    }
}

impl NewFile {
    fn borrow(&self) -> Result<inmost::NewFile<'_>, Failure> {
        let mut file = inmost::NewFile::new(&self.path, &self.text);
        file.created = self.created_ms.map(time).transpose()?;
        file.modified = self.modified_ms.map(time).transpose()?;
        file.replaces = self.replaces.unwrap_or(true);
        Ok(file)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        drop([&mut self.path, &mut self.text].map(|text| Wiped::new(mem::take(text))));
    }
}

impl Search {
    fn query(&self) -> SearchQuery {
        let query = if self.is_regex {
            SearchQuery::regex(&self.pattern)
        } else {
            SearchQuery::text(&self.pattern)
        };
        let most = self.max_matches_per_file.map_or(u64::MAX, count);
        query.ignore_case(self.ignore_case).max_matches_per_file(most)
    }
}

impl Condition {
    fn parse(&self) -> Result<Precondition, Failure> {
        match (self.version, &self.sha256) {
            (Some(version), _) => Ok(Precondition::Version(count(version))),
            (None, None) => Ok(Precondition::Absent),
            (None, Some(digits)) => Precondition::of_sha256_digits(digits)
                .ok_or_else(|| errors::argument("sha256 has 64 hexadecimal digits.")),
        }
    }
}

/// The text or a failure for each file.
fn texts(env: &Env, results: Vec<Result<FileText, FileError>>) -> napi::Result<Unknown<'_>> {
    let mut array = Array::from_vec(env, Vec::<String>::new())?;
    for result in results {
        match result {
            Ok(text) => array.insert(text.as_str())?,
            Err(error) => array.insert(Failure::from(error).to_js(env)?)?,
        }
    }
    Ok(array.to_unknown())
}

/// What became of a file of `writeMany`.
type Written = Result<WriteOutcome, FileError>;

/// `'written'`, `'unchanged'` or a failure for each file.
fn written(env: &Env, results: Vec<Written>) -> napi::Result<Unknown<'_>> {
    let mut array = Array::from_vec(env, Vec::<String>::new())?;
    for result in results {
        match result {
            Ok(WriteOutcome::Unchanged) => array.insert("unchanged")?,
            Ok(_) => array.insert("written")?,
            Err(error) => array.insert(Failure::from(error).to_js(env)?)?,
        }
    }
    Ok(array.to_unknown())
}
