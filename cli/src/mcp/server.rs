//! The server: one tool, whose calls go to the worker.

use std::io;
use std::sync::mpsc::Sender;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::memory_tool::{self, NAME};
use super::transport::Stdio;
use super::worker::Call;
use crate::exit::{Exit, Failure};
use crate::store::facts::ToolAnswer;
use crate::store::restrictions::Restrictions;
use crate::wiped::Wiped;

/// What a client talks to.
pub(super) struct Server {
    calls: Sender<Call>,
    tool: Tool,
    instructions: &'static str,
}

/// Serves until standard input ends, which is how clients end a server.
pub(super) fn run(server: Server) -> Result<(), Failure> {
    // One thread is enough: it waits for streams and for the worker.
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
        Failure::io("The server cannot be started", &error, "Close other programs and try again.")
    })?;
    let stdio = Stdio::open().map_err(|error| Failure::input(&error))?;
    let ended = runtime.block_on(async {
        match server.serve(stdio).await {
            Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            // Its words may quote what was sent.
            Err(_) => Err(io::Error::other("no handshake")),
        }
    });
    // A write that nobody reads would be waited for.
    runtime.shutdown_background();
    ended.map_err(|_| {
        Failure::new(
            Exit::Other,
            "The program at the other end does not speak the Model Context Protocol.",
            "Let an MCP client start this command; `inmost mcp --print-config` tells it how.",
        )
    })
}

impl Server {
    pub(super) fn new(calls: Sender<Call>, restrictions: &Restrictions) -> Self {
        let tool = memory_tool::definition(restrictions);
        Self { calls, tool, instructions: memory_tool::instructions(restrictions) }
    }

    /// Hands a call to the worker; `None` if the client takes it back before it is answered.
    async fn answer(
        &self,
        arguments: &JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Option<ToolAnswer> {
        let (answer, answered) = oneshot::channel();
        let mut json = Wiped::new();
        // Neither the buffer nor a map with strings for keys can fail.
        let sent = serde_json::to_writer(&mut json, arguments).is_ok()
            && self.calls.send(Call { json, answer }).is_ok();
        if !sent {
            return Some(ToolAnswer::unavailable());
        }
        let answered = context.ct.run_until_cancelled(answered).await?;
        Some(answered.unwrap_or_else(|_| ToolAnswer::unavailable()))
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let program = Implementation::new("inmost", env!("CARGO_PKG_VERSION"))
            .with_title("Inmost: encrypted memory");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(program)
            .with_instructions(self.instructions)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![self.tool.clone()]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != NAME {
            return Err(ErrorData::invalid_params(format!("Unknown tool: {}", request.name), None));
        }
        let arguments = request.arguments.unwrap_or_default();
        let Some(answer) = self.answer(&arguments, &context).await else {
            // The protocol wants no answer to a cancelled request, and none is sent.
            return Err(ErrorData::internal_error("The request was cancelled.", None));
        };
        let result =
            if answer.is_error() { CallToolResult::error } else { CallToolResult::success };
        Ok(result(vec![ContentBlock::text(answer.into_content())]).into())
    }
}
