//! [`Counter`]: ids for documents that have none of their own.

use simdb::DocId;

/// Ids that count up, from input to input, each handed out once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Nothing when the last id is handed out.
    next: Option<u64>,
}

impl Counter {
    /// Begins with this id.
    pub fn new(first: u64) -> Self {
        Self { next: Some(first) }
    }

    /// The next id, or why a document gets none.
    pub fn take(&mut self) -> Result<DocId, String> {
        let id = self.next;
        self.next = id.and_then(|id| id.checked_add(1));
        let none_left = || format!("it has no id: the ids reach {} before it", u64::MAX);
        id.map(DocId).ok_or_else(none_left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_id_is_handed_out_once() {
        let mut counter = Counter::new(u64::MAX - 1);
        assert_eq!(counter.take(), Ok(DocId(u64::MAX - 1)));
        assert_eq!(counter.take(), Ok(DocId(u64::MAX)));
        for _ in 0..2 {
            assert!(counter.take().unwrap_err().contains("has no id"));
        }
    }
}
