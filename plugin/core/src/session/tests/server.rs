//! What a server asks and says of its own accord.

use super::*;

#[tokio::test(start_paused = true)]
async fn the_server_gets_roots_and_pings_and_else_a_refusal() {
    let roots = vec![Root { uri: "file:///notes".to_owned(), name: Some("Notes".to_owned()) }];
    let (greeting, _events, mut fake, _) = fake::greeting(LONG, roots);
    let shaking = tokio::spawn(greeting.shake(Instant::now()));
    let hello = fake.read().await;
    assert_eq!(hello["params"]["capabilities"], json!({ "roots": {} }));
    fake.answer(hello["id"].as_i64().unwrap(), json!({ "protocolVersion": "2025-11-25", "capabilities": {} })).await;
    let _session = shaking.await.unwrap().unwrap();
    fake.read().await;
    let mut ask = async |id: Value, method: &str| {
        fake.write(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "x": 1 } }).to_string()).await;
        fake.read().await
    };
    assert_eq!(ask(json!(0), "ping").await, json!({ "jsonrpc": "2.0", "id": 0, "result": {} }));
    let roots = ask(json!("r"), "roots/list").await;
    assert_eq!(roots["result"]["roots"], json!([{ "uri": "file:///notes", "name": "Notes" }]));
    for method in ["sampling/createMessage", "elicitation/create", "tasks/list", "tools/call", ""] {
        let refusal = ask(json!("q"), method).await;
        assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&json!("q"), &json!(-32601)), "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_without_reading_is_not_answered_without_end() {
    let (session, _events, mut fake) = session().await;
    for id in 0..5000 {
        fake.write(json!({ "jsonrpc": "2.0", "id": id, "method": "x".repeat(2000) }).to_string()).await;
        if id % 100 == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut answers = 0;
    while let Ok(Some(_)) = timeout(Duration::from_millis(500), fake.read_line()).await {
        answers += 1;
    }
    // What fits into the pipe, and what may be open: not one for each question.
    assert!((1..500).contains(&answers), "{answers}");
    // What is read again is answered again.
    fake.write(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).await;
    assert_eq!(fake.read().await["id"], "p");
    assert!(session.is_open());
}

#[tokio::test(start_paused = true)]
async fn what_the_server_says_is_heard_before_the_answer_that_follows_it() {
    let (session, mut events, mut fake) = session().await;
    let call = calling(&session, options());
    let id = fake.asked("tools/call").await;
    fake.tell("notifications/message", json!({ "level": "nonsense", "logger": "l", "data": { "k": SECRET } })).await;
    for _ in 0..200 {
        fake.tell("notifications/tools/list_changed", json!({})).await;
    }
    fake.tell("notifications/resources/updated", json!({ "uri": "a:b" })).await;
    fake.tell("notifications/new/thing", json!({ "x": 1 })).await;
    fake.answer(id, json!({})).await;
    call.await.unwrap().unwrap();
    let log = LogLine { level: LogLevel::Info, logger: Some("l".to_owned()), text: r#"{"k":"[secret]"}"#.to_owned() };
    for expected in [
        SessionEvent::Log(log),
        SessionEvent::ListChanged(ListKind::Tools),
        SessionEvent::ResourceUpdated("a:b".to_owned()),
    ] {
        let event = timeout(Duration::ZERO, events.next()).await.expect("it is there before the answer");
        assert_eq!(event, Some(expected));
    }
    assert_eq!(session.output().noise_count(), 0);
}
