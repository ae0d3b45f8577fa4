//! What people type: JSON from the line, a file or stdin; durations; points in time; `key=value`.
//!
//! JSON goes through the core's strict reader alone: numbers keep their digits, a key that comes twice is refused.

use std::{io::Read as _, path::Path, time::Duration};

use jiff::{
    Span, SpanRelativeTo, Timestamp,
    civil::{Date, DateTime},
    tz::TimeZone,
};
use mcp_host_core::{Error, model::json};

use crate::failure::{Result, invalid};

/// No text that is read is longer.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Text as it was given: itself, `@FILE`, or `-` for stdin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source(String);

impl std::str::FromStr for Source {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

impl Source {
    /// What was typed.
    #[cfg(test)]
    pub(crate) fn typed(&self) -> &str {
        &self.0
    }

    /// Reads it all. `flag` is named in errors.
    pub(crate) fn read(&self, flag: &str) -> Result<String> {
        if self.0 == "-" {
            return bounded(std::io::stdin().lock(), flag, "stdin");
        }
        let Some(path) = self.0.strip_prefix('@') else { return Ok(self.0.clone()) };
        let file = std::fs::File::open(Path::new(path))
            .map_err(|error| invalid(format!("`{flag}`: cannot open `{path}`: {error}")))?;
        bounded(file, flag, path)
    }

    /// Reads it as JSON.
    pub(crate) fn json(&self, flag: &str) -> Result<json::Value> {
        strict_json(&self.read(flag)?, flag)
    }
}

fn bounded(from: impl std::io::Read, flag: &str, name: &str) -> Result<String> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| invalid(format!("`{flag}`: cannot read `{name}`: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(invalid(format!("`{flag}`: `{name}` is longer than {MAX_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| invalid(format!("`{flag}`: `{name}` is not UTF-8 text")))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// JSON text through the strict reader; an error says in which flag, and where in it.
pub(crate) fn strict_json(text: &str, flag: &str) -> Result<json::Value> {
    json::parse(text.as_bytes(), json::Limits::ARGUMENTS).map_err(|error| {
        let path = if flag == "--args" { format!("/arguments{}", error.pointer) } else { error.pointer.clone() };
        Error::invalid_input(path, format!("`{flag}` cannot be used: {error}")).into()
    })
}

/// `30s`, `1500ms`, `2m`, `8h`, `30d`: longer than nothing. A bare number has no unit and is refused.
pub(crate) fn duration(text: &str) -> std::result::Result<Duration, String> {
    let advice = || format!("`{text}` is no length of time; write it like `30s`, `5m`, `8h` or `30d`");
    let span: Span = text.trim().parse().map_err(|_| advice())?;
    let length = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| advice())?;
    let length = Duration::try_from(length).map_err(|_| format!("`{text}` is less than nothing"))?;
    if length.is_zero() { Err(format!("`{text}` is no time at all")) } else { Ok(length) }
}

/// An end: a length of time from now, or RFC 3339. In RFC 3339, UTC.
pub(crate) fn expiry(text: &str) -> std::result::Result<String, String> {
    let now = Timestamp::now();
    let at = match text.parse::<Timestamp>() {
        Ok(at) => at,
        Err(_) => {
            let length = duration(text).map_err(|problem| format!("{problem}, or a moment like `{now:.0}`"))?;
            now.checked_add(length).map_err(|_| format!("`{text}` is too far away"))?
        }
    };
    if at > now { Ok(at.to_string()) } else { Err(format!("`{text}` has passed already")) }
}

/// A moment of the past: RFC 3339, a local date or date and time, or how long ago. In RFC 3339, UTC.
pub(crate) fn moment(text: &str) -> std::result::Result<String, String> {
    let local = |at: DateTime| {
        at.to_zoned_datetime(TimeZone::system()).map(|zoned| zoned.timestamp()).map_err(|error| error.to_string())
    };
    let at = if let Ok(at) = text.parse::<Timestamp>() {
        at
    } else if let Ok(date) = text.parse::<Date>().and_then(|date| {
        // `Date` also reads the date of a date and time.
        if text.contains([':', 'T', 't', ' ']) {
            Err(jiff::Error::from_args(format_args!("a time follows")))
        } else {
            Ok(date)
        }
    }) {
        local(date.at(0, 0, 0, 0))?
    } else if let Ok(at) = text.parse::<DateTime>() {
        local(at)?
    } else {
        let ago = duration(text)
            .map_err(|_| format!("`{text}` is no moment; write it like `2026-01-31`, `2026-01-31T18:00`, `2026-01-31T17:00:00Z`, or `2h` for two hours ago"))?;
        Timestamp::now().checked_sub(ago).map_err(|_| format!("`{text}` is too long ago"))?
    };
    Ok(at.to_string())
}

/// `KEY=VALUE`; the value may be empty and may hold `=`.
pub(crate) fn key_value(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not of the form KEY=VALUE")),
    }
}

/// `Name: value` or `Name=value`, as headers are written.
pub(crate) fn header(text: &str) -> std::result::Result<(String, String), String> {
    let at = text.find([':', '=']);
    match at.map(|at| (text.get(..at).unwrap_or_default().trim(), text.get(at + 1..).unwrap_or_default().trim())) {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not of the form NAME: VALUE")),
    }
}

/// `PTR=REST` with a JSON pointer.
pub(crate) fn pointer_value(text: &str) -> std::result::Result<(String, String), String> {
    let (pointer_text, rest) = key_value(text)?;
    Ok((pointer(&pointer_text)?, rest))
}

/// A JSON pointer to an argument (RFC 6901): begins with `/`.
pub(crate) fn pointer(text: &str) -> std::result::Result<String, String> {
    if text.starts_with('/') {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is no JSON pointer; the argument `path` is written `/path`"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_have_a_unit() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("1500ms"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("1h 30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(duration("30d"), Ok(Duration::from_secs(30 * 86_400)));
        for wrong in ["30", "", "-5s", "0s", "soon", "1y"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_expiry_lies_ahead() {
        assert!(expiry("8h").is_ok());
        assert!(expiry("2999-01-01T00:00:00Z").is_ok());
        assert!(expiry("2001-01-01T00:00:00Z").unwrap_err().contains("passed"));
        assert!(expiry("8").is_err());
    }

    #[test]
    fn moments_are_local_unless_they_name_a_zone() {
        assert_eq!(moment("2026-01-31T17:00:00Z").unwrap(), "2026-01-31T17:00:00Z");
        let local: DateTime = "2026-01-31T18:30:00".parse().unwrap();
        let expected = local.to_zoned_datetime(TimeZone::system()).unwrap().timestamp().to_string();
        assert_eq!(moment("2026-01-31T18:30").unwrap(), expected);
        assert_eq!(moment("2026-01-31 18:30:00").unwrap(), expected);
        let midnight = local.with().time(jiff::civil::Time::midnight()).build().unwrap();
        assert_eq!(
            moment("2026-01-31").unwrap(),
            midnight.to_zoned_datetime(TimeZone::system()).unwrap().timestamp().to_string()
        );
        assert!(moment("2h").is_ok() && moment("yesterday").is_err());
    }

    #[test]
    fn pairs_split_at_the_first_sign() {
        assert_eq!(key_value("A=b=c"), Ok(("A".into(), "b=c".into())));
        assert_eq!(key_value("A="), Ok(("A".into(), String::new())));
        assert!(key_value("=b").is_err() && key_value("A").is_err());
        assert_eq!(header("Authorization: Bearer a=b"), Ok(("Authorization".into(), "Bearer a=b".into())));
        assert_eq!(header("X-Key=a:b"), Ok(("X-Key".into(), "a:b".into())));
        assert_eq!(pointer_value("/path=/home/*"), Ok(("/path".into(), "/home/*".into())));
        assert!(pointer_value("path=x").is_err());
    }
}
