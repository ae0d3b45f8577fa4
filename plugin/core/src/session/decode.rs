//! A server's values into `model`, item by item, leniently.
//!
//! A content block is never dropped, an unknown field never fatal, and one bad item spoils only itself. What was left out
//! or repaired is told in words. The text of a value is kept where a consumer may want more of it than is decoded.

mod content;
mod list;

pub use content::{CallOutcome, call_outcome, completion, prompt_content, resource_content};
pub(super) use list::{prompt, resource, template, tool, unite_tools};

use super::wire::view::{self, Kind};
use crate::model::Raw;

/// A value's own text.
fn keep(raw: &str) -> Option<Raw> {
    Raw::from_text(raw.to_owned()).ok()
}

/// A value's own text, if it is an object.
fn keep_object(raw: &str) -> Option<Raw> {
    (view::kind(raw) == Kind::Object).then(|| keep(raw)).flatten()
}

/// A text that may be absent; another type (null is absent) is told.
fn optional_text(raw: &str, of: &str, field: &str, told: &mut Vec<String>) -> Option<String> {
    let text = view::text(raw);
    if text.is_none() && view::kind(raw) != Kind::Null {
        told.push(format!("{of}: `{field}` is no text and was left out"));
    }
    text
}

/// An object that may be absent; another type (null is absent) is told.
fn optional_object(raw: &str, of: &str, field: &str, told: &mut Vec<String>) -> Option<Raw> {
    let object = keep_object(raw);
    if object.is_none() && view::kind(raw) != Kind::Null {
        told.push(format!("{of}: `{field}` is no object and was left out"));
    }
    object
}

/// A name as it may stand in a diagnostic.
fn named(kind: &str, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{kind} `{}`", view::cut(name.to_owned(), 100)),
        None => format!("a {kind} without a name"),
    }
}
