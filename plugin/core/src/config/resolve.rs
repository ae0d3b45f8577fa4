//! From a confirmed [`Launch`] to what is spawned or connected to: variables and secrets put in, the program and the
//! folder looked up, the child's whole environment written down.
//!
//! Reads the file system and nothing else; values of variables and secrets appear in the result and nowhere besides.

mod program;

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use url::Url;

use super::{
    Environment, SecretSource, SecretValue, address,
    environment::comparable,
    jsonc::join,
    launch::{EndpointLaunch, Launch, Resolved, ResolvedEndpoint, ResolvedLaunch, StdioLaunch},
    secret::name_promises_secret,
    variable::{Lookup, LookupError, Reference, Source, Template, Unresolved},
};
use crate::{
    error::{Error, LaunchDetails, LaunchReason, Result},
    model::ServerId,
};

/// All texts of one launch together, expanded.
const LARGEST: usize = 4 * 1024 * 1024;

/// A value that was not kept in the store is masked only if it is this long: `true` and `8080` are everywhere.
const SHORTEST_GUESS: usize = 6;

/// What a child gets from the host, besides what its entry names. `LC_*` too.
#[cfg(not(windows))]
const INHERITED: [&str; 12] = [
    "HOME",
    "LANG",
    "TZ",
    "TMPDIR",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
];
#[cfg(windows)]
const INHERITED: [&str; 28] = [
    "SystemRoot",
    "SystemDrive",
    "windir",
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
    "USERNAME",
    "USERDOMAIN",
    "HOMEDRIVE",
    "HOMEPATH",
    "TEMP",
    "TMP",
    "ComSpec",
    "PATHEXT",
    "ProgramFiles",
    "ProgramFiles(x86)",
    "ProgramW6432",
    "ProgramData",
    "CommonProgramFiles",
    "CommonProgramFiles(x86)",
    "CommonProgramW6432",
    "ALLUSERSPROFILE",
    "PUBLIC",
    "OS",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
    "LANG",
    "TZ",
];

/// Looks everything up. Blocks on the file system only.
///
/// # Errors
///
/// [`Error::LaunchFailed`] with reason `unresolved_variable`, `not_found`, `not_executable` or `bad_cwd`;
/// [`Error::ConfigInvalid`] for a launch that could not have been read from a file; what the secret store fails with.
pub fn resolve(
    server: &ServerId,
    launch: &Launch,
    environment: &Environment,
    secrets: &dyn SecretSource,
) -> Result<Resolved> {
    let resolver = Resolver::new(server, environment, secrets);
    match launch {
        Launch::Stdio(launch) => resolver.stdio(launch).map(Resolved::Stdio),
        Launch::Http(endpoint) | Launch::Sse(endpoint) => resolver.endpoint(launch, endpoint).map(Resolved::Endpoint),
    }
}

/// The program that `launch` would start now, to be shown before a person confirms it. `None` for an endpoint.
///
/// # Errors
///
/// As [`resolve`], but for secrets: none is read.
pub fn locate(server: &ServerId, launch: &Launch, environment: &Environment) -> Result<Option<PathBuf>> {
    let Launch::Stdio(launch) = launch else { return Ok(None) };
    let resolver = Resolver::new(server, environment, &super::NoSecrets);
    // Only what decides where to look; the other variables may need secrets.
    let texts = [Some(&launch.command), launch.cwd.as_ref()];
    let templates: Vec<Template> = texts.into_iter().flatten().filter_map(|text| Template::parse(text).ok()).collect();
    let needed = |name: &str| {
        comparable(OsStr::new(name)) == "PATH"
            || templates.iter().flat_map(Template::references).any(|reference| reference.name == name)
    };
    let mut own = BTreeMap::new();
    for (name, value) in launch.env.iter().filter(|(name, _)| needed(name)) {
        own.insert(name.clone(), resolver.expand(&join("/env", name), name, value, None)?);
    }
    let cwd = resolver.cwd(launch, &own)?;
    resolver.program(launch, &own, cwd.as_deref()).map(|(program, _)| Some(program))
}

struct Resolver<'a> {
    server: &'a ServerId,
    environment: &'a Environment,
    secrets: &'a dyn SecretSource,
    /// Bytes that expansion may still make.
    budget: Cell<usize>,
    masks: RefCell<Vec<SecretValue>>,
}

/// Where `${…}` in one text comes from.
struct Values<'a> {
    resolver: &'a Resolver<'a>,
    /// The entry's own `env`, which comes first outside of itself: a server such as `mcp-remote` is told
    /// `Authorization:${TOKEN}` in `args` and gets TOKEN in `env`.
    own: Option<&'a BTreeMap<String, SecretValue>>,
}

impl Lookup for Values<'_> {
    fn lookup(&self, source: Source, name: &str) -> Result<Option<SecretValue>, LookupError> {
        let resolver = self.resolver;
        match source {
            Source::Variable => {
                if let Some(value) = self.own.and_then(|own| own.get(name)) {
                    return Ok(Some(value.clone()));
                }
                match resolver.environment.var(name).map(OsStr::to_str) {
                    None => Ok(None),
                    Some(None) => Err(LookupError::NotUnicode),
                    Some(Some(value)) => Ok(Some(SecretValue::new(value.to_owned()))),
                }
            }
            Source::Secret => resolver.secrets.secret(resolver.server, name).map_err(LookupError::Store),
            Source::Input => resolver.secrets.input(resolver.server, name).map_err(LookupError::Store),
        }
    }
}

impl<'a> Resolver<'a> {
    fn new(server: &'a ServerId, environment: &'a Environment, secrets: &'a dyn SecretSource) -> Self {
        Self { server, environment, secrets, budget: Cell::new(LARGEST), masks: RefCell::default() }
    }

    fn stdio(&self, launch: &StdioLaunch) -> Result<ResolvedLaunch> {
        let mut own = BTreeMap::new();
        for (name, value) in &launch.env {
            own.insert(name.clone(), self.expand(&join("/env", name), name, value, None)?);
        }
        let cwd = self.cwd(launch, &own)?;
        let (program, path) = self.program(launch, &own, cwd.as_deref())?;
        let mut args = Vec::with_capacity(launch.args.len());
        let mut named = "";
        for (index, arg) in launch.args.iter().enumerate() {
            // `--api-key=VALUE`, `--api-key VALUE`, `KEY=VALUE`, `Authorization: VALUE`.
            let own_name = arg.split(['=', ':']).next().filter(|name| name.len() < arg.len()).unwrap_or(named);
            let value = self.expand(&join("/args", &index.to_string()), own_name, arg, Some(&own))?;
            named = if arg.starts_with('-') { arg } else { "" };
            args.push(OsString::from(value.expose()));
        }
        let env = self.child_environment(launch, &own, path);
        Ok(ResolvedLaunch { program, args, env, cwd, secrets: self.masks.take() })
    }

    fn endpoint(&self, launch: &Launch, endpoint: &EndpointLaunch) -> Result<ResolvedEndpoint> {
        let invalid = |path: &str, problem: &str| Error::ConfigInvalid {
            message: format!("server `{}`: {} {problem}", self.server, describe(path)),
            path: Some(path.to_owned()),
            key: path.split('/').nth(1).map(str::to_owned),
            allowed: Vec::new(),
            private: None,
        };
        let origin = address::check_url(&endpoint.url).map_err(|problem| invalid("/url", problem))?;
        let text = self.expand("/url", "", &endpoint.url, None)?;
        let url = Url::parse(text.expose()).map_err(|_| invalid("/url", "is not a URL"))?;
        let same = url.origin() == origin.origin() && url.username().is_empty() && url.password().is_none();
        if !same {
            return Err(invalid("/url", "means another host after its variables were put in"));
        }
        for (name, value) in url.query_pairs() {
            if name_promises_secret(&name) {
                self.mask(&value, SHORTEST_GUESS);
            }
        }
        let mut headers = Vec::with_capacity(endpoint.headers.len());
        for (name, value) in &endpoint.headers {
            let path = join("/headers", name);
            let value = self.expand(&path, name, value, None)?;
            if value.expose().chars().any(|char| char.is_control() && char != '\t') {
                return Err(invalid(&path, "holds a control character (is there a newline at its end?)"));
            }
            headers.push((name.clone(), value));
        }
        Ok(ResolvedEndpoint { transport: launch.transport(), url, headers, secrets: self.masks.take() })
    }

    /// Puts values into the text of `field`; `name` is what its value is called, for guessing whether it is secret.
    fn expand(
        &self,
        field: &str,
        name: &str,
        text: &str,
        own: Option<&BTreeMap<String, SecretValue>>,
    ) -> Result<SecretValue> {
        let template = Template::parse(text).map_err(|malformed| Error::ConfigInvalid {
            message: format!("server `{}`: {} has {malformed}", self.server, describe(field)),
            path: Some(field.to_owned()),
            key: field.split('/').nth(1).map(str::to_owned),
            allowed: super::variable::FORMS.map(str::to_owned).to_vec(),
            private: None,
        })?;
        let expanded =
            template.expand(&Values { resolver: self, own }).map_err(|problem| self.unresolved(field, problem))?;
        let size = expanded.text.expose().len();
        let left = self.budget.get().checked_sub(size).ok_or_else(|| self.unresolved(field, Unresolved::TooLarge))?;
        self.budget.set(left);
        if expanded.text.expose().contains('\0') {
            return Err(self.failed(
                LaunchReason::UnresolvedVariable,
                &format!("{} holds a NUL character", describe(field)),
                LaunchDetails { field: Some(field.to_owned()), ..LaunchDetails::default() },
            ));
        }
        let secret_field = name_promises_secret(name);
        for (reference, value) in &expanded.values {
            match reference.source {
                Source::Secret | Source::Input => self.mask(value.expose(), 3),
                Source::Variable if secret_field || name_promises_secret(&reference.name) => {
                    self.mask(value.expose(), SHORTEST_GUESS);
                }
                Source::Variable => {}
            }
        }
        if secret_field {
            let text = expanded.text.expose();
            // `--api-key=VALUE`: the value alone. `Bearer VALUE`: both, since servers print either.
            let value = text.strip_prefix(name).map_or(text, |rest| rest.trim_start_matches(['=', ':', ' ']));
            self.mask(value, SHORTEST_GUESS);
            if let Some((_, credentials)) = value.split_once(' ') {
                self.mask(credentials.trim(), SHORTEST_GUESS);
            }
        }
        Ok(expanded.text)
    }

    fn mask(&self, value: &str, shortest: usize) {
        let mut masks = self.masks.borrow_mut();
        if value.len() >= shortest && !masks.iter().any(|mask| mask.expose() == value) {
            masks.push(SecretValue::new(value.to_owned()));
        }
    }

    fn child_environment(
        &self,
        launch: &StdioLaunch,
        own: &BTreeMap<String, SecretValue>,
        path: OsString,
    ) -> Vec<(OsString, OsString)> {
        let mut child: BTreeMap<OsString, (OsString, OsString)> = BTreeMap::new();
        let mut set = |name: &OsStr, value: OsString| {
            child.insert(comparable(name), (name.to_owned(), value));
        };
        for (name, value) in self.environment.variables() {
            let inherited = INHERITED.iter().any(|inherited| comparable(name) == comparable(OsStr::new(inherited)))
                || name.to_str().is_some_and(|name| name.starts_with("LC_"))
                || launch.env_passthrough.iter().any(|passed| comparable(name) == comparable(OsStr::new(passed)));
            if inherited {
                set(name, value.to_owned());
            }
        }
        for passed in &launch.env_passthrough {
            if let Some(value) = self.environment.var(passed).and_then(OsStr::to_str)
                && name_promises_secret(passed)
            {
                self.mask(value, SHORTEST_GUESS);
            }
        }
        for (name, value) in own {
            set(OsStr::new(name), OsString::from(value.expose()));
        }
        set(OsStr::new("PATH"), path);
        for (name, value) in [("PYTHONUTF8", "1"), ("PYTHONIOENCODING", "utf-8")] {
            child.entry(comparable(OsStr::new(name))).or_insert_with(|| (name.into(), value.into()));
        }
        child.into_values().collect()
    }

    fn unresolved(&self, field: &str, problem: Unresolved) -> Error {
        let what = describe(field);
        let message = match problem {
            Unresolved::Store(error) => return error,
            Unresolved::TooLarge => format!("{what} is too large after its variables were put in"),
            Unresolved::NotUnicode(Reference { name, .. }) => {
                format!("{what} needs the variable `{name}`, whose value is not valid text")
            }
            Unresolved::Missing(reference) => {
                let advice = match reference.source {
                    Source::Variable => {
                        format!("which is not set; set `{0}`, or give a default (`${{{0}:-…}}`)", reference.name)
                    }
                    Source::Secret => {
                        "and there is no such secret for this server; add it in the settings window".to_owned()
                    }
                    Source::Input => "which nobody has answered; answer it in the settings window".to_owned(),
                };
                format!("{what} needs `{reference}`, {advice}")
            }
        };
        self.failed(
            LaunchReason::UnresolvedVariable,
            &message,
            LaunchDetails { field: Some(field.to_owned()), ..LaunchDetails::default() },
        )
    }

    fn failed(&self, reason: LaunchReason, problem: &str, details: LaunchDetails) -> Error {
        Error::LaunchFailed {
            server: self.server.clone(),
            reason,
            message: format!("server `{}` was not started: {problem}", self.server),
            exit_code: None,
            private: Box::new(details),
        }
    }
}

/// A field of an entry in words.
fn describe(field: &str) -> String {
    let mut steps = field.split('/').skip(1);
    let key = steps.next().unwrap_or_default();
    match (key, steps.next()) {
        ("env", Some(name)) => format!("the environment variable `{}`", unescape(name)),
        ("headers", Some(name)) => format!("the header `{}`", unescape(name)),
        ("args", Some(index)) => format!("argument {}", index.parse::<usize>().map_or(0, |index| index + 1)),
        (key, _) => format!("`{key}`"),
    }
}

fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;
    use crate::{
        config::{NoSecrets, file},
        error::Audience,
    };

    struct One;

    impl SecretSource for One {
        fn secret(&self, server: &ServerId, id: &str) -> Result<Option<SecretValue>> {
            Ok((server.as_str() == "x" && id == "token").then(|| SecretValue::new("s3cret-value".to_owned())))
        }
    }

    /// `node/bin/tool` (a program), `node/bin/data` (a file), `bin/` and `cwd/`.
    struct World {
        folder: tempfile::TempDir,
    }

    impl World {
        fn new() -> Self {
            let world = Self { folder: tempfile::tempdir().unwrap() };
            for folder in ["node/bin", "bin/tool", "cwd/sub"] {
                fs::create_dir_all(world.at(folder)).unwrap();
            }
            for (file, mode) in
                [("node/bin/tool", 0o755), ("node/bin/data", 0o644), ("cwd/sub/tool", 0o755), ("other", 0o755)]
            {
                fs::write(world.at(file), "#!/bin/sh\n").unwrap();
                fs::set_permissions(world.at(file), fs::Permissions::from_mode(mode)).unwrap();
            }
            world
        }

        fn at(&self, path: &str) -> PathBuf {
            self.folder.path().join(path)
        }

        fn text(&self, path: &str) -> String {
            self.at(path).display().to_string()
        }

        fn environment(&self) -> Environment {
            let path = format!("relative:{}:{}", self.text("bin"), self.text("node/bin"));
            let variables = [
                ("HOME", self.text("")),
                ("PATH", "/session".to_owned()),
                ("LANG", "de_DE.ISO-8859-1".to_owned()),
                ("LC_TIME", "C".to_owned()),
                ("AWS_SECRET_ACCESS_KEY", "never".to_owned()),
                ("SSH_AUTH_SOCK", "/run/agent".to_owned()),
                ("GITHUB_TOKEN", "ghp-value".to_owned()),
                ("LD_PRELOAD", "x".to_owned()),
            ];
            Environment::new(variables.map(|(name, value)| (name.into(), value.into()))).with_path(path)
        }

        fn launch(&self, entry: &str) -> Launch {
            let entry = entry.replace("@", &self.folder.path().display().to_string());
            let configuration = file::parse(&format!("{{\"mcpServers\":{{\"x\":{entry}}}}}")).unwrap();
            configuration.servers[0].launch().unwrap().clone()
        }

        fn resolve(&self, entry: &str) -> Result<Resolved> {
            resolve(&ServerId::parse("x").unwrap(), &self.launch(entry), &self.environment(), &One)
        }

        fn stdio(&self, entry: &str) -> ResolvedLaunch {
            match self.resolve(entry).unwrap() {
                Resolved::Stdio(launch) => launch,
                Resolved::Endpoint(_) => panic!("{entry} is an endpoint"),
            }
        }

        fn failure(&self, entry: &str) -> (LaunchReason, LaunchDetails, String) {
            match self.resolve(entry) {
                Err(Error::LaunchFailed { reason, private, message, .. }) => (reason, *private, message),
                other => panic!("{entry}: {other:?}"),
            }
        }
    }

    fn value<'a>(launch: &'a ResolvedLaunch, name: &str) -> Option<&'a str> {
        launch.env.iter().find(|(have, _)| have == name).map(|(_, value)| value.to_str().unwrap())
    }

    #[test]
    fn a_command_is_found_in_the_login_shells_path_and_the_child_gets_that_path() {
        let world = World::new();
        let launch = world.stdio(r#"{"command":"tool"}"#);
        assert_eq!(launch.program, world.at("node/bin/tool"));
        assert!(value(&launch, "PATH").unwrap().contains(&world.text("node/bin")));
    }

    #[test]
    fn arguments_reach_the_child_exactly() {
        let world = World::new();
        let launch = world.stdio(r#"{"command":"tool","args":["", "a b", "\"q\"", "$HOME", "*", "~", "a\\b", "ü\n"]}"#);
        assert_eq!(launch.args, ["", "a b", "\"q\"", "$HOME", "*", "~", "a\\b", "ü\n"]);
    }

    #[test]
    fn the_environment_is_cleared_but_for_a_list_and_what_the_entry_names() {
        let world = World::new();
        let launch = world.stdio(
            r#"{"command":"tool","env":{"TOKEN":"${secret:token}","LANG":"C.UTF-8"},"envPassthrough":["SSH_AUTH_SOCK","NONE"]}"#,
        );
        let mut names: Vec<_> = launch.env.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["HOME", "LANG", "LC_TIME", "PATH", "PYTHONIOENCODING", "PYTHONUTF8", "SSH_AUTH_SOCK", "TOKEN"]
        );
        assert_eq!(value(&launch, "TOKEN"), Some("s3cret-value"));
        assert_eq!(value(&launch, "LANG"), Some("C.UTF-8"));
        assert_eq!(value(&launch, "PYTHONUTF8"), Some("1"));
        let launch = world.stdio(r#"{"command":"tool","env":{"PYTHONUTF8":"0"}}"#);
        assert_eq!(value(&launch, "PYTHONUTF8"), Some("0"));
    }

    #[test]
    fn a_program_given_by_its_path_has_its_folder_first_in_path() {
        let world = World::new();
        let launch = world.stdio(r#"{"command":"@/other"}"#);
        assert_eq!(launch.program, world.at("other"));
        let folder = world.folder.path().display().to_string();
        assert!(value(&launch, "PATH").unwrap().starts_with(&format!("{folder}:")));
        assert_eq!(world.stdio(r#"{"command":"~/other"}"#).program, world.at("other"));
        assert_eq!(world.stdio(r#"{"command":"${HOME}/other"}"#).program, world.at("other"));
        let launch = world.stdio(r#"{"command":"sub/tool","cwd":"@/cwd"}"#);
        assert_eq!(launch.program, world.at("cwd/sub/tool"));
        assert_eq!(launch.cwd, Some(world.at("cwd")));
    }

    #[test]
    fn an_entrys_own_path_is_searched_and_may_extend_the_hosts() {
        let world = World::new();
        let launch = world.stdio(r#"{"command":"tool","env":{"PATH":"@/cwd/sub:${PATH}"}}"#);
        assert_eq!(launch.program, world.at("cwd/sub/tool"));
        assert!(value(&launch, "PATH").unwrap().ends_with(&world.text("node/bin")));
    }

    #[test]
    fn what_cannot_be_started_says_what_was_looked_for_and_where() {
        let world = World::new();
        let (reason, details, message) = world.failure(r#"{"command":"absent"}"#);
        assert_eq!(reason, LaunchReason::NotFound);
        assert_eq!(details.path.as_deref(), Some("absent"));
        assert_eq!(details.looked_in, [world.text("bin"), world.text("node/bin")]);
        assert!(message.contains("`absent`"), "{message}");
        for (entry, expected, path) in [
            (r#"{"command":"@/absent"}"#, LaunchReason::NotFound, "absent"),
            (r#"{"command":"data"}"#, LaunchReason::NotExecutable, "node/bin/data"),
            (r#"{"command":"@/node/bin/data"}"#, LaunchReason::NotExecutable, "node/bin/data"),
            (r#"{"command":"@/node"}"#, LaunchReason::NotExecutable, "node"),
            (r#"{"command":"tool","cwd":"@/absent"}"#, LaunchReason::BadCwd, "absent"),
            (r#"{"command":"tool","cwd":"@/other"}"#, LaunchReason::BadCwd, "other"),
        ] {
            let (reason, details, _) = world.failure(entry);
            assert_eq!(reason, expected, "{entry}");
            assert_eq!(details.path, Some(world.text(path)), "{entry}");
        }
        assert_eq!(world.failure(r#"{"command":"tool","cwd":"relative"}"#).0, LaunchReason::BadCwd);
        assert_eq!(world.failure(r#"{"command":"./tool"}"#).0, LaunchReason::NotFound);
    }

    #[test]
    fn a_whole_line_in_command_is_explained() {
        let message = World::new().failure(r#"{"command":"tool -y package"}"#).2;
        assert!(message.contains("`tool`") && message.contains("`args`"), "{message}");
    }

    #[test]
    fn an_unresolved_variable_names_the_field_and_itself_and_nothing_else() {
        let world = World::new();
        for (entry, field, name) in [
            (
                r#"{"url":"https://h/","headers":{"Authorization":"Bearer ${MY_TOKEN}"}}"#,
                "/headers/Authorization",
                "MY_TOKEN",
            ),
            (r#"{"url":"https://h/${PART}"}"#, "/url", "PART"),
            (r#"{"command":"tool","args":["a","${ARG}"]}"#, "/args/1", "ARG"),
            (r#"{"command":"tool","env":{"TOKEN":"hunter2${secret:other}"}}"#, "/env/TOKEN", "other"),
            (r#"{"command":"tool","env":{"TOKEN":"hunter2${input:id}"}}"#, "/env/TOKEN", "id"),
            (r#"{"command":"${CMD}"}"#, "/command", "CMD"),
            (r#"{"command":"tool","cwd":"${DIR}"}"#, "/cwd", "DIR"),
        ] {
            let (reason, details, message) = world.failure(entry);
            assert_eq!(reason, LaunchReason::UnresolvedVariable, "{entry}");
            assert_eq!(details.field.as_deref(), Some(field), "{entry}");
            assert!(message.contains(name), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
        let message = world.failure(r#"{"url":"https://h/","headers":{"Authorization":"Bearer ${MY_TOKEN}"}}"#).2;
        assert!(message.contains("header `Authorization`") && message.contains("`${MY_TOKEN}`"), "{message}");
    }

    #[test]
    fn the_page_reads_nothing_but_the_reason() {
        let world = World::new();
        let error = world.resolve(r#"{"command":"absent","args":["x"]}"#).unwrap_err();
        let info = error.info(Audience::Page);
        let told = serde_json::to_string(&info).unwrap();
        assert!(told.contains("not_found") && !told.contains("absent") && !told.contains(&world.text("bin")), "{told}");
        assert!(serde_json::to_string(&error.info(Audience::Person)).unwrap().contains(&world.text("bin")));
    }

    #[test]
    fn a_secret_is_only_its_own_servers() {
        let world = World::new();
        let launch = world.launch(r#"{"command":"tool","env":{"T":"${secret:token}"}}"#);
        let other = ServerId::parse("other").unwrap();
        assert!(resolve(&other, &launch, &world.environment(), &One).is_err());
    }

    #[test]
    fn arguments_may_name_what_the_entry_sets_itself() {
        let world = World::new();
        let launch = world.stdio(
            r#"{"command":"tool","args":["--header","Authorization:${AUTH}"],"env":{"AUTH":"Bearer ${secret:token}"}}"#,
        );
        assert_eq!(launch.args[1], "Authorization:Bearer s3cret-value");
    }

    #[test]
    fn whatever_may_be_a_secret_is_masked() {
        let world = World::new();
        let launch = world.stdio(
            r#"{"command":"tool","args":["--api-key","literal-key","--password=pass-word","${GITHUB_TOKEN}","--port","8080"],
                "env":{"A":"${secret:token}","API_TOKEN":"literal-token","DEBUG":"true-true","MY_SECRET":"abc"}}"#,
        );
        let mut masks: Vec<_> = launch.secrets.iter().map(SecretValue::expose).collect();
        masks.sort_unstable();
        assert_eq!(masks, ["ghp-value", "literal-key", "literal-token", "pass-word", "s3cret-value"]);
        assert!(!format!("{launch:?}").contains("literal-token"));
    }

    #[test]
    fn an_endpoint_is_reached_where_its_text_says() {
        let world = World::new();
        let resolved = world
            .resolve(r#"{"url":"https://example.com/${GITHUB_TOKEN}?x=1","headers":{"Authorization":"Bearer ${secret:token}"}}"#)
            .unwrap();
        let Resolved::Endpoint(endpoint) = resolved else { panic!("a child") };
        assert_eq!(endpoint.url.as_str(), "https://example.com/ghp-value?x=1");
        assert_eq!(endpoint.headers[0].1.expose(), "Bearer s3cret-value");
        assert!(endpoint.secrets.iter().any(|mask| mask.expose() == "s3cret-value"));
        assert!(!format!("{endpoint:?}").contains("ghp-value"));
    }

    #[test]
    fn a_header_that_would_break_into_two_is_refused() {
        struct Newline;
        impl SecretSource for Newline {
            fn secret(&self, _: &ServerId, _: &str) -> Result<Option<SecretValue>> {
                Ok(Some(SecretValue::new("hunter2\r\nX: y".to_owned())))
            }
        }
        let world = World::new();
        let launch = world.launch(r#"{"url":"https://h/","headers":{"A":"${secret:token}"}}"#);
        let error = resolve(&ServerId::parse("x").unwrap(), &launch, &world.environment(), &Newline).unwrap_err();
        assert!(matches!(error, Error::ConfigInvalid { .. }));
        assert!(!error.to_string().contains("hunter2"));
    }

    #[test]
    fn the_program_is_located_without_reading_a_secret() {
        let world = World::new();
        let launch = world.launch(r#"{"command":"tool","args":["${NONE}"],"env":{"T":"${secret:none}"}}"#);
        let server = ServerId::parse("x").unwrap();
        assert_eq!(locate(&server, &launch, &world.environment()).unwrap(), Some(world.at("node/bin/tool")));
        assert!(resolve(&server, &launch, &world.environment(), &NoSecrets).is_err());
    }

    #[test]
    fn everything_that_will_go_to_a_server_is_listed() {
        let world = World::new();
        let launch = world.launch(
            r#"{"command":"tool","args":["${A}","${OWN}"],"env":{"OWN":"${secret:s}","B":"${env:B:-x}"},"envPassthrough":["P"]}"#,
        );
        let uses: Vec<_> = launch.uses().into_iter().map(|one| (one.field, one.source, one.name)).collect();
        let expected = [
            ("/args/0", Source::Variable, "A"),
            ("/env/B", Source::Variable, "B"),
            ("/env/OWN", Source::Secret, "s"),
            ("/envPassthrough", Source::Variable, "P"),
        ];
        assert_eq!(uses, expected.map(|(field, source, name)| (field.to_owned(), source, name.to_owned())));
    }
}
