//! Queries of the tables `arrivals` and `times`.

use crate::error::Result;
use crate::ids::{DocId, Timestamp};
use crate::store::tables::packed::entry::{Entry, pair};
use crate::store::tables::schema::{ARRIVALS, TIMES};
use crate::store::tables::{Access, Tables};

impl<A: Access> Tables<A> {
    /// The arrival time of a stored document; `None` if the database keeps no arrival times.
    pub(crate) fn arrival_of(&self, id: DocId) -> Result<Option<Timestamp>> {
        let Some(times) = self.kept(TIMES) else {
            return Ok(None);
        };
        match times.first_in(pair(id.0, 0), pair(id.0, u64::MAX))? {
            Some(entry) => Ok(Some(Timestamp(entry.second()))),
            None => Err(self
                .db_path
                .corrupt(format!("table times lacks document {id}"))),
        }
    }

    /// The first `most` documents, from `from` on, that arrived before `cutoff`, ordered by arrival
    /// time, then id. Empty if the database keeps no arrival times.
    pub(crate) fn find_arrivals(
        &self,
        cutoff: Timestamp,
        from: (u64, DocId),
        most: usize,
    ) -> Result<Vec<(Timestamp, DocId)>> {
        let (from, end) = (pair(from.0, from.1.0), pair(cutoff.0, 0));
        let mut found = Vec::new();
        if let Some(arrivals) = self.kept(ARRIVALS)
            && from < end
            && most > 0
        {
            arrivals.visit_entries(from, end - 1, |entry| {
                found.push((Timestamp(entry.first()), DocId(entry.second())));
                found.len() < most
            })?;
        }
        Ok(found)
    }

    /// The first `most` documents that arrived after `time`, ordered by arrival time, then id.
    pub(crate) fn arrivals_after(
        &self,
        time: Timestamp,
        most: usize,
    ) -> Result<Vec<(Timestamp, DocId)>> {
        let mut found = Vec::new();
        if let Some(arrivals) = self.kept(ARRIVALS)
            && let Some(from) = time.0.checked_add(1)
            && most > 0
        {
            arrivals.visit_entries(pair(from, 0), u128::MAX, |entry| {
                found.push((Timestamp(entry.first()), DocId(entry.second())));
                found.len() < most
            })?;
        }
        Ok(found)
    }

    /// The latest arrival time that is not after `limit`. About 64 look-ups.
    pub(crate) fn latest_arrival_until(&self, limit: Timestamp) -> Result<Option<Timestamp>> {
        let Some(arrivals) = self.kept(ARRIVALS) else {
            return Ok(None);
        };
        let first_from = |from| arrivals.first_in(pair(from, 0), pair(limit.0, u64::MAX));
        let Some(first) = first_from(0)? else {
            return Ok(None);
        };
        // A binary search: an arrival lies at `found`, none after `end` up to the limit.
        let (mut found, mut end) = (first.first(), limit.0);
        while found < end {
            let middle = end - (end - found) / 2;
            match first_from(middle)? {
                Some(entry) => found = entry.first(),
                None => end = middle - 1,
            }
        }
        Ok(Some(Timestamp(found)))
    }

    /// The earliest arrival time; `None` without documents, or if the database keeps no arrival
    /// times.
    pub(crate) fn first_arrival(&self) -> Result<Option<Timestamp>> {
        let Some(arrivals) = self.kept(ARRIVALS) else {
            return Ok(None);
        };
        let first = arrivals.first_in(u128::MIN, u128::MAX)?;
        Ok(first.map(|entry| Timestamp(entry.first())))
    }
}
