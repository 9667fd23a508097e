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
use parking_lot::Mutex;
use rdst::{RadixKey, RadixSort};

use crate::error::{Error, Result};
use crate::progress::ProgressHandler;
use crate::store::bulk::task::{Task, TaskState};
use crate::store::disk::folder::folder_of;
use crate::store::pool::Pool;

/// 4 to 256 KiB are read at once of each run, as the memory of the sorter allows.
const READ_BUFFER_BYTES: RangeInclusive<usize> = 4 << 10..=256 << 10;

/// Plain bytes with the order of their radix key.
pub(crate) trait SortRecord: Pod + Ord + RadixKey + Send + Sync {}
impl<R: Pod + Ord + RadixKey + Send + Sync> SortRecord for R {}

/// Sorts pushed records. Spills sorted runs to unnamed temporary files, which vanish with the
/// process.
pub(crate) struct Sorter<R> {
    records: Vec<R>,
    /// Records gathered before a spill. Half of the first number after a spill, because the other
    /// half of the memory is sorted and written meanwhile.
    capacity: usize,
    runs: Vec<File>,
    spilling: Option<Task<Result<Spilled<R>>>>,
    context: SortContext,
    len: u64,
}

/// A run, and the empty vector of its records.
type Spilled<R> = (File, Vec<R>);

impl<R: SortRecord> Sorter<R> {
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
            let (mut records, context) = (self.records, self.context.clone());
            // Ids are often pushed in order.
            if !records.is_sorted() {
                let task = self.context.begin(move |_| {
                    context.sort(&mut records);
                    records
                })?;
                records = self.context.wait(task)?;
            }
            return Ok(Sorted::Memory(records.into_iter()));
        }
        if !self.records.is_empty() {
            self.spill()?;
            self.wait_for_spill()?;
        }
        let memory_bytes = self.capacity * size_of::<R>();
        Merge::new(self.runs, memory_bytes, self.context).map(Sorted::Merge)
    }

    /// Sorts and writes the gathered records on a thread, and gathers the next ones in the memory
    /// of the run before.
    fn spill(&mut self) -> Result<()> {
        let is_first = self.runs.is_empty() && self.spilling.is_none();
        let mut spare = self.wait_for_spill()?;
        spare.shrink_to(self.capacity);
        let records = std::mem::replace(&mut self.records, spare);
        let context = self.context.clone();
        let task = (self.context).begin(move |task| write_run(records, &context, task))?;
        self.spilling = Some(task);
        if is_first {
            // The first run takes all the memory.
            self.wait_for_spill()?;
            self.capacity = (self.capacity / 2).max(1);
        }
        Ok(())
    }

    /// Waits for a spill and returns the empty vector of its records.
    fn wait_for_spill(&mut self) -> Result<Vec<R>> {
        let Some(task) = self.spilling.take() else {
            return Ok(Vec::new());
        };
        let (file, spare) = self.context.wait(task)??;
        self.runs.push(file);
        Ok(spare)
    }
}

/// The folder for temporary files, and the threads and the progress handler of all sorts of a load.
#[derive(Clone)]
pub(crate) struct SortContext {
    /// The file that is loaded.
    target: PathBuf,
    pool: Arc<Pool>,
    progress: Arc<Mutex<ProgressHandler>>,
}

impl SortContext {
    /// Temporary files are in the folder of `target`.
    pub(crate) fn new(target: &Path) -> Self {
        Self {
            target: target.to_path_buf(),
            pool: Arc::default(),
            progress: Arc::default(),
        }
    }

    /// Sets the handler that is called while the caller waits for a sort, and may interrupt it.
    pub(crate) fn set_progress(&self, handler: &ProgressHandler) {
        *self.progress.lock() = handler.clone();
    }

    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.run(work)
    }

    /// Sorts in place, on all cores.
    fn sort<R: SortRecord>(&self, records: &mut [R]) {
        self.pool
            .run(|| records.radix_sort_builder().with_low_mem_tuner().sort());
    }

    fn begin<T: Send + 'static>(
        &self,
        work: impl FnOnce(&TaskState) -> T + Send + 'static,
    ) -> Result<Task<T>> {
        Task::begin(work).map_err(self.io("start a thread to sort for"))
    }

    /// Waits for a task, and calls the progress handler meanwhile. An interruption abandons the
    /// task.
    fn wait<T>(&self, task: Task<T>) -> Result<T> {
        let handler = self.progress.lock().clone();
        task.wait(|| handler.report_waiting(&self.target))
    }

    fn folder(&self) -> &Path {
        folder_of(&self.target)
    }

    fn io(&self, action: &'static str) -> impl Fn(io::Error) -> Error + use<> {
        Error::io(action, self.folder())
    }
}

/// Bytes written before the writer looks whether its task is abandoned.
const WRITTEN_AT_ONCE: usize = 1 << 20;

fn write_run<R: SortRecord>(
    mut records: Vec<R>,
    context: &SortContext,
    task: &TaskState,
) -> Result<Spilled<R>> {
    if !records.is_sorted() {
        context.sort(&mut records);
    }
    let file = (task.begin_writing())
        .and_then(|()| tempfile::tempfile_in(context.folder()))
        .and_then(|mut file| {
            for part in bytemuck::cast_slice(&records).chunks(WRITTEN_AT_ONCE) {
                task.check()?;
                file.write_all(part)?;
            }
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

impl<R: SortRecord> Iterator for Sorted<R> {
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

impl<R: SortRecord> Merge<R> {
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

impl<R: SortRecord> Iterator for Merge<R> {
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
fn next_record<R: SortRecord>(run: &mut BufReader<File>) -> io::Result<Option<R>> {
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
            let mut sorter = Sorter::new(
                memory_bytes,
                &SortContext::new(&folder.path().join("docs.simdb")),
            );
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
        let empty: Sorter<u64> =
            Sorter::new(1024, &SortContext::new(&folder.path().join("docs.simdb")));
        assert_eq!(empty.sorted().unwrap().count(), 0);
    }
}
