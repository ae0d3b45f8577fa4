//! Resource URIs: which of them mean only one thing, and which globs those match.

use url::Url;

use super::path::{components_match, is_invisible, percent_decode, starred_component};

/// A URI whose parser agrees with its spelling: no user-info, no fragment, no dot segments, decoded once.
#[derive(Debug, PartialEq, Eq)]
struct NormalUri {
    /// `scheme:` or `scheme://authority`.
    origin: String,
    /// Decoded; between slashes.
    segments: Vec<String>,
    /// As it is written.
    query: Option<String>,
}

fn normal_uri(text: &str) -> Option<NormalUri> {
    let url = Url::parse(text).ok()?;
    // The parser lowers, drops, resolves and forgives; a text in which it had to do more than escape has two readings.
    let decoded = percent_decode(text)?;
    let parsed = percent_decode(url.as_str())?;
    let untouched = parsed == decoded || parsed.strip_suffix('/') == Some(&decoded);
    if !untouched || !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return None;
    }
    let scheme = url.scheme();
    let has_authority = text.get(scheme.len() + 1..).is_some_and(|rest| rest.starts_with("//"));
    let origin = if has_authority { format!("{scheme}://{}", url.authority()) } else { format!("{scheme}:") };
    let last = url.path().split('/').count() - 1;
    let decode = |(index, segment): (usize, &str)| {
        let text = percent_decode(segment)?;
        let doubtful = text.contains(['/', '\\', '%']) || text.contains(is_invisible) || text == "." || text == "..";
        // Empty only before the first slash and behind the last one.
        let hole = text.is_empty() && index != 0 && index != last;
        (!doubtful && !hole).then_some(text)
    };
    let segments = url.path().split('/').enumerate().map(decode).collect::<Option<_>>()?;
    Some(NormalUri { origin, segments, query: url.query().map(str::to_owned) })
}

/// A glob over normal URIs: `*` is any text within a segment of the path or within the query, `**` any number of whole
/// segments. Scheme and authority are literal.
#[derive(Debug)]
pub struct UriGlob(NormalUri);

impl UriGlob {
    /// Takes a pattern that is itself a normal URI. The error says what is wrong with it, in words.
    pub fn new(pattern: &str) -> Result<Self, &'static str> {
        let uri = normal_uri(pattern).ok_or(
            "it is not a plain, normal URI (no user name, no fragment, no `.` or `..`, nothing to be escaped)",
        )?;
        if pattern.to_ascii_lowercase().contains("%2a") {
            return Err("an escaped `*` cannot be told from the sign");
        }
        if uri.origin.contains('*') {
            return Err("`*` may stand in the path only, not in the scheme or the host");
        }
        if uri.segments.iter().any(|segment| segment.contains("**") && segment != "**") {
            return Err("`**` must stand alone between two slashes");
        }
        Ok(Self(uri))
    }

    /// Whether an allow that names this glob covers the URI: it has only one reading, and that one matches.
    pub fn permits(&self, text: &str) -> bool {
        normal_uri(text).is_some_and(|uri| {
            let query = match (&self.0.query, &uri.query) {
                (None, None) => true,
                (Some(pattern), Some(query)) => starred_component(pattern, query),
                _ => false,
            };
            query && self.0.origin == uri.origin && segments_match(&self.0.segments, &uri.segments)
        })
    }

    /// Whether a deny that names this glob stops the URI: some reading of it matches, or it has no certain one.
    pub fn forbids(&self, text: &str) -> bool {
        let Some(uri) = normal_uri(text) else { return true };
        let lower = |segments: &[String]| segments.iter().map(|segment| segment.to_lowercase()).collect::<Vec<_>>();
        let query = match (&self.0.query, &uri.query) {
            (Some(pattern), Some(query)) => starred_component(pattern, query),
            (Some(_), None) => false,
            (None, _) => true,
        };
        query
            && self.0.origin.eq_ignore_ascii_case(&uri.origin)
            && segments_match(&lower(&self.0.segments), &lower(&uri.segments))
    }
}

fn segments_match(pattern: &[String], segments: &[String]) -> bool {
    components_match(&borrow(pattern), &borrow(segments), starred_component)
}

fn borrow(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stays_within_its_segment() {
        let notes = UriGlob::new("file:///home/me/notes/*").unwrap();
        for uri in ["file:///home/me/notes/a.md", "file:///home/me/notes/日记.md", "file:///home/me/notes/a%20b"] {
            assert!(notes.permits(uri), "{uri}");
        }
        for uri in ["file:///home/me/notes/a/b", "file:///home/me/notes", "file:///home/me/notesx/a"] {
            assert!(!notes.permits(uri), "{uri}");
            assert!(!notes.forbids(uri), "{uri}");
        }
        let all = UriGlob::new("memo://box/**").unwrap();
        assert!(all.permits("memo://box/a/b/c"));
        assert!(!all.permits("memo://other/a"));
        let opaque = UriGlob::new("urn:isbn:*").unwrap();
        assert!(opaque.permits("urn:isbn:0451450523") && !opaque.permits("urn:issn:1"));
    }

    #[test]
    fn what_has_two_readings_is_never_allowed_and_always_denied() {
        let notes = UriGlob::new("https://example.com/notes/**").unwrap();
        let other = UriGlob::new("https://example.com/secret/*").unwrap();
        for uri in [
            "https://example.com/notes/../secret/a",
            "https://example.com/notes/%2e%2e/secret/a",
            "https://example.com/notes/.%2E/secret/a",
            "https://example.com/notes/..%2fsecret/a",
            "https://example.com/notes/..%5csecret/a",
            "https://example.com/notes/%252e%252e/secret",
            "https://example.com/notes\\..\\secret",
            "https://example.com/notes//a",
            "https://me@example.com/notes/a",
            "https://example.com:pw@evil.example/notes/a",
            "https://example.com/notes/a#/secret",
            "HTTPS://EXAMPLE.COM/notes/a",
            "https://example.com:443/notes/a",
            " https://example.com/notes/a",
            "https://example.com/no\tes/a",
            "https://example.com/notes/a%00b",
            "https://example.com/notes/a\u{200b}b",
            "https://example.com/notes/%zz",
            "https://example.com/notes/%ff",
            "https:example.com/notes/a",
            "notes/a",
            "",
        ] {
            assert!(!notes.permits(uri), "{uri:?}");
            assert!(other.forbids(uri), "{uri:?}");
        }
    }

    #[test]
    fn a_denied_uri_is_found_however_it_is_escaped() {
        let secret = UriGlob::new("https://example.com/secret/*").unwrap();
        for uri in
            ["https://example.com/%73ecret/a", "https://example.com/SECRET/a", "https://example.com/secret/a?x=1"]
        {
            assert!(secret.forbids(uri), "{uri}");
        }
        assert!(!secret.forbids("https://example.com/open/a"));
    }

    #[test]
    fn a_query_must_be_named_to_be_allowed() {
        let plain = UriGlob::new("https://example.com/a/*").unwrap();
        assert!(!plain.permits("https://example.com/a/b?path=../../etc"));
        let asked = UriGlob::new("https://example.com/a/*?id=*").unwrap();
        assert!(asked.permits("https://example.com/a/b?id=1"));
        assert!(!asked.permits("https://example.com/a/b?x=1&id=1"));
        assert!(!asked.permits("https://example.com/a/b"));
    }

    #[test]
    fn a_pattern_is_a_normal_uri_itself() {
        for pattern in [
            "https://*.example.com/a",
            "https://*/a",
            "*://x/a",
            "https://example.com/a/../*",
            "https://me@example.com/*",
            "https://example.com/a**b",
            "https://example.com/%2A",
            "file:///a#*",
            "/home/*",
            "*",
        ] {
            assert!(UriGlob::new(pattern).is_err(), "{pattern}");
        }
    }
}
