//! How the choices of a sheet are laid out: denial and one "yes" as buttons, the rest in a second step.
//!
//! Pure, and the same for every kind of dialog.

use mcp_host_core::approval::{Choice, ChoiceKind, Sheet};

use super::words::Words;

/// The choices of a sheet, sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Always there, focused, default.
    pub(crate) deny: Choice,
    /// The smallest "yes"; absent where the sheet offers none.
    pub(crate) yes: Option<Choice>,
    /// Everything else, in the sheet's order.
    pub(crate) more: Vec<Choice>,
}

impl Plan {
    pub(crate) fn of(sheet: &Sheet) -> Self {
        let words = Words::of(sheet.language);
        let mut choices = sheet.choices.clone();
        let mut take = |which: fn(&Choice) -> bool| choices.iter().position(which).map(|at| choices.remove(at));
        let deny = take(|choice| choice.kind == ChoiceKind::Deny).unwrap_or_else(|| Choice {
            kind: ChoiceKind::Deny,
            label: words.deny.to_owned(),
            explanation: String::new(),
            second_question: None,
            typed: None,
        });
        // A "yes" that is asked twice is never the first button.
        let yes = take(|choice| {
            matches!(choice.kind, ChoiceKind::AllowOnce | ChoiceKind::Confirm) && choice.second_question.is_none()
        });
        Self { deny, yes, more: choices }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mcp_host_core::approval::Language;

    use super::*;

    fn sheet(kinds: &[ChoiceKind]) -> Sheet {
        let choice = |kind: &ChoiceKind| Choice {
            kind: *kind,
            label: kind.as_str().to_owned(),
            explanation: String::new(),
            second_question: (*kind == ChoiceKind::AlwaysTool).then(|| "sure?".to_owned()),
            typed: None,
        };
        Sheet {
            id: "1".to_owned(),
            parent: None,
            title: String::new(),
            heading: String::new(),
            facts: Vec::new(),
            arguments: Vec::new(),
            sections: Vec::new(),
            choices: kinds.iter().map(choice).collect(),
            time_to_answer: Duration::from_secs(120),
            time_left_label: String::new(),
            language: Language::English,
        }
    }

    #[test]
    fn denial_is_there_whatever_the_sheet_says() {
        for kinds in [&[][..], &[ChoiceKind::AllowOnce], &[ChoiceKind::AlwaysTool, ChoiceKind::Never]] {
            assert_eq!(Plan::of(&sheet(kinds)).deny.kind, ChoiceKind::Deny);
        }
    }

    #[test]
    fn only_the_smallest_yes_is_a_button() {
        use ChoiceKind::{AllowOnce, AllowSession, AlwaysTool, Deny, DenyPages, Never};
        let plan = Plan::of(&sheet(&[Deny, AllowOnce, AllowSession, AlwaysTool, Never, DenyPages]));
        assert_eq!(plan.yes.map(|choice| choice.kind), Some(AllowOnce));
        let more: Vec<ChoiceKind> = plan.more.iter().map(|choice| choice.kind).collect();
        assert_eq!(more, [AllowSession, AlwaysTool, Never, DenyPages]);

        let plan = Plan::of(&sheet(&[Deny, AlwaysTool]));
        assert!(plan.yes.is_none(), "what is asked twice is no first button");
        assert_eq!(plan.more.len(), 1);
    }
}
