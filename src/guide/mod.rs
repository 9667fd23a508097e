//! The guide: how texts match, what is promised, how to run a database, and why simdb is built as
//! it is ([`decisions`]).

#[doc = include_str!("benchmarks.md")]
pub mod benchmarks {}
#[doc = include_str!("cluster.md")]
pub mod cluster {}
/// Decision records: the context of each decision, what was measured, what was rejected, and what
/// would be a reason to change it.
///
#[doc = include_str!("decisions/001-trees.md")]
#[doc = include_str!("decisions/002-shingles.md")]
#[doc = include_str!("decisions/003-no-arrow-in-parquet.md")]
#[doc = include_str!("decisions/004-shares-of-the-cache.md")]
#[doc = include_str!("decisions/005-redb-and-its-price.md")]
#[doc = include_str!("decisions/006-strict-by-blocks.md")]
#[doc = include_str!("decisions/007-the-verdict.md")]
#[doc = include_str!("decisions/008-the-journal.md")]
#[doc = include_str!("decisions/009-ids-as-u64.md")]
#[doc = include_str!("decisions/010-one-writer.md")]
#[doc = include_str!("decisions/011-two-forests-in-memory.md")]
#[doc = include_str!("decisions/012-keys-beside-the-texts.md")]
#[doc = include_str!("decisions/013-scopes-in-ids.md")]
#[doc = include_str!("decisions/014-copies-in-records.md")]
#[doc = include_str!("decisions/015-frames-in-rows.md")]
#[doc = include_str!("decisions/016-words-select-containers.md")]
pub mod decisions {}
#[doc = include_str!("durability.md")]
pub mod durability {}
#[doc = include_str!("file_format.md")]
pub mod file_format {}
#[doc = include_str!("from_other_packages.md")]
pub mod from_other_packages {}
#[doc = include_str!("keys_and_fields.md")]
pub mod keys_and_fields {}
#[doc = include_str!("matching.md")]
pub mod matching {}
#[doc = include_str!("operations.md")]
pub mod operations {}
#[doc = include_str!("serving.md")]
pub mod serving {}
