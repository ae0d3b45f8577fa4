//! Reading the log, newest first: every run's files as one stream, filtered, a page at a time.
//!
//! Reads files backwards in blocks and opens one only when its turn comes, so the first page of years of logs costs as
//! much as the first page of one run. Trusts nothing: a line that is no record is passed over; whether a log is what was
//! written is `verify`'s to say.

use std::{
    collections::BinaryHeap,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    time::SystemTime,
};

use jiff::Timestamp;

use super::{
    record::Record,
    run_list::{LIST, LONGEST_LINE},
    verify::parse_name,
};
use crate::{
    error::{Error, Result},
    model::{
        CallerKind, Raw,
        admin::{AuditFilter, AuditPage, AuditRow},
        json::{Value, ascii_string},
    },
    store::{Folders, file},
};

/// How many rows a page has, unless asked otherwise.
const PAGE: u32 = 200;

/// The most that may be asked for.
const LONGEST_PAGE: u32 = 1_000;

/// A page ends early above this many bytes.
const LARGEST_PAGE: usize = 16 * 1024 * 1024;

/// How much is read at once.
const BLOCK: u64 = 64 * 1024;

/// A page of the log. Blocks for as long as reading takes.
///
/// # Errors
/// `invalid_input` for a time or cursor that is none, `config_invalid` if the folder cannot be read.
pub fn page(folders: &Folders, filter: &AuditFilter) -> Result<AuditPage> {
    let wanted = Wanted::new(filter)?;
    let folder = folders.audit();
    let cannot = |error| file::cannot("read the log in", &folder, &error);
    let mut stream = Stream::open(&folder, &wanted).map_err(cannot)?;
    let limit = filter.limit.unwrap_or(PAGE).clamp(1, LONGEST_PAGE) as usize;
    let mut page = AuditPage { rows: Vec::new(), next_cursor: None };
    let mut bytes = 0;
    while let Some((key, line)) = stream.next().map_err(cannot)? {
        if wanted.since.is_some_and(|since| key.time < since) {
            break;
        }
        if wanted.until.is_some_and(|until| key.time >= until)
            || wanted.after.as_ref().is_some_and(|after| key >= *after)
        {
            continue;
        }
        if let Some(row) = wanted.row(&key, &line) {
            bytes += line.len();
            page.rows.push(row);
            if page.rows.len() >= limit || bytes >= LARGEST_PAGE {
                page.next_cursor = stream.has_more().then(|| key.to_cursor());
                break;
            }
        }
    }
    Ok(page)
}

/// Where a record stands in the stream; later records are greater.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Its time, or that of the next record of its file if the clock went back between them.
    time: Timestamp,
    /// Its file's name.
    file: String,
    /// Its line, from 1.
    line: u64,
}

impl Key {
    fn to_cursor(&self) -> String {
        format!("{}/{}/{}", self.time.as_microsecond(), self.line, self.file)
    }

    fn from_cursor(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '/');
        let time = Timestamp::from_microsecond(parts.next()?.parse().ok()?).ok()?;
        let line = parts.next()?.parse().ok()?;
        Some(Self { time, line, file: parts.next()?.to_owned() })
    }
}

/// A filter that has been read.
struct Wanted<'a> {
    filter: &'a AuditFilter,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    after: Option<Key>,
    /// As it would stand in a line, in lower case.
    text: Option<String>,
}

impl<'a> Wanted<'a> {
    fn new(filter: &'a AuditFilter) -> Result<Self> {
        let after = match &filter.cursor {
            Some(cursor) => {
                let key = Key::from_cursor(cursor);
                Some(key.ok_or_else(|| Error::invalid_input("/cursor", "`cursor` is not one of a page before"))?)
            }
            None => None,
        };
        let text = filter.text.as_ref().map(|text| {
            let mut out = String::new();
            ascii_string(text, &mut out);
            out.get(1..out.len() - 1).unwrap_or_default().to_ascii_lowercase()
        });
        Ok(Self {
            filter,
            since: moment(filter.since.as_deref(), "since")?,
            until: moment(filter.until.as_deref(), "until")?,
            after,
            text,
        })
    }

    /// The row of a line that is wanted.
    fn row(&self, key: &Key, line: &[u8]) -> Option<AuditRow> {
        if let Some(text) = &self.text
            && !contains(line, text.as_bytes())
        {
            return None;
        }
        let record = Record::parse(line)?;
        let caller = || match record.payload()?.get("caller")? {
            Value::Object(caller) => caller.get("kind")?.as_str(),
            kind => kind.as_str(),
        };
        let detail = |name: &str| record.detail(name).map(str::to_owned);
        let row = AuditRow {
            run_id: record.text("run_id").to_owned(),
            seq: key.line,
            event_id: record.text("event_id").to_owned(),
            event_type: record.text("event_type").to_owned(),
            time: record.text("created_at").to_owned(),
            call_id: detail("call_id"),
            caller: caller().map(str::to_owned),
            server: detail("server"),
            tool: detail("tool_name").or_else(|| detail("uri")).or_else(|| detail("name")),
            decision: detail("decision"),
            rule: detail("rule"),
            payload: Raw::from_text(Value::Object(record.payload()?.clone()).canonical()).ok()?,
            line: Raw::from_text(std::str::from_utf8(line).ok()?.trim().to_owned()).ok()?,
        };
        self.matches(&row, record.detail("outcome")).then_some(row)
    }

    fn matches(&self, row: &AuditRow, outcome: Option<&str>) -> bool {
        let AuditFilter { server, tool, caller, decision, rule, run_id, call_id, .. } = self.filter;
        let is = |wanted: &Option<String>, have: Option<&str>| match wanted {
            Some(wanted) => have == Some(wanted.as_str()),
            None => true,
        };
        let failed = row.event_type.ends_with("_failed").then_some("failed");
        is(server, row.server.as_deref())
            && is(tool, row.tool.as_deref())
            && is(&caller.map(CallerKind::as_str).map(str::to_owned), row.caller.as_deref())
            && (is(decision, row.decision.as_deref()) || is(decision, outcome) || is(decision, failed))
            && is(rule, row.rule.as_deref())
            && is(run_id, Some(&row.run_id))
            && is(call_id, row.call_id.as_deref())
    }

    fn wants_run(&self, run: &str) -> bool {
        self.filter.run_id.as_deref().is_none_or(|wanted| wanted == run)
    }
}

/// RFC 3339, or a date or time of the person's own zone.
fn moment(text: Option<&str>, field: &str) -> Result<Option<Timestamp>> {
    let Some(text) = text else { return Ok(None) };
    if let Ok(time) = text.parse() {
        return Ok(Some(time));
    }
    let zone = jiff::tz::TimeZone::system();
    let local = text.parse::<jiff::civil::DateTime>().ok().and_then(|time| zone.to_timestamp(time).ok());
    match local {
        Some(time) => Ok(Some(time)),
        None => Err(Error::invalid_input(
            format!("/{field}"),
            format!("`{field}` is no time; write it as 2026-01-31T18:00:00Z, or 2026-01-31 for your own midnight"),
        )),
    }
}

/// Whether `needle`, in lower case, is in `line`, in any case.
fn contains(line: &[u8], needle: &[u8]) -> bool {
    needle.is_empty() || line.windows(needle.len()).any(|window| window.eq_ignore_ascii_case(needle))
}

/// All files, merged.
struct Stream {
    /// Those that were not needed yet, the one changed last at the end.
    closed: Vec<(SystemTime, PathBuf, String)>,
    /// The newest record of each open file that has one left.
    open: BinaryHeap<Next>,
}

/// A file's newest record that was not given out.
struct Next {
    key: Key,
    line: Vec<u8>,
    tail: Tail,
}

impl PartialEq for Next {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Next {}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Next {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl Stream {
    fn open(folder: &Path, wanted: &Wanted<'_>) -> io::Result<Self> {
        let mut closed = Vec::new();
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { closed, open: BinaryHeap::new() });
            }
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let Some((run, _)) = parse_name(name) else { continue };
            let metadata = entry.metadata()?;
            if run != LIST && wanted.wants_run(run) && metadata.is_file() {
                closed.push((metadata.modified()?, entry.path(), name.to_owned()));
            }
        }
        closed.sort();
        Ok(Self { closed, open: BinaryHeap::new() })
    }

    /// The newest record that is left.
    fn next(&mut self) -> io::Result<Option<(Key, Vec<u8>)>> {
        // A file's newest record is no newer than its last change, so older files can wait.
        while let Some((modified, path, name)) = self.closed.last() {
            let modified = Timestamp::try_from(*modified).unwrap_or(Timestamp::MAX);
            if self.open.peek().is_some_and(|next| next.key.time > modified) {
                break;
            }
            let tail = Tail::open(path, name.clone());
            self.closed.pop();
            match tail {
                Ok(tail) => self.push(tail)?,
                // Somebody moved it away meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let Some(Next { key, line, tail }) = self.open.pop() else { return Ok(None) };
        self.push(tail)?;
        Ok(Some((key, line)))
    }

    fn push(&mut self, mut tail: Tail) -> io::Result<()> {
        if let Some((key, line)) = tail.next()? {
            self.open.push(Next { key, line, tail });
        }
        Ok(())
    }

    fn has_more(&self) -> bool {
        !self.open.is_empty() || !self.closed.is_empty()
    }
}

/// One file, read backwards.
struct Tail {
    file: File,
    name: String,
    /// Everything from here on was read.
    start: u64,
    /// What was read and not given out.
    block: Vec<u8>,
    /// The number of the line that comes next, in its run.
    line: u64,
    /// The time of the line given out last.
    time: Timestamp,
}

impl Tail {
    fn open(path: &Path, name: String) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let (mut lines, mut last) = (0, 0);
        let mut first = Vec::new();
        let mut buffer = vec![0; BLOCK as usize];
        let mut left = (&mut file).take(length);
        loop {
            let read = left.read(&mut buffer)?;
            let Some(block) = buffer.get(..read).filter(|block| !block.is_empty()) else { break };
            if lines == 0 && first.len() < LONGEST_LINE as usize {
                first.extend_from_slice(block.split(|byte| *byte == b'\n').next().unwrap_or_default());
            }
            lines += block.iter().filter(|byte| **byte == b'\n').count() as u64;
            last = block.last().copied().unwrap_or(last);
        }
        // A rotated file says with which number it goes on.
        let offset = match parse_name(&name) {
            Some((_, part)) if part > 1 => {
                Record::parse(&first).and_then(|record| record.number("seq")).map_or(0, |seq| seq.saturating_sub(1))
            }
            _ => 0,
        };
        if last != b'\n' && length > 0 {
            lines += 1;
        }
        Ok(Self { file, name, start: length, block: Vec::new(), line: offset + lines, time: Timestamp::MAX })
    }

    /// The line before.
    fn next(&mut self) -> io::Result<Option<(Key, Vec<u8>)>> {
        loop {
            // The newline at the end belongs to the last line.
            let body = self.block.len().saturating_sub(usize::from(self.block.last() == Some(&b'\n')));
            let begin = self.block.get(..body).unwrap_or_default().iter().rposition(|byte| *byte == b'\n');
            if begin.is_none() && self.start > 0 {
                self.read_more()?;
                continue;
            }
            let line = self.block.split_off(begin.map_or(0, |begin| begin + 1));
            if line.is_empty() {
                return Ok(None);
            }
            let number = self.line;
            self.line = self.line.saturating_sub(1);
            if let Some(time) = created_at(&line) {
                self.time = self.time.min(time);
                return Ok(Some((Key { time: self.time, file: self.name.clone(), line: number }, line)));
            }
        }
    }

    fn read_more(&mut self) -> io::Result<()> {
        // Doubling keeps a long line linear; what is longer than any of ours is given up on.
        let size = BLOCK.max(self.block.len() as u64).min(self.start);
        if self.block.len() as u64 > LONGEST_LINE {
            self.block.clear();
        }
        self.start -= size;
        self.file.seek(SeekFrom::Start(self.start))?;
        let mut block = Vec::with_capacity(size as usize + self.block.len());
        (&mut self.file).take(size).read_to_end(&mut block)?;
        block.extend_from_slice(&self.block);
        self.block = block;
        Ok(())
    }
}

/// A line's time, without reading all of it: it stands before everything foreign.
fn created_at(line: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(line).ok()?;
    let (_, after) = text.split_once("\"created_at\"")?;
    let time = after.trim_start_matches([':', ' ']).strip_prefix('"')?;
    time.split('"').next()?.parse().ok()
}
