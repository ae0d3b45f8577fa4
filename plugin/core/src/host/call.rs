//! THE choke point: the one way from "somebody wants this" to "it is on the wire".
//!
//! The order of the code is the order of policy.md §3: validate → connected → rate limit looked at → decide or ask → rate
//! limit taken → everything compared again → token or `once` rule consumed → intent recorded → sent. What fails before
//! "consumed" leaves tokens and rules as they were. Nothing else in this crate calls `Session::request`.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::{
    Inner, Underway,
    connect::{InFlight, Want},
    look::{Spent, disabled},
    server::Server,
};
use crate::{
    approval::{
        Approved, ChoiceKind, Sheet,
        gate::{self, Desk, Gate, Look},
        queue::{Outcome, Question},
    },
    audit::{Completed, Refusal, Requested, Subject},
    clock::{BoxFuture, Clock},
    error::{Error, Result},
    event::HostEvent,
    model::{Caller, Operation, ServerId, ToolDefinition, hex, json},
    policy::{decide::RuleName, digest},
    session::{self, RequestError, Session},
};

/// A call without a sign of life.
const CALL_IDLE: Duration = Duration::from_secs(60);
/// A call in all.
const CALL_CAP: Duration = Duration::from_secs(600);
/// Everything that is not a call.
const OTHER_CAP: Duration = Duration::from_secs(30);

/// What is left of the caller's own time limit. Waiting for a person or for a free slot does not count against it.
pub(super) struct Budget {
    clock: Arc<dyn Clock>,
    limit: Option<Duration>,
    started: Duration,
    /// Milliseconds that did not count.
    waited_ms: AtomicU64,
}

impl Budget {
    pub(super) fn new(clock: &Arc<dyn Clock>, limit: Option<Duration>) -> Self {
        Self { clock: clock.clone(), limit, started: clock.monotonic(), waited_ms: AtomicU64::new(0) }
    }

    fn left(&self) -> Option<Duration> {
        let waited = Duration::from_millis(self.waited_ms.load(Ordering::Relaxed));
        let used = self.clock.monotonic().saturating_sub(self.started).saturating_sub(waited);
        self.limit.map(|limit| limit.saturating_sub(used))
    }

    /// `work`, the time of which does not count.
    async fn uncounted<T>(&self, work: impl Future<Output = T>) -> T {
        let before = self.clock.monotonic();
        let outcome = work.await;
        let waited = self.clock.monotonic().saturating_sub(before).as_millis();
        self.waited_ms.fetch_add(u64::try_from(waited).unwrap_or(u64::MAX), Ordering::Relaxed);
        outcome
    }

    /// `work`, within what is left.
    pub(super) async fn counted<T>(
        &self,
        server: &ServerId,
        what: &str,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let Some(left) = self.left() else { return work.await };
        tokio::select! {
            outcome = work => outcome,
            () = self.clock.sleep(left) => Err(self.timeout(server, what, false)),
        }
    }

    fn timeout(&self, server: &ServerId, what: &str, sent: bool) -> Error {
        let after_ms = u32::try_from(self.limit.unwrap_or_default().as_millis()).unwrap_or(u32::MAX);
        Error::Timeout { server: Some(server.clone()), what: what.to_owned(), after_ms, sent }
    }
}

/// One request on its way through the choke point.
pub(super) struct Passage {
    pub(super) inner: Arc<Inner>,
    pub(super) server: Arc<Server>,
    pub(super) caller: Caller,
    pub(super) underway: Underway,
    /// Keeps the connection while this is on its way.
    pub(super) _in_flight: InFlight,
    pub(super) budget: Budget,
    pub(super) token: Option<String>,
    /// In a lock only so that a passage can be shared by reference.
    pub(super) progress: Mutex<Option<crate::event::ProgressSink>>,
}

impl Passage {
    /// The connection, if the server declared what is asked of it.
    pub(super) async fn connected(
        &mut self,
        capability: &'static str,
        declared: impl Fn(&session::Handshake) -> bool,
    ) -> Result<Arc<Session>> {
        let want = Want::Use(self.caller.kind());
        let connect = self.inner.connect(&self.server, want, self.underway.cancel());
        let session =
            self.budget.counted(&self.server.id, &format!("connecting `{}`", self.server.id), connect).await?;
        if !declared(session.handshake()) {
            return Err(Error::CapabilityMissing { server: self.server.id.clone(), capability });
        }
        Ok(session)
    }

    /// The tool as it is defined now, and the connection. What a known tool fails of from here on is on the record.
    pub(super) async fn tool(
        &mut self,
        name: &str,
        arguments: &crate::model::Arguments,
        cancel: &CancellationToken,
    ) -> Result<(Arc<ToolDefinition>, Arc<Session>)> {
        let found = async {
            let session = self.connected("tools", |shake| shake.capabilities.tools == Some(true)).await?;
            let id = self.server.id.clone();
            let what = format!("listing the tools of `{id}`");
            self.budget.counted(&id, &what, self.inner.tools(&self.server, &self.caller, cancel)).await?;
            Ok((self.server.tool(name), session))
        };
        let (tool, session) = match found.await {
            Ok((Some(tool), session)) => (tool, session),
            Ok((None, _)) => {
                return Err(Error::ToolNotFound {
                    server: self.server.id.clone(),
                    tool: crate::approval::inert::line(name, 256),
                });
            }
            Err(error) => {
                // A tool that is known of this run: the refusal belongs into the log.
                let Some(tool) = self.server.tool(name) else { return Err(error) };
                let operation =
                    Operation::CallTool { server: self.server.id.clone(), tool, arguments: arguments.clone() };
                let requested = self.requested(&operation)?;
                return Err(blocked(requested, error));
            }
        };
        match disabled(&self.server.config(), &tool) {
            None => Ok((tool, session)),
            Some(error) => {
                let operation =
                    Operation::CallTool { server: self.server.id.clone(), tool, arguments: arguments.clone() };
                Err(blocked(self.requested(&operation)?, error))
            }
        }
    }

    /// Whether the server itself lists that URI, as far as it has been asked.
    pub(super) async fn lists(&self, uri: &str) -> bool {
        let cancel = self.underway.cancel();
        let list = self
            .budget
            .counted(&self.server.id, "listing resources", self.inner.resources(&self.server, &self.caller, cancel))
            .await;
        list.is_ok_and(|list| list.items.iter().any(|resource| resource.uri == uri))
    }

    /// An operation of read-only class from decision to decoded answer.
    pub(super) async fn ask<T>(
        mut self,
        operation: Operation,
        session: Arc<Session>,
        decode: impl Fn(&ServerId, &json::Raw) -> Result<T>,
    ) -> Result<T> {
        let server = self.server.id.clone();
        let (reply, sent) = self.send(operation, session).await?;
        match decode(&server, &reply.raw) {
            Ok(value) => {
                let bytes = reply.raw.as_str().len() as u64;
                sent.completed(Completed { bytes, duration: reply.duration, ..Completed::default() })?;
                Ok(value)
            }
            Err(error) => {
                sent.failed(&error, reply.duration)?;
                Err(error)
            }
        }
    }

    /// Writes down that it is asked for.
    pub(super) fn requested(&self, operation: &Operation) -> Result<Requested> {
        let subject = Subject::of(operation).ok_or_else(|| Error::internal("a connect is not requested like this"))?;
        let digest = match operation {
            Operation::CallTool { tool, arguments, .. } => Some(digest::payload_digest(&tool.name, &arguments.value)),
            _ => None,
        };
        self.inner.log.requested(self.underway.id(), &self.caller, subject, digest.as_deref())
    }

    /// Decides, and asks where that is the decision. Waiting for a person costs the caller no time.
    pub(super) async fn decide(
        &self,
        operation: Operation,
        session: &Arc<Session>,
        requested: &Requested,
    ) -> Result<Approved> {
        let desk = PassageDesk {
            passage: self,
            generation: session.generation(),
            requested,
            asked_at: Mutex::new(self.inner.clock.monotonic()),
        };
        let gate = Gate { queue: &self.inner.queue, desk: &desk, clock: &*self.inner.clock };
        self.budget.uncounted(gate.pass(operation, &self.caller, self.underway.id(), self.underway.cancel())).await
    }

    /// From the decision to the server's answer.
    pub(super) async fn send(
        &mut self,
        operation: Operation,
        session: Arc<Session>,
    ) -> Result<(session::Reply, crate::audit::Sent)> {
        let requested = self.requested(&operation)?;
        let what = gate::describe(&operation);
        if let Err(error) = self.inner.look_at_rate(&self.server.id, &operation, &self.caller) {
            return Err(blocked(requested, error));
        }
        let mut approved = match self.decide(operation.clone(), &session, &requested).await {
            Ok(approved) => approved,
            Err(error) => return Err(blocked(requested, error)),
        };
        // A free slot first: what is compared and consumed below is then sent at once.
        let slots = self.server.state().slots.clone();
        let _slot = match slots {
            Some(slots) => {
                let cancel = self.underway.cancel();
                let wait = async {
                    tokio::select! {
                        slot = slots.acquire_owned() => slot.map_err(Error::internal),
                        () = cancel.cancelled() => Err(cancelled(&self.server.id, &what)),
                    }
                };
                match self.budget.uncounted(wait).await {
                    Ok(slot) => Some(slot),
                    Err(error) => return Err(blocked(requested, error)),
                }
            }
            None => None,
        };
        // What was decided may be outdated by the wait: it is decided anew until it is true at this moment.
        let held = loop {
            let token = Spent::No(self.token.as_deref());
            if let Some(revision) = self.inner.still_holds(&self.server, &approved, session.generation(), token) {
                break revision;
            }
            approved = match self.decide(operation.clone(), &session, &requested).await {
                Ok(approved) => approved,
                Err(error) => return Err(blocked(requested, error)),
            };
        };
        let (revision, spent) = match self.inner.consume(&self.server, &approved, self.token.as_deref(), held) {
            Ok(spent) => spent,
            Err(error) => return Err(blocked(requested, error)),
        };
        let rule = approved.granted().rule.clone();
        let read_only = self.inner.only_reads(&self.server.id, approved.operation());
        let sent = requested.started(&rule, read_only).await?;
        let started = self.inner.clock.monotonic();
        let options = match self.options(&operation) {
            Ok(options) => options,
            Err(error) => {
                sent.failed(&error, Duration::ZERO)?;
                return Err(error);
            }
        };
        // At the moment of writing a token or a `once` rule is used up already: what is compared is everything else.
        let (inner, server, generation) = (self.inner.clone(), self.server.clone(), session.generation());
        let recheck: session::Recheck = Arc::new(move |approved: &Approved| {
            // Rules that were made meanwhile, for other calls most of the time, are looked at.
            inner.is_unchanged(&server, approved, generation, revision)
                || inner.still_holds(&server, approved, generation, Spent::Yes(spent)).is_some()
        });
        let outcome = session.request(approved, recheck, options).await;
        match outcome {
            Ok(reply) => Ok((reply, sent)),
            Err(error) => {
                let error = match error {
                    // Between the intent and the wire the world changed. Nothing was written; asking again is the
                    // caller's, since this call's one intent is on the record.
                    RequestError::Stale => Error::PolicyDenied {
                        server: Some(self.server.id.clone()),
                        rule: "changed-while-sending".to_owned(),
                        message: format!(
                            "{what} was not sent: what it was approved for changed at the last moment; try again"
                        ),
                        digest: None,
                    },
                    // The limit that ran out may be the caller's own, of which connecting has used up a part.
                    RequestError::Failed(Error::Timeout { sent, .. })
                        if self.budget.left().is_some_and(|left| left.is_zero()) =>
                    {
                        self.budget.timeout(&self.server.id, &what, sent)
                    }
                    RequestError::Failed(error) => error,
                };
                sent.failed(&error, self.inner.clock.monotonic().saturating_sub(started))?;
                Err(error)
            }
        }
    }

    fn options(&mut self, operation: &Operation) -> Result<session::RequestOptions> {
        let limits = self.server.config().limits;
        let left = self.budget.left();
        if left.is_some_and(|left| left.is_zero()) {
            return Err(self.budget.timeout(&self.server.id, &gate::describe(operation), false));
        }
        let ms = |ms: u32| Duration::from_millis(ms.into());
        let (idle, cap) = match operation {
            Operation::CallTool { .. } => {
                (Some(limits.call_ms.map_or(CALL_IDLE, ms)), limits.max_ms.map_or(CALL_CAP, ms))
            }
            _ => (None, OTHER_CAP),
        };
        Ok(session::RequestOptions {
            idle,
            cap: Some(left.map_or(cap, |left| left.min(cap))),
            cancel: self.underway.cancel().clone(),
            progress: self.progress.get_mut().unwrap_or_else(PoisonError::into_inner).take(),
        })
    }
}

/// What one passage tells the gate.
struct PassageDesk<'a> {
    passage: &'a Passage,
    generation: u64,
    requested: &'a Requested,
    /// When the question now open was asked, on the monotonic clock.
    asked_at: Mutex<Duration>,
}

impl Desk for PassageDesk<'_> {
    fn current(&self, operation: Operation) -> Operation {
        self.passage.inner.current(&self.passage.server, operation)
    }

    fn look(&self, operation: &Operation, caller: &Caller) -> Result<Look> {
        let Passage { inner, server, token, .. } = self.passage;
        inner.look(server, operation, caller, self.generation, token.as_deref())
    }

    fn changed(&self) -> BoxFuture<()> {
        self.passage.inner.policy_changed()
    }

    fn settle(&self, operation: &Operation, caller: &Caller, look: &Look, choice: ChoiceKind) -> Result<()> {
        let Passage { inner, server, .. } = self.passage;
        inner.settle(server, operation, caller, look, choice)
    }

    fn shown(&self, question: &Question) {
        *self.asked_at.lock().unwrap_or_else(PoisonError::into_inner) = self.passage.inner.clock.monotonic();
        if let Err(error) = self.requested.shown(&sheet_hash(&question.sheet)) {
            tracing::warn!(%error, "a question could not be written down");
        }
        self.emit(question, None);
    }

    fn answered(&self, question: &Question, outcome: Outcome) {
        let asked_at = *self.asked_at.lock().unwrap_or_else(PoisonError::into_inner);
        let took = self.passage.inner.clock.monotonic().saturating_sub(asked_at);
        let answer = match outcome {
            Outcome::Chosen(choice) => choice.as_str(),
            Outcome::Dismissed => "dismissed",
            Outcome::TimedOut => "timeout",
            Outcome::Withdrawn => "cancelled",
            // It was never shown.
            Outcome::Busy | Outcome::Unavailable => return,
        };
        if let Err(error) = self.requested.answered(answer, took) {
            tracing::warn!(%error, "an answer could not be written down");
        }
        self.emit(question, Some(outcome));
    }

    fn nobody_to_ask(&self, operation: &Operation, rule: &RuleName) -> Error {
        let Passage { inner, server, caller, token, .. } = self.passage;
        inner.nobody_to_ask(server, operation, caller, self.generation, token.as_deref(), rule)
    }
}

impl PassageDesk<'_> {
    fn emit(&self, question: &Question, outcome: Option<Outcome>) {
        let (caller, call) = (self.passage.caller.clone(), self.passage.underway.id().clone());
        let (server, name) = (self.passage.server.id.clone(), question.name.clone());
        self.passage.inner.emit(match outcome {
            None => HostEvent::ApprovalRequested { caller, call, server, name },
            Some(outcome) => HostEvent::ApprovalResolved { caller, call, server, name, outcome: gate::told(outcome) },
        });
    }
}

/// The refusal goes into the log; if that fails, the caller hears of the log.
pub(super) fn blocked(requested: Requested, error: Error) -> Error {
    let (refusal, rule) = match &error {
        Error::PolicyDenied { rule, .. }
        | Error::ApprovalUnavailable { rule, .. }
        | Error::ApprovalDenied { rule, .. } => (Refusal::Denied, rule.clone()),
        Error::ApprovalDismissed { .. }
        | Error::ApprovalTimeout { .. }
        | Error::ApprovalBusy { .. }
        | Error::ApprovalTokenInvalid { .. } => (Refusal::Denied, error.code().as_str().to_owned()),
        Error::Cancelled { .. } => (Refusal::Cancelled, error.code().as_str().to_owned()),
        _ => (Refusal::Failed, error.code().as_str().to_owned()),
    };
    match requested.blocked(refusal, &rule, &error) {
        Ok(_) => error,
        Err(unavailable) => unavailable,
    }
}

/// SHA-256 of everything that is shown, in reading order.
pub(super) fn sheet_hash(sheet: &Sheet) -> String {
    let mut hash = Sha256::new();
    let mut put = |text: &str| {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    };
    put(&sheet.heading);
    for fact in &sheet.facts {
        put(&fact.label);
        put(&fact.text);
    }
    for row in &sheet.arguments {
        [&row.name, &row.kind, &row.size, &row.preview].into_iter().for_each(|text| put(text));
    }
    for section in &sheet.sections {
        put(&section.label);
        put(&section.text);
    }
    for choice in &sheet.choices {
        put(choice.kind.as_str());
        put(&choice.label);
        put(&choice.explanation);
    }
    hex(&hash.finalize())
}

fn cancelled(server: &ServerId, what: &str) -> Error {
    Error::Cancelled { server: Some(server.clone()), what: what.to_owned(), sent: false }
}
