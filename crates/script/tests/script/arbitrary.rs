//! Whatever the text, the checkers and the renderer answer, and every place is inside it.

use proptest::prelude::*;
use stave_diag::{Diagnostic, Span};
use stave_script::{RenderLimits, check_condition, check_template, check_transform, render};

use crate::findings::embedded;

/// Pieces that make a random text look like the language often enough to get past its first line.
fn pieces(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    let piece = prop_oneof![3 => prop::sample::select(words).prop_map(str::to_owned), 1 => "\\PC{0,3}"];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

const PYTHON: &[&str] = &[
    "def transform(inputs, context, state):\n",
    "    ",
    "return ",
    "inputs['a']",
    "context.x",
    "await ",
    "state.get('k')",
    "\n",
    "x = ",
    "for i in y:",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ":",
    ",",
    "lambda a: ",
    "if ",
    "else ",
    "class A:",
    "import os\n",
    "f'{",
    "}'",
    "\"\"\"",
    "yield",
    "global x",
    "é",
    "\t",
    "# c",
    "\\\n",
    "async ",
    "with a as b:",
    "try:\n",
    "except E as e:\n",
    "**",
    "*",
    " in ",
    ":=",
    "@d\n",
    "match x:\n",
    "case _:",
];
const JINJA: &[&str] = &[
    "{{ ",
    " }}",
    "{% ",
    " %}",
    "for x in items",
    "endfor",
    "if ",
    "endif",
    "else",
    "elif x",
    "set y = ",
    "items",
    ".a",
    "['k']",
    "|",
    "upper",
    " is ",
    "defined",
    "(",
    ")",
    "[",
    "]",
    "macro m(a)",
    "endmacro",
    "m(1)",
    "{#",
    "#}",
    "raw",
    "endraw",
    "include 'x'",
    "loop.index",
    "1",
    "'s'",
    "~",
    "+",
    "é",
    "\n",
    "-%}",
    "{%-",
    "call m()",
    "with a=1",
    "range(3)",
    "not ",
    "recursive",
    "do x()",
];

fn inside(diagnostics: &[Diagnostic], whole: Span) -> Result<(), TestCaseError> {
    for diagnostic in diagnostics {
        prop_assert!(diagnostic.primary.start >= whole.start && diagnostic.primary.end <= whole.end);
        prop_assert!(diagnostic.primary.start <= diagnostic.primary.end);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn code_never_panics_the_checker(text in prop_oneof![pieces(PYTHON), any::<String>()]) {
        let (_, embedded) = embedded(&text);
        let check = check_transform(&embedded, embedded.whole());
        inside(&check.diagnostics, embedded.whole())?;
    }

    #[test]
    fn an_expression_never_panics_the_checker(text in prop_oneof![pieces(PYTHON), any::<String>()]) {
        let (_, embedded) = embedded(&text);
        let check = check_condition(&embedded, &["value", "inputs", "context"]);
        inside(&check.diagnostics, embedded.whole())?;
        let _ = stave_script::expression::free_names(&text);
    }

    #[test]
    fn a_template_never_panics_the_checker_nor_the_renderer(text in prop_oneof![pieces(JINJA), any::<String>()]) {
        let (_, embedded) = embedded(&text);
        let check = check_template(&embedded, &["items", "context"]);
        inside(&check.diagnostics, embedded.whole())?;
        let context = [("items".to_owned(), stave_canon::Value::from(vec![1, 2]))].into_iter().collect();
        let _ = render(&text, &context, RenderLimits { fuel: 10_000, output_bytes: 10_000 });
    }
}
