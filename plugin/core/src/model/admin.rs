//! What the trusted side sees: the settings window and the command line. None of it ever reaches a page.

use serde::{Deserialize, Serialize};

use super::{CallerKind, Permission, ServerId, ServerStatus, TransportKind};

/// A name and its unexpanded value (`${secret:token}` stays as it is written).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, specta::Type)]
#[serde(rename = "HostVariable", rename_all = "camelCase")]
#[allow(missing_docs, reason = "self-explanatory")]
pub struct Variable {
    pub name: String,
    pub value: String,
}

/// A launch exactly as it will run, before variables are expanded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, specta::Type)]
#[serde(rename = "HostLaunch", rename_all = "camelCase")]
#[allow(missing_docs, reason = "named as in servers.json")]
pub struct LaunchView {
    pub transport: TransportKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub command: Option<String>,
    pub args: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub url: Option<String>,
    pub env: Vec<Variable>,
    pub headers: Vec<Variable>,
    pub env_passthrough: Vec<String>,
    /// The program that `command` resolves to now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub program: Option<String>,
    /// Variables and secrets of this machine that will go to the server.
    pub receives: Vec<String>,
    /// What is worth a second look (`npx -y` without a version, a world-writable program…).
    pub cautions: Vec<String>,
}

/// Where a definition stands against what was approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, specta::Type)]
#[serde(rename = "HostPinState", rename_all = "lowercase")]
#[allow(missing_docs, reason = "policy.md §6")]
pub enum PinState {
    Unseen,
    Pinned,
    Changed,
    Gone,
}

/// A tool as the settings window shows it.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "HostTool", rename_all = "camelCase")]
#[allow(missing_docs, reason = "self-explanatory")]
pub struct ToolView {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = specta_typescript::Unknown)]
    pub input_schema: Option<super::Raw>,
    /// For each kind of caller, what a call would meet.
    pub permissions: Vec<CallerPermission>,
    pub pin: PinState,
    /// What changed since it was approved, line by line (`+`/`-`), when it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub difference: Option<String>,
    /// The person classed it (or its trusted annotations say) read-only.
    pub read_only: bool,
    /// The person marked it costly.
    pub costly: bool,
    /// Turned off by `disabledTools`, or two definitions under one name.
    pub disabled: bool,
    /// Rough number of model tokens that its definition costs.
    pub tokens: u32,
    pub diagnostics: Vec<String>,
}

/// What one kind of caller meets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename = "HostCallerPermission", rename_all = "camelCase")]
#[allow(missing_docs, reason = "self-explanatory")]
pub struct CallerPermission {
    pub caller: CallerKind,
    pub permission: Permission,
    /// The rule that decides (policy.md §3).
    pub rule: String,
}

/// One server in full.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "HostServer", rename_all = "camelCase")]
#[allow(missing_docs, reason = "self-explanatory")]
pub struct ServerDetails {
    pub status: ServerStatus,
    /// The key in servers.json.
    pub key: String,
    /// The entry as it stands in servers.json, as JSON text, for editing.
    pub entry: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = LaunchView)]
    pub launch: Option<LaunchView>,
    /// What differs from the launch that was confirmed, in lines, when it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub launch_difference: Option<String>,
    /// RFC 3339; absent = never confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub confirmed_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub confirmed_by: Option<String>,
    pub fingerprint: String,
    pub trust_annotations: bool,
    /// This server's own mode, if one is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub mode: Option<String>,
    pub tools: Vec<ToolView>,
    /// Rough number of model tokens that its tools cost together.
    pub tokens: u32,
    /// First start downloads a package: "downloading" is a likely reason for a long start.
    pub downloading: bool,
}

/// A line that a server wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename = "HostLogLine", rename_all = "camelCase")]
#[allow(missing_docs, reason = "self-explanatory")]
pub struct LogLine {
    /// RFC 3339.
    pub time: String,
    /// `stderr`, `stdout` (noise) or `log` (MCP logging).
    pub stream: String,
    pub text: String,
}

/// A rule as it is listed.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "HostRule", rename_all = "camelCase")]
#[allow(missing_docs, reason = "policy.md §4")]
pub struct RuleView {
    pub id: String,
    /// `allow`, `ask` or `deny`.
    pub effect: String,
    /// `call`, `read` or `prompt`.
    pub operation: String,
    pub callers: Vec<CallerKind>,
    /// Absent = every server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub server: Option<String>,
    /// Absent = every tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub tool: Option<String>,
    /// `once`, `session` or `always`.
    pub scope: String,
    /// Its conditions, one line each, in words.
    pub conditions: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub expires_at: Option<String>,
    pub created_at: String,
    pub made_by: String,
    pub uses: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub last_used_at: Option<String>,
    /// Set when it does not count: the server or the definition changed, or it expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub dormant: Option<String>,
}

/// A question that waits for the person.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "HostWaiting", rename_all = "camelCase")]
#[allow(missing_docs, reason = "self-explanatory")]
pub struct WaitingView {
    pub id: String,
    pub caller: CallerKind,
    /// The window, run or client.
    pub who: String,
    pub server: String,
    pub name: String,
    pub heading: String,
    /// Facts as `label: text`.
    pub facts: Vec<String>,
    /// The arguments, pretty-printed and inert.
    pub arguments: String,
    /// It is in a dialog now; else it waits in the queue.
    pub shown: bool,
    /// RFC 3339.
    pub asked_at: String,
}

/// One record of the log, as the table shows it.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "HostAuditRow", rename_all = "camelCase")]
#[allow(missing_docs, reason = "audit.md")]
pub struct AuditRow {
    pub run_id: String,
    #[specta(type = specta_typescript::Number)]
    pub seq: u64,
    pub event_id: String,
    pub event_type: String,
    /// RFC 3339.
    pub time: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub caller: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub server: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub decision: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub rule: Option<String>,
    /// The whole payload, redacted, as JSON.
    #[specta(type = specta_typescript::Unknown)]
    pub payload: super::Raw,
    /// The record exactly as its line stands in the file; for the command line.
    #[serde(skip)]
    #[specta(skip)]
    pub line: super::Raw,
}

/// What to list of the log.
#[derive(Clone, Debug, Default, Deserialize, specta::Type)]
#[serde(rename = "HostAuditFilter", rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs, reason = "self-explanatory")]
pub struct AuditFilter {
    #[serde(default)]
    pub server: Option<String>,
    #[serde(default)]
    pub tool: Option<String>,
    #[serde(default)]
    pub caller: Option<CallerKind>,
    /// `allowed`, `denied`, `failed`…
    #[serde(default)]
    pub decision: Option<String>,
    #[serde(default)]
    pub rule: Option<String>,
    #[serde(default)]
    pub run_id: Option<String>,
    #[serde(default)]
    pub call_id: Option<String>,
    /// Any text in the record.
    #[serde(default)]
    pub text: Option<String>,
    /// RFC 3339, inclusive.
    #[serde(default)]
    pub since: Option<String>,
    /// RFC 3339, exclusive.
    #[serde(default)]
    pub until: Option<String>,
    /// From the previous page.
    #[serde(default)]
    pub cursor: Option<String>,
    /// At most 1,000; default 200.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// A page of the log, newest first.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "HostAuditPage", rename_all = "camelCase")]
#[allow(missing_docs, reason = "self-explanatory")]
pub struct AuditPage {
    pub rows: Vec<AuditRow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub next_cursor: Option<String>,
}

/// `trust list`: what was confirmed of one server.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "HostTrust", rename_all = "camelCase")]
#[allow(missing_docs, reason = "serve.md, shapes")]
pub struct TrustView {
    pub server_id: ServerId,
    /// `confirmed`, `unconfirmed`, `changed`, `expired` or `denied`.
    pub state: String,
    pub fingerprint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub confirmed_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub expires_at: Option<String>,
    pub tools: Vec<TrustedTool>,
}

/// One tool of [`TrustView`].
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "HostTrustedTool", rename_all = "camelCase")]
#[allow(missing_docs, reason = "serve.md, shapes")]
pub struct TrustedTool {
    pub name: String,
    pub pin: PinState,
}

/// The head of the settings window.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "HostOverview", rename_all = "camelCase")]
#[allow(missing_docs, reason = "self-explanatory")]
pub struct Overview {
    pub servers: Vec<ServerStatus>,
    pub waiting: Vec<WaitingView>,
    /// The effective mode of the host.
    pub mode: String,
    /// The mode stands in a flag, or is `danger-full-access`: shown as a permanent banner.
    pub mode_banner: bool,
    pub paused: bool,
    pub config_file: String,
    pub state_folder: String,
    /// `keychain` or `file`.
    pub key_kept_in: String,
    /// What is wrong with our own files, each with its next step.
    pub problems: Vec<String>,
    pub version: String,
}

/// `approval check`.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "HostCheck", rename_all = "camelCase")]
#[allow(missing_docs, reason = "serve.md, shapes")]
pub struct CheckView {
    /// `allow`, `ask` or `deny`.
    pub decision: String,
    pub rule: String,
    /// The steps of policy.md §3 in the order in which they were looked at, up to the one that decided.
    pub order: Vec<String>,
}
