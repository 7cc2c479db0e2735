//! Every conformance row of running, on Restate: one server, one worker, all flows served at once. The embedded
//! engine passes the same rows by the same comparison in `flow_rows`.

use std::collections::BTreeSet;
use std::sync::Arc;

use stave_canon::Value;

use super::cluster::Cluster;
use crate::batch;
use crate::flow_rows::row::{self, RunRow};
use crate::flow_rows::run::{Outcome, compare};
use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::{Finished, stave};
use crate::scripted::Server;
use crate::scripted::host::HostScript;
use crate::scripted::model::ModelScript;
use crate::serve::client::{Served, ask};

/// A row with its hosts and models, and the tenant that its flow belongs to.
struct Prepared {
    row: RunRow,
    tenant: String,
    model: Arc<ModelScript>,
    host: Arc<HostScript>,
    _servers: [Server; 2],
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_run_row_behaves_as_expected_on_restate() {
    let mut rows = row::run_rows();
    assert!(rows.len() >= 80, "only {} rows were found", rows.len());
    // `auth` is never sent to Restate.
    let own = row::own_run_rows()
        .into_iter()
        .filter(|row| row.requests.iter().all(|body| body.get("auth").is_none()));
    rows.extend(own);
    let cluster = Cluster::start(1);
    let folder = Folder::new();
    let mut prepared = Vec::new();
    let mut keys = String::new();
    for (number, row) in rows.into_iter().enumerate() {
        let tenant = format!("row{number}");
        let (model, host) = (ModelScript::new(&row.model), HostScript::new(&row.http));
        let servers = [model.serve().await, host.serve().await];
        let yaml = row
            .yaml
            .replace("{MODEL_PORT}", &servers[0].port.to_string())
            .replace("{HTTP_PORT}", &servers[1].port.to_string());
        folder.write(&format!("{tenant}/flow.yaml"), yaml);
        let settings = format!("[project]\ntenant = \"{tenant}\"\n[http]\nallow = [\"127.0.0.1\"]\n");
        folder.write(&format!("{tenant}/stave.toml"), settings);
        keys.push_str(&format!("{tenant} {tenant}-key-that-is-long-enough\n"));
        prepared.push(Prepared { row, tenant, model, host, _servers: servers });
    }
    folder.write("keys.txt", keys);
    drop_mistaken(&folder, &mut prepared).await;
    let mut arguments: Vec<String> =
        ["--api-keys", "keys.txt", "--no-reload", "--worker-listen", "127.0.0.1:0", "."]
            .map(str::to_owned)
            .to_vec();
    arguments.extend(cluster.arguments());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let served = Served::start(&folder, &arguments).await;
    let port = served.port;
    let cases =
        prepared.into_iter().map(|row| (row.row.name.clone(), async move { problems(port, row).await }));
    let found = batch::run(cases).await;
    batch::assert_only_listed_fail(&found, "", "corpus.rs");
}

/// Takes the flows away that have mistakes. They are not served at all, and no engine runs them.
async fn drop_mistaken(folder: &Folder, prepared: &mut Vec<Prepared>) {
    let checked = stave(folder, ["check", "--format", "json", "."]).finish().await.json();
    let errors =
        items(&checked, "diagnostics").iter().filter(|found| text(found, "severity") == Some("error"));
    let files: BTreeSet<String> = errors.filter_map(|error| text(error, "file")).map(str::to_owned).collect();
    let before = prepared.len();
    prepared.retain(|row| {
        let is_served = !files.iter().any(|file| file.split('/').any(|part| part == row.tenant));
        assert!(is_served || row.row.statuses.iter().all(|status| status == "error"), "{}", row.row.name);
        if !is_served {
            std::fs::remove_dir_all(folder.path().join(&row.tenant)).expect("a folder can be taken away");
        }
        is_served
    });
    assert!(
        before - prepared.len() < before / 4,
        "{} of {before} rows cannot be served",
        before - prepared.len()
    );
}

async fn problems(port: u16, prepared: Prepared) -> Vec<String> {
    let Prepared { row, tenant, model, host, _servers } = prepared;
    let key = format!("{tenant}-key-that-is-long-enough");
    let models = ask(port, "GET", "/v1/models", &[], Some(&key), None).await.json();
    let name = models.pointer("/models/0").and_then(Value::as_str).map(str::to_owned);
    let Some(name) = name else { return vec![format!("{tenant} is not served: {models}")] };
    let mut reports = Vec::new();
    let mut problems = Vec::new();
    for request in &row.requests {
        let body =
            Value::from_iter([("flow", Value::from(name.as_str())), ("input", request.clone())]).to_string();
        let headers = [("content-type", "application/json")];
        let answer = ask(port, "POST", "/runs?wait=true", &headers, Some(&key), Some(&body)).await;
        // The server says the status of a run; the rows say whether it went well.
        let mut report = match answer.status {
            200 | 202 => answer.json(),
            // A request that does not fit the flow is rejected before a run begins, which is that request's error.
            400 | 422 => Value::from_iter([("status", "failed")]),
            status => {
                problems.push(format!("{status}: {}", answer.body));
                break;
            }
        };
        let status = match text(&report, "status") {
            Some("ok") => "ok",
            Some("waiting") => "waiting",
            _ => "error",
        };
        if let Some(members) = report.as_object_mut() {
            members.insert("status".to_owned(), status.into());
        }
        let finished = Finished { code: 0, stdout: answer.body.clone(), stderr: String::new() };
        reports.push((report, finished));
    }
    let (mut models, mut hosts) = (model.log.lock(), host.log.lock());
    problems.append(&mut models.problems);
    problems.append(&mut hosts.problems);
    let outcome =
        Outcome { reports, model_calls: models.calls.len(), http_calls: hosts.calls.len(), problems };
    compare(&row, &outcome)
}
