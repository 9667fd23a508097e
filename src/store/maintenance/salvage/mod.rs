//! Salvage: everything that can be read of a damaged database, written to a new one.
//!
//! Most facts are in two tables, each the *twin* of the other: a reliable fingerprint in
//! `fingerprints` and `block0`, an arrival time in `times` and `arrivals`. The recipe makes a lost
//! fingerprint again from the text. Keys, fields and copies are in table `texts`, refused documents
//! in `refused`. All other tables are derived, and not read.
//!
//! [`tables`] reads the tables, or [`pages`] every page if redb cannot open the file; [`join`]
//! brings the facts of each document together, and [`replay`] reads from the journals the
//! documents that they change, a [`wal_overlay`]. [`restorer`] writes the documents to the new
//! file, and makes lost facts again. [`lost_settings`] infers from [`evidence`] the settings that
//! cannot be read. Nothing is written to the damaged file or its journals.

mod evidence;
mod join;
mod journals;
mod leaf;
mod lost_settings;
mod pages;
mod replay;
mod restorer;
mod scopes;
mod source;
mod tables;
mod wal_overlay;

use crate::error::Result;
use crate::ids::{DocId, Fingerprint, Timestamp};
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::store::bulk::Load;
use crate::store::disk::path::DbPath;
use crate::store::tables::meta::{Header, new_identity};
use restorer::Restorer;
use scopes::LostScopes;
use source::SourceContent;
use tables::SalvageTables;

pub(crate) use source::DamagedFile;

/// The result of a salvage: the documents saved, and the damage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Salvage {
    /// Documents in the new database.
    pub documents: u64,
    /// Documents whose fingerprint was found in only one of the two tables that should hold it.
    pub from_one_table: u64,
    /// Documents whose fingerprint was made again from the text.
    pub from_text: u64,
    /// Documents found with several fingerprints, of which the smallest was taken: only in a scan
    /// of all pages.
    pub ambiguous: u64,
    /// Documents whose id was found without a fingerprint. They are not in the new database.
    pub without_fingerprint: u64,
    /// The first 100 ids of documents without a fingerprint.
    pub lost_ids: Vec<DocId>,
    /// Documents without a text, fields and copies, which may have been in a part that cannot be
    /// read. A scan of all pages counts each document without them, unless it finds as many texts
    /// as the database had.
    pub without_text: u64,
    /// Documents whose arrival time is lost. They get the arrival time of the latest document, or
    /// now if the system's clock counts ([`Retention::by_clock`](crate::Retention::by_clock)).
    pub without_arrival: u64,
    /// Documents whose key is lost, in a database with keys. They have a key
    /// `salvaged:ID:NUMBER` of their id and of the random number of the damaged file.
    pub without_key: u64,
    /// A sentence for each part that could not be read.
    pub damage: Vec<String>,
}

impl DamagedFile {
    /// Writes the readable documents to a new file. `fingerprint` applies the recipe to a text, and
    /// returns `true` beside a reliable fingerprint.
    pub(crate) fn salvage(
        self,
        target: &DbPath,
        header: &Header,
        memory_bytes: u64,
        fingerprint: impl Fn(&str) -> Option<(Fingerprint, bool)>,
        progress: &ProgressHandler,
    ) -> Result<Salvage> {
        // A bad arrival time may have expired documents that a reset of the clock brings back.
        let mut load = Load::create(target, header, memory_bytes)?.keeping_expired();
        let Self {
            db_path,
            content,
            counters,
            mut damage,
            scopes,
            overlay,
            lost_window,
            identity,
            ..
        } = self;
        let keeps = header.keeps();
        let mut reporter = ProgressReporter::new(progress, Stage::Salvage, None, target.path());
        let tables;
        let counted_arrival = counters.and_then(|counters| counters.counts().latest_arrival);
        let counted_arrival = counted_arrival.max(overlay.latest_arrival);
        let mut latest_arrival = counted_arrival;
        let is_scan = matches!(content, SourceContent::Pages(_));
        let mut documents = match content {
            SourceContent::Tables(file) => {
                tables = SalvageTables::open(*file, keeps, &db_path, &mut damage);
                if latest_arrival.is_none() {
                    latest_arrival = tables.latest_arrival(&reporter)?;
                }
                if !lost_window {
                    tables.refused(&mut damage, |refused| load.set_copies(Vec::new(), refused))?;
                }
                tables.join(target.path(), memory_bytes, &reporter)?
            }
            SourceContent::Pages(pages) => {
                latest_arrival = latest_arrival.max(pages.latest_arrival);
                pages.join(keeps, &db_path)?
            }
        };
        // Refused documents whose originals are gone, or of which there are more than stored
        // copies. Later refusals come last.
        if !lost_window {
            load.set_copies(Vec::new(), &overlay.refused)?;
        }
        let load = with_clock(load, header, counted_arrival, latest_arrival);
        let mut restorer = Restorer {
            db_path: &db_path,
            fingerprint: &fingerprint,
            keeps,
            identity: identity.unwrap_or_else(new_identity),
            scopes: LostScopes::new(scopes, keeps),
            load,
            salvage: Salvage::default(),
            texts_of_lost_commits: 0,
        };
        let rows = restorer.push_all(&mut documents, overlay, &mut reporter)?;
        // A scan cannot tell a lost row from none. If each row has a text, the counter can.
        let counted = counters.filter(|_| is_scan && !keeps.fields && !keeps.copies());
        if counted.is_some_and(|counters| counters.texts == rows) {
            restorer.salvage.without_text = 0;
        }
        damage.extend(restorer.scopes.damage());
        damage.extend(documents.into_damage());
        restorer.finish(damage, progress)
    }
}

/// Gives the new database the clock of the damaged one: the arrival of the latest document.
fn with_clock(
    mut load: Load,
    header: &Header,
    counted_arrival: Option<Timestamp>,
    latest_arrival: Option<Timestamp>,
) -> Load {
    // Without a clock the latest arrival expires the others, so a document whose arrival is lost
    // must not arrive now.
    let lacks_clock = header
        .retention
        .is_some_and(|retention| !retention.by_clock);
    if let Some(latest) = latest_arrival.filter(|_| lacks_clock) {
        load = load.arriving_at(latest);
    }
    // The document that arrived last may have been removed. Others expire from its arrival.
    if let Some(latest) = counted_arrival.filter(|_| header.keeps().arrivals) {
        load.advance_latest_arrival(latest);
    }
    load
}
