//! A run: what is written, in which order, and what becomes of it when it ends or is killed.

use std::{fs, path::Path, time::Duration};

use super::*;

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

/// A process that is killed; run by the test below.
#[tokio::test]
#[ignore = "run by `a_process_that_is_killed_leaves_every_intent` to be killed"]
async fn inside_a_killed_process() {
    let folder = std::env::var_os("MCP_HOST_TEST_FOLDER").unwrap();
    let folders = Folders::at(Path::new(&folder)).unwrap();
    let key = MasterKey::open(&folders).unwrap();
    let log = AuditLog::open(options(&folders, &key, Origin::App, false));
    loop {
        let sent = ask(&log, "{}").unwrap().started("mode-allow", true).await.unwrap();
        // What is printed stands for what is sent.
        println!("sent {}", sent.receipt().event_id);
        let _ = sent.completed(Completed::default()).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_process_that_is_killed_leaves_every_intent() {
    use std::io::BufRead;
    let place = Place::new();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "audit::tests::run::inside_a_killed_process", "--ignored", "--nocapture"])
        .env("MCP_HOST_TEST_FOLDER", place.folders.config())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut sent: Vec<String> = output.by_ref().filter_map(|line| sent_id(&line)).take(200).collect();
    // While it runs, others see a living run.
    let running = place.verify();
    assert!(running.valid && running.runs[0].unclean, "{running:?}");
    // Its own handle: SIGKILL on Unix.
    child.kill().unwrap();
    child.wait().unwrap();
    sent.extend(output.filter_map(|line| sent_id(&line)));
    assert!(sent.len() >= 200);

    let text = fs::read_to_string(place.only()).unwrap();
    for id in &sent {
        assert!(text.contains(id.as_str()), "what was sent is on the record");
    }
    let before = place.verify();
    assert!(before.valid && before.keyed && before.runs[0].unclean, "{before:?}");
    drop(ask(&place.log(Origin::App), "{}").unwrap());
    let after = place.verify();
    assert!(after.valid && after.runs.len() == 2, "{after:?}");
}

fn sent_id(line: &str) -> Option<String> {
    line.split_once("sent ").map(|(_, id)| id.trim().to_owned())
}
