//! The class `NativeStore`: an unlocked store.

use std::path::PathBuf;
use std::sync::Arc;

use inmost::{Session, StoreError};
use inmost_bindings::Shared;
use inmost_keyd::{ConnectOptions, OpenStore};
use napi::Env;
use napi::bindgen_prelude::{AsyncTask, Buffer};
use napi_derive::napi;

use crate::errors::{Failure, Thrown};
use crate::options::{StoreOptions, ToolOptions};
use crate::place::{NativeVault, place};
use crate::records::{self, StoreStatus};
use crate::task::{self, Convert, Work};
use crate::tool::NativeTool;

/// An unlocked store with its files and its history.
#[napi]
pub struct NativeStore {
    pub(crate) shared: Arc<Shared>,
}

impl NativeStore {
    fn of_session(session: Session, folder: Option<PathBuf>, actor: Option<&str>) -> Self {
        Self { shared: Arc::new(Shared::of_session(session, folder, actor)) }
    }

    /// Starts work on the store whose value is converted by `convert`.
    pub(crate) fn with<T, E>(
        &self,
        convert: Convert<T>,
        work: impl FnOnce(&OpenStore) -> Result<T, E> + Send + 'static,
    ) -> AsyncTask<Work<T>>
    where
        T: Send + 'static,
        Failure: From<E>,
    {
        let shared = Arc::clone(&self.shared);
        task::with(convert, move || Ok(work(&shared.handle())?))
    }
}

#[napi]
impl NativeStore {
    /// Creates a store at a path or URL, or in a vault, and unlocks it.
    #[napi(ts_return_type = "Promise<NativeStore>")]
    pub fn create(
        path: String,
        at: Option<&NativeVault>,
        mut options: StoreOptions,
    ) -> AsyncTask<Work<NativeStore>> {
        let place = place(path, at);
        let given = options.take_credential();
        let history = inmost_bindings::history(options.history(), None);
        let (vault, actor) = (options.vault().history(history), options.actor);
        task::start(move || {
            let secret = given.secret()?;
            let session = place.create(&vault, &secret)?;
            Ok(Self::of_session(session, place.folder().map_err(StoreError::Io)?, actor.as_deref()))
        })
    }

    /// Unlocks an existing store.
    #[napi(ts_return_type = "Promise<NativeStore>")]
    pub fn open(
        path: String,
        at: Option<&NativeVault>,
        mut options: StoreOptions,
    ) -> AsyncTask<Work<NativeStore>> {
        let place = place(path, at);
        let given = options.take_credential();
        let (options, accepts, actor) = (options.vault(), options.accept_rollback, options.actor);
        task::start(move || {
            let secret = given.secret()?;
            let session = place.open(&options, &secret, accepts.unwrap_or_default())?;
            Ok(Self::of_session(session, place.folder().map_err(StoreError::Io)?, actor.as_deref()))
        })
    }

    /// Creates a store that never touches the disk.
    #[napi(ts_return_type = "Promise<NativeStore>")]
    pub fn in_memory(options: StoreOptions) -> AsyncTask<Work<NativeStore>> {
        let (quotas, history, actor) = (options.quotas(), options.history(), options.actor);
        task::start(move || {
            let session = inmost_bindings::in_memory(&quotas.session(), history)?;
            Ok(Self::of_session(session, None, actor.as_deref()))
        })
    }

    /// Connects to the key daemon that holds a store.
    #[napi(ts_return_type = "Promise<NativeStore>")]
    pub fn connect(path: String, options: StoreOptions) -> AsyncTask<Work<NativeStore>> {
        task::start(move || {
            let connect = ConnectOptions::new()
                .anchor(options.anchor().as_deref())
                .actor(options.actor.as_deref());
            let client = connect.connect(path)?.ok_or_else(Failure::no_daemon)?;
            Ok(Self { shared: Arc::new(Shared::of_client(client)?) })
        })
    }

    /// The memory tool on this store.
    #[napi]
    pub fn memory_tool(&self, env: Env, options: ToolOptions) -> napi::Result<NativeTool> {
        NativeTool::new(Arc::clone(&self.shared), options).map_err(|error| error.into_error(&env))
    }

    /// Counts and sizes.
    #[napi(ts_return_type = "Promise<StoreStatus>")]
    pub fn status(&self) -> AsyncTask<Work<StoreStatus>> {
        let shared = Arc::clone(&self.shared);
        task::start(move || Ok(records::status(&shared.handle().status()?)))
    }

    /// How far the store has come, sealed.
    #[napi(ts_return_type = "Promise<Buffer>")]
    pub fn mark(&self) -> AsyncTask<Work<Buffer>> {
        let shared = Arc::clone(&self.shared);
        task::start(move || Ok(shared.mark()?.as_bytes().to_vec().into()))
    }

    /// Whether the store is locked.
    #[napi(ts_return_type = "Promise<boolean>")]
    pub fn is_locked(&self) -> AsyncTask<Work<bool>> {
        let shared = Arc::clone(&self.shared);
        task::start(move || Ok(shared.handle().is_locked()?))
    }

    /// Locks the store and wipes its keys. A key daemon locks it for all programs.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn lock(&self) -> AsyncTask<Work<()>> {
        let shared = Arc::clone(&self.shared);
        task::start(move || Ok(shared.handle().lock()?))
    }

    /// Locks a store that this process opened; disconnects from a key daemon.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn close(&self) -> AsyncTask<Work<()>> {
        let shared = Arc::clone(&self.shared);
        task::start(move || Ok(shared.close()?))
    }
}
