//! A server in full, as a person looks at it before and after trusting it.

use std::fmt::Write as _;

use mcp_host_core::model::{
    ServerState, ServerStatus,
    admin::{LaunchView, PinState, ServerDetails, Variable},
};

use crate::{
    output::{Output, Table},
    text,
};

/// A state's name, as on the wire.
pub(crate) fn state(state: ServerState) -> &'static str {
    match state {
        ServerState::Disabled => "disabled",
        ServerState::NeedsApproval => "needsApproval",
        ServerState::Disconnected => "disconnected",
        ServerState::Connecting => "connecting",
        ServerState::Connected => "connected",
        ServerState::NeedsAuth => "needsAuth",
        ServerState::Failed => "failed",
    }
}

/// What is wrong with a server, in a line.
pub(crate) fn problem(status: &ServerStatus) -> String {
    match &status.last_error {
        Some(error) => error.message.clone(),
        None if status.state == ServerState::NeedsApproval => {
            format!("confirm it with `mcp-host trust allow --server {}`", status.id)
        }
        None => String::new(),
    }
}

/// A pin's name, as on the wire.
pub(crate) fn pin(pin: PinState) -> &'static str {
    match pin {
        PinState::Unseen => "unseen",
        PinState::Pinned => "pinned",
        PinState::Changed => "changed",
        PinState::Gone => "gone",
    }
}

/// What is run or reached, and what goes to it: everything that a confirmation covers.
pub(crate) fn launch(launch: &LaunchView) -> String {
    let mut words = String::new();
    let mut fact = |label: &str, value: &str| {
        let _ = writeln!(words, "  {label:<9} {}", text::line(value));
    };
    if let Some(command) = &launch.command {
        let line = std::iter::once(command).chain(&launch.args).map(|word| shell_words::quote(word));
        fact("runs", &line.collect::<Vec<_>>().join(" "));
        fact("program", launch.program.as_deref().unwrap_or("not found"));
    }
    if let Some(cwd) = &launch.cwd {
        fact("folder", cwd);
    }
    if let Some(url) = &launch.url {
        fact(launch.transport.as_str(), url);
    }
    for Variable { name, value } in &launch.env {
        fact("env", &format!("{name}={value}"));
    }
    for Variable { name, value } in &launch.headers {
        fact("header", &format!("{name}: {value}"));
    }
    for name in &launch.env_passthrough {
        fact("env", &format!("{name} (yours)"));
    }
    for name in &launch.receives {
        fact("receives", name);
    }
    for caution in &launch.cautions {
        fact("caution", caution);
    }
    words
}

/// Everything about one server.
pub(crate) fn details(details: &ServerDetails, output: &Output) -> String {
    let status = &details.status;
    let mut words = format!("{} ({})\n", text::line(status.id.as_str()), text::line(&status.display_name));
    let mut fact = |label: &str, value: &str| {
        let _ = writeln!(words, "  {label:<9} {}", text::line(value));
    };
    fact("state", state(status.state));
    if let Some(error) = &status.last_error {
        fact("problem", &error.message);
    }
    match (&details.confirmed_at, &details.confirmed_by) {
        (Some(at), Some(by)) => fact("confirmed", &format!("{} by {by}", text::local(at))),
        (Some(at), None) => fact("confirmed", &text::local(at)),
        (None, _) => fact("confirmed", "never"),
    }
    fact("launch", &details.fingerprint);
    if let Some(mode) = &details.mode {
        fact("mode", mode);
    }
    if details.trust_annotations {
        fact("trusts", "what its tools say of themselves");
    }
    if let Some(view) = &details.launch {
        words.push_str(&launch(view));
    }
    if let Some(difference) = &details.launch_difference {
        words.push_str("  changed since it was confirmed:\n");
        for line in difference.lines() {
            let _ = writeln!(words, "    {}", text::line(line));
        }
    }
    if !details.tools.is_empty() {
        let _ = writeln!(words, "\n{} tools, about {} model tokens\n", details.tools.len(), details.tokens);
        let mut table = Table::new(["TOOL", "DEFINITION", "CLASS", "DESCRIPTION"]);
        for tool in &details.tools {
            let class = match (tool.disabled, tool.costly, tool.read_only) {
                (true, _, _) => "disabled",
                (_, true, _) => "costly",
                (_, _, true) => "read-only",
                _ => "",
            };
            let description = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
            table.row([&tool.name, pin(tool.pin), class, description.lines().next().unwrap_or_default()]);
        }
        words.push_str(&table.render(output));
        for tool in &details.tools {
            if let Some(difference) = &tool.difference {
                let _ = writeln!(words, "\n{} changed since you approved it:", text::line(&tool.name));
                for line in difference.lines() {
                    let _ = writeln!(words, "    {}", text::line(line));
                }
            }
        }
    }
    words
}
