//! `mcp-host audit`: reading, exporting and verifying the log.

use std::{
    fmt::Write as _,
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    path::PathBuf,
};

use clap::{Args, Subcommand};
use mcp_host_core::model::{
    CallerKind, Raw,
    admin::{AuditFilter, AuditRow},
};

use crate::{
    app::App,
    failure::{DONE, FAILED, Result, invalid},
    input,
    output::{self, Table},
    text,
};

/// Records that are shown unless told otherwise.
const DEFAULT_LIMIT: usize = 200;
/// Records asked for at once.
const PAGE: u32 = 500;

/// `mcp-host audit`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host audit
  mcp-host audit list --server files --since 2h
  mcp-host audit show host-5f2c9f0a
  mcp-host audit verify --ci")]
pub(crate) struct Audit {
    #[command(subcommand)]
    command: Option<AuditCommand>,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// List the latest records, oldest first (what `audit` alone does)
    List(List),
    /// Show every record of a run, a call or an event
    Show(Show),
    /// Verify that the log is whole and unchanged
    Verify(Verify),
    /// Write records as they stand in the log, one JSON document a line
    Export(Export),
}

#[derive(Args, Debug, Default)]
struct Filter {
    /// Of this server
    #[arg(long, value_name = "SERVER")]
    server: Option<String>,
    /// Of this tool
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,
    /// Of this kind of caller
    #[arg(long, value_name = "CALLER", value_parser = caller)]
    caller: Option<CallerKind>,
    /// With this decision (allowed, denied, failed…)
    #[arg(long, value_name = "DECISION")]
    decision: Option<String>,
    /// Decided by this rule
    #[arg(long, value_name = "RULE")]
    rule: Option<String>,
    /// With this text anywhere
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// From this moment on: 2026-01-31, 2026-01-31T18:00 (local), RFC 3339, or 2h ago
    #[arg(long, value_name = "WHEN", value_parser = input::moment)]
    since: Option<String>,
    /// Before this moment
    #[arg(long, value_name = "WHEN", value_parser = input::moment)]
    until: Option<String>,
}

#[derive(Args, Debug, Default)]
#[command(after_help = "\
Examples:
  mcp-host audit list
  mcp-host audit list --decision denied --since 2026-01-31 --json
  mcp-host audit list --rule needs-approval --caller page --limit 20")]
struct List {
    #[command(flatten)]
    filter: Filter,
    /// At most so many records, the latest
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT)]
    limit: usize,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host audit show host-5f2c9f0a
  mcp-host audit show 5f2c9f0a0d6e4b7f8a1b2c3d4e5f6071 --json")]
struct Show {
    /// The id of a run (host-…, mcp-…), a call or an event
    id: String,
    #[command(flatten)]
    filter: Filter,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host audit verify
  mcp-host audit verify host-5f2c9f0a --ci
  mcp-host audit verify --path chain.jsonl --json

Exit status: 0 valid, or invalid without --ci · 1 invalid, with --ci · 2 usage.")]
struct Verify {
    /// This run; else every run and the list of runs
    run: Option<String>,
    /// This file, wherever it comes from
    #[arg(long, value_name = "FILE")]
    path: Option<PathBuf>,
    /// Exit 1 if anything is invalid
    #[arg(long)]
    ci: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host audit export > log.jsonl
  mcp-host audit export host-5f2c9f0a -o run.jsonl
  mcp-host audit export --server files --since 30d -o files.jsonl

A run that is exported whole can be verified by itself: `audit verify --path`.")]
struct Export {
    /// Of this run
    run: Option<String>,
    #[command(flatten)]
    filter: Filter,
    /// Write into this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn caller(text: &str) -> std::result::Result<CallerKind, String> {
    CallerKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == text)
        .ok_or_else(|| format!("`{text}` is no kind of caller; there are page, agent, serve, cli, settings"))
}

impl From<Filter> for AuditFilter {
    fn from(filter: Filter) -> Self {
        let Filter { server, tool, caller, decision, rule, text, since, until } = filter;
        Self { server, tool, caller, decision, rule, text, since, until, ..Self::default() }
    }
}

/// `mcp-host audit`.
pub(crate) async fn run(app: &App, audit: Audit) -> Result {
    match audit.command {
        None => show_lines(app, AuditFilter::default(), |_| true, Some(DEFAULT_LIMIT)).await,
        Some(AuditCommand::List(list)) => show_lines(app, list.filter.into(), |_| true, Some(list.limit)).await,
        Some(AuditCommand::Show(show)) => self::show(app, show).await,
        Some(AuditCommand::Verify(verify)) => self::verify(app, verify).await,
        Some(AuditCommand::Export(export)) => self::export(app, export).await,
    }
}

/// Reads the log page by page, newest first, until `see` has seen enough. Whether there is more.
async fn pages(app: &App, mut filter: AuditFilter, mut see: impl FnMut(Vec<AuditRow>) -> Result<bool>) -> Result<bool> {
    let admin = app.admin().await?;
    filter.limit = Some(PAGE);
    loop {
        let page = app.until_interrupted("reading the log", admin.audit(filter.clone())).await?;
        let goes_on = see(page.rows)?;
        match page.next_cursor {
            Some(cursor) if goes_on => filter.cursor = Some(cursor),
            next => return Ok(next.is_some()),
        }
    }
}

/// The latest `limit` records that `filter` and `wanted` let through, oldest first, and whether there are more.
async fn records(
    app: &App,
    filter: AuditFilter,
    wanted: impl Fn(&str) -> bool,
    limit: Option<usize>,
) -> Result<(Vec<AuditRow>, bool)> {
    let limit = limit.unwrap_or(usize::MAX);
    let mut rows: Vec<AuditRow> = Vec::new();
    let more = pages(app, filter, |page| {
        rows.extend(page.into_iter().filter(|row| wanted(&row.event_type)));
        Ok(rows.len() <= limit)
    });
    let more = more.await? || rows.len() > limit;
    rows.truncate(limit);
    rows.reverse();
    Ok((rows, more))
}

/// Shows records as a table, or as the list of their lines.
pub(crate) async fn show_lines(
    app: &App,
    filter: AuditFilter,
    wanted: impl Fn(&str) -> bool,
    limit: Option<usize>,
) -> Result {
    let (rows, more) = records(app, filter, wanted, limit).await?;
    if rows.is_empty() {
        app.output().note("no such records");
    }
    let lines: Vec<&Raw> = rows.iter().map(|row| &row.line).collect();
    app.output().show(&lines, |output| match rows.is_empty() {
        true => String::new(),
        false => table(&rows).render(output),
    })?;
    if more {
        app.output().note("note: there are older records; see more with `--limit`, or all with `audit export`");
    }
    Ok(DONE)
}

fn table(rows: &[AuditRow]) -> Table<7> {
    let mut table = Table::new(["TIME", "EVENT", "CALLER", "SERVER", "TOOL", "DECISION", "RULE"]);
    for row in rows {
        let or_blank = |text: &Option<String>| text.clone().unwrap_or_default();
        table.row([
            &text::local(&row.time),
            &row.event_type,
            &or_blank(&row.caller),
            &or_blank(&row.server),
            &or_blank(&row.tool),
            &or_blank(&row.decision),
            &or_blank(&row.rule),
        ]);
    }
    table
}

async fn show(app: &App, show: Show) -> Result {
    let filter = AuditFilter::from(show.filter);
    let is_run = show.id.starts_with("host-") || show.id.starts_with("mcp-");
    let filter = match is_run {
        true => AuditFilter { run_id: Some(show.id.clone()), ..filter },
        false => AuditFilter { call_id: Some(show.id.clone()), ..filter },
    };
    let (mut rows, _) = records(app, filter.clone(), |_| true, None).await?;
    if rows.is_empty() && !is_run {
        let filter = AuditFilter { call_id: None, text: Some(show.id.clone()), ..filter };
        let (found, _) = records(app, filter, |_| true, None).await?;
        rows = found.into_iter().filter(|row| row.event_id == show.id).collect();
    }
    if rows.is_empty() {
        return Err(invalid(format!("the log knows no run, call or event `{}`", show.id)));
    }
    let lines: Vec<&Raw> = rows.iter().map(|row| &row.line).collect();
    app.output().show(&lines, |_| {
        let mut words = String::new();
        for row in &rows {
            let _ = writeln!(words, "{} {} ({} line {})", row.time, row.event_type, row.run_id, row.seq);
            let payload =
                row.payload.decode::<serde_json::Value>().and_then(|value| serde_json::to_string_pretty(&value));
            for line in payload.unwrap_or_else(|_| row.payload.as_str().to_owned()).lines() {
                let _ = writeln!(words, "  {}", text::line(line));
            }
        }
        words
    })?;
    Ok(DONE)
}

async fn export(app: &App, export: Export) -> Result {
    let filter = AuditFilter { run_id: export.run, ..export.filter.into() };
    let mut spool = Spool::new()?;
    pages(app, filter, |rows| spool.push(&rows)).await?;
    let count = spool.records;
    match &export.output {
        None => spool.write_to(&mut output::Stdout, app.output().json())?,
        Some(path) => {
            std::fs::File::create(path)
                .and_then(|mut file| spool.write_to(&mut file, app.output().json()))
                .map_err(|error| invalid(format!("`--output`: cannot write `{}`: {error}", path.display())))?;
            if app.output().json() {
                let report = serde_json::json!({ "output": path.to_string_lossy(), "records": count });
                app.output().document(&report)?;
            } else {
                app.output().note(&format!("{count} records written to {}", text::line(&path.to_string_lossy())));
            }
        }
    }
    Ok(DONE)
}

/// Turns pages that come newest first into lines oldest first, in a file without a name: a log may be larger than memory.
struct Spool {
    file: std::fs::File,
    /// Where each page begins, and how long it is; the newest first.
    pages: Vec<(u64, u64)>,
    end: u64,
    records: usize,
}

impl Spool {
    fn new() -> io::Result<Self> {
        Ok(Self { file: tempfile::tempfile()?, pages: Vec::new(), end: 0, records: 0 })
    }

    fn push(&mut self, rows: &[AuditRow]) -> Result<bool> {
        let mut page = String::new();
        for row in rows.iter().rev() {
            page.push_str(row.line.as_str());
            page.push('\n');
        }
        self.file.write_all(page.as_bytes())?;
        self.pages.push((self.end, page.len() as u64));
        self.end += page.len() as u64;
        self.records += rows.len();
        Ok(true)
    }

    /// The lines, or one JSON document of them.
    fn write_to(mut self, out: &mut impl io::Write, as_json: bool) -> io::Result<()> {
        let mut first = true;
        if as_json {
            out.write_all(b"[")?;
        }
        for (begin, length) in self.pages.into_iter().rev() {
            self.file.seek(SeekFrom::Start(begin))?;
            let mut page = (&mut self.file).take(length);
            if !as_json {
                io::copy(&mut page, out)?;
                continue;
            }
            for line in BufReader::new(page).lines() {
                if !std::mem::take(&mut first) {
                    out.write_all(b",")?;
                }
                out.write_all(line?.as_bytes())?;
            }
        }
        out.write_all(if as_json { b"]\n" } else { b"" })?;
        out.flush()
    }
}

async fn verify(app: &App, verify: Verify) -> Result {
    if verify.run.is_some() && verify.path.is_some() {
        return Err(invalid("give a run or `--path`, not both"));
    }
    let admin = app.admin().await?;
    let work = admin.verify_audit(verify.run.as_deref(), verify.path.as_deref());
    let report = app.until_interrupted("the verification", work).await?;
    let valid = report.get("valid").and_then(serde_json::Value::as_bool).unwrap_or(false);
    app.output().show(&report, |_| explain(&report, valid))?;
    Ok(if valid || !verify.ci { DONE } else { FAILED })
}

/// The report of audit.md in words.
fn explain(report: &serde_json::Value, valid: bool) -> String {
    let mut words = String::new();
    let text_of = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text::line(text),
        other => text::line(&other.to_string()),
    };
    let list =
        |value: Option<&serde_json::Value>| value.and_then(|value| value.as_array()).cloned().unwrap_or_default();
    for run in list(report.get("runs")) {
        let field = |name: &str| run.get(name).map(text_of).unwrap_or_default();
        let failures = list(run.get("failures"));
        let unclean = run.get("unclean").and_then(serde_json::Value::as_bool).unwrap_or(false);
        let state = match (failures.is_empty(), unclean) {
            (false, _) => "INVALID",
            (true, true) => "valid, ended uncleanly",
            (true, false) => "valid",
        };
        let _ = writeln!(words, "{}: {state}, {} events", field("runId"), field("events"));
        for failure in failures {
            let field = |name: &str| failure.get(name).map(text_of).unwrap_or_default();
            let _ = writeln!(words, "  line {}: {}", field("line"), field("kind"));
        }
        for warning in list(run.get("warnings")) {
            let field = |name: &str| warning.get(name).map(text_of).unwrap_or_default();
            let _ = writeln!(words, "  line {}: warning: {}", field("line"), field("kind"));
        }
    }
    if report.get("keyed").and_then(serde_json::Value::as_bool) == Some(false) {
        words.push_str("note: judged by the chain alone; there is no key for it\n");
    }
    words.push_str(match (valid, list(report.get("runs")).is_empty()) {
        (true, _) => "valid\n",
        (false, true) => "INVALID: there is no log, and what is not there cannot be verified\n",
        (false, false) => "INVALID\n",
    });
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_names_each_failure_and_its_line() {
        assert!(explain(&json!({ "valid": false, "keyed": false, "runs": [] }), false).contains("no log"));
        let report = json!({ "valid": false, "keyed": true, "runs": [
            { "runId": "host-1", "events": 3, "unclean": true, "failures": [], "warnings": [{ "kind": "timestamp_regression", "line": 3 }] },
            { "runId": "host-2", "events": 2, "unclean": false, "failures": [{ "kind": "hash_mismatch", "line": 2 }], "warnings": [] },
        ]});
        let words = explain(&report, false);
        assert!(words.contains("host-1: valid, ended uncleanly, 3 events\n  line 3: warning"), "{words}");
        assert!(words.contains("host-2: INVALID, 2 events\n  line 2: hash_mismatch"), "{words}");
        assert!(words.ends_with("\nINVALID\n"), "{words}");
    }
}
