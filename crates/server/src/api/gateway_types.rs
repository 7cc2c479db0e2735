//! Statistics of a gateway's records for the studio. Money is in dollars, as a decimal text: a float would not
//! be exact.

use stave_shape::{Nullable, Ordered, Shape};

/// Field to group records by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
#[shape(words)]
pub(crate) enum GroupBy {
    Model,
    Session,
    Key,
    Upstream,
}

/// A type that ends with sums over requests.
macro_rules! summed {
    ($(#[$meta:meta])* $name:ident { $($more:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Shape)]
        pub(crate) struct $name {
            $($more)*
            pub(crate) requests: u64,
            pub(crate) answered: u64,
            pub(crate) refused: u64,
            pub(crate) failed: u64,
            pub(crate) cancelled: u64,
            pub(crate) input_tokens: u64,
            pub(crate) output_tokens: u64,
            pub(crate) cache_read_tokens: u64,
            pub(crate) cache_written_tokens: u64,
            pub(crate) hit_rate: Nullable<f64>,
            /// Null where no request has a price.
            pub(crate) spent_usd: Nullable<String>,
            pub(crate) saved_usd: Nullable<String>,
            pub(crate) unpriced: u64,
        }
    };
}

summed! {
    /// Sums over requests.
    Sums {}
}

summed! {
    /// Sums over the requests of one group. Exactly one of the four names is present.
    Group {
        #[shape(not_null)]
        pub(crate) model: Option<String>,
        #[shape(not_null)]
        pub(crate) session: Option<String>,
        #[shape(not_null)]
        pub(crate) key: Option<String>,
        #[shape(not_null)]
        pub(crate) upstream: Option<String>,
    }
}

summed! {
    /// Sums over the requests of one time interval.
    Bucket {
        pub(crate) start: String,
    }
}

/// A place in prompts where the cached prefix ends early.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Miss {
    pub(crate) place: String,
    pub(crate) variable: Nullable<String>,
    pub(crate) requests: u64,
    pub(crate) lost_tokens: u64,
    pub(crate) common_tokens: u64,
}

/// Request latency in microseconds: total, and the gateway's own share.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Latency {
    pub(crate) total_p50_us: u64,
    pub(crate) total_p99_us: u64,
    pub(crate) own_p50_us: u64,
    pub(crate) own_p99_us: u64,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct GatewayStats {
    pub(crate) since: String,
    pub(crate) until: String,
    pub(crate) total: Sums,
    pub(crate) latency: Latency,
    pub(crate) by: GroupBy,
    pub(crate) groups: Vec<Group>,
    pub(crate) group_count: u64,
    pub(crate) saving_sessions: Vec<Group>,
    pub(crate) bucket_seconds: u64,
    pub(crate) series: Vec<Bucket>,
    pub(crate) misses: Vec<Miss>,
    /// Number of requests that were not planned, by reason.
    pub(crate) not_planned: Ordered<u64>,
    pub(crate) failed_open: Ordered<u64>,
}

/// Statistics of a project's gateway.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(mark(available = true))]
pub(crate) struct GatewayRecords {
    pub(crate) project: String,
    pub(crate) projects: Vec<String>,
    pub(crate) by: GroupBy,
    pub(crate) hours: u64,
    pub(crate) stats: GatewayStats,
}

/// The project has no gateway records.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(mark(available = false))]
pub(crate) struct NoGateway {
    pub(crate) reason: String,
}
