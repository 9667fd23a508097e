//! What is found as columns of Parquet: ids, and the distance of two of them.

use anyhow::Result;
use parquet::file::metadata::KeyValue;

use super::{Of, Sink};
use crate::formats::parquet::metadata::recipe_pairs;
use crate::formats::parquet::write::{GROUP_ROWS, NewColumn, ParquetWriter, Values};

/// The version of the layout of files of what was found.
const LAYOUT: &str = "1";
/// The radius within which it was looked for.
const RADIUS_KEY: &str = "simdb.radius";

/// Rows on their way into a file.
pub struct FoundTable<const IDS: usize> {
    writer: ParquetWriter,
    ids: [Vec<i64>; IDS],
    distances: Vec<i32>,
}

impl<const IDS: usize> FoundTable<IDS> {
    /// No rows yet. `key` is under which the file says what it holds.
    pub fn new(key: &str, ids: [&'static str; IDS], of: Of<'_>) -> Result<Self> {
        let mut columns: Vec<NewColumn> = ids.map(NewColumn::ascending).into();
        columns.push(NewColumn::small("distance"));
        let mut about = recipe_pairs(of.recipe);
        let own = [
            (key, LAYOUT.to_owned()),
            (RADIUS_KEY, of.radius.to_string()),
        ];
        about.extend(own.map(|(key, value)| KeyValue::new(key.to_owned(), value)));
        Ok(Self {
            writer: ParquetWriter::new(&columns, about)?,
            ids: [const { Vec::new() }; IDS],
            distances: Vec::new(),
        })
    }

    /// Takes a row, and hands over the bytes of a row group when there are enough.
    pub fn push(&mut self, ids: [u64; IDS], distance: u32, sink: &mut Sink<'_>) -> Result<()> {
        for (column, id) in self.ids.iter_mut().zip(ids) {
            column.push(id as i64);
        }
        self.distances.push(distance as i32);
        match self.distances.len() {
            GROUP_ROWS => self.group(sink),
            _ => Ok(()),
        }
    }

    /// Hands over the rest.
    pub fn finish(mut self, sink: &mut Sink<'_>) -> Result<()> {
        if !self.distances.is_empty() {
            self.group(sink)?;
        }
        sink.bytes(&self.writer.finish()?)
    }

    fn group(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        let ids = self.ids.iter().map(|column| Values::Int64(column));
        let columns: Vec<Values<'_>> = ids.chain([Values::Int32(&self.distances)]).collect();
        sink.bytes(&self.writer.group(&columns)?)?;
        self.ids.iter_mut().for_each(Vec::clear);
        self.distances.clear();
        Ok(())
    }
}
