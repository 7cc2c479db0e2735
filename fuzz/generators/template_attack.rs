//! Templates that try to take memory or time, made from a stream of bytes.
//!
//! Every choice is drawn from the stream, so the same bytes give the same template. A fuzz target and a test
//! share this file.

#[path = "choices.rs"]
mod choices;

pub(crate) use choices::Choices;

/// Values that every template is given.
pub(crate) const CONTEXT: &str = r#"{"q": "line one\nline \"two\" <b>", "n": 7, "xs": [1, 2, 3, 4, 5, 6, 7, 8],
    "rows": [{"a": "x", "b": [1, 2]}, {"a": "y", "b": []}], "empty": ""}"#;

const ATOMS: &[&str] = &[
    "q",
    "n",
    "xs",
    "rows",
    "empty",
    "'x'",
    "'\\n'",
    "''",
    "10",
    "100000",
    "999999999",
    "999999999999999",
    "9223372036854775807",
    "-1",
    "0",
    "1e308",
    "true",
    "none",
    "[1, 2]",
    "{'a': q}",
    "('a', 'b')",
    "range(100000)",
    "range(1000000000)",
    "rows[0].a",
    "loop",
    "namespace()",
    "undefined_name",
];
const OPERATORS: &[&str] = &["*", "**", "~", "+", "-", "/", "//", "%", "in", "==", "<", "and", "or"];
/// `@` stands for an expression.
const FILTERS: &[&str] = &[
    "indent(@)",
    "indent(width=@, first=true, blank=true)",
    "replace(@, @)",
    "replace('', @)",
    "join(@)",
    "join(@, attribute=@)",
    "slice(@)",
    "slice(@, @)",
    "batch(@)",
    "batch(@, @)",
    "format(@)",
    "format(@, @)",
    "center(@)",
    "tojson(indent=@)",
    "tojson",
    "truncate(@)",
    "truncate(@, true, @)",
    "round(@)",
    "int(@)",
    "list",
    "sort",
    "unique",
    "map('upper')",
    "map('indent', @)",
    "map('replace', '', @)",
    "sum(start=@)",
    "groupby('a')",
    "zip(@)",
    "chain(@)",
    "split(@)",
    "split('')",
    "lines",
    "reverse",
    "pprint",
    "string",
    "urlencode",
    "e",
    "upper",
    "title",
    "items",
    "dictsort",
    "attr(@)",
    "default(@)",
    "first",
    "last",
    "min",
    "max",
    "length",
    "striptags",
    "wordcount",
    "filesizeformat",
    "select('in', @)",
    "trim(@)",
    "abs",
    "wordwrap(@)",
    "ljust(@)",
    "xmlattr",
    "random",
];
const METHODS: &[&str] = &[
    "center(@)",
    "ljust(@)",
    "rjust(@)",
    "zfill(@)",
    "expandtabs(@)",
    "replace('', @)",
    "replace(@, @)",
    "join(@)",
    "split(@)",
    "format(@)",
    "format(@, @)",
    "strip(@)",
    "count(@)",
    "title()",
    "splitlines()",
    "items()",
    "keys()",
    "values()",
    "get(@)",
    "upper()",
    "append(@)",
    "update(@)",
];
const FORMATS: &[&str] = &[
    "'%0999999999d'",
    "'%999999999s'",
    "'%.999999999f'",
    "'{:999999999}'",
    "'{:0>999999999}'",
    "'{:.999999999f}'",
    "'%*d'",
    "'{0}{0}{0}{0}{0}{0}{0}{0}'",
    "'{:{}}'",
];

/// One template.
pub(crate) fn template(choices: &mut Choices<'_>) -> String {
    let mut text = String::new();
    for _ in 0..=choices.byte() % 4 {
        statement(choices, 3, &mut text);
    }
    text
}

fn statement(choices: &mut Choices<'_>, depth: usize, text: &mut String) {
    if depth == 0 {
        text.push_str("{{ q }}");
        return;
    }
    match choices.byte() % 12 {
        0..=4 => {
            let value = expression(choices, 4);
            text.push_str(&format!("{{{{ {value} }}}}"));
        }
        5 => {
            let value = expression(choices, 3);
            text.push_str(&format!("{{% for x in {value} %}}"));
            statement(choices, depth - 1, text);
            text.push_str("{{ x }}{% endfor %}");
        }
        6 => {
            let value = expression(choices, 3);
            text.push_str(&format!("{{% set q = {value} %}}"));
            statement(choices, depth - 1, text);
        }
        7 => {
            text.push_str("{% set q %}{{ q }}{{ q }}");
            statement(choices, depth - 1, text);
            text.push_str("{% endset %}{{ q }}");
        }
        8 => {
            text.push_str("{% macro m(x) %}");
            statement(choices, depth - 1, text);
            text.push_str("{{ m(x) }}{{ m(x ~ x) }}{% endmacro %}{{ m(q) }}");
        }
        9 => {
            let filter = applied(choices, FILTERS, 2);
            text.push_str(&format!("{{% filter {filter} %}}"));
            statement(choices, depth - 1, text);
            text.push_str("{% endfilter %}");
        }
        10 => {
            // Doubling: the shortest way from a few bytes to many.
            let operator = choices.of(&["~", "+", "*"]);
            for _ in 0..choices.byte() % 64 {
                text.push_str(&format!("{{% set q = q {operator} q %}}"));
            }
            text.push_str("{{ q }}");
        }
        _ => {
            let value = expression(choices, 3);
            text.push_str(&format!("{{% if {value} %}}"));
            statement(choices, depth - 1, text);
            text.push_str("{% endif %}");
        }
    }
}

fn expression(choices: &mut Choices<'_>, depth: usize) -> String {
    if depth == 0 {
        return choices.of(ATOMS).to_owned();
    }
    match choices.byte() % 8 {
        0 | 1 => choices.of(ATOMS).to_owned(),
        2 => {
            let left = expression(choices, depth - 1);
            let operator = choices.of(OPERATORS);
            let right = expression(choices, depth - 1);
            format!("({left} {operator} {right})")
        }
        3 | 4 => {
            let value = expression(choices, depth - 1);
            format!("({value} | {})", applied(choices, FILTERS, depth - 1))
        }
        5 => {
            let value = expression(choices, depth - 1);
            format!("({value}).{}", applied(choices, METHODS, depth - 1))
        }
        6 => {
            let value = expression(choices, depth - 1);
            let (start, step) = (choices.of(ATOMS), choices.of(&["-1", "1", "999999999", "-999999999", "n"]));
            format!("({value})[{start}::{step}]")
        }
        _ => {
            let format = choices.of(FORMATS);
            let value = expression(choices, depth - 1);
            match choices.byte() % 3 {
                0 => format!("({format} | format({value}))"),
                1 => format!("{format}.format({value})"),
                _ => format!("({format} % {value})"),
            }
        }
    }
}

/// One of the names with an expression for each `@`.
fn applied(choices: &mut Choices<'_>, names: &[&str], depth: usize) -> String {
    let mut text = String::new();
    for (index, part) in choices.of(names).split('@').enumerate() {
        if index > 0 {
            text.push_str(&expression(choices, depth));
        }
        text.push_str(part);
    }
    text
}
