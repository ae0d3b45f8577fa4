//! The built binary over a folder of its own.

use std::{
    io::Write as _,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use assert_cmd::cargo::cargo_bin;
use serde_json::{Value, json};

use crate::server;

/// Over a folder of its own, with nothing of this machine's own settings.
pub(crate) struct Host {
    pub(crate) folder: tempfile::TempDir,
}

impl Host {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin("mcp-host"));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.folder.path());
        command.env("MCP_HOST_CONFIG_DIR", self.folder.path().join("config"));
        command.current_dir(self.folder.path()).args(words).stdin(Stdio::null());
        command
    }

    /// With the fixture server, its launch confirmed.
    pub(crate) fn with_server() -> Self {
        let host = Self::new();
        let mut words = vec!["servers", "add", "fixture"];
        let trace = format!("{}={}", server::TRACE, host.trace().display());
        let command = server::command();
        words.extend(["--env", &trace, "--"]);
        words.extend(command.iter().map(String::as_str));
        let output = host.run(&words);
        assert!(output.status.success(), "{output:?}");
        host
    }

    /// Where the fixture server writes down what it was sent.
    pub(crate) fn trace(&self) -> PathBuf {
        self.folder.path().join("trace")
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    pub(crate) fn run_with(&self, words: &[&str], input: &str) -> Output {
        let mut command = self.command(words);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }
}

pub(crate) fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

/// Stdout as exactly one JSON document and a newline.
pub(crate) fn document(output: &Output) -> Value {
    let text = stdout(output);
    assert!(text.ends_with('\n') && !text.trim_end().contains('\n'), "{output:?}");
    serde_json::from_str(text).unwrap()
}

pub(crate) fn error(output: &Output, status: i32, code: &str) -> Value {
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    let document = document(output);
    let error = document.get("error").unwrap_or_else(|| panic!("{document}")).clone();
    assert_eq!(error.get("code"), Some(&json!(code)), "{error}");
    assert!(error["message"].as_str().unwrap().starts_with(&format!("{code}: ")), "{error}");
    assert!(error["retryable"].is_boolean(), "{error}");
    error
}
