//! Lists, and pings.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_list_is_asked_page_by_page_and_only_where_it_was_declared() {
    let (session, _events, mut fake) = session().await;
    let listing = {
        let session = session.clone();
        tokio::spawn(async move { session.list_tools(options()).await })
    };
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let first = fake.read().await;
    assert_eq!(first["params"].get("cursor"), None);
    fake.answer(first["id"].as_i64().unwrap(), json!({ "tools": [tool("a"), { "name": "bad" }], "nextCursor": "" }))
        .await;
    let second = fake.read().await;
    assert_eq!(second["params"]["cursor"], "");
    fake.answer(second["id"].as_i64().unwrap(), json!({ "tools": [tool("b")] })).await;
    let listed = listing.await.unwrap().unwrap();
    assert_eq!(listed.items.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!((listed.cut, listed.diagnostics.len()), (false, 1));

    // Declared, and not there after all.
    let listing = {
        let session = session.clone();
        tokio::spawn(async move { session.list_prompts(options()).await })
    };
    let id = fake.asked("prompts/list").await;
    fake.write(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "no" } }).to_string()).await;
    assert_eq!(listing.await.unwrap().unwrap(), Listed::default());

    // Not declared: not asked.
    let (greeting, _events, mut fake, _) = fake::greeting(LONG, Vec::new());
    let shaking = tokio::spawn(greeting.shake(Instant::now()));
    let id = fake.asked("initialize").await;
    fake.answer(id, json!({ "protocolVersion": "2025-11-25", "capabilities": {} })).await;
    let bare = shaking.await.unwrap().unwrap();
    fake.read().await;
    assert!(bare.list_tools(options()).await.unwrap().items.is_empty());
    assert_eq!(bare.list_resource_templates(options()).await.unwrap(), Listed::default());
    assert!(matches!(bare.set_log_level(LogLevel::Error).await, Err(Error::CapabilityMissing { .. })));
    assert!(fake.hears_nothing().await);
}

#[tokio::test(start_paused = true)]
async fn all_pages_together_have_one_time_limit() {
    let (session, _events, mut fake) = session().await;
    let began = Instant::now();
    let listing = {
        let session = session.clone();
        tokio::spawn(async move { session.list_resources(options()).await })
    };
    let slow = tokio::spawn(async move {
        for page in 0.. {
            let id = fake.asked("resources/list").await;
            tokio::time::sleep(Duration::from_secs(20)).await;
            fake.answer(id, json!({ "resources": [], "nextCursor": page.to_string() })).await;
        }
    });
    assert!(matches!(listing.await.unwrap(), Err(Error::Timeout { sent: true, .. })));
    assert_eq!(began.elapsed().as_secs(), 30);
    slow.abort();
}

#[tokio::test(start_paused = true)]
async fn a_ping_that_is_refused_is_an_answer() {
    let (session, _events, mut fake) = session().await;
    let ping = {
        let session = session.clone();
        tokio::spawn(async move { session.ping(Duration::from_secs(5)).await })
    };
    let id = fake.asked("ping").await;
    fake.write(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "no" } }).to_string()).await;
    ping.await.unwrap().unwrap();
    assert!(matches!(session.ping(Duration::from_secs(5)).await, Err(Error::Timeout { sent: true, .. })));
    assert!(session.is_open());
}
