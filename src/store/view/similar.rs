//! Similar search: the documents whose texts a search of the forest finds, and their wordings in
//! memory.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use foldhash::fast::RandomState;
use redb::ReadableTable;

use super::View;
use crate::analysis::PackedWording;
use crate::analysis::Sketch;
use crate::error::Result;
use crate::forest::{ForestEntries, ForestEntry, ForestSearch, ForestSpan, keys_of_first_level};
use crate::ids::DocId;
use crate::ids::scope::IdRanges;
use crate::record::Record;
use crate::store::cache::nodes::{MAX_ENTRIES, NodeCache, Visit};
use crate::store::cache::wordings::WordingCache;
use crate::store::memtable::MemtableView;
use crate::store::tables::edit::TextEdit;
use crate::store::tables::packed::Packed;
use crate::store::tables::schema::TEXT_KEYS;
use crate::store::view::access::ViewAccess;

/// Documents whose sketches are compared together: the places of their sketches are fetched at the
/// same time.
const COMPARED_TOGETHER: usize = 1 << 10;

/// Splits the documents that a search of the tables finds: sketch near, or sketch unknown.
struct SketchFilter<'c> {
    /// The cache, and the commit that the tables show.
    wordings: Option<(&'c WordingCache, u64)>,
    /// The last found documents, with repetitions, at most [`COMPARED_TOGETHER`].
    last: Vec<DocId>,
    /// Documents with a near sketch.
    near: HashSet<DocId, RandomState>,
    /// Documents whose sketch is not known without a lock.
    unknown: HashSet<DocId, RandomState>,
    /// Buffers.
    accepted: Vec<DocId>,
    others: Vec<DocId>,
}

impl<'c> SketchFilter<'c> {
    fn new(wordings: Option<(&'c WordingCache, u64)>) -> Self {
        Self {
            wordings,
            last: Vec::with_capacity(COMPARED_TOGETHER),
            near: HashSet::default(),
            unknown: HashSet::default(),
            accepted: Vec::new(),
            others: Vec::new(),
        }
    }

    fn add(&mut self, id: DocId, search: &ForestSearch<'_>) {
        self.last.push(id);
        if self.last.len() == COMPARED_TOGETHER {
            self.compare_last(search);
        }
    }

    fn compare_last(&mut self, search: &ForestSearch<'_>) {
        match self.wordings {
            Some((cache, commit)) => {
                let accepts = |sketch| search.may_be_near(sketch);
                let (accepted, others) = (&mut self.accepted, &mut self.others);
                cache.filter_unlocked(&self.last, commit, accepts, accepted, others);
                self.near.extend(accepted.drain(..));
                self.unknown.extend(others.drain(..));
                self.last.clear();
            }
            None => self.unknown.extend(self.last.drain(..)),
        }
    }

    fn into_near_and_unknown(mut self, search: &ForestSearch<'_>) -> (Vec<DocId>, Vec<DocId>) {
        self.compare_last(search);
        let [near, unknown] = [self.near, self.unknown].map(|ids| ids.into_iter().collect());
        (near, unknown)
    }
}

impl<A: ViewAccess> View<A> {
    pub(crate) fn keeps_forest(&self) -> bool {
        self.tables.kept(TEXT_KEYS).is_some()
    }

    /// The documents among some ids that a search of the forest finds and whose sketch may be near,
    /// ascending by id, each once. Expired documents are left out. Each scope is searched by
    /// itself.
    ///
    /// Memory: some 30 bytes for each document found, 16 for each entry of the largest node, and 16
    /// for each entry found in a memtable. A document that several trees find counts several times.
    pub(crate) fn candidates_in_forest(
        &self,
        search: &ForestSearch<'_>,
        among: &IdRanges,
    ) -> Result<Vec<DocId>> {
        let scopes = self.scopes_of(among);
        let mut documents = match self.tables.kept(TEXT_KEYS) {
            Some(forest) => {
                let forest = CachedForest {
                    forest,
                    nodes: self.nodes(),
                };
                let mut found = SketchFilter::new(self.wordings());
                for scope in &scopes {
                    search.run(&forest, *scope, &mut |(_, id)| {
                        if among.contains(DocId(id)) {
                            found.add(DocId(id), search);
                        }
                    })?;
                }
                let (mut near, unknown) = found.into_near_and_unknown(search);
                let accepts = |sketch| search.may_be_near(sketch);
                near.extend(self.accepted_in_tables(&unknown, accepts)?);
                near
            }
            None => Vec::new(),
        };
        let mut failed = Ok(());
        documents.retain(|id| match self.has_text_in_tables(*id) {
            Ok(has_text) => has_text,
            Err(error) => {
                failed = Err(error);
                false
            }
        });
        failed?;
        documents.extend(self.candidates_in(&self.memtables, search, among)?);
        documents.sort_unstable();
        documents.dedup();
        Ok(documents)
    }

    /// The [candidates](Self::candidates_in_forest) whose text is in the overlay of the view.
    pub(crate) fn candidates_in_overlay(
        &self,
        search: &ForestSearch<'_>,
        among: &IdRanges,
    ) -> Result<Vec<DocId>> {
        self.candidates_in(&self.memtables.overlay_only(), search, among)
    }

    fn candidates_in(
        &self,
        memtables: &MemtableView,
        search: &ForestSearch<'_>,
        among: &IdRanges,
    ) -> Result<Vec<DocId>> {
        let mut found = Vec::new();
        for scope in self.scopes_of(among) {
            let documents = memtables.in_forest(search, scope, |state| self.answers(state))?;
            found.extend(documents.into_iter().filter(|id| among.contains(*id)));
        }
        // A search may find documents of other scopes.
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The documents whose sketch in the tables is accepted. A sketch that is read from the tables
    /// is kept in memory.
    fn accepted_in_tables(
        &self,
        documents: &[DocId],
        accepts: impl Fn(Option<Sketch>) -> bool,
    ) -> Result<Vec<DocId>> {
        let mut accepted = Vec::new();
        let mut visit = |id, sketch| {
            if accepts(sketch) {
                accepted.push(id);
            }
        };
        let cache = self.wordings();
        let mut missing = match cache {
            Some((cache, commit)) => cache.visit_sketches(documents, commit, &mut visit),
            None => documents.to_vec(),
        };
        // Reading the following rows costs a tenth of a look-up, so a cold cache is filled ahead.
        missing.sort_unstable();
        let mut walked = Vec::new().into_iter().peekable();
        for id in missing {
            while walked.next_if(|(other, _)| *other < id).is_some() {}
            let mut ahead = walked.next_if(|(other, _)| *other == id);
            if ahead.is_none()
                && let Some((cache, commit)) = cache
            {
                let wants = |other| other == id || cache.lacks_dense(other);
                let read = self.tables.sketches_from(id, wants);
                for (id, sketch) in &read {
                    cache.insert_sketch(*id, commit, *sketch);
                }
                walked = read.into_iter().peekable();
                ahead = walked.next_if(|(other, _)| *other == id);
            }
            let sketch = match ahead {
                Some((_, sketch)) => sketch,
                None => {
                    let sketch = self.tables.sketch(id)?;
                    if let Some((cache, commit)) = cache {
                        cache.insert_sketch(id, commit, sketch);
                    }
                    sketch
                }
            };
            visit(id, sketch);
        }
        Ok(accepted)
    }

    /// Calls `visitor` with the packed wording of each of these documents that is in memory, except
    /// cached wordings of a size that `accepts` rejects. Returns the documents that are not in
    /// memory, whose texts must be read.
    pub(crate) fn visit_wordings(
        &self,
        documents: &[DocId],
        accepts: impl Fn(u32) -> bool,
        mut visitor: impl FnMut(DocId, PackedWording<'_>),
    ) -> Vec<DocId> {
        let (mut others, mut in_tables) = (Vec::new(), Vec::new());
        let in_tables = if self.memtables.is_empty() {
            documents
        } else {
            for id in documents {
                let Some(latest) = self.memtables.latest(*id) else {
                    in_tables.push(*id);
                    continue;
                };
                let packed = latest.text.text().and_then(|text| text.packed());
                match (latest.state, packed) {
                    (Some(_), Some(packed)) => visitor(*id, packed),
                    _ => others.push(*id),
                }
            }
            &in_tables
        };
        match self.wordings() {
            Some((cache, commit)) => {
                others.extend(cache.visit(in_tables, commit, accepts, visitor))
            }
            None => others.extend(in_tables),
        }
        others
    }

    /// The text and the sketch of a document, if [`keep_wording`](Self::keep_wording) may keep its
    /// wording.
    pub(crate) fn text_to_keep(&self, id: DocId) -> Result<Option<(Record, Option<Sketch>)>> {
        if self.wordings().is_some() && self.is_in_tables(id) {
            let stored = self.tables.record_with_sketch(id)?;
            Ok(stored.filter(|(record, _)| record.has_text()))
        } else {
            Ok(None)
        }
    }

    /// Keeps the sketch and the packed wording of a document of the tables in memory.
    pub(crate) fn keep_wording(&self, id: DocId, sketch: Option<Sketch>, packed: &[u8]) {
        if let Some((cache, commit)) = self.wordings() {
            cache.insert(id, commit, sketch, packed);
        }
    }

    /// The nodes in memory, and the commit that the tables show.
    fn nodes(&self) -> Option<(&NodeCache, u64)> {
        let (caches, commit) = self.tables.access.caches()?;
        Some((caches.nodes.as_ref()?, commit))
    }

    /// The sketches and wordings in memory, and the commit that the tables show.
    fn wordings(&self) -> Option<(&WordingCache, u64)> {
        let (caches, commit) = self.tables.access.caches()?;
        Some((caches.wordings.as_ref()?, commit))
    }

    /// Returns `true` if the document is stored and not expired, and its text is the text in the
    /// tables.
    fn has_text_in_tables(&self, id: DocId) -> Result<bool> {
        let Some(latest) = self.memtables.latest(id) else {
            return self.answers_from_tables(id);
        };
        let state = latest.state.filter(|_| latest.text == TextEdit::Keep);
        Ok(state.is_some_and(|state| self.answers(state)))
    }
}

/// The forest in the tables, its nodes read through the cache.
struct CachedForest<'v, P> {
    forest: &'v Packed<P>,
    nodes: Option<(&'v NodeCache, u64)>,
}

impl<P: ReadableTable<u128, &'static [u8]>> ForestEntries for CachedForest<'_, P> {
    fn fetch(&self, keys: &[u64]) {
        if let Some((cache, _)) = self.nodes {
            cache.touch(keys);
        }
    }

    fn visit_span(
        &self,
        first: u64,
        visitor: &mut dyn FnMut(&dyn ForestSpan) -> Result<()>,
    ) -> Result<()> {
        if let Some((cache, commit)) = self.nodes {
            let mut visit = cache.visit(first, commit, visitor)?;
            // A whole node takes longer to read than a chunk. So a node is read whole only if the
            // cache has room, and only by a snapshot that sees the last change of the node.
            if visit == Visit::Missing && cache.has_room() {
                let mut entries = Vec::new();
                let keys = keys_of_first_level(first);
                let is_whole = self.forest.read(keys, MAX_ENTRIES, &mut entries)?;
                cache.insert(first, commit, is_whole.then_some(&entries));
                visit = cache.visit(first, commit, visitor)?;
            }
            if visit == Visit::Done {
                return Ok(());
            }
        }
        self.forest.visit_span(first, visitor)
    }

    fn read(
        &self,
        keys: RangeInclusive<u64>,
        most: usize,
        entries: &mut Vec<ForestEntry>,
    ) -> Result<bool> {
        self.forest.read(keys, most, entries)
    }
}
