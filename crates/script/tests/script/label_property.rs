//! A template never prints a value that the analysis does not name.

use proptest::prelude::*;
use stave_script::{Read, RenderLimits, Renderer, check_template};

use crate::findings::embedded;
use crate::template_generator::template;

const MARK: &str = "zqmarkqz";

fn names_the_secret<'r>(reads: impl IntoIterator<Item = &'r Read>) -> bool {
    let is_secret = |read: &Read| match read {
        Read::EveryContextField => true,
        Read::Context(field) => field == "secret",
        Read::Input(_) | Read::EveryInput | Read::Reply => false,
    };
    reads.into_iter().any(is_secret)
}

fn is_marked(text: &str) -> bool {
    text.to_lowercase().contains(MARK)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn what_is_not_read_is_not_printed(choices in proptest::collection::vec(any::<u8>(), 0..100)) {
        let text = template(&choices);
        let context = format!(r#"{{"text": "t", "context": {{"secret": "{MARK}", "plain": "p", "items": ["i"]}}}}"#);
        let context = stave_canon::parse(&context).unwrap().as_object().unwrap().clone();
        let limits = RenderLimits { fuel: 20_000, ..RenderLimits::default() };
        let Ok(pieces) = Renderer::new(limits).render_pieces(&text, &context) else { return Ok(()) };
        let (_, embedded) = embedded(&text);
        let check = check_template(&embedded, &["text", "context"]);
        let whole: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        prop_assert!(
            !is_marked(&whole) || names_the_secret(check.reads.iter().map(|(read, _)| read)),
            "the check misses the secret in {text}"
        );
        for piece in &pieces {
            prop_assert!(
                !is_marked(&piece.text) || names_the_secret(&piece.reads),
                "a piece of {text} is marked: {piece:?}"
            );
        }
    }
}
