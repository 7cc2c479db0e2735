//! Budgets hold whatever a request says, however its reply ends, and whatever the reply says about itself.

use std::time::Duration;

use stave_gateway::keys::KeyLimits;
use stave_llm::Provider;
use stave_llm::prices::Cost;

use crate::client::request;
use crate::scene::{CHAT_REPLY, Scene, config};
use crate::upstream::{Step, Upstream, events, whole};

fn dollars(text: &str) -> Option<Cost> {
    Some(text.parse().unwrap())
}

/// A key with a budget for the day, as a header.
async fn key(scene: &Scene, budget: &str) -> String {
    let limits = KeyLimits { day_budget: dollars(budget), ..KeyLimits::default() };
    format!("authorization: Bearer {}\r\n", scene.key_with("acme", limits).await)
}

fn messages(members: &str) -> String {
    format!(r#"{{"model":"claude-opus-5",{members}"messages":[{{"role":"user","content":"hi"}}]}}"#)
}

fn chat(members: &str) -> String {
    format!(r#"{{"model":"gpt-4o",{members}"messages":[{{"role":"user","content":"hi"}}]}}"#)
}

#[tokio::test]
async fn a_stream_that_is_closed_before_its_counts_is_charged_for_what_passed() {
    let start = "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n";
    let text = format!(
        "data: {{\"type\":\"content_block_delta\",\"delta\":{{\"type\":\"text_delta\",\"text\":\"{} the end\"}}}}\n\n",
        "word ".repeat(3200)
    );
    let upstream = Upstream::start(move |_, _| {
        let mut steps = events(&[start.as_bytes(), text.as_bytes()]);
        steps.pop();
        steps.push(Step::Wait(Duration::from_secs(30)));
        steps
    })
    .await;
    let scene = Scene::new(config(&upstream, Provider::Anthropic)).await;
    let key = key(&scene, "5").await;
    let mut client = scene.client().await;
    client
        .send(request("/v1/messages", &key, &messages(r#""max_tokens":8000,"stream":true,"#)).as_bytes())
        .await;
    client.read_until("the end").await;
    drop(client);
    let record = &scene.records_of(1).await[0];
    assert_eq!((record.outcome.as_str(), record.input), ("cancelled", 9));
    assert!((3900..4200).contains(&record.output), "{record:?}");
    assert!(scene.spent_today() >= "0.09".parse().unwrap(), "{}", scene.spent_today());
}

#[tokio::test]
async fn a_tool_parameter_with_the_name_of_the_counts_makes_nothing_free() {
    let tool =
        r#"{"type":"function","name":"f","parameters":{"usage":{"input_tokens":0,"output_tokens":0}}}"#;
    let created = format!("data: {{\"type\":\"response.created\",\"response\":{{\"tools\":[{tool}]}}}}\n\n");
    let done = format!(
        "data: {{\"type\":\"response.completed\",\"response\":{{\"tools\":[{tool}],\"output\":[],\"usage\":{{\"input_tokens\":40,\"output_tokens\":60}}}}}}\n\n"
    );
    let upstream = Upstream::always(events(&[created.as_bytes(), done.as_bytes()])).await;
    let scene = Scene::new(config(&upstream, Provider::OpenAiResponses)).await;
    let key = key(&scene, "5").await;
    let body = format!(
        r#"{{"model":"gpt-4o","stream":true,"max_output_tokens":100,"tools":[{tool}],"input":"hi"}}"#
    );
    assert_eq!(scene.client().await.post("/v1/responses", &key, &body).await.status, 200);
    let record = &scene.records_of(1).await[0];
    assert_eq!((record.input, record.output), (40, 60));
}

#[tokio::test]
async fn replies_without_counts_or_that_can_not_be_read_are_charged() {
    let text = "word".repeat(1000);
    let silent =
        format!(r#"{{"choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}}}}]}}"#);
    let odd = silent.replace("]}", r#"],"usage":{"prompt_tokens":-1,"completion_tokens":"none"}}"#);
    for (name, reply, headers, least) in [
        ("silent", silent.as_str(), "", 1000),
        ("odd counts", odd.as_str(), "", 1000),
        ("cut", &silent[..3000], "", 700),
        ("packed", "xx", "content-encoding: gzip\r\n", 5000),
    ] {
        let upstream = Upstream::always(whole(200, headers, reply)).await;
        let scene = Scene::new(config(&upstream, Provider::OpenAi)).await;
        let key = key(&scene, "5").await;
        let answer =
            scene.client().await.post("/v1/chat/completions", &key, &chat(r#""max_tokens":5000,"#)).await;
        assert_eq!(answer.status, 200, "{name}");
        let record = &scene.records_of(1).await[0];
        assert!(record.input > 0 && record.output >= least, "{name}: {record:?}");
        assert!(scene.spent_today() > Cost::default(), "{name}");
    }
}

#[tokio::test]
async fn a_client_that_goes_away_before_the_first_byte_pays_for_its_input() {
    let upstream = Upstream::always(vec![Step::Wait(Duration::from_secs(30))]).await;
    let scene = Scene::new(config(&upstream, Provider::OpenAi)).await;
    let key = key(&scene, "5").await;
    let body = chat(&format!(r#""max_tokens":10,"user":"{}","#, "word ".repeat(2000)));
    let mut client = scene.client().await;
    client.send(request("/v1/chat/completions", &key, &body).as_bytes()).await;
    while upstream.calls().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(client);
    let record = &scene.records_of(1).await[0];
    assert!(record.input >= 2000 && record.output == 0, "{record:?}");
    assert!(scene.spent_today() > Cost::default());
}

#[tokio::test]
async fn an_attempt_that_nobody_answers_is_charged_beside_the_one_that_is_answered() {
    let upstream = Upstream::start(|number, _| match number {
        0 => vec![Step::Close],
        _ => whole(200, "", CHAT_REPLY),
    })
    .await;
    let scene = Scene::new(config(&upstream, Provider::OpenAi)).await;
    let key = key(&scene, "5").await;
    let answer = scene.client().await.post("/v1/chat/completions", &key, &chat(r#""max_tokens":10,"#)).await;
    assert_eq!(answer.status, 200);
    let record = &scene.records_of(1).await[0];
    assert!(record.attempts == 2 && record.input > 7 && record.output == 3, "{record:?}");
}

#[tokio::test]
async fn what_a_request_may_cost_is_set_aside_by_its_largest_limit() {
    let upstream = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let scene = Scene::new(config(&upstream, Provider::OpenAi)).await;
    // 1000 tokens of output cost a cent.
    let key = key(&scene, "0.05").await;
    for members in [
        r#""n":100,"max_tokens":100,"#,
        r#""max_completion_tokens":1,"max_tokens":90000,"#,
        r#""max_tokens":90000,"max_completion_tokens":1,"#,
        r#""Max_Tokens":90000,"max_completion_tokens":1,"#,
        r#""max_tokens":1,"web_search_options":{},"n":3,"best_of":9000,"#,
        r#""max_tokens":1,"extra_body":{"max_new_tokens":90000},"#,
        r#""N":100,"max_tokens":100,"#,
        "",
    ] {
        let answer = scene.client().await.post("/v1/chat/completions", &key, &chat(members)).await;
        assert_eq!((answer.status, answer.at("/error/code").as_str()), (403, "beyond_limit"), "{members}");
    }
    for members in [r#""max_tokens":"10","#, r#""max_tokens":1e1,"#, r#""n":-1,"max_tokens":1,"#] {
        let answer = scene.client().await.post("/v1/chat/completions", &key, &chat(members)).await;
        assert_eq!(answer.status, 400, "{members}");
    }
    assert_eq!(upstream.calls().len(), 0);
    let answer = scene.client().await.post("/v1/chat/completions", &key, &chat(r#""max_tokens":100,"#)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn requests_that_race_for_the_last_cent_do_not_spend_it_twice() {
    let upstream = Upstream::always(vec![Step::Wait(Duration::from_secs(60))]).await;
    let scene = Scene::new(config(&upstream, Provider::Anthropic)).await;
    // Each sets aside a little more than 2.5 cents, so three fit.
    let key = key(&scene, "0.08").await;
    let mut racing = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let (mut client, key) = (scene.client().await, key.clone());
        racing.spawn(async move {
            client.post("/v1/messages", &key, &messages(r#""max_tokens":1000,"#)).await.status
        });
    }
    for _ in 0..9 {
        assert_eq!(racing.join_next().await.unwrap().unwrap(), 429);
    }
    while upstream.calls().len() < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!((upstream.calls().len(), racing.len()), (3, 3));
    assert!(scene.spent_today() <= "0.08".parse().unwrap());
}

#[tokio::test]
async fn what_was_under_way_when_a_process_ended_stays_set_aside() {
    let upstream = Upstream::always(vec![Step::Wait(Duration::from_secs(30))]).await;
    let scene = Scene::new(config(&upstream, Provider::Anthropic)).await;
    let key = key(&scene, "0.05").await;
    let mut client = scene.client().await;
    client.send(request("/v1/messages", &key, &messages(r#""max_tokens":1000,"#)).as_bytes()).await;
    while upstream.calls().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // The file as another process, or the next one, finds it.
    assert!(scene.spent_today() > "0.025".parse().unwrap(), "{}", scene.spent_today());
    drop(client);
    scene.records_of(1).await;
    assert!(scene.spent_today() < "0.01".parse().unwrap(), "{}", scene.spent_today());
}

#[tokio::test]
async fn two_equal_keys_are_refused_wherever_they_stand() {
    let upstream = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let scene = Scene::new(config(&upstream, Provider::OpenAi)).await;
    for body in [
        r#"{"model":"gpt-x","max_tokens":1,"max_tokens":90000,"messages":[]}"#,
        r#"{"model":"gpt-x","\u006dodel":"gpt-y","messages":[]}"#,
        r#"{"model":"gpt-x","Model":"gpt-y","messages":[]}"#,
        r#"{"model":"gpt-x","messages":[{"role":"user","content":"a","content":"b"}]}"#,
        r#"{"model":"gpt-x","messages":[{"role":"user","content":[{"type":"text","text":"a","te\u0078t":"b"}]}]}"#,
    ] {
        let answer = scene.post("/v1/chat/completions", body).await;
        assert_eq!((answer.status, answer.at("/error/code").as_str()), (400, "duplicate_key"), "{body}");
    }
    assert_eq!(upstream.calls().len(), 0);
}

/// A request whose answer is written after its reply.
const BACKGROUND: &str =
    r#"{"model":"gpt-5","max_output_tokens":100000,"background":true,"input":"write a novel"}"#;

#[tokio::test]
async fn work_that_goes_on_after_its_reply_is_charged_as_its_limit() {
    let queued =
        r#"{"id":"r1","object":"response","status":"queued","background":true,"output":[],"usage":null}"#;
    let running = queued.replace("queued", "in_progress");
    let created = format!("data: {{\"type\":\"response.created\",\"response\":{queued}}}\n\n");
    let stream = BACKGROUND.replace("true,", "true,\"stream\":true,");
    let plain = BACKGROUND.replace("\"background\":true,", "");
    for (name, body, reply) in [
        ("queued", BACKGROUND, whole(200, "", queued)),
        ("in progress", BACKGROUND, whole(200, "", &running)),
        ("queued without being asked to", plain.as_str(), whole(200, "", queued)),
        ("a stream that breaks off", stream.as_str(), events(&[created.as_bytes()])),
        ("no reply", BACKGROUND, whole(200, "", "")),
    ] {
        let upstream = Upstream::always(reply).await;
        let scene = Scene::new(config(&upstream, Provider::OpenAiResponses)).await;
        // 100000 tokens of output cost a dollar.
        let key = key(&scene, "1.20").await;
        let answer = scene.client().await.post("/v1/responses", &key, body).await;
        assert_eq!(answer.status, 200, "{name}");
        let record = &scene.records_of(1).await[0];
        assert_eq!(record.output, 100_000, "{name}: {record:?}");
        assert!(scene.spent_today() >= "1".parse().unwrap(), "{name}: {}", scene.spent_today());
        let again = scene.client().await.post("/v1/responses", &key, body).await;
        assert_eq!((again.status, again.at("/error/code").as_str()), (429, "day_budget"), "{name}");
    }
}

#[tokio::test]
async fn work_in_the_background_that_was_counted_is_charged_by_its_counts() {
    let done =
        r#"{"id":"r1","status":"completed","output":[],"usage":{"input_tokens":40,"output_tokens":60}}"#;
    let upstream = Upstream::always(whole(200, "", done)).await;
    let scene = Scene::new(config(&upstream, Provider::OpenAiResponses)).await;
    let key = key(&scene, "1.20").await;
    assert_eq!(scene.client().await.post("/v1/responses", &key, BACKGROUND).await.status, 200);
    let record = &scene.records_of(1).await[0];
    assert_eq!((record.input, record.output), (40, 60));
}

#[tokio::test]
async fn a_client_that_leaves_work_in_the_background_pays_for_it() {
    let upstream = Upstream::always(vec![Step::Wait(Duration::from_secs(30))]).await;
    let scene = Scene::new(config(&upstream, Provider::OpenAiResponses)).await;
    let key = key(&scene, "1.20").await;
    let mut client = scene.client().await;
    client.send(request("/v1/responses", &key, BACKGROUND).as_bytes()).await;
    while upstream.calls().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(client);
    let record = &scene.records_of(1).await[0];
    assert_eq!((record.outcome.as_str(), record.output), ("cancelled", 100_000));
}

#[tokio::test]
async fn what_a_provider_adds_unseen_is_refused_within_a_budget() {
    let upstream = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let scene = Scene::new(config(&upstream, Provider::OpenAiResponses)).await;
    let key = key(&scene, "5").await;
    for members in [
        r#""prompt":{"id":"pmpt_1"}"#,
        r#""tools":[{"type":"shell","environment":{"type":"container_auto"}}]"#,
        r#""plugins":[{"id":"web"}]"#,
        r#""provider":{"order":["dear"]}"#,
    ] {
        let body = format!(r#"{{"model":"gpt-4o","max_output_tokens":10,"input":"hi",{members}}}"#);
        let answer = scene.client().await.post("/v1/responses", &key, &body).await;
        assert_eq!((answer.status, answer.at("/error/code").as_str()), (403, "unpriced"), "{members}");
    }
    assert_eq!(upstream.calls().len(), 0);
}

#[tokio::test]
async fn with_a_key_no_other_member_names_a_model() {
    let upstream = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let scene = Scene::new(config(&upstream, Provider::OpenAi)).await;
    let members = r#""models":["o1-pro"],"route":"fallback","#;
    let answer = scene.post("/v1/chat/completions", &chat(members)).await;
    assert_eq!(answer.status, 200, "without keys nobody limits models: {}", answer.text());
    let key = format!("authorization: Bearer {}\r\n", scene.key_of("acme").await);
    for members in [members, r#""extra":{"Models":["o1-pro"]},"#, r#""preset":"dear","#] {
        let answer = scene.client().await.post("/v1/chat/completions", &key, &chat(members)).await;
        assert_eq!((answer.status, answer.at("/error/code").as_str()), (403, "model"), "{members}");
    }
    assert_eq!(upstream.calls().len(), 1);
    let answer =
        scene.client().await.post("/v1/chat/completions", &key, &chat(r#""models":["gpt-4o"],"#)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}
