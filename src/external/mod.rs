//! Search of similar texts in another system, such as Spark: keys of a text, and the comparison of
//! the texts of a node there.

mod node_entries;
mod search_keys;

pub use node_entries::{NodeEntries, NodeText};
pub use search_keys::SearchKeys;
