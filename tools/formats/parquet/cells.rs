//! [`Cells`]: some columns of a file, row by row.

use anyhow::{Context, Result, ensure};

use super::column::{Cell, Column};
use super::file::ParquetFile;
use super::kind::Role;
use super::schema::{Leaf, required};
use crate::formats::edge::at_edge;

/// Reads the rows of some columns of a file, counted from 0.
pub struct Cells<const COLUMNS: usize> {
    file: ParquetFile,
    leaves: [Leaf; COLUMNS],
    /// The row group after the one that is being read.
    next_group: usize,
    columns: Vec<Column>,
    /// The number of the next row.
    row: u64,
    /// How many rows there are up to the end of the group that is being read.
    group_end: u64,
}

impl<const COLUMNS: usize> Cells<COLUMNS> {
    /// Reads the columns of these names. An error if one is not there, or cannot be read for that.
    pub fn new(file: ParquetFile, wanted: [(&str, Role); COLUMNS]) -> Result<Self> {
        let leaves = wanted.map(|(name, role)| required(&file, name, role));
        let leaves: Vec<Leaf> = leaves.into_iter().collect::<Result<_>>()?;
        let leaves = leaves.try_into().ok();
        Ok(Self {
            leaves: leaves.context("there is a column too few")?,
            file,
            next_group: 0,
            columns: Vec::new(),
            row: 0,
            group_end: 0,
        })
    }

    /// The next row and its number; nothing at the end.
    pub fn next(&mut self) -> Result<Option<(u64, [Cell; COLUMNS])>> {
        let row = self.row;
        let cells = at_edge(|| self.next_cells());
        let cells =
            cells.with_context(|| format!("cannot read {} beyond row {row}", self.file.name()))?;
        self.row += u64::from(cells.is_some());
        Ok(cells.map(|cells| (row, cells)))
    }

    fn next_cells(&mut self) -> Result<Option<[Cell; COLUMNS]>> {
        while self.row == self.group_end {
            for column in &mut self.columns {
                ensure!(column.next()?.is_none(), UNEQUAL);
            }
            if self.next_group == self.file.metadata().num_row_groups() {
                return Ok(None);
            }
            let group = self.next_group;
            self.next_group += 1;
            let rows = u64::try_from(self.file.metadata().row_group(group).num_rows())?;
            self.group_end = self.row.saturating_add(rows);
            let columns = self.leaves.iter();
            let columns = columns.map(|leaf| leaf.column(&self.file, group));
            self.columns = columns.collect::<Result<_>>()?;
        }
        let mut cells = [const { Cell::Null }; COLUMNS];
        for (cell, column) in cells.iter_mut().zip(&mut self.columns) {
            *cell = column.next()?.context(UNEQUAL)?;
        }
        Ok(Some(cells))
    }
}

const UNEQUAL: &str = "it is damaged: a row group has not as many rows as it says";
