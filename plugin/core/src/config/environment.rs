//! The environment that launches are resolved in: the host's own variables and the login shell's PATH.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
};

/// A snapshot: what `${VAR}` means, what a child inherits, and where commands are looked for.
///
/// It is data, so that resolving a launch is a function of its input. [`Environment::of_process`] is the real one
/// without a login shell.
#[derive(Clone)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    path: OsString,
}

impl Environment {
    /// From variables; PATH is the one among them.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let variables: BTreeMap<OsString, OsString> = variables.into_iter().collect();
        let path = variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        Self { variables, path }
    }

    /// This process's variables and PATH.
    pub fn of_process() -> Self {
        Self::new(std::env::vars_os())
    }

    /// The same variables with another PATH.
    pub fn with_path(mut self, path: impl Into<OsString>) -> Self {
        self.path = path.into();
        self
    }

    /// Where commands are looked for.
    pub fn path(&self) -> &OsStr {
        &self.path
    }

    /// A variable of the host's; PATH is the one that commands are looked for in.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        if name == "PATH" {
            return Some(&self.path);
        }
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("variables", &self.variables.len()).finish_non_exhaustive()
    }
}
