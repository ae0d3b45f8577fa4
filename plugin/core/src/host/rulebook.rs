//! The person's decisions as this host holds them: the stores, and what lives in the memory of this process only.
//!
//! `policy` says what the data means, `store` keeps it, `look` puts it together for a decision. Every look at a store
//! notices what another process has written. Locks are held for an edit, never across a wait.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    clock::Clock,
    error::Result,
    model::{Caller, CallerKind, ServerId, ToolDefinition},
    policy::{
        digest::ScopedDigest,
        fatigue::Fatigue,
        mode::{EffectiveMode, Mode},
        own_folder::OwnFolders,
        pin::{Pin, Pins},
        rate::Rates,
        rule::{MadeBy, Rule, RuleId, Scope},
        state::{Edit, PolicyState, SessionRules, Use, Uses},
        token::Tokens,
    },
    store::{Folders, MasterKey, Sealed, Snapshot},
};

/// `danger-full-access` that was chosen in the app ends after so long.
const LONGEST_FULL_ACCESS: Duration = Duration::from_secs(8 * 60 * 60);

/// What the person has decided.
pub(super) struct Rulebook {
    policy: Sealed<PolicyState>,
    pins: Sealed<Pins>,
    uses: Sealed<Uses>,
    memory: Mutex<Memory>,
    /// Exact calls that were approved when the process was started.
    digests: Vec<ScopedDigest>,
    /// Where nobody is let into unasked.
    pub(super) own_folders: OwnFolders,
    clock: Arc<dyn Clock>,
}

/// What ends with this process.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) rules: SessionRules,
    pub(super) tokens: Tokens,
    pub(super) rates: Rates,
    pub(super) fatigue: Fatigue,
    /// The mode of this run, and until when (monotonic), where it was not a flag.
    run_mode: Option<(Mode, Option<Duration>)>,
    /// Uses of rules that are not in the store yet.
    uses: BTreeMap<RuleId, u32>,
}

/// How a list of tools stands against the pins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) unseen: usize,
    pub(super) changed: usize,
    pub(super) gone: usize,
}

impl Rulebook {
    pub(super) fn new(
        folders: &Folders,
        key: &MasterKey,
        run_mode: Option<Mode>,
        digests: Vec<ScopedDigest>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            policy: Sealed::signed(folders, "policy", key),
            pins: Sealed::signed(folders, "pins", key),
            uses: Sealed::signed(folders, "uses", key),
            memory: Mutex::new(Memory { run_mode: run_mode.map(|mode| (mode, None)), ..Memory::default() }),
            digests,
            own_folders: own_folders(folders),
            clock,
        }
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        // Valid after every statement, so a panic elsewhere does not spoil it.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rules, modes, classifications and confirmations as they stand.
    ///
    /// # Errors
    ///
    /// `config_invalid` for a store that does not verify: nothing is allowed then.
    pub(super) fn policy(&self) -> Result<Snapshot<PolicyState>> {
        self.policy.current()
    }

    /// The pins. Of a store that cannot be read nothing counts: everything is unseen.
    pub(super) fn pins(&self) -> Arc<Pins> {
        self.pins.current().map(|pins| pins.value).unwrap_or_default()
    }

    /// What is wrong with the stores, for the person.
    pub(super) fn problems(&self) -> Vec<String> {
        let errors = [self.policy.current().err(), self.pins.current().err(), self.uses.current().err()];
        errors.into_iter().flatten().map(|error| error.info(crate::error::Audience::Person).message).collect()
    }

    /// One number for the rules of the store and of this process: another number, other rules.
    pub(super) fn revision(&self, stored: u64) -> u64 {
        (stored << 32) | (self.memory().rules.revision() & 0xffff_ffff)
    }

    /// Edits the store. Who calls it has seen to the person's confirmation where the edit widens.
    pub(super) fn edit(&self, edit: Edit) -> Result<()> {
        self.policy.update(|policy| policy.apply(edit))
    }

    /// Pins what the person was shown.
    pub(super) fn pin(&self, server: &ServerId, tools: &[&ToolDefinition], by: MadeBy) -> Result<()> {
        let now = self.clock.now();
        self.pins.update(|pins| tools.iter().try_for_each(|tool| pins.pin(server, &tool.name, Pin::of(tool, now, by))))
    }

    /// Takes pins back; the names that had one.
    pub(super) fn unpin(&self, server: &ServerId, tools: Option<&[String]>) -> Result<Vec<String>> {
        self.pins.update(|pins| Ok(pins.unpin(server, tools)))
    }

    /// How a list of tools stands against the pins.
    pub(super) fn compare(&self, server: &ServerId, tools: &[ToolDefinition]) -> Counts {
        use crate::model::admin::PinState;
        let pins = self.pins();
        let names: BTreeSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let mut counts = Counts { gone: pins.gone(server, &names).count(), ..Counts::default() };
        for tool in tools {
            match pins.state(server, &tool.name, &tool.hash) {
                PinState::Unseen => counts.unseen += 1,
                PinState::Changed => counts.changed += 1,
                PinState::Pinned | PinState::Gone => {}
            }
        }
        counts
    }

    /// The mode that counts for a server, or for the host.
    pub(super) fn mode(&self, server: Option<&ServerId>) -> Result<EffectiveMode> {
        let policy = self.policy()?.value;
        Ok(self.mode_of(&policy, server))
    }

    pub(super) fn mode_of(&self, policy: &PolicyState, server: Option<&ServerId>) -> EffectiveMode {
        let now = self.clock.monotonic();
        let run =
            self.memory().run_mode.filter(|(_, until)| until.is_none_or(|until| now < until)).map(|(mode, _)| mode);
        EffectiveMode::of(run, server.and_then(|id| policy.server_mode(id)), policy.mode())
    }

    /// A mode for this run, chosen in the app; `danger-full-access` for eight hours at most.
    pub(super) fn set_run_mode(&self, mode: Option<Mode>) {
        let until = self.clock.monotonic() + LONGEST_FULL_ACCESS;
        self.memory().run_mode = mode.map(|mode| (mode, Some(until)));
    }

    /// Whether a digest given at start approves exactly this call.
    pub(super) fn is_approved_at_start(&self, server: &ServerId, tool: &str, digest: impl FnOnce() -> String) -> bool {
        if self.digests.is_empty() {
            return false;
        }
        let digest = digest();
        self.digests.iter().any(|scoped| scoped.approves(server, tool, &digest, server))
    }

    /// A rule that always counts goes into the store, any other into the memory of this process.
    pub(super) fn add_rule(&self, rule: Rule) -> Result<()> {
        match rule.scope {
            Scope::Always => self.edit(Edit::PutRule(Box::new(rule))),
            Scope::Session | Scope::Once => self.memory().rules.add(rule, self.clock.now()),
        }
    }

    /// Uses up a rule for one call, wherever it is, and tells by how much this alone raises [`Self::revision`].
    /// `None`: another call had it.
    pub(super) fn consume_once(&self, id: &RuleId) -> Result<Option<u64>> {
        if self.memory().rules.consume_once(id) {
            return Ok(Some(1));
        }
        Ok(self.policy.update(|policy| Ok(policy.consume_once(id)))?.then_some(1 << 32))
    }

    /// Counts a use; written with the next [`Self::keep_uses`], since a file is not synced for a number.
    pub(super) fn count_use(&self, id: &RuleId) {
        *self.memory().uses.entry(id.clone()).or_default() += 1;
    }

    /// Writes the uses that were counted since. Blocks on the disk.
    pub(super) fn keep_uses(&self) -> Result<()> {
        let counted = std::mem::take(&mut self.memory().uses);
        if counted.is_empty() {
            return Ok(());
        }
        let (now, rules) = (self.clock.now(), self.policy()?.value);
        self.uses.update(|uses| {
            for (id, count) in &counted {
                (0..*count).for_each(|_| uses.count(id, now));
            }
            uses.keep_only(rules.rules());
            Ok(())
        })
    }

    /// The uses of a rule, those of this process included.
    pub(super) fn uses(&self, id: &RuleId) -> Option<Use> {
        let stored = self.uses.current().ok().and_then(|uses| uses.value.of(id));
        let pending = self.memory().uses.get(id).copied();
        match (stored, pending) {
            (stored, None) => stored,
            (None, Some(count)) => Some(Use { count, last: self.clock.now() }),
            (Some(stored), Some(count)) => {
                Some(Use { count: stored.count.saturating_add(count), last: self.clock.now() })
            }
        }
    }

    /// Whatever belonged to that document is void.
    pub(super) fn forget(&self, caller: &Caller) {
        if let Caller::Page { window, document } = caller {
            self.memory().tokens.forget_document(window, *document);
        }
    }

    /// The person answered otherwise: they may be asked again.
    pub(super) fn forgive(&self, caller: CallerKind) {
        self.memory().fatigue.forgive(caller);
    }
}

fn own_folders(folders: &Folders) -> OwnFolders {
    // With links resolved too: a path may be spelled either way.
    let spellings: Vec<_> = folders
        .roots()
        .flat_map(|root| [Some(root.to_path_buf()), std::fs::canonicalize(root).ok()])
        .flatten()
        .collect();
    let mut own = OwnFolders::new(spellings.iter().map(std::path::PathBuf::as_path));
    if let Some(home) = std::env::home_dir() {
        own = own.with_home(&home);
    }
    for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "APPDATA", "LOCALAPPDATA"] {
        if let Some(value) = std::env::var_os(name) {
            own = own.with_variable(name, std::path::Path::new(&value));
        }
    }
    own
}
