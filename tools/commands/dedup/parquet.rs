//! The second reading of a corpus of Parquet: rows are copied as they are.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::{Result, anyhow, bail};

use super::copy::{Copier, Part};
use super::output::NewCorpus;
use super::summary::Tally;
use crate::console::interrupt::Interrupt;
use crate::corpus::ledger::Ledger;
use crate::formats::parquet::copy::{self, Fate, Mark};
use crate::formats::reader;

impl Copier<'_> {
    /// Copies the one input, and says what became of each row.
    pub(super) fn copy_rows(
        &mut self,
        ledger: &mut Ledger,
        tally: &mut Tally,
        file: &mut NewCorpus,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let [input] = &ledger.inputs[..] else {
            bail!("of Parquet one file is read");
        };
        let input = input.clone();
        let Some(path) = input.source.path() else {
            bail!("Parquet is read from a file");
        };
        let bar = self.options.progress.bytes(input.source.size_bytes());
        bar.set_prefix("writing");
        let bytes_read = Arc::<AtomicU64>::default();
        let mut records = reader(
            input.format,
            &input.source,
            &self.options.wanted()?,
            &bytes_read,
        )?;
        let marks = self.marks.clone();
        let mut fate = |row: u64| {
            interrupt.check()?;
            let item = records.next()?.filter(|item| item.number() == row);
            let item = item.ok_or_else(|| anyhow!("row {row} is not where it was"))?;
            bar.set_position(bytes_read.load(std::sync::atomic::Ordering::Relaxed));
            Ok(match self.part_of(0, item, ledger, tally)? {
                Part::Mark(Some(removed)) => Fate::Keep(Some(Mark {
                    keeper: removed.keeper,
                    distance: Some(removed.distance),
                })),
                Part::Keep | Part::Mark(None) => Fate::Keep(None),
                Part::Drop | Part::Head => Fate::Drop,
            })
        };
        match marks {
            None => copy::copy_rows(path, file, &mut fate),
            Some(marks) => {
                let names = [&marks.keeper[..], &marks.distance];
                copy::mark_rows(path, file, names, &mut fate)
            }
        }?;
        bar.finish_and_clear();
        tally.identical += self.identical();
        Ok(())
    }
}
