//! The MCP server: the tool, a search if it is wanted, resources and a prompt. What needs the store is sent to the worker.

use std::io;
use std::sync::mpsc::Sender;

use inmost::{StoreError, ToolCall, ToolResult};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ConstString as _, ContentBlock,
    CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, Implementation, ListPromptsResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, Prompt, PromptMessage,
    ReadResourceRequestMethod, ReadResourceRequestParams, ReadResourceResponse, Role,
    ServerCapabilities, ServerConfig, SetLevelRequestMethod, SubscribeRequestMethod,
    SubscribeRequestParams, Tool, UnsubscribeRequestMethod, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::memory_tool;
use super::message::Arguments;
use super::resources::{self, ResourceError};
use super::transport::Stdio;
use super::worker::{Call, Work};
use crate::exit::{Exit, Failure};
use crate::store::no_store::NoStore;
use crate::store::restrictions::Restrictions;

/// The handler of a client's requests.
pub(super) struct Server {
    calls: Sender<Call>,
    tool: Tool,
    search: Option<Tool>,
    instructions: &'static str,
    offers_resources: bool,
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
            "Let an MCP client start this command, with the output of `inmost mcp --print-config generic`.",
        )
    })
}

impl Server {
    pub(super) fn new(
        calls: Sender<Call>,
        tool: Option<&str>,
        search: bool,
        restrictions: &Restrictions,
    ) -> Self {
        let name = tool.unwrap_or(memory_tool::NAME).to_owned();
        let search = search.then(|| memory_tool::search_definition(&name));
        let tool = memory_tool::definition(name, restrictions);
        Self {
            calls,
            tool,
            search,
            instructions: memory_tool::instructions(restrictions),
            // A key daemon lets a restricted connection make tool calls only, and limits of views are those of the tool.
            offers_resources: restrictions.is_unrestricted(),
        }
    }

    /// Has the worker do this; `None` if the client cancels the request first, an error if the worker has ended.
    async fn run<T>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(oneshot::Sender<T>) -> Work,
    ) -> Option<Result<T, WorkerEnded>> {
        let (result, received) = oneshot::channel();
        let client = context.peer.peer_info().map(|info| info.client_info.name.clone());
        if self.calls.send(Call { work: work(result), client }).is_err() {
            return Some(Err(WorkerEnded));
        }
        let received = context.ct.run_until_cancelled(received).await?;
        Some(received.map_err(|_| WorkerEnded))
    }

    /// As [`run`](Self::run), for resources. A cancelled request is the outer error.
    async fn resources<T>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(oneshot::Sender<Result<T, ResourceError>>) -> Work,
    ) -> Result<Result<T, ResourceError>, ErrorData> {
        match self.run(context, work).await {
            Some(Ok(found)) => Ok(found),
            Some(Err(WorkerEnded)) => Ok(Err(ResourceError::NoStore(NoStore::Unavailable))),
            None => Err(cancelled()),
        }
    }
}

/// The thread that holds the store has ended.
struct WorkerEnded;

/// The protocol does not allow a reply to a cancelled request; rmcp drops this one.
fn cancelled() -> ErrorData {
    ErrorData::internal_error("The request was cancelled.", None)
}

/// The result when the worker has ended.
fn unavailable() -> ToolResult {
    StoreError::Halted.for_model()
}

/// The error for a method that this server does not have. The message of the library's error is the name alone.
fn unknown_method(name: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("Unknown method: {name}"), None)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let program = Implementation::new("inmost", env!("CARGO_PKG_VERSION"))
            .with_title("Inmost: encrypted memory");
        let capabilities = ServerCapabilities::builder().enable_tools().enable_prompts();
        let capabilities = if self.offers_resources {
            capabilities.enable_resources().build()
        } else {
            capabilities.build()
        };
        ServerConfig::new(capabilities)
            .with_server_info(program)
            .with_instructions(self.instructions)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(unknown_method(&request.method))
    }

    #[expect(deprecated, reason = "clients still send it")]
    async fn set_level(
        &self,
        _: rmcp::model::SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Err(unknown_method(SetLevelRequestMethod::VALUE))
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Err(unknown_method(SubscribeRequestMethod::VALUE))
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Err(unknown_method(UnsubscribeRequestMethod::VALUE))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = std::iter::once(&self.tool).chain(&self.search);
        Ok(ListToolsResult::with_all_items(tools.cloned().collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = context.extensions.get::<Arguments>();
        let arguments = arguments.map_or(&b"{}"[..], Arguments::as_json);
        let parsed = if request.name == self.tool.name {
            ToolCall::parse(arguments)
        } else if self.search.as_ref().is_some_and(|search| search.name == request.name) {
            match memory_tool::search_command(arguments) {
                Ok(command) => command.into(),
                Err(error) => {
                    return Ok(CallToolResult::error(vec![ContentBlock::text(error)]).into());
                }
            }
        } else {
            return Err(ErrorData::invalid_params(format!("Unknown tool: {}", request.name), None));
        };
        let reply = match self.run(&context, |result| Work::Tool(parsed, result)).await {
            Some(reply) => reply.unwrap_or_else(|WorkerEnded| unavailable()),
            None => return Err(cancelled()),
        };
        let result = if reply.is_error() { CallToolResult::error } else { CallToolResult::success };
        Ok(result(vec![ContentBlock::text(reply.into_content())]).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        if !self.offers_resources {
            return Err(unknown_method(ListResourcesRequestMethod::VALUE));
        }
        let cursor = request.and_then(|request| request.cursor);
        let after = cursor.as_deref().map(resources::cursor).transpose()?;
        match self.resources(&context, |result| Work::List(after, result)).await? {
            Ok(page) => Ok(resources::list(&page)),
            // Gemini CLI drops a server whose list begins with an error, and its tools with it.
            Err(ResourceError::NoStore(_)) if cursor.is_none() => {
                Ok(ListResourcesResult::default())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if !self.offers_resources {
            return Err(unknown_method(ReadResourceRequestMethod::VALUE));
        }
        let path = resources::path(&request.uri).ok_or(ResourceError::NotFound)?;
        let text = self.resources(&context, |result| Work::Read(path, result)).await??;
        Ok(resources::contents(&request.uri, &text).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(vec![prompt()]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompt_named(&request.name, self.instructions)
            .map(Into::into)
            .ok_or_else(|| ErrorData::invalid_params("There is no such prompt.", None))
    }
}

/// The name of the prompt, which clients show as a command.
const PROMPT: &str = "memory";

/// What a client shows about it.
const PROMPT_DESCRIPTION: &str = "Tells the model how to use its memory in this conversation";

/// Explains the memory to the model, in clients that do not pass on a server's instructions.
fn prompt() -> Prompt {
    Prompt::new(PROMPT, Some(PROMPT_DESCRIPTION), None)
}

/// The prompt of this name, with these instructions.
fn prompt_named(name: &str, instructions: &str) -> Option<GetPromptResult> {
    if name != PROMPT {
        return None;
    }
    let message = PromptMessage::new_text(Role::User, instructions);
    Some(GetPromptResult::new(vec![message]).with_description(PROMPT_DESCRIPTION))
}
