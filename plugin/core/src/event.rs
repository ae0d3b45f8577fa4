//! What the host tells its embedder. Live, without replay; a slow listener loses events, never slows the host.

use crate::model::{CallId, Caller, Progress, ResourceChange, ServerId, ServerStatus};

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, specta::Type)]
#[serde(rename = "McpApprovalOutcome", rename_all = "lowercase")]
#[allow(missing_docs, reason = "named as in the contract")]
pub enum ApprovalOutcome {
    Allowed,
    Denied,
    Dismissed,
    Timeout,
}

/// Which list of a server changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named as in the specification")]
pub enum ListKind {
    Tools,
    Resources,
    Prompts,
}

/// Something happened.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields say what they are")]
pub enum HostEvent {
    /// A server's state or status is another; `status` is told as a person may read it.
    ServerStatusChanged(Box<ServerStatus>),
    /// A server left the configuration.
    ServerRemoved(ServerId),
    /// A list's content is another.
    ListChanged(ServerId, ListKind),
    /// A subscribed resource changed.
    ResourceUpdated(ResourceChange),
    /// A question is being put to the person, for this caller's call.
    ApprovalRequested { caller: Caller, call: CallId, server: ServerId, name: String },
    /// It was answered, or ended otherwise.
    ApprovalResolved { caller: Caller, call: CallId, server: ServerId, name: String, outcome: ApprovalOutcome },
    /// Rules, pins, modes or confirmations changed.
    PolicyChanged,
}

/// Where progress of one call goes, in order.
pub type ProgressSink = Box<dyn FnMut(Progress) + Send + Sync>;
