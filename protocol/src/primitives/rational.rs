//! Ratios of the protocol configuration.
//!
//! They are pairs of integers, so they are exact.

use serde::{Deserialize, Serialize};

/// A ratio as the pair `[numerator, denominator]`; never reduced
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "a scalar is its number")]
pub struct Rational(pub i32, pub i32);

impl Rational {
    /// The numerator
    pub const fn numerator(self) -> i32 {
        self.0
    }

    /// The denominator
    pub const fn denominator(self) -> i32 {
        self.1
    }
}
