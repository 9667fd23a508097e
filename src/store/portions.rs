//! [`in_portions`]: an iterator over items that are read one portion at a time.

use crate::error::Result;
use crate::ids::DocId;

/// The items of one read, in order.
#[derive(Debug)]
pub(crate) struct Portion<T> {
    pub(crate) items: Vec<T>,
    /// The smallest id that a later portion can have; `None` after the last portion.
    pub(crate) next: Option<DocId>,
}

impl<T> Portion<T> {
    /// A portion whose last item has the id `last`.
    pub(crate) fn new(items: Vec<T>, last: Option<DocId>, may_have_more: bool) -> Self {
        // No portion follows the largest id, even with `may_have_more`.
        let next = last.and_then(|last| last.0.checked_add(1)).map(DocId);
        Self {
            items,
            next: next.filter(|_| may_have_more),
        }
    }
}

/// Iterates over the items of all portions from `from` on. The first item of a portion causes its
/// read. After an error the iterator ends.
pub(crate) fn in_portions<T>(
    from: DocId,
    mut read: impl FnMut(DocId) -> Result<Portion<T>>,
) -> impl Iterator<Item = Result<T>> {
    let mut next = Some(from);
    let mut items = Vec::new().into_iter();
    std::iter::from_fn(move || {
        loop {
            if let Some(item) = items.next() {
                return Some(Ok(item));
            }
            match read(next.take()?) {
                Ok(portion) => (items, next) = (portion.items.into_iter(), portion.next),
                Err(error) => return Some(Err(error)),
            }
        }
    })
}
