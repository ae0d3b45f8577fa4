//! Children: each in a process group of its own, and their end on every path.
//!
//! | when | what ends the group |
//! | --- | --- |
//! | the session closes, is dropped, or its process exits | [`child::Process::end`]: stdin closed, 2 s, SIGTERM, 2 s, SIGKILL |
//! | the runtime goes away under it (a panic, a forgotten shutdown) | its destructor: SIGKILL |
//! | the host is killed | the [`watchdog`], a shell in a group of its own that sees its pipe close |
//! | all of that failed | the sweep at the next start, by the [`ledger`] |
//!
//! Only groups that we made are ever signalled. What left its group (a daemon, a browser that a server opened) is told
//! to the person and left alone.

pub(super) mod child;
mod ledger;
mod proc;
mod watchdog;

use std::{
    collections::BTreeMap,
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ledger::{Ledger, Record};
use watchdog::Watchdog;

use crate::{
    error::{Error, Result},
    model::hex,
};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, or 128 + the signal that ended it, as shells count.
    pub code: i32,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.signal {
            Some(signal) => write!(f, "its process was ended by signal {signal}"),
            None => write!(f, "its process exited with code {}", self.code),
        }
    }
}

/// A process that carries a tag of ours and has left the group it was started in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// Its process id.
    pub pid: i32,
    /// Its program, as the system names it.
    pub name: String,
}

/// What the sweep at the start found of earlier runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// Process groups that an earlier host had left behind, ended now.
    pub ended: Vec<i32>,
    /// Left alone.
    pub strays: Vec<Stray>,
}

/// All children of this host: the watchdog that ends them when the host is killed, and the record that the next start
/// sweeps by. Make one for the host; cheap to clone.
#[derive(Clone, Debug)]
pub struct Processes(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    watchdog: Watchdog,
    ledger: Ledger,
    /// Groups that are alive, by group.
    groups: BTreeMap<i32, Record>,
    /// Children of children that came back to us, to be waited for by number when they end.
    strays: Vec<Stray>,
}

impl Processes {
    /// Ends what earlier runs left behind, starts the watchdog, and keeps its record in `folder` (created, 0700).
    ///
    /// Takes some seconds where something has to be ended. On Linux the whole process becomes the one that orphaned
    /// descendants come back to.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`] when the folder cannot be used.
    pub async fn start(folder: PathBuf) -> Result<(Self, Sweep)> {
        tokio::task::spawn_blocking(move || {
            let sweep = ledger::sweep(&folder).map_err(Error::internal)?;
            let ledger = Ledger::create(&folder).map_err(Error::internal)?;
            #[cfg(target_os = "linux")]
            if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
                tracing::warn!(%error, "orphaned descendants of servers will not come back to us");
            }
            let state = State { watchdog: Watchdog::default(), ledger, groups: BTreeMap::new(), strays: Vec::new() };
            Ok((Self(Arc::new(Mutex::new(state))), sweep))
        })
        .await
        .map_err(Error::internal)?
    }

    /// Processes that left the group of a server that has ended, and are still there.
    pub fn strays(&self) -> Vec<Stray> {
        let mut state = self.state();
        state.reap();
        state.strays.clone()
    }

    /// A mark for the environment of one launch.
    fn tag() -> Result<String> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(Error::internal)?;
        Ok(hex(&bytes))
    }

    /// A group has begun.
    fn began(&self, group: i32, tag: String) {
        let record = Record { group, start: proc::start_time(group), tag, boot: proc::boot_id() };
        let mut state = self.state();
        state.reap();
        state.groups.insert(group, record.clone());
        let State { watchdog, ledger, groups, .. } = &mut *state;
        watchdog.watch(&record, groups.values());
        ledger.began(&record);
    }

    /// A group has ended.
    fn ended(&self, group: i32) {
        let mut state = self.state();
        let Some(record) = state.groups.remove(&group) else { return };
        let strays = proc::strays(&record.tag, group);
        if !strays.is_empty() {
            tracing::warn!(?strays, "processes that a server left behind outside of its group; they are left alone");
        }
        state.strays.extend(strays);
        let State { watchdog, ledger, groups, .. } = &mut *state;
        watchdog.forget(group);
        ledger.ended(group, groups.is_empty());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Waits, by number, for strays that have ended: they are our children where they came back to us. Nobody else's are
    /// waited for.
    fn reap(&mut self) {
        self.strays.retain(|stray| {
            if let Some(pid) = rustix::process::Pid::from_raw(stray.pid) {
                let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG);
            }
            proc::is_alive(stray.pid)
        });
    }
}
