//! An entry of servers.json from flags. What a flag does not name stays as it stands, comments included.

use clap::Args;
use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstObject, CstRootNode},
};
use mcp_host_core::Error;

use crate::{
    failure::{Result, invalid},
    input,
};

/// How a server is started or reached.
#[derive(Args, Debug, Default)]
pub(crate) struct Fields {
    /// Reach it at this URL (Streamable HTTP, unless --type says otherwise)
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// stdio, http or sse
    #[arg(long = "type", value_name = "TYPE", value_parser = ["stdio", "http", "sse"])]
    kind: Option<String>,
    /// Set a variable of its environment; `${VAR}` and `${secret:id}` are filled in at the start; may be given again
    #[arg(long, value_name = "NAME=VALUE", value_parser = input::key_value)]
    env: Vec<(String, String)>,
    /// Send a header with each request; may be given again
    #[arg(long, value_name = "NAME: VALUE", value_parser = input::header)]
    header: Vec<(String, String)>,
    /// Let this variable of your own environment through; may be given again
    #[arg(long, value_name = "NAME")]
    env_passthrough: Vec<String>,
    /// Start it in this folder
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Your own name for it
    #[arg(long, value_name = "NAME")]
    display_name: Option<String>,
    /// The program and its arguments, exactly as they are
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Fields {
    /// Whether any was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.url.is_none()
            && self.kind.is_none()
            && self.env.is_empty()
            && self.header.is_empty()
            && self.env_passthrough.is_empty()
            && self.cwd.is_none()
            && self.display_name.is_none()
            && self.command.is_empty()
    }

    /// Whether they say what is started or reached.
    pub(crate) fn say_where(&self) -> bool {
        self.url.is_some() || !self.command.is_empty()
    }

    /// A new entry.
    pub(crate) fn entry(&self) -> Result<String> {
        self.applied_to("{}")
    }

    /// `entry` with these fields changed.
    pub(crate) fn applied_to(&self, entry: &str) -> Result<String> {
        let root = CstRootNode::parse(entry, &ParseOptions::default())
            .map_err(|error| Error::config_invalid(format!("the entry as it stands cannot be read: {error}")))?;
        let object = root
            .object_value_or_create()
            .ok_or_else(|| Error::config_invalid("the entry as it stands is not an object"))?;
        self.write_to(&object)?;
        Ok(root.to_string())
    }

    fn write_to(&self, entry: &CstObject) -> Result<()> {
        if let Some(kind) = &self.kind {
            set(entry, "type", CstInputValue::String(kind.clone()));
        }
        if let Some(url) = &self.url {
            remove(entry, &["command", "args"]);
            set(entry, "url", CstInputValue::String(url.clone()));
        }
        if let Some((program, arguments)) = self.command.split_first() {
            remove(entry, &["url"]);
            set(entry, "command", CstInputValue::String(program.clone()));
            let arguments = arguments.iter().cloned().map(CstInputValue::String).collect();
            set(entry, "args", CstInputValue::Array(arguments));
        }
        if let Some(cwd) = &self.cwd {
            set(entry, "cwd", CstInputValue::String(cwd.clone()));
        }
        set_pairs(entry, "env", "--env", &self.env)?;
        set_pairs(entry, "headers", "--header", &self.header)?;
        if !self.env_passthrough.is_empty() {
            let names = self.env_passthrough.iter().cloned().map(CstInputValue::String).collect();
            set(entry, "envPassthrough", CstInputValue::Array(names));
        }
        if let Some(name) = &self.display_name {
            set(entry, "displayName", CstInputValue::String(name.clone()));
        }
        Ok(())
    }
}

fn set(object: &CstObject, name: &str, value: CstInputValue) {
    match object.get(name) {
        Some(property) => property.set_value(value),
        None => {
            object.append(name, value);
        }
    }
}

fn remove(object: &CstObject, names: &[&str]) {
    for name in names {
        if let Some(property) = object.get(name) {
            property.remove();
        }
    }
}

fn set_pairs(entry: &CstObject, name: &str, flag: &str, pairs: &[(String, String)]) -> Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    let mut seen = std::collections::HashSet::new();
    let object = entry.object_value_or_set(name);
    for (key, value) in pairs {
        if !seen.insert(key) {
            return Err(invalid(format!("`{flag}`: `{key}` is given twice")));
        }
        set(&object, key, CstInputValue::String(value.clone()));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser as _;
    use serde_json::{Value, json};

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        fields: Fields,
    }

    fn fields(line: &[&str]) -> Fields {
        Line::try_parse_from(std::iter::once(&"x").chain(line)).unwrap().fields
    }

    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn arguments_reach_the_entry_exactly() {
        let entry = fields(&["--env", "A=b=c", "--", "npx", "-y", "", "a \"b\" $HOME", "--json"]).entry().unwrap();
        assert_eq!(
            value(&entry),
            json!({"command": "npx", "args": ["-y", "", "a \"b\" $HOME", "--json"], "env": {"A": "b=c"}})
        );
    }

    #[test]
    fn a_url_with_headers() {
        let entry = fields(&["--url", "https://x/mcp", "--header", "Authorization: Bearer ${env:T}"]).entry().unwrap();
        assert_eq!(value(&entry), json!({"url": "https://x/mcp", "headers": {"Authorization": "Bearer ${env:T}"}}));
    }

    #[test]
    fn an_edit_leaves_the_rest_as_it_stands() {
        let before = "{\n  // why\n  \"command\": \"a\", \"args\": [\"1\"],\n  \"env\": { \"X\": \"1\" }, // x\n  \"timeouts\": { \"callMs\": 5 }\n}";
        let after = fields(&["--env", "Y=2", "--", "b"]).applied_to(before).unwrap();
        assert!(after.contains("// why") && after.contains("// x") && after.contains("\"callMs\": 5"), "{after}");
        let parsed = jsonc_parser::parse_to_serde_value::<Value>(&after, &ParseOptions::default()).unwrap();
        assert_eq!(parsed, json!({"command": "b", "args": [], "env": {"X": "1", "Y": "2"}, "timeouts": {"callMs": 5}}));
    }

    #[test]
    fn a_url_takes_the_command_s_place() {
        let after = fields(&["--url", "https://x/mcp"]).applied_to(r#"{"command":"a","args":["1"]}"#).unwrap();
        assert_eq!(value(&after), json!({"url": "https://x/mcp"}));
    }

    #[test]
    fn a_variable_that_comes_twice_is_refused() {
        assert!(fields(&["--env", "A=1", "--env", "A=2", "--", "x"]).entry().is_err());
    }
}
