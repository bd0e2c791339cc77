//! The class `NativeTool`: Claude's memory tool on a store.

use std::sync::Arc;

use inmost::{MemoryTool, ToolReply, Wiped};
use inmost_bindings::{Shared, ToolLimits};
use napi::Env;
use napi::bindgen_prelude::{AsyncTask, Either, JsValue, Object, Uint8Array, Unknown};
use napi_derive::napi;

use crate::errors::{self, Failure, Thrown};
use crate::options::{ToolOptions, count, size};
use crate::task::{self, Work};

/// Claude's memory tool on a store.
#[napi]
pub struct NativeTool {
    shared: Arc<Shared>,
    options: inmost::ToolOptions,
}

impl NativeTool {
    pub(crate) fn new(shared: Arc<Shared>, given: ToolOptions) -> Result<Self, Failure> {
        let mut options = inmost::ToolOptions::new()
            .read_only(given.read_only.unwrap_or_default())
            .create_overwrites(given.create_overwrites.unwrap_or_default())
            .delete_forgets(given.delete_forgets.unwrap_or_default());
        if let Some(folder) = given.subtree {
            options = options.subtree(&folder)?;
        }
        if let Some(actor) = given.actor {
            options = options.actor(&actor);
        }
        options = inmost_bindings::screen(options, given.screen.as_deref())
            .ok_or_else(|| errors::argument("screen is 'redact' or 'refuse'."))?;
        let limits = ToolLimits {
            max_file_bytes: given.max_file_bytes.map(count),
            max_files: given.max_files.map(count),
            max_store_bytes: given.max_store_bytes.map(count),
            max_view_characters: given.max_view_characters.map(size),
            max_range_characters: given.max_range_characters.map(size),
            max_listing_entries: given.max_listing_entries.map(size),
        };
        options = limits.of(options);
        if let Some(hint) = given.locked_hint {
            options = options.locked_hint(&hint);
        }
        Ok(Self { shared, options })
    }

    /// Starts a call on the tool.
    fn with(
        &self,
        work: impl FnOnce(&MemoryTool) -> ToolReply + Send + 'static,
    ) -> AsyncTask<Work<ToolReply>> {
        let (shared, options) = (Arc::clone(&self.shared), self.options.clone());
        task::with(reply, move || Ok(work(&shared.handle().tool(options))))
    }
}

#[napi]
impl NativeTool {
    /// Runs a call: the `input` of a `tool_use` block or the whole block, as JSON.
    #[napi(
        ts_return_type = "Promise<{ content: string, isError: boolean, toolUseId?: string, storeError?: object }>"
    )]
    pub fn call(&self, json: Either<String, Uint8Array>) -> AsyncTask<Work<ToolReply>> {
        let json = match json {
            Either::A(text) => text.into_bytes(),
            // A copy, because JavaScript can change the bytes while the call runs.
            Either::B(bytes) => bytes.to_vec(),
        };
        let json = Wiped::new(json);
        self.with(move |tool| tool.run_json(json.as_slice()))
    }

    /// Deletes everything that the tool can reach.
    #[napi(
        ts_return_type = "Promise<{ content: string, isError: boolean, toolUseId?: string, storeError?: object }>"
    )]
    pub fn clear(&self) -> AsyncTask<Work<ToolReply>> {
        self.with(MemoryTool::clear)
    }
}

fn reply(env: &Env, reply: ToolReply) -> napi::Result<Unknown<'_>> {
    let (result, store_error) = reply.into_parts();
    let mut object = Object::new(env)?;
    object.set("content", result.content())?;
    object.set("isError", result.is_error())?;
    if let Some(id) = result.tool_use_id() {
        object.set("toolUseId", id)?;
    }
    if let Some(error) = store_error {
        object.set("storeError", Failure::from(error).to_js(env)?)?;
    }
    Ok(object.to_unknown())
}

/// The memory tool's entry in the `tools` of a request, as JSON.
#[napi]
pub const TOOL_DEFINITION: &str = inmost::TOOL_DEFINITION;

/// The version of the package.
#[napi]
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
