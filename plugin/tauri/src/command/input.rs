//! Arguments as JavaScript sends them, read strictly: what is wrong is `mcp.invalid_input` with a JSON pointer, an
//! unknown key included. Tauri's own reading would reject with a bare sentence that names no field.

use mcp_host_core::{
    error::{Audience, Error, Result},
    model::json,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use specta::{Types, datatype::DataType};
use tauri::{
    Runtime,
    ipc::{CommandArg, CommandItem, InvokeBody, InvokeError},
};

/// One argument of a command, as `T`. In TypeScript it is `T`.
#[derive(Debug)]
pub(crate) struct Input<T>(pub(crate) T);

impl<T: specta::Type> specta::Type for Input<T> {
    fn definition(types: &mut Types) -> DataType {
        T::definition(types)
    }
}

impl<'de, T: DeserializeOwned, R: Runtime> CommandArg<'de, R> for Input<T> {
    fn from_command(command: CommandItem<'de, R>) -> Result<Self, InvokeError> {
        let refuse = |error: Error| InvokeError::from(error.info(Audience::Page));
        let InvokeBody::Json(body) = command.message.payload() else {
            return Err(refuse(Error::invalid_input("", "the arguments must be JSON")));
        };
        read(body.get(command.key).unwrap_or(&Value::Null)).map(Self).map_err(refuse)
    }
}

/// Reads `value` as a `T`; the error names the field by its JSON pointer.
pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> Result<T> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let problem = error.inner().to_string();
        let mut path = pointer(error.path());
        // serde names these two fields in its message alone.
        if let Some(field) = problem.strip_prefix("missing field `").or_else(|| problem.strip_prefix("unknown field `"))
        {
            let field = field.split('`').next().unwrap_or_default();
            let segment = format!("/{}", escape(field));
            if !path.ends_with(&segment) {
                path.push_str(&segment);
            }
        }
        Error::invalid_input(path, problem)
    })
}

/// RFC 6901.
fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    path.iter().fold(String::new(), |mut text, segment| {
        match segment {
            Segment::Map { key } => text.push_str(&format!("/{}", escape(key))),
            Segment::Seq { index } => text.push_str(&format!("/{index}")),
            Segment::Enum { .. } | Segment::Unknown => {}
        }
        text
    })
}

fn escape(key: &str) -> String {
    key.chars().take(256).collect::<String>().replace('~', "~0").replace('/', "~1")
}

/// The arguments of a call, given as a value or as JSON text, at most one of the two.
pub(crate) fn arguments(value: Option<Value>, text: Option<String>) -> Result<Option<json::Value>> {
    match (value, text) {
        (Some(Value::Null) | None, None) => Ok(None),
        (Some(value), None) => {
            json::Value::from_serde(&value).map(Some).map_err(|error| unreadable("/arguments", &error))
        }
        (None | Some(Value::Null), Some(text)) => json_text("/argumentsJson", &text).map(Some),
        (Some(_), Some(_)) => {
            Err(Error::invalid_input("/argumentsJson", "give `arguments` or `argumentsJson`, not both"))
        }
    }
}

/// A JSON text in the field `path`.
pub(crate) fn json_text(path: &str, text: &str) -> Result<json::Value> {
    json::parse(text.as_bytes(), json::Limits::ARGUMENTS).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &str, error: &json::SyntaxError) -> Error {
    // A text's own pointers are inside of the text, not of the input.
    let path = if path == "/arguments" { format!("{path}{}", error.pointer) } else { path.to_owned() };
    Error::invalid_input(path, error.to_string())
}

/// Absent, `null` or an object of a request's options.
#[derive(Clone, Debug, Default, Deserialize, specta::Type)]
#[serde(rename = "McpRequestOptionsInput", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Options {
    /// A total in milliseconds that can only shorten; waiting for a person does not count.
    #[serde(default)]
    #[specta(optional, type = u32)]
    pub(crate) timeout_ms: Option<u32>,
    /// The document's own name for this request, for `cancel_call`: 1 to 64 letters, digits or `-`, not in use.
    #[serde(default)]
    #[specta(optional, type = String)]
    pub(crate) request_id: Option<String>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[allow(dead_code)]
    struct Inner {
        server_id: String,
        #[serde(default)]
        list: Vec<u8>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Outer {
        #[serde(rename = "a/b~c")]
        inner: Inner,
    }

    fn path_of<T: DeserializeOwned + std::fmt::Debug>(value: &Value) -> String {
        match read::<T>(value) {
            Err(Error::InvalidInput { path, .. }) => path,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_wrong_is_named_by_its_json_pointer() {
        assert_eq!(path_of::<Inner>(&json!({ "serverId": 3 })), "/serverId");
        assert_eq!(path_of::<Inner>(&json!({})), "/serverId");
        assert_eq!(path_of::<Inner>(&json!({ "serverId": "a", "command": "rm" })), "/command");
        assert_eq!(path_of::<Inner>(&json!({ "serverId": "a", "list": [1, "x"] })), "/list/1");
        assert_eq!(path_of::<Outer>(&json!({ "a/b~c": { "serverId": "a", "x/y": 1 } })), "/a~1b~0c/x~1y");
        assert_eq!(path_of::<Inner>(&Value::Null), "");
        assert_eq!(path_of::<Inner>(&json!("text")), "");
    }

    #[test]
    fn arguments_are_given_once() {
        assert!(matches!(arguments(None, None), Ok(None)));
        assert!(matches!(arguments(Some(Value::Null), None), Ok(None)));
        assert!(matches!(arguments(Some(json!({ "a": 1 })), None), Ok(Some(json::Value::Object(_)))));
        assert!(matches!(arguments(None, Some("{}".to_owned())), Ok(Some(json::Value::Object(_)))));
        assert!(matches!(
            arguments(Some(json!({})), Some("{}".to_owned())),
            Err(Error::InvalidInput { path, .. }) if path == "/argumentsJson"
        ));
        assert!(matches!(
            arguments(None, Some(r#"{"a":1,"a":2}"#.to_owned())),
            Err(Error::InvalidInput { path, .. }) if path == "/argumentsJson"
        ));
    }
}
