//! The watchdog: a shell of ours that outlives a host that is killed, just long enough to end its servers.
//!
//! A plugin has no program of its own to start, so it is `/bin/sh`. It is in a group of its own, reads which groups live
//! from a pipe whose other end only we hold, and acts when that end closes, however it closes. It signals only groups that
//! it was told of and whose leader, where there still is one, is the one it was told of.

use std::{
    io::{self, Write as _},
    os::unix::process::CommandExt as _,
    process::{Child, ChildStdin, Command, Stdio},
};

use super::ledger::Record;

/// `+ group start` and `- group` on stdin; `start` is 0 where it is not known.
const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM PIPE
groups=
while read -r verb group start; do
  rest=
  for one in $groups; do
    [ "${one%%:*}" = "$group" ] || rest="$rest $one"
  done
  groups=$rest
  [ "$verb" = + ] && groups="$groups $group:$start"
done
lives() {
  kill -s 0 -- "-${1%%:*}" 2>/dev/null || return 1
  [ "${1#*:}" != 0 ] || return 0
  { read -r stat < "/proc/${1%%:*}/stat"; } 2>/dev/null || return 0
  wanted=${1#*:}
  set -- ${stat##*) }
  [ -z "${20}" ] || [ "${20}" = "$wanted" ]
}
signal() {
  for one in $groups; do
    lives "$one" && kill -s "$1" -- "-${one%%:*}" 2>/dev/null
  done
}
signal TERM
tries=0
while [ $tries -lt 20 ]; do
  left=
  for one in $groups; do
    lives "$one" && left=1
  done
  [ -n "$left" ] || exit 0
  sleep 0.1 2>/dev/null || sleep 1
  tries=$((tries + 1))
done
signal KILL
"#;

/// Started with the first group.
#[derive(Debug, Default)]
pub(super) struct Watchdog(Option<Running>);

#[derive(Debug)]
struct Running {
    child: Child,
    pipe: ChildStdin,
}

impl Watchdog {
    /// Tells it of a group. Where it is gone (somebody ended it), another is started and told of `all`.
    pub(super) fn watch<'a>(&mut self, record: &Record, all: impl Iterator<Item = &'a Record>) {
        if let Some(running) = &mut self.0
            && running.lives()
            && running.tell(&began(record)).is_ok()
        {
            return;
        }
        let lines: String = all.map(began).collect();
        match Running::start().and_then(|mut running| running.tell(&lines).map(|()| running)) {
            Ok(running) => self.0 = Some(running),
            Err(error) => {
                tracing::error!(%error, "the watchdog did not start: servers will outlive this host if it is killed");
                self.0 = None;
            }
        }
    }

    /// Tells it that a group has ended.
    pub(super) fn forget(&mut self, group: i32) {
        if let Some(running) = &mut self.0
            && running.tell(&format!("- {group}\n")).is_err()
        {
            self.0 = None;
        }
    }
}

fn began(record: &Record) -> String {
    format!("+ {} {}\n", record.group, record.start.unwrap_or(0))
}

impl Running {
    fn start() -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "mcp-host-watchdog"]).env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn()?;
        let pipe = child.stdin.take().ok_or_else(|| io::Error::other("no pipe"))?;
        // It is told things while locks are held: better to start another than to wait for one that was stopped.
        let flags = rustix::fs::fcntl_getfl(&pipe)?;
        rustix::fs::fcntl_setfl(&pipe, flags | rustix::fs::OFlags::NONBLOCK)?;
        Ok(Self { child, pipe })
    }

    fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    fn tell(&mut self, lines: &str) -> io::Result<()> {
        self.pipe.write_all(lines.as_bytes())
    }
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{
        os::unix::process::ExitStatusExt as _,
        time::{Duration, Instant},
    };

    use super::*;
    use crate::session::process::proc;

    fn server(script: &str) -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
    }

    fn record(child: &Child) -> Record {
        let group = child.id() as i32;
        Record { group, start: proc::start_time(group), tag: String::new(), boot: String::new() }
    }

    fn wait_until(mut condition: impl FnMut() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !condition() {
            assert!(Instant::now() < deadline, "it never came true");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn when_the_pipe_closes_it_ends_what_it_was_told_of_and_nothing_else() {
        let mut polite = server("while :; do sleep 0.05; done");
        // The leader goes at once; the rest of the group takes no hint.
        let mut wrapper = server("(trap '' TERM; while :; do sleep 0.05; done) & sleep 0.3; true");
        let mut forgotten = server("while :; do sleep 0.05; done");
        let mut reused = server("while :; do sleep 0.05; done");
        let wrapped = record(&wrapper);
        let mut old = record(&reused);
        old.start = old.start.map(|start| start - 1);
        let all = [record(&polite), wrapped.clone(), record(&forgotten), old];
        let mut watchdog = Watchdog::default();
        for (count, record) in all.iter().enumerate() {
            watchdog.watch(record, all[..=count].iter());
        }
        watchdog.forget(forgotten.id() as i32);
        wrapper.wait().unwrap();
        assert_eq!(proc::group_lives(wrapped.group), Some(true));

        let Running { mut child, pipe } = watchdog.0.take().unwrap();
        drop(pipe);
        wait_until(|| child.try_wait().unwrap().is_some());
        assert_eq!(polite.wait().unwrap().signal(), Some(15));
        wait_until(|| proc::group_lives(wrapped.group) == Some(false));
        assert!(forgotten.try_wait().unwrap().is_none() && reused.try_wait().unwrap().is_none());
        for child in [&mut forgotten, &mut reused] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_watchdog_that_was_killed_is_replaced_and_told_everything() {
        let (mut first, mut second) = (server("while :; do sleep 0.05; done"), server("while :; do sleep 0.05; done"));
        let all = [record(&first), record(&second)];
        let mut watchdog = Watchdog::default();
        watchdog.watch(&all[0], all[..1].iter());
        let running = watchdog.0.as_mut().unwrap();
        running.child.kill().unwrap();
        wait_until(|| running.child.try_wait().unwrap().is_some());
        watchdog.watch(&all[1], all.iter());
        drop(watchdog);
        assert_eq!(first.wait().unwrap().signal(), Some(15));
        assert_eq!(second.wait().unwrap().signal(), Some(15));
    }
}
