//! Servers by id, and the one way to them.
//!
//! Everything that anybody asks of a server goes through [`Host`]: it looks the server up, decides (`policy`), asks
//! (`approval`), writes it down (`audit`) and only then hands an `Approved` to the `session`. The page, the agent, other
//! MCP clients, the command line and the settings window are callers of the same methods.

mod admin;

use std::{sync::Arc, time::Duration};

use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

pub use admin::{Admin, GrantTarget, NewRule, ServerChange};

use crate::{
    approval::Prompter,
    error::{Audience, Result},
    event::{HostEvent, ProgressSink},
    model::{
        Arguments, CallId, Caller, Completion, CompletionTarget, PromptContent, PromptSummary, ResourceContent,
        ResourceSummary, ResourceTemplateSummary, ServerStatus, ToolResult, ToolSummary, json,
    },
};

/// Which program this host lives in; names the run's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The desktop application.
    App,
    /// One command of `mcp-host`.
    Cli,
    /// `mcp-host serve`.
    Serve,
}

/// A tool call as it is asked for.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// The server's id (or key, where that is unambiguous).
    pub server: String,
    /// The tool's own name.
    pub tool: String,
    /// Absent or null = `{}`.
    pub arguments: Option<json::Value>,
    /// From [`Host::request_approval`].
    pub approval_token: Option<String>,
}

/// How a request is to be made.
#[derive(Default)]
pub struct RequestOptions {
    /// Bounds connect (where needed), list and call together; can only shorten. Waiting for a person does not count.
    pub timeout: Option<Duration>,
    /// Cancels it.
    pub cancel: CancellationToken,
    /// Where its progress goes.
    pub progress: Option<ProgressSink>,
    /// The caller's own id for it; else one is made.
    pub call_id: Option<CallId>,
}

/// A token for exactly one call.
#[derive(Clone, serde::Serialize, specta::Type)]
#[serde(rename = "McpApproval", rename_all = "camelCase")]
pub struct Approval {
    /// 128 random bits; single use.
    pub approval_token: String,
    /// RFC 3339.
    pub expires_at: String,
}

/// The host. Cheap to clone.
#[derive(Clone)]
pub struct Host {
    #[allow(dead_code)]
    inner: Arc<()>,
}

/// What a [`Host`] is made of.
pub struct HostBuilder {
    #[allow(dead_code)]
    origin: Origin,
}

impl HostBuilder {
    /// Asks the person; without one, what needs an answer is denied.
    pub fn prompter(self, _prompter: Arc<dyn Prompter>) -> Self {
        self
    }

    /// `--permission-mode`, for this run.
    pub fn permission_mode(self, _mode: Option<String>) -> Self {
        self
    }

    /// `--approve-scoped [SERVER/]TOOL:SHA256`.
    pub fn approve_scoped(self, _digests: Vec<String>) -> Self {
        self
    }

    /// `--audit-full`: arguments and results are kept in the log.
    pub fn audit_full(self, _full: bool) -> Self {
        self
    }

    /// Opens the stores and reads the configuration. Starts nothing.
    pub async fn build(self) -> Result<Host> {
        todo!()
    }
}

#[allow(unused_variables, clippy::todo, missing_docs)]
impl Host {
    /// Begins a host over the product's folder, or over `config_dir` (`--config-dir`).
    pub fn builder(origin: Origin, config_dir: Option<std::path::PathBuf>) -> HostBuilder {
        HostBuilder { origin }
    }

    /// Live events.
    pub fn events(&self) -> broadcast::Receiver<HostEvent> {
        todo!()
    }

    /// What only a person may do. The plugin hands this to the settings window alone.
    pub fn admin(&self) -> Admin {
        todo!()
    }

    /// Ends every server and closes the log (`run_completed`). Idempotent.
    pub async fn shutdown(&self) {
        todo!()
    }

    /// All configured servers, invalid entries included.
    pub fn list_servers(&self, audience: Audience) -> Vec<ServerStatus> {
        todo!()
    }

    /// One server.
    pub fn server_status(&self, server: &str, audience: Audience) -> Result<ServerStatus> {
        todo!()
    }

    /// Connects and takes a hold for `caller`.
    pub async fn connect_server(&self, server: &str, caller: &Caller, options: RequestOptions) -> Result<ServerStatus> {
        todo!()
    }

    /// Releases the caller's hold; the process ends when nobody holds it and nothing is in flight.
    pub async fn disconnect_server(&self, server: &str, caller: &Caller) -> Result<()> {
        todo!()
    }

    pub async fn list_tools(&self, server: &str, caller: &Caller, options: RequestOptions) -> Result<Vec<ToolSummary>> {
        todo!()
    }

    pub async fn list_resources(
        &self,
        server: &str,
        caller: &Caller,
        options: RequestOptions,
    ) -> Result<Vec<ResourceSummary>> {
        todo!()
    }

    pub async fn list_resource_templates(
        &self,
        server: &str,
        caller: &Caller,
        options: RequestOptions,
    ) -> Result<Vec<ResourceTemplateSummary>> {
        todo!()
    }

    pub async fn list_prompts(
        &self,
        server: &str,
        caller: &Caller,
        options: RequestOptions,
    ) -> Result<Vec<PromptSummary>> {
        todo!()
    }

    /// THE choke point for calls.
    pub async fn call_tool(&self, call: ToolCall, caller: Caller, options: RequestOptions) -> Result<ToolResult> {
        todo!()
    }

    /// Asks now, for exactly this call, and returns a token for it.
    pub async fn request_approval(&self, call: ToolCall, caller: Caller, options: RequestOptions) -> Result<Approval> {
        todo!()
    }

    pub async fn read_resource(
        &self,
        server: &str,
        uri: &str,
        caller: Caller,
        options: RequestOptions,
    ) -> Result<ResourceContent> {
        todo!()
    }

    /// `arguments`: an object of strings, or absent.
    pub async fn get_prompt(
        &self,
        server: &str,
        name: &str,
        arguments: Option<json::Value>,
        caller: Caller,
        options: RequestOptions,
    ) -> Result<PromptContent> {
        todo!()
    }

    pub async fn complete(
        &self,
        server: &str,
        target: CompletionTarget,
        argument: (String, String),
        context: std::collections::BTreeMap<String, String>,
        caller: Caller,
        options: RequestOptions,
    ) -> Result<Completion> {
        todo!()
    }

    /// Subscribes; changes arrive as `HostEvent::ResourceUpdated`. Reference-counted: the server is told on the first
    /// subscribe and the last unsubscribe.
    pub async fn subscribe_resource(
        &self,
        server: &str,
        uri: &str,
        caller: Caller,
        options: RequestOptions,
    ) -> Result<()> {
        todo!()
    }

    pub async fn unsubscribe_resource(&self, server: &str, uri: &str, caller: &Caller) -> Result<()> {
        todo!()
    }

    /// A document is gone (reload, closed): its calls end, its tokens, holds and subscriptions are void.
    pub fn forget_document(&self, window: &str, document: u64) {
        todo!()
    }

    /// Takes back a call of this caller by its id. Unknown ids are ignored.
    pub fn cancel_call(&self, caller: &Caller, call: &CallId) {
        todo!()
    }

    /// Validates arguments and computes the payload digest: `(canonical, sha256)`.
    pub fn payload_digest(&self, tool: &str, arguments: Option<json::Value>) -> Result<(String, String)> {
        todo!()
    }
}

#[allow(dead_code)]
fn _arguments(_: Arguments) {}
