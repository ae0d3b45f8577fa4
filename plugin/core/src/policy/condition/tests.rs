//! Tricks to get past a condition, each of which must fail in both directions.

use proptest::prelude::*;

use super::{path::normal_path, *};
use crate::model::json::{self, Limits};

fn object(text: &str) -> Object {
    match json::parse(text.as_bytes(), Limits::ARGUMENTS).unwrap() {
        Value::Object(object) => object,
        other => panic!("{other:?}"),
    }
}

fn each<const N: usize>(constraints: [(&str, Constraint); N]) -> Conditions {
    Conditions::each(constraints.map(|(pointer, constraint)| (pointer.to_owned(), constraint)).into()).unwrap()
}

fn equals(text: &str) -> Constraint {
    Constraint::Equals(json::parse(text.as_bytes(), Limits::ARGUMENTS).unwrap())
}

fn glob(pattern: &str) -> Constraint {
    Constraint::PathGlob(pattern.to_owned())
}

#[test]
fn an_argument_that_is_not_mentioned_is_not_allowed() {
    let conditions = each([("/path", glob("/notes/*")), ("/a~1b", Constraint::Any)]);
    assert!(conditions.permit(&object(r#"{"path":"/notes/a"}"#)));
    assert!(conditions.permit(&object(r#"{"path":"/notes/a","a/b":[1]}"#)));
    for text in [
        r#"{"path":"/notes/a","mode":"x"}"#,
        r#"{"path":"/notes/a","Path":"/etc/passwd"}"#,
        r#"{"path":"/notes/a","a":{"b":1}}"#,
        r#"{"path":"/notes/a","":null}"#,
        r#"{"a/b":1}"#,
        "{}",
    ] {
        assert!(!conditions.permit(&object(text)), "{text}");
    }
}

#[test]
fn a_pointer_inside_an_argument_does_not_cover_the_whole_of_it() {
    let inner = each([("/options/path", glob("/notes/*"))]);
    let call = object(r#"{"options":{"path":"/notes/a","force":true}}"#);
    assert!(!inner.permit(&call));
    let both = each([("/options/path", glob("/notes/*")), ("/options", Constraint::Any)]);
    assert!(both.permit(&call));
    assert!(!both.permit(&object(r#"{"options":{"path":"/etc/a"}}"#)));
    assert!(!both.permit(&object(r#"{"options":{}}"#)));
}

#[test]
fn a_value_of_another_type_is_no_match_for_an_allow_and_one_for_a_deny() {
    let path = each([("/path", glob("/notes/*"))]);
    let words = each([("/path", Constraint::WordPrefix("git status".into()))]);
    for value in ["1", "null", "true", r#"["/notes/a"]"#, r#"{"path":"/notes/a"}"#] {
        let call = object(&format!("{{\"path\":{value}}}"));
        for conditions in [&path, &words] {
            assert!(!conditions.permit(&call), "{value}");
            assert!(conditions.forbid(&call), "{value}");
        }
    }
}

#[test]
fn exact_means_every_value_and_no_order() {
    let exact = Conditions::Exact(object(r#"{"a":1,"b":{"c":"x","d":[1,2]}}"#));
    assert!(exact.permit(&object(r#"{"b":{"d":[1,2],"c":"x"},"a":1}"#)));
    for text in [
        r#"{"a":1.0,"b":{"c":"x","d":[1,2]}}"#,
        r#"{"a":1,"b":{"c":"x","d":[2,1]}}"#,
        r#"{"a":1}"#,
        r#"{"a":1,"b":{"c":"x","d":[1,2]},"e":null}"#,
        r#"{"a":"1","b":{"c":"x","d":[1,2]}}"#,
    ] {
        assert!(!exact.permit(&object(text)), "{text}");
    }
    // A deny is not got past by the spelling of a number.
    assert!(exact.forbid(&object(r#"{"a":1.0,"b":{"c":"x","d":[1,2e0]}}"#)));
    assert!(!exact.forbid(&object(r#"{"a":2,"b":{"c":"x","d":[1,2]}}"#)));
    assert!(each([("/a", equals("1"))]).forbid(&object(r#"{"a":10e-1,"x":0}"#)));
    assert!(!each([("/a", equals("1"))]).permit(&object(r#"{"a":1.0}"#)));
}

#[test]
fn a_deny_needs_all_its_constraints_and_looks_at_nothing_else() {
    let deny = each([("/path", glob("/etc/**")), ("/mode", equals("\"write\""))]);
    assert!(deny.forbid(&object(r#"{"path":"/etc/x","mode":"write","extra":1}"#)));
    assert!(!deny.forbid(&object(r#"{"path":"/etc/x","mode":"read"}"#)));
    assert!(!deny.forbid(&object(r#"{"mode":"write"}"#)));
}

/// Paths that lead out of `/notes`, or might.
const OUT_OF_NOTES: &[&str] = &[
    "/notes/../etc/passwd",
    "/notes/..",
    "/notes/./a",
    "/notes//a",
    "//notes/a",
    "/notes/a/",
    "notes/a",
    "./notes/a",
    "",
    "/notes/~root",
    "~/notes/a",
    "/notes/$HOME",
    "/notes/${IFS}",
    "/notes/%2e%2e/etc",
    "/notes/`id`",
    "/notes/a\0b",
    "/notes/a\nb",
    "/notes/..\\..\\etc",
    "/notes/a\\b",
    "\\notes\\a",
    "C:\\notes\\a",
    "file:///notes/../etc",
    "file:///notes/%2e%2e/etc",
    "file:///notes/%2E./etc",
    "file:///notes/..%2fetc",
    "file:///notes/%252e%252e",
    "file://evil.example/notes/a",
    "file://localhost.evil/notes/a",
    "file:notes/a",
    "file:///notes/a?b",
    "file:///notes/a#b",
    "file:///notes/%00",
    "file:///notes/%ff",
    "file:///notes/%zz",
    "file:\\\\notes\\a",
    "https://x/notes/a",
    // Ten of our own: names that are trimmed, hidden, normalised or followed elsewhere.
    "/notes/.. /etc",
    "/notes/ a",
    "/notes/a ",
    "/notes/a\u{200b}",
    "/notes/\u{202e}a",
    "/notes/\u{2025}/etc",
    "/notes/\u{ff0e}\u{ff0e}/etc",
    "/notes/a\u{ff0f}b",
    "/notes/\u{a0}",
    "/proc/self/root/notes/a",
    "/proc/1/cwd",
    "/dev/fd/3",
    "/dev/tcp/evil/80",
    "/notes/\u{e000}",
];

#[test]
fn a_path_with_two_readings_is_never_allowed_and_always_denied() {
    for path in OUT_OF_NOTES {
        let call = object(&serde_json::json!({ "path": path }).to_string());
        assert_eq!(normal_path(path, Platform::Unix), None, "{path:?}");
        assert!(!PathGlob::new("/notes/**", Platform::Unix).unwrap().permits(path), "{path:?}");
        assert!(PathGlob::new("/other/*", Platform::Unix).unwrap().forbids(path), "{path:?}");
        if Platform::HERE == Platform::Unix {
            assert!(!each([("/path", glob("/notes/**"))]).permit(&call), "{path:?}");
            assert!(each([("/path", glob("/other/*"))]).forbid(&call), "{path:?}");
        }
    }
    let long = format!("/notes/{}", "a".repeat(5000));
    assert_eq!(normal_path(&long, Platform::Unix), None);
}

#[test]
fn a_plain_path_is_matched_component_by_component() {
    let matches = |pattern, path| PathGlob::new(pattern, Platform::Unix).unwrap().permits(path);
    for (pattern, path) in [
        ("/notes/*", "/notes/a.md"),
        ("/notes/*", "/notes/.hidden"),
        ("/notes/*", "/notes/日记 (1).md"),
        ("/notes/*", "file:///notes/a%20b.md"),
        ("/notes/*", "file://localhost/notes/a"),
        ("/notes/*", "FILE:/notes/a"),
        ("/notes/**", "/notes/a/b/c"),
        ("/notes/**", "/notes"),
        ("/notes/**/x.md", "/notes/x.md"),
        ("/notes/**/x.md", "/notes/a/b/x.md"),
        ("/notes/?.md", "/notes/a.md"),
        ("/notes/*-*.md", "/notes/2026-11.md"),
        ("/a[b]/{c}", "/a[b]/{c}"),
        ("/", "/"),
        ("/**", "/any/thing"),
    ] {
        assert!(matches(pattern, path), "{pattern} {path}");
    }
    for (pattern, path) in [
        ("/notes/*", "/notes/a/b"),
        ("/notes/*", "/notes"),
        ("/notes/*", "/notesx/a"),
        ("/notes/*", "/NOTES/a"),
        ("/notes/?", "/notes/ab"),
        ("/notes/?", "/notes"),
        ("/notes/**/x.md", "/notes/ax.md"),
        ("/a[b]", "/ab"),
        ("/notes/a", "/notes/b"),
    ] {
        assert!(!matches(pattern, path), "{pattern} {path}");
    }
}

#[test]
fn a_denied_path_is_found_behind_a_glob_that_a_server_may_expand() {
    let etc = PathGlob::new("/etc/ssl/**", Platform::Unix).unwrap();
    for path in
        ["/etc/ssl/key", "/e[t]c/ssl/key", "/*/ssl/key", "/et?/s*l/x", "/{etc,x}/ssl/a", "/**/key", "/{etc/ssl,x}/a"]
    {
        assert!(etc.forbids(path), "{path}");
        assert!(!etc.permits(path) || path == "/etc/ssl/key", "{path}");
    }
    for path in ["/home/app/[id]/page.tsx", "/etc/other", "/h*/ssl/key", "/home/{a,b}/c"] {
        assert!(!etc.forbids(path), "{path}");
    }
}

#[test]
fn a_deny_does_not_depend_on_case_where_files_do_not() {
    for (platform, path, caught) in
        [(Platform::Unix, "/ETC/x", false), (Platform::MacOs, "/ETC/x", true), (Platform::Unix, "/etc/x", true)]
    {
        assert_eq!(PathGlob::new("/etc/*", platform).unwrap().forbids(path), caught, "{platform:?}");
        assert!(!PathGlob::new("/etc/*", platform).unwrap().permits("/ETC/x"));
    }
    assert_eq!(normal_path("/a/..namedfork/rsrc", Platform::MacOs), None);
}

#[test]
fn windows_paths_have_their_own_tricks() {
    let normal = |path| normal_path(path, Platform::Windows);
    assert_eq!(normal("c:\\Users\\me\\a.txt").as_deref(), Some("C:/Users/me/a.txt"));
    assert_eq!(normal("C:/a").as_deref(), Some("C:/a"));
    assert_eq!(normal("file:///C:/a%20b").as_deref(), Some("C:/a b"));
    assert_eq!(normal("C:\\").as_deref(), Some("C:/"));
    for path in [
        "C:a",
        "\\a",
        "/a",
        "\\\\server\\share\\a",
        "\\\\?\\C:\\a",
        "\\\\.\\C:",
        "C:\\a\\..\\b",
        "C:\\a\\\\b",
        "C:\\a.",
        "C:\\a ",
        "C:\\a:stream",
        "C:\\a::$DATA",
        "C:\\NUL",
        "C:\\nul.txt",
        "C:\\a\\com1",
        "C:\\COM¹",
        "C:\\aux .x",
        "C:\\CONIN$",
        "C:\\PROGRA~1",
        "C:\\%TEMP%",
        "C:\\a?b",
        "C:\\a*",
        "C:\\a|b",
        "CC:\\a",
        "1:\\a",
    ] {
        assert_eq!(normal(path), None, "{path}");
    }
    let glob = PathGlob::new("c:\\Users\\me\\**", Platform::Windows).unwrap();
    assert!(glob.permits("C:\\Users\\me\\a\\b"));
    assert!(!glob.permits("C:\\users\\me\\a") && glob.forbids("C:\\users\\ME\\a"));
    assert!(!glob.forbids("D:\\x"));
}

#[test]
fn conditions_that_cannot_be_meant_are_refused() {
    for (pointer, constraint) in [
        ("", Constraint::Any),
        ("path", Constraint::Any),
        ("/a~2", Constraint::Any),
        ("/path", glob("notes/*")),
        ("/path", glob("/notes/../*")),
        ("/path", glob("~/notes/*")),
        ("/path", glob("/notes/a**")),
        ("/path", glob("/notes/")),
        ("/path", glob("/proc/**")),
        ("/path", glob("file:///notes/*")),
        ("/path", glob("*")),
        ("/path", glob("")),
        ("/cmd", Constraint::WordPrefix(String::new())),
        ("/cmd", Constraint::WordPrefix("a;b".into())),
    ] {
        let conditions = Conditions::each([(pointer.to_owned(), constraint.clone())].into());
        assert!(matches!(conditions, Err(Error::InvalidInput { .. })), "{pointer} {constraint:?}");
    }
    assert!(Conditions::each(BTreeMap::new()).is_err());
}

#[test]
fn a_pattern_that_cannot_be_read_allows_nothing() {
    let broken = Conditions::Each([("/path".to_owned(), glob("notes/**"))].into());
    assert!(!broken.permit(&object(r#"{"path":"notes/a"}"#)));
    assert!(!broken.permit(&object(r#"{"path":"/notes/a"}"#)));
    assert!(broken.forbid(&object(r#"{"path":"/notes/a"}"#)));
}

#[test]
fn conditions_survive_the_store() {
    let conditions = each([
        ("/n", equals("123456789012345678901234567890")),
        ("/path", glob("/notes/*")),
        ("/cmd", Constraint::WordPrefix("git status".into())),
        ("/x", Constraint::Any),
    ]);
    for conditions in [conditions, Conditions::Exact(object(r#"{"a":[1e-7]}"#))] {
        let text = serde_json::to_string_pretty(&conditions).unwrap();
        assert_eq!(serde_json::from_str::<Conditions>(&text).unwrap(), conditions, "{text}");
    }
    assert!(serde_json::from_str::<Conditions>(r#"{"each":{"/a":{"glob":"x"}}}"#).is_err());
}

proptest! {
    /// `globset` is the oracle for what a glob means; its braces and classes are literal to us.
    #[test]
    fn globs_mean_what_they_mean_elsewhere(
        pattern in "(/(\\*\\*|[ab*?]{1,4})){1,4}".prop_filter("`**` alone", |pattern| {
            pattern.split('/').all(|part| part == "**" || !part.contains("**"))
        }),
        path in "(/[ab]{1,3}){1,5}",
    ) {
        let oracle = globset::GlobBuilder::new(&pattern).literal_separator(true).build().unwrap().compile_matcher();
        let ours = PathGlob::new(&pattern, Platform::Unix).unwrap();
        // `/a/**` is also `/a` to us; globset wants something behind it.
        let folder_itself = pattern.ends_with("/**");
        if !folder_itself {
            prop_assert_eq!(ours.permits(&path), oracle.is_match(&path));
        } else if oracle.is_match(&path) {
            prop_assert!(ours.permits(&path));
        }
        prop_assert!(!ours.permits(&path) || ours.forbids(&path));
    }

    #[test]
    fn no_text_is_both_allowed_and_not_stopped(text in "(/|\\.|~|%2e|[a-c]|file:|\\PC){0,12}") {
        let glob = PathGlob::new("/a/**", Platform::HERE);
        if let Ok(glob) = glob {
            prop_assert!(!glob.permits(&text) || glob.forbids(&text));
        }
        if let Some(path) = normal_path(&text, Platform::Unix) {
            prop_assert!(path.starts_with('/'));
            prop_assert!(path.split('/').skip(1).all(|name| name != ".." && name != "."));
        }
    }
}
