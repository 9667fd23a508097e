//! The overlay of a view: the edits of a batch that is not committed yet, in a memtable of their own.

use std::sync::Arc;

use super::forest::MemtableForest;
use super::view::{MemtableView, VisibleMemtable};
use super::{MAX_LIST_LEN, Memtable};
use crate::store::tables::edit::DocumentEdit;

impl Memtable {
    /// A memtable for one thread.
    fn scratch() -> Self {
        // One shard instead of 256, and no parallel appends: most overlays hold fewer than a hundred
        // edits and live for less than a millisecond.
        Self {
            forest: MemtableForest::for_few_texts(),
            ..Self::with_limits(1, MAX_LIST_LEN, usize::MAX)
        }
    }
}

impl MemtableView {
    /// Lays edits over this view. Other views do not see the edits.
    pub(crate) fn overlay(&mut self, edits: &[DocumentEdit]) {
        if !self.has_overlay {
            let overlay = VisibleMemtable {
                memtable: Arc::new(Memtable::scratch()),
                visible: 0,
            };
            self.parts.insert(0, overlay);
            self.has_overlay = true;
        }
        let overlay = &mut self.parts[0];
        overlay.visible = overlay.memtable.append(edits);
    }

    /// A view of the overlay alone; empty without an overlay.
    pub(crate) fn overlay_only(&self) -> Self {
        Self {
            parts: self.parts[..usize::from(self.has_overlay)].to_vec(),
            has_overlay: self.has_overlay,
        }
    }
}
