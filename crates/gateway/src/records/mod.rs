//! Evidence: one record for every request, and what can be learned from all of them.
