//! Which groups this host has, on disk, for the start after a start that was killed.
//!
//! Each running host has a file of its own in the folder and holds a lock on it; a file whose lock can be had belongs to
//! a host that is gone. Two hosts on one folder leave each other's servers alone.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Read, Seek as _, Write as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use super::{Sweep, proc};
use crate::model::hex;

/// One group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Its number: the process id of its leader.
    pub(super) group: i32,
    /// When its leader began, in clock ticks since boot.
    pub(super) start: Option<u64>,
    /// What its members have in their environment.
    pub(super) tag: String,
    /// The boot that the rest is about.
    pub(super) boot: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Entry {
    Began(Record),
    Ended(i32),
}

/// The file of this host. Removed when it ends by itself.
#[derive(Debug)]
pub(super) struct Ledger {
    file: File,
    path: PathBuf,
}

/// A file longer than this is not one of ours.
const SIZE_LIMIT: u64 = 16 * 1024 * 1024;

impl Ledger {
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        let mut bytes = [0_u8; 8];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let path = folder.join(format!("{}.jsonl", hex(&bytes)));
        let mut options = OpenOptions::new();
        options.create_new(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        file.try_lock().map_err(io::Error::from)?;
        Ok(Self { file, path })
    }

    pub(super) fn began(&mut self, record: &Record) {
        self.append(&Entry::Began(record.clone()));
    }

    /// `none_left`: nothing of what was written matters any more.
    pub(super) fn ended(&mut self, group: i32, none_left: bool) {
        if none_left && self.file.set_len(0).is_ok() {
            return;
        }
        self.append(&Entry::Ended(group));
    }

    /// A record that cannot be written costs the sweep, not the server.
    fn append(&mut self, entry: &Entry) {
        let line = serde_json::to_string(entry).unwrap_or_default();
        if let Err(error) = self.file.write_all(format!("{line}\n").as_bytes()) {
            tracing::warn!(%error, path = %self.path.display(), "the record of running servers cannot be written");
        }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Ends what hosts that are gone have left behind.
pub(super) fn sweep(folder: &Path) -> io::Result<Sweep> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;

    let mut left = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        let Ok(mut file) = OpenOptions::new().read(true).write(true).open(&path) else { continue };
        if file.try_lock().is_err() {
            continue;
        }
        left.extend(read(&mut file)?);
        std::fs::remove_file(&path)?;
    }
    let boot = proc::boot_id();
    left.retain(|record| record.boot == boot && !boot.is_empty());
    Ok(end(&left))
}

/// The groups that had not ended. What cannot be read (the host was killed while writing) is left out.
fn read(file: &mut File) -> io::Result<Vec<Record>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    Read::take(file, SIZE_LIMIT).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut open: Vec<Record> = Vec::new();
    for entry in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        match entry {
            Entry::Began(record) => open.push(record),
            Entry::Ended(group) => open.retain(|record| record.group != group),
        }
    }
    Ok(open)
}

fn end(left: &[Record]) -> Sweep {
    let mut sweep = Sweep::default();
    let found: Vec<&Record> = left.iter().filter(|record| is_ours(record)).collect();
    for record in &found {
        signal(record, Signal::TERM);
    }
    let until = Instant::now() + super::child::GRACE;
    while Instant::now() < until && found.iter().any(|record| is_ours(record)) {
        std::thread::sleep(Duration::from_millis(20));
    }
    for record in found {
        signal(record, Signal::KILL);
        sweep.ended.push(record.group);
    }
    for record in left {
        sweep.strays.extend(proc::strays(&record.tag, record.group));
    }
    sweep
}

use rustix::process::Signal;

/// Whether the group still is what was recorded: it has a member with the tag that is not older than its leader, and its
/// leader, where there still is one, is the recorded one.
fn is_ours(record: &Record) -> bool {
    let Some(start) = record.start else { return false };
    if proc::stat(record.group).is_some_and(|leader| leader.start != start) {
        return false;
    }
    proc::all().any(|stat| {
        stat.group == record.group && stat.lives() && stat.start >= start && proc::has_tag(stat.pid, &record.tag)
    })
}

fn signal(record: &Record, signal: Signal) {
    if is_ours(record)
        && let Some(group) = rustix::process::Pid::from_raw(record.group)
    {
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{
        os::unix::process::CommandExt as _,
        process::{Child, Command, Stdio},
    };

    use super::*;

    fn server(tag: &str) -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "trap '' TERM; while :; do sleep 0.05; done"]).env(proc::TAG, tag).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
    }

    fn record(child: &Child, tag: &str) -> Record {
        let group = child.id() as i32;
        Record { group, start: proc::start_time(group), tag: tag.to_owned(), boot: proc::boot_id() }
    }

    /// A host that was killed: its file stays and its lock is gone.
    fn killed_host(folder: &Path, records: &[Record], ended: &[i32]) {
        let mut ledger = Ledger::create(folder).unwrap();
        records.iter().for_each(|record| ledger.began(record));
        ended.iter().for_each(|group| ledger.ended(*group, false));
        ledger.file.write_all(b"{\"began\":{\"gro").unwrap();
        ledger.file.unlock().unwrap();
        std::mem::forget(ledger);
    }

    #[test]
    fn what_a_killed_host_left_is_ended_even_when_it_ignores_sigterm() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = server("sweep-a");
        killed_host(folder.path(), &[record(&child, "sweep-a")], &[]);
        let sweep = sweep(folder.path()).unwrap();
        assert_eq!(sweep.ended, [child.id() as i32]);
        assert!(child.wait().unwrap().code().is_none());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn nobody_elses_process_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = server("sweep-b");
        let mine = record(&child, "sweep-b");
        let other_tag = Record { tag: "sweep-c".to_owned(), ..mine.clone() };
        let other_start = Record { start: mine.start.map(|start| start + 1), ..mine.clone() };
        let other_boot = Record { boot: "another".to_owned(), ..mine.clone() };
        let no_start = Record { start: None, ..mine.clone() };
        killed_host(folder.path(), &[other_tag, other_start, other_boot, no_start], &[]);
        killed_host(folder.path(), std::slice::from_ref(&mine), &[mine.group]);
        assert_eq!(sweep(folder.path()).unwrap().ended, [0; 0]);
        // A host that lives keeps what is its own.
        let mut living = Ledger::create(folder.path()).unwrap();
        living.began(&mine);
        assert_eq!(sweep(folder.path()).unwrap().ended, [0; 0]);
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn what_left_its_group_is_told_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = server("sweep-d");
        let record = Record { group: 1, ..record(&child, "sweep-d") };
        killed_host(folder.path(), &[record], &[]);
        let sweep = sweep(folder.path()).unwrap();
        assert_eq!(sweep.ended, [0; 0]);
        assert!(sweep.strays.iter().any(|stray| stray.pid == child.id() as i32 && stray.name == "sh"));
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
