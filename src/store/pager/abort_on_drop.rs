//! [`AbortOnDrop`]: a write transaction of redb that is aborted even during a panic.

use std::ops::Deref;
use std::thread;

use redb::{CommitError, StorageError};

/// A write transaction of redb that is aborted when dropped, also during a panic.
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
        // redb does not abort a transaction that is dropped while its thread panics. The pages of
        // the transaction would stay allocated, and the next open would read the whole file to
        // repair it. So another thread, which does not panic, drops the transaction.
        thread::scope(|scope| {
            // If no thread can be started, the closure and the transaction are dropped here: the
            // file is still correct, only its next open is slow.
            let aborting = thread::Builder::new().spawn_scoped(scope, || drop(transaction));
            let _ = aborting.map(thread::ScopedJoinHandle::join);
        });
    }
}
