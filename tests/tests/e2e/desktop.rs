//! The harness itself: what the other scenarios rely on.

use anyhow::{Result, ensure};
use mcp_tests::desktop::{Desktop, Style};
use mcp_tests::process;

#[test]
fn a_desktop_leaves_nothing_behind() -> Result<()> {
    let desktop = Desktop::start("leaves_nothing", &Style { keychain: true, ..Style::default() })?;
    // Asking the accessibility bus starts it: three processes that nobody starts by name.
    ensure!(desktop.eye().windows("")?.iter().all(|window| window.application != "nobody"));
    let home = desktop.home().to_string_lossy().into_owned();
    ensure!(desktop.processes().iter().any(|process| process.program() == "at-spi-bus-launcher"));
    drop(desktop);
    let left: Vec<_> = process::running().into_iter().filter(|process| process.mentions(&home)).collect();
    ensure!(left.is_empty(), "left: {left:#?}");
    Ok(())
}
