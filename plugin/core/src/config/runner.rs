//! Programs that fetch a package and run it: `npx`, `uvx`, `docker`… What they run, whether its version is fixed, and
//! that their first run may take a while.

/// A command line that runs a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runner {
    /// What runs it, as people call it: `npx`, `docker`.
    pub name: &'static str,
    /// What it runs; the first is the server, others come with it.
    pub packages: Vec<Package>,
}

/// A package as the command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// As written: `@scope/name@1.2.3`.
    pub spec: String,
    /// Whether it is the same one tomorrow.
    pub pinned: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Npm,
    Python,
    Image,
}

/// The runner that `command` with `args` is, if it is one. Looks at names only.
pub fn runner(command: &str, args: &[String]) -> Option<Runner> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    detect(&program_name(command), &args, 0)
}

/// The name of a program without its folder and without the extension that Windows puts there.
pub(super) fn program_name(command: &str) -> String {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command).to_ascii_lowercase();
    for extension in [".exe", ".cmd", ".bat", ".ps1"] {
        if let Some(name) = name.strip_suffix(extension) {
            return name.to_owned();
        }
    }
    name
}

fn detect(program: &str, args: &[&str], depth: u8) -> Option<Runner> {
    let first = args.first().copied().unwrap_or_default();
    let rest = args.get(1..).unwrap_or_default();
    let two = rest.first().copied().unwrap_or_default();
    let rest_of_two = rest.get(1..).unwrap_or_default();
    match (program, first, two) {
        ("npx", ..) => Some(npm("npx", args)),
        ("bunx", ..) => Some(npm("bunx", args)),
        ("pnpx", ..) => Some(npm("pnpx", args)),
        ("bun", "x", _) => Some(npm("bunx", rest)),
        ("npm", "exec" | "x", _) => Some(npm("npm exec", rest)),
        ("pnpm", "dlx", _) => Some(npm("pnpm dlx", rest)),
        ("yarn", "dlx", _) => Some(npm("yarn dlx", rest)),
        ("deno", "run", _) => deno(rest),
        ("uvx", ..) => Some(python("uvx", args)),
        ("uv", "tool", "run") => Some(python("uv tool run", rest_of_two)),
        ("uv", "x", _) => Some(python("uvx", rest)),
        // Fetches what the project asks for; what that is, the command line does not say.
        ("uv", "run", _) => Some(Runner { name: "uv run", packages: Vec::new() }),
        ("pipx", "run", _) => Some(python("pipx run", rest)),
        ("docker", "run", _) | ("docker", "container", "run") => Some(image("docker", args)),
        ("podman", "run", _) => Some(image("podman", args)),
        ("nerdctl", "run", _) => Some(image("nerdctl", args)),
        // What people write on Windows, and what wraps a command without changing it.
        ("cmd", ..) if depth < 3 => {
            let at = args.iter().position(|arg| arg.eq_ignore_ascii_case("/c") || arg.eq_ignore_ascii_case("/k"))?;
            let (program, args) = args.get(at + 1..)?.split_first()?;
            detect(&program_name(program), args, depth + 1)
        }
        ("env" | "nohup" | "nice" | "sudo" | "caffeinate", ..) if depth < 3 => {
            let at = args.iter().position(|arg| !arg.starts_with('-') && !arg.contains('='))?;
            let (program, args) = args.get(at..)?.split_first()?;
            detect(&program_name(program), args, depth + 1)
        }
        _ => None,
    }
}

/// npm's family: flags, then the package, unless `-p` names it.
fn npm(name: &'static str, args: &[&str]) -> Runner {
    let mut named = Vec::new();
    let mut words = args.iter().copied();
    let mut positional = None;
    while let Some(word) = words.next() {
        match word {
            "-p" | "--package" => named.extend(words.next()),
            "-c" | "--call" | "-w" | "--workspace" | "--prefix" | "--registry" | "--cache" | "--userconfig" => {
                words.next();
            }
            "--" => positional = positional.or_else(|| words.next()),
            _ if word.starts_with("--package=") => named.extend(word.strip_prefix("--package=")),
            _ if word.starts_with('-') => {}
            _ => positional = Some(word),
        }
        if positional.is_some() {
            break;
        }
    }
    let specs = if named.is_empty() { positional.into_iter().collect() } else { named };
    Runner { name, packages: packages(&specs, Kind::Npm) }
}

/// uv's family: flags, then the package, unless `--from` names it; `--with` adds others.
fn python(name: &'static str, args: &[&str]) -> Runner {
    let mut from = None;
    let mut with = Vec::new();
    let mut words = args.iter().copied();
    let mut positional = None;
    while let Some(word) = words.next() {
        match word {
            "--from" | "--spec" => from = words.next(),
            "--with" | "-w" => with.extend(words.next()),
            "-p"
            | "--python"
            | "--index-url"
            | "-i"
            | "--index"
            | "--extra-index-url"
            | "--directory"
            | "--project"
            | "--cache-dir"
            | "--default-index"
            | "--find-links"
            | "-f"
            | "--with-editable"
            | "--with-requirements"
            | "--env-file"
            | "--config-file" => {
                words.next();
            }
            _ if word.starts_with("--from=") => from = word.strip_prefix("--from="),
            _ if word.starts_with("--with=") => with.extend(word.strip_prefix("--with=")),
            "--" => positional = words.next(),
            _ if word.starts_with('-') => {}
            _ => positional = Some(word),
        }
        if positional.is_some() {
            break;
        }
    }
    let specs: Vec<&str> =
        from.or(positional).into_iter().chain(with.iter().flat_map(|with| with.split(','))).collect();
    Runner { name, packages: packages(&specs, Kind::Python) }
}

fn deno(args: &[&str]) -> Option<Runner> {
    let spec = args.iter().find(|arg| !arg.starts_with('-'))?;
    let (_, package) = spec.split_once("npm:").or_else(|| spec.split_once("jsr:"))?;
    Some(Runner { name: "deno", packages: packages(&[package.trim_start_matches('/')], Kind::Npm) })
}

/// `docker run`: flags, some of which take a value, then the image.
fn image(name: &'static str, args: &[&str]) -> Runner {
    // Those without a value; any other takes one, joined by `=` or as the next word.
    const BARE: [&str; 12] = [
        "--rm",
        "--init",
        "--interactive",
        "--tty",
        "--detach",
        "--privileged",
        "--read-only",
        "--no-healthcheck",
        "--quiet",
        "--publish-all",
        "--oom-kill-disable",
        "--sig-proxy",
    ];
    let run = args.iter().position(|arg| *arg == "run").map_or(0, |at| at + 1);
    let mut words = args.get(run..).unwrap_or_default().iter().copied();
    let mut spec = None;
    while let Some(word) = words.next() {
        if word == "--" {
            spec = words.next();
        } else if word.starts_with("--") {
            if !word.contains('=') && !BARE.contains(&word) {
                words.next();
            }
        } else if let Some(flags) = word.strip_prefix('-') {
            // `-i`, `-it`, `-d`, `-P`, `-q` stand alone; of `-e X`, `-v X`, `-p X` the value follows unless joined.
            if flags.len() == 1 && !matches!(flags, "i" | "t" | "d" | "P" | "q") {
                words.next();
            }
        } else {
            spec = Some(word);
        }
        if spec.is_some() {
            break;
        }
    }
    let specs: Vec<&str> = spec.into_iter().collect();
    Runner { name, packages: packages(&specs, Kind::Image) }
}

fn packages(specs: &[&str], kind: Kind) -> Vec<Package> {
    let package = |spec: &&str| Package { spec: (*spec).to_owned(), pinned: is_pinned(spec, kind) };
    specs.iter().map(package).collect()
}

fn is_pinned(spec: &str, kind: Kind) -> bool {
    // `1.2.3`, `2024.1`, `1.0.0-beta.2`: digits and a dot, no operator, no wildcard.
    let exact = |version: &str| {
        version.starts_with(|char: char| char.is_ascii_digit())
            && version.contains('.')
            && version.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-+_!".contains(&byte))
            && !version.split('.').any(|part| matches!(part, "x" | "X" | "*"))
    };
    // A commit's whole hash names one content.
    let commit = |spec: &str| {
        spec.rsplit(['#', '@'])
            .next()
            .is_some_and(|hash| hash.len() == 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    if spec.starts_with(['.', '/', '~']) {
        return true;
    }
    match kind {
        Kind::Npm if spec.contains("://") || spec.contains(':') => commit(spec),
        Kind::Npm => {
            let name_end = usize::from(spec.starts_with('@'));
            spec.get(name_end..)
                .and_then(|rest| rest.split_once('@'))
                // A range such as `1.2` means any of its patches.
                .is_some_and(|(_, version)| {
                    exact(version) && version.split(['-', '+']).next().is_some_and(|core| core.split('.').count() == 3)
                })
        }
        Kind::Python if spec.contains("://") => commit(spec),
        Kind::Python => spec
            .split_once("==")
            .or_else(|| spec.split_once('@'))
            .is_some_and(|(_, version)| exact(version.trim_start_matches('=').trim())),
        Kind::Image => {
            if spec.contains("@sha256:") {
                return true;
            }
            // A colon before the last slash is the registry's port.
            let name = spec.rsplit('/').next().unwrap_or(spec);
            name.split_once(':').is_some_and(|(_, tag)| !tag.is_empty() && tag != "latest")
        }
    }
}

/// What a server that runs this package might be called.
pub(super) fn short_name(spec: &str) -> Option<String> {
    let spec = spec.rsplit("://").next()?.split(['#', '?']).next()?;
    let name = spec.trim_end_matches('/').rsplit('/').next()?;
    let name = name.split(['@', '=', ':', '[', '<', '>', '~', '!']).next()?;
    let mut name = name.trim_end_matches(".git");
    loop {
        let shorter = ["mcp-server-", "server-", "mcp-", "mcp_server_", "mcp_"]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix))
            .or_else(|| ["-mcp-server", "-server", "-mcp", "_mcp"].iter().find_map(|suffix| name.strip_suffix(suffix)));
        match shorter {
            Some(shorter) if !shorter.is_empty() => name = shorter,
            _ => break,
        }
    }
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    fn run(line: &str) -> Option<Runner> {
        let words = shell_words::split(line).unwrap();
        let (command, args) = words.split_first().unwrap();
        runner(command, args)
    }

    #[test]
    fn runners_and_what_they_run_are_recognised() {
        for (line, name, packages) in [
            (
                "npx -y @modelcontextprotocol/server-filesystem /home/me",
                "npx",
                vec![("@modelcontextprotocol/server-filesystem", false)],
            ),
            (
                "npx -y @modelcontextprotocol/server-filesystem@2025.8.21 /x",
                "npx",
                vec![("@modelcontextprotocol/server-filesystem@2025.8.21", true)],
            ),
            ("npx -y server@latest", "npx", vec![("server@latest", false)]),
            ("npx server@^1.2.3", "npx", vec![("server@^1.2.3", false)]),
            ("npx server@1.2", "npx", vec![("server@1.2", false)]),
            ("npx --package=server@1.2.3 -c server", "npx", vec![("server@1.2.3", true)]),
            ("npx -p server -- server", "npx", vec![("server", false)]),
            ("npx github:me/server", "npx", vec![("github:me/server", false)]),
            ("/usr/local/bin/npx -y a", "npx", vec![("a", false)]),
            (r"'C:\Program Files\nodejs\npx.cmd' -y a", "npx", vec![("a", false)]),
            ("cmd /c npx -y a@1.0.0", "npx", vec![("a@1.0.0", true)]),
            ("env A=b npx -y a", "npx", vec![("a", false)]),
            ("uvx mcp-server-time --local-timezone UTC", "uvx", vec![("mcp-server-time", false)]),
            ("uvx mcp-server-time==2025.8.4", "uvx", vec![("mcp-server-time==2025.8.4", true)]),
            ("uvx mcp-server-time@2025.8.4", "uvx", vec![("mcp-server-time@2025.8.4", true)]),
            ("uvx mcp-server-time@latest", "uvx", vec![("mcp-server-time@latest", false)]),
            ("uvx --from git+https://github.com/me/s s", "uvx", vec![("git+https://github.com/me/s", false)]),
            ("uvx --with a,b==1.0 c==2.0", "uvx", vec![("c==2.0", true), ("a", false), ("b==1.0", true)]),
            ("uv tool run --python 3.12 a", "uv tool run", vec![("a", false)]),
            ("docker run -i --rm -e TOKEN ghcr.io/me/server", "docker", vec![("ghcr.io/me/server", false)]),
            ("docker run -i --rm --mount type=bind,src=/a,dst=/b mcp/x:1.2", "docker", vec![("mcp/x:1.2", true)]),
            ("docker run -it -v/a:/b localhost:5000/x@sha256:aa", "docker", vec![("localhost:5000/x@sha256:aa", true)]),
            ("deno run -A npm:server@1.0.0", "deno", vec![("server@1.0.0", true)]),
        ] {
            let found = run(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(found.name, name, "{line}");
            let specs: Vec<_> = found.packages.iter().map(|package| (package.spec.as_str(), package.pinned)).collect();
            assert_eq!(specs, packages, "{line}");
        }
    }

    #[test]
    fn other_programs_are_no_runners() {
        for line in ["node server.js", "python -m server", "docker ps", "uv pip list", "npm start", "./npx-like", "cmd"]
        {
            assert_eq!(run(line), None, "{line}");
        }
    }

    #[test]
    fn packages_have_short_names() {
        for (spec, name) in [
            ("@modelcontextprotocol/server-filesystem@1.0.0", "filesystem"),
            ("mcp-server-time==1.0", "time"),
            ("ghcr.io/github/github-mcp-server:v1", "github"),
            ("git+https://github.com/me/notes.git", "notes"),
            ("mcp", "mcp"),
        ] {
            assert_eq!(short_name(spec).as_deref(), Some(name), "{spec}");
        }
    }
}
