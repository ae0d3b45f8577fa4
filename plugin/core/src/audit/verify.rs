//! Whether a log is what was written: every line by its hash and its HMAC, every file by the head it must have, every
//! run by the list of runs (audit.md, "Verify, read, export").
//!
//! Streams; memory does not grow with a log. Reports everything that is wrong, and writes nothing. Without the key, or
//! under another one, the chain alone is judged, and the report says so.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;
use serde::Serialize;

use super::{
    anchor::{Anchor, Found},
    record::{Chain, GENESIS, Record},
    run_list::{LIST, LONGEST_LINE, head_path, list_anchor_path, list_path, log_name},
};
use crate::{
    error::{Error, Result},
    store::{Folders, MasterKey, file},
};

/// More failures of one run are counted, not listed.
const MOST_FAILURES: usize = 1_000;

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

/// What was found.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// No run has a failure, and there is at least one run.
    pub valid: bool,
    /// Everything was judged with its key.
    pub keyed: bool,
    /// One entry for each run; the list of runs itself (`runs`) where it has something to say.
    pub runs: Vec<RunReport>,
}

/// What was found in one run.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunReport {
    /// The run, or the file's name where it names none.
    pub run_id: String,
    /// Whole lines.
    pub events: u64,
    /// It has not ended cleanly (or not yet): no fault.
    pub unclean: bool,
    /// What must not be.
    pub failures: Vec<Finding>,
    /// What is worth knowing.
    pub warnings: Vec<Finding>,
}

/// One thing that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// In which line of its file, from 1; 0 = the file as a whole.
    pub line: u64,
}

/// The kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The line is not what its hash says, or the file's head is another.
    HashMismatch,
    /// The line does not follow the one before.
    PrevHashMismatch,
    /// A field of the format is not there, or not of its type.
    MissingFields,
    /// A field that the format does not know.
    UnexpectedField,
    /// Not a JSON object.
    JsonParseError,
    /// The line was not written with the key, or not for this run.
    HmacMismatch,
    /// Lines are gone from the end.
    Truncated,
    /// The log, or its entry in the list of runs, is not there.
    Missing,
    /// Warning: the clock went back.
    TimestampRegression,
    /// Warning: without the key, or under another: the chain alone was judged.
    NotKeyed,
    /// Warning: there are more failures than are listed.
    MoreFailures,
}

impl FindingKind {
    /// As in the report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HashMismatch => "hash_mismatch",
            Self::PrevHashMismatch => "prev_hash_mismatch",
            Self::MissingFields => "missing_fields",
            Self::UnexpectedField => "unexpected_field",
            Self::JsonParseError => "json_parse_error",
            Self::HmacMismatch => "hmac_mismatch",
            Self::Truncated => "truncated",
            Self::Missing => "missing",
            Self::TimestampRegression => "timestamp_regression",
            Self::NotKeyed => "not_keyed",
            Self::MoreFailures => "more_failures",
        }
    }
}

/// Verifies logs. Blocks for as long as reading them takes.
///
/// # Errors
/// `invalid_input` for a run id that cannot be one, `config_invalid` for a folder or file that cannot be read. What is
/// wrong *in* a log is never an error.
pub fn verify(folders: &Folders, key: Option<&MasterKey>, target: Target<'_>) -> Result<Report> {
    let verifier = Verifier { folder: folders.audit(), key };
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

/// What could not be read, and why.
struct Unread(PathBuf, io::Error);

struct Verifier<'a> {
    folder: PathBuf,
    key: Option<&'a MasterKey>,
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

/// What one file must be.
#[derive(Default)]
struct Expected<'a> {
    /// Whose lines they are; else the first line says.
    run_id: Option<&'a str>,
    /// The key that the list names; else the first line says.
    key_id: Option<&'a str>,
    /// It stands in our list.
    listed: bool,
    /// At least so many lines, and this hash in the last of them.
    head: Option<(u64, String)>,
    /// Nothing may come after that.
    final_head: bool,
    /// Half a line at the end is no fault.
    may_be_torn: bool,
}

/// What was found in one file.
#[derive(Default)]
struct Judged {
    events: u64,
    failures: Vec<Finding>,
    warnings: Vec<Finding>,
    /// Not even one line.
    absent: bool,
    torn: bool,
    first_run_id: String,
    last_event: String,
    /// At least one line has a `chain_hmac`.
    has_hmac: bool,
}

impl Judged {
    fn fail(&mut self, kind: FindingKind, line: u64) {
        if self.failures.len() < MOST_FAILURES {
            self.failures.push(Finding { kind, line });
        } else if self.warnings.last().map(|last| last.kind) != Some(FindingKind::MoreFailures) {
            self.warnings.push(Finding { kind: FindingKind::MoreFailures, line });
        }
    }

    fn warn(&mut self, kind: FindingKind, line: u64) {
        if self.warnings.len() < MOST_FAILURES {
            self.warnings.push(Finding { kind, line });
        }
    }
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
        let first = self.judge(path, &Expected { may_be_torn: true, ..Expected::default() }, |_, _| {})?;
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
        let judged = self.judge(path, &expected, |_, _| {})?;
        Ok(vec![report(path, judged)])
    }

    /// A file that the list of runs does not name. `ours`: it lies in our folder.
    fn unlisted(&self, path: &Path, ours: bool) -> Result<RunReport, Unread> {
        let mut judged = self.judge(path, &Expected::default(), |_, _| {})?;
        if ours && judged.has_hmac {
            judged.failures.insert(0, Finding { kind: FindingKind::Missing, line: 0 });
        }
        Ok(report(path, judged))
    }

    /// A run of ours, all its files.
    fn listed_run(&self, run: &str, known: &Listed) -> Result<RunReport, Unread> {
        // Before the log is read, so that a log that grows meanwhile is ahead of it.
        let head_path = head_path(&self.folder, run);
        let anchor = match self.key {
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
            let judged = self.judge(&path, &expected, |_, _| {})?;
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
        self.key.is_some_and(|key| key.id() == key_id)
    }

    /// The list of runs: whether it is sound, and what it says.
    fn list(&self) -> Result<(Judged, BTreeMap<String, Listed>), Unread> {
        let anchor = match self.key {
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
        let mut judged = self.judge(&list_path(&self.folder), &expected, |line, record| {
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

    /// Reads one file from end to end.
    fn judge(
        &self,
        path: &Path,
        expected: &Expected<'_>,
        mut each: impl FnMut(u64, &Record),
    ) -> Result<Judged, Unread> {
        let unread = |error| Unread(path.to_owned(), error);
        let mut judged = Judged::default();
        let file = match File::open(path) {
            Ok(file) if file.metadata().map_err(unread)?.is_file() => file,
            Ok(_) => return Err(unread(io::Error::other("it is not a regular file"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                judged.absent = true;
                judged.fail(FindingKind::Missing, 0);
                return Ok(judged);
            }
            Err(error) => return Err(unread(error)),
        };
        let mut reader = BufReader::with_capacity(256 * 1024, file);
        let mut state = Lines { prev: Some(GENESIS.to_owned()), chain: None, time: None, unkeyed: Vec::new() };
        let mut number = 0;
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(unread)?;
            if read == 0 {
                break;
            }
            let whole = line.last() == Some(&b'\n');
            if !whole && read as u64 == LONGEST_LINE {
                number += 1;
                judged.fail(FindingKind::JsonParseError, number);
                state.prev = None;
                skip_line(&mut reader).map_err(unread)?;
                continue;
            }
            let record = Record::parse(&line);
            // Our own lines end with a newline; half a line is none. (TeaAgent's last one need not.)
            if !whole && (expected.listed || judged.has_hmac || record.is_none()) {
                judged.torn = true;
                if !expected.may_be_torn {
                    judged.fail(FindingKind::JsonParseError, number + 1);
                }
                break;
            }
            number += 1;
            match record {
                Some(record) => {
                    self.line(number, &record, expected, &mut state, &mut judged);
                    each(number, &record);
                }
                None if line.iter().all(u8::is_ascii_whitespace) => state.unkeyed.push(number),
                None => {
                    judged.fail(FindingKind::JsonParseError, number);
                    state.prev = None;
                }
            }
        }
        judged.events = number;
        self.end(expected, state, &mut judged);
        Ok(judged)
    }

    fn line(&self, number: u64, record: &Record, expected: &Expected<'_>, state: &mut Lines, judged: &mut Judged) {
        let run_id = record.text("run_id");
        if judged.first_run_id.is_empty() {
            run_id.clone_into(&mut judged.first_run_id);
        }
        record.text("event_type").clone_into(&mut judged.last_event);
        if !record.is_complete(false) {
            judged.fail(FindingKind::MissingFields, number);
        }
        if record.has_unexpected() {
            judged.fail(FindingKind::UnexpectedField, number);
        }
        let hash = record.text("hash");
        if record.computed_hash() != hash {
            judged.fail(FindingKind::HashMismatch, number);
        }
        if state.prev.as_deref().is_some_and(|prev| prev != record.text("prev_hash")) {
            judged.fail(FindingKind::PrevHashMismatch, number);
        }
        state.prev = Some(hash.to_owned());
        if let Some((count, head)) = &expected.head
            && number == *count
            && head != hash
        {
            judged.fail(FindingKind::HashMismatch, number);
        }

        // The list's lines each name their key; those of a run share the one of its beginning.
        let owner = expected.run_id.unwrap_or(run_id);
        let key_id = match expected.key_id {
            Some(key_id) => Some(key_id),
            None if owner == LIST || number == 1 => record.detail("key_id"),
            None => None,
        };
        if let Some(key_id) = key_id
            && (number == 1 || owner == LIST)
        {
            state.chain = self.key.filter(|key| key.id() == key_id).map(|key| Chain::genesis(key, owner));
        }
        if record.has("chain_hmac") {
            judged.has_hmac = true;
            match &state.chain {
                Some(chain) => {
                    if run_id != owner || !chain.authentic(hash, record.text("chain_hmac")) {
                        judged.fail(FindingKind::HmacMismatch, number);
                    }
                }
                None if judged.warnings.iter().any(|warning| warning.kind == FindingKind::NotKeyed) => {}
                None => judged.warn(FindingKind::NotKeyed, 0),
            }
        } else if state.unkeyed.len() < MOST_FAILURES {
            state.unkeyed.push(number);
        }
        let time = record.time();
        if time.zip(state.time).is_some_and(|(now, before)| now < before) {
            judged.warn(FindingKind::TimestampRegression, number);
        }
        state.time = time.or(state.time);
    }

    /// What can be said only at the end.
    fn end(&self, expected: &Expected<'_>, state: Lines, judged: &mut Judged) {
        if judged.has_hmac || expected.listed {
            for line in state.unkeyed {
                judged.fail(FindingKind::MissingFields, line);
            }
        } else if judged.events > 0 {
            judged.warn(FindingKind::NotKeyed, 0);
        }
        // A run that was killed before its first line is no fault; any other log has one.
        let begun = expected.head.as_ref().is_none_or(|(count, _)| *count > 0);
        if judged.events == 0 && judged.failures.is_empty() && begun {
            judged.absent = true;
            judged.fail(FindingKind::Missing, 0);
        }
        if let Some((count, _)) = expected.head {
            if judged.events < count && !judged.absent {
                judged.fail(FindingKind::Truncated, judged.events + 1);
            }
            if expected.final_head && judged.events > count {
                // After its end nobody with the key wrote to it.
                judged.fail(FindingKind::HmacMismatch, count + 1);
            }
        }
        judged.failures.sort_by_key(|failure| failure.line);
    }
}

/// What is carried from line to line.
struct Lines {
    /// What the next line must follow; unknown after a line that cannot be read.
    prev: Option<String>,
    /// Judges HMACs, where that can be done.
    chain: Option<Chain>,
    time: Option<Timestamp>,
    /// Lines that are faulty unless the whole file is of TeaAgent's kind.
    unkeyed: Vec<u64>,
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

fn skip_line(reader: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        match buffer.iter().position(|byte| *byte == b'\n') {
            Some(end) => {
                reader.consume(end + 1);
                return Ok(());
            }
            None => {
                let length = buffer.len();
                reader.consume(length);
            }
        }
    }
}
