//! Paths in arguments: which of them mean only one thing, and which globs those match.
//!
//! Nothing here touches a file system: the server may run elsewhere, and what it does with symlinks is not seen. A path
//! that some program could read in another way than it is written is not normal, and what is not normal never helps a
//! caller.

use unicode_general_category::{GeneralCategory, get_general_category};

/// Whose rules for paths hold. Part of every function, so that each is tested everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "self-explanatory")]
pub enum Platform {
    Unix,
    MacOs,
    Windows,
}

impl Platform {
    /// The one that this program was built for.
    pub const HERE: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::MacOs
    } else {
        Self::Unix
    };

    /// Whether `a` and `A` are usually the same file.
    fn ignores_case(self) -> bool {
        self != Self::Unix
    }
}

/// Longer paths are not looked at; no system opens them.
const MAX_BYTES: usize = 4096;

/// The path in a form that has only one reading: absolute, with `/` between its components, a `file:` URL decoded.
/// `None` if it could be read in another way.
pub fn normal_path(text: &str, platform: Platform) -> Option<String> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let path = if has_file_scheme(text) { decode_file_url(text, platform)? } else { text.to_owned() };
    let ambiguous = |character: char| {
        matches!(character, '~' | '$' | '%' | '`') || is_invisible(character) || is_compatible_with_syntax(character)
    };
    if path.contains(ambiguous) {
        return None;
    }
    match platform {
        Platform::Windows => normal_windows(&path),
        Platform::Unix | Platform::MacOs => normal_unix(&path, platform),
    }
}

fn normal_unix(path: &str, platform: Platform) -> Option<String> {
    let rest = path.strip_prefix('/')?;
    if path.contains('\\') {
        return None;
    }
    if rest.is_empty() {
        return Some(path.to_owned());
    }
    let components: Vec<&str> = rest.split('/').collect();
    // `/proc/self/root/etc` is `/etc`, `/dev/fd/3` whatever was opened last; device files are no files to grant.
    let devices = matches!(components.first(), Some(&("proc" | "dev")));
    let fork = platform == Platform::MacOs && components.iter().any(|name| name.eq_ignore_ascii_case("..namedfork"));
    (!devices && !fork && components.iter().all(|name| is_plain(name))).then(|| path.to_owned())
}

fn normal_windows(path: &str) -> Option<String> {
    let mut characters = path.chars();
    let drive = characters.next().filter(char::is_ascii_alphabetic)?;
    let rest = characters.as_str().strip_prefix(':')?.replace('\\', "/");
    let rest = rest.strip_prefix('/')?;
    let drive = drive.to_ascii_uppercase();
    if rest.is_empty() {
        return Some(format!("{drive}:/"));
    }
    let plain = |name: &str| {
        is_plain(name)
            && !name.ends_with('.')
            && !name.contains([':', '<', '>', '"', '|', '?', '*'])
            && !is_windows_device(name)
    };
    rest.split('/').all(plain).then(|| format!("{drive}:/{rest}"))
}

/// A component that no program trims, skips or follows upwards.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && name.trim() == name
}

fn is_windows_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix).is_some_and(|number| {
            let mut digits = number.chars();
            matches!(digits.next(), Some('0'..='9' | '¹' | '²' | '³')) && digits.next().is_none()
        })
    };
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$") || numbered("COM") || numbered("LPT")
}

/// Control, formatting and unassigned characters, and blanks other than the space.
pub(super) fn is_invisible(character: char) -> bool {
    use GeneralCategory as Category;
    match get_general_category(character) {
        Category::SpaceSeparator => character != ' ',
        Category::Control
        | Category::Format
        | Category::Unassigned
        | Category::PrivateUse
        | Category::Surrogate
        | Category::LineSeparator
        | Category::ParagraphSeparator => true,
        _ => false,
    }
}

/// Characters that turn into a dot, a slash, a backslash or another sign of ours when a program normalises text
/// (Unicode's compatibility forms), and slashes that only look like one.
fn is_compatible_with_syntax(character: char) -> bool {
    matches!(
        character,
        '\u{ff0e}' | '\u{fe52}' | '\u{2024}' | '\u{2025}' // dots
        | '\u{ff0f}' | '\u{2044}' | '\u{2215}' | '\u{2100}' | '\u{2101}' | '\u{2105}' | '\u{2106}' // slashes
        | '\u{ff3c}' | '\u{fe68}' // backslashes
        | '\u{ff5e}' | '\u{ff04}' | '\u{fe69}' | '\u{ff05}' | '\u{fe6a}' | '\u{ff40}' // ~ $ % `
    )
}

fn has_file_scheme(text: &str) -> bool {
    text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
}

/// The path of a `file:` URL. By hand: a URL parser would take the `..` out, and what it hides must be seen here.
fn decode_file_url(text: &str, platform: Platform) -> Option<String> {
    let rest = text.get(5..)?;
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.strip_prefix("localhost").filter(|path| path.starts_with('/')).unwrap_or(rest),
        None => rest,
    };
    if !path.starts_with('/') || path.contains(['\\', '?', '#']) {
        return None;
    }
    let path = percent_decode(path)?;
    match platform {
        // `/C:/a`
        Platform::Windows => path.strip_prefix('/').map(str::to_owned),
        Platform::Unix | Platform::MacOs => Some(path),
    }
}

/// Decodes `%41`; `None` if an escape is malformed or what comes out is not text.
pub(in crate::policy) fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            plain => plain,
        });
    }
    String::from_utf8(bytes).ok()
}

/// A glob over normal paths: `?` is one character, `*` any within a component, `**` any number of whole components; all
/// else is literal.
#[derive(Clone, Copy, Debug)]
pub struct PathGlob<'a> {
    pattern: &'a str,
    platform: Platform,
}

impl<'a> PathGlob<'a> {
    /// Takes a pattern whose literal part is a normal path. The error says what is wrong with it, in words.
    pub fn new(pattern: &'a str, platform: Platform) -> Result<Self, &'static str> {
        if pattern.split(['/', '\\']).any(|component| component.contains("**") && component != "**") {
            return Err("`**` must stand alone between two slashes");
        }
        let literal = pattern.replace(['*', '?'], "x");
        if has_file_scheme(pattern) || normal_path(&literal, platform).is_none() {
            return Err(
                "it is not an absolute, normal path (no `.`, `..`, `//`, `~`, `$`, `%`, device or trailing slash)",
            );
        }
        Ok(Self { pattern, platform })
    }

    /// Whether an allow that names this glob covers the path: it has only one reading, and that one matches.
    pub fn permits(self, text: &str) -> bool {
        normal_path(text, self.platform)
            .is_some_and(|path| components_match(&split(&self.normal_pattern()), &split(&path), literal_component))
    }

    /// Whether a deny that names this glob stops the path: some reading of it matches, or it has no certain one.
    pub fn forbids(self, text: &str) -> bool {
        let Some(mut path) = normal_path(text, self.platform) else { return true };
        let mut pattern = self.normal_pattern();
        if self.platform.ignores_case() {
            (path, pattern) = (path.to_lowercase(), pattern.to_lowercase());
        }
        let (pattern, path) = (split(&pattern), split(&path));
        // A server may itself expand what looks like a glob to it.
        let crosses_components = |name: &&str| name.contains("**") || name.contains('{') && !name.contains('}');
        components_match(&pattern, &path, literal_component)
            || path.iter().any(crosses_components)
            || components_match(&pattern, &path, expandable_component)
    }

    fn normal_pattern(self) -> String {
        if self.platform == Platform::Windows {
            let pattern = self.pattern.replace('\\', "/");
            let (drive, rest) = pattern.split_at(pattern.len().min(1));
            return drive.to_ascii_uppercase() + rest;
        }
        self.pattern.to_owned()
    }
}

fn split(path: &str) -> Vec<&str> {
    path.split('/').collect()
}

/// Whether `pattern` matches `path`, component by component; `same` compares two components.
pub(super) fn components_match(pattern: &[&str], path: &[&str], same: fn(&str, &str) -> bool) -> bool {
    // Row by row of the usual table: `reached[n]` says that the pattern so far matches the first n components.
    let mut reached = vec![false; path.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    for component in pattern {
        if *component == "**" {
            let from = reached.iter().position(|there| *there).unwrap_or(reached.len());
            reached.iter_mut().skip(from).for_each(|there| *there = true);
            continue;
        }
        let mut next = vec![false; path.len() + 1];
        for ((name, there), next) in path.iter().zip(&reached).zip(next.iter_mut().skip(1)) {
            *next = *there && same(component, name);
        }
        reached = next;
    }
    reached.last() == Some(&true)
}

/// Whether a component of a pattern matches a name.
fn literal_component(pattern: &str, name: &str) -> bool {
    let name: Vec<Part> = name.chars().map(Part::Character).collect();
    intersect(&pattern_parts(pattern), &name)
}

/// The same where only `*` is a sign, as in URIs.
pub(super) fn starred_component(pattern: &str, name: &str) -> bool {
    let part = |character| if character == '*' { Part::Run } else { Part::Character(character) };
    let name: Vec<Part> = name.chars().map(Part::Character).collect();
    intersect(&pattern.chars().map(part).collect::<Vec<_>>(), &name)
}

/// Whether a component of a pattern and what a shell could make of a name have anything in common.
pub(in crate::policy) fn expandable_component(pattern: &str, name: &str) -> bool {
    let mut parts = Vec::new();
    let mut characters = name.chars();
    while let Some(character) = characters.next() {
        parts.push(match character {
            '*' => Part::Run,
            '?' => Part::Any,
            // As much as a class or an alternative could ever stand for.
            '[' | '{' => {
                let end = if character == '[' { ']' } else { '}' };
                let rest = characters.as_str();
                characters = rest.split_once(end).map_or("", |(_, rest)| rest).chars();
                Part::Run
            }
            plain => Part::Character(plain),
        });
    }
    intersect(&pattern_parts(pattern), &parts)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Character(char),
    Any,
    Run,
}

fn pattern_parts(pattern: &str) -> Vec<Part> {
    let part = |character| match character {
        '*' => Part::Run,
        '?' => Part::Any,
        plain => Part::Character(plain),
    };
    pattern.chars().map(part).collect()
}

/// Whether some text matches both.
fn intersect(one: &[Part], other: &[Part]) -> bool {
    // `reached[n]`: what stands before here in `one` and the first n parts of `other` can be the same text.
    let mut reached = vec![false; other.len() + 1];
    spread(other, &mut reached, true);
    for part in one {
        let mut next = vec![false; other.len() + 1];
        let mut carried = false;
        for (index, next) in next.iter_mut().enumerate() {
            let here = reached.get(index) == Some(&true);
            let before = index.checked_sub(1);
            let from_before = before.is_some_and(|before| reached.get(before) == Some(&true));
            let last = before.and_then(|before| other.get(before));
            carried |= here;
            *next = match part {
                // Any text: from any earlier place.
                Part::Run => carried,
                // A run of the other's takes the character in and goes on.
                Part::Any => (from_before && last.is_some()) || (here && last == Some(&Part::Run)),
                Part::Character(character) => {
                    let same = match last {
                        Some(Part::Character(other)) => other == character,
                        Some(Part::Any | Part::Run) => true,
                        None => false,
                    };
                    (from_before && same) || (here && last == Some(&Part::Run))
                }
            };
        }
        reached = next;
        spread(other, &mut reached, false);
    }
    reached.last() == Some(&true)
}

/// A run of the other's may also be empty.
fn spread(other: &[Part], reached: &mut [bool], start: bool) {
    let mut there = start;
    for (index, cell) in reached.iter_mut().enumerate() {
        if index > 0 {
            there = there && other.get(index - 1) == Some(&Part::Run);
        }
        *cell |= there;
        there = *cell;
    }
}
