//! A JSON-RPC message as it was written.
//!
//! Each message is scanned once, here ([`scan`]): it is well-formed, has no key twice anywhere, and nothing in it is
//! deeper than [`MAX_DEPTH`]. What it carries stays the text that was written, so that numbers keep their digits and
//! unknown fields survive; [`view`] reads that text later, [`write`](mod@write) makes ours, and [`find`] names the
//! request that a line answered when the line itself cannot be used.
//!
//! rmcp's own decoding is not asked: it drops unknown fields, and a whole reply when one item of it is bad.

pub(super) mod find;
pub(super) mod scan;
pub(super) mod view;
pub(super) mod write;

use std::fmt;

/// How deep anything may be nested inside `params`, `result` or `error`: `1` is 0 deep, `[1]` is 1 deep.
pub(super) const MAX_DEPTH: usize = 128;

/// The id of a request, as the peer wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Id {
    /// An integer.
    Number(i64),
    /// A text.
    Text(String),
}

impl Id {
    /// Reads an id from its JSON text; `None` for what cannot be one (null, fractions, containers).
    pub(super) fn read(raw: &str) -> Option<Self> {
        match view::kind(raw) {
            view::Kind::String => view::text(raw).map(Self::Text),
            view::Kind::Number => raw.parse().ok().map(Self::Number),
            _ => None,
        }
    }

    /// The number that this is an echo of: ours are all numbers, and some servers send them back as text.
    pub(super) fn ours(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.parse().ok().filter(|number: &i64| number.to_string() == *text),
        }
    }
}

/// One message. What is borrowed is well-formed JSON text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Message<'a> {
    /// An answer.
    Result { id: Id, result: &'a str },
    /// A refusal. `id` is absent where the peer could not tell which request it means.
    Error { id: Option<Id>, code: i64, message: String },
    /// The peer asks.
    Request { id: Id, method: String, params: Option<&'a str> },
    /// The peer tells.
    Notification { method: String, params: Option<&'a str> },
}

/// Why a line is not a message that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Not UTF-8.
    Encoding,
    /// Not JSON; where (bytes from the start of the line).
    Syntax(usize),
    /// The same key twice in one object.
    DuplicateKey(String),
    /// Nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// JSON, but no JSON-RPC 2.0 message (a log object, an array, a batch).
    NotAMessage,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Encoding => f.write_str("it is not UTF-8"),
            Self::Syntax(at) => write!(f, "it is not JSON (at byte {at})"),
            Self::DuplicateKey(key) => write!(f, "it has the key `{key}` twice in one object"),
            Self::TooDeep => write!(f, "it is nested deeper than {MAX_DEPTH} levels"),
            Self::NotAMessage => f.write_str("it is not a JSON-RPC message"),
        }
    }
}

/// Reads one message. A byte order mark before it and white space around it are let pass.
pub(super) fn read(line: &[u8]) -> Result<Message<'_>, Fault> {
    let text = std::str::from_utf8(line).map_err(|_| Fault::Encoding)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let envelope = scan::envelope(text)?;
    if envelope.jsonrpc.and_then(view::text).as_deref() != Some("2.0") {
        return Err(Fault::NotAMessage);
    }
    let present = |raw: Option<&'_ str>| raw.is_some_and(|raw| view::kind(raw) != view::Kind::Null);
    let id = envelope.id.and_then(Id::read);
    if let Some(method) = envelope.method {
        let method = view::text(method).ok_or(Fault::NotAMessage)?;
        let params = envelope.params.filter(|params| view::kind(params) != view::Kind::Null);
        return match id {
            Some(id) => Ok(Message::Request { id, method, params }),
            None if !present(envelope.id) => Ok(Message::Notification { method, params }),
            None => Err(Fault::NotAMessage),
        };
    }
    // `"error": null` beside a result is how JSON-RPC 1.0 said that all went well.
    if let Some(error) = envelope.error.filter(|_| present(envelope.error)) {
        let (code, message) = read_error(error);
        return Ok(Message::Error { id, code, message });
    }
    match (id, envelope.result) {
        (Some(id), Some(result)) => Ok(Message::Result { id, result }),
        _ => Err(Fault::NotAMessage),
    }
}

/// Code and message of an error object, whatever shape it has. -32603 (internal error) where no code is given.
fn read_error(raw: &str) -> (i64, String) {
    const INTERNAL: i64 = -32603;
    /// Bytes of a message that are kept.
    const KEPT: usize = 4096;
    let (mut code, mut message) = (INTERNAL, None);
    for (key, value) in view::entries(raw) {
        match &*key {
            "code" => code = view::integer(value).unwrap_or(INTERNAL),
            "message" => message = view::text(value),
            _ => {}
        }
    }
    let message = message.or_else(|| view::text(raw)).unwrap_or_else(|| "no message".to_owned());
    (code, view::cut(message, KEPT))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn a_result_keeps_its_text_to_the_digit() {
        let line = br#"{"result":{"n":1.10,"big":123456789012345678901234567890},"jsonrpc":"2.0","id":7}"#;
        let expected = r#"{"n":1.10,"big":123456789012345678901234567890}"#;
        assert_eq!(read(line), Ok(Message::Result { id: Id::Number(7), result: expected }));
    }

    #[test]
    fn an_id_sent_back_as_text_is_ours() {
        let Ok(Message::Result { id, .. }) = read(br#"{"jsonrpc":"2.0","id":"5","result":{}}"#) else { panic!() };
        assert_eq!(id.ours(), Some(5));
        for other in ["05", "+5", " 5", "5.0", "five", ""] {
            assert_eq!(Id::Text(other.to_owned()).ours(), None, "{other}");
        }
    }

    #[test]
    fn an_error_with_a_null_id_or_none_has_no_id() {
        for id in [r#""id":null,"#, "", r#""id":1.5,"#] {
            let line = format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32700,"message":"parse error"}}}}"#);
            let expected = Message::Error { id: None, code: -32700, message: "parse error".to_owned() };
            assert_eq!(read(line.as_bytes()), Ok(expected));
        }
    }

    #[test]
    fn odd_errors_are_still_errors() {
        let error = |raw: &str| {
            let line = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{raw}}}"#);
            match read(line.as_bytes()) {
                Ok(Message::Error { code, message, .. }) => (code, message),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(error(r#""it broke""#), (-32603, "it broke".to_owned()));
        assert_eq!(error("{}"), (-32603, "no message".to_owned()));
        assert_eq!(error(r#"{"code":"E_FAIL","message":7}"#), (-32603, "no message".to_owned()));
        assert_eq!(error(r#"{"code":-32602.0,"message":"m"}"#), (-32602, "m".to_owned()));
    }

    #[test]
    fn an_error_of_null_beside_a_result_is_a_result() {
        let line = br#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#;
        assert_eq!(read(line), Ok(Message::Result { id: Id::Number(1), result: "{}" }));
    }

    #[test]
    fn a_null_id_beside_a_method_is_a_notification() {
        let line = br#"{"jsonrpc":"2.0","id":null,"method":"m","params":null}"#;
        assert_eq!(read(line), Ok(Message::Notification { method: "m".to_owned(), params: None }));
    }

    #[test]
    fn what_is_json_and_no_message_is_no_message() {
        for line in [
            r#"{"level":"info","msg":"started"}"#,
            r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#,
            r#"{"jsonrpc":"1.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
            r#"{"jsonrpc":"2.0","method":7}"#,
            "7",
            "\"text\"",
            "null",
        ] {
            assert_eq!(read(line.as_bytes()), Err(Fault::NotAMessage), "{line}");
        }
    }

    #[test]
    fn a_byte_order_mark_and_white_space_are_let_pass() {
        let line = "\u{feff} {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r".as_bytes();
        assert_eq!(read(line), Ok(Message::Result { id: Id::Number(1), result: "{}" }));
    }

    #[test]
    fn the_depth_counts_from_the_result() {
        let nested = |depth: usize| {
            let value = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{value}}}"#)
        };
        assert!(read(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert_eq!(read(nested(MAX_DEPTH + 1).as_bytes()), Err(Fault::TooDeep));
        assert_eq!(read(nested(1_000_000).as_bytes()), Err(Fault::TooDeep));
    }
}
