//! The MCP server: one tool, whose calls are sent to the worker.

use std::io;
use std::sync::mpsc::Sender;

use inmost::{StoreError, ToolCall, ToolResult};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    Tool,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::memory_tool::{self, NAME};
use super::message::Arguments;
use super::transport::Stdio;
use super::worker::Call;
use crate::exit::{Exit, Failure};
use crate::store::restrictions::Restrictions;

/// The handler of a client's requests.
pub(super) struct Server {
    calls: Sender<Call>,
    tool: Tool,
    instructions: &'static str,
}

/// Serves until standard input ends. Clients end a server by closing it.
pub(super) fn run(server: Server) -> Result<(), Failure> {
    // One thread is enough: it only waits for streams and for the worker.
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
        Failure::io(
            "The MCP server cannot be started",
            &error,
            "Close other programs and try again.",
        )
    })?;
    let stdio = Stdio::open().map_err(|error| Failure::input(&error))?;
    let result = runtime.block_on(async {
        match server.serve(stdio).await {
            Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            // The original error may quote the client's message.
            Err(_) => Err(io::Error::other("no handshake")),
        }
    });
    // A normal shutdown would wait for a write that no client reads.
    runtime.shutdown_background();
    result.map_err(|_| {
        Failure::new(
            Exit::Other,
            "The program on standard input does not use the Model Context Protocol.",
            "Let an MCP client start this command, with the output of `inmost mcp --print-config`.",
        )
    })
}

impl Server {
    pub(super) fn new(calls: Sender<Call>, restrictions: &Restrictions) -> Self {
        let tool = memory_tool::definition(restrictions);
        Self { calls, tool, instructions: memory_tool::instructions(restrictions) }
    }

    /// Runs a call on the worker; `None` if the client cancels it first.
    async fn run_call(&self, context: &RequestContext<RoleServer>) -> Option<ToolResult> {
        let arguments = context.extensions.get::<Arguments>();
        let parsed = ToolCall::parse(arguments.map_or(b"{}", Arguments::as_json));
        let (result, received) = oneshot::channel();
        let client = context.peer.peer_info().map(|info| info.client_info.name.clone());
        if self.calls.send(Call { parsed, client, result }).is_err() {
            return Some(unavailable());
        }
        let received = context.ct.run_until_cancelled(received).await?;
        Some(received.unwrap_or_else(|_| unavailable()))
    }
}

/// The result when the worker has ended.
fn unavailable() -> ToolResult {
    StoreError::Halted.for_model()
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
        let Some(reply) = self.run_call(&context).await else {
            // The protocol does not allow a reply to a cancelled request; rmcp drops this one.
            return Err(ErrorData::internal_error("The request was cancelled.", None));
        };
        let result = if reply.is_error() { CallToolResult::error } else { CallToolResult::success };
        Ok(result(vec![ContentBlock::text(reply.into_content())]).into())
    }
}
