//! The redb file inside a simdb file, for tests that inspect or modify it. This is a second
//! implementation of the page format in `src/guide/file_format.md`.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use redb::{Database, StorageBackend};

const PAGE: usize = 4096;
/// Pages per page of checksums.
const GROUP: usize = 1024;

/// The redb pages of a file, without verification of their checksums.
pub fn pages_of(file: &[u8]) -> Vec<u8> {
    file[PAGE..]
        .chunks((GROUP + 1) * PAGE)
        .flat_map(|group| group[PAGE..].to_vec())
        .collect()
}

/// A file with these redb pages and their right checksums.
pub fn file_of(front: &[u8], pages: &[u8]) -> Vec<u8> {
    let mut file = front[..PAGE].to_vec();
    for (number, group) in pages.chunks(GROUP * PAGE).enumerate() {
        let mut sums = vec![0; PAGE];
        for (place, page) in group.chunks(PAGE).enumerate() {
            let page_number = (number * GROUP + place) as u64;
            if page_number > 0 {
                let mut sum = crc32fast::Hasher::new();
                sum.update(page);
                sum.update(&page_number.to_le_bytes());
                let sum = sum.finalize().max(1);
                sums[4 * place..4 * place + 4].copy_from_slice(&sum.to_le_bytes());
            }
        }
        file.extend(sums);
        file.extend(group);
    }
    file
}

/// Opens the redb database in a simdb file, and writes back its changes.
pub fn with_engine<T>(path: &Path, work: impl FnOnce(&Database) -> T) -> T {
    let file = std::fs::read(path).unwrap();
    let memory = Memory(Arc::new(Mutex::new(pages_of(&file))));
    let database = Database::builder()
        .create_with_backend(memory.clone())
        .unwrap();
    let done = work(&database);
    drop(database);
    let pages = std::mem::take(&mut *memory.0.lock().unwrap());
    std::fs::write(path, file_of(&file, &pages)).unwrap();
    done
}

/// A redb backend in memory.
#[derive(Clone, Debug)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl StorageBackend for Memory {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let bytes = self.0.lock().unwrap();
        let from = offset as usize;
        out.copy_from_slice(&bytes[from..from + out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.lock().unwrap().resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let from = offset as usize;
        self.0.lock().unwrap()[from..from + data.len()].copy_from_slice(data);
        Ok(())
    }
}
