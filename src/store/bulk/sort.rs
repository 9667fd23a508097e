//! External sort: more records than memory holds, in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{BufReader, Read, Seek, Write};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use bytemuck::Pod;
use rdst::{RadixKey, RadixSort};

use crate::error::{Error, Result};
use crate::store::view::pool::Pool;

/// Bytes a run is read by while it is merged: the first where memory allows, never below the
/// second.
const READ_BUFFER_BYTES: (usize, usize) = (256 << 10, 4 << 10);

/// What can be sorted: plain bytes that order as their radix key does.
pub(crate) trait Record: Pod + Ord + RadixKey + Send + Sync {}
impl<R: Pod + Ord + RadixKey + Send + Sync> Record for R {}

/// Takes records in any order and gives them back in ascending order. What does not fit the
/// memory given goes, sorted, to unnamed temporary files, which vanish with the process.
pub(crate) struct Sorter<R> {
    records: Vec<R>,
    /// How many records are gathered before they are spilled: all that fit until the first spill;
    /// from then on half, since the other half is being sorted and written meanwhile.
    capacity: usize,
    runs: Vec<File>,
    spilling: Option<JoinHandle<Result<Spilled<R>>>>,
    workplace: SortContext,
    len: u64,
}

/// A run, and the memory it took.
type Spilled<R> = (File, Vec<R>);

impl<R: Record> Sorter<R> {
    /// A sorter that uses up to `memory_bytes`, and `folder` for temporary files.
    pub(crate) fn new(memory_bytes: usize, workplace: &SortContext) -> Self {
        Self {
            records: Vec::new(),
            capacity: (memory_bytes / size_of::<R>()).max(1),
            runs: Vec::new(),
            spilling: None,
            workplace: workplace.clone(),
            len: 0,
        }
    }

    /// How many records there are.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn push(&mut self, record: R) -> Result<()> {
        if self.records.len() >= self.capacity {
            self.spill()?;
        }
        if self.records.len() == self.records.capacity() {
            // Doubling, as a vector grows by itself, but never beyond the memory given.
            let grown = (self.records.len() * 2).clamp(1024.min(self.capacity), self.capacity);
            self.records.reserve_exact(grown - self.records.len());
        }
        self.records.push(record);
        self.len += 1;
        Ok(())
    }

    /// Gives half of the memory back.
    pub(crate) fn halve_memory(&mut self) -> Result<()> {
        let half = (self.capacity / 2).max(1);
        if self.records.len() > half {
            self.spill()?;
        }
        drop(self.wait_for_spill()?);
        // The first spill halves it too: from then on there are two runs in memory.
        self.capacity = self.capacity.min(half);
        self.records.shrink_to(self.capacity);
        Ok(())
    }

    /// All records in ascending order.
    pub(crate) fn sorted(mut self) -> Result<Sorted<R>> {
        if self.runs.is_empty() && self.spilling.is_none() {
            self.workplace.sort(&mut self.records);
            return Ok(Sorted::Memory(std::mem::take(&mut self.records)));
        }
        self.wait_for_spill()?;
        if !self.records.is_empty() {
            let records = std::mem::take(&mut self.records);
            self.runs.push(write_run(records, &self.workplace)?.0);
        }
        let memory_bytes = self.capacity * size_of::<R>();
        let runs = std::mem::take(&mut self.runs);
        Merge::of(runs, memory_bytes, self.workplace.folder.clone()).map(Sorted::Merge)
    }

    /// Sorts and writes what is gathered on a thread, and goes on in the memory of the run before.
    fn spill(&mut self) -> Result<()> {
        let is_first = self.runs.is_empty() && self.spilling.is_none();
        let mut spare = self.wait_for_spill()?;
        spare.shrink_to(self.capacity);
        let records = std::mem::replace(&mut self.records, spare);
        let workplace = self.workplace.clone();
        let thread = std::thread::Builder::new()
            .name("simdb-spill".into())
            .spawn(move || write_run(records, &workplace))
            .map_err(|source| Error::Io {
                action: "start a thread to sort for",
                path: self.workplace.folder.clone(),
                source,
            })?;
        self.spilling = Some(thread);
        if is_first {
            // It has all the memory.
            self.wait_for_spill()?;
            self.capacity = (self.capacity / 2).max(1);
        }
        Ok(())
    }

    /// The memory of the run that was written last, if it was not asked for before.
    fn wait_for_spill(&mut self) -> Result<Vec<R>> {
        let Some(thread) = self.spilling.take() else {
            return Ok(Vec::new());
        };
        let (file, spare) = thread.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        self.runs.push(file);
        Ok(spare)
    }
}

impl<R> Drop for Sorter<R> {
    /// The space that a run takes is free when the thread that writes it is gone.
    fn drop(&mut self) {
        if let Some(thread) = self.spilling.take() {
            // Whatever it ended with, nobody wants it any more.
            drop(thread.join());
        }
    }
}

/// Where sorts take place: a folder for their temporary files, and threads of their own.
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

    /// Does work that goes on on all cores.
    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.run(work)
    }

    /// Sorts in place, on all cores; a sequence that is in order already, as ids often are, is
    /// left.
    pub(crate) fn sort<R: Record>(&self, records: &mut [R]) {
        if !records.is_sorted() {
            self.pool
                .run(|| records.radix_sort_builder().with_low_mem_tuner().sort());
        }
    }
}

/// Sorts records into a new file, and gives back the file and the memory.
fn write_run<R: Record>(mut records: Vec<R>, workplace: &SortContext) -> Result<Spilled<R>> {
    workplace.sort(&mut records);
    let folder = &workplace.folder;
    let mut file = tempfile::tempfile_in(folder).map_err(|source| writing(folder, source))?;
    file.write_all(bytemuck::cast_slice(&records))
        .map_err(|source| writing(folder, source))?;
    records.clear();
    Ok((file, records))
}

fn writing(folder: &Path, source: std::io::Error) -> Error {
    Error::Io {
        action: "write a temporary file in",
        path: folder.to_path_buf(),
        source,
    }
}

fn reading(folder: &Path, source: std::io::Error) -> Error {
    Error::Io {
        action: "read back a temporary file in",
        path: folder.to_path_buf(),
        source,
    }
}

/// Records in ascending order.
pub(crate) enum Sorted<R> {
    Memory(Vec<R>),
    Merge(Merge<R>),
}

impl<R: Record> Sorted<R> {
    /// The records, once.
    pub(crate) fn iter(&mut self) -> impl Iterator<Item = Result<R>> {
        let (records, merge) = match self {
            Self::Memory(records) => (records.as_slice(), None),
            Self::Merge(merge) => (&[][..], Some(merge)),
        };
        records
            .iter()
            .copied()
            .map(Ok)
            .chain(merge.into_iter().flatten())
    }
}

impl<R: Record> IntoIterator for Sorted<R> {
    type Item = Result<R>;
    type IntoIter = Box<dyn Iterator<Item = Result<R>>>;

    fn into_iter(self) -> Self::IntoIter {
        match self {
            Self::Memory(records) => Box::new(records.into_iter().map(Ok)),
            Self::Merge(merge) => Box::new(merge),
        }
    }
}

/// Sorted runs, merged as they are read.
pub(crate) struct Merge<R> {
    runs: Vec<BufReader<File>>,
    heads: BinaryHeap<Reverse<(R, usize)>>,
    folder: PathBuf,
}

impl<R: Record> Merge<R> {
    fn of(files: Vec<File>, memory_bytes: usize, folder: PathBuf) -> Result<Self> {
        let (most, least) = READ_BUFFER_BYTES;
        let buffer_bytes = (memory_bytes / 2 / files.len()).clamp(least, most);
        let mut heads = BinaryHeap::with_capacity(files.len());
        let mut runs = Vec::with_capacity(files.len());
        for (number, mut file) in files.into_iter().enumerate() {
            file.rewind().map_err(|source| reading(&folder, source))?;
            let mut run = BufReader::with_capacity(buffer_bytes, file);
            if let Some(record) =
                next_record(&mut run).map_err(|source| reading(&folder, source))?
            {
                heads.push(Reverse((record, number)));
            }
            runs.push(run);
        }
        Ok(Self {
            runs,
            heads,
            folder,
        })
    }
}

impl<R: Record> Iterator for Merge<R> {
    type Item = Result<R>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut head = self.heads.peek_mut()?;
        let Reverse((record, number)) = *head;
        match next_record(&mut self.runs[number]) {
            Ok(Some(next)) => {
                *head = Reverse((next, number));
            }
            Ok(None) => {
                PeekMut::pop(head);
            }
            Err(source) => return Some(Err(reading(&self.folder, source))),
        }
        Some(Ok(record))
    }
}

/// The next record of a run; runs are whole, so a part of one is an error.
fn next_record<R: Record>(run: &mut BufReader<File>) -> std::io::Result<Option<R>> {
    let mut record = R::zeroed();
    if run.buffer().len() < size_of::<R>() {
        let mut probe = [0; 1];
        let bytes = bytemuck::bytes_of_mut(&mut record);
        if run.read(&mut probe)? == 0 {
            return Ok(None);
        }
        bytes[0] = probe[0];
        run.read_exact(&mut bytes[1..])?;
    } else {
        run.read_exact(bytemuck::bytes_of_mut(&mut record))?;
    }
    Ok(Some(record))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(count: u64) -> impl Iterator<Item = u64> {
        (0..count).map(|n| (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    #[test]
    fn sorts_in_memory_and_through_files_alike() {
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
            let mut sorted = sorter.sorted().unwrap();
            let sorted: Vec<u64> = sorted.iter().map(Result::unwrap).collect();
            let mut plain = expected[..count].to_vec();
            plain.sort_unstable();
            assert_eq!(sorted, plain);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
        expected.clear();
        let empty: Sorter<u64> = Sorter::new(1024, &SortContext::new(folder.path()));
        assert_eq!(empty.sorted().unwrap().iter().count(), 0);
    }
    #[test]
    fn memory_is_halved_at_any_moment_and_nothing_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let records: Vec<u64> = draws(10_000).collect();
        let mut expected = records.clone();
        expected.sort_unstable();
        // 2,000 records fit at first: before the first spill, while it goes on, and after some.
        for halved_at in [0, 10, 1_500, 2_001, 3_500, 9_999] {
            let mut sorter = Sorter::new(16_000, &SortContext::new(folder.path()));
            for (number, record) in records.iter().enumerate() {
                if number == halved_at {
                    sorter.halve_memory().unwrap();
                }
                sorter.push(*record).unwrap();
                let most = if number < halved_at { 2_000 } else { 1_000 };
                assert!(sorter.records.capacity() <= most, "{halved_at} {number}");
            }
            let sorted: Vec<u64> = match sorter.sorted().unwrap() {
                Sorted::Memory(records) => records,
                Sorted::Merge(merge) => merge.map(Result::unwrap).collect(),
            };
            assert_eq!(sorted, expected);
        }
    }
}
