//! Calls through the whole host to a server that misbehaves: what the caller is told, and that the next call works.

use std::{
    fs,
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use mcp_host_core::{
    Error, Host,
    error::LaunchReason,
    host::{Origin, RequestOptions, ToolCall},
    model::{Caller, ContentBlock, Progress, ToolResult, json},
};
use mcp_tests::{process, wait};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const SERVER: &str = env!("CARGO_BIN_EXE_fixture-server");

/// A host that may do anything, over servers of the fixture.
struct Stage {
    host: Host,
    folder: TempDir,
}

impl Stage {
    async fn new(servers: impl FnOnce(&str) -> Value) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("mcp-calls-").tempdir()?;
        let trace = folder.path().join("trace").display().to_string();
        let config = folder.path().join("config");
        fs::create_dir_all(&config)?;
        fs::write(config.join("servers.json"), json!({ "mcpServers": servers(&trace) }).to_string())?;
        let builder = Host::builder(Origin::Cli, Some(config));
        let host = builder.permission_mode(Some("danger-full-access".to_owned())).build().await?;
        Ok(Self { host, folder })
    }

    async fn plain() -> Result<Self> {
        Self::new(
            |trace| json!({ "fixture": { "command": SERVER, "args": ["plain"], "env": { "FIXTURE_TRACE": trace } } }),
        )
        .await
    }

    fn traced(&self) -> String {
        fs::read_to_string(self.folder.path().join("trace")).unwrap_or_default()
    }

    fn starts(&self) -> usize {
        self.traced().lines().filter(|line| line.starts_with("start ")).count()
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolResult, Error> {
        self.call_with(tool, arguments, RequestOptions::default()).await
    }

    async fn call_with(&self, tool: &str, arguments: Value, options: RequestOptions) -> Result<ToolResult, Error> {
        let arguments = json::Value::from_serde(&arguments).expect("arguments of a test");
        let call = ToolCall {
            server: "fixture".to_owned(),
            tool: tool.to_owned(),
            arguments: Some(arguments),
            approval_token: None,
        };
        tokio::time::timeout(wait::LONG, self.host.call_tool(call, Caller::Cli, options)).await.expect("an end")
    }

    async fn connect(&self) -> Result<()> {
        self.host.connect_server("fixture", &Caller::Cli, RequestOptions::default()).await?;
        Ok(())
    }
}

fn text(result: &ToolResult) -> &str {
    match result.content.first() {
        Some(ContentBlock::Text { text, .. }) => text,
        _ => "",
    }
}

async fn works(stage: &Stage) -> Result<()> {
    let result = stage.call("echo", json!({ "a": [1, "ü"] })).await?;
    ensure!(text(&result) == r#"{"a":[1,"ü"]}"#, "{result:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_fails_its_own_call_and_no_other() -> Result<()> {
    let stage = Stage::plain().await?;
    stage.connect().await?;
    let huge = 33 * 1024 * 1024;
    for (tool, arguments, expected) in [
        ("huge", json!({ "bytes": huge }), "mcp.result_too_large"),
        ("error", json!({}), "mcp.server_error"),
        ("nan", json!({}), "mcp.protocol_error"),
        ("twice", json!({}), "mcp.protocol_error"),
    ] {
        let error = match stage.call(tool, arguments).await {
            Err(error) => error,
            Ok(result) => bail!("{tool}: {result:?}"),
        };
        ensure!(error.code().as_str() == expected, "{tool}: {error:?}");
        works(&stage).await?;
    }
    // 13.5 MB is large, and fine.
    let result = stage.call("big", json!({ "bytes": 13_500_000 })).await?;
    ensure!(text(&result).len() == 13_500_000 && result.truncated.is_none());
    ensure!(stage.starts() == 1, "it was started again");
    stage.host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_writes_much_to_stderr_without_a_line_is_not_blocked() -> Result<()> {
    let stage = Stage::plain().await?;
    stage.connect().await?;
    let result = stage.call("stderr", json!({ "bytes": 1024 * 1024 })).await?;
    ensure!(text(&result) == "said");
    stage.host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_in_a_call_leaves_the_outcome_open_and_starts_again() -> Result<()> {
    let stage = Stage::plain().await?;
    stage.connect().await?;
    let died = stage.call("die", json!({ "code": 7 })).await;
    ensure!(matches!(&died, Err(Error::CallOutcomeUnknown { exit_code: Some(7), .. })), "{died:?}");
    works(&stage).await?;
    ensure!(stage.starts() == 2, "{}", stage.traced());
    ensure!(stage.traced().matches("\"die\"").count() == 1, "the call was sent again");
    stage.host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn last_words_without_the_end_of_a_line_count() -> Result<()> {
    let stage = Stage::plain().await?;
    stage.connect().await?;
    let result = stage.call("last", json!({})).await?;
    ensure!(text(&result) == "last words", "{result:?}");
    stage.host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_in_order_and_ends_with_the_last() -> Result<()> {
    let stage = Stage::plain().await?;
    stage.connect().await?;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = seen.clone();
    let sink = Box::new(move |progress: Progress| into.lock().expect("no panic").push(progress.progress));
    let options = RequestOptions { progress: Some(sink), ..RequestOptions::default() };
    stage.call_with("steps", json!({ "count": 200 }), options).await?;
    let seen = seen.lock().expect("no panic").clone();
    ensure!(seen.is_sorted() && seen.last() == Some(&200.0) && seen.len() <= 31, "{seen:?}");
    stage.host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_or_late_is_taken_back_and_the_server_lives() -> Result<()> {
    let stage = Stage::plain().await?;
    stage.connect().await?;
    let cancel = CancellationToken::new();
    let slow = json!({ "ms": 60_000 });
    let options = RequestOptions { cancel: cancel.clone(), ..RequestOptions::default() };
    let (cancelled, ()) = tokio::join!(stage.call_with("slow", slow.clone(), options), async {
        while !stage.traced().contains("\"slow\"") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
    });
    ensure!(matches!(cancelled, Err(Error::Cancelled { sent: true, .. })), "{cancelled:?}");
    let options = RequestOptions { timeout: Some(Duration::from_millis(200)), ..RequestOptions::default() };
    let late = stage.call_with("slow", slow, options).await;
    ensure!(matches!(late, Err(Error::Timeout { sent: true, .. })), "{late:?}");
    works(&stage).await?;
    ensure!(stage.traced().matches("notifications/cancelled").count() == 2, "{}", stage.traced());
    ensure!(stage.starts() == 1);
    stage.host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn many_that_connect_at_once_start_one_process() -> Result<()> {
    let stage = Stage::plain().await?;
    let connect = || stage.connect();
    tokio::try_join!(connect(), connect(), connect(), connect(), connect())?;
    ensure!(stage.starts() == 1 && stage.traced().matches("\"initialize\"").count() == 1, "{}", stage.traced());
    stage.host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_cannot_start_harms_no_other() -> Result<()> {
    let stage = Stage::new(|trace| {
        let mut servers = json!({ "fixture": { "command": SERVER, "args": ["exits", "9"] } });
        for n in 0..4 {
            servers[format!("s{n}")] =
                json!({ "command": SERVER, "args": ["noisy"], "env": { "FIXTURE_TRACE": trace } });
        }
        servers
    })
    .await?;
    let connect = |server: String| {
        let host = stage.host.clone();
        async move { host.connect_server(&server, &Caller::Cli, RequestOptions::default()).await }
    };
    let (bad, ..) = tokio::join!(connect("fixture".to_owned()), async {
        for n in 0..4 {
            connect(format!("s{n}")).await.expect("a good server");
        }
    });
    let Err(Error::LaunchFailed { reason: LaunchReason::Exited, exit_code: Some(9), private, .. }) = bad else {
        bail!("{bad:?}")
    };
    ensure!(private.stderr_tail == ["Error: API_KEY is required"], "{private:?}");
    stage.host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_folder_and_environment_are_exactly_what_was_configured() -> Result<()> {
    let args = ["plain", "a b", "", "\"quoted\" 'twice'", "$HOME `id` $(id)", "*", "ü\n2", "--", "-x=\\"];
    let folder = tempfile::tempdir()?;
    let cwd = fs::canonicalize(folder.path())?;
    let stage =
        Stage::new(|_| json!({ "fixture": { "command": SERVER, "args": args, "cwd": cwd, "env": { "OWN": "1" } } }))
            .await?;
    stage.connect().await?;
    let told: Value = serde_json::from_str(text(&stage.call("whoami", json!({})).await?))?;
    ensure!(told["args"] == json!(args), "{told}");
    ensure!(told["cwd"] == json!(cwd), "{told}");
    let names: Vec<&str> = told["env"].as_array().context("env")?.iter().filter_map(Value::as_str).collect();
    ensure!(
        names.contains(&"OWN") && names.contains(&"PATH") && !names.iter().any(|name| name.starts_with("CARGO_")),
        "{names:?}"
    );
    // The end of the host is the end of the server.
    let pid = u32::try_from(told["pid"].as_u64().context("pid")?)?;
    stage.host.shutdown().await;
    ensure!(!process::running().iter().any(|process| process.id == pid), "the server is still there");
    Ok(())
}
