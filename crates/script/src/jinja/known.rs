//! The filters, tests and functions that templates have.

pub(super) const FILTERS: &[&str] = &[
    "abs",
    "attr",
    "batch",
    "bool",
    "capitalize",
    "center",
    "chain",
    "count",
    "d",
    "default",
    "dictsort",
    "e",
    "escape",
    "filesizeformat",
    "first",
    "float",
    "format",
    "groupby",
    "indent",
    "int",
    "items",
    "join",
    "last",
    "length",
    "lines",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "pprint",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "safe",
    "select",
    "selectattr",
    "slice",
    "sort",
    "split",
    "string",
    "striptags",
    "sum",
    "title",
    "tojson",
    "trim",
    "truncate",
    "unique",
    "upper",
    "urlencode",
    "wordcount",
    "zip",
];

pub(super) const TESTS: &[&str] = &[
    "boolean",
    "defined",
    "divisibleby",
    "endingwith",
    "eq",
    "equalto",
    "escaped",
    "even",
    "false",
    "filter",
    "float",
    "ge",
    "greaterthan",
    "gt",
    "in",
    "int",
    "integer",
    "iterable",
    "le",
    "lessthan",
    "lower",
    "lt",
    "mapping",
    "ne",
    "none",
    "number",
    "odd",
    "safe",
    "sameas",
    "sequence",
    "startingwith",
    "string",
    "test",
    "true",
    "undefined",
    "upper",
];

/// Operators that may be used where a test's name may, as in `select("==", 3)`.
pub(super) const OPERATOR_TESTS: &[&str] = &["==", "!=", "<", "<=", ">", ">="];

pub(super) const FUNCTIONS: &[&str] = &["cycler", "dict", "joiner", "namespace", "range"];

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks the engine itself whether a name is known.
    fn engine_knows(kind: &str, name: &str) -> bool {
        let environment = super::super::render::environment(1_000);
        let source = format!("{{{{ name is {kind} }}}}");
        let template = environment.template_from_str(&source).unwrap();
        template.render(minijinja::context! { name }).unwrap() == "True"
    }

    #[test]
    fn the_lists_are_what_the_engine_has() {
        for filter in FILTERS {
            assert!(engine_knows("filter", filter), "{filter}");
        }
        for test in TESTS.iter().chain(OPERATOR_TESTS) {
            assert!(engine_knows("test", test), "{test}");
        }
        for absent in ["shout", "xmlattr", "urlize"] {
            assert!(!engine_knows("filter", absent), "{absent}");
        }
        let environment = super::super::render::environment(1_000);
        let mut functions: Vec<&str> =
            environment.globals().map(|(name, _)| name).filter(|name| !name.starts_with("__")).collect();
        functions.sort_unstable();
        assert_eq!(functions, FUNCTIONS);
    }
}
