//! Arguments in the one form that is hashed, shown and sent, and the digest that names an exact call.
//!
//! Whoever takes arguments from outside takes them through here; nothing behind this module changes a byte of them.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::target::ToolPath;
use crate::{
    error::{Error, Result},
    model::{
        Arguments, ServerId, hex,
        json::{self, Limits, Object, SyntaxError, Value},
    },
};

/// The most bytes that the arguments of one call may have.
pub const MAX_ARGUMENTS_BYTES: usize = 1024 * 1024;

/// The arguments of a call: absent and `null` are `{}`, anything else that is not an object is refused.
///
/// # Errors
///
/// `invalid_input` at `/arguments` or at the value in it that is to blame.
pub fn arguments(value: Option<Value>) -> Result<Arguments> {
    let object = match value {
        None | Some(Value::Null) => Object::new(),
        Some(Value::Object(object)) => object,
        Some(other) => {
            let kind = match other {
                Value::Array(_) => "an array",
                Value::String(_) => "a string",
                Value::Number(_) => "a number",
                _ => "a boolean",
            };
            return Err(Error::invalid_input("/arguments", format!("arguments must be an object, not {kind}")));
        }
    };
    let wire = object.to_wire();
    within_limit(wire.len())?;
    // A value can also have been built in code, or read leniently: what is sent must be what the strict reader takes.
    json::check(wire.as_bytes(), Limits::ARGUMENTS).map_err(|error| refused(&error))?;
    Ok(Arguments { value: Arc::new(object), wire: wire.into() })
}

/// The same from JSON text (`argumentsJson`, `--args`), which keeps numbers that JavaScript would round.
pub fn parse_arguments(text: &[u8]) -> Result<Arguments> {
    within_limit(text.len())?;
    arguments(Some(json::parse(text, Limits::ARGUMENTS).map_err(|error| refused(&error))?))
}

fn within_limit(bytes: usize) -> Result<()> {
    if bytes <= MAX_ARGUMENTS_BYTES {
        return Ok(());
    }
    let problem = format!("the arguments have {bytes} bytes, and {MAX_ARGUMENTS_BYTES} are allowed; send less at once");
    Err(Error::invalid_input("/arguments", problem))
}

fn refused(error: &SyntaxError) -> Error {
    Error::invalid_input(format!("/arguments{}", error.pointer), format!("the arguments cannot be used: {error}"))
}

/// What is hashed: `{"arguments": …, "tool_name": …}` as Python's `json.dumps(sort_keys=True,
/// separators=(",", ":"))` writes it. `tool` is the tool's own name, never an alias.
pub fn canonical_payload(tool: &str, arguments: &Object) -> String {
    format!("{{\"arguments\":{},\"tool_name\":{}}}", arguments.canonical(), Value::from(tool).canonical())
}

/// The payload digest of a call: SHA-256 of [`canonical_payload`], in lower-case hex.
pub fn payload_digest(tool: &str, arguments: &Object) -> String {
    hex(&Sha256::digest(canonical_payload(tool, arguments)))
}

/// One exact call that was approved at start: `--approve-scoped [SERVER/]TOOL:SHA256`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScopedDigest {
    /// Whose tool; `None` = a bare name.
    server: Option<ServerId>,
    tool: String,
    sha256: String,
}

impl ScopedDigest {
    /// Reads one whose server, if any, is an id.
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_with(text, ServerId::parse)
    }

    /// Reads one; `resolve` turns the server as it is written (an id, or an unambiguous key) into its id.
    pub fn parse_with(text: &str, resolve: impl FnOnce(&str) -> Result<ServerId>) -> Result<Self> {
        let malformed = |problem: &str| {
            Error::invalid_input(
                "/approveScoped",
                format!("`{text}` {problem}; write `[SERVER/]TOOL:SHA256`, as `mcp-host approval digest` prints it"),
            )
        };
        let (path, digest) = text.rsplit_once(':').ok_or_else(|| malformed("has no digest"))?;
        if digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(malformed("does not end in 64 hexadecimal digits"));
        }
        let path = ToolPath::parse(path)?;
        if path.server == super::target::ServerPart::Every || path.tool == ToolPath::ALL {
            return Err(malformed("does not name one tool of one server"));
        }
        Ok(Self { server: path.server_id(resolve)?, tool: path.tool.to_owned(), sha256: digest.to_ascii_lowercase() })
    }

    /// Whether it approves the call of `tool` on `server` with that payload digest. `bare` is the server that a bare
    /// name means here: `local` in `serve`, the called server in `call`.
    pub fn approves(&self, server: &ServerId, tool: &str, digest: &str, bare: &ServerId) -> bool {
        self.server.as_ref().unwrap_or(bare) == server && self.tool == tool && self.sha256 == digest
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Vector {
        tool: String,
        arguments: Option<Value>,
        canonical: String,
        sha256: String,
    }

    #[test]
    fn digests_are_those_of_the_vectors() {
        let text = include_str!("../../tests/data/digest.json");
        let vectors: Vec<Vector> = serde_json::from_str(text).unwrap();
        assert!(vectors.len() >= 8);
        for vector in vectors {
            let arguments = arguments(vector.arguments).unwrap();
            assert_eq!(canonical_payload(&vector.tool, &arguments.value), vector.canonical);
            assert_eq!(payload_digest(&vector.tool, &arguments.value), vector.sha256);
        }
    }

    fn refusal(text: &str) -> (String, String) {
        match parse_arguments(text.as_bytes()).unwrap_err() {
            Error::InvalidInput { path, problem } => (path, problem),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn nothing_is_an_empty_object_and_only_an_object_is_arguments() {
        for nothing in [None, Some(Value::Null)] {
            assert_eq!(&arguments(nothing).unwrap().wire[..], b"{}");
        }
        for (text, kind) in [("[]", "an array"), ("\"{}\"", "a string"), ("1", "a number"), ("true", "a boolean")] {
            assert_eq!(refusal(text), ("/arguments".into(), format!("arguments must be an object, not {kind}")));
        }
    }

    #[test]
    fn a_refusal_points_at_the_value_to_blame() {
        assert_eq!(refusal(r#"{"a":[1,{"b/c":1e400}]}"#).0, "/arguments/a/1/b~1c");
        assert_eq!(refusal(r#"{"a":1,"a":2}"#).0, "/arguments/a");
        assert_eq!(refusal("{").0, "/arguments");
    }

    #[test]
    fn the_wire_keeps_the_order_of_keys_and_the_canonical_numbers() {
        let arguments = parse_arguments(r#"{ "z": 1.00, "a": [1E2, "\u00e9\/"], "n": {} }"#.as_bytes()).unwrap();
        assert_eq!(std::str::from_utf8(&arguments.wire).unwrap(), r#"{"z":1.0,"a":[100.0,"é/"],"n":{}}"#);
    }

    #[test]
    fn a_mebibyte_is_the_limit() {
        let text = |length: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(length - 8));
        assert_eq!(parse_arguments(text(MAX_ARGUMENTS_BYTES).as_bytes()).unwrap().wire.len(), MAX_ARGUMENTS_BYTES);
        assert_eq!(refusal(&text(MAX_ARGUMENTS_BYTES + 1)).0, "/arguments");
    }

    #[test]
    fn a_value_that_was_read_leniently_is_held_to_the_same_rules() {
        let value = json::parse(br#"{"a":0.1000000000000000055}"#, Limits::FOREIGN).unwrap();
        assert!(matches!(arguments(Some(value)), Err(Error::InvalidInput { path, .. }) if path == "/arguments/a"));
        let deep = (0..200).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        let mut object = Object::new();
        object.insert("a", deep);
        assert!(arguments(Some(object.into())).is_err());
    }

    #[test]
    fn a_scoped_digest_is_split_at_its_last_colon_and_first_slash() {
        let sha = "aB".repeat(32);
        let digest = sha.to_ascii_lowercase();
        let parse = |path: &str| ScopedDigest::parse(&format!("{path}:{sha}")).unwrap();
        let id = |text| ServerId::parse(text).unwrap();
        let (local, files) = (id("local"), id("files"));

        assert!(parse("files/ns:read").approves(&files, "ns:read", &digest, &local));
        assert!(parse("files/a/b").approves(&files, "a/b", &digest, &local));
        assert!(parse("local/a/b").approves(&local, "a/b", &digest, &files));
        // A bare name: the local tool in `serve`, the called server's in `call`.
        assert!(parse("read").approves(&local, "read", &digest, &local));
        assert!(!parse("read").approves(&files, "read", &digest, &local));
        assert!(parse("read").approves(&files, "read", &digest, &files));
        // Only this call.
        assert!(!parse("files/read").approves(&files, "write", &digest, &local));
        assert!(!parse("files/read").approves(&files, "read", &"ab".repeat(31), &local));
        assert!(!parse("files/read").approves(&local, "read", &digest, &files));

        let key = |key: &str| if key == "My Files" { ServerId::parse("files") } else { panic!("{key}") };
        let by_key = ScopedDigest::parse_with(&format!("My Files/read:{sha}"), key).unwrap();
        assert!(by_key.approves(&files, "read", &digest, &local));
    }

    #[test]
    fn a_scoped_digest_that_names_no_exact_call_is_refused() {
        let sha = "ab".repeat(32);
        for text in [
            "read".to_owned(),
            sha.clone(),
            format!(":{sha}"),
            format!("files/:{sha}"),
            format!("/read:{sha}"),
            format!("files/*:{sha}"),
            format!("*/read:{sha}"),
            format!("read:{}", &sha[1..]),
            format!("read:{}g", &sha[1..]),
            format!("Not An Id/read:{sha}"),
        ] {
            assert!(ScopedDigest::parse(&text).is_err(), "{text}");
        }
    }
}
