//! The gate: from an operation that is wanted to an [`Approved`] one, or to the reason why not.
//!
//! `policy` decides, [`Queue`] asks, the [`Desk`] (the host) tells what is true now and makes an answer count. This is the
//! only caller of `Approved::grant`.

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::{
    Approved, ChoiceKind, inert,
    proof::Grant,
    queue::{Outcome, Question, Queue},
    wording::{self, Asked, Offers, Reason},
};
use crate::{
    clock::{BoxFuture, Clock},
    error::{Error, Result},
    event::ApprovalOutcome,
    model::{CallId, Caller, CompletionTarget, Operation},
    policy::decide::RuleName,
};

/// How long a grant may lie before it is written to the wire.
const GRANT_LIFE: SignedDuration = SignedDuration::from_secs(30);

/// What a decision rests on. Another basis = another decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    /// The server's confirmed fingerprint.
    pub fingerprint: String,
    /// The definition that was looked at; tools only.
    pub definition_hash: Option<String>,
    /// Which connection.
    pub generation: u64,
    /// The revision of the rules.
    pub policy_revision: u64,
}

impl Basis {
    /// Whether the same thing would be done: everything but the revision of the rules.
    fn is_of_same_thing(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
            && self.definition_hash == other.definition_hash
            && self.generation == other.generation
    }
}

/// What policy says of an operation now.
#[derive(Clone, Debug)]
pub enum Ruling {
    /// It may be done, by this rule.
    Allow(RuleName),
    /// The person is to be asked, because of this rule.
    Ask(RuleName),
    /// It may not, or cannot.
    Refuse(Error),
}

/// What is true of an operation now.
#[derive(Clone, Debug)]
pub struct Look {
    /// What policy says.
    pub ruling: Ruling,
    /// What it rests on.
    pub basis: Basis,
    /// Why the person would be asked.
    pub reason: Reason,
    /// What they would be offered.
    pub offers: Offers,
    /// The person's own name for the server.
    pub server_name: String,
}

impl Look {
    /// Whether the person would be asked the same for the same reason.
    fn is_same_question(&self, other: &Self) -> bool {
        let same_rule = matches!((&self.ruling, &other.ruling), (Ruling::Ask(one), Ruling::Ask(two)) if one == two);
        same_rule && self.reason == other.reason && self.basis.is_of_same_thing(&other.basis)
    }
}

/// What the gate needs of the host.
pub trait Desk: Send + Sync {
    /// The operation as it is now: with the tool as the server defines it now.
    fn current(&self, operation: Operation) -> Operation;

    /// Gathers the facts and decides. Reads only; never waits.
    fn look(&self, operation: &Operation, caller: &Caller) -> Result<Look>;

    /// Resolves when something that a look rests on may have changed since this was *called*, polled or not.
    fn changed(&self) -> BoxFuture<()>;

    /// Makes an answer count: the rule it makes, the definition it pins, the silence it asks for. Written down.
    fn settle(&self, operation: &Operation, caller: &Caller, look: &Look, choice: ChoiceKind) -> Result<()>;

    /// A question is shown, with the hash of what is shown.
    fn shown(&self, question: &Question);

    /// A question ended.
    fn answered(&self, question: &Question, outcome: Outcome);

    /// The refusal for want of somebody to ask.
    fn nobody_to_ask(&self, operation: &Operation, rule: &RuleName) -> Error;
}

/// Lets through what may be done.
pub struct Gate<'a> {
    /// Whom to ask through.
    pub queue: &'a Queue,
    /// The host.
    pub desk: &'a dyn Desk,
    /// Time.
    pub clock: &'a dyn Clock,
}

impl Gate<'_> {
    /// Decides, asks where that is the decision, and grants or says why not.
    ///
    /// Waits for a person; ends with `mcp.cancelled` when `cancel` is.
    pub async fn pass(
        &self,
        mut operation: Operation,
        caller: &Caller,
        call: &CallId,
        cancel: &CancellationToken,
    ) -> Result<Approved> {
        loop {
            let changed = self.desk.changed();
            operation = self.desk.current(operation);
            let look = self.desk.look(&operation, caller)?;
            let rule = match look.ruling.clone() {
                Ruling::Allow(rule) => return Ok(self.grant(operation, caller, look.basis, &rule)),
                Ruling::Refuse(error) => return Err(error),
                Ruling::Ask(rule) => rule,
            };
            let sheet = wording::operation_sheet(
                &Asked {
                    id: format!("{call}-{}", look.basis.policy_revision),
                    caller,
                    server_name: &look.server_name,
                    operation: &operation,
                    reason: look.reason.clone(),
                    offers: look.offers.clone(),
                },
                self.queue.language(),
            );
            let question = Question {
                caller: caller.clone(),
                server: Some(operation.server().clone()),
                name: subject(&operation),
                sheet,
            };
            let shown = || self.desk.shown(&question);
            let outcome = tokio::select! {
                outcome = self.queue.ask(question.clone(), cancel, &shown) => outcome,
                // What it was about is another: this dialog closes, and it is decided again.
                () = self.material_change(changed, &operation, caller, &look) => {
                    self.desk.answered(&question, Outcome::Withdrawn);
                    continue;
                }
            };
            self.desk.answered(&question, outcome);
            let choice = match outcome {
                Outcome::Chosen(choice) => choice,
                other => return Err(self.unanswered(&operation, &rule, other)),
            };
            if !choice.allows() {
                self.desk.settle(&operation, caller, &look, choice)?;
                return Err(Error::ApprovalDenied {
                    server: Some(operation.server().clone()),
                    what: describe(&operation),
                    rule: RuleName::Answer(choice.as_str()).to_string(),
                });
            }
            // The answer counts for what was shown; if that is not what is there now, it counts for nothing.
            let now = self.desk.look(&operation, caller)?;
            if !now.is_same_question(&look) {
                continue;
            }
            self.desk.settle(&operation, caller, &look, choice)?;
            let settled = self.desk.look(&operation, caller)?;
            if !settled.basis.is_of_same_thing(&look.basis) {
                continue;
            }
            return Ok(self.grant(operation, caller, settled.basis, &RuleName::Answer(choice.as_str())));
        }
    }

    fn grant(&self, operation: Operation, caller: &Caller, basis: Basis, rule: &RuleName) -> Approved {
        let deadline = self.clock.now().checked_add(GRANT_LIFE).unwrap_or(Timestamp::MAX);
        Approved::grant(
            operation,
            Grant {
                caller: caller.clone(),
                fingerprint: basis.fingerprint,
                definition_hash: basis.definition_hash,
                generation: basis.generation,
                policy_revision: basis.policy_revision,
                rule: rule.to_string(),
                deadline,
            },
        )
    }
}

impl Gate<'_> {
    /// Resolves when the operation is not the same thing any more, or would not be asked about for the same reason.
    async fn material_change(&self, mut changed: BoxFuture<()>, operation: &Operation, caller: &Caller, shown: &Look) {
        loop {
            changed.await;
            changed = self.desk.changed();
            let same = self.desk.look(operation, caller).is_ok_and(|now| now.is_same_question(shown));
            if !same {
                return;
            }
        }
    }

    fn unanswered(&self, operation: &Operation, rule: &RuleName, outcome: Outcome) -> Error {
        let (server, what) = (Some(operation.server().clone()), describe(operation));
        match outcome {
            Outcome::Dismissed => Error::ApprovalDismissed { server, what },
            Outcome::TimedOut => Error::ApprovalTimeout { server, what },
            Outcome::Busy => Error::ApprovalBusy { server },
            Outcome::Withdrawn => Error::Cancelled { server, what, sent: false },
            Outcome::Unavailable | Outcome::Chosen(_) => self.desk.nobody_to_ask(operation, rule),
        }
    }
}

/// How the outcome is told to the caller's document.
pub fn told(outcome: Outcome) -> ApprovalOutcome {
    match outcome {
        Outcome::Chosen(choice) if choice.allows() => ApprovalOutcome::Allowed,
        Outcome::Chosen(_) | Outcome::Busy | Outcome::Unavailable => ApprovalOutcome::Denied,
        Outcome::Dismissed | Outcome::Withdrawn => ApprovalOutcome::Dismissed,
        Outcome::TimedOut => ApprovalOutcome::Timeout,
    }
}

/// The tool, the resource, the prompt.
pub fn subject(operation: &Operation) -> String {
    match operation {
        Operation::CallTool { tool, .. } => tool.name.clone(),
        Operation::ReadResource { uri, .. } | Operation::Subscribe { uri, .. } => uri.clone(),
        Operation::GetPrompt { name, .. } => name.clone(),
        Operation::Complete { target: CompletionTarget::Prompt { name }, .. } => name.clone(),
        Operation::Complete { target: CompletionTarget::ResourceTemplate { uri_template }, .. } => uri_template.clone(),
        Operation::Connect { server } => server.to_string(),
    }
}

/// The operation for an error message.
pub fn describe(operation: &Operation) -> String {
    let (server, subject) = (operation.server(), inert::line(&subject(operation), 200));
    match operation {
        Operation::CallTool { .. } => format!("calling `{subject}` of `{server}`"),
        Operation::ReadResource { .. } => format!("reading `{subject}` of `{server}`"),
        Operation::Subscribe { .. } => format!("subscribing to `{subject}` of `{server}`"),
        Operation::GetPrompt { .. } => format!("the prompt `{subject}` of `{server}`"),
        Operation::Complete { .. } => format!("completing for `{subject}` of `{server}`"),
        Operation::Connect { .. } => format!("connecting `{server}`"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
