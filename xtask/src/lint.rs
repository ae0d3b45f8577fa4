//! What a machine can say about the sources without running them.

use anyhow::Result;

use crate::command::Run;
use crate::{generated, tree};

pub(crate) fn run(full: bool) -> Result<()> {
    Run::cargo().args(["fmt", "--all", "--check"]).run()?;
    Run::cargo().args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"]).run()?;
    let checks = ["bans", "licenses", "sources", "advisories"];
    let checks = if full { &checks[..] } else { &checks[..3] };
    let quietly = ["--log-level", "error", "check", "--hide-inclusion-graph"];
    Run::new(tree::tool("cargo-deny")).args(quietly.iter().chain(checks)).run()?;
    Run::new("npm").args(["run", "--silent", "lint"]).run()?;
    generated::check()?;
    Run::new("npm").args(["run", "--silent", "check"]).run()
}
