//! What deserves a second look before a launch is confirmed. Cautions inform; none of them decides.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use url::{Host, Url};

use super::{
    launch::{EndpointLaunch, Launch, StdioLaunch},
    runner::{self, program_name},
    secret::name_promises_secret,
    variable::Template,
};

/// One thing to look at twice. `Display` says it in English; the texts in it are the file's, to be made inert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caution {
    /// A package without a fixed version: what runs tomorrow may be something else.
    UnpinnedPackage {
        /// What runs it.
        runner: &'static str,
        /// The package as written.
        package: String,
    },
    /// Other users of this machine may replace the program, or put something beside it.
    WorldWritable {
        /// The file or folder.
        path: PathBuf,
    },
    /// Credentials would go over plain HTTP to another machine.
    PlainHttpCredentials {
        /// Where to.
        origin: String,
    },
    /// The command is a shell: what it runs stands in the arguments.
    Shell {
        /// Which.
        shell: String,
    },
    /// A program text stands in the arguments.
    InlineCode {
        /// What runs it.
        interpreter: String,
    },
    /// A variable that makes programs load other code.
    LoadsCode {
        /// Which.
        variable: String,
    },
    /// It runs as another, mightier user.
    Elevated {
        /// By what.
        by: String,
    },
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnpinnedPackage { runner, package } => {
                write!(
                    f,
                    "`{runner}` fetches `{package}` without a fixed version: what runs tomorrow may be something else"
                )
            }
            Self::WorldWritable { path } => write!(f, "other users of this machine can write to `{}`", path.display()),
            Self::PlainHttpCredentials { origin } => {
                write!(f, "credentials go to `{origin}` over plain HTTP, readable on the way")
            }
            Self::Shell { shell } => write!(f, "`{shell}` is a shell: it runs whatever its arguments say"),
            Self::InlineCode { interpreter } => write!(f, "`{interpreter}` runs a program text from its arguments"),
            Self::LoadsCode { variable } => write!(f, "the variable `{variable}` makes programs load other code"),
            Self::Elevated { by } => write!(f, "`{by}` runs it as another user, with more rights than yours"),
        }
    }
}

impl Launch {
    /// What deserves a second look. `program`: what [`locate`](super::locate) found. Looks at modes of files.
    pub fn cautions(&self, program: Option<&Path>) -> Vec<Caution> {
        match self {
            Self::Stdio(launch) => of_stdio(launch, program),
            Self::Http(endpoint) | Self::Sse(endpoint) => of_endpoint(endpoint),
        }
    }
}

fn of_stdio(launch: &StdioLaunch, program: Option<&Path>) -> Vec<Caution> {
    let mut cautions = Vec::new();
    let name = program_name(&launch.command);
    match name.as_str() {
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish" | "csh" | "tcsh" | "cmd" | "powershell" | "pwsh" | "nu" => {
            cautions.push(Caution::Shell { shell: name.clone() });
        }
        "sudo" | "doas" | "pkexec" | "su" | "runas" => cautions.push(Caution::Elevated { by: name.clone() }),
        _ => {}
    }
    let inline: &[&str] = match name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.') {
        "node" | "bun" | "perl" | "ruby" => &["-e", "--eval", "-p", "--print"],
        "python" | "pypy" => &["-c"],
        "php" => &["-r"],
        "deno" => &["eval"],
        _ => &[],
    };
    if launch.args.iter().any(|arg| inline.contains(&arg.as_str()) || arg.starts_with("--eval=")) {
        cautions.push(Caution::InlineCode { interpreter: name });
    }
    for name in launch.env.keys() {
        let upper = name.to_ascii_uppercase();
        let loads = [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "LD_AUDIT",
            "NODE_OPTIONS",
            "NODE_PATH",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PYTHONHOME",
            "PERL5OPT",
            "PERL5LIB",
            "RUBYOPT",
            "RUBYLIB",
            "BASH_ENV",
            "ENV",
            "JAVA_TOOL_OPTIONS",
            "DOTNET_STARTUP_HOOKS",
            "PATH",
        ];
        if loads.contains(&upper.as_str()) || upper.starts_with("DYLD_") || upper.starts_with("NPM_CONFIG_") {
            cautions.push(Caution::LoadsCode { variable: name.clone() });
        }
    }
    if let Some(runner) = runner::runner(&launch.command, &launch.args) {
        cautions.extend(
            runner
                .packages
                .into_iter()
                .filter(|package| !package.pinned)
                .map(|package| Caution::UnpinnedPackage { runner: runner.name, package: package.spec }),
        );
    }
    let files = launch.args.iter().map(Path::new).filter(|arg| arg.is_absolute() && arg.is_file());
    for file in program.into_iter().chain(files) {
        if let Some(path) = writable_by_others(file)
            && !cautions.contains(&Caution::WorldWritable { path: path.clone() })
        {
            cautions.push(Caution::WorldWritable { path });
        }
    }
    cautions
}

fn of_endpoint(endpoint: &EndpointLaunch) -> Vec<Caution> {
    // Scheme and host stand in the text as they are; the rest may hold variables.
    let Ok(url) = Url::parse(&endpoint.url) else { return Vec::new() };
    let loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let has_value = |text: &str| Template::parse(text).is_ok_and(|template| !template.is_literal());
    let credentials = endpoint.headers.iter().any(|(name, value)| name_promises_secret(name) || has_value(value))
        || url.query_pairs().any(|(name, _)| name_promises_secret(&name))
        || has_value(&endpoint.url);
    if url.scheme() == "http" && !loopback && credentials {
        vec![Caution::PlainHttpCredentials { origin: url.origin().ascii_serialization() }]
    } else {
        Vec::new()
    }
}

/// The file, or the folder around it or around what it points to, that others may write to.
#[cfg(unix)]
fn writable_by_others(file: &Path) -> Option<PathBuf> {
    use std::{fs, os::unix::fs::MetadataExt as _};
    let real = fs::canonicalize(file).ok();
    [Some(file), real.as_deref()].into_iter().flatten().find_map(|file| {
        file.ancestors().enumerate().find_map(|(distance, path)| {
            let mode = fs::metadata(path).ok()?.mode();
            // In a sticky folder (`/tmp`) nobody replaces what is another's; beside it they can put what they like.
            let sticky = distance > 1 && mode & 0o1000 != 0;
            (mode & 0o002 != 0 && !sticky).then(|| path.to_owned())
        })
    })
}

#[cfg(not(unix))]
fn writable_by_others(_: &Path) -> Option<PathBuf> {
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::config::file;

    fn cautions(entry: &str) -> Vec<Caution> {
        let configuration = file::parse(&format!("{{\"mcpServers\":{{\"x\":{entry}}}}}")).unwrap();
        configuration.servers[0].launch().unwrap().cautions(None)
    }

    #[test]
    fn what_deserves_a_second_look_gets_one() {
        let unpinned = |runner, package: &str| Caution::UnpinnedPackage { runner, package: package.to_owned() };
        let plain = Caution::PlainHttpCredentials { origin: "http://example.com".to_owned() };
        for (entry, expected) in [
            (r#"{"command":"npx","args":["-y","server"]}"#, vec![unpinned("npx", "server")]),
            (r#"{"command":"npx","args":["-y","server@1.2.3"]}"#, vec![]),
            (r#"{"command":"uvx","args":["server"]}"#, vec![unpinned("uvx", "server")]),
            (r#"{"command":"uvx","args":["server==1.2.3"]}"#, vec![]),
            (r#"{"command":"/bin/sh","args":["-c","x"]}"#, vec![Caution::Shell { shell: "sh".to_owned() }]),
            (
                r#"{"command":"python3.12","args":["-c","x"]}"#,
                vec![Caution::InlineCode { interpreter: "python3.12".to_owned() }],
            ),
            (
                r#"{"command":"node","args":["x.js"],"env":{"NODE_OPTIONS":"-r x"}}"#,
                vec![Caution::LoadsCode { variable: "NODE_OPTIONS".to_owned() }],
            ),
            (r#"{"command":"sudo","args":["x"]}"#, vec![Caution::Elevated { by: "sudo".to_owned() }]),
            (r#"{"url":"http://example.com/","headers":{"Authorization":"Bearer x"}}"#, vec![plain.clone()]),
            (r#"{"url":"http://example.com/","headers":{"X-Custom":"${TOKEN}"}}"#, vec![plain.clone()]),
            (r#"{"url":"http://example.com/?api_key=x"}"#, vec![plain]),
            (r#"{"url":"http://example.com/"}"#, vec![]),
            (r#"{"url":"http://127.0.0.1:80/","headers":{"Authorization":"Bearer x"}}"#, vec![]),
            (r#"{"url":"http://[::1]/","headers":{"Authorization":"Bearer x"}}"#, vec![]),
            (r#"{"url":"https://example.com/","headers":{"Authorization":"Bearer x"}}"#, vec![]),
        ] {
            assert_eq!(cautions(entry), expected, "{entry}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_others_may_replace_is_pointed_at() {
        use std::{fs, os::unix::fs::PermissionsExt as _};
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("bin");
        fs::create_dir(&inner).unwrap();
        let program = inner.join("server");
        fs::write(&program, "").unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        mode(&program, 0o755);
        assert_eq!(writable_by_others(&program), None);
        mode(&inner, 0o777);
        assert_eq!(writable_by_others(&program), Some(inner.clone()));
        mode(&inner, 0o1777);
        assert_eq!(writable_by_others(&program), Some(inner.clone()));
        mode(&inner, 0o755);
        mode(&program, 0o757);
        assert_eq!(writable_by_others(&program), Some(program));
        mode(folder.path(), 0o1777);
        mode(&inner, 0o755);
        let other = inner.join("other");
        fs::write(&other, "").unwrap();
        mode(&other, 0o755);
        assert_eq!(writable_by_others(&other), None);
    }
}
