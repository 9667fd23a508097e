//! Posting lists that are read a page at a time.

use crate::document::DocId;
use crate::error::Result;

/// Returns the documents of a posting list in order of their ids, and ends after the first error.
///
/// `read_page` returns the documents from an id on, in order and at least one if there is one, and
/// `true` if more may follow.
pub(super) fn paged(
    mut read_page: impl FnMut(DocId) -> Result<(Vec<DocId>, bool)>,
) -> impl Iterator<Item = Result<DocId>> {
    let mut page = Vec::new().into_iter();
    let mut next_page = Some(DocId(0));
    std::iter::from_fn(move || {
        if page.len() == 0
            && let Some(from) = next_page.take()
        {
            match read_page(from) {
                Ok((documents, may_have_more)) => {
                    let last = documents.last().filter(|_| may_have_more);
                    next_page = last.and_then(|last| last.0.checked_add(1)).map(DocId);
                    page = documents.into_iter();
                }
                Err(error) => return Some(Err(error)),
            }
        }
        page.next().map(Ok)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_read_in_order_up_to_the_largest_id() {
        let list = [3, 4, 9, u64::MAX - 1, u64::MAX].map(DocId);
        for page_length in 1..=list.len() + 1 {
            let mut pages = 0;
            let documents = paged(|from| {
                pages += 1;
                let rest = &list[list.partition_point(|id| *id < from)..];
                let page = &rest[..rest.len().min(page_length)];
                // The last page says that there may be more, as a full chunk does.
                Ok((page.to_vec(), true))
            });
            let documents: Vec<DocId> = documents.map(Result::unwrap).collect();
            assert_eq!(documents, list);
            assert_eq!(pages, list.len().div_ceil(page_length));
        }
    }
}
