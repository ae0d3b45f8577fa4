//! The command tree of serve.md. Each group's own arguments stand in the group's module, beside what they do.

use std::{ffi::OsString, path::PathBuf};

use clap::{
    Args, Parser, Subcommand,
    builder::{PossibleValue, PossibleValuesParser},
};

use crate::{approval, audit, call, offer, servers, shell, trust};

/// Runs MCP servers under your own rules: every call is decided, asked about where needed, and written down.
#[derive(Debug, Parser)]
#[command(
    name = "mcp-host",
    version,
    after_help = "\
Examples:
  mcp-host servers add everything -- npx -y @modelcontextprotocol/server-everything@2026.1.26
  mcp-host tools everything
  mcp-host call everything echo --args '{\"message\":\"hi\"}'
  mcp-host approval grant everything/echo
  mcp-host audit verify --ci

Exit status:
  0 done · 1 failed · 2 wrong usage, input or configuration, or no such server
  3 denied, or nobody to ask · 4 the tool reported an error · 130 interrupted"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What stands before or after any subcommand.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Keep servers, rules and logs in this folder instead of the one shared with the desktop app [env: MCP_HOST_CONFIG_DIR]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) config_dir: Option<PathBuf>,
    /// Decide under this mode, for this run
    #[arg(long, global = true, value_name = "MODE", value_parser = modes())]
    pub(crate) permission_mode: Option<String>,
    /// Print one JSON document instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Never ask on the terminal: what would be asked is denied
    #[arg(long, global = true)]
    pub(crate) no_prompt: bool,
    /// Keep arguments and results in the audit log unredacted, at your own risk
    #[arg(long, global = true)]
    pub(crate) audit_full: bool,
}

fn modes() -> PossibleValuesParser {
    PossibleValuesParser::new([
        PossibleValue::new("read-only"),
        PossibleValue::new("prompt"),
        PossibleValue::new("allow"),
        PossibleValue::new("danger-full-access"),
        // Parsed so that it can be refused with its reason (it depends on a plan that no caller here can supply).
        PossibleValue::new("workspace-write").hide(true),
    ])
}

/// Everything it can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add, edit, list and remove servers
    Servers(servers::Servers),
    /// List a server's tools, and what a call from here would meet
    #[command(after_help = offer::TOOLS_EXAMPLES)]
    Tools(offer::Of),
    /// List a server's resources
    #[command(after_help = offer::RESOURCES_EXAMPLES)]
    Resources(offer::Of),
    /// List a server's resource templates
    #[command(after_help = offer::TEMPLATES_EXAMPLES)]
    Templates(offer::Of),
    /// List a server's prompts
    #[command(after_help = offer::PROMPTS_EXAMPLES)]
    Prompts(offer::Of),
    /// Call a tool
    Call(call::Call),
    /// Read a resource
    Read(offer::Read),
    /// Get a prompt
    Prompt(offer::Prompt),
    /// Complete an argument of a prompt or of a resource template
    Complete(offer::Complete),
    /// Rules: may a call run
    Approval(approval::Approval),
    /// Launches and definitions that you confirmed
    Trust(trust::Trust),
    /// The audit log
    Audit(audit::Audit),
    /// Print a script that completes commands in your shell
    Completions(shell::Completions),
    /// Print the manual page
    Man(shell::Man),
}

/// Whether `--json` was asked for, where the arguments could not be parsed. What follows `--` is somebody else's.
pub(crate) fn asks_for_json(arguments: impl IntoIterator<Item = OsString>) -> bool {
    arguments.into_iter().skip(1).take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn visit(command: &clap::Command, path: &str, see: &mut impl FnMut(&str, &clap::Command)) {
        let path = format!("{path} {}", command.get_name());
        see(path.trim(), command);
        for child in command.get_subcommands().filter(|child| child.get_name() != "help") {
            visit(child, &path, see);
        }
    }

    #[test]
    fn the_tree_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples_and_every_example_parses() {
        let mut command = Cli::command();
        command.build();
        let mut examples = 0;
        visit(&command, "", &mut |path, command| {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let own: Vec<&str> = help.lines().map(str::trim).filter(|line| line.starts_with("mcp-host ")).collect();
            assert!(!own.is_empty(), "`{path} --help` shows no example");
            for line in own {
                examples += 1;
                assert!(crate::text::columns(line) <= 96, "`{line}` is wrapped in a terminal of 100 columns");
                let line = line.split(" # ").next().unwrap();
                let words = shell_words::split(line.split(" | ").next().unwrap()).unwrap();
                let words = words.into_iter().take_while(|word| word != ">");
                if let Err(error) = Cli::try_parse_from(words) {
                    panic!("`{line}` does not parse: {error}");
                }
            }
        });
        assert!(examples > 40, "only {examples} examples were looked at");
    }

    #[test]
    fn global_flags_stand_before_or_after_the_subcommand() {
        for line in [
            "mcp-host --json --config-dir D --permission-mode allow --no-prompt servers list",
            "mcp-host servers --json --config-dir D --permission-mode allow --no-prompt list",
            "mcp-host servers list --json --config-dir D --permission-mode allow --no-prompt",
        ] {
            let globals = Cli::try_parse_from(line.split(' ')).unwrap().globals;
            assert!(globals.json && globals.no_prompt, "{line}");
            assert_eq!(globals.config_dir.as_deref(), Some(std::path::Path::new("D")), "{line}");
            assert_eq!(globals.permission_mode.as_deref(), Some("allow"), "{line}");
        }
    }

    #[test]
    fn json_after_the_double_dash_belongs_to_the_server() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(asks_for_json(words("mcp-host nonsense --json")));
        assert!(!asks_for_json(words("mcp-host nonsense -- --json")));
    }
}
