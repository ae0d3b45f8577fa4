//! The decision against an independent statement of policy.md §3, over every combination of what it looks at.

use std::{collections::BTreeMap, path::Path};

use super::*;
use crate::{
    model::json::{self, Limits, Object},
    policy::{
        condition::{Conditions, Constraint},
        rule::{Callers, MadeBy, Resources, Target},
        token::TokenRefusal,
    },
};

fn id(text: &str) -> ServerId {
    ServerId::parse(text).unwrap()
}

fn now() -> Timestamp {
    "2026-06-01T00:00:00Z".parse().unwrap()
}

fn object(text: &str) -> Object {
    json::parse(text.as_bytes(), Limits::ARGUMENTS).unwrap().as_object().unwrap().clone()
}

fn rule(effect: Effect, target: Target) -> Rule {
    Rule::new(effect, Some(id("files")), target, Callers::Every, MadeBy::Cli, now()).unwrap().bound_to("print", None)
}

fn tool(name: &str) -> Target {
    Target::Tool(name.to_owned())
}

fn own_folders() -> OwnFolders {
    OwnFolders::new([Path::new("/home/me/.config/mcp-host")]).with_home(Path::new("/home/me"))
}

/// A call that nothing speaks for or against, in mode `prompt`, with somebody to ask.
struct World {
    server: ServerId,
    arguments: Object,
    bytes: usize,
    rules: Vec<Rule>,
    own_folders: OwnFolders,
}

impl World {
    fn new() -> Self {
        Self {
            server: id("files"),
            arguments: object(r#"{"path":"/notes/a"}"#),
            bytes: 19,
            rules: Vec::new(),
            own_folders: own_folders(),
        }
    }

    fn with(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self { rules: rules.into_iter().collect(), ..Self::new() }
    }

    fn call(&self) -> Subject<'_> {
        Subject::Call { tool: "read", definition: "def", arguments: Some(&self.arguments), bytes: self.bytes }
    }

    fn decide(&self, subject: Subject<'_>, change: impl FnOnce(&mut Facts<'_>)) -> Decision {
        let rules: Vec<&Rule> = self.rules.iter().collect();
        let mut facts = Facts {
            server: &self.server,
            subject,
            caller: CallerKind::Page,
            obstacle: None,
            launch: LaunchState::Confirmed,
            fingerprint: "print",
            mode: EffectiveMode { mode: Mode::Prompt, source: ModeSource::Default },
            class: Class::Other,
            costly: false,
            pin: PinState::Pinned,
            rules: &rules,
            token: TokenState::Absent,
            scoped_digest: false,
            own_folders: &self.own_folders,
            linked_to_own_folders: false,
            silence: None,
            prompter: true,
            now: now(),
        };
        change(&mut facts);
        decide(&facts)
    }

    fn outcome(&self, subject: Subject<'_>, change: impl FnOnce(&mut Facts<'_>)) -> String {
        said(&self.decide(subject, change))
    }

    fn call_outcome(&self, change: impl FnOnce(&mut Facts<'_>)) -> String {
        self.outcome(self.call(), change)
    }
}

/// Verdict and rule, ids left out.
fn said(decision: &Decision) -> String {
    let verdict = match &decision.verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny(Denial::NobodyToAsk) => "nobody",
        Verdict::Deny(_) => "deny",
        Verdict::Fail(_) => "fail",
    };
    let name = decision.rule_name();
    format!("{verdict} {}", name.split_once(':').map_or(name.as_str(), |(kind, _)| kind))
}

fn mode(mode: Mode) -> EffectiveMode {
    EffectiveMode { mode, source: ModeSource::Run }
}

/// What rules there are, and what the most specific of them says.
const RULES: [&str; 10] = [
    "none",
    "deny tool",
    "deny server",
    "allow server",
    "allow tool",
    "ask tool",
    "allow server, ask tool",
    "allow tool, ask tool",
    "ask server, allow exact",
    "other caller's allow and deny",
];

fn rules_of(name: &str) -> Vec<Rule> {
    let exact = Conditions::Exact(object(r#"{"path":"/notes/a"}"#));
    match name {
        "none" => vec![],
        "deny tool" => vec![rule(Effect::Allow, tool("read")), rule(Effect::Deny, tool("read"))],
        "deny server" => {
            vec![rule(Effect::Deny, Target::All), rule(Effect::Allow, tool("read")).with_conditions(exact)]
        }
        "allow server" => vec![rule(Effect::Allow, Target::All)],
        "allow tool" => vec![rule(Effect::Allow, tool("read"))],
        "ask tool" => vec![rule(Effect::Ask, tool("read"))],
        "allow server, ask tool" => vec![rule(Effect::Ask, tool("read")), rule(Effect::Allow, Target::All)],
        "allow tool, ask tool" => vec![rule(Effect::Ask, tool("read")), rule(Effect::Allow, tool("read"))],
        "ask server, allow exact" => {
            vec![rule(Effect::Ask, Target::All), rule(Effect::Allow, tool("read")).with_conditions(exact)]
        }
        _ => {
            let mut rules = vec![rule(Effect::Allow, tool("read")), rule(Effect::Deny, tool("read"))];
            for rule in &mut rules {
                rule.callers = Callers::one(CallerKind::Settings);
            }
            rules
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
struct Row {
    mode: Mode,
    read_only: bool,
    costly: bool,
    rules: &'static str,
    caller: CallerKind,
    pin: PinState,
    token: TokenState,
    digest: bool,
    touches: bool,
    local: bool,
    prompter: bool,
}

/// Policy.md §3 once more, in other words: who is stopped for good, who needs a person, who goes through.
fn stated(row: Row) -> String {
    let for_caller = row.rules != RULES[9] || row.caller == CallerKind::Settings;
    let rules = match row.rules {
        _ if row.local || !for_caller => "nothing",
        "deny tool" | "deny server" => "deny",
        "other caller's allow and deny" => "deny",
        "allow server" | "allow tool" | "ask server, allow exact" => "allow",
        "none" => "nothing",
        _ => "ask",
    };
    let full = row.mode == Mode::DangerFullAccess;
    let person = |why: &str| if row.prompter { format!("ask {why}") } else { format!("nobody {why}") };

    // Stopped for good, whatever anybody holds in hand.
    if rules == "deny" {
        return "deny deny-rule".into();
    }
    if row.mode == Mode::ReadOnly && !row.read_only {
        return "deny mode-read-only".into();
    }
    // A person must look, whatever anybody holds in hand.
    if row.touches {
        return person("touches-mcp-host");
    }
    let known = row.local || row.pin == PinState::Pinned || full || row.digest;
    if !known {
        return person(if row.pin == PinState::Changed { "changed-definition" } else { "unseen-definition" });
    }
    // Exactly this call was approved, or was said to be.
    match row.token {
        TokenState::Valid => return "allow token".into(),
        TokenState::Refused(_) => return "fail token".into(),
        TokenState::Absent => {}
    }
    if row.digest {
        return "allow scoped-digest".into();
    }
    // The person's standing word.
    match (row.costly, rules) {
        (true, _) => return person("costly"),
        (false, "allow") => return "allow allow-rule".into(),
        (false, "ask") => return person("ask-rule"),
        _ => {}
    }
    match (row.mode, row.read_only) {
        (Mode::DangerFullAccess, _) => "allow mode-full-access".into(),
        (Mode::Allow, _) => "allow mode-allow".into(),
        (Mode::ReadOnly | Mode::Prompt, true) => "allow read-only-class".into(),
        (Mode::ReadOnly | Mode::Prompt, false) => person("needs-approval"),
    }
}

fn every_row(mut look: impl FnMut(Row)) {
    let pins = [PinState::Unseen, PinState::Pinned, PinState::Changed];
    let tokens = [TokenState::Absent, TokenState::Valid, TokenState::Refused(TokenRefusal::Expired)];
    // One bit for each thing that is or is not so.
    for (bits, mode) in (0..64_u32).flat_map(|bits| Mode::ALL.map(|mode| (bits, mode))) {
        let bit = |number: u32| bits >> number & 1 == 1;
        for (caller, rules) in CallerKind::ALL.into_iter().flat_map(|caller| RULES.map(|rules| (caller, rules))) {
            for (pin, token) in pins.into_iter().flat_map(|pin| tokens.map(|token| (pin, token))) {
                look(Row {
                    mode,
                    read_only: bit(0),
                    costly: bit(1),
                    digest: bit(2),
                    touches: bit(3),
                    local: bit(4),
                    prompter: bit(5),
                    rules,
                    caller,
                    pin,
                    token,
                });
            }
        }
    }
}

#[test]
fn every_combination_is_decided_as_it_is_stated() {
    let mut worlds: BTreeMap<(&str, bool, bool), World> = BTreeMap::new();
    for rules in RULES {
        for (local, touches) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut world = World::with(rules_of(rules));
            if local {
                world.server = id("local");
            }
            if touches {
                // What makes an exact rule match must be what leads into our folder.
                let own = object(r#"{"path":"~/.config/mcp-host/key"}"#);
                for rule in &mut world.rules {
                    if let Some(conditions) = &mut rule.conditions {
                        *conditions = Conditions::Exact(own.clone());
                    }
                }
                world.arguments = own;
            }
            worlds.insert((rules, local, touches), world);
        }
    }
    let mut rows = 0;
    every_row(|row| {
        let world = worlds.get(&(row.rules, row.local, row.touches)).unwrap();
        let said = world.call_outcome(|facts| {
            facts.mode = mode(row.mode);
            facts.class = if row.read_only { Class::ReadOnly } else { Class::Other };
            facts.costly = row.costly;
            facts.caller = row.caller;
            facts.pin = row.pin;
            facts.token = row.token;
            facts.scoped_digest = row.digest;
            facts.prompter = row.prompter;
        });
        assert_eq!(said, stated(row), "{row:?}");
        rows += 1;
    });
    assert_eq!(rows, 4 * 64 * 5 * 10 * 9);
}

#[test]
fn a_token_turns_no_denial_into_a_yes() {
    let with_token = |world: &World, change: fn(&mut Facts<'_>)| {
        world.call_outcome(|facts| {
            facts.token = TokenState::Valid;
            change(facts);
        })
    };
    assert_eq!(with_token(&World::new(), |_| {}), "allow token");
    assert_eq!(with_token(&World::with(rules_of("deny tool")), |_| {}), "deny deny-rule");
    assert_eq!(with_token(&World::new(), |facts| facts.mode = mode(Mode::ReadOnly)), "deny mode-read-only");
    assert_eq!(with_token(&World::new(), |facts| facts.silence = Some(Silence::Everything)), "deny silenced");
}

#[test]
fn a_server_wide_allow_and_one_tool_set_to_ask() {
    let world = World::with(rules_of("allow server, ask tool"));
    let decision = world.decide(world.call(), |_| {});
    assert_eq!(said(&decision), "ask ask-rule");
    assert_eq!(decision.used, Some((world.rules.first().unwrap().id.clone(), Scope::Always)));
    let other = Subject::Call { tool: "list", definition: "def", arguments: Some(&world.arguments), bytes: 2 };
    assert_eq!(world.outcome(other, |_| {}), "allow allow-rule");
}

#[test]
fn of_two_grants_as_narrow_the_longer_lived_is_used() {
    let once = rule(Effect::Allow, tool("read")).lasting(Scope::Once, None);
    let always = rule(Effect::Allow, tool("read"));
    for rules in [[once.clone(), always.clone()], [always.clone(), once.clone()]] {
        let world = World::with(rules);
        assert_eq!(world.decide(world.call(), |_| {}).used, Some((always.id.clone(), Scope::Always)));
    }
    let world = World::with([once.clone()]);
    assert_eq!(world.decide(world.call(), |_| {}).used, Some((once.id, Scope::Once)));
}

#[test]
fn conditions_outrank_the_tool_and_this_exact_call_outranks_conditions() {
    let glob = || Conditions::each([("/path".to_owned(), Constraint::PathGlob("/notes/*".to_owned()))].into()).unwrap();
    let exact = || Conditions::Exact(object(r#"{"path":"/notes/a"}"#));
    let world = |rules: [Rule; 2]| World::with(rules).call_outcome(|_| {});
    let allow = || rule(Effect::Allow, tool("read"));
    let ask = || rule(Effect::Ask, tool("read"));
    assert_eq!(world([allow().with_conditions(glob()), ask()]), "allow allow-rule");
    assert_eq!(world([ask().with_conditions(glob()), allow()]), "ask ask-rule");
    assert_eq!(world([allow().with_conditions(exact()), ask().with_conditions(glob())]), "allow allow-rule");
    assert_eq!(world([allow().with_conditions(glob()), ask().with_conditions(exact())]), "ask ask-rule");
    assert_eq!(world([allow().with_conditions(exact()), ask().with_conditions(exact())]), "ask ask-rule");
}

#[test]
fn what_stands_in_the_way_comes_before_everything() {
    let world = World::with([rule(Effect::Deny, Target::All)]);
    let disabled = Error::ServerDisabled { server: id("files") };
    let decision = world.decide(world.call(), |facts| {
        facts.obstacle = Some(disabled.clone());
        facts.launch = LaunchState::New;
    });
    assert!(matches!(&decision.verdict, Verdict::Fail(Error::ServerDisabled { .. })));
    assert_eq!(decision.rule, None);
    for launch in [LaunchState::New, LaunchState::Changed, LaunchState::Expired, LaunchState::Denied] {
        let decision = world.decide(world.call(), |facts| facts.launch = launch);
        assert!(matches!(&decision.verdict, Verdict::Fail(Error::ServerUnapproved { .. })));
        assert_eq!(decision.rule_name(), "unconfirmed-launch");
    }
}

#[test]
fn a_launch_is_waived_only_for_a_run_that_can_ask_nobody() {
    let world = World::new();
    let outcome = |mode: EffectiveMode, prompter: bool| {
        world.call_outcome(|facts| {
            facts.launch = LaunchState::New;
            facts.mode = mode;
            facts.prompter = prompter;
        })
    };
    let run = |mode| EffectiveMode { mode, source: ModeSource::Run };
    assert_eq!(outcome(run(Mode::DangerFullAccess), false), "allow mode-full-access");
    assert_eq!(outcome(run(Mode::DangerFullAccess), true), "fail unconfirmed-launch");
    assert_eq!(outcome(run(Mode::Allow), false), "fail unconfirmed-launch");
    // The person's own ceiling is not lifted by the flag, so that nothing is waived either.
    let ceiling = EffectiveMode::of(Some(Mode::DangerFullAccess), None, Some(Mode::ReadOnly));
    assert_eq!(outcome(ceiling, false), "fail unconfirmed-launch");
}

#[test]
fn a_question_too_large_to_show_is_not_put() {
    let mut world = World::new();
    world.bytes = MAX_SHOWN_BYTES;
    assert_eq!(world.call_outcome(|_| {}), "ask needs-approval");
    world.bytes += 1;
    assert_eq!(world.call_outcome(|_| {}), "deny too-large-to-show");
    assert_eq!(world.call_outcome(|facts| facts.prompter = false), "nobody needs-approval");
    assert_eq!(world.call_outcome(|facts| facts.mode = mode(Mode::Allow)), "allow mode-allow");
    assert_eq!(world.call_outcome(|facts| facts.scoped_digest = true), "allow scoped-digest");
    let large = BTreeMap::from([("a".to_owned(), "x".repeat(MAX_SHOWN_BYTES))]);
    let prompt = Subject::Prompt { name: "p", arguments: &large };
    assert_eq!(world.outcome(prompt, |_| {}), "deny too-large-to-show");
}

#[test]
fn a_silence_stops_questions_and_nothing_else() {
    let silenced = |world: &World, silence| world.call_outcome(|facts| facts.silence = Some(silence));
    assert_eq!(silenced(&World::new(), Silence::Questions), "deny silenced");
    assert_eq!(silenced(&World::with(rules_of("allow tool")), Silence::Questions), "allow allow-rule");
    assert_eq!(silenced(&World::with(rules_of("ask tool")), Silence::Questions), "deny silenced");
    assert_eq!(silenced(&World::with(rules_of("allow tool")), Silence::Everything), "deny silenced");
}

#[test]
fn a_link_into_our_own_folders_asks_like_a_path() {
    let outcome = World::with(rules_of("allow tool")).call_outcome(|facts| facts.linked_to_own_folders = true);
    assert_eq!(outcome, "ask touches-mcp-host");
}

#[test]
fn resources_need_a_rule_or_a_dialog() {
    let none = BTreeMap::new();
    let resource = |listed| Subject::Resource { uri: "memo://a", listed };
    let prompt = Subject::Prompt { name: "p", arguments: &none };
    let completion = Subject::PromptCompletion { name: "p", value: "", context: &none };
    let template = Subject::TemplateCompletion { uri_template: "memo://{x}", value: "", context: &none };
    let world = World::new();
    let outcome = |subject, one| world.outcome(subject, |facts| facts.mode = mode(one));
    for subject in [resource(true), resource(false), prompt, completion, template] {
        for one in [Mode::ReadOnly, Mode::Prompt] {
            assert_eq!(outcome(subject, one), "ask needs-approval", "{subject:?}");
        }
        assert_eq!(outcome(subject, Mode::DangerFullAccess), "allow mode-full-access", "{subject:?}");
        // Definition pins, tokens, digests, classes and costs are about tools.
        let facts_of_tools = world.outcome(subject, |facts| {
            facts.pin = PinState::Changed;
            facts.token = TokenState::Valid;
            facts.scoped_digest = true;
            facts.class = Class::ReadOnly;
            facts.costly = true;
        });
        assert_eq!(facts_of_tools, "ask needs-approval", "{subject:?}");
    }
    for subject in [resource(true), prompt, completion, template] {
        assert_eq!(outcome(subject, Mode::Allow), "allow mode-allow", "{subject:?}");
    }
    assert_eq!(outcome(resource(false), Mode::Allow), "ask needs-approval");

    let granted = World::with([
        rule(Effect::Allow, Target::Resources(Resources::Listed)),
        rule(Effect::Allow, Target::Prompts(None)),
    ]);
    for subject in [resource(true), prompt, completion, template] {
        assert_eq!(granted.outcome(subject, |_| {}), "allow allow-rule", "{subject:?}");
    }
    assert_eq!(granted.outcome(resource(false), |_| {}), "ask needs-approval");
    let own = Subject::Resource { uri: "file:///home/me/.config/mcp-host/key", listed: true };
    assert_eq!(granted.outcome(own, |_| {}), "ask touches-mcp-host");
}

#[test]
fn a_confirmed_server_may_be_connected_unless_it_is_denied() {
    let outcome = |world: &World, one| world.outcome(Subject::Connect, |facts| facts.mode = mode(one));
    let world = World::new();
    assert_eq!(outcome(&world, Mode::ReadOnly), "allow read-only-class");
    assert_eq!(outcome(&world, Mode::Prompt), "allow read-only-class");
    assert_eq!(outcome(&world, Mode::Allow), "allow mode-allow");
    assert_eq!(outcome(&World::with([rule(Effect::Deny, Target::All)]), Mode::Prompt), "deny deny-rule");
    assert_eq!(outcome(&World::with([rule(Effect::Deny, tool("read"))]), Mode::Prompt), "allow read-only-class");
    let unconfirmed = world.outcome(Subject::Connect, |facts| facts.launch = LaunchState::Changed);
    assert_eq!(unconfirmed, "fail unconfirmed-launch");
}

#[test]
fn the_prospects_of_a_tool_leave_out_what_depends_on_arguments() {
    let exact = World::with(rules_of("ask server, allow exact"));
    let prospect = Subject::prospect("read", "def");
    assert_eq!(exact.decide(prospect, |_| {}).permission(), Permission::Ask);
    let world = World::with(rules_of("allow tool"));
    assert_eq!(world.decide(prospect, |_| {}).permission(), Permission::Allow);
    assert_eq!(world.decide(prospect, |facts| facts.pin = PinState::Unseen).permission(), Permission::Ask);
    let nobody = |facts: &mut Facts<'_>| {
        facts.pin = PinState::Unseen;
        facts.prompter = false;
    };
    assert_eq!(world.decide(prospect, nobody).permission(), Permission::Ask);
    assert_eq!(World::with(rules_of("deny tool")).decide(prospect, |_| {}).permission(), Permission::Deny);
}

#[test]
fn the_order_ends_with_the_step_that_decided() {
    let world = World::new();
    let decision = world.decide(world.call(), |_| {});
    let numbers: Vec<&str> = decision.order.iter().map(|step| step.split(' ').next().unwrap()).collect();
    assert_eq!(numbers, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "10"]);
    let denied = World::with(rules_of("deny tool"));
    assert_eq!(denied.decide(denied.call(), |_| {}).order.last().unwrap(), "2 a deny rule matches");
}

#[test]
fn a_refusal_names_its_rule_and_the_next_step() {
    let world = World::new();
    let refuse = |change: fn(&mut Facts<'_>)| {
        let rules: Vec<&Rule> = Vec::new();
        let mut facts = Facts {
            server: &world.server,
            subject: world.call(),
            caller: CallerKind::Cli,
            obstacle: None,
            launch: LaunchState::Confirmed,
            fingerprint: "print",
            mode: EffectiveMode { mode: Mode::Prompt, source: ModeSource::Default },
            class: Class::Other,
            costly: false,
            pin: PinState::Pinned,
            rules: &rules,
            token: TokenState::Absent,
            scoped_digest: false,
            own_folders: &world.own_folders,
            linked_to_own_folders: false,
            silence: None,
            prompter: false,
            now: now(),
        };
        change(&mut facts);
        decide(&facts).refusal(&facts, "calling `read` of `files`", Some("d1ge57"))
    };
    let text = |change| refuse(change).unwrap().to_string();
    assert_eq!(
        text(|_| {}),
        "calling `read` of `files` needs approval and there is nobody to ask here (rule `needs-approval`); allow it with `mcp-host \
         approval grant files/read`, or start with `--approve-scoped files/read:d1ge57`"
    );
    assert!(text(|facts| facts.pin = PinState::Unseen).contains("`mcp-host approval grant files/read`"));
    let unseen = |facts: &mut Facts<'_>| (facts.pin, facts.class) = (PinState::Unseen, Class::ReadOnly);
    assert!(text(unseen).contains("mcp-host trust allow --server files --tool read"));
    let hostile = |facts: &mut Facts<'_>| {
        if let Subject::Call { tool, .. } = &mut facts.subject {
            *tool = "a`id`$(id)";
        }
    };
    assert!(text(hostile).contains("mcp-host approval grant 'files/a`id`$(id)'`"));
    assert!(!text(|facts| facts.costly = true).contains("approval grant"));
    let denied = refuse(|facts| facts.mode = EffectiveMode { mode: Mode::ReadOnly, source: ModeSource::Host }).unwrap();
    assert_eq!(
        denied.to_string(),
        "calling `read` of `files` is denied: the permission mode is read-only (rule `mode-read-only`)"
    );
    assert!(matches!(denied, Error::PolicyDenied { digest: Some(_), .. }));
    assert!(refuse(|facts| facts.mode = EffectiveMode { mode: Mode::Allow, source: ModeSource::Host }).is_none());
    let invalid = refuse(|facts| facts.token = TokenState::Refused(TokenRefusal::OtherArguments)).unwrap();
    assert!(matches!(invalid, Error::ApprovalTokenInvalid { why: "other_arguments", .. }));
}
