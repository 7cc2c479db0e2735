//! Draws for the waits between attempts, from a seed.

/// A small generator of well-mixed numbers (SplitMix64). Waits need spread, not secrecy.
#[derive(Debug)]
pub struct Jitter(u64);

impl Jitter {
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Jitter(seed)
    }

    /// The next draw, evenly from all numbers.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_and_another_does_not() {
        let draws = |seed| {
            let mut jitter = Jitter::seeded(seed);
            (0..8).map(|_| jitter.draw()).collect::<Vec<_>>()
        };
        assert_eq!(draws(7), draws(7));
        assert_ne!(draws(7), draws(8));
    }
}
