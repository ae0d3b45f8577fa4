//! The list of runs, `audit/runs.jsonl`: a chain of its own that says which logs there are and how each ended.
//!
//! It is what makes a missing log, or a log cut after its end, show. Shared by all processes, so everything here happens
//! under one lock, which the caller takes. A list that somebody changed is still added to, so that no program can keep
//! us from starting; the break stays in it for `verify` to find.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use super::{
    anchor::{Anchor, Found, Head},
    record::{Chain, GENESIS, Payload, Record},
};
use crate::{
    error::Result,
    store::{
        MasterKey,
        file::{self, Lock},
    },
};

/// The `run_id` of the list's own records.
pub(super) const LIST: &str = "runs";

/// Longer lines are not ours.
pub(super) const LONGEST_LINE: u64 = 8 * 1024 * 1024;

/// The list's file.
pub(super) fn list_path(folder: &Path) -> PathBuf {
    folder.join("runs.jsonl")
}

/// The list's head anchor.
pub(super) fn list_anchor_path(folder: &Path) -> PathBuf {
    folder.join("runs.head")
}

/// The file name of one part of a run's log, counted from 1.
pub(super) fn log_name(run_id: &str, part: u64) -> String {
    if part == 1 { format!("{run_id}.jsonl") } else { format!("{run_id}.{part}.jsonl") }
}

/// The anchor of a run that has not ended.
pub(super) fn head_path(folder: &Path, run_id: &str) -> PathBuf {
    folder.join(format!("{run_id}.head"))
}

/// The file that a living run keeps locked; it also holds the room for outcomes.
pub(super) fn open_path(folder: &Path, run_id: &str) -> PathBuf {
    folder.join(format!("{run_id}.open"))
}

/// The list, and the folder of logs that it is about.
#[derive(Clone, Debug)]
pub(super) struct RunList {
    folder: PathBuf,
    key: MasterKey,
}

/// A run that ended without saying so, found by a later one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recovered {
    pub(super) run_id: String,
    /// Its last line is torn.
    pub(super) torn: bool,
}

impl RunList {
    pub(super) fn new(folder: &Path, key: &MasterKey) -> Self {
        Self { folder: folder.to_owned(), key: key.clone() }
    }

    /// Keeps other processes out of the list. The folder must be there.
    pub(super) fn lock(&self) -> Result<Lock> {
        Lock::acquire(&self.folder.join("runs.lock"))
    }

    /// A record's payload about a log's head.
    pub(super) fn about(run_id: &str, head: &Head) -> Payload {
        let mut payload = Payload::default();
        payload.text("run", run_id).text("file", &head.file).number("part", head.part);
        payload.number("count", head.count).text("head", &head.hash);
        payload
    }

    /// Adds records and syncs them.
    pub(super) fn append(&self, _lock: &Lock, now: Timestamp, records: Vec<(&'static str, Payload)>) -> io::Result<()> {
        let found = Anchor::read(&list_anchor_path(&self.folder), &self.key)?;
        let mut options = OpenOptions::new();
        let mut list = file::open_private(options.read(true).append(true).create(true), &list_path(&self.folder))?;
        let length = list.metadata()?.len();
        let anchored = matches!(found, Found::Head(_));
        let mut end = match found {
            Found::Head(head) if head.bytes <= length => scan(&mut list, head)?,
            // Somebody cut it: the chain goes on from where it should be, and so stays broken.
            Found::Head(head) => End { head: Head { bytes: length, ..head }, torn: false },
            Found::Absent | Found::Foreign => scan(&mut list, beginning("runs.jsonl".to_owned(), 1))?,
        };
        if end.torn {
            // Half a line of a process that was killed; it was never acknowledged to anybody.
            list.set_len(end.head.bytes)?;
        }
        let mut chain = Chain::at(&self.key, LIST, end.head.hash.clone(), end.head.count);
        let mut text = String::new();
        let lost = (!anchored && end.head.count > 0).then(|| ("list_unanchored", Payload::default()));
        for (event_type, mut payload) in lost.into_iter().chain(records) {
            payload.text("key_id", self.key.id());
            let line = chain.next(now, event_type, &payload.canonical()).map_err(io::Error::other)?;
            chain.advance(&line);
            text.push_str(&line.text);
        }
        if let Err(error) = list.write_all(text.as_bytes()).and_then(|()| list.sync_data()) {
            let _ = list.set_len(end.head.bytes);
            return Err(error);
        }
        end.head = Head { count: chain.count, hash: chain.head, bytes: end.head.bytes + text.len() as u64, ..end.head };
        let mut anchor = Anchor::open(&list_anchor_path(&self.folder), &self.key)?;
        anchor.write(&self.key, &end.head)?;
        anchor.sync()
    }

    /// Closes the books of runs that were killed: their real heads go into the list, their leftovers away. What cannot
    /// be read is left for `verify`.
    pub(super) fn recover(&self, lock: &Lock, now: Timestamp) -> io::Result<Vec<Recovered>> {
        let mut recovered = Vec::new();
        let mut records = Vec::new();
        let mut leftovers = Vec::new();
        for entry in fs::read_dir(&self.folder)?.flatten() {
            let name = entry.file_name();
            let Some(run_id) = name.to_str().and_then(|name| name.strip_suffix(".open")) else { continue };
            let Ok(marker) = File::options().write(true).open(entry.path()) else { continue };
            match marker.try_lock() {
                Ok(()) => {}
                // It lives, or cannot be asked.
                Err(TryLockError::WouldBlock | TryLockError::Error(_)) => continue,
            }
            if let Some((head, torn, anchored)) = self.last_words(run_id)? {
                let mut payload = Self::about(run_id, &head);
                payload.flag("torn", torn).flag("anchored", anchored);
                records.push(("run_recovered", payload));
                recovered.push(Recovered { run_id: run_id.to_owned(), torn });
            }
            leftovers.push((marker, entry.path(), head_path(&self.folder, run_id)));
        }
        if !records.is_empty() {
            self.append(lock, now, records)?;
        }
        for (marker, open, head) in leftovers {
            drop(marker);
            // The list knows now; what stays is found and closed once more.
            let _ = fs::remove_file(head).and_then(|()| fs::remove_file(&open)).or_else(|_| fs::remove_file(&open));
        }
        Ok(recovered)
    }

    /// How far the log of a dead run really came, whether its last line is torn, and whether an anchor says the same.
    fn last_words(&self, run_id: &str) -> io::Result<Option<(Head, bool, bool)>> {
        let found = Anchor::read(&head_path(&self.folder, run_id), &self.key)?;
        let anchored = matches!(found, Found::Head(_));
        let head = match found {
            Found::Head(head) => head,
            Found::Absent | Found::Foreign => beginning(log_name(run_id, 1), 1),
        };
        // The name stands in an authenticated anchor, or was made here.
        let path = self.folder.join(&head.file);
        match File::open(path) {
            Ok(mut log) if log.metadata()?.len() >= head.bytes => {
                let end = scan(&mut log, head)?;
                Ok(Some((end.head, end.torn, anchored)))
            }
            // Cut or gone: the anchor's word stays in the list, and `verify` sees the difference.
            Ok(_) => Ok(Some((head, false, anchored))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(anchored.then_some((head, false, true))),
            Err(error) => Err(error),
        }
    }
}

fn beginning(file: String, part: u64) -> Head {
    Head { file, part, count: 0, bytes: 0, hash: GENESIS.to_owned() }
}

struct End {
    head: Head,
    torn: bool,
}

/// Reads whole lines from where `head` stands to the end.
fn scan(file: &mut File, head: Head) -> io::Result<End> {
    file.seek(SeekFrom::Start(head.bytes))?;
    let mut reader = BufReader::new(file);
    let mut end = End { head, torn: false };
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line)? as u64;
        if line.last() != Some(&b'\n') {
            end.torn = read > 0;
            return Ok(end);
        }
        end.head.bytes += read;
        end.head.count += 1;
        if let Some(record) = Record::parse(&line) {
            record.text("hash").clone_into(&mut end.head.hash);
        }
    }
}
