//! The overlay of a view: edits of a batch that is not committed yet, in a memtable of its own.

use std::sync::Arc;

use super::view::{MemtableView, VisibleMemtable};
use super::{FEW, Memtable};
use crate::store::tables::edit::DocumentEdit;

impl Memtable {
    /// A memtable for one thread. It has one shard instead of 256 and never appends on other threads:
    /// most overlays hold fewer than a hundred edits and live for less than a millisecond.
    fn scratch() -> Self {
        Self::with_limits(1, FEW, usize::MAX)
    }
}

impl MemtableView {
    /// Lays edits over the view. No other view sees them.
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

    /// A view of the overlay alone; empty if there is none.
    pub(crate) fn overlay_only(&self) -> Self {
        Self {
            parts: self.parts[..usize::from(self.has_overlay)].to_vec(),
            has_overlay: self.has_overlay,
        }
    }
}
