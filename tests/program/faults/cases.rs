//! The flows that are disturbed, and what an undisturbed world answers them.

/// A flow of `examples/`, a request that takes it to its end, and the replies of its hosts and models.
#[derive(Debug)]
pub(super) struct Example {
    pub(super) folder: &'static str,
    /// The name of the compiled document.
    pub(super) document: &'static str,
    pub(super) request: &'static str,
    /// A part of the prompt and what a model answers to it; the first that fits counts.
    pub(super) replies: &'static [(&'static str, &'static str)],
    /// A path and the JSON that it gives.
    pub(super) hosts: &'static [(&'static str, &'static str)],
    /// What distinguishes the calls of a node from others: its path, or a part of its prompt.
    pub(super) places: &'static [(&'static str, &'static str)],
}

pub(super) static EXAMPLES: [Example; 5] = [
    Example {
        folder: "support",
        document: "customer_service_agent",
        request: r#"{"user_id": "u-1001", "session_id": "s-1", "query": "When?", "event_time": "2026-04-01T10:00:00Z"}"#,
        replies: &[("customer service", r#"{"answer": "Monday.", "confidence": 0.9, "citations": []}"#)],
        hosts: &[],
        places: &[("generate_response", "customer service")],
    },
    Example {
        folder: "handbook",
        document: "handbook_answers",
        request: r#"{"question": "How many days?"}"#,
        replies: &[
            ("search queries", "days of leave"),
            ("handbook", r#"{"text": "30 days.", "citations": ["leave-1"]}"#),
        ],
        hosts: &[
            ("/embed", "[0.1, 0.2, 0.3]"),
            ("/search", r#"[{"id": "leave-1", "score": 0.9, "text": "30 days."}]"#),
        ],
        places: &[
            ("rewrite_query", "search queries"),
            ("embed", "/embed"),
            ("search", "/search"),
            ("answer", "of a handbook"),
        ],
    },
    Example {
        folder: "invoices",
        document: "invoice_reader",
        request: r#"{"invoice_id": "i-1", "text": "Paper 10\fInk 5", "total": 15}"#,
        replies: &[
            ("Paper", r#"{"lines": [{"what": "Paper", "amount": 10}]}"#),
            ("Ink", r#"{"lines": [{"what": "Ink", "amount": 5}]}"#),
        ],
        hosts: &[("/invoices/i-1", "{}")],
        places: &[("extract", "lines of invoices"), ("book", "/invoices/i-1")],
    },
    Example {
        folder: "review",
        document: "change_reviewer",
        request: r#"{"repository": "shop", "change": 7, "session_id": "s-1"}"#,
        replies: &[
            ("whole text", r#"{"findings": [{"path": "a.py", "line": 1, "text": "Odd."}]}"#),
            ("review changes", r#"CALL get_file {"path": "a.py"}"#),
        ],
        hosts: &[
            ("/shop/changes/7/files", r#"[{"path": "a.py", "patch": "+x", "lines": [1]}]"#),
            ("/shop/files", r#""whole text""#),
            ("/shop/changes/7/comments", r#"{"id": 3}"#),
        ],
        places: &[
            ("get_diff", "/shop/changes/7/files"),
            ("review", "review changes"),
            ("fetch_file", "/shop/files"),
            ("post_comment", "/comments"),
        ],
    },
    Example {
        folder: "churn",
        document: "churn_scorer",
        request: r#"{"customer_id": "c-1", "event_time": "2026-07-01T00:00:00Z"}"#,
        replies: &[("for leaving", "Many tickets.")],
        hosts: &[("/v2/models/churn/infer", r#"{"predictions": [0.81]}"#)],
        places: &[("score", "/churn/infer"), ("explain", "for leaving")],
    },
];
