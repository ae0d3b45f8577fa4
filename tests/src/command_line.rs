//! The `mcp-host` binary over a folder of its own, without a terminal, as a script or CI would run it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::desktop::Desktop;
use crate::process::clean_command;
use crate::{place, process};

/// `mcp-host`, over one set of servers, rules and logs.
pub struct CommandLine<'a> {
    desktop: Option<&'a Desktop>,
    folder: TempDir,
}

impl CommandLine<'static> {
    /// Over a new empty folder (`--config-dir`).
    ///
    /// # Errors
    /// The file system's.
    pub fn fresh() -> Result<Self> {
        process::adopt_orphans()?;
        Ok(Self { desktop: None, folder: tempfile::Builder::new().prefix("mcp-it-").tempdir()? })
    }
}

impl<'a> CommandLine<'a> {
    /// Over the folder that the app on this desktop has.
    ///
    /// # Errors
    /// The file system's.
    pub fn of(desktop: &'a Desktop) -> Result<Self> {
        Ok(Self { desktop: Some(desktop), folder: tempfile::tempdir_in(desktop.home())? })
    }

    /// A folder for whatever the test needs; with [`CommandLine::fresh`], its parent holds everything.
    pub fn scratch(&self) -> PathBuf {
        self.folder.path().join("scratch")
    }

    /// The folder of `--config-dir`.
    pub fn config_dir(&self) -> PathBuf {
        self.folder.path().join("config")
    }

    /// Writes `servers.json`, as another program would: nothing in it is confirmed.
    ///
    /// # Errors
    /// The file system's.
    pub fn write_servers(&self, servers: &Value) -> Result<()> {
        fs::create_dir_all(self.config_dir())?;
        let text = serde_json::to_vec_pretty(&serde_json::json!({ "mcpServers": servers }))?;
        Ok(fs::write(self.config_dir().join("servers.json"), text)?)
    }

    /// The command, not yet started.
    ///
    /// # Errors
    /// It is not built.
    pub fn command<S: AsRef<str>>(&self, arguments: impl IntoIterator<Item = S>) -> Result<Command> {
        fs::create_dir_all(self.scratch())?;
        let program = place::binary("mcp-host")?;
        let mut command = match self.desktop {
            Some(desktop) => desktop.command(program),
            None => {
                let mut command = clean_command(program);
                command.env("HOME", self.folder.path()).arg("--config-dir").arg(self.config_dir());
                command
            }
        };
        command.current_dir(self.scratch());
        command.args(arguments.into_iter().map(|argument| argument.as_ref().to_owned())).stdin(Stdio::null());
        Ok(command)
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// It could not be started.
    pub fn run<S: AsRef<str>>(&self, arguments: impl IntoIterator<Item = S>) -> Result<Outcome> {
        let arguments: Vec<String> = arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
        let output = self.command(&arguments)?.output().context("`mcp-host` could not be started")?;
        Ok(Outcome {
            line: arguments.join(" "),
            status: output.status.code(),
            output: String::from_utf8(output.stdout).context("its standard output is not UTF-8")?,
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Runs a line of words without spaces in them, as they stand.
    ///
    /// # Errors
    /// As [`CommandLine::run`].
    pub fn line(&self, line: &str) -> Result<Outcome> {
        self.run(line.split_whitespace())
    }

    /// Adds a server that is there already as the person's own act: its launch is confirmed.
    ///
    /// # Errors
    /// It was not added.
    pub fn add<S: AsRef<str>>(&self, name: &str, program: &Path, arguments: impl IntoIterator<Item = S>) -> Result<()> {
        let mut words =
            vec!["servers".into(), "add".into(), name.to_owned(), "--".into(), program.display().to_string()];
        words.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self.run(words)?.succeeded().map(drop)
    }

    /// Processes that descend from us and belong to this folder, though nobody should be there any more.
    pub fn left(&self) -> Vec<process::Running> {
        let mark = self.folder.path().to_string_lossy().into_owned();
        let all = process::running();
        process::descendants(std::process::id(), &all).into_iter().filter(|process| process.mentions(&mark)).collect()
    }
}

/// How a command ended.
#[derive(Debug)]
pub struct Outcome {
    /// What was run.
    pub line: String,
    /// Its exit status; none if a signal ended it.
    pub status: Option<i32>,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub errors: String,
}

impl Outcome {
    /// Requires exit status 0.
    ///
    /// # Errors
    /// It had another.
    pub fn succeeded(self) -> Result<Self> {
        self.exited(0)
    }

    /// Requires this exit status.
    ///
    /// # Errors
    /// It had another.
    pub fn exited(self, status: i32) -> Result<Self> {
        ensure!(self.status == Some(status), "expected exit status {status}: {self:#?}");
        Ok(self)
    }

    /// Its standard output as the one JSON document that it must be.
    ///
    /// # Errors
    /// It is not, or does not end with a newline.
    pub fn json(&self) -> Result<Value> {
        ensure!(self.output.ends_with('\n'), "no newline at the end: {self:#?}");
        serde_json::from_str(&self.output).with_context(|| format!("not one JSON document: {self:#?}"))
    }

    /// Requires `{"error": {"code": CODE, …}}` with this exit status.
    ///
    /// # Errors
    /// Anything else was printed.
    pub fn failed(self, status: i32, code: &str) -> Result<Value> {
        let this = self.exited(status)?;
        let document = this.json()?;
        match document.pointer("/error/code").and_then(Value::as_str) {
            Some(found) if found == code => Ok(document.get("error").cloned().unwrap_or_default()),
            _ => bail!("expected the error {code}: {this:#?}"),
        }
    }
}
