//! What was granted. Only this module makes an [`Approved`]; `Session` takes nothing else.

use jiff::Timestamp;

use crate::model::{Caller, Operation};

/// An operation that policy or a person has allowed, and everything that this depends on.
///
/// At the moment of writing it is compared with the world once more; whatever is different sends it back to the start.
#[derive(Debug)]
pub struct Approved<T = Operation> {
    operation: T,
    grant: Grant,
}

/// What an approval was given for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// For whom.
    pub caller: Caller,
    /// The server's confirmed fingerprint.
    pub fingerprint: String,
    /// The definition that was looked at; tools only.
    pub definition_hash: Option<String>,
    /// Which connection: a reconnect is another.
    pub generation: u64,
    /// The revision of the rules it was decided under.
    pub policy_revision: u64,
    /// The rule that allowed it.
    pub rule: String,
    /// It is void after this.
    pub deadline: Timestamp,
}

impl<T> Approved<T> {
    /// Only the approval module grants.
    pub(in crate::approval) fn grant(operation: T, grant: Grant) -> Self {
        Self { operation, grant }
    }

    /// What may be done.
    pub fn operation(&self) -> &T {
        &self.operation
    }

    /// What the approval was given for.
    pub fn granted(&self) -> &Grant {
        &self.grant
    }
}

#[cfg(test)]
impl Approved {
    /// An approval that nobody gave, for tests of what comes after it.
    pub(crate) fn for_test(operation: Operation, generation: u64) -> Self {
        let grant = Grant {
            caller: Caller::Cli,
            fingerprint: String::new(),
            definition_hash: None,
            generation,
            policy_revision: 0,
            rule: "test".to_owned(),
            deadline: Timestamp::MAX,
        };
        Self { operation, grant }
    }
}
