//! The frames of an open database. They are learned while texts arrive, or set by the caller, and
//! are no part of a snapshot.

use std::sync::Arc;

use crate::analysis::frames::{FrameLearner, Frames, TextEnds};
use crate::error::Result;
use crate::store::disk::path::RedbResult;
use crate::store::tables::frames::{self, FRAMES};
use crate::store::view::table_store::{FramesInUse, TableStore};

impl TableStore {
    /// The frames that texts are compared without.
    pub(crate) fn frames(&self) -> Result<Arc<Frames>> {
        if let FramesInUse::Learned(frames) | FramesInUse::Set(frames) = &*self.frames.in_use.read()
        {
            return Ok(Arc::clone(frames));
        }
        let frames = self.with_learner(|learner| Arc::clone(learner.frames()))?;
        Ok(frames.unwrap_or_default())
    }

    /// The frames with the number of texts that have them now.
    pub(crate) fn counted_frames(&self) -> Result<Frames> {
        if let FramesInUse::Set(frames) = &*self.frames.in_use.read() {
            return Ok(Frames::clone(frames));
        }
        let counted = self.with_learner(|learner| learner.counted())?;
        Ok(counted.unwrap_or_default())
    }

    pub(crate) fn set_frames(&self, frames: Frames) {
        *self.frames.in_use.write() = FramesInUse::Set(Arc::new(frames));
    }

    /// Counts the ends of texts of scopes. Without effect in a database that keeps no frames.
    pub(crate) fn learn(&self, texts: Vec<(u64, TextEnds)>) -> Result<()> {
        self.with_learner(|learner| learner.learn(texts)).map(drop)
    }

    /// The rows of all that was learned; none in a database that keeps no frames.
    pub(crate) fn all_frame_rows(&self) -> Result<Vec<(u8, Vec<u8>)>> {
        let rows = self.with_learner(|learner| learner.all_rows())?;
        Ok(rows.unwrap_or_default())
    }

    /// The rows to store: all that changed since the last call.
    pub(crate) fn take_changed_frame_rows(&self) -> Vec<(u8, Vec<u8>)> {
        let mut learner = self.frames.learner.lock();
        let learner = learner.as_mut();
        learner.map_or(Vec::new(), |learner| learner.take_changed_rows())
    }

    /// Returns `true` if the file lacks some of what was learned.
    pub(crate) fn has_changed_frame_rows(&self) -> bool {
        let learner = self.frames.learner.lock();
        learner
            .as_ref()
            .is_some_and(|learner| learner.has_changed_rows())
    }

    /// Treats all rows as changed, after a write that failed.
    pub(crate) fn set_frame_rows_changed(&self) {
        if let Some(learner) = &mut *self.frames.learner.lock() {
            learner.set_changed();
        }
    }

    /// Reads table `frames`; `None` in a database that keeps no frames.
    pub(crate) fn read_learner(&self) -> Result<Option<FrameLearner>> {
        if self.header.frames == 0 {
            return Ok(None);
        }
        let db_path = self.db_path.read_only();
        db_path.catch_failed_reads(|| {
            let transaction = self.backend.begin_read()?;
            let table = transaction.open_table(FRAMES).reading(&db_path)?;
            frames::read(&table, self.header.frames, &db_path).map(Some)
        })
    }

    /// Calls `work` with the learner, and uses the frames that it then has. `None` in a database
    /// that keeps no frames.
    fn with_learner<R>(&self, work: impl FnOnce(&mut FrameLearner) -> R) -> Result<Option<R>> {
        let mut held = self.frames.learner.lock();
        if held.is_none() {
            *held = self.read_learner()?.map(Box::new);
        }
        let Some(learner) = &mut *held else {
            return Ok(None);
        };
        let result = work(learner);
        let mut in_use = self.frames.in_use.write();
        if !matches!(*in_use, FramesInUse::Set(_)) {
            *in_use = FramesInUse::Learned(Arc::clone(learner.frames()));
        }
        Ok(Some(result))
    }
}
