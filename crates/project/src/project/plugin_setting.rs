//! One entry of `[prompt] plugins`.

use stave_canon::{Object, Value};
use stave_prompt::plugins::OnPluginFailure;
use stave_shape::{Definitions, Place, Reader, Shape, ValueKind, ValueNode};

/// A plugin by its name alone, or as a table with what is decided about it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PluginSetting {
    pub plugin: String,
    /// The project's `plugin_seconds` when absent.
    pub timeout_ms: Option<u64>,
    pub on_failure: OnPluginFailure,
    /// What the plugin is given.
    pub config: Object,
}

/// A plugin with what is decided about it.
#[derive(Debug, Shape)]
#[shape(not_null, name = "PromptPlugin")]
struct PluginTable {
    /// `digest`, `budget`, or a Python file such as `plugins/style.py`.
    plugin: String,
    /// How long it may take, in milliseconds; `plugin_seconds` when absent. It is ended when its time is over.
    #[shape(min = 1)]
    timeout_ms: Option<u64>,
    /// What happens to a prompt when it fails: the plugin is skipped, or the prompt is refused.
    #[shape(default)]
    on_failure: OnPluginFailure,
    /// What the plugin is given as `inputs["config"]`; `max_context_refs` for `digest`.
    #[shape(default)]
    config: Object,
}

impl From<&str> for PluginSetting {
    fn from(plugin: &str) -> Self {
        PluginSetting { plugin: plugin.to_owned(), ..PluginSetting::default() }
    }
}

impl Shape for PluginSetting {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        if let Some(plugin) = node.text() {
            return Some(PluginSetting::from(plugin));
        }
        if node.kind() != ValueKind::Object {
            reader.wrong_type(node, at, "\"PLUGIN\" or { plugin, timeout_ms, on_failure, config }");
            return None;
        }
        let PluginTable { plugin, timeout_ms, on_failure, config } = PluginTable::read(node, at, reader)?;
        Some(PluginSetting { plugin, timeout_ms, on_failure, config })
    }

    fn write(&self) -> Value {
        let PluginSetting { plugin, timeout_ms, on_failure, config } = self.clone();
        PluginTable { plugin, timeout_ms, on_failure, config }.write()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        let choices = vec![String::schema(definitions), PluginTable::schema(definitions)];
        Value::from_iter([("anyOf", Value::Array(choices))])
    }
}
