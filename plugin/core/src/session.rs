//! One live connection to one server.
//!
//! A [`Session`] is connected or it has ended; it never reconnects and never sends anything twice. Who may send what is
//! not decided here: a request comes as an [`Approved`], and is compared with the world once more at the moment of
//! writing ([`Recheck`]).
//!
//! From the outside in:
//!
//! | module | its one job |
//! | --- | --- |
//! | [`connect`] | from a launch to a session, with an honest reason where that fails |
//! | [`request`] | one request: its limits, its progress, its cancellation, its outcome |
//! | [`list`] | whole lists, page by page, within bounds |
//! | [`decode`] | a server's values into `model`, item by item, leniently |
//! | [`event`] | what a server says unasked |
//! | `engine` | rmcp: handshake, ids, cancellation, answers to the server. The only file that sends on an rmcp peer |
//! | `exchange` | which answer belongs to which request; rmcp's transport on one side, a carrier on the other |
//! | `transport` | carriers: what moves whole messages to and from a server |
//! | `wire` | a message as it was written |
//! | [`process`] | children: groups, their end on every path, stderr |
//!
//! rmcp's types do not leave this module. What a server writes must not panic us, fill memory, or hang us.

pub mod connect;
pub mod decode;
mod engine;
pub mod event;
mod exchange;
pub mod list;
pub mod output;
pub mod process;
pub mod request;
mod transport;
mod wire;

use std::time::Duration;

pub use connect::{Connect, Handshake, Root};
pub use event::{Closed, Events, LogLevel, LogLine, SessionEvent};
pub use list::Listed;
pub use output::{NoiseLine, Output, OutputLine};
pub use process::{Exit, Processes, Sweep};
pub use request::{Recheck, Reply, RequestError, RequestOptions};

use crate::{
    approval::Approved,
    error::{Error, Result},
    model::{PromptSummary, ResourceSummary, ResourceTemplateSummary, ServerId, ToolDefinition},
};

/// A live connection. Dropping it ends the connection and its process tree in the background; [`Session::close`] waits.
#[derive(Debug)]
pub struct Session {
    /// Whose it is.
    server: ServerId,
    /// Which connection of this process; a reconnect is another.
    generation: u64,
    /// What the server said about itself.
    handshake: Handshake,
    /// stderr and noise, shared with whoever wants to look.
    output: Output,
}

impl Session {
    /// Starts or reaches a server and shakes hands, within the plan's time limit.
    ///
    /// # Errors
    ///
    /// [`Error::LaunchFailed`] with its reason; [`Error::Cancelled`] when the plan's token was cancelled.
    pub async fn connect(plan: Connect) -> Result<(Self, Events)> {
        let _ = plan;
        Err(Error::internal("sessions do not connect yet"))
    }

    /// Whose it is.
    pub fn server(&self) -> &ServerId {
        &self.server
    }

    /// Which connection: unique in this process, never reused. Goes into every grant.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// What the server said about itself; untrusted.
    pub fn handshake(&self) -> &Handshake {
        &self.handshake
    }

    /// Whether requests can still be made.
    pub fn is_open(&self) -> bool {
        false
    }

    /// Resolves when the connection has ended, however it did.
    pub async fn closed(&self) -> Closed {
        Closed::default()
    }

    /// One approved request and its answer, as the server wrote it.
    ///
    /// Always carries a progress token. Dropping the future cancels the request, and the server is told.
    ///
    /// # Errors
    ///
    /// [`RequestError::Stale`] when `recheck` refused at the moment of writing: nothing was written, decide again.
    /// [`RequestError::Failed`] with [`Error::Timeout`], [`Error::Cancelled`] (both say exactly whether it had been
    /// sent), [`Error::CallOutcomeUnknown`], [`Error::NotConnected`] (not sent), [`Error::ServerError`],
    /// [`Error::ProtocolError`], [`Error::ResultTooLarge`], [`Error::ResourceNotFound`].
    pub async fn request(
        &self,
        approved: Approved,
        recheck: Recheck,
        options: RequestOptions,
    ) -> Result<Reply, RequestError> {
        let _ = (approved, recheck, options);
        Err(Error::internal("sessions do not send yet").into())
    }

    /// All tools, decoded; `options.cap` bounds the whole list (30 s by default).
    pub async fn list_tools(&self, options: RequestOptions) -> Result<Listed<ToolDefinition>> {
        let _ = options;
        Err(Error::internal("sessions do not send yet"))
    }

    /// All resources, decoded.
    pub async fn list_resources(&self, options: RequestOptions) -> Result<Listed<ResourceSummary>> {
        let _ = options;
        Err(Error::internal("sessions do not send yet"))
    }

    /// All resource templates, decoded.
    pub async fn list_resource_templates(&self, options: RequestOptions) -> Result<Listed<ResourceTemplateSummary>> {
        let _ = options;
        Err(Error::internal("sessions do not send yet"))
    }

    /// All prompts, decoded.
    pub async fn list_prompts(&self, options: RequestOptions) -> Result<Listed<PromptSummary>> {
        let _ = options;
        Err(Error::internal("sessions do not send yet"))
    }

    /// Asks whether the server is alive; how long the answer took.
    pub async fn ping(&self, timeout: Duration) -> Result<Duration> {
        let _ = timeout;
        Err(Error::internal("sessions do not send yet"))
    }

    /// Which of the server's log lines are wanted.
    pub async fn set_log_level(&self, level: LogLevel) -> Result<()> {
        let _ = level;
        Err(Error::internal("sessions do not send yet"))
    }

    /// Takes a subscription back. Needs no approval: it can only tighten.
    pub async fn unsubscribe(&self, uri: &str, options: RequestOptions) -> Result<()> {
        let _ = (uri, options);
        Err(Error::internal("sessions do not send yet"))
    }

    /// stderr and noise.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// Ends the connection and the whole process tree; waits until nothing of it is left (a few seconds at most).
    /// What still waits for an answer fails. Idempotent.
    pub async fn close(&self) -> Closed {
        Closed::default()
    }
}
