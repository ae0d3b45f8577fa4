//! URLs and header names as an entry may hold them.
//!
//! Which machine gets the credentials is read from the text alone: no variable, no trick of a URL parser may change it.

use url::Url;

use super::variable::Template;

/// What is wrong with an unexpanded URL. Its scheme, host and port must stand in it as they are: a variable there would
/// let the environment choose who gets the credentials.
pub(super) fn check_url(text: &str) -> Result<Url, &'static str> {
    let template = Template::parse(text).map_err(|_| "has a `${` that is none of the forms there are")?;
    let authority = authority(text).ok_or("must begin with `http://` or `https://` and a host")?;
    // What follows the host must begin before the first variable does; and a `$` in a host, escaped or not, is a trick.
    let literal = template.literal_prefix();
    let separate = template.is_literal() || (literal.starts_with(authority) && literal.len() > authority.len());
    if !separate || authority.contains('$') {
        return Err("has a variable in its host; scheme, host and port must stand there as they are");
    }
    let url = Url::parse(authority).map_err(|_| "is not a URL")?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err("must begin with `http://` or `https://` and a host");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("holds a user name or password; put credentials into `headers`");
    }
    Ok(url)
}

/// Scheme and authority as they are written.
fn authority(text: &str) -> Option<&str> {
    let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    let scheme = if lower.starts_with("https://") {
        8
    } else if lower.starts_with("http://") {
        7
    } else {
        return None;
    };
    let rest = text.get(scheme..)?;
    let length = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let authority = text.get(..scheme + length)?;
    // The parser would drop or trim these, and then mean another host than a person reads.
    (length > 0 && !authority.chars().any(|char| char.is_control() || char.is_whitespace())).then_some(authority)
}

/// RFC 9110's `token`.
pub(super) fn is_header_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 256
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_host_stands_in_the_text_as_it_is() {
        for text in [
            "https://example.com",
            "HTTP://Example.com:8080/mcp",
            "https://example.com/${PATH}",
            "https://example.com?key=${KEY}",
            "http://[::1]:3000/mcp#x",
        ] {
            assert!(check_url(text).is_ok(), "{text}");
        }
        for text in [
            "${URL}",
            "https://${HOST}/",
            "https://example.com${SUFFIX}/mcp",
            "https://example.com:${PORT}/",
            "https://user:${PW}@example.com/",
            "https://user@example.com/",
            "https://$${HOST}/",
            "https://exa\tmple.com/",
            " https://example.com/",
            "https:example.com/",
            "ftp://example.com/",
            "//example.com/",
            "",
        ] {
            assert!(check_url(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_the_variables_are_the_origin_is_the_one_that_was_read(
            before in "(http|https|HTTPS)://[a-z@:.\\[\\]0-9${}A]{0,12}(/|\\\\|\\?|#|)", value in "[a-z@:/?#\\\\.%0-9]{0,12}"
        ) {
            let text = format!("{before}${{A}}");
            if let Ok(origin) = check_url(&text) {
                let expanded = text.replace("${A}", &value);
                if let Ok(url) = Url::parse(&expanded) {
                    prop_assert_eq!(url.origin(), origin.origin(), "{}", expanded);
                    prop_assert!(url.username().is_empty() && url.password().is_none());
                }
            }
        }
    }
}
