//! The `mcp-host` command line: what a person without a display, a script and CI use.
//!
//! It parses, calls `mcp-host-core` and prints; it decides nothing. [`cli`] is the command tree, one module a group of
//! commands does the calling, [`output`] is the only module that writes to stdout, [`terminal`] asks the person.

mod app;
mod approval;
mod audit;
mod call;
mod cli;
mod content;
mod entry;
mod failure;
mod input;
mod interrupt;
mod launch;
mod offer;
mod output;
mod servers;
mod shell;
mod target;
mod terminal;
mod text;
mod trust;

use std::{process::ExitCode, time::Duration};

use clap::Parser as _;

/// How long a stray blocking task (a terminal that is being read) may hold up the end.
const GRACE: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(failure::usage(&error, cli::asks_for_json(std::env::args_os()))),
    };
    failure::trace_to_stderr();
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return ExitCode::from(failure::report(&error.into(), cli.globals.json)),
    };
    let status = runtime.block_on(app::run(cli));
    runtime.shutdown_timeout(GRACE);
    ExitCode::from(status)
}
