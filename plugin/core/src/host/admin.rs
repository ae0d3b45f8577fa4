//! What only a person may do: servers, confirmations, rules, modes, the log. Widening ends in the prompter, tightening
//! does not; on the command line the command itself is the person's act.

mod rule;
mod server;
mod trust;

use std::{collections::BTreeMap, path::PathBuf, sync::atomic::Ordering};

use super::{Host, Inner};
use crate::{
    approval::{
        ChoiceKind, Sheet, inert,
        queue::{Outcome, Question, Waiting},
        wording,
    },
    audit::{self, Event},
    error::{Audience, Error, Result},
    model::{
        Caller, CallerKind, ServerId,
        admin::{AuditFilter, AuditPage, Overview, WaitingView},
        hex, json,
    },
    policy::{mode::Mode, state::Edit},
};

/// What a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are named as on the command line")]
pub enum GrantTarget {
    /// `SERVER/TOOL`; without a server only for deny or a local tool.
    Tool { server: Option<String>, tool: String },
    /// `SERVER/*`.
    Server(String),
    /// `SERVER --resources[=GLOB]`.
    Resources { server: String, uri: Option<String> },
    /// `SERVER --prompts`.
    Prompts { server: String },
}

/// A rule to be made.
#[derive(Clone, Debug, Default)]
pub struct NewRule {
    /// `allow`, `ask` or `deny`.
    pub effect: String,
    /// What it is about.
    pub target: Option<GrantTarget>,
    /// Empty = the default of serve.md.
    pub callers: Vec<CallerKind>,
    /// `once` or `always`.
    pub scope: String,
    /// RFC 3339.
    pub expires_at: Option<String>,
    /// `--args-exact`.
    pub exact: Option<json::Value>,
    /// JSON pointer → JSON.
    pub equals: BTreeMap<String, json::Value>,
    /// JSON pointer → glob.
    pub path_globs: BTreeMap<String, String>,
    /// JSON pointer → words.
    pub word_prefixes: BTreeMap<String, String>,
    /// JSON pointers.
    pub any: Vec<String>,
}

/// A change of servers.json.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the variants' comments name the fields")]
pub enum ServerChange {
    /// `snippet`: anything that config can read as one or more entries; `key`: the name, where the snippet has none.
    Add { key: Option<String>, snippet: String },
    /// The whole entry anew, as JSON text.
    Edit { server: String, entry: String },
    /// Out of the file.
    Remove { server: String },
    /// Turn on or off.
    SetEnabled { server: String, enabled: bool },
}

/// The person's own acts. `by` says whose: [`Caller::Settings`] is asked natively before anything is widened,
/// [`Caller::Cli`] has acted by running the command. Any other caller is refused.
#[derive(Clone)]
pub struct Admin {
    host: Host,
}

impl Admin {
    pub(super) fn new(host: Host) -> Self {
        Self { host }
    }

    fn inner(&self) -> &std::sync::Arc<Inner> {
        &self.host.0
    }

    /// The head of the settings window.
    pub fn overview(&self) -> Overview {
        let inner = self.inner();
        let mode = inner.rulebook.mode(None).ok();
        let mut problems = inner.rulebook.problems();
        if let Some(error) = &*inner.config_problem.lock().unwrap_or_else(std::sync::PoisonError::into_inner) {
            problems.push(error.info(Audience::Person).message);
        }
        let key = inner.key.place();
        Overview {
            servers: self.host.list_servers(Audience::Person),
            waiting: self.waiting(),
            mode: mode.map_or_else(|| "unknown".to_owned(), |mode| mode.mode.to_string()),
            mode_banner: mode.is_some_and(|mode| {
                mode.mode == Mode::DangerFullAccess || mode.source == crate::policy::mode::ModeSource::Run
            }),
            paused: inner.paused.load(Ordering::Relaxed),
            config_file: inner.folders.servers_file().display().to_string(),
            state_folder: inner.folders.state().display().to_string(),
            key_kept_in: key.as_str().to_owned(),
            problems,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// The folders of the product: what a desktop application has to keep its page out of.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.inner().folders.roots().map(std::path::Path::to_path_buf).collect()
    }

    /// The mode of the host (`server`: `None`) or of one server; `mode: None` = no mode of its own.
    ///
    /// `danger-full-access` counts for this run and is never stored.
    ///
    /// # Errors
    ///
    /// `invalid_input` for a mode that is none; `approval_denied` and its like where it widens and the person says no.
    pub async fn set_mode(&self, server: Option<&str>, mode: Option<&str>, by: &Caller) -> Result<()> {
        let inner = self.inner();
        let server = server.map(|name| inner.server(name)).transpose()?.map(|server| server.id.clone());
        let mode: Option<Mode> = mode.map(str::parse).transpose()?;
        let from = inner.rulebook.mode(server.as_ref())?.mode;
        let to = mode.unwrap_or_default();
        if mode == Some(Mode::DangerFullAccess) {
            if server.is_some() {
                return Err(Error::invalid_input(
                    "/mode",
                    "`danger-full-access` is for the whole host and one run; it cannot be set for a server",
                ));
            }
            self.widen(by, "mode", |language| widen_mode(from, to, None, language)).await?;
            inner.rulebook.set_run_mode(mode);
        } else {
            let edit = match &server {
                Some(id) => Edit::SetServerMode(id.clone(), mode),
                None => Edit::SetMode(mode),
            };
            if inner.rulebook.policy()?.value.widens(&edit) {
                self.widen(by, "mode", |language| widen_mode(from, to, server.as_ref(), language)).await?;
            }
            self.acts(by)?;
            inner.rulebook.edit(edit)?;
            if server.is_none() {
                // A mode that is set ends one that was for this run.
                inner.rulebook.set_run_mode(None);
            }
        }
        inner.note(&Event::ModeChanged { server, from: from.to_string(), to: to.to_string(), by: by.kind() });
        inner.policy_has_changed();
        Ok(())
    }

    /// The settings window was opened: written down, since from there more can be allowed.
    pub fn settings_opened(&self) {
        self.inner().note(&Event::SettingsOpened {});
    }

    /// Pauses every call that is not the person's own.
    pub fn set_paused(&self, paused: bool) {
        self.inner().paused.store(paused, Ordering::Relaxed);
        if !paused {
            CallerKind::ALL.into_iter().for_each(|kind| self.inner().rulebook.forgive(kind));
        }
        self.inner().policy_has_changed();
    }

    /// The questions that wait or are shown.
    pub fn waiting(&self) -> Vec<WaitingView> {
        self.inner().queue.waiting().into_iter().map(waiting_view).collect()
    }

    /// Brings a waiting question's dialog to the front, or forward in the queue.
    ///
    /// # Errors
    ///
    /// `invalid_input` where nothing of that id waits.
    pub fn raise_waiting(&self, id: &str) -> Result<()> {
        if self.inner().queue.raise(id) { Ok(()) } else { Err(nothing_waits(id)) }
    }

    /// Takes a question back: whoever asked is told that it was cancelled.
    ///
    /// # Errors
    ///
    /// `invalid_input` where nothing of that id waits.
    pub fn cancel_waiting(&self, id: &str) -> Result<()> {
        if self.inner().queue.withdraw(id) { Ok(()) } else { Err(nothing_waits(id)) }
    }

    /// A page of the log, newest first.
    ///
    /// # Errors
    ///
    /// `invalid_input` for a time or cursor that is none.
    pub async fn audit(&self, filter: AuditFilter) -> Result<AuditPage> {
        let folders = self.inner().folders.clone();
        blocking(move || audit::query::page(&folders, &filter)).await
    }

    /// Verifies one run, or all of them, or the one file at `path`; the report of audit.md.
    ///
    /// # Errors
    ///
    /// `invalid_input` for a run id that cannot be one; `config_invalid` for what cannot be read.
    pub async fn verify_audit(&self, run: Option<&str>, path: Option<&std::path::Path>) -> Result<serde_json::Value> {
        let (folders, key) = (self.inner().folders.clone(), self.inner().key.clone());
        let (run, path) = (run.map(str::to_owned), path.map(std::path::Path::to_path_buf));
        let report = blocking(move || {
            let target = match (&path, &run) {
                (Some(path), _) => audit::verify::Target::File(path),
                (None, Some(run)) => audit::verify::Target::Run(run),
                (None, None) => audit::verify::Target::All,
            };
            audit::verify::verify(&folders, Some(&key), target)
        })
        .await?;
        serde_json::to_value(report).map_err(Error::internal)
    }

    /// Whether that caller is the person at all.
    fn acts(&self, by: &Caller) -> Result<()> {
        match by {
            Caller::Settings | Caller::Cli => Ok(()),
            _ => Err(Error::internal("only the settings window and the command line act for the person")),
        }
    }

    /// Lets something that widens happen: the command line has acted, the settings window is asked natively.
    async fn widen(
        &self,
        by: &Caller,
        question: &str,
        sheet: impl FnOnce(crate::approval::Language) -> Sheet,
    ) -> Result<()> {
        self.acts(by)?;
        if *by == Caller::Cli {
            return Ok(());
        }
        let sheet = sheet(self.inner().queue.language());
        self.inner().confirm(by, None, question, sheet).await
    }
}

impl Inner {
    /// Puts a question about something that is not a call, and writes question and answer down.
    pub(super) async fn confirm(
        &self,
        by: &Caller,
        server: Option<&ServerId>,
        question: &str,
        sheet: Sheet,
    ) -> Result<()> {
        let what = sheet.heading.clone();
        let shown_hash = super::call::sheet_hash(&sheet);
        let asked = Question { caller: by.clone(), server: server.cloned(), name: question.to_owned(), sheet };
        let began = self.clock.monotonic();
        let shown = || {
            self.note(&Event::ApprovalShown {
                server: server.cloned(),
                question: question.to_owned(),
                shown_hash: shown_hash.clone(),
            });
        };
        let outcome = self.queue.ask(asked, &self.closing, &shown).await;
        let took = self.clock.monotonic().saturating_sub(began);
        let (answer, result) = match outcome {
            Outcome::Chosen(ChoiceKind::Confirm) => ("confirm", Ok(())),
            Outcome::Chosen(choice) => {
                let rule = format!("answer:{}", choice.as_str());
                (choice.as_str(), Err(Error::ApprovalDenied { server: server.cloned(), what, rule }))
            }
            Outcome::Dismissed => ("dismissed", Err(Error::ApprovalDismissed { server: server.cloned(), what })),
            Outcome::TimedOut => ("timeout", Err(Error::ApprovalTimeout { server: server.cloned(), what })),
            Outcome::Busy => ("busy", Err(Error::ApprovalBusy { server: server.cloned() })),
            Outcome::Withdrawn => ("cancelled", Err(Error::Cancelled { server: server.cloned(), what, sent: false })),
            Outcome::Unavailable => (
                "unavailable",
                Err(Error::ApprovalUnavailable {
                    server: server.cloned(),
                    what: question.to_owned(),
                    rule: "needs-approval".to_owned(),
                    advice: "use the `mcp-host` command line".to_owned(),
                    digest: None,
                }),
            ),
        };
        self.note(&Event::ApprovalAnswered {
            server: server.cloned(),
            question: question.to_owned(),
            answer: answer.to_owned(),
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
        result
    }
}

/// Work that blocks on the disk, off the async threads.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(Error::internal)?
}

fn question_id() -> String {
    let mut bytes = [0_u8; 8];
    // Without randomness two questions may have the same id, which only makes one of them harder to raise.
    let _ = getrandom::fill(&mut bytes);
    hex(&bytes)
}

fn widen_mode(from: Mode, to: Mode, server: Option<&ServerId>, language: crate::approval::Language) -> Sheet {
    wording::mode_sheet(question_id(), from.as_str(), to.as_str(), server.map(ServerId::as_str), language)
}

fn nothing_waits(id: &str) -> Error {
    Error::invalid_input("/id", format!("no question of the id `{}` waits any more", inert::line(id, 80)))
}

fn waiting_view(waiting: Waiting) -> WaitingView {
    let Waiting { question: Question { caller, server, name, sheet }, shown, asked_at } = waiting;
    let arguments =
        sheet.sections.iter().map(|section| format!("{}\n{}", section.label, section.text)).collect::<Vec<_>>();
    WaitingView {
        id: sheet.id,
        caller: caller.kind(),
        who: wording::who(&caller, sheet.language),
        server: server.map(|id| id.to_string()).unwrap_or_default(),
        name: inert::line(&name, 200),
        heading: sheet.heading,
        facts: sheet.facts.iter().map(|fact| format!("{}: {}", fact.label, fact.text)).collect(),
        arguments: arguments.join("\n\n"),
        shown,
        asked_at: asked_at.to_string(),
    }
}
