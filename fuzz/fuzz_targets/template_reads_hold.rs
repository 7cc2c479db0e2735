//! What a template prints is among what the analysis says it reads.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stave_diag::{Embedded, Sources};
use stave_script::{Read, RenderLimits, Renderer, check_template};

#[path = "../../crates/script/tests/script/template_generator.rs"]
mod template_generator;

const MARK: &str = "zqmarkqz";

fn names_the_secret<'r>(mut reads: impl Iterator<Item = &'r Read>) -> bool {
    reads.any(|read| matches!(read, Read::EveryContextField) || *read == Read::Context("secret".to_owned()))
}

fuzz_target!(|choices: &[u8]| {
    let text = template_generator::template(choices.get(..200).unwrap_or(choices));
    let context = format!(r#"{{"text": "t", "context": {{"secret": "{MARK}", "plain": "p", "items": ["i"]}}}}"#);
    let Ok(stave_canon::Value::Object(context)) = stave_canon::parse(&context) else { return };
    let limits = RenderLimits { fuel: 20_000, output_bytes: 64 * 1024 };
    let Ok(pieces) = Renderer::new(limits).render_pieces(&text, &context) else { return };
    let mut sources = Sources::new();
    let source = sources.add("template", text.as_str());
    let check = check_template(&Embedded::verbatim(text.as_str(), source, 0), &["text", "context"]);
    for piece in pieces.iter().filter(|piece| piece.text.to_lowercase().contains(MARK)) {
        assert!(names_the_secret(piece.reads.iter()), "{text}: {piece:?}");
        assert!(names_the_secret(check.reads.iter().map(|(read, _)| read)), "{text}");
    }
});
