version: dsl/v0
workflow: plant.monitor timeout_ms=600000
inputs:
  readings: object
triggers:
  - cron:
      schedule: "0 * * * *"
steps:
  - decide(policy.apply) timeout_ms=500 retry=2 backoff_ms=100:
      values: $input.readings
  - when $step.decide.action in ["cool", "stop"]:
      act(http.post):
        url: https://Plant.example.com/act
        token: ${secrets.PLANT_TOKEN}
        reason: $step.decide.reason
outputs:
  decision: $step.decide
