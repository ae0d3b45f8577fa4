//! A server's values into `model`, item by item, leniently.
//!
//! A content block is never dropped, an unknown field never fatal, and one bad item spoils only itself.

use crate::{
    error::Result,
    model::{Completion, ContentBlock, PromptContent, Raw, ResourceContent, ServerId},
};

/// What a call's result says.
#[derive(Clone, Debug, Default)]
pub struct CallOutcome {
    /// The blocks, in order; never one dropped.
    pub content: Vec<ContentBlock>,
    /// As the server wrote it.
    pub structured_content: Option<Raw>,
    /// The tool ran and reported failure.
    pub is_error: bool,
    /// `_meta` of the result.
    pub meta: Option<Raw>,
    /// What was repaired, in words.
    pub diagnostics: Vec<String>,
}

/// The result of `tools/call`.
pub fn call_outcome(server: &ServerId, raw: &Raw) -> Result<CallOutcome> {
    let _ = (server, raw);
    Ok(CallOutcome::default())
}

/// The result of `resources/read`, and what was left out of it, in words.
pub fn resource_content(server: &ServerId, uri: &str, raw: &Raw) -> Result<(ResourceContent, Vec<String>)> {
    let _ = raw;
    Ok((ResourceContent { server_id: server.clone(), uri: uri.to_owned(), contents: Vec::new() }, Vec::new()))
}

/// The result of `prompts/get`, and what was repaired in it, in words.
pub fn prompt_content(server: &ServerId, name: &str, raw: &Raw) -> Result<(PromptContent, Vec<String>)> {
    let _ = raw;
    let content =
        PromptContent { server_id: server.clone(), name: name.to_owned(), description: None, messages: Vec::new() };
    Ok((content, Vec::new()))
}

/// The result of `completion/complete`.
pub fn completion(server: &ServerId, raw: &Raw) -> Result<Completion> {
    let _ = (server, raw);
    Ok(Completion { values: Vec::new(), total: None, has_more: false })
}
