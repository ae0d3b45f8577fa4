//! What is asked of a server. An operation is complete: what is decided is what is sent.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{ServerId, ToolDefinition, json};

/// The arguments of a call after validation: an object whose numbers and strings are canonical.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// For looking at: conditions, the dialog's table, redaction.
    pub value: Arc<json::Object>,
    /// Exactly the bytes that go on the wire: compact, in the caller's key order.
    pub wire: Bytes,
}

/// What a completion completes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, specta::Type)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CompletionTarget {
    /// An argument of a prompt.
    Prompt {
        /// The prompt's name.
        name: String,
    },
    /// A variable of a resource template.
    ResourceTemplate {
        /// The template, as the server lists it.
        uri_template: String,
    },
}

/// One thing to ask of one server.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields are named as in the specification")]
pub enum Operation {
    /// `tools/call`.
    CallTool { server: ServerId, tool: Arc<ToolDefinition>, arguments: Arguments },
    /// `resources/read`. `listed`: the server itself listed this URI.
    ReadResource { server: ServerId, uri: String, listed: bool },
    /// `prompts/get`.
    GetPrompt { server: ServerId, name: String, arguments: BTreeMap<String, String> },
    /// `completion/complete`.
    Complete {
        server: ServerId,
        target: CompletionTarget,
        argument: (String, String),
        context: BTreeMap<String, String>,
    },
    /// `resources/subscribe`.
    Subscribe { server: ServerId, uri: String, listed: bool },
    /// Starting or reaching the server.
    Connect { server: ServerId },
}

/// The kinds of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "named as the variants of `Operation`")]
pub enum OperationKind {
    Call,
    Read,
    Prompt,
    Complete,
    Subscribe,
    Connect,
}

impl Operation {
    /// Which server it is for.
    pub fn server(&self) -> &ServerId {
        match self {
            Self::CallTool { server, .. }
            | Self::ReadResource { server, .. }
            | Self::GetPrompt { server, .. }
            | Self::Complete { server, .. }
            | Self::Subscribe { server, .. }
            | Self::Connect { server } => server,
        }
    }

    /// Which kind it is.
    pub fn kind(&self) -> OperationKind {
        match self {
            Self::CallTool { .. } => OperationKind::Call,
            Self::ReadResource { .. } => OperationKind::Read,
            Self::GetPrompt { .. } => OperationKind::Prompt,
            Self::Complete { .. } => OperationKind::Complete,
            Self::Subscribe { .. } => OperationKind::Subscribe,
            Self::Connect { .. } => OperationKind::Connect,
        }
    }
}
