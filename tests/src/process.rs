//! Children that end with the test that started them, and the question who is left.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal};

use crate::wait;

/// How long a child may take to end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// A child in a process group of its own. Dropping it ends the group.
///
/// Started through `setpriv --pdeathsig`, so that it ends too when the test is killed and nothing gets dropped. That
/// signal is bound to the *thread* that starts the child: start it on the test's own thread.
pub struct Guarded {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Guarded {
    /// Starts `program`; its output goes to `log`, except a piped standard output.
    ///
    /// # Errors
    /// It could not be started.
    pub fn start(command: &Command, log: &Path, piped: bool) -> Result<Self> {
        let program = command.get_program().to_owned();
        let name = Path::new(&program).file_name().unwrap_or(&program).to_string_lossy().into_owned();
        let file = File::options().create(true).append(true).open(log)?;
        let mut wrapped = Command::new("setpriv");
        wrapped.args(["--pdeathsig", "KILL", "--"]).arg(&program).args(command.get_args()).stdin(Stdio::null());
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => wrapped.env(key, value),
                None => wrapped.env_remove(key),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            wrapped.current_dir(folder);
        }
        let output = if piped { Stdio::piped() } else { file.try_clone()?.into() };
        wrapped.stdout(output).stderr(file);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut wrapped, 0);
        let child = wrapped.spawn().with_context(|| format!("`{name}` could not be started"))?;
        Ok(Self { name, child, log: log.to_path_buf() })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The piped standard output, once.
    pub fn take_output(&mut self) -> Option<std::process::ChildStdout> {
        self.child.stdout.take()
    }

    /// Whether it has ended, and how.
    ///
    /// # Errors
    /// The system's.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// What it has written so far.
    pub fn output(&self) -> String {
        fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Waits for it to end by itself.
    ///
    /// # Errors
    /// It did not, within `limit`.
    pub fn finished(&mut self, limit: Duration) -> Result<ExitStatus> {
        let name = format!("`{}` to end", self.name);
        wait::until(&name, limit, || Ok(self.child.try_wait()?))
    }

    /// Asks it to end, and waits.
    ///
    /// # Errors
    /// It did not.
    pub fn terminate(&mut self) -> Result<ExitStatus> {
        signal(self.id(), Signal::TERM);
        self.finished(GRACE)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) && self.terminate().is_err() {
            signal_group(self.id(), Signal::KILL);
        }
        signal_group(self.child.id(), Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Sends a signal to one process; that it is gone already is not an error.
pub fn signal(id: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

fn signal_group(id: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, signal);
    }
}

/// A running process, as `/proc` shows it. Zombies are not running.
#[derive(Clone)]
pub struct Running {
    /// Its id.
    pub id: u32,
    /// Its parent's.
    pub parent: u32,
    /// Its arguments.
    pub arguments: Vec<String>,
    environment: Vec<u8>,
}

impl fmt::Debug for Running {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} (of {}): {}", self.id, self.parent, self.arguments.join(" "))
    }
}

impl Running {
    /// The program's file name.
    pub fn program(&self) -> &str {
        let first = self.arguments.first().map_or("", String::as_str);
        first.rsplit('/').next().unwrap_or(first)
    }

    /// Whether its arguments or its environment mention `mark`.
    pub fn mentions(&self, mark: &str) -> bool {
        let bytes = mark.as_bytes();
        self.arguments.iter().any(|argument| argument.contains(mark))
            || self.environment.windows(bytes.len()).any(|window| window == bytes)
    }
}

/// Every process that runs now.
pub fn running() -> Vec<Running> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| read(entry.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}

fn read(id: u32) -> Option<Running> {
    let folder = PathBuf::from(format!("/proc/{id}"));
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    // The name in parentheses may hold anything; the fields begin after the last one.
    let mut fields = stat.get(stat.rfind(')')? + 2..)?.split(' ');
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    let parent = fields.next()?.parse().ok()?;
    let line = fs::read(folder.join("cmdline")).ok()?;
    let arguments = line
        .split(|byte| *byte == 0)
        .filter(|part| !part.is_empty())
        .map(|part| String::from_utf8_lossy(part).into_owned());
    let environment = fs::read(folder.join("environ")).unwrap_or_default();
    Some(Running { id, parent, arguments: arguments.collect(), environment })
}

/// Those of `all` that descend from `ancestor`.
pub fn descendants(ancestor: u32, all: &[Running]) -> Vec<Running> {
    let mut found: Vec<Running> = Vec::new();
    let mut parents = vec![ancestor];
    while let Some(parent) = parents.pop() {
        for process in all.iter().filter(|process| process.parent == parent) {
            parents.push(process.id);
            found.push(process.clone());
        }
    }
    found
}

/// Runs a short program to its end and gives its standard output.
///
/// # Errors
/// It could not be started, or failed; with what it wrote to standard error.
pub fn read_output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("`{name}` could not be started"))?;
    anyhow::ensure!(
        output.status.success(),
        "`{name} {}` failed: {} {}",
        shown(command.get_args()),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn shown<'a>(arguments: impl Iterator<Item = &'a OsStr>) -> String {
    arguments.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Becomes the parent of whatever loses its own, so that nothing can hide from [`descendants`].
///
/// # Errors
/// The system's.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// A command with nothing of the caller's environment but what a login would give.
pub fn clean_command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    for name in ["PATH", "USER", "LOGNAME", "SHELL", "TERM"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    // A registry behind a company's own certificate must work in tests as well.
    for (name, value) in std::env::vars_os().filter(|(name, _)| names_certificates(name)) {
        command.env(name, value);
    }
    command
}

fn names_certificates(name: &OsString) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("SSL_CERT_") || name == "NODE_EXTRA_CA_CERTS"
}
