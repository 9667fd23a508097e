//! The recipe `weighted`: the caller's own features and weights.

use super::SIMHASH;
use super::list::FRACTION_BITS;

/// Fewer distinct features than this say nothing.
pub(super) const LEAST_FEATURES: usize = 4;

/// What the description says after the name.
pub(super) fn description() -> String {
    format!(
        "features and weights as they are given, weights rounded to 2^-{FRACTION_BITS}; {SIMHASH}, \
         or a hash that is given; unreliable below {LEAST_FEATURES} distinct or if one outweighs \
         the rest"
    )
}
