//! External sort, for more records than memory holds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytemuck::Pod;
use rdst::{RadixKey, RadixSort};

use crate::error::{Error, Result};
use crate::store::bulk::worker::Worker;
use crate::store::view::pool::Pool;

/// 4 to 256 KiB are read at once of each run, as the memory of the sorter allows.
const READ_BUFFER_BYTES: RangeInclusive<usize> = 4 << 10..=256 << 10;

/// Plain bytes with the order of their radix key.
pub(crate) trait Record: Pod + Ord + RadixKey + Send + Sync {}
impl<R: Pod + Ord + RadixKey + Send + Sync> Record for R {}

/// Sorts pushed records. Spills sorted runs to unnamed temporary files, which vanish with the
/// process.
pub(crate) struct Sorter<R> {
    records: Vec<R>,
    /// Records gathered before a spill. Half of the first number after a spill, because the other half
    /// of the memory is sorted and written meanwhile.
    capacity: usize,
    runs: Vec<File>,
    spilling: Option<Worker<Result<Spilled<R>>>>,
    context: SortContext,
    len: u64,
}

/// A run, and the empty vector of its records.
type Spilled<R> = (File, Vec<R>);

impl<R: Record> Sorter<R> {
    /// A sorter in up to `memory_bytes`. Allocates at the first push.
    pub(crate) fn new(memory_bytes: usize, context: &SortContext) -> Self {
        Self {
            records: Vec::new(),
            capacity: (memory_bytes / size_of::<R>()).max(1),
            runs: Vec::new(),
            spilling: None,
            context: context.clone(),
            len: 0,
        }
    }

    /// A sorter without room for more records.
    pub(crate) fn from_vec(records: Vec<R>, context: &SortContext) -> Self {
        Self {
            capacity: records.len().max(1),
            len: records.len() as u64,
            records,
            runs: Vec::new(),
            spilling: None,
            context: context.clone(),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn push(&mut self, record: R) -> Result<()> {
        if self.records.len() >= self.capacity {
            self.spill()?;
        }
        if self.records.len() == self.records.capacity() {
            // A vector doubles by itself, but may not exceed the memory of the sorter.
            let grown = (self.records.len() * 2).clamp(1024.min(self.capacity), self.capacity);
            self.records.reserve_exact(grown - self.records.len());
        }
        self.records.push(record);
        self.len += 1;
        Ok(())
    }

    /// All records in ascending order.
    pub(crate) fn sorted(mut self) -> Result<Sorted<R>> {
        self.wait_for_spill()?;
        if self.runs.is_empty() {
            self.context.sort(&mut self.records);
            return Ok(Sorted::Memory(self.records.into_iter()));
        }
        if !self.records.is_empty() {
            self.runs.push(write_run(self.records, &self.context)?.0);
        }
        let memory_bytes = self.capacity * size_of::<R>();
        Merge::new(self.runs, memory_bytes, self.context).map(Sorted::Merge)
    }

    /// Sorts and writes the gathered records on a thread, and gathers the next ones in the memory of
    /// the run before.
    fn spill(&mut self) -> Result<()> {
        let is_first = self.runs.is_empty() && self.spilling.is_none();
        let mut spare = self.wait_for_spill()?;
        spare.shrink_to(self.capacity);
        let records = std::mem::replace(&mut self.records, spare);
        let context = self.context.clone();
        let worker = Worker::spawn("simdb-spill", move || write_run(records, &context))
            .map_err(self.context.io("start a thread to sort for"))?;
        self.spilling = Some(worker);
        if is_first {
            // The first run takes all the memory.
            self.wait_for_spill()?;
            self.capacity = (self.capacity / 2).max(1);
        }
        Ok(())
    }

    /// Waits for a spill and returns the empty vector of its records.
    fn wait_for_spill(&mut self) -> Result<Vec<R>> {
        match self.spilling.take().and_then(|mut worker| worker.join()) {
            Some(spilled) => {
                let (file, spare) = spilled?;
                self.runs.push(file);
                Ok(spare)
            }
            None => Ok(Vec::new()),
        }
    }
}

/// The folder for temporary files and the threads of all sorts of a load.
#[derive(Clone)]
pub(crate) struct SortContext {
    folder: PathBuf,
    pool: Arc<Pool>,
}

impl SortContext {
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            pool: Arc::default(),
        }
    }

    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.run(work)
    }

    /// Sorts in place, on all cores.
    pub(crate) fn sort<R: Record>(&self, records: &mut [R]) {
        // Ids are often pushed in order.
        if !records.is_sorted() {
            self.pool
                .run(|| records.radix_sort_builder().with_low_mem_tuner().sort());
        }
    }

    fn io(&self, action: &'static str) -> impl Fn(io::Error) -> Error + use<> {
        let path = self.folder.clone();
        move |source| Error::Io {
            action,
            path: path.clone(),
            source,
        }
    }
}

fn write_run<R: Record>(mut records: Vec<R>, context: &SortContext) -> Result<Spilled<R>> {
    context.sort(&mut records);
    let file = tempfile::tempfile_in(&context.folder)
        .and_then(|mut file| {
            file.write_all(bytemuck::cast_slice(&records))?;
            file.rewind()?;
            Ok(file)
        })
        .map_err(context.io("write a temporary file in"))?;
    records.clear();
    Ok((file, records))
}

/// Records in ascending order.
pub(crate) enum Sorted<R> {
    Memory(std::vec::IntoIter<R>),
    Merge(Merge<R>),
}

impl<R: Record> Iterator for Sorted<R> {
    type Item = Result<R>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Memory(records) => records.next().map(Ok),
            Self::Merge(merge) => merge.next(),
        }
    }
}

pub(crate) struct Merge<R> {
    runs: Vec<BufReader<File>>,
    /// The next record of each run, and the number of the run.
    heads: BinaryHeap<Reverse<(R, usize)>>,
    context: SortContext,
}

impl<R: Record> Merge<R> {
    fn new(files: Vec<File>, memory_bytes: usize, context: SortContext) -> Result<Self> {
        let buffer_bytes = (memory_bytes / 2 / files.len())
            .clamp(*READ_BUFFER_BYTES.start(), *READ_BUFFER_BYTES.end());
        let mut heads = BinaryHeap::with_capacity(files.len());
        let mut runs = Vec::with_capacity(files.len());
        for (number, file) in files.into_iter().enumerate() {
            let mut run = BufReader::with_capacity(buffer_bytes, file);
            let head = next_record(&mut run).map_err(context.io(READ_BACK))?;
            heads.extend(head.map(|record| Reverse((record, number))));
            runs.push(run);
        }
        Ok(Self {
            runs,
            heads,
            context,
        })
    }
}

const READ_BACK: &str = "read back a temporary file in";

impl<R: Record> Iterator for Merge<R> {
    type Item = Result<R>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut head = self.heads.peek_mut()?;
        let Reverse((record, number)) = *head;
        match next_record(&mut self.runs[number]) {
            Ok(Some(next)) => *head = Reverse((next, number)),
            Ok(None) => drop(PeekMut::pop(head)),
            Err(source) => return Some(Err(self.context.io(READ_BACK)(source))),
        }
        Some(Ok(record))
    }
}

/// A partial record at the end is an error.
fn next_record<R: Record>(run: &mut BufReader<File>) -> io::Result<Option<R>> {
    if run.fill_buf()?.is_empty() {
        return Ok(None);
    }
    let mut record = R::zeroed();
    run.read_exact(bytemuck::bytes_of_mut(&mut record))?;
    Ok(Some(record))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(count: u64) -> impl Iterator<Item = u64> {
        (0..count).map(|n| (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    #[test]
    fn sort_in_memory_equals_sort_through_files() {
        let folder = tempfile::tempdir().unwrap();
        let mut expected: Vec<u64> = draws(10_000).chain(draws(500)).collect();
        for memory_bytes in [8, 4_000, 30_000, 1 << 20] {
            // One record a run would open as many files: keep those few.
            let count = if memory_bytes == 8 {
                100
            } else {
                expected.len()
            };
            let mut sorter = Sorter::new(memory_bytes, &SortContext::new(folder.path()));
            for record in &expected[..count] {
                sorter.push(*record).unwrap();
            }
            assert_eq!(sorter.len(), count as u64);
            let sorted: Vec<u64> = sorter.sorted().unwrap().map(Result::unwrap).collect();
            let mut plain = expected[..count].to_vec();
            plain.sort_unstable();
            assert_eq!(sorted, plain);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
        expected.clear();
        let empty: Sorter<u64> = Sorter::new(1024, &SortContext::new(folder.path()));
        assert_eq!(empty.sorted().unwrap().count(), 0);
    }
}
