//! Arbitrary bytes as a database and its journal.

use super::ask::{everything, path};
use super::bases::Base;
use super::memory::MemoryDisk;
use crate::{engine::file_of, journal};

const PAGE: usize = 4096;

/// Bits of the first byte select the header in front of the bytes, so that they are not refused at
/// once, and a journal; the next two bytes give the length of the journal.
pub fn run(input: &[u8]) {
    let Some((&[mode, low, high], bytes)) = input.split_first_chunk() else {
        return;
    };
    let base = Base::shared(mode & 32 != 0, false);
    let journal_bytes = usize::from(u16::from_le_bytes([low, high]));
    let (bytes, journal_content) = match mode & 1 {
        0 => (bytes, None),
        _ => {
            let (journal, bytes) = bytes.split_at(journal_bytes.min(bytes.len()));
            (bytes, Some(journal.to_vec()))
        }
    };
    let file = match mode >> 1 & 3 {
        0 => bytes.to_vec(),
        1 => [front(base), bytes].concat(),
        // Pages of redb, the first of them sound or not.
        kind => {
            let header = &base.file[2 * PAGE..3 * PAGE];
            let before = if kind == 2 { header } else { &[] };
            let mut pages = [before, bytes].concat();
            pages.resize(pages.len().next_multiple_of(PAGE), 0);
            file_of(front(base), &pages)
        }
    };
    let journals = journal_content.map(|mut content| {
        if mode & 8 != 0 {
            content.resize(1 << 20, 0);
        }
        (journal(&path(), 1 + u32::from(mode >> 4 & 1)), content)
    });
    everything(&MemoryDisk::with(
        [(path(), file)].into_iter().chain(journals),
    ));
}

fn front(base: &'static Base) -> &'static [u8] {
    &base.file[..PAGE]
}
