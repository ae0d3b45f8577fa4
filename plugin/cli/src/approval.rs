//! `mcp-host approval`: the rules of policy.md §4, and what they would decide.

use std::{collections::BTreeMap, fmt::Write as _};

use clap::{Args, Subcommand};
use mcp_host_core::{
    host::{GrantTarget, NewRule},
    model::{
        Caller, CallerKind,
        admin::{AuditFilter, AuditRow, RuleView},
    },
    policy::digest,
};
use serde_json::json;

use crate::{
    app::App,
    failure::{DONE, Result, invalid},
    input::{self, Source},
    launch,
    output::Table,
    target, text,
};

/// `mcp-host approval`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host approval list
  mcp-host approval grant files/read_text_file --path-glob '/path=/home/me/notes/**'
  mcp-host approval deny delete_file
  mcp-host approval check files/write_file --args '{\"path\":\"/home/me/notes/a\",\"content\":\"x\"}'")]
pub(crate) struct Approval {
    #[command(subcommand)]
    command: ApprovalCommand,
}

#[derive(Debug, Subcommand)]
enum ApprovalCommand {
    /// List the rules
    #[command(after_help = "Examples:\n  mcp-host approval list\n  mcp-host approval list --json")]
    List,
    /// Let calls run without asking
    #[command(after_help = GRANT_EXAMPLES)]
    Grant(Rule),
    /// Ask about calls, whatever a broader rule allows
    #[command(after_help = ASK_EXAMPLES)]
    Ask(Rule),
    /// Deny calls, in every mode
    #[command(after_help = DENY_EXAMPLES)]
    Deny(Rule),
    /// Take rules back
    #[command(after_help = "Examples:\n  mcp-host approval revoke 3f9c2a")]
    Revoke(Revoke),
    /// Say what would be decided about a call, and by which rule; nothing is called
    Check(Check),
    /// Say why a call was denied
    WhyDenied(WhyDenied),
    /// Compute the payload digest of a call, for --approve-scoped; no server is needed
    Digest(Digest),
}

const GRANT_EXAMPLES: &str = "\
Examples:
  mcp-host approval grant everything/echo
  mcp-host approval grant everything/echo --args-exact '{\"message\":\"hi\"}' --expires 8h
  mcp-host approval grant files/write_file --path-glob '/path=/home/me/notes/**' --any /content
  mcp-host approval grant shell/run --word-prefix '/command=git status'
  mcp-host approval grant 'files/*' --caller agent --expires 30d
  mcp-host approval grant files --resources='file:///home/me/notes/**'
  mcp-host approval grant files --prompts

A grant counts for the command line and for `serve` unless --caller says otherwise.
With conditions it covers a call only if every top-level argument is named: fixed (--equals),
bounded (--path-glob, --word-prefix), or --any.";
const ASK_EXAMPLES: &str = "\
Examples:
  mcp-host approval ask files/write_file
  mcp-host approval ask 'files/*' --caller page

It counts for every kind of caller unless --caller says otherwise.";
const DENY_EXAMPLES: &str = "\
Examples:
  mcp-host approval deny files/delete_file
  mcp-host approval deny delete_file
  mcp-host approval deny 'files/*' --caller page --caller agent

It counts for every kind of caller unless --caller says otherwise. A tool without a server is that name anywhere.";

#[derive(Args, Debug)]
struct Rule {
    /// [SERVER/]TOOL, SERVER/* for all its tools, or SERVER with --resources or --prompts
    target: String,
    /// The server's resources: those that it lists, or those whose URI matches
    #[arg(long, value_name = "URI-GLOB", num_args = 0..=1, require_equals = true, conflicts_with = "prompts")]
    resources: Option<Option<String>>,
    /// The server's prompts
    #[arg(long)]
    prompts: bool,
    #[command(flatten)]
    conditions: Conditions,
    /// For the next matching call, or always
    #[arg(long, default_value = "always", value_parser = scope)]
    scope: String,
    /// It ends after this long (8h, 30d), or at this moment
    #[arg(long, value_name = "WHEN", value_parser = input::expiry)]
    expires: Option<String>,
    /// It counts for this kind of caller; may be given again
    #[arg(long = "caller", value_name = "CALLER", value_parser = caller)]
    callers: Vec<CallerKind>,
}

#[derive(Args, Debug)]
struct Conditions {
    /// Only with exactly these arguments: JSON, @FILE or -
    #[arg(long, value_name = "JSON", conflicts_with_all = ["equals", "path_glob", "word_prefix", "any"])]
    args_exact: Option<Source>,
    /// Only where the argument at this JSON pointer has this value
    #[arg(long, value_name = "PTR=JSON", value_parser = input::pointer_value)]
    equals: Vec<(String, String)>,
    /// Only where the argument at this JSON pointer is a path that matches (`*` does not cross `/`)
    #[arg(long, value_name = "PTR=GLOB", value_parser = input::pointer_value)]
    path_glob: Vec<(String, String)>,
    /// Only where the argument at this JSON pointer begins with these words
    #[arg(long, value_name = "PTR=WORDS", value_parser = input::pointer_value)]
    word_prefix: Vec<(String, String)>,
    /// Whatever the argument at this JSON pointer is
    #[arg(long, value_name = "PTR", value_parser = input::pointer)]
    any: Vec<String>,
}

#[derive(Args, Debug)]
struct Revoke {
    /// The rules' ids, as `approval list` shows them
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host approval check everything/echo --args '{\"message\":\"hi\"}'
  mcp-host approval check files/write_file --args @call.json --caller agent --json")]
struct Check {
    /// [SERVER/]TOOL
    #[arg(value_parser = target::tool)]
    tool: (Option<String>, String),
    /// The arguments: a JSON object, @FILE, or - for stdin
    #[arg(long, value_name = "JSON", default_value = "{}")]
    args: Source,
    /// For this kind of caller
    #[arg(long, value_name = "CALLER", default_value = "cli", value_parser = caller)]
    caller: CallerKind,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host approval why-denied 5f2c9f0a0d6e4b7f8a1b2c3d4e5f6071")]
struct WhyDenied {
    /// The call's id, as the audit log and the error have it
    #[arg(value_name = "CALL")]
    call: String,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mcp-host approval digest echo --args '{\"message\":\"hi\"}'
  mcp-host approval digest everything/echo --args @arguments.json --json")]
struct Digest {
    /// [SERVER/]TOOL; the digest is over the tool's own name
    #[arg(value_parser = target::tool)]
    tool: (Option<String>, String),
    /// The arguments: a JSON object, @FILE, or - for stdin
    #[arg(long, value_name = "JSON", default_value = "{}")]
    args: Source,
}

fn caller(text: &str) -> std::result::Result<CallerKind, String> {
    let offered = CallerKind::ALL.into_iter().filter(|kind| *kind != CallerKind::Settings);
    let names: Vec<&str> = offered.clone().map(CallerKind::as_str).collect();
    offered
        .into_iter()
        .find(|kind| kind.as_str() == text)
        .ok_or_else(|| format!("`{text}` is no kind of caller; there are {}", names.join(", ")))
}

fn scope(text: &str) -> std::result::Result<String, String> {
    match text {
        "once" | "always" => Ok(text.to_owned()),
        "session" => Err("`session` has no meaning for another process; use `once` or `--expires 8h`".to_owned()),
        _ => Err(format!("`{text}` is no scope; there are once, always")),
    }
}

/// `mcp-host approval`.
pub(crate) async fn run(app: &App, approval: Approval) -> Result {
    match approval.command {
        ApprovalCommand::List => list(app).await,
        ApprovalCommand::Grant(rule) => add(app, rule, "allow").await,
        ApprovalCommand::Ask(rule) => add(app, rule, "ask").await,
        ApprovalCommand::Deny(rule) => add(app, rule, "deny").await,
        ApprovalCommand::Revoke(revoke) => self::revoke(app, revoke).await,
        ApprovalCommand::Check(check) => self::check(app, check).await,
        ApprovalCommand::WhyDenied(why) => why_denied(app, why).await,
        ApprovalCommand::Digest(digest) => payload_digest(app, &digest),
    }
}

async fn list(app: &App) -> Result {
    let rules = app.admin().await?.rules()?;
    if rules.is_empty() {
        app.output().note("there are no rules; make one: `mcp-host approval grant SERVER/TOOL`");
    }
    app.output().show(&rules, |output| match rules.is_empty() {
        true => String::new(),
        false => table(&rules).render(output),
    })?;
    Ok(DONE)
}

fn table(rules: &[RuleView]) -> Table<7> {
    let mut table = Table::new(["ID", "EFFECT", "WHAT", "CALLERS", "SCOPE", "EXPIRES", "ONLY IF"]);
    for rule in rules {
        let all = CallerKind::ALL.iter().all(|kind| rule.callers.contains(kind));
        let callers: Vec<&str> = rule.callers.iter().map(|caller| caller.as_str()).collect();
        let callers = if all { "all".to_owned() } else { callers.join(",") };
        let mut only = rule.conditions.join("; ");
        if let Some(dormant) = &rule.dormant {
            only = format!("(does not count: {dormant}) {only}");
        }
        table.row([
            &rule.id,
            &rule.effect,
            &about(rule),
            &callers,
            &rule.scope,
            &rule.expires_at.as_deref().map_or_else(|| "never".to_owned(), text::local),
            only.trim_end(),
        ]);
    }
    table
}

/// What a rule is about, as it is typed.
fn about(rule: &RuleView) -> String {
    let server = rule.server.as_deref().unwrap_or("*");
    match rule.operation.as_str() {
        "call" => format!("{server}/{}", rule.tool.as_deref().unwrap_or("*")),
        other => format!("{server} ({other})"),
    }
}

impl Rule {
    fn target(&self, denies: bool) -> Result<GrantTarget> {
        match (&self.resources, self.prompts) {
            (Some(uri), _) => Ok(GrantTarget::Resources { server: self.server()?, uri: uri.clone() }),
            (None, true) => Ok(GrantTarget::Prompts { server: self.server()? }),
            (None, false) => target::rule(&self.target, denies).map_err(invalid),
        }
    }

    fn server(&self) -> Result<String> {
        if self.target.contains('/') {
            return Err(invalid(format!("`{}`: with `--resources` or `--prompts` name the server alone", self.target)));
        }
        Ok(self.target.clone())
    }

    fn new_rule(self, effect: &str) -> Result<NewRule> {
        let target = self.target(effect == "deny")?;
        let mut equals = BTreeMap::new();
        for (pointer, text) in self.conditions.equals {
            let value = input::strict_json(&text, "--equals")?;
            once(&mut equals, "--equals", pointer, value)?;
        }
        let mut path_globs = BTreeMap::new();
        for (pointer, glob) in self.conditions.path_glob {
            once(&mut path_globs, "--path-glob", pointer, glob)?;
        }
        let mut word_prefixes = BTreeMap::new();
        for (pointer, words) in self.conditions.word_prefix {
            once(&mut word_prefixes, "--word-prefix", pointer, words)?;
        }
        Ok(NewRule {
            effect: effect.to_owned(),
            target: Some(target),
            callers: self.callers,
            scope: self.scope,
            expires_at: self.expires,
            exact: self.conditions.args_exact.map(|source| source.json("--args-exact")).transpose()?,
            equals,
            path_globs,
            word_prefixes,
            any: self.conditions.any,
        })
    }
}

fn once<T>(map: &mut BTreeMap<String, T>, flag: &str, pointer: String, value: T) -> Result<()> {
    if map.contains_key(&pointer) {
        return Err(invalid(format!("`{flag}`: `{pointer}` is given twice")));
    }
    map.insert(pointer, value);
    Ok(())
}

async fn add(app: &App, rule: Rule, effect: &str) -> Result {
    let rule = rule.new_rule(effect)?;
    let pinned = match (&rule.target, effect) {
        (Some(GrantTarget::Tool { server: Some(server), tool }), "allow") => Some((server.clone(), tool.clone())),
        _ => None,
    };
    let admin = app.admin().await?;
    let id = app.until_interrupted("making the rule", admin.add_rule(rule, &Caller::Cli)).await?;
    let made = admin.rules()?.into_iter().find(|rule| rule.id == id);
    let Some(made) = made else {
        // It was used up, or another process took it back, before we looked.
        app.output().show(&json!({ "id": id }), |_| format!("rule {id} made"))?;
        return Ok(DONE);
    };
    app.output().show(&made, |output| table(std::slice::from_ref(&made)).render(output))?;
    if let Some((server, tool)) = pinned {
        show_definition(app, &server, &tool).await?;
    }
    Ok(DONE)
}

/// What was pinned along with a grant.
async fn show_definition(app: &App, server: &str, tool: &str) -> Result<()> {
    if app.output().json() {
        return Ok(());
    }
    let details = app.admin().await?.server(server).await?;
    if let Some(view) = details.tools.iter().find(|view| view.name == tool) {
        let mut words = format!("the definition it counts for ({}):\n", launch::pin(view.pin));
        for line in [&view.title, &view.description].into_iter().flatten().flat_map(|text| text.lines()) {
            let _ = writeln!(words, "  | {}", text::line(line));
        }
        if let Some(schema) = &view.input_schema {
            let _ = writeln!(words, "  | input: {}", text::line(schema.as_str()));
        }
        app.output().note(&words);
    }
    Ok(())
}

async fn revoke(app: &App, revoke: Revoke) -> Result {
    let admin = app.admin().await?;
    for id in &revoke.ids {
        app.until_interrupted("taking the rule back", admin.revoke_rule(id, &Caller::Cli)).await?;
    }
    app.output().show(&revoke.ids, |_| {
        revoke.ids.iter().fold(String::new(), |mut words, id| {
            let _ = writeln!(words, "rule {} revoked", text::line(id));
            words
        })
    })?;
    Ok(DONE)
}

async fn check(app: &App, check: Check) -> Result {
    let arguments = check.args.json("--args")?;
    let (server, tool) = check.tool;
    let admin = app.admin().await?;
    let work = admin.check(server.as_deref(), &tool, Some(arguments), check.caller);
    let view = app.until_interrupted("the check", work).await?;
    app.output().show(&view, |_| {
        let mut words = format!("{}: rule {}\n", view.decision, text::line(&view.rule));
        for step in &view.order {
            let _ = writeln!(words, "  {}", text::line(step));
        }
        words
    })?;
    Ok(DONE)
}

/// Neither a store nor a server is needed for it.
fn payload_digest(app: &App, of: &Digest) -> Result {
    let arguments = of.args.json("--args")?;
    let (_, tool) = &of.tool;
    let arguments = digest::arguments(Some(arguments))?;
    let canonical = digest::canonical_payload(tool, &arguments.value);
    let sha256 = digest::payload_digest(tool, &arguments.value);
    let document = json!({ "tool": tool, "canonical": canonical, "sha256": sha256 });
    app.output().show(&document, |_| sha256.clone())?;
    Ok(DONE)
}

async fn why_denied(app: &App, why: WhyDenied) -> Result {
    let admin = app.admin().await?;
    let filter = AuditFilter { call_id: Some(why.call.clone()), limit: Some(100), ..AuditFilter::default() };
    let page = app.until_interrupted("the search", admin.audit(filter)).await?;
    let stopped =
        |row: &&AuditRow| ["_blocked", "_denied", "_failed"].iter().any(|ending| row.event_type.ends_with(ending));
    let Some(last) = page.rows.iter().find(stopped) else {
        return Err(invalid(match page.rows.first() {
            None => format!("the audit log knows no call `{}`", why.call),
            Some(row) => format!("call `{}` was not denied: its last record is `{}`", why.call, row.event_type),
        }));
    };
    let payload = last.payload.decode::<serde_json::Value>().unwrap_or_default();
    let said = |name: &str| payload.get(name).and_then(serde_json::Value::as_str);
    let reason = said("message");
    let rule = last.rule.as_deref().unwrap_or("unknown");
    let document = json!({
        "callId": why.call, "time": last.time, "server": last.server, "tool": last.tool, "caller": last.caller,
        "decision": last.decision, "rule": last.rule, "code": said("code"), "reason": reason, "advice": advice(rule, last),
        "runId": last.run_id, "eventId": last.event_id,
    });
    app.output().show(&document, |_| {
        let mut words = String::new();
        let mut fact = |label: &str, value: Option<&str>| {
            if let Some(value) = value {
                let _ = writeln!(words, "{label:<8} {}", text::line(value));
            }
        };
        fact("time", Some(&text::local(&last.time)));
        fact("caller", last.caller.as_deref());
        fact("server", last.server.as_deref());
        fact("tool", last.tool.as_deref());
        fact("rule", Some(rule));
        fact("reason", reason);
        fact("next", Some(&advice(rule, last)));
        words
    })?;
    Ok(DONE)
}

/// What to do about a rule, from the closed list of policy.md §3.
fn advice(rule: &str, row: &AuditRow) -> String {
    let server = row.server.as_deref().unwrap_or("SERVER");
    // A tool's name is its server's: in a command that is there to be copied it is quoted for the shell.
    let target = format!("{server}/{}", row.tool.as_deref().unwrap_or("TOOL"));
    let target = shell_words::quote(&target);
    let (name, id) = rule.split_once(':').unwrap_or((rule, ""));
    match name {
        "deny-rule" | "ask-rule" => format!("take the rule back: `mcp-host approval revoke {id}`"),
        "mode-read-only" => "choose another mode: nothing overrides `read-only`".to_owned(),
        "needs-approval" | "unseen-definition" | "changed-definition" => {
            format!("run it in a terminal and answer, or allow it: `mcp-host approval grant {target}`")
        }
        "costly" => "run it in a terminal and answer: a costly tool always asks".to_owned(),
        "touches-mcp-host" => "its arguments point into the host's own folders: answer in a dialog".to_owned(),
        "too-large-to-show" => "call it with smaller arguments, or give its digest with `--approve-scoped`".to_owned(),
        "silenced" => "wait five minutes: it was denied several times in a row".to_owned(),
        "unconfirmed-launch" => format!("confirm it: `mcp-host trust allow --server {server}`"),
        "answer" => "the person answered no".to_owned(),
        _ => format!("see `mcp-host approval check {target}`"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn rule(line: &str, effect: &str) -> Result<NewRule> {
        let words = shell_words::split(&format!("mcp-host approval grant {line}")).unwrap();
        let Command::Approval(approval) = Cli::try_parse_from(words).unwrap().command else {
            panic!("another command")
        };
        let ApprovalCommand::Grant(rule) = approval.command else { panic!("another command") };
        rule.new_rule(effect)
    }

    fn fails(line: &str) -> bool {
        Cli::try_parse_from(shell_words::split(&format!("mcp-host approval grant {line}")).unwrap()).is_err()
    }

    #[test]
    fn a_rule_says_what_it_is_about() {
        let target = |line: &str| rule(line, "allow").unwrap().target.unwrap();
        assert_eq!(target("files/read"), GrantTarget::Tool { server: Some("files".into()), tool: "read".into() });
        assert_eq!(target("'files/*'"), GrantTarget::Server("files".into()));
        assert_eq!(target("files --resources"), GrantTarget::Resources { server: "files".into(), uri: None });
        assert_eq!(
            target("files --resources='file:///a/**'"),
            GrantTarget::Resources { server: "files".into(), uri: Some("file:///a/**".into()) }
        );
        assert_eq!(target("files --prompts"), GrantTarget::Prompts { server: "files".into() });
        assert!(rule("files/x --prompts", "allow").is_err());
    }

    #[test]
    fn scopes_and_callers_are_closed_lists() {
        assert!(fails("a/b --scope session") && fails("a/b --scope forever"));
        assert!(fails("a/b --caller settings") && fails("a/b --caller me"));
        let rule = rule("a/b --scope once --caller page --caller agent", "allow").unwrap();
        assert_eq!((rule.scope.as_str(), rule.callers), ("once", vec![CallerKind::Page, CallerKind::Agent]));
    }

    #[test]
    fn conditions_are_read_strictly() {
        let made = rule(r#"a/b --equals '/n=1.0' --path-glob /p=/x/* --word-prefix '/c=git log' --any /rest"#, "allow");
        let made = made.unwrap();
        assert_eq!(made.path_globs.get("/p").map(String::as_str), Some("/x/*"));
        assert_eq!(made.word_prefixes.get("/c").map(String::as_str), Some("git log"));
        assert_eq!(made.any, ["/rest"]);
        assert!(made.equals.contains_key("/n"));
        assert!(rule(r#"a/b --equals '/n={"a":1,"a":2}'"#, "allow").is_err());
        assert!(rule("a/b --path-glob /p=/x --path-glob /p=/y", "allow").is_err());
        assert!(fails("a/b --args-exact {} --any /x"));
    }
}
