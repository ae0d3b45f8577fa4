//! From keys as people write them (`My Server`) to ids (`my-server`).
//!
//! Grants, pins and secrets are kept by id, so an id should not change because something *else* in the file did: a key
//! that already is its slug has it, whoever stands before it; of the others the first in the file has it, and a later
//! one gets its own hash as suffix, not a number that depends on its neighbours.

use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

use crate::model::{ServerId, hex};

/// The longest id.
const LONGEST: usize = 32;

/// The ids of `keys`, in their order. The same key twice gets the same id.
pub(super) fn assign<'a>(keys: impl IntoIterator<Item = &'a str>) -> Vec<ServerId> {
    let keys: Vec<&str> = keys.into_iter().collect();
    let mut taken: HashSet<String> = HashSet::from([ServerId::LOCAL.to_owned()]);
    let mut ids: HashMap<&str, String> = HashMap::new();
    for key in &keys {
        if slug(key) == *key && taken.insert((*key).to_owned()) {
            ids.insert(key, (*key).to_owned());
        }
    }
    for key in &keys {
        if ids.contains_key(key) {
            continue;
        }
        let slug = slug(key);
        let id = std::iter::once(slug.clone())
            .chain((4..=24).step_by(4).map(|digits| with_hash(&slug, key, digits)))
            .find(|candidate| !taken.contains(candidate))
            // Six hashes in a row that others have: nobody's accident. The last one is the whole name of the key.
            .unwrap_or_else(|| hash(key, LONGEST));
        taken.insert(id.clone());
        ids.insert(key, id);
    }
    keys.iter().filter_map(|key| ids.get(key).and_then(|id| ServerId::parse(id).ok())).collect()
}

/// What the key alone would be called.
pub(super) fn slug(key: &str) -> String {
    if !key.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        return format!("server-{}", hash(key, 6));
    }
    let mut slug = String::with_capacity(key.len().min(64));
    for char in key.chars() {
        match char.to_ascii_lowercase() {
            char @ ('a'..='z' | '0'..='9') => slug.push(char),
            // One separator stands for any run of them; the underscore is kept where it stands alone.
            '_' if !slug.ends_with(['-', '_']) => slug.push('_'),
            '_' => {}
            _ if !slug.ends_with(['-', '_']) => slug.push('-'),
            _ => {}
        }
        if slug.len() > 4 * LONGEST {
            break;
        }
    }
    let slug = slug.trim_matches(['-', '_']).to_owned();
    if slug.len() > LONGEST { with_hash(&slug, key, 6) } else { slug }
}

/// `slug`, cut where it must be, and the beginning of the key's hash.
fn with_hash(slug: &str, key: &str, digits: usize) -> String {
    let kept: String = slug.chars().take(LONGEST - digits - 1).collect();
    format!("{}-{}", kept.trim_end_matches(['-', '_']), hash(key, digits))
}

fn hash(key: &str, digits: usize) -> String {
    let mut text = hex(&Sha256::digest(key.as_bytes()));
    text.truncate(digits);
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ids(keys: &[&str]) -> Vec<String> {
        assign(keys.iter().copied()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn keys_as_people_write_them_become_ids() {
        for (key, id) in [
            ("files", "files"),
            ("My Server", "my-server"),
            ("my_server", "my_server"),
            ("GitHub (work)", "github-work"),
            ("  spaced  out  ", "spaced-out"),
            ("a__b", "a_b"),
            ("a--b", "a-b"),
            ("_private_", "private"),
            ("io.github.user/server", "io-github-user-server"),
            ("Мой server", "server"),
            ("Ünïcode", "n-code"),
        ] {
            assert_eq!(slug(key), id, "{key}");
        }
    }

    #[test]
    fn a_key_without_ascii_letters_is_called_by_its_hash() {
        for key in ["服务器", "123", "", "  ", "🦀"] {
            let slug = slug(key);
            assert!(slug.starts_with("server-") && slug.len() == 13, "{key}: {slug}");
        }
        assert_ne!(slug("服务器"), slug("文件"));
    }

    #[test]
    fn local_belongs_to_the_application() {
        let ids = ids(&["local", "Local"]);
        assert!(ids.iter().all(|id| id.starts_with("local-")), "{ids:?}");
        assert_ne!(ids[0], ids[1]);
    }

    #[test]
    fn on_a_collision_the_one_that_is_its_slug_keeps_it_and_the_other_is_told_apart() {
        let ids = ids(&["My Server", "my-server"]);
        assert_eq!(ids[1], "my-server");
        assert!(ids[0].starts_with("my-server-") && ids[0] != ids[1]);
    }

    #[test]
    fn the_suffix_of_one_key_does_not_depend_on_how_many_others_collide() {
        let two = ids(&["My Server", "my server"]);
        let three = ids(&["My Server", "MY SERVER", "my server"]);
        assert_eq!(two[0], three[0]);
        assert_eq!(two[1], three[2]);
    }

    #[test]
    fn long_keys_that_begin_alike_stay_apart() {
        let (a, b) = ("x".repeat(40) + "a", "x".repeat(40) + "b");
        let ids = ids(&[&a, &b]);
        assert!(ids.iter().all(|id| id.len() <= 32));
        assert_ne!(ids[0], ids[1]);
    }

    proptest! {
        #[test]
        fn every_key_has_a_valid_id_and_different_keys_have_different_ones(
            keys in proptest::collection::hash_set("[aAbB1 _.\\-é中]{0,6}|.{0,50}", 0..20)
        ) {
            let keys: Vec<String> = keys.into_iter().collect();
            let ids = assign(keys.iter().map(String::as_str));
            prop_assert_eq!(ids.len(), keys.len());
            let distinct: HashSet<_> = ids.iter().collect();
            prop_assert_eq!(distinct.len(), keys.len());
            prop_assert!(ids.iter().all(|id| id.as_str() != ServerId::LOCAL && !id.as_str().contains("__")));
        }

        #[test]
        fn appending_a_key_changes_nobody_elses_id(
            keys in proptest::collection::hash_set("[aAbB _-]{1,5}", 1..8), new in "[AB ]{1,5}"
        ) {
            let mut keys: Vec<String> = keys.into_iter().collect();
            keys.retain(|key| *key != new);
            let before = assign(keys.iter().map(String::as_str));
            keys.push(new);
            let after = assign(keys.iter().map(String::as_str));
            prop_assert_eq!(&before[..], &after[..before.len()]);
        }
    }
}
