//! `cargo xtask demo`: the reference app with the demo server configured.
//!
//! With a display it is the person's; without one the tour of `mcp-tests` drives it under Xvfb.

use std::env;

use anyhow::Result;
use clap::Args;

use crate::command::Run;
use crate::{setup, test, tree};

#[derive(Args)]
pub(crate) struct Demo {
    /// Language of the settings window and the dialogs: `en` or `zh-CN`; the system's if absent
    #[arg(long)]
    lang: Option<String>,
    /// Dark colours
    #[arg(long)]
    dark: bool,
    /// Drive the tour under Xvfb even though a display is there
    #[arg(long)]
    tour: bool,
}

impl Demo {
    pub(crate) fn run(&self) -> Result<()> {
        let display = !self.tour && (env::var_os("DISPLAY").is_some() || env::var_os("WAYLAND_DISPLAY").is_some());
        if display {
            setup::build()?;
        } else {
            setup::desktop()?;
        }
        test::binaries()?;
        let mut run = Run::new(tree::binary("demo")).interactive();
        if !display {
            run = run.args(["--tour"]);
        }
        if self.dark {
            run = run.args(["--dark"]);
        }
        if let Some(lang) = &self.lang {
            run = run.args(["--lang", lang]);
        }
        run.env("MCP_TEST_TOOLS", tree::tools()).run()
    }
}
