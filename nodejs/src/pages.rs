//! Long results, which JavaScript reads page by page.

use std::sync::{Arc, Mutex, PoisonError};

use inmost::{SearchMatch, StoreError, VersionInfo, WalkEntry};
use inmost_bindings::Shared;
use inmost_keyd::OpenStore;
use napi::Env;
use napi::bindgen_prelude::{AsyncTask, Null, Unknown};
use napi_derive::napi;

use crate::errors::{Failure, Thrown};
use crate::records;
use crate::task::{self, Work, plain};

/// The pages of one result.
#[napi]
pub struct Pages {
    shared: Arc<Shared>,
    next: Arc<Mutex<NextPage>>,
}

/// Reads the next page; `None` after the last one.
type NextPage = Box<dyn FnMut() -> Result<Option<Rows>, Failure> + Send>;

/// The items of one page.
pub enum Rows {
    Walk(Vec<WalkEntry>),
    Matches(Vec<SearchMatch>),
    Versions(Vec<VersionInfo>),
}

/// The items of a page, and the position of the next.
pub(crate) type Page<C> = Result<(Rows, Option<C>), Failure>;

impl Pages {
    /// The pages that `page` reads, each from the position that the page before it names. Ends after an error.
    pub(crate) fn new<C: Send + 'static>(
        shared: &Arc<Shared>,
        mut page: impl FnMut(&OpenStore, Option<&C>) -> Page<C> + Send + 'static,
    ) -> Self {
        let store = Arc::clone(shared);
        let mut position = Some(None);
        let next: NextPage = Box::new(move || {
            let Some(after) = position.take() else { return Ok(None) };
            let (rows, next) = page(&store.handle(), after.as_ref())?;
            position = next.map(Some);
            Ok(Some(rows))
        });
        Self { shared: Arc::clone(shared), next: Arc::new(Mutex::new(next)) }
    }
}

#[napi]
impl Pages {
    /// The next page; `null` after the last one.
    #[napi(ts_return_type = "Promise<Array<any> | null>")]
    pub fn next(&self) -> AsyncTask<Work<Option<Rows>>> {
        let next = Arc::clone(&self.next);
        task::with(rows, move || {
            let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
            (*next)()
        })
    }

    /// Fails if the store was locked: what was read before is not handed out then.
    #[napi]
    pub fn check(&self, env: Env) -> napi::Result<()> {
        let is_locked = self.shared.is_locked_here();
        if is_locked { Err(Failure::from(StoreError::Locked).into_error(&env)) } else { Ok(()) }
    }
}

fn rows(env: &Env, rows: Option<Rows>) -> napi::Result<Unknown<'_>> {
    match rows {
        None => plain(env, Null),
        Some(Rows::Walk(items)) => {
            plain(env, items.iter().map(records::walk_entry).collect::<Vec<_>>())
        }
        Some(Rows::Matches(items)) => {
            plain(env, items.iter().map(records::search_match).collect::<Vec<_>>())
        }
        Some(Rows::Versions(items)) => {
            plain(env, items.iter().map(records::version).collect::<Vec<_>>())
        }
    }
}

/// Items of a page.
pub(crate) const PAGE: usize = 1_000;
