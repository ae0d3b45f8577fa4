//! Edits, and which of them let more happen.

use super::*;
use crate::{config::launch::StdioLaunch, model::CallerKind, policy::rule::Target};

fn id(text: &str) -> ServerId {
    ServerId::parse(text).unwrap()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn noon() -> Timestamp {
    at("2026-01-01T12:00:00Z")
}

fn rule(effect: Effect) -> Rule {
    Rule::new(effect, Some(id("files")), Target::Tool("read".into()), Callers::Every, MadeBy::Cli, noon())
        .unwrap()
        .bound_to("print", None)
}

fn put(rule: &Rule) -> Edit {
    Edit::PutRule(Box::new(rule.clone()))
}

fn with(rules: &[&Rule]) -> PolicyState {
    let mut state = PolicyState::default();
    rules.iter().for_each(|rule| state.apply(put(rule)).unwrap());
    state
}

fn record(fingerprint: &str, confirmed: bool) -> LaunchRecord {
    LaunchRecord {
        fingerprint: fingerprint.to_owned(),
        confirmed,
        launch: Launch::Stdio(StdioLaunch {
            command: "server".into(),
            args: vec!["--root".into(), "/notes".into()],
            cwd: None,
            env: BTreeMap::from([("TOKEN".into(), "${secret:t}".into())]),
            env_passthrough: std::collections::BTreeSet::new(),
        }),
        at: noon(),
        by: MadeBy::Dialog,
        expires_at: None,
    }
}

#[test]
fn a_rule_is_added_replaced_and_revoked() {
    let (allow, deny) = (rule(Effect::Allow), rule(Effect::Deny));
    let mut state = with(&[&allow, &deny]);
    let mut edited = allow.clone();
    edited.callers = Callers::one(CallerKind::Agent);
    state.apply(put(&edited)).unwrap();
    assert_eq!(state.rules(), [edited, deny.clone()]);
    state.apply(Edit::RemoveRule(allow.id.clone())).unwrap();
    assert_eq!(state.rules(), [deny]);
    assert!(state.apply(Edit::RemoveRule(allow.id)).is_err());
}

#[test]
fn what_cannot_be_meant_or_kept_is_refused_and_changes_nothing() {
    let mut state = PolicyState::default();
    let mut everywhere = rule(Effect::Allow);
    everywhere.server = None;
    for edit in [
        put(&everywhere),
        put(&rule(Effect::Allow).lasting(Scope::Session, None)),
        Edit::SetMode(Some(Mode::DangerFullAccess)),
        Edit::SetServerMode(id("files"), Some(Mode::DangerFullAccess)),
        Edit::SetRateLimit {
            server: id("files"),
            tool: None,
            limit: Some(RateLimit { max_calls: 0, window_seconds: 60 }),
        },
    ] {
        assert!(state.apply(edit.clone()).is_err(), "{edit:?}");
        assert_eq!(state, PolicyState::default());
    }
}

#[test]
fn a_grant_for_one_call_is_used_once() {
    let (once, always) = (rule(Effect::Allow).lasting(Scope::Once, None), rule(Effect::Allow));
    let mut state = with(&[&once, &always]);
    assert!(state.consume_once(&once.id));
    assert!(!state.consume_once(&once.id));
    assert!(!state.consume_once(&always.id));
    assert_eq!(state.rules(), std::slice::from_ref(&always));

    let mut session = SessionRules::default();
    session.add(once.clone(), noon()).unwrap();
    assert!(session.add(always, noon()).is_err());
    let revision = session.revision();
    assert!(session.consume_once(&once.id));
    assert!(!session.consume_once(&once.id));
    assert_eq!(session.revision(), revision + 1);
}

#[test]
fn a_session_ends_after_eight_hours_or_sooner() {
    let mut session = SessionRules::default();
    let soon = at("2026-01-01T13:00:00Z");
    session.add(rule(Effect::Allow).lasting(Scope::Session, None), noon()).unwrap();
    session.add(rule(Effect::Allow).lasting(Scope::Session, Some(soon)), noon()).unwrap();
    session.add(rule(Effect::Allow).lasting(Scope::Session, Some(at("2027-01-01T00:00:00Z"))), noon()).unwrap();
    let ends: Vec<_> = session.rules().iter().map(|rule| rule.expires_at.unwrap()).collect();
    let evening = at("2026-01-01T20:00:00Z");
    assert_eq!(ends, [evening, soon, evening]);
    // What is over is not kept.
    session.add(rule(Effect::Allow).lasting(Scope::Session, None), at("2026-01-02T00:00:00Z")).unwrap();
    assert_eq!(session.rules().len(), 1);
    assert!(session.remove(&session.rules().first().unwrap().id.clone()));
}

#[test]
fn a_launch_is_judged_by_its_fingerprint() {
    let mut state = PolicyState::default();
    let judge = |state: &PolicyState, fingerprint, now| state.launch_state(&id("files"), fingerprint, at(now));
    let noon = "2026-01-01T12:00:00Z";
    assert_eq!(judge(&state, "a", noon), LaunchState::New);
    let limited = LaunchRecord { expires_at: Some(at("2026-01-31T00:00:00Z")), ..record("a", true) };
    state.apply(Edit::RecordLaunch(id("files"), Box::new(limited))).unwrap();
    assert_eq!(judge(&state, "a", noon), LaunchState::Confirmed);
    assert_eq!(judge(&state, "a", "2026-01-31T00:00:00Z"), LaunchState::Expired);
    assert_eq!(judge(&state, "b", noon), LaunchState::Changed);
    state.apply(Edit::RecordLaunch(id("files"), Box::new(record("b", false)))).unwrap();
    assert_eq!(judge(&state, "b", noon), LaunchState::Denied);
    state.apply(Edit::ForgetLaunch(id("files"))).unwrap();
    assert_eq!(judge(&state, "b", noon), LaunchState::New);
    assert_eq!(state, PolicyState::default());
}

#[test]
fn a_classification_is_for_one_definition() {
    let mut state = PolicyState::default();
    let class = Classification { class: Class::ReadOnly, definition: "def".into() };
    let classify = |class| Edit::Classify { server: id("files"), tool: "read".into(), class };
    state.apply(classify(Some(class))).unwrap();
    assert_eq!(state.class(&id("files"), "read", "def"), Some(Class::ReadOnly));
    assert_eq!(state.class(&id("files"), "read", "other"), None);
    assert_eq!(state.class(&id("files"), "write", "def"), None);
    state.apply(classify(None)).unwrap();
    assert_eq!(state, PolicyState::default());
}

#[test]
fn a_tools_own_limit_comes_before_its_servers() {
    let mut state = PolicyState::default();
    let limit = |max_calls| Some(RateLimit { max_calls, window_seconds: 60 });
    let set = |tool: Option<&str>, limit| Edit::SetRateLimit { server: id("files"), tool: tool.map(Into::into), limit };
    state.apply(set(None, limit(10))).unwrap();
    state.apply(set(Some("write"), limit(2))).unwrap();
    assert_eq!(state.rate_limit(&id("files"), "write"), limit(2));
    assert_eq!(state.rate_limit(&id("files"), "read"), limit(10));
    assert_eq!(state.rate_limit(&id("other"), "read"), None);
    assert!(state.widens(&set(Some("write"), limit(3))) && !state.widens(&set(Some("write"), limit(1))));
    assert!(state.widens(&set(None, None)) && !state.widens(&set(Some("read"), limit(5))));
}

#[test]
fn what_lets_more_happen_is_told_from_what_lets_less() {
    let (allow, ask, deny) = (rule(Effect::Allow), rule(Effect::Ask), rule(Effect::Deny));
    let mut state = with(&[&allow, &ask, &deny]);
    state.apply(Edit::SetMode(Some(Mode::Allow))).unwrap();
    state.apply(Edit::SetServerMode(id("files"), Some(Mode::ReadOnly))).unwrap();
    state.apply(Edit::SetTrustAnnotations(id("trusted"), true)).unwrap();
    state.apply(Edit::SetCostly { server: id("files"), tool: "read".into(), costly: true }).unwrap();
    let class = |class| Some(Classification { class, definition: "def".into() });
    let classify = |tool: &str, class| Edit::Classify { server: id("files"), tool: tool.into(), class };
    state.apply(classify("other", class(Class::Other))).unwrap();
    let costly = |costly| Edit::SetCostly { server: id("files"), tool: "read".into(), costly };

    for edit in [
        put(&rule(Effect::Allow)),
        Edit::RemoveRule(ask.id),
        Edit::RemoveRule(deny.id),
        Edit::SetServerMode(id("files"), None),
        Edit::SetServerMode(id("files"), Some(Mode::Prompt)),
        Edit::SetTrustAnnotations(id("files"), true),
        classify("read", class(Class::ReadOnly)),
        classify("other", None),
        costly(false),
        Edit::RecordLaunch(id("files"), Box::new(record("a", true))),
    ] {
        assert!(state.widens(&edit), "{edit:?}");
    }
    for edit in [
        put(&rule(Effect::Ask)),
        put(&rule(Effect::Deny)),
        Edit::RemoveRule(allow.id),
        Edit::RemoveRule(RuleId::from_text("nothing")),
        Edit::SetMode(Some(Mode::ReadOnly)),
        Edit::SetMode(None),
        Edit::SetServerMode(id("other"), Some(Mode::Prompt)),
        Edit::SetServerMode(id("other"), Some(Mode::Allow)),
        Edit::SetTrustAnnotations(id("trusted"), true),
        Edit::SetTrustAnnotations(id("trusted"), false),
        classify("read", class(Class::Other)),
        classify("read", None),
        costly(true),
        Edit::RecordLaunch(id("files"), Box::new(record("a", false))),
        Edit::ForgetLaunch(id("files")),
    ] {
        assert!(!state.widens(&edit), "{edit:?}");
    }
    state.apply(Edit::SetMode(Some(Mode::ReadOnly))).unwrap();
    assert!(state.widens(&Edit::SetMode(None)));
    assert!(state.widens(&Edit::SetServerMode(id("other"), Some(Mode::Prompt))));
}

#[test]
fn an_edited_rule_is_compared_with_what_it_was() {
    type Change = fn(&mut Rule);
    let narrower: [Change; 5] = [
        |rule| rule.callers = Callers::one(CallerKind::Page),
        |rule| rule.expires_at = Some(at("2026-02-01T00:00:00Z")),
        |rule| rule.conditions = Some(crate::policy::condition::Conditions::Exact(Default::default())),
        |rule| rule.scope = Scope::Once,
        |rule| rule.effect = Effect::Deny,
    ];
    for change in narrower {
        let old = rule(Effect::Allow);
        let mut new = old.clone();
        change(&mut new);
        assert!(!with(&[&old]).widens(&put(&new)), "{new:?}");
        assert!(with(&[&new]).widens(&put(&old)), "{new:?}");

        // For what stops something the same changes let more happen.
        let (mut old, mut new) = (old, new);
        (old.effect, new.effect) = (Effect::Deny, Effect::Deny);
        if old != new {
            assert!(with(&[&old]).widens(&put(&new)), "{new:?}");
            assert!(!with(&[&new]).widens(&put(&old)), "{new:?}");
        }
    }
    let old = rule(Effect::Allow);
    let others: [Change; 4] = [
        |rule| rule.target = Target::All,
        |rule| rule.server = Some(id("other")),
        |rule| rule.fingerprint = Some("other".into()),
        |rule| rule.mode = Some(Mode::Allow),
    ];
    for change in others {
        let mut new = old.clone();
        change(&mut new);
        assert!(with(&[&old]).widens(&put(&new)), "{new:?}");
    }
}

#[test]
fn the_state_survives_the_store() {
    let mut state = with(&[&rule(Effect::Allow), &rule(Effect::Deny)]);
    state.apply(Edit::SetMode(Some(Mode::Allow))).unwrap();
    state.apply(Edit::SetServerMode(id("files"), Some(Mode::ReadOnly))).unwrap();
    state.apply(Edit::RecordLaunch(id("files"), Box::new(record("a", true)))).unwrap();
    state.apply(Edit::SetCostly { server: id("web"), tool: "buy".into(), costly: true }).unwrap();
    let text = serde_json::to_string_pretty(&state).unwrap();
    assert_eq!(serde_json::from_str::<PolicyState>(&text).unwrap(), state);
    assert_eq!(serde_json::from_str::<PolicyState>("{}").unwrap(), PolicyState::default());
}

#[test]
fn a_stored_state_that_could_not_have_been_made_is_refused() {
    let state = with(&[&rule(Effect::Deny)]);
    let good = serde_json::to_value(&state).unwrap();
    let mut twice = good.clone();
    let first = twice["rules"][0].clone();
    twice["rules"].as_array_mut().unwrap().push(first);
    let mut everywhere = good.clone();
    everywhere["rules"][0]["effect"] = "allow".into();
    everywhere["rules"][0].as_object_mut().unwrap().remove("server");
    let mut session = good.clone();
    session["rules"][0]["scope"] = "session".into();
    let mut mode = good.clone();
    mode["mode"] = "danger-full-access".into();
    let mut server_mode = good.clone();
    server_mode["servers"] = serde_json::json!({"files": {"mode": "danger-full-access"}});
    let mut unknown = good.clone();
    unknown["more"] = 1.into();
    for bad in [twice, everywhere, session, mode, server_mode, unknown] {
        assert!(serde_json::from_str::<PolicyState>(&bad.to_string()).is_err(), "{bad}");
    }
    assert_eq!(serde_json::from_str::<PolicyState>(&good.to_string()).unwrap(), state);
}

#[test]
fn uses_are_counted_and_forgotten_with_their_rules() {
    let (one, other) = (rule(Effect::Allow), rule(Effect::Deny));
    let mut uses = Uses::default();
    uses.count(&one.id, noon());
    uses.count(&one.id, at("2026-01-01T13:00:00Z"));
    uses.count(&one.id, noon());
    uses.count(&other.id, noon());
    assert_eq!(uses.of(&one.id), Some(Use { count: 3, last: at("2026-01-01T13:00:00Z") }));
    uses.keep_only([&one]);
    assert_eq!((uses.of(&other.id), uses.of(&one.id).is_some()), (None, true));
}
