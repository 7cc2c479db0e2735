//! The edit commands as data. Their JSON form has the command's name under `op`.

use serde::{Deserialize, Serialize};
use stave_canon::Value;

/// One change of a flow, in the words of the format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum FlowEdit {
    AddNode {
        id: String,
        node: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<String>,
    },
    RemoveNode {
        id: String,
    },
    RenameNode {
        from: String,
        to: String,
    },
    Connect {
        from: String,
        to: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        condition: Option<String>,
        #[serde(default, rename = "else", skip_serializing_if = "std::ops::Not::not")]
        otherwise: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transform: Option<String>,
    },
    Disconnect {
        from: String,
        to: String,
    },
    Set {
        path: String,
        value: Value,
    },
    Unset {
        path: String,
    },
    AddPort {
        node: String,
        direction: Direction,
        port: Value,
    },
    RemovePort {
        node: String,
        direction: Direction,
        name: String,
    },
    RenamePort {
        node: String,
        direction: Direction,
        from: String,
        to: String,
    },
    AddContext {
        field: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        optional: bool,
    },
    RemoveContext {
        field: String,
    },
    RenameContext {
        from: String,
        to: String,
    },
    SetPrompt {
        node: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        append_to_system: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        template: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        temperature: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_tokens: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_schema: Option<Value>,
    },
    AddTool {
        node: String,
        tool: Value,
    },
    RemoveTool {
        node: String,
        name: String,
    },
    AddErrorHandling {
        node: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        handler: Option<String>,
    },
    AddCaching {
        node: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_seconds: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    SetPosition {
        node: String,
        x: Value,
        y: Value,
    },
    ReplaceText {
        at: usize,
        remove: String,
        insert: String,
    },
}

/// Which side of a node a port is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Input,
    Output,
    Error,
}

/// Commands to apply together, all or none.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EditRequest {
    /// The semantic hash of the flow that the commands were made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_hash: Option<String>,
    /// Whether the result may have more errors than the flow had, as the undoing of a cure has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_errors: bool,
    pub commands: Vec<FlowEdit>,
}

impl EditRequest {
    #[must_use]
    pub fn new(commands: Vec<FlowEdit>) -> Self {
        EditRequest { commands, ..EditRequest::default() }
    }

    /// Reads a request, or a bare list of commands.
    pub fn from_value(value: &Value) -> Result<Self, String> {
        if let Value::Array(items) = value {
            return Ok(EditRequest::new(read_commands(items)?));
        }
        let Some(object) = value.as_object() else {
            return Err("expected a list of commands, or an object with `commands`".to_owned());
        };
        let mut request = EditRequest::default();
        for (key, value) in object {
            match (key.as_str(), value) {
                ("base_hash", Value::String(hash)) => request.base_hash = Some(hash.clone()),
                ("base_hash", Value::Null) => {}
                ("allow_errors", Value::Bool(allow)) => request.allow_errors = *allow,
                ("commands", Value::Array(items)) => request.commands = read_commands(items)?,
                ("base_hash" | "allow_errors" | "commands", value) => {
                    return Err(format!("`{key}` cannot be {}", value.kind()));
                }
                _ => return Err(format!("`{key}` is not a field of an edit request")),
            }
        }
        Ok(request)
    }

    /// The JSON form.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).map(Value::from).unwrap_or_default()
    }
}

fn read_commands(items: &[Value]) -> Result<Vec<FlowEdit>, String> {
    items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            FlowEdit::from_value(item).map_err(|reason| format!("command {}: {reason}", index + 1))
        })
        .collect()
}

impl FlowEdit {
    /// Reads one command from its JSON form.
    pub fn from_value(value: &Value) -> Result<Self, String> {
        let serde = value.to_serde_exact().map_err(|error| error.to_string())?;
        serde_json::from_value(serde).map_err(|error| error.to_string())
    }

    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).map(Value::from).unwrap_or_default()
    }
}
