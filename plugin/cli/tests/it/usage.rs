//! What needs no server: usage, help, digests, arguments, completions.

use std::process::Stdio;

use serde_json::{Value, json, value::RawValue};

use crate::command::{Host, document, error, stdout};

#[test]
fn wrong_usage_is_one_document_too() {
    let host = Host::new();
    for words in [
        &["--json", "nonsense"][..],
        &["call", "--json"],
        &["servers", "list", "--json", "--what"],
        &["call", "a", "b", "--timeout", "30", "--json"],
        &["approval", "grant", "a/b", "--scope", "session", "--json"],
        &["--permission-mode", "yolo", "servers", "--json"],
        &["--json"],
        &["trust", "--json"],
    ] {
        error(&host.run(words), 2, "mcp.invalid_input");
    }
}

#[test]
fn wrong_usage_in_words_goes_to_stderr() {
    let output = Host::new().run(&["call", "a", "b", "--timeout", "30"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stdout(&output), "");
    assert!(String::from_utf8_lossy(&output.stderr).contains("write it like `30s`"), "{output:?}");
}

#[test]
fn json_of_the_server_s_own_command_line_is_not_ours() {
    let output = Host::new().run(&["servers", "add", "--what", "--", "x", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stdout(&output), "");
}

#[test]
fn help_and_version_are_results() {
    let host = Host::new();
    for words in [&["--help"][..], &["help", "call"], &["approval", "grant", "--help"]] {
        let output = host.run(words);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(stdout(&output).contains("Examples:"), "{output:?}");
    }
    assert!(stdout(&host.run(&["--version"])).starts_with("mcp-host "));
}

#[test]
fn digests_are_those_of_the_vectors() {
    let host = Host::new();
    let vectors: Vec<Value> = serde_json::from_str(include_str!("../../../core/tests/data/digest.json")).unwrap();
    assert!(vectors.len() >= 8);
    for vector in vectors {
        let tool = vector["tool"].as_str().unwrap();
        let canonical = vector["canonical"].as_str().unwrap();
        // The vector's own arguments went through a lossy reader above; the canonical text holds them exactly.
        let parts: std::collections::BTreeMap<&str, &RawValue> = serde_json::from_str(canonical).unwrap();
        let arguments = parts.get("arguments").unwrap().get();
        let line = host.run(&["approval", "digest", &format!("local/{tool}"), "--args", arguments]);
        assert_eq!(stdout(&line).trim_end(), vector["sha256"], "{line:?}");
        let shape = document(&host.run(&["approval", "digest", "--json", tool, "--args", arguments]));
        assert_eq!(shape, json!({ "tool": tool, "canonical": canonical, "sha256": vector["sha256"] }));
    }
    assert!(!host.folder.path().join("config").exists(), "a digest needs no store");
}

#[test]
fn arguments_come_from_the_line_a_file_or_stdin() {
    let host = Host::new();
    let arguments = r#"{"message":"hi"}"#;
    let expected = host.run(&["approval", "digest", "echo", "--args", arguments]).stdout;
    assert_eq!(expected.len(), 65);
    std::fs::write(host.folder.path().join("a.json"), format!("\u{feff}{arguments}\n")).unwrap();
    assert_eq!(host.run(&["approval", "digest", "echo", "--args", "@a.json"]).stdout, expected);
    let piped = host.run_with(&["approval", "digest", "echo", "--args", "-"], r#" { "message" : "hi" } "#);
    assert_eq!(piped.stdout, expected);
    let none = host.run(&["approval", "digest", "echo"]).stdout;
    assert_eq!(host.run(&["approval", "digest", "echo", "--args", "null"]).stdout, none);
    assert_eq!(host.run(&["approval", "digest", "echo", "--args", "{}"]).stdout, none);
}

#[test]
fn arguments_that_cannot_be_meant_are_refused_with_their_place() {
    let host = Host::new();
    for (arguments, path, says) in [
        ("[1]", "/arguments", "an array"),
        ("\"x\"", "/arguments", "a string"),
        (r#"{"a":1,"b":{"c":1,"c":2}}"#, "/arguments/b", "line 1, column"),
        (r#"{"a":1e-400}"#, "/arguments/a", "digits"),
        (r#"{"a":"\ud800"}"#, "/arguments/a", "surrogate"),
        ("{", "/arguments", "ends"),
        ("", "/arguments", "ends"),
        ("@nowhere.json", "", "nowhere.json"),
    ] {
        let error =
            error(&host.run(&["approval", "digest", "t", "--json", "--args", arguments]), 2, "mcp.invalid_input");
        let found = error["details"]["path"].as_str().unwrap_or_default();
        assert!(found.starts_with(path), "{arguments}: {error}");
        assert!(error["message"].as_str().unwrap().contains(says), "{arguments}: {error}");
    }
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let host = Host::new();
    let mut command = host.command(&["completions", "bash"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn shells_and_manuals_get_what_they_want() {
    let host = Host::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(stdout(&host.run(&["completions", shell])).contains("mcp-host"), "{shell}");
    }
    assert!(stdout(&host.run(&["man"])).contains(".TH mcp-host 1"));
    assert_eq!(host.run(&["man", "--dir", "."]).status.code(), Some(0));
    assert!(host.folder.path().join("mcp-host-approval-grant.1").exists());
}
