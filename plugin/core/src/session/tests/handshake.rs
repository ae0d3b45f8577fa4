//! What comes of a handshake.

use super::*;

#[tokio::test(start_paused = true)]
async fn we_offer_the_last_revision_that_has_a_handshake_and_nothing_that_nobody_can_answer() {
    let (greeting, _events, mut fake, _) = fake::greeting(LONG, Vec::new());
    let shaking = tokio::spawn(greeting.shake(Instant::now()));
    let hello = fake.read().await;
    assert_eq!(hello["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(hello["params"]["capabilities"], json!({}));
    shaking.abort();
}

#[tokio::test(start_paused = true)]
async fn noise_and_a_ping_before_the_answer_do_no_harm() {
    let (greeting, mut events, mut fake, output) = fake::greeting(LONG, Vec::new());
    let shaking = tokio::spawn(greeting.shake(Instant::now()));
    let id = fake.asked("initialize").await;
    for noise in ["My Server version : 1.0", "", "🚀 up", "\u{1b}[2mANSI\u{1b}[0m", r#"{"level":"info"}"#, "[1,2]"] {
        fake.write(noise).await;
    }
    fake.tell("notifications/message", json!({ "level": "warning", "data": "early" })).await;
    fake.write(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).await;
    assert_eq!(fake.read().await, json!({ "jsonrpc": "2.0", "id": "p", "result": {} }));
    // A question that has to wait for the handshake is answered after it.
    fake.write(r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#).await;
    let result = json!({ "protocolVersion": "2024-11-05", "capabilities": {} });
    fake.write(json!({ "jsonrpc": "2.0", "id": id.to_string(), "result": result }).to_string()).await;
    assert_eq!(fake.read().await["method"], "notifications/initialized");
    assert_eq!(fake.read().await, json!({ "jsonrpc": "2.0", "id": 9, "result": { "roots": [] } }));
    let session = shaking.await.unwrap().unwrap();
    assert_eq!(session.handshake().protocol_version, "2024-11-05");
    assert_eq!(output.noise_count(), 6);
    let Some(SessionEvent::Log(line)) = events.next().await else { panic!() };
    assert_eq!((line.level, line.text.as_str()), (LogLevel::Warning, "early"));
}

#[tokio::test(start_paused = true)]
async fn a_handshake_fails_with_its_reason() {
    let (reason, message) = unwelcome(|mut fake| async move {
        let id = fake.asked("initialize").await;
        fake.answer(id, json!({ "protocolVersion": "2031-01-01", "capabilities": {} })).await;
        assert!(fake.hears_nothing().await || fake.read_line().await.is_none());
        fake
    })
    .await;
    assert_eq!(reason, LaunchReason::Handshake);
    assert!(message.contains("`2031-01-01`"), "{message}");

    let (reason, message) = unwelcome(|mut fake| async move {
        let id = fake.asked("initialize").await;
        let error = json!({ "code": -32602, "message": format!("no key {SECRET}") });
        fake.write(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()).await;
        fake
    })
    .await;
    assert_eq!(reason, LaunchReason::Handshake);
    assert!(message.contains("-32602: no key [secret]"), "{message}");

    let (reason, _) = unwelcome(|mut fake| async move {
        fake.asked("initialize").await;
        fake.write(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}"#).await;
        fake
    })
    .await;
    assert_eq!(reason, LaunchReason::Handshake);

    let (reason, message) = unwelcome(|mut fake| async move {
        fake.asked("initialize").await;
        fake
    })
    .await;
    assert_eq!(reason, LaunchReason::Timeout);
    assert!(message.contains("30 s"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_the_handshake_can_be_given_up() {
    let (greeting, _events, mut fake, _) = fake::greeting(LONG, Vec::new());
    let cancel = greeting.cancel.clone();
    let shaking = tokio::spawn(greeting.shake(Instant::now()));
    fake.asked("initialize").await;
    cancel.cancel();
    assert!(matches!(shaking.await.unwrap(), Err(Error::Cancelled { .. })));
    assert_eq!(fake.read_line().await, None);
}
