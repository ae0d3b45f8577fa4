//! What "always, but only…" could mean for the call that is shown.

use std::collections::BTreeMap;

use super::{
    Conditions, Constraint,
    path::{Platform, normal_path},
    words::plain_words,
};
use crate::model::json::{Object, Value, escape_segment};

/// Arguments that carry content rather than say where it goes.
const CONTENT: [&str; 9] = ["content", "contents", "new", "old", "body", "text", "data", "message", "description"];

/// Arguments that are run by a shell or the like.
const COMMANDS: [&str; 4] = ["command", "cmd", "commandline", "command_line"];

/// A folder must lie at least this deep to be proposed as a whole: never `/`, `/home` or `/home/me`.
const LEAST_DEPTH: usize = 3;

/// Conditions that a person may well mean when they say "always" to this call: files of the same folder, the same
/// command with other arguments, everything else as it is. `None` if that would be this exact call and nothing more,
/// or leave nothing fixed at all.
pub fn propose(arguments: &Object) -> Option<Conditions> {
    propose_for(arguments, Platform::HERE)
}

fn propose_for(arguments: &Object, platform: Platform) -> Option<Conditions> {
    let constraints: BTreeMap<String, Constraint> = arguments
        .iter()
        .map(|(name, value)| (format!("/{}", escape_segment(name)), constraint(name, value, platform)))
        .collect();
    let wider = |constraint: &Constraint| !matches!(constraint, Constraint::Equals(_));
    let fixed = |constraint: &Constraint| *constraint != Constraint::Any;
    let useful = constraints.values().any(wider) && constraints.values().any(fixed);
    // Whatever was proposed must hold for the call it was proposed for.
    useful.then_some(Conditions::Each(constraints)).filter(|conditions| conditions.permit(arguments))
}

fn constraint(name: &str, value: &Value, platform: Platform) -> Constraint {
    let same = || Constraint::Equals(value.clone());
    let Value::String(text) = value else { return same() };
    let lower = name.to_ascii_lowercase();
    if COMMANDS.contains(&lower.as_str()) {
        return command(text).map_or_else(same, Constraint::WordPrefix);
    }
    if let Some(glob) = folder(text, platform) {
        return Constraint::PathGlob(glob);
    }
    if CONTENT.contains(&lower.as_str()) { Constraint::Any } else { same() }
}

/// The folder of a path, as a glob.
fn folder(text: &str, platform: Platform) -> Option<String> {
    let path = normal_path(text, platform)?;
    let (folder, _) = path.rsplit_once('/')?;
    let depth = folder.split('/').skip(1).count();
    (depth >= LEAST_DEPTH && !folder.contains(['*', '?'])).then(|| format!("{folder}/*"))
}

/// A program and its subcommand: `git status` of `git status -s`. Programs that run what they are given are left alone.
fn command(line: &str) -> Option<String> {
    const RUNNERS: [&str; 14] = [
        "sh", "bash", "zsh", "dash", "fish", "env", "sudo", "doas", "xargs", "eval", "exec", "python", "python3",
        "node",
    ];
    let words = plain_words(line)?;
    let plain = |word: &&String| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    let program = words.first().filter(plain)?;
    let subcommand = words.get(1).filter(plain).filter(|word| !word.starts_with(['-', '.']))?;
    (!RUNNERS.contains(&program.as_str())).then(|| format!("{program} {subcommand}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::json::{self, Limits};

    fn proposed(text: &str) -> Option<Vec<String>> {
        let value = json::parse(text.as_bytes(), Limits::ARGUMENTS).unwrap();
        propose_for(value.as_object().unwrap(), Platform::Unix).map(|conditions| conditions.lines())
    }

    #[test]
    fn a_file_is_proposed_with_its_folder_and_any_content() {
        assert_eq!(
            proposed(r#"{"path":"/home/me/notes/a.md","content":"long","mode":"append"}"#).unwrap(),
            ["/content is anything", "/mode is \"append\"", "/path is a path like /home/me/notes/*"]
        );
    }

    #[test]
    fn a_command_is_proposed_with_its_subcommand() {
        assert_eq!(
            proposed(r#"{"command":"git status -s"}"#).unwrap(),
            ["/command is one command that begins with git status"]
        );
        for line in
            ["ls", "git -C / status", "sh script", "sudo rm x", "git status; rm x", "./run it", "/bin/git status"]
        {
            let arguments = serde_json::json!({ "command": line }).to_string();
            assert_eq!(proposed(&arguments), None, "{line}");
        }
    }

    #[test]
    fn what_would_be_too_wide_or_no_wider_is_not_proposed() {
        for text in [
            "{}",
            r#"{"a":1}"#,
            r#"{"query":"x","limit":10}"#,
            r#"{"message":"hi"}"#,
            r#"{"path":"/etc/passwd"}"#,
            r#"{"path":"/home/me/a.txt"}"#,
            r#"{"path":"/home/me/notes/../a"}"#,
            r#"{"path":"notes/a"}"#,
            r#"{"path":"/home/me/a*/b"}"#,
            r#"{"paths":["/home/me/notes/a"]}"#,
        ] {
            assert_eq!(proposed(text), None, "{text}");
        }
    }
}
