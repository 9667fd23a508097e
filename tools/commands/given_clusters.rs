//! [`GivenClusters`]: documents and their keepers, found by `simdb-cli clusters` or by another
//! program.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, anyhow, bail, ensure};
use simdb::{DocId, Snapshot};

use crate::console::interrupt::Interrupt;
use crate::console::progress::ProgressMode;
use crate::corpus::inputs::files_of;
use crate::formats::input::Source;
use crate::formats::parquet::ParquetFile;
use crate::formats::parquet::columns::{ColumnRole, required};
use crate::formats::parquet::metadata::ID_COLUMN;
use crate::formats::parquet::rows::{ParquetCell, ParquetRows};
use crate::formats::table::{Dialect, RecordLimit, TableReader};
use crate::formats::{Format, excerpt, id_of_digits};

/// The column of keepers.
const KEEPER_COLUMN: &str = "keeper";

/// The files that `simdb_spark` writes first and last into a folder.
const SPARK_MANIFEST: &str = "_simdb_manifest.json";
const SPARK_SUCCESS: &str = "_SUCCESS";

/// At most 64 KiB in a record of CSV, which has a few numbers.
const RECORD_LIMIT: RecordLimit = RecordLimit {
    bytes: 1 << 16,
    advice: "",
};

/// Clusters from a file, with 16 bytes of memory for each document.
pub struct GivenClusters {
    /// Sorted by document id.
    rows: Vec<KeptBy>,
}

/// A document and the document of its cluster to keep, which may be itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct KeptBy {
    id: u64,
    keeper: u64,
}

/// A stored document that is not the keeper of its cluster.
pub struct RemovedMember {
    pub id: u64,
    pub keeper: u64,
    /// The distance of both fingerprints; `None` if the keeper is not stored.
    pub distance: Option<u32>,
}

impl GivenClusters {
    /// Reads a CSV or Parquet file, or a folder of Parquet files, with the columns `doc_id` and
    /// `keeper`. Clusters that contradict themselves are an error.
    pub fn read(path: &Path, progress: ProgressMode, interrupt: &Interrupt) -> Result<Self> {
        let shown = path.display();
        // A folder of another program has no manifest, and is whole as far as anyone can tell.
        let is_begun = path.is_dir() && path.join(SPARK_MANIFEST).exists();
        ensure!(
            !is_begun || path.join(SPARK_SUCCESS).exists(),
            "{shown} is not whole: {SPARK_SUCCESS} is not in it; repeat the command that has begun it"
        );
        let files = files_of(path, None)?;
        let sources = files.iter().map(|file| Source::new(file));
        let sources: Vec<Source> = sources.collect::<Result<_>>()?;
        let bar = progress.bytes(sources.iter().map(Source::size_bytes).sum());
        bar.set_prefix("clusters");
        let bytes_read = Arc::<AtomicU64>::default();
        let mut rows = Vec::new();
        let mut push = |row: Result<KeptBy>| {
            interrupt.check()?;
            bar.set_position(bytes_read.load(Ordering::Relaxed));
            rows.push(row?);
            Ok(())
        };
        for (file, source) in files.iter().zip(&sources) {
            match Format::of(file) {
                Ok(Format::Csv) => read_table(source, &bytes_read, &mut push)?,
                Ok(Format::Parquet) => read_parquet(source, &bytes_read, &mut push)?,
                _ => bail!(
                    "cannot read the clusters in {shown}: .csv and .parquet are read, and folders of \
                     Parquet files; `simdb-cli clusters` writes both with --format"
                ),
            }
        }
        bar.finish_and_clear();
        // Files of Spark are in no order, and `binary_search` needs one.
        rows.sort_unstable();
        check(path, &rows)?;
        Ok(Self { rows })
    }

    pub fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Calls `take` with each stored member, in order of their ids. Returns the number of documents
    /// in clusters that are not stored.
    pub fn for_each_removed(
        &self,
        snapshot: &Snapshot,
        progress: ProgressMode,
        interrupt: &Interrupt,
        take: &mut dyn FnMut(RemovedMember),
    ) -> Result<u64> {
        let bar = progress.steps("checking", self.len());
        let fingerprint = |id| -> Result<_> {
            let document = snapshot.get(DocId(id))?;
            Ok(document.map(|document| document.fingerprint))
        };
        let mut absent = 0;
        // Members of a cluster often have consecutive ids, so the last keeper is cached.
        let mut last_keeper = None;
        for KeptBy { id, keeper } in self.rows.iter().copied() {
            interrupt.check()?;
            bar.inc(1);
            let Some(stored) = fingerprint(id)? else {
                absent += 1;
                continue;
            };
            if id == keeper {
                continue;
            }
            let kept = match last_keeper {
                Some((last, kept)) if last == keeper => kept,
                _ => fingerprint(keeper)?,
            };
            last_keeper = Some((keeper, kept));
            take(RemovedMember {
                id,
                keeper,
                distance: kept.map(|kept| kept.distance(stored)),
            });
        }
        bar.finish_and_clear();
        Ok(absent)
    }
}

/// Refuses a document with two keepers, and a keeper that is itself removed.
fn check(path: &Path, rows: &[KeptBy]) -> Result<()> {
    let path = path.display();
    for pair in rows.windows(2) {
        ensure!(
            pair[0].id != pair[1].id,
            "{path}: document {} is there twice, with the keepers {} and {}",
            pair[0].id,
            pair[0].keeper,
            pair[1].keeper
        );
    }
    for row in rows {
        let Ok(keeper) = rows.binary_search_by_key(&row.keeper, |row| row.id) else {
            continue;
        };
        let KeptBy { id, keeper } = rows[keeper];
        ensure!(
            id == keeper,
            "{path}: document {id} is the keeper of document {}, and is itself left out for document \
             {keeper}",
            row.id
        );
    }
    Ok(())
}

fn read_table(
    source: &Source,
    bytes_read: &Arc<AtomicU64>,
    push: &mut dyn FnMut(Result<KeptBy>) -> Result<()>,
) -> Result<()> {
    let mut table = TableReader::new(source.open(bytes_read)?, RECORD_LIMIT, Dialect::CSV)?;
    let [ids, keepers] = [ID_COLUMN, KEEPER_COLUMN].map(|name| table.required(name));
    let columns = [ids?, keepers?];
    while let Some((line, record)) = table.next_record()? {
        let number = |column: usize| -> Result<u64, String> {
            let column = &columns[column];
            let digits = column.value(record.as_ref().map_err(String::clone)?)?;
            let number = id_of_digits(digits).map(|id| id.0);
            number.map_err(|_| {
                let digits = excerpt(&format!("{digits:?}"));
                format!(
                    "column {:?}: {digits} is no number from 0 to 2^64 - 1",
                    column.name
                )
            })
        };
        let row = number(0).and_then(|id| {
            Ok(KeptBy {
                id,
                keeper: number(1)?,
            })
        });
        push(row.map_err(|reason| anyhow!("{}:{line}: {reason}", source.name())))?;
    }
    Ok(())
}

fn read_parquet(
    source: &Source,
    bytes_read: &Arc<AtomicU64>,
    push: &mut dyn FnMut(Result<KeptBy>) -> Result<()>,
) -> Result<()> {
    let file = ParquetFile::open(source, bytes_read)?;
    let columns = [ID_COLUMN, KEEPER_COLUMN].map(|name| required(&file, name, ColumnRole::IdBits));
    let columns = columns.into_iter().collect::<Result<_>>()?;
    let mut rows = ParquetRows::new(file, columns);
    while let Some(row) = rows.next_row()? {
        let number = |cell: &ParquetCell| match cell {
            ParquetCell::Unsigned(bits) => Some(*bits),
            ParquetCell::Signed(bits) => Some(*bits as u64),
            _ => None,
        };
        push(match [number(&row.cells[0]), number(&row.cells[1])] {
            [Some(id), Some(keeper)] => Ok(KeptBy { id, keeper }),
            _ => Err(anyhow!(
                "{}: row {}: there is no {ID_COLUMN} or no {KEEPER_COLUMN}",
                source.name(),
                row.number
            )),
        })?;
    }
    Ok(())
}
