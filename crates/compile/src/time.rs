//! The one time of a compile.

use stave_canon::{Clock, Timestamp};
use stave_project::exit::Stop;
use stave_project::ports::SystemClock;

/// The time of this compile, and whether SOURCE_DATE_EPOCH set it.
pub(crate) fn generated_at() -> Result<(String, bool), Stop> {
    let seconds = |time: Timestamp| Timestamp::from_second(time.as_second()).unwrap_or(time).to_string();
    match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) if !text.trim().is_empty() => {
            let time = text.trim().parse().ok().and_then(|second| Timestamp::from_second(second).ok());
            let time = time.ok_or_else(|| {
                let stop = Stop::invalid(format!(
                    "SOURCE_DATE_EPOCH is {text:?}, not a number of seconds since 1970"
                ));
                stop.help("set it like SOURCE_DATE_EPOCH=1719771943, or not at all")
            })?;
            Ok((seconds(time), true))
        }
        _ => Ok((seconds(SystemClock.now()), false)),
    }
}
