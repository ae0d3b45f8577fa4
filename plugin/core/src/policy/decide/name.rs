//! The closed list of names by which a decision is known: in errors, in the log, on the command line, in the window.

use std::fmt;

use crate::policy::rule::RuleId;

/// What decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "`Display` gives each its name; policy.md §3 says what it means")]
pub enum RuleName {
    DenyRule(RuleId),
    AskRule(RuleId),
    AllowRule(RuleId),
    ModeReadOnly,
    ModeAllow,
    ModeFullAccess,
    ReadOnlyClass,
    NeedsApproval,
    UnseenDefinition,
    ChangedDefinition,
    Costly,
    TouchesMcpHost,
    TooLargeToShow,
    Silenced,
    Token,
    ScopedDigest,
    UnconfirmedLaunch,
    /// The person's answer: the name of the choice.
    Answer(&'static str),
}

impl fmt::Display for RuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::DenyRule(id) => return write!(f, "deny-rule:{id}"),
            Self::AskRule(id) => return write!(f, "ask-rule:{id}"),
            Self::AllowRule(id) => return write!(f, "allow-rule:{id}"),
            Self::Answer(choice) => return write!(f, "answer:{choice}"),
            Self::ModeReadOnly => "mode-read-only",
            Self::ModeAllow => "mode-allow",
            Self::ModeFullAccess => "mode-full-access",
            Self::ReadOnlyClass => "read-only-class",
            Self::NeedsApproval => "needs-approval",
            Self::UnseenDefinition => "unseen-definition",
            Self::ChangedDefinition => "changed-definition",
            Self::Costly => "costly",
            Self::TouchesMcpHost => "touches-mcp-host",
            Self::TooLargeToShow => "too-large-to-show",
            Self::Silenced => "silenced",
            Self::Token => "token",
            Self::ScopedDigest => "scoped-digest",
            Self::UnconfirmedLaunch => "unconfirmed-launch",
        };
        f.write_str(name)
    }
}

impl RuleName {
    /// Why a question is put, or a call was refused, in a few words for a person.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::DenyRule(_) => "a rule denies it",
            Self::AskRule(_) => "a rule says to ask",
            Self::AllowRule(_) => "a rule allows it",
            Self::ModeReadOnly => "the permission mode is read-only",
            Self::ModeAllow => "the permission mode allows it",
            Self::ModeFullAccess => "the permission mode allows everything",
            Self::ReadOnlyClass => "it only reads",
            Self::NeedsApproval => "nothing allows it yet",
            Self::UnseenDefinition => "its definition has not been approved yet",
            Self::ChangedDefinition => "its definition was changed since it was approved",
            Self::Costly => "it is marked as costly",
            Self::TouchesMcpHost => "it leads into the host's own folders",
            Self::TooLargeToShow => "its arguments are too large to be shown",
            Self::Silenced => "questions like this one are silenced for a while",
            Self::Token => "it was approved before",
            Self::ScopedDigest => "this exact call was approved at start",
            Self::UnconfirmedLaunch => "the server has not been confirmed",
            Self::Answer(_) => "the person answered",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{RuleName::*, *};

    #[test]
    fn the_list_is_closed_and_named_as_in_the_design() {
        let id = || RuleId::from_text("0a1b2c3d");
        let all = [
            DenyRule(id()),
            AskRule(id()),
            AllowRule(id()),
            ModeReadOnly,
            ModeAllow,
            ModeFullAccess,
            ReadOnlyClass,
            NeedsApproval,
            UnseenDefinition,
            ChangedDefinition,
            Costly,
            TouchesMcpHost,
            TooLargeToShow,
            Silenced,
            Token,
            ScopedDigest,
            UnconfirmedLaunch,
            Answer("once"),
        ];
        let names: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(
            names.join(" "),
            "deny-rule:0a1b2c3d ask-rule:0a1b2c3d allow-rule:0a1b2c3d mode-read-only mode-allow mode-full-access \
             read-only-class needs-approval unseen-definition changed-definition costly touches-mcp-host \
             too-large-to-show silenced token scoped-digest unconfirmed-launch answer:once"
        );
    }
}
