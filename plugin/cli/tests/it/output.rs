//! What is printed of a server: shapes, exit codes, and text that stays where it belongs.

use serde_json::json;

use crate::{
    command::{Host, document, error, stdout},
    server::HOSTILE,
};

const FULL: [&str; 2] = ["--permission-mode", "danger-full-access"];

fn granted() -> Host {
    let host = Host::with_server();
    let output = host.run(&["approval", "grant", "fixture/*"]);
    assert!(output.status.success(), "{output:?}");
    let output = host.run(&["trust", "allow", "--server", "fixture", "--all-tools"]);
    assert!(output.status.success(), "{output:?}");
    host
}

#[test]
fn a_tool_that_reports_an_error_is_a_result_and_exits_4() {
    let host = granted();
    let output = host.run(&["call", "fixture", "fail", "--json"]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert_eq!(document(&output)["isError"], json!(true));
    let output = host.run(&["call", "fixture", "fail"]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert_eq!(stdout(&output), "it failed\n");
}

#[test]
fn numbers_reach_the_server_with_their_digits() {
    let host = granted();
    let arguments = r#"{"z":12345678901234567890,"a":1.0,"t":"x"}"#;
    let output = host.run(&["call", "fixture", "echo", "--args", arguments]);
    assert_eq!(stdout(&output), "{\"a\":1.0,\"t\":\"x\",\"z\":12345678901234567890}\n", "{output:?}");
}

#[test]
fn hostile_text_stays_in_its_cell() {
    let host = granted();
    for words in [&["tools", "fixture"][..], &["call", "fixture", "hostile"]] {
        let output = host.run(words);
        assert!(output.status.success(), "{output:?}");
        let text = stdout(&output);
        assert!(!text.contains(['\x1b', '\r', '\u{202e}', '\u{200b}']), "{text:?}");
        assert!(text.contains("nice\\u{202e}"), "{text:?}");
    }
    let table = host.run(&["tools", "fixture"]);
    assert_eq!(stdout(&table).lines().count(), 5, "{table:?}");
    // Under `--json` it is told as it is: a program reads it.
    let tools = document(&host.run(&["tools", "fixture", "--json"]));
    assert!(tools.as_array().unwrap().iter().any(|tool| tool["description"] == HOSTILE), "{tools}");
}

#[test]
fn every_byte_of_a_resource_can_be_kept() {
    let host = granted();
    let read = ["read", "fixture", "fixture://a"];
    assert!(host.run(&["approval", "grant", "fixture", "--resources"]).status.success());
    let shown = host.run(&read);
    assert!(stdout(&shown).contains("application/octet-stream, about 6 bytes"), "{shown:?}");
    let piped = host.run(&[&read[..], &["-o", "-"]].concat());
    assert_eq!(piped.stdout, [0, 1, 2, 3, 4, 255], "{piped:?}");
    let kept = host.run(&[&read[..], &["-o", "a.bin", "--json"]].concat());
    assert_eq!(document(&kept), json!({ "uri": "fixture://a", "output": "a.bin", "bytes": 6 }));
    assert_eq!(std::fs::read(host.folder.path().join("a.bin")).unwrap(), [0, 1, 2, 3, 4, 255]);
    let nowhere = host.run(&[&read[..], &["-o", "no/such/folder", "--json"]].concat());
    error(&nowhere, 2, "mcp.invalid_input");
}

#[test]
fn prompts_and_completions_are_words() {
    let host = granted();
    assert!(host.run(&["approval", "grant", "fixture", "--prompts"]).status.success());
    let prompt = host.run(&["prompt", "fixture", "greet", "--arg", "who=you"]);
    assert_eq!(stdout(&prompt), "user:\n  Hello \"you\"\n", "{prompt:?}");
    error(&host.run(&["prompt", "fixture", "greet", "--json"]), 2, "mcp.invalid_input");
    let complete = host.run(&["complete", "fixture", "--prompt", "greet", "--arg", "who=o"]);
    assert_eq!(stdout(&complete).lines().count(), 2, "{complete:?}");
    assert!(stdout(&complete).starts_with("one\nnice\\u{202e}"), "{complete:?}");
}

#[test]
fn one_time_limit_covers_the_whole_call() {
    let host = Host::with_server();
    let words = [&FULL[..], &["call", "fixture", "slow", "--timeout", "1s", "--json"]].concat();
    let error = error(&host.run(&words), 1, "mcp.timeout");
    assert_eq!(error["retryable"], json!(true));
    let trace = std::fs::read_to_string(host.trace()).unwrap();
    assert!(trace.contains("notifications/cancelled"), "{trace}");
}

#[test]
fn why_a_call_was_denied_is_told_with_what_to_do() {
    let host = Host::with_server();
    let denied = error(&host.run(&["call", "fixture", "echo", "--json"]), 3, "mcp.approval_unavailable");
    assert_eq!(denied["details"]["rule"], "unseen-definition");
    let lines = document(&host.run(&["audit", "list", "--tool", "echo", "--json"]));
    let kinds: Vec<&str> = lines.as_array().unwrap().iter().map(|line| line["event_type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool_call_requested", "tool_call_blocked"]);
    let call = lines[1]["payload"]["call_id"].as_str().unwrap();
    let why = document(&host.run(&["approval", "why-denied", call, "--json"]));
    assert_eq!(why["rule"], "unseen-definition", "{why}");
    assert!(why["advice"].as_str().unwrap().contains("mcp-host approval grant fixture/echo"), "{why}");
    error(&host.run(&["approval", "why-denied", "nothing", "--json"]), 2, "mcp.invalid_input");
}

#[test]
fn the_launch_that_is_confirmed_is_shown() {
    let host = Host::new();
    let output = host.run(&["servers", "add", "a", "--env", "LEVEL=debug", "--", "sh", "-c", "echo \"a b\""]);
    assert!(output.status.success(), "{output:?}");
    let words = stdout(&output);
    assert!(words.contains("sh -c 'echo \"a b\"'") && words.contains("LEVEL=debug"), "{words}");
    let trust = document(&host.run(&["trust", "list", "--json"]));
    assert_eq!((&trust[0]["serverId"], &trust[0]["state"]), (&json!("a"), &json!("confirmed")), "{trust}");
    let denied = document(&host.run(&["trust", "deny", "--server", "a", "--json"]));
    assert_eq!(denied["state"], "denied", "{denied}");
}

#[test]
fn logs_show_what_a_server_wrote_even_when_it_fails() {
    let host = Host::new();
    let add = host.run(&["servers", "add", "b", "--", "sh", "-c", "echo 'API_KEY \x1b[1mis required' >&2; exit 3"]);
    assert!(add.status.success(), "{add:?}");
    let logs = host.run(&["servers", "logs", "b"]);
    assert_eq!(logs.status.code(), Some(1), "{logs:?}");
    assert!(stdout(&logs).contains("API_KEY \\u{1b}[1mis required"), "{logs:?}");
    let failed = error(&host.run(&["servers", "logs", "b", "--json"]), 1, "mcp.launch_failed");
    assert_eq!(failed["details"]["exitCode"], json!(3));
}

#[test]
fn a_rule_for_once_is_used_up_by_one_call() {
    let host = Host::with_server();
    let output = host.run(&["approval", "grant", "fixture/echo", "--scope", "once", "--args-exact", r#"{"a":1}"#]);
    assert!(output.status.success(), "{output:?}");
    let call = ["call", "fixture", "echo", "--json", "--args"];
    error(&host.run(&[&call[..], &[r#"{"a":2}"#]].concat()), 3, "mcp.approval_unavailable");
    let first = host.run(&[&call[..], &[r#"{"a":1}"#]].concat());
    assert_eq!(first.status.code(), Some(0), "{first:?}");
    error(&host.run(&[&call[..], &[r#"{"a":1}"#]].concat()), 3, "mcp.approval_unavailable");
    assert_eq!(document(&host.run(&["approval", "list", "--json"])), json!([]));
}

#[test]
fn a_check_is_for_the_caller_that_is_named() {
    let host = Host::with_server();
    let check = |caller: &str| {
        let view = document(&host.run(&["approval", "check", "fixture/echo", "--json", "--caller", caller]));
        (view["decision"].as_str().unwrap().to_owned(), view["rule"].as_str().unwrap().to_owned())
    };
    let unseen = "unseen-definition".to_owned();
    assert_eq!(check("page"), ("ask".to_owned(), unseen.clone()));
    assert_eq!(check("agent"), ("ask".to_owned(), unseen.clone()));
    // Nobody can be asked by `serve`, nor here without a terminal.
    assert_eq!(check("serve"), ("deny".to_owned(), unseen.clone()));
    assert_eq!(check("cli"), ("deny".to_owned(), unseen));
    assert!(host.run(&["approval", "deny", "fixture/echo", "--caller", "page"]).status.success());
    assert!(check("page").1.starts_with("deny-rule:"));
    assert!(host.run(&["approval", "grant", "fixture/echo"]).status.success());
    assert_eq!(check("cli").0, "allow");
    assert_eq!(check("serve").0, "allow");
    assert_eq!(check("agent").0, "ask");
}

#[test]
fn a_run_is_exported_as_it_stands_and_verifies_elsewhere() {
    let host = granted();
    assert!(host.run(&["call", "fixture", "echo"]).status.success());
    let lines = document(&host.run(&["audit", "list", "--json", "--limit", "100000"]));
    let run = lines.as_array().unwrap().iter().rev().find(|line| line["event_type"] == "tool_call_completed");
    let run = run.unwrap()["run_id"].as_str().unwrap();
    let log = std::fs::read(host.folder.path().join("config/audit").join(format!("{run}.jsonl"))).unwrap();
    assert_eq!(host.run(&["audit", "export", run]).stdout, log);
    let shown = document(&host.run(&["audit", "show", run, "--json"]));
    assert_eq!(document(&host.run(&["audit", "export", run, "--json"])), shown);
    assert!(host.run(&["audit", "export", run, "-o", "run.jsonl"]).status.success());
    let verified = host.run(&["audit", "verify", "--path", "run.jsonl", "--ci", "--json"]);
    assert_eq!(document(&verified)["valid"], json!(true), "{verified:?}");
    assert_eq!(verified.status.code(), Some(0));
    // Everything, in the order in which it was written.
    let all = document(&host.run(&["audit", "export", "--json"]));
    let times: Vec<&str> = all.as_array().unwrap().iter().map(|line| line["created_at"].as_str().unwrap()).collect();
    assert!(times.len() > 10 && times.is_sorted(), "{times:?}");
}
