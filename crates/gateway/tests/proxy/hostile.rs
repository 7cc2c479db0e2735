//! Clients that mean harm are bounded and refused, and what they send reaches no upstream.

use std::time::Duration;

use stave_gateway::GatewayLimits;
use stave_llm::Provider;

use crate::client::request;
use crate::scene::{CHAT, CHAT_REPLY, MESSAGES, Scene, config};
use crate::upstream::{Upstream, whole};

async fn scene(upstream: &Upstream) -> Scene {
    let mut settings = config(upstream, Provider::OpenAi);
    settings.limits.body_bytes = 100_000;
    settings.limits.headers = 40;
    settings.limits.header_bytes = 16 * 1024;
    settings.limits.header_reading = Duration::from_millis(300);
    settings.limits.body_reading = Duration::from_millis(300);
    Scene::new(settings).await
}

#[tokio::test]
async fn bodies_that_can_not_be_meant_are_refused() {
    let upstream = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let scene = scene(&upstream).await;
    let deep = format!(r#"{{"model":"m","messages":{}{}}}"#, "[".repeat(5000), "]".repeat(5000));
    let huge = CHAT.replace("hi", &"x".repeat(100_001));
    let cases: [(&[u8], u16); 9] = [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"{\"messages\":[]}", 400),
        (b"{\"model\":\"m\",\"messages\":[\"\xff\xfe\"]}", 400),
        (b"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"\\ud800\x01\"}]}", 400),
        (b"{\"model\":\"a\",\"model\":\"b\",\"messages\":[]}", 400),
        (deep.as_bytes(), 400),
        (huge.as_bytes(), 413),
    ];
    for (body, status) in cases {
        let mut client = scene.client().await;
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        client.send(head.as_bytes()).await;
        client.send(body).await;
        let answer = client.answer().await.unwrap();
        assert_eq!(answer.status, status, "{:?}: {}", &body[..body.len().min(60)], answer.text());
        assert!(!answer.at("/error/message").is_empty());
    }
    // One without a length is bounded as well.
    let mut client = scene.client().await;
    client.send(b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n").await;
    for _ in 0..20 {
        let chunk = format!("2710\r\n{}\r\n", "x".repeat(10_000));
        if !client.send(chunk.as_bytes()).await {
            break;
        }
    }
    let answer = client.answer().await.unwrap();
    assert_eq!((answer.status, answer.at("/error/type").as_str()), (413, "request_too_large"));
    let mut client = scene.client().await;
    let packed = client.post("/v1/messages", "content-encoding: gzip\r\n", MESSAGES).await;
    assert_eq!(packed.status, 415);
    assert_eq!(upstream.calls().len(), 0);
    assert_eq!(scene.records_of(11).await.len(), 11);
}

#[tokio::test]
async fn those_who_send_slowly_are_cut_off() {
    let upstream = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let scene = scene(&upstream).await;
    let mut head = scene.client().await;
    head.send(b"POST /v1/chat/completions HTTP/1.1\r\nhost: local").await;
    assert!(head.is_closed().await);
    let mut body = scene.client().await;
    let whole = request("/v1/chat/completions", "", CHAT);
    body.send(&whole.as_bytes()[..whole.len() - 10]).await;
    assert_eq!(body.answer().await.unwrap().status, 408);
    assert_eq!(upstream.calls().len(), 0);
}

#[tokio::test]
async fn as_many_headers_are_taken_as_the_bound_says_whether_it_is_set_or_not() {
    let upstream = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let usual = Scene::new(config(&upstream, Provider::OpenAi)).await;
    let path = "/v1/chat/completions";
    let own = request(path, "", CHAT).lines().skip(1).take_while(|line| !line.is_empty()).count();
    for (scene, bound) in [(usual, GatewayLimits::default().headers), (scene(&upstream).await, 40)] {
        for (count, status) in [(bound, 200), (bound + 1, 431)] {
            let more: String = (own..count).map(|number| format!("x-{number}: 1\r\n")).collect();
            let mut client = scene.client().await;
            client.send(request(path, &more, CHAT).as_bytes()).await;
            assert_eq!(client.answer().await.map(|answer| answer.status), Some(status), "{count} headers");
        }
    }
}

#[tokio::test]
async fn floods_of_headers_are_refused() {
    let upstream = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let scene = scene(&upstream).await;
    let many: String = (0..200).map(|number| format!("x-{number}: 1\r\n")).collect();
    let long = format!("x-long: {}\r\n", "y".repeat(64 * 1024));
    for headers in [many, long] {
        let mut client = scene.client().await;
        client.send(request("/v1/chat/completions", &headers, CHAT).as_bytes()).await;
        let answer = client.answer().await;
        assert!(answer.as_ref().is_none_or(|answer| answer.status == 431), "{answer:?}");
    }
    assert_eq!(upstream.calls().len(), 0);
}

#[tokio::test]
async fn two_ways_of_reading_a_request_are_none() {
    let upstream = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let scene = scene(&upstream).await;
    let smuggled =
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-smuggled: 1\r\ncontent-length: 0\r\n\r\n";
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n";
    let chunked = format!("{:x}\r\n{CHAT}\r\n0\r\n\r\n", CHAT.len());
    let length = CHAT.len();
    let cases = [
        format!("{head}content-length: {length}\r\ncontent-length: 5\r\n\r\n{CHAT}{smuggled}"),
        format!("{head}content-length: +{length}\r\n\r\n{CHAT}"),
        format!("{head}content-length: {length}, 5\r\n\r\n{CHAT}"),
        format!("{head}content-length: {length}\r\ncontent-length : {length}\r\n\r\n{CHAT}"),
        format!("{head}content-length: 0x{length:x}\r\n\r\n{CHAT}"),
        format!("{head}content-length: 99999999999999999999\r\n\r\n{CHAT}"),
        format!("{head}content-length:\r\n {length}\r\n\r\n{CHAT}"),
        format!("{head}transfer-encoding: chunked, identity\r\n\r\n{chunked}"),
        format!("{head}transfer-encoding: gzip, chunked\r\n\r\n{chunked}{smuggled}"),
        format!("{head}transfer-encoding: chunked, chunked\r\n\r\n{chunked}{smuggled}"),
        format!("{head}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n{chunked}{smuggled}"),
        format!("{head}transfer-encoding: identity\r\ntransfer-encoding: chunked\r\n\r\n{chunked}{smuggled}"),
        format!("{head}transfer-encoding: \x0bchunked\r\n\r\n{chunked}"),
        format!("{head}transfer-encoding:\r\n chunked\r\n\r\n{chunked}"),
        format!("{}transfer-encoding: chunked\r\n\r\n{chunked}", head.replace("1.1", "1.0")),
        format!("{head}transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n{CHAT}\r\n0\r\n\r\n"),
        format!("{head}transfer-encoding: chunked\r\n\r\n1 2\r\n{CHAT}\r\n0\r\n\r\n"),
        format!("{head}x: a\rcontent-length: 5\r\ncontent-length: {length}\r\n\r\n{CHAT}"),
        format!("{head}transfer-encoding: xchunked\r\n\r\n{chunked}"),
        format!("{head}transfer-encoding: chunked\r\n\r\n-1\r\n{CHAT}\r\n0\r\n\r\n"),
        format!("{head}x-folded: a\r\n b\r\ncontent-length: {length}\r\n\r\n{CHAT}"),
        format!("{head}bad header: 1\r\ncontent-length: {length}\r\n\r\n{CHAT}"),
        format!("{head}content-length : {length}\r\n\r\n{CHAT}"),
        format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx: a\x00b\r\ncontent-length: {length}\r\n\r\n{CHAT}"
        ),
    ];
    for case in &cases {
        let before = upstream.calls().len();
        let mut client = scene.client().await;
        client.send(case.as_bytes()).await;
        let answer = client.answer().await;
        assert_eq!(answer.map(|answer| answer.status), Some(400), "{case}");
        assert!(client.is_closed().await, "{case}");
        assert_eq!(upstream.calls().len(), before, "{case}");
    }
    // Twice the same length is one length (RFC 9112, 6.3), and trailers are nobody's headers.
    let said = [
        format!(
            "{head}content-length: {length}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{CHAT}"
        ),
        format!(
            "{head}transfer-encoding: Chunked\r\nconnection: close\r\n\r\n{:x};x=y\r\n{CHAT}\r\n0\r\nx-smuggled: 1\r\n\r\n",
            CHAT.len()
        ),
    ];
    for (number, case) in said.iter().enumerate() {
        let mut client = scene.client().await;
        client.send(case.as_bytes()).await;
        assert_eq!(client.answer().await.map(|answer| answer.status), Some(200), "{case}");
        assert!(client.is_closed().await, "{case}");
        let calls = upstream.calls();
        assert_eq!((calls.len(), calls[number].body.as_str()), (number + 1, CHAT));
        let framings = calls[number].head.matches("content-length: ").count();
        assert_eq!(framings, 1, "{}", calls[number].head);
        assert!(!calls[number].head.contains("transfer-encoding"), "{}", calls[number].head);
        assert!(!calls[number].head.contains("x-smuggled"), "{}", calls[number].head);
    }
    // With both, the chunks count and the connection ends (RFC 9112, 6.3): what follows is nobody's request.
    let both = [
        format!("{head}content-length: 6\r\ntransfer-encoding: chunked\r\n\r\n{chunked}{smuggled}"),
        format!("{head}transfer-encoding: chunked\r\ncontent-length: 6\r\n\r\n{chunked}{smuggled}"),
    ];
    for (number, case) in both.iter().enumerate() {
        let mut client = scene.client().await;
        client.send(case.as_bytes()).await;
        let answer = client.answer().await.unwrap();
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")), "{case}");
        assert!(client.is_closed().await, "{case}");
        let calls = upstream.calls();
        assert_eq!((calls.len(), calls[number + 2].body.as_str()), (number + 3, CHAT));
        let head = &calls[number + 2].head;
        assert!(!head.contains("transfer-encoding") && !head.contains("content-length: 6\r"), "{head}");
    }
    // The other way round, what one side takes for the next request is no chunk: it reaches nobody.
    let mut client = scene.client().await;
    let opened = format!("{:x}\r\n", smuggled.len());
    let case = format!(
        "{head}content-length: {}\r\ntransfer-encoding: chunked\r\n\r\n{opened}{smuggled}\r\n0\r\n\r\n",
        opened.len()
    );
    client.send(case.as_bytes()).await;
    assert_eq!(client.answer().await.map(|answer| answer.status), Some(400), "no request of a model");
    assert!(client.is_closed().await);
    assert_eq!(upstream.calls().len(), 4);
    // A line that ends in a line feed alone is read as the standard allows, and continues with its own framing.
    let mut client = scene.client().await;
    let bare =
        format!("POST /v1/chat/completions HTTP/1.1\nhost: localhost\ncontent-length: {length}\n\n{CHAT}");
    client.send(bare.as_bytes()).await;
    let answer = client.answer().await.unwrap();
    if answer.status == 200 {
        let calls = upstream.calls();
        let call = calls.last().unwrap();
        assert_eq!((calls.len(), call.body.as_str()), (5, CHAT));
        assert!(!call.head.contains("x-smuggled"));
    }
}

#[tokio::test]
async fn pages_of_other_sites_are_refused() {
    let upstream = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let scene = scene(&upstream).await;
    let mut client = scene.client().await;
    let answer = client.post("/v1/chat/completions", "origin: https://evil.example\r\n", CHAT).await;
    assert_eq!((answer.status, answer.at("/error/code").as_str()), (403, "foreign_origin"));
    assert_eq!(upstream.calls().len(), 0);
}
