//! A server as the contract shows it.

use serde::{Deserialize, Serialize};

use super::ServerId;
use crate::error::ErrorInfo;

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, specta::Type)]
#[serde(rename = "McpTransport", rename_all = "lowercase")]
pub enum TransportKind {
    /// A child process.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// The 2024-11-05 HTTP+SSE transport.
    Sse,
}

impl TransportKind {
    /// As written in servers.json and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

/// What a server declared; all absent before the first connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename = "McpServerCapabilities", rename_all = "camelCase")]
pub struct Capabilities {
    /// It has tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = bool)]
    pub tools: Option<bool>,
    /// It has resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = bool)]
    pub resources: Option<bool>,
    /// It has prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = bool)]
    pub prompts: Option<bool>,
    /// Whether *the host* allows sampling: always `false` once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = bool)]
    pub sampling: Option<bool>,
}

/// `McpServerSummary` of the contract.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "McpServerSummary", rename_all = "camelCase")]
pub struct ServerSummary {
    /// The id.
    pub id: ServerId,
    /// The person's own name for it.
    pub display_name: String,
    /// How it is reached.
    pub transport: TransportKind,
    /// Whether the person has it turned on.
    pub enabled: bool,
    /// Whether it is connected now.
    pub connected: bool,
    /// What it declared.
    pub capabilities: Capabilities,
}

/// The one state machine of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, specta::Type)]
#[serde(rename = "McpServerState", rename_all = "camelCase")]
#[allow(missing_docs, reason = "named as in the contract")]
pub enum ServerState {
    Disabled,
    /// New or changed launch, waiting for the person.
    NeedsApproval,
    Disconnected,
    Connecting,
    Connected,
    NeedsAuth,
    Failed,
}

/// What a server says it is; untrusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename = "McpImplementation", rename_all = "camelCase")]
pub struct Implementation {
    /// Its name for itself.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub title: Option<String>,
}

/// `McpServerStatus` of the contract.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "McpServerStatus", rename_all = "camelCase")]
pub struct ServerStatus {
    /// The id.
    pub id: ServerId,
    /// The person's own name for it.
    pub display_name: String,
    /// How it is reached.
    pub transport: TransportKind,
    /// Whether the person has it turned on.
    pub enabled: bool,
    /// Whether it is connected now.
    pub connected: bool,
    /// What it declared.
    pub capabilities: Capabilities,
    /// Where its state machine stands.
    pub state: ServerState,
    /// The negotiated revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub protocol_version: Option<String>,
    /// What it says it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = Implementation)]
    pub server_info: Option<Implementation>,
    /// Untrusted; never put into a prompt by the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub instructions: Option<String>,
    /// RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub connected_at: Option<String>,
    /// Why it is not connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = ErrorInfo)]
    pub last_error: Option<ErrorInfo>,
    /// What was cut, repaired or quarantined in its lists, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = Vec<String>)]
    pub diagnostics: Option<Vec<String>>,
}

impl ServerStatus {
    /// The part of it that a summary has.
    pub fn summary(&self) -> ServerSummary {
        ServerSummary {
            id: self.id.clone(),
            display_name: self.display_name.clone(),
            transport: self.transport,
            enabled: self.enabled,
            connected: self.connected,
            capabilities: self.capabilities.clone(),
        }
    }
}
