//! The guide: how texts match, what is promised, and how to run a database.

#[doc = include_str!("benchmarks.md")]
pub mod benchmarks {}
#[doc = include_str!("cluster.md")]
pub mod cluster {}
#[doc = include_str!("durability.md")]
pub mod durability {}
#[doc = include_str!("file_format.md")]
pub mod file_format {}
#[doc = include_str!("from_other_packages.md")]
pub mod from_other_packages {}
#[doc = include_str!("matching.md")]
pub mod matching {}
#[doc = include_str!("operations.md")]
pub mod operations {}
