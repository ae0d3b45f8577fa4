//! What a rule matches, and what it is bound to.

use std::collections::BTreeMap;

use super::{CallerKind::*, *};
use crate::{
    model::json::{self, Limits, Object},
    policy::condition::Constraint,
};

fn id(text: &str) -> ServerId {
    ServerId::parse(text).unwrap()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn rule(effect: Effect, server: Option<&str>, target: Target) -> Rule {
    let rule = Rule::new(effect, server.map(id), target, Callers::Every, MadeBy::Cli, at("2026-01-01T00:00:00Z"));
    rule.unwrap().bound_to("print", None)
}

fn tool(name: &str) -> Target {
    Target::Tool(name.to_owned())
}

fn object(text: &str) -> Object {
    json::parse(text.as_bytes(), Limits::ARGUMENTS).unwrap().as_object().unwrap().clone()
}

/// Whether the rule matches a call of `files/read` by a page, in mode `prompt`.
fn matches_call(rule: &Rule, arguments: &str) -> bool {
    let arguments = object(arguments);
    let subject = Subject::Call { tool: "read", definition: "def", arguments: Some(&arguments), bytes: 0 };
    matches(rule, &subject)
}

fn matches(rule: &Rule, subject: &Subject<'_>) -> bool {
    rule.matches(subject, &circumstances(&id("files"), Page))
}

fn circumstances(server: &ServerId, caller: CallerKind) -> Circumstances<'_> {
    Circumstances { server, fingerprint: "print", caller, mode: Mode::Prompt, now: at("2026-06-01T00:00:00Z") }
}

#[test]
fn a_rule_counts_for_its_server_tool_and_callers_only() {
    assert!(matches_call(&rule(Effect::Allow, Some("files"), tool("read")), "{}"));
    assert!(matches_call(&rule(Effect::Allow, Some("files"), Target::All), "{}"));
    assert!(!matches_call(&rule(Effect::Allow, Some("other"), tool("read")), "{}"));
    assert!(!matches_call(&rule(Effect::Allow, Some("files"), tool("Read")), "{}"));
    assert!(!matches_call(&rule(Effect::Allow, Some("files"), Target::Prompts(None)), "{}"));
    let mut mine = rule(Effect::Allow, Some("files"), tool("read"));
    mine.callers = Callers::one(Agent);
    assert!(!matches_call(&mine, "{}"));
    mine.callers = Callers::Only([Agent, Page].into());
    assert!(matches_call(&mine, "{}"));
    assert_eq!(mine.callers.kinds(), [Page, Agent]);
}

#[test]
fn an_edited_command_loses_its_grant_and_keeps_its_denials() {
    let mut allow = rule(Effect::Allow, Some("files"), tool("read")).bound_to("other", None);
    assert!(!matches_call(&allow, "{}"));
    assert_eq!(allow.dormant(allow.made_at, Some("print"), None), Some(Dormant::ServerChanged));
    allow = allow.bound_to("print", Some("old".into()));
    assert!(!matches_call(&allow, "{}"));
    assert_eq!(allow.dormant(allow.made_at, Some("print"), Some("def")), Some(Dormant::DefinitionChanged));
    allow = allow.bound_to("print", Some("def".into()));
    assert!(matches_call(&allow, "{}"));
    for effect in [Effect::Deny, Effect::Ask] {
        let other = rule(effect, Some("files"), tool("read")).bound_to("other", Some("old".into()));
        assert!(matches_call(&other, "{}"), "{effect:?}");
    }
}

#[test]
fn a_rule_counts_until_it_expires_and_in_its_mode() {
    let lasting =
        |expires: &str| rule(Effect::Allow, Some("files"), tool("read")).lasting(Scope::Always, Some(at(expires)));
    assert!(matches_call(&lasting("2026-06-01T00:00:01Z"), "{}"));
    assert!(!matches_call(&lasting("2026-06-01T00:00:00Z"), "{}"));
    let mut moded = rule(Effect::Allow, Some("files"), tool("read"));
    moded.mode = Some(Mode::Allow);
    assert!(!matches_call(&moded, "{}"));
    moded.mode = Some(Mode::Prompt);
    assert!(matches_call(&moded, "{}"));
}

#[test]
fn every_tool_is_all_tools_for_an_allow_and_everything_for_a_deny() {
    let none = BTreeMap::new();
    let others = [
        Subject::Resource { uri: "file:///a", listed: true },
        Subject::Prompt { name: "p", arguments: &none },
        Subject::PromptCompletion { name: "p", value: "", context: &none },
        Subject::TemplateCompletion { uri_template: "file:///{x}", value: "", context: &none },
        Subject::Connect,
    ];
    for subject in &others {
        for effect in [Effect::Allow, Effect::Ask] {
            assert!(!matches(&rule(effect, Some("files"), Target::All), subject), "{subject:?}");
        }
        assert!(matches(&rule(Effect::Deny, Some("files"), Target::All), subject), "{subject:?}");
        assert!(matches(&rule(Effect::Deny, None, Target::All), subject), "{subject:?}");
        // A tool's name is a tool's name.
        assert!(!matches(&rule(Effect::Deny, None, tool("p")), subject), "{subject:?}");
    }
    assert!(matches_call(&rule(Effect::Deny, None, tool("read")), "{}"));
}

#[test]
fn reading_is_allowed_by_listing_or_by_uri() {
    let listed = rule(Effect::Allow, Some("files"), Target::Resources(Resources::Listed));
    let glob =
        |effect, pattern: &str| rule(effect, Some("files"), Target::Resources(Resources::Uri(pattern.to_owned())));
    let resource = |uri, listed| Subject::Resource { uri, listed };
    assert!(matches(&listed, &resource("file:///a", true)));
    assert!(!matches(&listed, &resource("file:///a", false)));
    assert!(matches(&glob(Effect::Allow, "file:///n/*"), &resource("file:///n/a", false)));
    assert!(!matches(&glob(Effect::Allow, "file:///n/*"), &resource("file:///n/../a", false)));
    assert!(matches(&glob(Effect::Deny, "file:///x/*"), &resource("file:///n/../x/a", true)));

    let none = BTreeMap::new();
    let completion = |template| Subject::TemplateCompletion { uri_template: template, value: "", context: &none };
    assert!(matches(&listed, &completion("file:///n/{name}")));
    assert!(!matches(&glob(Effect::Allow, "file:///**"), &completion("file:///n/{name}")));
    assert!(matches(&glob(Effect::Deny, "file:///n/secret/*"), &completion("file:///n/{name}")));
    assert!(!matches(&glob(Effect::Deny, "file:///x/*"), &completion("file:///n/{name}")));
}

#[test]
fn a_prompt_and_its_completion_share_a_rule() {
    let none = BTreeMap::new();
    let one = rule(Effect::Allow, Some("files"), Target::Prompts(Some("p".into())));
    assert!(matches(&one, &Subject::Prompt { name: "p", arguments: &none }));
    assert!(matches(&one, &Subject::PromptCompletion { name: "p", value: "", context: &none }));
    assert!(!matches(&one, &Subject::Prompt { name: "q", arguments: &none }));
    assert!(!matches_call(&one, "{}"));
}

#[test]
fn conditions_are_read_strictly_for_an_allow_and_broadly_for_a_deny() {
    let conditions = || Conditions::each([("/n".to_owned(), Constraint::Equals(1.into()))].into()).unwrap();
    let allow = rule(Effect::Allow, Some("files"), tool("read")).with_conditions(conditions());
    let deny = rule(Effect::Deny, Some("files"), tool("read")).with_conditions(conditions());
    for (arguments, allowed, denied) in [
        (r#"{"n":1}"#, true, true),
        (r#"{"n":1.0}"#, false, true),
        (r#"{"n":1,"m":2}"#, false, true),
        ("{}", false, false),
    ] {
        assert_eq!(matches_call(&allow, arguments), allowed, "{arguments}");
        assert_eq!(matches_call(&deny, arguments), denied, "{arguments}");
    }
    // A deny under conditions says nothing of what has no arguments, and nothing of a prospect.
    let everything = rule(Effect::Deny, Some("files"), Target::All).with_conditions(conditions());
    assert!(matches_call(&everything, r#"{"n":1}"#));
    assert!(!matches(&everything, &Subject::Connect));
    for rule in [&allow, &deny] {
        assert!(!matches(rule, &Subject::prospect("read", "def")));
    }
}

#[test]
fn a_rule_that_cannot_be_meant_is_refused_and_allows_nothing() {
    let conditions = || Conditions::Exact(Object::new());
    let mut nobody = rule(Effect::Deny, Some("files"), Target::All);
    nobody.callers = Callers::Only(BTreeSet::new());
    let mut unbound = rule(Effect::Allow, Some("files"), tool("read"));
    unbound.fingerprint = None;
    assert!(!matches_call(&unbound, "{}"));
    for (rule, path) in [
        (rule(Effect::Allow, None, tool("read")), "/server"),
        (rule(Effect::Ask, None, tool("read")), "/server"),
        (rule(Effect::Allow, None, Target::All), "/server"),
        (unbound.clone(), "/fingerprint"),
        (nobody, "/callers"),
        (rule(Effect::Deny, None, Target::Resources(Resources::Uri("/etc".into()))), "/uri"),
        (rule(Effect::Allow, Some("files"), Target::All).with_conditions(conditions()), "/conditions"),
        (rule(Effect::Ask, Some("files"), Target::All).with_conditions(conditions()), "/conditions"),
        (rule(Effect::Deny, Some("files"), Target::Prompts(None)).with_conditions(conditions()), "/conditions"),
        (
            rule(Effect::Deny, Some("files"), tool("read")).with_conditions(Conditions::Each(BTreeMap::new())),
            "/conditions",
        ),
    ] {
        let error = rule.check().unwrap_err();
        assert!(matches!(&error, Error::InvalidInput { path: at, .. } if at == path), "{error} {path}");
    }
    // The application's own tools have no fingerprint.
    let mut local = unbound;
    local.server = Some(id("local"));
    local.check().unwrap();
}

#[test]
fn narrower_is_higher() {
    let read = || rule(Effect::Allow, Some("files"), tool("read"));
    let each = Conditions::each([("/n".to_owned(), Constraint::Any)].into()).unwrap();
    let ranks = [
        rule(Effect::Allow, Some("files"), Target::All).rank(),
        read().rank(),
        read().with_conditions(each).rank(),
        read().with_conditions(Conditions::Exact(Object::new())).rank(),
    ];
    assert_eq!(ranks, [Rank::Server, Rank::Tool, Rank::Conditions, Rank::Exact]);
    assert!(ranks.is_sorted());
}

#[test]
fn rules_survive_the_store_and_an_unknown_field_does_not() {
    let each = Conditions::each([("/n".to_owned(), Constraint::Equals("x".into()))].into()).unwrap();
    for target in [
        Target::All,
        tool("read"),
        Target::Resources(Resources::Listed),
        Target::Resources(Resources::Uri("file:///a/*".into())),
        Target::Prompts(None),
        Target::Prompts(Some("p".into())),
    ] {
        let mut rule = rule(Effect::Allow, Some("files"), target).with_conditions(each.clone());
        rule.callers = Callers::Only([Serve, Cli].into());
        rule.mode = Some(Mode::Prompt);
        let text = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<Rule>(&text).unwrap(), rule, "{text}");
        let more = text.replacen('{', r#"{"note":1,"#, 1);
        assert!(serde_json::from_str::<Rule>(&more).is_err(), "{more}");
    }
}
