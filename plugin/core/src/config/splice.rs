//! Changing one value in a JSON text that people edit, and not one byte more.
//!
//! The syntax tree says where things stand; the text itself is cut there and nothing is written anew but the value that
//! changes, a comma, and the line it gets. Comments, blank lines, odd indentation and line ends stay as they are.

use std::ops::Range;

use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy,
    ast::{Object, ObjectProp, Value},
    common::Ranged as _,
    parse_to_ast,
    tokens::{Token, TokenAndRange},
};

use super::jsonc;

/// A text and where things stand in it. Has no byte-order mark.
pub(super) struct Document<'a> {
    text: &'a str,
    root: Option<Value<'a>>,
    tokens: Vec<TokenAndRange<'a>>,
}

impl<'a> Document<'a> {
    /// Reads `text`; the error is [`jsonc::parse`]'s.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        match parse_to_ast(text, &collect, &jsonc::options()) {
            Ok(parsed) => Ok(Self { text, root: parsed.value, tokens: parsed.tokens.unwrap_or_default() }),
            Err(_) => Err(jsonc::parse(text).err().unwrap_or_default()),
        }
    }

    /// The object at `path`, if there is one.
    pub(super) fn object(&self, path: &[&str]) -> Option<&Object<'a>> {
        let mut object = self.root.as_ref()?.as_object()?;
        for key in path {
            object = object.get(key)?.value.as_object()?;
        }
        Some(object)
    }

    /// The value at `path`.
    pub(super) fn value(&self, path: &[&str]) -> Option<&Value<'a>> {
        match path.split_last() {
            None => self.root.as_ref(),
            Some((key, parents)) => self.object(parents)?.get(key).map(|property| &property.value),
        }
    }

    /// The text with `value` at `path`, whose parents must be objects; `None` if they are not.
    pub(super) fn set(&self, path: &[&str], value: &serde_json::Value) -> Option<String> {
        let (key, parents) = path.split_last()?;
        let object = self.object(parents)?;
        match object.get(key) {
            Some(property) => {
                let at = property.value.range();
                let inline = matches!(&property.value, Value::Object(_) | Value::Array(_))
                    && !self.slice(at.start..at.end).contains('\n');
                let value = self.render(value, &self.line_indent(property.start()), inline);
                Some(self.replaced(at.start..at.end, &value))
            }
            None => Some(self.inserted(object, key, value)),
        }
    }

    /// The text with the value at `path` written as `value` is, its lines moved to where the old one's stood; `None` if
    /// there was none.
    pub(super) fn set_text(&self, path: &[&str], value: &str) -> Option<String> {
        let (key, parents) = path.split_last()?;
        let property = self.object(parents)?.get(key)?;
        let at = property.value.range();
        let indent = self.line_indent(property.start());
        let mut moved = String::with_capacity(value.len());
        for (number, line) in value.lines().enumerate() {
            if number > 0 {
                moved.push_str(self.newline());
                moved.push_str(if line.is_empty() { "" } else { &indent });
            }
            moved.push_str(line);
        }
        Some(self.replaced(at.start..at.end, &moved))
    }

    /// The text without what stands at `path`; `None` if nothing does.
    pub(super) fn remove(&self, path: &[&str]) -> Option<String> {
        let (key, parents) = path.split_last()?;
        let object = self.object(parents)?;
        let index = object.properties.iter().position(|property| property.name.as_str() == *key)?;
        let property = object.properties.get(index)?;
        let mut cut = property.range().start..property.range().end;
        let mut text_before_cut = None;
        match self.comma_after(property) {
            Some(comma) => cut.end = comma.end,
            // The last one: the comma before it would be left over.
            None => {
                let previous = index.checked_sub(1).and_then(|index| object.properties.get(index));
                text_before_cut = previous.and_then(|previous| self.comma_after(previous));
            }
        }
        let line = self.text.get(..cut.start)?.rfind('\n').map_or(0, |at| at + 1);
        let alone_before = self.text.get(line..cut.start)?.trim().is_empty();
        let (after, _) = self.rest_of_line(cut.end);
        let ends_line = self.slice(after..self.text.len()).starts_with(['\n', '\r']) || after == self.text.len();
        if alone_before && ends_line && line > 0 {
            // A line of its own goes with its indentation, what was remarked behind it, and its end.
            let newline = if self.slice(after..self.text.len()).starts_with("\r\n") {
                2
            } else {
                usize::from(after < self.text.len())
            };
            cut = line..after + newline;
        } else if !ends_line {
            let spaces =
                self.slice(cut.end..self.text.len()).bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            cut.end += spaces;
        }
        let mut text = String::with_capacity(self.text.len());
        match text_before_cut {
            Some(comma) if comma.end <= cut.start => {
                text.push_str(self.slice(0..comma.start));
                text.push_str(self.slice(comma.end..cut.start));
            }
            _ => text.push_str(self.slice(0..cut.start)),
        }
        text.push_str(self.slice(cut.end..self.text.len()));
        Some(text)
    }

    fn inserted(&self, object: &Object<'_>, key: &str, value: &serde_json::Value) -> String {
        let newline = self.newline();
        let range = object.range();
        let Some((first, last)) = object.properties.first().zip(object.properties.last()) else {
            // After what is remarked in it.
            let at = self.comments_in(range.start..range.end).last().map_or(range.start + 1, |comment| comment.end);
            let outer = self.line_indent(range.start);
            let inner = format!("{outer}{}", self.unit());
            let property = self.render_property(key, value, &inner, false);
            let closing = self.slice(at..range.end);
            let close = if closing.contains('\n') { String::new() } else { format!("{newline}{outer}") };
            let blank = closing.len() - closing.trim_start_matches([' ', '\t']).len();
            let skip = if closing.contains('\n') { 0 } else { blank };
            return self.replaced(at..at + skip, &format!("{newline}{inner}{property}{close}"));
        };
        let comma = self.comma_after(last);
        let (at, after_line_comment) = self.rest_of_line(comma.as_ref().map_or(last.range().end, |comma| comma.end));
        let own_lines = self.slice(range.start..first.start()).contains('\n') || after_line_comment;
        let indent = self.line_indent(if own_lines { first.start() } else { range.start });
        let property = self.render_property(key, value, &indent, !own_lines);
        let before = if own_lines { format!("{newline}{indent}") } else { " ".to_owned() };
        match comma {
            Some(_) => {
                let closed = if own_lines { "," } else { "" };
                self.replaced(at..at, &format!("{before}{property}{closed}"))
            }
            None => {
                let end = last.range().end;
                let mut text = String::with_capacity(self.text.len() + property.len() + 16);
                text.push_str(self.slice(0..end));
                text.push(',');
                text.push_str(self.slice(end..at));
                text.push_str(&before);
                text.push_str(&property);
                text.push_str(self.slice(at..self.text.len()));
                text
            }
        }
    }

    fn replaced(&self, range: Range<usize>, with: &str) -> String {
        format!("{}{with}{}", self.slice(0..range.start), self.slice(range.end..self.text.len()))
    }

    /// Offsets come from the tree of this very text.
    fn slice(&self, range: Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or_default()
    }

    fn comma_after(&self, property: &ObjectProp<'_>) -> Option<Range<usize>> {
        let end = property.range().end;
        let next = self.tokens.iter().find(|token| {
            token.range.start >= end && !matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
        })?;
        matches!(next.token, Token::Comma).then_some(next.range.start..next.range.end)
    }

    fn comments_in(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        self.tokens
            .iter()
            .filter(move |token| {
                range.contains(&token.range.start)
                    && matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
            })
            .map(|token| token.range.start..token.range.end)
    }

    /// Where, from `at` on, blanks and comments of the same line end; and whether a `//` was among them.
    fn rest_of_line(&self, at: usize) -> (usize, bool) {
        let mut end = at;
        let mut line_comment = false;
        loop {
            let rest = self.slice(end..self.text.len());
            let blanks = rest.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            let comment = self.tokens.iter().find(|token| token.range.start == end + blanks);
            match comment.map(|comment| (&comment.token, comment.range.end)) {
                Some((Token::CommentLine(_), comment_end)) => {
                    end = comment_end;
                    line_comment = true;
                }
                Some((Token::CommentBlock(text), comment_end)) if !text.contains('\n') => end = comment_end,
                _ => {
                    // Blanks before a line's end belong to the line; before anything else they separate.
                    let rest = rest.get(blanks..).unwrap_or_default();
                    return (if rest.starts_with(['\n', '\r']) { end + blanks } else { end }, line_comment);
                }
            }
        }
    }

    fn line_indent(&self, at: usize) -> String {
        let before = self.slice(0..at);
        let line = before.rfind('\n').map_or(before, |newline| before.get(newline + 1..).unwrap_or_default());
        line.chars().take_while(|char| matches!(char, ' ' | '\t')).collect()
    }

    /// One step of indentation: that of the first line that is indented, else two spaces.
    fn unit(&self) -> String {
        let indent = self
            .root
            .as_ref()
            .and_then(Value::as_object)
            .and_then(|root| root.properties.first())
            .map(|first| self.line_indent(first.start()));
        indent.filter(|indent| !indent.is_empty()).unwrap_or_else(|| "  ".to_owned())
    }

    fn newline(&self) -> &'static str {
        match self.text.find('\n') {
            Some(at) if self.slice(0..at).ends_with('\r') => "\r\n",
            _ => "\n",
        }
    }

    fn render_property(&self, key: &str, value: &serde_json::Value, indent: &str, inline: bool) -> String {
        format!("{}: {}", quoted(key), self.render(value, indent, inline))
    }

    fn render(&self, value: &serde_json::Value, indent: &str, inline: bool) -> String {
        let mut text = String::new();
        write_value(&mut text, value, indent, &self.unit(), self.newline(), inline);
        text
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// Objects on lines of their own, lists of plain values on one.
fn write_value(text: &mut String, value: &serde_json::Value, indent: &str, unit: &str, newline: &str, inline: bool) {
    use serde_json::Value;
    let deeper = format!("{indent}{unit}");
    let plain = |value: &Value| !matches!(value, Value::Array(_) | Value::Object(_));
    match value {
        Value::Object(object) if !object.is_empty() => {
            text.push('{');
            for (index, (key, value)) in ordered(object).into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&if inline { " ".to_owned() } else { format!("{newline}{deeper}") });
                text.push_str(&quoted(key));
                text.push_str(": ");
                write_value(text, value, &deeper, unit, newline, inline);
            }
            text.push_str(&if inline { " ".to_owned() } else { format!("{newline}{indent}") });
            text.push('}');
        }
        Value::Array(array) if inline || array.iter().all(plain) => {
            text.push('[');
            for (index, value) in array.iter().enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                write_value(text, value, &deeper, unit, newline, inline);
            }
            text.push(']');
        }
        Value::Array(array) => {
            text.push('[');
            for (index, value) in array.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&format!("{newline}{deeper}"));
                write_value(text, value, &deeper, unit, newline, inline);
            }
            text.push_str(&format!("{newline}{indent}]"));
        }
        other => text.push_str(&other.to_string()),
    }
}

/// The order in which people write an entry; what they do not usually write comes last.
fn ordered(object: &serde_json::Map<String, serde_json::Value>) -> Vec<(&String, &serde_json::Value)> {
    const ORDER: [&str; 15] = [
        "type",
        "command",
        "args",
        "url",
        "headers",
        "env",
        "cwd",
        "envPassthrough",
        "displayName",
        "enabled",
        "disabled",
        "autoConnect",
        "timeouts",
        "maxConcurrency",
        "disabledTools",
    ];
    let mut properties: Vec<_> = object.iter().collect();
    if object.contains_key("command") || object.contains_key("url") || object.contains_key("type") {
        properties.sort_by_key(|(key, _)| ORDER.iter().position(|known| known == key).unwrap_or(ORDER.len()));
    }
    properties
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn set(text: &str, path: &[&str], value: &Value) -> String {
        Document::parse(text).unwrap().set(path, value).unwrap()
    }

    fn remove(text: &str, path: &[&str]) -> String {
        Document::parse(text).unwrap().remove(path).unwrap()
    }

    fn read(text: &str) -> Value {
        jsonc::to_serde(&jsonc::parse(text).unwrap_or_else(|error| panic!("{error}: {text}")).unwrap())
    }

    #[test]
    fn a_value_is_added_in_the_manner_of_its_neighbours() {
        for (before, after) in [
            ("{}", "{\n  \"k\": 1\n}"),
            ("{ }\n", "{\n  \"k\": 1\n}\n"),
            ("{\n}\n", "{\n  \"k\": 1\n}\n"),
            ("{ // mine\n}\n", "{ // mine\n  \"k\": 1\n}\n"),
            ("{\n\t\"a\": 1\n}\n", "{\n\t\"a\": 1,\n\t\"k\": 1\n}\n"),
            ("{\r\n    \"a\": 1, // a\r\n}\r\n", "{\r\n    \"a\": 1, // a\r\n    \"k\": 1,\r\n}\r\n"),
            ("{\n  \"a\": 1 // a\n  // end\n}", "{\n  \"a\": 1, // a\n  \"k\": 1\n  // end\n}"),
            ("{ \"a\": 1 }", "{ \"a\": 1, \"k\": 1 }"),
            ("{\"a\":1}", "{\"a\":1, \"k\": 1}"),
            ("{ \"a\": 1 // a\n}", "{ \"a\": 1, // a\n\"k\": 1\n}"),
            ("{\n  \"a\": 1 /* , */\n}", "{\n  \"a\": 1, /* , */\n  \"k\": 1\n}"),
        ] {
            assert_eq!(set(before, &["k"], &json!(1)), after);
            assert_eq!(read(after)["k"], json!(1));
        }
    }

    #[test]
    fn a_value_is_removed_with_its_line() {
        for (before, after) in [
            ("{\n  \"k\": 1\n}\n", "{\n}\n"),
            ("{\n  \"a\": 1,\n  \"k\": 1\n}\n", "{\n  \"a\": 1\n}\n"),
            ("{\n  \"a\": 1, // a\n  \"k\": 1 // k\n}\n", "{\n  \"a\": 1 // a\n}\n"),
            ("{\n  \"k\": 1, // k\n  \"a\": 1,\n}\n", "{\n  \"a\": 1,\n}\n"),
            ("{\r\n  \"k\": {\r\n  },\r\n  \"a\": 1\r\n}\r\n", "{\r\n  \"a\": 1\r\n}\r\n"),
            ("{ \"a\": 1, \"k\": 1 }", "{ \"a\": 1 }"),
            ("{ \"k\": 1, \"a\": 1 }", "{ \"a\": 1 }"),
            ("{\"k\":1}", "{}"),
            ("{\n  // about k\n  \"k\": 1\n}\n", "{\n  // about k\n}\n"),
        ] {
            let removed = remove(before, &["k"]);
            assert_eq!(removed, after, "{before}");
            assert!(read(&removed).get("k").is_none());
        }
    }

    #[test]
    fn a_value_is_replaced_in_its_place() {
        assert_eq!(set("{ \"k\": /* x */ 1, \"a\": 2 }", &["k"], &json!("y")), "{ \"k\": /* x */ \"y\", \"a\": 2 }");
        assert_eq!(set("{\n  \"k\": [1]\n}", &["k"], &json!(["a", "b"])), "{\n  \"k\": [\"a\", \"b\"]\n}");
        assert_eq!(
            set("{\n  \"a\": {\n    \"k\": 1\n  }\n}", &["a", "k"], &json!({ "x": 1 })),
            "{\n  \"a\": {\n    \"k\": {\n      \"x\": 1\n    }\n  }\n}"
        );
        assert_eq!(Document::parse("[]").unwrap().set(&["k"], &json!(1)), None);
        assert_eq!(Document::parse("{\"a\":1}").unwrap().remove(&["k"]), None);
    }

    /// Documents as people write them: comments, blank lines and line ends anywhere, trailing commas or none.
    fn document() -> impl Strategy<Value = String> {
        let gap = prop_oneof![
            4 => Just(String::new()),
            2 => Just(" ".to_owned()),
            3 => Just("\n  ".to_owned()),
            1 => Just("\r\n".to_owned()),
            1 => Just("\t// c, }\n".to_owned()),
            1 => Just(" /* , { */ ".to_owned()),
            1 => Just("\n\n".to_owned()),
        ];
        let value = prop_oneof![
            Just("1".to_owned()),
            Just("\"},\\\"{\"".to_owned()),
            Just("{}".to_owned()),
            Just("{ \"x\": [1, {}] // d\n }".to_owned()),
            Just("[ ]".to_owned()),
        ];
        let property = ("[a-e]", gap.clone(), gap.clone(), value, gap.clone());
        (proptest::collection::vec(property, 0..5), any::<bool>(), gap.clone(), gap).prop_map(
            |(properties, trailing, before, after)| {
                let mut seen = std::collections::HashSet::new();
                let properties: Vec<_> =
                    properties.into_iter().filter(|property| seen.insert(property.0.clone())).collect();
                let count = properties.len();
                let mut text = format!("{before}{{");
                for (index, (key, a, b, value, c)) in properties.into_iter().enumerate() {
                    text.push_str(&format!("{a}\"{key}\"{b}:{b}{value}{c}"));
                    if index + 1 < count || trailing {
                        text.push(',');
                    }
                }
                text.push_str(&format!("{after}}}{after}"));
                text
            },
        )
    }

    /// Comments and every other property, as they are written.
    fn rest(text: &str, key: &str) -> (Vec<String>, Vec<String>) {
        let document = Document::parse(text).unwrap();
        let object = document.object(&[]).unwrap();
        let own = object.get(key).map(|property| property.range());
        let comments = document
            .comments_in(0..text.len())
            .filter(|comment| !own.is_some_and(|own| (own.start..own.end).contains(&comment.start)))
            .map(|comment| text[comment].to_owned())
            .collect();
        let properties = object
            .properties
            .iter()
            .filter(|property| property.name.as_str() != key)
            .map(|property| text[property.start()..property.end()].to_owned())
            .collect();
        (comments, properties)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn setting_a_value_changes_it_and_leaves_the_rest_as_it_was(text in document(), key in "[a-g]", value in prop_oneof![Just(json!(7)), Just(json!({"y": ["z"]})), Just(json!([{}, []]))]) {
            let after = set(&text, &[&key], &value);
            let mut expected = read(&text);
            expected[&key] = value;
            prop_assert_eq!(read(&after), expected, "{}\n---\n{}", text, after);
            prop_assert_eq!(rest(&after, &key), rest(&text, &key), "{}\n---\n{}", text, after);
        }

        #[test]
        fn removing_a_value_removes_it_and_leaves_the_other_values_as_they_were(text in document(), key in "[a-e]") {
            let Some(after) = Document::parse(&text).unwrap().remove(&[&key]) else { return Ok(()) };
            let mut expected = read(&text);
            expected.as_object_mut().unwrap().remove(&key);
            prop_assert_eq!(read(&after), expected, "{}\n---\n{}", text, after);
            prop_assert_eq!(rest(&after, &key).1, rest(&text, &key).1, "{}\n---\n{}", text, after);
        }

        #[test]
        fn what_is_added_to_a_tidy_file_and_removed_again_leaves_no_trace(keys in proptest::collection::btree_set("[a-e]", 1..4), trailing in any::<bool>(), crlf in any::<bool>()) {
            let lines: Vec<String> = keys.iter().map(|key| format!("  \"{key}\": {{ \"command\": \"x\" }}")).collect();
            let mut text = format!("{{\n{}{}\n}}\n", lines.join(",\n"), if trailing { "," } else { "" });
            if crlf {
                text = text.replace('\n', "\r\n");
            }
            let added = set(&text, &["new"], &json!({ "command": "y", "args": ["a"] }));
            prop_assert_eq!(remove(&added, &["new"]), text);
        }
    }
}
