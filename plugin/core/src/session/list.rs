//! Whole lists, page by page: at most 64 pages, 10,000 items and 8 MiB; a repeated cursor ends it.

use std::{collections::HashSet, time::Duration};

use tokio::time::Instant;

use super::{
    Session,
    request::{self, Question, READ_CAP, RequestError, RequestOptions},
    wire::{view, write::Params},
};
use crate::error::{Error, Result};

/// Pages of one list.
const PAGES: usize = 64;
/// Items of one list.
const ITEMS: usize = 10_000;
/// Bytes of one list, as written by the server.
const BYTES: usize = 8 * 1024 * 1024;
/// Diagnostics of one list; a list of ten thousand broken items is told once, not ten thousand times.
const DIAGNOSTICS: usize = 100;
/// JSON-RPC's code for a method that is not there.
const METHOD_NOT_FOUND: i64 = -32601;

/// A list.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed<T> {
    /// What decoded, in the server's order.
    pub items: Vec<T>,
    /// A limit was hit, or a cursor came twice: there may be more.
    pub cut: bool,
    /// What was left out or repaired, in words.
    pub diagnostics: Vec<String>,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self { items: Vec::new(), cut: false, diagnostics: Vec::new() }
    }
}

/// Which list.
pub(super) struct Kind {
    pub(super) method: &'static str,
    /// The member of the result that holds the items.
    pub(super) member: &'static str,
}

pub(super) const TOOLS: Kind = Kind { method: "tools/list", member: "tools" };
pub(super) const RESOURCES: Kind = Kind { method: "resources/list", member: "resources" };
pub(super) const TEMPLATES: Kind = Kind { method: "resources/templates/list", member: "resourceTemplates" };
pub(super) const PROMPTS: Kind = Kind { method: "prompts/list", member: "prompts" };

/// Asks for all pages. `decode` makes an item of its JSON text, or says in words why it cannot.
pub(super) async fn list<T>(
    session: &Session,
    kind: Kind,
    options: RequestOptions,
    mut decode: impl FnMut(&str, &mut Vec<String>) -> Option<T>,
) -> Result<Listed<T>> {
    let mut pager = Pager::new(kind.member);
    let until = Instant::now() + options.cap.unwrap_or(READ_CAP);
    let mut listed = Listed::default();
    let mut cursor: Option<String> = None;
    loop {
        let params = match &cursor {
            Some(cursor) => Params::default().with("cursor", cursor),
            None => Params::default(),
        };
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let options =
            RequestOptions { idle: options.idle, cap: Some(left), cancel: options.cancel.clone(), progress: None };
        let reply = match request::ask(session, Question::plain(kind.method, params), options).await {
            Ok(reply) => reply,
            // A server may declare more than it has.
            Err(RequestError::Failed(Error::ServerError { jsonrpc_code: METHOD_NOT_FOUND, .. })) => break,
            Err(RequestError::Failed(error)) => return Err(error),
            Err(RequestError::Stale) => return Err(Error::internal("a list needs no approval")),
        };
        match pager.page(reply.raw.as_str(), &mut listed, &mut decode) {
            Next::Cursor(next) => cursor = Some(next),
            Next::End => break,
            Next::Unusable => {
                let problem = format!("its answer to `{}` has no array `{}`", kind.method, kind.member);
                return Err(Error::ProtocolError { server: session.server().clone(), problem });
            }
        }
    }
    if listed.diagnostics.len() > DIAGNOSTICS {
        let more = listed.diagnostics.len() - DIAGNOSTICS;
        listed.diagnostics.truncate(DIAGNOSTICS);
        listed.diagnostics.push(format!("… and {more} more"));
    }
    Ok(listed)
}

/// Where a list stands between two pages.
struct Pager {
    member: &'static str,
    pages: usize,
    bytes: usize,
    seen: HashSet<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum Next {
    Cursor(String),
    End,
    Unusable,
}

impl Pager {
    fn new(member: &'static str) -> Self {
        Self { member, pages: 0, bytes: 0, seen: HashSet::new() }
    }

    fn page<T>(
        &mut self,
        raw: &str,
        listed: &mut Listed<T>,
        mut decode: impl FnMut(&str, &mut Vec<String>) -> Option<T>,
    ) -> Next {
        self.pages += 1;
        let Some(items) = view::member(raw, self.member).filter(|items| view::kind(items) == view::Kind::Array) else {
            if self.pages == 1 {
                return Next::Unusable;
            }
            listed.cut = true;
            listed.diagnostics.push(format!("page {} has no array `{}`; the list ends there", self.pages, self.member));
            return Next::End;
        };
        let cut = |listed: &mut Listed<T>, limit: String| {
            listed.cut = true;
            listed.diagnostics.push(format!("the list is cut after {} items: {limit}", listed.items.len()));
            Next::End
        };
        for item in view::items(items) {
            self.bytes += item.len();
            if listed.items.len() >= ITEMS {
                return cut(listed, format!("more than {ITEMS} items"));
            }
            if self.bytes > BYTES {
                return cut(listed, format!("more than {BYTES} bytes"));
            }
            if let Some(item) = decode(item, &mut listed.diagnostics) {
                listed.items.push(item);
            }
        }
        match view::member(raw, "nextCursor") {
            None => Next::End,
            Some(next) if view::kind(next) == view::Kind::Null => Next::End,
            Some(next) => match view::text(next) {
                None => cut(listed, "`nextCursor` is no text".to_owned()),
                Some(next) if self.seen.contains(&next) => {
                    cut(listed, "the server sent the same cursor twice".to_owned())
                }
                Some(_) if self.pages >= PAGES => cut(listed, format!("more than {PAGES} pages")),
                Some(next) => {
                    self.seen.insert(next.clone());
                    Next::Cursor(next)
                }
            },
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Lists from a server that answers by `page`.
    fn run(mut page: impl FnMut(Option<&str>) -> String) -> Listed<String> {
        let mut pager = Pager::new("tools");
        let mut listed = Listed::default();
        let mut next = Next::Cursor(String::new());
        let mut first = true;
        while let Next::Cursor(cursor) = next {
            let raw = page((!std::mem::take(&mut first)).then_some(cursor.as_str()));
            next = pager.page(&raw, &mut listed, |item, _| view::text(item));
        }
        assert_eq!(next, Next::End);
        listed
    }

    #[test]
    fn all_pages_are_there_and_an_empty_cursor_is_a_cursor() {
        let listed = run(|cursor| match cursor {
            None => r#"{"tools":["a","b"],"nextCursor":""}"#.to_owned(),
            Some("") => r#"{"tools":["c"],"nextCursor":"z"}"#.to_owned(),
            Some(_) => r#"{"tools":["d"],"nextCursor":null}"#.to_owned(),
        });
        assert_eq!(listed, Listed { items: ["a", "b", "c", "d"].map(str::to_owned).into(), ..Listed::default() });
    }

    #[test]
    fn a_cursor_that_comes_twice_ends_it() {
        let mut asked = 0;
        let listed = run(|_| {
            asked += 1;
            r#"{"tools":["a"],"nextCursor":"again"}"#.to_owned()
        });
        assert_eq!((asked, listed.cut, listed.diagnostics.len()), (2, true, 1));
        // Also in a circle.
        let mut asked = 0;
        let listed = run(|cursor| {
            asked += 1;
            let next = if cursor == Some("x") { "y" } else { "x" };
            format!(r#"{{"tools":[],"nextCursor":"{next}"}}"#)
        });
        assert_eq!((asked, listed.cut), (3, true));
    }

    #[test]
    fn pages_items_and_bytes_have_a_limit() {
        let mut asked = 0;
        let endless = run(|_| {
            asked += 1;
            format!(r#"{{"tools":["t"],"nextCursor":"{asked}"}}"#)
        });
        assert_eq!((asked, endless.items.len(), endless.cut), (64, 64, true));
        let items = vec!["\"t\""; 10_001].join(",");
        let many = run(|_| format!(r#"{{"tools":[{items}]}}"#));
        assert_eq!((many.items.len(), many.cut), (10_000, true));
        let big = format!("\"{}\"", "x".repeat(3 * 1024 * 1024));
        let huge = run(|_| format!(r#"{{"tools":[{big},{big},{big}]}}"#));
        assert_eq!((huge.items.len(), huge.cut), (2, true));
        assert!(huge.diagnostics[0].contains("8388608 bytes"));
    }

    #[test]
    fn a_cursor_that_is_no_text_ends_it_with_a_word() {
        let listed = run(|_| r#"{"tools":["a"],"nextCursor":5}"#.to_owned());
        assert_eq!((listed.items.len(), listed.cut, listed.diagnostics.len()), (1, true, 1));
    }

    #[test]
    fn an_answer_without_the_array_is_no_list() {
        let mut pager = Pager::new("tools");
        for raw in ["{}", "null", r#"{"tools":{}}"#, "[]"] {
            pager.pages = 0;
            assert_eq!(pager.page(raw, &mut Listed::<()>::default(), |_, _| None), Next::Unusable);
        }
    }
}
