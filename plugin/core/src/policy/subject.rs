//! What is asked for, as decisions look at it.

use std::collections::BTreeMap;

use crate::model::{CompletionTarget, Operation, json::Object};

/// What is asked of a server.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// A tool is called.
    Call {
        /// Its own name.
        tool: &'a str,
        /// The hash of its definition as the server gives it now.
        definition: &'a str,
        /// The arguments; `None` where only the prospects of a call are looked at.
        arguments: Option<&'a Object>,
        /// How many bytes the arguments have on the wire.
        bytes: usize,
    },
    /// A resource is read or subscribed to.
    Resource {
        /// Which.
        uri: &'a str,
        /// The server itself listed it.
        listed: bool,
    },
    /// A prompt is got.
    Prompt {
        /// Which.
        name: &'a str,
        /// Its arguments.
        arguments: &'a BTreeMap<String, String>,
    },
    /// An argument of a prompt is completed.
    PromptCompletion {
        /// Which prompt.
        name: &'a str,
        /// What has been typed so far.
        value: &'a str,
        /// The arguments that are known.
        context: &'a BTreeMap<String, String>,
    },
    /// A variable of a resource template is completed.
    TemplateCompletion {
        /// Which template, as the server lists it.
        uri_template: &'a str,
        /// What has been typed so far.
        value: &'a str,
        /// The variables that are known.
        context: &'a BTreeMap<String, String>,
    },
    /// The server is started or reached.
    Connect,
}

impl<'a> Subject<'a> {
    /// A call of which the arguments are not known yet.
    pub fn prospect(tool: &'a str, definition: &'a str) -> Self {
        Self::Call { tool, definition, arguments: None, bytes: 0 }
    }

    /// The hash of the tool's definition, where a tool is called.
    pub fn definition(&self) -> Option<&'a str> {
        match self {
            Self::Call { definition, .. } => Some(definition),
            _ => None,
        }
    }

    /// How many bytes a dialog would have to show.
    pub fn bytes(&self) -> usize {
        let sum =
            |map: &BTreeMap<String, String>| map.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
        match self {
            Self::Call { bytes, .. } => *bytes,
            Self::Resource { uri, .. } => uri.len(),
            Self::Prompt { arguments, .. } => sum(arguments),
            Self::PromptCompletion { value, context, .. } | Self::TemplateCompletion { value, context, .. } => {
                value.len() + sum(context)
            }
            Self::Connect => 0,
        }
    }
}

impl<'a> From<&'a Operation> for Subject<'a> {
    fn from(operation: &'a Operation) -> Self {
        match operation {
            Operation::CallTool { tool, arguments, .. } => Self::Call {
                tool: &tool.name,
                definition: &tool.hash,
                arguments: Some(&arguments.value),
                bytes: arguments.wire.len(),
            },
            Operation::ReadResource { uri, listed, .. } | Operation::Subscribe { uri, listed, .. } => {
                Self::Resource { uri, listed: *listed }
            }
            Operation::GetPrompt { name, arguments, .. } => Self::Prompt { name, arguments },
            Operation::Complete { target: CompletionTarget::Prompt { name }, argument, context, .. } => {
                Self::PromptCompletion { name, value: &argument.1, context }
            }
            Operation::Complete {
                target: CompletionTarget::ResourceTemplate { uri_template },
                argument,
                context,
                ..
            } => Self::TemplateCompletion { uri_template, value: &argument.1, context },
            Operation::Connect { .. } => Self::Connect,
        }
    }
}
