//! Who is asked, and what is done when that fails.

use std::time::Duration;

use stave_gateway::{BreakerConfig, FaultClass, ModelRoute, Retries, RouteTarget};
use stave_llm::Provider;

use crate::scene::{CHAT, CHAT_REPLY, Scene, config, several, with_fallback};
use crate::upstream::{Step, Upstream, whole};

const BUSY: &str = r#"{"error":{"message":"busy","type":"rate_limit_error","param":null,"code":null}}"#;

#[tokio::test]
async fn a_failure_that_may_pass_is_tried_again_and_one_that_does_not_is_told() {
    let upstream = Upstream::start(|number, _| match number {
        0 => whole(500, "", "{}"),
        1 => whole(200, "", CHAT_REPLY),
        2 => vec![Step::Close],
        3 => whole(200, "", CHAT_REPLY),
        _ => whole(400, "", BUSY),
    })
    .await;
    let scene = Scene::new(config(&upstream, Provider::OpenAi)).await;
    for _ in 0..2 {
        let answer = scene.post("/v1/chat/completions", CHAT).await;
        assert_eq!((answer.status, answer.text().as_str()), (200, CHAT_REPLY));
    }
    let refused = scene.post("/v1/chat/completions", CHAT).await;
    assert_eq!((refused.status, refused.text().as_str()), (400, BUSY));
    assert_eq!(upstream.calls().len(), 5);
    let records = scene.records_of(3).await;
    assert_eq!(records[0].attempts, 2);
    assert_eq!((records[2].attempts, records[2].outcome.as_str(), records[2].status), (1, "failed", 400));
}

#[tokio::test]
async fn another_upstream_stands_in_and_the_last_word_is_the_last_upstreams() {
    let limited = Upstream::always(whole(429, "retry-after: 30\r\n", BUSY)).await;
    let good = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let list = [("a", &limited, Provider::OpenAi), ("b", &good, Provider::OpenAi)];
    let scene = Scene::new(with_fallback(several(&list), "gpt-*")).await;
    let answer = scene.post("/v1/chat/completions", CHAT).await;
    assert_eq!((answer.status, answer.header("x-stave-upstream")), (200, Some("b")));
    assert_eq!(answer.header("x-stave-attempts"), Some("2"));
    // Without a fallback, a wait that is too long is the client's to wait.
    let scene = Scene::new(config(&limited, Provider::OpenAi)).await;
    let answer = scene.post("/v1/chat/completions", CHAT).await;
    assert_eq!(
        (answer.status, answer.header("retry-after"), answer.text().as_str()),
        (429, Some("30"), BUSY)
    );
    assert_eq!(limited.calls().len(), 2);
}

#[tokio::test]
async fn an_alias_names_a_model_that_its_upstream_knows() {
    let upstream = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let mut config = config(&upstream, Provider::OpenAi);
    let target = RouteTarget { upstream: "one".into(), model: Some("gpt-\"real\"".into()), weight: 1 };
    config.models = vec![ModelRoute {
        name: "gpt-x".into(),
        targets: vec![target],
        fallback: Vec::new(),
        fallback_on: Vec::new(),
    }];
    let scene = Scene::new(config).await;
    assert_eq!(scene.post("/v1/chat/completions", CHAT).await.status, 200);
    assert_eq!(upstream.calls()[0].body, CHAT.replace("\"gpt-x\"", r#""gpt-\"real\"""#));
}

#[tokio::test]
async fn an_upstream_that_fails_again_and_again_is_left_alone_for_a_while() {
    let upstream =
        Upstream::start(
            |number, _| {
                if number < 3 { whole(500, "", "{}") } else { whole(200, "", CHAT_REPLY) }
            },
        )
        .await;
    let mut config = config(&upstream, Provider::OpenAi);
    config.retries = Retries { attempts: 0, ..Retries::default() };
    config.breaker =
        BreakerConfig { failures: 3, pause: Duration::from_secs(3), longest_pause: Duration::from_secs(3) };
    let scene = Scene::new(config).await;
    for _ in 0..3 {
        assert_eq!(scene.post("/v1/chat/completions", CHAT).await.status, 500);
    }
    let answer = scene.post("/v1/chat/completions", CHAT).await;
    assert_eq!((answer.status, answer.at("/error/code").as_str()), (503, "upstream_unavailable"));
    assert_eq!(upstream.calls().len(), 3);
    tokio::time::sleep(Duration::from_millis(3100)).await;
    for _ in 0..2 {
        assert_eq!(scene.post("/v1/chat/completions", CHAT).await.status, 200);
    }
}

#[tokio::test]
async fn retries_over_all_requests_have_a_budget() {
    let upstream = Upstream::always(whole(500, "", "{}")).await;
    let mut config = config(&upstream, Provider::OpenAi);
    config.retries =
        Retries { attempts: 5, burst: 3, share: 0.0, backoff: Duration::from_millis(1), ..config.retries };
    config.breaker.failures = 1000;
    let scene = Scene::new(config).await;
    for _ in 0..4 {
        assert_eq!(scene.post("/v1/chat/completions", CHAT).await.status, 500);
    }
    assert_eq!(upstream.calls().len(), 4 + 3);
}

#[tokio::test]
async fn each_timeout_ends_its_own_wait() {
    let silent = Upstream::always(vec![Step::Wait(Duration::from_secs(30))]).await;
    let mut settings = config(&silent, Provider::Anthropic);
    settings.timeouts.first_byte = Duration::from_millis(100);
    settings.retries.attempts = 0;
    let scene = Scene::new(settings).await;
    let answer = scene.post("/v1/messages", crate::scene::MESSAGES).await;
    assert_eq!((answer.status, answer.at("/error/type").as_str()), (504, "timeout_error"));
    let good = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let list = [("a", &silent, Provider::OpenAi), ("b", &good, Provider::OpenAi)];
    let mut settings = with_fallback(several(&list), "*");
    settings.timeouts.first_byte = Duration::from_millis(100);
    let scene = Scene::new(settings).await;
    assert_eq!(scene.post("/v1/chat/completions", CHAT).await.header("x-stave-upstream"), Some("b"));
    // Nobody listens there.
    let mut settings = config(&good, Provider::OpenAi);
    settings.upstreams[0].endpoint = Some("http://127.0.0.1:1".to_owned());
    let scene = Scene::new(settings).await;
    let answer = scene.post("/v1/chat/completions", CHAT).await;
    assert_eq!((answer.status, answer.at("/error/code").as_str()), (502, "upstream_unreachable"));
}

#[tokio::test]
async fn only_the_faults_that_a_route_names_lead_elsewhere() {
    let missing = Upstream::always(whole(404, "", BUSY)).await;
    let good = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let list = [("a", &missing, Provider::OpenAi), ("b", &good, Provider::OpenAi)];
    let mut settings = with_fallback(several(&list), "*");
    let scene = Scene::new(settings.clone()).await;
    assert_eq!(scene.post("/v1/chat/completions", CHAT).await.status, 404);
    settings.models[0].fallback_on = vec![FaultClass::NotFound];
    let scene = Scene::new(settings).await;
    assert_eq!(scene.post("/v1/chat/completions", CHAT).await.status, 200);
}

#[tokio::test]
async fn requests_beyond_the_turns_wait_and_those_beyond_that_are_refused() {
    let upstream = Upstream::start(|_, _| {
        let mut steps = vec![Step::Wait(Duration::from_millis(1500))];
        steps.extend(whole(200, "", CHAT_REPLY));
        steps
    })
    .await;
    let mut settings = config(&upstream, Provider::OpenAi);
    settings.limits.concurrency = 1;
    settings.limits.waiting = 1;
    let scene = Scene::new(settings).await;
    let (first, second, third) = tokio::join!(
        scene.post("/v1/chat/completions", CHAT),
        async {
            while upstream.calls().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            scene.post("/v1/chat/completions", CHAT).await
        },
        async {
            while !scene.get("/metrics", "").await.text().contains("stave_gateway_requests_waiting 1") {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            scene.post("/v1/chat/completions", CHAT).await
        }
    );
    assert_eq!((first.status, second.status, third.status), (200, 200, 503));
    assert_eq!((third.at("/error/code").as_str(), third.header("retry-after")), ("busy", Some("1")));
    assert_eq!(scene.records_of(3).await.len(), 3);
}
