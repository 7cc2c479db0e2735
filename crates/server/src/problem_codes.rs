//! The codes of problems that only the HTTP interface reports, for `stave explain`. All others are in `stave_diag::CODES`.

/// Each code with what it says.
pub static PROBLEM_CODES: &[(&str, &str)] = &[
    (
        "auth-differs",
        "The `auth` is not the one with which the run was started. Use the same, or replay the run.",
    ),
    (
        "auth-needed",
        "The run needs the `auth` of its request, which this server does not have. Resume it with the `auth`.",
    ),
    ("auth-refused", "The run had no `auth`, so none can be added."),
    ("bad-request", "A parameter or a field of the request is wrong. `detail` says which."),
    ("decided-before", "Another decision about the question was recorded before."),
    ("decision-used", "The run has continued with the decision, so the decision cannot change."),
    (
        "idempotency-conflict",
        "The `Idempotency-Key` was used for another request to the same flow. Use a new key.",
    ),
    ("not-asked", "The step has not asked yet, so there is nothing to decide."),
    (
        "question-changed",
        "The question is not the one that was read. Read it again, and decide with its `digest`.",
    ),
    ("request-too-large", "The request is larger than the journal keeps."),
    ("role-missing", "The key does not have the role that the request needs."),
    ("run-ambiguous", "Several runs begin with this id. Give more of the id."),
    ("run-busy", "Another process drives the run, or the run has not ended."),
    ("run-ended", "The run has ended, so it cannot be changed."),
    ("run-exists", "There is a run with this id, which another request started. Choose another id."),
    (
        "run-quarantined",
        "The run took its process down again and again. Resume it with `{\"force\": true}` to run it anyway.",
    ),
    ("state-conflict", "Another run changed the same state. Try again."),
    ("text-too-slow", "The studio's work on the text took too long and was ended. Make the flow smaller."),
];

/// What a code of the HTTP interface says; `None` for other codes.
#[must_use]
pub fn problem_code(code: &str) -> Option<&'static str> {
    PROBLEM_CODES.iter().find(|(name, _)| *name == code).map(|(_, says)| *says)
}
