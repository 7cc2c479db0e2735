//! How two documents or two bundles differ, by meaning.

use std::collections::BTreeMap;

use stave_canon::{Pointer, Value};
use stave_system::bundle::Bundle;
use stave_system::{SystemDocument, SystemNode, changed_members, strip};

use crate::args::SystemDiff;
use crate::exit::{Exit, Stop};
use crate::system_documents::{self as documents, Artefact};
use crate::terminal;

/// The members of a bundle whose rows are nodes, which are compared by id.
const NODES: &str = "referenced_ir_nodes";

/// Ends with 1 when they differ, as `diff` does.
pub(crate) fn diff(arguments: &SystemDiff) -> Result<Exit, Stop> {
    let before = documents::open(&arguments.before)?;
    let after = documents::open(&arguments.after)?;
    let changes = match (&before, &after) {
        (Artefact::Document(before), Artefact::Document(after)) => Changes::of_documents(before, after)?,
        (Artefact::Bundle(before), Artefact::Bundle(after)) => Changes::of_bundles(before, after)?,
        _ => {
            let stop = Stop::invalid("one is a system document and the other a runtime bundle");
            return Err(
                stop.help("compare two of a kind; `stave bundle check` compares a bundle with its document")
            );
        }
    };
    changes.print(arguments.json);
    Ok(if changes.is_empty() { Exit::Fine } else { Exit::Failed })
}

/// What happened to the nodes, and to the rest.
#[derive(Debug, Default)]
struct Changes {
    /// Ids with what to call the nodes.
    added: Vec<(String, String)>,
    removed: Vec<(String, String)>,
    changed: Vec<(String, String, Vec<Pointer>)>,
    /// Places outside the nodes; only bundles have any.
    members: Option<Vec<Pointer>>,
}

impl Changes {
    fn of_documents(before: &SystemDocument, after: &SystemDocument) -> Result<Changes, Stop> {
        let difference =
            stave_system::diff(before, after).map_err(|mismatch| Stop::refused(mismatch.to_string()))?;
        let (before, after) = (by_id(before), by_id(after));
        let title = |nodes: &BTreeMap<&str, &SystemNode>, id: &str| {
            nodes
                .get(id)
                .map_or_else(String::new, |node| format!("{} {}", node.kind.word(), strip(&node.name)))
        };
        let titled = |ids: Vec<String>, nodes: &BTreeMap<&str, &SystemNode>| -> Vec<(String, String)> {
            ids.into_iter().map(|id| (id.clone(), title(nodes, &id))).collect()
        };
        let changed = difference.changed.into_iter().map(|id| {
            let places = match (before.get(id.as_str()), after.get(id.as_str())) {
                (Some(before), Some(after)) => stave_system::members(before, after),
                _ => Vec::new(),
            };
            let title = title(&after, &id);
            (id, title, places)
        });
        Ok(Changes {
            changed: changed.collect(),
            added: titled(difference.added, &after),
            removed: titled(difference.removed, &before),
            members: None,
        })
    }

    fn of_bundles(before: &Bundle, after: &Bundle) -> Result<Changes, Stop> {
        for key in ["tenant_id", "repo_id"] {
            let (left, right) = (strip(before.text(key)), strip(after.text(key)));
            if left != right {
                return Err(Stop::refused(format!("the bundles differ in {key}: {left:?} and {right:?}")));
            }
        }
        let (left, right) = (rows(before), rows(after));
        let title = |node: &Value| {
            let text = |key: &str| node.get(key).and_then(Value::as_str).unwrap_or_default();
            format!("{} {}", text("kind"), text("name"))
        };
        let only = |left: &BTreeMap<&str, &Value>, right: &BTreeMap<&str, &Value>| -> Vec<(String, String)> {
            let missing = left.iter().filter(|(id, _)| !right.contains_key(*id));
            missing.map(|(id, node)| ((*id).to_owned(), title(node))).collect()
        };
        let both = left.iter().filter_map(|(id, node)| Some((*id, *node, *right.get(id)?)));
        let changed = both.filter_map(|(id, before, after)| {
            let places = changed_members(before, after);
            (!places.is_empty()).then(|| (id.to_owned(), title(after), places))
        });
        let rest = |bundle: &Bundle| {
            let mut value = bundle.value().clone();
            if let Some(members) = value.as_object_mut() {
                members.shift_remove(NODES);
            }
            value
        };
        Ok(Changes {
            changed: changed.collect(),
            added: only(&right, &left),
            removed: only(&left, &right),
            members: Some(changed_members(&rest(before), &rest(after))),
        })
    }

    fn is_empty(&self) -> bool {
        let members = self.members.as_deref().unwrap_or_default();
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty() && members.is_empty()
    }

    fn print(&self, json: bool) {
        let places = |places: &[Pointer]| places.iter().map(ToString::to_string).collect::<Vec<_>>();
        if json {
            let ids = |rows: &[(String, String)]| rows.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>();
            let changed = self.changed.iter().map(|(id, _, members)| {
                Value::from_iter([("id", Value::from(id.as_str())), ("members", places(members).into())])
            });
            let mut report = vec![
                ("added", Value::from(ids(&self.added))),
                ("removed", ids(&self.removed).into()),
                ("changed", Value::Array(changed.collect())),
            ];
            report.extend(self.members.as_ref().map(|members| ("members", places(members).into())));
            terminal::out(&Value::from_iter(report).to_string());
            return;
        }
        for (id, title) in &self.removed {
            terminal::out(&format!("- {id}  {title}"));
        }
        for (id, title) in &self.added {
            terminal::out(&format!("+ {id}  {title}"));
        }
        for (id, title, members) in &self.changed {
            terminal::out(&format!("~ {id}  {title}"));
            for member in members {
                terminal::out(&format!("    {member}"));
            }
        }
        for member in self.members.iter().flatten() {
            terminal::out(&format!("~ {member}"));
        }
        let counts = (self.added.len(), self.removed.len(), self.changed.len());
        terminal::error(&format!("{} added, {} removed, {} changed", counts.0, counts.1, counts.2));
    }
}

fn by_id(document: &SystemDocument) -> BTreeMap<&str, &SystemNode> {
    document.nodes.iter().map(|node| (strip(&node.id), node)).collect()
}

fn rows(bundle: &Bundle) -> BTreeMap<&str, &Value> {
    let rows = bundle.value().get(NODES).and_then(Value::as_array).unwrap_or_default();
    rows.iter().filter_map(|row| Some((row.get("id").and_then(Value::as_str).map(strip)?, row))).collect()
}
