//! Figures over many checks.

use std::collections::VecDeque;
use std::sync::Arc;

use stave_canon::Value;

use super::Violation;
use crate::CreatedAt;

/// How many of the latest checks a report shows.
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

/// Counts checks and keeps the latest [`RECENT_CHECKS`]; its size does not grow with use.
#[derive(Debug, Clone, Default)]
pub struct CheckLog {
    approved: u64,
    denied: u64,
    recent: VecDeque<Kept>,
}

/// A check as it is kept; sentences are made when somebody reads them.
#[derive(Debug, Clone)]
struct Kept {
    timestamp: CreatedAt,
    ir_id: Arc<str>,
    role: String,
    violations: Arc<[Violation]>,
    approved: bool,
}

/// The figures of a [`CheckLog`].
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub total_checks: u64,
    pub approved: u64,
    pub denied: u64,
    /// Approved checks by all checks; 1 when there was none.
    pub approval_rate: f64,
    pub recent_violations: Vec<CheckEntry>,
}

impl CheckLog {
    pub fn record(
        &mut self,
        timestamp: CreatedAt,
        ir_id: Arc<str>,
        role: &str,
        violations: Arc<[Violation]>,
        approved: bool,
    ) {
        *(if approved { &mut self.approved } else { &mut self.denied }) += 1;
        // The oldest entry's text is used again, so that a busy log does not allocate for it.
        let oldest = if self.recent.len() == RECENT_CHECKS { self.recent.pop_front() } else { None };
        let mut kept_role = oldest.map(|kept| kept.role).unwrap_or_default();
        kept_role.clear();
        kept_role.push_str(role);
        self.recent.push_back(Kept { timestamp, ir_id, role: kept_role, violations, approved });
    }

    #[must_use]
    pub fn report(&self) -> Report {
        let total_checks = self.approved + self.denied;
        let approval_rate = if total_checks == 0 { 1.0 } else { self.approved as f64 / total_checks as f64 };
        Report {
            total_checks,
            approved: self.approved,
            denied: self.denied,
            approval_rate,
            recent_violations: self.recent.iter().map(CheckEntry::from).collect(),
        }
    }
}

impl From<&Kept> for CheckEntry {
    fn from(kept: &Kept) -> Self {
        CheckEntry {
            timestamp: kept.timestamp,
            ir_id: kept.ir_id.to_string(),
            role: kept.role.clone(),
            violations: kept.violations.iter().map(ToString::to_string).collect(),
            approved: kept.approved,
        }
    }
}

impl Report {
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
