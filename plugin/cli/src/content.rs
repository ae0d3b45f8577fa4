//! Content blocks as a person reads them on a terminal: text inert, everything else described.

use std::fmt::Write as _;

use mcp_host_core::model::{ContentBlock, ResourceItem, ToolResult};

use crate::text;

/// The blocks, each ending in a newline.
pub(crate) fn blocks(blocks: &[ContentBlock]) -> String {
    let mut words = String::new();
    for one in blocks {
        block(&mut words, one);
    }
    words
}

/// A call's result: its blocks, and its structured content where no text block says the same.
pub(crate) fn result(result: &ToolResult) -> String {
    let mut words = blocks(&result.content);
    if let Some(structured) = &result.structured_content {
        let same = |block: &ContentBlock| match block {
            ContentBlock::Text { text, .. } => same_json(text, structured.as_str()),
            _ => false,
        };
        if !result.content.iter().any(same) {
            push_text(&mut words, structured.as_str());
        }
    }
    words
}

fn same_json(one: &str, other: &str) -> bool {
    let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    matches!((parse(one), parse(other)), (Some(one), Some(other)) if one == other)
}

fn block(words: &mut String, block: &ContentBlock) {
    match block {
        ContentBlock::Text { text, .. } => push_text(words, text),
        ContentBlock::Image { data, mime_type, .. } => push_data(words, "image", mime_type, data),
        ContentBlock::Audio { data, mime_type, .. } => push_data(words, "audio", mime_type, data),
        ContentBlock::ResourceLink { uri, name, description, .. } => {
            let description = description.as_deref().map(|text| format!(": {}", text::line(text))).unwrap_or_default();
            let _ = writeln!(words, "[resource {} <{}>{description}]", text::line(name), text::line(uri));
        }
        ContentBlock::Resource { resource } => item(words, resource),
        ContentBlock::Unknown { original_type, raw } => {
            let _ = writeln!(words, "[block of the unknown type `{}`]", text::line(original_type));
            push_text(words, raw.as_str());
        }
    }
}

/// A resource's item: its text, or what its data is.
pub(crate) fn item(words: &mut String, item: &ResourceItem) {
    match item {
        ResourceItem::Text { text, .. } => push_text(words, text),
        ResourceItem::Blob { uri, mime_type, blob } => {
            let kind = format!("data of <{}>", text::line(uri));
            push_data(words, &kind, mime_type.as_deref().unwrap_or("unknown type"), blob);
        }
    }
}

fn push_text(words: &mut String, text: &str) {
    words.push_str(&text::lines(text));
    if !words.is_empty() && !words.ends_with('\n') {
        words.push('\n');
    }
}

fn push_data(words: &mut String, kind: &str, mime_type: &str, base64: &str) {
    let size = text::size(base64.trim_end_matches('=').len() / 4 * 3);
    let _ = writeln!(words, "[{kind}, {}, about {size}; `--json` has it]", text::line(mime_type));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use mcp_host_core::model::{CallId, Raw, ServerId};

    use super::*;

    fn of(content: Vec<ContentBlock>, structured: Option<&str>) -> ToolResult {
        ToolResult {
            server_id: ServerId::parse("demo").unwrap(),
            name: "x".to_owned(),
            call_id: CallId::from_caller("1").unwrap(),
            content,
            structured_content: structured.map(|text| Raw::from_text(text.to_owned()).unwrap()),
            structured_content_json: None,
            is_error: false,
            duration_ms: 1,
            audit_seq: 1,
            audit_event_id: String::new(),
            truncated: None,
            meta: None,
        }
    }

    fn text_block(text: &str) -> ContentBlock {
        ContentBlock::Text { text: text.to_owned(), annotations: None }
    }

    #[test]
    fn structured_content_is_shown_once() {
        assert_eq!(result(&of(vec![text_block(r#"{ "a": 1 }"#)], Some(r#"{"a":1}"#))), "{ \"a\": 1 }\n");
        assert_eq!(result(&of(vec![], Some(r#"{"a":1}"#))), "{\"a\":1}\n");
        assert_eq!(result(&of(vec![text_block("done")], Some(r#"{"a":1}"#))), "done\n{\"a\":1}\n");
    }

    #[test]
    fn text_keeps_its_lines_and_nothing_that_moves_the_cursor() {
        let words = blocks(&[text_block("one\ntwo\x1b[2J"), text_block("three\n")]);
        assert_eq!(words, "one\ntwo\\u{1b}[2J\nthree\n");
    }
}
