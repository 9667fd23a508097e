//! [`IdSequence`]: the ids of *counted* documents, whose input has no ids.

use simdb::DocId;

/// Ascending ids that continue from input to input. Each id is taken once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdSequence {
    /// `None` once the largest id is taken.
    next: Option<DocId>,
}

impl IdSequence {
    /// A sequence that begins with this id.
    pub fn new(first: u64) -> Self {
        Self {
            next: Some(DocId(first)),
        }
    }

    /// Takes the next id. An error if the largest id is taken.
    pub fn take(&mut self) -> Result<DocId, String> {
        let id = self
            .next
            .ok_or_else(|| format!("it has no id, and none is left: the ids reach {}", u64::MAX))?;
        self.skip_to_after(id);
        Ok(id)
    }

    /// Skips the ids up to and including `taken`.
    pub fn skip_to_after(&mut self, taken: DocId) {
        if self.next.is_some_and(|next| next <= taken) {
            self.next = taken.0.checked_add(1).map(DocId);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_skip_those_already_taken() {
        let mut ids = IdSequence::new(5);
        assert_eq!(ids.take(), Ok(DocId(5)));
        ids.skip_to_after(DocId(7));
        assert_eq!(ids.take(), Ok(DocId(8)));
        ids.skip_to_after(DocId(3));
        assert_eq!(ids.take(), Ok(DocId(9)));
    }

    #[test]
    fn largest_id_is_taken_once() {
        let mut ids = IdSequence::new(u64::MAX - 1);
        assert_eq!(ids.take(), Ok(DocId(u64::MAX - 1)));
        assert_eq!(ids.take(), Ok(DocId(u64::MAX)));
        for _ in 0..2 {
            assert!(ids.take().unwrap_err().contains("none is left"));
        }
        let mut ids = IdSequence::new(0);
        ids.skip_to_after(DocId(u64::MAX));
        assert!(ids.take().is_err());
    }
}
