//! The handlers of the API.

pub mod change;
pub mod compare;
pub mod documents;
pub mod lines;
pub mod name;
pub mod operations;
pub mod query;
pub mod since;
pub mod top;
