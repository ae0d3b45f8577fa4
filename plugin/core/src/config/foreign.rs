//! Entries as other programs write them, made into ours: other names for the same keys, a command in one string, values
//! that are not text, secrets in plain sight.
//!
//! Makes [`Draft`]s, which are data. Nothing here writes a file, keeps a secret or asks anybody; what was changed is said
//! in [`Draft::notes`], and what another program trusts is not believed here.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    edit::Entry,
    file::short,
    jsonc::join,
    runner,
    secret::{SecretValue, name_promises_secret},
    slug,
    variable::{Source, Template},
};
use crate::model::ServerId;

/// A server to be added, before anybody has said yes.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Its name, where there was one.
    pub key: Option<String>,
    /// Its entry.
    pub entry: Hidden<Entry>,
    /// Secrets that its entry names as `${secret:id}` and that are to be stored when it is added.
    pub secrets: Vec<Proposal>,
    /// What was changed or left out, in words.
    pub notes: Vec<String>,
}

/// A secret to be stored for a new server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// As in `${secret:id}`.
    pub id: String,
    /// The field that names it, as a JSON pointer in the entry.
    pub field: String,
    /// Its value; `None` = the person is to be asked.
    pub value: Option<SecretValue>,
    /// What to ask for.
    pub description: Option<String>,
}

/// What may hold secrets and does not show itself.
#[derive(Clone, PartialEq)]
pub struct Hidden<T>(pub T);

impl<T> std::fmt::Debug for Hidden<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[hidden]")
    }
}

const KNOWN: [&str; 15] = [
    "type",
    "command",
    "args",
    "env",
    "cwd",
    "envPassthrough",
    "url",
    "headers",
    "displayName",
    "enabled",
    "disabled",
    "autoConnect",
    "timeouts",
    "maxConcurrency",
    "disabledTools",
];

/// Whether an object reads like one server.
pub(super) fn is_entry(object: &Map<String, Value>) -> bool {
    let text_or_list = |key: &str| object.get(key).is_some_and(|value| value.is_string() || value.is_array());
    // Zed nests the command in an object.
    let nested = object.get("command").is_some_and(|command| command.get("path").is_some());
    // With a wrong `type` and nothing else it is one too, and gets told what is missing.
    nested
        || object.get("type").is_some_and(Value::is_string)
        || text_or_list("command")
        || ["url", "serverUrl", "httpUrl"].iter().any(|key| text_or_list(key))
}

/// A draft of what another program calls `key`.
pub(super) fn draft(key: Option<&str>, foreign: &Map<String, Value>) -> Draft {
    let mut notes = Vec::new();
    let mut entry = foreign.clone();
    rename(&mut entry);
    if let Some(Value::Object(command)) = entry.get("command").cloned() {
        entry.remove("command");
        for (from, to) in [("path", "command"), ("args", "args"), ("env", "env")] {
            if let Some(value) = command.get(from) {
                entry.insert(to.to_owned(), value.clone());
            }
        }
    }
    for key in ["command", "url", "cwd"] {
        if entry.get(key).is_some_and(|value| value.is_null() || value.as_str() == Some("")) {
            entry.remove(key);
        }
    }
    if entry.contains_key("url") && !entry.contains_key("command") {
        entry.remove("args");
        if entry.remove("env").is_some_and(|env| env.as_object().is_some_and(|env| !env.is_empty())) {
            notes.push("`env` was left out: a server that is reached by URL gets no environment".to_owned());
        }
    }
    command_words(&mut entry, &mut notes);
    transport_type(&mut entry);
    texts(&mut entry);
    for key in ["args", "env", "headers", "disabledTools", "envPassthrough"] {
        if entry.get(key).is_some_and(|value| {
            value.is_null()
                || value.as_array().is_some_and(Vec::is_empty)
                || value.as_object().is_some_and(Map::is_empty)
        }) {
            entry.remove(key);
        }
    }
    let name = entry.remove("name").and_then(|name| name.as_str().map(str::to_owned));
    let off = entry.remove("disabled").is_some_and(|value| value == Value::Bool(true));
    if off {
        entry.insert("enabled".to_owned(), Value::Bool(false));
    } else if entry.get("enabled") == Some(&Value::Bool(true)) {
        entry.remove("enabled");
    }
    leave_out(&mut entry, &mut notes);
    known_variables(&mut entry, &mut notes);
    let key = key.map(str::to_owned).or(name).filter(|key| !key.trim().is_empty());
    Draft { key, entry: Hidden(entry), secrets: Vec::new(), notes }
}

/// The keys of other programs for what we have too.
fn rename(entry: &mut Entry) {
    for (from, to) in [
        ("serverUrl", "url"),
        ("httpUrl", "url"),
        ("transport", "type"),
        ("transportType", "type"),
        ("environment", "env"),
        ("requestInit", "headers"),
        ("excludeTools", "disabledTools"),
        ("disabled_tools", "disabledTools"),
    ] {
        if let Some(value) = entry.remove(from)
            && !entry.contains_key(to)
        {
            let value =
                if from == "requestInit" { value.get("headers").cloned().unwrap_or(Value::Null) } else { value };
            entry.insert(to.to_owned(), value);
        }
    }
}

/// `"command": ["npx", "-y", …]` and `"command": "npx -y …"`.
fn command_words(entry: &mut Entry, notes: &mut Vec<String>) {
    let words = match entry.get("command") {
        Some(Value::Array(words)) => {
            words.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        }
        Some(Value::String(line))
            if !entry.contains_key("args") || entry.get("args") == Some(&Value::Array(Vec::new())) =>
        {
            // A path with a blank in it is one word.
            let first = line.split_whitespace().next().unwrap_or_default();
            let is_line = line.trim().contains(char::is_whitespace) && !first.contains(['/', '\\']);
            is_line.then(|| shell_words::split(line).ok()).flatten()
        }
        _ => None,
    };
    let Some((command, rest)) = words.as_ref().and_then(|words| words.split_first()) else { return };
    if entry.get("command").is_some_and(Value::is_string) {
        notes.push("`command` held a whole line; its words were put into `args`".to_owned());
    }
    let mut args: Vec<Value> = rest.iter().cloned().map(Value::String).collect();
    if let Some(Value::Array(more)) = entry.get("args") {
        args.extend(more.iter().cloned());
    }
    entry.insert("command".to_owned(), Value::String(command.clone()));
    entry.insert("args".to_owned(), Value::Array(args));
}

fn transport_type(entry: &mut Entry) {
    let known = match entry.get("type").and_then(Value::as_str).map(str::to_ascii_lowercase).as_deref() {
        Some("stdio" | "local") => Some("stdio"),
        Some("http" | "streamable-http" | "streamablehttp" | "streamable_http" | "remote") => Some("http"),
        Some("sse") => Some("sse"),
        _ => None,
    };
    // Where there is one way only, `type` says nothing.
    match known {
        Some("stdio") if entry.contains_key("command") => {
            entry.remove("type");
        }
        Some(known) => {
            entry.insert("type".to_owned(), Value::String(known.to_owned()));
        }
        None => {}
    }
}

/// Numbers and booleans where a text is meant.
fn texts(entry: &mut Entry) {
    let text = |value: &Value| match value {
        Value::Number(number) => Some(Value::String(number.to_string())),
        Value::Bool(bool) => Some(Value::String(bool.to_string())),
        _ => None,
    };
    for key in ["env", "headers"] {
        if let Some(Value::Object(map)) = entry.get_mut(key) {
            map.retain(|_, value| !value.is_null());
            for value in map.values_mut() {
                if let Some(text) = text(value) {
                    *value = text;
                }
            }
        }
    }
    if let Some(Value::Array(args)) = entry.get_mut("args") {
        for value in args {
            if let Some(text) = text(value) {
                *value = text;
            }
        }
    }
}

fn leave_out(entry: &mut Entry, notes: &mut Vec<String>) {
    let foreign: Vec<String> = entry.keys().filter(|key| !KNOWN.contains(&key.as_str())).cloned().collect();
    for key in foreign {
        let value = entry.remove(&key);
        let plain: String = key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
        let trusting =
            ["trust", "autoapprove", "alwaysallow", "permissionmode"].iter().any(|word| plain.starts_with(word));
        let empty = value.is_none_or(|value| {
            value.is_null() || value == Value::Bool(false) || value.as_array().is_some_and(Vec::is_empty)
        });
        match key.as_str() {
            _ if trusting && empty => {}
            _ if trusting => {
                notes.push(format!(
                    "`{}` was left out: what may run without asking is yours to decide here",
                    short(&key)
                ));
            }
            "envFile" => notes.push("`envFile` is not read here; put its variables into `env`".to_owned()),
            "description" | "icon" | "gallery" | "version" | "tags" | "$schema" | "id" => {}
            _ => notes.push(format!("`{}` is not known here and was left out", short(&key))),
        }
    }
}

/// Editors' own variables. There is no workspace here.
fn known_variables(entry: &mut Entry, notes: &mut Vec<String>) {
    let home = if cfg!(windows) { "${USERPROFILE}" } else { "${HOME}" };
    let separator = std::path::MAIN_SEPARATOR.to_string();
    let mut workspace = false;
    each_text(entry, &mut |_, text| {
        if text.contains("${workspaceFolder") {
            workspace = true;
        }
        *text = text.replace("${userHome}", home).replace("${pathSeparator}", &separator).replace("${/}", &separator);
    });
    if workspace {
        notes.push("`${workspaceFolder}` means nothing here; write the folder instead".to_owned());
    }
}

/// Calls `change` with every text that is expanded, and its JSON pointer in the entry.
fn each_text(entry: &mut Entry, change: &mut dyn FnMut(&str, &mut String)) {
    for (key, value) in entry.iter_mut() {
        let pointer = join("", key);
        match (key.as_str(), value) {
            ("command" | "cwd" | "url", Value::String(text)) => change(&pointer, text),
            ("args", Value::Array(items)) => {
                for (index, item) in items.iter_mut().enumerate() {
                    if let Value::String(text) = item {
                        change(&join(&pointer, &index.to_string()), text);
                    }
                }
            }
            ("env" | "headers", Value::Object(map)) => {
                for (name, item) in map.iter_mut() {
                    if let Value::String(text) = item {
                        change(&join(&pointer, name), text);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Draft {
    /// A name for it that none of `taken` has: its own, else one made of what it runs or reaches.
    pub fn suggest_key(&self, taken: &[&str]) -> String {
        let base = self.key.clone().unwrap_or_else(|| self.name_of_target());
        if !taken.contains(&base.as_str()) {
            return base;
        }
        (2..).map(|number| format!("{base}-{number}")).find(|name| !taken.contains(&name.as_str())).unwrap_or(base)
    }

    fn name_of_target(&self) -> String {
        let entry = &self.entry.0;
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        if let Some(url) = text("url") {
            let host = url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
            return host.as_deref().map_or_else(|| "server".to_owned(), name_of_host);
        }
        let command = text("command").unwrap_or_default();
        let args: Vec<String> = match entry.get("args") {
            Some(Value::Array(args)) => args.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        let package = runner::runner(command, &args).and_then(|runner| runner.packages.into_iter().next());
        if let Some(name) = package.and_then(|package| runner::short_name(&package.spec)) {
            return name;
        }
        // `node /x/server.js`, `python -m weather`.
        let script = args.iter().find(|arg| !arg.starts_with('-'));
        let interpreter = ["node", "python", "python3", "bun", "deno", "ruby", "java", "uv", "cmd", "sh", "bash"];
        let target = match script {
            Some(script) if interpreter.contains(&runner::program_name(command).as_str()) => script.as_str(),
            _ => command,
        };
        let name = target.rsplit(['/', '\\']).next().unwrap_or(target);
        let name = name.split('.').next().filter(|name| !name.is_empty()).unwrap_or("server");
        runner::short_name(name).unwrap_or_else(|| name.to_owned())
    }

    /// Takes the secrets that stand in its entry in plain sight out of it: `${secret:id}` stands there instead, and the
    /// value is in [`Draft::secrets`]. `server` is the id that it will have.
    ///
    /// A value counts as a secret by the name of its field, or by its own look (`sk-…`, `ghp_…`).
    pub fn move_secrets(&mut self, server: &ServerId) {
        let mut taken: BTreeSet<String> = self.secrets.iter().map(|secret| secret.id.clone()).collect();
        let mut found = Vec::new();
        let mut placeholders = Vec::new();
        let mut before = String::new();
        each_text(&mut self.entry.0, &mut |pointer, text| {
            let mut steps = pointer.split('/').skip(1);
            let (place, step) = (steps.next().unwrap_or_default(), steps.next().unwrap_or_default());
            let named = match place {
                "env" | "headers" => step.to_owned(),
                // `--api-key VALUE`, `--api-key=VALUE`, `Authorization: VALUE`.
                "args" => {
                    let own =
                        text.split(['=', ':']).next().filter(|name| name.len() < text.len() && !name.contains(' '));
                    own.map_or_else(|| std::mem::take(&mut before), str::to_owned)
                }
                _ => return,
            };
            if place == "args" {
                before = if text.starts_with('-') { text.clone() } else { String::new() };
            }
            if Template::parse(text).is_ok_and(|template| !template.is_literal())
                || text.starts_with('-') && !text.contains('=')
            {
                return;
            }
            let promised = name_promises_secret(&named);
            // The name stays where it is, and so does the scheme.
            let start = if place == "args" && text.starts_with(&named) && text.len() > named.len() {
                text.get(named.len()..)
                    .map_or(0, |rest| named.len() + rest.len() - rest.trim_start_matches(['=', ':', ' ']).len())
            } else {
                0
            };
            let rest = text.get(start..).unwrap_or_default();
            let scheme =
                ["bearer ", "basic ", "token "].iter().find(|scheme| rest.to_ascii_lowercase().starts_with(*scheme));
            let start = start + scheme.map_or(0, |scheme| scheme.len());
            let (kept, value) = text.split_at_checked(start).unwrap_or(("", text.as_str()));
            let secret = looks_secret(value) || (promised && value.len() >= 4);
            if !secret {
                return;
            }
            if is_placeholder(value) {
                placeholders.push(pointer.to_owned());
                return;
            }
            let name = if named.is_empty() { "secret" } else { named.trim_start_matches('-') };
            let base = format!("{server}-{}", slug::slug(name));
            let base: String = base.chars().take(58).collect();
            let id = std::iter::once(base.clone())
                .chain((2..).map(|number| format!("{base}-{number}")))
                .find(|id| !taken.contains(id))
                .unwrap_or(base);
            taken.insert(id.clone());
            found.push(Proposal {
                id: id.clone(),
                field: pointer.to_owned(),
                value: Some(SecretValue::new(value.to_owned())),
                description: None,
            });
            *text = format!("{kept}${{secret:{id}}}");
        });
        self.notes.extend(
            placeholders
                .into_iter()
                .map(|field| format!("`{field}` still holds a placeholder; put the real value there")),
        );
        self.secrets.extend(found);
    }

    /// Turns `${input:id}` of editors, which ask each time or keep it themselves, into secrets that are asked for once.
    pub(super) fn move_inputs(&mut self, server: &ServerId, describe: &dyn Fn(&str) -> Option<String>) {
        let mut found: Vec<Proposal> = Vec::new();
        each_text(&mut self.entry.0, &mut |pointer, text| {
            let Ok(template) = Template::parse(text) else { return };
            let inputs: Vec<String> = template
                .references()
                .filter(|reference| reference.source == Source::Input)
                .map(|reference| reference.name.clone())
                .collect();
            for input in inputs {
                let id: String = format!("{server}-{input}").chars().take(64).collect();
                *text = text.replace(&format!("${{input:{input}}}"), &format!("${{secret:{id}}}"));
                if !found.iter().any(|proposal| proposal.id == id) {
                    found.push(Proposal { id, field: pointer.to_owned(), value: None, description: describe(&input) });
                }
            }
        });
        self.secrets.extend(found);
    }
}

fn name_of_host(host: &str) -> String {
    if host.parse::<std::net::IpAddr>().is_ok() || host.starts_with('[') {
        return "server".to_owned();
    }
    let labels: Vec<&str> = host.split('.').filter(|label| !["www", "mcp", "api"].contains(label)).collect();
    let name = match labels.as_slice() {
        [.., name, _] => name,
        [name] => name,
        [] => "server",
    };
    (*name).to_owned()
}

/// Tokens that say what they are.
fn looks_secret(value: &str) -> bool {
    const PREFIXES: [&str; 14] = [
        "sk-",
        "sk_live_",
        "sk_test_",
        "ghp_",
        "gho_",
        "ghs_",
        "github_pat_",
        "glpat-",
        "xoxb-",
        "xoxp-",
        "AKIA",
        "hf_",
        "npm_",
        "ntn_",
    ];
    let token = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    let jwt = value.starts_with("eyJ") && value.matches('.').count() == 2;
    value.len() >= 16 && value.chars().all(token) && (jwt || PREFIXES.iter().any(|prefix| value.starts_with(prefix)))
}

/// What READMEs write where a value goes.
fn is_placeholder(value: &str) -> bool {
    let plain = value.trim().to_ascii_lowercase();
    plain.starts_with('<') && plain.ends_with('>')
        || plain.starts_with("your")
        || plain.contains("your_")
        || plain.contains("your-")
        || plain.contains("_here")
        || plain.ends_with("...")
        || plain.ends_with('…')
        || plain.chars().all(|char| matches!(char, 'x' | '*' | '.' | '-'))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use serde_json::json;

    use super::*;

    fn made(value: Value) -> Draft {
        let Value::Object(entry) = value else { panic!("{value} is no entry") };
        draft(None, &entry)
    }

    fn entry(value: Value) -> Value {
        Value::Object(made(value).entry.0)
    }

    #[test]
    fn other_programs_words_are_understood() {
        for (foreign, ours) in [
            (json!({"serverUrl": "https://h/"}), json!({"url": "https://h/"})),
            (json!({"url": "https://h/", "transport": "sse"}), json!({"url": "https://h/", "type": "sse"})),
            (
                json!({"url": "https://h/", "type": "remote", "enabled": true}),
                json!({"url": "https://h/", "type": "http"}),
            ),
            (
                json!({"type": "local", "command": ["npx", "-y", "a"], "environment": {"A": "b"}}),
                json!({"command": "npx", "args": ["-y", "a"], "env": {"A": "b"}}),
            ),
            (json!({"command": {"path": "x", "args": ["y"], "env": {}}}), json!({"command": "x", "args": ["y"]})),
            (json!({"command": "npx -y 'a b'"}), json!({"command": "npx", "args": ["-y", "a b"]})),
            (json!({"command": "/my programs/server"}), json!({"command": "/my programs/server"})),
            (
                json!({"command": "x", "env": {"PORT": 3000, "DEBUG": true, "NONE": null}}),
                json!({"command": "x", "env": {"PORT": "3000", "DEBUG": "true"}}),
            ),
            (
                json!({"command": "", "args": [], "env": {}, "url": "https://h/", "type": "streamableHttp"}),
                json!({"url": "https://h/", "type": "http"}),
            ),
            (json!({"command": "x", "disabled": true}), json!({"command": "x", "enabled": false})),
            (
                json!({"command": "x", "disabled": false, "autoApprove": [], "description": "d"}),
                json!({"command": "x"}),
            ),
        ] {
            assert_eq!(entry(foreign.clone()), ours, "{foreign}");
        }
    }

    #[test]
    fn what_another_program_trusts_is_not_believed() {
        let draft = made(json!({"command": "x", "alwaysAllow": ["delete"], "trust": true, "timeout": 60}));
        assert_eq!(Value::Object(draft.entry.0), json!({"command": "x"}));
        assert_eq!(draft.notes.len(), 3);
    }

    #[test]
    fn secrets_in_plain_sight_are_moved() {
        let mut draft = made(json!({
            "command": "x",
            "args": ["--api-key", "hunter22", "--token=hunter33", "--port", "8080", "ghp_0123456789abcdefghij", "--header", "Authorization: Bearer hunter44"],
            "env": {"API_TOKEN": "hunter55", "HOST": "example.com", "KEPT_TOKEN": "${TOKEN}", "FILL_TOKEN": "<your token>", "PLAIN": "sk-0123456789abcdef"}
        }));
        draft.move_secrets(&ServerId::parse("s").unwrap());
        assert_eq!(
            Value::Object(draft.entry.0.clone()),
            json!({
                "command": "x",
                "args": ["--api-key", "${secret:s-api-key}", "--token=${secret:s-token}", "--port", "8080", "${secret:s-secret}", "--header", "Authorization: Bearer ${secret:s-authorization}"],
                "env": {"API_TOKEN": "${secret:s-api_token}", "HOST": "example.com", "KEPT_TOKEN": "${TOKEN}", "FILL_TOKEN": "<your token>", "PLAIN": "${secret:s-plain}"}
            })
        );
        let values: Vec<_> = draft.secrets.iter().map(|secret| secret.value.as_ref().unwrap().expose()).collect();
        assert_eq!(
            values,
            ["hunter22", "hunter33", "ghp_0123456789abcdefghij", "hunter44", "hunter55", "sk-0123456789abcdef"]
        );
        assert_eq!(draft.secrets[4].field, "/env/API_TOKEN");
        assert!(draft.notes.iter().any(|note| note.contains("/env/FILL_TOKEN")));
        assert!(!format!("{draft:?}").contains("hunter"));
    }

    #[test]
    fn two_secrets_of_one_name_do_not_share_an_id() {
        let mut draft = made(json!({"command": "x", "args": ["--token", "hunter22", "--token", "hunter33"]}));
        draft.move_secrets(&ServerId::parse("s").unwrap());
        let ids: Vec<_> = draft.secrets.iter().map(|secret| secret.id.as_str()).collect();
        assert_eq!(ids, ["s-token", "s-token-2"]);
    }

    #[test]
    fn a_name_is_found_for_what_has_none() {
        for (value, name) in [
            (json!({"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/x"]}), "filesystem"),
            (json!({"command": "uvx", "args": ["mcp-server-time"]}), "time"),
            (json!({"command": "node", "args": ["--inspect", "/x/weather.js"]}), "weather"),
            (json!({"command": "/opt/notes-mcp"}), "notes"),
            (json!({"url": "https://mcp.linear.app/sse"}), "linear"),
            (json!({"url": "http://localhost:3000/mcp"}), "localhost"),
            (json!({"url": "http://127.0.0.1:3000/mcp"}), "server"),
            (json!({"name": "Mine", "command": "x"}), "Mine"),
        ] {
            assert_eq!(made(value.clone()).suggest_key(&[]), name, "{value}");
        }
        assert_eq!(made(json!({"command": "x"})).suggest_key(&["x", "x-2"]), "x-3");
    }
}
