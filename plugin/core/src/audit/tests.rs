//! The log as a whole: what is in it, what becomes of it, what is noticed when somebody touches it.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use proptest::prelude::*;

use super::{
    query,
    verify::{Finding, FindingKind, Report, Target, verify},
    *,
};
use crate::{
    clock::SystemClock,
    error::{Error, ErrorCode},
    model::{CallId, Caller, CallerKind, Raw, ServerId, admin::AuditFilter, json},
    store::{Folders, MasterKey},
};

struct Place {
    _outer: tempfile::TempDir,
    folders: Folders,
    key: MasterKey,
}

impl Place {
    fn new() -> Self {
        let outer = tempfile::tempdir().unwrap();
        let folders = Folders::at(&outer.path().join("host")).unwrap();
        let key = MasterKey::open(&folders).unwrap();
        Self { _outer: outer, folders, key }
    }

    fn log(&self, origin: Origin) -> AuditLog {
        self.rotating(origin, u64::MAX)
    }

    fn rotating(&self, origin: Origin, rotate_at: u64) -> AuditLog {
        AuditLog::with_rotation(self.options(origin, false), rotate_at)
    }

    fn options(&self, origin: Origin, full: bool) -> AuditOptions {
        AuditOptions {
            folders: self.folders.clone(),
            key: self.key.clone(),
            clock: SystemClock::shared(),
            origin,
            transport: "stdio".to_owned(),
            mode: "prompt".to_owned(),
            full,
        }
    }

    fn audit(&self) -> PathBuf {
        self.folders.audit()
    }

    /// The file names, sorted.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = match fs::read_dir(self.audit()) {
            Ok(entries) => entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect(),
            Err(_) => Vec::new(),
        };
        names.sort();
        names
    }

    /// The one log there is.
    fn only(&self) -> PathBuf {
        let logs: Vec<_> =
            self.names().into_iter().filter(|name| name.ends_with(".jsonl") && name != "runs.jsonl").collect();
        assert_eq!(logs.len(), 1, "{logs:?}");
        self.audit().join(&logs[0])
    }

    fn verify(&self) -> Report {
        verify(&self.folders, Some(&self.key), Target::All).unwrap()
    }
}

fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn types(path: &Path) -> Vec<String> {
    lines(path).iter().map(|line| line["event_type"].as_str().unwrap().to_owned()).collect()
}

fn kinds(report: &Report) -> Vec<FindingKind> {
    report.runs.iter().flat_map(|run| &run.failures).map(|failure| failure.kind).collect()
}

fn files() -> ServerId {
    ServerId::parse("files").unwrap()
}

fn ask(log: &AuditLog, text: &str) -> Result<Requested, Error> {
    let json::Value::Object(arguments) = json::parse(text.as_bytes(), json::Limits::ARGUMENTS).unwrap() else {
        panic!()
    };
    let server = files();
    let subject =
        Subject::Call { server: &server, tool: "write", arguments: Some(&arguments), definition_hash: Some("abc") };
    log.requested(&CallId::random().unwrap(), &Caller::Cli, subject, Some(&"5".repeat(64)))
}

fn denied() -> Error {
    Error::PolicyDenied {
        server: Some(files()),
        rule: "needs-approval".to_owned(),
        message: format!("no; allow it by --approve-scoped write:{}", "5".repeat(64)),
        digest: Some("5".repeat(64)),
    }
}

/// One run with a denied and an allowed call.
async fn run(place: &Place) -> String {
    let log = place.log(Origin::App);
    let _ = ask(&log, "{}").unwrap().blocked(Refusal::Denied, "needs-approval", &denied()).unwrap();
    let sent = ask(&log, r#"{"path":"a"}"#).unwrap().started("mode-allow", false).await.unwrap();
    let _ = sent.completed(Completed::default()).unwrap();
    let run_id = log.run_id().unwrap();
    log.close().unwrap();
    run_id
}

/// The folder as a SIGKILL at this moment would leave it: same bytes, and nobody holds a lock.
fn killed(place: &Place) -> Place {
    let outer = tempfile::tempdir().unwrap();
    let folders = Folders::at(&outer.path().join("host")).unwrap();
    folders.prepare().unwrap();
    fs::create_dir(folders.audit()).unwrap();
    fs::copy(place.folders.config().join("key"), folders.config().join("key")).unwrap();
    for name in place.names() {
        fs::copy(place.audit().join(&name), folders.audit().join(&name)).unwrap();
    }
    Place { _outer: outer, folders, key: place.key.clone() }
}

#[test]
fn one_denied_call_gives_exactly_four_records() {
    let place = Place::new();
    let log = place.log(Origin::Serve);
    log.start().unwrap();
    let requested = ask(&log, r#"{"path":"a.txt","content":"hello"}"#).unwrap();
    assert_eq!(requested.receipt().seq, 2);
    let receipt = requested.blocked(Refusal::Denied, "needs-approval", &denied()).unwrap();
    drop(log);
    let path = place.only();
    assert_eq!(types(&path), ["run_started", "tool_call_requested", "tool_call_blocked", "run_completed"]);
    let lines = lines(&path);
    assert_eq!(lines[0]["payload"]["origin"], "mcp");
    assert_eq!(lines[0]["payload"]["key_id"], place.key.id());
    assert!(lines[0]["run_id"].as_str().unwrap().starts_with("mcp-"));
    assert_eq!(lines[1]["payload"]["arguments"]["content"], "[redacted] (5 bytes)");
    assert_eq!(lines[1]["payload"]["arguments"]["path"], "a.txt");
    assert_eq!(lines[1]["payload"]["caller"]["kind"], "cli");
    assert_eq!(lines[2]["payload"]["rule"], "needs-approval");
    assert_eq!(lines[2]["payload"]["decision"], "denied");
    assert_eq!(lines[2]["event_id"], receipt.event_id.as_str());
    assert_eq!(receipt.seq, 3);
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains(&"5".repeat(64)), "the plain digest is for the one denied");

    let report = place.verify();
    assert!(report.valid && report.keyed);
    assert_eq!(report.runs.len(), 1);
    assert_eq!((report.runs[0].events, report.runs[0].unclean), (4, false));
    assert_eq!(
        serde_json::to_value(&report).unwrap()["runs"][0],
        serde_json::json!({
            "runId": receipt.run_id, "events": 4, "unclean": false, "failures": [], "warnings": []
        })
    );
    let left: Vec<_> = place.names().into_iter().filter(|name| !name.starts_with("runs.")).collect();
    assert_eq!(left, [format!("{}.jsonl", receipt.run_id)], "nothing is left beside the log");
}

#[test]
fn a_command_that_only_reads_leaves_no_log() {
    let place = Place::new();
    drop(place.log(Origin::Cli));
    assert!(!place.audit().exists());
    let report = place.verify();
    assert!(!report.valid, "no log is not a valid log");
    assert!(query::page(&place.folders, &AuditFilter::default()).unwrap().rows.is_empty());
}

#[cfg(unix)]
#[tokio::test]
async fn everything_in_the_folder_is_the_persons_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let log = place.log(Origin::App);
    let _sent = ask(&log, "{}").unwrap().started("mode-allow", false).await.unwrap();
    assert!(place.names().len() >= 6, "{:?}", place.names());
    for name in place.names() {
        let mode = fs::metadata(place.audit().join(&name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{name}");
        assert!(!name.starts_with('.'));
    }
    assert_eq!(fs::metadata(place.audit()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn a_call_is_written_in_its_order_and_its_intent_is_synced_before_it_may_be_sent() {
    let place = Place::new();
    let log = place.log(Origin::App);
    let requested = ask(&log, "{}").unwrap();
    requested.shown("aa").unwrap();
    requested.answered("allow-once", Duration::from_millis(7)).unwrap();
    let sent = requested.started("answer:allow-once", false).await.unwrap();
    let run_id = log.run_id().unwrap();
    let anchor = anchor::Anchor::read(&run_list::head_path(&place.audit(), &run_id), &place.key).unwrap();
    let anchor::Found::Head(head) = anchor else { panic!("{anchor:?}") };
    assert!(head.count >= sent.receipt().seq, "the intent is on the disk, and the anchor says so");
    let raw = Raw::from_text(r#"{"accounts":[1],"stdout":"abc","token":"0123456789"}"#.to_owned()).unwrap();
    let content = [crate::model::ContentBlock::Text { text: "hello".to_owned(), annotations: None }];
    let completed = Completed {
        is_error: false,
        bytes: 99,
        duration: Duration::from_millis(12),
        content: &content,
        structured: Some(&raw),
    };
    let _ = sent.completed(completed).unwrap();
    log.close().unwrap();
    let path = place.only();
    assert_eq!(
        types(&path),
        [
            "run_started",
            "tool_call_requested",
            "approval_shown",
            "approval_answered",
            "tool_call_started",
            "tool_call_completed",
            "run_completed"
        ]
    );
    let lines = lines(&path);
    let ids: Vec<_> = lines[1..6].iter().map(|line| &line["payload"]["call_id"]).collect();
    assert!(ids.iter().all(|id| *id == ids[0]));
    let end = &lines[5]["payload"];
    assert_eq!((&end["rule"], &end["decision"]), (&"answer:allow-once".into(), &"allowed".into()));
    assert_eq!((&end["is_error"], &end["result_bytes"], &end["duration_ms"]), (&false.into(), &99.into(), &12.into()));
    assert_eq!(
        end["result"],
        serde_json::json!({
            "blocks": {"text": 1},
            "structured": {"accounts": [1], "stdout": "[redacted] (3 bytes)", "token": "[redacted]"}
        })
    );
    assert!(place.verify().valid);
}

#[tokio::test]
async fn what_is_dropped_on_the_way_has_exactly_one_outcome() {
    let place = Place::new();
    let log = place.log(Origin::App);
    drop(ask(&log, "{}").unwrap());
    drop(ask(&log, "{}").unwrap().started("mode-allow", true).await.unwrap());
    // Cancelled while the disk is waited for.
    let waiting = ask(&log, "{}").unwrap().started("mode-allow", false);
    tokio::select! {
        biased;
        _ = waiting => {}
        () = std::future::ready(()) => {}
    }
    // Still open when the run ends.
    let open = ask(&log, "{}").unwrap().started("mode-allow", true).await.unwrap();
    let asked = ask(&log, "{}").unwrap();
    log.close().unwrap();
    assert_eq!(open.completed(Completed::default()).unwrap_err().code(), ErrorCode::AuditUnavailable);
    drop(asked);
    drop(log);

    let lines = lines(&place.only());
    let mut outcomes = std::collections::BTreeMap::<String, Vec<String>>::new();
    for line in &lines {
        let Some(call) = line["payload"]["call_id"].as_str() else { continue };
        let payload = &line["payload"];
        let word = payload["outcome"].as_str().or_else(|| payload["rule"].as_str()).unwrap_or("-");
        let kind = line["event_type"].as_str().unwrap().replace("tool_call_", "");
        outcomes.entry(call.to_owned()).or_default().push(format!("{kind} {word}"));
    }
    let mut outcomes: Vec<String> = outcomes.into_values().map(|steps| steps.join(", ")).collect();
    outcomes.sort();
    assert_eq!(
        outcomes,
        [
            "requested -, blocked abandoned",
            "requested -, blocked abandoned",
            "requested -, started mode-allow, failed not_sent",
            "requested -, started mode-allow, failed unknown",
            "requested -, started mode-allow, failed unknown",
        ]
    );
    assert_eq!(types(&place.only()).last().unwrap(), "run_completed");
    assert!(place.verify().valid);
}

#[tokio::test]
async fn a_failed_call_says_whether_it_may_have_happened() {
    let place = Place::new();
    let log = place.log(Origin::App);
    let server = files();
    let what = || "write".to_owned();
    let cases = [
        (Error::CallOutcomeUnknown { server: server.clone(), what: what(), exit_code: Some(1) }, "unknown"),
        (Error::Timeout { server: None, what: what(), after_ms: 5, sent: true }, "unknown"),
        (Error::Timeout { server: None, what: what(), after_ms: 5, sent: false }, "not_sent"),
        (Error::Cancelled { server: None, what: what(), sent: true }, "unknown"),
        (Error::ServerError { server: server.clone(), jsonrpc_code: -32000, message: what() }, "error"),
        (Error::ResultTooLarge { server, limit: 1 }, "error"),
    ];
    for (error, expected) in &cases {
        let sent = ask(&log, "{}").unwrap().started("mode-allow", true).await.unwrap();
        let _ = sent.failed(error, Duration::ZERO).unwrap();
        let last = lines(&place.only()).pop().unwrap();
        assert_eq!(last["payload"]["outcome"], *expected, "{error}");
        assert_eq!(last["payload"]["code"], error.code().as_str());
    }
}

#[tokio::test]
async fn resources_prompts_and_completions_have_their_own_names() {
    let place = Place::new();
    let log = place.log(Origin::App);
    let (server, call, caller) = (files(), CallId::random().unwrap(), Caller::Settings);
    let none = std::collections::BTreeMap::new();
    let target = crate::model::CompletionTarget::Prompt { name: "p".to_owned() };
    let subjects = [
        Subject::Read { server: &server, uri: "https://u:secret@h/x", subscribe: false },
        Subject::Prompt { server: &server, name: "p", arguments: &none },
        Subject::Complete { server: &server, target: &target, argument: ("a", "b") },
    ];
    for subject in subjects {
        let ask = || log.requested(&call, &caller, subject, None).unwrap();
        let _ = ask().started("read-only-class", true).await.unwrap().completed(Completed::default()).unwrap();
        let _ = ask().blocked(Refusal::Denied, "needs-approval", &denied()).unwrap();
        let _ =
            ask().blocked(Refusal::Failed, "not-connected", &Error::NotConnected { server: server.clone() }).unwrap();
    }
    log.close().unwrap();
    let types = types(&place.only());
    for family in ["resource", "prompt", "completion"] {
        let of: Vec<_> = types.iter().filter_map(|kind| kind.strip_prefix(&format!("{family}_"))).collect();
        assert_eq!(of, ["requested", "read", "requested", "denied", "requested", "failed"]);
    }
    assert!(!fs::read_to_string(place.only()).unwrap().contains("u:secret"));
}

#[test]
fn every_event_is_written_under_its_name_and_without_secrets() {
    let place = Place::new();
    let log = place.log(Origin::App);
    log.redactor().learn(["hunter2hunter2"]);
    let server = files();
    let change = |rule: &str| RuleChange {
        rule: rule.to_owned(),
        effect: "allow".to_owned(),
        operation: "call".to_owned(),
        server: Some(files()),
        tool_name: Some("hunter2hunter2".to_owned()),
        callers: vec![CallerKind::Page],
        scope: "always".to_owned(),
        conditions: vec!["/path is hunter2hunter2".to_owned()],
        by: CallerKind::Settings,
    };
    let events = [
        (Event::server_connecting(&server, crate::model::TransportKind::Stdio), "server_connecting"),
        (Event::server_connected(&server, "2025-11-25", None), "server_connected"),
        (Event::server_disconnected(&server, false, Some(3)), "server_disconnected"),
        (Event::server_failed(&server, &Error::config_invalid("TOKEN=hunter2hunter2")), "server_failed"),
        (Event::tools_listed(&server, 3, 2, 1, 0), "tools_listed"),
        (Event::RuleAdded(change("r1")), "rule_added"),
        (Event::SettingsOpened {}, "settings_opened"),
    ];
    for (event, name) in events {
        log.event(&event).unwrap();
        assert_eq!(types(&place.only()).last().unwrap(), name);
    }
    let lines = lines(&place.only());
    assert_eq!(lines[5]["payload"], serde_json::json!({"server":"files","count":3,"new":2,"changed":1,"gone":0}));
    assert_eq!(lines[6]["payload"]["callers"], serde_json::json!(["page"]));
    assert_eq!(lines[7]["payload"], serde_json::json!({}));
    assert!(!fs::read_to_string(place.only()).unwrap().contains("hunter2"));
}

#[test]
fn arguments_without_end_do_not_fill_the_disk() {
    let place = Place::new();
    let log = place.log(Origin::App);
    let many = (0..20_000).map(|number| format!("\"key{number}\":\"value\"")).collect::<Vec<_>>().join(",");
    drop(ask(&log, &format!("{{{many}}}")).unwrap());
    let line = &lines(&place.only())[1];
    assert!(line["payload"]["arguments"].as_str().unwrap().starts_with("[redacted] ("));
}

#[tokio::test]
async fn a_log_that_another_program_touches_takes_no_further_call() {
    for touch in [
        (|path: &Path| fs::remove_file(path).unwrap()) as fn(&Path),
        |path| fs::write(path, "").unwrap(),
        |path| {
            use std::io::Write;
            fs::OpenOptions::new().append(true).open(path).unwrap().write_all(b"{}\n").unwrap();
        },
    ] {
        let place = Place::new();
        let log = place.log(Origin::App);
        let requested = ask(&log, "{}").unwrap();
        touch(&place.only());
        assert_eq!(requested.started("mode-allow", true).await.unwrap_err().code(), ErrorCode::AuditUnavailable);
        assert_eq!(ask(&log, "{}").unwrap_err().code(), ErrorCode::AuditUnavailable);
        drop(log);
        assert!(!place.verify().valid);
    }
}

#[tokio::test]
async fn a_long_run_goes_on_in_the_next_file() {
    let place = Place::new();
    let log = place.rotating(Origin::App, 6_000);
    let mut last = 0;
    for _ in 0..20 {
        let sent = ask(&log, "{}").unwrap().started("mode-allow", true).await.unwrap();
        let receipt = sent.completed(Completed::default()).unwrap();
        assert!(receipt.seq > last);
        last = receipt.seq;
    }
    let run_id = log.run_id().unwrap();
    let report = place.verify();
    assert!(report.valid && report.runs[0].unclean, "{report:?}");
    log.close().unwrap();
    let report = place.verify();
    assert!(report.valid && report.keyed && !report.runs[0].unclean, "{report:?}");
    assert_eq!(report.runs.len(), 1);
    let second = place.audit().join(format!("{run_id}.2.jsonl"));
    let first_line = &lines(&second)[0];
    let before = lines(&place.audit().join(format!("{run_id}.jsonl")));
    assert_eq!(first_line["event_type"], "log_continued");
    assert_eq!(first_line["prev_hash"], "genesis");
    assert_eq!(first_line["payload"]["previous"]["count"], before.len());
    assert_eq!(first_line["payload"]["previous"]["head"], before.last().unwrap()["hash"]);

    let filter = AuditFilter { limit: Some(1000), ..AuditFilter::default() };
    let rows = query::page(&place.folders, &filter).unwrap().rows;
    let seqs: Vec<u64> = rows.iter().map(|row| row.seq).collect();
    let count = report.runs[0].events;
    assert_eq!(seqs, (1..=count).rev().collect::<Vec<_>>(), "one numbering through all files");

    fs::remove_file(&second).unwrap();
    assert_eq!(kinds(&place.verify()), [FindingKind::Missing]);
}

#[tokio::test]
async fn a_killed_run_is_valid_unclean_and_closed_by_the_next_start() {
    let living = Place::new();
    let log = living.log(Origin::App);
    let _sent = ask(&log, "{}").unwrap().started("mode-allow", false).await.unwrap();
    let _ = log.event(&Event::SettingsOpened {}).unwrap();
    let run_id = log.run_id().unwrap();
    let place = killed(&living);
    let path = place.audit().join(format!("{run_id}.jsonl"));
    let mut torn = fs::read(&path).unwrap();
    torn.extend_from_slice(br#"{"chain_hmac":"ab"#);
    fs::write(&path, torn).unwrap();

    let before = place.verify();
    assert!(before.valid && before.keyed && before.runs[0].unclean, "{before:?}");
    assert_eq!(before.runs[0].events, 4);

    let next = run(&place).await;
    assert!(!place.audit().join(format!("{run_id}.open")).exists());
    assert!(!place.audit().join(format!("{run_id}.head")).exists());
    let started = &lines(&place.audit().join(format!("{next}.jsonl")))[0]["payload"];
    assert_eq!(started["unclean_before"], serde_json::json!([{"run": run_id, "torn": true}]));
    let after = place.verify();
    assert!(after.valid, "{after:?}");
    assert!(after.runs.iter().any(|run| run.run_id == run_id && run.unclean && run.events == 4));

    // Its head is known now, so it cannot be cut or written to any more.
    let text = fs::read_to_string(&path).unwrap();
    let whole: Vec<&str> = text.lines().collect();
    fs::write(&path, format!("{}\n", whole[..3].join("\n"))).unwrap();
    assert_eq!(kinds(&place.verify()), [FindingKind::Truncated]);
}

#[tokio::test]
async fn a_living_run_is_left_alone_by_others_that_start() {
    let place = Place::new();
    let log = place.log(Origin::App);
    log.start().unwrap();
    run(&place).await;
    assert!(run_list::open_path(&place.audit(), &log.run_id().unwrap()).exists());
    drop(ask(&log, "{}").unwrap());
    log.close().unwrap();
    let report = place.verify();
    assert!(report.valid && report.runs.len() == 2 && report.runs.iter().all(|run| !run.unclean), "{report:?}");
}

#[tokio::test]
async fn many_calls_at_once_make_one_chain() {
    let place = Place::new();
    let log = place.log(Origin::App);
    let calls = (0..40).map(|number| {
        let log = log.clone();
        tokio::spawn(async move {
            let sent = ask(&log, "{}").unwrap().started("mode-allow", number % 2 == 0).await.unwrap();
            tokio::task::yield_now().await;
            sent.completed(Completed::default()).unwrap().seq
        })
    });
    let mut seqs = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        seqs.push(call.await.unwrap());
    }
    seqs.sort_unstable();
    seqs.dedup();
    assert_eq!(seqs.len(), 40);
    drop(log);
    let report = place.verify();
    assert!(report.valid, "{report:?}");
    assert_eq!(report.runs[0].events, 40 * 3 + 2);
}

#[tokio::test]
async fn each_kind_of_tampering_is_named_with_its_line() {
    use FindingKind::*;
    type Edit = (&'static str, fn(&mut Vec<String>), Vec<(FindingKind, u64)>);
    let edits: Vec<Edit> = vec![
        ("a value changed", |lines| lines[2] = lines[2].replace("denied", "allowd"), vec![(HashMismatch, 3)]),
        (
            "a value and its hash changed",
            |lines| {
                let changed = lines[2].replace("denied", "allowd");
                let record = record::Record::parse(changed.as_bytes()).unwrap();
                lines[2] = changed.replace(record.text("hash"), &record.computed_hash());
            },
            vec![(HmacMismatch, 3), (PrevHashMismatch, 4)],
        ),
        ("a line gone", |lines| drop(lines.remove(3)), vec![(PrevHashMismatch, 4), (Truncated, 7)]),
        (
            "two lines swapped",
            |lines| lines.swap(2, 3),
            vec![(PrevHashMismatch, 3), (PrevHashMismatch, 4), (PrevHashMismatch, 5)],
        ),
        ("the end gone", |lines| lines.truncate(3), vec![(Truncated, 4)]),
        ("no JSON", |lines| lines[4] = "oops".to_owned(), vec![(JsonParseError, 5)]),
        ("a key twice", |lines| lines[4] = lines[4].replacen('{', "{\"run_id\":\"x\",", 1), vec![(JsonParseError, 5)]),
        (
            "a blank line",
            |lines| lines.insert(4, String::new()),
            vec![(MissingFields, 5), (HashMismatch, 7), (HmacMismatch, 8)],
        ),
        ("another field", |lines| lines[4] = lines[4].replacen('{', "{\"note\":1,", 1), vec![(UnexpectedField, 5)]),
        (
            "no HMAC",
            |lines| {
                lines[4].replace_range(1..=(r#""chain_hmac":"","#.len() + 64), "");
            },
            vec![(MissingFields, 5)],
        ),
        (
            "no HMAC anywhere",
            |lines| lines.iter_mut().for_each(|line| line.replace_range(1..=(r#""chain_hmac":"","#.len() + 64), "")),
            (1..=7).map(|line| (MissingFields, line)).collect(),
        ),
        ("a line repeated", |lines| lines.push(lines[6].clone()), vec![(PrevHashMismatch, 8), (HmacMismatch, 8)]),
    ];
    for (what, edit, expected) in edits {
        let place = Place::new();
        run(&place).await;
        let path = place.only();
        let mut lines: Vec<String> = fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 7);
        edit(&mut lines);
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        let report = place.verify();
        assert!(!report.valid, "{what}");
        let found: Vec<_> = report.runs[0].failures.iter().map(|found| (found.kind, found.line)).collect();
        assert_eq!(found, expected, "{what}");
    }
}

#[tokio::test]
async fn logs_and_lists_that_vanish_or_are_cut_are_missed() {
    let make = || async {
        let place = Place::new();
        let first = run(&place).await;
        let second = run(&place).await;
        (place, first, second)
    };
    let (place, first, _) = make().await;
    fs::remove_file(place.audit().join(format!("{first}.jsonl"))).unwrap();
    let report = place.verify();
    assert_eq!(kinds(&report), [FindingKind::Missing]);
    assert!(report.runs.iter().any(|run| run.run_id == first && run.events == 0));
    let only = verify(&place.folders, Some(&place.key), Target::Run(&first)).unwrap();
    assert!(!only.valid);

    // The log and its lines in the list.
    let (place, _, second) = make().await;
    let list = place.audit().join("runs.jsonl");
    let text = fs::read_to_string(&list).unwrap();
    assert_eq!(text.lines().count(), 4);
    let kept: Vec<&str> = text.lines().take(2).collect();
    fs::write(&list, kept.join("\n") + "\n").unwrap();
    fs::remove_file(place.audit().join(format!("{second}.jsonl"))).unwrap();
    let report = place.verify();
    assert_eq!(report.runs.last().unwrap().run_id, "runs");
    assert_eq!(kinds(&report), [FindingKind::Truncated]);
    // The next run writes on, and the break stays.
    run(&place).await;
    assert!(kinds(&place.verify()).contains(&FindingKind::PrevHashMismatch));

    // The list's anchor too.
    let (place, _, _) = make().await;
    fs::remove_file(place.audit().join("runs.head")).unwrap();
    assert_eq!(kinds(&place.verify()), [FindingKind::Truncated]);
    run(&place).await;
    assert_eq!(kinds(&place.verify()), [FindingKind::Truncated], "the list says that it stood without one");

    // The whole list.
    let (place, _, _) = make().await;
    for name in ["runs.jsonl", "runs.head"] {
        fs::remove_file(place.audit().join(name)).unwrap();
    }
    assert_eq!(kinds(&place.verify()), [FindingKind::Missing, FindingKind::Missing]);
}

#[tokio::test]
async fn a_running_log_cut_behind_its_anchor_is_noticed() {
    let living = Place::new();
    let log = living.log(Origin::App);
    let _sent = ask(&log, "{}").unwrap().started("mode-allow", false).await.unwrap();
    let run_id = log.run_id().unwrap();

    let place = killed(&living);
    let path = place.audit().join(format!("{run_id}.jsonl"));
    let text = fs::read_to_string(&path).unwrap();
    let two: Vec<&str> = text.lines().take(2).collect();
    fs::write(&path, two.join("\n") + "\n").unwrap();
    assert_eq!(kinds(&place.verify()), [FindingKind::Truncated]);
    run(&place).await;
    assert_eq!(kinds(&place.verify()), [FindingKind::Truncated], "also after the next start");

    let place = killed(&living);
    fs::remove_file(place.audit().join(format!("{run_id}.head"))).unwrap();
    assert_eq!(kinds(&place.verify()), [FindingKind::Truncated]);
    run(&place).await;
    assert_eq!(kinds(&place.verify()), [FindingKind::Truncated]);
}

#[tokio::test]
async fn without_the_key_the_chain_alone_is_judged_and_that_is_said() {
    let place = Place::new();
    let run_id = run(&place).await;
    for key in [None, Some(MasterKey::for_tests(9))] {
        let report = verify(&place.folders, key.as_ref(), Target::Run(&run_id)).unwrap();
        assert!(report.valid && !report.keyed, "{report:?}");
        assert_eq!(report.runs[0].warnings, [Finding { kind: FindingKind::NotKeyed, line: 0 }]);
    }
    let path = place.only();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("denied", "allowd", 1)).unwrap();
    assert!(!verify(&place.folders, None, Target::All).unwrap().valid);
}

#[tokio::test]
async fn a_copy_elsewhere_is_judged_by_what_the_list_knows() {
    let place = Place::new();
    run(&place).await;
    let copy = place.folders.state().join("copy.jsonl");
    fs::copy(place.only(), &copy).unwrap();
    let judge = || verify(&place.folders, Some(&place.key), Target::File(&copy)).unwrap();
    assert!(judge().valid && judge().keyed);
    let text = fs::read_to_string(&copy).unwrap();
    let some: Vec<&str> = text.lines().take(4).collect();
    fs::write(&copy, some.join("\n") + "\n").unwrap();
    assert_eq!(kinds(&judge()), [FindingKind::Truncated]);
    fs::write(&copy, "").unwrap();
    assert_eq!(kinds(&judge()), [FindingKind::Missing]);
    let absent = place.folders.state().join("absent.jsonl");
    assert!(!verify(&place.folders, Some(&place.key), Target::File(&absent)).unwrap().valid);
    assert!(verify(&place.folders, None, Target::Run("../x")).is_err());
    assert!(!verify(&place.folders, None, Target::Run("host-unknown")).unwrap().valid);
}

#[test]
fn teaagents_own_format_is_judged_by_its_chain() {
    let vector = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/chain.jsonl");
    let place = Place::new();
    let judge = |path: &Path| verify(&place.folders, Some(&place.key), Target::File(path)).unwrap();
    let report = judge(&vector);
    assert!(report.valid && !report.keyed, "{report:?}");
    assert_eq!((report.runs[0].run_id.as_str(), report.runs[0].events), ("mcp-0123", 3));

    let text = fs::read_to_string(&vector).unwrap();
    let path = place.folders.state().join("chain.jsonl");
    fs::write(&path, text.trim_end()).unwrap();
    assert!(judge(&path).valid, "its last line needs no newline");
    fs::write(&path, text.replace("0.0", "0.1")).unwrap();
    assert_eq!(report_of(&judge(&path)), [(FindingKind::HashMismatch, 3)]);
    fs::write(&path, text.replace("\"run_started\"", "\"run_begun\"")).unwrap();
    assert_eq!(report_of(&judge(&path)), [(FindingKind::HashMismatch, 1)]);
    // One line with an HMAC, and the others miss theirs.
    fs::write(&path, text.replacen("{", "{\"chain_hmac\": \"00\", ", 1)).unwrap();
    assert_eq!(report_of(&judge(&path)), [(FindingKind::MissingFields, 2), (FindingKind::MissingFields, 3)]);
    fs::write(&path, text.replacen("00:00:01", "00:00:03", 1)).unwrap();
    assert!(judge(&path).runs[0].warnings.iter().any(|found| found.kind == FindingKind::TimestampRegression));
}

fn report_of(report: &Report) -> Vec<(FindingKind, u64)> {
    report.runs[0].failures.iter().map(|found| (found.kind, found.line)).collect()
}

#[tokio::test]
async fn the_log_is_read_newest_first_filtered_and_in_pages() {
    let place = Place::new();
    let old = run(&place).await;
    let log = place.log(Origin::App);
    log.start().unwrap();
    // A run inside another: their records interleave.
    let inner = run(&place).await;
    drop(ask(&log, r#"{"path":"Grüße.txt"}"#).unwrap());
    let outer = log.run_id().unwrap();
    log.close().unwrap();

    let page = |filter: AuditFilter| query::page(&place.folders, &filter).unwrap();
    let all = page(AuditFilter::default());
    assert_eq!((all.rows.len(), all.next_cursor), (7 + 4 + 7, None));
    assert!(all.rows.windows(2).all(|pair| pair[0].time >= pair[1].time));
    let runs: Vec<&str> = all.rows.iter().map(|row| row.run_id.as_str()).collect();
    assert_eq!(runs[..3], [outer.as_str(); 3]);
    assert_eq!(runs[3..10], [inner.as_str(); 7]);
    assert_eq!(runs[10], outer);
    assert_eq!(runs[11..], [old.as_str(); 7]);

    // Pages of every size give the same rows.
    for limit in [1, 2, 5, 18] {
        let mut rows = Vec::new();
        let mut cursor = None;
        loop {
            let one = page(AuditFilter { limit: Some(limit), cursor, ..AuditFilter::default() });
            rows.extend(one.rows.into_iter().map(|row| row.event_id));
            cursor = one.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(rows, all.rows.iter().map(|row| row.event_id.clone()).collect::<Vec<_>>(), "{limit}");
    }

    let count = |filter: AuditFilter| page(filter).rows.len();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(count(AuditFilter { run_id: text(&inner), ..Default::default() }), 7);
    assert_eq!(count(AuditFilter { decision: text("denied"), ..Default::default() }), 2);
    assert_eq!(count(AuditFilter { decision: text("allowed"), ..Default::default() }), 4);
    assert_eq!(count(AuditFilter { rule: text("mode-allow"), ..Default::default() }), 4);
    assert_eq!(count(AuditFilter { server: text("files"), ..Default::default() }), 12);
    assert_eq!(count(AuditFilter { tool: text("other"), ..Default::default() }), 0);
    assert_eq!(count(AuditFilter { caller: Some(CallerKind::Cli), ..Default::default() }), 12);
    assert_eq!(count(AuditFilter { caller: Some(CallerKind::Page), ..Default::default() }), 0);
    assert_eq!(count(AuditFilter { text: text("GRüße"), ..Default::default() }), 1);
    assert_eq!(count(AuditFilter { until: text("2020-01-01"), ..Default::default() }), 0);
    assert_eq!(count(AuditFilter { since: text("2020-01-01T00:00:00Z"), ..Default::default() }), 18);
    assert!(query::page(&place.folders, &AuditFilter { since: text("soon"), ..Default::default() }).is_err());
    assert!(query::page(&place.folders, &AuditFilter { cursor: text("x"), ..Default::default() }).is_err());

    let call = all.rows.iter().find_map(|row| row.call_id.clone());
    let story = page(AuditFilter { call_id: call, ..Default::default() });
    assert_eq!(story.rows.last().unwrap().event_type, "tool_call_requested");
    let row = &story.rows[0];
    let file = fs::read_to_string(place.audit().join(format!("{}.jsonl", row.run_id))).unwrap();
    assert_eq!(file.lines().nth(row.seq as usize - 1).unwrap(), row.line.as_str());
}

#[test]
fn lines_longer_than_a_block_and_torn_ends_are_read_back() {
    let place = Place::new();
    let log = AuditLog::open(place.options(Origin::App, true));
    let content = "x".repeat(19_000);
    let many = (0..5).map(|number| format!("\"key{number}\":\"{content}\"")).collect::<Vec<_>>().join(",");
    for _ in 0..3 {
        drop(ask(&log, &format!("{{{many}}}")).unwrap());
    }
    drop(log);
    let path = place.only();
    assert!(fs::metadata(&path).unwrap().len() > 3 * 95_000);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(b"{\"created_at\":\"2026");
    fs::write(&path, bytes).unwrap();
    let rows = query::page(&place.folders, &AuditFilter::default()).unwrap().rows;
    assert_eq!(rows.iter().map(|row| row.seq).collect::<Vec<_>>(), (1..=8).rev().collect::<Vec<_>>());
}

/// What a full disk does; run by the test below inside a file system of 64 KiB.
#[tokio::test]
#[ignore = "run by `on_a_full_disk_outcomes_fit_and_no_call_is_taken` in a small file system"]
async fn inside_a_full_disk() {
    let disk = PathBuf::from(std::env::var_os("MCP_HOST_TEST_DISK").unwrap());
    let folders = Folders::at(&disk.join("host")).unwrap();
    let key = MasterKey::open(&folders).unwrap();
    let store = crate::store::Sealed::<Vec<String>>::signed(&folders, "policy", &key);
    store
        .update(|rules| {
            rules.push("deny".to_owned());
            Ok(())
        })
        .unwrap();
    let options = AuditOptions {
        folders: folders.clone(),
        key: key.clone(),
        clock: SystemClock::shared(),
        origin: Origin::App,
        transport: "ipc".to_owned(),
        mode: "prompt".to_owned(),
        full: false,
    };
    let log = AuditLog::open(options);
    let mut sent = Vec::new();
    for _ in 0..2 {
        sent.push(ask(&log, "{}").unwrap().started("mode-allow", false).await.unwrap());
    }
    let filler = disk.join("filler");
    let mut size = 64 * 1024;
    let mut file = fs::File::create(&filler).unwrap();
    while size > 0 {
        if std::io::Write::write_all(&mut file, &vec![b'x'; size]).is_err() {
            size /= 2;
        }
    }
    // The last page of the log may have room for a record or two.
    let refused = (0..20).find_map(|_| match ask(&log, "{}") {
        Ok(requested) => {
            drop(requested);
            None
        }
        Err(error) => Some(error),
    });
    assert_eq!(refused.unwrap().code(), ErrorCode::AuditUnavailable);
    let error = store
        .update(|rules| {
            rules.push("x".repeat(8000));
            Ok(())
        })
        .unwrap_err();
    assert!(error.to_string().contains("free some space"), "{error}");
    assert_eq!(*store.current().unwrap().value, ["deny"], "the old store is whole");

    for sent in sent {
        let big = Raw::from_text(format!("[{}1]", "\"word\",".repeat(1000))).unwrap();
        let _ = sent.completed(Completed { structured: Some(&big), ..Completed::default() }).unwrap();
    }
    assert!(ask(&log, "{}").is_err(), "the disk is full still");
    drop(file);
    fs::remove_file(&filler).unwrap();
    drop(ask(&log, "{}").unwrap());
    log.close().unwrap();
    let report = verify(&folders, Some(&key), Target::All).unwrap();
    assert!(report.valid && report.keyed && !report.runs[0].unclean, "{report:?}");
    println!("the full disk was survived");
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_full_disk_outcomes_fit_and_no_call_is_taken() {
    let disk = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=64k tmpfs \"$MCP_HOST_TEST_DISK\" || exit 77
        exec \"$0\" --exact audit::tests::inside_a_full_disk --ignored --nocapture";
    let output = std::process::Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .env("MCP_HOST_TEST_DISK", disk.path())
        .output();
    match output {
        Ok(output) if output.status.success() => {
            assert!(String::from_utf8_lossy(&output.stdout).contains("the full disk was survived"), "{output:?}");
        }
        Ok(output) if output.status.code() == Some(77) || output.stderr.starts_with(b"unshare:") => {
            eprintln!("NOT TESTED: no small file system can be mounted here: {output:?}");
        }
        Err(error) => eprintln!("NOT TESTED: `unshare` cannot be run: {error}"),
        Ok(output) => {
            panic!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
        }
    }
}

/// A finished run, made once for the cases below.
fn finished() -> &'static (Place, PathBuf, Vec<u8>) {
    static RUN: std::sync::LazyLock<(Place, PathBuf, Vec<u8>)> = std::sync::LazyLock::new(|| {
        let place = Place::new();
        let log = place.log(Origin::Serve);
        let _ = ask(&log, r#"{"path":"a"}"#).unwrap().blocked(Refusal::Denied, "deny-rule:1", &denied()).unwrap();
        drop(log);
        let path = place.only();
        let bytes = fs::read(&path).unwrap();
        (place, path, bytes)
    });
    &RUN
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn one_changed_byte_anywhere_is_found(position: prop::sample::Index, flip in 1_u8..=255, list: bool) {
        static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _one = ONE.lock().unwrap();
        let (place, path, bytes) = finished();
        let path = if list { place.audit().join("runs.jsonl") } else { path.clone() };
        let good = if list { fs::read(&path).unwrap() } else { bytes.clone() };
        let mut bad = good.clone();
        let position = position.index(bad.len());
        bad[position] ^= flip;
        fs::write(&path, &bad).unwrap();
        let report = place.verify();
        fs::write(&path, &good).unwrap();
        prop_assert!(!report.valid, "{:?}", report);
        prop_assert!(place.verify().valid);
    }
}
