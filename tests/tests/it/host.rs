//! The host with a real server behind it and a person who answers by script: what is asked, sent, written down, and left.

use std::{
    collections::VecDeque,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use mcp_host_core::{
    Error, Host,
    approval::{Answer, ChoiceKind, Prompter, Sheet},
    clock::BoxFuture,
    error::Audience,
    host::{GrantTarget, NewRule, Origin, RequestOptions, ToolCall},
    model::{Caller, CallerKind, ServerState, ToolResult, admin::AuditFilter, json},
};
use mcp_tests::{
    process::{self, Running},
    wait,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

const SERVER: &str = env!("CARGO_BIN_EXE_fixture-server");

/// A person who gives the answers they were told to, and then only looks at the dialog.
#[derive(Default)]
struct Person {
    answers: Mutex<VecDeque<ChoiceKind>>,
    seen: Mutex<Vec<Sheet>>,
}

impl Person {
    fn will(self: &Arc<Self>, answers: &[ChoiceKind]) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).extend(answers);
    }

    fn seen(&self) -> Vec<Sheet> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn has_seen(&self, count: usize) -> Result<()> {
        until("a dialog", || self.seen().len() >= count).await
    }
}

struct Eyes(Arc<Person>);

impl Prompter for Eyes {
    fn show(&self, sheet: Sheet, shown: oneshot::Sender<()>, closed: CancellationToken) -> BoxFuture<Answer> {
        let person = self.0.clone();
        Box::pin(async move {
            let _ = shown.send(());
            person.seen.lock().unwrap_or_else(PoisonError::into_inner).push(sheet);
            loop {
                let answer = person.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                if let Some(answer) = answer {
                    return Answer::Chosen(answer);
                }
                tokio::select! {
                    () = closed.cancelled() => return Answer::Dismissed,
                    () = tokio::time::sleep(Duration::from_millis(10)) => {}
                }
            }
        })
    }
}

async fn until(what: &str, mut condition: impl FnMut() -> bool) -> Result<()> {
    let met = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(wait::LONG, met).await.with_context(|| format!("waited in vain for {what}"))
}

/// A folder of the product with one entry, `f`.
struct Scene {
    folder: TempDir,
    person: Arc<Person>,
}

impl Scene {
    fn new(args: &[&str]) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("mcp-host-").tempdir()?;
        let scene = Self { folder, person: Arc::default() };
        fs::create_dir(scene.home())?;
        scene.write(scene.entry(args))?;
        Ok(scene)
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("product")
    }

    fn file(&self) -> PathBuf {
        self.home().join("servers.json")
    }

    fn entry(&self, args: &[&str]) -> Value {
        let env = json!({ "FIXTURE_TRACE": self.trace(), "FIXTURE_MARK": self.folder.path() });
        json!({ "command": SERVER, "args": args, "env": env })
    }

    #[allow(clippy::needless_pass_by_value, reason = "`json!` makes values")]
    fn write(&self, entry: Value) -> Result<()> {
        Ok(fs::write(self.file(), json!({ "mcpServers": { "f": entry } }).to_string())?)
    }

    fn trace(&self) -> PathBuf {
        self.folder.path().join("trace")
    }

    /// How often the server was told that, by the text of the messages it read.
    fn told(&self, text: &str) -> usize {
        fs::read_to_string(self.trace()).unwrap_or_default().lines().filter(|line| line.contains(text)).count()
    }

    async fn host(&self, origin: Origin, mode: Option<&str>) -> Result<Host> {
        let builder = Host::builder(origin, Some(self.home())).permission_mode(mode.map(str::to_owned));
        Ok(builder.prompter(Arc::new(Eyes(self.person.clone()))).build().await?)
    }

    /// Confirmed by the person, and held by the page.
    async fn ready(&self, mode: Option<&str>) -> Result<Host> {
        let host = self.host(Origin::Cli, mode).await?;
        host.admin().confirm_server("f", None, &Caller::Cli).await?;
        soon(host.connect_server("f", &page(), RequestOptions::default())).await??;
        Ok(host)
    }

    /// The same, with every tool seen already.
    async fn known(&self, mode: Option<&str>) -> Result<Host> {
        let host = self.ready(mode).await?;
        host.admin().pin_tools("f", None, &Caller::Cli).await?;
        Ok(host)
    }

    fn left(&self) -> Vec<Running> {
        let mark = format!("FIXTURE_MARK={}", self.folder.path().display());
        process::running().into_iter().filter(|process| process.mentions(&mark)).collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for process in self.left() {
            process::signal(process.id, rustix::process::Signal::KILL);
        }
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> Result<T> {
    tokio::time::timeout(wait::LONG, future).await.context("it took far too long")
}

fn page() -> Caller {
    Caller::Page { window: "main".to_owned(), document: 1 }
}

#[allow(clippy::needless_pass_by_value, reason = "`json!` makes values")]
fn wanted(tool: &str, arguments: Value) -> Result<ToolCall> {
    Ok(ToolCall {
        server: "f".to_owned(),
        tool: tool.to_owned(),
        arguments: Some(json::Value::from_serde(&arguments).map_err(|error| anyhow::anyhow!("{error:?}"))?),
        approval_token: None,
    })
}

async fn call(host: &Host, tool: &str, arguments: Value) -> Result<Result<ToolResult, Error>> {
    soon(host.call_tool(wanted(tool, arguments)?, page(), RequestOptions::default())).await
}

/// The same in a task of its own.
fn start(
    host: &Host,
    tool: &str,
    arguments: Value,
) -> Result<tokio::task::JoinHandle<std::result::Result<ToolResult, Error>>> {
    let (host, wanted) = (host.clone(), wanted(tool, arguments)?);
    Ok(tokio::spawn(async move { host.call_tool(wanted, page(), RequestOptions::default()).await }))
}

fn rule(effect: &str, tool: &str, scope: &str) -> NewRule {
    let target = GrantTarget::Tool { server: Some("f".to_owned()), tool: tool.to_owned() };
    NewRule {
        effect: effect.to_owned(),
        target: Some(target),
        scope: scope.to_owned(),
        callers: vec![CallerKind::Page],
        ..NewRule::default()
    }
}

/// What the log says of calls, oldest first.
async fn calls_in_log(host: &Host) -> Result<Vec<String>> {
    let rows = host.admin().audit(AuditFilter::default()).await?.rows;
    let of_calls = rows.into_iter().rev().filter(|row| row.call_id.is_some());
    Ok(of_calls.map(|row| row.event_type).collect())
}

// ── Consent ──

#[tokio::test(flavor = "multi_thread")]
async fn what_was_allowed_once_asks_again_and_what_was_allowed_always_does_not_even_after_a_restart() -> Result<()> {
    let scene = Scene::new(&["plain"])?;
    let host = scene.ready(None).await?;
    scene.person.will(&[ChoiceKind::AllowOnce, ChoiceKind::AlwaysExact]);
    call(&host, "echo", json!({ "a": 1 })).await??;
    call(&host, "echo", json!({ "a": 1 })).await??;
    call(&host, "echo", json!({ "a": 1 })).await??;
    ensure!(scene.person.seen().len() == 2, "{:#?}", scene.person.seen());
    host.shutdown().await;
    let host = scene.host(Origin::Cli, None).await?;
    soon(host.connect_server("f", &page(), RequestOptions::default())).await??;
    call(&host, "echo", json!({ "a": 1 })).await??;
    ensure!(scene.person.seen().len() == 2);
    scene.person.will(&[ChoiceKind::Deny]);
    let other = call(&host, "echo", json!({ "a": 2 })).await?;
    ensure!(matches!(other, Err(Error::ApprovalDenied { .. })), "{other:?}");
    ensure!(scene.told("tools/call") == 4, "what was denied is not sent");
    host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deny_rule_beats_a_token_and_every_mode_and_the_token_lives_on() -> Result<()> {
    let scene = Scene::new(&["plain"])?;
    let host = scene.known(Some("danger-full-access")).await?;
    let token = host.request_approval(wanted("echo", json!({}))?, page(), RequestOptions::default()).await?;
    let deny = host.admin().add_rule(rule("deny", "echo", "always"), &Caller::Cli).await?;
    let with_token = || -> Result<ToolCall> {
        Ok(ToolCall { approval_token: Some(token.approval_token.clone()), ..wanted("echo", json!({}))? })
    };
    let denied = soon(host.call_tool(with_token()?, page(), RequestOptions::default())).await?;
    ensure!(matches!(&denied, Err(Error::PolicyDenied { rule, .. }) if rule.starts_with("deny-rule:")), "{denied:?}");
    ensure!(scene.told("tools/call") == 0);
    host.admin().revoke_rule(&deny, &Caller::Cli).await?;
    soon(host.call_tool(with_token()?, page(), RequestOptions::default())).await??;
    host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_good_for_one_call_with_those_arguments() -> Result<()> {
    let scene = Scene::new(&["plain"])?;
    let host = scene.ready(None).await?;
    scene.person.will(&[ChoiceKind::AllowOnce]);
    let asked = host.request_approval(wanted("echo", json!({ "a": 1 }))?, page(), RequestOptions::default());
    let token = soon(asked).await??.approval_token;
    let with_token = |arguments: Value| -> Result<ToolCall> {
        Ok(ToolCall { approval_token: Some(token.clone()), ..wanted("echo", arguments)? })
    };
    scene.person.will(&[ChoiceKind::Deny]);
    let other = soon(host.call_tool(with_token(json!({ "a": 2 }))?, page(), RequestOptions::default())).await?;
    ensure!(other.is_err() && scene.told("tools/call") == 0, "{other:?}");
    soon(host.call_tool(with_token(json!({ "a": 1 }))?, page(), RequestOptions::default())).await??;
    scene.person.will(&[ChoiceKind::Deny]);
    let again = soon(host.call_tool(with_token(json!({ "a": 1 }))?, page(), RequestOptions::default())).await?;
    ensure!(again.is_err() && scene.told("tools/call") == 1, "{again:?}");
    host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_for_one_call_lets_one_call_through_and_no_second() -> Result<()> {
    let scene = Scene::new(&["plain"])?;
    let host = scene.known(None).await?;
    host.admin().add_rule(rule("allow", "echo", "once"), &Caller::Cli).await?;
    call(&host, "echo", json!({})).await??;
    scene.person.will(&[ChoiceKind::Deny]);
    let second = call(&host, "echo", json!({})).await?;
    ensure!(matches!(second, Err(Error::ApprovalDenied { .. })), "{second:?}");
    ensure!(scene.told("tools/call") == 1);
    host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_changes_under_the_dialog_closes_it_and_the_difference_is_asked_about() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let text = folder.path().join("text");
    fs::write(&text, "reads a note")?;
    let scene = Scene::new(&["drifting", &text.display().to_string()])?;
    let host = scene.known(Some("allow")).await?;
    host.admin().add_rule(rule("ask", "echo", "always"), &Caller::Cli).await?;
    let waiting = start(&host, "echo", json!({}))?;
    scene.person.has_seen(1).await?;
    fs::write(&text, "sends every note away")?;
    call(&host, "storm", json!({})).await??;
    scene.person.has_seen(2).await?;
    let second = scene.person.seen().pop().context("no dialog")?;
    let shown = format!("{second:?}");
    ensure!(shown.contains("sends every note away") && shown.contains("reads a note"), "{shown}");
    ensure!(scene.told("\"echo\"") == 0, "nothing was sent yet");
    scene.person.will(&[ChoiceKind::AllowOnce]);
    soon(waiting).await???;
    host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unseen_definition_asks_in_allow_mode_and_read_only_mode_says_no_to_it() -> Result<()> {
    let scene = Scene::new(&["plain"])?;
    let host = scene.ready(Some("allow")).await?;
    scene.person.will(&[ChoiceKind::Deny]);
    let unseen = call(&host, "echo", json!({})).await?;
    ensure!(matches!(unseen, Err(Error::ApprovalDenied { .. })), "{unseen:?}");
    host.shutdown().await;
    let host = scene.known(Some("read-only")).await?;
    host.admin().add_rule(rule("allow", "echo", "always"), &Caller::Cli).await?;
    let denied = call(&host, "echo", json!({})).await?;
    ensure!(matches!(&denied, Err(Error::PolicyDenied { rule, .. }) if rule == "mode-read-only"), "{denied:?}");
    ensure!(scene.told("tools/call") == 0);
    host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoke_in_one_process_counts_at_the_next_call_of_another() -> Result<()> {
    let scene = Scene::new(&["plain"])?;
    let desktop = scene.known(None).await?;
    let id = desktop.admin().add_rule(rule("allow", "echo", "always"), &Caller::Cli).await?;
    call(&desktop, "echo", json!({})).await??;
    let command_line = scene.host(Origin::Cli, None).await?;
    command_line.admin().revoke_rule(&id, &Caller::Cli).await?;
    scene.person.will(&[ChoiceKind::Deny]);
    let next = call(&desktop, "echo", json!({})).await?;
    ensure!(matches!(next, Err(Error::ApprovalDenied { .. })), "{next:?}");
    command_line.shutdown().await;
    desktop.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_are_made_meanwhile_do_not_fail_calls_that_they_do_not_concern() -> Result<()> {
    let scene = Scene::new(&["plain"])?;
    let host = scene.known(Some("allow")).await?;
    let mut calls = Vec::new();
    for n in 0..20 {
        calls.push(start(&host, "echo", json!({ "n": n }))?);
        host.admin().add_rule(rule("deny", &format!("other{n}"), "always"), &Caller::Cli).await?;
    }
    for call in calls {
        soon(call).await???;
    }
    host.shutdown().await;
    Ok(())
}

// ── Launches ──

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_command_ends_the_server_and_waits_for_the_person() -> Result<()> {
    let scene = Scene::new(&["plain"])?;
    let first = scene.ready(None).await?;
    first.shutdown().await;
    let host = scene.host(Origin::App, None).await?;
    soon(host.connect_server("f", &page(), RequestOptions::default())).await??;
    scene.write(scene.entry(&["plain", "more"]))?;
    let state = || host.server_status("f", Audience::Page).map(|status| status.state);
    until("the edit to be noticed", || state().is_ok_and(|state| state == ServerState::NeedsApproval)).await?;
    let refused = soon(host.connect_server("f", &page(), RequestOptions::default())).await?;
    ensure!(matches!(refused, Err(Error::ServerUnapproved { .. })), "{refused:?}");
    until("the process to be gone", || scene.left().is_empty()).await?;
    ensure!(scene.told("start ") == 2 && scene.person.seen().is_empty());
    host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_cut_in_half_leaves_the_last_good_state_at_work() -> Result<()> {
    let scene = Scene::new(&["plain"])?;
    scene.known(None).await?.shutdown().await;
    let host = scene.host(Origin::App, None).await?;
    host.admin().add_rule(rule("allow", "echo", "always"), &Caller::Cli).await?;
    soon(host.connect_server("f", &page(), RequestOptions::default())).await??;
    let whole = fs::read_to_string(scene.file())?;
    let half = whole.get(..whole.len() / 2).context("no half")?;
    fs::write(scene.file(), half)?;
    until("the fault to be noticed", || host.config_problem().is_some()).await?;
    call(&host, "echo", json!({})).await??;
    ensure!(fs::read_to_string(scene.file())? == half, "the file is left as it is");
    fs::write(scene.file(), &whole)?;
    until("the repair to be noticed", || host.config_problem().is_none()).await?;
    call(&host, "echo", json!({})).await??;
    ensure!(scene.told("start ") == 2, "it was not started again");
    host.shutdown().await;
    Ok(())
}

// ── Calls ──

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_in_a_call_is_started_again_by_the_next_one() -> Result<()> {
    let scene = Scene::new(&["plain"])?;
    let host = scene.known(Some("allow")).await?;
    let died = call(&host, "die", json!({ "code": 7 })).await?;
    ensure!(matches!(died, Err(Error::CallOutcomeUnknown { exit_code: Some(7), .. })), "{died:?}");
    call(&host, "echo", json!({})).await??;
    ensure!(scene.told("start ") == 2);
    let died = call(&host, "die", json!({ "code": 7 })).await?;
    ensure!(matches!(died, Err(Error::CallOutcomeUnknown { .. })), "{died:?}");
    let paused = call(&host, "echo", json!({})).await?;
    ensure!(matches!(paused, Err(Error::RateLimited { .. })), "the second crash has a pause: {paused:?}");
    host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn short_calls_do_not_wait_for_a_long_one() -> Result<()> {
    let scene = Scene::new(&["plain"])?;
    let host = scene.known(Some("allow")).await?;
    let long = start(&host, "slow", json!({ "ms": 3_600_000 }))?;
    until("the long call to be sent", || scene.told("3600000") == 1).await?;
    for n in 0..10 {
        call(&host, "echo", json!({ "n": n })).await??;
    }
    ensure!(!long.is_finished());
    host.shutdown().await;
    let long = soon(long).await??;
    ensure!(matches!(long, Err(Error::Cancelled { sent: true, .. } | Error::CallOutcomeUnknown { .. })), "{long:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_taken_back_is_taken_back_at_the_server_which_lives_on() -> Result<()> {
    let scene = Scene::new(&["plain"])?;
    let host = scene.known(Some("allow")).await?;
    let cancel = CancellationToken::new();
    let options = RequestOptions { cancel: cancel.clone(), ..RequestOptions::default() };
    let wanted = wanted("slow", json!({ "ms": 3_600_000 }))?;
    let other = host.clone();
    let waiting = tokio::spawn(async move { other.call_tool(wanted, page(), options).await });
    until("the call to be sent", || scene.told("3600000") == 1).await?;
    cancel.cancel();
    let outcome = soon(waiting).await??;
    ensure!(matches!(outcome, Err(Error::Cancelled { sent: true, .. })), "{outcome:?}");
    until("the server to be told", || scene.told("notifications/cancelled") == 1).await?;
    let options = RequestOptions { timeout: Some(Duration::from_millis(200)), ..RequestOptions::default() };
    let late = soon(host.call_tool(self::wanted("slow", json!({ "ms": 3_600_001 }))?, page(), options)).await?;
    ensure!(matches!(late, Err(Error::Timeout { sent: true, .. })), "{late:?}");
    until("the server to be told", || scene.told("notifications/cancelled") == 2).await?;
    call(&host, "echo", json!({})).await??;
    ensure!(scene.told("start ") == 1);
    host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_notices_of_a_change_are_two_lists_at_most() -> Result<()> {
    let scene = Scene::new(&["plain"])?;
    let host = scene.known(Some("allow")).await?;
    let before = scene.told("tools/list");
    call(&host, "storm", json!({})).await??;
    until("the list to be fetched anew", || scene.told("tools/list") > before).await?;
    // A second fetch, if one is due, comes half a second later; a third would come soon after it.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    ensure!(scene.told("tools/list") <= before + 2, "{}", scene.told("tools/list"));
    host.shutdown().await;
    Ok(())
}

// ── Documents, holds, the end ──

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_is_gone_takes_its_calls_and_its_server_with_it() -> Result<()> {
    let scene = Scene::new(&["plain"])?;
    let host = scene.known(Some("allow")).await?;
    let mut calls = Vec::new();
    for n in 0..64 {
        calls.push(start(&host, "slow", json!({ "ms": 3_600_000, "n": n }))?);
    }
    until("all to be sent", || scene.told("3600000") == 64).await?;
    let one_more = call(&host, "echo", json!({})).await?;
    ensure!(matches!(one_more, Err(Error::RateLimited { .. })), "{one_more:?}");
    host.forget_document("main", 1);
    for call in calls {
        let outcome = soon(call).await??;
        ensure!(matches!(outcome, Err(Error::Cancelled { sent: true, .. })), "{outcome:?}");
    }
    until("the server to end", || scene.left().is_empty()).await?;
    host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_lets_go_does_not_end_the_call_of_another() -> Result<()> {
    let scene = Scene::new(&["plain"])?;
    let host = scene.known(Some("allow")).await?;
    let agent = Caller::Agent { run_id: "r".to_owned() };
    let (other, wanted) = (host.clone(), wanted("slow", json!({ "ms": 800 }))?);
    let running = tokio::spawn(async move { other.call_tool(wanted, agent, RequestOptions::default()).await });
    until("the call to be sent", || scene.told("800") == 1).await?;
    soon(host.disconnect_server("f", &page())).await??;
    soon(running).await???;
    until("the server to end behind it", || scene.left().is_empty()).await?;
    host.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_has_every_step_of_every_call_and_ends_cleanly_in_the_middle_of_one() -> Result<()> {
    let scene = Scene::new(&["plain"])?;
    let host = scene.known(None).await?;
    scene.person.will(&[ChoiceKind::AllowOnce, ChoiceKind::Deny, ChoiceKind::AllowOnce]);
    call(&host, "echo", json!({})).await??;
    ensure!(
        calls_in_log(&host).await?
            == [
                "tool_call_requested",
                "approval_shown",
                "approval_answered",
                "tool_call_started",
                "tool_call_completed"
            ],
        "{:?}",
        calls_in_log(&host).await?
    );
    let denied = call(&host, "echo", json!({})).await?;
    ensure!(matches!(denied, Err(Error::ApprovalDenied { .. })), "{denied:?}");
    let log = calls_in_log(&host).await?;
    ensure!(
        log.get(5..).is_some_and(
            |rest| rest == ["tool_call_requested", "approval_shown", "approval_answered", "tool_call_blocked"]
        ),
        "{log:?}"
    );
    let waiting = start(&host, "slow", json!({ "ms": 3_600_000 }))?;
    until("the call to be sent", || scene.told("3600000") == 1).await?;
    host.shutdown().await;
    ensure!(soon(waiting).await??.is_err());
    ensure!(scene.left().is_empty(), "{:#?}", scene.left());
    let log = calls_in_log(&host).await?;
    ensure!(log.last().is_some_and(|last| last == "tool_call_failed"), "{log:?}");
    let report = host.admin().verify_audit(None, None).await?;
    ensure!(!report.to_string().contains("\"valid\":false"), "{report}");
    let last = host.admin().audit(AuditFilter::default()).await?.rows.into_iter().next().context("an empty log")?;
    ensure!(last.event_type == "run_completed", "{last:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disconnect_during_the_start_does_not_spoil_the_next_one() -> Result<()> {
    let scene = Scene::new(&["plain"])?;
    let host = scene.host(Origin::Cli, None).await?;
    host.admin().confirm_server("f", None, &Caller::Cli).await?;
    for _ in 0..5 {
        let other = host.clone();
        let first = tokio::spawn(async move {
            other.connect_server("f", &Caller::Settings, RequestOptions::default()).await.map(drop)
        });
        let state = || host.server_status("f", Audience::Person).map(|status| status.state);
        until("the start", || state().is_ok_and(|state| state != ServerState::Disconnected)).await?;
        soon(host.disconnect_server("f", &Caller::Settings)).await??;
        let status = soon(host.connect_server("f", &Caller::Settings, RequestOptions::default())).await??;
        ensure!(status.connected, "{status:?}");
        let _ = soon(first).await??;
        soon(host.disconnect_server("f", &Caller::Settings)).await??;
    }
    host.shutdown().await;
    ensure!(scene.left().is_empty(), "{:#?}", scene.left());
    Ok(())
}
