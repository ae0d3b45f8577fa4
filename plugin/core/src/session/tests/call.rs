//! Calls: what is written, what is read, and every way in which one ends without an answer.

use super::*;

#[tokio::test(start_paused = true)]
async fn what_was_approved_is_what_is_written_and_what_was_written_is_what_is_read() {
    let (session, _events, mut fake) = session().await;
    let arguments = r#"{"b":1.10,"a":12345678901234567890123,"ü":"\u0000"}"#;
    let calling = {
        let session = session.clone();
        tokio::spawn(async move { session.request(call(&session, arguments), holds(), options()).await })
    };
    let line = fake.read_line().await.unwrap();
    let id = serde_json::from_str::<Value>(&line).unwrap()["id"].clone();
    let expected = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","arguments":{arguments},"_meta":{{"progressToken":{id}}}}}}}"#
    );
    assert_eq!(line, expected);
    let result = r#"{"content":[],"n":1.10, "big":12345678901234567890123,"new":{"field":[]}}"#;
    fake.write(format!(r#"{{"result":{result},"jsonrpc":"2.0","id":{id}}}"#)).await;
    assert_eq!(calling.await.unwrap().unwrap().raw.as_str(), result);
}

#[tokio::test(start_paused = true)]
async fn progress_comes_in_order_and_before_the_answer() {
    let (session, _events, mut fake) = session().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = seen.clone();
    let progress: ProgressSink = Box::new(move |progress: Progress| into.lock().unwrap().push(progress));
    let calling = calling(&session, RequestOptions { progress: Some(progress), ..options() });
    let id = fake.asked("tools/call").await;
    for step in 0..200 {
        let message = "m".repeat(5000);
        fake.tell(
            "notifications/progress",
            json!({ "progressToken": id, "progress": step, "total": 200, "message": message }),
        )
        .await;
    }
    fake.tell("notifications/progress", json!({ "progressToken": 999, "progress": 1000 })).await;
    fake.answer(id, json!({})).await;
    calling.await.unwrap().unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen.is_sorted_by(|one, two| one.progress < two.progress));
    assert!((2..=11).contains(&seen.len()), "{}", seen.len());
    let last = seen.last().unwrap();
    assert_eq!((last.progress, last.total, last.message.as_ref().unwrap().len()), (199.0, Some(200.0), 4096));
}

#[tokio::test(start_paused = true)]
async fn an_approval_that_no_longer_holds_is_not_written() {
    let (session, _events, mut fake) = session().await;
    let refused: Recheck = Arc::new(|_| false);
    let result = session.request(call(&session, "{}"), refused, options()).await;
    assert!(matches!(result, Err(RequestError::Stale)));
    let of_another_connection = {
        let operation = call(&session, "{}").operation().clone();
        Approved::for_test(operation, session.generation() + 1)
    };
    assert!(matches!(session.request(of_another_connection, holds(), options()).await, Err(RequestError::Stale)));
    let of_another_server = Approved::for_test(
        Operation::ReadResource { server: ServerId::parse("other").unwrap(), uri: "a:b".to_owned(), listed: true },
        session.generation(),
    );
    assert!(matches!(session.request(of_another_server, holds(), options()).await, Err(RequestError::Stale)));
    assert!(fake.hears_nothing().await);
}

#[tokio::test(start_paused = true)]
async fn the_recheck_comes_at_the_moment_of_writing_not_before() {
    let (session, _events, mut fake) = session().await;
    // The pipe is full: what comes next waits in front of it.
    let big = format!("\"{}\"", "x".repeat(2 * fake::PIPE));
    let first = {
        let session = session.clone();
        tokio::spawn(
            async move { session.request(call(&session, &format!("{{\"a\":{big}}}")), holds(), options()).await },
        )
    };
    tokio::time::sleep(Duration::from_millis(10)).await;
    let true_now = Arc::new(AtomicBool::new(true));
    let second = {
        let (session, true_now) = (session.clone(), true_now.clone());
        let recheck: Recheck = Arc::new(move |_| true_now.load(Ordering::SeqCst));
        tokio::spawn(async move { session.request(call(&session, "{}"), recheck, options()).await })
    };
    tokio::time::sleep(Duration::from_millis(10)).await;
    true_now.store(false, Ordering::SeqCst);
    let id = fake.asked("tools/call").await;
    fake.answer(id, json!({})).await;
    first.await.unwrap().unwrap();
    assert!(matches!(second.await.unwrap(), Err(RequestError::Stale)));
    assert!(fake.hears_nothing().await);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_told_to_the_server_which_lives() {
    let (session, _events, mut fake) = session().await;
    let cancel = CancellationToken::new();
    let call = calling(&session, RequestOptions { cancel: cancel.clone(), ..options() });
    let id = fake.asked("tools/call").await;
    cancel.cancel();
    assert!(matches!(failed(call.await.unwrap()), Error::Cancelled { sent: true, .. }));
    let told = fake.read().await;
    assert_eq!((&told["method"], &told["params"]["requestId"]), (&json!("notifications/cancelled"), &json!(id)));
    // A late answer is nobody's, and harms nobody.
    fake.answer(id, json!({ "late": true })).await;
    let next = calling(&session, options());
    let id = fake.asked("tools/call").await;
    fake.answer(id, json!({ "mine": true })).await;
    assert_eq!(next.await.unwrap().unwrap().raw.as_str(), r#"{"mine":true}"#);
    assert_eq!(session.output().noise_count(), 1);

    let result = session.request(fake::call(&session, "{}"), holds(), RequestOptions { cancel, ..options() }).await;
    assert!(matches!(failed(result), Error::Cancelled { sent: false, .. }));
    assert!(fake.hears_nothing().await);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_takes_its_call_back() {
    let (session, _events, mut fake) = session().await;
    let call = calling(&session, options());
    let id = fake.asked("tools/call").await;
    call.abort();
    let told = fake.read().await;
    assert_eq!((&told["method"], &told["params"]["requestId"]), (&json!("notifications/cancelled"), &json!(id)));
}

#[tokio::test(start_paused = true)]
async fn progress_keeps_a_call_alive_and_silence_ends_it() {
    let (session, _events, mut fake) = session().await;
    let began = Instant::now();
    let call = calling(&session, options());
    let id = fake.asked("tools/call").await;
    for step in 0..9 {
        tokio::time::sleep(Duration::from_secs(10)).await;
        fake.tell("notifications/progress", json!({ "progressToken": id.to_string(), "progress": step })).await;
    }
    fake.answer(id, json!({})).await;
    let reply = call.await.unwrap().unwrap();
    assert!(reply.duration >= Duration::from_secs(90) && began.elapsed() < Duration::from_secs(91));

    let call = calling(&session, options());
    let id = fake.asked("tools/call").await;
    assert!(matches!(failed(call.await.unwrap()), Error::Timeout { after_ms: 60_000, sent: true, .. }));
    assert_eq!(fake.read().await["params"]["requestId"], id);
    assert!(session.is_open());
}

#[tokio::test(start_paused = true)]
async fn progress_does_not_keep_a_call_alive_for_ever() {
    let (session, _events, mut fake) = session().await;
    let call = calling(&session, options());
    let id = fake.asked("tools/call").await;
    let busy = tokio::spawn(async move {
        for step in 0.. {
            tokio::time::sleep(Duration::from_secs(10)).await;
            fake.tell("notifications/progress", json!({ "progressToken": id, "progress": step })).await;
        }
    });
    assert!(matches!(failed(call.await.unwrap()), Error::Timeout { after_ms: 600_000, sent: true, .. }));
    busy.abort();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_reading_hangs_nobody() {
    let (session, _events, mut fake) = session().await;
    let big = format!("{{\"a\":\"{}\"}}", "x".repeat(1024 * 1024));
    let limits = || RequestOptions { cap: Some(Duration::from_secs(1)), ..options() };
    let first = session.request(call(&session, &big), holds(), limits()).await;
    assert!(matches!(failed(first), Error::Timeout { sent: true, .. }));
    // Behind it nothing has been sent, and nothing of it ever is.
    for _ in 0..50 {
        let next = session.request(call(&session, "{}"), holds(), limits()).await;
        assert!(matches!(failed(next), Error::Timeout { sent: false, .. }));
    }
    assert!(session.ping(Duration::from_secs(1)).await.is_err());
    // It comes to: it finds the one that was begun, and that it was taken back.
    fake.asked("tools/call").await;
    assert_eq!(fake.read().await["method"], "notifications/cancelled");
    assert!(fake.hears_nothing().await);
    let closed = timeout(Duration::from_secs(20), session.close()).await.unwrap();
    assert!(closed.requested);
}

#[tokio::test(start_paused = true)]
async fn short_calls_do_not_wait_for_a_long_one() {
    let (session, _events, mut fake) = session().await;
    let long = calling(&session, options());
    let long_id = fake.asked("tools/call").await;
    let short: Vec<_> = (0..10).map(|_| calling(&session, options())).collect();
    let mut ids = Vec::new();
    for _ in &short {
        ids.push(fake.asked("tools/call").await);
    }
    for id in ids.iter().rev() {
        fake.answer(*id, json!({ "id": id })).await;
    }
    for call in short {
        call.await.unwrap().unwrap();
    }
    assert!(!long.is_finished());
    fake.answer(long_id, json!({ "id": long_id })).await;
    assert_eq!(long.await.unwrap().unwrap().raw.as_str(), format!(r#"{{"id":{long_id}}}"#));
}

#[tokio::test(start_paused = true)]
async fn an_error_is_an_error_at_once() {
    let (session, _events, mut fake) = session().await;
    let call = calling(&session, options());
    let id = fake.asked("tools/call").await;
    let error = json!({ "code": -32000, "message": format!("bad key {SECRET}"), "data": {} });
    fake.write(json!({ "jsonrpc": "2.0", "id": id.to_string(), "error": error }).to_string()).await;
    let error = failed(call.await.unwrap());
    assert!(
        matches!(&error, Error::ServerError { jsonrpc_code: -32000, message, .. } if message == "bad key [secret]")
    );
    // And without an id it is the answer to the only request that it can mean.
    let call = calling(&session, options());
    fake.asked("tools/call").await;
    fake.write(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"what?"}}"#).await;
    assert!(matches!(failed(call.await.unwrap()), Error::ServerError { jsonrpc_code: -32600, .. }));
}

#[tokio::test(start_paused = true)]
async fn an_error_without_an_id_never_ends_a_call_that_the_server_works_on() {
    let (session, _events, mut fake) = session().await;
    let working = calling(&session, options());
    let id = fake.asked("tools/call").await;
    fake.tell("notifications/progress", json!({ "progressToken": id, "progress": 1 })).await;
    let latest = calling(&session, options());
    fake.asked("tools/call").await;
    fake.write(r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"what?"}}"#).await;
    assert!(matches!(failed(latest.await.unwrap()), Error::ServerError { .. }));
    fake.write(r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"and again?"}}"#).await;
    fake.answer(id, json!({})).await;
    working.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_used_fails_its_call_at_once_and_no_other() {
    let (session, _events, mut fake) = session().await;
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for bad in [r#"{"n":NaN}"#, r#"{"a":1,"a":2}"#, "{\"t\":\"\u{1}\"}", &deep, r#"{"t":"\x"}"#] {
        let (call, other) = (calling(&session, options()), calling(&session, options()));
        let (id, other_id) = (fake.asked("tools/call").await, fake.asked("tools/call").await);
        fake.write(format!(r#"{{"result":{bad},"jsonrpc":"2.0","id":{id}}}"#)).await;
        fake.answer(other_id, json!({})).await;
        let results = [call.await.unwrap(), other.await.unwrap()];
        let broken = results.iter().filter(|one| matches!(one, Err(RequestError::Failed(Error::ProtocolError { .. }))));
        assert_eq!(broken.count(), 1, "{bad}");
        assert_eq!(results.iter().filter(|one| one.is_ok()).count(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_says_what_may_have_happened() {
    let (session, mut events, mut fake) = session().await;
    let sent = calling(&session, options());
    fake.asked("tools/call").await;
    let listing = {
        let session = session.clone();
        tokio::spawn(async move { session.list_tools(options()).await })
    };
    fake.asked("tools/list").await;
    fake.hang_up().await;
    assert!(matches!(failed(sent.await.unwrap()), Error::CallOutcomeUnknown { .. }));
    assert!(matches!(listing.await.unwrap(), Err(Error::NotConnected { .. })));
    let late = session.request(call(&session, "{}"), holds(), options()).await;
    assert!(matches!(failed(late), Error::NotConnected { .. }));
    assert!(!session.is_open() && !session.closed().await.requested);
    assert!(matches!(events.next().await, Some(SessionEvent::Closed(Closed { requested: false, .. }))));
    assert_eq!(events.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn what_waits_when_we_close_fails_at_once() {
    let (session, _events, mut fake) = session().await;
    let sent = calling(&session, options());
    let id = fake.asked("tools/call").await;
    let closed = session.close().await;
    assert!(closed.requested);
    assert!(matches!(failed(sent.await.unwrap()), Error::CallOutcomeUnknown { .. }));
    // The server does not go on working for nobody.
    let told = fake.read().await;
    assert_eq!((&told["method"], &told["params"]["requestId"]), (&json!("notifications/cancelled"), &json!(id)));
    assert_eq!(fake.read_line().await, None);
    assert_eq!(session.close().await, closed);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_reaches_the_server_also_when_we_close_right_after_it() {
    let (session, _events, mut fake) = session().await;
    let cancel = CancellationToken::new();
    let sent = calling(&session, RequestOptions { cancel: cancel.clone(), ..options() });
    let id = fake.asked("tools/call").await;
    cancel.cancel();
    assert!(matches!(failed(sent.await.unwrap()), Error::Cancelled { sent: true, .. }));
    session.close().await;
    let told = fake.read().await;
    assert_eq!((&told["method"], &told["params"]["requestId"]), (&json!("notifications/cancelled"), &json!(id)));
    assert_eq!(fake.read_line().await, None, "and only once");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_dropped_closes() {
    let (session, mut events, mut fake) = session().await;
    drop(session);
    assert_eq!(fake.read_line().await, None);
    assert!(matches!(events.next().await, Some(SessionEvent::Closed(Closed { requested: true, .. }))));
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_is_not_there_has_its_own_error() {
    let (session, _events, mut fake) = session().await;
    let read = {
        let session = session.clone();
        tokio::spawn(async move {
            let operation = Operation::ReadResource { server: server(), uri: "a:b".to_owned(), listed: false };
            let approved = Approved::for_test(operation, session.generation());
            session.request(approved, holds(), options()).await
        })
    };
    let message = fake.read().await;
    assert_eq!((&message["method"], &message["params"]["uri"]), (&json!("resources/read"), &json!("a:b")));
    let error = json!({ "code": -32002, "message": "no such resource" });
    fake.write(json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }).to_string()).await;
    assert!(matches!(failed(read.await.unwrap()), Error::ResourceNotFound { uri, .. } if uri == "a:b"));
}

#[tokio::test(start_paused = true)]
async fn a_completion_is_asked_as_the_specification_has_it() {
    let (session, _events, mut fake) = session().await;
    let asking = session.clone();
    let task = tokio::spawn(async move {
        let operation = Operation::Complete {
            server: server(),
            target: crate::model::CompletionTarget::ResourceTemplate { uri_template: "a:{b}".to_owned() },
            argument: ("b".to_owned(), "x".to_owned()),
            context: [("c".to_owned(), "d".to_owned())].into(),
        };
        let approved = Approved::for_test(operation, asking.generation());
        asking.request(approved, holds(), options()).await
    });
    let mut message = fake.read().await;
    let id = message["id"].as_i64().unwrap();
    message["params"].as_object_mut().unwrap().remove("_meta");
    let expected = json!({ "ref": { "type": "ref/resource", "uri": "a:{b}" }, "argument": { "name": "b", "value": "x" },
        "context": { "arguments": { "c": "d" } } });
    assert_eq!(message["params"], expected);
    fake.answer(id, json!({ "completion": { "values": [] } })).await;
    task.await.unwrap().unwrap();
}
