//! Results: of calls, resources, prompts, completions; and the content blocks in them.

use super::{keep, keep_object};
use crate::{
    error::{Error, Result},
    model::{
        Annotations, Completion, ContentBlock, PromptContent, PromptMessage, Raw, ResourceContent, ResourceItem, Role,
        ServerId,
    },
    session::wire::view::{self, Kind},
};

/// Completions that are kept; the specification's own limit.
const COMPLETIONS: usize = 100;

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
///
/// # Errors
///
/// [`Error::ProtocolError`] where it is no object.
pub fn call_outcome(server: &ServerId, raw: &Raw) -> Result<CallOutcome> {
    let text = object(server, raw, "tools/call")?;
    let mut outcome = CallOutcome::default();
    let mut has_content = false;
    for (key, value) in view::entries(text) {
        match &*key {
            "content" => {
                has_content = true;
                match view::kind(value) {
                    Kind::Array => outcome.content.extend(view::items(value).map(block)),
                    Kind::Null => {}
                    _ => {
                        outcome.diagnostics.push("`content` is no array; it was taken as one block".to_owned());
                        outcome.content.push(block(value));
                    }
                }
            }
            "structuredContent" if view::kind(value) != Kind::Null => outcome.structured_content = keep(value),
            "isError" => {
                outcome.is_error = view::boolean(value) == Some(true);
                if !matches!(view::kind(value), Kind::Bool | Kind::Null) {
                    outcome.diagnostics.push("`isError` is no boolean and counts as false".to_owned());
                }
            }
            "_meta" => outcome.meta = keep_object(value),
            _ => {}
        }
    }
    // Before 2024-11-05 the result had another shape.
    if !has_content && let Some(value) = view::member(text, "toolResult") {
        outcome.diagnostics.push("the result has the old shape `toolResult`".to_owned());
        outcome.content.push(unknown("toolResult".to_owned(), value));
    }
    Ok(outcome)
}

/// The result of `resources/read`, and what was left out of it, in words.
///
/// # Errors
///
/// [`Error::ProtocolError`] where it has no array `contents`.
pub fn resource_content(server: &ServerId, uri: &str, raw: &Raw) -> Result<(ResourceContent, Vec<String>)> {
    let text = object(server, raw, "resources/read")?;
    let items = array(server, text, "resources/read", "contents")?;
    let mut told = Vec::new();
    let contents = view::items(items)
        .filter_map(|item| {
            let read = resource_item(item, Some(uri));
            if read.is_none() {
                told.push("an item of `contents` without text or blob was left out".to_owned());
            }
            read
        })
        .collect();
    Ok((ResourceContent { server_id: server.clone(), uri: uri.to_owned(), contents }, told))
}

/// The result of `prompts/get`, and what was repaired in it, in words.
///
/// # Errors
///
/// [`Error::ProtocolError`] where it has no array `messages`.
pub fn prompt_content(server: &ServerId, name: &str, raw: &Raw) -> Result<(PromptContent, Vec<String>)> {
    let text = object(server, raw, "prompts/get")?;
    let mut told = Vec::new();
    let mut messages = Vec::new();
    for message in view::items(array(server, text, "prompts/get", "messages")?) {
        let role = match view::member(message, "role").and_then(view::text).as_deref() {
            Some("assistant") => Role::Assistant,
            Some("user") => Role::User,
            _ => {
                told.push("a message whose role is neither `user` nor `assistant` was taken as the user's".to_owned());
                Role::User
            }
        };
        let content = view::member(message, "content").unwrap_or(message);
        match view::kind(content) {
            // Several blocks in one message: each becomes one of its own.
            Kind::Array => messages.extend(view::items(content).map(|raw| PromptMessage { role, content: block(raw) })),
            _ => messages.push(PromptMessage { role, content: block(content) }),
        }
    }
    let description = view::member(text, "description").and_then(view::text);
    Ok((PromptContent { server_id: server.clone(), name: name.to_owned(), description, messages }, told))
}

/// The result of `completion/complete`.
///
/// # Errors
///
/// [`Error::ProtocolError`] where it has no array `completion.values`.
pub fn completion(server: &ServerId, raw: &Raw) -> Result<Completion> {
    let text = object(server, raw, "completion/complete")?;
    let completion = view::member(text, "completion").unwrap_or("{}");
    let values = array(server, completion, "completion/complete", "values")?;
    let texts = view::items(values).filter_map(view::text);
    let total = view::member(completion, "total").and_then(view::integer);
    let more = view::items(values).count() > COMPLETIONS;
    Ok(Completion {
        values: texts.take(COMPLETIONS).collect(),
        total: total.and_then(|total| u32::try_from(total).ok()),
        has_more: more || view::member(completion, "hasMore").and_then(view::boolean) == Some(true),
    })
}

fn object<'a>(server: &ServerId, raw: &'a Raw, method: &str) -> Result<&'a str> {
    let text = raw.as_str();
    if view::kind(text) == Kind::Object {
        return Ok(text);
    }
    Err(Error::ProtocolError { server: server.clone(), problem: format!("its answer to `{method}` is no object") })
}

fn array<'a>(server: &ServerId, raw: &'a str, method: &str, member: &str) -> Result<&'a str> {
    view::member(raw, member).filter(|value| view::kind(value) == Kind::Array).ok_or_else(|| Error::ProtocolError {
        server: server.clone(),
        problem: format!("its answer to `{method}` has no array `{member}`"),
    })
}

/// One content block; what does not decode is kept as it is.
pub(super) fn block(raw: &str) -> ContentBlock {
    let kind = view::member(raw, "type").and_then(view::text).unwrap_or_default();
    let text = |name| view::member(raw, name).and_then(view::text);
    let annotations = || view::member(raw, "annotations").and_then(annotations);
    let known = match kind.as_str() {
        "text" => text("text").map(|text| ContentBlock::Text { text, annotations: annotations() }),
        "image" => text("data").zip(text("mimeType")).map(|(data, mime_type)| ContentBlock::Image {
            data,
            mime_type,
            annotations: annotations(),
        }),
        "audio" => text("data").zip(text("mimeType")).map(|(data, mime_type)| ContentBlock::Audio {
            data,
            mime_type,
            annotations: annotations(),
        }),
        "resource_link" => text("uri").map(|uri| ContentBlock::ResourceLink {
            name: text("name").unwrap_or_else(|| uri.clone()),
            uri,
            title: text("title"),
            description: text("description"),
            mime_type: text("mimeType"),
            size: view::member(raw, "size").and_then(view::number),
        }),
        "resource" => view::member(raw, "resource")
            .and_then(|item| resource_item(item, None))
            .map(|resource| ContentBlock::Resource { resource }),
        _ => None,
    };
    known.unwrap_or_else(|| unknown(kind, raw))
}

fn unknown(original_type: String, raw: &str) -> ContentBlock {
    // What came through the reader is JSON; were it not, it would be kept as text.
    match keep(raw) {
        Some(raw) => ContentBlock::Unknown { original_type, raw },
        None => ContentBlock::Text { text: raw.to_owned(), annotations: None },
    }
}

/// Text or blob. The URI may be left away where it is clear.
fn resource_item(raw: &str, asked: Option<&str>) -> Option<ResourceItem> {
    let text = |name| view::member(raw, name).and_then(view::text);
    let uri = text("uri").or_else(|| asked.map(str::to_owned))?;
    let mime_type = text("mimeType");
    match text("text") {
        Some(text) => Some(ResourceItem::Text { uri, mime_type, text }),
        None => text("blob").map(|blob| ResourceItem::Blob { uri, mime_type, blob }),
    }
}

fn annotations(raw: &str) -> Option<Annotations> {
    let mut read = Annotations::default();
    for (key, value) in view::entries(raw) {
        match &*key {
            "audience" if view::kind(value) == Kind::Array => {
                read.audience = Some(view::items(value).filter_map(view::text).collect());
            }
            "priority" => read.priority = view::number(value),
            "lastModified" => read.last_modified = view::text(value),
            _ => {}
        }
    }
    (read != Annotations::default()).then_some(read)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn server() -> ServerId {
        ServerId::parse("s").unwrap()
    }

    fn raw(value: &Value) -> Raw {
        Raw::from_text(value.to_string()).unwrap()
    }

    fn shown(blocks: &[ContentBlock]) -> Value {
        serde_json::to_value(blocks).unwrap()
    }

    #[test]
    fn every_kind_of_block_is_read() {
        let blocks = json!([
            { "type": "text", "text": "hi", "annotations": { "audience": ["user"], "priority": 0.5 } },
            { "type": "image", "data": "aGk=", "mimeType": "image/png" },
            { "type": "audio", "data": "aGk=", "mimeType": "audio/wav" },
            { "type": "resource_link", "uri": "a:b", "name": "n", "size": 5 },
            { "type": "resource", "resource": { "uri": "a:b", "text": "t" } },
            { "type": "resource", "resource": { "uri": "a:b", "mimeType": "x/y", "blob": "aGk=" } },
        ]);
        let outcome = call_outcome(&server(), &raw(&json!({ "content": blocks, "isError": true }))).unwrap();
        assert!(outcome.is_error);
        assert_eq!(shown(&outcome.content), blocks);
    }

    #[test]
    fn no_block_is_ever_dropped() {
        let odd = [
            json!({ "type": "video", "data": "x" }),
            json!({ "type": "text", "text": 7 }),
            json!({ "type": "image", "data": "x" }),
            json!({ "type": 7 }),
            json!({ "text": "no type" }),
            json!("bare"),
            json!(null),
            json!([{ "type": "text", "text": "nested" }]),
            json!({ "type": "resource", "resource": {} }),
            json!({ "type": "resource_link" }),
        ];
        let outcome = call_outcome(&server(), &raw(&json!({ "content": odd }))).unwrap();
        assert_eq!(outcome.content.len(), odd.len());
        for (block, odd) in outcome.content.iter().zip(&odd) {
            let ContentBlock::Unknown { original_type, raw } = block else { panic!("{block:?}") };
            assert_eq!(original_type, odd.get("type").and_then(Value::as_str).unwrap_or(""));
            assert_eq!(raw.as_str(), odd.to_string());
        }
    }

    #[test]
    fn structured_content_alone_is_a_result_and_keeps_its_digits() {
        let text =
            r#"{"content":[],"structuredContent":{"n":1.10,"id":12345678901234567890}, "_meta":{"a":1},"extra":1}"#;
        let outcome = call_outcome(&server(), &Raw::from_text(text.to_owned()).unwrap()).unwrap();
        assert_eq!(outcome.structured_content.unwrap().as_str(), r#"{"n":1.10,"id":12345678901234567890}"#);
        assert_eq!(outcome.meta.unwrap().as_str(), r#"{"a":1}"#);
        assert!(outcome.content.is_empty() && outcome.diagnostics.is_empty());
    }

    #[test]
    fn odd_results_are_results() {
        for (value, blocks, told) in [
            (json!({}), 0, 0),
            (json!({ "content": null }), 0, 0),
            (json!({ "content": "text" }), 1, 1),
            (json!({ "content": { "type": "text", "text": "one" } }), 1, 1),
            (json!({ "toolResult": { "a": 1 } }), 1, 1),
            (json!({ "content": [], "isError": "yes", "_meta": 7 }), 0, 1),
        ] {
            let outcome = call_outcome(&server(), &raw(&value)).unwrap();
            assert_eq!((outcome.content.len(), outcome.diagnostics.len()), (blocks, told), "{value}");
        }
        for value in [json!(null), json!([]), json!("x"), json!(true)] {
            assert!(matches!(call_outcome(&server(), &raw(&value)), Err(Error::ProtocolError { .. })));
        }
    }

    #[test]
    fn a_text_cut_inside_an_emoji_is_still_a_text() {
        let text = r#"{"content":[{"type":"text","text":"cut \ud83d"}]}"#;
        let outcome = call_outcome(&server(), &Raw::from_text(text.to_owned()).unwrap()).unwrap();
        assert_eq!(shown(&outcome.content), json!([{ "type": "text", "text": "cut \u{fffd}" }]));
    }

    #[test]
    fn an_item_without_text_or_blob_is_left_out_and_a_missing_uri_is_the_one_asked_for() {
        let value = json!({ "contents": [{ "text": "a" }, { "uri": "c:d" }, { "uri": "c:d", "blob": "aGk=" }, 5] });
        let (content, told) = resource_content(&server(), "a:b", &raw(&value)).unwrap();
        let expected = json!([{ "uri": "a:b", "text": "a" }, { "uri": "c:d", "blob": "aGk=" }]);
        assert_eq!(serde_json::to_value(&content.contents).unwrap(), expected);
        assert_eq!(told.len(), 2);
        assert!(resource_content(&server(), "a:b", &raw(&json!({}))).is_err());
    }

    #[test]
    fn prompts_of_all_shapes_are_read() {
        let value = json!({ "description": "d", "messages": [
            { "role": "user", "content": { "type": "text", "text": "a" } },
            { "role": "assistant", "content": [{ "type": "text", "text": "b" }, { "type": "new" }] },
            { "role": "system", "content": "c" },
        ] });
        let (content, told) = prompt_content(&server(), "p", &raw(&value)).unwrap();
        let roles: Vec<_> = content.messages.iter().map(|message| message.role).collect();
        assert_eq!(roles, [Role::User, Role::Assistant, Role::Assistant, Role::User]);
        assert_eq!((content.description.as_deref(), told.len()), (Some("d"), 1));
    }

    #[test]
    fn completions_are_at_most_a_hundred() {
        let values: Vec<_> = (0..150).map(|n| n.to_string()).collect();
        let read = completion(&server(), &raw(&json!({ "completion": { "values": values, "total": 150 } }))).unwrap();
        assert_eq!((read.values.len(), read.total, read.has_more), (100, Some(150), true));
        let read = completion(&server(), &raw(&json!({ "completion": { "values": ["a", 7], "total": -1 } }))).unwrap();
        assert_eq!((read.values.len(), read.total, read.has_more), (1, None, false));
        assert!(completion(&server(), &raw(&json!({ "completion": {} }))).is_err());
    }
}
