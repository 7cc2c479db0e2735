//! When writing to a provider's cache pays. Prices are multiples of the base input price.

/// What cached tokens cost, relative to plain input tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CachePricing {
    pub read_multiplier: f64,
    pub write_short_multiplier: f64,
    /// `None` when there is no longer retention to buy.
    pub write_long_multiplier: Option<f64>,
}

impl CachePricing {
    /// How many reads pay for one short write; infinite when a read saves nothing.
    #[must_use]
    pub fn breakeven_reads_short(&self) -> f64 {
        self.breakeven_reads(self.write_short_multiplier)
    }

    /// How many reads pay for one long write.
    #[must_use]
    pub fn breakeven_reads_long(&self) -> Option<f64> {
        self.write_long_multiplier.map(|write| self.breakeven_reads(write))
    }

    /// What caching `tokens` with a short write saves, in tokens at the base price; negative for a loss.
    #[must_use]
    pub fn marginal_net_savings(&self, tokens: f64, expected_reads: f64) -> f64 {
        let saved = (1.0 - self.read_multiplier) * expected_reads;
        tokens * (saved - (self.write_short_multiplier - 1.0))
    }

    fn breakeven_reads(&self, write: f64) -> f64 {
        if self.read_multiplier >= 1.0 {
            return f64::INFINITY;
        }
        (write - 1.0) / (1.0 - self.read_multiplier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_write_pays_from_the_third_call_on() {
        let pricing = CachePricing {
            read_multiplier: 0.1,
            write_short_multiplier: 1.25,
            write_long_multiplier: Some(2.0),
        };
        assert_eq!(pricing.breakeven_reads_short(), 0.277_777_777_777_777_8);
        assert_eq!(pricing.breakeven_reads_long(), Some(1.111_111_111_111_111_2));
        assert!(pricing.marginal_net_savings(4096.0, 0.1) < 0.0);
        assert!(pricing.marginal_net_savings(4096.0, 0.3) > 0.0);
    }

    #[test]
    fn reads_that_save_nothing_never_pay() {
        let pricing =
            CachePricing { read_multiplier: 1.0, write_short_multiplier: 1.25, write_long_multiplier: None };
        assert_eq!(pricing.breakeven_reads_short(), f64::INFINITY);
        assert_eq!(pricing.breakeven_reads_long(), None);
    }
}
