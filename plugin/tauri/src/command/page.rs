//! The methods of the page contract, each a thin call of the host as the caller [`Page`].
//!
//! Everything here is reachable by any script of the page. A failure is told as an untrusted script may read it.

use std::{collections::BTreeMap, time::Duration};

use mcp_host_core::{
    Host,
    error::{Audience, Error, ErrorInfo},
    host::{Approval, RequestOptions, ToolCall},
    model::{
        Completion, CompletionTarget, Progress, PromptContent, PromptSummary, ResourceChange, ResourceContent,
        ResourceSummary, ResourceTemplateSummary, ServerStatus, ServerSummary, ToolResult, ToolSummary,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tauri::{AppHandle, Runtime, ipc::Channel};

use super::{
    caller::Page,
    for_page,
    input::{Input, Options, arguments},
};
use crate::{document::Slot, event::PageEvent, settings};

/// Raised only when the contract changes incompatibly.
pub(crate) const API_VERSION: u32 = 1;

type Reply<T> = Result<T, ErrorInfo>;

/// Which API this is, and which document asks.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "McpApiInfo", rename_all = "camelCase")]
pub(crate) struct ApiInfo {
    /// The version of the contract.
    api_version: u32,
    /// This load of this page. What belongs to it ends with it.
    document_id: String,
}

/// Which server.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "McpServerInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ServerInput {
    server_id: String,
}

/// `McpConnectServerInput`: nothing but the id; a page cannot say what to run.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "McpConnectServerInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ConnectServerInput {
    server_id: String,
}

/// `McpCallToolInput` of the contract.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "McpCallToolInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CallToolInput {
    server_id: String,
    name: String,
    /// An object; absent or null = `{}`.
    #[serde(default)]
    #[specta(optional, type = specta_typescript::Unknown)]
    arguments: Option<Value>,
    /// The same as JSON text, for numbers that JavaScript would round. At most one of the two.
    #[serde(default)]
    #[specta(optional, type = String)]
    arguments_json: Option<String>,
    /// From `request_approval`.
    #[serde(default)]
    #[specta(optional, type = String)]
    approval_token: Option<String>,
}

/// `McpRequestApprovalInput` of the contract.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "McpRequestApprovalInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RequestApprovalInput {
    server_id: String,
    name: String,
    /// An object; absent or null = `{}`.
    #[serde(default)]
    #[specta(optional, type = specta_typescript::Unknown)]
    arguments: Option<Value>,
    /// The same as JSON text. At most one of the two.
    #[serde(default)]
    #[specta(optional, type = String)]
    arguments_json: Option<String>,
}

/// `McpReadResourceInput` of the contract.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "McpReadResourceInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ReadResourceInput {
    server_id: String,
    uri: String,
}

/// `McpGetPromptInput` of the contract.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "McpGetPromptInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct GetPromptInput {
    server_id: String,
    name: String,
    /// An object of strings, or absent.
    #[serde(default)]
    #[specta(optional, type = specta_typescript::Unknown)]
    arguments: Option<Value>,
}

/// The argument that is being completed.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "McpCompleteArgument", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CompleteArgument {
    name: String,
    value: String,
}

/// `McpCompleteInput` of the contract.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "McpCompleteInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CompleteInput {
    server_id: String,
    r#ref: CompletionTarget,
    argument: CompleteArgument,
    /// Arguments that are known already.
    #[serde(default)]
    #[specta(optional, type = BTreeMap<String, String>)]
    context: Option<BTreeMap<String, String>>,
}

/// A subscription of this document.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "McpSubscriptionInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SubscriptionInput {
    subscription: u32,
}

/// A pending request of this document.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "McpCancelCallInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CancelCallInput {
    request_id: String,
}

impl Page {
    /// A request begins: it counts, can be cancelled, and has what the host wants to know.
    fn begin(&self, options: Option<Options>) -> Reply<(Slot, RequestOptions)> {
        let Options { timeout_ms, request_id } = options.unwrap_or_default();
        if timeout_ms == Some(0) {
            return Err(for_page(Error::invalid_input("/timeoutMs", "`timeoutMs` must be at least 1")));
        }
        let slot = self.hub.documents.request(&self.label, self.document, request_id).map_err(for_page)?;
        let options = RequestOptions {
            timeout: timeout_ms.map(|ms| Duration::from_millis(ms.into())),
            cancel: slot.cancel.clone(),
            ..RequestOptions::default()
        };
        Ok((slot, options))
    }

    async fn host(&self) -> Reply<Host> {
        self.hub.host().await.map_err(for_page)
    }

    async fn host_for(&self, slot: &Slot) -> Reply<Host> {
        self.hub.host_unless(&slot.cancel).await.map_err(for_page)
    }
}

/// Which API this is, and which document asks.
#[tauri::command]
#[specta::specta]
pub(crate) async fn get_api_info(page: Page) -> Reply<ApiInfo> {
    Ok(ApiInfo { api_version: API_VERSION, document_id: page.document.to_string() })
}

/// All configured servers.
#[tauri::command]
#[specta::specta]
pub(crate) async fn list_servers(page: Page) -> Reply<Vec<ServerSummary>> {
    let host = page.host().await?;
    Ok(host.list_servers(Audience::Page).iter().map(ServerStatus::summary).collect())
}

/// One server's state, and why it is not connected.
#[tauri::command]
#[specta::specta]
pub(crate) async fn get_server_status(page: Page, input: Input<ServerInput>) -> Reply<ServerStatus> {
    page.host().await?.server_status(&input.0.server_id, Audience::Page).map_err(for_page)
}

/// Connects a configured server and holds it for this document.
#[tauri::command]
#[specta::specta]
pub(crate) async fn connect_server(page: Page, input: Input<ConnectServerInput>) -> Reply<ServerStatus> {
    let (slot, options) = page.begin(None)?;
    let host = page.host_for(&slot).await?;
    let status = host.connect_server(&input.0.server_id, &page.caller(), options).await.map_err(for_page)?;
    if slot.cancel.is_cancelled() {
        // The document went while the server came: nobody would ever release this hold.
        host.disconnect_server(status.id.as_str(), &page.caller()).await.map_err(for_page)?;
    }
    host.server_status(status.id.as_str(), Audience::Page).map_err(for_page)
}

/// Releases this document's hold.
#[tauri::command]
#[specta::specta]
pub(crate) async fn disconnect_server(page: Page, input: Input<ServerInput>) -> Reply<()> {
    let host = page.host().await?;
    host.disconnect_server(&input.0.server_id, &page.caller()).await.map_err(for_page)
}

/// A server's tools, with what a call would meet.
#[tauri::command]
#[specta::specta]
pub(crate) async fn list_tools(page: Page, input: Input<ServerInput>) -> Reply<Vec<ToolSummary>> {
    let (slot, options) = page.begin(None)?;
    let host = page.host_for(&slot).await?;
    host.list_tools(&input.0.server_id, &page.caller(), options).await.map_err(for_page)
}

/// Calls a tool. Where the policy says so the person is asked in a native dialog first.
#[tauri::command]
#[specta::specta]
pub(crate) async fn call_tool(
    page: Page,
    input: Input<CallToolInput>,
    options: Input<Option<Options>>,
    on_progress: Channel<Progress>,
) -> Reply<ToolResult> {
    let (slot, mut options) = page.begin(options.0)?;
    options.progress = Some(Box::new(move |progress| {
        let _ = on_progress.send(progress);
    }));
    let CallToolInput { server_id, name, arguments: value, arguments_json, approval_token } = input.0;
    let arguments = arguments(value, arguments_json).map_err(for_page)?;
    let call = ToolCall { server: server_id, tool: name, arguments, approval_token };
    page.host_for(&slot).await?.call_tool(call, page.caller(), options).await.map_err(for_page)
}

/// Asks the person now, and returns a token for exactly this call.
#[tauri::command]
#[specta::specta]
pub(crate) async fn request_approval(
    page: Page,
    input: Input<RequestApprovalInput>,
    options: Input<Option<Options>>,
) -> Reply<Approval> {
    let (slot, options) = page.begin(options.0)?;
    let RequestApprovalInput { server_id, name, arguments: value, arguments_json } = input.0;
    let arguments = arguments(value, arguments_json).map_err(for_page)?;
    let call = ToolCall { server: server_id, tool: name, arguments, approval_token: None };
    page.host_for(&slot).await?.request_approval(call, page.caller(), options).await.map_err(for_page)
}

/// What a server lists as resources.
#[tauri::command]
#[specta::specta]
pub(crate) async fn list_resources(page: Page, input: Input<ServerInput>) -> Reply<Vec<ResourceSummary>> {
    let (slot, options) = page.begin(None)?;
    let host = page.host_for(&slot).await?;
    host.list_resources(&input.0.server_id, &page.caller(), options).await.map_err(for_page)
}

/// What a server lists as resource templates.
#[tauri::command]
#[specta::specta]
pub(crate) async fn list_resource_templates(
    page: Page,
    input: Input<ServerInput>,
) -> Reply<Vec<ResourceTemplateSummary>> {
    let (slot, options) = page.begin(None)?;
    let host = page.host_for(&slot).await?;
    host.list_resource_templates(&input.0.server_id, &page.caller(), options).await.map_err(for_page)
}

/// Reads a resource.
#[tauri::command]
#[specta::specta]
pub(crate) async fn read_resource(
    page: Page,
    input: Input<ReadResourceInput>,
    options: Input<Option<Options>>,
) -> Reply<ResourceContent> {
    let (slot, options) = page.begin(options.0)?;
    let ReadResourceInput { server_id, uri } = input.0;
    page.host_for(&slot).await?.read_resource(&server_id, &uri, page.caller(), options).await.map_err(for_page)
}

/// Watches a resource; returns the subscription, for `unsubscribe_resource`.
#[tauri::command]
#[specta::specta]
pub(crate) async fn subscribe_resource(
    page: Page,
    input: Input<ReadResourceInput>,
    on_change: Channel<ResourceChange>,
) -> Reply<u32> {
    let (slot, options) = page.begin(None)?;
    let ReadResourceInput { server_id, uri } = input.0;
    let host = page.host_for(&slot).await?;
    let server = host.server_status(&server_id, Audience::Page).map_err(for_page)?.id;
    let documents = &page.hub.documents;
    // First ours, then the server's: no change is missed in between.
    let subscription =
        documents.watch(&page.label, page.document, server.clone(), uri.clone(), on_change).map_err(for_page)?;
    let subscribed = host.subscribe_resource(server.as_str(), &uri, page.caller(), options).await;
    if subscribed.is_err() {
        documents.unwatch(&page.label, page.document, subscription);
    }
    if subscribed.is_ok() && slot.cancel.is_cancelled() {
        // The document went in between: nobody would ever unsubscribe.
        host.unsubscribe_resource(server.as_str(), &uri, &page.caller()).await.map_err(for_page)?;
    }
    subscribed.map(|()| subscription).map_err(for_page)
}

/// Ends the watching of a resource. A second time it does nothing.
#[tauri::command]
#[specta::specta]
pub(crate) async fn unsubscribe_resource(page: Page, input: Input<SubscriptionInput>) -> Reply<()> {
    let watched = page.hub.documents.unwatch(&page.label, page.document, input.0.subscription);
    let Some((server, uri)) = watched else { return Ok(()) };
    page.host().await?.unsubscribe_resource(server.as_str(), &uri, &page.caller()).await.map_err(for_page)
}

/// What a server lists as prompts.
#[tauri::command]
#[specta::specta]
pub(crate) async fn list_prompts(page: Page, input: Input<ServerInput>) -> Reply<Vec<PromptSummary>> {
    let (slot, options) = page.begin(None)?;
    let host = page.host_for(&slot).await?;
    host.list_prompts(&input.0.server_id, &page.caller(), options).await.map_err(for_page)
}

/// A prompt's messages, as data.
#[tauri::command]
#[specta::specta]
pub(crate) async fn get_prompt(
    page: Page,
    input: Input<GetPromptInput>,
    options: Input<Option<Options>>,
) -> Reply<PromptContent> {
    let (slot, options) = page.begin(options.0)?;
    let GetPromptInput { server_id, name, arguments: value } = input.0;
    let arguments = arguments(value, None).map_err(for_page)?;
    page.host_for(&slot).await?.get_prompt(&server_id, &name, arguments, page.caller(), options).await.map_err(for_page)
}

/// Completes an argument of a prompt or a resource template.
#[tauri::command]
#[specta::specta]
pub(crate) async fn complete(
    page: Page,
    input: Input<CompleteInput>,
    options: Input<Option<Options>>,
) -> Reply<Completion> {
    let (slot, options) = page.begin(options.0)?;
    let CompleteInput { server_id, r#ref: target, argument, context } = input.0;
    let argument = (argument.name, argument.value);
    let host = page.host_for(&slot).await?;
    host.complete(&server_id, target, argument, context.unwrap_or_default(), page.caller(), options)
        .await
        .map_err(for_page)
}

/// Live events, without replay; returns the subscription, for `unsubscribe_events`.
#[tauri::command]
#[specta::specta]
pub(crate) async fn subscribe_events(page: Page, on_event: Channel<PageEvent>) -> Reply<u32> {
    page.hub.documents.subscribe(&page.label, page.document, on_event).map_err(for_page)
}

/// Ends a subscription to events. A second time it does nothing.
#[tauri::command]
#[specta::specta]
pub(crate) async fn unsubscribe_events(page: Page, input: Input<SubscriptionInput>) -> Reply<()> {
    page.hub.documents.unsubscribe(&page.label, page.document, input.0.subscription);
    Ok(())
}

/// Takes back a pending request of this document. What is not pending is ignored.
#[tauri::command]
#[specta::specta]
pub(crate) async fn cancel_call(page: Page, input: Input<CancelCallInput>) -> Reply<()> {
    page.hub.documents.cancel(&page.label, page.document, &input.0.request_id);
    Ok(())
}

/// Opens the host's own settings window.
#[tauri::command]
#[specta::specta]
pub(crate) async fn open_settings<R: Runtime>(page: Page, app: AppHandle<R>) -> Reply<()> {
    page.hub.opening.take().map_err(for_page)?;
    settings::open(&app).map_err(for_page)
}
