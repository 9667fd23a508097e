//! Tails into the tables, in the background and at the end.

use std::sync::PoisonError;

use crate::error::Result;
use crate::store::Store;
use crate::store::journal::Journal;
use crate::store::merge::merge;
use crate::store::pen::Pen;
use crate::store::schema::JournalMark;

impl Store {
    /// Merges what is set aside, as it is, until [`stop_merging`](Self::stop_merging) is called.
    pub(crate) fn merge_as_it_comes(&self) {
        loop {
            let mut tails = self.online.tails();
            while tails.older.is_none() || tails.has_failed {
                if tails.is_closing {
                    return;
                }
                tails = self.online.wait(tails);
            }
            if tails.is_closing {
                return;
            }
            drop(tails);
            if let Err(error) = self.merge_older() {
                self.fail(Some(error));
            }
        }
    }

    /// From now on nobody merges but who settles.
    pub(crate) fn stop_merging(&self) {
        self.online.tails().is_closing = true;
        self.online.tails_changed.notify_all();
    }

    /// Somebody merges again.
    pub(crate) fn start_merging(&self) {
        self.online.tails().is_closing = false;
    }

    /// Merges the tail that is set aside, if there is one.
    fn merge_older(&self) -> Result<()> {
        let merging = self.online.merging.lock();
        let _merging = merging.unwrap_or_else(PoisonError::into_inner);
        let (older, mark) = {
            let tails = self.online.tails();
            let Some(older) = tails.older.clone() else {
                return Ok(());
            };
            let open = tails.current.is_some();
            let merged_generation = tails.generation - u64::from(open);
            let mark = JournalMark {
                open,
                merged_generation,
            };
            (older, mark)
        };
        self.place.guarded(|| {
            merge(
                &older.net_edits(older.len()),
                || self.begin_on_tables(),
                |last| last.mark_journal(mark),
            )
        })?;
        let mut tails = self.online.tails();
        tails.older = None;
        if !mark.open {
            tails.counts = None;
        }
        self.online.tails_changed.notify_all();
        Ok(())
    }

    /// Merges everything: the tables then hold what the database holds.
    pub(crate) fn settle(&self, pen: &mut Pen) -> Result<()> {
        {
            let mut tails = self.online.tails();
            if tails.has_failed {
                return Err(self.refusal(&mut tails));
            }
        }
        self.merge_older().inspect_err(|_| self.fail(None))?;
        {
            let mut tails = self.online.tails();
            let Some((tail, _)) = tails.current.take() else {
                return Ok(());
            };
            tails.older = Some(tail);
            *pen.writing() = None;
        }
        self.merge_older().inspect_err(|_| self.fail(None))
    }

    /// How many tails there were: each was merged before the next but one began.
    pub(crate) fn generation(&self) -> u64 {
        self.online.tails().generation
    }

    /// Merges everything and removes the journals.
    pub(crate) fn close(&self) -> Result<()> {
        if self.refuse_changes().is_err() {
            return Ok(());
        }
        let mut pen = self.online.pen.take();
        self.settle(&mut pen)?;
        let mut tails = self.online.tails();
        if std::mem::take(&mut tails.has_files) {
            let last = tails.generation;
            for generation in [last.saturating_sub(1), last] {
                Journal::remove(&self.online.file, generation)?;
            }
        }
        Ok(())
    }
}
