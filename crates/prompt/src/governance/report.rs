//! Figures over many checks.

use std::collections::VecDeque;

use stave_canon::Value;

use crate::{CreatedAt, PromptIr};

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
    recent: VecDeque<CheckEntry>,
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
    pub fn record(&mut self, timestamp: CreatedAt, ir: &PromptIr, violations: Vec<String>, approved: bool) {
        *(if approved { &mut self.approved } else { &mut self.denied }) += 1;
        if self.recent.len() == RECENT_CHECKS {
            self.recent.pop_front();
        }
        let (ir_id, role) = (ir.ir_id.clone(), ir.role.clone());
        self.recent.push_back(CheckEntry { timestamp, ir_id, role, violations, approved });
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
            recent_violations: self.recent.iter().cloned().collect(),
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
