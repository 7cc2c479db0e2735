//! What the planner learned, kept between runs: in a file, or in a Redis server.

use stave_block::{Planner, PlannerSettings, PlannerStore, StoreError, StoreLimits};
use stave_stores::{RedisPlannerStore, SqlitePlannerStore};

use crate::exit::Stop;
use crate::files;

/// How many requests are stored at a time. What a killed process has learned since is lost, and nothing else.
const BATCH: u32 = 64;

/// A planner and the store that it is kept in, when there is one.
pub(super) struct State {
    store: Option<Box<dyn PlannerStore>>,
    planner: Option<Planner>,
    waiting: u32,
    now: f64,
}

impl State {
    /// Opens the store: a file, or a server when it is written as `redis://…`.
    pub(super) fn open(place: Option<&str>) -> Result<Self, Stop> {
        let store: Option<Box<dyn PlannerStore>> = match place {
            None => None,
            Some(url) if url.starts_with("redis://") => {
                Some(Box::new(RedisPlannerStore::open(url, "stave").map_err(|error| fault(&error))?))
            }
            Some(path) => {
                files::prepare_database(path.as_ref())?;
                Some(SqlitePlannerStore::open_boxed(path.as_ref()).map_err(|error| fault(&error))?)
            }
        };
        Ok(State { store, planner: None, waiting: 0, now: 0.0 })
    }

    /// The planner, with what the store holds at the time of the first request.
    pub(super) fn planner(&mut self, now: f64) -> Result<&mut Planner, Stop> {
        self.now = now;
        if self.planner.is_none() {
            let settings = PlannerSettings::default();
            let planner = match &mut self.store {
                None => Planner::new(settings),
                Some(store) => {
                    let mut planner =
                        Planner::with_memory(settings, &store.load().map_err(|error| fault(&error))?, now);
                    planner.track_changes();
                    planner
                }
            };
            self.planner = Some(planner);
        } else if self.waiting >= BATCH {
            self.keep()?;
        }
        self.waiting += 1;
        Ok(self.planner.get_or_insert_with(|| Planner::new(PlannerSettings::default())))
    }

    /// Stores what changed since the last time.
    pub(super) fn keep(&mut self) -> Result<(), Stop> {
        self.waiting = 0;
        if let (Some(store), Some(planner)) = (&mut self.store, &mut self.planner) {
            store.record(&planner.changes(self.now)).map_err(|error| fault(&error))?;
            store.forget(&StoreLimits::default(), self.now).map_err(|error| fault(&error))?;
        }
        Ok(())
    }
}

fn fault(error: &StoreError) -> Stop {
    Stop::internal(error.to_string())
}
