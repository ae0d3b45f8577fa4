//! What most scenarios begin with: a desktop, servers that the person confirmed, and the app.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use mcp_tests::app::App;
use mcp_tests::command_line::CommandLine;
use mcp_tests::desktop::{Desktop, Style};
use mcp_tests::place;
use serde_json::{Value, json};

/// A desktop with a scripted server `s`, confirmed, and a log of the calls that reach it.
pub(crate) struct Scene {
    pub(crate) desktop: Desktop,
}

impl Scene {
    pub(crate) fn new(name: &str) -> Result<Self> {
        Self::with_style(name, &Style::default())
    }

    pub(crate) fn with_style(name: &str, style: &Style) -> Result<Self> {
        Ok(Self { desktop: Desktop::start(name, style)? })
    }

    /// The person adds a real server.
    pub(crate) fn add_everything(&self) -> Result<()> {
        CommandLine::of(&self.desktop)?.add("everything", &place::npm_server("everything")?, ["stdio"])
    }

    /// The person adds the scripted server with these tools.
    pub(crate) fn add_scripted(&self, tools: &Value) -> Result<()> {
        self.script(&json!({ "tools": tools }))?;
        let arguments = [place::scripted_server(), self.script_file()].map(|path| path.display().to_string());
        CommandLine::of(&self.desktop)?.add("s", "node".as_ref(), arguments)
    }

    /// What the scripted server says from now on.
    pub(crate) fn script(&self, script: &Value) -> Result<()> {
        let mut script = script.clone();
        if let Some(script) = script.as_object_mut() {
            script.insert("log".into(), json!(self.log_file()));
        }
        Ok(fs::write(self.script_file(), script.to_string())?)
    }

    /// The calls that reached the scripted server.
    pub(crate) fn calls(&self) -> Result<Vec<Value>> {
        let text = fs::read_to_string(self.log_file()).unwrap_or_default();
        text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }

    /// The app, with the server connected from the page.
    pub(crate) fn app(&self, server: &str) -> Result<App<'_>> {
        let app = App::start(&self.desktop)?;
        app.api("connectServer", json!([{ "serverId": server }]))?;
        Ok(app)
    }

    fn script_file(&self) -> PathBuf {
        self.desktop.home().join("script.json")
    }

    fn log_file(&self) -> PathBuf {
        self.desktop.home().join("calls.jsonl")
    }
}

/// A tool that takes anything.
pub(crate) fn tool(name: &str) -> Value {
    json!({ "name": name, "description": format!("does {name}"), "inputSchema": { "type": "object" } })
}

/// … and says that it only reads.
pub(crate) fn reader(name: &str) -> Value {
    let mut tool = tool(name);
    if let Some(tool) = tool.as_object_mut() {
        tool.insert("annotations".into(), json!({ "readOnlyHint": true, "destructiveHint": false }));
    }
    tool
}
