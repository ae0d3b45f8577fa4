//! What people paste into the one box for a new server: a whole file, a part of one, a command line, a URL, a link that
//! installs it elsewhere.

use base64::Engine as _;
use serde_json::{Map, Value};
use url::Url;

use super::{
    Draft,
    file::{SERVERS, short},
    foreign::{self, is_entry},
    jsonc,
};
use crate::{
    error::{Error, Result},
    model::ServerId,
};

/// The longest text that is looked at.
const LONGEST: usize = 256 * 1024;

/// How deep links may be wrapped in links.
const DEEPEST: u8 = 3;

/// Reads a pasted text as one or more servers to be added.
///
/// # Errors
///
/// [`Error::InvalidInput`] at `/snippet`, saying what was expected.
pub fn read(text: &str) -> Result<Vec<Draft>> {
    let drafts = read_text(text, 0)?;
    if drafts.is_empty() {
        return Err(problem("there is no server in it"));
    }
    Ok(drafts)
}

fn problem(text: impl std::fmt::Display) -> Error {
    Error::invalid_input("/snippet", format!("cannot read this as a server: {text}"))
}

fn read_text(text: &str, depth: u8) -> Result<Vec<Draft>> {
    if text.len() > LONGEST {
        return Err(problem(format_args!("it is longer than {LONGEST} bytes")));
    }
    let text = unfenced(jsonc::split_mark(text).1.trim_matches([' ', '\t', '\r', '\n']));
    if text.is_empty() {
        return Err(problem("it is empty; paste a JSON entry, a command line or a URL"));
    }
    if text.starts_with('{') || text.starts_with('[') || text.starts_with("//") || text.starts_with("/*") {
        return json(text);
    }
    // The middle of a file: `"files": { … },`
    if text.starts_with('"') && text.contains(':') {
        return json(&format!("{{{}}}", text.trim_end_matches(',')));
    }
    if !text.contains(char::is_whitespace)
        && text.contains(':')
        && let Ok(url) = Url::parse(text)
        && !url.cannot_be_a_base() | matches!(url.scheme(), "vscode" | "vscode-insiders")
    {
        return link(&url, depth);
    }
    line(text, depth)
}

/// Markdown's fences, as they come along from a README.
fn unfenced(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("```") else { return text };
    let body = rest.split_once('\n').map_or("", |(_, body)| body);
    body.trim_end().strip_suffix("```").unwrap_or(body).trim()
}

fn json(text: &str) -> Result<Vec<Draft>> {
    let value = jsonc::parse(text).map_err(problem)?.ok_or_else(|| problem("it is empty"))?;
    if let Some(key) = duplicate(&value) {
        return Err(problem(format_args!("`{}` stands in it twice", short(key))));
    }
    match jsonc::to_serde(&value) {
        Value::Object(object) => servers(&object),
        _ => Err(problem("it is JSON, and no object")),
    }
}

fn duplicate<'a>(value: &'a jsonc_parser::ast::Value<'_>) -> Option<&'a str> {
    use jsonc_parser::ast::Value;
    match value {
        Value::Object(object) => jsonc::duplicate(object)
            .map(|(key, ..)| key)
            .or_else(|| object.properties.iter().find_map(|property| duplicate(&property.value))),
        Value::Array(array) => array.elements.iter().find_map(duplicate),
        _ => None,
    }
}

/// A whole file of some program, one named entry, or a bare one.
pub(super) fn servers(root: &Map<String, Value>) -> Result<Vec<Draft>> {
    let named = [
        root.get(SERVERS),
        root.get("servers"),
        root.get("mcp").and_then(|mcp| mcp.get("servers")),
        root.get("mcp.servers"),
        root.get("context_servers"),
        root.get("mcp").filter(|mcp| mcp.as_object().is_some_and(|mcp| mcp.values().any(entry_like))),
    ];
    if let Some(named) = named.into_iter().flatten().next() {
        let Value::Object(named) = named else { return Err(problem("its servers are no object")) };
        let mut drafts = all(named)?;
        let inputs = root.get("inputs").or_else(|| root.get("mcp").and_then(|mcp| mcp.get("inputs")));
        ask_inputs(&mut drafts, inputs);
        return Ok(drafts);
    }
    if is_entry(root) {
        return Ok(vec![foreign::draft(None, root)]);
    }
    if !root.is_empty() && root.values().all(entry_like) {
        return all(root);
    }
    Err(problem("an entry has a `command` or a `url`, a file has `mcpServers`"))
}

fn entry_like(value: &Value) -> bool {
    value.as_object().is_some_and(is_entry)
}

fn all(named: &Map<String, Value>) -> Result<Vec<Draft>> {
    named
        .iter()
        .map(|(key, value)| match value {
            Value::Object(entry) => Ok(foreign::draft(Some(key), entry)),
            _ => Err(problem(format_args!("`{}` is no object", short(key)))),
        })
        .collect()
}

/// VS Code's `inputs`: what it would ask becomes a secret that is asked for once.
fn ask_inputs(drafts: &mut [Draft], inputs: Option<&Value>) {
    let describe = |id: &str| {
        let input = inputs?.as_array()?.iter().find(|input| input.get("id").and_then(Value::as_str) == Some(id))?;
        input.get("description").and_then(Value::as_str).map(|text| text.chars().take(200).collect())
    };
    for draft in drafts {
        let key = draft.suggest_key(&[]);
        if let Ok(server) = ServerId::parse(&super::slug::slug(&key)) {
            draft.move_inputs(&server, &describe);
        }
    }
}

fn link(url: &Url, depth: u8) -> Result<Vec<Draft>> {
    let query = |wanted: &str| url.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned());
    let installs = url.path().contains("mcp/install") || url.path().contains("install-mcp");
    // Buttons of READMEs: `vscode:mcp/install?{…}`, `cursor://…/mcp/install?name=…&config=BASE64`.
    if installs || url.scheme() == "vscode" || url.scheme() == "vscode-insiders" {
        if depth >= DEEPEST {
            return Err(problem("it is a link in a link in a link"));
        }
        if let Some(inner) = query("url") {
            return read_text(&inner, depth + 1);
        }
        let name = query("name");
        let config = match query("config") {
            Some(config) if config.trim_start().starts_with('{') => config,
            Some(config) => {
                // A `+` of base64 reads as a blank in a query.
                let bytes = base64::engine::general_purpose::STANDARD
                    .decode(config.replace(' ', "+"))
                    .or_else(|_| base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(config.trim_end_matches('=')));
                bytes
                    .ok()
                    .and_then(|bytes| String::from_utf8(bytes).ok())
                    .ok_or_else(|| problem("its `config` is not base64"))?
            }
            None => percent_decoded(url.query().unwrap_or_default()),
        };
        let mut drafts = json(config.trim())?;
        if let ([draft], Some(name)) = (drafts.as_mut_slice(), name) {
            draft.key.get_or_insert(name);
        }
        return Ok(drafts);
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(problem("a server's URL begins with `https://` or `http://`"));
    }
    let mut entry = Map::new();
    entry.insert("type".to_owned(), "http".into());
    entry.insert("url".to_owned(), url.as_str().into());
    Ok(vec![foreign::draft(None, &entry)])
}

fn percent_decoded(text: &str) -> String {
    // One value without a name, read by the same rules as any other.
    url::form_urlencoded::parse(format!("v={}", text.replace('+', "%2B").replace('&', "%26")).as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

/// A command line as it is typed into a shell, without anything that only a shell does.
fn line(text: &str, depth: u8) -> Result<Vec<Draft>> {
    let text = text.strip_prefix("$ ").or_else(|| text.strip_prefix("> ")).unwrap_or(text);
    let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
    if text.trim().contains('\n') {
        return Err(problem("it has several lines; paste one command"));
    }
    if let Some(char) = shell_only(&text) {
        return Err(problem(format_args!(
            "`{char}` is for a shell, and nothing goes through one here; paste the command alone, or put it in quotes"
        )));
    }
    let words = shell_words::split(&text).map_err(|_| problem("a quote is not closed"))?;
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["claude" | "codex" | "gemini" | "droid" | "amp", "mcp", "add", rest @ ..] => added_elsewhere(rest),
        ["claude", "mcp", "add-json", rest @ ..] => {
            let plain: Vec<&str> = positional(rest, &["-s", "--scope"]);
            match plain.as_slice() {
                [name, config, ..] => {
                    let mut drafts = json(config)?;
                    if let [draft] = drafts.as_mut_slice() {
                        draft.key = Some((*name).to_owned());
                    }
                    Ok(drafts)
                }
                _ => Err(problem("`claude mcp add-json` is followed by a name and JSON")),
            }
        }
        ["code" | "code-insiders" | "codium", "--add-mcp", config] => read_text(config, depth + 1),
        words => command(words),
    }
}

/// A character outside of quotes that makes a shell do something.
fn shell_only(text: &str) -> Option<char> {
    let mut quote = None;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match (quote, char) {
            (Some('\''), '\'') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => {
                chars.next();
            }
            (Some('"'), '"') => quote = None,
            (None, '\'' | '"') => quote = Some(char),
            (_, '`') => return Some('`'),
            (_, '$') if chars.peek() == Some(&'(') => return Some('$'),
            (None, '|' | ';' | '<' | '>' | '&' | '(' | ')') => return Some(char),
            _ => {}
        }
    }
    None
}

/// `NAME=value command args…`
fn command(words: &[&str]) -> Result<Vec<Draft>> {
    let is_assignment =
        |word: &&&str| word.split_once('=').is_some_and(|(name, _)| super::variable::is_variable_name(name));
    let assignments = words.iter().take_while(is_assignment).count();
    let (env, command) = words.split_at_checked(assignments).unwrap_or((&[], words));
    let Some((program, args)) = command.split_first() else { return Err(problem("there is no command in it")) };
    let mut entry = Map::new();
    entry.insert("command".to_owned(), (*program).into());
    entry.insert("args".to_owned(), args.iter().copied().collect());
    let env: Map<String, Value> = env
        .iter()
        .filter_map(|word| word.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    entry.insert("env".to_owned(), env.into());
    Ok(vec![foreign::draft(None, &entry)])
}

/// `claude mcp add [--transport http] [-e A=b] [-H 'X: y'] NAME [--] COMMAND…|URL`
fn added_elsewhere(words: &[&str]) -> Result<Vec<Draft>> {
    let mut env = Map::new();
    let mut headers = Map::new();
    let mut transport = None;
    let mut plain: Vec<&str> = Vec::new();
    let mut rest = words.iter().copied().peekable();
    while let Some(word) = rest.next() {
        let (flag, joined) = word.split_once('=').map_or((word, None), |(flag, value)| (flag, Some(value)));
        match flag {
            "--" => {
                plain.extend(rest.by_ref());
                break;
            }
            "-t" | "--transport" => transport = joined.or_else(|| rest.next()),
            "-s" | "--scope" => {
                if joined.is_none() {
                    rest.next();
                }
            }
            "--url" => plain.extend(joined.or_else(|| rest.next())),
            "-e" | "--env" => {
                let mut value = if flag == word { rest.next() } else { word.split_once('=').map(|(_, value)| value) };
                // `-e A=b C=d` names several.
                while let Some((name, text)) = value.and_then(|value| value.split_once('=')) {
                    env.insert(name.to_owned(), text.into());
                    value = rest.next_if(|next| !next.starts_with('-') && next.contains('=') && !next.contains("://"));
                }
            }
            "-H" | "--header" => {
                if let Some((name, value)) = joined.or_else(|| rest.next()).and_then(|header| header.split_once(':')) {
                    headers.insert(name.trim().to_owned(), value.trim().into());
                }
            }
            _ if word.starts_with('-') && plain.len() < 2 => {}
            // What follows the command is the command's own.
            _ => {
                plain.push(word);
                if plain.len() >= 2 && !plain.get(1).is_some_and(|target| target.contains("://")) {
                    plain.extend(rest.by_ref().filter(|word| *word != "--"));
                    break;
                }
            }
        }
    }
    let Some((name, target)) = plain.split_first() else {
        return Err(problem("a name and a command must follow `add`"));
    };
    let mut entry = Map::new();
    match target {
        [url] if url.contains("://") => {
            entry.insert("type".to_owned(), if transport == Some("sse") { "sse" } else { "http" }.into());
            entry.insert("url".to_owned(), (*url).into());
            entry.insert("headers".to_owned(), headers.into());
        }
        [command, args @ ..] => {
            entry.insert("command".to_owned(), (*command).into());
            entry.insert("args".to_owned(), args.iter().copied().collect());
            entry.insert("env".to_owned(), env.into());
        }
        [] => return Err(problem("a command or a URL must follow the name")),
    }
    Ok(vec![foreign::draft(Some(name), &entry)])
}

fn positional<'a>(words: &[&'a str], with_value: &[&str]) -> Vec<&'a str> {
    let mut plain = Vec::new();
    let mut rest = words.iter().copied();
    while let Some(word) = rest.next() {
        if with_value.contains(&word) {
            rest.next();
        } else if !word.starts_with('-') {
            plain.push(word);
        }
    }
    plain
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn one(text: &str) -> (Option<String>, Value) {
        let mut drafts = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(drafts.len(), 1, "{text}");
        let draft = drafts.remove(0);
        (draft.key, Value::Object(draft.entry.0))
    }

    #[test]
    fn json_is_read_in_every_form_that_people_paste() {
        let npx = json!({"command": "npx", "args": ["-y", "p"]});
        for text in [
            r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y", "p"]}}}"#,
            r#"{ // from a README
                "servers": {"a": {"type": "stdio", "command": "npx", "args": ["-y", "p",],},}, }"#,
            r#"{"mcp": {"servers": {"a": {"command": "npx", "args": ["-y", "p"]}}}}"#,
            r#"{"context_servers": {"a": {"command": {"path": "npx", "args": ["-y", "p"]}}}}"#,
            r#"{"mcp": {"a": {"type": "local", "command": ["npx", "-y", "p"]}}}"#,
            r#"{"a": {"command": "npx", "args": ["-y", "p"]}}"#,
            r#""a": {"command": "npx", "args": ["-y", "p"]},"#,
            "```json\n{\"a\": {\"command\": \"npx\", \"args\": [\"-y\", \"p\"]}}\n```\n",
            r#"{"name": "a", "command": "npx", "args": ["-y", "p"]}"#,
            r#"vscode:mcp/install?%7B%22name%22%3A%22a%22%2C%22command%22%3A%22npx%22%2C%22args%22%3A%5B%22-y%22%2C%22p%22%5D%7D"#,
            "cursor://anysphere.cursor-deeplink/mcp/install?name=a&config=eyJjb21tYW5kIjoibnB4IiwiYXJncyI6WyIteSIsInAiXX0=",
            "claude mcp add a -- npx -y p",
            "claude mcp add --scope user a npx -y p",
            "codex mcp add a -- npx -y p",
            r#"claude mcp add-json a '{"type":"stdio","command":"npx","args":["-y","p"]}'"#,
            r#"code --add-mcp '{"name":"a","command":"npx","args":["-y","p"]}'"#,
        ] {
            assert_eq!(one(text), (Some("a".to_owned()), npx.clone()), "{text}");
        }
        assert_eq!(one(r#"{"command": "npx", "args": ["-y", "p"]}"#), (None, npx));
        assert_eq!(one(r#"{"type": "url"}"#), (None, json!({"type": "url"})));
        assert_eq!(read(r#"{"a": {"command": "x"}, "b": {"url": "https://h/"}}"#).unwrap().len(), 2);
    }

    #[test]
    fn a_command_line_is_split_as_a_shell_would() {
        for (line, entry) in [
            ("npx -y pkg 'an arg'", json!({"command": "npx", "args": ["-y", "pkg", "an arg"]})),
            ("$ uvx mcp-server-time", json!({"command": "uvx", "args": ["mcp-server-time"]})),
            ("A=1 B='x y' node s.js", json!({"command": "node", "args": ["s.js"], "env": {"A": "1", "B": "x y"}})),
            ("docker run -i \\\n  --rm mcp/x", json!({"command": "docker", "args": ["run", "-i", "--rm", "mcp/x"]})),
            ("server \"a|b\" 'c;d' e\\&f", json!({"command": "server", "args": ["a|b", "c;d", "e&f"]})),
        ] {
            assert_eq!(one(line), (None, entry), "{line}");
        }
    }

    #[test]
    fn a_url_is_a_server() {
        assert_eq!(
            one(" https://mcp.example.com/mcp "),
            (None, json!({"type": "http", "url": "https://mcp.example.com/mcp"}))
        );
        assert_eq!(
            one("claude mcp add --transport sse linear https://mcp.linear.app/sse -H 'Authorization: Bearer x'"),
            (
                Some("linear".to_owned()),
                json!({"type": "sse", "url": "https://mcp.linear.app/sse", "headers": {"Authorization": "Bearer x"}})
            )
        );
        assert_eq!(
            one("claude mcp add -e A=b -e C=d srv -- node s.js -e x"),
            (
                Some("srv".to_owned()),
                json!({"command": "node", "args": ["s.js", "-e", "x"], "env": {"A": "b", "C": "d"}})
            )
        );
    }

    #[test]
    fn an_editors_inputs_become_secrets_that_are_asked_for() {
        let drafts = read(
            r#"{"inputs": [{"type": "promptString", "id": "key", "description": "Your key", "password": true}],
                "servers": {"My API": {"type": "http", "url": "https://h/", "headers": {"X-Key": "${input:key}"}}}}"#,
        )
        .unwrap();
        assert_eq!(drafts[0].entry.0["headers"]["X-Key"], "${secret:my-api-key}");
        let secret = &drafts[0].secrets[0];
        assert_eq!((secret.id.as_str(), secret.field.as_str()), ("my-api-key", "/headers/X-Key"));
        assert_eq!((secret.value.as_ref(), secret.description.as_deref()), (None, Some("Your key")));
    }

    #[test]
    fn what_is_no_server_says_why() {
        for (text, part) in [
            ("", "empty"),
            ("{", "line 1"),
            ("[]", "no object"),
            ("{}", "mcpServers"),
            (r#"{"mcpServers": {}}"#, "no server"),
            (r#"{"mcpServers": {"a": 1}}"#, "`a`"),
            (r#"{"a": {"command": "x"}, "a": {"command": "y"}}"#, "twice"),
            ("ftp://h/x", "https://"),
            ("npx a | tee log", "`|`"),
            ("npx a && npx b", "`&`"),
            ("npx \"$(cat x)\"", "`$`"),
            ("npx 'a", "quote"),
            ("npx a\nnpx b", "several lines"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.code().as_str(), "mcp.invalid_input");
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r#"(\{|\}|"|:|,|\[|\]|mcpServers|command|npx|a=b|\$|\(|'|\\|-e|--| |https://h/|claude mcp add |config=|vscode:mcp/install\?|é){0,24}"#) {
            let _ = read(&text);
        }

        #[test]
        fn the_words_of_a_command_line_arrive_as_they_were(words in proptest::collection::vec(".{0,12}", 1..5)) {
            let mut words: Vec<String> = words.into_iter().map(|word| word.replace(['\n', '\r', '\0'], "")).collect();
            words.insert(0, "server".to_owned());
            let line = shell_words::join(&words);
            let (_, entry) = one(&line);
            prop_assert_eq!(&entry["command"], "server");
            let args: Vec<&str> = entry["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
            prop_assert_eq!(args, &words[1..]);
        }
    }
}
