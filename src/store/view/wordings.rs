//! The packed wordings of documents: of the memtables, and of the cache.

use super::View;
use crate::analysis::Sketch;
use crate::error::Result;
use crate::ids::DocId;
use crate::measure::{PackedWording, WordingSize};
use crate::store::tables::edit::TextEdit;
use crate::store::view::source::FingerprintSource;
use crate::text::Normaliser;

impl<T: FingerprintSource> View<T> {
    /// Calls `visitor` with the packed wording of each of these documents that is in
    /// memory, except cached wordings of a size that `accepts` rejects. Returns the documents that are not
    /// in memory, whose texts must be read.
    pub(crate) fn visit_wordings(
        &self,
        normaliser: &Normaliser,
        documents: &[DocId],
        accepts: impl Fn(WordingSize) -> bool,
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
                let keyed = match &latest.text {
                    TextEdit::Put(keyed) => keyed.packed(normaliser),
                    TextEdit::Keep | TextEdit::Remove => None,
                };
                match (latest.state, keyed) {
                    (Some(_), Some(packed)) => visitor(*id, packed),
                    _ => others.push(*id),
                }
            }
            &in_tables
        };
        match self.tables.wordings() {
            Some((cache, commit)) => {
                others.extend(cache.visit(in_tables, commit, accepts, visitor))
            }
            None => others.extend(in_tables),
        }
        others
    }

    /// The text and the sketch of a document, if [`keep_wording`](Self::keep_wording) may keep its wording.
    pub(crate) fn text_to_keep(&self, id: DocId) -> Result<Option<(String, Option<Sketch>)>> {
        if self.tables.wordings().is_some() && self.is_in_tables(id) {
            self.tables.text_with_sketch(id)
        } else {
            Ok(None)
        }
    }

    /// Keeps the sketch and the packed wording of a document of the tables in memory.
    pub(crate) fn keep_wording(&self, id: DocId, sketch: Option<Sketch>, packed: &[u8]) {
        if let Some((cache, commit)) = self.tables.wordings() {
            cache.insert(id, commit, sketch, packed);
        }
    }
}
