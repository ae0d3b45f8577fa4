//! What is noticed when somebody touches a log, the list of runs or an anchor.

use std::{
    fs,
    path::{Path, PathBuf},
};

use proptest::prelude::*;

use super::*;

#[tokio::test]
async fn each_kind_of_tampering_is_named_with_its_line() {
    use FindingKind::*;
    type Edit = (&'static str, fn(&mut Vec<String>), Vec<(FindingKind, u64)>);
    let edits: Vec<Edit> = vec![
        ("a value changed", |lines| lines[2] = lines[2].replace("denied", "allowd"), vec![(HashMismatch, 3)]),
        (
            "a value and its hash changed",
            |lines| {
                let changed = lines[2].replace("denied", "allowd");
                let record = record::Record::parse(changed.as_bytes()).unwrap();
                lines[2] = changed.replace(record.text("hash"), &record.computed_hash());
            },
            vec![(HmacMismatch, 3), (PrevHashMismatch, 4)],
        ),
        ("a line gone", |lines| drop(lines.remove(3)), vec![(PrevHashMismatch, 4), (Truncated, 7)]),
        (
            "two lines swapped",
            |lines| lines.swap(2, 3),
            vec![(PrevHashMismatch, 3), (PrevHashMismatch, 4), (PrevHashMismatch, 5)],
        ),
        ("the end gone", |lines| lines.truncate(3), vec![(Truncated, 4)]),
        ("no JSON", |lines| lines[4] = "oops".to_owned(), vec![(JsonParseError, 5)]),
        ("a key twice", |lines| lines[4] = lines[4].replacen('{', "{\"run_id\":\"x\",", 1), vec![(JsonParseError, 5)]),
        (
            "a blank line",
            |lines| lines.insert(4, String::new()),
            vec![(MissingFields, 5), (HashMismatch, 7), (HmacMismatch, 8)],
        ),
        ("another field", |lines| lines[4] = lines[4].replacen('{', "{\"note\":1,", 1), vec![(UnexpectedField, 5)]),
        (
            "no HMAC",
            |lines| {
                lines[4].replace_range(1..=(r#""chain_hmac":"","#.len() + 64), "");
            },
            vec![(MissingFields, 5)],
        ),
        (
            "no HMAC anywhere",
            |lines| lines.iter_mut().for_each(|line| line.replace_range(1..=(r#""chain_hmac":"","#.len() + 64), "")),
            (1..=7).map(|line| (MissingFields, line)).collect(),
        ),
        ("a line repeated", |lines| lines.push(lines[6].clone()), vec![(PrevHashMismatch, 8), (HmacMismatch, 8)]),
    ];
    for (what, edit, expected) in edits {
        let place = Place::new();
        run(&place).await;
        let path = place.only();
        let mut lines: Vec<String> = fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 7);
        edit(&mut lines);
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        let report = place.verify();
        assert!(!report.valid, "{what}");
        let found: Vec<_> = report.runs[0].failures.iter().map(|found| (found.kind, found.line)).collect();
        assert_eq!(found, expected, "{what}");
    }
}

#[tokio::test]
async fn logs_and_lists_that_vanish_or_are_cut_are_missed() {
    let make = || async {
        let place = Place::new();
        let first = run(&place).await;
        let second = run(&place).await;
        (place, first, second)
    };
    let (place, first, _) = make().await;
    fs::remove_file(place.audit().join(format!("{first}.jsonl"))).unwrap();
    let report = place.verify();
    assert_eq!(kinds(&report), [FindingKind::Missing]);
    assert!(report.runs.iter().any(|run| run.run_id == first && run.events == 0));
    let only = verify(&place.folders, Some(&place.key), Target::Run(&first)).unwrap();
    assert!(!only.valid);

    // The log and its lines in the list.
    let (place, _, second) = make().await;
    let list = place.audit().join("runs.jsonl");
    let text = fs::read_to_string(&list).unwrap();
    assert_eq!(text.lines().count(), 4);
    let kept: Vec<&str> = text.lines().take(2).collect();
    fs::write(&list, kept.join("\n") + "\n").unwrap();
    fs::remove_file(place.audit().join(format!("{second}.jsonl"))).unwrap();
    let report = place.verify();
    assert_eq!(report.runs.last().unwrap().run_id, "runs");
    assert_eq!(kinds(&report), [FindingKind::Truncated]);
    // The next run writes on, and the break stays.
    run(&place).await;
    assert!(kinds(&place.verify()).contains(&FindingKind::PrevHashMismatch));

    // The list's anchor too.
    let (place, _, _) = make().await;
    fs::remove_file(place.audit().join("runs.head")).unwrap();
    assert_eq!(kinds(&place.verify()), [FindingKind::Truncated]);
    run(&place).await;
    assert_eq!(kinds(&place.verify()), [FindingKind::Truncated], "the list says that it stood without one");

    // The whole list.
    let (place, _, _) = make().await;
    for name in ["runs.jsonl", "runs.head"] {
        fs::remove_file(place.audit().join(name)).unwrap();
    }
    assert_eq!(kinds(&place.verify()), [FindingKind::Missing, FindingKind::Missing]);
}

#[tokio::test]
async fn a_running_log_cut_behind_its_anchor_is_noticed() {
    let living = Place::new();
    let log = living.log(Origin::App);
    let _sent = ask(&log, "{}").unwrap().started("mode-allow", false).await.unwrap();
    let run_id = log.run_id().unwrap();

    let place = killed(&living);
    let path = place.audit().join(format!("{run_id}.jsonl"));
    let text = fs::read_to_string(&path).unwrap();
    let two: Vec<&str> = text.lines().take(2).collect();
    fs::write(&path, two.join("\n") + "\n").unwrap();
    assert_eq!(kinds(&place.verify()), [FindingKind::Truncated]);
    run(&place).await;
    assert_eq!(kinds(&place.verify()), [FindingKind::Truncated], "also after the next start");

    let place = killed(&living);
    fs::remove_file(place.audit().join(format!("{run_id}.head"))).unwrap();
    assert_eq!(kinds(&place.verify()), [FindingKind::Truncated]);
    run(&place).await;
    assert_eq!(kinds(&place.verify()), [FindingKind::Truncated]);
}

#[tokio::test]
async fn without_the_key_the_chain_alone_is_judged_and_that_is_said() {
    let place = Place::new();
    let run_id = run(&place).await;
    for key in [None, Some(MasterKey::for_tests(9))] {
        let report = verify(&place.folders, key.as_ref(), Target::Run(&run_id)).unwrap();
        assert!(report.valid && !report.keyed, "{report:?}");
        assert_eq!(report.runs[0].warnings, [Finding { kind: FindingKind::NotKeyed, line: 0 }]);
    }
    let path = place.only();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("denied", "allowd", 1)).unwrap();
    assert!(!verify(&place.folders, None, Target::All).unwrap().valid);
}

#[tokio::test]
async fn a_copy_elsewhere_is_judged_by_what_the_list_knows() {
    let place = Place::new();
    run(&place).await;
    let copy = place.folders.state().join("copy.jsonl");
    fs::copy(place.only(), &copy).unwrap();
    let judge = || verify(&place.folders, Some(&place.key), Target::File(&copy)).unwrap();
    assert!(judge().valid && judge().keyed);
    let text = fs::read_to_string(&copy).unwrap();
    let some: Vec<&str> = text.lines().take(4).collect();
    fs::write(&copy, some.join("\n") + "\n").unwrap();
    assert_eq!(kinds(&judge()), [FindingKind::Truncated]);
    fs::write(&copy, "").unwrap();
    assert_eq!(kinds(&judge()), [FindingKind::Missing]);
    let absent = place.folders.state().join("absent.jsonl");
    assert!(!verify(&place.folders, Some(&place.key), Target::File(&absent)).unwrap().valid);
    assert!(verify(&place.folders, None, Target::Run("../x")).is_err());
    assert!(!verify(&place.folders, None, Target::Run("host-unknown")).unwrap().valid);
}

#[test]
fn teaagents_own_format_is_judged_by_its_chain() {
    let vector = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/chain.jsonl");
    let place = Place::new();
    let judge = |path: &Path| verify(&place.folders, Some(&place.key), Target::File(path)).unwrap();
    let report = judge(&vector);
    assert!(report.valid && !report.keyed, "{report:?}");
    assert_eq!((report.runs[0].run_id.as_str(), report.runs[0].events), ("mcp-0123", 3));

    let text = fs::read_to_string(&vector).unwrap();
    let path = place.folders.state().join("chain.jsonl");
    fs::write(&path, text.trim_end()).unwrap();
    assert!(judge(&path).valid, "its last line needs no newline");
    fs::write(&path, text.replace("0.0", "0.1")).unwrap();
    assert_eq!(report_of(&judge(&path)), [(FindingKind::HashMismatch, 3)]);
    fs::write(&path, text.replace("\"run_started\"", "\"run_begun\"")).unwrap();
    assert_eq!(report_of(&judge(&path)), [(FindingKind::HashMismatch, 1)]);
    // One line with an HMAC, and the others miss theirs.
    fs::write(&path, text.replacen("{", "{\"chain_hmac\": \"00\", ", 1)).unwrap();
    assert_eq!(report_of(&judge(&path)), [(FindingKind::MissingFields, 2), (FindingKind::MissingFields, 3)]);
    fs::write(&path, text.replacen("00:00:01", "00:00:03", 1)).unwrap();
    assert!(judge(&path).runs[0].warnings.iter().any(|found| found.kind == FindingKind::TimestampRegression));
}

fn report_of(report: &Report) -> Vec<(FindingKind, u64)> {
    report.runs[0].failures.iter().map(|found| (found.kind, found.line)).collect()
}

/// A finished run, made once for the cases below.
fn finished() -> &'static (Place, PathBuf, Vec<u8>) {
    static RUN: std::sync::LazyLock<(Place, PathBuf, Vec<u8>)> = std::sync::LazyLock::new(|| {
        let place = Place::new();
        let log = place.log(Origin::Serve);
        let _ = ask(&log, r#"{"path":"a"}"#).unwrap().blocked(Refusal::Denied, "deny-rule:1", &denied()).unwrap();
        drop(log);
        let path = place.only();
        let bytes = fs::read(&path).unwrap();
        (place, path, bytes)
    });
    &RUN
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn one_changed_byte_anywhere_is_found(position: prop::sample::Index, flip in 1_u8..=255, list: bool) {
        static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _one = ONE.lock().unwrap();
        let (place, path, bytes) = finished();
        let path = if list { place.audit().join("runs.jsonl") } else { path.clone() };
        let good = if list { fs::read(&path).unwrap() } else { bytes.clone() };
        let mut bad = good.clone();
        let position = position.index(bad.len());
        bad[position] ^= flip;
        fs::write(&path, &bad).unwrap();
        let report = place.verify();
        fs::write(&path, &good).unwrap();
        prop_assert!(!report.valid, "{:?}", report);
        prop_assert!(place.verify().valid);
    }
}
