//! [`ResultTable`]: results as rows of ids and a distance, in CSV or Parquet.

use anyhow::Result;
use simdb::Recipe;

use super::{ResultFormat, ResultSink};
use crate::formats::parquet::metadata::{pair, recipe_pairs};
use crate::formats::parquet::write::{NewColumn, ParquetWriter};

/// The version of the layout of Parquet files of results.
const LAYOUT: &str = "1";
/// The key of the radius of the search.
const RADIUS_KEY: &str = "simdb.radius";

/// The settings of a search; Parquet files of results have them beside their schema.
#[derive(Clone, Copy, Debug)]
pub struct SearchSettings<'r> {
    /// The recipe of the fingerprints.
    pub recipe: &'r Recipe,
    /// The largest distance of near-duplicates.
    pub radius: u32,
}

/// Rows on their way to a sink.
pub enum ResultTable {
    /// Lines of comma-separated values.
    Csv,
    /// Columns of Parquet.
    Parquet(Box<ParquetWriter>),
}

impl ResultTable {
    /// Starts a table with these columns, of which the last is a distance; `None` if the format is
    /// JSON Lines. `key` says in a Parquet file which results it has.
    pub fn new(
        format: ResultFormat,
        key: &str,
        columns: &[&'static str],
        settings: SearchSettings<'_>,
        sink: &mut ResultSink<'_>,
    ) -> Result<Option<Self>> {
        match format {
            ResultFormat::Jsonl => Ok(None),
            ResultFormat::Csv => {
                sink.bytes(format!("{}\n", columns.join(",")).as_bytes())?;
                Ok(Some(Self::Csv))
            }
            ResultFormat::Parquet => {
                let mut keys = recipe_pairs(settings.recipe);
                keys.push(pair(key, LAYOUT));
                keys.push(pair(RADIUS_KEY, settings.radius.to_string()));
                let columns: Vec<NewColumn> = (columns.iter().enumerate())
                    .map(|(index, name)| {
                        if index + 1 == columns.len() {
                            NewColumn::Small(name)
                        } else {
                            NewColumn::Ascending(name)
                        }
                    })
                    .collect();
                let writer = ParquetWriter::new(&columns, keys)?;
                Ok(Some(Self::Parquet(Box::new(writer))))
            }
        }
    }

    /// Adds a row: the ids, and the distance.
    pub fn push(&mut self, row: &[u64], sink: &mut ResultSink<'_>) -> Result<()> {
        match self {
            Self::Csv => {
                let values: Vec<String> = row.iter().map(u64::to_string).collect();
                sink.bytes(format!("{}\n", values.join(",")).as_bytes())
            }
            Self::Parquet(writer) => writer.push(row, sink.write),
        }
    }

    /// Writes the end of the table.
    pub fn finish(self, sink: &mut ResultSink<'_>) -> Result<()> {
        match self {
            Self::Csv => Ok(()),
            Self::Parquet(writer) => writer.finish(sink.write),
        }
    }
}
