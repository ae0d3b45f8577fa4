//! One child: started exactly as its launch says, in a group of its own, and ended with all that is in it.

use std::{io, os::unix::process::ExitStatusExt as _, process::ExitStatus, process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, WaitOptions};
use tokio::{
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::{Instant, timeout},
};

use super::{Exit, Processes, proc};
use crate::{
    config::ResolvedLaunch,
    error::{Error, LaunchDetails, LaunchReason, Result},
    model::ServerId,
};

/// How long a group is waited for after each hint: a closed stdin, then SIGTERM, then SIGKILL.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// A child that has just been started.
#[derive(Debug)]
pub(in crate::session) struct Spawned {
    pub(in crate::session) stdin: ChildStdin,
    pub(in crate::session) stdout: ChildStdout,
    pub(in crate::session) stderr: ChildStderr,
    pub(in crate::session) process: Process,
}

/// A child and its group. Dropped before its end, it takes the whole group with it at once.
#[derive(Debug)]
pub(in crate::session) struct Process {
    child: Child,
    exit: Option<Exit>,
    group: Group,
}

/// A process group that we made.
#[derive(Debug)]
struct Group {
    id: Pid,
    processes: Processes,
    ended: bool,
}

/// Starts a child.
///
/// # Errors
///
/// [`Error::LaunchFailed`] with `not_found`, `not_executable` or `bad_cwd`.
pub(in crate::session) fn spawn(server: &ServerId, launch: &ResolvedLaunch, processes: &Processes) -> Result<Spawned> {
    let tag = Processes::tag()?;
    let mut command = Command::new(&launch.program);
    command.args(&launch.args).env_clear().envs(launch.env.iter().map(|(name, value)| (name, value)));
    command.env(proc::TAG, &tag).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(cwd) = &launch.cwd {
        if !cwd.is_dir() {
            return Err(failed(server, launch, LaunchReason::BadCwd, "its working folder is not there"));
        }
        command.current_dir(cwd);
    }
    let mut child = command.spawn().map_err(|error| {
        let (reason, problem) = match error.kind() {
            io::ErrorKind::NotFound if !launch.program.exists() => (LaunchReason::NotFound, "there is no such program"),
            io::ErrorKind::NotFound => {
                (LaunchReason::NotExecutable, "the interpreter that its first line names is not there")
            }
            io::ErrorKind::PermissionDenied => (LaunchReason::NotExecutable, "it is not executable"),
            _ => (LaunchReason::NotExecutable, "the system does not run it"),
        };
        failed(server, launch, reason, &format!("{problem} ({error})"))
    })?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let ((Some(stdin), Some(stdout), Some(stderr)), Some(id)) = (pipes, id) else {
        return Err(Error::internal("a child was started without its pipes or its number"));
    };
    processes.began(id.as_raw_pid(), tag);
    let group = Group { id, processes: processes.clone(), ended: false };
    Ok(Spawned { stdin, stdout, stderr, process: Process { child, exit: None, group } })
}

fn failed(server: &ServerId, launch: &ResolvedLaunch, reason: LaunchReason, problem: &str) -> Error {
    let at = match reason {
        LaunchReason::BadCwd => launch.cwd.as_ref().unwrap_or(&launch.program),
        _ => &launch.program,
    };
    Error::LaunchFailed {
        server: server.clone(),
        reason,
        message: format!("server `{server}` did not start: `{}`: {problem}", at.display()),
        exit_code: None,
        private: Box::new(LaunchDetails { path: Some(at.display().to_string()), ..LaunchDetails::default() }),
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        let signal = status.signal();
        Self { code: status.code().unwrap_or_else(|| 128 + signal.unwrap_or(0)), signal }
    }
}

impl Process {
    /// Waits until the child itself has ended. Cancel-safe. Whatever else is in its group may still live.
    pub(in crate::session) async fn wait(&mut self) -> Option<Exit> {
        if self.exit.is_none() {
            self.exit = self.child.wait().await.ok().map(Exit::from);
        }
        self.exit
    }

    /// How the child ended, as far as is known.
    pub(in crate::session) fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Ends the whole group; stdin is closed already. Returns when nothing of it is left, or when even SIGKILL was not
    /// enough for some seconds (a process in the middle of a system call that hangs).
    pub(in crate::session) async fn end(mut self) -> Option<Exit> {
        let mut gone = self.is_gone_within(GRACE).await;
        for signal in [Signal::TERM, Signal::KILL] {
            if !gone {
                self.group.signal(signal);
                gone = self.is_gone_within(GRACE).await;
            }
        }
        if !gone {
            tracing::error!(group = self.group.id.as_raw_pid(), "a server's process cannot be ended");
        }
        self.group.finish();
        self.exit
    }

    async fn is_gone_within(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut step = Duration::from_millis(5);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if self.exit.is_none() {
                // The child is not ours to look for in its group until it was waited for.
                if let Ok(Ok(status)) = timeout(left.min(step), self.child.wait()).await {
                    self.exit = Some(status.into());
                }
            }
            if self.exit.is_some() {
                self.group.reap();
                if !self.group.lives() {
                    return true;
                }
            }
            if left.is_zero() {
                return false;
            }
            tokio::time::sleep(step.min(left)).await;
            step = (step * 2).min(Duration::from_millis(100));
        }
    }
}

impl Group {
    fn signal(&self, signal: Signal) {
        let _ = rustix::process::kill_process_group(self.id, signal);
    }

    /// Whether anything in it is more than a number waiting to be waited for.
    fn lives(&self) -> bool {
        if rustix::process::test_kill_process_group(self.id) == Err(rustix::io::Errno::SRCH) {
            return false;
        }
        proc::group_lives(self.id.as_raw_pid()).unwrap_or(true)
    }

    /// Waits for members that came back to us when their parents ended. The group is ours, so they are.
    fn reap(&self) {
        while let Ok(Some(_)) = rustix::process::waitpgid(self.id, WaitOptions::NOHANG) {}
    }

    fn finish(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            self.processes.ended(self.id.as_raw_pid());
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.ended {
            self.signal(Signal::KILL);
            self.finish();
        }
    }
}
