//! [`MemtableView`]: the active and the sealed memtable as of one commit.

use std::sync::Arc;

use super::{Memtable, TextEdit, Version, indexed_fingerprint};
use crate::document::{DocId, Match};
use crate::fingerprint::Fingerprint;
use crate::store::tables::edit::{DocumentEdit, StoredDocument};

/// The visible edits of the memtables. The state of a document here replaces its state in the packed
/// tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemtableView {
    /// Newest first: a document in one memtable hides the same document in the later ones.
    pub(super) parts: Vec<VisibleMemtable>,
    /// `true` if the first memtable is an [overlay](Self::overlay).
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
    /// The change of the text against the packed tables.
    pub(crate) text: TextEdit,
}

impl MemtableView {
    /// Takes the memtables, newest first, each with the number of its visible edits.
    pub(crate) fn new(memtables: impl IntoIterator<Item = (Arc<Memtable>, u32)>) -> Self {
        Self {
            parts: memtables
                .into_iter()
                .filter(|(_, visible)| *visible > 0)
                .map(|(memtable, visible)| VisibleMemtable { memtable, visible })
                .collect(),
            has_overlay: false,
        }
    }

    /// Returns `true` if no edit is visible.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The number of visible edits.
    pub(crate) fn len(&self) -> u64 {
        self.parts.iter().map(|part| u64::from(part.visible)).sum()
    }

    /// The net edits of each memtable against the state before it, oldest first.
    pub(crate) fn net_edits(&self) -> Vec<Vec<DocumentEdit>> {
        self.parts
            .iter()
            .rev()
            .map(|part| part.memtable.net_edits(part.visible))
            .collect()
    }

    /// Returns `true` if a document was edited: its state in the packed tables is then outdated.
    pub(crate) fn touches(&self, id: DocId) -> bool {
        self.parts.iter().any(|part| part.version(id).is_some())
    }

    /// The latest state of a document, or `None` if the document was not edited.
    pub(crate) fn edit(&self, id: DocId) -> Option<LatestVersion> {
        let mut versions = self.parts.iter().filter_map(|part| part.version(id));
        let last = versions.next()?;
        let text = match &last.text {
            TextEdit::Keep => versions
                .map(|version| &version.text)
                .find(|text| **text != TextEdit::Keep)
                .unwrap_or(&TextEdit::Keep),
            text => text,
        };
        Some(LatestVersion {
            state: last.after,
            text: text.clone(),
        })
    }

    /// The ids of all edited documents, removed ones included, in ascending order. Computed on each
    /// call, in about 50 ns a document.
    pub(crate) fn sorted_ids(&self) -> Vec<DocId> {
        let mut ids: Vec<DocId> = Vec::new();
        for part in &self.parts {
            ids.extend(part.memtable.documents(part.visible).map(|(id, _)| id));
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Every reliable document of the memtables within the radius, nearest first, then smallest id.
    #[cfg(test)]
    pub(crate) fn within(&self, query: Fingerprint, radius: u32) -> Vec<Match> {
        self.within_limit(query, radius, usize::MAX, |_| true)
    }

    /// The first `limit` reliable documents within the radius whose state passes, nearest first, then by
    /// id. Reads at most `limit` documents of a fingerprint, and a distance only if the smaller
    /// distances gave too few.
    pub(crate) fn within_limit(
        &self,
        query: Fingerprint,
        radius: u32,
        limit: usize,
        passes: impl Fn(StoredDocument) -> bool,
    ) -> Vec<Match> {
        let mut matches = Vec::new();
        if limit == 0 {
            return matches;
        }
        for class in self.near(query, radius).chunk_by(|a, b| a.0 == b.0) {
            let nearer = matches.len();
            let left = limit - nearer;
            for (distance, age, bits) in class {
                let fingerprint = Fingerprint::from_bits(*bits);
                self.for_each_document(*age, fingerprint, left, &passes, |id| {
                    matches.push(Match {
                        id,
                        fingerprint,
                        distance: *distance,
                    });
                });
                if matches.len() - nearer >= left.saturating_mul(2).max(MOST_KEPT) {
                    keep_first(&mut matches, nearer, left);
                }
            }
            keep_first(&mut matches, nearer, left);
            if matches.len() >= limit {
                break;
            }
        }
        matches
    }

    /// The distinct fingerprints within the radius that some document has or had, sorted: distance,
    /// index of the memtable, fingerprint.
    fn near(&self, query: Fingerprint, radius: u32) -> Vec<(u32, usize, u64)> {
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

    /// The first `most` documents, by id, whose text in the memtables has this band key and whose state
    /// passes.
    pub(crate) fn in_band(
        &self,
        key: u64,
        most: usize,
        passes: impl Fn(StoredDocument) -> bool,
    ) -> Vec<DocId> {
        let has_key = |id: DocId| {
            self.edit(id).is_some_and(|latest| {
                let has_key = matches!(&latest.text, TextEdit::Put(banded) if banded.has_key(key));
                has_key && latest.state.is_some_and(&passes)
            })
        };
        let mut found: Vec<DocId> = Vec::new();
        for part in &self.parts {
            found.extend(part.in_band(key).filter(|id| has_key(*id)).take(most));
        }
        // Both memtables list a document that was edited in both.
        found.sort_unstable();
        found.dedup();
        found.truncate(most);
        found
    }

    /// Calls `visitor` with the first `most` documents, by id, that have the fingerprint in the memtable
    /// with index `age` and whose state passes.
    fn for_each_document(
        &self,
        age: usize,
        fingerprint: Fingerprint,
        most: usize,
        passes: &impl Fn(StoredDocument) -> bool,
        mut visitor: impl FnMut(DocId),
    ) {
        let (newer, part) = (&self.parts[..age], &self.parts[age]);
        let (mut seqnos, mut after, mut left) = (Vec::new(), None, most);
        loop {
            let bits = fingerprint.bits();
            let goes_on = part
                .memtable
                .postings
                .read(bits)
                .read(bits, after, &mut seqnos);
            for seqno in &seqnos {
                let Some(version) = part.memtable.versions.get(*seqno) else {
                    continue;
                };
                let id = version.id;
                after = Some(id);
                let state = part.state_with(fingerprint, *seqno, version);
                if state.is_some_and(passes)
                    && newer.iter().all(|newer| newer.version(id).is_none())
                {
                    visitor(id);
                    left -= 1;
                    if left == 0 {
                        return;
                    }
                }
            }
            if !goes_on {
                return;
            }
        }
    }
}

/// Matches of one distance that are collected before those beyond the limit are dropped.
const MOST_KEPT: usize = 1024;

/// Sorts the matches from index `from` on by id, and drops all behind the first `limit` of these.
fn keep_first(matches: &mut Vec<Match>, from: usize, limit: usize) {
    matches[from..].sort_unstable_by_key(|found| found.id);
    matches.truncate(from.saturating_add(limit));
}

impl VisibleMemtable {
    fn version(&self, id: DocId) -> Option<&Version> {
        self.memtable.version(id, self.visible)
    }

    /// The documents whose text had this band key at some time, in order of their ids.
    fn in_band(&self, key: u64) -> impl Iterator<Item = DocId> {
        let (mut after, mut goes_on) = (None, true);
        let pieces = std::iter::from_fn(move || {
            if !goes_on {
                return None;
            }
            let mut seqnos = Vec::new();
            goes_on = self.memtable.bands.read(key).read(key, after, &mut seqnos);
            let ids = |seqno: &u32| Some((*seqno, self.memtable.versions.get(*seqno)?.id));
            let posted: Vec<(u32, DocId)> = seqnos.iter().filter_map(ids).collect();
            after = posted.last().map(|(_, id)| *id).or(after);
            Some(posted)
        });
        let seen = |(seqno, id): (u32, DocId)| (seqno < self.visible).then_some(id);
        pieces.flatten().filter_map(seen)
    }

    /// The state of a document if it still has the fingerprint; `first` is the version that first had it.
    fn state_with(
        &self,
        fingerprint: Fingerprint,
        seqno: u32,
        first: &Version,
    ) -> Option<StoredDocument> {
        if seqno >= self.visible {
            return None;
        }
        if first.is_last(self.visible) {
            return first.after;
        }
        let last = self.version(first.id)?.after;
        last.filter(|_| indexed_fingerprint(last) == Some(fingerprint))
    }
}
