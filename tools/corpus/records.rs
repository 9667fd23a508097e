//! [`InputRecords`]: the records of all inputs, read on one thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;

use super::inputs::Input;
use crate::console::interrupt::Interrupt;
use crate::console::progress::ProgressMode;
use crate::formats::{Item, Wanted, reader};

/// Inputs, and the parts of their records that are read.
#[derive(Clone, Copy)]
pub struct InputRecords<'i> {
    pub inputs: &'i [Input],
    pub wanted: &'i Wanted,
    pub progress: ProgressMode,
    pub interrupt: &'i Interrupt,
}

/// Returns the next record of an input; `None` at the end.
pub type NextRecord<'n> = dyn FnMut() -> Result<Option<Item>> + 'n;

impl InputRecords<'_> {
    /// Calls `visit` with the index of the input and the record, in order. A progress bar with this
    /// name shows the bytes read.
    pub fn for_each(
        &self,
        name: &'static str,
        mut visit: impl FnMut(usize, Item) -> Result<()>,
    ) -> Result<()> {
        self.for_each_input(name, |index, _, next| {
            while let Some(item) = next()? {
                visit(index, item)?;
            }
            Ok(())
        })
    }

    /// Calls `visit` with the index of each input, the input and its records. `visit` reads all
    /// records.
    pub fn for_each_input(
        &self,
        name: &'static str,
        mut visit: impl FnMut(usize, &Input, &mut NextRecord<'_>) -> Result<()>,
    ) -> Result<()> {
        let sizes = self.inputs.iter().map(|input| input.source.size_bytes());
        let bar = self.progress.bytes(sizes.sum());
        bar.set_prefix(name);
        let bytes_read = Arc::<AtomicU64>::default();
        let mut wanted = self.wanted.clone();
        for (index, input) in self.inputs.iter().enumerate() {
            let mut records = reader(input.format, &input.source, &wanted, &bytes_read)?;
            visit(index, input, &mut || {
                self.interrupt.check()?;
                bar.set_position(bytes_read.load(Ordering::Relaxed));
                records.next()
            })?;
            // Counted ids continue from input to input.
            wanted.counted = records.next_ids().or(wanted.counted);
        }
        bar.finish_and_clear();
        Ok(())
    }
}
