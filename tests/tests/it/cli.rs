//! The `mcp-host` binary against real servers from npm and PyPI, without a terminal.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use mcp_tests::command_line::CommandLine;
use mcp_tests::place;
use serde_json::{Value, json};

/// A folder whose `servers.json` names server-everything, and nothing confirms it.
fn unconfirmed() -> Result<CommandLine<'static>> {
    let host = CommandLine::fresh()?;
    host.write_servers(&json!({ "everything": { "command": place::npm_server("everything")?, "args": ["stdio"] } }))?;
    Ok(host)
}

/// … and the person confirmed its launch.
fn confirmed() -> Result<CommandLine<'static>> {
    let host = unconfirmed()?;
    host.line("trust allow --server everything")?.succeeded()?;
    Ok(host)
}

const ECHO: [&str; 6] = ["call", "everything", "echo", "--args", r#"{"message":"hi"}"#, "--json"];

fn text(result: &Value) -> Result<&str> {
    result.pointer("/content/0/text").and_then(Value::as_str).with_context(|| format!("no text in {result}"))
}

fn names(list: &Value) -> Vec<&str> {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| item.get("name")?.as_str()).collect()
}

#[test]
fn with_full_access_a_call_runs_and_prints_the_result_of_the_contract() -> Result<()> {
    let host = unconfirmed()?;
    let outcome = host.run(["--permission-mode", "danger-full-access"].iter().chain(&ECHO))?.succeeded()?;
    let result = outcome.json()?;
    ensure!(text(&result)? == "Echo: hi", "{result}");
    for (field, holds) in [
        ("serverId", result["serverId"] == "everything"),
        ("name", result["name"] == "echo"),
        ("callId", result["callId"].is_string()),
        ("isError", result["isError"] == false),
        ("durationMs", result["durationMs"].is_number()),
        ("auditSeq", result["auditSeq"].is_u64()),
        ("auditEventId", result["auditEventId"].as_str().is_some_and(|id| id.len() == 32)),
    ] {
        ensure!(holds, "`{field}` in {result}");
    }
    ensure!(host.left().is_empty(), "still running: {:#?}", host.left());
    Ok(())
}

#[test]
fn without_anybody_to_ask_a_confirmed_server_s_unseen_tool_is_denied() -> Result<()> {
    let error = confirmed()?.run(ECHO)?.failed(3, "mcp.approval_unavailable")?;
    ensure!(error.pointer("/details/rule") == Some(&json!("unseen-definition")), "{error}");
    Ok(())
}

#[test]
fn an_unconfirmed_server_is_not_started() -> Result<()> {
    let host = CommandLine::fresh()?;
    let trace = host.scratch().join("started");
    let server = json!({ "command": "/bin/sh", "args": ["-c", format!("touch {}; cat", trace.display())] });
    host.write_servers(&json!({ "everything": server }))?;
    host.run(ECHO)?.failed(3, "mcp.server_unapproved")?;
    ensure!(!trace.exists(), "it was started");
    // The same for every other way to it.
    for line in ["tools everything --json", "resources everything --json", "prompts everything --json"] {
        host.line(line)?.failed(3, "mcp.server_unapproved")?;
    }
    ensure!(!trace.exists(), "it was started");
    Ok(())
}

#[test]
fn a_log_is_valid_until_one_byte_of_it_changes() -> Result<()> {
    let host = unconfirmed()?;
    host.run(["--permission-mode", "danger-full-access"].iter().chain(&ECHO))?.succeeded()?;
    let report = host.line("audit verify --ci --json")?.succeeded()?.json()?;
    ensure!(report["valid"] == true, "{report}");

    let log = newest_log(&host.config_dir())?;
    let whole = fs::read(&log)?;
    let place = whole.windows(4).position(|window| window == b"echo").context("the log does not name the tool")?;
    let mut changed = whole.clone();
    *changed.get_mut(place).context("a byte")? = b'E';
    fs::write(&log, &changed)?;
    let report = host.line("audit verify --ci --json")?.exited(1)?.json()?;
    ensure!(report["valid"] == false && report.to_string().contains("hash_mismatch"), "{report}");

    // Without `--ci` the report is the answer, and the exit status says that there is one.
    host.line("audit verify")?.succeeded()?;
    fs::write(&log, &whole)?;
    host.line("audit verify --ci")?.succeeded()?;
    Ok(())
}

#[test]
fn a_lost_last_line_is_found_as_well() -> Result<()> {
    let host = unconfirmed()?;
    host.run(["--permission-mode", "danger-full-access"].iter().chain(&ECHO))?.succeeded()?;
    let log = newest_log(&host.config_dir())?;
    let whole = fs::read_to_string(&log)?;
    let end = whole.trim_end().rfind('\n').context("more than one line")?;
    fs::write(&log, whole.get(..=end).context("a line's end")?)?;
    let report = host.line("audit verify --ci --json")?.exited(1)?.json()?;
    ensure!(report.to_string().contains("truncated"), "{report}");
    Ok(())
}

#[test]
fn a_grant_lets_exactly_that_tool_through_until_it_is_revoked() -> Result<()> {
    let host = confirmed()?;
    host.line("approval grant everything/echo")?.succeeded()?;
    let result = host.run(ECHO)?.succeeded()?.json()?;
    ensure!(text(&result)? == "Echo: hi", "{result}");
    let other = ["call", "everything", "get-sum", "--args", r#"{"a":1,"b":2}"#, "--json"];
    host.run(other)?.failed(3, "mcp.approval_unavailable")?;

    let rules = host.line("approval list --json")?.succeeded()?.json()?;
    let id = rules.pointer("/0/id").and_then(Value::as_str).with_context(|| format!("a rule's id in {rules}"))?;
    host.run(["approval", "revoke", id])?.succeeded()?;
    host.run(ECHO)?.failed(3, "mcp.approval_unavailable")?;
    Ok(())
}

#[test]
fn a_deny_rule_holds_in_every_mode() -> Result<()> {
    let host = confirmed()?;
    host.line("approval deny everything/echo")?.succeeded()?;
    for mode in ["prompt", "allow", "danger-full-access", "read-only"] {
        let error = host.run(["--permission-mode", mode].iter().chain(&ECHO))?.failed(3, "mcp.policy_denied")?;
        let rule = error.pointer("/details/rule").and_then(Value::as_str).unwrap_or_default();
        ensure!(rule.starts_with("deny-rule:"), "{mode}: {error}");
    }
    Ok(())
}

#[test]
fn a_digest_allows_one_exact_call_and_no_other() -> Result<()> {
    let host = confirmed()?;
    let digest = host.run(["approval", "digest", "everything/echo", "--args", r#"{"message":"hi"}"#])?.succeeded()?;
    let scoped = format!("everything/echo:{}", digest.output.trim());
    let with = |arguments: &str| {
        host.run(["call", "everything", "echo", "--args", arguments, "--json", "--approve-scoped", &scoped])
    };
    ensure!(text(&with(r#"{ "message": "hi" }"#)?.succeeded()?.json()?)? == "Echo: hi");
    with(r#"{"message":"ho"}"#)?.failed(3, "mcp.approval_unavailable")?;
    Ok(())
}

#[test]
fn every_kind_of_list_and_request_works_against_server_everything() -> Result<()> {
    let host = confirmed()?;
    let list = |line: &str| -> Result<Value> { host.line(line)?.succeeded()?.json() };
    let tools = list("tools everything --json")?;
    ensure!(names(&tools).contains(&"echo"), "{tools}");
    ensure!(tools.as_array().is_some_and(|tools| tools.iter().all(|tool| tool["permission"] == "ask")), "{tools}");
    let resources = list("resources everything --json")?;
    ensure!(resources.to_string().contains("demo://resource/static/document/features.md"), "{resources}");
    let templates = list("templates everything --json")?;
    ensure!(templates.to_string().contains("demo://resource/dynamic/text/{resourceId}"), "{templates}");
    let prompts = list("prompts everything --json")?;
    ensure!(names(&prompts).contains(&"args-prompt"), "{prompts}");

    // Reading and prompting need a grant as well (policy.md §7).
    let read = "read everything demo://resource/static/document/features.md --json";
    host.line(read)?.failed(3, "mcp.approval_unavailable")?;
    host.line("approval grant everything --resources")?.succeeded()?;
    let content = host.line(read)?.succeeded()?.json()?;
    ensure!(
        content.pointer("/contents/0/text").and_then(Value::as_str).is_some_and(|text| text.len() > 100),
        "{content}"
    );

    let prompt = "prompt everything args-prompt --arg city=Lisbon --json";
    host.line(prompt)?.failed(3, "mcp.approval_unavailable")?;
    host.line("approval grant everything --prompts")?.succeeded()?;
    let content = host.line(prompt)?.succeeded()?.json()?;
    ensure!(content["messages"].to_string().contains("Lisbon"), "{content}");
    let error = host.line("prompt everything args-prompt --json")?.failed(2, "mcp.invalid_input")?;
    ensure!(error.to_string().contains("city"), "the missing argument is not named: {error}");
    Ok(())
}

#[test]
fn servers_are_added_turned_off_and_taken_out() -> Result<()> {
    let host = CommandLine::fresh()?;
    let everything = place::npm_server("everything")?;
    host.add("everything", &everything, ["stdio"])?;
    let states = |host: &CommandLine<'_>| -> Result<Vec<(String, String)>> {
        let list = host.line("servers list --json")?.succeeded()?.json()?;
        let word = |server: &Value, field: &str| server[field].as_str().unwrap_or_default().to_owned();
        Ok(list
            .as_array()
            .context("an array")?
            .iter()
            .map(|server| (word(server, "id"), word(server, "state")))
            .collect())
    };
    ensure!(states(&host)? == [("everything".into(), "disconnected".into())], "{:?}", states(&host)?);
    host.line("servers disable everything")?.succeeded()?;
    ensure!(states(&host)? == [("everything".into(), "disabled".into())], "{:?}", states(&host)?);
    host.run(ECHO)?.failed(1, "mcp.server_disabled")?;
    host.line("servers enable everything")?.succeeded()?;
    host.line("servers remove everything")?.succeeded()?;
    ensure!(states(&host)?.is_empty());
    ensure!(host.line("servers list --json")?.output.trim() == "[]", "an empty list is an empty array");
    host.run(ECHO)?.failed(2, "mcp.server_not_found")?;
    Ok(())
}

#[test]
fn a_changed_launch_asks_again() -> Result<()> {
    let host = CommandLine::fresh()?;
    let everything = place::npm_server("everything")?;
    host.add("everything", &everything, ["stdio"])?;
    host.line("tools everything --json")?.succeeded()?;
    let file = host.config_dir().join("servers.json");
    let text = fs::read_to_string(&file)?;
    fs::write(&file, text.replace("\"stdio\"", "\"stdio\", \"--more\""))?;
    host.line("tools everything --json")?.failed(3, "mcp.server_unapproved")?;
    Ok(())
}

#[test]
fn usage_and_input_errors_are_exit_status_2_and_one_document() -> Result<()> {
    let host = confirmed()?;
    host.line("call nobody echo --json")?.failed(2, "mcp.server_not_found")?;
    host.line("no-such-command --json")?.failed(2, "mcp.invalid_input")?;
    for arguments in ["[1]", "{", r#"{"a":1,"a":2}"#, "3"] {
        host.run(["call", "everything", "echo", "--args", arguments, "--json"])?.failed(2, "mcp.invalid_input")?;
    }
    Ok(())
}

#[test]
fn a_tool_that_reports_an_error_is_exit_status_4_and_still_a_result() -> Result<()> {
    let host = CommandLine::fresh()?;
    fs::create_dir_all(host.scratch())?;
    host.add("files", &place::npm_server("filesystem")?, [host.scratch().display().to_string()])?;
    let missing = json!({ "path": host.scratch().join("missing.txt") }).to_string();
    let words =
        ["--permission-mode", "danger-full-access", "call", "files", "read_text_file", "--args", &missing, "--json"];
    let result = host.run(words)?.exited(4)?.json()?;
    ensure!(result["isError"] == true, "{result}");
    Ok(())
}

#[test]
fn the_filesystem_server_writes_and_reads_what_was_granted() -> Result<()> {
    let host = CommandLine::fresh()?;
    fs::create_dir_all(host.scratch())?;
    host.add("files", &place::npm_server("filesystem")?, [host.scratch().display().to_string()])?;
    let file = host.scratch().join("note — «ü» 你好.txt");
    let write = json!({ "path": file, "content": "line\n" }).to_string();
    let call = ["call", "files", "write_file", "--args", &write, "--json"];
    host.run(call)?.failed(3, "mcp.approval_unavailable")?;
    ensure!(!file.exists(), "written without a grant");
    host.run([
        "approval",
        "grant",
        "files/write_file",
        "--path-glob",
        &format!("/path={}/**", host.scratch().display()),
        "--any",
        "/content",
    ])?
    .succeeded()?;
    host.run(call)?.succeeded()?;
    ensure!(fs::read_to_string(&file)? == "line\n");
    let outside = json!({ "path": "/etc/mcp-host-test", "content": "" }).to_string();
    host.run(["call", "files", "write_file", "--args", &outside, "--json"])?.failed(3, "mcp.approval_unavailable")?;
    Ok(())
}

#[test]
fn the_memory_server_keeps_what_its_environment_says() -> Result<()> {
    let host = CommandLine::fresh()?;
    let store = host.scratch().join("memory.jsonl");
    host.write_servers(&json!({ "memory": {
        "command": place::npm_server("memory")?, "env": { "MEMORY_FILE_PATH": store },
    } }))?;
    host.line("trust allow --server memory --all-tools")?.succeeded()?;
    host.run(["approval", "grant", "memory/*"])?.succeeded()?;
    let entity =
        json!({ "entities": [{ "name": "Ada", "entityType": "person", "observations": ["counts"] }] }).to_string();
    host.run(["call", "memory", "create_entities", "--args", &entity, "--json"])?.succeeded()?;
    ensure!(fs::read_to_string(&store)?.contains("Ada"), "the environment of the entry did not reach the server");
    let graph = host.line("call memory read_graph --json")?.succeeded()?.json()?;
    ensure!(graph["structuredContent"].to_string().contains("Ada"), "{graph}");
    Ok(())
}

#[test]
fn a_python_server_works_whatever_the_locale() -> Result<()> {
    let host = CommandLine::fresh()?;
    host.add("time", &place::python_server("time")?, [""; 0])?;
    let words = [
        "--permission-mode",
        "danger-full-access",
        "call",
        "time",
        "get_current_time",
        "--args",
        r#"{"timezone":"Asia/Tokyo"}"#,
        "--json",
    ];
    for locale in ["C", "POSIX", "C.UTF-8"] {
        let output = host.command(words)?.env("LC_ALL", locale).output()?;
        let shown = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success() && shown.contains("Asia/Tokyo"), "{locale}: {output:#?}");
    }
    Ok(())
}

#[test]
fn what_a_server_wrote_before_it_failed_is_told() -> Result<()> {
    let host = CommandLine::fresh()?;
    host.add("broken", Path::new("/bin/sh"), ["-c", "echo 'Error: API_KEY is required' >&2; exit 1"])?;
    let error = host.line("tools broken --json")?.failed(1, "mcp.launch_failed")?;
    ensure!(error.pointer("/details/reason") == Some(&json!("exited")), "{error}");
    ensure!(error.pointer("/details/exitCode") == Some(&json!(1)), "{error}");
    ensure!(error.to_string().contains("API_KEY is required"), "{error}");
    let words = host.line("tools broken")?.exited(1)?;
    ensure!(words.errors.contains("API_KEY is required"), "{words:?}");
    host.add("absent", Path::new("no-such-program-anywhere"), [""; 0])?;
    let error = host.line("tools absent --json")?.failed(1, "mcp.launch_failed")?;
    ensure!(error.pointer("/details/reason") == Some(&json!("not_found")), "{error}");
    Ok(())
}

fn newest_log(folder: &Path) -> Result<std::path::PathBuf> {
    let mut logs = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl")
                && path.components().any(|part| part.as_os_str() == "audit")
            {
                // The list of runs is chained too, but it names no tool.
                if fs::read_to_string(&path)?.contains("tool_call_requested") {
                    logs.push((path.metadata()?.modified()?, path));
                }
            }
        }
    }
    logs.sort();
    Ok(logs.pop().context("no log with a call in it")?.1)
}
