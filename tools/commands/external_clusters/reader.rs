//! [`ClusterReader`]: reads clusters in JSON Lines, CSV or Parquet.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, anyhow, bail, ensure};
use indicatif::ProgressBar;
use serde::Deserialize;

use crate::console::interrupt::Interrupt;
use crate::console::progress::ProgressMode;
use crate::corpus::inputs::files_of;
use crate::formats::input::{LineReader, Source};
use crate::formats::jsonl::reason_of;
use crate::formats::parquet::ParquetFile;
use crate::formats::parquet::columns::{ColumnRole, required};
use crate::formats::parquet::metadata::ID_COLUMN;
use crate::formats::parquet::rows::{ParquetCell, ParquetRows};
use crate::formats::table::{RecordLimit, TableColumn, TableReader};
use crate::formats::{Format, MAX_LINE_BYTES, excerpt, id_of_digits, utf8};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterRow {
    pub id: u64,
    /// The document of the cluster to keep.
    pub keeper: u64,
    pub cluster: u64,
    /// The distance from the keeper, if the file has it.
    pub distance: Option<u32>,
}

impl ClusterRow {
    fn new(id: u64, keeper: u64, cluster: u64, distance: Option<u64>) -> Result<Self, String> {
        match distance {
            Some(distance) if distance > u64::BITS.into() => Err(format!(
                "the distance {distance} is more than fingerprints have bits"
            )),
            Some(1..) if id == keeper => Err(format!(
                "document {id} is its own keeper, at a distance that is not 0"
            )),
            _ => {
                let distance = distance.map(|distance| distance as u32);
                Ok(Self {
                    id,
                    keeper,
                    cluster,
                    distance,
                })
            }
        }
    }

    /// Returns `true` if the document is the keeper of its cluster.
    pub fn is_keeper(&self) -> bool {
        self.id == self.keeper
    }
}

/// The files that `simdb_spark` writes first and last into a folder.
const SPARK_MANIFEST: &str = "_simdb_manifest.json";
const SPARK_SUCCESS: &str = "_SUCCESS";

/// At most 64 KiB in a record of CSV, which has four numbers.
const RECORD_LIMIT: RecordLimit = RecordLimit {
    bytes: 1 << 16,
    advice: "",
};

#[derive(Deserialize)]
struct ExternalCluster {
    cluster: u64,
    keeper: u64,
    members: Vec<ExternalMember>,
}

#[derive(Deserialize)]
struct ExternalMember {
    id: u64,
    /// The field may be null, but must be present.
    #[serde(deserialize_with = "Option::deserialize")]
    distance: Option<u64>,
}

pub struct ClusterReader<'r> {
    rows: Vec<ClusterRow>,
    bytes_read: Arc<AtomicU64>,
    bar: ProgressBar,
    interrupt: &'r Interrupt,
}

impl<'r> ClusterReader<'r> {
    /// Reads a file of `simdb-cli clusters`, or a folder of Parquet files.
    pub fn read(
        path: &Path,
        progress: ProgressMode,
        interrupt: &'r Interrupt,
    ) -> Result<Vec<ClusterRow>> {
        ensure!(
            !path.is_dir()
                || !path.join(SPARK_MANIFEST).exists()
                || path.join(SPARK_SUCCESS).exists(),
            "{} is not whole: {SPARK_SUCCESS} is not in it; repeat the command that has begun it",
            path.display()
        );
        let files = files_of(path, None)?;
        let sources = files.iter().map(|file| Source::new(file));
        let sources: Vec<Source> = sources.collect::<Result<_>>()?;
        let bar = progress.bytes(sources.iter().map(Source::size_bytes).sum());
        bar.set_prefix("clusters");
        let mut reader = Self {
            rows: Vec::new(),
            bytes_read: Arc::default(),
            bar,
            interrupt,
        };
        for (file, source) in files.iter().zip(&sources) {
            match Format::of(file) {
                Ok(Format::Jsonl) => reader.read_lines(source)?,
                Ok(Format::Csv) => reader.read_table(source)?,
                Ok(Format::Parquet) => reader.read_parquet(source)?,
                _ => bail!(
                    "cannot tell from its name how the clusters in {} are written: .jsonl, .csv and \
                     .parquet are read, and folders of Parquet files",
                    path.display()
                ),
            }
        }
        reader.bar.finish_and_clear();
        Ok(reader.rows)
    }

    /// Adds the row of a document. `location` is for errors.
    fn push(&mut self, location: impl Display, row: Result<ClusterRow, String>) -> Result<()> {
        self.interrupt.check()?;
        self.bar
            .set_position(self.bytes_read.load(Ordering::Relaxed));
        self.rows
            .push(row.map_err(|reason| anyhow!("{location}: {reason}"))?);
        Ok(())
    }

    fn read_lines(&mut self, source: &Source) -> Result<()> {
        let mut lines = LineReader::new(source.open(&self.bytes_read)?, MAX_LINE_BYTES)?;
        while let Some((number, line)) = lines.next_not_blank()? {
            let location = format!("{}:{number}", source.name());
            let cluster = line
                .map_err(|reason| {
                    format!("{reason}; csv and parquet have a line or a row for each document")
                })
                .and_then(utf8)
                .and_then(|line| {
                    serde_json::from_str::<ExternalCluster>(line).map_err(|error| {
                        let reason = reason_of(&error);
                        format!("{reason}; a line of simdb-cli clusters is expected")
                    })
                })
                .map_err(|reason| anyhow!("{location}: {reason}"))?;
            for ExternalMember { id, distance } in cluster.members {
                let row = ClusterRow::new(id, cluster.keeper, cluster.cluster, distance);
                self.push(&location, row)?;
            }
        }
        Ok(())
    }

    fn read_table(&mut self, source: &Source) -> Result<()> {
        let mut table = TableReader::csv(source.open(&self.bytes_read)?, RECORD_LIMIT)?;
        let columns = ["id", "keeper", "cluster", "distance"].map(|name| table.required(name));
        let columns: Vec<TableColumn> = columns.into_iter().collect::<Result<_>>()?;
        while let Some((line, record)) = table.next_record()? {
            let row = record.and_then(|record| {
                let mut numbers = [None; 4];
                for (index, column) in columns.iter().enumerate() {
                    let digits = column.value(record)?;
                    // An unknown distance is empty.
                    if digits.is_empty() && index == 3 {
                        continue;
                    }
                    let number = id_of_digits(digits).map_err(|_| {
                        let digits = excerpt(&format!("{digits:?}"));
                        format!(
                            "column {:?}: {digits} is no number from 0 to 2^64 - 1",
                            column.name
                        )
                    })?;
                    numbers[index] = Some(number.0);
                }
                cluster_row(numbers)
            });
            self.push(format_args!("{}:{line}", source.name()), row)?;
        }
        Ok(())
    }

    fn read_parquet(&mut self, source: &Source) -> Result<()> {
        let file = ParquetFile::open(source, &self.bytes_read)?;
        // Spark and `simdb-cli clusters` name the column of ids differently.
        let is_spark = file.has_column(ID_COLUMN);
        let id = if is_spark { ID_COLUMN } else { "id" };
        let columns = [
            (id, ColumnRole::IdBits),
            ("keeper", ColumnRole::IdBits),
            ("cluster", ColumnRole::IdBits),
            ("distance", ColumnRole::Distance),
        ];
        let columns = columns.map(|(name, role)| required(&file, name, role));
        let columns = columns.into_iter().collect::<Result<_>>()?;
        let mut rows = ParquetRows::new(file, columns);
        while let Some(row) = rows.next_row()? {
            let mut numbers = [None; 4];
            for (number, cell) in numbers.iter_mut().zip(row.cells) {
                *number = match cell {
                    ParquetCell::Unsigned(bits) => Some(*bits),
                    ParquetCell::Signed(bits) => Some(*bits as u64),
                    _ => None,
                };
            }
            let location = format_args!("{}: row {}", source.name(), row.number);
            self.push(location, cluster_row(numbers))?;
        }
        Ok(())
    }
}

/// The row of an id, a keeper, a cluster and a distance; only the distance may be missing.
fn cluster_row(numbers: [Option<u64>; 4]) -> Result<ClusterRow, String> {
    match numbers {
        [Some(id), Some(keeper), Some(cluster), distance] => {
            ClusterRow::new(id, keeper, cluster, distance)
        }
        _ => Err("there is no id, no keeper or no cluster".to_owned()),
    }
}
