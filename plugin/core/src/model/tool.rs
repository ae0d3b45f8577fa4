//! Tools: a server's definition of one, what the contract shows of it, and a call's result.

use serde::{Deserialize, Serialize};

use super::{CallId, ContentBlock, Raw, ServerId};

/// The annotations of a definition that MCP calls hints. `None` = missing or of a wrong type, which counts as the
/// cautious value (not read-only, destructive, open-world).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in the specification, without `Hint`")]
pub struct Hints {
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
}

/// One tool as its server defines it, decoded leniently. All text is untrusted.
#[derive(Clone, Debug)]
pub struct ToolDefinition {
    /// Its own name, never an alias.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// For models and people.
    pub description: Option<String>,
    /// Always an object.
    pub input_schema: Raw,
    /// An object, where there is one.
    pub output_schema: Option<Raw>,
    /// As given, where it is an object.
    pub annotations: Option<Raw>,
    /// What of the annotations is understood.
    pub hints: Hints,
    /// As given, where it is an object.
    pub meta: Option<Raw>,
    /// Lower-case hex SHA-256 of name, title, description, schemas and annotations, canonical; `policy::pin`.
    pub hash: String,
    /// What was left out or repaired, in words.
    pub diagnostics: Vec<String>,
    /// Two different definitions came under this name: listed once, never callable.
    pub quarantined: bool,
}

/// What a call by the page would meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, specta::Type)]
#[serde(rename = "McpToolPermission", rename_all = "lowercase")]
#[allow(missing_docs, reason = "named as in the contract")]
pub enum Permission {
    Allow,
    Ask,
    Deny,
    Disabled,
}

/// `McpToolSummary` of the contract.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "McpToolSummary", rename_all = "camelCase")]
pub struct ToolSummary {
    /// Whose tool.
    pub server_id: ServerId,
    /// Its name.
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub title: Option<String>,
    /// For models and people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub description: Option<String>,
    /// JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = specta_typescript::Unknown)]
    pub input_schema: Option<Raw>,
    /// The server's hints; they may only tighten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = specta_typescript::Unknown)]
    pub annotations: Option<Raw>,
    /// A call made now would raise a dialog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = bool)]
    pub approval_required: Option<bool>,
    /// JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = specta_typescript::Unknown)]
    pub output_schema: Option<Raw>,
    /// For the asking kind of caller.
    pub permission: Permission,
    /// The server changed this definition since it was last approved.
    pub definition_changed: bool,
    /// What was left out or repaired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = Vec<String>)]
    pub diagnostics: Option<Vec<String>>,
}

/// How much of a result the host kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename = "McpTruncated", rename_all = "camelCase")]
#[allow(missing_docs, reason = "named as in the contract")]
pub struct Truncated {
    pub original_bytes: u32,
    pub kept_bytes: u32,
}

/// `McpToolResult` of the contract.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "McpToolResult", rename_all = "camelCase")]
pub struct ToolResult {
    /// Which server ran it.
    pub server_id: ServerId,
    /// Which tool.
    pub name: String,
    /// This call.
    pub call_id: CallId,
    /// The blocks, in order.
    pub content: Vec<ContentBlock>,
    /// The structured result, as the server wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = specta_typescript::Unknown)]
    pub structured_content: Option<Raw>,
    /// The same as text, where JavaScript would round a number in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub structured_content_json: Option<String>,
    /// The tool ran and reported failure.
    pub is_error: bool,
    /// From sending to the answer.
    pub duration_ms: u32,
    /// The line of the call's record in its run's log.
    #[specta(type = specta_typescript::Number)]
    pub audit_seq: u64,
    /// That record's id.
    pub audit_event_id: String,
    /// Present when the host cut the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = Truncated)]
    pub truncated: Option<Truncated>,
    /// `_meta` of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = specta_typescript::Unknown)]
    pub meta: Option<Raw>,
}

/// `McpProgress` of the contract.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename = "McpProgress", rename_all = "camelCase")]
pub struct Progress {
    /// How far; finite.
    #[specta(type = specta_typescript::Number)]
    pub progress: f64,
    /// Of how much; finite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = specta_typescript::Number)]
    pub total: Option<f64>,
    /// In words; untrusted, at most 4 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub message: Option<String>,
}
