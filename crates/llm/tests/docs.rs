//! The examples of the book's page on models are read by the code they describe.

use stave_llm::codec::DEFAULT_MAX_TOKENS;
use stave_llm::codec::stream::LONGEST_FRAME;
use stave_llm::recording::Recording;
use stave_llm::{ClientOptions, Provider, RetryPolicy, Timeouts};

const PAGE: &str = include_str!("../../../docs/llm.md");

fn blocks(fence: &str) -> Vec<&'static str> {
    PAGE.split("```").filter_map(|block| block.strip_prefix(fence)?.strip_prefix('\n')).collect()
}

#[test]
fn the_recordings_of_the_page_can_be_read() {
    let blocks = blocks("yaml recording");
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let recording = Recording::parse(block).unwrap();
        assert!(!recording.exchanges.is_empty());
    }
}

#[test]
fn the_numbers_of_the_page_are_those_of_the_code() {
    let (client, timeouts, retry) = (ClientOptions::default(), Timeouts::default(), RetryPolicy::default());
    let says = |text: String| assert!(PAGE.contains(&text), "the page does not say: {text}");
    says(format!("| connect | {} s |", client.connect_timeout.as_secs()));
    says(format!("| first byte | {} s |", timeouts.first_byte.as_secs()));
    says(format!("| attempt | {} s |", timeouts.attempt.as_secs()));
    says(format!("| body | {} MiB |", client.max_body >> 20));
    says(format!("| event | {} MiB |", LONGEST_FRAME >> 20));
    says(format!("never passes {} s", retry.cap.as_secs()));
    says(format!("more than {} s", retry.longest_retry_after.as_secs()));
    says(format!("one: {DEFAULT_MAX_TOKENS} is sent"));
    for provider in Provider::ALL {
        says(format!("| `{}` |", provider.word()));
        if let Some(endpoint) = provider.endpoint() {
            says(format!("`{endpoint}`"));
        }
    }
}
