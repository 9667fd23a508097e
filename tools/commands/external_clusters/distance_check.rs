//! [`DistanceCheck`]: checks by distances that clusters belong to the stored documents.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Result, ensure};
use simdb::Fingerprint;

use super::ClusterRow;
use crate::console::{counted, note};

pub struct DistanceCheck<'p> {
    path: &'p Path,
    compared: u64,
    uncompared: u64,
    /// For each keeper that is not stored, a member and its distance from the keeper.
    siblings: HashMap<u64, (u64, Fingerprint, u32)>,
}

impl<'p> DistanceCheck<'p> {
    pub fn new(path: &'p Path) -> Self {
        Self {
            path,
            compared: 0,
            uncompared: 0,
            siblings: HashMap::new(),
        }
    }

    /// Compares a document with its keeper, or, if the keeper is not stored, with another member of
    /// its cluster. Returns the measured distance of document and keeper; `None` if the keeper is
    /// not stored.
    pub fn compare(
        &mut self,
        row: &ClusterRow,
        fingerprint: Fingerprint,
        keeper: Option<Fingerprint>,
    ) -> Result<Option<u32>> {
        let measured = keeper.map(|keeper| keeper.distance(fingerprint));
        match (measured, row.distance) {
            (Some(measured), Some(expected)) => {
                self.compared += 1;
                ensure!(
                    measured == expected,
                    "{}: documents {} and {} differ in {measured} bits, and in {expected} by the \
                     clusters; nothing was changed",
                    self.mismatch(),
                    row.id,
                    row.keeper
                );
            }
            (Some(_), None) => self.uncompared += 1,
            (None, Some(expected)) => self.compare_siblings(row, fingerprint, expected)?,
            (None, None) => {}
        }
        Ok(measured)
    }

    /// Compares two members of a cluster whose keeper is not stored. By the triangle inequality
    /// their distances from the keeper bound their distance from each other; they also determine
    /// its parity.
    fn compare_siblings(
        &mut self,
        row: &ClusterRow,
        fingerprint: Fingerprint,
        expected: u32,
    ) -> Result<()> {
        let this = (row.id, fingerprint, expected);
        let (id, sibling, other) = *self.siblings.entry(row.keeper).or_insert(this);
        let apart = sibling.distance(fingerprint);
        let sum = expected + other;
        ensure!(
            expected.abs_diff(other) <= apart && apart <= sum && apart % 2 == sum % 2,
            "{}: documents {id} and {} differ in {apart} bits, and cannot be {other} and {expected} \
             bits from one document; nothing was changed",
            self.mismatch(),
            row.id
        );
        Ok(())
    }

    /// Prints the number of documents that could not be compared. It is an error if no document
    /// with a stored keeper could be compared.
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

    fn mismatch(&self) -> String {
        let path = self.path.display();
        format!("the clusters in {path} are of other documents, or of another recipe")
    }
}
