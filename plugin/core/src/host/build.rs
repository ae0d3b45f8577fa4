//! Opening a host: its folder, key, stores and configuration; and following servers.json while it runs.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock, Weak},
};

use tokio::sync::{broadcast, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Host, Inner, Origin, rulebook::Rulebook, server::Server};
use crate::{
    approval::{Prompter, queue::Queue},
    audit::{self, AuditLog, AuditOptions, Event},
    clock::{Clock, SystemClock},
    config::{self, SystemEnvironment, file::Configuration},
    error::{Error, Result},
    event::HostEvent,
    model::{CallerKind, ServerId},
    policy::{digest::ScopedDigest, mode::Mode},
    session::{Processes, Stray},
    store::{Folders, MasterKey, Secrets},
};

/// Events that a slow listener may be behind.
const EVENTS: usize = 1_024;

/// What a [`Host`] is made of.
pub struct HostBuilder {
    origin: Origin,
    config_dir: Option<PathBuf>,
    prompter: Option<Arc<dyn Prompter>>,
    mode: Option<String>,
    digests: Vec<String>,
    full: bool,
    clock: Arc<dyn Clock>,
}

impl HostBuilder {
    pub(super) fn new(origin: Origin, config_dir: Option<PathBuf>) -> Self {
        Self {
            origin,
            config_dir,
            prompter: None,
            mode: None,
            digests: Vec::new(),
            full: false,
            clock: SystemClock::shared(),
        }
    }

    /// Asks the person; without one, what needs an answer is denied.
    pub fn prompter(mut self, prompter: Arc<dyn Prompter>) -> Self {
        self.prompter = Some(prompter);
        self
    }

    /// `--permission-mode`, for this run.
    pub fn permission_mode(mut self, mode: Option<String>) -> Self {
        self.mode = mode;
        self
    }

    /// `--approve-scoped [SERVER/]TOOL:SHA256`.
    pub fn approve_scoped(mut self, digests: Vec<String>) -> Self {
        self.digests = digests;
        self
    }

    /// `--audit-full`: arguments and results are kept in the log.
    pub fn audit_full(mut self, full: bool) -> Self {
        self.full = full;
        self
    }

    /// Time from elsewhere, for tests.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Opens the stores and reads the configuration. Starts no server, but for the application's own those that are set
    /// to connect at start.
    ///
    /// # Errors
    ///
    /// `invalid_input` for a flag; `config_invalid` for a folder, a key or a store that cannot be used.
    pub async fn build(self) -> Result<Host> {
        let mode: Option<Mode> = self.mode.as_deref().map(str::parse).transpose()?;
        let config_dir = self.config_dir;
        // A keychain may take its five seconds.
        let (folders, key, configuration) = tokio::task::spawn_blocking(move || {
            let folders = Folders::resolve(config_dir.as_deref())?;
            folders.prepare()?;
            let key = MasterKey::open(&folders)?;
            let configuration = config::file::read(&folders.servers_file());
            Ok::<_, Error>((folders, key, configuration))
        })
        .await
        .map_err(Error::internal)??;
        let (configuration, config_problem) = match configuration {
            Ok(configuration) => (configuration, None),
            Err(error) => (Configuration::default(), Some(error)),
        };
        let resolve = |name: &str| {
            configuration
                .find(name)
                .map(|server| server.id.clone())
                .or_else(|error| if name == ServerId::LOCAL { ServerId::parse(name) } else { Err(error) })
        };
        let digests = self.digests.iter().map(|text| ScopedDigest::parse_with(text, resolve)).collect::<Result<_>>()?;
        let rulebook = Rulebook::new(&folders, &key, mode, digests, self.clock.clone());
        let log = AuditLog::open(AuditOptions {
            folders: folders.clone(),
            key: key.clone(),
            clock: self.clock.clone(),
            origin: match self.origin {
                Origin::App => audit::Origin::App,
                Origin::Cli => audit::Origin::Cli,
                Origin::Serve => audit::Origin::Serve,
            },
            transport: match self.origin {
                Origin::App => "ipc".to_owned(),
                Origin::Cli => "cli".to_owned(),
                Origin::Serve => "stdio".to_owned(),
            },
            mode: rulebook.mode(None).map_or_else(|_| "unknown".to_owned(), |mode| mode.mode.to_string()),
            full: self.full,
        });
        let secrets = Secrets::new(&folders, &key);
        // A vault that cannot be read fails the servers that need it, each with its reason.
        if let Ok(values) = secrets.values() {
            log.redactor().learn(values.iter().map(|secret| secret.expose()));
        }
        let servers =
            configuration.servers.into_iter().map(|config| (config.id.clone(), Arc::new(Server::new(config))));
        let inner = Arc::new(Inner {
            origin: self.origin,
            folders,
            servers: RwLock::new(servers.collect()),
            config_problem: Mutex::new(config_problem),
            rulebook,
            queue: Queue::new(self.prompter, self.clock.clone()),
            clock: self.clock,
            log,
            fingerprint_key: key.derive("mcp-host/1/fingerprint"),
            key,
            environment: SystemEnvironment::new(),
            secrets: Arc::new(secrets),
            processes: tokio::sync::OnceCell::new(),
            connect_asks: Mutex::default(),
            calls: Mutex::new(HashMap::new()),
            events: broadcast::channel(EVENTS).0,
            changed: watch::Sender::new(0),
            paused: false.into(),
            closing: CancellationToken::new(),
            ending: TaskTracker::new(),
            requests: TaskTracker::new(),
        });
        if self.origin == Origin::App {
            inner.follow_configuration();
            inner.connect_at_start();
        }
        Ok(Host(inner))
    }
}

impl Inner {
    /// The children of this process; the watchdog over them starts with the first one.
    pub(super) async fn processes(&self) -> Result<Processes> {
        let start = || async {
            let (processes, sweep) = Processes::start(self.folders.state().join("processes")).await?;
            for pid in &sweep.ended {
                tracing::info!(pid, "ended a process group that an earlier run left behind");
            }
            for Stray { pid, name: program } in &sweep.strays {
                tracing::warn!(pid, program, "a process of an earlier run is still there; it was left alone");
            }
            Ok(processes)
        };
        self.processes.get_or_try_init(start).await.cloned()
    }

    /// Makes a configuration the one that counts: what is gone ends, what changed ends and waits for confirmation.
    pub(super) fn apply(self: &Arc<Self>, configuration: &Configuration) {
        *self.config_problem.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut new: BTreeMap<ServerId, Arc<Server>> = BTreeMap::new();
        let mut ending = Vec::new();
        let mut touched = Vec::new();
        let gone = {
            let mut servers = self.servers.write().unwrap_or_else(PoisonError::into_inner);
            for config in &configuration.servers {
                let server = match servers.remove(&config.id) {
                    Some(server) => {
                        if let Some(session) = server.reconfigure(config.clone()) {
                            ending.push((server.clone(), session));
                        }
                        server
                    }
                    None => Arc::new(Server::new(config.clone())),
                };
                touched.push(server.clone());
                new.insert(server.id.clone(), server);
            }
            std::mem::replace(&mut *servers, new)
        };
        for server in gone.into_values() {
            if let Some(session) = server.state().stop() {
                ending.push((server.clone(), session));
            }
            self.emit(HostEvent::ServerRemoved(server.id.clone()));
        }
        for (server, session) in ending {
            self.close_behind(&server, session);
        }
        touched.iter().for_each(|server| self.status_changed(server));
        self.policy_has_changed();
    }

    /// Watches servers.json: another program may edit it.
    fn follow_configuration(self: &Arc<Self>) {
        let watch = config::Watch::start(config::ServersFile::new(&self.folders));
        let mut states = watch.subscribe();
        let inner: Weak<Self> = Arc::downgrade(self);
        let closing = self.closing.clone();
        tokio::spawn(async move {
            // Watches for as long as this task lives.
            let _watch = watch;
            loop {
                tokio::select! {
                    changed = states.changed() => if changed.is_err() { return },
                    () = closing.cancelled() => return,
                }
                let state = states.borrow_and_update().clone();
                let Some(inner) = inner.upgrade() else { return };
                match state.problem {
                    None => inner.apply(&state.configuration),
                    // The last good state goes on, and the file stays as it is.
                    Some(error) => {
                        inner.note(&Event::ConfigError {
                            file: "servers.json".to_owned(),
                            pointer: None,
                            message: error.to_string(),
                        });
                        *inner.config_problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        inner.emit(HostEvent::PolicyChanged);
                    }
                }
            }
        });
    }

    fn connect_at_start(self: &Arc<Self>) {
        let wanted: Vec<_> = self
            .servers()
            .values()
            .filter(|server| {
                let config = server.config();
                config.auto_connect && config.enabled
            })
            .cloned()
            .collect();
        for server in wanted {
            let inner = self.clone();
            tokio::spawn(async move {
                let cancel = inner.closing.child_token();
                let _in_flight = super::connect::InFlight::enter(&inner, &server);
                let want = super::connect::Want::Connect(CallerKind::Settings);
                match inner.connect(&server, want, &cancel).await {
                    Ok(_) => {
                        server.state().holds.insert(crate::model::Caller::Settings);
                    }
                    Err(error) => tracing::info!(server = %server.id, %error, "not connected at start"),
                }
            });
        }
    }

    /// Writes an event down. One that cannot be written stops the next call, which says so; this one is not undone.
    pub(super) fn note(&self, event: &Event) {
        if let Err(error) = self.log.event(event) {
            tracing::warn!(%error, "an event could not be written to the audit log");
        }
    }
}
