//! What the reader accepts and refuses, and that it writes as Python's `json` does.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use super::*;

fn read(text: &str) -> Result<Value, SyntaxError> {
    parse(text.as_bytes(), Limits::ARGUMENTS)
}

fn kind(text: &str) -> SyntaxKind {
    read(text).expect_err(text).kind
}

#[test]
fn numbers_get_the_text_that_python_gives_them() {
    for (source, canonical) in [
        ("0", "0"),
        ("-7", "-7"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1.00", "1.0"),
        ("1e0", "1.0"),
        ("-0.0", "-0.0"),
        ("-0e5", "-0.0"),
        ("0e99999999999999999999", "0.0"),
        ("1e16", "1e+16"),
        ("1E15", "1000000000000000.0"),
        ("1234567890123456.5", "1234567890123456.5"),
        ("0.0001", "0.0001"),
        ("0.00001", "1e-05"),
        ("1.5e-7", "1.5e-07"),
        ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("100e-2", "1.0"),
    ] {
        assert_eq!(read(source).unwrap().canonical(), canonical, "{source}");
    }
}

#[test]
fn a_number_that_would_become_another_is_refused() {
    for source in ["0.1000000000000000055", "1e-400", "1e400", "-0", "9007199254740993.0", "1e99999999999999999999"] {
        assert_eq!(kind(source), SyntaxKind::NumberNotExact(source.into()));
    }
    assert_eq!(kind(&"1".repeat(1001)), SyntaxKind::NumberTooLong);
    assert_eq!(kind(&format!("0.{}", "1".repeat(1000))), SyntaxKind::NumberTooLong);
    assert_eq!(kind(&format!("1e{}", "9".repeat(1000))), SyntaxKind::NumberTooLong);
    assert!(read(&"1".repeat(1000)).is_ok());
}

#[test]
fn a_lenient_reader_keeps_what_has_no_canonical_form() {
    let read = |text: &str| parse(text.as_bytes(), Limits::FOREIGN).map(|value| value.to_wire());
    assert_eq!(read("[0.1000000000000000055,1e400,1.00]").unwrap(), "[0.1000000000000000055,1e400,1.0]");
    assert_eq!(read(r#""cut \ud83d off""#).unwrap(), "\"cut \u{fffd} off\"");
    assert_eq!(read(r#""\ud83d\u0041\udc00""#).unwrap(), "\"\u{fffd}A\u{fffd}\"");
    assert!(read(r#"{"a":1,"a":2}"#).is_err());
}

#[test]
fn what_two_readers_could_understand_differently_is_refused() {
    use SyntaxKind::*;
    for (source, expected) in [
        (r#"{"a":1,"b":{"c":1,"\u0063":2}}"#, DuplicateKey("c".into())),
        (r#""\ud83d""#, LoneSurrogate),
        (r#""\ude00""#, LoneSurrogate),
        (r#""\ud83d\u0041""#, LoneSurrogate),
        ("\"a\nb\"", ControlCharacter),
        ("\"a\0b\"", ControlCharacter),
        (r#""\x41""#, InvalidEscape),
        (r#""\u12g4""#, InvalidEscape),
        ("01", InvalidNumber),
        ("+1", Unexpected { found: '+', expected: "a value" }),
        (".5", Unexpected { found: '.', expected: "a value" }),
        ("1.", InvalidNumber),
        ("-", InvalidNumber),
        ("1e", InvalidNumber),
        ("0x10", InvalidNumber),
        ("1 2", TrailingText),
        ("{} x", TrailingText),
        ("", UnexpectedEnd),
        ("[1", UnexpectedEnd),
        (r#"{"a""#, UnexpectedEnd),
        (r#""abc"#, UnexpectedEnd),
        ("[1,]", Unexpected { found: ']', expected: "a value" }),
        ("{\"a\":1,}", Unexpected { found: '}', expected: "a key in double quotes" }),
        ("{a:1}", Unexpected { found: 'a', expected: "a key in double quotes" }),
        ("NaN", Unexpected { found: 'N', expected: "a value" }),
        ("-Infinity", InvalidNumber),
        ("True", Unexpected { found: 'T', expected: "a value" }),
        ("nul", UnexpectedEnd),
        ("'a'", Unexpected { found: '\'', expected: "a value" }),
        ("\u{feff}1", Unexpected { found: '\u{feff}', expected: "a value" }),
        ("\u{a0}1", Unexpected { found: '\u{a0}', expected: "a value" }),
        ("// x\n1", Unexpected { found: '/', expected: "a value" }),
    ] {
        let error = read(source);
        assert_eq!(error.expect_err(source).kind, expected, "{source}");
    }
    assert_eq!(parse(b"\"\xff\"", Limits::ARGUMENTS).unwrap_err().kind, InvalidUtf8);
    // CESU-8: a surrogate in UTF-8's clothes.
    assert_eq!(parse(b"\"\xed\xa0\xbd\xed\xb8\x80\"", Limits::ARGUMENTS).unwrap_err().kind, InvalidUtf8);
}

#[test]
fn an_error_says_where() {
    let error = read("{\"list\": [1,\n  {\"a/b\": 1e400}]}").unwrap_err();
    assert_eq!((error.pointer.as_str(), error.line, error.column), ("/list/1/a~1b", 2, 11));
    let error = read("{\"x\":\n{\"k\":1,\n \"k\":2}}").unwrap_err();
    assert_eq!((error.pointer.as_str(), error.line, error.column, error.offset), ("/x/k", 3, 2, 15));
    assert_eq!(error.to_string(), "the key `k` is there twice (line 3, column 2)");
}

#[test]
fn nesting_is_counted_in_levels() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(read(&nested(128)).is_ok());
    assert_eq!(kind(&nested(129)), SyntaxKind::TooDeep { limit: 128 });
    let any = Limits { max_depth: usize::MAX, lenient: false };
    assert!(parse(nested(512).as_bytes(), any).is_ok());
    assert!(parse(nested(513).as_bytes(), any).is_err());
    assert_eq!(kind(&"[".repeat(1 << 20)), SyntaxKind::TooDeep { limit: 128 });
    assert_eq!(kind(&"{\"a\":".repeat(1 << 18)), SyntaxKind::TooDeep { limit: 128 });
}

#[test]
fn a_large_object_with_one_repeated_key_is_refused_and_without_it_read() {
    let members = |last: &str| {
        let members: Vec<_> = (0..50_000).map(|index| format!("\"k{index}\":{index}")).collect();
        format!("{{{},\"{last}\":0}}", members.join(","))
    };
    assert!(matches!(kind(&members("k49000")), SyntaxKind::DuplicateKey(key) if key == "k49000"));
    assert_eq!(read(&members("other")).unwrap().as_object().unwrap().len(), 50_001);
}

#[test]
fn checking_and_reading_agree() {
    for text in [r#"{"a":[1,{"b":"c"}]}"#, r#"{"a":1,"a":1}"#, "[1e400]", "[", "[1] 2"] {
        assert_eq!(check(text.as_bytes(), Limits::ARGUMENTS).err(), read(text).err(), "{text}");
    }
}

#[test]
fn equality_ignores_the_order_of_keys_and_nothing_else() {
    let value = |text| read(text).unwrap();
    assert_eq!(value(r#"{"a":1,"b":[{"c":2,"d":3}]}"#), value(r#"{"b":[{"d":3,"c":2}],"a":1}"#));
    assert_ne!(value("1"), value("1.0"));
    assert_ne!(value("[1,2]"), value("[2,1]"));
    assert_ne!(value(r#"{"a":null}"#), value("{}"));
}

#[test]
fn numbers_can_be_compared_by_value() {
    let number = |text: &str| match parse(text.as_bytes(), Limits::FOREIGN).unwrap() {
        Value::Number(number) => number,
        other => panic!("{other:?}"),
    };
    for (one, other) in [("1", "1.0"), ("100", "1e2"), ("0", "-0.0"), ("-1.5", "-15e-1")] {
        assert!(number(one).same_value(&number(other)), "{one} {other}");
    }
    for (one, other) in
        [("1", "-1"), ("1", "10"), ("0.1", "0.1000000000000000055"), ("9007199254740993", "9007199254740992.0")]
    {
        assert!(!number(one).same_value(&number(other)), "{one} {other}");
    }
}

#[test]
fn pointers_follow_rfc_6901() {
    let value = read(r#"{"a/b":{"m~n":[10,{"":20}]},"":1,"0":2}"#).unwrap();
    let at = |pointer| value.pointer(pointer).map(Value::to_wire);
    assert_eq!(at("/a~1b/m~0n/0").as_deref(), Some("10"));
    assert_eq!(at("/a~1b/m~0n/1/").as_deref(), Some("20"));
    assert_eq!(at("/").as_deref(), Some("1"));
    assert_eq!(at("/0").as_deref(), Some("2"));
    assert_eq!(at(""), Some(value.to_wire()));
    for nothing in ["a", "/a~1b/m~0n/01", "/a~1b/m~0n/-", "/a~1b/m~0n/2", "/a~1b/m~0n/+1", "/a~2", "/a~", "/0/0"] {
        assert_eq!(at(nothing), None, "{nothing}");
    }
    let object = value.as_object().unwrap();
    assert_eq!(object.pointer("/a~1b/m~0n/0"), value.pointer("/a~1b/m~0n/0"));
    assert_eq!(object.pointer(""), None);
}

#[test]
fn what_javascript_would_round_is_noticed() {
    let rounds = |text: &str| Raw::from_text(text.to_owned()).unwrap().javascript_rounds();
    for text in [
        "9007199254740993",
        "[1,{\"a\":12345678901234567890}]",
        "0.1000000000000000055",
        "1e400",
        "1e-400",
        "-9223372036854775807",
    ] {
        assert!(rounds(text), "{text}");
    }
    for text in [
        "9007199254740992",
        "[0.1,1.00,-0,-0.0,1e22,10000000000000000000000]",
        "\"9007199254740993\"",
        r#"{"a\"9007199254740993":"x\\","b":"9007199254740993"}"#,
        "5e-324",
        "[]",
    ] {
        assert!(!rounds(text), "{text}");
    }
}

#[test]
fn pretty_text_has_one_member_a_line() {
    let value = read(r#"{"a":[1,{"b":[]}],"c":{},"d":"x\ny"}"#).unwrap();
    let expected = "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {},\n  \"d\": \"x\\ny\"\n}";
    assert_eq!(value.pretty(), expected);
    let other_order = read(r#"{"d":"x\ny","a":[1,{"b":[]}],"c":{}}"#).unwrap();
    assert_eq!(other_order.pretty_sorted(), expected);
}

#[test]
fn values_travel_through_serde_unrounded() {
    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    enum Tagged {
        Equals(Value),
    }
    let text = r#"{"Equals":{"n":123456789012345678901234567890,"f":1e-07,"s":"é"}}"#;
    let tagged: Tagged = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&tagged).unwrap(), text);
    assert!(serde_json::from_str::<Tagged>(r#"{"Equals":{"a":1,"a":2}}"#).is_err());
    assert!(serde_json::from_str::<Object>("[]").is_err());
}

#[test]
fn a_serde_value_is_taken_over_exactly() {
    let value = serde_json::json!({"i": i64::MIN, "u": u64::MAX, "f": 1.0, "g": 1e16, "s": ["x", null, true]});
    let ours = Value::from_serde(&value).unwrap();
    assert_eq!(
        ours.canonical(),
        r#"{"f":1.0,"g":1e+16,"i":-9223372036854775808,"s":["x",null,true],"u":18446744073709551615}"#
    );
    assert_eq!(ours.to_serde(), value);
    let deep = (0..129).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner]));
    assert_eq!(Value::from_serde(&deep).unwrap_err().kind, SyntaxKind::TooDeep { limit: 128 });
}

#[test]
fn inserting_keeps_the_place_of_a_key() {
    let mut object = Object::new();
    assert!(object.is_empty());
    object.insert("b", "1");
    object.insert("a", 2);
    assert_eq!(object.insert("b", 3_u64), Some(Value::from("1")));
    assert_eq!(object.to_wire(), r#"{"b":3,"a":2}"#);
    assert_eq!(object.canonical(), r#"{"a":2,"b":3}"#);
    assert!(object.contains_key("a") && !object.contains_key("c"));
    assert_eq!((object.len(), object.pretty().lines().count()), (2, 4));
}

/// JSON text with every freedom of the grammar, and now and then a fault.
fn any_text() -> impl Strategy<Value = String> {
    let blank = prop_oneof![4 => Just(""), 1 => Just(" "), 1 => Just("\n\t"), 1 => Just("\r\n")];
    let number = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_filter_map("finite", |number| serde_json::Number::from_f64(number).map(|n| n.to_string())),
        "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,22})?([eE][+-]?[0-9]{1,3})?",
        "-?[1-9]\\.[0-9]{1,3}0{0,3}([eE][+-]?[0-9]{1,2})?",
    ];
    let string = prop_oneof![
        "\\PC{0,8}".prop_map(|text| serde_json::Value::String(text).to_string()),
        "(\\\\u[0-9a-fA-F]{4}|\\\\[bfnrt/\"\\\\]|[a-z é漢😀\u{7f}\u{2028}]){0,6}"
            .prop_map(|text| format!("\"{text}\"")),
        "(a|b|\\\\ud83d\\\\ude00|\\\\u0061){1,2}".prop_map(|text| format!("\"{text}\"")),
    ];
    let scalar = prop_oneof![
        4 => number,
        4 => string.clone(),
        1 => Just("true".to_owned()),
        1 => Just("false".to_owned()),
        1 => Just("null".to_owned()),
        1 => "[-+.\\[\\]{}:,a-z0-9\"]{1,4}",
    ];
    (scalar, blank).prop_map(|(text, blank)| format!("{blank}{text}{blank}")).prop_recursive(5, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((string.clone(), inner), 0..5).prop_map(|members| {
                let members: Vec<_> = members.iter().map(|(key, value)| format!("{key} :{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

/// Python's own `json`, held to the same rules: the canonical text, or `null` where the text is refused.
const ORACLE: &str = r#"
import json, sys
from decimal import Decimal

class Refused(Exception): pass

def count(text):
    if sum(c.isdigit() for c in text) > 1000: raise Refused()

def integer(text):
    count(text)
    if text == "-0": raise Refused()
    return int(text)

def real(text):
    count(text)
    number = float(text)
    if number in (float("inf"), float("-inf")) or Decimal(repr(number)) != Decimal(text): raise Refused()
    return number

def constant(text): raise Refused()

def members(pairs):
    if len(dict(pairs)) != len(pairs): raise Refused()
    return dict(pairs)

for line in sys.stdin:
    try:
        value = json.loads(json.loads(line), parse_int=integer, parse_float=real, parse_constant=constant,
                           object_pairs_hook=members)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
        print(json.dumps(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)))
    except (Refused, ValueError):
        print("null")
"#;

#[test]
fn canonical_text_is_what_pythons_json_writes() {
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let strategy = any_text();
    let texts: Vec<String> = (0..4000).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();

    let mut python = Command::new("python3")
        .args(["-c", ORACLE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this test compares with Python's `json` and needs `python3` (3.8 or later) in the PATH");
    let lines: String = texts.iter().map(|text| serde_json::to_string(text).unwrap() + "\n").collect();
    let mut stdin = python.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = python.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "python3 failed");

    let answers: Vec<Option<String>> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), texts.len());
    let mut accepted = 0;
    for (text, expected) in texts.iter().zip(&answers) {
        let ours = read(text);
        assert_eq!(ours.as_ref().ok().map(Value::canonical), *expected, "{text:?}: {ours:?}");
        accepted += usize::from(expected.is_some());
    }
    assert!((500..3500).contains(&accepted), "the documents should be of both kinds: {accepted} accepted");
}

proptest! {
    #[test]
    fn what_is_written_reads_back_the_same(text in any_text()) {
        if let Ok(value) = read(&text) {
            for written in [value.to_wire(), value.canonical(), value.pretty()] {
                let again = read(&written).unwrap();
                prop_assert_eq!(&again, &value);
                prop_assert_eq!(again.canonical(), value.canonical());
            }
            let object_order = read(&value.to_wire()).unwrap().to_wire();
            prop_assert_eq!(object_order, value.to_wire());
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), text in "[\\[\\]{}:,\"0-9eE.\\\\u-]{0,40}") {
        let _ = parse(&bytes, Limits::ARGUMENTS);
        let _ = parse(text.as_bytes(), Limits::FOREIGN);
        prop_assert_eq!(
            check(text.as_bytes(), Limits::ARGUMENTS).err(),
            parse(text.as_bytes(), Limits::ARGUMENTS).err()
        );
        if let Ok(raw) = Raw::from_text(text) {
            let _ = raw.javascript_rounds();
        }
    }

    #[test]
    fn our_reader_accepts_only_what_serde_json_accepts(text in any_text()) {
        if read(&text).is_ok() {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
        }
    }
}
