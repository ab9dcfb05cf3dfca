//! Ratios of the protocol configuration.

use serde::{Deserialize, Serialize};

/// A ratio as the pair `[numerator, denominator]`; kept as it came, never reduced
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "a scalar is its number")]
pub struct Rational(pub i32, pub i32);

impl Rational {
    /// The number above the line
    pub const fn numerator(self) -> i32 {
        self.0
    }

    /// The number below the line
    pub const fn denominator(self) -> i32 {
        self.1
    }
}
