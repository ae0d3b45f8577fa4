//! `mcp-host call`: one tool call, from what was typed to its result.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use clap::Args;
use mcp_host_core::{
    event::ProgressSink,
    host::{RequestOptions, ToolCall},
    model::{Caller, Progress},
};

use crate::{
    app::App,
    content,
    failure::{DONE, Result, TOOL_ERROR},
    input::{self, Source},
    output, text,
};

/// `mcp-host call`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host call everything echo --args '{\"message\":\"hi\"}'
  mcp-host call files read_text_file --args @arguments.json --timeout 30s --json
  echo '{\"a\":1,\"b\":2}' | mcp-host call everything get-sum --args -
  mcp-host call everything echo --args '{\"message\":\"hi\"}' --approve-scoped echo:SHA256

In a terminal you are asked where your rules want it; without one such a call is denied and exits 3.
For a digest: `mcp-host approval digest`.")]
pub(crate) struct Call {
    /// The server's id, or its name as written in servers.json
    server: String,
    /// The tool's own name
    tool: String,
    /// The arguments: a JSON object, @FILE, or - for stdin
    #[arg(long, value_name = "JSON", default_value = "{}")]
    args: Source,
    /// Give up after this long, starting the server included; waiting for you does not count
    #[arg(long, value_name = "TIME", value_parser = input::duration)]
    timeout: Option<Duration>,
    /// Allow exactly the call with this payload digest; may be given again
    #[arg(long, value_name = "TOOL:SHA256")]
    approve_scoped: Vec<String>,
}

impl Call {
    /// `--approve-scoped`, as it was given: a bare tool is the called server's.
    pub(crate) fn scoped_digests(&self) -> Vec<String> {
        self.approve_scoped.clone()
    }
}

/// `mcp-host call`.
pub(crate) async fn run(app: &App, call: Call) -> Result {
    // Wrong arguments are refused before anything is started.
    let arguments = call.args.json("--args")?;
    mcp_host_core::policy::digest::arguments(Some(arguments.clone()))?;
    let host = app.host().await?;
    let progress = ProgressLine::default();
    let options = RequestOptions { progress: progress.sink(), ..app.options(call.timeout) };
    let server = call.server.clone();
    let call = ToolCall { server: call.server, tool: call.tool, arguments: Some(arguments), approval_token: None };
    let result = app.patiently(&server, host.call_tool(call, Caller::Cli, options)).await;
    progress.erase();
    let result = result?;
    app.output().show(&result, |_| content::result(&result))?;
    if let Some(truncated) = &result.truncated {
        app.output().note(&format!(
            "note: the result was cut from {} to {}",
            text::size(truncated.original_bytes as usize),
            text::size(truncated.kept_bytes as usize)
        ));
    }
    if result.is_error {
        app.output()
            .note(&format!("error: the tool `{}` reported an error [mcp.tool_error]", text::line(&result.name)));
        return Ok(TOOL_ERROR);
    }
    Ok(DONE)
}

/// One line of the terminal that stderr is, written over again and again.
#[derive(Clone, Debug, Default)]
struct ProgressLine {
    is_there: Arc<AtomicBool>,
}

impl ProgressLine {
    /// What shows progress there; nothing where stderr is no terminal.
    fn sink(&self) -> Option<ProgressSink> {
        let columns = text::columns_of_stderr()?;
        let line = self.clone();
        Some(Box::new(move |progress: Progress| {
            line.is_there.store(true, Ordering::Release);
            let _ = output::stderr(&format!("\r\x1b[K{}", text::cut(&progress_line(&progress), columns - 1)));
        }))
    }

    fn erase(&self) {
        if self.is_there.swap(false, Ordering::AcqRel) {
            let _ = output::stderr("\r\x1b[K");
        }
    }
}

fn progress_line(progress: &Progress) -> String {
    let total = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
    let message = progress.message.as_deref().map(|message| format!(": {}", text::line(message))).unwrap_or_default();
    format!("{}{total}{message}", progress.progress)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        call: Call,
    }

    fn parse(line: &str) -> Call {
        Line::try_parse_from(shell_words::split(line).unwrap()).unwrap().call
    }

    #[test]
    fn no_arguments_are_an_empty_object() {
        assert_eq!(parse("call s t").args.typed(), "{}");
        assert_eq!(parse("call s t --args -").args.typed(), "-");
    }

    #[test]
    fn progress_is_one_inert_line() {
        let progress = Progress { progress: 1.0, total: Some(4.0), message: Some("a\nb\r".to_owned()) };
        assert_eq!(progress_line(&progress), "1 of 4: a\\nb\\r");
    }
}
