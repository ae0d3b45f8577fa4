//! What a call asks for and what comes back, as the payload of its records: by whom, of what, with what.
//!
//! `call` says in which record it stands. Nothing leaves here that has not passed the `Redactor`.

use std::{collections::BTreeMap, time::Duration};

use super::{log::Core, record::Payload, redact::Part};
use crate::model::{
    Caller, CompletionTarget, ContentBlock, Operation, Raw, ServerId,
    json::{self, Limits, Object, Value, ascii_string},
};

/// Arguments that take more than this in canonical form are told by their size only.
const LONGEST_ARGUMENTS: usize = 64 * 1024;

/// The same for a result, unless the person wants everything.
const LONGEST_RESULT: usize = 8 * 1024;

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

    pub(super) fn family(&self) -> &'static Family {
        match self {
            Self::Call { .. } => &CALL,
            Self::Read { .. } => &RESOURCE,
            Self::Prompt { .. } => &PROMPT,
            Self::Complete { .. } => &COMPLETION,
        }
    }

    /// What every record of the call says.
    pub(super) fn describe(&self, core: &Core, about: &mut Payload) {
        match self {
            Self::Call { server, tool, .. } => {
                about.text("server", server.as_str()).json("tool_name", masked(core, tool))
            }
            Self::Read { server, uri, subscribe } => {
                about.text("operation", if *subscribe { "subscribe" } else { "read" });
                about.text("server", server.as_str()).json("uri", masked(core, uri))
            }
            Self::Prompt { server, name, .. } => about.text("server", server.as_str()).json("name", masked(core, name)),
            Self::Complete { server, target, .. } => {
                let target = match target {
                    CompletionTarget::Prompt { name } => name,
                    CompletionTarget::ResourceTemplate { uri_template } => uri_template,
                };
                about.text("server", server.as_str()).json("name", masked(core, target))
            }
        };
    }

    /// What only the first one says.
    pub(super) fn detail(&self, core: &Core, payload: &mut Payload) {
        match self {
            Self::Call { arguments, definition_hash, .. } => {
                payload.json("arguments", arguments_json(core, *arguments));
                if let Some(hash) = definition_hash {
                    payload.text("definition_hash", hash);
                }
            }
            Self::Read { .. } => {}
            Self::Prompt { arguments, .. } => {
                // Through the text, since putting members into an object one by one compares each with all.
                let text = serde_json::to_vec(arguments).unwrap_or_default();
                let value = json::parse(&text, Limits::ARGUMENTS).ok();
                payload.json("arguments", arguments_json(core, value.as_ref().and_then(Value::as_object)));
            }
            Self::Complete { argument: (name, value), .. } => {
                let mut object = Object::new();
                object.insert(*name, *value);
                payload.json("arguments", arguments_json(core, Some(&object)));
            }
        }
    }
}

/// The event names of one kind of request.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) requested: &'static str,
    /// Refused by policy or a person.
    pub(super) denied: &'static str,
    /// Did not get as far as being sent.
    pub(super) unsent: &'static str,
    /// The intent; where there is none, `requested` is it.
    pub(super) started: Option<&'static str>,
    pub(super) completed: &'static str,
    pub(super) failed: &'static str,
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

pub(super) fn caller_json(core: &Core, caller: &Caller) -> String {
    let mut payload = Payload::default();
    payload.text("kind", caller.kind().as_str());
    let text = |text: &str| masked(core, text);
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

fn masked(core: &Core, text: &str) -> String {
    let mut out = String::new();
    core.redactor().write_text(text, &mut out);
    out
}

fn arguments_json(core: &Core, arguments: Option<&Object>) -> String {
    let mut out = String::new();
    match arguments {
        Some(arguments) => core.redactor().write_object(arguments, Part::Arguments, &mut out),
        None => out.push_str("{}"),
    }
    if out.len() > LONGEST_ARGUMENTS && !core.is_full() { too_long(out.len()) } else { out }
}

pub(super) fn result_json(core: &Core, completed: &Completed<'_>) -> String {
    let mut payload = Payload::default();
    if core.is_full() {
        let content = serde_json::to_string(completed.content).ok();
        let value = content.and_then(|text| json::parse(text.as_bytes(), Limits::FOREIGN).ok());
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
