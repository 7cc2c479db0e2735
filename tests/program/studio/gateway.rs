//! The gateway's page.

use crate::serve::{Served, project};

#[tokio::test]
async fn without_a_gateway_there_is_nothing_to_show() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let answer = served.get("/studio/gateway").await.is(200).json();
    assert_eq!(answer.get("available"), Some(&false.into()), "{answer}");
    let session = served.get("/studio/session").await.is(200).json();
    assert_eq!(session.get("gateway"), Some(&false.into()), "{session}");
}
