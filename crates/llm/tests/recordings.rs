//! Recording and replaying, without a network.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use stave_llm::recording::{
    Answer, Exchange, ExchangeMatch, Recorder, Recording, Redactor, Replayer, RequestPattern, request_hash,
};
use stave_llm::{
    Attempt, CacheMark, CallObserver, CallOptions, Error, ErrorKind, Message, Part, Provider, Reply, Request,
    Response, RetryPolicy, Role, Secret, StreamEvent, Target, Transport, Usage,
};

/// Answers every request with its own last text, and a count.
#[derive(Debug, Default)]
struct Echo(Mutex<u32>);

#[async_trait]
impl Transport for Echo {
    async fn send(
        &self,
        request: &Request,
        _: &Target,
        _: &CallOptions,
        _: &dyn CallObserver,
    ) -> Result<Reply, Error> {
        let mut count = self.0.lock().unwrap();
        *count += 1;
        let text = request.messages.last().and_then(|message| message.texts().last()).unwrap_or_default();
        let content = vec![Part::text(format!("{text}\nanswer {count}"))];
        let usage = Some(Usage { input: 3, output: 2, ..Usage::default() });
        let response = Response { content, usage, ..Response::default() };
        Ok(Reply { response, attempts: vec![Attempt { error: None, wait: None }], notes: Vec::new() })
    }
}

fn target() -> Target {
    Target::new(Provider::OpenAi, "gpt-4o-mini").with_key(Secret::new("sk-very-secret"))
}

fn ask(text: &str) -> Request {
    Request::new("", vec![Message::system("You are a clerk.\nBe brief."), Message::user(text)])
}

async fn send(transport: &dyn Transport, request: &Request) -> Result<String, Error> {
    let reply = transport.send(request, &target(), &CallOptions::default(), &()).await?;
    Ok(reply.response.text())
}

async fn record(texts: &[&str]) -> Recording {
    let recorder = Recorder::new(Echo::default(), Redactor::new([Secret::new("sk-very-secret")]));
    for text in texts {
        send(&recorder, &ask(text)).await.unwrap();
    }
    recorder.recording()
}

#[tokio::test]
async fn what_was_recorded_replays_through_the_file_and_repeats_answer_in_order() {
    let recording = record(&["Where is it?", "Why?", "Where is it?"]).await;
    let text = recording.to_yaml();
    insta::assert_snapshot!("recorded", text);
    assert_eq!(Recording::parse(&text).unwrap(), recording);

    let replayer = Replayer::new(Recording::parse(&text).unwrap());
    assert_eq!(send(&replayer, &ask("Where is it?")).await.unwrap(), "Where is it?\nanswer 1");
    assert_eq!(send(&replayer, &ask("Where is it?")).await.unwrap(), "Where is it?\nanswer 3");
    assert_eq!(replayer.unused(), 1);
    assert_eq!(send(&replayer, &ask("Why?")).await.unwrap(), "Why?\nanswer 2");
    assert_eq!(replayer.unused(), 0);
    let error = send(&replayer, &ask("Why?")).await.unwrap_err();
    assert!(error.to_string().contains("answers this request 1 times and all of them are used"), "{error}");
}

#[tokio::test]
async fn secrets_are_not_in_the_file_and_requests_that_held_them_still_match() {
    let text = "my key is sk-very-secret, and \"quoted\"";
    let recording = record(&[text]).await;
    let file = recording.to_yaml();
    assert!(file.contains("my key is [secret]") && !file.contains("very-secret"), "{file}");
    let redactor = Redactor::new([Secret::new("sk-very-secret")]);
    let replayer = Replayer::with_redactor(Recording::parse(&file).unwrap(), redactor);
    assert!(send(&replayer, &ask(text)).await.is_ok());
}

#[test]
fn a_redactor_finds_escaped_nested_and_named_secrets() {
    let redactor = Redactor::new([
        Secret::new("a\"b\\c"),
        Secret::new("a\"b\\c-long"),
        Secret::new("xyz"),
        Secret::new(""),
    ]);
    let value = stave_canon::parse(
        r#"{"args":"{\"k\":\"a\\\"b\\\\c\"}","list":["a\"b\\c-long!"],"Authorization":"Basic 1","password":{"type":"string"},"a\"b\\c":1,"short":"xyz"}"#,
    )
    .unwrap();
    assert_eq!(
        redactor.value(&value).to_string(),
        r#"{"args":"{\"k\":\"[secret]\"}","list":["[secret]!"],"Authorization":"[secret]","password":{"type":"string"},"[secret]":1,"short":"xyz"}"#
    );
}

#[test]
fn a_hash_ignores_what_does_not_change_the_answer_and_nothing_else() {
    let plain = ask("Hi");
    let mut same = plain.clone();
    same.stream = true;
    same.metadata.insert("user_id".to_owned(), "u".into());
    same.extra.insert("user".to_owned(), "u".into());
    same.extra.insert("prompt_cache_key".to_owned(), "k".into());
    same.messages[0].content[0].cache = Some(CacheMark::default());
    assert_eq!(request_hash(&same), request_hash(&plain));

    let with = |change: fn(&mut Request)| {
        let mut request = plain.clone();
        change(&mut request);
        request_hash(&request)
    };
    let others = [
        request_hash(&plain),
        with(|request| request.model = "m".to_owned()),
        with(|request| request.temperature = Some(0.0)),
        with(|request| request.max_tokens = Some(1)),
        with(|request| request.messages[1].role = Role::Developer),
        with(|request| request.messages[1].content.push(Part::text(""))),
        with(|request| request.stop.push("x".to_owned())),
        with(|request| drop(request.extra.insert("reasoning_effort".to_owned(), "low".into()))),
    ];
    for (index, hash) in others.iter().enumerate() {
        assert!(!others[..index].contains(hash), "change {index} has the hash of an earlier one");
    }
    // The hash is part of recordings that people keep, so it must not move.
    let canonical = r#"{"messages":[{"content":"You are a clerk.\nBe brief.","role":"system"},{"content":"Hi","role":"user"}]}"#;
    assert_eq!(request_hash(&plain), stave_canon::sha256_hex(canonical));
    assert_eq!(request_hash(&plain), "9f9b5fa3678c43681579f859672dece2aea4a9c9fc1fd557ef8d780bb78a4661");
}

#[tokio::test]
async fn nothing_that_matches_is_explained_by_the_nearest_request() {
    let mut recording = record(&["Where is my order?\nIt is number 42.\nPlease hurry.", "Thank you."]).await;
    let pattern = RequestPattern { contains: vec!["refund".to_owned()], ..RequestPattern::default() };
    recording.exchanges.push(Exchange {
        when: ExchangeMatch::Pattern(pattern),
        answer: Answer::Response(Box::default()),
        times: None,
    });
    let replayer = Replayer::new(recording);
    let request =
        Request { temperature: Some(0.2), ..ask("Where is my order?\nIt is number 43.\nPlease hurry.") };
    let error = send(&replayer, &request).await.unwrap_err();
    assert!(!error.is_retryable());
    insta::assert_snapshot!("unmatched", error.to_string());
    let empty = Replayer::new(Recording::default());
    insta::assert_snapshot!("unmatched_empty", send(&empty, &request).await.unwrap_err().to_string());
}

const BY_HAND: &str = r#"
# Replies of the support example.
version: 1
exchanges:
  - match:
      contains: [order]
      last_contains: refund
    times: 1
    response: We refund it.
  - match: {contains: order, excludes: [refund]}   # anything else about an order
    response:
      json: {answer: It ships today., sure: true}
      usage: {input: 12, output: 5}
  - match: {model: gpt-4o-mini, contains: weather}
    response:
      tool_calls:
        - name: look_up
          arguments: {city: Oslo}
  - match: {contains: busy}
    times: 1
    error: {status: 429, message: Slow down, retry_after_ms: 5000}
  - match: {contains: busy}
    response: Here I am.
  - match: {contains: broken}
    error: {status: 400}
"#;

#[tokio::test]
async fn exchanges_written_by_hand_match_by_a_pattern() {
    let recording = Recording::parse(BY_HAND).unwrap();
    assert_eq!(Recording::parse(&recording.to_yaml()).unwrap(), recording);
    let replayer = Replayer::new(recording);
    assert_eq!(send(&replayer, &ask("order refund")).await.unwrap(), "We refund it.");
    assert!(send(&replayer, &ask("order refund")).await.is_err(), "used up, and the next one excludes it");
    for _ in 0..3 {
        let reply = send(&replayer, &ask("my order")).await.unwrap();
        assert_eq!(reply, r#"{"answer":"It ships today.","sure":true}"#);
    }
    let reply = replayer.send(&ask("weather"), &target(), &CallOptions::default(), &()).await.unwrap();
    let calls: Vec<_> =
        reply.response.tool_calls().map(|call| (&*call.id, &*call.name, &*call.arguments)).collect();
    assert_eq!(calls, [("call_0", "look_up", r#"{"city":"Oslo"}"#)]);
}

#[tokio::test]
async fn a_replay_retries_as_the_client_does_but_never_waits() {
    let replayer = Replayer::new(Recording::parse(BY_HAND).unwrap());
    let reply = replayer.send(&ask("busy"), &target(), &CallOptions::default(), &()).await.unwrap();
    assert_eq!(reply.response.text(), "Here I am.");
    assert_eq!(reply.attempts[0].wait, Some(Duration::ZERO));

    let replayer = Replayer::new(Recording::parse(BY_HAND).unwrap());
    let never =
        CallOptions { retry: RetryPolicy { retries: 0, ..RetryPolicy::default() }, ..CallOptions::default() };
    let error = replayer.send(&ask("busy"), &target(), &never, &()).await.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Status { status: 429, .. }));
    let error = replayer.send(&ask("broken"), &target(), &CallOptions::default(), &()).await.unwrap_err();
    assert_eq!(error.to_string(), "the provider answered 400");
    assert_eq!(error.attempts.len(), 1);
}

#[tokio::test]
async fn a_replay_streams_to_its_observer() {
    #[derive(Default)]
    struct Texts(Mutex<String>);
    impl CallObserver for Texts {
        fn event(&self, event: &StreamEvent) -> std::ops::ControlFlow<()> {
            if let StreamEvent::Text { text, .. } = event {
                self.0.lock().unwrap().push_str(text);
            }
            std::ops::ControlFlow::Continue(())
        }
    }
    let replayer = Replayer::new(record(&["Hi"]).await);
    let texts = Texts::default();
    let request = Request { stream: true, ..ask("Hi") };
    replayer.send(&request, &target(), &CallOptions::default(), &texts).await.unwrap();
    assert_eq!(*texts.0.lock().unwrap(), "Hi\nanswer 1");
}

#[test]
fn a_recording_that_can_not_be_read_says_where_and_why() {
    for (text, says) in [
        ("", "a recording is a mapping"),
        ("exchanges: []", "`version: 1` is missing"),
        ("version: 2", "version 2 is not known"),
        ("version: 1\nexchange: []", "line 2 column 11: `exchange` is unknown here"),
        (
            "version: 1\nexchanges:\n  - response: x",
            "line 3 column 5: an exchange has either `request` or `match`",
        ),
        (
            "version: 1\nexchanges:\n  - match: {contain: x}\n    response: x",
            "the field `contain` of a match is unknown",
        ),
        (
            "version: 1\nexchanges:\n  - match: {}\n    response: {contents: x}",
            "the field `contents` of a response",
        ),
        ("version: 1\nexchanges:\n  - match: {}\n    error: {status: 200}", "from 400 to 599"),
        (
            "version: 1\nexchanges:\n  - match: {}\n    times: never\n    response: x",
            "`times` is a count or `always`",
        ),
        ("version: 1\nversion: 1", "line 2 column 1"),
        ("version: !mine 1", "the tag `!mine` has no meaning here"),
        ("version: 1\n---\nversion: 1", "line 2 column 1"),
        ("version: [", "line"),
    ] {
        let error = Recording::parse(text).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
