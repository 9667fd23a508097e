//! What can be read of a damaged file, into a new one.
//!
//! The tables say most things twice. A document and its fingerprint are in `fingerprints`, and if
//! the fingerprint is reliable in `block0`; its arrival is in `times` and in `arrivals`; from its
//! text the recipe makes the fingerprint again. `block1` to `block3` and `bands` say nothing that
//! these do not, and are made anew.
//!
//! Where the storage engine cannot even open the file, its pages are looked at one by one: see
//! [`pages`]. Nothing is written to the damaged file or its journals.

mod journals;
mod open;
mod pages;
mod streams;
mod tables;

use std::ops::ControlFlow;

use crate::document::{DocId, Document};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::store::bulk::Load;
use crate::store::disk::path::DbPath;
use crate::store::tables::edit::TextEdit;
use crate::store::tables::schema::Header;
use crate::store::tables::texts;
use journals::WalOverlay;
use open::Content;
use streams::Known;
use tables::SalvageTables;

pub(crate) use open::Damaged;

/// What was saved of a damaged database, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Salvage {
    /// Documents in the new database.
    pub documents: u64,
    /// How many of them were found with their fingerprints in only one of the tables that should
    /// hold both.
    pub from_one_table: u64,
    /// How many of them got their fingerprints from their texts.
    pub from_text: u64,
    /// How many were found with several fingerprints, one of which was taken: only where pages had
    /// to be looked at one by one.
    pub ambiguous: u64,
    /// Documents whose ids were found and no fingerprint. They are not in the new database.
    pub without_fingerprint: u64,
    /// The ids of the first of those.
    pub lost_ids: Vec<DocId>,
    /// Documents that may have had a text, in a part that cannot be read, and have none now.
    pub without_text: u64,
    /// Documents whose arrival times are lost. They arrived when the last one did, or now where the
    /// system's clock counts ([`Retention::by_clock`](crate::Retention::by_clock)).
    pub without_arrival: u64,
    /// What could not be read, a sentence each.
    pub damage: Vec<String>,
}

/// How many ids of lost documents are named.
const NAMED: usize = 100;

impl Damaged {
    /// Writes what can be read to a new file. `fingerprint` is what the recipe makes of a text, and
    /// whether that is reliable.
    pub(crate) fn salvage(
        mut self,
        target: &DbPath,
        header: &Header,
        memory_bytes: u64,
        fingerprint: impl Fn(&str) -> Option<(Fingerprint, bool)>,
        progress: &ProgressHandler,
    ) -> Result<Salvage> {
        let mut load = Load::create(target, header, memory_bytes)?;
        let mut late = self.late_changes();
        let Self {
            db_path,
            content,
            latest_arrival,
            mut damage,
            ..
        } = self;
        let keeps = header.keeps();
        let mut reporter = ProgressReporter::new(progress, Stage::Salvage, None, target.path());
        let (opened, tables);
        let (mut streams, latest_arrival) = match content {
            Content::Tables(found) => {
                opened = found;
                tables = SalvageTables::open(&opened, keeps, &db_path, &mut damage);
                let latest_arrival = match latest_arrival {
                    None => tables.latest_arrival(&reporter)?,
                    known => known,
                };
                let streams = tables.streams(target.path(), memory_bytes, &reporter)?;
                (streams, latest_arrival)
            }
            Content::Pages(loose) => (loose.streams(keeps.arrivals)?, latest_arrival),
        };
        // By the system's clock, what is saved would be expired beside a document that arrives now.
        if header
            .retention
            .is_some_and(|retention| !retention.by_clock)
        {
            let arrivals = late.values().filter_map(|late| late.state?.arrival);
            if let Some(latest) = latest_arrival.max(arrivals.max()) {
                load = load.arriving_at(latest);
            }
        }
        let mut salvage = Salvage::default();
        while let Some(known) = streams.next()? {
            if !late.contains_key(&known.id.0) {
                if let Some(document) = salvage.document(known, &db_path, &fingerprint) {
                    load.push(document)?;
                }
            } else if let Some(change) = late.get_mut(&known.id.0) {
                // What was committed last does not always say what the text is.
                if change.text == TextEdit::Keep {
                    change.kept = salvage.text(&known, &db_path);
                }
            }
            reporter.step()?;
        }
        for (id, WalOverlay { state, text, kept }) in late {
            let Some(state) = state else { continue };
            load.push(Document {
                id: DocId(id),
                fingerprint: state.fingerprint,
                reliable: state.reliable,
                arrival: state.arrival,
                text: match text {
                    TextEdit::Put(banded) => Some(banded.text.to_string()),
                    TextEdit::Keep => kept,
                    TextEdit::Remove => None,
                },
            })?;
        }
        damage.extend(streams.whys());
        salvage.damage = damage;
        // Every document is read once, so no two have one id.
        let report = load.finish(progress, &mut |_| ControlFlow::Continue(()))?;
        salvage.documents = report.inserted;
        Ok(salvage)
    }
}

impl Salvage {
    /// A document as it goes into the new database, and what had to be done for it.
    fn document(
        &mut self,
        known: Known,
        db_path: &DbPath,
        fingerprint: &impl Fn(&str) -> Option<(Fingerprint, bool)>,
    ) -> Option<Document> {
        let text = self.text(&known, db_path);
        let made = |text: &Option<String>| fingerprint(text.as_deref()?);
        let (found, reliable) = match (known.fingerprint, known.reliable) {
            (Some(found), Some(reliable)) => (found, reliable),
            // Most are.
            (Some(found), None) => (found, made(&text).is_none_or(|(_, reliable)| reliable)),
            (None, said) => match made(&text) {
                Some((made, reliable)) => {
                    self.from_text += 1;
                    (made, reliable && said != Some(false))
                }
                None => {
                    self.without_fingerprint += 1;
                    if self.lost_ids.len() < NAMED {
                        self.lost_ids.push(known.id);
                    }
                    return None;
                }
            },
        };
        self.from_one_table += u64::from(known.from_one_table);
        self.ambiguous += u64::from(known.is_ambiguous);
        self.without_arrival += u64::from(known.lost_arrival);
        Some(Document {
            id: known.id,
            fingerprint: found,
            reliable,
            arrival: known.arrival,
            text,
        })
    }

    fn text(&mut self, known: &Known, db_path: &DbPath) -> Option<String> {
        let text = known.sealed_text.as_ref();
        let text = text.map(|sealed| texts::decode(known.id, sealed, db_path));
        let is_lost = known.lost_text || matches!(text, Some(Err(_)));
        self.without_text += u64::from(is_lost);
        text?.ok()
    }
}
