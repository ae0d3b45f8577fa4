//! What a server offers: its lists, resources, prompts and completions.

use std::{collections::BTreeMap, fmt::Write as _, io::Write as _, path::PathBuf, time::Duration};

use base64::Engine as _;
use clap::Args;
use mcp_host_core::model::{Caller, CompletionTarget, Permission, ResourceContent, ResourceItem, ToolSummary};
use serde_json::json;

use crate::{
    app::App,
    content,
    failure::{DONE, Result, invalid},
    input,
    output::{self, Table},
    text,
};

pub(crate) const TOOLS_EXAMPLES: &str = "\
Examples:
  mcp-host tools everything
  mcp-host tools everything --json | jq -r '.[].name'

PERMISSION is what a call from the command line would meet now: allow, ask, deny or disabled.";
pub(crate) const RESOURCES_EXAMPLES: &str = "Examples:\n  mcp-host resources everything --json";
pub(crate) const TEMPLATES_EXAMPLES: &str = "Examples:\n  mcp-host templates everything";
pub(crate) const PROMPTS_EXAMPLES: &str = "Examples:\n  mcp-host prompts everything";

/// One server, and how long it may take.
#[derive(Args, Debug)]
pub(crate) struct Of {
    /// The server's id, or its name as written in servers.json
    server: String,
    /// Give up after this long, starting the server included
    #[arg(long, value_name = "TIME", value_parser = input::duration)]
    timeout: Option<Duration>,
}

/// `mcp-host tools`.
pub(crate) async fn tools(app: &App, of: Of) -> Result {
    let work = app.host().await?.list_tools(&of.server, &Caller::Cli, app.options(of.timeout));
    let tools = app.patiently(&of.server, work).await?;
    app.output().show(&tools, |output| {
        let mut table = Table::new(["NAME", "PERMISSION", "DESCRIPTION"]);
        for tool in &tools {
            table.row([&tool.name, permission(tool), describe(tool.title.as_deref(), tool.description.as_deref())]);
        }
        table.render(output)
    })?;
    for tool in &tools {
        for diagnostic in tool.diagnostics.iter().flatten() {
            app.output().note(&format!("note: {}: {}", text::line(&tool.name), text::line(diagnostic)));
        }
    }
    Ok(DONE)
}

fn permission(tool: &ToolSummary) -> &'static str {
    match tool.permission {
        Permission::Allow => "allow",
        Permission::Ask if tool.definition_changed => "ask (changed)",
        Permission::Ask => "ask",
        Permission::Deny => "deny",
        Permission::Disabled => "disabled",
    }
}

/// The first line of what describes it best.
fn describe<'a>(title: Option<&'a str>, description: Option<&'a str>) -> &'a str {
    let text = description.or(title).unwrap_or_default().trim();
    text.split('\n').next().unwrap_or_default().trim_end()
}

/// `mcp-host resources`.
pub(crate) async fn resources(app: &App, of: Of) -> Result {
    let work = app.host().await?.list_resources(&of.server, &Caller::Cli, app.options(of.timeout));
    let resources = app.patiently(&of.server, work).await?;
    app.output().show(&resources, |output| {
        let mut table = Table::new(["URI", "TYPE", "NAME"]);
        for one in &resources {
            let name = one.title.as_deref().or(one.name.as_deref()).unwrap_or_default();
            table.row([&one.uri, one.mime_type.as_deref().unwrap_or_default(), name]);
        }
        table.render(output)
    })?;
    Ok(DONE)
}

/// `mcp-host templates`.
pub(crate) async fn templates(app: &App, of: Of) -> Result {
    let work = app.host().await?.list_resource_templates(&of.server, &Caller::Cli, app.options(of.timeout));
    let templates = app.patiently(&of.server, work).await?;
    app.output().show(&templates, |output| {
        let mut table = Table::new(["TEMPLATE", "NAME", "DESCRIPTION"]);
        for one in &templates {
            table.row([&one.uri_template, &one.name, describe(one.title.as_deref(), one.description.as_deref())]);
        }
        table.render(output)
    })?;
    Ok(DONE)
}

/// `mcp-host prompts`.
pub(crate) async fn prompts(app: &App, of: Of) -> Result {
    let work = app.host().await?.list_prompts(&of.server, &Caller::Cli, app.options(of.timeout));
    let prompts = app.patiently(&of.server, work).await?;
    app.output().show(&prompts, |output| {
        let mut table = Table::new(["NAME", "ARGUMENTS", "DESCRIPTION"]);
        for one in &prompts {
            let arguments: Vec<String> = (one.arguments.iter().flatten())
                .map(|argument| if argument.required { argument.name.clone() } else { format!("[{}]", argument.name) })
                .collect();
            let description = describe(one.title.as_deref(), one.description.as_deref());
            table.row([&one.name, &arguments.join(" "), description]);
        }
        table.render(output)
    })?;
    Ok(DONE)
}

/// `mcp-host read`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host read everything demo://resource/static/document/features.md
  mcp-host read everything demo://resource/dynamic/blob/1 -o blob.bin
  mcp-host read files file:///home/me/notes/a.txt -o - > a.txt

Text on the terminal is shown with its invisible characters written out; `-o` keeps every byte as it came.")]
pub(crate) struct Read {
    /// The server's id, or its name as written in servers.json
    server: String,
    /// The resource's URI
    uri: String,
    /// Write exactly what came into this file (`-` = stdout)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Give up after this long, starting the server included
    #[arg(long, value_name = "TIME", value_parser = input::duration)]
    timeout: Option<Duration>,
}

/// `mcp-host read`.
pub(crate) async fn read(app: &App, read: Read) -> Result {
    let host = app.host().await?;
    let work = host.read_resource(&read.server, &read.uri, Caller::Cli, app.options(read.timeout));
    let content = app.patiently(&read.server, work).await?;
    let Some(path) = &read.output else {
        app.output().show(&content, |_| {
            let mut words = String::new();
            for item in &content.contents {
                content::item(&mut words, item);
            }
            words
        })?;
        return Ok(DONE);
    };
    let bytes = bytes_of(&content)?;
    if content.contents.len() > 1 {
        app.output().note(&format!("note: {} parts were written one after the other", content.contents.len()));
    }
    if path.as_os_str() == "-" {
        output::bytes(&bytes)?;
        return Ok(DONE);
    }
    std::fs::File::create(path)
        .and_then(|mut file| file.write_all(&bytes))
        .map_err(|error| invalid(format!("`--output`: cannot write `{}`: {error}", path.display())))?;
    let report = json!({ "uri": content.uri, "output": path.to_string_lossy(), "bytes": bytes.len() });
    if app.output().json() {
        app.output().document(&report)?;
    } else {
        app.output().note(&format!("{} written to {}", text::size(bytes.len()), text::line(&path.to_string_lossy())));
    }
    Ok(DONE)
}

fn bytes_of(content: &ResourceContent) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for item in &content.contents {
        match item {
            ResourceItem::Text { text, .. } => bytes.extend_from_slice(text.as_bytes()),
            ResourceItem::Blob { blob, .. } => {
                let decoded = base64::engine::general_purpose::STANDARD.decode(blob).map_err(|_| {
                    mcp_host_core::Error::ProtocolError {
                        server: content.server_id.clone(),
                        problem: format!("the data of `{}` is not base64", content.uri),
                    }
                })?;
                bytes.extend_from_slice(&decoded);
            }
        }
    }
    Ok(bytes)
}

/// `mcp-host prompt`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host prompt everything simple-prompt
  mcp-host prompt everything args-prompt --arg city=Paris --arg state=Texas --json")]
pub(crate) struct Prompt {
    /// The server's id, or its name as written in servers.json
    server: String,
    /// The prompt's name
    name: String,
    /// An argument of the prompt; may be given again
    #[arg(long = "arg", value_name = "KEY=VALUE", value_parser = input::key_value)]
    arguments: Vec<(String, String)>,
    /// Give up after this long, starting the server included
    #[arg(long, value_name = "TIME", value_parser = input::duration)]
    timeout: Option<Duration>,
}

/// `mcp-host prompt`.
pub(crate) async fn prompt(app: &App, prompt: Prompt) -> Result {
    let arguments = unique(prompt.arguments, "--arg")?;
    let arguments = match arguments.is_empty() {
        true => None,
        false => {
            let text = serde_json::to_string(&arguments).map_err(mcp_host_core::Error::internal)?;
            Some(input::strict_json(&text, "--arg")?)
        }
    };
    let host = app.host().await?;
    let work = host.get_prompt(&prompt.server, &prompt.name, arguments, Caller::Cli, app.options(prompt.timeout));
    let content = app.patiently(&prompt.server, work).await?;
    app.output().show(&content, |_| {
        let mut words = String::new();
        for message in &content.messages {
            let role = match message.role {
                mcp_host_core::model::Role::User => "user",
                mcp_host_core::model::Role::Assistant => "assistant",
            };
            // Each line of a message is indented: it cannot pass for another message's head.
            let _ = writeln!(words, "{role}:");
            for line in content::blocks(std::slice::from_ref(&message.content)).lines() {
                let _ = writeln!(words, "  {line}");
            }
        }
        words
    })?;
    Ok(DONE)
}

/// The pairs as a map; a key that comes twice is an error.
fn unique(pairs: Vec<(String, String)>, flag: &str) -> Result<BTreeMap<String, String>> {
    let mut map = BTreeMap::new();
    for (key, value) in pairs {
        if map.insert(key.clone(), value).is_some() {
            return Err(invalid(format!("`{flag}`: `{key}` is given twice")));
        }
    }
    Ok(map)
}

/// `mcp-host complete`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host complete everything --prompt completable-prompt --arg department=E
  mcp-host complete everything --prompt completable-prompt --arg name=A --context department=Sales
  mcp-host complete notes --template 'notes://{folder}/{note}' --arg folder=a --json")]
pub(crate) struct Complete {
    /// The server's id, or its name as written in servers.json
    server: String,
    /// Complete an argument of this prompt
    #[arg(long, value_name = "NAME", required_unless_present = "template", conflicts_with = "template")]
    prompt: Option<String>,
    /// Complete a variable of this resource template
    #[arg(long, value_name = "URI-TEMPLATE")]
    template: Option<String>,
    /// The argument, and what is typed of it so far
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = input::key_value)]
    argument: (String, String),
    /// An argument that is filled in already; may be given again
    #[arg(long, value_name = "NAME=VALUE", value_parser = input::key_value)]
    context: Vec<(String, String)>,
    /// Give up after this long, starting the server included
    #[arg(long, value_name = "TIME", value_parser = input::duration)]
    timeout: Option<Duration>,
}

/// `mcp-host complete`.
pub(crate) async fn complete(app: &App, complete: Complete) -> Result {
    let target = match (complete.prompt, complete.template) {
        (Some(name), _) => CompletionTarget::Prompt { name },
        (None, Some(uri_template)) => CompletionTarget::ResourceTemplate { uri_template },
        (None, None) => return Err(invalid("say `--prompt NAME` or `--template URI-TEMPLATE`")),
    };
    let context = unique(complete.context, "--context")?;
    let host = app.host().await?;
    let options = app.options(complete.timeout);
    let work = host.complete(&complete.server, target, complete.argument, context, Caller::Cli, options);
    let completion = app.patiently(&complete.server, work).await?;
    app.output().show(&completion, |_| {
        completion.values.iter().fold(String::new(), |mut words, value| {
            let _ = writeln!(words, "{}", text::line(value));
            words
        })
    })?;
    if completion.has_more {
        app.output().note("note: the server knows more than it sent");
    }
    Ok(DONE)
}
