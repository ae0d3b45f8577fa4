//! However a command ends, nothing that its server started outlives it: not the wrapper, not its child, not a stubborn
//! one.

use std::fs;
use std::process::Stdio;

use anyhow::{Result, ensure};
use mcp_tests::command_line::CommandLine;
use mcp_tests::{place, process, wait};
use rustix::process::Signal;
use serde_json::json;

/// A server behind a shell that would stay for something else; it ignores the end of its input and SIGTERM.
fn wrapped() -> Result<CommandLine<'static>> {
    let host = CommandLine::fresh()?;
    fs::create_dir_all(host.scratch())?;
    let script = host.scratch().join("script.json");
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let said = json!({
        "tools": [tool("answers"), tool("hangs")],
        "results": { "hangs": null },
        "stubborn": true,
        "log": host.scratch().join("calls.jsonl"),
    });
    fs::write(&script, said.to_string())?;
    let line = format!("node '{}' '{}'; true", place::scripted_server().display(), script.display());
    host.add("s", "/bin/sh".as_ref(), ["-c", &line])?;
    Ok(host)
}

fn nobody_is_left(host: &CommandLine<'_>) -> Result<()> {
    wait::until("everything to end", wait::LONG, || Ok(host.left().is_empty().then_some(())))
        .map_err(|error| error.context(format!("left: {:#?}", host.left())))
}

#[test]
fn a_command_that_is_done_leaves_nobody() -> Result<()> {
    let host = wrapped()?;
    host.line("--permission-mode danger-full-access call s answers --json")?.succeeded()?;
    // It waited for them: they are gone when it is.
    ensure!(host.left().is_empty(), "left: {:#?}", host.left());
    Ok(())
}

#[test]
fn a_command_that_is_interrupted_terminated_or_killed_leaves_nobody() -> Result<()> {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        let host = wrapped()?;
        let mut command = host.command("--permission-mode danger-full-access call s hangs --json".split(' '))?;
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let calls = host.scratch().join("calls.jsonl");
        wait::until("the call to arrive", wait::LONG, || {
            Ok(fs::read(&calls).is_ok_and(|text| !text.is_empty()).then_some(()))
        })?;
        // mcp-host, the shell, node: the question is not an empty one.
        ensure!(host.left().len() >= 3, "{:#?}", host.left());
        process::signal(child.id(), signal);
        let status = wait::until("the command to end", wait::LONG, || Ok(child.try_wait()?))?;
        if signal == Signal::INT {
            ensure!(status.code() == Some(130), "{signal:?} gave {status}");
        }
        nobody_is_left(&host).map_err(|error| error.context(format!("after {signal:?}")))?;
    }
    Ok(())
}
