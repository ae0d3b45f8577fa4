//! Reading one file of a log from end to end: every line by its hash, its place in the chain and its HMAC.
//!
//! Knows nothing of the list of runs; [`Expected`] is what `verify` knows of the file. Memory does not grow with it.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use super::{
    record::{Chain, GENESIS, Record},
    report::{Finding, FindingKind},
    run_list::{LIST, LONGEST_LINE},
};
use crate::store::MasterKey;

/// More failures of one file are not listed.
const MOST_FAILURES: usize = 1_000;

/// What could not be read, and why.
pub(super) struct Unread(pub(super) PathBuf, pub(super) io::Error);

/// What one file must be.
#[derive(Default)]
pub(super) struct Expected<'a> {
    /// Whose lines they are; else the first line says.
    pub(super) run_id: Option<&'a str>,
    /// The key that the list names; else the first line says.
    pub(super) key_id: Option<&'a str>,
    /// It stands in our list.
    pub(super) listed: bool,
    /// At least so many lines, and this hash in the last of them.
    pub(super) head: Option<(u64, String)>,
    /// Nothing may come after that.
    pub(super) final_head: bool,
    /// Half a line at the end is no fault.
    pub(super) may_be_torn: bool,
}

/// What was found in one file.
#[derive(Default)]
pub(super) struct Judged {
    pub(super) events: u64,
    pub(super) failures: Vec<Finding>,
    pub(super) warnings: Vec<Finding>,
    /// Not even one line.
    pub(super) absent: bool,
    pub(super) torn: bool,
    pub(super) first_run_id: String,
    pub(super) last_event: String,
    /// At least one line has a `chain_hmac`.
    pub(super) has_hmac: bool,
}

impl Judged {
    pub(super) fn fail(&mut self, kind: FindingKind, line: u64) {
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

/// Judges files under one key, or without.
pub(super) struct Judge<'a> {
    pub(super) key: Option<&'a MasterKey>,
}

impl Judge<'_> {
    /// Reads one file from end to end.
    pub(super) fn file(
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
