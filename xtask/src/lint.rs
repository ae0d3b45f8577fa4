//! What a machine can say about the sources without running them.

use anyhow::Result;

use crate::command::Run;
use crate::generated;

pub(crate) fn run(full: bool) -> Result<()> {
    Run::cargo().args(["fmt", "--all", "--check"]).run()?;
    Run::cargo().args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"]).run()?;
    // `cargo deny` is itself a big program to compile; the quick tier keeps its own check of licences and sources (a test).
    if full {
        Run::cargo().args(["deny", "check"]).run()?;
    }
    Run::new("npm").args(["run", "--silent", "lint"]).run()?;
    generated::check()?;
    Run::new("npm").args(["run", "--silent", "check"]).run()
}
