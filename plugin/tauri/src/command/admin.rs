//! What the settings window asks: the person's own acts. Each is a thin call of [`Admin`] as [`Caller::Settings`], so
//! that whatever widens ends in the native dialog; a failure is told in full.

use std::collections::BTreeMap;

use mcp_host_core::{
    Host,
    approval::Language,
    error::{Audience, ErrorInfo},
    host::{GrantTarget, NewRule, RequestOptions, ServerChange, ToolCall},
    model::{
        Caller, CallerKind, Progress, ServerStatus, ToolResult,
        admin::{
            AuditFilter, AuditPage, CheckView, LogLine, Overview, RuleView, ServerDetails, TrustView, WaitingView,
        },
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tauri::ipc::Channel;

use super::{
    caller::Settings,
    for_person,
    input::{Input, Options, arguments, json_text},
};
use crate::{document::Slot, event::Hint, settings};

type Reply<T> = Result<T, ErrorInfo>;

/// What the window has to know before it asks for anything.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "HostEnvironment", rename_all = "camelCase")]
pub(crate) struct Environment {
    /// `en` or `zh-CN`.
    language: String,
    /// The plugin's version.
    version: String,
}

/// Which server.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostServerInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ServerInput {
    server_id: String,
}

/// A new entry of servers.json.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostAddServerInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AddServerInput {
    /// Its name, where the snippet has none.
    #[serde(default)]
    #[specta(optional, type = String)]
    key: Option<String>,
    /// Anything that can be read as one or more entries.
    snippet: String,
}

/// An entry anew.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostEditServerInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct EditServerInput {
    server_id: String,
    /// The whole entry, as JSON text.
    entry: String,
}

/// On or off.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostSetServerEnabledInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SetServerEnabledInput {
    server_id: String,
    enabled: bool,
}

/// A launch to be confirmed as it stands.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostConfirmServerInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ConfirmServerInput {
    server_id: String,
    /// RFC 3339.
    #[serde(default)]
    #[specta(optional, type = String)]
    expires_at: Option<String>,
}

/// Tools of one server.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostPinToolsInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PinToolsInput {
    server_id: String,
    /// Absent = all.
    #[serde(default)]
    #[specta(optional, type = Vec<String>)]
    tools: Option<Vec<String>>,
}

/// Whose trust ends.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostRevokeTrustInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RevokeTrustInput {
    server_id: String,
    /// Absent = the launch and all tools.
    #[serde(default)]
    #[specta(optional, type = Vec<String>)]
    tools: Option<Vec<String>>,
    /// An explicit no, instead of "not decided".
    #[serde(default)]
    #[specta(optional)]
    deny: bool,
}

/// How a tool counts.
#[derive(Clone, Copy, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostToolClass", rename_all = "kebab-case")]
pub(crate) enum ToolClass {
    /// It only reads.
    ReadOnly,
    /// It always asks.
    Costly,
    /// Neither.
    None,
}

/// A tool's class.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostClassifyToolInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ClassifyToolInput {
    server_id: String,
    tool: String,
    class: ToolClass,
}

/// Whether a server's annotations are to be believed.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostSetTrustAnnotationsInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SetTrustAnnotationsInput {
    server_id: String,
    trust: bool,
}

/// A call that the person tries out.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostCallToolInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CallToolInput {
    server_id: String,
    name: String,
    /// JSON text of an object; absent = `{}`.
    #[serde(default)]
    #[specta(optional, type = String)]
    arguments_json: Option<String>,
}

/// A pending call of this window.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostCancelCallInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CancelCallInput {
    request_id: String,
}

/// What a rule does.
#[derive(Clone, Copy, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostRuleEffect", rename_all = "lowercase")]
#[allow(missing_docs, reason = "policy.md §4")]
pub(crate) enum Effect {
    Allow,
    Ask,
    Deny,
}

/// How long a rule counts.
#[derive(Clone, Copy, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostRuleScope", rename_all = "lowercase")]
pub(crate) enum Scope {
    /// For one call.
    Once,
    /// Until revoked.
    Always,
}

/// What a rule is about.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(
    rename = "HostRuleTarget",
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub(crate) enum Target {
    /// One tool; without a server only for `deny`.
    Tool {
        #[serde(default)]
        #[specta(optional, type = String)]
        server_id: Option<String>,
        tool: String,
    },
    /// All of a server.
    Server { server_id: String },
    /// Its resources, or those whose URI matches.
    Resources {
        server_id: String,
        #[serde(default)]
        #[specta(optional, type = String)]
        uri: Option<String>,
    },
    /// Its prompts.
    Prompts { server_id: String },
}

/// A rule to be made.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostAddRuleInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AddRuleInput {
    effect: Effect,
    target: Target,
    /// Empty or absent = every kind for `ask` and `deny`.
    #[serde(default)]
    #[specta(optional)]
    callers: Vec<CallerKind>,
    scope: Scope,
    /// RFC 3339.
    #[serde(default)]
    #[specta(optional, type = String)]
    expires_at: Option<String>,
    /// Exactly these arguments, as JSON text.
    #[serde(default)]
    #[specta(optional, type = String)]
    exact_json: Option<String>,
    /// JSON pointer → JSON text that the argument must equal.
    #[serde(default)]
    #[specta(optional)]
    equals_json: BTreeMap<String, String>,
    /// JSON pointer → path glob.
    #[serde(default)]
    #[specta(optional)]
    path_globs: BTreeMap<String, String>,
    /// JSON pointer → words that the value must begin with.
    #[serde(default)]
    #[specta(optional)]
    word_prefixes: BTreeMap<String, String>,
    /// JSON pointers of arguments that may be anything.
    #[serde(default)]
    #[specta(optional)]
    any: Vec<String>,
}

/// Which rule, question or run.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostIdInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct IdInput {
    id: String,
}

/// A call that is only looked at.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostCheckCallInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CheckCallInput {
    #[serde(default)]
    #[specta(optional, type = String)]
    server_id: Option<String>,
    tool: String,
    /// JSON text of an object; absent = `{}`.
    #[serde(default)]
    #[specta(optional, type = String)]
    arguments_json: Option<String>,
    caller: CallerKind,
}

/// A mode of policy.md §1.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostSetModeInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SetModeInput {
    /// Absent = the host's.
    #[serde(default)]
    #[specta(optional, type = String)]
    server_id: Option<String>,
    /// Absent = back to the default.
    #[serde(default)]
    #[specta(optional, type = String)]
    mode: Option<String>,
}

/// Whether calls are paused.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostSetPausedInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SetPausedInput {
    paused: bool,
}

/// Which run of the log.
#[derive(Clone, Debug, Deserialize, specta::Type)]
#[serde(rename = "HostVerifyAuditInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct VerifyAuditInput {
    /// Absent = all, and the list of runs.
    #[serde(default)]
    #[specta(optional, type = String)]
    run_id: Option<String>,
}

/// The report of a verification.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "HostAuditReport", transparent)]
pub(crate) struct AuditReport(#[specta(type = specta_typescript::Unknown)] Value);

impl Settings {
    async fn host(&self) -> Reply<Host> {
        self.hub.host().await.map_err(for_person)
    }

    fn begin(&self, request_id: Option<String>) -> Reply<(Slot, RequestOptions)> {
        let slot = self.hub.documents.request(settings::LABEL, self.document, request_id).map_err(for_person)?;
        let options = RequestOptions { cancel: slot.cancel.clone(), ..RequestOptions::default() };
        Ok((slot, options))
    }

    async fn change(&self, change: ServerChange) -> Reply<Vec<String>> {
        self.host().await?.admin().change_server(change, &Caller::Settings).await.map_err(for_person)
    }
}

/// What the window has to know first.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_get_environment(settings: Settings) -> Reply<Environment> {
    let language = match settings.hub.language {
        Language::English => "en",
        Language::SimplifiedChinese => "zh-CN",
    };
    Ok(Environment { language: language.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() })
}

/// Hints of what to ask for again, for as long as this document lives.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_watch(settings: Settings, on_hint: Channel<Hint>) -> Reply<()> {
    settings.hub.set_settings_ear(Some(on_hint));
    Ok(())
}

/// Servers, waiting questions, mode, places.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_get_overview(settings: Settings) -> Reply<Overview> {
    Ok(settings.host().await?.admin().overview())
}

/// One server in full.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_get_server(settings: Settings, input: Input<ServerInput>) -> Reply<ServerDetails> {
    settings.host().await?.admin().server(&input.0.server_id).await.map_err(for_person)
}

/// What a server wrote, oldest first.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_get_server_log(settings: Settings, input: Input<ServerInput>) -> Reply<Vec<LogLine>> {
    settings.host().await?.admin().server_log(&input.0.server_id).map_err(for_person)
}

/// Adds what the snippet describes; asks natively. Returns the ids.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_add_server(settings: Settings, input: Input<AddServerInput>) -> Reply<Vec<String>> {
    let AddServerInput { key, snippet } = input.0;
    settings.change(ServerChange::Add { key, snippet }).await
}

/// Replaces an entry; asks natively where the launch changed.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_edit_server(settings: Settings, input: Input<EditServerInput>) -> Reply<Vec<String>> {
    let EditServerInput { server_id: server, entry } = input.0;
    settings.change(ServerChange::Edit { server, entry }).await
}

/// Takes an entry out of servers.json.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_remove_server(settings: Settings, input: Input<ServerInput>) -> Reply<Vec<String>> {
    settings.change(ServerChange::Remove { server: input.0.server_id }).await
}

/// Turns a server on or off.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_set_server_enabled(
    settings: Settings,
    input: Input<SetServerEnabledInput>,
) -> Reply<Vec<String>> {
    let SetServerEnabledInput { server_id: server, enabled } = input.0;
    settings.change(ServerChange::SetEnabled { server, enabled }).await
}

/// Confirms a launch as it stands; asks natively.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_confirm_server(settings: Settings, input: Input<ConfirmServerInput>) -> Reply<()> {
    let ConfirmServerInput { server_id, expires_at } = input.0;
    let host = settings.host().await?;
    host.admin().confirm_server(&server_id, expires_at, &Caller::Settings).await.map_err(for_person)
}

/// Connects, for the person.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_connect_server(settings: Settings, input: Input<ServerInput>) -> Reply<ServerStatus> {
    let (_slot, options) = settings.begin(None)?;
    let host = settings.host().await?;
    let server = &input.0.server_id;
    host.connect_server(server, &Caller::Settings, options).await.map_err(for_person)?;
    host.server_status(server, Audience::Person).map_err(for_person)
}

/// Releases the person's hold.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_disconnect_server(settings: Settings, input: Input<ServerInput>) -> Reply<()> {
    let host = settings.host().await?;
    host.disconnect_server(&input.0.server_id, &Caller::Settings).await.map_err(for_person)
}

/// Ends and starts a server, also out of `failed`.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_restart_server(settings: Settings, input: Input<ServerInput>) -> Reply<()> {
    settings.host().await?.admin().restart_server(&input.0.server_id).await.map_err(for_person)
}

/// Reviews tools, in one native step; returns those that were pinned.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_pin_tools(settings: Settings, input: Input<PinToolsInput>) -> Reply<Vec<String>> {
    let PinToolsInput { server_id, tools } = input.0;
    settings.host().await?.admin().pin_tools(&server_id, tools, &Caller::Settings).await.map_err(for_person)
}

/// Ends the trust in a launch and its tools, or in some tools.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_revoke_trust(settings: Settings, input: Input<RevokeTrustInput>) -> Reply<()> {
    let RevokeTrustInput { server_id, tools, deny } = input.0;
    let host = settings.host().await?;
    host.admin().revoke_trust(&server_id, tools, deny, &Caller::Settings).await.map_err(for_person)
}

/// What was confirmed.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_list_trust(settings: Settings) -> Reply<Vec<TrustView>> {
    settings.host().await?.admin().trust().map_err(for_person)
}

/// Classes a tool; widening asks natively.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_classify_tool(settings: Settings, input: Input<ClassifyToolInput>) -> Reply<()> {
    let ClassifyToolInput { server_id, tool, class } = input.0;
    let class = match class {
        ToolClass::ReadOnly => Some("read-only"),
        ToolClass::Costly => Some("costly"),
        ToolClass::None => None,
    };
    let host = settings.host().await?;
    host.admin().classify_tool(&server_id, &tool, class, &Caller::Settings).await.map_err(for_person)
}

/// Believes a server's annotations, or no longer; believing asks natively.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_set_trust_annotations(
    settings: Settings,
    input: Input<SetTrustAnnotationsInput>,
) -> Reply<()> {
    let SetTrustAnnotationsInput { server_id, trust } = input.0;
    let host = settings.host().await?;
    host.admin().set_trust_annotations(&server_id, trust, &Caller::Settings).await.map_err(for_person)
}

/// Tries a tool out, through the policy, as the person.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_call_tool(
    settings: Settings,
    input: Input<CallToolInput>,
    options: Input<Option<Options>>,
    on_progress: Channel<Progress>,
) -> Reply<ToolResult> {
    let wanted = options.0.unwrap_or_default();
    let (_slot, mut options) = settings.begin(wanted.request_id)?;
    options.timeout = wanted.timeout_ms.map(|ms| std::time::Duration::from_millis(ms.into()));
    options.progress = Some(Box::new(move |progress| {
        let _ = on_progress.send(progress);
    }));
    let CallToolInput { server_id, name, arguments_json } = input.0;
    let arguments = arguments(None, arguments_json).map_err(for_person)?;
    let call = ToolCall { server: server_id, tool: name, arguments, approval_token: None };
    settings.host().await?.call_tool(call, Caller::Settings, options).await.map_err(for_person)
}

/// Takes back a pending call of this window.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_cancel_call(settings: Settings, input: Input<CancelCallInput>) -> Reply<()> {
    settings.hub.documents.cancel(settings::LABEL, settings.document, &input.0.request_id);
    Ok(())
}

/// What may run without asking, and what may not.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_list_rules(settings: Settings) -> Reply<Vec<RuleView>> {
    settings.host().await?.admin().rules().map_err(for_person)
}

/// Makes a rule; an allow asks natively. Returns its id.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_add_rule(settings: Settings, input: Input<AddRuleInput>) -> Reply<String> {
    let rule = rule(input.0).map_err(for_person)?;
    settings.host().await?.admin().add_rule(rule, &Caller::Settings).await.map_err(for_person)
}

fn rule(input: AddRuleInput) -> mcp_host_core::Result<NewRule> {
    let effect = match input.effect {
        Effect::Allow => "allow",
        Effect::Ask => "ask",
        Effect::Deny => "deny",
    };
    let scope = match input.scope {
        Scope::Once => "once",
        Scope::Always => "always",
    };
    let target = match input.target {
        Target::Tool { server_id: server, tool } => GrantTarget::Tool { server, tool },
        Target::Server { server_id } => GrantTarget::Server(server_id),
        Target::Resources { server_id: server, uri } => GrantTarget::Resources { server, uri },
        Target::Prompts { server_id: server } => GrantTarget::Prompts { server },
    };
    let exact = input.exact_json.map(|text| json_text("/exactJson", &text)).transpose()?;
    let equals = input
        .equals_json
        .into_iter()
        .map(|(pointer, text)| json_text("/equalsJson", &text).map(|value| (pointer, value)))
        .collect::<Result<_, _>>()?;
    Ok(NewRule {
        effect: effect.to_owned(),
        target: Some(target),
        callers: input.callers,
        scope: scope.to_owned(),
        expires_at: input.expires_at,
        exact,
        equals,
        path_globs: input.path_globs,
        word_prefixes: input.word_prefixes,
        any: input.any,
    })
}

/// Revokes a rule, at once.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_revoke_rule(settings: Settings, input: Input<IdInput>) -> Reply<()> {
    settings.host().await?.admin().revoke_rule(&input.0.id, &Caller::Settings).await.map_err(for_person)
}

/// What would be decided, and why. Makes nothing happen.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_check_call(settings: Settings, input: Input<CheckCallInput>) -> Reply<CheckView> {
    let CheckCallInput { server_id, tool, arguments_json, caller } = input.0;
    let arguments = arguments(None, arguments_json).map_err(for_person)?;
    let host = settings.host().await?;
    host.admin().check(server_id.as_deref(), &tool, arguments, caller).await.map_err(for_person)
}

/// Sets a mode; a wider one asks natively.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_set_mode(settings: Settings, input: Input<SetModeInput>) -> Reply<()> {
    let SetModeInput { server_id, mode } = input.0;
    let host = settings.host().await?;
    host.admin().set_mode(server_id.as_deref(), mode.as_deref(), &Caller::Settings).await.map_err(for_person)
}

/// Pauses every call that is not the person's own, or goes on.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_set_paused(settings: Settings, input: Input<SetPausedInput>) -> Reply<()> {
    settings.host().await?.admin().set_paused(input.0.paused);
    Ok(())
}

/// The questions that wait, in full.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_list_waiting(settings: Settings) -> Reply<Vec<WaitingView>> {
    Ok(settings.host().await?.admin().waiting())
}

/// Brings a question's native dialog to the front; the answer is given there.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_raise_waiting(settings: Settings, input: Input<IdInput>) -> Reply<()> {
    settings.host().await?.admin().raise_waiting(&input.0.id).map_err(for_person)
}

/// Takes a question away, unanswered.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_cancel_waiting(settings: Settings, input: Input<IdInput>) -> Reply<()> {
    settings.host().await?.admin().cancel_waiting(&input.0.id).map_err(for_person)
}

/// A page of the log, newest first.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_query_audit(settings: Settings, input: Input<AuditFilter>) -> Reply<AuditPage> {
    settings.host().await?.admin().audit(input.0).await.map_err(for_person)
}

/// Verifies one run, or all of them.
#[tauri::command]
#[specta::specta]
pub(crate) async fn admin_verify_audit(settings: Settings, input: Input<VerifyAuditInput>) -> Reply<AuditReport> {
    let host = settings.host().await?;
    host.admin().verify_audit(input.0.run_id.as_deref(), None).await.map(AuditReport).map_err(for_person)
}
