//! What was found of clusters, as it lies in files: who is in which, and how far from its keeper.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::{Result, anyhow, bail};
use serde::Deserialize;

use crate::corpus::inputs::files_of;
use crate::formats::input::{LineReader, Source};
use crate::formats::jsonl::reason_of;
#[cfg(feature = "parquet")]
use crate::formats::parquet::{self, Cell, Cells, Role};
use crate::formats::table::{RecordLimit, TableColumn, TableReader};
use crate::formats::{Format, MAX_LINE_BYTES, excerpt, id_of_digits, utf8};

/// A document in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub id: u64,
    /// The document that is kept of its cluster.
    pub keeper: u64,
    pub cluster: u64,
    /// In how many bits its fingerprint differs from that of the keeper, if that is said.
    pub distance: Option<u32>,
}

impl Row {
    fn of(id: u64, keeper: u64, cluster: u64, distance: Option<u64>) -> Result<Self, String> {
        let distance = match distance {
            None => None,
            Some(distance) => match u32::try_from(distance) {
                Ok(bits) if bits <= u64::BITS => Some(bits),
                _ => {
                    return Err(format!(
                        "the distance {distance} is more than fingerprints have bits"
                    ));
                }
            },
        };
        if id == keeper && distance.is_some_and(|distance| distance > 0) {
            return Err(format!(
                "document {id} is its own keeper, at a distance that is not 0"
            ));
        }
        Ok(Self {
            id,
            keeper,
            cluster,
            distance,
        })
    }

    /// Whether its document is not kept.
    pub fn is_left_out(&self) -> bool {
        self.id != self.keeper
    }
}

/// Hands over all rows of what `simdb-cli clusters` has written, or of a folder of Parquet files.
/// Bytes read are added to `bytes_read`.
pub fn read(
    path: &Path,
    bytes_read: &Arc<AtomicU64>,
    take: &mut dyn FnMut(Row) -> Result<()>,
) -> Result<()> {
    for source in sources(path)? {
        let format = match path.is_dir() {
            true => Format::of(source.path().unwrap_or(path))?,
            false => format_of(path)?,
        };
        match format {
            Format::Jsonl => read_lines(&source, bytes_read, take)?,
            Format::Csv => read_table(&source, bytes_read, take)?,
            #[cfg(feature = "parquet")]
            Format::Parquet => read_columns(&source, bytes_read, take)?,
            _ => return Err(unknown(path)),
        }
    }
    Ok(())
}

/// How many bytes there are to read, if that is known.
pub fn size_bytes(path: &Path) -> Result<Option<u64>> {
    Ok(sources(path)?.iter().map(Source::size_bytes).sum())
}

fn sources(path: &Path) -> Result<Vec<Source>> {
    if path.is_dir() && path.join(SPARK_MANIFEST).exists() && !path.join(SPARK_SUCCESS).exists() {
        bail!(
            "{} is not whole: {SPARK_SUCCESS} is not in it; repeat the command that has begun it",
            path.display()
        );
    }
    let files = files_of(path, None)?;
    files.iter().map(|file| Source::new(file)).collect()
}

/// What `simdb_spark.py` puts into a folder when it begins, and when that is whole.
const SPARK_MANIFEST: &str = "_simdb_manifest.json";
const SPARK_SUCCESS: &str = "_SUCCESS";

fn format_of(path: &Path) -> Result<Format> {
    Format::of(path).map_err(|_| unknown(path))
}

fn unknown(path: &Path) -> anyhow::Error {
    anyhow!(
        "cannot tell from its name how the clusters in {} are written: .jsonl, .csv and .parquet are \
         read, and folders of Parquet files",
        path.display()
    )
}

/// A line of JSON.
#[derive(Deserialize)]
struct ClusterLine {
    cluster: u64,
    keeper: u64,
    members: Vec<MemberLine>,
}

#[derive(Deserialize)]
struct MemberLine {
    id: u64,
    /// It may be null, but it must be there.
    #[serde(deserialize_with = "Option::deserialize")]
    distance: Option<u64>,
}

fn read_lines(
    source: &Source,
    bytes_read: &Arc<AtomicU64>,
    take: &mut dyn FnMut(Row) -> Result<()>,
) -> Result<()> {
    let name = source.name();
    let mut lines = LineReader::new(source.open(bytes_read)?, MAX_LINE_BYTES)?;
    while let Some((number, line)) = lines.next_not_blank()? {
        let at = |reason: String| anyhow!("{name}:{number}: {reason}");
        let line = line.map_err(|reason| {
            at(format!(
                "{reason}; csv and parquet have a line or a row for each document"
            ))
        })?;
        let line = utf8(line).map_err(at)?;
        let found = serde_json::from_str::<ClusterLine>(line);
        let found = found.map_err(|error| {
            at(format!(
                "{}; a line of simdb-cli clusters is expected",
                reason_of(&error)
            ))
        })?;
        for MemberLine { id, distance } in found.members {
            take(Row::of(id, found.keeper, found.cluster, distance).map_err(at)?)?;
        }
    }
    Ok(())
}

/// How long a record may be: it has four numbers.
const RECORD_LIMIT: RecordLimit = RecordLimit {
    bytes: 1 << 16,
    advice: "",
};

fn read_table(
    source: &Source,
    bytes_read: &Arc<AtomicU64>,
    take: &mut dyn FnMut(Row) -> Result<()>,
) -> Result<()> {
    let name = source.name();
    let mut table = TableReader::csv(source.open(bytes_read)?, RECORD_LIMIT)?;
    let mut columns = Vec::new();
    for column in ["id", "keeper", "cluster", "distance"] {
        columns.push(table.required(column, "")?);
    }
    while let Some((line, record)) = table.next_record()? {
        let row = record.and_then(|record| {
            let number = |column: &TableColumn| {
                let digits = column.value(record)?;
                id_of_digits(digits).map_err(|_| {
                    format!(
                        "column {:?}: {} is no number without a sign",
                        column.name,
                        excerpt(&format!("{digits:?}"))
                    )
                })
            };
            let mut numbers = [0; 3];
            for (place, column) in numbers.iter_mut().zip(&columns) {
                *place = number(column)?.0;
            }
            let distance = match columns[3].value(record)? {
                "" => None,
                _ => Some(number(&columns[3])?.0),
            };
            let [id, keeper, cluster] = numbers;
            Row::of(id, keeper, cluster, distance)
        });
        take(row.map_err(|reason| anyhow!("{name}:{line}: {reason}"))?)?;
    }
    Ok(())
}

#[cfg(feature = "parquet")]
fn read_columns(
    source: &Source,
    bytes_read: &Arc<AtomicU64>,
    take: &mut dyn FnMut(Row) -> Result<()>,
) -> Result<()> {
    let name = source.name();
    let file = parquet::open(source, bytes_read)?;
    // Spark calls it so.
    let id = match file.has_column(parquet::metadata::ID_COLUMN) {
        true => parquet::metadata::ID_COLUMN,
        false => "id",
    };
    let mut rows = Cells::new(
        file,
        [
            (id, Role::IdBits),
            ("keeper", Role::IdBits),
            ("cluster", Role::IdBits),
            ("distance", Role::Distance),
        ],
    )?;
    while let Some((row, [id, keeper, cluster, distance])) = rows.next()? {
        let found = bits(&id).and_then(|id| {
            let distance = match distance {
                Cell::Null => None,
                distance => Some(bits(&distance)?),
            };
            Row::of(id, bits(&keeper)?, bits(&cluster)?, distance)
        });
        take(found.map_err(|reason| anyhow!("{name}: row {row}: {reason}"))?)?;
    }
    Ok(())
}

/// An id, which has no sign, whatever its column says.
#[cfg(feature = "parquet")]
fn bits(cell: &Cell) -> Result<u64, String> {
    match cell {
        Cell::Signed(bits) => Ok(*bits as u64),
        Cell::Unsigned(bits) => Ok(*bits),
        _ => Err("there is no id, no keeper or no cluster".to_owned()),
    }
}
