//! Permission modes: what happens to a call that nothing else decides.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A mode, from the strictest to the widest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// What is not of read-only class is denied, finally.
    ReadOnly,
    /// What is not of read-only class needs a grant, a token, a digest or a dialog.
    #[default]
    Prompt,
    /// Allowed, but an unseen or changed definition asks.
    Allow,
    /// Allowed, unseen and changed definitions too. Never stored.
    DangerFullAccess,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 4] = [Self::ReadOnly, Self::Prompt, Self::Allow, Self::DangerFullAccess];

    /// As written on the command line, in the store and in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Prompt => "prompt",
            Self::Allow => "allow",
            Self::DangerFullAccess => "danger-full-access",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Mode {
    type Err = Error;

    /// `invalid_input` (exit status 2) for anything else, `workspace-write` with its reason.
    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = |problem: String| {
            Err(Error::invalid_input(
                "/permissionMode",
                format!("{problem}; use `read-only`, `prompt`, `allow` or `danger-full-access`"),
            ))
        };
        match text {
            "workspace-write" => refuse(
                "permission mode `workspace-write` is refused: it depends on a bound plan, which no caller here can \
                 supply"
                    .to_owned(),
            ),
            _ => match Self::ALL.into_iter().find(|mode| mode.as_str() == text) {
                Some(mode) => Ok(mode),
                None => refuse(format!("`{text}` is not a permission mode")),
            },
        }
    }
}

/// Where the mode that counts was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeSource {
    /// `--permission-mode`, or the person's choice for this run of the desktop.
    Run,
    /// The person's setting for the server.
    Server,
    /// The person's setting for the host.
    Host,
    /// Nothing was set.
    Default,
}

/// The mode that counts for one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectiveMode {
    /// Which.
    pub mode: Mode,
    /// Set where.
    pub source: ModeSource,
}

impl EffectiveMode {
    /// The run's mode, else the server's, else the host's, else `prompt`. `read-only` set by the person is a ceiling that
    /// no run lifts: over a server that is read-only nothing widens, over a host that is only the server's own setting.
    pub fn of(run: Option<Mode>, server: Option<Mode>, host: Option<Mode>) -> Self {
        let persons = match (server, host) {
            (Some(mode), _) => Self { mode, source: ModeSource::Server },
            (None, Some(mode)) => Self { mode, source: ModeSource::Host },
            (None, None) => Self { mode: Mode::default(), source: ModeSource::Default },
        };
        let ceiling = persons.mode == Mode::ReadOnly || host == Some(Mode::ReadOnly);
        match run {
            Some(mode) if !(ceiling && mode > persons.mode) => Self { mode, source: ModeSource::Run },
            _ => persons,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Mode::*, *};

    #[test]
    fn modes_are_read_as_they_are_written() {
        for mode in Mode::ALL {
            assert_eq!(mode.as_str().parse::<Mode>().unwrap(), mode);
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.as_str());
        }
        for text in ["", "Prompt", "readonly", "full-access", "allow "] {
            assert!(text.parse::<Mode>().is_err(), "{text}");
        }
    }

    #[test]
    fn workspace_write_is_refused_with_its_reason() {
        let error = "workspace-write".parse::<Mode>().unwrap_err();
        assert_eq!(error.code().exit_status(), 2);
        assert!(error.to_string().contains("bound plan"), "{error}");
    }

    #[test]
    fn the_run_comes_before_the_server_before_the_host() {
        let mode = |run, server, host| EffectiveMode::of(run, server, host).mode;
        assert_eq!(mode(None, None, None), Prompt);
        assert_eq!(mode(None, None, Some(Allow)), Allow);
        assert_eq!(mode(None, Some(Prompt), Some(Allow)), Prompt);
        assert_eq!(mode(Some(DangerFullAccess), Some(Prompt), Some(Allow)), DangerFullAccess);
        assert_eq!(mode(Some(ReadOnly), Some(Allow), Some(Allow)), ReadOnly);
        assert_eq!(EffectiveMode::of(Some(Allow), None, None).source, ModeSource::Run);
        assert_eq!(EffectiveMode::of(None, None, None).source, ModeSource::Default);
    }

    #[test]
    fn a_read_only_set_by_the_person_is_a_ceiling() {
        let mode = |run, server, host| EffectiveMode::of(run, server, host).mode;
        for run in Mode::ALL {
            assert_eq!(mode(Some(run), None, Some(ReadOnly)), ReadOnly);
            assert_eq!(mode(Some(run), Some(ReadOnly), Some(Allow)), ReadOnly);
            // The person made an exception for this server; a flag does not widen it further.
            assert!(mode(Some(run), Some(Prompt), Some(ReadOnly)) <= Prompt);
        }
        assert_eq!(mode(None, Some(Allow), Some(ReadOnly)), Allow);
    }
}
