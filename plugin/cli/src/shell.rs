//! What a shell and a manual want of the command tree.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::{
    cli::Cli,
    failure::{DONE, Result, invalid},
    output,
};

/// `mcp-host completions`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host completions bash > ~/.local/share/bash-completion/completions/mcp-host
  mcp-host completions zsh > ~/.zfunc/_mcp-host
  mcp-host completions fish > ~/.config/fish/completions/mcp-host.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

/// `mcp-host completions`.
pub(crate) fn completions(completions: &Completions) -> Result {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut Cli::command(), "mcp-host", &mut script);
    output::bytes(&script)?;
    Ok(DONE)
}

/// `mcp-host man`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host man > mcp-host.1
  mcp-host man --dir ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Write a page for each command into this folder instead
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// `mcp-host man`.
pub(crate) fn man(man: &Man) -> Result {
    if let Some(dir) = &man.dir {
        clap_mangen::generate_to(Cli::command(), dir)
            .map_err(|error| invalid(format!("`--dir`: cannot write into `{}`: {error}", dir.display())))?;
        return Ok(DONE);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    output::bytes(&page)?;
    Ok(DONE)
}
