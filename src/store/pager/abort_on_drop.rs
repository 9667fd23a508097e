//! A transaction of the storage engine that is not committed yet.

use std::ops::Deref;
use std::thread;

use redb::{CommitError, StorageError};

/// A transaction of the storage engine, which gives it up when it is dropped.
///
/// While a panic is on its way the engine would not: it would leave behind the pages that the
/// transaction has taken, and from then on no commit, nor the end of the session, would leave a file
/// that can be opened without reading all of it. So the transaction is then given up on a thread that
/// does not panic.
pub(crate) struct AbortOnDrop(Option<redb::WriteTransaction>);

impl AbortOnDrop {
    pub(crate) fn over(transaction: redb::WriteTransaction) -> Self {
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
            None => unreachable!("it is taken by what ends it"),
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
            // Where there is no thread to be had, it is dropped here all the same.
            let giving_up = thread::Builder::new().spawn_scoped(scope, || drop(transaction));
            // What it leaves behind is not looked at again.
            let _ = giving_up.map(thread::ScopedJoinHandle::join);
        });
    }
}
