//! The ways in which the other side of a call fails, and which of them may pass by themselves.

/// A class of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultClass {
    /// 429.
    RateLimited,
    /// 503 and 529.
    Overloaded,
    /// Every other 5xx, 408, 409 and 425.
    ServerError,
    Timeout,
    /// No connection, or one that broke before the reply began.
    Connection,
    /// 401 and 403.
    Authentication,
    /// 404.
    NotFound,
    /// Every other status that is no success: the other side does not take this request. Redirects are among
    /// them, since a key must not travel to a host that nobody named.
    Rejected,
}

impl FaultClass {
    pub const ALL: [FaultClass; 8] = [
        FaultClass::RateLimited,
        FaultClass::Overloaded,
        FaultClass::ServerError,
        FaultClass::Timeout,
        FaultClass::Connection,
        FaultClass::Authentication,
        FaultClass::NotFound,
        FaultClass::Rejected,
    ];

    /// The classes that may pass by themselves.
    pub const PASSING: [FaultClass; 5] = [
        FaultClass::RateLimited,
        FaultClass::Overloaded,
        FaultClass::ServerError,
        FaultClass::Timeout,
        FaultClass::Connection,
    ];

    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            FaultClass::RateLimited => "rate_limited",
            FaultClass::Overloaded => "overloaded",
            FaultClass::ServerError => "server_error",
            FaultClass::Timeout => "timeout",
            FaultClass::Connection => "connection",
            FaultClass::Authentication => "authentication",
            FaultClass::NotFound => "not_found",
            FaultClass::Rejected => "rejected",
        }
    }

    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        FaultClass::ALL.into_iter().find(|class| class.word() == word)
    }

    /// The class of a reply's status; `None` for a success.
    #[must_use]
    pub fn of_status(status: u16) -> Option<Self> {
        Some(match status {
            200..=299 => return None,
            429 => FaultClass::RateLimited,
            503 | 529 => FaultClass::Overloaded,
            408 | 409 | 425 | 500..=599 => FaultClass::ServerError,
            401 | 403 => FaultClass::Authentication,
            404 => FaultClass::NotFound,
            _ => FaultClass::Rejected,
        })
    }

    /// Whether the failure may pass by itself, so that another attempt makes sense.
    #[must_use]
    pub fn may_pass(self) -> bool {
        FaultClass::PASSING.contains(&self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_but_a_success_has_a_class_and_every_class_a_word() {
        for (status, class) in [
            (429, Some(FaultClass::RateLimited)),
            (529, Some(FaultClass::Overloaded)),
            (503, Some(FaultClass::Overloaded)),
            (500, Some(FaultClass::ServerError)),
            (425, Some(FaultClass::ServerError)),
            (401, Some(FaultClass::Authentication)),
            (404, Some(FaultClass::NotFound)),
            (422, Some(FaultClass::Rejected)),
            (302, Some(FaultClass::Rejected)),
            (200, None),
            (204, None),
        ] {
            assert_eq!(FaultClass::of_status(status), class, "{status}");
        }
        for class in FaultClass::ALL {
            assert_eq!(FaultClass::from_word(class.word()), Some(class));
        }
    }

    #[test]
    fn the_statuses_that_may_pass_are_those_that_the_documents_list() {
        let passing = |status: &u16| FaultClass::of_status(*status).is_some_and(FaultClass::may_pass);
        let below: Vec<u16> = (100..500).filter(passing).collect();
        assert_eq!(below, [408, 409, 425, 429]);
        assert!((500..600).all(|status| passing(&status)));
    }
}
