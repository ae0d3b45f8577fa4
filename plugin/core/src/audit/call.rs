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
    collections::BTreeMap,
    sync::{Arc, LazyLock},
    time::Duration,
};

use hmac::Mac;
use regex::Regex;

use super::{
    log::{AuditLog, Core},
    record::Payload,
    redact::Part,
};
use crate::{
    error::{Error, Result},
    model::{
        CallId, Caller, CompletionTarget, ContentBlock, Operation, Raw, ServerId, hex,
        json::{Limits, Object, Value, ascii_string},
    },
    store::hmac_under,
};

/// Arguments that take more than this in canonical form are told by their size only.
const LONGEST_ARGUMENTS: usize = 64 * 1024;

/// The same for a result, unless the person wants everything.
const LONGEST_RESULT: usize = 8 * 1024;

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

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// A tool, known or not.
    Call {
        /// The server.
        server: &'a ServerId,
        /// The tool's own name.
        tool: &'a str,
        /// As they were asked for.
        arguments: Option<&'a Object>,
        /// Of the definition, where there is one.
        definition_hash: Option<&'a str>,
    },
    /// A resource, read or subscribed to.
    Read {
        /// The server.
        server: &'a ServerId,
        /// The resource.
        uri: &'a str,
        /// Subscribe, not read.
        subscribe: bool,
    },
    /// A prompt.
    Prompt {
        /// The server.
        server: &'a ServerId,
        /// The prompt.
        name: &'a str,
        /// As they were asked for.
        arguments: &'a BTreeMap<String, String>,
    },
    /// A completion.
    Complete {
        /// The server.
        server: &'a ServerId,
        /// Of what.
        target: &'a CompletionTarget,
        /// Name and value so far.
        argument: (&'a str, &'a str),
    },
}

impl<'a> Subject<'a> {
    /// What an operation asks for. `None` for a connect, which has events of its own.
    pub fn of(operation: &'a Operation) -> Option<Self> {
        Some(match operation {
            Operation::CallTool { server, tool, arguments } => Self::Call {
                server,
                tool: &tool.name,
                arguments: Some(&arguments.value),
                definition_hash: Some(&tool.hash),
            },
            Operation::ReadResource { server, uri, .. } => Self::Read { server, uri, subscribe: false },
            Operation::Subscribe { server, uri, .. } => Self::Read { server, uri, subscribe: true },
            Operation::GetPrompt { server, name, arguments } => Self::Prompt { server, name, arguments },
            Operation::Complete { server, target, argument: (name, value), .. } => {
                Self::Complete { server, target, argument: (name, value) }
            }
            Operation::Connect { .. } => return None,
        })
    }

    fn family(&self) -> &'static Family {
        match self {
            Self::Call { .. } => &CALL,
            Self::Read { .. } => &RESOURCE,
            Self::Prompt { .. } => &PROMPT,
            Self::Complete { .. } => &COMPLETION,
        }
    }
}

/// The event names of one kind of request.
#[derive(Debug)]
struct Family {
    requested: &'static str,
    /// Refused by policy or a person.
    denied: &'static str,
    /// Did not get as far as being sent.
    unsent: &'static str,
    /// The intent; where there is none, `requested` is it.
    started: Option<&'static str>,
    completed: &'static str,
    failed: &'static str,
}

static CALL: Family = Family {
    requested: "tool_call_requested",
    denied: "tool_call_blocked",
    unsent: "tool_call_blocked",
    started: Some("tool_call_started"),
    completed: "tool_call_completed",
    failed: "tool_call_failed",
};

static RESOURCE: Family = Family {
    requested: "resource_requested",
    denied: "resource_denied",
    unsent: "resource_failed",
    started: None,
    completed: "resource_read",
    failed: "resource_failed",
};

static PROMPT: Family = Family {
    requested: "prompt_requested",
    denied: "prompt_denied",
    unsent: "prompt_failed",
    started: None,
    completed: "prompt_read",
    failed: "prompt_failed",
};

static COMPLETION: Family = Family {
    requested: "completion_requested",
    denied: "completion_denied",
    unsent: "completion_failed",
    started: None,
    completed: "completion_read",
    failed: "completion_failed",
};

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

/// What came back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Completed<'a> {
    /// The tool ran and reported failure.
    pub is_error: bool,
    /// The size of the answer.
    pub bytes: u64,
    /// From sending to the answer.
    pub duration: Duration,
    /// Kept with `--audit-full` only; else told by number and kind.
    pub content: &'a [ContentBlock],
    /// Kept without its contents.
    pub structured: Option<&'a Raw>,
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
        cut.shorten(super::log::ROOM as usize - 1024);
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
        let text = |text: &str| {
            let mut out = String::new();
            core.redactor().write_text(text, &mut out);
            out
        };
        let mut payload;
        match subject {
            Subject::Call { server, tool, arguments, definition_hash } => {
                about.text("server", server.as_str()).json("tool_name", text(tool));
                payload = about.clone();
                payload.json("arguments", arguments_json(core, arguments));
                if let Some(hash) = definition_hash {
                    payload.text("definition_hash", hash);
                }
            }
            Subject::Read { server, uri, subscribe } => {
                about.text("server", server.as_str()).json("uri", text(uri));
                about.text("operation", if subscribe { "subscribe" } else { "read" });
                payload = about.clone();
            }
            Subject::Prompt { server, name, arguments } => {
                about.text("server", server.as_str()).json("name", text(name));
                payload = about.clone();
                let mut object = Object::new();
                for (name, value) in arguments {
                    object.insert(name.as_str(), value.as_str());
                }
                payload.json("arguments", arguments_json(core, Some(&object)));
            }
            Subject::Complete { server, target, argument: (name, value) } => {
                let target = match target {
                    CompletionTarget::Prompt { name } => name,
                    CompletionTarget::ResourceTemplate { uri_template } => uri_template,
                };
                about.text("server", server.as_str()).json("name", text(target));
                payload = about.clone();
                let mut object = Object::new();
                object.insert(name, value);
                payload.json("arguments", arguments_json(core, Some(&object)));
            }
        }
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

fn caller_json(core: &Core, caller: &Caller) -> String {
    let mut payload = Payload::default();
    payload.text("kind", caller.kind().as_str());
    let text = |text: &str| {
        let mut out = String::new();
        core.redactor().write_text(text, &mut out);
        out
    };
    match caller {
        Caller::Page { window, document } => {
            payload.json("window", text(window)).number("document", *document);
        }
        Caller::Agent { run_id } => {
            payload.json("run_id", text(run_id));
        }
        Caller::Serve { session, client, process } => {
            payload.json("session", text(session)).json("client", text(client));
            if let Some((pid, program)) = process {
                payload.number("pid", u64::from(*pid)).json("program", text(program));
            }
        }
        Caller::Cli | Caller::Settings => {}
    }
    payload.canonical()
}

fn arguments_json(core: &Core, arguments: Option<&Object>) -> String {
    let mut out = String::new();
    match arguments {
        Some(arguments) => core.redactor().write_object(arguments, Part::Arguments, &mut out),
        None => out.push_str("{}"),
    }
    if out.len() > LONGEST_ARGUMENTS && !core.is_full() { too_long(out.len()) } else { out }
}

fn result_json(core: &Core, completed: &Completed<'_>) -> String {
    let mut payload = Payload::default();
    if core.is_full() {
        let content = serde_json::to_string(completed.content).ok();
        let value = content.and_then(|text| crate::model::json::parse(text.as_bytes(), Limits::FOREIGN).ok());
        payload.json("content", written(core, value.as_ref(), Part::Result));
    } else if !completed.content.is_empty() {
        let kinds = completed.content.iter().map(|block| match block {
            ContentBlock::Text { .. } => "text",
            ContentBlock::Image { .. } => "image",
            ContentBlock::Audio { .. } => "audio",
            ContentBlock::ResourceLink { .. } => "resource_link",
            ContentBlock::Resource { .. } => "resource",
            ContentBlock::Unknown { .. } => "unknown",
        });
        let mut counts = BTreeMap::<&'static str, u64>::new();
        kinds.for_each(|kind| *counts.entry(kind).or_default() += 1);
        let mut blocks = Payload::default();
        for (kind, count) in counts {
            blocks.number(kind, count);
        }
        payload.json("blocks", blocks.canonical());
    }
    if let Some(raw) = completed.structured {
        let value = if raw.as_str().len() <= 8 * LONGEST_RESULT || core.is_full() {
            raw.value(Limits::FOREIGN).ok()
        } else {
            None
        };
        let text = match &value {
            Some(value) => written(core, Some(value), Part::Result),
            None => too_long(raw.as_str().len()),
        };
        let fits = core.is_full() || text.len() <= LONGEST_RESULT;
        payload.json("structured", if fits { text } else { too_long(raw.as_str().len()) });
    }
    payload.canonical()
}

fn written(core: &Core, value: Option<&Value>, part: Part) -> String {
    let mut out = String::new();
    core.redactor().write(value.unwrap_or(&Value::Null), part, &mut out);
    out
}

fn too_long(bytes: usize) -> String {
    let mut out = String::new();
    ascii_string(&format!("{} ({bytes} bytes)", super::redact::REDACTED), &mut out);
    out
}
