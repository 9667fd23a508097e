//! [`WriteBehind`]: syncs a file in the background while redb writes it.

use std::io;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use redb::{BackendError, StorageBackend};

use crate::store::bulk::worker::Worker;
use crate::store::disk::DiskFile;
use crate::store::pager::PageFile;

/// A sync begins every 8 MiB, after the sync before, so at most 16 MiB wait for the disk.
// With 32 MiB an interrupted load waited up to 0.4 s for the disk.
const SYNCED_BYTES: u64 = 8 << 20;

/// A backend of redb that syncs on other threads. No process can open the file before
/// [`finish`](Self::finish), so no commit waits for the disk. All clones share the file.
#[derive(Clone, Debug)]
pub(super) struct WriteBehind {
    pages: PageFile,
    file: Arc<dyn DiskFile>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The last sync, unless its end was waited for.
    sync: Mutex<Option<Worker<io::Result<()>>>>,
    failure: WriteFailure,
    /// Bytes written since the last sync began.
    unsynced_bytes: AtomicU64,
    end: AtomicU64,
}

/// The first error, which all later calls return. After a failed sync, a second one would report
/// lost pages as durable.
#[derive(Debug, Default)]
struct WriteFailure(OnceLock<io::Error>);

impl WriteFailure {
    fn keep<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            self.0.get_or_init(|| copy_of(error));
        }
        result
    }

    fn check(&self) -> io::Result<()> {
        self.0.get().map_or(Ok(()), |error| Err(copy_of(error)))
    }
}

/// A copy of an error: its code, or its kind and text.
fn copy_of(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

impl WriteBehind {
    pub(super) fn new(file: Arc<dyn DiskFile>, has_options: bool) -> io::Result<Self> {
        Ok(Self {
            pages: PageFile::create(Arc::clone(&file), has_options)?,
            file,
            shared: Arc::default(),
        })
    }

    /// Waits until all pages written are durable.
    ///
    /// # Errors
    /// The first error of any call, because redb drops errors while it closes a file.
    pub(super) fn finish(&self) -> io::Result<()> {
        self.wait_for_sync(&mut self.shared.sync.lock())?;
        self.pages.sync()
    }

    /// The end of the pages written. redb's cache may hold pages behind it.
    pub(super) fn end(&self) -> u64 {
        self.shared.end.load(Ordering::Relaxed)
    }

    /// Fails all further writes, so that redb closes the file without them.
    pub(super) fn abandon(&self) {
        let abandoned = Err::<(), _>(io::ErrorKind::Interrupted.into());
        drop(self.shared.failure.keep(abandoned));
    }

    /// Returns `true` if [`abandon`](Self::abandon) came before any other failure.
    pub(super) fn is_abandoned(&self) -> bool {
        let failure = self.shared.failure.0.get();
        failure.is_some_and(|failure| failure.kind() == io::ErrorKind::Interrupted)
    }

    fn begin_sync(&self) -> io::Result<()> {
        let mut sync = self.shared.sync.lock();
        self.wait_for_sync(&mut sync)?;
        let file = Arc::clone(&self.file);
        *sync = Some(Worker::spawn("simdb-sync", move || file.sync())?);
        Ok(())
    }

    fn wait_for_sync(&self, sync: &mut Option<Worker<io::Result<()>>>) -> io::Result<()> {
        let ended = sync.take().and_then(|mut worker| worker.join());
        self.shared.failure.keep(ended.unwrap_or(Ok(())))?;
        self.shared.failure.check()
    }
}

impl StorageBackend for WriteBehind {
    fn len(&self) -> io::Result<u64> {
        self.shared.failure.keep(self.pages.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.shared.failure.keep(self.pages.read(offset, out))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.shared.failure.keep(self.pages.set_len(len))?;
        self.shared.end.fetch_min(len, Ordering::Relaxed);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        // No sync: no process can open the file before `finish`, which makes all pages durable.
        self.shared.failure.check()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let Shared {
            failure,
            unsynced_bytes,
            end,
            ..
        } = &*self.shared;
        let length = data.len() as u64;
        failure.check()?;
        failure.keep(self.pages.write(offset, data))?;
        end.fetch_max(offset + length, Ordering::Relaxed);
        // The sync runs beside the next writes. Without it, all pages would wait for the sync at
        // the end.
        if unsynced_bytes.fetch_add(length, Ordering::Relaxed) + length < SYNCED_BYTES {
            return Ok(());
        }
        unsynced_bytes.store(0, Ordering::Relaxed);
        self.begin_sync()
    }

    fn close(&self) -> io::Result<()> {
        self.shared.failure.keep(self.pages.close())
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

    /// A disk that takes bytes until it is full, and fails each sync.
    #[derive(Debug)]
    struct Device {
        room_bytes: u64,
    }

    impl DiskFile for Device {
        fn info(&self) -> io::Result<FileInfo> {
            Ok(FileInfo {
                is_file: true,
                is_folder: false,
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
        WriteBehind::new(Arc::new(Device { room_bytes }), false).unwrap()
    }

    #[test]
    fn failed_sync_is_reported_by_next_write_and_finish() {
        let file = device(u64::MAX);
        let bytes = vec![0; 1 << 20];
        let mut writes = 0;
        while file.write(0, &bytes).is_ok() {
            writes += 1;
            assert!(writes < 10_000, "the failure is never reported");
        }
        assert!(writes >= SYNCED_BYTES >> 20);
        file.sync_data().unwrap_err();
        file.finish().unwrap_err();
    }

    #[test]
    fn failed_write_is_reported_again_by_finish() {
        let file = device(1 << 20);
        let failed = file.write(1 << 20, &[1; 4096]).unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::StorageFull);
        assert_eq!(
            file.finish().unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
    }
}
