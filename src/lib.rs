//! An embedded near-duplicate database: *do we have this text already, or nearly this?*
//!
//! A [`Recipe`] turns a text into a 64-bit SimHash [`Fingerprint`]. Documents whose fingerprints
//! differ in few bits are near-duplicates. A [`Database`] is one file with the ids and fingerprints
//! of tens of millions of documents. It finds every document within a Hamming radius, exactly, in
//! microseconds.
//!
//! ```
//! use simdb::{Database, DocId, Insertion};
//!
//! let folder = tempfile::tempdir().unwrap();
//! let db = Database::create(folder.path().join("news.simdb"))?;
//! db.insert_text(DocId(1), "你妈妈喊你回家吃饭哦，回家罗回家罗")?;
//! db.insert_text(DocId(2), "Three cats sat on the mat and would not be moved by anyone.")?;
//!
//! // Other punctuation, other width, traditional characters: the same document.
//! let arrived = db.insert_unique_text(DocId(3), "你媽媽喊你回家吃飯哦!回家羅回家羅~", 3)?;
//! assert!(matches!(arrived, Insertion::Duplicate(of) if of.id == DocId(1)));
//!
//! // The documents are stored in the file.
//! drop(db);
//! let db = Database::open(folder.path().join("news.simdb"))?;
//! let query = db.fingerprint("three cats sat on the mat, and would not be moved by anyone")?;
//! let matches = db.within(query.fingerprint, 3)?;
//! assert_eq!(matches[0].id, DocId(2));
//! # Ok::<(), simdb::Error>(())
//! ```
//!
//! | I want to ... | call this |
//! |---|---|
//! | insert a text if it is new | [`Database::insert_unique_text`]; for edited texts [`Database::insert_unless_similar`] |
//! | insert, replace or remove a document | [`Database::insert_text`], [`Database::upsert_text`], [`Database::remove`] |
//! | make many changes at once | [`Database::apply`]; many batches in one commit [`Database::begin`] |
//! | look up documents within a radius | [`Database::within`]; the nearest [`Database::nearest`] |
//! | answer a batch of queries | [`Snapshot::within_batch`] |
//! | find similar texts, edited or short | [`Builder::similar`], then [`Database::similar_text`] |
//! | load millions of documents | [`Builder::bulk_create`], [`Database::bulk_load`] |
//! | let documents expire by age | [`Builder::retention`]; by hand [`Database::prune`] |
//! | export all documents | [`Snapshot::documents`] |
//! | find all pairs | [`Snapshot::pairs`], [`Snapshot::document_pairs`] |
//! | find clusters, and the document to keep | [`Snapshot::clusters`] |
//! | back up a database that is in use | [`Database::backup`] |
//! | free the space of removed documents | [`Database::vacuum`] |
//! | check a file | [`Database::check`] |
//! | salvage a damaged file | [`Builder::salvage`] |
//! | make fingerprints without a database | [`Fingerprinter`]; step by step [`simhash`] |
//! | compare two texts | [`Resemblance`], [`similarity`] |
//! | decide if a text may be deleted for another | [`containment`] |
//!
//! The [`guide`] explains how texts match, what is promised, and how to run a database.
//!
//! # Limits
//!
//! A match is a claim about bits, not about meaning. Radius 3 finds texts with cosmetic changes.
//! Edited and short texts lie farther apart: a database made for them ([`Builder::similar`])
//! compares the texts themselves ([`Snapshot::similar`], [`Likeness`]).

#![warn(missing_docs, missing_debug_implementations)]

mod document;
mod error;
mod fingerprint;
mod progress;
mod retention;

mod block;
mod hamming;

pub mod containment;
mod feature;
mod minhash;
mod recipe;
pub mod simhash;
pub mod similarity;
mod text;

mod store;

mod query;

mod ingest;

mod api;

pub mod guide;

pub use api::builder::Builder;
pub use api::bulk_load::{BulkLoad, BulkReport, Conflict};
pub use api::clusters::{Cluster, Clustering, ClustersEvent, Keep, Member, Shape};
pub use api::database::{Database, Insertion, Settings};
pub use api::pairs::{Pair, PairsEvent};
pub use api::snapshot::Snapshot;
pub use api::transaction::Transaction;
pub use document::{DocId, Document, Match, Timestamp};
pub use error::{Cause, Error, Result};
pub use feature::{Feature, UnreliableReason};
pub use fingerprint::{Fingerprint, Fingerprint128};
pub use ingest::ticket::Ticket;
pub use ingest::{Change, Outcome};
pub use progress::{Progress, Stage};
pub use query::{Similar, TextQuery};
pub use recipe::{Fingerprinter, Recipe, TextFingerprint};
pub use retention::Retention;
pub use similarity::{Likeness, Resemblance};
pub use store::disk::{Disk, DiskFile, FileInfo, SystemDisk};
pub use store::maintenance::copy::Vacuumed;
pub use store::maintenance::diagnosis::{
    Bin, BlockDiagnosis, Diagnosis, DuplicateGroup, Duplicates, HotKey, QueryLoad,
};
pub use store::maintenance::salvage::Salvage;
pub use store::maintenance::stats::{Stats, TableStats};
pub use text::Normaliser;

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
    moved::<Transaction<'static>>();
    moved::<BulkLoad<'static>>();
};

/// Runs the example of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
