//! Sources to compile.

use crate::folder::Folder;

pub(super) const POLICY: &str = "\
version: pdl/v0
arms:
  default:
    threshold: 75.0
    action: cool
evaluate:
  temperature = first_numeric(values)
  if temperature >= arms.active.threshold:
    action = arms.active.action
  else:
    action = \"none\"
emit:
  action: action
  temperature: temperature
";

/// A workflow that applies the policy of the same file name.
pub(super) fn workflow(name: &str) -> String {
    format!(
        "\
version: dsl/v0
workflow: {name}
inputs:
  readings: object
steps:
  - decide(policy.apply):
      values: $input.readings
  - when $step.decide.action in [\"cool\", \"stop\"]:
      act(http.post):
        url: https://plant.example.com/act
outputs:
  decision: $step.decide
"
    )
}

/// A flow that doubles a number.
pub(super) fn flow(name: &str, factor: u32) -> String {
    format!(
        "\
version: \"1.0\"
metadata: {{name: {name}}}
context: {{requires: [number]}}
nodes:
  scale:
    id: scale
    type: transform
    inputs: [{{name: number, type: number}}]
    outputs: [{{name: result, type: number}}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            return {{\"result\": inputs[\"number\"] * {factor}}}
edges:
  - {{from: _input.number, to: scale.number}}
  - {{from: scale.result, to: _output.result}}
"
    )
}

/// A folder with two flows, and a workflow with its policy.
pub(super) fn project() -> Folder {
    let folder = Folder::new();
    folder.write("flows/double.yaml", flow("double", 2));
    folder.write("flows/triple.yaml", flow("triple", 3));
    folder.write("flows/plant.wdl", workflow("plant.monitor"));
    folder.write("flows/plant.pdl", POLICY);
    folder
}

/// Every published file with its bytes, without the cache.
pub(super) fn published(folder: &Folder, out: &str) -> Vec<(String, Vec<u8>)> {
    let root = folder.path().join(out);
    let files = folder.files().into_iter().filter_map(|(path, bytes)| {
        let path = path.strip_prefix(&root).ok()?.to_string_lossy().into_owned();
        (!path.starts_with(".ir-cache")).then_some((path, bytes))
    });
    files.collect()
}
