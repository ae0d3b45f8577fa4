//! One request: its limits, its progress, its cancellation, its outcome.

mod pace;

use std::{fmt, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    Session,
    engine::InFlight,
    exchange::{Gate, Refusal, Ticket},
    transport::stdio::MESSAGE_LIMIT,
    wire::write::Params,
};
use crate::{
    approval::Approved,
    error::Error,
    event::ProgressSink,
    model::{CompletionTarget, Operation, Raw},
};
use pace::Pace;

/// Compares an approval with the world at the moment of writing: `false` = it no longer holds, nothing is written.
///
/// Called inside the transport, so it must be quick and must not wait. That the approval is for this server and this
/// connection is looked at by the session itself.
pub type Recheck = Arc<dyn Fn(&Approved) -> bool + Send + Sync>;

/// How a request is to be made.
#[derive(Default)]
pub struct RequestOptions {
    /// Without a sign of progress for this long, it times out. Default: 60 s for calls, else the cap.
    pub idle: Option<Duration>,
    /// It times out after this in any case. Default: 10 min for calls, 30 s for everything else.
    pub cap: Option<Duration>,
    /// Cancels it.
    pub cancel: CancellationToken,
    /// Where its progress goes: at most 10 a second, messages of at most 4 KiB, the last one always, all of it before
    /// the answer.
    pub progress: Option<ProgressSink>,
}

impl fmt::Debug for RequestOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestOptions").field("idle", &self.idle).field("cap", &self.cap).finish_non_exhaustive()
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The result as the server wrote it: well-formed, no key twice, at most 128 deep.
    pub raw: Raw,
    /// From writing to the answer.
    pub duration: Duration,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The approval does not hold at the moment of writing: nothing was written. Decide again.
    #[error("what was approved is not what is true now")]
    Stale,
    /// Anything else.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// The idle limit of a call.
const CALL_IDLE: Duration = Duration::from_secs(60);
/// The hard limit of a call.
const CALL_CAP: Duration = Duration::from_secs(600);
/// The hard limit of everything else.
pub(super) const READ_CAP: Duration = Duration::from_secs(30);
/// The specification's code for a resource that is not there.
const RESOURCE_NOT_FOUND: i64 = -32002;

/// What is to be asked.
pub(super) struct Question {
    pub(super) method: &'static str,
    pub(super) params: Params,
    pub(super) gate: Option<Gate>,
    /// In words, for errors.
    pub(super) what: String,
    /// Losing the connection leaves open whether it happened.
    pub(super) may_have_happened: bool,
}

impl Question {
    /// One that nobody has to approve.
    pub(super) fn plain(method: &'static str, params: Params) -> Self {
        Self { method, params, gate: None, what: format!("`{method}`"), may_have_happened: false }
    }

    /// An approved one.
    fn approved(session: &Session, approved: Approved, recheck: Recheck) -> Result<Self, Error> {
        let (method, params, what) = compose(approved.operation())?;
        let here = (session.server().clone(), session.generation());
        let gate = move || {
            let bound = (approved.operation().server(), approved.granted().generation);
            bound == (&here.0, here.1) && recheck(&approved)
        };
        Ok(Self { method, params, gate: Some(Box::new(gate)), what, may_have_happened: true })
    }
}

/// Method, params and name in words of an operation. The arguments of a call go out as the bytes that were approved.
fn compose(operation: &Operation) -> Result<(&'static str, Params, String), Error> {
    let params = Params::default();
    Ok(match operation {
        Operation::CallTool { tool, arguments, .. } => {
            let params = params.with("name", &tool.name).raw("arguments", arguments.wire.clone());
            ("tools/call", params, format!("tool `{}`", tool.name))
        }
        Operation::ReadResource { uri, .. } => ("resources/read", params.with("uri", uri), format!("resource `{uri}`")),
        Operation::Subscribe { uri, .. } => {
            ("resources/subscribe", params.with("uri", uri), format!("the subscription to `{uri}`"))
        }
        Operation::GetPrompt { name, arguments, .. } => {
            ("prompts/get", params.with("name", name).with("arguments", arguments), format!("prompt `{name}`"))
        }
        Operation::Complete { target, argument, context, .. } => {
            let reference = match target {
                CompletionTarget::Prompt { name } => serde_json::json!({ "type": "ref/prompt", "name": name }),
                CompletionTarget::ResourceTemplate { uri_template } => {
                    serde_json::json!({ "type": "ref/resource", "uri": uri_template })
                }
            };
            let (name, value) = argument;
            let mut params =
                params.with("ref", &reference).with("argument", &serde_json::json!({ "name": name, "value": value }));
            if !context.is_empty() {
                params = params.with("context", &serde_json::json!({ "arguments": context }));
            }
            ("completion/complete", params, format!("the completion of `{name}`"))
        }
        Operation::Connect { .. } => return Err(Error::internal("connecting is not a request")),
    })
}

/// One approved request.
pub(super) async fn approved(
    session: &Session,
    approved: Approved,
    recheck: Recheck,
    mut options: RequestOptions,
) -> Result<Reply, RequestError> {
    if matches!(approved.operation(), Operation::CallTool { .. }) {
        options.cap = options.cap.or(Some(CALL_CAP));
        options.idle = options.idle.or(Some(CALL_IDLE));
    }
    let missing = matches!(approved.operation(), Operation::ReadResource { .. });
    let uri = if let Operation::ReadResource { uri, .. } = approved.operation() { uri.clone() } else { String::new() };
    match ask(session, Question::approved(session, approved, recheck)?, options).await {
        Err(RequestError::Failed(Error::ServerError { server, jsonrpc_code: RESOURCE_NOT_FOUND, .. })) if missing => {
            Err(Error::ResourceNotFound { server, uri }.into())
        }
        other => other,
    }
}

/// Asks and waits.
pub(super) async fn ask(session: &Session, question: Question, options: RequestOptions) -> Result<Reply, RequestError> {
    let Question { method, params, gate, what, may_have_happened } = question;
    let RequestOptions { idle, cap, cancel, progress } = options;
    let began = Instant::now();
    let cap = cap.unwrap_or(READ_CAP);
    let idle = idle.unwrap_or(cap).min(cap);
    let server = session.server();
    let cancelled = |what: String, sent| Error::Cancelled { server: Some(server.clone()), what, sent };
    let timed_out = |what: String, after: Duration, sent| Error::Timeout {
        server: Some(server.clone()),
        what,
        after_ms: u32::try_from(after.as_millis()).unwrap_or(u32::MAX),
        sent,
    };
    if cancel.is_cancelled() {
        return Err(cancelled(what, false).into());
    }

    let (ticket, mut answer) = Ticket::new(method, params, gate);
    let ticket = Arc::new(ticket);
    let handed_over = async {
        let permit = session.permits().acquire().await.ok()?;
        let in_flight = session.engine().send(Arc::clone(&ticket)).await?;
        Some((permit, in_flight))
    };
    let handed_over = tokio::select! {
        handed_over = handed_over => handed_over,
        () = cancel.cancelled() => return Err(cancelled(what, false).into()),
        () = sleep_until(began + idle) => return Err(timed_out(what, idle, false).into()),
    };
    let Some((_permit, in_flight)) = handed_over else {
        return Err(Error::NotConnected { server: server.clone() }.into());
    };
    let mut waiting = Waiting { ticket: &ticket, in_flight: Some(in_flight) };
    let mut pace = Pace::new(progress);
    let mut quiet_since = Instant::now();

    let refusal = loop {
        let due = pace.next_due();
        tokio::select! {
            biased;
            answer = &mut answer => {
                pace.add(ticket.take_progress());
                pace.finish();
                waiting.settle().await;
                match answer.unwrap_or(Err(Refusal::Ended)) {
                    Ok(raw) => {
                        let duration = ticket.sent_at().map(|sent| sent.elapsed()).unwrap_or_default();
                        return Ok(Reply { raw, duration });
                    }
                    Err(refusal) => break refusal,
                }
            }
            () = cancel.cancelled() => {
                let sent = waiting.take_back("cancelled by the user");
                return Err(cancelled(what, sent).into());
            }
            () = sleep_until(began + cap) => {
                let sent = waiting.take_back("the time limit of the request ran out");
                return Err(timed_out(what, cap, sent).into());
            }
            () = sleep_until(quiet_since + idle) => {
                let sent = waiting.take_back("no progress within the time limit");
                return Err(timed_out(what, idle, sent).into());
            }
            () = ticket.signs.notified() => {
                quiet_since = Instant::now();
                pace.add(ticket.take_progress());
            }
            () = async { if let Some(due) = due { sleep_until(due).await } }, if due.is_some() => {}
        }
        pace.pass_on();
    };

    let server = server.clone();
    Err(match refusal {
        Refusal::Stale => return Err(RequestError::Stale),
        Refusal::Server { code, message } => {
            Error::ServerError { server, jsonrpc_code: code, message: session.mask(&message) }
        }
        Refusal::TooLarge => Error::ResultTooLarge { server, limit: MESSAGE_LIMIT as u32 },
        Refusal::Broken(problem) => Error::ProtocolError { server, problem },
        Refusal::Ended if ticket.is_sent() && may_have_happened => {
            Error::CallOutcomeUnknown { server, what, exit_code: session.exit().map(|exit| exit.code) }
        }
        Refusal::Ended => Error::NotConnected { server },
    }
    .into())
}

/// A request that is waited for. Dropped before its answer, it is taken back, and the server is told.
struct Waiting<'a> {
    ticket: &'a Ticket,
    in_flight: Option<InFlight>,
}

impl Waiting<'_> {
    async fn settle(&mut self) {
        if let Some(in_flight) = self.in_flight.take() {
            in_flight.settle().await;
        }
    }

    /// Whether it had been sent.
    fn take_back(&mut self, reason: &'static str) -> bool {
        self.ticket.give_up();
        if let Some(in_flight) = self.in_flight.take() {
            in_flight.take_back(reason);
        }
        self.ticket.is_sent()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.in_flight.is_some() {
            self.take_back("the caller is gone");
        }
    }
}
