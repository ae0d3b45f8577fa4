//! Where a launch's program and folder are, and an honest word where they are not.

use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
};

use super::Resolver;
use crate::{
    config::{SecretValue, environment::comparable, launch::StdioLaunch, runner},
    error::{Error, LaunchDetails, LaunchReason, Result},
};

impl Resolver<'_> {
    pub(super) fn cwd(&self, launch: &StdioLaunch, own: &BTreeMap<String, SecretValue>) -> Result<Option<PathBuf>> {
        let Some(cwd) = &launch.cwd else { return Ok(None) };
        let folder = self.under_home(self.expand("/cwd", "", cwd, Some(own))?.expose());
        let problem = if folder.is_absolute() {
            match fs::metadata(&folder) {
                Ok(metadata) if metadata.is_dir() => None,
                Ok(_) => Some("is no folder".to_owned()),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some("does not exist".to_owned()),
                Err(error) => Some(format!("cannot be used: {error}")),
            }
        } else {
            Some("must be an absolute path".to_owned())
        };
        match problem {
            None => Ok(Some(folder)),
            Some(problem) => {
                let path = folder.display().to_string();
                Err(self.failed(
                    LaunchReason::BadCwd,
                    &format!("its working folder `{path}` {problem}; correct `cwd`"),
                    LaunchDetails { field: Some("/cwd".to_owned()), path: Some(path), ..LaunchDetails::default() },
                ))
            }
        }
    }

    /// The program, and the PATH for the child.
    pub(super) fn program(
        &self,
        launch: &StdioLaunch,
        own: &BTreeMap<String, SecretValue>,
        cwd: Option<&Path>,
    ) -> Result<(PathBuf, OsString)> {
        let command = self.expand("/command", "", &launch.command, Some(own))?;
        let command = command.expose();
        let path = own
            .iter()
            .find(|(name, _)| comparable(OsStr::new(name)) == "PATH")
            .map_or_else(|| self.environment.path().to_owned(), |(_, path)| OsString::from(path.expose()));
        let with_folder =
            command.contains('/') || (cfg!(windows) && command.contains('\\')) || command.starts_with('~');
        if !with_folder {
            return self.look_up(command, &path).map(|program| (program, path));
        }
        let program = self.under_home(command);
        let program = match cwd {
            _ if program.is_absolute() => program,
            Some(cwd) => cwd.join(program),
            None => {
                return Err(self.failed(
                    LaunchReason::NotFound,
                    &format!("`{command}` is a path from some folder, and no `cwd` says which; write the whole path"),
                    LaunchDetails {
                        field: Some("/command".to_owned()),
                        path: Some(command.to_owned()),
                        ..LaunchDetails::default()
                    },
                ));
            }
        };
        let found = which::which_in_global(&program, Some(OsStr::new(""))).ok().and_then(|mut found| found.next());
        match found {
            // What it starts by name (`#!/usr/bin/env node`) is looked for beside it first.
            Some(program) => {
                let path = program.parent().map_or_else(|| path.clone(), |folder| with_folder_first(folder, &path));
                Ok((program, path))
            }
            None => Err(self.not_a_program(&program)),
        }
    }

    fn look_up(&self, command: &str, path: &OsStr) -> Result<PathBuf> {
        // A relative folder in PATH means whatever folder the host happens to run in.
        let folders: Vec<PathBuf> = env::split_paths(path).filter(|folder| folder.is_absolute()).collect();
        let searched = env::join_paths(&folders).unwrap_or_default();
        let search =
            |command: &str| which::which_in_global(command, Some(&searched)).ok().and_then(|mut found| found.next());
        if let Some(program) = search(command) {
            return Ok(program);
        }
        // Something of that name is there and cannot be run: a different mistake.
        if let Some(found) = folders.iter().map(|folder| folder.join(command)).find(|path| path.is_file()) {
            return Err(self.not_a_program(&found));
        }
        let first = command.split_whitespace().next().filter(|first| *first != command);
        let advice = match (first, runner::program_name(command).as_str()) {
            (Some(first), _) if search(first).is_some() => {
                format!("write `{first}` as `command` and the rest word by word into `args`")
            }
            (_, "npx" | "node" | "npm") => "install Node.js, or write its whole path".to_owned(),
            (_, "uvx" | "uv") => "install uv, or write its whole path".to_owned(),
            (_, "bunx" | "bun") => "install Bun, or write its whole path".to_owned(),
            (_, "docker") => "install Docker, or write its whole path".to_owned(),
            (_, "python" | "python3") => "install Python, or write its whole path".to_owned(),
            _ => "install it, or write its whole path".to_owned(),
        };
        let count = folders.len();
        Err(self.failed(
            LaunchReason::NotFound,
            &format!("`{command}` is in none of the {count} folders of PATH; {advice}"),
            LaunchDetails {
                field: Some("/command".to_owned()),
                path: Some(command.to_owned()),
                looked_in: folders.iter().map(|folder| folder.display().to_string()).collect(),
                ..LaunchDetails::default()
            },
        ))
    }

    fn not_a_program(&self, path: &Path) -> Error {
        let shown = path.display().to_string();
        let (reason, problem) = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                (LaunchReason::NotExecutable, "is a folder; name the program in it".to_owned())
            }
            Ok(_) => (
                LaunchReason::NotExecutable,
                "is not executable; `chmod +x` it, or start it by its interpreter".to_owned(),
            ),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                (LaunchReason::NotFound, "does not exist; correct `command`".to_owned())
            }
            Err(error) => (LaunchReason::NotExecutable, format!("cannot be looked at: {error}")),
        };
        let looked_in = path.parent().map(|folder| folder.display().to_string()).into_iter().collect();
        self.failed(
            reason,
            &format!("`{shown}` {problem}"),
            LaunchDetails {
                field: Some("/command".to_owned()),
                path: Some(shown),
                looked_in,
                ..LaunchDetails::default()
            },
        )
    }

    /// `~/` as people mean it.
    fn under_home(&self, text: &str) -> PathBuf {
        match (text.strip_prefix('~'), self.environment.home()) {
            (Some(""), Some(home)) => home.to_owned(),
            (Some(rest), Some(home)) if rest.starts_with('/') || (cfg!(windows) && rest.starts_with('\\')) => {
                home.join(rest.trim_start_matches(['/', '\\']))
            }
            _ => PathBuf::from(text),
        }
    }
}

fn with_folder_first(folder: &Path, path: &OsStr) -> OsString {
    let folders = std::iter::once(folder.to_owned()).chain(env::split_paths(path).filter(|other| other != folder));
    env::join_paths(folders.filter(|folder| !folder.as_os_str().is_empty())).unwrap_or_else(|_| path.to_owned())
}
