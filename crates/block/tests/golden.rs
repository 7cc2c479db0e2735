//! The wire form of a small prompt, and what is said about a broken one.

use stave_block::{
    BlockContentType, BlockSection, PromptRole, Provenance, Sensitivity, Tokenizer, ToolSchema, Wire, build,
    from_value, to_value,
};
use stave_canon::{CountingIds, FixedClock, Timestamp, parse, pretty_insertion_ascii};

#[test]
fn a_prompt_of_four_blocks() {
    let schema = parse(r#"{"type": "object", "required": ["path"]}"#).unwrap();
    let tools = [ToolSchema { name: "read_file".to_owned(), schema: schema.clone() }];
    let request = parse(r#"{"model": "m", "messages": []}"#).unwrap();
    let count = |text: &str| u32::try_from(text.split_whitespace().count()).unwrap();
    let wire = Wire {
        tools: Some(&tools),
        structured_output_schema: Some(&schema),
        source_request: Some(&request),
        tokenizer: Some(Tokenizer { model_family: "claude", count: &count }),
    };
    let sections = vec![
        BlockSection::text(PromptRole::System, Provenance::Developer, "You are terse."),
        BlockSection::text(PromptRole::System, Provenance::System, schema.to_string())
            .content_type(BlockContentType::ToolSchema)
            .named("read_file"),
        BlockSection::text(PromptRole::User, Provenance::User, "hi").sensitivity(Sensitivity::Private),
        BlockSection::text(PromptRole::User, Provenance::User, "hi"),
    ];
    let clock = FixedClock("2026-01-02T03:04:05.67Z".parse::<Timestamp>().unwrap());
    let ir = build(sections, &wire, &CountingIds::new(), &clock).unwrap();
    assert_eq!(ir.token_count(), Some(6));
    assert_eq!(ir.sensitivity(), Sensitivity::Private);
    insta::assert_snapshot!(pretty_insertion_ascii(&to_value(&ir)));
}

#[test]
fn what_is_not_counted_has_no_sum() {
    let clock = FixedClock(Timestamp::UNIX_EPOCH);
    let sections = vec![BlockSection::text(PromptRole::User, Provenance::User, "hi")];
    let ir = build(sections, &Wire::default(), &CountingIds::new(), &clock).unwrap();
    assert_eq!(ir.token_count(), None);
    assert_eq!(to_value(&ir).get("created_at").unwrap().as_str(), Some("1970-01-01T00:00:00Z"));
}

#[test]
fn every_fault_is_told() {
    let broken = parse(
        r#"{
            "ir_id": "not an id",
            "blocks": [
                {"span_id": "a", "sequence_index": 1, "role": "boss", "content": 7, "content_type": "text",
                 "provenance": "user", "sensitivity": "secret"},
                {"span_id": "b", "sequence_index": 1, "role": "user", "content": "", "content_type": "text",
                 "provenance": "user", "token_metadata": {"token_count": -1}},
                {"span_id": "b2", "sequence_index": 2, "role": "user", "content": "", "content_type": "text",
                 "provenance": "user"},
                {"span_id": "b2", "sequence_index": 3, "role": "user", "content": "", "content_type": "text",
                 "provenance": "user"}
            ],
            "tool_schema_hashes": {},
            "created_at": "soon"
        }"#,
    )
    .unwrap();
    insta::assert_snapshot!(from_value(&broken).unwrap_err().to_string().replace("; ", "\n"));
}
