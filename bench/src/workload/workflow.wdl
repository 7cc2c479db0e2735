version: dsl/v0
workflow: @name@
inputs:
  endpoint: string
  nodes: list<string>
steps:
  - read(opcua.read):
      endpoint: $input.endpoint
      node_ids: $input.nodes
  - decide(policy.apply):
      values: $step.read.values
  - when $step.decide.action in ["WRITE_BACK", "SHUTDOWN"]:
      write(opcua.write):
        endpoint: $input.endpoint
        value: $step.decide.action
outputs:
  decision: $step.decide
