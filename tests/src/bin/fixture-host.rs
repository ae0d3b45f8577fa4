//! A host to be killed: `fixture-host FOLDER PROGRAM [ARGUMENT]...` connects to one server, says `connected` on stdout,
//! and stays until it is ended. FOLDER keeps the record of its children.

use std::{ffi::OsString, io::Write as _, path::PathBuf};

use anyhow::{Context as _, Result};
use mcp_host_core::{
    config::ResolvedLaunch,
    model::ServerId,
    session::{Connect, Processes, Session},
};

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let folder = PathBuf::from(arguments.next().context("FOLDER is missing")?);
    let program = PathBuf::from(arguments.next().context("PROGRAM is missing")?);
    let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let launch = ResolvedLaunch { program, args: arguments.collect(), env, cwd: None, secrets: Vec::new() };
    let (processes, _) = Processes::start(folder).await?;
    let connect = Connect::stdio(ServerId::parse("fixture")?, launch, processes);
    let (session, _events) = Session::connect(connect).await?;
    let mut out = std::io::stdout();
    writeln!(out, "connected")?;
    out.flush()?;
    let closed = session.closed().await;
    anyhow::bail!("the server ended by itself: {closed:?}")
}
