//! JSON as people edit it: comments, trailing commas, a byte-order mark; and where in it something stands.

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Object, Value},
    common::Ranged,
    errors::ParseErrorKind,
    parse_to_ast,
};

/// JSON with comments and trailing commas, and no other liberty: a file that other programs must read too.
pub(super) fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// A byte-order mark, and the rest.
pub(super) fn split_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => (text.get(..'\u{feff}'.len_utf8()).unwrap_or_default(), rest),
        None => ("", text),
    }
}

/// Reads `text`, which has no byte-order mark. `Ok(None)`: nothing but blanks and comments.
///
/// # Errors
///
/// What is wrong and where, in words that quote nothing of the text.
pub(super) fn parse(text: &str) -> Result<Option<Value<'_>>, String> {
    match parse_to_ast(text, &CollectOptions::default(), &options()) {
        Ok(parsed) => Ok(parsed.value),
        Err(error) => {
            let place = format!("line {}, column {}", error.line_display(), error.column_display());
            let kind = error.kind();
            Err(match kind {
                ParseErrorKind::UnterminatedObject | ParseErrorKind::UnterminatedArray => {
                    let what = if matches!(kind, ParseErrorKind::UnterminatedObject) { "object" } else { "list" };
                    let end = Place::of(text, text.trim_end().len());
                    format!("it breaks off at {end}: the {what} that begins at {place} is never closed")
                }
                ParseErrorKind::UnterminatedCommentBlock => {
                    format!("it breaks off: the comment that begins at {place} is never closed")
                }
                _ => format!("{} at {place}", lower_first(&kind.to_string())),
            })
        }
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// A line and a column, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The line.
    pub(super) line: usize,
    /// The column, in characters.
    pub(super) column: usize,
}

impl Place {
    /// Where the byte `offset` of `text` stands.
    pub(super) fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A key that stands twice in `object`: the key and the offsets of both.
pub(super) fn duplicate<'a>(object: &'a Object<'_>) -> Option<(&'a str, usize, usize)> {
    let mut seen = std::collections::HashMap::new();
    object.properties.iter().find_map(|property| {
        let at = property.start();
        seen.insert(property.name.as_str(), at).map(|first| (property.name.as_str(), first, at))
    })
}

/// `pointer` one step deeper (RFC 6901).
pub(super) fn join(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// What kind of value it is, in words: for errors about fields whose values are nobody's business.
pub(super) fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "a string",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "true or false",
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::NullKeyword(_) => "null",
    }
}

/// The value as `serde_json` has it. Numbers that do not fit become text.
pub(super) fn to_serde(value: &Value<'_>) -> serde_json::Value {
    match value {
        Value::StringLit(text) => text.value.as_ref().into(),
        Value::NumberLit(number) => {
            number.value.parse().map_or_else(|_| number.value.into(), serde_json::Value::Number)
        }
        Value::BooleanLit(bool) => bool.value.into(),
        Value::NullKeyword(_) => serde_json::Value::Null,
        Value::Array(array) => array.elements.iter().map(to_serde).collect(),
        Value::Object(object) => object
            .properties
            .iter()
            .map(|property| (property.name.as_str().to_owned(), to_serde(&property.value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_breaks_off_says_where() {
        let error = parse("{\n  \"mcpServers\": {\n    \"a\": {").unwrap_err();
        assert!(error.contains("line 3, column 11"), "{error}");
        let error = parse("{\n  \"a\": \"b").unwrap_err();
        assert!(error.contains("line 2"), "{error}");
    }

    #[test]
    fn only_comments_and_trailing_commas_are_forgiven() {
        assert!(parse("{ // x\n \"a\": [1, /* y */ 2,], }").unwrap().is_some());
        for text in ["{a: 1}", "{'a': 1}", "{\"a\": 0x1}", "{\"a\" 1}", "{\"a\": 1 \"b\": 2}", "[1] [2]", "{\"a\": .5}"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nesting_has_a_limit() {
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}
