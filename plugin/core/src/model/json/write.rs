//! The three ways in which a value is written: for the wire, for the hash, for the eye.

use std::fmt::Write as _;

use super::{Object, Value};

/// Compact, keys in their order, non-ASCII as it is.
pub(super) fn wire(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => array(items, out, wire),
        Value::Object(object) => wire_object(object, out),
        scalar => write_scalar(scalar, out, wire_string),
    }
}

pub(super) fn wire_object(object: &Object, out: &mut String) {
    members(object.0.iter(), out, wire_string, wire);
}

/// Python's `json.dumps(sort_keys=True, separators=(",", ":"), ensure_ascii=True)`.
pub(super) fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => array(items, out, canonical),
        Value::Object(object) => canonical_object(object, out),
        scalar => write_scalar(scalar, out, ascii_string),
    }
}

pub(super) fn canonical_object(object: &Object, out: &mut String) {
    members(object.sorted().into_iter(), out, ascii_string, canonical);
}

/// One member or item a line, members in their order or by their names.
pub(super) fn pretty(value: &Value, sorted: bool, level: usize, out: &mut String) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                new_line(index, level + 1, out);
                pretty(item, sorted, level + 1, out);
            }
            new_line(0, level, out);
            out.push(']');
        }
        Value::Array(_) => out.push_str("[]"),
        Value::Object(object) => pretty_object(object, sorted, level, out),
        scalar => write_scalar(scalar, out, wire_string),
    }
}

pub(super) fn pretty_object(object: &Object, sorted: bool, level: usize, out: &mut String) {
    if object.is_empty() {
        out.push_str("{}");
        return;
    }
    let members = if sorted { object.sorted() } else { object.0.iter().collect() };
    out.push('{');
    for (index, (key, value)) in members.into_iter().enumerate() {
        new_line(index, level + 1, out);
        wire_string(key, out);
        out.push_str(": ");
        pretty(value, sorted, level + 1, out);
    }
    new_line(0, level, out);
    out.push('}');
}

fn new_line(index: usize, level: usize, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
    out.push('\n');
    for _ in 0..level {
        out.push_str("  ");
    }
}

fn array(items: &[Value], out: &mut String, write: fn(&Value, &mut String)) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(']');
}

fn members<'a>(
    members: impl Iterator<Item = &'a (String, Value)>,
    out: &mut String,
    key: fn(&str, &mut String),
    write: fn(&Value, &mut String),
) {
    out.push('{');
    for (index, (name, value)) in members.enumerate() {
        if index > 0 {
            out.push(',');
        }
        key(name, out);
        out.push(':');
        write(value, out);
    }
    out.push('}');
}

fn write_scalar(value: &Value, out: &mut String, string: fn(&str, &mut String)) {
    match value {
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(number.as_str()),
        Value::String(text) => string(text, out),
        Value::Null | Value::Array(_) | Value::Object(_) => out.push_str("null"),
    }
}

fn wire_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        if character < ' ' || matches!(character, '"' | '\\') {
            escaped(character, out);
        } else {
            out.push(character);
        }
    }
    out.push('"');
}

/// A string of the canonical form: ASCII alone.
pub(crate) fn ascii_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        if (' '..='~').contains(&character) && !matches!(character, '"' | '\\') {
            out.push(character);
        } else {
            escaped(character, out);
        }
    }
    out.push('"');
}

fn escaped(character: char, out: &mut String) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        other => {
            for unit in other.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
}
