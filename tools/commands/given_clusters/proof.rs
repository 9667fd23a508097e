//! [`Proof`]: whether clusters are of the documents that are there, by the distances they say.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Result, ensure};
use simdb::{Document, Fingerprint};

use super::Row;
use crate::console::{counted, note};

/// What was compared so far.
pub struct Proof<'p> {
    path: &'p Path,
    compared: u64,
    uncompared: u64,
    /// Of each keeper that is not there, one of its members and how far it is from it.
    siblings: HashMap<u64, (u64, Fingerprint, u32)>,
}

impl<'p> Proof<'p> {
    /// Of the clusters in this file or folder.
    pub fn of(path: &'p Path) -> Self {
        Self {
            path,
            compared: 0,
            uncompared: 0,
            siblings: HashMap::new(),
        }
    }

    /// Refuses a document that says too little: clusters have none.
    pub fn refuse_unreliable(&self, document: &Document) -> Result<()> {
        ensure!(
            document.reliable,
            "{}: document {} says too little to be in one; nothing was changed",
            self.of_others(),
            document.id
        );
        Ok(())
    }

    /// Compares a document with its keeper, or, where that is not there, with another that it is
    /// the keeper of. The distance of document and keeper, if that could be measured.
    pub fn compare(
        &mut self,
        row: &Row,
        fingerprint: Fingerprint,
        keeper: Option<Fingerprint>,
    ) -> Result<Option<u32>> {
        let actual = keeper.map(|keeper| keeper.distance(fingerprint));
        match (actual, row.distance) {
            (Some(actual), Some(given)) => {
                self.compared += 1;
                ensure!(
                    actual == given,
                    "{}: documents {} and {} differ in {actual} bits, and in {given} by the \
                     clusters; nothing was changed",
                    self.of_others(),
                    row.id,
                    row.keeper
                );
            }
            (Some(_), None) => self.uncompared += 1,
            (None, Some(given)) => self.compare_siblings(row, fingerprint, given)?,
            (None, None) => {}
        }
        Ok(actual)
    }

    /// Two distances from one fingerprint say how far apart two others can be, and even or odd.
    fn compare_siblings(&mut self, row: &Row, fingerprint: Fingerprint, given: u32) -> Result<()> {
        let this = (row.id, fingerprint, given);
        let (id, sibling, other) = *self.siblings.entry(row.keeper).or_insert(this);
        let apart = sibling.distance(fingerprint);
        let sum = given + other;
        ensure!(
            given.abs_diff(other) <= apart && apart <= sum && apart % 2 == sum % 2,
            "{}: documents {id} and {} differ in {apart} bits, and cannot be {other} and {given} \
             bits from one document; nothing was changed",
            self.of_others(),
            row.id
        );
        Ok(())
    }

    /// Says what was not compared. An error if nothing was, and something could have been.
    pub fn finish(self) -> Result<()> {
        ensure!(
            self.compared > 0 || self.uncompared == 0,
            "the clusters in {} say no distances, so nothing shows that they are of these documents; \
             nothing was changed",
            self.path.display()
        );
        if self.uncompared > 0 {
            note(format_args!(
                "without a distance in the clusters, so not compared with their keepers: {}",
                counted(self.uncompared, "document")
            ));
        }
        Ok(())
    }

    fn of_others(&self) -> String {
        let path = self.path.display();
        format!("the clusters in {path} are of other documents, or of another recipe")
    }
}
