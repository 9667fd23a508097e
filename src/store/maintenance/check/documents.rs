//! The packed tables except the text keys: all hold the same documents.

use super::entry_sum::EntrySum;
use super::times::TimeSums;
use super::{NAMED, TableCheck, both, holds};
use crate::block::{self, BLOCKS};
use crate::error::Result;
use crate::ids::scope::ScopeNumber;
use crate::ids::{DocId, Fingerprint};
use crate::store::tables::meta::Counters;
use crate::store::tables::packed::entry::{Entry, pair};
use crate::store::tables::schema::{ARRIVALS, BLOCK0, FINGERPRINTS, ROTATED, TIMES, UNRELIABLE};
use crate::store::view::access::SnapshotTables;

/// The content of `fingerprints` and `unreliable`.
#[derive(Default)]
struct DocumentSums {
    /// The reliable documents, as `block0` should hold them.
    reliable: EntrySum,
    /// The ids of all documents, if arrival times are kept.
    ids: EntrySum,
    unreliable: u64,
    /// The first ids in `unreliable` that are not in `fingerprints`.
    orphans: Vec<u64>,
    /// The first ids that `fingerprints` holds more than once.
    repeated: Vec<u64>,
    /// The first scopes of documents that have no name.
    nameless: Vec<ScopeNumber>,
}

impl TableCheck {
    /// Reads all packed tables but the text keys, then compares their content.
    pub(super) fn packed_tables(&mut self, tables: &SnapshotTables) -> Result<()> {
        let mut documents = DocumentSums::default();
        let mut is_whole = self.documents(tables, &mut documents)?;
        // The distinct fingerprints of `block0` are the truth for `block1` to `block3`.
        let mut from_block0 = EntrySum::default();
        let mut distinct = [EntrySum::default(); BLOCKS];
        let mut last = None;
        is_whole &= self.read(tables.table(BLOCK0), |entry: u128| {
            from_block0.add(entry);
            if last.replace(entry.first()) != Some(entry.first()) {
                distinct[0].add(u128::from(entry.first()));
            }
            Ok(())
        })?;
        for (table, block) in ROTATED.iter().zip(1..) {
            is_whole &= self.read(tables.table(*table), |rotated: u64| {
                let fingerprint = block::unrotate(rotated, block);
                distinct[block].add(u128::from(fingerprint.bits()));
                Ok(())
            })?;
        }
        let mut time_sums = TimeSums::default();
        let times = tables.kept(ARRIVALS).zip(tables.kept(TIMES));
        if let Some((arrivals, times)) = times {
            is_whole &= self.times(arrivals, times, &mut time_sums)?;
        }
        // An entry that seems to be missing may be in a part that cannot be read.
        if !is_whole || !self.is_flushed {
            return Ok(());
        }
        if let Some((arrivals, times)) = times {
            self.compare_times(tables, arrivals, times, &time_sums, documents.ids)?;
        }
        for id in &documents.repeated {
            self.damage.push(format!(
                "table fingerprints holds document {id} more than once"
            ));
        }
        for scope in &documents.nameless {
            self.damage.push(format!(
                "scope {} has documents and no name in table meta",
                scope.0
            ));
        }
        for id in &documents.orphans {
            self.damage.push(format!(
                "table unreliable holds document {id}, table fingerprints does not"
            ));
        }
        if documents.reliable != from_block0 {
            self.name_differing_documents(tables)?;
        }
        for block in 1..BLOCKS {
            if distinct[block] != distinct[0] {
                self.name_differing_fingerprints(tables, block)?;
            }
        }
        self.compare_counters(&tables.counters(), &documents, distinct[0].count);
        Ok(())
    }

    fn compare_counters(&mut self, counters: &Counters, documents: &DocumentSums, distinct: u64) {
        let counted = [
            counters.documents,
            counters.distinct_fingerprints,
            counters.unreliable,
        ];
        let found = [
            documents.reliable.count + documents.unreliable,
            distinct,
            documents.unreliable,
        ];
        if counted != found {
            self.damage.push(format!(
                "the counters say {} documents, {} distinct fingerprints and {} unreliable ones; \
                 the tables hold {}, {} and {}",
                counted[0], counted[1], counted[2], found[0], found[1], found[2]
            ));
        }
    }

    /// Reads `fingerprints` merged with `unreliable`. Returns `true` if both can be read whole.
    fn documents(&mut self, tables: &SnapshotTables, sums: &mut DocumentSums) -> Result<bool> {
        // The merge below would end at damage to `unreliable`.
        if !self.read(tables.table(UNRELIABLE), |_: u64| Ok(()))? {
            self.read(tables.table(FINGERPRINTS), |_: u128| Ok(()))?;
            return Ok(false);
        }
        let mut unreliable = tables.table(UNRELIABLE).entries()?.peekable();
        let mut last = None;
        let mut last_scope = ScopeNumber::default();
        let is_whole = self.read(tables.table(FINGERPRINTS), |entry: u128| {
            let (id, fingerprint) = (entry.first(), entry.second());
            if last.replace(id) == Some(id)
                && sums.repeated.len() < NAMED
                && sums.repeated.last() != Some(&id)
            {
                sums.repeated.push(id);
            }
            if tables.kept(TIMES).is_some() {
                sums.ids.add(pair(id, 0));
            }
            let scope = tables.keeps.scope_of(DocId(id));
            if std::mem::replace(&mut last_scope, scope) != scope
                && sums.nameless.len() < NAMED
                && tables.scopes().name(scope).is_none()
            {
                sums.nameless.push(scope);
            }
            // An unreliable id that is passed by has no document.
            let mut is_reliable = true;
            let is_behind = |other: &Result<u64>| other.as_ref().is_ok_and(|other| *other > id);
            while let Some(other) = unreliable.next_if(|other| !is_behind(other)) {
                let other: u64 = other?;
                if other == id {
                    is_reliable = false;
                } else if sums.orphans.len() < NAMED {
                    sums.orphans.push(other);
                }
            }
            if is_reliable {
                sums.reliable.add(pair(fingerprint, id));
            } else {
                sums.unreliable += 1;
            }
            Ok(())
        })?;
        for other in unreliable.take(NAMED - sums.orphans.len()) {
            sums.orphans.push(other?);
        }
        Ok(is_whole)
    }

    fn name_differing_documents(&mut self, tables: &SnapshotTables) -> Result<()> {
        let (fingerprints, block0) = (tables.table(FINGERPRINTS), tables.table(BLOCK0));
        let unreliable = tables.table(UNRELIABLE);
        let missing = fingerprints.entries()?.map(|entry| {
            let (id, bits) = both(entry?);
            let is_missing = !holds(unreliable, id)? && !holds(block0, pair(bits, id))?;
            Ok(is_missing.then(|| format!("table block0 lacks document {id} with {bits:016x}")))
        });
        let orphans = block0.entries()?.map(|entry| {
            let (bits, id) = both(entry?);
            let is_orphan = !holds(fingerprints, pair(id, bits))? || holds(unreliable, id)?;
            Ok(is_orphan.then(|| {
                format!(
                    "table block0 holds document {id} with {bits:016x}, table fingerprints does not"
                )
            }))
        });
        self.name(missing.chain(orphans))
    }

    fn name_differing_fingerprints(&mut self, tables: &SnapshotTables, block: usize) -> Result<()> {
        let table = tables.table(ROTATED[block - 1]);
        let name = table.id().name;
        let missing = tables.table(BLOCK0).entries()?.map(|entry| {
            let fingerprint = Fingerprint::from_bits(entry?.first());
            let is_missing = !holds(table, block::rotate(fingerprint, block))?;
            Ok(is_missing.then(|| format!("table {name} lacks fingerprint {fingerprint}")))
        });
        let orphans = table.entries()?.map(|rotated| {
            let fingerprint = block::unrotate(rotated?, block);
            let is_orphan = !tables.has_fingerprint(fingerprint.bits())?;
            Ok(is_orphan
                .then(|| format!("table {name} holds {fingerprint}, table block0 does not")))
        });
        self.name(missing.chain(orphans))
    }
}
