//! [`SharedDatabase`]: an open database that the Python objects of it share.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::prelude::*;
use simdb::{Database, Error, Snapshot};

use crate::error::Failure;

/// An open database, shared by `Database`, its iterators and its tables.
pub struct SharedDatabase {
    /// `None` only while the database is dropped.
    database: Option<Database>,
    /// The process that opened the database.
    process: u32,
    /// The snapshots to be dropped when the database is closed.
    snapshots: Mutex<Vec<Weak<HeldSnapshot>>>,
}

impl SharedDatabase {
    pub fn new(database: Database) -> Self {
        Self {
            database: Some(database),
            process: std::process::id(),
            snapshots: Mutex::default(),
        }
    }

    /// The database. Refused in a forked process: the threads of the database are not forked, and
    /// the file has one writer.
    pub fn database(&self) -> Result<&Database, Failure> {
        match &self.database {
            Some(database) if self.is_own() => Ok(database),
            Some(database) => Err(Failure::Forked(database.path().display().to_string())),
            None => unreachable!("the database is taken by drop only"),
        }
    }

    /// The database, for what cannot change after it was opened.
    pub fn settings(&self) -> &Database {
        match &self.database {
            Some(database) => database,
            None => unreachable!("the database is taken by drop only"),
        }
    }

    fn is_own(&self) -> bool {
        self.process == std::process::id()
    }

    /// A snapshot that lives until it is closed, its database is closed, or it is dropped.
    pub fn snapshot(&self) -> Result<Arc<HeldSnapshot>, Failure> {
        let snapshot = self.database()?.snapshot()?;
        let held = Arc::new(HeldSnapshot(Mutex::new(Some(Arc::new(snapshot)))));
        let mut snapshots = self
            .snapshots
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        snapshots.retain(|held| held.strong_count() > 0);
        snapshots.push(Arc::downgrade(&held));
        Ok(held)
    }

    /// Closes the snapshots, then the database.
    pub fn close(&self) -> Result<(), Failure> {
        let database = self.database()?;
        let mut snapshots = self
            .snapshots
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for held in snapshots.drain(..).filter_map(|held| held.upgrade()) {
            held.close();
        }
        drop(snapshots);
        Ok(database.close()?)
    }

    fn closed(&self) -> Error {
        Error::Closed {
            path: self.settings().path().to_path_buf(),
        }
    }
}

impl Drop for SharedDatabase {
    fn drop(&mut self) {
        let Some(database) = self.database.take() else {
            return;
        };
        if !self.is_own() {
            // Only the process that opened the database may close it.
            std::mem::forget(database);
            return;
        }
        // A drop merges the journal into the tables, which may take seconds.
        let mut database = Some(database);
        Python::try_attach(|py| py.detach(|| drop(database.take())));
    }
}

/// A snapshot that its database can close.
pub struct HeldSnapshot(Mutex<Option<Arc<Snapshot>>>);

impl HeldSnapshot {
    /// The snapshot, which stays alive during the call.
    pub fn get(&self, shared: &SharedDatabase) -> Result<Arc<Snapshot>, Failure> {
        shared.database()?;
        let snapshot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(snapshot.clone().ok_or_else(|| shared.closed())?)
    }

    /// Drops the snapshot when the running calls end.
    pub fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
