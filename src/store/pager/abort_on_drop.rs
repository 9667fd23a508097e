//! [`AbortOnDrop`]: a write transaction of redb that is not committed yet.

use std::ops::Deref;
use std::thread;

use redb::{CommitError, StorageError};

/// A write transaction of redb, aborted when dropped, also during a panic.
///
/// redb does not abort a transaction that is dropped while its thread panics: the pages of the
/// transaction stay allocated, and from then on neither a commit nor closing leaves a file that
/// opens without being read in full. So the transaction is then dropped on a thread that does not
/// panic.
pub(crate) struct AbortOnDrop(Option<redb::WriteTransaction>);

impl AbortOnDrop {
    pub(crate) fn new(transaction: redb::WriteTransaction) -> Self {
        Self(Some(transaction))
    }

    pub(crate) fn commit(mut self) -> Result<(), CommitError> {
        self.0.take().map_or(Ok(()), redb::WriteTransaction::commit)
    }

    pub(crate) fn abort(mut self) -> Result<(), StorageError> {
        self.0.take().map_or(Ok(()), redb::WriteTransaction::abort)
    }
}

impl Deref for AbortOnDrop {
    type Target = redb::WriteTransaction;

    fn deref(&self) -> &Self::Target {
        match &self.0 {
            Some(transaction) => transaction,
            None => unreachable!("the transaction is taken only by commit, abort and drop"),
        }
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        let transaction = self.0.take();
        if transaction.is_none() || !thread::panicking() {
            return;
        }
        thread::scope(|scope| {
            // If no thread can be started, the closure is dropped here, and the transaction with it.
            let aborting = thread::Builder::new().spawn_scoped(scope, || drop(transaction));
            let _ = aborting.map(thread::ScopedJoinHandle::join);
        });
    }
}
