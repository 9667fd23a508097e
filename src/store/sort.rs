//! External sort: more records than memory holds, in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

use bytemuck::Pod;
use rdst::{RadixKey, RadixSort};

use crate::error::{Error, Result};

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
    capacity: usize,
    runs: Vec<File>,
    folder: PathBuf,
    len: u64,
}

impl<R: Record> Sorter<R> {
    /// A sorter that uses up to `memory_bytes`, and `folder` for temporary files.
    pub(crate) fn new(memory_bytes: usize, folder: &Path) -> Self {
        Self {
            records: Vec::new(),
            capacity: (memory_bytes / size_of::<R>()).max(1),
            runs: Vec::new(),
            folder: folder.to_path_buf(),
            len: 0,
        }
    }

    /// How many records there are.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn push(&mut self, record: R) -> Result<()> {
        if self.records.len() == self.capacity {
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

    /// All records in ascending order.
    pub(crate) fn sorted(mut self) -> Result<Sorted<R>> {
        if self.runs.is_empty() {
            sort(&mut self.records);
            return Ok(Sorted::Memory(self.records.into_iter()));
        }
        if !self.records.is_empty() {
            self.spill()?;
        }
        self.records = Vec::new();
        let mut merge = Merge {
            runs: Vec::with_capacity(self.runs.len()),
            heads: BinaryHeap::with_capacity(self.runs.len()),
            folder: self.folder,
        };
        let (most, least) = READ_BUFFER_BYTES;
        let memory_bytes = self.capacity * size_of::<R>();
        let buffer_bytes = (memory_bytes / 2 / self.runs.len()).clamp(least, most);
        for (number, mut file) in self.runs.into_iter().enumerate() {
            file.rewind()
                .map_err(|source| reading(&merge.folder, source))?;
            let mut run = BufReader::with_capacity(buffer_bytes, file);
            if let Some(record) =
                next_record(&mut run).map_err(|source| reading(&merge.folder, source))?
            {
                merge.heads.push(Reverse((record, number)));
            }
            merge.runs.push(run);
        }
        Ok(Sorted::Merge(merge))
    }

    fn spill(&mut self) -> Result<()> {
        let writing = |source| Error::Io {
            action: "write a temporary file in",
            path: self.folder.clone(),
            source,
        };
        sort(&mut self.records);
        let mut file = tempfile::tempfile_in(&self.folder).map_err(writing)?;
        file.write_all(bytemuck::cast_slice(&self.records))
            .map_err(writing)?;
        self.runs.push(file);
        self.records.clear();
        Ok(())
    }
}

/// Sorts in place, on all cores; a sequence that is in order already, as ids often are, is left.
fn sort<R: Record>(records: &mut [R]) {
    if !records.is_sorted() {
        records.radix_sort_builder().with_low_mem_tuner().sort();
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
    Memory(std::vec::IntoIter<R>),
    Merge(Merge<R>),
}

/// Sorted runs, merged as they are read.
pub(crate) struct Merge<R> {
    runs: Vec<BufReader<File>>,
    heads: BinaryHeap<Reverse<(R, usize)>>,
    folder: PathBuf,
}

impl<R: Record> Iterator for Sorted<R> {
    type Item = Result<R>;

    fn next(&mut self) -> Option<Self::Item> {
        let merge = match self {
            Self::Memory(records) => return records.next().map(Ok),
            Self::Merge(merge) => merge,
        };
        let mut head = merge.heads.peek_mut()?;
        let Reverse((record, number)) = *head;
        match next_record(&mut merge.runs[number]) {
            Ok(Some(next)) => {
                *head = Reverse((next, number));
            }
            Ok(None) => {
                PeekMut::pop(head);
            }
            Err(source) => return Some(Err(reading(&merge.folder, source))),
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
            let mut sorter = Sorter::new(memory_bytes, folder.path());
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
        let empty: Sorter<u64> = Sorter::new(1024, folder.path());
        assert_eq!(empty.sorted().unwrap().count(), 0);
    }
}
