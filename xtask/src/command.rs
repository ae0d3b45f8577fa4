//! Running a program, saying what is run, and failing in words. Knows no verb.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::tree;

/// One program to run in the root of the work tree, printed as a person would type it.
pub(crate) struct Run(Command);

impl Run {
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        command.current_dir(tree::root()).stdin(Stdio::null());
        Self(command)
    }

    /// The cargo that runs us; what cargo told us about our own package does not reach it (it would rebuild for that).
    pub(crate) fn cargo() -> Self {
        let mut run = Self::new(tree::cargo());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text == "CARGO_MANIFEST_DIR" || text == "CARGO_MANIFEST_PATH" {
                run.0.env_remove(&name);
            }
        }
        run
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.0.args(args);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    pub(crate) fn in_folder(mut self, folder: &Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    /// Lets the program read our own standard input (a password for sudo, a person at the demo).
    pub(crate) fn interactive(mut self) -> Self {
        self.0.stdin(Stdio::inherit());
        self
    }

    fn shown(&self) -> String {
        let program = Path::new(self.0.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut shown = program;
        for argument in self.0.get_args() {
            shown.push(' ');
            shown.push_str(&argument.to_string_lossy());
        }
        shown
    }

    /// Runs it with its output on ours; an exit status other than 0 is an error.
    pub(crate) fn run(mut self) -> Result<()> {
        let shown = self.shown();
        println!("\n▸ {shown}");
        let started = Instant::now();
        let status = self.0.status().with_context(|| format!("`{shown}` could not be started"))?;
        if !status.success() {
            bail!("`{shown}` failed: {status}");
        }
        println!("▸ done in {} s", started.elapsed().as_secs());
        Ok(())
    }

    /// Runs it without showing anything; its standard output, trimmed, if it succeeded.
    pub(crate) fn read(mut self) -> Result<String> {
        let shown = self.shown();
        let output = self.0.output().with_context(|| format!("`{shown}` could not be started"))?;
        if !output.status.success() {
            bail!("`{shown}` failed: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}
