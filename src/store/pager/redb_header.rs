//! The header of the storage engine, which has no checksum but in parts.
//!
//! | bytes | what |
//! |---|---|
//! | 0..9 | what tells its files from others |
//! | 9 | which slot counts (1), whether the file is open (2), whether the last commit was made in two steps (4) |
//! | 12..16 | bytes of a page |
//! | 16..20 | pages in front of each region: none |
//! | 20..24 | pages of a region, the most there can be |
//! | 24..28, 28..32 | whole regions, and pages of the last one |
//! | 64..192, 192..320 | two slots, for the last commit and the one before: at 104 its number, at 112 the checksum of the slot |
//!
//! What is fixed must be what it is. Of a file that was closed, the slot that counts must be sound
//! and be that of the later commit. In a file that was not, the engine may have been cut short
//! between writing one slot and making it count, and decides by itself. If it then takes the earlier
//! commit and closes the file without another, it leaves the later slot as it was. That would pass
//! for a header that points to an outdated commit, so such a slot is spoiled as it is written.

use xxhash_rust::xxh3::xxh3_128;

use crate::store::pager::layout::PAGE;

/// Bytes of the header.
pub(super) const BYTES: usize = 320;

const MAGIC: &[u8; 9] = b"redb\x1a\x0a\xa9\x0d\x0a";
const FLAGS: usize = 9;
const SECOND_COUNTS: u8 = 1;
const IS_OPEN: u8 = 2;
const IN_TWO_STEPS: u8 = 4;
const KNOWN_FLAGS: u8 = SECOND_COUNTS | IS_OPEN | IN_TWO_STEPS;
const REGION_PAGES: u32 = 1 << 20;
const SLOTS: [usize; 2] = [64, 192];
const SLOT_BYTES: usize = 128;
const COMMIT_NUMBER: usize = 104;
const SLOT_SUM: usize = 112;

/// What is wrong with the header of a file that holds so many bytes for the engine, if anything is.
pub(super) fn prove(header: &[u8; BYTES], engine_bytes: u64) -> Result<(), &'static str> {
    let word = |at: usize| {
        let bytes: [u8; 4] = std::array::from_fn(|db_path| header[at + db_path]);
        u32::from_le_bytes(bytes)
    };
    let flags = header[FLAGS];
    let fixed = (word(12), word(16), word(20));
    if !header.starts_with(MAGIC)
        || flags & !KNOWN_FLAGS != 0
        || fixed != (PAGE as u32, 0, REGION_PAGES)
    {
        return Err("the header of the storage engine says what it cannot say");
    }
    if flags & IS_OPEN != 0 {
        return Ok(());
    }
    let pages = u64::from(word(24)) * u64::from(REGION_PAGES) + u64::from(word(28));
    if (pages + 1) * PAGE != engine_bytes {
        return Err("its length is not what its header says: it was cut, or something was added");
    }
    let counts = usize::from(flags & SECOND_COUNTS != 0);
    if !is_sound(slot(header, counts)) {
        return Err("the header of the storage engine does not fit its checksum");
    }
    if is_later(header, 1 - counts) {
        return Err("the header of the storage engine points to an outdated commit");
    }
    Ok(())
}

/// Whether the engine, if it is cut short after this header was written, may take a commit whose
/// pages were written with it.
pub(super) fn is_of_one_step(header: &[u8; BYTES]) -> bool {
    header[FLAGS] & IN_TWO_STEPS == 0
}

/// The header as it is to be written: of a file that is closed, a slot that does not count and is of
/// a later commit is that of one that was given up.
pub(super) fn without_given_up(header: &[u8; BYTES]) -> [u8; BYTES] {
    let mut header = *header;
    let flags = header[FLAGS];
    let other = usize::from(flags & SECOND_COUNTS == 0);
    if flags & IS_OPEN == 0 && is_later(&header, other) {
        for byte in &mut header[SLOTS[other] + SLOT_SUM..SLOTS[other] + SLOT_BYTES] {
            *byte = !*byte;
        }
    }
    header
}

fn slot(header: &[u8; BYTES], number: usize) -> &[u8] {
    &header[SLOTS[number]..SLOTS[number] + SLOT_BYTES]
}

fn is_sound(slot: &[u8]) -> bool {
    let (summed, sum) = slot.split_at(SLOT_SUM);
    xxh3_128(summed).to_le_bytes() == *sum
}

/// Whether a slot is sound, and of a later commit than the other one.
fn is_later(header: &[u8; BYTES], number: usize) -> bool {
    let commit = |slot: &[u8]| {
        let bytes: [u8; 8] = std::array::from_fn(|db_path| slot[COMMIT_NUMBER + db_path]);
        u64::from_le_bytes(bytes)
    };
    let (this, other) = (slot(header, number), slot(header, 1 - number));
    is_sound(this) && commit(this) > commit(other)
}
