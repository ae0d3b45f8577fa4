//! Resources and templates as the contract shows them.

use serde::Serialize;

use super::{ResourceItem, ServerId};

/// `McpResourceSummary` of the contract.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename = "McpResourceSummary", rename_all = "camelCase")]
#[allow(missing_docs, reason = "named as in the specification")]
pub struct ResourceSummary {
    pub server_id: ServerId,
    pub uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub mime_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "super::json::plain_number")]
    #[specta(type = specta_typescript::Number)]
    pub size: Option<f64>,
}

/// `McpResourceTemplateSummary` of the contract.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename = "McpResourceTemplateSummary", rename_all = "camelCase")]
#[allow(missing_docs, reason = "named as in the specification")]
pub struct ResourceTemplateSummary {
    pub server_id: ServerId,
    /// RFC 6570.
    pub uri_template: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub mime_type: Option<String>,
}

/// `McpResourceContent` of the contract.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "McpResourceContent", rename_all = "camelCase")]
#[allow(missing_docs, reason = "named as in the specification")]
pub struct ResourceContent {
    pub server_id: ServerId,
    pub uri: String,
    pub contents: Vec<ResourceItem>,
}

/// `McpResourceChange` of the contract: a subscribed resource changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename = "McpResourceChange", rename_all = "camelCase")]
#[allow(missing_docs, reason = "named as in the specification")]
pub struct ResourceChange {
    pub server_id: ServerId,
    pub uri: String,
}
