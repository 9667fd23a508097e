//! Concurrent writers are serialised in one order, and a reader sees one commit as a whole.

mod handles;
mod isolation;
mod writers;
