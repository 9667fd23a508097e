//! A file in the making, made durable behind its writer's back.

use parking_lot::Mutex;
use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use redb::{BackendError, StorageBackend};

use crate::store::disk::DiskFile;
use crate::store::pager::PageFile;

/// Bytes written before the next sync is ordered.
const SYNCED_BYTES: u64 = 32 << 20;
/// Syncs that may wait while one is under way. With what is written before the next is ordered
/// this bounds what the operating system holds back for the disk.
const WAITING_SYNCS: usize = 4;

/// A file as redb sees it, which a thread syncs while it is written: nobody can see the file before
/// [`finish`](Self::finish), so no commit in it has to wait for the disk, and yet the disk is at
/// work from the start. All clones are the same file.
#[derive(Clone, Debug)]
pub(super) struct WriteBehind {
    pages: PageFile,
    syncs: Arc<Mutex<Syncs>>,
    /// Bytes written since a sync was ordered.
    unsynced_bytes: Arc<AtomicU64>,
    /// Where what was written ends.
    end: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Syncs {
    orders: Option<(SyncSender<()>, JoinHandle<io::Result<()>>)>,
    /// What went wrong first. The file is worth nothing since.
    failure: Option<io::Error>,
}

impl WriteBehind {
    /// Starts the thread, which ends with the last clone.
    pub(super) fn new(file: Arc<dyn DiskFile>) -> io::Result<Self> {
        let pages = PageFile::create(Arc::clone(&file))?;
        let (sender, receiver) = sync_channel(WAITING_SYNCS);
        let thread = std::thread::Builder::new()
            .name("simdb-sync".into())
            .spawn(move || sync_when_told(&*file, &receiver))?;
        Ok(Self {
            pages,
            syncs: Arc::new(Mutex::new(Syncs {
                orders: Some((sender, thread)),
                failure: None,
            })),
            unsynced_bytes: Arc::default(),
            end: Arc::default(),
        })
    }

    /// Waits until everything written so far is durable.
    ///
    /// # Errors
    /// Whatever went wrong first, now or before. redb keeps silent about what it cannot write
    /// while it closes a file; here it is said.
    pub(super) fn finish(&self) -> io::Result<()> {
        let mut syncs = self.syncs.lock();
        syncs.join();
        match syncs.failure.take() {
            Some(failure) => Err(failure),
            None => self.pages.sync(),
        }
    }

    /// Where what was written ends; pages that were not written yet may lie beyond.
    pub(super) fn end(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    fn noting<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            self.syncs.lock().note(error);
        }
        result
    }
}

impl Syncs {
    /// Orders a sync, and waits where too many are ordered. Fails when one before has failed.
    fn order(&mut self) -> io::Result<()> {
        let sent = self.orders.as_ref().map(|(sender, _)| sender.send(()));
        if sent.is_none_or(|sent| sent.is_err()) {
            self.join();
        }
        self.failed()
    }

    fn failed(&self) -> io::Result<()> {
        match &self.failure {
            Some(failure) => Err(twin_of(failure)),
            None => Ok(()),
        }
    }

    /// Ends the thread when it has done what was ordered.
    fn join(&mut self) {
        let Some((sender, thread)) = self.orders.take() else {
            return;
        };
        drop(sender);
        let ended = thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that syncs is gone")));
        if let Err(error) = ended {
            self.note(&error);
        }
    }

    fn note(&mut self, error: &io::Error) {
        self.failure.get_or_insert_with(|| twin_of(error));
    }
}

impl Drop for Syncs {
    /// The thread has the file open: its space is free when the thread is gone.
    fn drop(&mut self) {
        self.join();
    }
}

fn sync_when_told(file: &dyn DiskFile, orders: &Receiver<()>) -> io::Result<()> {
    for () in orders {
        file.sync()?;
    }
    Ok(())
}

/// The same error once more, as far as an error can be copied.
fn twin_of(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

impl StorageBackend for WriteBehind {
    fn len(&self) -> io::Result<u64> {
        self.noting(self.pages.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.noting(self.pages.read(offset, out))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.noting(self.pages.set_len(len))?;
        self.end.fetch_min(len, Ordering::Relaxed);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.syncs.lock().failed()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let length = data.len() as u64;
        self.noting(self.pages.write(offset, data))?;
        self.end.fetch_max(offset + length, Ordering::Relaxed);
        let unsynced = self.unsynced_bytes.fetch_add(length, Ordering::Relaxed) + length;
        if unsynced < SYNCED_BYTES {
            return Ok(());
        }
        self.unsynced_bytes.store(0, Ordering::Relaxed);
        self.syncs.lock().order()
    }

    fn close(&self) -> io::Result<()> {
        self.noting(self.pages.close())
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.pages.try_lock_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.pages.unlock_range(start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::disk::FileInfo;

    /// Takes bytes until it is full, and never makes them durable.
    #[derive(Debug)]
    struct Device {
        room_bytes: u64,
    }

    impl DiskFile for Device {
        fn info(&self) -> io::Result<FileInfo> {
            Ok(FileInfo {
                is_file: true,
                len_bytes: 0,
                identity: (0, 0),
                permissions: None,
            })
        }

        fn read_at(&self, _offset: u64, bytes: &mut [u8]) -> io::Result<()> {
            bytes.fill(0);
            Ok(())
        }

        fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
            if offset + bytes.len() as u64 > self.room_bytes {
                Err(io::ErrorKind::StorageFull.into())
            } else {
                Ok(())
            }
        }

        fn set_len(&self, _len_bytes: u64) -> io::Result<()> {
            Ok(())
        }

        fn sync(&self) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn try_lock(&self, _alone: bool) -> io::Result<bool> {
            Ok(true)
        }
    }

    fn device(room_bytes: u64) -> WriteBehind {
        WriteBehind::new(Arc::new(Device { room_bytes })).unwrap()
    }

    #[test]
    fn a_sync_that_fails_is_told_by_a_later_write_and_at_the_end() {
        let file = device(u64::MAX);
        let bytes = vec![0; 1 << 20];
        let mut writes = 0;
        while file.write(0, &bytes).is_ok() {
            writes += 1;
            assert!(writes < 10_000, "the failure is never told");
        }
        assert!(writes >= SYNCED_BYTES >> 20);
        file.sync_data().unwrap_err();
        file.finish().unwrap_err();
    }

    #[test]
    fn a_write_that_fails_is_told_at_the_end_again() {
        let file = device(1 << 20);
        let failed = file.write(1 << 20, &[1; 4096]).unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::StorageFull);
        assert_eq!(
            file.finish().unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
    }
}
