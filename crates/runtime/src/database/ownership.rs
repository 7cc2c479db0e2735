//! Who owns runs: this process's lock among the owners of runs, and the runs that it drives.
//!
//! Writes and reads that ask who drives a run share this and not the database. A write whose caller has gone would
//! otherwise be the last one to hold the database, which would then be closed on the writer's own thread,
//! after the call that closed it had returned.

use super::driving::Driving;
use super::lease::Lease;

#[derive(Debug)]
pub(crate) struct Ownership {
    lease: Lease,
    driving: Driving,
}

impl Ownership {
    pub(super) fn new(lease: Lease) -> Ownership {
        Ownership { lease, driving: Driving::default() }
    }

    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }

    pub(crate) fn driving(&self) -> &Driving {
        &self.driving
    }
}
