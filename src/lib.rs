//! simdb answers one question from one file on disk, in microseconds, with no server: *do we
//! have this text already, or nearly this?*
//!
//! A text becomes a 64-bit SimHash [`Fingerprint`] by a [`Recipe`]; documents whose fingerprints
//! differ in few bits are near-duplicates of each other. A [`Database`] keeps ids and
//! fingerprints of tens of millions of documents and finds every one within a Hamming radius,
//! exactly: what it answers is what comparing with all of them would answer.
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
//! // Everything is still there when the file is opened again.
//! drop(db);
//! let db = Database::open(folder.path().join("news.simdb"))?;
//! let query = db.fingerprint("three cats sat on the mat, and would not be moved by anyone")?;
//! let matches = db.within(query.fingerprint, 3)?;
//! assert_eq!(matches[0].id, DocId(2));
//! # Ok::<(), simdb::Error>(())
//! ```
//!
//! # What it is not
//!
//! A match is a claim about bits, not about meaning. At radius 3 of 64 bits it says: the same
//! text with cosmetic changes. Texts that were really edited, and short ones, lie farther apart: a
//! database made for it ([`Builder::similar`]) finds those by what they have in common, and decides
//! by their texts ([`Snapshot::similar`], [`Likeness`]).
//!
//! # Where to start
//!
//! [`Database`] and [`Snapshot`] to store and ask, [`BulkLoad`] for millions of documents at a
//! time, [`Fingerprinter`] for fingerprints without a database, [`simhash`] for how SimHash
//! works, in five steps, [`similarity`] for other measures of two texts. The [`guide`] says how texts
//! match, what is promised, and how to run a database.

#![warn(missing_docs, missing_debug_implementations)]

mod document;
mod error;
mod fingerprint;
mod progress;
mod retention;

mod block;
mod hamming;

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

/// What may be shared by threads, and what only moved from one to another.
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

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
