//! An MCP server to look at: one tool of each kind, some notes as resources, prompts with completion.
//!
//! The demo shows it, the tests call it, and it is short enough to be read as an example of a server. It keeps its notes
//! in memory, touches no file and no network, and speaks over stdin and stdout.

mod notes;
mod prompt;
mod resource;
mod tool;

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    handler::server::router::{prompt::PromptRouter, tool::ToolRouter},
    model::{
        CompleteRequestParams, CompleteResult, Implementation, ListResourceTemplatesResult, ListResourcesResult,
        PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
        SubscribeRequestParams, UnsubscribeRequestParams,
    },
    prompt_handler,
    service::RequestContext,
    tool_handler,
    transport::stdio,
};

use crate::notes::Notes;

/// What the server says to whoever connects.
const INSTRUCTIONS: &str = "A demonstration. `list_notes` shows what there is, `show_note` reads one, `add_note` and \
                            `delete_note` change them; the other tools show one kind of result each.";

/// The server: its notes and the routers that the macros fill.
#[derive(Clone)]
pub(crate) struct Demo {
    notes: Arc<Notes>,
    tool_router: ToolRouter<Self>,
    prompt_router: PromptRouter<Self>,
}

impl Demo {
    fn new() -> Self {
        Self {
            notes: Arc::new(Notes::with_examples()),
            tool_router: Self::tool_router(),
            prompt_router: Self::prompt_router(),
        }
    }
}

#[tool_handler(router = self.tool_router)]
#[prompt_handler(router = self.prompt_router)]
impl ServerHandler for Demo {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_completions()
            .build();
        let mut config = ServerConfig::new(capabilities);
        config.server_info =
            Implementation::new("demo-server", env!("CARGO_PKG_VERSION")).with_title("Demonstration server");
        config.instructions = Some(INSTRUCTIONS.to_owned());
        config
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(self.resources()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resource::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.read(&request.uri).map(Into::into)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.read(&request.uri)?;
        self.notes.subscribe(&request.uri, context.peer);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.notes.unsubscribe(&request.uri);
        Ok(())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.completions(&request)
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let server = Demo::new().serve(stdio()).await?;
    server.waiting().await?;
    Ok(())
}
