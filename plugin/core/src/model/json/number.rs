//! Numbers: their canonical text, and whether a text denotes the same decimal value after a trip through a double.

use std::fmt;

use super::SyntaxKind;

/// A number in its canonical text: integers exact, floats as Python's `repr` writes them.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Number(Box<str>);

impl Number {
    /// The longest number that is read, in digits.
    pub const MAX_DIGITS: usize = 1000;

    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether two numbers have the same value: `1`, `1.0` and `1e0` have.
    pub fn same_value(&self, other: &Self) -> bool {
        let (one, other) = (Decimal::of(&self.0), Decimal::of(&other.0));
        one == other || (one.is_zero() && other.is_zero())
    }

    /// Reads a number that the grammar of JSON has already accepted. Refused is what canonical text cannot say:
    /// `0.1000000000000000055` and `1e-400` denote another value than their double, the integer `-0` none of its own.
    pub(super) fn canonical(text: &str) -> Result<Self, SyntaxKind> {
        if text.bytes().filter(u8::is_ascii_digit).count() > Self::MAX_DIGITS {
            return Err(SyntaxKind::NumberTooLong);
        }
        let inexact = || SyntaxKind::NumberNotExact(text.chars().take(40).collect());
        if is_integer(text) {
            return if text == "-0" { Err(inexact()) } else { Ok(Self(text.into())) };
        }
        let double: f64 = text.parse().map_err(|_| inexact())?;
        if !double.is_finite() {
            return Err(inexact());
        }
        let repr = python_repr(double);
        if Decimal::of(text) == Decimal::of(&repr) { Ok(Self(repr.into())) } else { Err(inexact()) }
    }

    /// Keeps the text as it is where it has no canonical form.
    pub(crate) fn lenient(text: &str) -> Self {
        Self::canonical(text).unwrap_or_else(|_| Self(text.into()))
    }

    pub(super) fn to_serde(&self) -> serde_json::Value {
        let text = self.as_str();
        if is_integer(text) {
            if let Ok(integer) = text.parse::<i64>() {
                return integer.into();
            }
            if let Ok(integer) = text.parse::<u64>() {
                return integer.into();
            }
        }
        // `null` where no double is near: only a lenient reader lets that in.
        text.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map_or(serde_json::Value::Null, Into::into)
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! from_integers {
    ($($integer:ty),*) => {$(
        impl From<$integer> for super::Value {
            fn from(integer: $integer) -> Self {
                Self::Number(Number(integer.to_string().into()))
            }
        }
    )*};
}
from_integers!(i32, i64, u32, u64);

/// Whether a number's text is an integer's: Python's `json` makes an `int` of exactly these.
fn is_integer(text: &str) -> bool {
    !text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
}

/// A finite double as Python's `repr` writes it: the shortest digits that give it back, with an exponent only below
/// 1e-4 and from 1e16.
fn python_repr(double: f64) -> String {
    let scientific = format!("{double:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits = mantissa.replace('.', "");
    if !(-4..16).contains(&exponent) {
        let point = if digits.len() > 1 { "." } else { "" };
        let (first, rest) = digits.split_at(1);
        let exponent_sign = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}{point}{rest}e{exponent_sign}{:02}", exponent.unsigned_abs());
    }
    let places = exponent.unsigned_abs() as usize;
    if exponent < 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(places - 1));
    }
    if digits.len() <= places + 1 {
        format!("{sign}{digits}{}.0", "0".repeat(places + 1 - digits.len()))
    } else {
        let (whole, fraction) = digits.split_at(places + 1);
        format!("{sign}{whole}.{fraction}")
    }
}

/// The decimal value of a number's text: ±0.DIGITS × 10^exponent, without zeros at either end of the digits.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    fn of(text: &str) -> Self {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let leading = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..leading);
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.is_empty() {
            return Self { negative, digits, exponent: 0 };
        }
        let length = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
        let shift = length(whole.len()).saturating_sub(length(leading));
        Self { negative, digits, exponent: saturating_integer(exponent).saturating_add(shift) }
    }

    fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }
}

/// An exponent's text as a number; beyond what any double has, the exact value does not matter.
fn saturating_integer(text: &str) -> i64 {
    const FAR: i64 = 1_000_000_000_000;
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let size = digits.bytes().fold(0_i64, |size, digit| (size * 10 + i64::from(digit.wrapping_sub(b'0'))).min(FAR));
    if negative { -size } else { size }
}

/// Whether JavaScript reads some number of well-formed JSON as another number.
pub(super) fn javascript_rounds(text: &str) -> bool {
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        match byte {
            b'"' => rest = after_string(after),
            b'-' | b'0'..=b'9' => {
                let length = rest
                    .iter()
                    .take_while(|byte| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'))
                    .count();
                let (number, after) = rest.split_at(length);
                if std::str::from_utf8(number).is_ok_and(rounds) {
                    return true;
                }
                rest = after;
            }
            _ => rest = after,
        }
    }
    false
}

fn rounds(number: &str) -> bool {
    // Up to 15 digits always survive a double.
    if number.len() <= 15 && is_integer(number) {
        return false;
    }
    let Ok(double) = number.parse::<f64>() else { return true };
    let source = Decimal::of(number);
    !double.is_finite() || (source != Decimal::of(&format!("{double:e}")))
}

/// What follows the closing quote of a string whose opening quote has been read.
fn after_string(mut rest: &[u8]) -> &[u8] {
    while let Some((&byte, after)) = rest.split_first() {
        match byte {
            b'"' => return after,
            b'\\' => rest = after.split_first().map_or(after, |(_, after)| after),
            _ => rest = after,
        }
    }
    rest
}
