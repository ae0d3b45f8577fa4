//! A person at a terminal, with a server behind it.

use std::{process::Command, time::Duration};

use rexpect::session::{PtySession, spawn_command};

use crate::command::{Host, stdout};

const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a line of shell in a pseudo-terminal, with `mcp-host` as `$M`; the shell says how it ended.
fn at_a_terminal(host: &Host, line: &str) -> PtySession {
    let program = host.command(&[]);
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("{line}; echo \"ENDED $?\"")]).env_clear().env("LC_ALL", "C");
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("M", program.get_program()).current_dir(host.folder.path());
    spawn_command(command, Some(PATIENCE.as_millis() as u64)).unwrap()
}

fn ended(session: &mut PtySession) -> String {
    session.exp_string("ENDED ").unwrap();
    session.read_line().unwrap().trim().to_owned()
}

/// The rest of what is shown up to `end`. (What is read is handed out byte by byte, each as a character.)
fn until(session: &mut PtySession, end: &str) -> String {
    let bytes = session.exp_string(end).unwrap();
    String::from_utf8(bytes.chars().map(|byte| u8::try_from(byte).unwrap()).collect()).unwrap()
}

const ASKED: &str = "Your choice [Enter = no]: ";

/// The number in front of the choice that allows once.
fn number_of(sheet: &str, label: &str) -> String {
    let wanted = label.to_lowercase();
    let line = sheet.lines().find(|line| line.to_lowercase().contains(&wanted) && line.contains(") "));
    let line = line.unwrap_or_else(|| panic!("no choice `{label}` in {sheet}"));
    line.trim().split(')').next().unwrap().to_owned()
}

#[test]
fn allowed_once_the_result_goes_to_stdout_and_the_question_to_the_terminal() {
    let host = Host::with_server();
    let mut session = at_a_terminal(&host, "$M --json call fixture echo --args '{\"message\":\"hi\"}' > result.json");
    let sheet = until(&mut session, ASKED);
    assert!(sheet.contains("echo") && sheet.contains("message"), "{sheet}");
    session.send_line(&number_of(&sheet, "once")).unwrap();
    // The tool is not of read-only class: its name has to be typed.
    session.exp_string("type the name echo").unwrap();
    session.send_line("echo").unwrap();
    assert_eq!(ended(&mut session), "0");
    let text = std::fs::read_to_string(host.folder.path().join("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["content"][0]["text"], "{\"message\":\"hi\"}");
    assert_eq!(text.matches('\n').count(), 1);
}

#[test]
fn enter_denies() {
    let host = Host::with_server();
    let mut session = at_a_terminal(&host, "$M call fixture echo");
    session.exp_string(ASKED).unwrap();
    session.send_line("").unwrap();
    session.exp_string("mcp.approval_denied").unwrap();
    assert_eq!(ended(&mut session), "3");
    assert!(!std::fs::read_to_string(host.trace()).unwrap().contains("tools/call"));
}

#[test]
fn ctrl_c_at_the_question_denies_and_ends() {
    let host = Host::with_server();
    // (The shell would end with the same Ctrl-C, were it not told to stay.)
    let mut session = at_a_terminal(&host, "trap : INT; $M call fixture echo");
    session.exp_string(ASKED).unwrap();
    session.send_control('c').unwrap();
    session.exp_string("mcp.approval_denied").unwrap();
    assert_eq!(ended(&mut session), "130");
    assert!(!std::fs::read_to_string(host.trace()).unwrap().contains("tools/call"));
}

#[test]
fn ctrl_c_takes_a_call_back_and_leaves_no_process_behind() {
    let host = Host::with_server();
    let line = "trap : INT; $M --permission-mode danger-full-access call fixture slow";
    let mut session = at_a_terminal(&host, line);
    let trace = || std::fs::read_to_string(host.trace()).unwrap_or_default();
    let until = std::time::Instant::now() + PATIENCE;
    while !trace().contains("tools/call") {
        assert!(std::time::Instant::now() < until, "it was never called: {}", trace());
        std::thread::sleep(Duration::from_millis(50));
    }
    session.send_control('c').unwrap();
    session.exp_string("mcp.cancelled").unwrap();
    assert_eq!(ended(&mut session), "130");
    assert!(trace().contains("notifications/cancelled"), "{}", trace());
    let process = trace().split_whitespace().nth(1).unwrap().to_owned();
    assert!(!std::path::Path::new("/proc").join(process).exists(), "the server is still there");
}

#[test]
fn without_a_terminal_on_stdin_or_with_no_prompt_nobody_is_asked() {
    let host = Host::with_server();
    for line in [
        "$M --no-prompt call fixture echo",
        "echo '{}' | $M call fixture echo --args -",
        "$M call fixture echo 2> errors; cat errors",
    ] {
        let mut session = at_a_terminal(&host, line);
        session.exp_string("mcp.approval_unavailable").unwrap();
        ended(&mut session);
    }
}

#[test]
fn a_table_fits_the_terminal() {
    let host = Host::with_server();
    let mut session = at_a_terminal(&host, "stty cols 50; $M tools fixture");
    session.exp_string("NAME").unwrap();
    let table = until(&mut session, "ENDED 0");
    assert!(table.lines().all(|line| line.trim_end().chars().count() <= 50), "{table}");
    let piped = host.run(&["tools", "fixture"]);
    assert!(stdout(&piped).lines().any(|line| line.chars().count() > 50), "{piped:?}");
}

#[test]
fn always_this_tool_is_not_asked_again() {
    let host = Host::with_server();
    let mut session = at_a_terminal(&host, "$M call fixture echo --args '{\"a\":1}'");
    let sheet = until(&mut session, ASKED);
    session.send_line(&number_of(&sheet, "always allow –")).unwrap();
    session.exp_string("type the name echo").unwrap();
    session.send_line("echo").unwrap();
    // A tool that says nothing of itself counts as destructive: "always" asks a second time.
    session.exp_string("Type `yes`").unwrap();
    session.send_line("yes").unwrap();
    session.exp_string("{\"a\":1}").unwrap();
    assert_eq!(ended(&mut session), "0");
    let again = host.run(&["call", "fixture", "echo", "--args", "{\"a\":2}"]);
    assert_eq!(stdout(&again), "{\"a\":2}\n", "{again:?}");
    let mut session = at_a_terminal(&host, "$M call fixture echo --args '{\"a\":3}'");
    session.exp_string("{\"a\":3}").unwrap();
    assert_eq!(ended(&mut session), "0");
}
