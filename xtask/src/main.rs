//! The project's own commands: `cargo xtask demo | test | lint | e2e | bindings | ui | setup`.
//!
//! What a person, a script and CI type is the same. Every verb begins with [`setup`], so that a fresh clone on a fresh
//! machine needs no other step. Nothing here knows what the product does; it must never contain a check that belongs
//! in a test.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command that talks to the person who typed it")]

mod command;
mod demo;
mod generated;
mod lint;
mod setup;
mod test;
mod tree;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own commands", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Install what the other verbs need: Debian packages, npm and Python packages, tauri-driver. Safe to repeat
    Setup,
    /// Build and start the reference app with the demo server; without a display, drive the tour and take screenshots
    Demo(demo::Demo),
    /// Everything that must be true before a change lands: set-up, lint, unit, integration, component and e2e tests
    Test,
    /// Formatting, clippy, licences and sources, TypeScript, Biome, generated files
    Lint {
        /// Also the advisories on our dependencies, which need a network
        #[arg(long)]
        full: bool,
    },
    /// The real app in a real window, driven by real key and mouse events
    E2e {
        /// Only the scenarios whose name contains this
        filter: Option<String>,
        /// On the display that is there instead of one of its own, to watch
        #[arg(long)]
        here: bool,
    },
    /// Write the generated files anew: TypeScript bindings, permission files, guest-js, settings window
    Bindings,
    /// Build guest-js and the settings window from their sources
    Ui,
}

fn main() -> ExitCode {
    match run(&Cli::parse().verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nxtask: {error:#}");
            ExitCode::from(error.downcast_ref::<setup::NeedsPerson>().map_or(1, |_| 2))
        }
    }
}

fn run(verb: &Verb) -> Result<()> {
    match verb {
        Verb::Setup => setup::everything(),
        Verb::Demo(demo) => demo.run(),
        Verb::Test => test::everything(),
        Verb::Lint { full } => {
            setup::lint()?;
            lint::run(*full)
        }
        Verb::E2e { filter, here } => {
            setup::desktop()?;
            test::end_to_end(filter.as_deref(), *here)
        }
        Verb::Bindings => {
            setup::build()?;
            generated::write()
        }
        Verb::Ui => {
            setup::build()?;
            generated::build_ui()
        }
    }
}
