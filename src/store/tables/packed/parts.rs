//! Reads of a damaged packed table, chunk by chunk, for `check` and `salvage`.

use redb::ReadableTable;

use super::Packed;
use crate::error::Result;
use crate::store::tables::packed::damaged_ranges::{
    Damaged, Part, rows_past_damage, split_damage, successor,
};
use crate::store::tables::packed::entry::Entry;

impl<T> Packed<T> {
    /// The entries of each chunk in order, and the damaged ranges between chunks. A chunk with
    /// entries out of order or outside its fences is damaged. Damage does not end the iteration;
    /// any other error does.
    pub(crate) fn parts<E: Entry>(&self) -> impl Iterator<Item = Result<Part<E, Vec<E>>>> + '_
    where
        T: ReadableTable<E, &'static [u8]>,
    {
        let mut rows = rows_past_damage(&self.table, E::MIN, &self.db_path).peekable();
        let mut last = None;
        let mut next = move || {
            let Some(row) = rows.next().transpose()? else {
                return Ok(None);
            };
            // The fence of the next chunk, which bounds this part; `None` if it is damaged.
            let behind = match rows.peek() {
                None => Some(None),
                Some(Ok(Part::Read((fence, _)))) => Some(Some(*fence)),
                Some(_) => None,
            };
            let (fence, bytes) = match row {
                Part::Read(row) => row,
                Part::Damaged(Damaged { from, to, why }) => {
                    // `from` follows the fence of the last readable chunk, whose entries are not
                    // lost.
                    let from = last
                        .and_then(successor)
                        .map_or(from, |last: E| last.max(from));
                    let to = behind.unwrap_or(to);
                    return Ok(Some(Part::Damaged(Damaged { from, to, why })));
                }
            };
            let verified = self.verified(fence, &bytes, behind.flatten(), &mut last);
            Ok(Some(match split_damage(verified)? {
                Ok(entries) => Part::Read(entries),
                Err(why) => Part::Damaged(Damaged {
                    from: fence,
                    // Behind an unknown bound the next damaged range follows at once.
                    to: behind.unwrap_or_else(|| successor(fence)),
                    why,
                }),
            }))
        };
        std::iter::from_fn(move || next().transpose())
    }
}
