//! What a command ends with when it does not succeed: the words on stderr, the document under `--json`, the exit status.

use std::{fmt::Write as _, io};

use mcp_host_core::{
    Error, ErrorCode, ErrorInfo,
    error::{Audience, ConnectAttempt, LaunchDetails},
};
use serde_json::json;

use crate::{output, text};

/// The result of a command: its exit status, or why it has none.
pub(crate) type Result<T = u8> = std::result::Result<T, Failure>;

/// Exit status 0.
pub(crate) const DONE: u8 = 0;
/// Exit status 1.
pub(crate) const FAILED: u8 = 1;
/// Exit status for wrong usage.
pub(crate) const USAGE: u8 = 2;
/// The tool ran and reported failure.
pub(crate) const TOOL_ERROR: u8 = 4;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The host says so.
    Host(Box<Error>),
    /// Whoever reads our output went away: nobody is left to be told.
    Pipe,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Host(Box::new(error))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Pipe,
            _ => Self::Host(Box::new(Error::internal(error))),
        }
    }
}

/// A mistake in what was asked.
pub(crate) fn invalid(problem: impl Into<String>) -> Failure {
    Error::invalid_input("", problem).into()
}

/// Tells a failure where it is to be told and returns the exit status.
pub(crate) fn report(failure: &Failure, as_json: bool) -> u8 {
    match failure {
        Failure::Pipe => DONE,
        Failure::Host(error) => {
            let info = error.info(Audience::Person);
            if as_json {
                document(&info);
            } else {
                let _ = output::stderr(&explain(error, &info));
            }
            info.code.exit_status()
        }
    }
}

/// Tells what clap found (a usage error, or the help that was asked for) and returns the exit status.
pub(crate) fn usage(error: &clap::Error, as_json: bool) -> u8 {
    if !error.use_stderr() {
        let _ = output::stdout(&error.to_string());
        return DONE;
    }
    let words = error.to_string();
    if as_json {
        let problem = match error.kind() {
            clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "a command is missing; see `--help`",
            _ => words.trim().strip_prefix("error: ").unwrap_or(&words).trim(),
        };
        let code = ErrorCode::InvalidInput;
        document(&ErrorInfo {
            code,
            message: format!("{code}: {problem}"),
            retryable: false,
            server_id: None,
            details: Some(json!({ "reason": "usage" })),
        });
    } else {
        let _ = output::stderr(&text::lines(&words));
    }
    USAGE
}

/// Sends the traces that `MCP_HOST_LOG` asks for (`debug`, `mcp_host_core=trace`, …) to stderr.
pub(crate) fn trace_to_stderr() {
    let Ok(filter) = tracing_subscriber::EnvFilter::try_from_env("MCP_HOST_LOG") else { return };
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(false).try_init();
}

fn document(info: &ErrorInfo) {
    let text = json!({ "error": info }).to_string();
    let _ = output::stdout(&format!("{text}\n"));
}

/// The error in words: what happened, what a person may know beyond that, and what to do.
fn explain(error: &Error, info: &ErrorInfo) -> String {
    let prefix = format!("{}: ", info.code);
    let message = info.message.strip_prefix(&prefix).unwrap_or(&info.message);
    let mut words = format!("error: {} [{}]\n", text::lines(message), info.code);
    match error {
        Error::LaunchFailed { private, .. } => explain_launch(&mut words, private),
        Error::ConnectFailed { attempts, .. } => explain_attempts(&mut words, attempts),
        Error::PolicyDenied { digest: Some(digest), .. } | Error::ApprovalUnavailable { digest: Some(digest), .. } => {
            let _ = writeln!(words, "  payload digest: {digest}");
        }
        Error::ConfigInvalid { allowed, path, .. } => {
            if let Some(path) = path.as_ref().filter(|path| !message.contains(path.as_str())) {
                let _ = writeln!(words, "  at: {}", text::line(path));
            }
            if !allowed.iter().all(|value| message.contains(value.as_str())) {
                let _ = writeln!(words, "  allowed: {}", text::line(&allowed.join(", ")));
            }
        }
        Error::InvalidInput { path, .. } if !path.is_empty() => {
            let _ = writeln!(words, "  at: {}", text::line(path));
        }
        _ => {}
    }
    words
}

fn explain_launch(words: &mut String, details: &LaunchDetails) {
    let mut fact = |label: &str, value: &str| {
        let _ = writeln!(words, "  {label}: {}", text::line(value));
    };
    if let Some(field) = &details.field {
        fact("field", field);
    }
    if let Some(path) = &details.path {
        fact("looked for", path);
    }
    for folder in &details.looked_in {
        fact("looked in", folder);
    }
    if !details.stderr_tail.is_empty() {
        words.push_str("  the last that it wrote:\n");
        for line in &details.stderr_tail {
            let _ = writeln!(words, "    | {}", text::line(line));
        }
    }
}

fn explain_attempts(words: &mut String, attempts: &[ConnectAttempt]) {
    for attempt in attempts {
        let status = attempt.status.map(|status| format!(" {status}")).unwrap_or_default();
        let _ = writeln!(
            words,
            "  {}: {}{status}: {}",
            attempt.transport,
            attempt.reason.as_str(),
            text::line(&attempt.private)
        );
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use mcp_host_core::{error::LaunchReason, model::ServerId};

    use super::*;

    #[test]
    fn what_a_server_wrote_cannot_move_the_cursor() {
        let error = Error::LaunchFailed {
            server: ServerId::parse("demo").unwrap(),
            reason: LaunchReason::Exited,
            message: "server `demo` exited with code 1".to_owned(),
            exit_code: Some(1),
            private: Box::new(LaunchDetails {
                stderr_tail: vec!["\x1b[2J\x1b[Hok\rall is well".to_owned()],
                ..LaunchDetails::default()
            }),
        };
        let words = explain(&error, &error.info(Audience::Person));
        assert!(words.contains("mcp.launch_failed"));
        assert!(words.contains("\\u{1b}[2J"), "{words}");
        assert!(!words.chars().any(|c| c == '\x1b' || c == '\r'), "{words}");
    }
}
