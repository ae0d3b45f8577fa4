//! Changing `servers.json`: under the lock between our processes, over what the file says *now*, and not a byte besides.
//!
//! Other programs know nothing of our lock. So the file is read again at the last moment, and if somebody was faster
//! the change is made anew on top of theirs: neither is lost.

use std::path::{Path, PathBuf};

use jsonc_parser::common::Ranged as _;
use serde_json::{Map, Value};

use super::{
    Configuration,
    file::{self, SERVERS, short},
    jsonc,
    splice::Document,
};
use crate::{
    error::{Error, Result},
    store::{Folders, file as store_file},
};

/// An entry as JSON.
pub type Entry = Map<String, Value>;

/// How often a change is made anew because somebody else was faster.
const TRIES: usize = 8;

/// What to change. Servers are named by their *keys*.
#[derive(Clone, PartialEq)]
pub enum Edit {
    /// A new server, after the others.
    Add {
        /// Its key.
        key: String,
        /// Its entry.
        entry: Entry,
    },
    /// The entry anew; of its fields only those that differ are touched.
    Replace {
        /// Its key.
        key: String,
        /// All of its entry.
        entry: Entry,
    },
    /// The entry anew, as somebody wrote it: their comments and lines stay theirs.
    ReplaceText {
        /// Its key.
        key: String,
        /// The entry as JSON, comments allowed.
        text: String,
    },
    /// Out of the file.
    Remove {
        /// Its key.
        key: String,
    },
    /// Turned on or off.
    SetEnabled {
        /// Its key.
        key: String,
        /// On or off.
        enabled: bool,
    },
    /// One field, or one member of one field (`["env", "TOKEN"]`).
    SetField {
        /// The server's key.
        key: String,
        /// One or two steps into the entry.
        path: Vec<String>,
        /// The value; `None` removes it.
        value: Option<Value>,
    },
}

impl Edit {
    /// The entry anew from a text: one that has lines is kept as it is written, one that has none (a form's) is compared
    /// field by field.
    pub fn of_text(key: &str, text: &str) -> Result<Self> {
        let key = key.to_owned();
        let text = text.trim();
        let entry = entry_of(text)?;
        Ok(if text.contains('\n') {
            Self::ReplaceText { key, text: text.to_owned() }
        } else {
            Self::Replace { key, entry }
        })
    }

    /// Whose entry it is about.
    pub fn key(&self) -> &str {
        match self {
            Self::Add { key, .. }
            | Self::Replace { key, .. }
            | Self::ReplaceText { key, .. }
            | Self::Remove { key }
            | Self::SetEnabled { key, .. }
            | Self::SetField { key, .. } => key,
        }
    }
}

impl std::fmt::Debug for Edit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Entries may hold tokens.
        let what = match self {
            Self::Add { .. } => "Add",
            Self::Replace { .. } => "Replace",
            Self::ReplaceText { .. } => "ReplaceText",
            Self::Remove { .. } => "Remove",
            Self::SetEnabled { .. } => "SetEnabled",
            Self::SetField { .. } => "SetField",
        };
        f.debug_tuple(what).field(&self.key()).finish()
    }
}

/// The file, for changing it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ServersFile {
    path: PathBuf,
    lock: PathBuf,
}

impl ServersFile {
    /// The file of that folder. Touches nothing.
    pub fn new(folders: &Folders) -> Self {
        Self::at(folders.servers_file())
    }

    /// The file at `path`.
    pub fn at(path: PathBuf) -> Self {
        let lock = path.with_extension("lock");
        Self { path, lock }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says now.
    pub fn read(&self) -> Result<Configuration> {
        file::read(&self.path)
    }

    /// The entry of that key as it is written, for editing.
    pub fn entry_text(&self, key: &str) -> Result<String> {
        let text = self.text()?.unwrap_or_default();
        let (_, text) = jsonc::split_mark(&text);
        let document = Document::parse(text).map_err(|problem| self.broken(&problem))?;
        let value = document.value(&[SERVERS, key]).ok_or_else(|| no_such(key))?;
        Ok(dedented(text, value.start(), value.end()))
    }

    /// What the file would say after `edits`, which are not made: to be shown and confirmed first.
    pub fn preview(&self, edits: &[Edit]) -> Result<Configuration> {
        file::parse(&apply(self.text()?.as_deref(), edits)?)
    }

    /// Makes all of `edits` or none, and says what the file says after them. Blocks for the lock, at most ten seconds.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] where an edit does not fit (`/key`); [`Error::ConfigInvalid`] where an entry would not be
    /// usable, or the file as it is cannot be read or written. The file is then as it was.
    pub fn change(&self, edits: &[Edit]) -> Result<Configuration> {
        let _lock = store_file::Lock::acquire(&self.lock)?;
        for _ in 0..TRIES {
            let before = self.text()?;
            let after = apply(before.as_deref(), edits)?;
            let configuration = file::parse(&after)?;
            if before.as_deref() == Some(after.as_str()) {
                return Ok(configuration);
            }
            if self.text()? != before {
                continue;
            }
            store_file::replace(&self.path, after.as_bytes())
                .map_err(|error| store_file::cannot("write", &self.path, &error))?;
            return Ok(configuration);
        }
        Err(Error::config_invalid("another program keeps changing `servers.json`; try again when it is done"))
    }

    fn text(&self) -> Result<Option<String>> {
        file::read_text(&self.path, file::LARGEST)
    }

    fn broken(&self, problem: &str) -> Error {
        file::at(Error::config_invalid(format!("`servers.json` cannot be used: {problem}")), &self.path)
    }
}

/// One entry from JSON with comments.
pub fn entry_of(text: &str) -> Result<Entry> {
    let wrong = |problem: &str| Error::invalid_input("/entry", format!("this is no entry: {problem}"));
    let value = jsonc::parse(text).map_err(|problem| wrong(&problem))?;
    match value.as_ref() {
        Some(value @ jsonc_parser::ast::Value::Object(object)) => {
            if let Some((key, ..)) = jsonc::duplicate(object) {
                return Err(wrong(&format!("`{}` stands in it twice", short(key))));
            }
            match jsonc::to_serde(value) {
                Value::Object(entry) => Ok(entry),
                _ => Err(Error::internal("an object that is none")),
            }
        }
        Some(other) => Err(wrong(&format!("it must be an object and is {}", jsonc::kind(other)))),
        None => Err(wrong("it is empty")),
    }
}

fn no_such(key: &str) -> Error {
    Error::ServerNotFound { server: short(key) }
}

/// The text after `edits`; a file that is not there begins as an empty set.
pub fn apply(before: Option<&str>, edits: &[Edit]) -> Result<String> {
    let before = before.unwrap_or_default();
    let (mark, text) = jsonc::split_mark(before);
    let mut text = if text.trim().is_empty() { format!("{{\n  \"{SERVERS}\": {{}}\n}}\n") } else { text.to_owned() };
    // What cannot be read is not written over, whatever is wrong with it.
    file::parse(&text)?;
    for edit in edits {
        let after = one(&text, edit)?;
        keep_the_rest(&text, &after, edit.key())?;
        text = after;
    }
    let configuration = file::parse(&text)?;
    for edit in edits {
        let must_work = !matches!(edit, Edit::Remove { .. } | Edit::SetEnabled { .. });
        if let Some(server) = configuration.servers.iter().find(|server| server.key == edit.key())
            && must_work
        {
            server.launch()?;
        }
    }
    Ok(format!("{mark}{text}"))
}

fn one(text: &str, edit: &Edit) -> Result<String> {
    let document = Document::parse(text).map_err(Error::internal)?;
    let key = edit.key();
    let servers = document.object(&[SERVERS]);
    let count =
        servers.map_or(0, |servers| servers.properties.iter().filter(|property| property.name.as_str() == key).count());
    if count > 1 {
        return Err(Error::invalid_input(
            "/key",
            format!("`{}` stands in the file twice; remove one of the two by hand first", short(key)),
        ));
    }
    match (edit, count) {
        (Edit::Add { .. }, 1) => {
            return Err(Error::invalid_input(
                "/key",
                format!("there is already a server `{}`; edit it, or choose another name", short(key)),
            ));
        }
        (Edit::Add { .. }, _) | (_, 1) => {}
        _ => return Err(no_such(key)),
    }
    let lost = || Error::internal("an edit found no place");
    match edit {
        Edit::Add { entry, .. } if servers.is_none() => {
            let mut servers = Map::new();
            servers.insert(key.to_owned(), Value::Object(entry.clone()));
            document.set(&[SERVERS], &Value::Object(servers)).ok_or_else(lost)
        }
        Edit::Add { entry, .. } => document.set(&[SERVERS, key], &Value::Object(entry.clone())).ok_or_else(lost),
        Edit::Remove { .. } => document.remove(&[SERVERS, key]).ok_or_else(lost),
        Edit::Replace { entry, .. } => replace(text, &[SERVERS, key], entry).ok_or_else(lost),
        Edit::ReplaceText { text: entry, .. } => {
            entry_of(entry)?;
            // The object alone: what is remarked behind it would swallow the comma that follows here.
            let value = Document::parse(entry)
                .ok()
                .and_then(|document| document.value(&[]).and_then(|value| entry.get(value.start()..value.end())));
            document.set_text(&[SERVERS, key], value.ok_or_else(lost)?).ok_or_else(lost)
        }
        Edit::SetEnabled { enabled, .. } => set_enabled(text, key, *enabled),
        Edit::SetField { path, value, .. } => set_field(text, key, path, value.as_ref()),
    }
}

/// Brings the object at `path` to `wanted`, member by member, so that what does not differ keeps its comments.
fn replace(text: &str, path: &[&str], wanted: &Map<String, Value>) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let Some(object) = document.object(path).filter(|object| jsonc::duplicate(object).is_none()) else {
        return document.set(path, &Value::Object(wanted.clone()));
    };
    let have: Vec<(String, Value)> = object
        .properties
        .iter()
        .map(|property| (property.name.as_str().to_owned(), jsonc::to_serde(&property.value)))
        .collect();
    let mut text = text.to_owned();
    for (key, value) in &have {
        let path: Vec<&str> = path.iter().copied().chain([key.as_str()]).collect();
        let new = match (wanted.get(key), value) {
            (None, _) => Document::parse(&text).ok()?.remove(&path),
            (Some(new), old) if new == old => continue,
            (Some(Value::Object(new)), Value::Object(_)) => replace(&text, &path, new),
            (Some(new), _) => Document::parse(&text).ok()?.set(&path, new),
        };
        text = new?;
    }
    for (key, value) in wanted.iter().filter(|(key, _)| !have.iter().any(|(have, _)| have == *key)) {
        let path: Vec<&str> = path.iter().copied().chain([key.as_str()]).collect();
        text = Document::parse(&text).ok()?.set(&path, value)?;
    }
    Some(text)
}

fn set_enabled(text: &str, key: &str, enabled: bool) -> Result<String> {
    let not_an_object = || Error::config_invalid(format!("the entry `{}` is not an object; edit it first", short(key)));
    let has = |text: &str, field: &str| {
        Document::parse(text).ok().is_some_and(|document| document.value(&[SERVERS, key, field]).is_some())
    };
    let change = |text: &str, field: &str, value: Option<bool>| {
        let document = Document::parse(text).map_err(Error::internal)?;
        let path = [SERVERS, key, field];
        match value {
            Some(value) => document.set(&path, &Value::Bool(value)).ok_or_else(not_an_object),
            None => document.remove(&path).ok_or_else(not_an_object),
        }
    };
    let mut text = text.to_owned();
    // Either of the two turns it off: the file is left with one that says what is so.
    if has(&text, "disabled") {
        text = if has(&text, "enabled") {
            change(&text, "disabled", None)?
        } else {
            return change(&text, "disabled", Some(!enabled));
        };
    }
    if enabled && !has(&text, "enabled") {
        return if Document::parse(&text).is_ok_and(|document| document.object(&[SERVERS, key]).is_some()) {
            Ok(text)
        } else {
            Err(not_an_object())
        };
    }
    change(&text, "enabled", Some(enabled))
}

fn set_field(text: &str, key: &str, path: &[String], value: Option<&Value>) -> Result<String> {
    let document = Document::parse(text).map_err(Error::internal)?;
    let mut full = vec![SERVERS, key];
    full.extend(path.iter().map(String::as_str));
    let pointer = path.iter().fold(String::new(), |pointer, step| jsonc::join(&pointer, step));
    if !(1..=2).contains(&path.len()) {
        return Err(Error::invalid_input("/path", "a field is one or two steps into the entry"));
    }
    let parent_missing = path.len() == 2 && document.value(full.get(..3).unwrap_or_default()).is_none();
    let new = match (value, path) {
        (Some(value), [field, member]) if parent_missing => {
            let mut object = Map::new();
            object.insert(member.clone(), value.clone());
            document.set(&[SERVERS, key, field.as_str()], &Value::Object(object))
        }
        (Some(value), _) => document.set(&full, value),
        // Nothing there is what was wanted.
        (None, _) => Some(document.remove(&full).unwrap_or_else(|| text.to_owned())),
    };
    new.ok_or_else(|| Error::invalid_input(pointer, "the field is not inside an object"))
}

/// No entry but the one that was meant may read differently afterwards. A promise that is kept is cheap to check.
fn keep_the_rest(before: &str, after: &str, key: &str) -> Result<()> {
    let others = |text: &str| -> Result<Vec<String>> {
        let document = Document::parse(text).map_err(Error::internal)?;
        let servers = document.object(&[SERVERS]).map(|servers| servers.properties.as_slice()).unwrap_or_default();
        let others = servers.iter().filter(|property| property.name.as_str() != key);
        Ok(others.map(|property| text.get(property.start()..property.end()).unwrap_or_default().to_owned()).collect())
    };
    if others(before)? == others(after)? {
        Ok(())
    } else {
        Err(Error::internal("an edit would have touched another entry and was not made"))
    }
}

/// A value as it is written, moved to the left as far as its closing line stands from it.
fn dedented(text: &str, start: usize, end: usize) -> String {
    let value = text.get(start..end).unwrap_or_default();
    let line = text.get(..start).unwrap_or_default();
    let line = line.rfind('\n').map_or(line, |at| line.get(at + 1..).unwrap_or_default());
    let indent: String = line.chars().take_while(|char| matches!(char, ' ' | '\t')).collect();
    let mut lines = value.lines();
    let mut out = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        out.push('\n');
        out.push_str(line.strip_prefix(&indent).unwrap_or(line));
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use serde_json::json;

    use super::*;

    const FILE: &str = r#"// Mine, do not touch.
{
  "mcpServers": {
    /* files */
    "files": {
      "command": "npx", // by Node
      "args": ["-y", "server"],
      "env": {
        "A": "1", // one
        "B": "2"
      },
    },

    "web":   { "url": "https://example.com/mcp" },
  }
}
"#;

    fn entry(value: Value) -> Entry {
        let Value::Object(entry) = value else { panic!("{value} is no entry") };
        entry
    }

    fn edited(edit: Edit) -> String {
        apply(Some(FILE), &[edit]).unwrap()
    }

    fn file() -> (tempfile::TempDir, ServersFile) {
        let folder = tempfile::tempdir().unwrap();
        let file = ServersFile::at(folder.path().join("servers.json"));
        (folder, file)
    }

    #[test]
    fn a_server_is_added_after_the_others() {
        let after =
            edited(Edit::Add { key: "My \"new\"".into(), entry: entry(json!({"args": ["a"], "command": "x"})) });
        let added = "    \"web\":   { \"url\": \"https://example.com/mcp\" },\n    \"My \\\"new\\\"\": {\n      \"command\": \"x\",\n      \"args\": [\"a\"]\n    },\n  }\n}\n";
        assert!(after.ends_with(added), "{after}");
        assert!(after.starts_with(&FILE[..FILE.len() - 7]));
    }

    #[test]
    fn a_server_is_edited_without_losing_its_comments() {
        let wanted = json!({"command": "npx", "args": ["-y", "other"], "env": {"A": "1", "C": "3"}, "cwd": "/x"});
        let after = edited(Edit::Replace { key: "files".into(), entry: entry(wanted) });
        let expected = FILE
            .replace("\"server\"", "\"other\"")
            .replace("\"A\": \"1\", // one\n        \"B\": \"2\"", "\"A\": \"1\", // one\n        \"C\": \"3\"")
            .replace("      },\n    },\n", "      },\n      \"cwd\": \"/x\",\n    },\n");
        assert_eq!(after, expected);
    }

    #[test]
    fn a_server_is_edited_as_its_text_was_written() {
        let (_folder, file) = file();
        std::fs::write(file.path(), FILE).unwrap();
        let text = file.entry_text("files").unwrap();
        file.change(&[Edit::of_text("files", &text).unwrap()]).unwrap();
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), FILE);
        let text = text.replace("\"server\"]", "\"other\"] // new\n") + " // the end";
        file.change(&[Edit::of_text("files", &text).unwrap()]).unwrap();
        let expected = FILE.replace("\"server\"],\n", "\"other\"] // new\n,\n");
        assert_eq!(std::fs::read_to_string(file.path()).unwrap().replace(' ', ""), expected.replace(' ', ""));
        for (text, part) in [("[]", "a list"), ("", "empty"), ("{", "line 1"), ("{\"a\":1,\"a\":2}", "twice")] {
            let error = Edit::of_text("files", text).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn a_server_is_removed_and_the_rest_stays() {
        let expected = FILE.replace("    \"web\":   { \"url\": \"https://example.com/mcp\" },\n", "");
        assert_eq!(edited(Edit::Remove { key: "web".into() }), expected);
    }

    #[test]
    fn turning_off_and_on_leaves_one_word_that_says_what_is_so() {
        let off = edited(Edit::SetEnabled { key: "web".into(), enabled: false });
        assert!(off.contains("\"web\":   { \"url\": \"https://example.com/mcp\", \"enabled\": false },"), "{off}");
        let on = apply(Some(&off), &[Edit::SetEnabled { key: "web".into(), enabled: true }]).unwrap();
        assert!(file::parse(&on).unwrap().find("web").unwrap().enabled);
        assert_eq!(edited(Edit::SetEnabled { key: "web".into(), enabled: true }), FILE);
        for before in
            [r#"{"disabled":true}"#, r#"{"disabled":true,"enabled":false}"#, r#"{"disabled":false,"enabled":false}"#]
        {
            for enabled in [true, false] {
                let before = format!("{{\"mcpServers\":{{\"web\":{before}}}}}");
                let after = apply(Some(&before), &[Edit::SetEnabled { key: "web".into(), enabled }]).unwrap();
                assert_eq!(file::parse(&after).unwrap().servers[0].enabled, enabled, "{after}");
            }
        }
    }

    #[test]
    fn one_field_is_set_and_taken_away() {
        let set = |path: &[&str], value| {
            edited(Edit::SetField {
                key: "files".into(),
                path: path.iter().map(|step| (*step).to_owned()).collect(),
                value,
            })
        };
        assert_eq!(
            set(&["env", "B"], Some(json!("${secret:b}"))),
            FILE.replace("\"B\": \"2\"", "\"B\": \"${secret:b}\"")
        );
        assert_eq!(set(&["cwd"], None), FILE);
        assert!(
            set(&["timeouts", "callMs"], Some(json!(5)))
                .contains("\"timeouts\": {\n        \"callMs\": 5\n      },\n    },")
        );
    }

    #[test]
    fn what_does_not_fit_is_refused_and_nothing_is_written() {
        let (_folder, file) = file();
        std::fs::write(file.path(), FILE).unwrap();
        for (edit, code) in [
            (Edit::Add { key: "web".into(), entry: entry(json!({"command": "x"})) }, "mcp.invalid_input"),
            (Edit::Add { key: "new".into(), entry: entry(json!({"type": "url"})) }, "mcp.config_invalid"),
            (Edit::Replace { key: "web".into(), entry: entry(json!({})) }, "mcp.config_invalid"),
            (Edit::Replace { key: "none".into(), entry: entry(json!({"command": "x"})) }, "mcp.server_not_found"),
            (Edit::Remove { key: "none".into() }, "mcp.server_not_found"),
            (
                Edit::SetField { key: "web".into(), path: vec!["url".into()], value: Some(json!("ftp://h")) },
                "mcp.config_invalid",
            ),
        ] {
            let error = file.change(&[Edit::Remove { key: "files".into() }, edit.clone()]).unwrap_err();
            assert_eq!(error.code().as_str(), code, "{edit:?}");
            assert_eq!(std::fs::read_to_string(file.path()).unwrap(), FILE);
        }
    }

    #[test]
    fn a_file_that_is_broken_is_left_as_it_is() {
        let (_folder, file) = file();
        let half = &FILE[..FILE.len() / 2];
        std::fs::write(file.path(), half).unwrap();
        let error = file.change(&[Edit::Add { key: "new".into(), entry: entry(json!({"command": "x"})) }]).unwrap_err();
        assert!(error.to_string().contains("line"), "{error}");
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), half);
    }

    #[test]
    fn an_entry_that_stands_twice_is_not_edited_by_guess() {
        let text = r#"{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}"#.to_owned();
        assert!(apply(Some(&text), &[Edit::Remove { key: "a".into() }]).is_err());
    }

    #[test]
    fn the_first_server_makes_the_file() {
        let (_folder, file) = file();
        let after = file.change(&[Edit::Add { key: "new".into(), entry: entry(json!({"command": "x"})) }]).unwrap();
        assert_eq!(after.servers[0].key, "new");
        assert_eq!(
            std::fs::read_to_string(file.path()).unwrap(),
            "{\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"x\"\n    }\n  }\n}\n"
        );
        std::fs::write(file.path(), "\u{feff}{}\r\n").unwrap();
        file.change(&[Edit::Add { key: "new".into(), entry: entry(json!({"command": "x"})) }]).unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(text.starts_with('\u{feff}') && text.contains("\r\n"), "{text:?}");
    }

    #[test]
    fn an_entry_is_shown_as_it_is_written() {
        let (_folder, file) = file();
        std::fs::write(file.path(), FILE).unwrap();
        let text = file.entry_text("files").unwrap();
        assert!(text.starts_with("{\n  \"command\": \"npx\", // by Node\n") && text.ends_with("\n}"), "{text}");
        assert!(file.entry_text("none").is_err());
    }

    #[test]
    fn many_hands_at_once_lose_nothing() {
        let (_folder, file) = file();
        std::fs::write(file.path(), FILE).unwrap();
        std::thread::scope(|scope| {
            for hand in 0..6 {
                let file = file.clone();
                scope.spawn(move || {
                    for number in 0..5 {
                        let key = format!("h{hand}-{number}");
                        file.change(&[Edit::Add { key, entry: entry(json!({"command": "x"})) }]).unwrap();
                    }
                });
            }
        });
        let configuration = file.read().unwrap();
        assert_eq!(configuration.servers.len(), 32);
        assert!(std::fs::read_to_string(file.path()).unwrap().starts_with(&FILE[..FILE.len() - 7]));
    }

    #[test]
    fn what_another_program_wrote_meanwhile_is_kept() {
        let (_folder, file) = file();
        std::fs::write(file.path(), FILE).unwrap();
        // It knows nothing of our lock, and writes after this process has read the file once.
        file.read().unwrap();
        let theirs = FILE.replace("https://example.com/mcp", "https://example.org/mcp");
        std::fs::write(file.path(), theirs).unwrap();
        file.change(&[Edit::SetEnabled { key: "files".into(), enabled: false }]).unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(text.contains("example.org") && text.contains("\"enabled\": false"), "{text}");
    }
}
