//! `/stats`: the evidence as a page, or as JSON, for those who may see everybody's.

use hyper::StatusCode;
use hyper::header::{self, HeaderMap, HeaderValue};
use tokio::sync::Semaphore;

use super::admin;
use super::gateway::Core;
use super::interface::{Fault, json, whole};
use super::reply::Reply;
use crate::records::{By, StatsQuery, page};

/// Reading everything that is kept takes a while, so one reads at a time.
static READING: Semaphore = Semaphore::const_new(1);

/// How many groups, sessions and misses are listed.
const TOP: u32 = 20;

pub(crate) async fn stats(core: &Core, headers: &HeaderMap, query: Option<&str>) -> Reply {
    match read(core, headers, query.unwrap_or_default()).await {
        Ok(reply) => reply,
        Err(fault) => admin::refused(fault),
    }
}

async fn read(core: &Core, headers: &HeaderMap, query: &str) -> Result<Reply, Fault> {
    admin::admitted(core, headers)?;
    let (query, is_json) = asked(core, query)?;
    let Ok(_turn) = READING.try_acquire() else {
        let fault = Fault::new(StatusCode::TOO_MANY_REQUESTS, "busy", "somebody else reads the evidence");
        return Err(fault.after(Some(std::time::Duration::from_secs(1))));
    };
    let sink = core.sink.clone();
    let reading = tokio::task::spawn_blocking(move || sink.stats(&query));
    let failed = || {
        let message = "the evidence cannot be read";
        Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "evidence_unreadable", message)
    };
    let stats = reading.await.map_err(|_| failed())?.map_err(|_| failed())?;
    let mut reply = if is_json {
        json(StatusCode::OK, &stats.to_value())
    } else {
        whole(StatusCode::OK, HeaderValue::from_static("text/html; charset=utf-8"), page(&stats))
    };
    let own = reply.headers_mut();
    own.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    own.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'"),
    );
    own.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(reply)
}

/// `hours=24&by=session&format=json`, each of them optional.
fn asked(core: &Core, query: &str) -> Result<(StatsQuery, bool), Fault> {
    let now = core.clock.now();
    let mut asked = StatsQuery { since: None, until: now, tenant: None, by: By::Model, top: TOP };
    let mut is_json = false;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let fault =
            || Fault::bad_request("known are hours=COUNT, by=session|model|key|upstream and format=json");
        match pair.split_once('=').ok_or_else(fault)? {
            ("hours", count) => {
                let hours: u32 = count.parse().map_err(|_| fault())?;
                let ago = std::time::Duration::from_secs(u64::from(hours) * 3600);
                asked.since = Some(now.checked_sub(ago).map_err(|_| fault())?);
            }
            ("by", word) => {
                let all = [By::Session, By::Model, By::Key, By::Upstream];
                asked.by = all.into_iter().find(|by| by.word() == word).ok_or_else(fault)?;
            }
            ("format", "json") => is_json = true,
            _ => return Err(fault()),
        }
    }
    Ok((asked, is_json))
}
