//! The overlay of a view: the edits of a batch that is not committed yet, in a memtable of their
//! own.

use std::sync::Arc;

use super::Memtable;
use super::view::{MemtableView, VisibleMemtable};
use crate::store::tables::edit::DocumentEdit;

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
