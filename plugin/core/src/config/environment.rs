//! The environment that launches are resolved in: the host's own variables and the login shell's PATH.
//!
//! A program that was started from a desktop has the session's PATH, which lacks what people add in their shell's
//! start-up files: Node, uv, Homebrew. So their login shell is asked, once, for no longer than three seconds.

use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::sync::OnceCell;

/// How long the login shell may take.
const SHELL_LIMIT: Duration = Duration::from_secs(3);

/// A snapshot: what `${VAR}` means, what a child inherits, and where commands are looked for.
///
/// It is data, so that resolving a launch is a function of its input.
#[derive(Clone)]
pub struct Environment {
    /// By the name as the platform compares it.
    variables: BTreeMap<OsString, (OsString, OsString)>,
    path: OsString,
    path_source: PathSource,
}

/// Whose PATH it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathSource {
    /// The login shell's, and what the host's own has besides.
    LoginShell,
    /// The host's own, since the login shell gave none; why.
    Process(&'static str),
}

impl Environment {
    /// From variables; PATH is the one among them.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let variables: BTreeMap<_, _> =
            variables.into_iter().map(|(name, value)| (comparable(&name), (name, value))).collect();
        let path = variables.get(OsStr::new("PATH")).map(|(_, path)| path.clone()).unwrap_or_default();
        Self { variables, path, path_source: PathSource::Process("nobody asked the login shell") }
    }

    /// This process's variables and PATH.
    pub fn of_process() -> Self {
        Self::new(env::vars_os())
    }

    /// The same variables with another PATH.
    pub fn with_path(mut self, path: impl Into<OsString>) -> Self {
        self.path = path.into();
        self
    }

    /// Where commands are looked for.
    pub fn path(&self) -> &OsStr {
        &self.path
    }

    /// Where that PATH comes from.
    pub fn path_source(&self) -> &PathSource {
        &self.path_source
    }

    /// A variable of the host's; PATH is the one that commands are looked for in.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        let name = comparable(OsStr::new(name));
        if name == "PATH" {
            return Some(&self.path);
        }
        self.variables.get(&name).map(|(_, value)| value.as_os_str())
    }

    /// All variables but PATH, as they are called.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables
            .iter()
            .filter(|(name, _)| *name != "PATH")
            .map(|(_, (name, value))| (name.as_os_str(), value.as_os_str()))
    }

    /// The person's home folder.
    pub(super) fn home(&self) -> Option<&Path> {
        let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        self.var(name).map(Path::new).filter(|home| home.is_absolute())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("variables", &self.variables.len())
            .field("path_source", &self.path_source)
            .finish_non_exhaustive()
    }
}

/// A variable's name as the platform compares it: Windows does not see case.
pub(super) fn comparable(name: &OsStr) -> OsString {
    if cfg!(windows) { name.to_ascii_uppercase() } else { name.to_owned() }
}

/// The machine's environment. Asks the login shell when it is first needed; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct SystemEnvironment {
    login: Arc<OnceCell<Result<OsString, &'static str>>>,
}

impl SystemEnvironment {
    /// Asks nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The environment as it is now. The first call waits for the login shell, at most three seconds; calls at the same
    /// time wait for the same answer.
    pub async fn snapshot(&self) -> Environment {
        let mut environment = Environment::of_process();
        let login = self.login.get_or_init(|| shell::login_path(environment.clone(), SHELL_LIMIT)).await;
        match login {
            Ok(path) => {
                environment.path = merge(path, &environment.path);
                environment.path_source = PathSource::LoginShell;
            }
            Err(why) => environment.path_source = PathSource::Process(why),
        }
        environment
    }
}

/// The folders of `first`, then those of `second` that it does not have.
fn merge(first: &OsStr, second: &OsStr) -> OsString {
    let mut folders: Vec<PathBuf> = Vec::new();
    // An empty one would mean whatever folder the child happens to be in.
    for folder in env::split_paths(first).chain(env::split_paths(second)) {
        if !folder.as_os_str().is_empty() && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    env::join_paths(folders).unwrap_or_else(|_| first.to_owned())
}

#[cfg(unix)]
mod shell {
    use std::{
        ffi::{OsStr, OsString},
        os::unix::ffi::OsStringExt as _,
        path::Path,
        process::Stdio,
        time::Duration,
    };

    use process_wrap::tokio::{CommandWrap, ProcessSession};
    use tokio::{
        io::{AsyncRead, AsyncReadExt as _},
        process::Command,
        time::{Instant, timeout_at},
    };

    use super::Environment;

    /// Start-up files write what they like; ours stands between these.
    const BEGIN: &str = "mcp-host-path-begin";
    const END: &str = "mcp-host-path-end";
    /// More than this is no PATH.
    const LONGEST: usize = 256 * 1024;

    /// Asks the person's shell, as it starts when they log in and type.
    pub(super) async fn login_path(environment: Environment, limit: Duration) -> Result<OsString, &'static str> {
        let shell = environment.var("SHELL").filter(|shell| Path::new(shell).is_absolute()).map_or_else(
            || OsString::from(if cfg!(target_os = "macos") { "/bin/zsh" } else { "/bin/sh" }),
            OsStr::to_owned,
        );
        let deadline = Instant::now() + limit;
        let mut command = Command::new(&shell);
        command
            .args(arguments(&shell))
            .env("TERM", "dumb")
            // What start-up files may look at in order not to start something (a multiplexer, an update).
            .env("MCP_HOST_RESOLVING_PATH", "1")
            .env("DISABLE_AUTO_UPDATE", "true")
            .env("ZSH_TMUX_AUTOSTART", "false")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        if let Some(home) = environment.home() {
            command.current_dir(home);
        }
        // A session of its own: an interactive shell that finds a terminal would take it, or be stopped by it.
        let mut child =
            CommandWrap::from(command).wrap(ProcessSession).spawn().map_err(|_| "the login shell cannot be started")?;
        let mut guard = Guard(child.id());
        let Some(stdout) = child.stdout().take() else { return Err("the login shell has no output") };
        let answer = match timeout_at(deadline, read_answer(stdout)).await {
            Err(_) => Err("the login shell took longer than three seconds"),
            Ok(None) => Err("the login shell told no PATH"),
            Ok(Some(path)) => Ok(path),
        };
        if answer.is_ok() && timeout_at(deadline, child.wait()).await.is_ok() {
            guard.0 = None;
        }
        drop(guard);
        answer
    }

    /// Ends the shell and what it started, also when nobody waits any more.
    struct Guard(Option<u32>);

    impl Drop for Guard {
        fn drop(&mut self) {
            let pid = self.0.and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw);
            if let Some(pid) = pid {
                // It is gone already, or it goes now.
                let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
            }
        }
    }

    fn arguments(shell: &OsStr) -> Vec<String> {
        let name = Path::new(shell).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // External programs only: every shell runs those alike.
        let script = format!("echo {BEGIN}; /usr/bin/env printenv PATH; echo {END}");
        let flags: &[&str] = match name.as_str() {
            "csh" | "tcsh" => &["-i", "-c"],
            "pwsh" => &["-Login", "-Command"],
            _ => &["-i", "-l", "-c"],
        };
        flags.iter().map(|flag| (*flag).to_owned()).chain([script]).collect()
    }

    /// What stands between the markers. Ends at the second one, since what a start-up file left running may hold the
    /// pipe open.
    async fn read_answer(mut stdout: impl AsyncRead + Unpin) -> Option<OsString> {
        let mut text = Vec::new();
        let mut chunk = [0_u8; 4096];
        loop {
            if let Some(path) = answer(&text) {
                return Some(path);
            }
            match stdout.read(&mut chunk).await {
                Ok(0) | Err(_) => return None,
                Ok(count) => text.extend_from_slice(chunk.get(..count)?),
            }
            if text.len() > LONGEST {
                return None;
            }
        }
    }

    fn answer(text: &[u8]) -> Option<OsString> {
        let mut lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        lines.find(|line| line.ends_with(BEGIN.as_bytes()))?;
        let path = lines.next()?;
        let end = lines.next()?;
        // Only a PATH with an absolute folder in it is one.
        let usable = end == END.as_bytes() && path.split(|byte| *byte == b':').any(|folder| folder.starts_with(b"/"));
        usable.then(|| OsString::from_vec(path.to_vec()))
    }

    #[cfg(test)]
    #[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    mod tests {
        use std::{fs, os::unix::fs::PermissionsExt as _};

        use super::*;

        /// A shell that begins with `start_up` and then behaves.
        fn shell(folder: &Path, start_up: &str) -> Environment {
            let path = folder.join("shell");
            fs::write(&path, format!("#!/bin/sh\n{start_up}\nfor last; do :; done\neval \"$last\"\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
            let home = folder.as_os_str().to_owned();
            Environment::new([
                ("SHELL".into(), path.into_os_string()),
                ("HOME".into(), home),
                ("PATH".into(), "/usr/bin".into()),
            ])
        }

        #[tokio::test]
        async fn the_login_shells_path_is_found_among_what_it_says() {
            let folder = tempfile::tempdir().unwrap();
            let environment = shell(
                folder.path(),
                "echo welcome; printf 'no newline'; PATH=/opt/node/bin:/usr/bin:/bin; export PATH",
            );
            let path = login_path(environment, Duration::from_secs(20)).await;
            assert_eq!(path.unwrap(), "/opt/node/bin:/usr/bin:/bin");
        }

        #[tokio::test]
        async fn a_shell_that_hangs_is_ended_with_all_that_it_started() {
            let folder = tempfile::tempdir().unwrap();
            let environment = shell(folder.path(), "sleep 987654 & echo $! > pid; echo $$ >> pid; wait");
            let error = login_path(environment, Duration::from_secs(1)).await.unwrap_err();
            assert!(error.contains("longer"), "{error}");
            let pids = fs::read_to_string(folder.path().join("pid")).unwrap();
            for pid in pids.lines() {
                let gone = || {
                    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                    status.is_empty() || status.contains(") Z ")
                };
                let deadline = std::time::Instant::now() + Duration::from_secs(20);
                while !gone() && std::time::Instant::now() < deadline {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                assert!(gone(), "{pid} lives");
            }
        }

        #[tokio::test]
        async fn a_shell_that_is_none_gives_no_path() {
            let folder = tempfile::tempdir().unwrap();
            for program in ["/bin/false", "/nonexistent/shell"] {
                let environment = Environment::new([("SHELL".into(), program.into())]);
                assert!(login_path(environment, Duration::from_secs(20)).await.is_err(), "{program}");
            }
            let silent = shell(folder.path(), "exit 0");
            assert!(login_path(silent, Duration::from_secs(20)).await.is_err());
        }

        #[test]
        fn only_a_path_between_the_markers_is_an_answer() {
            for text in [
                "",
                "/usr/bin",
                "mcp-host-path-begin\n/usr/bin\n",
                "mcp-host-path-begin\nrelative\nmcp-host-path-end\n",
            ] {
                assert_eq!(answer(text.as_bytes()), None, "{text}");
            }
        }
    }
}

#[cfg(not(unix))]
mod shell {
    use std::{ffi::OsString, time::Duration};

    use super::Environment;

    /// There is no login shell: a program's PATH is the user's.
    pub(super) async fn login_path(_: Environment, _: Duration) -> Result<OsString, &'static str> {
        Err("this platform has no login shell")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_both_paths_are_kept_once_and_the_login_shells_come_first() {
        let join = |folders: &[&str]| env::join_paths(folders).unwrap();
        assert_eq!(merge(&join(&["/a", "/b"]), &join(&["/b", "/c"])), join(&["/a", "/b", "/c"]));
        assert_eq!(merge(OsStr::new(""), &join(&["/a"])), join(&["/a"]));
    }

    #[tokio::test]
    async fn the_machines_environment_knows_where_programs_are() {
        let environment = SystemEnvironment::new().snapshot().await;
        assert!(!environment.path().is_empty());
        assert!(!format!("{environment:?}").contains("bin"), "values are shown");
    }
}
