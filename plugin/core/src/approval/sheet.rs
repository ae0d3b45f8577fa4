//! A question as a person meets it: every text inert and complete, so that whoever shows it only lays it out.
//!
//! The same sheet is shown by the native dialog, by dialogs in steps, and on a terminal; none of them words anything.

use std::time::Duration;

/// The person's language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// 简体中文.
    SimplifiedChinese,
}

/// How a fact is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Plain.
    Plain,
    /// Worth a second look: destructive, changed, unpinned package.
    Caution,
    /// Came from a server or a page: quoted, never ours.
    Untrusted,
}

/// One labelled line or paragraph, in reading order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// `Server`, `Why`, `It says`…
    pub label: String,
    /// Inert; may have several lines only where ours.
    pub text: String,
    /// How it is to be read.
    pub tone: Tone,
}

/// One top-level argument; all of them are always visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentRow {
    /// Its name, inert.
    pub name: String,
    /// `text`, `number`, `list of 3`…
    pub kind: String,
    /// `12 characters`, `3.4 kB`…
    pub size: String,
    /// The first 80 characters, inert.
    pub preview: String,
}

/// A long text under a heading: the whole arguments, a definition's difference. Scrolls; inert; wrapped at 200 columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its heading.
    pub label: String,
    /// The text.
    pub text: String,
}

/// What an answer does. The closed list of policy.md §8, and the confirmations' own pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChoiceKind {
    /// No, this time.
    Deny,
    /// Yes, this time.
    AllowOnce,
    /// Yes, until the host ends (at most 8 h).
    AllowSession,
    /// Always, for exactly these arguments.
    AlwaysExact,
    /// Always, under the conditions that the sheet proposes.
    AlwaysConditions,
    /// Always, for this tool.
    AlwaysTool,
    /// Never again.
    Never,
    /// Deny everything from page scripts for ten minutes.
    DenyPages,
    /// Yes to a confirmation (a launch, a widened rule).
    Confirm,
}

impl ChoiceKind {
    /// As written in rules (`answer:<choice>`) and the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::AllowOnce => "once",
            Self::AllowSession => "session",
            Self::AlwaysExact => "always-exact",
            Self::AlwaysConditions => "always-conditions",
            Self::AlwaysTool => "always-tool",
            Self::Never => "never",
            Self::DenyPages => "deny-pages",
            Self::Confirm => "confirm",
        }
    }

    /// Whether it lets something happen.
    pub fn allows(self) -> bool {
        !matches!(self, Self::Deny | Self::Never | Self::DenyPages)
    }
}

/// One choice that is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What it does.
    pub kind: ChoiceKind,
    /// Its label.
    pub label: String,
    /// What exactly it will allow and for how long, for a tooltip, a screen reader or a second line.
    pub explanation: String,
    /// Asked a second time before it counts ("always" for a destructive tool).
    pub second_question: Option<String>,
    /// What must be typed before it counts, on a terminal (the tool's name).
    pub typed: Option<String>,
}

/// The question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sheet {
    /// The id of the question.
    pub id: String,
    /// The label of the window that asks, to be modal to.
    pub parent: Option<String>,
    /// The window's title.
    pub title: String,
    /// Who wants what on which server, in a sentence.
    pub heading: String,
    /// The rest in reading order: who, tool, server, why, what it can do.
    pub facts: Vec<Fact>,
    /// The table of the top-level arguments.
    pub arguments: Vec<ArgumentRow>,
    /// The whole arguments, a difference.
    pub sections: Vec<Section>,
    /// The choices, denial first.
    pub choices: Vec<Choice>,
    /// The time to answer, counted from when it is shown.
    pub time_to_answer: Duration,
    /// `Time left`, in the sheet's language; the shower appends the seconds.
    pub time_left_label: String,
    /// The sheet's language.
    pub language: Language,
}
