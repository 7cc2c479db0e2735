//! Figures over many checks.

use stave_canon::Value;

use crate::CreatedAt;

/// How many of the latest checks with violations a report shows.
pub const RECENT_CHECKS: usize = 10;

/// One check, as a report shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckEntry {
    pub timestamp: CreatedAt,
    pub ir_id: String,
    pub role: String,
    pub violations: Vec<String>,
    pub approved: bool,
}

/// Figures over all checks, and the latest of those that found something.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub total_checks: u64,
    pub approved: u64,
    pub denied: u64,
    /// Approved checks by all checks; 1 when there was none.
    pub approval_rate: f64,
    pub recent_violations: Vec<CheckEntry>,
}

impl Report {
    pub(crate) fn new(approved: u64, denied: u64, recent_violations: Vec<CheckEntry>) -> Self {
        let total_checks = approved + denied;
        let approval_rate = if total_checks == 0 { 1.0 } else { approved as f64 / total_checks as f64 };
        Report { total_checks, approved, denied, approval_rate, recent_violations }
    }

    #[must_use]
    pub fn to_value(&self) -> Value {
        let entry = |entry: &CheckEntry| {
            Value::from_iter([
                ("timestamp", Value::from(entry.timestamp.to_string())),
                ("ir_id", entry.ir_id.as_str().into()),
                ("role", entry.role.as_str().into()),
                ("violations", entry.violations.clone().into()),
                ("approved", entry.approved.into()),
            ])
        };
        Value::from_iter([
            ("total_checks", Value::from(self.total_checks)),
            ("approved", self.approved.into()),
            ("denied", self.denied.into()),
            ("approval_rate", self.approval_rate.into()),
            ("recent_violations", Value::Array(self.recent_violations.iter().map(entry).collect())),
        ])
    }
}
