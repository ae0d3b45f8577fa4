//! One run: opens the host where a command needs one, tells what went wrong, and ends everything that was started.

use std::{future::ready, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use mcp_host_core::{
    Error, Host,
    error::Audience,
    host::{Admin, Origin, RequestOptions},
    model::{Caller, ServerState, ServerStatus},
};
use tokio::sync::OnceCell;

use crate::{
    approval, audit, call,
    cli::{Cli, Command, Globals},
    failure::{self, Result},
    interrupt::Interrupt,
    offer,
    output::Output,
    servers, shell, terminal, text, trust,
};

/// After this long a start is no surprise any more, and we say what is waited for.
const SLOW_START: Duration = Duration::from_secs(2);

/// What is waited for.
type Work<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// One run of the command line.
pub(crate) struct App {
    globals: Globals,
    output: Output,
    interrupt: Interrupt,
    /// `--approve-scoped`, known before the host is opened.
    approve_scoped: Vec<String>,
    host: OnceCell<Host>,
}

/// Runs the command and returns the exit status.
pub(crate) async fn run(cli: Cli) -> u8 {
    let app = App {
        output: Output::new(cli.globals.json),
        interrupt: Interrupt::listen(),
        approve_scoped: cli.command.approve_scoped(),
        host: OnceCell::new(),
        globals: cli.globals,
    };
    let hurry = app.interrupt.hurry();
    let status = tokio::select! {
        result = app.dispatch(cli.command) => match result {
            Ok(status) => status,
            Err(failure) => {
                let status = failure::report(&failure, app.output.json());
                app.interrupt.status().unwrap_or(status)
            }
        },
        () = hurry.cancelled() => app.interrupt.status().unwrap_or(failure::FAILED),
    };
    if let Some(host) = app.host.get() {
        tokio::select! {
            () = host.shutdown() => {}
            () = hurry.cancelled() => {}
        }
    }
    status
}

impl Command {
    fn approve_scoped(&self) -> Vec<String> {
        match self {
            Self::Call(call) => call.scoped_digests(),
            _ => Vec::new(),
        }
    }
}

impl App {
    fn dispatch(&self, command: Command) -> Work<'_, u8> {
        match command {
            Command::Servers(servers) => Box::pin(servers::run(self, servers)),
            Command::Tools(of) => Box::pin(offer::tools(self, of)),
            Command::Resources(of) => Box::pin(offer::resources(self, of)),
            Command::Templates(of) => Box::pin(offer::templates(self, of)),
            Command::Prompts(of) => Box::pin(offer::prompts(self, of)),
            Command::Call(call) => Box::pin(call::run(self, call)),
            Command::Read(read) => Box::pin(offer::read(self, read)),
            Command::Prompt(prompt) => Box::pin(offer::prompt(self, prompt)),
            Command::Complete(complete) => Box::pin(offer::complete(self, complete)),
            Command::Approval(approval) => Box::pin(approval::run(self, approval)),
            Command::Trust(trust) => Box::pin(trust::run(self, trust)),
            Command::Audit(audit) => Box::pin(audit::run(self, audit)),
            Command::Completions(completions) => Box::pin(ready(shell::completions(&completions))),
            Command::Man(man) => Box::pin(ready(shell::man(&man))),
        }
    }

    /// How to print.
    pub(crate) fn output(&self) -> &Output {
        &self.output
    }

    /// Where our files are, if not in the usual place.
    fn config_dir(&self) -> Option<PathBuf> {
        let from_environment = || std::env::var_os("MCP_HOST_CONFIG_DIR").filter(|value| !value.is_empty());
        self.globals.config_dir.clone().or_else(|| from_environment().map(PathBuf::from))
    }

    /// The host, opened on first use.
    pub(crate) async fn host(&self) -> Result<&Host> {
        let host = self.host.get_or_try_init(|| async {
            let mut builder = Host::builder(Origin::Cli, self.config_dir())
                .permission_mode(self.globals.permission_mode.clone())
                .approve_scoped(self.approve_scoped.clone())
                .audit_full(self.globals.audit_full);
            if !self.globals.no_prompt && terminal::is_a_person_there() {
                builder = builder.prompter(Arc::new(terminal::Terminal::new(self.interrupt.clone())));
            }
            builder.build().await
        });
        Ok(host.await?)
    }

    /// What only the person may do; running the command is their act.
    pub(crate) async fn admin(&self) -> Result<Admin> {
        Ok(self.host().await?.admin())
    }

    /// Waits for what cannot be taken back by a token of its own, until the person interrupts.
    pub(crate) fn until_interrupted<'a, T: 'a>(
        &'a self,
        what: &'a str,
        work: impl Future<Output = mcp_host_core::Result<T>> + 'a,
    ) -> Work<'a, T> {
        // The host's futures are large; ours that wait for them are not.
        let work = Box::pin(work);
        Box::pin(async move {
            let cancel = self.interrupt.cancel();
            tokio::select! {
                result = work => Ok(result?),
                () = cancel.cancelled() => {
                    Err(Error::Cancelled { server: None, what: what.to_owned(), sent: false }.into())
                }
            }
        })
    }

    /// How a request of this run is made: within `timeout`, and taken back by the interrupt.
    pub(crate) fn options(&self, timeout: Option<Duration>) -> RequestOptions {
        RequestOptions { timeout, cancel: self.interrupt.cancel(), ..RequestOptions::default() }
    }

    /// Waits for what may have to start `server` first, and tells the person so where that takes long.
    pub(crate) fn patiently<'a, T: 'a>(
        &'a self,
        server: &'a str,
        work: impl Future<Output = mcp_host_core::Result<T>> + 'a,
    ) -> Work<'a, T> {
        let mut work = Box::pin(work);
        Box::pin(async move {
            if text::columns_of_stderr().is_none() {
                return Ok(work.await?);
            }
            tokio::select! {
                result = &mut work => return Ok(result?),
                () = tokio::time::sleep(SLOW_START) => {}
            }
            let state = self.host().await?.server_status(server, Audience::Person).map(|status| status.state);
            if matches!(state, Ok(ServerState::Connecting)) {
                self.output.note(&format!(
                    "waiting for `{}` to start (the first run of `npx` or `uvx` downloads a package)…",
                    text::line(server)
                ));
            }
            Ok(work.await?)
        })
    }

    /// Starts a server, or reaches it.
    pub(crate) async fn connect(&self, server: &str, timeout: Option<Duration>) -> Result<ServerStatus> {
        let host = self.host().await?;
        self.patiently(server, host.connect_server(server, &Caller::Cli, self.options(timeout))).await
    }
}
