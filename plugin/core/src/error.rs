//! What can go wrong: one enum, one code for each kind, one flat shape for the wire.
//!
//! An error has two readers. A *person* (settings window, command line) may read all of it: paths, where a command
//! was looked for, the last lines a server wrote. The *page* is untrusted and reads the code, the reason and a
//! sentence without any of that. [`Error::info`] makes either; nothing else may serialise an error.

mod code;

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value, json};

pub use code::{ConnectReason, ErrorCode, LaunchReason};

use crate::model::ServerId;

/// This crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One try to reach a server over one transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectAttempt {
    /// `http` or `sse`.
    pub transport: &'static str,
    /// The HTTP status, if an answer came.
    pub status: Option<u16>,
    /// Why it failed.
    pub reason: ConnectReason,
    /// The whole story for the person; never told to the page.
    pub private: String,
}

/// What only the person may read about a failed launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchDetails {
    /// The field of the entry that is to blame, as a JSON pointer (`/env/TOKEN`).
    pub field: Option<String>,
    /// The command or folder that was looked for.
    pub path: Option<String>,
    /// The folders it was looked for in.
    pub looked_in: Vec<String>,
    /// The last lines that the server wrote to stderr, secrets masked.
    pub stderr_tail: Vec<String>,
}

/// Everything this crate can fail with.
///
/// Messages start in lower case, put values in backticks, and end with what to do. Fields named `private` hold what the
/// page must not read.
#[derive(Clone, Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are named as on the wire")]
pub enum Error {
    /// A field of what was asked is wrong; `path` is its JSON pointer (`""` = the whole).
    #[error("{problem}")]
    InvalidInput { path: String, problem: String },
    /// No server of that id is configured.
    #[error("no server is called `{server}`; see the list of servers for the names there are")]
    ServerNotFound { server: String },
    /// The person turned the server off.
    #[error(
        "server `{server}` is disabled; enable it in the settings window or with `mcp-host servers enable {server}`"
    )]
    ServerDisabled { server: ServerId },
    /// Its launch is new or changed and nobody has confirmed it.
    #[error(
        "server `{server}` is new or was changed and waits for your confirmation; confirm it in the settings window or with `mcp-host trust allow --server {server}`"
    )]
    ServerUnapproved { server: ServerId },
    /// It is not connected, and this request does not connect.
    #[error("server `{server}` is not connected; connect it first")]
    NotConnected { server: ServerId },
    /// A stdio server did not come up.
    #[error("{message}")]
    LaunchFailed {
        server: ServerId,
        reason: LaunchReason,
        message: String,
        exit_code: Option<i32>,
        private: Box<LaunchDetails>,
    },
    /// An HTTP or SSE server could not be reached.
    #[error("{message}")]
    ConnectFailed { server: ServerId, reason: ConnectReason, message: String, attempts: Vec<ConnectAttempt> },
    /// The server wants the person to sign in.
    #[error("server `{server}` needs you to sign in; use the settings window or `mcp-host login {server}`")]
    AuthRequired { server: ServerId },
    /// This build or platform cannot speak that transport.
    #[error("server `{server}` uses the `{transport}` transport, which this build does not support")]
    TransportUnsupported { server: ServerId, transport: String },
    /// The server offers no such tool.
    #[error("server `{server}` has no tool `{tool}`")]
    ToolNotFound { server: ServerId, tool: String },
    /// The tool is there and must not be called.
    #[error("tool `{tool}` of server `{server}` is disabled: {why}")]
    ToolDisabled { server: ServerId, tool: String, why: String },
    /// The server did not declare that capability.
    #[error("server `{server}` does not offer {capability}")]
    CapabilityMissing { server: ServerId, capability: &'static str },
    /// The server knows no such resource.
    #[error("server `{server}` has no resource `{uri}`")]
    ResourceNotFound { server: ServerId, uri: String },
    /// The server knows no such prompt.
    #[error("server `{server}` has no prompt `{prompt}`")]
    PromptNotFound { server: ServerId, prompt: String },
    /// Policy said no; `rule` is a name of the closed list.
    #[error("{message} (rule `{rule}`)")]
    PolicyDenied { server: Option<ServerId>, rule: String, message: String, digest: Option<String> },
    /// A person said no.
    #[error("the person denied {what}")]
    ApprovalDenied { server: Option<ServerId>, what: String, rule: String },
    /// The dialog was closed without an answer.
    #[error("the question about {what} was closed without an answer")]
    ApprovalDismissed { server: Option<ServerId>, what: String },
    /// Nobody answered in time.
    #[error("nobody answered the question about {what} in time")]
    ApprovalTimeout { server: Option<ServerId>, what: String },
    /// Too many questions wait already.
    #[error("too many approvals are waiting already; try again when some have been answered")]
    ApprovalBusy { server: Option<ServerId> },
    /// The token does not fit this call; `why` is the audited reason.
    #[error("the approval token does not allow this call: {why}")]
    ApprovalTokenInvalid { server: Option<ServerId>, why: &'static str },
    /// Approval is needed and there is nobody to ask.
    #[error("{what} needs approval and there is nobody to ask here (rule `{rule}`); {advice}")]
    ApprovalUnavailable { server: Option<ServerId>, what: String, rule: String, advice: String, digest: Option<String> },
    /// A limit of calls in time.
    #[error("{message}")]
    RateLimited { server: Option<ServerId>, message: String, retry_after_ms: Option<u32> },
    /// A time limit ran out.
    #[error("{what} timed out after {after_ms} ms{}", if *.sent { "; the server was told to cancel" } else { "; it had not been sent" })]
    Timeout { server: Option<ServerId>, what: String, after_ms: u32, sent: bool },
    /// The caller took it back.
    #[error("{what} was cancelled{}", if *.sent { "; the server was told" } else { "; it had not been sent" })]
    Cancelled { server: Option<ServerId>, what: String, sent: bool },
    /// It was sent, and the connection ended before the answer.
    #[error(
        "the connection to `{server}` ended after `{what}` had been sent and before it was answered: it may have happened"
    )]
    CallOutcomeUnknown { server: ServerId, what: String, exit_code: Option<i32> },
    /// The server answered with a JSON-RPC error.
    #[error("server `{server}` answered with error {jsonrpc_code}: {message}")]
    ServerError { server: ServerId, jsonrpc_code: i64, message: String },
    /// The server broke the protocol.
    #[error("server `{server}` broke the protocol: {problem}")]
    ProtocolError { server: ServerId, problem: String },
    /// An answer over a limit.
    #[error("the answer of `{server}` is larger than {limit} bytes; ask for less")]
    ResultTooLarge { server: ServerId, limit: u32 },
    /// A file of ours, or an entry in it, cannot be used.
    #[error("{message}")]
    ConfigInvalid {
        message: String,
        path: Option<String>,
        key: Option<String>,
        allowed: Vec<String>,
        private: Option<String>,
    },
    /// The log cannot be written, so nothing is sent.
    #[error("the audit log cannot be written, so nothing is sent: {problem}")]
    AuditUnavailable { problem: String },
    /// A broken invariant of ours.
    #[error("internal error: {problem}")]
    Internal { problem: String },
}

/// Who will read an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// An untrusted script: code, reason and a sentence.
    Page,
    /// The person, in the settings window or on the command line: everything but secrets.
    Person,
}

/// An error as it travels (`McpErrorInfo` of the contract).
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "McpErrorInfo", rename_all = "camelCase")]
pub struct ErrorInfo {
    /// Which kind; stable.
    pub code: ErrorCode,
    /// Prose, starting with `code + ": "`.
    pub message: String,
    /// The same request may succeed later without a change.
    pub retryable: bool,
    /// The server it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub server_id: Option<String>,
    /// Facts for programs; the shape depends on the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = specta_typescript::Unknown)]
    pub details: Option<Value>,
}

impl Error {
    /// A field of the input is wrong. `path` is its JSON pointer.
    pub fn invalid_input(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::InvalidInput { path: path.into(), problem: problem.into() }
    }

    /// A broken invariant of ours.
    pub fn internal(problem: impl fmt::Display) -> Self {
        Self::Internal { problem: problem.to_string() }
    }

    /// A file of ours cannot be used; `private` (paths) is for the person only.
    pub fn config_invalid(message: impl Into<String>) -> Self {
        Self::ConfigInvalid { message: message.into(), path: None, key: None, allowed: Vec::new(), private: None }
    }

    /// The code of this error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::InvalidInput { .. } => ErrorCode::InvalidInput,
            Self::ServerNotFound { .. } => ErrorCode::ServerNotFound,
            Self::ServerDisabled { .. } => ErrorCode::ServerDisabled,
            Self::ServerUnapproved { .. } => ErrorCode::ServerUnapproved,
            Self::NotConnected { .. } => ErrorCode::NotConnected,
            Self::LaunchFailed { .. } => ErrorCode::LaunchFailed,
            Self::ConnectFailed { .. } => ErrorCode::ConnectFailed,
            Self::AuthRequired { .. } => ErrorCode::AuthRequired,
            Self::TransportUnsupported { .. } => ErrorCode::TransportUnsupported,
            Self::ToolNotFound { .. } => ErrorCode::ToolNotFound,
            Self::ToolDisabled { .. } => ErrorCode::ToolDisabled,
            Self::CapabilityMissing { .. } => ErrorCode::CapabilityMissing,
            Self::ResourceNotFound { .. } => ErrorCode::ResourceNotFound,
            Self::PromptNotFound { .. } => ErrorCode::PromptNotFound,
            Self::PolicyDenied { .. } => ErrorCode::PolicyDenied,
            Self::ApprovalDenied { .. } => ErrorCode::ApprovalDenied,
            Self::ApprovalDismissed { .. } => ErrorCode::ApprovalDismissed,
            Self::ApprovalTimeout { .. } => ErrorCode::ApprovalTimeout,
            Self::ApprovalBusy { .. } => ErrorCode::ApprovalBusy,
            Self::ApprovalTokenInvalid { .. } => ErrorCode::ApprovalTokenInvalid,
            Self::ApprovalUnavailable { .. } => ErrorCode::ApprovalUnavailable,
            Self::RateLimited { .. } => ErrorCode::RateLimited,
            Self::Timeout { .. } => ErrorCode::Timeout,
            Self::Cancelled { .. } => ErrorCode::Cancelled,
            Self::CallOutcomeUnknown { .. } => ErrorCode::CallOutcomeUnknown,
            Self::ServerError { .. } => ErrorCode::ServerError,
            Self::ProtocolError { .. } => ErrorCode::ProtocolError,
            Self::ResultTooLarge { .. } => ErrorCode::ResultTooLarge,
            Self::ConfigInvalid { .. } => ErrorCode::ConfigInvalid,
            Self::AuditUnavailable { .. } => ErrorCode::AuditUnavailable,
            Self::Internal { .. } => ErrorCode::Internal,
        }
    }

    /// The server this is about, where there is one.
    pub fn server(&self) -> Option<&str> {
        match self {
            Self::ServerNotFound { server } => Some(server),
            Self::ServerDisabled { server }
            | Self::ServerUnapproved { server }
            | Self::NotConnected { server }
            | Self::LaunchFailed { server, .. }
            | Self::ConnectFailed { server, .. }
            | Self::AuthRequired { server }
            | Self::TransportUnsupported { server, .. }
            | Self::ToolNotFound { server, .. }
            | Self::ToolDisabled { server, .. }
            | Self::CapabilityMissing { server, .. }
            | Self::ResourceNotFound { server, .. }
            | Self::PromptNotFound { server, .. }
            | Self::CallOutcomeUnknown { server, .. }
            | Self::ServerError { server, .. }
            | Self::ProtocolError { server, .. }
            | Self::ResultTooLarge { server, .. } => Some(server.as_str()),
            Self::PolicyDenied { server, .. }
            | Self::ApprovalDenied { server, .. }
            | Self::ApprovalDismissed { server, .. }
            | Self::ApprovalTimeout { server, .. }
            | Self::ApprovalBusy { server }
            | Self::ApprovalTokenInvalid { server, .. }
            | Self::ApprovalUnavailable { server, .. }
            | Self::RateLimited { server, .. }
            | Self::Timeout { server, .. }
            | Self::Cancelled { server, .. } => server.as_ref().map(ServerId::as_str),
            Self::InvalidInput { .. }
            | Self::ConfigInvalid { .. }
            | Self::AuditUnavailable { .. }
            | Self::Internal { .. } => None,
        }
    }

    /// `details.reason`, where there is one.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::LaunchFailed { reason, .. } => Some(reason.as_str()),
            Self::ConnectFailed { reason, .. } => Some(reason.as_str()),
            Self::ApprovalTokenInvalid { why, .. } => Some(why),
            _ => None,
        }
    }

    /// The shape that travels, with only what `audience` may read.
    pub fn info(&self, audience: Audience) -> ErrorInfo {
        let code = self.code();
        let message = match (self, audience) {
            (Self::LaunchFailed { server, reason, exit_code, .. }, Audience::Page) => {
                let code = exit_code.map(|code| format!(" with code {code}")).unwrap_or_default();
                format!("server `{server}` did not start ({}{code}); the settings window says more", reason.as_str())
            }
            (Self::ConnectFailed { server, reason, .. }, Audience::Page) => {
                format!("server `{server}` could not be reached ({}); the settings window says more", reason.as_str())
            }
            (Self::Internal { .. }, Audience::Page) => {
                "internal error; the log of the application says more".to_owned()
            }
            (Self::AuditUnavailable { .. }, Audience::Page) => {
                "the audit log cannot be written, so nothing is sent".to_owned()
            }
            (Self::ConfigInvalid { message, private: Some(private), .. }, Audience::Person) => {
                format!("{message}: {private}")
            }
            _ => self.to_string(),
        };
        let details = self.details(audience);
        ErrorInfo {
            code,
            message: format!("{code}: {message}"),
            retryable: code.retryable(),
            server_id: self.server().map(str::to_owned),
            details: (!details.is_empty()).then_some(Value::Object(details)),
        }
    }

    fn details(&self, audience: Audience) -> Map<String, Value> {
        let mut details = Map::new();
        let mut put = |key: &str, value: Value| {
            if !value.is_null() {
                details.insert(key.to_owned(), value);
            }
        };
        match self {
            Self::InvalidInput { path, .. } => put("path", json!(path)),
            Self::LaunchFailed { reason, exit_code, private, .. } => {
                put("reason", json!(reason.as_str()));
                put("exitCode", json!(exit_code));
                if audience == Audience::Person {
                    put("field", json!(private.field));
                    put("path", json!(private.path));
                    if !private.looked_in.is_empty() {
                        put("lookedIn", json!(private.looked_in));
                    }
                    if !private.stderr_tail.is_empty() {
                        put("stderrTail", json!(private.stderr_tail));
                    }
                }
            }
            Self::ConnectFailed { reason, attempts, .. } => {
                put("reason", json!(reason.as_str()));
                let attempts = attempts.iter().map(|attempt| {
                    let mut one = json!({ "transport": attempt.transport, "reason": attempt.reason.as_str() });
                    if let Some(status) = attempt.status {
                        one["status"] = json!(status);
                    }
                    if audience == Audience::Person {
                        one["message"] = json!(attempt.private);
                    }
                    one
                });
                put("attempts", attempts.collect());
            }
            Self::ToolNotFound { tool, .. } | Self::ToolDisabled { tool, .. } => put("tool", json!(tool)),
            Self::PolicyDenied { rule, digest, .. } | Self::ApprovalUnavailable { rule, digest, .. } => {
                put("rule", json!(rule));
                put("payloadDigest", json!(digest));
            }
            Self::ApprovalDenied { rule, .. } => put("rule", json!(rule)),
            Self::ApprovalTokenInvalid { why, .. } => put("reason", json!(why)),
            Self::RateLimited { retry_after_ms, .. } => put("retryAfterMs", json!(retry_after_ms)),
            Self::Timeout { sent, .. } | Self::Cancelled { sent, .. } => put("sent", json!(sent)),
            Self::CallOutcomeUnknown { exit_code, .. } => put("exitCode", json!(exit_code)),
            Self::ServerError { jsonrpc_code, .. } => put("jsonrpcCode", json!(jsonrpc_code)),
            Self::ConfigInvalid { path, key, allowed, .. } => {
                put("path", json!(path));
                put("key", json!(key));
                if !allowed.is_empty() {
                    put("allowed", json!(allowed));
                }
            }
            _ => {}
        }
        details
    }
}
