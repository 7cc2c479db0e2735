//! Where requests go: to the addresses of the configuration, whatever a client or an upstream says.

use stave_gateway::{FaultClass, Retries};
use stave_llm::Provider;

use crate::scene::{CHAT, CHAT_REPLY, MESSAGES, Scene, config, several, with_fallback};
use crate::upstream::{Upstream, whole};

#[tokio::test]
async fn a_redirect_is_neither_followed_nor_passed_on() {
    let elsewhere = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let location = format!("location: {}/v1/chat/completions\r\n", elsewhere.endpoint());
    for status in [301, 302, 303, 307, 308] {
        let upstream = Upstream::always(whole(status, &location, r#"{"moved":true}"#)).await;
        let scene = Scene::new(config(&upstream, Provider::OpenAi)).await;
        let answer = scene.post("/v1/chat/completions", CHAT).await;
        assert_eq!(
            (answer.status, answer.at("/error/code").as_str()),
            (502, "upstream_redirects"),
            "{status}"
        );
        assert_eq!(answer.header("location"), None);
        // In another interface's words it is the same.
        let answer = scene.post("/v1/messages", MESSAGES).await;
        assert_eq!((answer.status, answer.header("location")), (502, None), "{status}");
        assert_eq!(upstream.calls().len(), 2, "a redirect is not tried again");
        let records = scene.records_of(2).await;
        assert!(records.iter().all(|record| (record.status, record.outcome.as_str()) == (502, "failed")));
    }
    assert_eq!(elsewhere.calls().len(), 0);
}

#[tokio::test]
async fn a_model_is_one_segment_of_an_azure_path() {
    let upstream = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let mut settings = config(&upstream, Provider::Azure);
    settings.upstreams[0].api_version = Some("2026-01-01".to_owned());
    let scene = Scene::new(settings).await;
    let asking = |model: &str| CHAT.replace("gpt-x", model);
    for model in [".", ".."] {
        let answer = scene.post("/v1/chat/completions", &asking(model)).await;
        assert_eq!((answer.status, answer.at("/error/code").as_str()), (404, "model_not_found"), "{model}");
    }
    assert_eq!(upstream.calls().len(), 0);
    for (model, segment) in [("gpt-x", "gpt-x"), ("../a b?c", "..%2fa%20b%3fc"), ("%2e%2e", "%252e%252e")] {
        assert_eq!(scene.post("/v1/chat/completions", &asking(model)).await.status, 200, "{model}");
        let line = format!("post /openai/deployments/{segment}/chat/completions?api-version=2026-01-01 ");
        let call = upstream.calls().pop().unwrap();
        assert!(call.head.starts_with(&line), "{}", call.head);
    }
}

#[tokio::test]
async fn going_on_to_another_upstream_uses_up_no_retry() {
    let bad =
        Upstream::start(|number, _| if number < 3 { whole(500, "", "{}") } else { whole(429, "", "{}") })
            .await;
    let good = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let list = [("a", &bad, Provider::OpenAi), ("b", &good, Provider::OpenAi)];
    let mut settings = with_fallback(several(&list), "gpt-*");
    settings.models[0].fallback_on = vec![FaultClass::ServerError];
    settings.retries = Retries { attempts: 1, share: 0.0, burst: 1, ..settings.retries };
    settings.breaker.failures = 1000;
    let scene = Scene::new(settings).await;
    for _ in 0..3 {
        assert_eq!(scene.post("/v1/chat/completions", CHAT).await.status, 200);
    }
    // The one retry that may be made is still there.
    assert_eq!(scene.post("/v1/chat/completions", CHAT).await.status, 429);
    assert_eq!(bad.calls().len(), 3 + 2);
}
