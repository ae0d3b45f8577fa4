//! The vocabulary that every other module speaks: ids, who asks, what is asked, and the shapes of the page contract.
//!
//! Data only. Wire shapes carry the contract's names (`McpToolSummary`) through serde; in Rust they have none of it.

pub mod admin;
pub mod json;

mod caller;
mod content;
mod id;
mod operation;
mod prompt;
mod resource;
mod server;
mod tool;

pub use caller::{Caller, CallerKind};
pub use content::{Annotations, ContentBlock, ResourceItem};
pub use id::{CallId, ServerId, hex};
pub use json::Raw;
pub use operation::{Arguments, CompletionTarget, Operation, OperationKind};
pub use prompt::{Completion, PromptArgument, PromptContent, PromptMessage, PromptSummary, Role};
pub use resource::{ResourceChange, ResourceContent, ResourceSummary, ResourceTemplateSummary};
pub use server::{Capabilities, Implementation, ServerState, ServerStatus, ServerSummary, TransportKind};
pub use tool::{Hints, Permission, Progress, ToolDefinition, ToolResult, ToolSummary, Truncated};
