//! Another configuration while it runs, and its end.

use std::time::Duration;

use stave_llm::Provider;

use crate::client::request;
use crate::scene::{CHAT, CHAT_REPLY, Scene, config};
use crate::upstream::{Step, Upstream, events, whole};

#[tokio::test]
async fn another_configuration_drops_no_connection_and_no_request() {
    let old = Upstream::start(|_, _| {
        let mut steps = events(&[b"data: {\"choices\":[]}\n\n"]);
        let end = steps.pop().unwrap();
        steps.push(Step::Wait(Duration::from_millis(300)));
        steps.push(end);
        steps
    })
    .await;
    let new = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let scene = Scene::new(config(&old, Provider::OpenAi)).await;
    let mut client = scene.client().await;
    client.send(request("/v1/chat/completions", "", CHAT).as_bytes()).await;
    client.read_until("choices").await;
    scene.gateway.exchange(config(&new, Provider::OpenAi)).unwrap();
    let answer = client.answer().await.unwrap();
    assert!(answer.is_whole);
    // The same connection gets what is set up now.
    let answer = client.post("/v1/chat/completions", "", CHAT).await;
    assert_eq!((answer.text().as_str(), old.calls().len(), new.calls().len()), (CHAT_REPLY, 1, 1));
    let mut bad = config(&new, Provider::OpenAi);
    bad.upstreams[0].endpoint = Some("nowhere".to_owned());
    assert!(scene.gateway.exchange(bad).is_err());
    assert_eq!(client.post("/v1/chat/completions", "", CHAT).await.status, 200);
    // An unchanged upstream keeps its connections.
    scene.gateway.exchange(config(&new, Provider::OpenAi)).unwrap();
    assert_eq!(client.post("/v1/chat/completions", "", CHAT).await.status, 200);
    assert_eq!(new.connections(), 1);
}

#[tokio::test]
async fn at_the_end_requests_are_waited_for_and_nothing_new_is_taken() {
    let upstream = Upstream::start(|_, _| {
        let mut steps = vec![Step::Wait(Duration::from_millis(300))];
        steps.extend(whole(200, "", CHAT_REPLY));
        steps
    })
    .await;
    let mut scene = Scene::new(config(&upstream, Provider::OpenAi)).await;
    let mut idle = scene.client().await;
    let mut client = scene.client().await;
    client.send(request("/v1/chat/completions", "", CHAT).as_bytes()).await;
    while upstream.calls().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    scene.ask_to_end();
    assert_eq!(client.answer().await.unwrap().status, 200);
    assert!(client.is_closed().await && idle.is_closed().await);
    assert_eq!(scene.ended().await, 0);
    assert_eq!(scene.records().len(), 1);
}

#[tokio::test]
async fn what_does_not_end_in_time_is_broken_off_and_written_down() {
    let upstream = Upstream::always(vec![Step::Wait(Duration::from_secs(30))]).await;
    let mut settings = config(&upstream, Provider::OpenAi);
    settings.limits.drain = Duration::from_millis(100);
    let mut scene = Scene::new(settings).await;
    let mut client = scene.client().await;
    client.send(request("/v1/chat/completions", "", CHAT).as_bytes()).await;
    while upstream.calls().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    scene.ask_to_end();
    assert_eq!(scene.ended().await, 1);
    assert!(client.is_closed().await);
    assert_eq!(scene.records().len(), 1);
}
