//! JSON pointers (RFC 6901).

use std::borrow::Cow;

/// The names and indices that a pointer goes through, unescaped; `None` if it is not a pointer.
pub fn pointer_segments(pointer: &str) -> Option<Vec<Cow<'_, str>>> {
    if pointer.is_empty() {
        return Some(Vec::new());
    }
    pointer.strip_prefix('/')?.split('/').map(unescape).collect()
}

/// A member's name as it is written in a pointer.
pub fn escape_segment(name: &str) -> Cow<'_, str> {
    if name.contains(['~', '/']) { Cow::Owned(name.replace('~', "~0").replace('/', "~1")) } else { Cow::Borrowed(name) }
}

/// A segment as an array index: no sign, no leading zeros, never `-`.
pub(super) fn index(segment: &str) -> Option<usize> {
    let plain = segment == "0" || (!segment.starts_with('0') && segment.bytes().all(|byte| byte.is_ascii_digit()));
    if plain { segment.parse().ok() } else { None }
}

fn unescape(segment: &str) -> Option<Cow<'_, str>> {
    if !segment.contains('~') {
        return Some(Cow::Borrowed(segment));
    }
    let mut text = String::with_capacity(segment.len());
    let mut characters = segment.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '~' => match characters.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            plain => plain,
        });
    }
    Some(Cow::Owned(text))
}
