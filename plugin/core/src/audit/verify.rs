//! Whether a log is what was written: every line by its hash and its HMAC, every file by the head it must have, every
//! run by the list of runs (audit.md, "Verify, read, export").
//!
//! Streams; memory does not grow with a log. Reports everything that is wrong, and writes nothing. Without the key, or
//! under another one, the chain alone is judged, and the report says so.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

pub use super::report::{Finding, FindingKind, Report, RunReport};
use super::{
    anchor::{Anchor, Found},
    judge::{Expected, Judge, Judged, Unread},
    record::Record,
    run_list::{LIST, head_path, list_anchor_path, list_path, log_name},
};
use crate::{
    error::{Error, Result},
    store::{Folders, MasterKey, file},
};

/// What is to be verified.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// Every run, and the list of runs.
    All,
    /// One run, by its id.
    Run(&'a str),
    /// One file, wherever it lies.
    File(&'a Path),
}

/// Verifies logs. Blocks for as long as reading them takes.
///
/// # Errors
/// `invalid_input` for a run id that cannot be one, `config_invalid` for a folder or file that cannot be read. What is
/// wrong *in* a log is never an error.
pub fn verify(folders: &Folders, key: Option<&MasterKey>, target: Target<'_>) -> Result<Report> {
    let verifier = Verifier { folder: folders.audit(), judge: Judge { key } };
    let runs = match target {
        Target::All => verifier.all(),
        Target::Run(run) => {
            let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            if run.is_empty() || run.len() > 128 || !run.bytes().all(word) {
                return Err(Error::invalid_input("/run", "a run's id has only letters, digits, `-` and `_`"));
            }
            verifier.run(run)
        }
        Target::File(path) => verifier.file(path),
    };
    let runs = runs.map_err(|Unread(path, error)| file::cannot("read", &path, &error))?;
    let keyed = |run: &RunReport| !run.warnings.iter().any(|warning| warning.kind == FindingKind::NotKeyed);
    Ok(Report {
        valid: !runs.is_empty() && runs.iter().all(|run| run.failures.is_empty()),
        keyed: !runs.is_empty() && runs.iter().all(keyed),
        runs,
    })
}

struct Verifier<'a> {
    folder: PathBuf,
    judge: Judge<'a>,
}

/// What the list of runs says of one run.
#[derive(Clone, Debug, Default)]
struct Listed {
    /// The key it was begun under.
    key_id: String,
    /// The heads of the files that have ended, by part.
    ended: BTreeMap<u64, Ended>,
    /// The last file has ended too.
    closed: bool,
}

#[derive(Clone, Debug)]
struct Ended {
    count: u64,
    hash: String,
    /// It was closed by a later run, with half a line at its end.
    torn: bool,
    /// An anchor proved the head.
    anchored: bool,
}

impl Verifier<'_> {
    fn all(&self) -> Result<Vec<RunReport>, Unread> {
        let files = self.log_files()?;
        let (mut list, mut listed) = self.list()?;
        if files.iter().any(|(_, run, _)| !listed.contains_key(run)) {
            // A run that is just being opened stands in the list a moment after its file.
            std::thread::sleep(Duration::from_millis(100));
            (list, listed) = self.list()?;
        }
        let mut reports = Vec::new();
        for (run, known) in &listed {
            reports.push(self.listed_run(run, known)?);
        }
        for (path, run, part) in &files {
            let known = listed.get(run);
            match known {
                None => reports.push(self.unlisted(path, true)?),
                Some(known) if known.closed && !known.ended.contains_key(part) => {
                    // A file more than the run ever had.
                    let mut report = self.unlisted(path, true)?;
                    report.failures.insert(0, Finding { kind: FindingKind::Missing, line: 0 });
                    reports.push(report);
                }
                Some(_) => {}
            }
        }
        if !list.failures.is_empty() || (!list.warnings.is_empty() && !reports.is_empty()) {
            reports.push(RunReport {
                run_id: LIST.to_owned(),
                events: list.events,
                unclean: list.torn,
                failures: list.failures,
                warnings: list.warnings,
            });
        }
        Ok(reports)
    }

    fn run(&self, run: &str) -> Result<Vec<RunReport>, Unread> {
        let (_, listed) = self.list()?;
        match listed.get(run) {
            Some(known) => Ok(vec![self.listed_run(run, known)?]),
            None => {
                let report = self.unlisted(&self.folder.join(log_name(run, 1)), true)?;
                Ok(vec![RunReport { run_id: run.to_owned(), ..report }])
            }
        }
    }

    fn file(&self, path: &Path) -> Result<Vec<RunReport>, Unread> {
        let inside = fs::canonicalize(path).ok().zip(fs::canonicalize(&self.folder).ok());
        let inside = inside.is_some_and(|(path, folder)| path.parent() == Some(&folder));
        let name = path.file_name().and_then(|name| name.to_str()).and_then(parse_name);
        let (_, listed) = self.list()?;
        if let Some((run, _)) = name.filter(|_| inside)
            && let Some(known) = listed.get(run)
        {
            return Ok(vec![self.listed_run(run, known)?]);
        }
        // A copy from elsewhere, perhaps of a run of ours: then its end is known, if it has ended.
        let first = self.judge.file(path, &Expected { may_be_torn: true, ..Expected::default() }, |_, _| {})?;
        let Some(known) = listed.get(&first.first_run_id) else { return Ok(vec![self.unlisted(path, inside)?]) };
        let part = name.map_or(1, |(_, part)| part);
        let ended = known.ended.get(&part);
        let expected = Expected {
            run_id: Some(&first.first_run_id),
            key_id: Some(&known.key_id),
            listed: true,
            head: ended.map(|ended| (ended.count, ended.hash.clone())),
            final_head: ended.is_some(),
            may_be_torn: ended.is_none_or(|ended| ended.torn),
        };
        let judged = self.judge.file(path, &expected, |_, _| {})?;
        Ok(vec![report(path, judged)])
    }

    /// A file that the list of runs does not name. `ours`: it lies in our folder.
    fn unlisted(&self, path: &Path, ours: bool) -> Result<RunReport, Unread> {
        let mut judged = self.judge.file(path, &Expected::default(), |_, _| {})?;
        if ours && judged.has_hmac {
            judged.failures.insert(0, Finding { kind: FindingKind::Missing, line: 0 });
        }
        Ok(report(path, judged))
    }

    /// A run of ours, all its files.
    fn listed_run(&self, run: &str, known: &Listed) -> Result<RunReport, Unread> {
        // Before the log is read, so that a log that grows meanwhile is ahead of it.
        let head_path = head_path(&self.folder, run);
        let anchor = match self.judge.key {
            Some(key) if known.key_id == key.id() && !known.closed => {
                Some(Anchor::read(&head_path, key).map_err(|error| Unread(head_path.clone(), error))?)
            }
            _ => None,
        };
        if !known.closed && anchor.as_ref().is_some_and(|found| !matches!(found, Found::Head(_))) {
            // It may have ended since the list was read; else its anchor was taken away.
            let (_, again) = self.list()?;
            if let Some(known) = again.get(run).filter(|known| known.closed) {
                return self.listed_run(run, &known.clone());
            }
        }
        let live = match &anchor {
            Some(Found::Head(head)) => Some(head),
            _ => None,
        };
        let last = known.ended.keys().max().copied().unwrap_or(0);
        let parts = if known.closed { last } else { live.map_or(last + 1, |head| head.part.max(last)) };
        let mut total = RunReport {
            run_id: run.to_owned(),
            events: 0,
            unclean: !known.closed,
            failures: Vec::new(),
            warnings: Vec::new(),
        };
        if let Some(Found::Absent | Found::Foreign) = anchor {
            total.failures.push(Finding { kind: FindingKind::Truncated, line: 0 });
        }
        for part in 1..=parts {
            let path = self.folder.join(log_name(run, part));
            let ended = known.ended.get(&part);
            let live = live.filter(|head| head.part == part && ended.is_none());
            let expected = Expected {
                run_id: Some(run),
                key_id: Some(&known.key_id),
                listed: true,
                head: ended
                    .map(|ended| (ended.count, ended.hash.clone()))
                    .or_else(|| live.map(|head| (head.count, head.hash.clone()))),
                final_head: ended.is_some(),
                may_be_torn: ended.is_none_or(|ended| ended.torn),
            };
            let judged = self.judge.file(&path, &expected, |_, _| {})?;
            if ended.is_some_and(|ended| !ended.anchored) && self.judges(&known.key_id) {
                total.failures.push(Finding { kind: FindingKind::Truncated, line: 0 });
            }
            total.unclean |= judged.torn || (part == parts && judged.last_event != "run_completed");
            let one = report(&path, judged);
            total.events += one.events;
            total.failures.extend(one.failures);
            let known_warning = total.warnings.iter().any(|warning| warning.kind == FindingKind::NotKeyed);
            total.warnings.extend(
                one.warnings.into_iter().filter(|warning| !(known_warning && warning.kind == FindingKind::NotKeyed)),
            );
        }
        Ok(total)
    }

    fn judges(&self, key_id: &str) -> bool {
        self.judge.key.is_some_and(|key| key.id() == key_id)
    }

    /// The list of runs: whether it is sound, and what it says.
    fn list(&self) -> Result<(Judged, BTreeMap<String, Listed>), Unread> {
        let anchor = match self.judge.key {
            Some(key) => {
                let path = list_anchor_path(&self.folder);
                Some(Anchor::read(&path, key).map_err(|error| Unread(path, error))?)
            }
            None => None,
        };
        let head = match &anchor {
            Some(Found::Head(head)) => Some((head.count, head.hash.clone())),
            _ => None,
        };
        let mut listed = BTreeMap::<String, Listed>::new();
        let mut unanchored = Vec::new();
        let expected = Expected {
            run_id: Some(LIST),
            listed: true,
            head: head.clone(),
            // A process may be adding to it.
            may_be_torn: true,
            ..Expected::default()
        };
        let mut judged = self.judge.file(&list_path(&self.folder), &expected, |line, record| {
            if record.text("event_type") == "list_unanchored" {
                unanchored.push(line);
            }
            let Some(run) = record.detail("run") else { return };
            let known = listed.entry(run.to_owned()).or_default();
            let part = record.number("part").unwrap_or(1);
            let ended = || Ended {
                count: record.number("count").unwrap_or(u64::MAX),
                hash: record.detail("head").unwrap_or_default().to_owned(),
                torn: is_set(record, "torn", false),
                anchored: is_set(record, "anchored", true),
            };
            match record.text("event_type") {
                "run_opened" => record.detail("key_id").unwrap_or_default().clone_into(&mut known.key_id),
                "file_closed" => {
                    known.ended.insert(part, ended());
                }
                "run_closed" | "run_recovered" => {
                    known.ended.insert(part, ended());
                    known.closed = true;
                }
                _ => {}
            }
        })?;
        for line in unanchored {
            judged.fail(FindingKind::Truncated, line);
        }
        if judged.absent && head.is_none() {
            // No run of ours yet.
            return Ok((Judged::default(), listed));
        }
        if anchor.is_some_and(|found| found == Found::Absent) {
            judged.fail(FindingKind::Truncated, 0);
        }
        Ok((judged, listed))
    }

    /// The logs in our folder: path, run and part.
    fn log_files(&self) -> Result<Vec<(PathBuf, String, u64)>, Unread> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Unread(self.folder.clone(), error)),
        };
        let mut files = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            if let Some((run, part)) = name.to_str().and_then(parse_name).filter(|(run, _)| *run != LIST) {
                files.push((entry.path(), run.to_owned(), part));
            }
        }
        files.sort();
        Ok(files)
    }
}

fn is_set(record: &Record, name: &str, absent: bool) -> bool {
    use crate::model::json::Value;
    match record.payload().and_then(|payload| payload.get(name)) {
        Some(Value::Bool(set)) => *set,
        _ => absent,
    }
}

fn report(path: &Path, judged: Judged) -> RunReport {
    let name = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let run_id = if judged.first_run_id.is_empty() { name() } else { judged.first_run_id };
    RunReport {
        run_id,
        events: judged.events,
        unclean: judged.torn || (judged.events > 0 && judged.last_event != "run_completed"),
        failures: judged.failures,
        warnings: judged.warnings,
    }
}

/// `host-0123.jsonl` is part 1 of `host-0123`, `host-0123.2.jsonl` part 2.
pub(super) fn parse_name(name: &str) -> Option<(&str, u64)> {
    let stem = name.strip_suffix(".jsonl")?;
    match stem.split_once('.') {
        None => Some((stem, 1)),
        Some((run, part)) => part.parse().ok().filter(|part| *part > 1).map(|part| (run, part)),
    }
}
