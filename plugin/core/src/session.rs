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
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod fake;
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
pub use output::{Mask, Output, OutputLine};
pub use process::{Exit, Processes, Stray, Sweep};
pub use request::{Recheck, Reply, RequestError, RequestOptions};

use tokio::{
    sync::{Semaphore, watch},
    time::Instant,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    approval::Approved,
    error::{Error, Result},
    model::{PromptSummary, ResourceSummary, ResourceTemplateSummary, ServerId, ToolDefinition},
};
use engine::Engine;
use exchange::Exchange;
use request::Question;
use wire::write::Params;

/// A live connection. Dropping it ends the connection and its process tree in the background; [`Session::close`] waits.
#[derive(Debug)]
pub struct Session {
    /// Whose it is.
    server: ServerId,
    /// Which connection of this process; a reconnect is another.
    generation: u64,
    /// What the server said about itself.
    handshake: Handshake,
    /// Requests and answers.
    exchange: Exchange,
    /// rmcp.
    engine: Engine,
    /// How many requests may still be made at once.
    permits: Semaphore,
    /// Filled when nothing is left of the connection.
    over: watch::Receiver<Option<Closed>>,
    /// Ends the carrier.
    stop: CancellationToken,
    /// Does so at the latest when this is dropped.
    _guard: DropGuard,
}

impl Session {
    /// Starts or reaches a server and shakes hands, within the plan's time limit. Dropping the future ends what was
    /// started.
    ///
    /// # Errors
    ///
    /// [`Error::LaunchFailed`] with its reason; [`Error::Cancelled`] when the plan's token was cancelled.
    pub async fn connect(plan: Connect) -> Result<(Self, Events)> {
        plan.connect().await
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

    /// stderr and noise.
    pub fn output(&self) -> &Output {
        self.exchange.output()
    }

    /// Whether requests can still be made.
    pub fn is_open(&self) -> bool {
        !self.exchange.is_ended()
    }

    /// Resolves when nothing is left of the connection and its process tree, however it ended. Cancel-safe.
    pub async fn closed(&self) -> Closed {
        let mut over = self.over.clone();
        match over.wait_for(Option::is_some).await {
            Ok(closed) => closed.clone().unwrap_or_default(),
            // The carrier is gone without a word: its runtime ended.
            Err(_) => self.exchange.ended().cloned().unwrap_or_default(),
        }
    }

    /// One approved request and its answer, as the server wrote it.
    ///
    /// Always carries a progress token. Dropping the future cancels the request, and the server is told.
    ///
    /// # Errors
    ///
    /// [`RequestError::Stale`] when the approval is for another server or connection, or `recheck` refused at the moment
    /// of writing: nothing was written, decide again. [`RequestError::Failed`] with [`Error::Timeout`],
    /// [`Error::Cancelled`] (both say exactly whether writing had begun), [`Error::CallOutcomeUnknown`] (it had, and the
    /// connection ended), [`Error::NotConnected`] (it had not), [`Error::ServerError`], [`Error::ProtocolError`],
    /// [`Error::ResultTooLarge`], [`Error::ResourceNotFound`].
    pub async fn request(
        &self,
        approved: Approved,
        recheck: Recheck,
        options: RequestOptions,
    ) -> Result<Reply, RequestError> {
        request::approved(self, approved, recheck, options).await
    }

    /// All tools, decoded; `options.cap` bounds the whole list (30 s by default). Empty where the server declared none.
    /// The same name twice counts once; with two definitions it is quarantined.
    pub async fn list_tools(&self, options: RequestOptions) -> Result<Listed<ToolDefinition>> {
        if self.handshake.capabilities.tools != Some(true) {
            return Ok(Listed::default());
        }
        let mut listed = list::list(self, list::TOOLS, options, decode::tool).await?;
        decode::unite_tools(&mut listed);
        Ok(listed)
    }

    /// All resources, decoded. Empty where the server declared none.
    pub async fn list_resources(&self, options: RequestOptions) -> Result<Listed<ResourceSummary>> {
        if self.handshake.capabilities.resources != Some(true) {
            return Ok(Listed::default());
        }
        list::list(self, list::RESOURCES, options, |raw, told| decode::resource(&self.server, raw, told)).await
    }

    /// All resource templates, decoded. Empty where the server declared no resources.
    pub async fn list_resource_templates(&self, options: RequestOptions) -> Result<Listed<ResourceTemplateSummary>> {
        if self.handshake.capabilities.resources != Some(true) {
            return Ok(Listed::default());
        }
        list::list(self, list::TEMPLATES, options, |raw, told| decode::template(&self.server, raw, told)).await
    }

    /// All prompts, decoded. Empty where the server declared none.
    pub async fn list_prompts(&self, options: RequestOptions) -> Result<Listed<PromptSummary>> {
        if self.handshake.capabilities.prompts != Some(true) {
            return Ok(Listed::default());
        }
        list::list(self, list::PROMPTS, options, |raw, told| decode::prompt(&self.server, raw, told)).await
    }

    /// Asks whether the server is alive; how long the answer took. Any answer counts, also a refusal.
    pub async fn ping(&self, timeout: Duration) -> Result<Duration> {
        let began = Instant::now();
        let options = RequestOptions { cap: Some(timeout), ..RequestOptions::default() };
        match self.ask(Question::plain("ping", Params::default()), options).await {
            Ok(()) | Err(Error::ServerError { .. }) => Ok(began.elapsed()),
            Err(error) => Err(error),
        }
    }

    /// Which of the server's log lines are wanted.
    ///
    /// # Errors
    ///
    /// [`Error::CapabilityMissing`] where it declared no logging.
    pub async fn set_log_level(&self, level: LogLevel) -> Result<()> {
        if !self.handshake.logging {
            return Err(Error::CapabilityMissing { server: self.server.clone(), capability: "logging" });
        }
        let params = Params::default().with("level", level.as_str());
        self.ask(Question::plain("logging/setLevel", params), RequestOptions::default()).await
    }

    /// Takes a subscription back. Needs no approval: it can only tighten.
    pub async fn unsubscribe(&self, uri: &str, options: RequestOptions) -> Result<()> {
        let params = Params::default().with("uri", uri);
        self.ask(Question::plain("resources/unsubscribe", params), options).await
    }

    /// Ends the connection and the whole process tree; waits until nothing of it is left (a few seconds at most).
    /// What still waits for an answer fails. Idempotent.
    pub async fn close(&self) -> Closed {
        self.stop();
        self.closed().await
    }

    /// Like [`Session::close`], without waiting.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    async fn ask(&self, question: Question, options: RequestOptions) -> Result<()> {
        match request::ask(self, question, options).await {
            Ok(_) => Ok(()),
            Err(RequestError::Failed(error)) => Err(error),
            Err(RequestError::Stale) => Err(Error::internal("this request needs no approval")),
        }
    }

    fn permits(&self) -> &Semaphore {
        &self.permits
    }

    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn mask(&self, text: &str) -> String {
        self.exchange.mask().apply(text)
    }

    /// How the process ended, once the connection is over and as far as is known.
    fn exit(&self) -> Option<Exit> {
        self.exchange.ended().and_then(|closed| closed.exit)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
