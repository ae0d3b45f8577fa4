//! One call's steps in the log, in their only order.
//!
//! ```text
//! requested → (shown → answered)* → blocked
//! requested → (shown → answered)* → started → completed | failed
//! ```
//!
//! Each step is a method of what the step before gave, and what is dropped on the way writes its own end, so a call can
//! have neither two outcomes nor none. Resources, prompts and completions go the same way with their own event names;
//! they have no `started` record, since theirs is written before anything is sent already.

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock},
    time::Duration,
};

use hmac::Mac;
use regex::Regex;

use super::{
    log::{AuditLog, Core},
    record::Payload,
    subject::{Completed, Family, Subject, caller_json, result_json},
};
use crate::{
    error::{Error, Result},
    model::{CallId, Caller, hex},
    store::hmac_under,
};

/// Where a record is: its line in its run's log, and its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The run.
    pub run_id: String,
    /// Its number in the run, from 1; the line, as long as the run has one file.
    pub seq: u64,
    /// 32 hex digits.
    pub event_id: String,
}

/// How a call ended that was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Policy or a person said no.
    Denied,
    /// Something else stood in the way: not connected, schema, rate limit.
    Failed,
    /// The caller took it back.
    Cancelled,
}

impl Refusal {
    /// As in the field `decision`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What is known of a call that has no outcome yet.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    family: &'static Family,
    /// Call, server, name, caller.
    about: Payload,
    step: Step,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Requested,
    /// Its intent is written, and it has not been let go.
    Intended,
    Sent,
}

impl Pending {
    /// The outcome of a call that nobody gave one.
    pub(super) fn abandoned(&self) -> (&'static str, Payload) {
        let mut payload = self.about.clone();
        match self.step {
            Step::Requested => {
                payload.text("decision", Refusal::Cancelled.as_str()).text("rule", "abandoned");
                (self.family.unsent, payload)
            }
            Step::Intended => {
                payload.text("outcome", "not_sent");
                (self.family.failed, payload)
            }
            Step::Sent => {
                payload.text("outcome", "unknown");
                (self.family.failed, payload)
            }
        }
    }
}

/// A call without an outcome; dropping it gives it one.
#[derive(Debug)]
struct Open {
    /// Keeps the run open.
    log: AuditLog,
    number: u64,
    /// The outcome is written or owed.
    done: bool,
}

impl Open {
    fn core(&self) -> &Arc<Core> {
        self.log.core()
    }

    fn step(&self, step: Step) {
        if let Some(pending) = self.core().lock().pending.get_mut(&self.number) {
            pending.step = step;
        }
    }

    /// Writes the outcome: what is known of the call, and `more`.
    fn end(
        mut self,
        event_type: impl FnOnce(&Family) -> &'static str,
        more: impl FnOnce(&mut Payload),
    ) -> Result<Receipt> {
        self.done = true;
        let core = Arc::clone(self.core());
        let about = core.lock().pending.get(&self.number).map(|pending| (pending.family, pending.about.clone()));
        let Some((family, mut whole)) = about else {
            return Err(super::log::unavailable("this run has ended"));
        };
        more(&mut whole);
        let (event_type, text) = (event_type(family), whole.canonical());
        // Cut to the room that is kept for it, what came back is left out, and how it ended stays.
        let mut cut = whole;
        cut.shorten(super::run::ROOM as usize - 1024);
        core.settle(&mut core.lock(), self.number, event_type, &text, cut)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let core = self.core();
        let mut state = core.lock();
        let Some(pending) = state.pending.get(&self.number) else { return };
        let (event_type, payload) = pending.abandoned();
        // What cannot be written is owed, and told there.
        let _ = core.settle(&mut state, self.number, event_type, &payload.canonical(), payload);
    }
}

impl AuditLog {
    /// Writes down that something is asked for. `digest` is the payload digest; the log keeps its HMAC.
    ///
    /// # Errors
    /// `audit_unavailable`: the call must go no further.
    pub fn requested(
        &self,
        call: &CallId,
        caller: &Caller,
        subject: Subject<'_>,
        digest: Option<&str>,
    ) -> Result<Requested> {
        let core = self.core();
        let family = subject.family();
        let mut about = Payload::default();
        about.text("call_id", call.as_str()).json("caller", caller_json(core, caller));
        subject.describe(core, &mut about);
        let mut payload = about.clone();
        subject.detail(core, &mut payload);
        if let Some(digest) = digest {
            let mut mac = hmac_under(&core.key().derive("mcp-host/1/audit/digest"));
            mac.update(digest.as_bytes());
            payload.text("payload_digest_hmac", &hex(&mac.finalize().into_bytes()));
        }
        let pending = Pending { family, about, step: Step::Requested };
        let (number, receipt) = core.admit(&mut core.lock(), family.requested, &payload.canonical(), pending)?;
        Ok(Requested { open: Open { log: self.clone(), number, done: false }, receipt })
    }
}

/// A call that was asked for and is not decided.
#[derive(Debug)]
#[must_use = "a request that is dropped is logged as cancelled"]
pub struct Requested {
    open: Open,
    receipt: Receipt,
}

impl Requested {
    /// Where the request is written.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// A person is being asked. `shown_hash` is the SHA-256 of what they see.
    ///
    /// # Errors
    /// `audit_unavailable`.
    pub fn shown(&self, shown_hash: &str) -> Result<Receipt> {
        self.note("approval_shown", |payload| {
            payload.text("shown_hash", shown_hash);
        })
    }

    /// They answered, or it ended otherwise (`dismissed`, `timeout`, `cancelled`).
    ///
    /// # Errors
    /// `audit_unavailable`.
    pub fn answered(&self, answer: &str, took: Duration) -> Result<Receipt> {
        self.note("approval_answered", |payload| {
            payload.text("answer", answer).number("duration_ms", millis(took));
        })
    }

    fn note(&self, event_type: &str, more: impl FnOnce(&mut Payload)) -> Result<Receipt> {
        let core = self.open.core();
        let mut state = core.lock();
        let Some(pending) = state.pending.get(&self.open.number) else {
            return Err(super::log::unavailable("this run has ended"));
        };
        let mut payload = pending.about.clone();
        more(&mut payload);
        core.append(&mut state, event_type, &payload.canonical())
    }

    /// It is not sent. `rule` is a name of the closed list (policy.md §3), or of what stood in the way.
    ///
    /// # Errors
    /// `audit_unavailable`; the record is owed.
    pub fn blocked(self, refusal: Refusal, rule: &str, error: &Error) -> Result<Receipt> {
        let core = Arc::clone(self.open.core());
        let name = |family: &Family| if refusal == Refusal::Denied { family.denied } else { family.unsent };
        self.open.end(name, |payload| {
            payload.text("decision", refusal.as_str()).text("rule", rule);
            describe(&core, error, payload);
        })
    }

    /// It is about to be sent. Resolves when that may happen: the intent is written, and, unless the tool is of
    /// read-only class, on the disk.
    ///
    /// # Errors
    /// `audit_unavailable`: it must not be sent; the log says so where it can.
    pub async fn started(self, rule: &str, read_only: bool) -> Result<Sent> {
        let Self { open, receipt } = self;
        let core = Arc::clone(open.core());
        let receipt = {
            let mut state = core.lock();
            let Some(pending) = state.pending.get_mut(&open.number) else {
                return Err(super::log::unavailable("this run has ended"));
            };
            pending.about.text("decision", "allowed").text("rule", rule);
            let (family, payload) = (pending.family, pending.about.canonical());
            match family.started {
                Some(event_type) => match core.append(&mut state, event_type, &payload) {
                    Ok(receipt) => {
                        if let Some(pending) = state.pending.get_mut(&open.number) {
                            pending.step = Step::Intended;
                        }
                        receipt
                    }
                    Err(error) => {
                        drop(state);
                        // In the room that is kept for it.
                        let _ = open.end(
                            |family| family.unsent,
                            |payload| {
                                payload.text("decision", Refusal::Failed.as_str()).text("rule", "audit-unavailable");
                            },
                        );
                        return Err(error);
                    }
                },
                None => receipt,
            }
        };
        if !read_only {
            core.wait_synced(receipt.seq).await?;
        }
        open.step(Step::Sent);
        Ok(Sent { open, receipt })
    }
}

/// A call that may have been sent.
#[derive(Debug)]
#[must_use = "a call that is dropped is logged as `outcome: unknown`"]
pub struct Sent {
    open: Open,
    receipt: Receipt,
}

impl Sent {
    /// Where the intent is written.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// The server answered.
    ///
    /// # Errors
    /// `audit_unavailable`: the answer is there, its record is owed, and no further call is taken until it is written.
    pub fn completed(self, completed: Completed<'_>) -> Result<Receipt> {
        let core = Arc::clone(self.open.core());
        self.open.end(
            |family| family.completed,
            |payload| {
                payload.text("outcome", if completed.is_error { "tool_error" } else { "completed" });
                payload.flag("is_error", completed.is_error).number("result_bytes", completed.bytes);
                payload.number("duration_ms", millis(completed.duration));
                payload.json("result", result_json(&core, &completed));
            },
        )
    }

    /// It failed. Whether it may have happened all the same is read from the error.
    ///
    /// # Errors
    /// `audit_unavailable`, as for [`Self::completed`].
    pub fn failed(self, error: &Error, took: Duration) -> Result<Receipt> {
        let core = Arc::clone(self.open.core());
        self.open.end(
            |family| family.failed,
            |payload| {
                payload.text("outcome", outcome(error)).flag("is_error", true).number("duration_ms", millis(took));
                describe(&core, error, payload);
            },
        )
    }
}

/// `unknown` where it was sent and no answer came; `not_sent` where it certainly was not; else an answer came: `error`.
fn outcome(error: &Error) -> &'static str {
    match error {
        Error::CallOutcomeUnknown { .. }
        | Error::Timeout { sent: true, .. }
        | Error::Cancelled { sent: true, .. }
        | Error::Internal { .. } => "unknown",
        Error::ServerError { .. }
        | Error::ProtocolError { .. }
        | Error::ResultTooLarge { .. }
        | Error::ResourceNotFound { .. }
        | Error::PromptNotFound { .. } => "error",
        _ => "not_sent",
    }
}

fn describe(core: &Core, error: &Error, payload: &mut Payload) {
    /// A payload digest: its advice names it to the one refused, and the log keeps its HMAC only.
    static DIGEST: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b[0-9a-fA-F]{64}\b").ok());
    let text = error.to_string();
    let text =
        DIGEST.as_ref().map_or(Cow::Borrowed(super::redact::REDACTED), |digest| digest.replace_all(&text, "[digest]"));
    let mut message = String::new();
    core.redactor().write_text(&text, &mut message);
    payload.text("code", error.code().as_str()).json("message", message);
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
