//! An embedded near-duplicate database: *do we have this text already, or nearly this?*
//!
//! A [`Recipe`] turns a text into a 64-bit SimHash [`Fingerprint`]. Documents whose fingerprints
//! differ in few bits are near-duplicates. A [`Database`] is one file with the ids and fingerprints
//! of tens of millions of documents. It finds every document within a Hamming radius, exactly, in
//! microseconds.
//!
//! ```
//! use simdb::{Database, DocId, Outcome};
//!
//! let folder = tempfile::tempdir().unwrap();
//! let db = Database::create(folder.path().join("news.simdb"))?;
//! let text = "你妈妈喊你回家吃饭哦，回家罗回家罗";
//! assert!(db.insert(db.document(1, text)?)?.is_inserted());
//! let text = "Three cats sat on the mat and would not be moved by anyone.";
//! assert!(db.insert(db.document(2, text)?)?.is_inserted());
//!
//! // Other punctuation, other width, traditional characters: the same document.
//! let arrived = db.document(3, "你媽媽喊你回家吃飯哦!回家羅回家羅~")?;
//! let outcome = db.insert_unique(arrived, 3)?;
//! assert!(matches!(outcome, Outcome::Duplicate(of) if of.id == DocId(1)));
//!
//! // The documents are stored in the file.
//! drop(db);
//! let db = Database::open(folder.path().join("news.simdb"))?;
//! let matches = db.within_text("three cats sat on the mat, and would not be moved by anyone", 3)?;
//! assert_eq!(matches[0].id, DocId(2));
//! # Ok::<(), simdb::Error>(())
//! ```
//!
//! | I want to ... | call this |
//! |---|---|
//! | make a document of a text | [`Database::document`] |
//! | insert a document if it is new | [`Database::insert_unique`]; for edited texts [`Database::insert_unless_similar`] |
//! | insert, replace or remove a document | [`Database::insert`], [`Database::upsert`], [`Database::remove`] |
//! | make many changes at once | [`Database::apply`]; many batches in one commit [`Database::begin`] |
//! | look up documents within a radius | [`Database::within_text`], [`Database::within`]; the nearest [`Database::nearest`] |
//! | answer a batch of queries | [`Snapshot::within_batch`] |
//! | find similar texts, edited or short | [`Builder::similar`], then [`Database::similar_text`] |
//! | load millions of documents | [`Builder::bulk_create`], [`Database::bulk_load`]; without near-duplicates [`bulk::BulkLoad::unique`] |
//! | know documents by a URL or another string, with fields | [`Builder::keys`], [`Builder::fields`] |
//! | count the copies of documents | [`Builder::copies`], then [`Snapshot::most_copied`] |
//! | keep languages or tenants apart | [`Builder::scopes`], [`Document::with_scope`], [`Snapshot::in_scopes`] |
//! | let documents expire by age | [`Builder::retention`]; by hand [`Database::prune`] |
//! | undo a bad arrival time | [`Database::reset_clock`] |
//! | export all documents | [`Snapshot::documents`] |
//! | find all pairs | [`Snapshot::pairs`], [`Snapshot::document_pairs`] |
//! | find clusters, and the document to keep | [`Snapshot::clusters`] |
//! | compare all texts with each other | [`Snapshot::similar_pairs`], [`Snapshot::similar_clusters`] |
//! | back up a database that is in use | [`Database::backup`] |
//! | free the space of removed documents | [`Database::vacuum`] |
//! | check a file | [`Database::check`] |
//! | salvage a damaged file | [`Builder::salvage`] |
//! | make fingerprints without a database | [`Fingerprinter`]; step by step [`simhash`] |
//! | compare two texts | [`similarity::Resemblance`] |
//! | decide if a text may be deleted for another | [`containment`] |
//! | drop near-duplicates in memory, without a database | [`in_memory::Deduplicator`] |
//! | find similar texts in memory, without a database | [`in_memory::SimilarIndex`] |
//! | search similar texts in another system | [`external::SearchKeys`], [`external::NodeEntries`] |
//!
//! The [`guide`] explains how texts match, what is promised, and how to run a database.
//!
//! # Examples
//!
//! Programs in `tools/examples`; each takes a file such as `tests/data/quotes_and_news.jsonl`:
//!
//! | `cargo run --release --example` | |
//! |---|---|
//! | `crawler` | many threads store pages, each unless a near-duplicate is stored |
//! | `feed` | a news feed whose documents expire after two days |
//! | `batch` | a bulk load of a file, then one batch of queries on all cores |
//!
//! # Features
//!
//! | feature | |
//! |---|---|
//! | `jieba`, on by default | the dictionary of jieba, for the recipes `jieba`, `jieba-traditional` and `cppjieba` |
//! | `serde` | `Serialize` and `Deserialize`: fingerprints, times and rules are strings as in `Display`, ids are numbers, a recipe is its [description](Recipe::description) |
//!
//! # Limits
//!
//! A match is a claim about bits, not about meaning. Radius 3 finds texts with cosmetic changes.
//! Edited and short texts lie farther apart: a database made for them ([`Builder::similar`])
//! compares the texts themselves ([`Snapshot::similar`], [`similarity::Likeness`]).

#![warn(missing_docs, missing_debug_implementations)]

pub mod copies;
mod document;
mod ids;

mod advice;
pub mod error;

mod block;
mod hamming;
mod parse;
pub mod progress;
mod record;
mod retention;
pub mod time_reader;

mod feature;
mod recipe;
pub mod simhash;
mod text;

mod analysis;

mod forest;
mod measure;

mod dedup;
pub mod external;

mod store;

mod query;

mod ingest;
mod lock_holder;

mod api;

#[cfg(feature = "serde")]
mod serde_impls;

pub mod guide;

pub use api::builder::Builder;
pub use api::database::{Database, Settings};
pub use api::snapshot::Snapshot;
pub use api::transaction::Transaction;
pub use document::{Document, Match, OnExists, Within};
pub use error::{Error, Result};
pub use feature::{Feature, UnreliableReason};
pub use ids::{DocId, DocRef, Fingerprint, Fingerprint128, TextFingerprint, Timestamp};
pub use ingest::ticket::Ticket;
pub use ingest::{Change, Outcome};
pub use measure::decision::{Decision, OnExtended, SimilarRule};
pub use measure::{containment, similarity};
pub use query::{Similar, TextQuery};
pub use recipe::{Fingerprinter, Recipe};
pub use retention::Retention;
pub use text::Normaliser;

/// Bulk loads: many documents in any order, each table written once.
pub mod bulk {
    pub use crate::api::bulk_load::BulkLoad;
    pub use crate::api::unique_load::UniqueLoad;
    pub use crate::store::bulk::{BulkReport, Conflict};
}

/// Pairs of documents within a radius, from [`Snapshot::pairs`](crate::Snapshot::pairs).
pub mod pairs {
    pub use crate::query::{Pair, PairsEvent};
}

/// Clusters of near-duplicates and the document of each to keep, from
/// [`Snapshot::clusters`](crate::Snapshot::clusters).
pub mod clusters {
    pub use crate::query::{Cluster, Clustering, ClustersEvent, Keep, Member, Shape};
}

/// The join of all texts of a database by similarity, from
/// [`Snapshot::similar_pairs`](crate::Snapshot::similar_pairs) and
/// [`Snapshot::similar_clusters`](crate::Snapshot::similar_clusters).
pub mod join {
    pub use crate::query::{
        Checkpoints, Groups, JoinCheckpoint, SimilarJoin, SimilarPair, SimilarPairsEvent,
    };
}

/// Near-duplicates in memory, without a database: a
/// [deduplicator](in_memory::Deduplicator) of fingerprints, and an
/// [index](in_memory::SimilarIndex) of similar texts.
pub mod in_memory {
    pub use crate::analysis::Analysed as PreparedText;
    pub use crate::dedup::text_index::{SimilarIndex, SimilarText};
    pub use crate::ingest::Deduplicator;
}

/// Frames: the lines and sentences around the bodies of many texts of a collection.
pub mod frames {
    pub use crate::analysis::frames::{Frame, FrameCounter, FrameLearner, Frames, TextEnds};
}

/// Reports of operations on a database file: statistics, vacuum, salvage, reset of the clock.
pub mod maintenance {
    pub use crate::store::CacheMisses;
    pub use crate::store::maintenance::copy::Vacuumed;
    pub use crate::store::maintenance::reset_clock::ClockReset;
    pub use crate::store::maintenance::salvage::Salvage;
    pub use crate::store::maintenance::stats::{Stats, TableStats};
}

/// The distribution of the fingerprints of a database, from
/// [`Snapshot::diagnose`](crate::Snapshot::diagnose).
pub mod diagnosis {
    pub use crate::store::maintenance::diagnosis::{
        BlockDiagnosis, Diagnosis, DuplicateGroup, Duplicates, HotKey, KeyCount,
    };
}

/// The file system as a database uses it, for tests with a disk that fails or loses power.
pub mod disk {
    pub use crate::store::disk::{Disk, DiskFile, FileInfo, SystemDisk};
}

/// The types that threads may share, and those that may only move to another thread.
#[cfg(test)]
const _: () = {
    const fn shared<T: Send + Sync>() {}
    const fn moved<T: Send>() {}
    shared::<Database>();
    shared::<Snapshot>();
    shared::<Fingerprinter>();
    shared::<TextQuery>();
    shared::<Error>();
    moved::<Ticket>();
};

/// Runs the example of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
