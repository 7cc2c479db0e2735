//! The execution phases, and the names a plan may use for them.

use stave_shape::Shape;

/// In which phase of the work a prompt is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Shape)]
#[shape(words, name = "Phase")]
pub enum PhaseType {
    Planning,
    Research,
    Implementation,
    Review,
    Synthesis,
}

impl PhaseType {
    /// The phase of a plan's name: letter case does not matter, `analysis` means planning and
    /// `integration` synthesis, and every other name means implementation. Spaces are not trimmed.
    #[must_use]
    pub fn lookup(name: &str) -> PhaseType {
        match name.to_lowercase().as_str() {
            "analysis" => PhaseType::Planning,
            "integration" => PhaseType::Synthesis,
            word => PhaseType::from_word(word).unwrap_or(PhaseType::Implementation),
        }
    }

    /// By how much the phase stretches or shrinks a token budget.
    #[must_use]
    pub fn budget_multiplier(self) -> f64 {
        match self {
            PhaseType::Planning => 1.2,
            PhaseType::Research => 1.3,
            PhaseType::Implementation => 1.0,
            PhaseType::Review => 0.8,
            PhaseType::Synthesis => 1.1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_takes_the_five_words_and_a_plan_takes_aliases() {
        for phase in PhaseType::ALL.iter().copied() {
            assert_eq!(PhaseType::from_word(phase.word()), Some(phase));
            assert_eq!(PhaseType::lookup(&phase.word().to_uppercase()), phase);
        }
        assert_eq!(PhaseType::from_word("analysis"), None);
        assert_eq!(PhaseType::lookup("Analysis"), PhaseType::Planning);
        assert_eq!(PhaseType::lookup("INTEGRATION"), PhaseType::Synthesis);
        assert_eq!(PhaseType::lookup(" planning"), PhaseType::Implementation);
        assert_eq!(PhaseType::lookup("\u{17f}ynthesis"), PhaseType::Implementation);
    }
}
