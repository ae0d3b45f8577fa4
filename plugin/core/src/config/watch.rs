//! Keeping up with `servers.json` while other hands change it.
//!
//! Editors replace files, write them in pieces, or move them away for a moment. So a change is looked at after 100 ms of
//! quiet, and what cannot be read then is not called broken until it has stayed so. From then on the last good state
//! goes on, beside an error that says where the file breaks.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::{
    sync::{Notify, watch},
    task::AbortHandle,
    time::timeout,
};

use super::{Configuration, ServersFile, file};
use crate::error::{Error, Result};

/// Nothing has happened for so long: whoever writes is done.
const QUIET: Duration = Duration::from_millis(100);
/// But no longer than this is waited for quiet.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often, and how far apart, a file that cannot be read is read again before it is called broken.
const SECOND_LOOKS: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_millis(400), Duration::from_millis(900)];
/// How often the file is looked at where nobody tells of changes (a network file system, no watches left).
const POLL: Duration = Duration::from_secs(2);
/// And where somebody should.
const SLOW_POLL: Duration = Duration::from_secs(30);

/// What is known of the file.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// What it says, or last said when it could be read.
    pub configuration: Arc<Configuration>,
    /// Why it cannot be read now, if it cannot.
    pub problem: Option<Error>,
}

/// Watches the file until it is dropped.
#[derive(Debug)]
pub struct Watch {
    shared: Arc<Shared>,
    task: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    file: ServersFile,
    state: watch::Sender<State>,
    /// The text of the state; `None` until it was read once. Held while the file is read, so that what is read later is
    /// also told later.
    seen: Mutex<Option<Seen>>,
}

#[derive(Debug, PartialEq)]
enum Seen {
    Absent,
    Text(String),
    Broken(String),
}

/// What a look at the file found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Same,
    Told,
    /// It cannot be read, or is not there, and perhaps only for a moment.
    Doubtful,
}

impl Watch {
    /// Reads the file and begins to watch it. Must be called inside a Tokio runtime; blocks for one read.
    pub fn start(file: ServersFile) -> Self {
        let shared = Arc::new(Shared { file, state: watch::Sender::new(State::default()), seen: Mutex::new(None) });
        shared.look(true);
        let stirred = Arc::new(Notify::new());
        let watcher = watcher(shared.file.path(), Arc::clone(&stirred));
        let task = tokio::spawn(follow(Arc::clone(&shared), stirred, watcher)).abort_handle();
        Self { shared, task }
    }

    /// What is known now.
    pub fn current(&self) -> State {
        self.shared.state.borrow().clone()
    }

    /// Tells of every change. A slow listener sees the newest state, not each one.
    pub fn subscribe(&self) -> watch::Receiver<State> {
        self.shared.state.subscribe()
    }

    /// Reads the file now: after a change of our own, nobody should wait for quiet.
    pub async fn reload(&self) -> State {
        let shared = Arc::clone(&self.shared);
        // It only fails when the runtime ends, and then the last state is the last.
        let _ = tokio::task::spawn_blocking(move || shared.look(true)).await;
        self.current()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    /// Looks at the file and tells what is new. `certain`: also that it is broken or gone.
    fn look(&self, certain: bool) -> Look {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, read): (Seen, Result<Configuration>) = match file::read_text(self.file.path(), file::LARGEST) {
            Ok(None) => (Seen::Absent, Ok(Configuration::default())),
            Ok(Some(text)) => {
                let read = file::of_text(&text, self.file.path());
                (read.as_ref().err().map_or(Seen::Text(text), |error| Seen::Broken(error.to_string())), read)
            }
            Err(error) => (Seen::Broken(error.to_string()), Err(error)),
        };
        if seen.as_ref() == Some(&now) {
            return Look::Same;
        }
        if !certain && !matches!(now, Seen::Text(_)) {
            return Look::Doubtful;
        }
        self.state.send_modify(|state| match read {
            Ok(configuration) => *state = State { configuration: Arc::new(configuration), problem: None },
            Err(problem) => state.problem = Some(problem),
        });
        *seen = Some(now);
        Look::Told
    }
}

async fn follow(shared: Arc<Shared>, stirred: Arc<Notify>, watcher: Option<RecommendedWatcher>) {
    let poll = if watcher.is_some() { SLOW_POLL } else { POLL };
    loop {
        let _ = timeout(poll, stirred.notified()).await;
        settle(&stirred).await;
        let mut looks = SECOND_LOOKS.into_iter();
        loop {
            let pause = looks.next();
            let look = {
                let shared = Arc::clone(&shared);
                tokio::task::spawn_blocking(move || shared.look(pause.is_none())).await
            };
            match (look, pause) {
                (Ok(Look::Doubtful), Some(pause)) => {
                    let _ = timeout(pause, stirred.notified()).await;
                    settle(&stirred).await;
                }
                (Ok(_), _) => break,
                // The runtime ends.
                (Err(_), _) => return,
            }
        }
    }
}

/// Waits for quiet.
async fn settle(stirred: &Notify) {
    let quiet = async { while timeout(QUIET, stirred.notified()).await.is_ok() {} };
    let _ = timeout(PATIENCE, quiet).await;
}

/// Stirs `stirred` when something happens to `path`. A file that is replaced is another file, so its folder is watched;
/// of a symbolic link, the folder of what it points to as well.
fn watcher(path: &Path, stirred: Arc<Notify>) -> Option<RecommendedWatcher> {
    let target = std::fs::canonicalize(path).ok();
    let paths: Vec<&Path> = [Some(path), target.as_deref()].into_iter().flatten().collect();
    let names: Vec<OsString> = paths.iter().filter_map(|path| path.file_name()).map(OsStr::to_owned).collect();
    let concerns = move |event: &notify::Event| {
        // Other files of ours live in that folder. An event without a path says that some were lost.
        let named =
            event.paths.iter().any(|path| path.file_name().is_some_and(|name| names.iter().any(|ours| ours == name)));
        !matches!(event.kind, EventKind::Access(_)) && (named || event.paths.is_empty() || event.need_rescan())
    };
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if event.as_ref().map_or(true, &concerns) {
            stirred.notify_one();
        }
    })
    .inspect_err(|error| tracing::warn!(%error, "servers.json is looked at every two seconds: no watcher"))
    .ok()?;
    let mut folders: Vec<PathBuf> = paths.iter().filter_map(|path| path.parent()).map(Path::to_owned).collect();
    folders.dedup();
    for folder in folders {
        if let Err(error) = watcher.watch(&folder, RecursiveMode::NonRecursive) {
            tracing::warn!(%error, "servers.json is looked at every two seconds: its folder cannot be watched");
            return None;
        }
    }
    Some(watcher)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::fs;

    use super::*;

    const ONE: &str = r#"{"mcpServers":{"one":{"command":"x"}}}"#;
    const TWO: &str = r#"{"mcpServers":{"one":{"command":"x"},"two":{"command":"y"}}}"#;

    fn place(text: Option<&str>) -> (tempfile::TempDir, ServersFile) {
        let folder = tempfile::tempdir().unwrap();
        let file = ServersFile::at(folder.path().join("servers.json"));
        if let Some(text) = text {
            fs::write(file.path(), text).unwrap();
        }
        (folder, file)
    }

    fn keys(state: &State) -> Vec<&str> {
        state.configuration.servers.iter().map(|server| server.key.as_str()).collect()
    }

    /// Waits until the state is as `wanted`.
    async fn until(watch: &Watch, wanted: impl Fn(&State) -> bool) -> State {
        let mut states = watch.subscribe();
        let state = timeout(Duration::from_secs(30), states.wait_for(|state| wanted(state))).await;
        state.expect("the change was not noticed").unwrap().clone()
    }

    #[tokio::test]
    async fn a_file_that_another_hand_writes_replaces_or_removes_is_noticed() {
        let (folder, file) = place(Some(ONE));
        let watch = Watch::start(file.clone());
        assert_eq!(keys(&watch.current()), ["one"]);
        fs::write(file.path(), TWO).unwrap();
        until(&watch, |state| keys(state) == ["one", "two"]).await;
        let new = folder.path().join("new");
        fs::write(&new, ONE).unwrap();
        fs::rename(&new, file.path()).unwrap();
        until(&watch, |state| keys(state) == ["one"]).await;
        fs::remove_file(file.path()).unwrap();
        until(&watch, |state| keys(state).is_empty()).await;
        fs::write(file.path(), TWO).unwrap();
        until(&watch, |state| keys(state) == ["one", "two"]).await;
    }

    #[tokio::test]
    async fn a_file_that_stays_broken_keeps_the_last_good_state_and_says_where() {
        let (_folder, file) = place(Some(TWO));
        let watch = Watch::start(file.clone());
        fs::write(file.path(), &TWO[..TWO.len() / 2]).unwrap();
        let state = until(&watch, |state| state.problem.is_some()).await;
        assert_eq!(keys(&state), ["one", "two"]);
        assert!(state.problem.unwrap().to_string().contains("line 1"));
        assert_eq!(fs::read_to_string(file.path()).unwrap(), TWO[..TWO.len() / 2]);
        fs::write(file.path(), ONE).unwrap();
        let state = until(&watch, |state| state.problem.is_none()).await;
        assert_eq!(keys(&state), ["one"]);
    }

    #[tokio::test]
    async fn half_a_file_is_not_broken_at_the_first_look() {
        let (_folder, file) = place(Some(TWO));
        let shared = Shared { file: file.clone(), state: watch::Sender::new(State::default()), seen: Mutex::new(None) };
        assert_eq!(shared.look(true), Look::Told);
        for half in [Some(&TWO[..20]), Some(""), None] {
            match half {
                Some(half) => fs::write(file.path(), half).unwrap(),
                None => fs::remove_file(file.path()).unwrap(),
            }
            assert_eq!(shared.look(false), Look::Doubtful);
            assert!(shared.state.borrow().problem.is_none());
            assert_eq!(keys(&shared.state.borrow()), ["one", "two"]);
        }
        fs::write(file.path(), TWO).unwrap();
        assert_eq!(shared.look(false), Look::Same);
    }

    #[tokio::test]
    async fn a_file_that_is_broken_from_the_start_has_no_servers_and_a_problem() {
        let (_folder, file) = place(Some("{"));
        let state = Watch::start(file).current();
        assert!(state.problem.is_some() && keys(&state).is_empty());
    }

    #[tokio::test]
    async fn a_change_of_our_own_is_there_at_once() {
        let (_folder, file) = place(None);
        let watch = Watch::start(file.clone());
        fs::write(file.path(), ONE).unwrap();
        assert_eq!(keys(&watch.reload().await), ["one"]);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_link_to_a_file_elsewhere_is_followed() {
        let (folder, file) = place(None);
        let elsewhere = tempfile::tempdir().unwrap();
        let real = elsewhere.path().join("real.json");
        fs::write(&real, ONE).unwrap();
        std::os::unix::fs::symlink(&real, folder.path().join("servers.json")).unwrap();
        let watch = Watch::start(file);
        fs::write(&real, TWO).unwrap();
        until(&watch, |state| keys(state) == ["one", "two"]).await;
    }
}
