//! A sound database with edited pages and right checksums, so that redb itself reads them.

use xxhash_rust::xxh3::xxh3_128;

use super::ask::everything;
use super::bases::Base;
use super::edits::{Edit, edits};
use crate::engine::{file_of, pages_of};

const PAGE: usize = 4096;
/// Offsets of redb's two commit slots in its first page, and the offset of the checksum in each.
const SLOTS: [usize; 2] = [64, 192];
const SLOT_SUM: usize = 112;

/// Bits of the first byte select the database (1 and 4), and the repair of the checksums in redb's
/// header. The rest are edits.
pub fn run(input: &[u8]) {
    let Some((mode, input)) = input.split_first() else {
        return;
    };
    let base = Base::shared(mode & 4 != 0, mode & 1 != 0);
    let mut pages = pages_of(&base.file);
    let used = used_pages(&pages);
    for edit in edits(input) {
        apply(edit, &used, &mut pages);
    }
    if mode & 2 == 0 {
        for slot in SLOTS {
            let sum = xxh3_128(&pages[slot..slot + SLOT_SUM]);
            pages[slot + SLOT_SUM..slot + SLOT_SUM + 16].copy_from_slice(&sum.to_le_bytes());
        }
    }
    everything(&base.disk_with(file_of(&base.file, &pages)));
}

/// Pages with content. The empty ones are never read.
fn used_pages(pages: &[u8]) -> Vec<usize> {
    let pages = pages.chunks(PAGE).enumerate();
    let used = pages.filter(|(_, page)| page.iter().any(|byte| *byte != 0));
    used.map(|(number, _)| number).collect()
}

fn apply(edit: Edit, used: &[usize], pages: &mut Vec<u8>) {
    let nth = |which: usize| used[which % used.len()] * PAGE;
    let (from, at) = (nth(edit.which), edit.at % PAGE);
    if from + PAGE > pages.len() {
        return;
    }
    let page = from..from + PAGE;
    match edit.kind % 10 {
        0 => pages[from + at] = edit.value[0],
        1 => pages[from + at] ^= 1 << (edit.value[0] % 8),
        2 => Edit::put(&mut pages[page], at, &edit.value),
        // The start of a page: its kind and its number of rows.
        3 => Edit::put(&mut pages[page], 0, &edit.value),
        // A pointer to a page: page number, then size.
        4 => {
            let number = (nth(edit.other()) / PAGE) as u64;
            let pointer = number | u64::from(edit.value[2]) << 20 | u64::from(edit.value[3]) << 56;
            Edit::put(&mut pages[page], at & !7, &pointer.to_le_bytes());
        }
        5 => {
            let other = edit.other() % PAGE;
            let end = (other + edit.count()).min(PAGE);
            let moved = pages[from + other..from + end].to_vec();
            Edit::put(&mut pages[page], at, &moved);
        }
        6 => pages[from + at..from + PAGE].fill(0),
        7 | 8 => {
            let other = nth(edit.other());
            if other + PAGE <= pages.len() {
                let moved = pages[page].to_vec();
                if edit.kind % 10 == 8 {
                    pages.copy_within(other..other + PAGE, from);
                }
                pages[other..other + PAGE].copy_from_slice(&moved);
            }
        }
        _ => {
            let count = pages.len() / PAGE;
            pages.resize((edit.at % (2 * count)).max(1) * PAGE, 0);
        }
    }
}
