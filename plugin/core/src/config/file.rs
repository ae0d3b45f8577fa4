//! Reading `servers.json`.
//!
//! A file that cannot be read as a whole is one error, and the last good state goes on ([`super::watch`]). An entry that
//! cannot be used spoils only itself: it stays in the list with its error.

use std::{collections::HashMap, fs, io::Read as _, path::Path, sync::Arc};

use jsonc_parser::{
    ast::{Object, Value},
    common::Ranged,
};

use super::{ServerConfig, Warning, entry, jsonc, slug};
use crate::{
    error::{Error, Result},
    model::ServerId,
};

/// How large the file may be.
pub const LARGEST: u64 = 1024 * 1024;

/// How many servers there may be.
const MOST_SERVERS: usize = 1_000;

/// The key that holds the servers.
pub(super) const SERVERS: &str = "mcpServers";

/// Everything the file says.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    /// The servers in the file's order, those that cannot be used included.
    pub servers: Vec<Arc<ServerConfig>>,
    /// What is odd about the file itself.
    pub warnings: Vec<Warning>,
}

impl Configuration {
    /// The server of that id.
    pub fn get(&self, id: &ServerId) -> Option<&Arc<ServerConfig>> {
        self.servers.iter().find(|server| server.id == *id)
    }

    /// The server that a person means: by id, else by key or display name where that is unambiguous.
    pub fn find(&self, name: &str) -> Result<&Arc<ServerConfig>> {
        let not_found = || Error::ServerNotFound { server: name.chars().take(64).collect() };
        if let Some(server) = self.servers.iter().find(|server| server.id.as_str() == name) {
            return Ok(server);
        }
        for matches in [
            |server: &ServerConfig, name: &str| server.key == name,
            |server: &ServerConfig, name: &str| server.display_name == name,
        ] {
            let mut named = self.servers.iter().filter(|server| matches(server, name));
            match (named.next(), named.next()) {
                (Some(server), None) => return Ok(server),
                (Some(_), Some(_)) => return Err(not_found()),
                (None, _) => {}
            }
        }
        Err(not_found())
    }
}

/// Reads the file. One that does not exist has no servers.
pub fn read(path: &Path) -> Result<Configuration> {
    match read_text(path, LARGEST)? {
        None => Ok(Configuration::default()),
        Some(text) => of_text(&text, path),
    }
}

/// What the text of the file at `path` says.
pub(super) fn of_text(text: &str, path: &Path) -> Result<Configuration> {
    let mut configuration = parse(text).map_err(|error| at(error, path))?;
    configuration.warnings.extend(mode_warning(path));
    Ok(configuration)
}

/// The text of a configuration file of at most `limit` bytes; `None` if there is none.
pub(super) fn read_text(path: &Path, limit: u64) -> Result<Option<String>> {
    let name =
        || path.file_name().map_or_else(|| "the file".to_owned(), |name| format!("`{}`", name.to_string_lossy()));
    let broken = |problem: String| at(Error::config_invalid(format!("{} cannot be read: {problem}", name())), path);
    // A FIFO in its place would hang us.
    match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(broken(error.to_string())),
        Ok(metadata) if !metadata.is_file() => return Err(broken("it is not a file".to_owned())),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let file = match fs::File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|error| broken(error.to_string()))?,
    };
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| broken(error.to_string()))?;
    if bytes.len() as u64 > limit {
        return Err(broken(format!("it is larger than {limit} bytes")));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(broken("it is UTF-16; save it as UTF-8".to_owned()));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes().iter().take(valid).filter(|byte| **byte == b'\n').count() + 1;
        broken(format!("line {line} is not UTF-8"))
    })
}

/// The error, with the path for the person.
pub(super) fn at(error: Error, file: &Path) -> Error {
    match error {
        Error::ConfigInvalid { message, path, key, allowed, private: None } => {
            Error::ConfigInvalid { message, path, key, allowed, private: Some(file.display().to_string()) }
        }
        other => other,
    }
}

/// Reads the text of the file.
pub fn parse(text: &str) -> Result<Configuration> {
    let (_, text) = jsonc::split_mark(text);
    let broken = |problem: String| Error::config_invalid(format!("`servers.json` cannot be used: {problem}"));
    let mut configuration = Configuration::default();
    let root = match jsonc::parse(text).map_err(broken)? {
        Some(Value::Object(root)) => root,
        Some(other) => return Err(broken(format!("it must be an object and is {}", jsonc::kind(&other)))),
        None => return Err(broken("it is empty; `{ \"mcpServers\": {} }` is what no servers look like".to_owned())),
    };
    if let Some((key, first, second)) = jsonc::duplicate(&root) {
        let key = short(key);
        return Err(Error::ConfigInvalid {
            message: format!(
                "`servers.json` cannot be used: `{key}` stands in it twice, at {} and at {}; keep one",
                jsonc::Place::of(text, first),
                jsonc::Place::of(text, second)
            ),
            path: Some(jsonc::join("", &key)),
            key: Some(key),
            allowed: Vec::new(),
            private: None,
        });
    }
    for property in &root.properties {
        let key = property.name.as_str();
        let advice = match key {
            SERVERS | "$schema" | "inputs" => continue,
            "servers" => "; servers are kept under `mcpServers` here, a file of VS Code is imported",
            _ => "; it is not used",
        };
        configuration
            .warnings
            .push(Warning { path: jsonc::join("", key), message: format!("unknown key `{}`{advice}", short(key)) });
    }
    let servers = match root.get(SERVERS).map(|property| &property.value) {
        None => return Ok(configuration),
        Some(Value::Object(servers)) => servers,
        Some(other) => {
            return Err(Error::ConfigInvalid {
                message: format!(
                    "`servers.json` cannot be used: `mcpServers` must be an object and is {}",
                    jsonc::kind(other)
                ),
                path: Some(format!("/{SERVERS}")),
                key: Some(SERVERS.to_owned()),
                allowed: vec!["an object".to_owned()],
                private: None,
            });
        }
    };
    configuration.servers = read_servers(text, servers)?;
    Ok(configuration)
}

fn read_servers(text: &str, servers: &Object<'_>) -> Result<Vec<Arc<ServerConfig>>> {
    if servers.properties.len() > MOST_SERVERS {
        return Err(Error::config_invalid(format!(
            "`servers.json` cannot be used: it has more than {MOST_SERVERS} servers"
        )));
    }
    // A key that stands twice is one entry that nobody can use: which of the two was meant is not ours to guess.
    let mut order: Vec<&str> = Vec::new();
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for property in &servers.properties {
        let places = places.entry(property.name.as_str()).or_default();
        if places.is_empty() {
            order.push(property.name.as_str());
        }
        places.push(property.start());
    }
    let ids = slug::assign(order.iter().copied());
    let mut read = Vec::with_capacity(order.len());
    for (key, id) in order.iter().zip(ids) {
        let pointer = jsonc::join(&format!("/{SERVERS}"), key);
        let Some(property) = servers.properties.iter().find(|property| property.name.as_str() == *key) else {
            continue;
        };
        let mut server = entry::read(text, id, key, &pointer, &property.value);
        if let Some([first, second, ..]) = places.get(key).map(Vec::as_slice) {
            server.enabled = false;
            server.launch = Err(Error::ConfigInvalid {
                message: format!(
                    "server `{}` stands in the file twice, at {} and at {}; rename or remove one",
                    server.id,
                    jsonc::Place::of(text, *first),
                    jsonc::Place::of(text, *second)
                ),
                path: Some(pointer),
                key: Some(short(key)),
                allowed: Vec::new(),
                private: None,
            });
        }
        read.push(Arc::new(server));
    }
    Ok(read)
}

/// A key of the file, for a message.
pub(super) fn short(key: &str) -> String {
    key.chars().take(64).collect()
}

/// Others may read it: it holds what the person typed into it, tokens included.
#[cfg(unix)]
fn mode_warning(path: &Path) -> Option<Warning> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o777;
    let what = match mode {
        mode if mode & 0o022 != 0 => "others may change it",
        mode if mode & 0o044 != 0 => "others may read it",
        _ => return None,
    };
    Some(Warning {
        path: String::new(),
        message: format!("`servers.json` has mode {mode:04o}: {what}; `chmod 600` keeps it yours"),
    })
}

#[cfg(not(unix))]
fn mode_warning(_: &Path) -> Option<Warning> {
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn comments_a_mark_and_trailing_commas_are_read() {
        let text = "\u{feff}// mine\r\n{ \"mcpServers\": { /* one */ \"a\": { \"command\": \"x\", }, }, }\r\n";
        let configuration = parse(text).unwrap();
        assert_eq!(configuration.servers[0].key, "a");
        assert!(configuration.servers[0].launch.is_ok());
        assert!(configuration.warnings.is_empty());
    }

    #[test]
    fn the_example_is_understood_without_a_warning() {
        let configuration = parse(include_str!("../../../../examples/servers.json")).unwrap();
        assert_eq!(configuration.warnings, []);
        for server in &configuration.servers {
            assert!(server.launch.is_ok() && server.warnings.is_empty(), "{server:?}");
            assert!(server.launch().unwrap().cautions(None).is_empty(), "{server:?}");
        }
        let ids: Vec<_> = configuration.servers.iter().map(|server| server.id.as_str()).collect();
        assert_eq!(ids, ["my-notes", "github", "time", "web"]);
    }

    #[test]
    fn one_bad_entry_spoils_itself_only() {
        let configuration = parse(
            r#"{"mcpServers":{"good":{"command":"x"},"bad":{"type":"url"},"worse":7,"fine":{"url":"http://h/"}}}"#,
        )
        .unwrap();
        let states: Vec<_> =
            configuration.servers.iter().map(|server| (server.key.as_str(), server.launch.is_ok())).collect();
        assert_eq!(states, [("good", true), ("bad", false), ("worse", false), ("fine", true)]);
    }

    #[test]
    fn a_file_that_breaks_off_says_where() {
        let whole =
            "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" },\n    \"b\": { \"command\": \"y\" }\n  }\n}\n";
        let half = &whole[..whole.len() / 2];
        let message = message(half);
        assert!(message.contains("line 3"), "{message}");
    }

    #[test]
    fn whatever_is_not_a_set_of_servers_is_an_error_with_words() {
        for (text, part) in [
            ("", "empty"),
            ("// nothing", "empty"),
            ("[]", "a list"),
            ("{} {}", "line 1, column 4"),
            (r#"{"mcpServers":[]}"#, "`mcpServers`"),
            (r#"{"mcpServers":{},"mcpServers":{}}"#, "twice"),
            (r#"{"mcpServers":{"a":}}"#, "line 1"),
        ] {
            assert!(message(text).contains(part), "{text}: {}", message(text));
        }
        assert!(parse("{}").unwrap().servers.is_empty());
    }

    #[test]
    fn a_key_that_stands_twice_is_one_entry_that_cannot_be_used() {
        let configuration = parse(
            "{\"mcpServers\":{\n\"a\":{\"command\":\"x\"},\n\"b\":{\"command\":\"x\"},\n\"a\":{\"command\":\"y\"}}}",
        )
        .unwrap();
        assert_eq!(configuration.servers.len(), 2);
        let Err(Error::ConfigInvalid { message, path, .. }) = &configuration.servers[0].launch else {
            panic!("used one of two")
        };
        assert!(message.contains("line 2") && message.contains("line 4"), "{message}");
        assert_eq!(path.as_deref(), Some("/mcpServers/a"));
        assert!(configuration.servers[1].launch.is_ok());
    }

    #[test]
    fn unknown_keys_of_the_file_are_warnings() {
        let configuration = parse(r#"{"mcpServers":{},"servers":{},"theme":"dark","$schema":"x"}"#).unwrap();
        let paths: Vec<_> = configuration.warnings.iter().map(|warning| warning.path.as_str()).collect();
        assert_eq!(paths, ["/servers", "/theme"]);
    }

    #[test]
    fn a_server_is_found_by_id_and_by_an_unambiguous_name() {
        let configuration = parse(
            r#"{"mcpServers":{"My Files":{"command":"x","displayName":"Files"},"b":{"command":"x","displayName":"Same"},
                "c":{"command":"x","displayName":"Same"}}}"#,
        )
        .unwrap();
        for name in ["my-files", "My Files", "Files"] {
            assert_eq!(configuration.find(name).unwrap().key, "My Files");
        }
        assert!(configuration.find("Same").is_err());
        assert!(configuration.find("none").is_err());
    }

    #[test]
    fn a_file_is_read_with_its_limits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("servers.json");
        assert!(read(&path).unwrap().servers.is_empty());
        fs::write(&path, vec![b' '; 2 * 1024 * 1024]).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("larger"));
        fs::write(&path, b"\xff\xfe{\0}\0").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("UTF-16"));
        fs::write(&path, b"{\n\xe4}").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("line 2"));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(read(&path).is_err());
    }

    #[test]
    fn an_error_tells_the_path_to_the_person_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("servers.json");
        fs::write(&path, "{").unwrap();
        let error = read(&path).unwrap_err();
        let place = path.display().to_string();
        assert!(error.info(crate::error::Audience::Person).message.contains(&place));
        assert!(!error.info(crate::error::Audience::Page).message.contains(&place));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_a_warning() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("servers.json");
        fs::write(&path, "{}").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(read(&path).unwrap().warnings.len(), 1);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(read(&path).unwrap().warnings.is_empty());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r#"([{}\[\],:/*"]|"mcpServers"|"a"|"command"|"url"|"x"|true|1|\\|\$\{|\n| ){0,40}"#) {
            let _ = parse(&text);
        }

        #[test]
        fn no_cut_of_a_file_is_taken_for_a_whole_one(at in 0_usize..120) {
            let whole = r#"{ "mcpServers": { "files": { "command": "npx", "args": ["-y", "p"], "env": { "A": "b" } }, "web": { "url": "https://h/" } } }"#;
            prop_assume!(at < whole.len());
            prop_assert!(parse(&whole[..at]).is_err());
        }
    }
}
