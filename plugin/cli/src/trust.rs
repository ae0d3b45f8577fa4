//! `mcp-host trust`: confirmed launches and pinned definitions (policy.md §6).

use std::fmt::Write as _;

use clap::{Args, Subcommand};
use mcp_host_core::model::{
    Caller,
    admin::{AuditFilter, PinState, TrustView},
};

use crate::{
    app::App,
    audit,
    failure::{DONE, Result, invalid},
    input, launch,
    output::Table,
    text,
};

/// `mcp-host trust`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host trust list
  mcp-host trust inspect --server files
  mcp-host trust allow --server files --all-tools
  mcp-host trust revoke --server files")]
pub(crate) struct Trust {
    #[command(subcommand)]
    command: TrustCommand,
}

#[derive(Debug, Subcommand)]
enum TrustCommand {
    /// List what was confirmed and pinned
    #[command(after_help = "Examples:\n  mcp-host trust list\n  mcp-host trust list --json")]
    List,
    /// Show what would be started, and what its tools are
    Inspect(Inspect),
    /// Confirm a server's launch as it stands, and pin the definitions of the tools that are named
    Allow(Allow),
    /// Say no to a server's launch, or deny tools
    #[command(after_help = "\
Examples:
  mcp-host trust deny --server files
  mcp-host trust deny --server files --tool write_file")]
    Deny(Named),
    /// Take a confirmation back, or the pins of the tools that are named
    #[command(after_help = "\
Examples:
  mcp-host trust revoke --server files
  mcp-host trust revoke --server files --tool read_text_file")]
    Revoke(Named),
    /// Show who confirmed, pinned and classified what, and when
    #[command(after_help = "\
Examples:
  mcp-host trust audit
  mcp-host trust audit --server files --json")]
    Audit(Log),
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host trust inspect --server files
  mcp-host trust inspect --server files --json")]
struct Inspect {
    /// The server's id, or its name as written in servers.json
    #[arg(long, value_name = "SERVER")]
    server: String,
}

#[derive(Args, Debug)]
struct Tools {
    /// This tool; may be given again
    #[arg(long = "tool", value_name = "TOOL")]
    tool: Vec<String>,
    /// These tools
    #[arg(long, value_name = "TOOL", num_args = 1..)]
    tools: Vec<String>,
}

impl Tools {
    fn names(self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.tool.into_iter().chain(self.tools) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host trust allow --server files
  mcp-host trust allow --server files --tool read_text_file --tool list_directory
  mcp-host trust allow --tools search fetch --server web
  mcp-host trust allow --server files --all-tools --expires 30d

Without a tool it confirms the launch only: what is not pinned still asks.")]
struct Allow {
    /// The server's id, or its name as written in servers.json
    #[arg(long, value_name = "SERVER")]
    server: String,
    #[command(flatten)]
    tools: Tools,
    /// All the tools that it has now
    #[arg(long, conflicts_with_all = ["tool", "tools"])]
    all_tools: bool,
    /// The confirmation ends after this long (8h, 30d), or at this moment
    #[arg(long, value_name = "WHEN", value_parser = input::expiry)]
    expires: Option<String>,
}

#[derive(Args, Debug)]
struct Named {
    /// The server's id, or its name as written in servers.json
    #[arg(long, value_name = "SERVER")]
    server: String,
    #[command(flatten)]
    tools: Tools,
}

#[derive(Args, Debug)]
struct Log {
    /// Of this server only
    #[arg(long, value_name = "SERVER")]
    server: Option<String>,
}

/// `mcp-host trust`.
pub(crate) async fn run(app: &App, trust: Trust) -> Result {
    match trust.command {
        TrustCommand::List => list(app).await,
        TrustCommand::Inspect(inspect) => self::inspect(app, inspect).await,
        TrustCommand::Allow(allow) => self::allow(app, allow).await,
        TrustCommand::Deny(named) => revoke(app, named, true).await,
        TrustCommand::Revoke(named) => revoke(app, named, false).await,
        TrustCommand::Audit(log) => self::log(app, log).await,
    }
}

async fn list(app: &App) -> Result {
    let host = app.host().await?;
    if let Some(problem) = host.config_problem() {
        return Err(problem.into());
    }
    let servers = host.admin().trust()?;
    if servers.is_empty() {
        app.output().note("no servers are configured");
    }
    app.output().show(&servers, |output| match servers.is_empty() {
        true => String::new(),
        false => table(&servers).render(output),
    })?;
    Ok(DONE)
}

fn table(servers: &[TrustView]) -> Table<6> {
    let mut table = Table::new(["SERVER", "STATE", "CONFIRMED", "EXPIRES", "PINNED", "NOT PINNED"]);
    for one in servers {
        let with = |pinned: bool| {
            let names = one.tools.iter().filter(|tool| (tool.pin == PinState::Pinned) == pinned);
            names
                .map(|tool| match pinned {
                    true => tool.name.clone(),
                    false => format!("{} ({})", tool.name, launch::pin(tool.pin)),
                })
                .collect::<Vec<_>>()
                .join(" ")
        };
        table.row([
            one.server_id.as_str(),
            &one.state,
            &one.confirmed_at.as_deref().map_or_else(|| "never".to_owned(), text::local),
            &one.expires_at.as_deref().map_or_else(|| "never".to_owned(), text::local),
            &with(true),
            &with(false),
        ]);
    }
    table
}

async fn inspect(app: &App, inspect: Inspect) -> Result {
    let admin = app.admin().await?;
    let mut details = admin.server(&inspect.server).await?;
    // Its tools are worth seeing, where it may be started at all.
    if details.confirmed_at.is_some() && details.tools.is_empty() && details.status.enabled {
        match app.connect(&inspect.server, None).await {
            Ok(_) => {
                let host = app.host().await?;
                let options = app.options(None);
                if let Err(error) = host.list_tools(&inspect.server, &Caller::Cli, options).await {
                    app.output().note(&format!("note: its tools cannot be listed: {}", text::line(&error.to_string())));
                }
            }
            Err(crate::failure::Failure::Host(error)) => {
                app.output().note(&format!("note: it does not start: {}", text::line(&error.to_string())));
            }
            Err(failure) => return Err(failure),
        }
        details = admin.server(&inspect.server).await?;
    }
    app.output().show(&details, |output| launch::details(&details, output))?;
    Ok(DONE)
}

async fn allow(app: &App, allow: Allow) -> Result {
    let names = allow.tools.names();
    let admin = app.admin().await?;
    let confirm = admin.confirm_server(&allow.server, allow.expires, &Caller::Cli);
    app.until_interrupted("the confirmation", confirm).await?;
    if allow.all_tools || !names.is_empty() {
        let tools = (!allow.all_tools).then_some(names);
        app.until_interrupted("pinning", admin.pin_tools(&allow.server, tools, &Caller::Cli)).await?;
    }
    show_one(app, &allow.server).await
}

async fn revoke(app: &App, named: Named, deny: bool) -> Result {
    let names = named.tools.names();
    let tools = (!names.is_empty()).then_some(names);
    let admin = app.admin().await?;
    let work = admin.revoke_trust(&named.server, tools, deny, &Caller::Cli);
    app.until_interrupted("taking trust back", work).await?;
    show_one(app, &named.server).await
}

/// What the trust in one server is now.
async fn show_one(app: &App, server: &str) -> Result {
    let host = app.host().await?;
    let id = host.server_status(server, mcp_host_core::error::Audience::Person)?.id;
    let one = host.admin().trust()?.into_iter().find(|one| one.server_id == id);
    let one = one.ok_or_else(|| invalid(format!("no server is called `{server}` any more")))?;
    app.output().show(&one, |output| {
        let mut words = table(std::slice::from_ref(&one)).render(output);
        if one.state == "confirmed" && one.tools.iter().any(|tool| tool.pin != PinState::Pinned) {
            let _ = writeln!(words, "\nwhat is not pinned still asks; pin all: `--all-tools`");
        }
        words
    })?;
    Ok(DONE)
}

async fn log(app: &App, log: Log) -> Result {
    let filter = AuditFilter { server: log.server, ..AuditFilter::default() };
    let about_trust = |event: &str| {
        matches!(event, "server_confirmed" | "server_added" | "server_changed" | "server_removed" | "tool_classified")
            || event.starts_with("pin_")
    };
    audit::show_lines(app, filter, about_trust, None).await
}
