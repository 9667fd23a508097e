//! A sound database with edited chunks of packed tables, each with its right checksum.

use super::ask::everything;
use super::bases::Base;
use super::edits::{Edit, edits};
use crate::engine::{file_of, pages_of};

const PAGE: usize = 4096;
/// The header of a leaf with one row, and the end of its value.
const LEAF_HEADER: usize = 8;
/// The number of entries, the version, the table, and the bits of the entries.
const CHUNK_HEADER: std::ops::Range<usize> = 4..10;

/// Bits of the first byte select the database. The rest are edits.
pub fn run(input: &[u8]) {
    let Some((mode, input)) = input.split_first() else {
        return;
    };
    let base = Base::shared(mode & 2 != 0, mode & 1 != 0);
    let mut pages = pages_of(&base.file);
    let chunks = chunks(&pages);
    assert!(!chunks.is_empty());
    for edit in edits(input) {
        apply(edit, &chunks, &mut pages);
    }
    everything(&base.disk_with(file_of(&base.file, &pages)));
}

/// The place of a chunk in the pages.
struct Chunk {
    key: std::ops::Range<usize>,
    value: std::ops::Range<usize>,
}

/// The leaves with one row whose value begins with the checksum of the rest and of the key.
fn chunks(pages: &[u8]) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    for start in (0..pages.len()).step_by(PAGE) {
        let page = &pages[start..start + PAGE];
        if page[0] != 1 || page[2..4] != [1, 0] {
            continue;
        }
        let end = u32::from_le_bytes(page[4..8].try_into().unwrap()) as usize;
        for key_bytes in [8, 16] {
            let value = LEAF_HEADER + key_bytes..end;
            if value.len() < CHUNK_HEADER.end || end > PAGE {
                continue;
            }
            let chunk = Chunk {
                key: start + LEAF_HEADER..start + value.start,
                value: start + value.start..start + end,
            };
            let stored = &pages[chunk.value.start..chunk.value.start + 4];
            if stored == checksum(&chunk, pages) {
                chunks.push(chunk);
            }
        }
    }
    chunks
}

/// The checksum of a chunk: its bytes from 4 on, then the first and the second integer of its
/// fence.
fn checksum(chunk: &Chunk, pages: &[u8]) -> [u8; 4] {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&pages[chunk.value.start + 4..chunk.value.end]);
    let key = &pages[chunk.key.clone()];
    match key.len() {
        8 => crc.update(&[key, &[0; 8]].concat()),
        // The key is a 128-bit integer: the first integer of a pair is its high half.
        _ => crc.update(&[&key[8..], &key[..8]].concat()),
    }
    crc.finalize().to_le_bytes()
}

fn apply(edit: Edit, chunks: &[Chunk], pages: &mut [u8]) {
    let chunk = &chunks[edit.which % chunks.len()];
    let bytes = &mut pages[chunk.value.clone()];
    let at = match edit.kind % 4 {
        0 => CHUNK_HEADER.start + edit.at % CHUNK_HEADER.len(),
        _ => edit.at % bytes.len(),
    };
    match edit.kind % 4 {
        0 | 1 => bytes[at] = edit.value[0],
        2 => bytes[at] ^= 1 << (edit.value[0] % 8),
        _ => Edit::put(bytes, at, &edit.value),
    }
    let crc = checksum(chunk, pages);
    pages[chunk.value.start..chunk.value.start + 4].copy_from_slice(&crc);
}
