//! Servers that other programs on this machine know: found, read, and shown before anything is taken over.
//!
//! Reads and proposes. Who asks the person, stores the secrets and writes the file is the host; what it writes comes from
//! [`Candidate::edit`], and is turned off until somebody turns it on.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value};

use super::{
    Configuration, Draft, Edit, Environment, Launch, ServerConfig,
    edit::Entry,
    file::{self, SERVERS},
    foreign, jsonc, slug, snippet,
};
use crate::{
    error::{Error, Result},
    model::ServerId,
};

/// A configuration of another program may hold its whole history.
const LARGEST: u64 = 16 * 1024 * 1024;

/// How many folders of users and projects are looked into.
const MOST_FOLDERS: usize = 256;

/// Programs whose servers are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "named as they are")]
pub enum Program {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    VsCode,
    SillyTavern,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::ClaudeDesktop, Self::ClaudeCode, Self::Cursor, Self::VsCode, Self::SillyTavern];

    /// As written on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::SillyTavern => "sillytavern",
        }
    }

    /// The program of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|program| program.as_str() == name)
    }

    /// Where it keeps its servers, for this user. The files need not be there.
    pub fn places(self, environment: &Environment) -> Vec<PathBuf> {
        let Some(home) = environment.home() else { return Vec::new() };
        // Where programs keep their settings.
        let settings = if cfg!(windows) {
            environment.var("APPDATA").map_or_else(|| home.join("AppData/Roaming"), PathBuf::from)
        } else if cfg!(target_os = "macos") {
            home.join("Library/Application Support")
        } else {
            environment
                .var("XDG_CONFIG_HOME")
                .map(PathBuf::from)
                .filter(|folder| folder.is_absolute())
                .unwrap_or_else(|| home.join(".config"))
        };
        match self {
            Self::ClaudeDesktop => vec![settings.join("Claude/claude_desktop_config.json")],
            Self::ClaudeCode => vec![home.join(".claude.json")],
            Self::Cursor => vec![home.join(".cursor/mcp.json")],
            Self::VsCode => ["Code", "Code - Insiders", "VSCodium"]
                .iter()
                .flat_map(|program| {
                    ["mcp.json", "settings.json"].map(|name| settings.join(program).join("User").join(name))
                })
                .collect(),
            Self::SillyTavern => {
                ["", "Documents", "Desktop", "Downloads", "Projects", "projects", "git", "src", "SillyTavern-Launcher"]
                    .iter()
                    .flat_map(|parent| users_of(&home.join(parent).join("SillyTavern").join("data")))
                    .collect()
            }
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::SillyTavern => "SillyTavern (MCP extension)",
        })
    }
}

/// The settings of the MCP extension, of each user of a SillyTavern.
fn users_of(data: &Path) -> Vec<PathBuf> {
    let Ok(users) = fs::read_dir(data) else { return Vec::new() };
    let mut files: Vec<PathBuf> = users
        .flatten()
        .take(MOST_FOLDERS)
        .map(|user| user.path().join("mcp_settings.json"))
        .filter(|file| file.is_file())
        .collect();
    files.sort();
    files
}

/// A file of another program that names servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Whose it is.
    pub program: Program,
    /// Where it is.
    pub path: PathBuf,
    /// How many servers it names.
    pub servers: usize,
}

/// Looks for files of other programs on this machine. Blocks on the file system; a file that cannot be read is passed over.
pub fn detect(environment: &Environment) -> Vec<Found> {
    let places = Program::ALL
        .into_iter()
        .flat_map(|program| program.places(environment).into_iter().map(move |path| (program, path)));
    places
        .filter_map(|(program, path)| {
            let text = file::read_text(&path, LARGEST).ok()??;
            let servers = drafts(program, &text).ok()?.len();
            (servers > 0).then_some(Found { program, path, servers })
        })
        .collect()
}

/// What would be taken over from the file at `path`.
///
/// # Errors
///
/// [`Error::ConfigInvalid`] where it cannot be read, or names no server.
pub fn read(program: Program, path: &Path, ours: &Configuration) -> Result<Vec<Candidate>> {
    let text = file::read_text(path, LARGEST)?;
    let text = text.ok_or_else(|| file::at(Error::config_invalid("there is no such file"), path))?;
    preview(program, &text, ours).map_err(|error| file::at(error, path))
}

/// One server that would be taken over.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The key that it would have: its own, or with a number where that is taken.
    pub key: String,
    /// The id that it would have.
    pub id: ServerId,
    /// Its entry, the secrets that would be stored for it, and what was changed.
    pub draft: Draft,
    /// What it would launch, or why it could not be used.
    pub launch: Result<Launch, Error>,
    /// The server of ours that launches exactly this already.
    pub same_as: Option<ServerId>,
}

impl Candidate {
    /// Adds it to the file, turned off.
    pub fn edit(&self) -> Edit {
        Edit::Add { key: self.key.clone(), entry: self.draft.entry.0.clone() }
    }
}

/// What would be taken over from a file of `program` with this text. Pure.
pub fn preview(program: Program, text: &str, ours: &Configuration) -> Result<Vec<Candidate>> {
    let drafts = drafts(program, text)?;
    if drafts.is_empty() {
        return Err(Error::config_invalid(format!("the file of {program} names no server")));
    }
    Ok(candidates(drafts, ours))
}

/// Gives drafts their names, moves their secrets, turns them off. `ours`: what is there already.
pub fn candidates(drafts: Vec<Draft>, ours: &Configuration) -> Vec<Candidate> {
    let mut keys: Vec<String> = ours.servers.iter().map(|server| server.key.clone()).collect();
    let mut candidates = Vec::with_capacity(drafts.len());
    for mut draft in drafts {
        let taken: Vec<&str> = keys.iter().map(String::as_str).collect();
        let key = draft.suggest_key(&taken);
        keys.push(key.clone());
        let Some(id) = slug::assign(keys.iter().map(String::as_str)).pop() else { continue };
        // Told apart by what stands in the file now: with its secrets, which ours may have moved already.
        let plain = launch_of(&key, &draft.entry.0);
        draft.move_secrets(&id);
        draft.entry.0.insert("enabled".to_owned(), Value::Bool(false));
        let launch = launch_of(&key, &draft.entry.0);
        let same = |server: &&Arc<ServerConfig>| match &server.launch {
            Ok(ours) => {
                plain.as_ref().is_ok_and(|plain| plain == ours) || launch.as_ref().is_ok_and(|launch| launch == ours)
            }
            Err(_) => false,
        };
        let same_as = ours.servers.iter().find(same).map(|server| server.id.clone());
        candidates.push(Candidate { key, id, draft, launch, same_as });
    }
    candidates
}

fn launch_of(key: &str, entry: &Entry) -> Result<Launch> {
    let mut servers = Map::new();
    servers.insert(key.to_owned(), Value::Object(entry.clone()));
    let mut root = Map::new();
    root.insert(SERVERS.to_owned(), Value::Object(servers));
    let configuration = file::parse(&Value::Object(root).to_string())?;
    match configuration.servers.first() {
        Some(server) => server.launch().cloned(),
        None => Err(Error::internal("an entry was lost")),
    }
}

fn drafts(program: Program, text: &str) -> Result<Vec<Draft>> {
    let broken = |problem: String| Error::config_invalid(format!("the file of {program} cannot be read: {problem}"));
    let (_, text) = jsonc::split_mark(text);
    let root = match jsonc::parse(text).map_err(broken)?.as_ref().map(jsonc::to_serde) {
        None => return Ok(Vec::new()),
        Some(Value::Object(root)) => root,
        Some(_) => return Err(broken("it is no object".to_owned())),
    };
    match program {
        Program::ClaudeCode => Ok(claude_code(&root)),
        Program::SillyTavern => Ok(silly_tavern(&root)),
        Program::ClaudeDesktop | Program::Cursor => Ok(named(root.get(SERVERS))),
        Program::VsCode => {
            let has_servers =
                root.contains_key("servers") || root.contains_key("mcp") || root.contains_key("mcp.servers");
            if has_servers { snippet::servers(&root).or_else(|_| Ok(Vec::new())) } else { Ok(Vec::new()) }
        }
    }
}

fn named(servers: Option<&Value>) -> Vec<Draft> {
    let Some(Value::Object(servers)) = servers else { return Vec::new() };
    let objects = servers.iter().filter_map(|(key, entry)| Some((key, entry.as_object()?)));
    objects.map(|(key, entry)| foreign::draft(Some(key), entry)).collect()
}

/// Servers of the user, and those of single projects.
fn claude_code(root: &Map<String, Value>) -> Vec<Draft> {
    let mut drafts = named(root.get(SERVERS));
    let projects = root.get("projects").and_then(Value::as_object);
    for (folder, project) in projects.into_iter().flatten().take(MOST_FOLDERS) {
        for mut draft in named(project.get(SERVERS)) {
            // The same server in ten projects is one server.
            if drafts.iter().any(|have| have.key == draft.key && have.entry == draft.entry) {
                continue;
            }
            draft.notes.push(format!("it was used in the project `{folder}` only"));
            drafts.push(draft);
        }
    }
    drafts
}

fn silly_tavern(root: &Map<String, Value>) -> Vec<Draft> {
    let mut drafts = named(root.get(SERVERS));
    for draft in &mut drafts {
        let key = draft.key.clone().unwrap_or_default();
        let tools = root.get("disabledTools").and_then(|tools| tools.get(&key)).and_then(Value::as_array);
        let tools: Vec<Value> = tools.into_iter().flatten().filter(|tool| tool.is_string()).cloned().collect();
        if !tools.is_empty() {
            draft.entry.0.insert("disabledTools".to_owned(), Value::Array(tools));
        }
        let off = root.get("disabledServers").and_then(Value::as_array);
        if off.is_some_and(|off| off.iter().any(|name| name.as_str() == Some(&key))) {
            draft.notes.push("it was turned off there".to_owned());
        }
    }
    drafts
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use serde_json::json;

    use super::*;

    fn taken_over(program: Program, text: &str) -> Vec<Candidate> {
        preview(program, text, &Configuration::default()).unwrap()
    }

    fn entry(candidate: &Candidate) -> Value {
        Value::Object(candidate.draft.entry.0.clone())
    }

    #[test]
    fn claude_desktops_servers_are_taken_over_with_their_secrets_moved() {
        let candidates = taken_over(
            Program::ClaudeDesktop,
            r#"{"globalShortcut": "", "mcpServers": {
                "filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me"]},
                "Brave Search": {"command": "npx", "args": ["-y", "brave"], "env": {"BRAVE_API_KEY": "BSA-hunter2"}}}}"#,
        );
        assert_eq!(candidates.len(), 2);
        let brave = candidates.iter().find(|candidate| candidate.key == "Brave Search").unwrap();
        assert_eq!(brave.id.as_str(), "brave-search");
        assert_eq!(
            entry(brave),
            json!({"command": "npx", "args": ["-y", "brave"], "env": {"BRAVE_API_KEY": "${secret:brave-search-brave_api_key}"}, "enabled": false})
        );
        assert_eq!(brave.draft.secrets[0].value.as_ref().unwrap().expose(), "BSA-hunter2");
        assert!(candidates.iter().all(|candidate| candidate.launch.is_ok()));
        assert!(!format!("{candidates:?}").contains("hunter2"));
    }

    #[test]
    fn cursors_servers_are_taken_over() {
        let candidates = taken_over(
            Program::Cursor,
            r#"{"mcpServers": {"linear": {"url": "https://mcp.linear.app/sse"},
                "home": {"command": "node", "args": ["${userHome}/x.js"], "envFile": ".env"},
                "auth": {"url": "https://h/", "headers": {"Authorization": "Bearer hunter22"}}}}"#,
        );
        let by_key = |key: &str| candidates.iter().find(|candidate| candidate.key == key).unwrap();
        assert_eq!(entry(by_key("linear")), json!({"url": "https://mcp.linear.app/sse", "enabled": false}));
        assert_eq!(
            entry(by_key("home"))["args"][0],
            if cfg!(windows) { "${USERPROFILE}/x.js" } else { "${HOME}/x.js" }
        );
        assert!(by_key("home").draft.notes[0].contains("envFile"));
        assert_eq!(entry(by_key("auth"))["headers"]["Authorization"], "Bearer ${secret:auth-authorization}");
        assert_eq!(by_key("auth").draft.secrets[0].value.as_ref().unwrap().expose(), "hunter22");
    }

    #[test]
    fn vs_codes_inputs_are_asked_for_once() {
        let candidates = taken_over(
            Program::VsCode,
            r#"{ // mine
                "inputs": [{"type": "promptString", "id": "perplexity-key", "description": "Perplexity API Key", "password": true}],
                "servers": {"Perplexity": {"type": "stdio", "command": "npx", "args": ["-y", "p"], "env": {"PERPLEXITY_API_KEY": "${input:perplexity-key}"}},}}"#,
        );
        assert_eq!(entry(&candidates[0])["env"]["PERPLEXITY_API_KEY"], "${secret:perplexity-perplexity-key}");
        let secret = &candidates[0].draft.secrets[0];
        assert_eq!(secret.value, None);
        assert_eq!(secret.description.as_deref(), Some("Perplexity API Key"));
        assert!(candidates[0].launch.is_ok());
        // Settings of an editor, which are about everything else.
        assert!(drafts(Program::VsCode, r#"{"editor.fontSize": 12}"#).unwrap().is_empty());
    }

    #[test]
    fn silly_taverns_disabled_tools_stay_disabled() {
        let candidates = taken_over(
            Program::SillyTavern,
            r#"{"mcpServers": {"fs": {"name": "fs", "type": "stdio", "command": "npx", "args": ["-y", "p"], "env": {}},
                "web": {"name": "web", "type": "streamableHttp", "url": "https://h/", "command": "", "args": [], "env": {}}},
                "disabledTools": {"fs": ["delete", "move"]}, "disabledServers": ["web"], "cachedTools": {"fs": [{"name": "x"}]}}"#,
        );
        assert_eq!(
            entry(&candidates[0]),
            json!({"command": "npx", "args": ["-y", "p"], "disabledTools": ["delete", "move"], "enabled": false})
        );
        assert_eq!(entry(&candidates[1]), json!({"type": "http", "url": "https://h/", "enabled": false}));
        assert!(candidates[1].draft.notes.iter().any(|note| note.contains("turned off")));
    }

    #[test]
    fn claude_codes_projects_are_looked_into() {
        let candidates = taken_over(
            Program::ClaudeCode,
            r#"{"mcpServers": {"a": {"type": "stdio", "command": "x"}},
                "projects": {"/p": {"mcpServers": {"b": {"type": "http", "url": "https://h/"}}, "history": []},
                             "/q": {"mcpServers": {"a": {"type": "stdio", "command": "x"}, "b": {"type": "http", "url": "https://other/"}}}}}"#,
        );
        let keys: Vec<_> = candidates.iter().map(|candidate| candidate.key.as_str()).collect();
        assert_eq!(keys, ["a", "b", "b-2"]);
        assert!(candidates[1].draft.notes[0].contains("`/p`"));
    }

    #[test]
    fn what_is_there_already_is_told_and_nothing_takes_anothers_name() {
        let ours = file::parse(r#"{"mcpServers": {"fs": {"command": "npx", "args": ["-y", "p"]}}}"#).unwrap();
        let text = r#"{"mcpServers": {"fs": {"command": "other"}, "files": {"command": "npx", "args": ["-y", "p"]}}}"#;
        let candidates = preview(Program::Cursor, text, &ours).unwrap();
        let by_key = |key: &str| candidates.iter().find(|candidate| candidate.key == key).unwrap();
        assert_eq!(by_key("fs-2").same_as, None);
        assert_eq!(by_key("files").same_as.as_ref().unwrap().as_str(), "fs");
    }

    #[test]
    fn an_entry_that_cannot_be_used_is_shown_with_its_reason() {
        let candidates =
            taken_over(Program::Cursor, r#"{"mcpServers": {"a": {"url": "${BASE}/mcp"}, "b": {"command": "x"}}}"#);
        assert!(matches!(candidates[0].launch, Err(Error::ConfigInvalid { .. })));
        assert!(candidates[1].launch.is_ok());
    }

    #[test]
    fn what_was_taken_over_is_a_file_that_starts_nothing() {
        let candidates = taken_over(
            Program::Cursor,
            r#"{"mcpServers": {"a": {"command": "x", "env": {"API_KEY": "hunter22"}, "alwaysAllow": ["*"]}, "b": {"url": "https://h/"}}}"#,
        );
        let edits: Vec<Edit> = candidates.iter().map(Candidate::edit).collect();
        let text = super::super::edit::apply(None, &edits).unwrap();
        assert!(!text.contains("hunter22") && !text.contains("alwaysAllow"));
        let configuration = file::parse(&text).unwrap();
        assert!(
            configuration
                .servers
                .iter()
                .all(|server| !server.enabled && server.launch.is_ok() && server.warnings.is_empty())
        );
        let ids: Vec<_> = configuration.servers.iter().map(|server| &server.id).collect();
        assert_eq!(ids, candidates.iter().map(|candidate| &candidate.id).collect::<Vec<_>>());
    }

    #[test]
    fn files_of_other_programs_are_found_on_this_machine() {
        let home = tempfile::tempdir().unwrap();
        let environment =
            Environment::new(["HOME", "USERPROFILE"].map(|name| (name.into(), home.path().as_os_str().to_owned())));
        assert_eq!(detect(&environment), []);
        let servers = r#"{"mcpServers": {"a": {"command": "x"}}, "servers": {"a": {"command": "x"}}}"#;
        let mut expected = Vec::new();
        fs::create_dir_all(home.path().join("SillyTavern/data/default-user")).unwrap();
        fs::write(home.path().join("SillyTavern/data/default-user/mcp_settings.json"), servers).unwrap();
        for program in Program::ALL {
            let path = program.places(&environment).remove(0);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, servers).unwrap();
            expected.push(Found { program, path, servers: 1 });
            assert_eq!(Program::parse(program.as_str()), Some(program));
        }
        assert_eq!(detect(&environment), expected);
        for found in expected {
            assert_eq!(read(found.program, &found.path, &Configuration::default()).unwrap().len(), 1);
        }
    }
}
