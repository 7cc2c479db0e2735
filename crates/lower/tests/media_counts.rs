//! Media in a body count by the providers' rules, wherever they stand.

#![expect(clippy::unwrap_used, reason = "made-up bodies are readable")]

use stave_llm::tokens::count_content;
use stave_lower::read_wire;

/// The tokens of media and the bytes of text of a body.
fn shown(body: &str) -> (u64, u64) {
    let wire = read_wire(body, None).unwrap();
    let media = wire.positions.iter().map(|position| u64::from(position.media_tokens)).sum();
    (media, wire.positions.iter().map(|position| u64::from(position.length)).sum())
}

#[test]
fn a_picture_counts_the_same_in_a_message_and_in_the_result_of_a_tool() {
    // The header of a PNG of 330 by 330 pixels, and much behind it.
    let header = "iVBORw0KGgoAAAANSUhEUgAAAUoAAAFKCAIAAAD";
    let data = format!("{header}{}", "A".repeat(400_001));
    let picture = format!(
        r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}"#
    );
    let user = format!(r#"{{"model":"claude-opus-5","messages":[{{"role":"user","content":[{picture}]}}]}}"#);
    let result = format!(
        r#"{{"model":"claude-opus-5","messages":[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":[{picture},{picture}]}}]}}]}}"#
    );
    let escaped = user.replace("AAAA", "\\u0041AAA");
    assert_eq!(shown(&user).0, 146);
    assert_eq!(shown(&escaped).0, 146);
    assert_eq!(shown(&result).0, 2 * 146);
    assert!(shown(&result).1 < 200 && shown(&user).1 < 10, "{:?}", shown(&result));
    assert_eq!(
        count_content("claude-opus-5", &picture).tokens - 146,
        count_content("", r#"{"type":"image"}"#).tokens
    );
}

#[test]
fn documents_sounds_and_screenshots_count_by_their_rules() {
    let data = "QUJD".repeat(100_000);
    for (body, tokens) in [
        (
            format!(
                r#"{{"model":"claude-opus-5","messages":[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":[{{"type":"document","source":{{"type":"base64","media_type":"application/pdf","data":"{data}"}}}}]}}]}}]}}"#
            ),
            21_000,
        ),
        (
            format!(
                r#"{{"model":"gpt-4o-audio-preview","messages":[{{"role":"user","content":[{{"type":"input_audio","input_audio":{{"data":"{data}","format":"mp3"}}}}]}}]}}"#
            ),
            375,
        ),
        (
            format!(
                r#"{{"model":"gpt-4o","input":[{{"type":"computer_call_output","call_id":"c","output":{{"type":"computer_screenshot","image_url":"data:image/png;base64,{data}"}}}}]}}"#
            ),
            765,
        ),
        (
            format!(
                r#"{{"model":"gemini-2.5-pro","contents":[{{"role":"user","parts":[{{"inlineData":{{"mimeType":"audio/mp3","data":"{data}"}}}}]}}]}}"#
            ),
            1_200,
        ),
    ] {
        let (media, text) = shown(&body);
        assert_eq!(media, tokens, "{}", &body[..60]);
        assert!(text < 200, "{}: {text}", &body[..60]);
    }
}

#[test]
fn what_a_tool_is_called_with_is_text() {
    let data = "word ".repeat(1000);
    let body = format!(
        r#"{{"model":"claude-opus-5","messages":[{{"role":"assistant","content":[{{"type":"tool_use","id":"a","name":"put","input":{{"type":"document","file_data":"{data}"}}}}]}}]}}"#
    );
    let (media, text) = shown(&body);
    assert!(media == 0 && text > 5000, "{media} {text}");
}
