//! Asking a person, and what only an answer or the policy can make: [`Approved`].
//!
//! [`sheet`] puts a question into words (inert, in the person's language), [`queue`] decides which question is shown
//! when, a [`Prompter`] outside of this crate shows it, [`proof`] holds what was granted. Nothing here talks to a server.

pub mod gate;
pub mod inert;
pub mod proof;
pub mod queue;
pub mod sheet;
pub mod wording;

pub use proof::Approved;
pub use sheet::{ArgumentRow, Choice, ChoiceKind, Fact, Language, Section, Sheet, Tone};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::clock::BoxFuture;

/// How a sheet was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// One of the sheet's choices, second question included.
    Chosen(ChoiceKind),
    /// Closed without a choice (close button, Escape).
    Dismissed,
    /// It could not be shown.
    Unavailable,
}

/// Shows one sheet to a person. Implemented by the plugin (a native dialog) and by the command line (the terminal).
pub trait Prompter: Send + Sync + 'static {
    /// Shows `sheet` and resolves to the answer.
    ///
    /// `shown` is to be fulfilled when the person can see it: the two minutes count from there. When `closed` is
    /// cancelled the sheet goes away where the platform allows, and whatever is answered is void.
    fn show(&self, sheet: Sheet, shown: oneshot::Sender<()>, closed: CancellationToken) -> BoxFuture<Answer>;

    /// Brings the dialog of that sheet above other windows, where the platform can.
    fn raise(&self, _id: &str) {}

    /// Whether a person can be asked now.
    fn is_present(&self) -> bool {
        true
    }

    /// The language of the words.
    fn language(&self) -> Language {
        Language::English
    }
}
