//! What is written down beside calls: one variant for each event of audit.md, with its payload.
//!
//! Texts of any origin may go in; they are masked on their way into the record. What must not be in one: a value of an
//! environment variable, a header or a secret, a token, an answer to an elicitation.

use serde::Serialize;

use crate::{
    error::Error,
    model::{CallId, CallerKind, Implementation, ServerId, TransportKind},
};

/// Something that happened, other than a call's own steps (those are [`super::Requested`] and [`super::Sent`]).
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event_type", content = "payload", rename_all = "snake_case")]
#[allow(missing_docs, reason = "named and explained in audit.md, \"Events\"")]
pub enum Event {
    ServerAdded(ServerChange),
    ServerChanged(ServerChange),
    ServerRemoved(ServerChange),
    ServerEnabled(ServerChange),
    ServerDisabled(ServerChange),
    /// The person confirmed the launch with this fingerprint.
    ServerConfirmed(ServerChange),
    ServerConnecting {
        server: ServerId,
        transport: TransportKind,
    },
    ServerConnected {
        server: ServerId,
        protocol_version: String,
        /// What it calls itself; untrusted.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<String>,
    },
    /// `requested`, or it ended by itself.
    ServerDisconnected {
        server: ServerId,
        reason: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
    },
    /// `code` and `reason` as in the error.
    ServerFailed {
        server: ServerId,
        code: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'static str>,
        message: String,
    },
    ToolsListed {
        server: ServerId,
        count: usize,
        new: usize,
        changed: usize,
        gone: usize,
    },
    PinAdded(PinChange),
    PinChanged(PinChange),
    PinVoided(PinChange),
    ToolClassified {
        server: ServerId,
        tool_name: String,
        class: String,
        by: CallerKind,
    },
    RuleAdded(RuleChange),
    RuleEdited(RuleChange),
    RuleRemoved(RuleChange),
    /// A `once` rule was used up.
    RuleConsumed(RuleChange),
    /// Of the host, or of one server.
    ModeChanged {
        #[serde(skip_serializing_if = "Option::is_none")]
        server: Option<ServerId>,
        from: String,
        to: String,
        by: CallerKind,
    },
    TokenIssued(TokenChange),
    TokenUsed(TokenChange),
    TokenRefused(TokenChange),
    TokenExpired(TokenChange),
    /// A question about something that is not a call: a launch, a rule, a mode.
    ApprovalShown {
        #[serde(skip_serializing_if = "Option::is_none")]
        server: Option<ServerId>,
        question: String,
        /// SHA-256 of what was shown.
        shown_hash: String,
    },
    ApprovalAnswered {
        #[serde(skip_serializing_if = "Option::is_none")]
        server: Option<ServerId>,
        question: String,
        answer: String,
        duration_ms: u64,
    },
    ElicitationShown {
        server: ServerId,
        mode: String,
        /// Names only.
        fields: Vec<String>,
    },
    ElicitationAnswered {
        server: ServerId,
        answer: String,
        duration_ms: u64,
    },
    SignedIn {
        server: ServerId,
        issuer: String,
    },
    SignedOut {
        server: ServerId,
    },
    SecretAdded {
        name: String,
        server: ServerId,
    },
    SecretRemoved {
        name: String,
        server: ServerId,
    },
    ConfigError {
        /// Which file, by name.
        file: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        pointer: Option<String>,
        message: String,
    },
    SettingsOpened {},
}

impl Event {
    /// A server is being started or reached.
    pub fn server_connecting(server: &ServerId, transport: TransportKind) -> Self {
        Self::ServerConnecting { server: server.clone(), transport }
    }

    /// It is connected.
    pub fn server_connected(server: &ServerId, protocol_version: &str, info: Option<&Implementation>) -> Self {
        Self::ServerConnected {
            server: server.clone(),
            protocol_version: protocol_version.to_owned(),
            name: info.map(|info| info.name.clone()),
            version: info.map(|info| info.version.clone()),
        }
    }

    /// It is not connected any more.
    pub fn server_disconnected(server: &ServerId, requested: bool, exit_code: Option<i32>) -> Self {
        let reason = if requested { "requested" } else { "ended" };
        Self::ServerDisconnected { server: server.clone(), reason, exit_code }
    }

    /// It could not be connected.
    pub fn server_failed(server: &ServerId, error: &Error) -> Self {
        let reason = match error {
            Error::LaunchFailed { reason, .. } => Some(reason.as_str()),
            Error::ConnectFailed { reason, .. } => Some(reason.as_str()),
            _ => None,
        };
        Self::ServerFailed { server: server.clone(), code: error.code().as_str(), reason, message: error.to_string() }
    }

    /// Its tools were listed and compared with what is pinned.
    pub fn tools_listed(server: &ServerId, count: usize, new: usize, changed: usize, gone: usize) -> Self {
        Self::ToolsListed { server: server.clone(), count, new, changed, gone }
    }
}

/// About an entry of servers.json.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "audit.md")]
pub struct ServerChange {
    pub server: ServerId,
    /// Of the launch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Which fields are another, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    pub by: CallerKind,
}

/// About a definition.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "audit.md")]
pub struct PinChange {
    pub server: ServerId,
    pub tool_name: String,
    pub definition_hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_hash: Option<String>,
    pub by: CallerKind,
}

/// About a rule.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "audit.md")]
pub struct RuleChange {
    /// Its id.
    pub rule: String,
    pub effect: String,
    pub operation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    pub callers: Vec<CallerKind>,
    pub scope: String,
    /// Its conditions, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<String>,
    pub by: CallerKind,
}

/// About an approval token; never the token itself.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "audit.md")]
pub struct TokenChange {
    pub server: ServerId,
    pub tool_name: String,
    pub caller: CallerKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
