//! [`TableStore`]: an open database file, without journals and memtables.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, RwLock};
use redb::TableError;

use crate::advice::ForeignFile;
use crate::analysis::frames::{FrameLearner, Frames};
use crate::error::{Error, Result};
use crate::store::cache::Caches;
use crate::store::cache::buckets::MAX_BOOKKEEPING_BYTES;
use crate::store::disk::path::DbPath;
use crate::store::limits::Limits;
use crate::store::pager::backend::Backend;
use crate::store::pool::Pool;
use crate::store::tables::meta;
use crate::store::tables::meta::Header;
use crate::store::tables::scopes::ScopeNames;

/// The fingerprints of all buckets take at most three quarters of the file.
// They take 20 to 25 of the 33 or 43 bytes that a document has in the file.
const FINGERPRINT_PERCENT_OF_FILE: u64 = 75;
/// At least 1/16 of the cache memory is for redb's pages.
// Every look-up reads the inner pages, and a flush changes pages.
const MIN_PAGE_CACHE_SHARE: usize = 16;
/// Pages of a small file, which may grow, get up to half of the cache memory, 256 MiB if that is
/// less.
const MIN_PAGE_CACHE_BYTES: usize = 256 << 20;

type MetaTable = redb::ReadOnlyTable<&'static str, &'static [u8]>;

/// An open database file with its settings, caches and threads. The newest commits are not in the
/// tables, but in journals and memtables.
///
/// Snapshots and write transactions share the `TableStore` and so keep the file open.
pub(crate) struct TableStore {
    pub(crate) backend: Backend,
    pub(crate) caches: Caches,
    pub(crate) pool: Pool,
    pub(crate) db_path: DbPath,
    pub(crate) header: Header,
    /// The names of the scopes, also of scopes whose documents are in memtables.
    pub(crate) scopes: Arc<ScopeNames>,
    pub(crate) limits: Limits,
    pub(super) frames: KeptFrames,
    /// The number of snapshots that callers hold.
    pub(crate) held_snapshots: Arc<AtomicUsize>,
}

/// The frames that similar queries and inserts do not compare.
#[derive(Default)]
pub(super) struct KeptFrames {
    pub(super) in_use: RwLock<FramesInUse>,
    /// `None` until it is needed, and in a database that keeps no frames. Locked before `in_use`.
    pub(super) learner: Mutex<Option<Box<FrameLearner>>>,
}

#[derive(Default)]
pub(super) enum FramesInUse {
    #[default]
    Unread,
    Learned(Arc<Frames>),
    /// Frames that the caller has set, until the database is closed.
    Set(Arc<Frames>),
}

/// One of the snapshots that callers hold.
pub(crate) struct HeldSnapshot(Arc<AtomicUsize>);

impl HeldSnapshot {
    pub(crate) fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(count))
    }
}

impl Drop for HeldSnapshot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl TableStore {
    pub(crate) fn open(
        db_path: &DbPath,
        cache_bytes: usize,
        limits: Limits,
        writable: bool,
    ) -> Result<Self> {
        // The file cannot be opened without a size for its page cache. If the length cannot be
        // read, the open below fails and says why.
        let file_bytes = db_path.info("open").map_or(0, |info| info.len_bytes);
        let our_bytes = caches_bytes(cache_bytes, file_bytes);
        let backend = Backend::open(db_path, cache_bytes - our_bytes, writable)?;
        let meta = open_meta(&backend, db_path)?;
        let header = meta::read_header(&meta, db_path)?;
        header.refuse_other_keys(db_path)?;
        let texts = match header.text_keys {
            Some(_) => Some(meta::read_counters(&meta, db_path)?.texts),
            None => None,
        };
        let scopes = match header.scopes {
            true => meta::read_scopes(&meta, db_path)?,
            false => ScopeNames::default(),
        };
        drop(meta);
        Ok(Self {
            backend,
            caches: Caches::new(our_bytes, limits.max_bucket_len, texts),
            pool: Pool::default(),
            db_path: db_path.clone(),
            header,
            scopes: Arc::new(scopes),
            limits,
            frames: KeptFrames::default(),
            held_snapshots: Arc::default(),
        })
    }

    /// An error if the database is frozen or open for reading only.
    pub(crate) fn refuse_changes(&self) -> Result<()> {
        let path = || self.db_path.path().to_path_buf();
        if self.header.frozen {
            return Err(Error::Frozen { path: path() });
        }
        if !self.backend.is_writable() {
            return Err(Error::ReadOnly { path: path() });
        }
        Ok(())
    }

    /// Table `meta` as of the last redb commit.
    pub(crate) fn meta(&self) -> Result<MetaTable> {
        open_meta(&self.backend, &self.db_path)
    }
}

/// The part of the cache memory for [`Caches`]; the rest is for redb's pages. A query at radius 3
/// reads four buckets, and a page for each match, so buckets come first. If the buckets of the file
/// fit in a half, pages get the other half, or as much as the file needs after it has grown by a
/// half.
fn caches_bytes(cache_bytes: usize, file_bytes: u64) -> usize {
    let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let wanted = bytes(file_bytes / 100 * FINGERPRINT_PERCENT_OF_FILE + MAX_BOOKKEEPING_BYTES);
    let pages = bytes(file_bytes.saturating_add(file_bytes / 2)).max(MIN_PAGE_CACHE_BYTES);
    wanted.max(cache_bytes.saturating_sub(pages)).clamp(
        cache_bytes / 2,
        cache_bytes - cache_bytes / MIN_PAGE_CACHE_SHARE,
    )
}

fn open_meta(backend: &Backend, db_path: &DbPath) -> Result<MetaTable> {
    backend
        .begin_read()?
        .open_table(meta::META)
        .map_err(|cause| match cause {
            // redb could open the file, so another program made it.
            TableError::TableDoesNotExist(_) | TableError::TableTypeMismatch { .. } => {
                Error::NotADatabase {
                    path: db_path.path().to_path_buf(),
                    found: ForeignFile::NoTables,
                }
            }
            cause => db_path.reading(cause),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_get_a_half_of_the_cache_and_more_if_the_file_is_large_or_small() {
        assert_eq!(caches_bytes(1 << 30, 0), 3 << 28);
        assert_eq!(caches_bytes(1 << 30, 1 << 28), 5 << 27);
        assert_eq!(caches_bytes(1 << 30, 1 << 29), 1 << 29);
        let with_bookkeeping = 750_000_000 + MAX_BOOKKEEPING_BYTES as usize;
        assert_eq!(caches_bytes(1 << 30, 1_000_000_000), with_bookkeeping);
        assert_eq!(caches_bytes(1 << 30, 3 << 29), 15 << 26);
        assert_eq!(caches_bytes(1 << 30, 1 << 40), 15 << 26);
        for cache_bytes in 0..100 {
            for file_bytes in [0, 10, 100, u64::MAX] {
                assert!(caches_bytes(cache_bytes, file_bytes) <= cache_bytes);
            }
        }
    }
}
