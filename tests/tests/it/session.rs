//! Sessions with real children: servers that misbehave (`fixture-server`), and what is left of them.

use std::{
    ffi::OsString,
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use mcp_host_core::{
    Error,
    config::ResolvedLaunch,
    error::LaunchReason,
    model::ServerId,
    session::{Connect, Events, Processes, RequestOptions, Session, SessionEvent},
};
use mcp_tests::{
    process::{self, Running},
    wait,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const SERVER: &str = env!("CARGO_BIN_EXE_fixture-server");
const HOST: &str = env!("CARGO_BIN_EXE_fixture-host");

/// What one test starts, and what is left of it.
struct Scene {
    folder: TempDir,
    mark: String,
}

impl Scene {
    fn new() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("mcp-session-").tempdir()?;
        let mark = format!("FIXTURE_MARK={}", folder.path().display());
        Ok(Self { folder, mark })
    }

    fn records(&self) -> PathBuf {
        self.folder.path().join("records")
    }

    fn trace(&self) -> PathBuf {
        self.folder.path().join("trace")
    }

    fn traced(&self) -> String {
        fs::read_to_string(self.trace()).unwrap_or_default()
    }

    fn launch(&self, program: impl Into<PathBuf>, args: &[&str]) -> ResolvedLaunch {
        let mark: OsString = self.folder.path().into();
        let env = [("FIXTURE_MARK".into(), mark), ("FIXTURE_TRACE".into(), self.trace().into())];
        let path = ("PATH".into(), std::env::var_os("PATH").unwrap_or_default());
        ResolvedLaunch {
            program: program.into(),
            args: args.iter().map(OsString::from).collect(),
            env: env.into_iter().chain([path]).collect(),
            cwd: None,
            secrets: Vec::new(),
        }
    }

    async fn plan(&self, launch: ResolvedLaunch) -> Result<Connect> {
        let (processes, _) = Processes::start(self.records()).await?;
        // Longer than any test: whoever waits for it has failed.
        Ok(Connect::stdio(ServerId::parse("fixture")?, launch, processes).timeout(Duration::from_secs(3600)))
    }

    async fn connect(&self, args: &[&str]) -> Result<(Session, Events)> {
        Ok(soon(Session::connect(self.plan(self.launch(SERVER, args)).await?)).await??)
    }

    /// Behind a wrapper, as `npx` and `uvx` are, and deaf to SIGTERM.
    fn wrapped(&self, args: &str) -> ResolvedLaunch {
        self.launch("/bin/sh", &["-c", &format!("trap '' TERM; '{SERVER}' {args}; true")])
    }

    fn left(&self) -> Vec<Running> {
        process::running().into_iter().filter(|process| process.mentions(&self.mark)).collect()
    }

    fn nothing_is_left(&self) -> Result<()> {
        wait::until("every process to be gone", wait::LONG, || Ok(self.left().is_empty().then_some(())))
            .with_context(|| format!("still there: {:#?}", self.left()))
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for process in self.left() {
            process::signal(process.id, rustix::process::Signal::KILL);
        }
    }
}

/// Without waiting for a time limit of ours.
async fn soon<T>(future: impl Future<Output = T>) -> Result<T> {
    tokio::time::timeout(wait::LONG, future).await.context("it took far too long")
}

/// How connecting failed: the reason, the exit code, the message, the last lines of stderr.
async fn failure(plan: Connect) -> Result<(LaunchReason, Option<i32>, String, Vec<String>)> {
    match soon(Session::connect(plan)).await? {
        Err(Error::LaunchFailed { reason, exit_code, message, private, .. }) => {
            Ok((reason, exit_code, message, private.stderr_tail))
        }
        Err(other) => bail!("another error: {other:?}"),
        Ok(_) => bail!("it connected"),
    }
}

// ── Starting ──

#[tokio::test(flavor = "multi_thread")]
async fn a_noisy_server_connects_and_is_not_answered() -> Result<()> {
    let scene = Scene::new()?;
    let (session, _events) = scene.connect(&["noisy"]).await?;
    soon(session.list_tools(RequestOptions::default())).await??;
    let noise = session.output().noise();
    ensure!(noise.iter().any(|line| line.text == "My Server version : 1.0"), "{noise:?}");
    ensure!(noise.iter().any(|line| line.text.contains("4711")), "{noise:?}");
    ensure!(session.output().noise_count() >= 16, "{}", session.output().noise_count());
    session.close().await;
    let methods: Vec<_> = scene.traced().lines().skip(1).filter_map(method).collect();
    ensure!(methods == ["initialize", "notifications/initialized", "tools/list"], "{methods:?}");
    Ok(())
}

fn method(line: &str) -> Option<String> {
    serde_json::from_str::<serde_json::Value>(line).ok()?["method"].as_str().map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_exits_at_once_says_why_at_once() -> Result<()> {
    let scene = Scene::new()?;
    let (reason, code, message, tail) = failure(scene.plan(scene.launch(SERVER, &["exits", "3"])).await?).await?;
    ensure!((reason, code) == (LaunchReason::Exited, Some(3)), "{reason:?} {code:?}");
    ensure!(tail == ["Error: API_KEY is required"], "{tail:?}");
    ensure!(message.contains("code 3") && message.contains("API_KEY"), "{message}");
    scene.nothing_is_left()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_answers_times_out_and_is_gone() -> Result<()> {
    let scene = Scene::new()?;
    let plan = scene.plan(scene.launch(SERVER, &["silent"])).await?.timeout(Duration::from_millis(300));
    let (reason, ..) = failure(plan).await?;
    ensure!(reason == LaunchReason::Timeout, "{reason:?}");
    scene.nothing_is_left()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_that_cannot_be_agreed_to_is_named() -> Result<()> {
    for (args, expected) in [(["rude", ""], "-32000: go away"), (["revision", "2026-07-28"], "`2026-07-28`")] {
        let scene = Scene::new()?;
        let (reason, _, message, _) = failure(scene.plan(scene.launch(SERVER, &args)).await?).await?;
        ensure!(reason == LaunchReason::Handshake && message.contains(expected), "{reason:?} {message}");
        scene.nothing_is_left()?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_says_nothing_about_itself_connects() -> Result<()> {
    let scene = Scene::new()?;
    let (session, _events) = scene.connect(&["bare"]).await?;
    ensure!(session.handshake().server_info.is_none() && !session.handshake().diagnostics.is_empty());
    session.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_started_is_named() -> Result<()> {
    let scene = Scene::new()?;
    let file = scene.folder.path().join("file");
    fs::write(&file, "#!/bin/sh\n")?;
    let orphan = scene.folder.path().join("orphan");
    fs::write(&orphan, "#!/no/such/interpreter\n")?;
    fs::set_permissions(&orphan, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let nowhere = ResolvedLaunch { cwd: Some("/no/such/folder".into()), ..scene.launch(SERVER, &[]) };
    for (launch, expected, named) in [
        (scene.launch("/no/such/program", &[]), LaunchReason::NotFound, "/no/such/program"),
        (scene.launch(&file, &[]), LaunchReason::NotExecutable, "/file"),
        (scene.launch(&orphan, &[]), LaunchReason::NotExecutable, "interpreter"),
        (scene.launch(scene.folder.path(), &[]), LaunchReason::NotExecutable, "mcp-session-"),
        (nowhere, LaunchReason::BadCwd, "/no/such/folder"),
    ] {
        let (reason, _, message, _) = failure(scene.plan(launch).await?).await?;
        ensure!(reason == expected && message.contains(named), "{reason:?} {message}");
    }
    Ok(())
}

// ── Lists ──

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_whole_or_cut_with_a_word() -> Result<()> {
    for (args, count, cut, told) in [
        (["pages", "101"], 101, false, 0),
        // Each once, although the same page came twice.
        (["endless", ""], 2, true, 3),
        // Seventeen good ones, and the one whose output schema nobody can compile.
        (["odd", ""], 18, false, 2),
    ] {
        let scene = Scene::new()?;
        let (session, _events) = scene.connect(&args).await?;
        let listed = soon(session.list_tools(RequestOptions::default())).await??;
        ensure!((listed.items.len(), listed.cut) == (count, cut), "{args:?}: {:?}", listed.diagnostics);
        ensure!(listed.diagnostics.len() == told, "{args:?}: {:?}", listed.diagnostics);
        session.close().await;
    }
    Ok(())
}

// ── The end ──

#[tokio::test(flavor = "multi_thread")]
async fn after_close_nothing_is_left_behind_a_wrapper_that_takes_no_hint() -> Result<()> {
    let scene = Scene::new()?;
    let (session, mut events) = soon(Session::connect(scene.plan(scene.wrapped("stubborn")).await?)).await??;
    ensure!(scene.left().len() >= 2, "{:?}", scene.left());
    let closed = soon(session.close()).await?;
    // Not soon: now.
    ensure!(scene.left().is_empty(), "{:#?}", scene.left());
    ensure!(closed.requested && closed.exit.and_then(|exit| exit.signal) == Some(9), "{closed:?}");
    let Some(SessionEvent::Closed(told)) = soon(events.next()).await? else { bail!("no last event") };
    ensure!(told == closed);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_polite_server_ends_by_itself_when_its_stdin_does() -> Result<()> {
    let scene = Scene::new()?;
    let (session, _events) = scene.connect(&["plain"]).await?;
    let closed = soon(session.close()).await?;
    ensure!(closed.exit.map(|exit| (exit.code, exit.signal)) == Some((0, None)), "{closed:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_left_the_group_is_told_and_left_alone() -> Result<()> {
    let scene = Scene::new()?;
    let (processes, _) = Processes::start(scene.records()).await?;
    let launch = scene.launch(SERVER, &["crowd"]);
    let connect = Connect::stdio(ServerId::parse("fixture")?, launch, processes.clone());
    let (session, _events) = soon(Session::connect(connect)).await??;
    soon(session.close()).await?;
    let left: Vec<u32> = scene.left().iter().map(|process| process.id).collect();
    ensure!(left.len() == 1, "{:#?}", scene.left());
    let strays = processes.strays();
    ensure!(strays.len() == 1 && strays[0].name == "sleep", "{strays:?}");
    ensure!(left == [strays[0].pid.unsigned_abs()], "{left:?} {strays:?}");
    // When it ends it is waited for, and nobody speaks of it any more.
    process::signal(left[0], rustix::process::Signal::KILL);
    wait::until("the stray to be forgotten", wait::LONG, || Ok(processes.strays().is_empty().then_some(())))?;
    ensure!(!Path::new(&format!("/proc/{}", left[0])).exists(), "it was not waited for");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stopped_reading_is_closed_all_the_same() -> Result<()> {
    let scene = Scene::new()?;
    let (session, _events) = scene.connect(&["wedged"]).await?;
    soon(session.list_tools(RequestOptions::default())).await??;
    let ping = soon(session.ping(Duration::from_millis(200))).await?;
    ensure!(matches!(ping, Err(Error::Timeout { sent: true, .. })), "{ping:?}");
    soon(session.close()).await?;
    ensure!(scene.left().is_empty(), "{:#?}", scene.left());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_lets_go_of_a_session_ends_its_processes() -> Result<()> {
    // Dropped.
    let scene = Scene::new()?;
    let (session, _events) = soon(Session::connect(scene.plan(scene.wrapped("stubborn")).await?)).await??;
    drop(session);
    scene.nothing_is_left()?;

    // Dropped while connecting.
    let scene = Scene::new()?;
    let plan = scene.plan(scene.launch(SERVER, &["silent"])).await?;
    let connecting = tokio::time::timeout(Duration::from_millis(300), Session::connect(plan)).await;
    ensure!(connecting.is_err());
    scene.nothing_is_left()?;

    // Taken back while connecting.
    let scene = Scene::new()?;
    let cancel = CancellationToken::new();
    let plan = scene.plan(scene.launch(SERVER, &["silent"])).await?.cancel(cancel.clone());
    let connecting = tokio::spawn(Session::connect(plan));
    wait::until("the server to start", wait::LONG, || Ok(scene.traced().contains("initialize").then_some(())))?;
    cancel.cancel();
    ensure!(matches!(soon(connecting).await??, Err(Error::Cancelled { .. })));
    scene.nothing_is_left()
}

#[test]
fn a_runtime_that_ends_takes_its_servers_along() -> Result<()> {
    let scene = Scene::new()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let plan = runtime.block_on(scene.plan(scene.wrapped("stubborn")))?;
    let session = runtime.block_on(soon(Session::connect(plan)))??;
    runtime.shutdown_background();
    drop(session);
    scene.nothing_is_left()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_is_noticed_at_once() -> Result<()> {
    let scene = Scene::new()?;
    let (session, mut events) = scene.connect(&["plain"]).await?;
    let server = scene.left().pop().context("no server")?;
    process::signal(server.id, rustix::process::Signal::KILL);
    let Some(SessionEvent::Closed(closed)) = soon(events.next()).await? else { bail!("no last event") };
    ensure!(!closed.requested && closed.exit.and_then(|exit| exit.signal) == Some(9), "{closed:?}");
    ensure!(!session.is_open());
    let ping = session.ping(Duration::from_secs(1)).await;
    ensure!(matches!(ping, Err(Error::NotConnected { .. })), "{ping:?}");
    Ok(())
}

// ── A host that is killed ──

/// A host in a process of its own, connected to a stubborn server behind a wrapper.
fn doomed_host(scene: &Scene) -> Result<Child> {
    let script = format!("trap '' TERM; '{SERVER}' stubborn; true");
    let mut command = Command::new(HOST);
    command.arg(scene.records()).args(["/bin/sh", "-c", &script]).env("FIXTURE_MARK", scene.folder.path());
    let mut host = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(host.stdout.take().context("no stdout")?).read_line(&mut line)?;
    ensure!(line == "connected\n", "the host said {line:?}");
    Ok(host)
}

#[test]
fn a_host_that_is_killed_leaves_no_server_behind() -> Result<()> {
    for signal in [rustix::process::Signal::KILL, rustix::process::Signal::TERM, rustix::process::Signal::ABORT] {
        let scene = Scene::new()?;
        let mut host = doomed_host(&scene)?;
        // The host itself, the shell, the server.
        ensure!(scene.left().len() == 3, "{:#?}", scene.left());
        process::signal(host.id(), signal);
        host.wait()?;
        scene.nothing_is_left()?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_even_the_watchdog_could_not_end_is_swept_at_the_next_start() -> Result<()> {
    let scene = Scene::new()?;
    let mut host = doomed_host(&scene)?;
    let mut watchdogs = process::running().into_iter().filter(|process| process.parent == host.id());
    let watchdog = watchdogs.rfind(|process| process.arguments.iter().any(|one| one == "mcp-host-watchdog"));
    let watchdog = watchdog.context("no watchdog")?;
    process::signal(watchdog.id, rustix::process::Signal::KILL);
    process::signal(host.id(), rustix::process::Signal::KILL);
    host.wait()?;
    wait::throughout("the server lives on", Duration::from_millis(500), || Ok(scene.left().len() == 2))?;
    let (_processes, sweep) = Processes::start(scene.records()).await?;
    ensure!(sweep.ended.len() == 1 && sweep.strays.is_empty(), "{sweep:?}");
    scene.nothing_is_left()
}
