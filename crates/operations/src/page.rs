//! The reference of operations, as Markdown.

use crate::{
    Argument, Descriptor, DuplicateKey, Effects, Form, Receiver, Repeat, ResultShape, STEP_KINDS, SecretUse,
    operations,
};

/// The whole page.
#[must_use]
pub fn page() -> String {
    let mut page = String::from(
        "\
# Operations

What each operation takes, does and gives. This page, the checker, the runtime, the studio and the language server read the
same descriptions; `stave ops` prints them, `stave ops --json` for programs.

",
    );
    page.push_str(&table());
    page.push_str(
        "\nEffects: *reads* asks somebody outside and changes nothing there; *writes* changes something, so it is not cached, not \
         repeated\nunless the node says so, and a run that is stopped lets it finish. Network: it may reach another machine or process.\n",
    );
    let groups: [(&str, &[Form]); 3] = [
        ("In flows", &[Form::Operation]),
        ("Prompts and code", &[Form::Prompt, Form::Code]),
        ("Steps of workflows", &[Form::Workflow, Form::Boundary]),
    ];
    for (title, forms) in groups {
        page.push_str(&format!("\n## {title}\n"));
        for kind in STEP_KINDS.iter().filter(|kind| forms.contains(&kind.form)) {
            page.push_str(&format!("\n### `{}`\n\n{}", kind.name, section(kind)));
        }
    }
    page
}

/// The table of what a flow can name as `op`.
#[must_use]
pub fn table() -> String {
    let mut table =
        String::from("| operation | arguments (required in bold) | effects | network |\n|---|---|---|---|\n");
    for operation in operations() {
        let network = if operation.network { "yes" } else { "no" };
        table.push_str(&format!(
            "| `{}` | {} | {} | {network} |\n",
            operation.name,
            arguments(operation),
            operation.effects.word(),
        ));
    }
    table
}

/// The arguments in a cell: those that must be given, groups of which one must, the others.
fn arguments(operation: &Descriptor) -> String {
    let in_group = |name: &str| operation.one_of.iter().any(|group| group.contains(&name));
    let bold = |name: &str| format!("**`{name}`**");
    let named = |required: bool| {
        let listed = operation.arguments.iter();
        listed.filter(move |argument| argument.required == required && !in_group(argument.name))
    };
    let required = named(true).map(|argument| bold(argument.name));
    let groups = operation.one_of.iter().map(|group| {
        let names: Vec<String> = group.iter().map(|name| bold(name)).collect();
        format!("one of {}", names.join(" and "))
    });
    let others = named(false).map(|argument| format!("`{}`", argument.name));
    required.chain(groups).chain(others).collect::<Vec<_>>().join(", ")
}

/// What is said about one step kind, without its heading.
#[must_use]
pub fn section(kind: &Descriptor) -> String {
    let mut text = format!("{}. {}\n", capital(kind.summary), kind.details);
    if !kind.arguments.is_empty() {
        text.push_str("\n| argument | holds | |\n|---|---|---|\n");
        for argument in kind.arguments {
            text.push_str(&row(argument));
        }
    }
    for group in kind.one_of {
        let names: Vec<String> = group.iter().map(|name| format!("`{name}`")).collect();
        text.push_str(&format!("\nExactly one of {} is given.\n", names.join(" and ")));
    }
    text.push('\n');
    for fact in facts(kind) {
        text.push_str(&format!("- {fact}\n"));
    }
    if let Some(blank) = kind.blank {
        text.push_str(&format!("\n```yaml\n{}```\n", blank.node));
    }
    text
}

fn row(argument: &Argument) -> String {
    let name =
        if argument.required { format!("**`{}`**", argument.name) } else { format!("`{}`", argument.name) };
    let mut notes = vec![argument.summary.to_owned()];
    if let Some(default) = argument.default.filter(|_| !argument.summary.contains("when absent")) {
        notes.push(format!("{default} when absent"));
    }
    if argument.secrets == SecretUse::Allowed {
        notes.push("may hold secrets".to_owned());
    }
    format!("| {name} | {} | {} |\n", argument.kind.words(), notes.join("; "))
}

/// What an operation gives, does and is given to, a sentence each.
fn facts(kind: &Descriptor) -> Vec<String> {
    let listed = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let mut facts = vec![match kind.result {
        ResultShape::Any => "Result: any value.".to_owned(),
        ResultShape::List => "Result: a list.".to_owned(),
        ResultShape::Object => "Result: an object.".to_owned(),
        ResultShape::Filled(name) => format!("Result: the `{name}`, filled in."),
        ResultShape::Inputs => "Result: the values at the inputs.".to_owned(),
        ResultShape::Ports(names) => format!("Result: {}.", listed(names)),
        ResultShape::ValueOrPorts(names) => format!("Result: one value, or {} by name.", listed(names)),
    }];
    let network = if kind.network { "it may reach the network" } else { "no network" };
    let effects = match kind.effects {
        Effects::None => "none",
        Effects::Reads => "reads something outside",
        Effects::Writes => "changes something outside",
        Effects::OfCalled => "those of the nodes and tools that it runs",
    };
    facts.push(format!("Effects: {effects}; {network}."));
    let retry = match kind.repeat {
        Repeat::Safe => "safe".to_owned(),
        Repeat::SafeWith { key: DuplicateKey::Header(name), .. } => {
            format!("none unless written; the header `{name}` makes it safe")
        }
        Repeat::SafeWith { key: DuplicateKey::Argument(name), .. } => {
            format!("none unless written; `{name}` makes it safe")
        }
        Repeat::Unsafe { .. } => "none unless written, and never safe".to_owned(),
        Repeat::ByPart => "each part by its own rules".to_owned(),
    };
    let cache = match kind.effects {
        Effects::Writes => "refused",
        Effects::OfCalled => "only when nothing that it runs changes something outside",
        Effects::None | Effects::Reads => "possible",
    };
    facts.push(format!("Retries: {retry}. Cache: {cache}."));
    let receiver = match kind.receiver {
        Receiver::Nobody => None,
        Receiver::Host { address } => Some(format!("the host in `{address}`")),
        Receiver::Tool { server, tool } => Some(format!("the tool that `{server}` and `{tool}` name")),
        Receiver::FeatureStore { .. } => Some("the feature store".to_owned()),
        Receiver::Model => Some("the model".to_owned()),
    };
    facts
        .extend(receiver.map(|receiver| format!("Its arguments go to {receiver} ([labels.md](labels.md)).")));
    facts.extend(
        kind.feature.map(|feature| format!("Only builds with the feature `{}` have it.", feature.name)),
    );
    facts
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
