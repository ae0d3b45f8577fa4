//! The log of one run: opened with its first record, written in order, synced in groups, ended in one of three ways.
//!
//! A record is `write`n by whoever makes it, under one short lock, so it survives a SIGKILL of this process; a thread of
//! its own syncs what was written at most 50 ms later, or at once where somebody waits for that, and then writes the
//! head anchor. What must never happen: a call that is sent without its record, an outcome for which there is no room,
//! a log that goes on after another program touched it, a lock held across an await.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io,
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use tokio::sync::watch;

use super::{
    Event, Receipt, Redactor,
    anchor::{Anchor, Head},
    call::Pending,
    record::{Chain, GENESIS, Payload},
    redact::Part,
    run::{Failed, ROOM, Run},
    run_list::{Recovered, RunList, head_path, log_name, open_path},
};
use crate::{
    clock::Clock,
    error::{Error, Result},
    model::{hex, json},
    store::{Folders, MasterKey, file},
};

/// A file of a log ends after this many bytes.
const ROTATE_AT: u64 = 64 * 1024 * 1024;

/// How long a record may wait for being synced.
const GROUP: Duration = Duration::from_millis(50);

/// Which program writes the log; names the run and stands in `run_started`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The desktop application.
    App,
    /// One command of `mcp-host`.
    Cli,
    /// `mcp-host serve`.
    Serve,
}

impl Origin {
    fn as_str(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::Cli => "cli",
            Self::Serve => "mcp",
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::App | Self::Cli => "host",
            Self::Serve => "mcp",
        }
    }
}

/// What a log needs to know of its run.
#[derive(Clone, Debug)]
pub struct AuditOptions {
    /// Where the log goes.
    pub folders: Folders,
    /// Authenticates it.
    pub key: MasterKey,
    /// Tells the time of its records.
    pub clock: Arc<dyn Clock>,
    /// Which program.
    pub origin: Origin,
    /// How it is reached: `ipc`, `stdio`, `http`, `cli`.
    pub transport: String,
    /// The permission mode at the start.
    pub mode: String,
    /// `--audit-full`: contents are kept.
    pub full: bool,
}

/// The log of this run. Cheap to clone; the last clone ends the run cleanly.
#[derive(Clone, Debug)]
pub struct AuditLog(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    core: Arc<Core>,
}

/// Shared by the handle and the thread that syncs.
#[derive(Debug)]
pub(super) struct Core {
    options: AuditOptions,
    /// [`ROTATE_AT`]; less in tests.
    rotate_at: u64,
    list: RunList,
    redactor: Redactor,
    state: Mutex<State>,
    /// Wakes the thread that syncs.
    wake: Condvar,
    /// How far the log is on the disk.
    synced: watch::Sender<Synced>,
}

#[derive(Debug, Clone, Default)]
struct Synced {
    /// All records up to this one.
    seq: u64,
    /// A sync failed: nothing more can be promised.
    failed: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// The run, once its first record was written.
    run: Option<Run>,
    /// `run_completed` has been written.
    closed: bool,
    /// What ended the log before its time.
    broken: Option<String>,
    /// Calls that have no outcome yet, by a number of this process.
    pub(super) pending: BTreeMap<u64, Pending>,
    /// Outcomes that could not be written; until they are, no call is taken.
    owed: Vec<(&'static str, Payload)>,
    next_pending: u64,
    /// Somebody waits for this record to be synced.
    urgent: u64,
    syncer: Option<JoinHandle<()>>,
    stop: bool,
}

impl AuditLog {
    /// A log that is not open yet: the first record opens it, so a command that only reads leaves none.
    pub fn open(options: AuditOptions) -> Self {
        Self::with_rotation(options, ROTATE_AT)
    }

    pub(super) fn with_rotation(options: AuditOptions, rotate_at: u64) -> Self {
        let core = Core {
            rotate_at,
            list: RunList::new(&options.folders.audit(), &options.key),
            redactor: Redactor::new(options.full),
            options,
            state: Mutex::default(),
            wake: Condvar::new(),
            synced: watch::Sender::new(Synced::default()),
        };
        Self(Arc::new(Handle { core: Arc::new(core) }))
    }

    /// Opens the log now (`serve` writes `run_started` before it takes a call).
    ///
    /// # Errors
    /// `audit_unavailable`.
    pub fn start(&self) -> Result<()> {
        let core = self.core();
        core.ready(&mut core.lock())
    }

    /// What keeps secrets out of this log; teach it every value that must not appear.
    pub fn redactor(&self) -> &Redactor {
        &self.core().redactor
    }

    /// The run, once there is a record.
    pub fn run_id(&self) -> Option<String> {
        self.core().lock().run.as_ref().map(|run| run.run_id.clone())
    }

    /// Writes an event down.
    ///
    /// # Errors
    /// `audit_unavailable`.
    pub fn event(&self, event: &Event) -> Result<Receipt> {
        let core = self.core();
        let (event_type, payload) = core.describe(event)?;
        core.append(&mut core.lock(), &event_type, &payload)
    }

    /// Writes an event down where nobody can do anything about a failure but tell it.
    pub async fn note(&self, event: Event) {
        if let Err(error) = self.event(&event) {
            tracing::error!("an event could not be logged: {error}");
        }
    }

    /// Ends the run: calls without an outcome get one, `run_completed` is written, everything is synced, the list of
    /// runs learns the final head. Blocks for a few syncs. Idempotent; a log that was never opened stays away.
    ///
    /// # Errors
    /// `audit_unavailable`; the next start then closes the books.
    pub fn close(&self) -> Result<()> {
        self.core().close()
    }

    pub(super) fn core(&self) -> &Arc<Core> {
        &self.0.core
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Not a clean end, so it must not look like one.
            self.core.stop();
        } else if let Err(error) = self.core.close() {
            tracing::error!("the audit log could not be closed: {error}");
        }
    }
}

impl Core {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn folder(&self) -> PathBuf {
        self.options.folders.audit()
    }

    pub(super) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    pub(super) fn key(&self) -> &MasterKey {
        &self.options.key
    }

    pub(super) fn is_full(&self) -> bool {
        self.options.full
    }

    /// An event's type, and its payload in canonical form without secrets.
    fn describe(&self, event: &Event) -> Result<(String, String)> {
        let value = serde_json::to_value(event).map_err(Error::internal)?;
        let value = json::Value::from_serde(&value).map_err(Error::internal)?;
        let event_type = value.pointer("/event_type").and_then(json::Value::as_str).unwrap_or_default().to_owned();
        let mut payload = String::new();
        match value.pointer("/payload").and_then(json::Value::as_object) {
            Some(object) => self.redactor.write_object(object, Part::Plain, &mut payload),
            None => payload.push_str("{}"),
        }
        Ok((event_type, payload))
    }

    /// Makes sure that a record could be written now: opens the log, writes what is owed.
    fn ready(self: &Arc<Self>, state: &mut State) -> Result<()> {
        if let Some(problem) = &state.broken {
            return Err(unavailable(problem));
        }
        if state.closed {
            return Err(unavailable("this run has ended"));
        }
        if state.run.is_none() {
            self.open_run(state)?;
        }
        while let Some((event_type, payload)) = state.owed.first() {
            let (event_type, payload) = (*event_type, payload.canonical());
            self.write(state, event_type, &payload)?;
            state.owed.remove(0);
        }
        Ok(())
    }

    /// Writes one record.
    pub(super) fn append(self: &Arc<Self>, state: &mut State, event_type: &str, payload: &str) -> Result<Receipt> {
        self.ready(state)?;
        self.write(state, event_type, payload)
    }

    /// Takes a call in: room for its outcome, then its first record.
    pub(super) fn admit(
        self: &Arc<Self>,
        state: &mut State,
        event_type: &str,
        payload: &str,
        pending: Pending,
    ) -> Result<(u64, Receipt)> {
        self.ready(state)?;
        let wanted = (state.pending.len() as u64 + 1) * ROOM;
        let run = state.run.as_mut().ok_or_else(|| unavailable("it is not open"))?;
        run.reserve(wanted).map_err(|error| unavailable(&format!("no room for an outcome: {error}")))?;
        let receipt = self.write(state, event_type, payload)?;
        let number = state.next_pending;
        state.next_pending += 1;
        state.pending.insert(number, pending);
        Ok((number, receipt))
    }

    /// Writes a call's outcome, out of the kept room if there is no other. `short` is what is written where `whole` does
    /// not fit.
    ///
    /// # Errors
    /// `audit_unavailable`: it is owed, and no call is taken until it is written.
    pub(super) fn settle(
        self: &Arc<Self>,
        state: &mut State,
        number: u64,
        event_type: &'static str,
        whole: &str,
        mut short: Payload,
    ) -> Result<Receipt> {
        if state.pending.remove(&number).is_none() {
            return Err(unavailable("this run has ended"));
        }
        if let Ok(receipt) = self.write(state, event_type, whole) {
            return Ok(receipt);
        }
        if let Some(run) = &mut state.run {
            run.release();
        }
        if let Ok(receipt) = self.write(state, event_type, whole) {
            return Ok(receipt);
        }
        short.flag("cut", true);
        let failed = match self.write(state, event_type, &short.canonical()) {
            Ok(receipt) => return Ok(receipt),
            Err(error) => error,
        };
        tracing::error!("the outcome of a call could not be logged, so no further call is taken: {failed}");
        short.flag("late", true);
        state.owed.push((event_type, short));
        Err(failed)
    }

    fn write(self: &Arc<Self>, state: &mut State, event_type: &str, payload: &str) -> Result<Receipt> {
        if let Some(problem) = &state.broken {
            return Err(unavailable(problem));
        }
        let run = state.run.as_mut().ok_or_else(|| unavailable("it is not open"))?;
        if run.bytes >= self.rotate_at {
            self.rotate(run)?;
        }
        let waits = run.dirty.is_some();
        match run.write(self.options.clock.as_ref(), event_type, payload) {
            Ok(receipt) => {
                if !waits {
                    // The group begins; what follows within 50 ms needs no second call.
                    self.wake.notify_one();
                }
                Ok(receipt)
            }
            Err(Failed::Once(problem)) => Err(unavailable(&problem)),
            Err(Failed::ForGood(problem)) => {
                // What we wrote is not there any more, and this makes it show.
                let head = run.head();
                if let Err(error) = run.anchor.write(&self.options.key, &head) {
                    tracing::warn!("the head anchor of the audit log could not be written: {error}");
                }
                tracing::error!("the audit log cannot go on: {problem}");
                Err(unavailable(state.broken.insert(problem)))
            }
        }
    }

    /// Resolves when the record is on the disk.
    ///
    /// # Errors
    /// `audit_unavailable` if it cannot be brought there.
    pub(super) async fn wait_synced(&self, seq: u64) -> Result<()> {
        let mut synced = self.synced.subscribe();
        {
            let mut state = self.lock();
            state.urgent = state.urgent.max(seq);
            self.wake.notify_one();
        }
        let reached = synced.wait_for(|synced| synced.seq >= seq || synced.failed.is_some()).await;
        match reached.map(|synced| synced.failed.clone()) {
            Ok(None) => Ok(()),
            Ok(Some(problem)) => Err(unavailable(&problem)),
            Err(error) => Err(Error::internal(error)),
        }
    }

    fn open_run(self: &Arc<Self>, state: &mut State) -> Result<()> {
        let (mut run, recovered) = self.create_run().map_err(|error| match error {
            Error::AuditUnavailable { .. } => error,
            other => unavailable(&other.to_string()),
        })?;
        let started = self.run_started(&recovered);
        if let Err(Failed::Once(problem) | Failed::ForGood(problem)) =
            run.write(self.options.clock.as_ref(), "run_started", &started)
        {
            return Err(unavailable(&problem));
        }
        state.run = Some(run);
        let core = Arc::clone(self);
        let syncer = std::thread::Builder::new().name("mcp-host-audit".to_owned()).spawn(move || core.sync_loop());
        match syncer {
            Ok(thread) => {
                state.syncer = Some(thread);
                Ok(())
            }
            Err(error) => Err(unavailable(state.broken.insert(format!("no thread to sync it: {error}")))),
        }
    }

    fn run_started(&self, recovered: &[Recovered]) -> String {
        let AuditOptions { key, origin, transport, mode, .. } = &self.options;
        let mut payload = Payload::default();
        payload.text("origin", origin.as_str()).text("transport", transport).text("mode", mode);
        payload.text("key_id", key.id()).number("pid", u64::from(std::process::id()));
        payload.json("versions", format!("{{\"host\":\"{}\"}}", env!("CARGO_PKG_VERSION")));
        if !recovered.is_empty() {
            let runs = recovered.iter().map(|run| {
                let mut one = Payload::default();
                one.text("run", &run.run_id).flag("torn", run.torn);
                one.canonical()
            });
            payload.json("unclean_before", format!("[{}]", runs.collect::<Vec<_>>().join(",")));
        }
        payload.canonical()
    }

    fn create_run(&self) -> Result<(Run, Vec<Recovered>)> {
        let AuditOptions { folders, clock, origin, .. } = &self.options;
        folders.prepare()?;
        let folder = self.folder();
        let cannot = |error: io::Error| file::cannot("write the log in", &folder, &error);
        crate::store::make_private(&folder).map_err(cannot)?;
        let lock = self.list.lock()?;
        let recovered = self.list.recover(&lock, clock.now()).map_err(cannot)?;
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(Error::internal)?;
        let run_id = format!("{}-{}", origin.prefix(), hex(&random));
        let made = self.make_files(&run_id).and_then(|run| {
            let mut payload = Payload::default();
            payload.text("run", &run_id).text("file", &log_name(&run_id, 1));
            self.list.append(&lock, clock.now(), vec![("run_opened", payload)])?;
            file::sync_folder(&folder)?;
            Ok(run)
        });
        if made.is_err() {
            // The list does not know of it, so it must not be there.
            for path in [open_path(&self.folder(), &run_id), head_path(&self.folder(), &run_id)] {
                let _ = fs::remove_file(path);
            }
            let _ = fs::remove_file(folder.join(log_name(&run_id, 1)));
        }
        made.map(|run| (run, recovered)).map_err(cannot)
    }

    fn make_files(&self, run_id: &str) -> io::Result<Run> {
        let marker =
            file::open_private(OpenOptions::new().write(true).create_new(true), &open_path(&self.folder(), run_id))?;
        // Nobody else knows the name, and whoever looks for dead runs waits for the list's lock, which we hold.
        marker.lock()?;
        let head = Head { file: log_name(run_id, 1), part: 1, count: 0, bytes: 0, hash: GENESIS.to_owned() };
        let anchor = Anchor::create(&head_path(&self.folder(), run_id), &self.options.key, &head)?;
        Ok(Run {
            run_id: run_id.to_owned(),
            part: 1,
            file: Arc::new(self.make_log(run_id, 1)?),
            chain: Chain::genesis(&self.options.key, run_id),
            bytes: 0,
            seq: 0,
            anchor,
            marker,
            room: 0,
            dirty: None,
        })
    }

    fn make_log(&self, run_id: &str, part: u64) -> io::Result<File> {
        let path = self.folder().join(log_name(run_id, part));
        file::open_private(OpenOptions::new().append(true).create_new(true), &path)
    }

    /// Ends a file that is full and begins the next.
    fn rotate(&self, run: &mut Run) -> Result<()> {
        let cannot = |error: io::Error| unavailable(&format!("the next file of the log cannot be begun: {error}"));
        run.file.sync_data().map_err(cannot)?;
        let next = self.make_log(&run.run_id, run.part + 1).map_err(cannot)?;
        let old = run.head();
        let lock = self.list.lock()?;
        let now = self.options.clock.now();
        let closed = vec![("file_closed", RunList::about(&run.run_id, &old))];
        self.list.append(&lock, now, closed).map_err(cannot)?;
        drop(lock);
        run.part += 1;
        run.file = Arc::new(next);
        run.chain = Chain::genesis(&self.options.key, &run.run_id);
        run.bytes = 0;
        let mut previous = Payload::default();
        previous.text("file", &old.file).number("count", old.count).text("head", &old.hash);
        let mut payload = Payload::default();
        payload.json("previous", previous.canonical()).number("seq", run.seq + 1).text("key_id", self.options.key.id());
        match run.write(self.options.clock.as_ref(), "log_continued", &payload.canonical()) {
            Ok(_) => Ok(()),
            Err(Failed::Once(problem) | Failed::ForGood(problem)) => Err(unavailable(&problem)),
        }
    }

    /// Syncs what was written, in groups, until the run ends.
    fn sync_loop(&self) {
        let mut state = self.lock();
        while !state.stop {
            let urgent = state.urgent > self.synced.borrow().seq;
            let due = state.run.as_ref().and_then(|run| run.dirty).map(|since| since + GROUP);
            let now = Instant::now();
            state = match due {
                Some(due) if urgent || now >= due => self.sync(state),
                Some(due) => self.wake.wait_timeout(state, due - now).unwrap_or_else(PoisonError::into_inner).0,
                None => self.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// One group: sync without the lock, then the anchor.
    fn sync<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let Some(run) = &mut state.run else { return state };
        run.dirty = None;
        let (file, head, seq) = (Arc::clone(&run.file), run.head(), run.seq);
        drop(state);
        let result = file.sync_data();
        state = self.lock();
        match result {
            Ok(()) => {
                if let Some(run) = &mut state.run
                    && run.part == head.part
                    && let Err(error) = run.anchor.write(&self.options.key, &head)
                {
                    // The log is ahead of its anchor then, which is no fault of the log.
                    tracing::warn!("the head anchor of the audit log could not be written: {error}");
                }
                self.synced.send_modify(|synced| synced.seq = synced.seq.max(seq));
            }
            Err(error) => {
                // After a failed sync the kernel may have dropped the pages; a later success would mean nothing.
                let problem = format!("it could not be brought to the disk: {error}");
                tracing::error!("the audit log cannot go on: {problem}");
                self.synced.send_modify(|synced| synced.failed = Some(problem.clone()));
                state.broken = Some(problem);
            }
        }
        state
    }

    fn stop(&self) {
        let thread = {
            let mut state = self.lock();
            state.stop = true;
            state.syncer.take()
        };
        self.wake.notify_all();
        if let Some(thread) = thread {
            // It ends after at most one sync; it cannot fail but by a panic, which has been told already.
            let _ = thread.join();
        }
    }

    fn close(self: &Arc<Self>) -> Result<()> {
        let result = {
            let mut state = self.lock();
            if state.closed || state.run.is_none() {
                state.closed = true;
                Ok(())
            } else {
                self.finish(&mut state)
            }
        };
        self.stop();
        result
    }

    fn finish(self: &Arc<Self>, state: &mut State) -> Result<()> {
        let pending = std::mem::take(&mut state.pending);
        if let Some(run) = &mut state.run {
            run.release();
        }
        let mut result = Ok(());
        for pending in pending.into_values() {
            let (event_type, payload) = pending.abandoned();
            result = result.and(self.write(state, event_type, &payload.canonical()).map(|_| ()));
        }
        for (event_type, payload) in std::mem::take(&mut state.owed) {
            result = result.and(self.write(state, event_type, &payload.canonical()).map(|_| ()));
        }
        result = result.and_then(|()| self.write(state, "run_completed", "{}").map(|_| ()));
        state.closed = true;
        let Some(run) = &mut state.run else { return result };
        result?;
        let cannot = |error: io::Error| unavailable(&format!("its end could not be written: {error}"));
        run.file.sync_data().map_err(cannot)?;
        run.dirty = None;
        let (head, run_id) = (run.head(), run.run_id.clone());
        run.anchor.write(&self.options.key, &head).map_err(cannot)?;
        self.synced.send_modify(|synced| synced.seq = run.seq);
        let lock = self.list.lock()?;
        let closed = vec![("run_closed", RunList::about(&run_id, &head))];
        self.list.append(&lock, self.options.clock.now(), closed).map_err(cannot)?;
        // Only now: until the list knows the head, these two are what proves it.
        let removed = fs::remove_file(head_path(&self.folder(), &run_id));
        removed.and_then(|()| fs::remove_file(open_path(&self.folder(), &run_id))).map_err(cannot)
    }
}

pub(super) fn unavailable(problem: &str) -> Error {
    Error::AuditUnavailable { problem: problem.to_owned() }
}
