//! Content blocks and resource items: what results, prompts and resources are made of.

use serde::Serialize;

use super::Raw;

/// `McpAnnotations` of the contract.
#[derive(Clone, Debug, Default, PartialEq, Serialize, specta::Type)]
#[serde(rename = "McpAnnotations", rename_all = "camelCase")]
#[allow(missing_docs, reason = "named as in the specification")]
pub struct Annotations {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = Vec<String>)]
    pub audience: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "super::json::plain_number")]
    #[specta(type = specta_typescript::Number)]
    pub priority: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[specta(type = String)]
    pub last_modified: Option<String>,
}

/// `McpContentBlock` of the contract. A block is never dropped: what does not decode is [`ContentBlock::Unknown`].
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "McpContentBlock", tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[allow(missing_docs, reason = "named as in the specification")]
pub enum ContentBlock {
    Text {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[specta(type = Annotations)]
        annotations: Option<Annotations>,
    },
    Image {
        /// Base64.
        data: String,
        mime_type: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[specta(type = Annotations)]
        annotations: Option<Annotations>,
    },
    Audio {
        /// Base64.
        data: String,
        mime_type: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[specta(type = Annotations)]
        annotations: Option<Annotations>,
    },
    ResourceLink {
        uri: String,
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[specta(type = String)]
        title: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[specta(type = String)]
        description: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[specta(type = String)]
        mime_type: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "super::json::plain_number")]
        #[specta(type = specta_typescript::Number)]
        size: Option<f64>,
    },
    Resource {
        resource: ResourceItem,
    },
    /// A block of a type this version does not know, or that does not decode.
    Unknown {
        /// Its `type`, or `""`.
        original_type: String,
        /// The block as the server wrote it.
        #[specta(type = specta_typescript::Unknown)]
        raw: Raw,
    },
}

/// `McpResourceItem` of the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename = "McpResourceItem", untagged, rename_all_fields = "camelCase")]
#[allow(missing_docs, reason = "named as in the specification")]
pub enum ResourceItem {
    Text {
        uri: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[specta(type = String)]
        mime_type: Option<String>,
        text: String,
    },
    Blob {
        uri: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[specta(type = String)]
        mime_type: Option<String>,
        /// Base64.
        blob: String,
    },
}
