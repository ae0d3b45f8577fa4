//! The tests, in the order in which they fail soonest.

use anyhow::Result;

use crate::command::Run;
use crate::{lint, setup, tree};

/// `.ci/run` is this.
pub(crate) fn everything() -> Result<()> {
    setup::everything()?;
    lint::run(false)?;
    Run::new("npm").args(["run", "--silent", "test"]).run()?;
    binaries()?;
    // Everything but the end-to-end binary, which wants the machine for itself.
    tested(&["--workspace", "--exclude", "mcp-tests"], &[])?;
    tested(&["--package", "mcp-tests", "--lib", "--bins", "--test", "it"], &[])?;
    tested(&["--package", "mcp-tests", "--test", "e2e"], &["--test-threads=1"])
}

pub(crate) fn end_to_end(filter: Option<&str>, here: bool) -> Result<()> {
    binaries()?;
    let mut arguments = vec!["--test-threads=1", "--nocapture"];
    arguments.extend(filter);
    let run = cargo_test(&["--package", "mcp-tests", "--test", "e2e"], &arguments);
    if here { run.env("MCP_E2E_HERE", "1").run() } else { run.run() }
}

/// The programs under test, where the tests look for them; one profile for all verbs, so that nothing is built twice.
pub(crate) fn binaries() -> Result<()> {
    Run::cargo().args(["build", "--quiet", "--workspace", "--bins"]).run()
}

fn tested(what: &[&str], how: &[&str]) -> Result<()> {
    cargo_test(what, how).run()
}

fn cargo_test(what: &[&str], how: &[&str]) -> Run {
    Run::cargo()
        .args(["test", "--quiet"])
        .args(what)
        .args(["--"])
        .args(how)
        .env("MCP_TEST_TOOLS", tree::tools())
        // An error from a test says what it waited for; a panic keeps its trace.
        .env("RUST_LIB_BACKTRACE", "0")
}
