//! A template that asks for more memory than there is fails its own run and nothing else.

use stave_canon::Value;

use super::sample::{LOOPBACK, asker};
use crate::folder::Folder;
use crate::process::stave;

const ATTACKS: [&str; 3] = [
    "{{ q|indent(999999999999999) }}",
    "{{ range(100000)|join('x' * 100000) }}",
    "{{ '%0999999999d'|format(1) }}",
];

fn attack(template: &str) -> String {
    // Nobody is asked: the template fails first.
    let flow = asker(9);
    assert!(flow.contains("{{ q }}"), "{flow}");
    flow.replace("{{ q }}", template)
}

#[tokio::test]
async fn a_template_that_asks_for_too_much_fails_its_step() {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    for template in ATTACKS {
        folder.write("flow.yaml", attack(template));
        let call = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json"]);
        let finished = call.input(r#"{"q": "Why?"}"#).finish().await.exits(1);
        let code = finished.json().pointer("/error/code").and_then(Value::as_str).map(str::to_owned);
        assert_eq!(code.as_deref(), Some("template-failed"), "{template}: {finished}");
    }
}

#[tokio::test]
async fn a_server_survives_a_template_that_asks_for_too_much() {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flows/echo.yaml", crate::serve::echo(""));
    for (index, template) in ATTACKS.iter().enumerate() {
        let flow = attack(template).replace("name: asker", &format!("name: attack{index}"));
        folder.write(&format!("flows/attack{index}.yaml"), flow);
    }
    let served = crate::serve::Served::of(stave(&folder, ["serve", "--port", "0"])).await;
    for index in 0..ATTACKS.len() {
        let answer = served.post(&format!("/v1/models/attack{index}:predict"), r#"{"q": "Why?"}"#).await;
        assert!(answer.json().to_string().contains("template-failed"), "{}", answer.json());
        served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
    }
    served.end().await;
}
