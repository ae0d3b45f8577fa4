//! Prompts and completions as the contract shows them.

use serde::Serialize;

use super::{ContentBlock, ServerId};

/// `McpPromptArgument` of the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename = "McpPromptArgument", rename_all = "camelCase")]
#[allow(missing_docs, reason = "named as in the specification")]
pub struct PromptArgument {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub description: Option<String>,
    pub required: bool,
}

/// `McpPromptSummary` of the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename = "McpPromptSummary", rename_all = "camelCase")]
#[allow(missing_docs, reason = "named as in the specification")]
pub struct PromptSummary {
    pub server_id: ServerId,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = Vec<PromptArgument>)]
    pub arguments: Option<Vec<PromptArgument>>,
}

/// Who says a prompt's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename = "McpRole", rename_all = "lowercase")]
#[allow(missing_docs, reason = "named as in the specification")]
pub enum Role {
    User,
    Assistant,
}

/// `McpPromptMessage` of the contract.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "McpPromptMessage", rename_all = "camelCase")]
#[allow(missing_docs, reason = "named as in the specification")]
pub struct PromptMessage {
    pub role: Role,
    pub content: ContentBlock,
}

/// `McpPromptContent` of the contract.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "McpPromptContent", rename_all = "camelCase")]
#[allow(missing_docs, reason = "named as in the specification")]
pub struct PromptContent {
    pub server_id: ServerId,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub description: Option<String>,
    pub messages: Vec<PromptMessage>,
}

/// `McpCompletion` of the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename = "McpCompletion", rename_all = "camelCase")]
#[allow(missing_docs, reason = "named as in the specification")]
pub struct Completion {
    pub values: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = u32)]
    pub total: Option<u32>,
    pub has_more: bool,
}
