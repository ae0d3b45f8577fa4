//! What JavaScript is told: contract events to pages, hints to the settings window.
//!
//! Both go over `ipc::Channel`, never as a Tauri event: any page can listen to events that other windows are sent, and
//! can forge them. A hint says only *that* something changed; the settings window then asks, so that nothing of it
//! ever lies in a channel's store.

use mcp_host_core::{
    event::{ApprovalOutcome, ListKind},
    model::{CallId, ServerId, ServerStatus},
};
use serde::Serialize;

/// `McpEvent` of the contract.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename = "McpEvent", tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum PageEvent {
    /// A server's state or status is another.
    ServerStatusChanged { status: Box<ServerStatus> },
    /// A server left the configuration.
    ServerRemoved { server_id: ServerId },
    /// Its tools are others.
    ToolsChanged { server_id: ServerId },
    /// Its resources are others.
    ResourcesChanged { server_id: ServerId },
    /// Its prompts are others.
    PromptsChanged { server_id: ServerId },
    /// The person is being asked about a call of this document.
    ApprovalRequested { call_id: CallId, server_id: ServerId, name: String },
    /// That question has ended.
    ApprovalResolved {
        call_id: CallId,
        server_id: ServerId,
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[specta(type = ApprovalOutcome)]
        outcome: Option<ApprovalOutcome>,
    },
}

impl PageEvent {
    pub(crate) fn list_changed(server_id: ServerId, list: ListKind) -> Self {
        match list {
            ListKind::Tools => Self::ToolsChanged { server_id },
            ListKind::Resources => Self::ResourcesChanged { server_id },
            ListKind::Prompts => Self::PromptsChanged { server_id },
        }
    }
}

/// What the settings window should ask for again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename = "HostHint", tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Hint {
    /// One server: its status, its lists, or that it is there at all.
    Server { server_id: ServerId },
    /// Rules, pins, confirmations, modes.
    Policy,
    /// The questions that wait.
    Waiting,
    /// Everything: some hints were lost.
    All,
}
