//! By what a launch is known once a person has confirmed it: a keyed hash over everything that makes it what it is; and
//! in what two launches differ, field by field, to be shown before the second is confirmed.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::{
    launch::{EndpointLaunch, Launch, StdioLaunch},
    secret::name_promises_secret,
    variable::Template,
};
use crate::{
    error::{Error, Result},
    model::hex,
};

/// The fingerprint of `launch`: HMAC-SHA256 under `key`, in lower-case hex.
///
/// It covers transport, command, arguments, working folder, URL, names and *unexpanded* values of environment and
/// headers, and `envPassthrough` (policy.md §6). Every part is written with its length, so that no two launches are
/// written alike. Keyed, because a plain hash of a short secret can be guessed.
pub fn fingerprint(launch: &Launch, key: &[u8]) -> Result<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).map_err(Error::internal)?;
    let mut put = |part: &str| {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part.as_bytes());
    };
    let count = |items: usize| items.to_string();
    put("mcp-host launch v1");
    put(launch.transport().as_str());
    match launch {
        Launch::Stdio(StdioLaunch { command, args, cwd, env, env_passthrough }) => {
            put(command);
            put(&count(args.len()));
            args.iter().for_each(|arg| put(arg));
            put(&count(usize::from(cwd.is_some())));
            put(cwd.as_deref().unwrap_or_default());
            put(&count(env.len()));
            for (name, value) in env {
                put(name);
                put(value);
            }
            put(&count(env_passthrough.len()));
            env_passthrough.iter().for_each(|name| put(name));
        }
        Launch::Http(EndpointLaunch { url, headers }) | Launch::Sse(EndpointLaunch { url, headers }) => {
            put(url);
            put(&count(headers.len()));
            for (name, value) in headers {
                put(name);
                put(value);
            }
        }
    }
    Ok(hex(&mac.finalize().into_bytes()))
}

/// One field in which two launches differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which, as a JSON pointer in the entry (`/args/1`, `/env/TOKEN`); `/type` for the transport.
    pub field: String,
    /// What it was; `None` if it was not there.
    pub before: Option<Shown>,
    /// What it is; `None` if it is not there any more.
    pub after: Option<Shown>,
}

/// A field's unexpanded text as a person may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The text. It is the file's: make it inert before showing it.
    Text(String),
    /// A literal value in a place that promises a secret; only its length is told.
    Hidden {
        /// In characters.
        characters: usize,
    },
}

/// `text`, which stands in `field`, as a person may see it.
pub fn shown(field: &str, text: &str) -> Shown {
    let mut steps = field.split('/').skip(1);
    let place = (steps.next().unwrap_or_default(), steps.next().unwrap_or_default());
    let literal = Template::parse(text).is_ok_and(|template| template.is_literal());
    match place {
        ("env" | "headers", name) if literal && name_promises_secret(name) && !text.is_empty() => {
            Shown::Hidden { characters: text.chars().count() }
        }
        _ => Shown::Text(text.to_owned()),
    }
}

/// The fields in which `after` differs from `before`, in reading order. Empty only for equal launches.
pub fn difference(before: &Launch, after: &Launch) -> Vec<Change> {
    let fields = |launch: &Launch| {
        let mut fields = vec![("/type".to_owned(), launch.transport().as_str().to_owned())];
        fields.extend(launch.texts());
        if let Launch::Stdio(launch) = launch {
            fields.extend(launch.env_passthrough.iter().map(|name| (format!("/envPassthrough/{name}"), name.clone())));
        }
        fields
    };
    let (old, new) = (fields(before), fields(after));
    let find = |fields: &[(String, String)], wanted: &str| {
        fields.iter().find(|(field, _)| field == wanted).map(|(_, text)| text.clone())
    };
    let mut changes = Vec::new();
    for (field, text) in &new {
        let before = find(&old, field);
        if before.as_ref() != Some(text) {
            let before = before.map(|text| shown(field, &text));
            changes.push(Change { field: field.clone(), before, after: Some(shown(field, text)) });
        }
    }
    for (field, text) in &old {
        if find(&new, field).is_none() {
            changes.push(Change { field: field.clone(), before: Some(shown(field, text)), after: None });
        }
    }
    changes
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    fn launch() -> impl Strategy<Value = Launch> {
        let text = "[ab/]{0,3}";
        let map = proptest::collection::btree_map("[AB]{1,2}", text, 0..3);
        let stdio = (
            text,
            proptest::collection::vec(text, 0..4),
            proptest::option::of(text),
            map.clone(),
            proptest::collection::btree_set("[AB]{1,2}", 0..3),
        )
            .prop_map(|(command, args, cwd, env, env_passthrough)| {
                Launch::Stdio(StdioLaunch { command, args, cwd, env, env_passthrough })
            });
        let endpoint = (text, map).prop_map(|(url, headers)| EndpointLaunch { url, headers });
        prop_oneof![3 => stdio, 1 => endpoint.clone().prop_map(Launch::Http), 1 => endpoint.prop_map(Launch::Sse)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn two_launches_have_one_fingerprint_if_and_only_if_nothing_differs(a in launch(), b in launch()) {
            let same = fingerprint(&a, b"k").unwrap() == fingerprint(&b, b"k").unwrap();
            prop_assert_eq!(same, a == b);
            prop_assert_eq!(difference(&a, &b).is_empty(), a == b);
            prop_assert!(difference(&a, &a).is_empty());
        }

        #[test]
        fn a_confirmed_launch_is_read_back_as_it_was(launch in launch()) {
            let text = serde_json::to_string(&launch).unwrap();
            prop_assert_eq!(serde_json::from_str::<Launch>(&text).unwrap(), launch);
        }
    }

    fn stdio(args: &[&str], env: &[(&str, &str)]) -> Launch {
        Launch::Stdio(StdioLaunch {
            command: "npx".to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            cwd: None,
            env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>(),
            env_passthrough: BTreeSet::new(),
        })
    }

    #[test]
    fn a_fingerprint_is_the_one_that_another_implementation_computes() {
        let stdio = Launch::Stdio(StdioLaunch {
            command: "npx".to_owned(),
            args: vec!["-y".to_owned(), "é".to_owned()],
            cwd: Some("/x".to_owned()),
            env: BTreeMap::from([("TOKEN".to_owned(), "${secret:t}".to_owned())]),
            env_passthrough: BTreeSet::from(["DISPLAY".to_owned()]),
        });
        let sse = Launch::Sse(EndpointLaunch {
            url: "https://h/".to_owned(),
            headers: BTreeMap::from([("A".to_owned(), "b".to_owned())]),
        });
        // Python's hmac over each part with its length in eight bytes. A change here voids every confirmation there is.
        for (launch, expected) in [
            (stdio, "e82f0e0782e22459f21746717d3b5062bd54f0aa205ae61eb5965c7f552f11ab"),
            (sse, "f737e92e93c62ad2c8182bdbe1e7ace15fe061f650bc763d7ede26264626653e"),
        ] {
            assert_eq!(fingerprint(&launch, b"k").unwrap(), expected);
        }
    }

    #[test]
    fn another_key_gives_another_fingerprint() {
        let launch = stdio(&[], &[]);
        assert_ne!(fingerprint(&launch, b"a").unwrap(), fingerprint(&launch, b"b").unwrap());
        assert_eq!(fingerprint(&launch, b"a").unwrap().len(), 64);
    }

    #[test]
    fn a_difference_shows_what_runs_and_hides_what_may_be_a_secret() {
        let before = stdio(&["-y", "good"], &[("API_KEY", "hunter2"), ("NODE_OPTIONS", "")]);
        let after =
            stdio(&["-y", "evil", "x"], &[("API_KEY", "${secret:key}"), ("NODE_OPTIONS", "--require /tmp/x.js")]);
        let text = |text: &str| Some(Shown::Text(text.to_owned()));
        let change = |field: &str, before, after| Change { field: field.to_owned(), before, after };
        assert_eq!(
            difference(&before, &after),
            [
                change("/args/1", text("good"), text("evil")),
                change("/args/2", None, text("x")),
                change("/env/API_KEY", Some(Shown::Hidden { characters: 7 }), text("${secret:key}")),
                change("/env/NODE_OPTIONS", text(""), text("--require /tmp/x.js")),
            ]
        );
    }
}
