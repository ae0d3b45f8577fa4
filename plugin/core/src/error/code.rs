//! The contract's codes and reasons: closed lists, each with its spelling on the wire.

use std::fmt;

use serde::Serialize;

/// The closed list of codes of the page contract (`McpErrorCode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, specta::Type)]
#[serde(rename = "McpErrorCode")]
#[allow(missing_docs, reason = "the variants are the contract's codes; `Error` documents what each means")]
pub enum ErrorCode {
    #[serde(rename = "mcp.invalid_input")]
    InvalidInput,
    #[serde(rename = "mcp.server_not_found")]
    ServerNotFound,
    #[serde(rename = "mcp.server_disabled")]
    ServerDisabled,
    #[serde(rename = "mcp.server_unapproved")]
    ServerUnapproved,
    #[serde(rename = "mcp.not_connected")]
    NotConnected,
    #[serde(rename = "mcp.launch_failed")]
    LaunchFailed,
    #[serde(rename = "mcp.connect_failed")]
    ConnectFailed,
    #[serde(rename = "mcp.auth_required")]
    AuthRequired,
    #[serde(rename = "mcp.transport_unsupported")]
    TransportUnsupported,
    #[serde(rename = "mcp.tool_not_found")]
    ToolNotFound,
    #[serde(rename = "mcp.tool_disabled")]
    ToolDisabled,
    #[serde(rename = "mcp.capability_missing")]
    CapabilityMissing,
    #[serde(rename = "mcp.resource_not_found")]
    ResourceNotFound,
    #[serde(rename = "mcp.prompt_not_found")]
    PromptNotFound,
    #[serde(rename = "mcp.tool_error")]
    ToolError,
    #[serde(rename = "mcp.policy_denied")]
    PolicyDenied,
    #[serde(rename = "mcp.approval_denied")]
    ApprovalDenied,
    #[serde(rename = "mcp.approval_dismissed")]
    ApprovalDismissed,
    #[serde(rename = "mcp.approval_timeout")]
    ApprovalTimeout,
    #[serde(rename = "mcp.approval_busy")]
    ApprovalBusy,
    #[serde(rename = "mcp.approval_token_invalid")]
    ApprovalTokenInvalid,
    #[serde(rename = "mcp.approval_unavailable")]
    ApprovalUnavailable,
    #[serde(rename = "mcp.rate_limited")]
    RateLimited,
    #[serde(rename = "mcp.timeout")]
    Timeout,
    #[serde(rename = "mcp.cancelled")]
    Cancelled,
    #[serde(rename = "mcp.call_outcome_unknown")]
    CallOutcomeUnknown,
    #[serde(rename = "mcp.server_error")]
    ServerError,
    #[serde(rename = "mcp.protocol_error")]
    ProtocolError,
    #[serde(rename = "mcp.result_too_large")]
    ResultTooLarge,
    #[serde(rename = "mcp.config_invalid")]
    ConfigInvalid,
    #[serde(rename = "mcp.audit_unavailable")]
    AuditUnavailable,
    #[serde(rename = "mcp.internal")]
    Internal,
    #[serde(rename = "mcp.ipc")]
    Ipc,
}

impl ErrorCode {
    /// The code as it is written on the wire, for example `mcp.timeout`.
    pub fn as_str(self) -> &'static str {
        use ErrorCode::*;
        match self {
            InvalidInput => "mcp.invalid_input",
            ServerNotFound => "mcp.server_not_found",
            ServerDisabled => "mcp.server_disabled",
            ServerUnapproved => "mcp.server_unapproved",
            NotConnected => "mcp.not_connected",
            LaunchFailed => "mcp.launch_failed",
            ConnectFailed => "mcp.connect_failed",
            AuthRequired => "mcp.auth_required",
            TransportUnsupported => "mcp.transport_unsupported",
            ToolNotFound => "mcp.tool_not_found",
            ToolDisabled => "mcp.tool_disabled",
            CapabilityMissing => "mcp.capability_missing",
            ResourceNotFound => "mcp.resource_not_found",
            PromptNotFound => "mcp.prompt_not_found",
            ToolError => "mcp.tool_error",
            PolicyDenied => "mcp.policy_denied",
            ApprovalDenied => "mcp.approval_denied",
            ApprovalDismissed => "mcp.approval_dismissed",
            ApprovalTimeout => "mcp.approval_timeout",
            ApprovalBusy => "mcp.approval_busy",
            ApprovalTokenInvalid => "mcp.approval_token_invalid",
            ApprovalUnavailable => "mcp.approval_unavailable",
            RateLimited => "mcp.rate_limited",
            Timeout => "mcp.timeout",
            Cancelled => "mcp.cancelled",
            CallOutcomeUnknown => "mcp.call_outcome_unknown",
            ServerError => "mcp.server_error",
            ProtocolError => "mcp.protocol_error",
            ResultTooLarge => "mcp.result_too_large",
            ConfigInvalid => "mcp.config_invalid",
            AuditUnavailable => "mcp.audit_unavailable",
            Internal => "mcp.internal",
            Ipc => "mcp.ipc",
        }
    }

    /// The command line's exit status for this code: 2 for a mistake in what was asked, 3 for a refusal, 1 for the rest.
    pub fn exit_status(self) -> u8 {
        use ErrorCode::*;
        match self {
            ConfigInvalid | InvalidInput | ServerNotFound => 2,
            ApprovalDenied | ApprovalDismissed | ApprovalTimeout | ApprovalBusy | ApprovalUnavailable
            | ApprovalTokenInvalid | PolicyDenied | ServerUnapproved => 3,
            ToolError => 4,
            ServerDisabled | NotConnected | LaunchFailed | ConnectFailed | AuthRequired | TransportUnsupported
            | ToolNotFound | ToolDisabled | CapabilityMissing | ResourceNotFound | PromptNotFound | RateLimited
            | Timeout | Cancelled | CallOutcomeUnknown | ServerError | ProtocolError | ResultTooLarge
            | AuditUnavailable | Internal | Ipc => 1,
        }
    }

    /// Whether the same request may well succeed a little later without anybody changing anything.
    pub fn retryable(self) -> bool {
        use ErrorCode::*;
        matches!(self, NotConnected | ConnectFailed | ApprovalTimeout | ApprovalBusy | RateLimited | Timeout)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a stdio server did not start (`details.reason` of `mcp.launch_failed`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as on the wire")]
pub enum LaunchReason {
    NotFound,
    NotExecutable,
    BadCwd,
    Exited,
    Handshake,
    Timeout,
    UnresolvedVariable,
}

impl LaunchReason {
    /// The reason as it is written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::NotExecutable => "not_executable",
            Self::BadCwd => "bad_cwd",
            Self::Exited => "exited",
            Self::Handshake => "handshake",
            Self::Timeout => "timeout",
            Self::UnresolvedVariable => "unresolved_variable",
        }
    }
}

/// Why an HTTP or SSE server could not be reached (`details.reason` of `mcp.connect_failed`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as on the wire")]
pub enum ConnectReason {
    Refused,
    Status,
    Redirect,
    Handshake,
    Timeout,
    Tls,
    Dns,
}

impl ConnectReason {
    /// The reason as it is written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Status => "status",
            Self::Redirect => "redirect",
            Self::Handshake => "handshake",
            Self::Timeout => "timeout",
            Self::Tls => "tls",
            Self::Dns => "dns",
        }
    }
}
