//! A tail, or a newer and an older one, as of one commit.

use std::sync::Arc;

use super::{Memtable, TextEdit, Version, found_by};
use crate::document::{DocId, Match};
use crate::fingerprint::Fingerprint;
use crate::store::tables::edit::{DocumentEdit, StoredDocument};

/// What a reader sees of the memtables. What it says of a document replaces what the packed tables say.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemtableView {
    /// Newest first: a document in one of them is hidden in those after it.
    parts: Arc<[Part]>,
}

/// A tail, and how many of its slots the reader sees.
#[derive(Clone, Debug)]
struct Part {
    tail: Arc<Memtable>,
    visible: u32,
}

/// A document that the memtables touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Current {
    /// Nothing if it was removed.
    pub(crate) state: Option<StoredDocument>,
    /// What has become of its text since it was in the packed tables.
    pub(crate) text: TextEdit,
}

impl MemtableView {
    /// The memtables, newest first, each with how many of its edits are seen.
    pub(crate) fn new(memtables: impl IntoIterator<Item = (Arc<Memtable>, u32)>) -> Self {
        let parts = memtables.into_iter().filter(|(_, visible)| *visible > 0);
        Self {
            parts: parts
                .map(|(tail, visible)| Part { tail, visible })
                .collect(),
        }
    }

    /// Whether the packed tables say it all.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// How many edits are seen.
    pub(crate) fn len(&self) -> u64 {
        self.parts.iter().map(|part| u64::from(part.visible)).sum()
    }

    /// What would have to be done to the packed tables, oldest first, each document once in each.
    pub(crate) fn net_edits(&self) -> Vec<Vec<DocumentEdit>> {
        let oldest_first = self.parts.iter().rev();
        oldest_first
            .map(|part| part.tail.net_edits(part.visible))
            .collect()
    }

    /// Whether what the packed tables say of a document does not count.
    pub(crate) fn touches(&self, id: DocId) -> bool {
        self.parts.iter().any(|part| part.version(id).is_some())
    }

    /// A document, if it is touched.
    pub(crate) fn edit(&self, id: DocId) -> Option<Current> {
        let mut versions = self.parts.iter().filter_map(|part| part.version(id));
        let last = versions.next()?;
        let text = match &last.text {
            TextEdit::Keep => versions
                .map(|version| &version.text)
                .find(|text| **text != TextEdit::Keep)
                .unwrap_or(&TextEdit::Keep),
            text => text,
        };
        Some(Current {
            state: last.after,
            text: text.clone(),
        })
    }

    /// The documents that are touched, removed ones too, in ascending order: made anew, in about
    /// 50 ns for each.
    pub(crate) fn sorted_ids(&self) -> Vec<DocId> {
        let mut ids: Vec<DocId> = Vec::new();
        for part in self.parts.iter() {
            ids.extend(part.tail.documents(part.visible).map(|(id, _)| id));
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

    /// Every reliable document of the memtables within the radius of which what is stored passes, nearest
    /// first, then smallest id: the first `limit`. At most that many documents are taken of each
    /// fingerprint, and of a distance only if those nearer were not enough.
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

    /// The distinct fingerprints within the radius that some document has or had: for each, its
    /// distance and in which of the memtables, in this order.
    fn near(&self, query: Fingerprint, radius: u32) -> Vec<(u32, usize, u64)> {
        let (mut near, mut found) = (Vec::new(), Vec::new());
        for (age, part) in self.parts.iter().enumerate() {
            part.tail.distinct.push_near(query, radius, &mut found);
            near.extend(found.drain(..).map(|bits| {
                let distance = query.distance(Fingerprint::from_bits(bits));
                (distance, age, bits)
            }));
        }
        near.sort_unstable();
        near
    }

    /// The first `most` documents, in order of their ids, that have this band key by a text that
    /// the memtables put, and of which what is stored passes.
    pub(crate) fn in_band(
        &self,
        key: u64,
        most: usize,
        passes: impl Fn(StoredDocument) -> bool,
    ) -> Vec<DocId> {
        let has_key = |id: DocId| {
            let current = self.edit(id);
            current.is_some_and(|current| {
                let has_key = matches!(&current.text, TextEdit::Put(banded) if banded.has_key(key));
                has_key && current.state.is_some_and(&passes)
            })
        };
        let mut found: Vec<DocId> = Vec::new();
        for part in self.parts.iter() {
            found.extend(part.in_band(key).filter(|id| has_key(*id)).take(most));
        }
        // What a newer tail has put as well, an older one has given too.
        found.sort_unstable();
        found.dedup();
        found.truncate(most);
        found
    }

    /// The first `most` documents, in order of their ids, that have a fingerprint by one of the
    /// memtables, and of which what is stored passes.
    fn for_each_document(
        &self,
        age: usize,
        fingerprint: Fingerprint,
        most: usize,
        passes: &impl Fn(StoredDocument) -> bool,
        mut visitor: impl FnMut(DocId),
    ) {
        let (newer, part) = (&self.parts[..age], &self.parts[age]);
        let (mut slots, mut after, mut left) = (Vec::new(), None, most);
        loop {
            let bits = fingerprint.bits();
            let goes_on = part.tail.postings.read(bits).read(bits, after, &mut slots);
            for slot in &slots {
                let Some(version) = part.tail.versions.get(*slot) else {
                    continue;
                };
                let id = version.id;
                after = Some(id);
                let state = part.state_with(fingerprint, *slot, version);
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

/// Matches of a distance that are gathered before those beyond the limit are dropped.
const MOST_KEPT: usize = 1024;

/// Sorts the matches from one on, and drops all of them but the first `limit`.
fn keep_first(matches: &mut Vec<Match>, from: usize, limit: usize) {
    matches[from..].sort_unstable_by_key(|found| found.id);
    matches.truncate(from.saturating_add(limit));
}

impl Part {
    fn version(&self, id: DocId) -> Option<&Version> {
        self.tail.version(id, self.visible)
    }

    /// The documents that had a text with this band key at some time, in order of their ids.
    fn in_band(&self, key: u64) -> impl Iterator<Item = DocId> {
        let (mut after, mut goes_on) = (None, true);
        let pieces = std::iter::from_fn(move || {
            if !goes_on {
                return None;
            }
            let mut slots = Vec::new();
            goes_on = self.tail.bands.read(key).read(key, after, &mut slots);
            let ids = |slot: &u32| Some((*slot, self.tail.versions.get(*slot)?.id));
            let posted: Vec<(u32, DocId)> = slots.iter().filter_map(ids).collect();
            after = posted.last().map(|(_, id)| *id).or(after);
            Some(posted)
        });
        let seen = |(slot, id): (u32, DocId)| (slot < self.visible).then_some(id);
        pieces.flatten().filter_map(seen)
    }

    /// What is stored of a document if it has the fingerprint, given the version by which it first
    /// had it.
    fn state_with(
        &self,
        fingerprint: Fingerprint,
        slot: u32,
        first: &Version,
    ) -> Option<StoredDocument> {
        if slot >= self.visible {
            return None;
        }
        if first.is_last(self.visible) {
            return first.after;
        }
        let last = self.version(first.id)?.after;
        last.filter(|_| found_by(last) == Some(fingerprint))
    }
}
