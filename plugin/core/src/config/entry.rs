//! One entry of `servers.json`: every field judged by itself, strictly.
//!
//! Messages are read by the page too: they name keys, pointers, kinds and what is allowed, and quote a value only where
//! it is one of a closed list. What somebody wrote into `env`, `args` or `headers` is quoted nowhere.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use super::{
    Limits, ServerConfig, Warning,
    address::{check_url, is_header_name},
    file::short,
    jsonc::{self, join, kind},
    launch::{EndpointLaunch, Launch, StdioLaunch},
    variable::{self, Source, Template},
};
use crate::{
    error::Error,
    model::{ServerId, TransportKind},
};
use jsonc_parser::ast::{Object, Value};

const TYPES: [&str; 5] = ["stdio", "http", "streamable-http", "streamableHttp", "sse"];
const STDIO_ONLY: [&str; 5] = ["command", "args", "env", "cwd", "envPassthrough"];
const HTTP_ONLY: [&str; 2] = ["url", "headers"];
const SHARED: [&str; 8] =
    ["type", "displayName", "enabled", "disabled", "autoConnect", "timeouts", "maxConcurrency", "disabledTools"];

/// The longest time limit: a day.
const LONGEST_MS: u32 = 24 * 60 * 60 * 1000;
const MOST_CALLS: u32 = 1024;
/// How many items a list or an object of an entry may have.
const MOST_ITEMS: usize = 1024;
const LONGEST_NAME: usize = 128;

/// What keys of other programs mean here.
static MEANT: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    BTreeMap::from([
        ("transport", "type"),
        ("transportType", "type"),
        ("serverUrl", "url"),
        ("httpUrl", "url"),
        ("baseUrl", "url"),
        ("endpoint", "url"),
        ("arguments", "args"),
        ("environment", "env"),
        ("envs", "env"),
        ("workingDirectory", "cwd"),
        ("name", "displayName"),
        ("title", "displayName"),
        ("timeout", "timeouts"),
        ("excludeTools", "disabledTools"),
        ("exclude_tools", "disabledTools"),
        ("autoStart", "autoConnect"),
        ("cmd", "command"),
    ])
});

/// Reads the entry `key`, which stands at `pointer`.
pub(super) fn read(text: &str, id: ServerId, key: &str, pointer: &str, value: &Value<'_>) -> ServerConfig {
    let mut server = ServerConfig {
        id,
        key: key.to_owned(),
        display_name: key.to_owned(),
        transport: TransportKind::Stdio,
        enabled: true,
        auto_connect: false,
        disabled_tools: BTreeSet::new(),
        limits: Limits::default(),
        launch: Err(Error::internal("an entry that was not read")),
        warnings: Vec::new(),
    };
    let Value::Object(object) = value else {
        server.launch = Err(Reader::problem_at(
            &server.id,
            pointer,
            key,
            &format!("must be an object and is {}", kind(value)),
            &["an object"],
        ));
        return server;
    };
    let mut reader = Reader { id: server.id.clone(), object, pointer, problems: Vec::new(), warnings: Vec::new() };
    reader.duplicates(text, object, pointer);
    reader.refuse_what_is_policy();
    reader.unknown_keys();
    if key.trim().is_empty() || key.len() > 256 || key.chars().any(char::is_control) {
        reader.problem(pointer, key, "a server's key must be 1 to 256 bytes without control characters", &[]);
    }
    reader.person_settings(&mut server);
    server.transport = reader.transport();
    let launch = reader.launch(server.transport);
    // What is wrong is not started, whatever else the entry says; the others are told with the first.
    let mut problems = reader.problems.into_iter();
    server.warnings = reader.warnings;
    server.launch = match problems.next() {
        Some(first) => Err(first),
        None => Ok(launch),
    };
    server.warnings.extend(problems.filter_map(|problem| match problem {
        Error::ConfigInvalid { message, path, .. } => Some(Warning { path: path.unwrap_or_default(), message }),
        _ => None,
    }));
    server
}

struct Reader<'a, 'text> {
    id: ServerId,
    object: &'a Object<'text>,
    pointer: &'a str,
    problems: Vec<Error>,
    warnings: Vec<Warning>,
}

impl<'a, 'text> Reader<'a, 'text> {
    fn problem_at(id: &ServerId, path: &str, key: &str, problem: &str, allowed: &[&str]) -> Error {
        let allowed: Vec<String> = allowed.iter().map(|one| (*one).to_owned()).collect();
        let list = if allowed.is_empty() { String::new() } else { format!("; allowed: {}", allowed.join(", ")) };
        Error::ConfigInvalid {
            message: format!("server `{id}`: `{}` {problem} (at `{path}`){list}", short(key)),
            path: Some(path.to_owned()),
            key: Some(short(key)),
            allowed,
            private: None,
        }
    }

    fn problem(&mut self, path: &str, key: &str, problem: &str, allowed: &[&str]) {
        self.problems.push(Self::problem_at(&self.id, path, key, problem, allowed));
    }

    fn warn(&mut self, key: &str, message: String) {
        self.warnings.push(Warning { path: join(self.pointer, key), message });
    }

    fn value(&self, key: &str) -> Option<&'a Value<'text>> {
        self.object.get(key).map(|property| &property.value)
    }

    /// `key` is of the wrong kind.
    fn wrong(&mut self, path: &str, key: &str, value: &Value<'_>, allowed: &[&str]) {
        let problem = format!("is {}", kind(value));
        self.problem(path, key, &problem, allowed);
    }

    fn duplicates(&mut self, text: &str, object: &Object<'_>, pointer: &str) {
        if let Some((key, first, second)) = jsonc::duplicate(object) {
            let problem = format!(
                "stands there twice, at {} and at {}; keep one",
                jsonc::Place::of(text, first),
                jsonc::Place::of(text, second)
            );
            self.problem(&join(pointer, key), key, &problem, &[]);
        }
        for property in &object.properties {
            if let Value::Object(inner) = &property.value {
                self.duplicates(text, inner, &join(pointer, property.name.as_str()));
            }
        }
    }

    /// Who may call what is not said in a file that people pass around.
    fn refuse_what_is_policy(&mut self) {
        let object = self.object;
        for property in &object.properties {
            let key = property.name.as_str();
            let plain: String =
                key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
            let path = join(self.pointer, key);
            let advice = match () {
                () if plain == "permissionmode" => {
                    "has no effect in a file that can be shared; remove it and set the mode in the settings window or with `--permission-mode`"
                }
                () if plain.starts_with("trust") => {
                    "has no effect in a file that can be shared; remove it and decide in the settings window or with `mcp-host trust`"
                }
                () if plain.starts_with("autoapprove") || plain.starts_with("alwaysallow") => {
                    let empty = match &property.value {
                        Value::NullKeyword(_) => true,
                        Value::BooleanLit(bool) => !bool.value,
                        Value::Array(array) => array.elements.is_empty(),
                        Value::Object(object) => object.properties.is_empty(),
                        Value::StringLit(text) => text.value.is_empty(),
                        Value::NumberLit(_) => false,
                    };
                    if empty {
                        self.warn(
                            key,
                            format!(
                                "`{key}` is not used here; what may run without asking is a rule, made in a dialog"
                            ),
                        );
                        continue;
                    }
                    "would let tools run unasked because a file says so; remove it and answer the dialog, or use `mcp-host approval grant`"
                }
                () => continue,
            };
            self.problem(&path, key, advice, &[]);
        }
    }

    fn unknown_keys(&mut self) {
        let object = self.object;
        for property in &object.properties {
            let key = property.name.as_str();
            let plain: String =
                key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
            let known = STDIO_ONLY.iter().chain(&HTTP_ONLY).chain(&SHARED);
            let policy = ["trust", "autoapprove", "alwaysallow"].iter().any(|prefix| plain.starts_with(prefix));
            if policy || plain == "permissionmode" || known.clone().any(|known| *known == key) {
                continue;
            }
            let meant =
                MEANT.get(key).copied().or_else(|| known.copied().find(|known| known.to_ascii_lowercase() == plain));
            let advice = match meant {
                Some(meant) => format!("; did you mean `{meant}`?"),
                None => "; it is not used".to_owned(),
            };
            self.warn(key, format!("server `{}`: unknown key `{}`{advice}", self.id, short(key)));
        }
    }

    fn person_settings(&mut self, server: &mut ServerConfig) {
        if let Some(name) = self.string("displayName") {
            let name = name.trim();
            if name.is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
                let path = join(self.pointer, "displayName");
                self.problem(&path, "displayName", "must be 1 to 128 characters without control characters", &[]);
            } else {
                name.clone_into(&mut server.display_name);
            }
        }
        // Either of the two turns it off, and so does one that nobody understands.
        let enabled = self.bool("enabled", true, false);
        let disabled = self.bool("disabled", false, true);
        server.enabled = enabled && !disabled;
        server.auto_connect = self.bool("autoConnect", false, false);
        server.disabled_tools = self.strings("disabledTools").into_iter().collect();
        server.limits.max_concurrency = self.number(self.object, self.pointer, "maxConcurrency", MOST_CALLS);
        match self.value("timeouts") {
            None => {}
            Some(Value::Object(timeouts)) => {
                let pointer = join(self.pointer, "timeouts");
                server.limits.connect_ms = self.number(timeouts, &pointer, "connectMs", LONGEST_MS);
                server.limits.call_ms = self.number(timeouts, &pointer, "callMs", LONGEST_MS);
                server.limits.max_ms = self.number(timeouts, &pointer, "maxMs", LONGEST_MS);
                for property in &timeouts.properties {
                    let key = property.name.as_str();
                    if !["connectMs", "callMs", "maxMs"].contains(&key) {
                        let message = format!(
                            "server `{}`: unknown key `timeouts.{}`; there are connectMs, callMs and maxMs",
                            self.id,
                            short(key)
                        );
                        self.warnings.push(Warning { path: join(&pointer, key), message });
                    }
                }
            }
            Some(other) => {
                self.wrong(
                    &join(self.pointer, "timeouts"),
                    "timeouts",
                    other,
                    &["an object with connectMs, callMs, maxMs"],
                );
            }
        }
    }

    /// Whether a text stands under `key`. Some programs write `"command": ""` beside a URL.
    fn has_text(&self, key: &str) -> bool {
        match self.value(key) {
            None | Some(Value::NullKeyword(_)) => false,
            Some(Value::StringLit(text)) => !text.value.trim().is_empty(),
            Some(_) => true,
        }
    }

    fn transport(&mut self) -> TransportKind {
        let guess =
            if self.has_text("url") && !self.has_text("command") { TransportKind::Http } else { TransportKind::Stdio };
        let path = join(self.pointer, "type");
        match self.value("type") {
            None => {
                match (self.has_text("command"), self.has_text("url")) {
                    (true, true) => self.problem(&path, "type", "must say which of `command` and `url` counts", &TYPES),
                    (false, false) => {
                        let path = join(self.pointer, "command");
                        self.problem(
                            &path,
                            "command",
                            "is missing, and so is `url`; an entry needs one of the two",
                            &["command", "url"],
                        );
                    }
                    _ => {}
                }
                guess
            }
            Some(Value::StringLit(text)) => match text.value.as_ref() {
                "stdio" => TransportKind::Stdio,
                "http" | "streamable-http" | "streamableHttp" => TransportKind::Http,
                "sse" => TransportKind::Sse,
                other => {
                    let value: String = other.chars().filter(|char| !char.is_control()).take(32).collect();
                    self.problem(&path, "type", &format!("is `{value}`"), &TYPES);
                    guess
                }
            },
            Some(other) => {
                self.wrong(&path, "type", other, &TYPES);
                guess
            }
        }
    }

    fn launch(&mut self, transport: TransportKind) -> Launch {
        let foreign: &[&str] = if transport == TransportKind::Stdio { &HTTP_ONLY } else { &STDIO_ONLY };
        for key in foreign {
            let empty = match self.value(key) {
                None | Some(Value::NullKeyword(_)) => true,
                Some(Value::StringLit(text)) => text.value.is_empty(),
                Some(Value::Array(array)) => array.elements.is_empty(),
                Some(Value::Object(object)) => object.properties.is_empty(),
                Some(_) => false,
            };
            if !empty {
                self.warn(
                    key,
                    format!("server `{}`: `{key}` is not used by a server of type `{}`", self.id, transport.as_str()),
                );
            }
        }
        match transport {
            TransportKind::Stdio => Launch::Stdio(self.stdio()),
            TransportKind::Http => Launch::Http(self.endpoint()),
            TransportKind::Sse => Launch::Sse(self.endpoint()),
        }
    }

    fn stdio(&mut self) -> StdioLaunch {
        let command = self.required("command");
        self.template("command", &join(self.pointer, "command"), &command, false);
        let args = self.strings("args");
        let pointer = join(self.pointer, "args");
        for (index, arg) in args.iter().enumerate() {
            self.template("args", &join(&pointer, &index.to_string()), arg, true);
        }
        let cwd = self.string("cwd");
        if let Some(cwd) = &cwd {
            let path = join(self.pointer, "cwd");
            if cwd.trim().is_empty() {
                self.problem(&path, "cwd", "is empty; leave it out for the host's own folder", &[]);
            }
            self.template("cwd", &path, cwd, false);
        }
        let env = self.map("env");
        let pointer = join(self.pointer, "env");
        for (name, value) in &env {
            let path = join(&pointer, name);
            if name.is_empty() || name.contains(['=', '\0']) {
                self.problem(&path, "env", "has a name that no environment variable can have", &[]);
            }
            self.template("env", &path, value, true);
        }
        let env_passthrough = self.strings("envPassthrough");
        for (index, name) in env_passthrough.iter().enumerate() {
            if !variable::is_variable_name(name) {
                let path = join(&join(self.pointer, "envPassthrough"), &index.to_string());
                self.problem(
                    &path,
                    "envPassthrough",
                    "holds what is no variable's name",
                    &["names of environment variables"],
                );
            }
        }
        StdioLaunch { command, args, cwd, env, env_passthrough: env_passthrough.into_iter().collect() }
    }

    fn endpoint(&mut self) -> EndpointLaunch {
        let url = self.required("url");
        let path = join(self.pointer, "url");
        if !url.is_empty()
            && self.template("url", &path, &url, true)
            && let Err(problem) = check_url(&url)
        {
            self.problem(&path, "url", problem, &["http://…", "https://…"]);
        }
        let headers = self.map("headers");
        let pointer = join(self.pointer, "headers");
        for (name, value) in &headers {
            let path = join(&pointer, name);
            if !is_header_name(name) {
                self.problem(&path, "headers", "has a name that no header can have", &[]);
            }
            if value.chars().any(char::is_control) {
                self.problem(&path, "headers", "holds a control character", &[]);
            }
            self.template("headers", &path, value, true);
        }
        EndpointLaunch { url, headers }
    }

    /// Checks the variables of a text. Secrets have no place where the text itself is shown (`command`, `cwd`).
    fn template(&mut self, key: &str, path: &str, text: &str, secrets: bool) -> bool {
        if text.contains('\0') {
            self.problem(path, key, "holds a NUL character", &[]);
            return false;
        }
        match Template::parse(text) {
            Err(malformed) => {
                self.problem(path, key, &malformed.to_string(), &variable::FORMS);
                false
            }
            Ok(template) if !secrets && template.references().any(|place| place.source != Source::Variable) => {
                self.problem(
                    path,
                    key,
                    "is shown to people and cannot hold a secret or an input",
                    &["${VAR}", "${VAR:-default}", "${env:VAR}"],
                );
                false
            }
            Ok(_) => true,
        }
    }

    fn required(&mut self, key: &'static str) -> String {
        let path = join(self.pointer, key);
        match self.value(key) {
            Some(Value::StringLit(text)) if !text.value.trim().is_empty() => text.value.clone().into_owned(),
            Some(Value::StringLit(_)) => {
                self.problem(&path, key, "is empty", &["a string"]);
                String::new()
            }
            Some(other) => {
                self.wrong(&path, key, other, &["a string"]);
                String::new()
            }
            // Without `type` the lack of both was told already.
            None => {
                if self.value("type").is_some() {
                    self.problem(&path, key, "is missing", &["a string"]);
                }
                String::new()
            }
        }
    }

    fn string(&mut self, key: &str) -> Option<String> {
        match self.value(key)? {
            Value::StringLit(text) => Some(text.value.clone().into_owned()),
            other => {
                self.wrong(&join(self.pointer, key), key, other, &["a string"]);
                None
            }
        }
    }

    fn bool(&mut self, key: &str, absent: bool, wrong: bool) -> bool {
        match self.value(key) {
            None => absent,
            Some(Value::BooleanLit(bool)) => bool.value,
            Some(other) => {
                self.wrong(&join(self.pointer, key), key, other, &["true", "false"]);
                wrong
            }
        }
    }

    fn number(&mut self, object: &Object<'_>, pointer: &str, key: &str, most: u32) -> Option<u32> {
        let value = &object.get(key)?.value;
        let number = match value {
            Value::NumberLit(number) => number.value.parse::<u32>().ok().filter(|number| (1..=most).contains(number)),
            _ => None,
        };
        if number.is_none() {
            let allowed = format!("a whole number from 1 to {most}");
            match value {
                Value::NumberLit(number) => {
                    let problem = format!("is `{}`", short(number.value));
                    self.problem(&join(pointer, key), key, &problem, &[&allowed]);
                }
                other => self.wrong(&join(pointer, key), key, other, &[&allowed]),
            }
        }
        number
    }

    fn strings(&mut self, key: &str) -> Vec<String> {
        let path = join(self.pointer, key);
        match self.value(key) {
            None => Vec::new(),
            Some(Value::Array(array)) if array.elements.len() <= MOST_ITEMS => {
                let mut strings = Vec::with_capacity(array.elements.len());
                for (index, element) in array.elements.iter().enumerate() {
                    match element {
                        Value::StringLit(text) => strings.push(text.value.clone().into_owned()),
                        other => self.wrong(&join(&path, &index.to_string()), key, other, &["a string"]),
                    }
                }
                strings
            }
            Some(Value::Array(_)) => {
                self.problem(&path, key, &format!("has more than {MOST_ITEMS} items"), &[]);
                Vec::new()
            }
            Some(other) => {
                self.wrong(&path, key, other, &["a list of strings"]);
                Vec::new()
            }
        }
    }

    fn map(&mut self, key: &str) -> BTreeMap<String, String> {
        let path = join(self.pointer, key);
        match self.value(key) {
            None => BTreeMap::new(),
            Some(Value::Object(object)) if object.properties.len() <= MOST_ITEMS => {
                let mut map = BTreeMap::new();
                for property in &object.properties {
                    let name = property.name.as_str().to_owned();
                    match &property.value {
                        Value::StringLit(text) => {
                            map.insert(name, text.value.clone().into_owned());
                        }
                        other => self.wrong(&join(&path, &name), key, other, &["a string"]),
                    }
                }
                map
            }
            Some(Value::Object(_)) => {
                self.problem(&path, key, &format!("has more than {MOST_ITEMS} items"), &[]);
                BTreeMap::new()
            }
            Some(other) => {
                self.wrong(&path, key, other, &["an object of strings"]);
                BTreeMap::new()
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::config::file;

    fn one(entry: &str) -> ServerConfig {
        let text = format!("{{ \"mcpServers\": {{ \"x\": {entry} }} }}");
        let configuration = file::parse(&text).unwrap();
        assert_eq!(configuration.servers.len(), 1);
        ServerConfig::clone(&configuration.servers[0])
    }

    /// `(path, key, allowed, message)` of the entry's error.
    fn error(entry: &str) -> (String, String, Vec<String>, String) {
        match one(entry).launch {
            Err(Error::ConfigInvalid { path, key, allowed, message, .. }) => {
                (path.unwrap(), key.unwrap(), allowed, message)
            }
            other => panic!("{entry}: {other:?}"),
        }
    }

    #[test]
    fn every_spelling_of_a_type_is_understood() {
        for (entry, transport) in [
            (r#"{"command":"npx"}"#, TransportKind::Stdio),
            (r#"{"type":"stdio","command":"npx"}"#, TransportKind::Stdio),
            (r#"{"url":"https://example.com/mcp"}"#, TransportKind::Http),
            (r#"{"type":"http","url":"https://example.com/mcp"}"#, TransportKind::Http),
            (r#"{"type":"streamable-http","url":"https://example.com/mcp"}"#, TransportKind::Http),
            (r#"{"type":"streamableHttp","url":"http://127.0.0.1:9/mcp"}"#, TransportKind::Http),
            (r#"{"type":"sse","url":"https://example.com/sse"}"#, TransportKind::Sse),
            (r#"{"command":"","args":[],"url":"https://example.com/mcp"}"#, TransportKind::Http),
        ] {
            let server = one(entry);
            assert_eq!(server.transport, transport, "{entry}");
            assert_eq!(server.launch.unwrap().transport(), transport, "{entry}");
        }
    }

    #[test]
    fn a_wrong_type_names_key_value_allowed_and_pointer() {
        let (path, key, allowed, message) = error(r#"{"type":"url","url":"https://example.com"}"#);
        assert_eq!((path.as_str(), key.as_str()), ("/mcpServers/x/type", "type"));
        assert_eq!(allowed, TYPES);
        for part in ["`type`", "`url`", "/mcpServers/x/type", "streamableHttp", "server `x`"] {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn each_wrong_field_is_pointed_at() {
        for (entry, pointer) in [
            (r#"{}"#, "command"),
            (r#"{"type":"stdio"}"#, "command"),
            (r#"{"type":"http"}"#, "url"),
            (r#"{"command":"a","url":"https://h/"}"#, "type"),
            (r#"{"command":3}"#, "command"),
            (r#"{"command":" "}"#, "command"),
            (r#"{"command":"a\u0000b"}"#, "command"),
            (r#"{"command":"${secret:x}"}"#, "command"),
            (r#"{"command":"a","args":"-y"}"#, "args"),
            (r#"{"command":"a","args":["ok",7]}"#, "args/1"),
            (r#"{"command":"a","args":["${"]}"#, "args/0"),
            (r#"{"command":"a","env":{"A/B":3}}"#, "env/A~1B"),
            (r#"{"command":"a","env":{"A=B":"x"}}"#, "env/A=B"),
            (r#"{"command":"a","cwd":""}"#, "cwd"),
            (r#"{"command":"a","envPassthrough":["OK","A B"]}"#, "envPassthrough/1"),
            (r#"{"command":"a","enabled":"yes"}"#, "enabled"),
            (r#"{"command":"a","disabled":0}"#, "disabled"),
            (r#"{"command":"a","autoConnect":null}"#, "autoConnect"),
            (r#"{"command":"a","displayName":"a\nb"}"#, "displayName"),
            (r#"{"command":"a","maxConcurrency":0}"#, "maxConcurrency"),
            (r#"{"command":"a","timeouts":{"callMs":1.5}}"#, "timeouts/callMs"),
            (r#"{"command":"a","timeouts":{"connectMs":-1}}"#, "timeouts/connectMs"),
            (r#"{"command":"a","timeouts":30}"#, "timeouts"),
            (r#"{"command":"a","disabledTools":[{}]}"#, "disabledTools/0"),
            (r#"{"url":"ftp://h/"}"#, "url"),
            (r#"{"url":"https://${HOST}/mcp"}"#, "url"),
            (r#"{"url":"https://h${PORT}/mcp"}"#, "url"),
            (r#"{"url":"${BASE}/mcp"}"#, "url"),
            (r#"{"url":"https://me:pw@h/mcp"}"#, "url"),
            (r#"{"url":"https://h h/mcp"}"#, "url"),
            (r#"{"url":"https:///mcp"}"#, "url"),
            (r#"{"url":"https://h/","headers":{"A B":"x"}}"#, "headers/A B"),
            (r#"{"url":"https://h/","headers":{"A":"x\r\nB: y"}}"#, "headers/A"),
            (r#"{"command":"a","command":"b"}"#, "command"),
            (r#"{"command":"a","env":{"A":"1","A":"2"}}"#, "env/A"),
        ] {
            assert_eq!(error(entry).0, format!("/mcpServers/x/{pointer}"), "{entry}");
        }
        assert_eq!(error("[]").0, "/mcpServers/x");
    }

    #[test]
    fn what_is_policy_makes_an_entry_invalid_and_says_where_to_go() {
        for entry in [
            r#"{"command":"a","permissionMode":"allow"}"#,
            r#"{"command":"a","trust":true}"#,
            r#"{"command":"a","trustAnnotations":true}"#,
            r#"{"command":"a","autoApprove":["x"]}"#,
            r#"{"command":"a","alwaysAllow":["x"]}"#,
            r#"{"command":"a","autoApprove":true}"#,
        ] {
            let (_, _, _, message) = error(entry);
            assert!(message.contains("remove it"), "{message}");
        }
        for entry in [r#"{"command":"a","autoApprove":[]}"#, r#"{"command":"a","alwaysAllow":[]}"#] {
            let server = one(entry);
            assert!(server.launch.is_ok());
            assert_eq!(server.warnings.len(), 1);
        }
    }

    #[test]
    fn what_tightens_is_honoured() {
        assert!(one(r#"{"command":"a"}"#).enabled);
        assert!(!one(r#"{"command":"a","enabled":false}"#).enabled);
        assert!(!one(r#"{"command":"a","disabled":true}"#).enabled);
        assert!(!one(r#"{"command":"a","disabled":true,"enabled":true}"#).enabled);
        let server = one(r#"{"command":"a","disabledTools":["delete_file","delete_file"]}"#);
        assert_eq!(server.disabled_tools.into_iter().collect::<Vec<_>>(), ["delete_file"]);
    }

    #[test]
    fn an_unknown_key_is_a_warning_with_what_was_meant() {
        let server = one(r#"{"command":"a","Args":["x"],"environment":{},"banana":1,"timeouts":{"read":1}}"#);
        assert!(server.launch.is_ok());
        let warnings: Vec<_> = server.warnings.iter().map(|warning| warning.path.as_str()).collect();
        assert_eq!(
            warnings,
            ["/mcpServers/x/Args", "/mcpServers/x/environment", "/mcpServers/x/banana", "/mcpServers/x/timeouts/read"]
        );
        assert!(server.warnings[0].message.contains("`args`"));
        assert!(server.warnings[1].message.contains("`env`"));
    }

    #[test]
    fn every_field_arrives() {
        let server =
            one(r#"{"command":"npx","args":["-y","p","","a b"],"env":{"TOKEN":"${secret:t}"},"cwd":"/home/me",
                "displayName":" My notes ","autoConnect":true,"maxConcurrency":4,"envPassthrough":["SSH_AUTH_SOCK"],
                "timeouts":{"connectMs":1,"callMs":2,"maxMs":3}}"#);
        assert_eq!(server.display_name, "My notes");
        assert!(server.auto_connect);
        assert_eq!(
            server.limits,
            Limits { connect_ms: Some(1), call_ms: Some(2), max_ms: Some(3), max_concurrency: Some(4) }
        );
        let Ok(Launch::Stdio(launch)) = server.launch else { panic!("no launch") };
        assert_eq!(launch.command, "npx");
        assert_eq!(launch.args, ["-y", "p", "", "a b"]);
        assert_eq!(launch.env.get("TOKEN").unwrap(), "${secret:t}");
        assert_eq!(launch.cwd.as_deref(), Some("/home/me"));
        assert!(launch.env_passthrough.contains("SSH_AUTH_SOCK"));
    }

    #[test]
    fn no_error_quotes_what_may_be_a_secret() {
        for entry in [
            r#"{"command":"a","env":{"TOKEN":["hunter2"]}}"#,
            r#"{"command":"a","args":["${hunter2 x}"]}"#,
            r#"{"command":"a","env":{"TOKEN":"hunter2${"}}"#,
            r#"{"url":"https://hunter2:hunter2@h/"}"#,
            r#"{"url":"https://h/","headers":{"A":"hunter2\n"}}"#,
            r#"{"command":{"hunter2":1}}"#,
        ] {
            let server = one(entry);
            assert!(!format!("{server:?}").contains("hunter2"), "{server:?}");
        }
        let server = one(r#"{"command":"a","args":["hunter2"],"env":{"TOKEN":"hunter2"}}"#);
        assert!(!format!("{server:?}").contains("hunter2"), "{server:?}");
    }
}
