//! Templates made of a stream of choices: every way in which one can bind, pass on and print a value.

/// A template for these choices; the same choices give the same template.
pub(crate) fn template(choices: &[u8]) -> String {
    let mut generator = Generator { choices, at: 0 };
    generator.body(3)
}

const NAMES: [&str; 6] = ["a", "b", "text", "context", "loop", "m"];
const FIELDS: [&str; 3] = ["secret", "plain", "items"];
const FILTERS: [&str; 12] = [
    "tojson",
    "list",
    "join(' ')",
    "first",
    "last",
    "string",
    "items | list",
    "dictsort",
    "attr('secret')",
    "map(attribute='secret') | list",
    "default('x')",
    "upper",
];

struct Generator<'c> {
    choices: &'c [u8],
    at: usize,
}

impl Generator<'_> {
    fn choose(&mut self, among: usize) -> usize {
        let choice = self.choices.get(self.at).copied().unwrap_or_default();
        self.at += 1;
        usize::from(choice) % among
    }

    fn word(&mut self, words: &[&'static str]) -> &'static str {
        let index = self.choose(words.len());
        words.get(index).copied().unwrap_or_default()
    }

    fn body(&mut self, depth: usize) -> String {
        let count = self.choose(3) + 1;
        (0..count).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: usize) -> String {
        let kind = if depth == 0 { self.choose(2) } else { self.choose(10) };
        let name = self.word(&NAMES[..4]);
        let value = self.expression(2);
        match kind {
            0 => format!("{{{{ {value} }}}}"),
            1 => format!("{{% set {name} = {value} %}}"),
            2 => format!("{{% for {name} in {value} %}}{}{{% endfor %}}", self.body(depth - 1)),
            3 => {
                let (one, other) = (self.body(depth - 1), self.body(depth - 1));
                format!("{{% if {value} %}}{one}{{% else %}}{other}{{% endif %}}")
            }
            4 => format!("{{% with {name} = {value} %}}{}{{% endwith %}}", self.body(depth - 1)),
            5 => {
                let (body, given) = (self.body(depth - 1), self.expression(1));
                format!("{{% macro m({name}={value}) %}}{body}{{% endmacro %}}{{{{ m({given}) }}}}")
            }
            6 => format!("{{% set {name} %}}{}{{% endset %}}", self.body(depth - 1)),
            7 => format!("{{% filter upper %}}{}{{% endfilter %}}", self.body(depth - 1)),
            8 => {
                let body = self.body(depth - 1);
                format!(
                    "{{% macro m() %}}{{{{ caller({value}) }}}}{{% endmacro %}}{{% call({name}) m() %}}{body}{{% endcall %}}"
                )
            }
            _ => {
                // A namespace that holds itself has no end; what bounds that is the worker and not the analysis.
                let field = self.word(&FIELDS);
                format!(
                    "{{% set a = namespace(x={value}) %}}{{% set a.y = context.{field} %}}{}",
                    self.body(depth - 1)
                )
            }
        }
    }

    fn expression(&mut self, depth: usize) -> String {
        let kind = if depth == 0 { self.choose(4) } else { self.choose(14) };
        let (name, field) = (self.word(&NAMES), self.word(&FIELDS));
        let inner = |generator: &mut Self| generator.expression(depth.saturating_sub(1));
        match kind {
            0 => name.to_owned(),
            1 => format!("context.{field}"),
            2 => format!("context['{field}']"),
            3 => "'x'".to_owned(),
            4 => format!("{}.{field}", inner(self)),
            5 => format!("{}.get('{field}')", inner(self)),
            6 => format!("({} | {})", inner(self), self.word(&FILTERS)),
            7 => format!("[{}]", inner(self)),
            8 => format!("{{'k': {}}}", inner(self)),
            9 => format!("{}[0]", inner(self)),
            10 => format!("({} ~ {})", inner(self), inner(self)),
            11 => format!("({} if {} else {})", inner(self), inner(self), inner(self)),
            12 => format!("({}.values() | list)", inner(self)),
            _ => format!("{}[{}]", inner(self), inner(self)),
        }
    }
}
