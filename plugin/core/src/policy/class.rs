//! Whether a tool only reads. The person says so, or trusts the server to; a server alone can only make us careful.

use serde::{Deserialize, Serialize};

use crate::model::Hints;

/// What a tool is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// It changes nothing.
    ReadOnly,
    /// Anything else.
    Other,
}

/// Whose word about a tool counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// The application's own tool: its annotations are authoritative.
    Application,
    /// A server whose annotations the person trusts.
    TrustedServer,
    /// Any other server.
    Server,
}

/// The class of a tool. `person` is what the person classed *this* definition as; a changed one has none.
pub fn classify(person: Option<Class>, authority: Authority, hints: Hints) -> Class {
    if let Some(class) = person {
        return class;
    }
    let says_so = hints.read_only == Some(true) && hints.destructive != Some(true);
    if says_so && authority != Authority::Server { Class::ReadOnly } else { Class::Other }
}

/// Whether "always" for this tool asks a second time: it may destroy or reach out, or has not said that it does not.
pub fn needs_second_question(hints: Hints) -> bool {
    let only_reads = hints.read_only == Some(true) && hints.destructive != Some(true);
    let destructive = !only_reads && hints.destructive != Some(false);
    destructive || hints.open_world != Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(read_only: Option<bool>, destructive: Option<bool>, open_world: Option<bool>) -> Hints {
        Hints { read_only, destructive, open_world, idempotent: None }
    }

    #[test]
    fn a_server_alone_is_never_believed() {
        let says = hints(Some(true), Some(false), Some(false));
        assert_eq!(classify(None, Authority::Server, says), Class::Other);
        assert_eq!(classify(None, Authority::TrustedServer, says), Class::ReadOnly);
        assert_eq!(classify(None, Authority::Application, says), Class::ReadOnly);
    }

    #[test]
    fn a_trusted_server_must_say_it_and_not_the_opposite() {
        for (read_only, destructive, class) in [
            (Some(true), None, Class::ReadOnly),
            (Some(true), Some(false), Class::ReadOnly),
            (Some(true), Some(true), Class::Other),
            (Some(false), Some(false), Class::Other),
            (None, Some(false), Class::Other),
            (None, None, Class::Other),
        ] {
            assert_eq!(classify(None, Authority::TrustedServer, hints(read_only, destructive, None)), class);
        }
    }

    #[test]
    fn the_person_has_the_last_word() {
        let says = hints(Some(true), None, None);
        for authority in [Authority::Application, Authority::TrustedServer, Authority::Server] {
            assert_eq!(classify(Some(Class::Other), authority, says), Class::Other);
            assert_eq!(classify(Some(Class::ReadOnly), authority, hints(None, None, None)), Class::ReadOnly);
        }
    }

    #[test]
    fn a_missing_hint_is_the_cautious_one() {
        assert!(needs_second_question(Hints::default()));
        assert!(needs_second_question(hints(Some(true), None, None)));
        assert!(needs_second_question(hints(None, None, Some(false))));
        assert!(needs_second_question(hints(Some(true), Some(true), Some(false))));
        assert!(!needs_second_question(hints(Some(true), None, Some(false))));
        assert!(!needs_second_question(hints(Some(false), Some(false), Some(false))));
    }
}
