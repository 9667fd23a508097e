//! [`MemtableView`]: the active and the sealed memtable as of one commit.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Memtable, TextEdit, Version, indexed_fingerprint};
use crate::analysis::Analysed;
use crate::copies::Copies;
use crate::document::Match;
use crate::error::Result;
use crate::forest::ForestSearch;
use crate::ids::scope::{IdRanges, ScopeNumber};
use crate::ids::{DocId, Fingerprint};
use crate::store::tables::edit::{DocumentEdit, StoredDocument};

/// The visible edits of the memtables. The state of a document here replaces its state in the
/// tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemtableView {
    /// Newest memtable first. A version of a document hides its versions in the parts behind.
    pub(super) parts: Vec<VisibleMemtable>,
    /// `true` if the first part is an [overlay](Self::overlay).
    pub(super) has_overlay: bool,
}

/// A memtable and the number of its visible edits.
#[derive(Clone, Debug)]
pub(super) struct VisibleMemtable {
    pub(super) memtable: Arc<Memtable>,
    pub(super) visible: u32,
}

/// The latest state of a document that the memtables have edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LatestVersion {
    /// `None` if the document was removed.
    pub(crate) state: Option<StoredDocument>,
    /// The change of the text against the tables.
    pub(crate) text: TextEdit,
}

impl MemtableView {
    /// A view of `memtables`, newest first, each with the number of its visible edits.
    pub(crate) fn new(memtables: impl IntoIterator<Item = (Arc<Memtable>, u32)>) -> Self {
        Self {
            parts: memtables
                .into_iter()
                // A memtable without visible edits is left out, so that `is_empty` and the lookups
                // need not search it.
                .filter(|(_, visible)| *visible > 0)
                .map(|(memtable, visible)| VisibleMemtable { memtable, visible })
                .collect(),
            has_overlay: false,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(crate) fn len(&self) -> u64 {
        self.parts.iter().map(|part| u64::from(part.visible)).sum()
    }

    /// The visible edits of each memtable, oldest memtable first, coalesced into one for each
    /// document.
    pub(crate) fn coalesced_edits(&self) -> Vec<Vec<DocumentEdit>> {
        self.parts
            .iter()
            .rev()
            .map(|part| part.memtable.coalesced_edits(part.visible))
            .collect()
    }

    /// Returns `true` if a document was edited. Its state in the tables is then out of date.
    pub(crate) fn contains(&self, id: DocId) -> bool {
        self.parts.iter().any(|part| part.version(id).is_some())
    }

    /// `None` if the document was not edited.
    pub(crate) fn latest(&self, id: DocId) -> Option<LatestVersion> {
        let mut versions = self.parts.iter().filter_map(|part| part.version(id));
        let latest = versions.next()?;
        let text = match &latest.text {
            // The newer memtable kept the text, so an older one may have changed it.
            TextEdit::Keep => versions
                .map(|version| &version.text)
                .find(|text| **text != TextEdit::Keep)
                .unwrap_or(&TextEdit::Keep),
            text => text,
        };
        Some(LatestVersion {
            state: latest.after,
            text: text.clone(),
        })
    }

    /// The copies of a document that the memtables have edited; `None` if the tables have them.
    pub(crate) fn copies(&self, id: DocId) -> Option<Option<Arc<Copies>>> {
        for version in self.parts.iter().filter_map(|part| part.version(id)) {
            match (version.new_copies(), &version.text) {
                (Some(copies), _) => return Some(Some(Arc::clone(copies))),
                (None, TextEdit::Put(text)) => return Some(text.record().copies().map(Arc::new)),
                (None, TextEdit::Remove) => return Some(None),
                (None, TextEdit::Keep) => {}
            }
        }
        None
    }

    /// The last value of a refused key or id, also of an edit that is not visible.
    pub(crate) fn refused(&self, hash: u64) -> Option<u64> {
        (self.parts.iter()).find_map(|part| part.memtable.refused(hash))
    }

    /// The largest [sequence](crate::ids::scope::sequence) of the id of a document that was edited,
    /// even if the edit is not visible or removed the document.
    pub(crate) fn last_sequence(&self) -> u64 {
        let of_part = |part: &VisibleMemtable| part.memtable.last_sequence.load(Ordering::Relaxed);
        self.parts.iter().map(of_part).max().unwrap_or(0)
    }

    /// The documents that were put with a key of this hash, even if they were removed since.
    pub(crate) fn with_key_hash(&self, hash: u64) -> Vec<DocId> {
        let (mut ids, mut seqnos) = (Vec::new(), Vec::new());
        for part in &self.parts {
            let mut from = Bound::Unbounded;
            loop {
                let keys = part.memtable.keys.read(hash);
                let has_more = keys.read(hash, from, &mut seqnos);
                drop(keys);
                let versions = &part.memtable.versions;
                ids.extend(
                    seqnos
                        .iter()
                        .filter_map(|seqno| Some(versions.get(*seqno)?.id)),
                );
                if !has_more {
                    break;
                }
                from = ids.last().map_or(from, |last| Bound::Excluded(*last));
            }
        }
        ids
    }

    /// The ids of all edited documents, removed ones included, ascending. Each call takes about 50
    /// ns per document.
    pub(crate) fn sorted_ids(&self) -> Vec<DocId> {
        let mut ids: Vec<DocId> = Vec::new();
        for part in &self.parts {
            ids.extend(part.memtable.documents(part.visible).map(|(id, _)| id));
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    #[cfg(test)]
    pub(crate) fn within(&self, query: Fingerprint, radius: u32) -> Vec<Match> {
        self.within_limit(query, radius, &IdRanges::ALL, usize::MAX, |_| true)
    }

    /// The first `limit` reliable documents `among` some ids within the radius whose state passes,
    /// nearest first, then smallest id.
    ///
    /// Reads the documents of a distance only if the smaller distances gave fewer than `limit`.
    pub(crate) fn within_limit(
        &self,
        query: Fingerprint,
        radius: u32,
        among: &IdRanges,
        limit: usize,
        passes: impl Fn(StoredDocument) -> bool,
    ) -> Vec<Match> {
        let mut matches = Vec::new();
        if limit == 0 || among.is_empty() {
            return matches;
        }
        let near = self.near_fingerprints(query, radius);
        for same_distance in near.chunk_by(|a, b| a.0 == b.0) {
            let nearer = matches.len();
            let wanted = limit - nearer;
            for (distance, age, bits) in same_distance {
                let fingerprint = Fingerprint::from_bits(*bits);
                let mut found = 0;
                for ids in among.ranges() {
                    self.for_each_document(
                        *age,
                        fingerprint,
                        *ids,
                        wanted - found,
                        &passes,
                        |id| {
                            matches.push(Match {
                                id,
                                fingerprint,
                                distance: *distance,
                            });
                            found += 1;
                        },
                    );
                    if found == wanted {
                        break;
                    }
                }
                // Thousands of fingerprints at one distance may each give `wanted` documents. To
                // trim at twice that number bounds the memory, and seldom sorts.
                if matches.len() - nearer >= wanted.saturating_mul(2).max(MAX_UNTRIMMED) {
                    sort_and_truncate(&mut matches, nearer, wanted);
                }
            }
            sort_and_truncate(&mut matches, nearer, wanted);
            if matches.len() >= limit {
                break;
            }
        }
        matches
    }

    /// The distinct fingerprints within the radius that some document has or had, sorted: distance,
    /// index in `parts`, fingerprint.
    fn near_fingerprints(&self, query: Fingerprint, radius: u32) -> Vec<(u32, usize, u64)> {
        let (mut near, mut found) = (Vec::new(), Vec::new());
        for (age, part) in self.parts.iter().enumerate() {
            part.memtable
                .fingerprints
                .push_near(query, radius, &mut found);
            near.extend(found.drain(..).map(|bits| {
                let distance = query.distance(Fingerprint::from_bits(bits));
                (distance, age, bits)
            }));
        }
        near.sort_unstable();
        near
    }

    /// The documents whose text in the memtables a search of a scope finds and whose state passes;
    /// ascending by id, each once.
    pub(crate) fn in_forest(
        &self,
        search: &ForestSearch<'_>,
        scope: ScopeNumber,
        passes: impl Fn(StoredDocument) -> bool,
    ) -> Result<Vec<DocId>> {
        let mut found = Vec::new();
        // The numbers of documents and the keys by which they are found.
        let mut numbered: Vec<(u32, u64)> = Vec::new();
        for (age, part) in self.parts.iter().enumerate() {
            search.run(&part.memtable.forest, scope, &mut |(key, number)| {
                numbered.push((number as u32, key));
            })?;
            numbered.retain(|(number, _)| {
                *number < part.visible && part.memtable.may_be_near(*number, search)
            });
            numbered.sort_unstable();
            for keys in numbered.chunk_by(|a, b| a.0 == b.0) {
                let Some(version) = part.memtable.versions.get(keys[0].0) else {
                    continue;
                };
                if let Some((keyed, state)) = self.text_with_any(age, version, keys)
                    && search.may_be_near(keyed.sketch())
                    && passes(state)
                {
                    found.push(version.id);
                }
            }
            numbered.clear();
        }
        found.sort_unstable();
        // A document may have a key in several parts.
        found.dedup();
        Ok(found)
    }

    /// The latest text and state of a document if the text has any of the keys by which the
    /// document was found in `parts[age]`. `first` is the first version of the document there.
    fn text_with_any(
        &self,
        age: usize,
        first: &Version,
        keys: &[(u32, u64)],
    ) -> Option<(Arc<Analysed>, StoredDocument)> {
        let (newer, part) = (&self.parts[..age], &self.parts[age]);
        // The sets also have the keys of other versions, some of them not visible.
        let has_any = |keyed: &Analysed| {
            keys.iter()
                .any(|(_, key)| keyed.text_keys().binary_search(key).is_ok())
        };
        // Most documents have one version, and then look-ups by id, which lock shards, are saved.
        if first.is_latest(part.visible)
            && let TextEdit::Put(keyed) = &first.text
            && newer.iter().all(|newer| newer.version(first.id).is_none())
        {
            return Some((Arc::clone(keyed), first.after?)).filter(|(keyed, _)| has_any(keyed));
        }
        match self.latest(first.id)? {
            LatestVersion {
                state: Some(state),
                text: TextEdit::Put(keyed),
            } if has_any(&keyed) => Some((keyed, state)),
            _ => None,
        }
    }

    /// Calls `visitor` with the first `limit` documents from the first to the last id, by id, that
    /// have the fingerprint in `parts[age]` and whose state passes.
    fn for_each_document(
        &self,
        age: usize,
        fingerprint: Fingerprint,
        (first, last): (DocId, DocId),
        limit: usize,
        passes: &impl Fn(StoredDocument) -> bool,
        mut visitor: impl FnMut(DocId),
    ) {
        let (newer, part) = (&self.parts[..age], &self.parts[age]);
        let (mut seqnos, mut from, mut remaining) = (Vec::new(), Bound::Included(first), limit);
        loop {
            let bits = fingerprint.bits();
            // The shard is locked for one page only. The edits of a document that is posted between
            // two pages are not visible here, so it does not matter if the next page has it.
            let has_more = part
                .memtable
                .postings
                .read(bits)
                .read(bits, from, &mut seqnos);
            for seqno in &seqnos {
                let Some(version) = part.memtable.versions.get(*seqno) else {
                    continue;
                };
                let id = version.id;
                // The posting list begins with its smallest id, whatever the first id is.
                if id < first {
                    continue;
                }
                if id > last {
                    return;
                }
                from = Bound::Excluded(id);
                let state = part.state_with_fingerprint(fingerprint, *seqno, version);
                if state.is_some_and(passes)
                    // A version in a newer memtable hides this one.
                    && newer.iter().all(|newer| newer.version(id).is_none())
                {
                    visitor(id);
                    remaining -= 1;
                    if remaining == 0 {
                        return;
                    }
                }
            }
            if !has_more {
                return;
            }
        }
    }
}

/// At least 1,024 matches of one distance are collected before they are sorted and trimmed, so that
/// a small limit does not cause a sort for each fingerprint.
const MAX_UNTRIMMED: usize = 1024;

/// Sorts the matches from index `from` on by id, and keeps the first `limit` of them.
fn sort_and_truncate(matches: &mut Vec<Match>, from: usize, limit: usize) {
    matches[from..].sort_unstable_by_key(|found| found.id);
    matches.truncate(from.saturating_add(limit));
}

impl VisibleMemtable {
    fn version(&self, id: DocId) -> Option<&Version> {
        self.memtable.version(id, self.visible)
    }

    /// The visible state of a document; `None` if the document no longer has the fingerprint.
    /// `seqno` and `first` are the version that first had it.
    fn state_with_fingerprint(
        &self,
        fingerprint: Fingerprint,
        seqno: u32,
        first: &Version,
    ) -> Option<StoredDocument> {
        if seqno >= self.visible {
            return None;
        }
        // Most documents have one version, and then a lookup by id, which locks a shard, is saved.
        if first.is_latest(self.visible) {
            return first.after;
        }
        let latest = self.version(first.id)?.after;
        latest.filter(|_| indexed_fingerprint(latest) == Some(fingerprint))
    }
}
