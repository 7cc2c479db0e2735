//! `stave features read`.

use stave_canon::{Clock, Value};
use stave_runtime::features::FeatureQuery;

use super::arguments::Read;
use super::import::time;
use super::store;
use crate::exit::{Exit, Stop};
use crate::ports::SystemClock;
use crate::terminal;

pub(super) async fn read(arguments: &Read) -> Result<Exit, Stop> {
    // A key that is no object is a value of the one column that the key has.
    let key = match stave_canon::parse(&arguments.key) {
        Ok(columns @ Value::Object(_)) => columns,
        _ => arguments.key.as_str().into(),
    };
    let query = FeatureQuery {
        name: arguments.group.clone(),
        version: arguments.version,
        key,
        as_of: arguments.as_of.as_deref().map(time).transpose()?.unwrap_or_else(|| SystemClock.now()),
        features: Vec::new(),
    };
    let row = store(&arguments.place, None)?.read(&query).await;
    let row = row.map_err(|error| {
        if error.is_absence() { Stop::invalid(error.to_string()) } else { Stop::internal(error.to_string()) }
    })?;
    terminal::out(&Value::Object(row).to_string());
    Ok(Exit::Fine)
}
