//! `docs/fields.md` names every field of prompts and blocks, and no other.

use std::collections::BTreeMap;

use stave_canon::Value;

use crate::folder::Folder;
use crate::process::stave;

/// The tables of the page and the objects whose fields they list, by document and definition.
const TABLES: [(&str, &str, Option<&str>); 5] = [
    ("prompt", "## Prompt IR", None),
    ("block", "## Blocks", None),
    ("block", "| field of a block |", Some("PromptBlock")),
    ("block", "| field of `token_metadata` |", Some("TokenizationMetadata")),
    ("block", "| field of `tool_schema_hashes` |", Some("ToolSchemaHash")),
];

/// The first table of the page at or after a text, as the names in its first column with the last column.
fn table(page: &str, begins: &str) -> BTreeMap<String, String> {
    let at = page.find(begins).unwrap_or_else(|| panic!("the page has no {begins}"));
    let rows =
        page[at..].lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    rows.skip(2)
        .map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            (cells[0].trim_matches('`').to_owned(), (*cells.last().unwrap()).to_owned())
        })
        .collect()
}

#[tokio::test]
async fn the_page_of_fields_is_complete_and_names_commands_that_exist() {
    let page = include_str!("../../../docs/fields.md");
    let folder = Folder::new();
    let mut commands = Vec::new();
    for (document, begins, definition) in TABLES {
        let schema = stave(&folder, ["schema", document]).finish().await.exits(0).json();
        let object = match definition {
            None => &schema,
            Some(name) => {
                schema.get("$defs").or(schema.get("definitions")).and_then(|all| all.get(name)).unwrap()
            }
        };
        let mut fields: Vec<&str> =
            object.get("properties").and_then(Value::as_object).unwrap().keys().map(String::as_str).collect();
        fields.sort_unstable();
        let rows = table(page, begins);
        assert_eq!(rows.keys().map(String::as_str).collect::<Vec<_>>(), fields, "{begins}");
        for (field, shown) in rows {
            assert!(shown.contains("`stave "), "{begins} {field}: {shown}");
            let named = shown.split('`').filter(|text| text.starts_with("stave "));
            commands.extend(named.map(|text| text.split(' ').skip(1).take(2).collect::<Vec<_>>().join(" ")));
        }
    }
    commands.sort_unstable();
    commands.dedup();
    for command in commands {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        stave(&folder, words).finish().await.exits(0);
    }
}
