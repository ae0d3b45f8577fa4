//! Reading the log: order, pages, filters.

use std::fs;

use super::*;

#[tokio::test]
async fn the_log_is_read_newest_first_filtered_and_in_pages() {
    let place = Place::new();
    let old = run(&place).await;
    let log = place.log(Origin::App);
    log.start().unwrap();
    // A run inside another: their records interleave.
    let inner = run(&place).await;
    drop(ask(&log, r#"{"path":"Grüße.txt"}"#).unwrap());
    let outer = log.run_id().unwrap();
    log.close().unwrap();

    let page = |filter: AuditFilter| query::page(&place.folders, &filter).unwrap();
    let all = page(AuditFilter::default());
    assert_eq!((all.rows.len(), all.next_cursor), (7 + 4 + 7, None));
    assert!(all.rows.windows(2).all(|pair| pair[0].time >= pair[1].time));
    let runs: Vec<&str> = all.rows.iter().map(|row| row.run_id.as_str()).collect();
    assert_eq!(runs[..3], [outer.as_str(); 3]);
    assert_eq!(runs[3..10], [inner.as_str(); 7]);
    assert_eq!(runs[10], outer);
    assert_eq!(runs[11..], [old.as_str(); 7]);

    // Pages of every size give the same rows.
    for limit in [1, 2, 5, 18] {
        let mut rows = Vec::new();
        let mut cursor = None;
        loop {
            let one = page(AuditFilter { limit: Some(limit), cursor, ..AuditFilter::default() });
            rows.extend(one.rows.into_iter().map(|row| row.event_id));
            cursor = one.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(rows, all.rows.iter().map(|row| row.event_id.clone()).collect::<Vec<_>>(), "{limit}");
    }

    let count = |filter: AuditFilter| page(filter).rows.len();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(count(AuditFilter { run_id: text(&inner), ..Default::default() }), 7);
    assert_eq!(count(AuditFilter { decision: text("denied"), ..Default::default() }), 2);
    assert_eq!(count(AuditFilter { decision: text("allowed"), ..Default::default() }), 4);
    assert_eq!(count(AuditFilter { rule: text("mode-allow"), ..Default::default() }), 4);
    assert_eq!(count(AuditFilter { server: text("files"), ..Default::default() }), 12);
    assert_eq!(count(AuditFilter { tool: text("other"), ..Default::default() }), 0);
    assert_eq!(count(AuditFilter { caller: Some(CallerKind::Cli), ..Default::default() }), 12);
    assert_eq!(count(AuditFilter { caller: Some(CallerKind::Page), ..Default::default() }), 0);
    assert_eq!(count(AuditFilter { text: text("GRüße"), ..Default::default() }), 1);
    assert_eq!(count(AuditFilter { until: text("2020-01-01"), ..Default::default() }), 0);
    assert_eq!(count(AuditFilter { since: text("2020-01-01T00:00:00Z"), ..Default::default() }), 18);
    assert!(query::page(&place.folders, &AuditFilter { since: text("soon"), ..Default::default() }).is_err());
    assert!(query::page(&place.folders, &AuditFilter { cursor: text("x"), ..Default::default() }).is_err());

    let call = all.rows.iter().find_map(|row| row.call_id.clone());
    let story = page(AuditFilter { call_id: call, ..Default::default() });
    assert_eq!(story.rows.last().unwrap().event_type, "tool_call_requested");
    let row = &story.rows[0];
    let file = fs::read_to_string(place.audit().join(format!("{}.jsonl", row.run_id))).unwrap();
    assert_eq!(file.lines().nth(row.seq as usize - 1).unwrap(), row.line.as_str());
}

#[test]
fn lines_longer_than_a_block_and_torn_ends_are_read_back() {
    let place = Place::new();
    let log = AuditLog::open(place.options(Origin::App, true));
    let content = "x".repeat(19_000);
    let many = (0..5).map(|number| format!("\"key{number}\":\"{content}\"")).collect::<Vec<_>>().join(",");
    for _ in 0..3 {
        drop(ask(&log, &format!("{{{many}}}")).unwrap());
    }
    drop(log);
    let path = place.only();
    assert!(fs::metadata(&path).unwrap().len() > 3 * 95_000);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(b"{\"created_at\":\"2026");
    fs::write(&path, bytes).unwrap();
    let rows = query::page(&place.folders, &AuditFilter::default()).unwrap().rows;
    assert_eq!(rows.iter().map(|row| row.seq).collect::<Vec<_>>(), (1..=8).rev().collect::<Vec<_>>());
}
