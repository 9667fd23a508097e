//! The recipe `weighted`: features and weights of the caller.

use super::feature_list::FRACTION_BITS;
use super::{Constants, SIMHASH};

pub(super) const CONSTANTS: Constants = Constants {
    name: "weighted",
    ..Constants::OWN
};

/// The description without the name. Databases store it, so it must never change.
pub(super) fn description() -> String {
    format!(
        "features and weights as they are given, weights rounded to 2^-{FRACTION_BITS}; {SIMHASH}, \
         or a hash that is given; unreliable below {} distinct or if one outweighs the rest",
        CONSTANTS.min_features
    )
}
