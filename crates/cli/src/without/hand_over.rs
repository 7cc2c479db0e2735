//! `stave runs handover` in a program that was built without Restate.

use super::arguments::HandOver;
use crate::exit::{Exit, Stop};

pub(super) async fn hand_over(_: &HandOver) -> Result<Exit, Stop> {
    Err(Stop::without_feature("restate", "`stave runs handover`"))
}
