//! `mcp-host servers`: what is configured, and what it wrote.

use std::{fmt::Write as _, time::Duration};

use clap::{Args, Subcommand};
use mcp_host_core::{
    error::Audience,
    host::ServerChange,
    model::{Caller, ServerStatus},
};

use crate::{
    app::App,
    entry::Fields,
    failure::{self, DONE, Failure, Result, invalid},
    input::{self, Source},
    launch,
    output::Table,
    text,
};

/// `mcp-host servers`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host servers
  mcp-host servers list --json
  mcp-host servers add files -- npx -y @modelcontextprotocol/server-filesystem /home/me/notes
  mcp-host servers logs files")]
pub(crate) struct Servers {
    #[command(subcommand)]
    command: Option<ServersCommand>,
}

#[derive(Debug, Subcommand)]
enum ServersCommand {
    /// List the servers (what `servers` alone does)
    #[command(after_help = "Examples:\n  mcp-host servers list\n  mcp-host servers list --json")]
    List,
    /// Add a server; doing so confirms its launch
    Add(Add),
    /// Change a server; doing so confirms its launch
    Edit(Edit),
    /// Take servers out of the configuration
    #[command(after_help = "Examples:\n  mcp-host servers remove files")]
    Remove(Named),
    /// Turn servers on
    #[command(after_help = "Examples:\n  mcp-host servers enable files")]
    Enable(Named),
    /// Turn servers off
    #[command(after_help = "Examples:\n  mcp-host servers disable files everything")]
    Disable(Named),
    /// Start a server and show what it writes: stderr, noise on stdout, MCP log messages
    Logs(Logs),
}

#[derive(Args, Debug)]
struct Named {
    /// The servers' ids, or their names as written in servers.json
    #[arg(required = true, value_name = "SERVER")]
    servers: Vec<String>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host servers add everything -- npx -y @modelcontextprotocol/server-everything@2026.1.26
  mcp-host servers add files --env TOKEN='${secret:files}' -- uvx some-server /home/me
  mcp-host servers add web --url https://example.com/mcp --header 'Authorization: Bearer ${T}'
  mcp-host servers add time '{\"command\":\"uvx\",\"args\":[\"mcp-server-time\"]}'
  mcp-host servers add @claude_desktop_config.json
  cat snippet.json | mcp-host servers add -

The command after `--` runs as it stands: no shell reads it.")]
struct Add {
    /// The server's name; or, instead, entries as you find them in other programs' documentation: JSON, @FILE or -
    #[arg(value_name = "NAME")]
    name: String,
    /// The entry, where it is not given by flags: JSON, @FILE or - for stdin
    #[arg(value_name = "ENTRY", conflicts_with = "command")]
    snippet: Option<Source>,
    #[command(flatten)]
    fields: Fields,
    /// Add it turned off
    #[arg(long)]
    disabled: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host servers edit files -- npx -y @modelcontextprotocol/server-filesystem /home/me/other
  mcp-host servers edit web --url https://example.com/mcp2
  mcp-host servers edit files --env LEVEL=debug --display-name 'My notes'
  mcp-host servers edit files '{\"command\":\"uvx\",\"args\":[\"some-server\",\"/home/me\"]}'

Flags change what they name and leave the rest; an entry takes the place of all of it.")]
struct Edit {
    /// The server's id, or its name as written in servers.json
    server: String,
    /// The whole entry anew: JSON, @FILE or - for stdin
    #[arg(value_name = "ENTRY", conflicts_with = "command")]
    entry: Option<Source>,
    #[command(flatten)]
    fields: Fields,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host servers logs files
  mcp-host servers logs files --timeout 5s --json")]
struct Logs {
    /// The server's id, or its name as written in servers.json
    server: String,
    /// Give up starting it after this long
    #[arg(long, value_name = "TIME", value_parser = input::duration)]
    timeout: Option<Duration>,
}

/// `mcp-host servers`.
pub(crate) async fn run(app: &App, servers: Servers) -> Result {
    match servers.command {
        None | Some(ServersCommand::List) => list(app).await,
        Some(ServersCommand::Add(add)) => self::add(app, add).await,
        Some(ServersCommand::Edit(edit)) => self::edit(app, edit).await,
        Some(ServersCommand::Remove(named)) => remove(app, named).await,
        Some(ServersCommand::Enable(named)) => enable(app, named, true).await,
        Some(ServersCommand::Disable(named)) => enable(app, named, false).await,
        Some(ServersCommand::Logs(logs)) => self::logs(app, logs).await,
    }
}

async fn list(app: &App) -> Result {
    let host = app.host().await?;
    // This process has no earlier state to fall back on: an unreadable file is not an empty list.
    if let Some(problem) = host.config_problem() {
        return Err(problem.into());
    }
    let servers = host.list_servers(Audience::Person);
    for problem in host.admin().overview().problems {
        app.output().note(&format!("note: {}", text::lines(&problem)));
    }
    if servers.is_empty() {
        app.output().note("no servers are configured; add one: `mcp-host servers add NAME -- COMMAND…`");
    }
    app.output().show(&servers, |output| match servers.is_empty() {
        true => String::new(),
        false => table(&servers).render(output),
    })?;
    Ok(DONE)
}

fn table(servers: &[ServerStatus]) -> Table<5> {
    let mut table = Table::new(["ID", "STATE", "TRANSPORT", "NAME", "PROBLEM"]);
    for one in servers {
        let problem = launch::problem(one);
        let state = launch::state(one.state);
        table.row([one.id.as_str(), state, one.transport.as_str(), &one.display_name, &problem]);
    }
    table
}

async fn add(app: &App, add: Add) -> Result {
    let (key, snippet) = match add.snippet {
        Some(snippet) => (Some(add.name), snippet.read("ENTRY")?),
        None if is_snippet(&add.name) => match add.name.parse::<Source>() {
            Ok(source) => (None, source.read("ENTRY")?),
            Err(never) => match never {},
        },
        None if add.fields.say_where() => (Some(add.name), add.fields.entry()?),
        None => {
            return Err(invalid(format!(
                "what is `{}`? Give its command after `--`, its `--url`, or its entry as JSON, @FILE or -",
                add.name
            )));
        }
    };
    let change = ServerChange::Add { key, snippet };
    let admin = app.admin().await?;
    let added = app.until_interrupted("adding the server", admin.change_server(change, &Caller::Cli)).await?;
    if add.disabled {
        for id in &added {
            let off = ServerChange::SetEnabled { server: id.clone(), enabled: false };
            app.until_interrupted("turning the server off", admin.change_server(off, &Caller::Cli)).await?;
        }
    }
    show_changed(app, &added, "added, and its launch confirmed").await
}

/// Whether what stands in the name's place is entries rather than a name.
fn is_snippet(text: &str) -> bool {
    text == "-" || text.starts_with('@') || text.trim_start().starts_with(['{', '"', '['])
}

async fn edit(app: &App, edit: Edit) -> Result {
    let admin = app.admin().await?;
    let entry = match edit.entry {
        Some(entry) if edit.fields.is_empty() => entry.read("ENTRY")?,
        Some(_) => return Err(invalid("give a whole entry or flags, not both")),
        None if edit.fields.is_empty() => {
            return Err(invalid("say what to change: a flag, a command after `--`, or a whole entry"));
        }
        None => edit.fields.applied_to(&admin.server(&edit.server).await?.entry)?,
    };
    let change = ServerChange::Edit { server: edit.server, entry };
    let changed = app.until_interrupted("changing the server", admin.change_server(change, &Caller::Cli)).await?;
    show_changed(app, &changed, "changed, and its launch confirmed").await
}

async fn enable(app: &App, named: Named, enabled: bool) -> Result {
    let admin = app.admin().await?;
    let mut changed = Vec::new();
    for server in named.servers {
        let change = ServerChange::SetEnabled { server, enabled };
        changed.extend(app.until_interrupted("the change", admin.change_server(change, &Caller::Cli)).await?);
    }
    show_changed(app, &changed, if enabled { "enabled" } else { "disabled" }).await
}

async fn remove(app: &App, named: Named) -> Result {
    let admin = app.admin().await?;
    let mut removed = Vec::new();
    for server in named.servers {
        let change = ServerChange::Remove { server };
        removed.extend(app.until_interrupted("removing the server", admin.change_server(change, &Caller::Cli)).await?);
    }
    app.output().show(&removed, |_| {
        removed.iter().fold(String::new(), |mut words, id| {
            let _ = writeln!(words, "{} removed", text::line(id));
            words
        })
    })?;
    Ok(DONE)
}

/// Shows the servers that were changed, launch and all: what was confirmed is what is seen.
async fn show_changed(app: &App, ids: &[String], what: &str) -> Result {
    let host = app.host().await?;
    let mut statuses = Vec::new();
    for id in ids {
        statuses.push(host.server_status(id, Audience::Person)?);
    }
    if app.output().json() {
        app.output().document(&statuses)?;
        return Ok(DONE);
    }
    let mut words = String::new();
    for status in &statuses {
        let _ = writeln!(words, "{} {what}", text::line(status.id.as_str()));
        let details = host.admin().server(status.id.as_str()).await?;
        if let Some(view) = &details.launch {
            words.push_str(&launch::launch(view));
        }
        if let Some(error) = &status.last_error {
            let _ = writeln!(words, "  problem   {}", text::line(&error.message));
        }
    }
    app.output().show(&statuses, |_| words)?;
    if let [status] = statuses.as_slice()
        && status.enabled
    {
        app.output().note(&format!("see its tools: `mcp-host tools {}`", status.id));
    }
    Ok(DONE)
}

async fn logs(app: &App, logs: Logs) -> Result {
    // Each run of this program has servers of its own, so the server is started to see what it writes; if it does not
    // come up, that is what the person wants to read about.
    let started = app.connect(&logs.server, logs.timeout).await;
    let lines = match (app.admin().await?.server_log(&logs.server), &started) {
        (Ok(lines), _) => lines,
        (Err(_), Err(_)) => Vec::new(),
        (Err(error), Ok(_)) => return Err(error.into()),
    };
    match started {
        Err(failure @ Failure::Host(_)) if app.output().json() => return Err(failure),
        Err(Failure::Pipe) => return Err(Failure::Pipe),
        _ => {}
    }
    app.output().show(&lines, |_| {
        lines.iter().fold(String::new(), |mut words, line| {
            let _ = writeln!(words, "{} {:<6} {}", text::local(&line.time), line.stream, text::line(&line.text));
            words
        })
    })?;
    match started {
        Ok(_) => Ok(DONE),
        Err(failure) => Ok(failure::report(&failure, false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_told_from_names() {
        for snippet in ["-", "@f.json", "{\"mcpServers\":{}}", "  {\"a\":1}", "\"files\": {\"command\":\"x\"}"] {
            assert!(is_snippet(snippet), "{snippet}");
        }
        for name in ["files", "My Server", "a-b", "x@y"] {
            assert!(!is_snippet(name), "{name}");
        }
    }
}
