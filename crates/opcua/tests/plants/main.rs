//! Reads and writes against the protocol library's own server, on this machine.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test stops where something is not as it should be, and keeps keys in files"
)]

mod flows;
mod page;
mod plant;

use std::time::{Duration, Instant};

use stave_canon::Value;
use stave_llm::Secret;
use stave_opcua::{OpcUaSettings, Plants, Security, User};
use stave_runtime::opcua::{Opcua, OpcuaFault};

use self::plant::Plant;

const PASSWORD: &str = "open sesame";

fn plants(address: &str, security: Option<Security>) -> Plants {
    Plants::new(OpcUaSettings { allow: vec![address.to_owned()], timeout: Duration::from_secs(20), security })
}

#[tokio::test(flavor = "multi_thread")]
async fn values_are_read_written_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let plant = Plant::start(folder.path(), PASSWORD).await;
    let plants = plants(&plant.address, None);
    let nodes = ["temperature", "pump", "speed"].map(|name| plant.node(name)).to_vec();
    let read = plants.read(&plant.address, &nodes).await.unwrap();
    let values: Vec<Value> = read.iter().map(|reading| reading.value.clone()).collect();
    assert_eq!(values, [Value::from(80.5), Value::from(true), Value::from(1500_i64)]);
    assert!(read.iter().all(|reading| reading.is_certain));
    // A whole number goes into a double as it is; the node knows its type.
    let write = async |name: &str, value: Value, kind: Option<&str>| {
        plants.write(&plant.address, &plant.node(name), &value, kind).await
    };
    write("temperature", Value::from(75_i64), None).await.unwrap();
    write("speed", Value::from(900_i64), Some("Int32")).await.unwrap();
    let read = plants.read(&plant.address, &nodes).await.unwrap();
    assert_eq!(read[0].value, Value::from(75.0));
    assert_eq!(read[2].value, Value::from(900_i64));
    // What does not fit is not written.
    let unfit = write("speed", Value::from(1.5), None).await.unwrap_err();
    assert!(matches!(unfit, OpcuaFault::BadArgument(_)), "{unfit}");
    let sealed = write("sealed", Value::from(2_i64), None).await.unwrap_err();
    assert!(matches!(sealed, OpcuaFault::Refused { .. }), "{sealed}");
    let read = plants.read(&plant.address, &[plant.node("speed")]).await.unwrap();
    assert_eq!(read[0].value, Value::from(900_i64));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_or_not_allowed_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let plant = Plant::start(folder.path(), PASSWORD).await;
    let allowed = plants(&plant.address, None);
    let absent = allowed.read(&plant.address, &[plant.node("nothing")]).await.unwrap_err();
    assert!(
        matches!(&absent, OpcuaFault::Refused { node, .. } if *node == plant.node("nothing")),
        "{absent}"
    );
    let malformed = allowed.read(&plant.address, &["temperature".to_owned()]).await.unwrap_err();
    assert!(matches!(malformed, OpcuaFault::BadArgument(_)), "{malformed}");
    let other = plants("opc.tcp://127.0.0.1:1/", None);
    let refused = other.read(&plant.address, &[plant.node("pump")]).await.unwrap_err();
    assert_eq!(refused, OpcuaFault::NotAllowed { endpoint: plant.address.clone() });
    let nobody = other.read("opc.tcp://127.0.0.1:1", &[plant.node("pump")]).await.unwrap_err();
    assert!(matches!(nobody, OpcuaFault::Unreachable { .. }), "{nobody}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_answer_is_left_in_time() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("opc.tcp://127.0.0.1:{}/", silent.local_addr().unwrap().port());
    let settings =
        OpcUaSettings { allow: vec![address.clone()], timeout: Duration::from_millis(300), security: None };
    let started = Instant::now();
    let fault = Plants::new(settings).read(&address, &["ns=1;i=1".to_owned()]).await.unwrap_err();
    assert!(matches!(fault, OpcuaFault::Timeout { limit_ms: 300, .. }), "{fault}");
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_counts_once_it_is_trusted_and_a_password_only_when_it_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let (servers, clients) = (folder.path().join("server"), folder.path().join("client"));
    let plant = Plant::start(&servers, PASSWORD).await;
    let as_operator = |password: &str| {
        let user = User { name: "operator".to_owned(), password: Secret::new(password.to_owned()) };
        let policy = "Basic256Sha256".to_owned();
        plants(
            &plant.address,
            Some(Security { policy, is_encrypted: true, pki: clients.clone(), user: Some(user) }),
        )
    };
    let node = [plant.node("temperature")];
    let stranger = as_operator(PASSWORD).read(&plant.address, &node).await.unwrap_err();
    assert!(matches!(stranger, OpcuaFault::Unreachable { .. }), "{stranger}");
    // A person looks at the certificate that was put aside, and moves it.
    let rejected: Vec<_> = std::fs::read_dir(clients.join("rejected")).unwrap().flatten().collect();
    assert_eq!(rejected.len(), 1);
    std::fs::rename(rejected[0].path(), clients.join("trusted").join(rejected[0].file_name())).unwrap();
    let read = as_operator(PASSWORD).read(&plant.address, &node).await.unwrap();
    assert_eq!(read[0].value, Value::from(80.5));
    let wrong = as_operator("open barley").read(&plant.address, &node).await.unwrap_err();
    assert!(matches!(wrong, OpcuaFault::Unreachable { .. }), "{wrong}");
    assert!(!wrong.to_string().contains("barley"));
}
