//! The header of redb: the only page that is written in place, without a checksum of the whole
//! page.
//!
//! | bytes | content |
//! |---|---|
//! | 0..9 | magic number |
//! | 9 | flags: second slot is primary (1), file is open (2), last commit was in two phases (4) |
//! | 12..16 | bytes of a page |
//! | 16..20 | header pages of a region: 0 |
//! | 20..24 | pages of a region: 2^20 |
//! | 24..28, 28..32 | full regions, and pages of the last region |
//! | 64..192, 192..320 | two commit slots: commit number at 104, checksum of the slot at 112 |
//!
//! This layout is private to redb, so `Cargo.toml` pins redb to one version.
//!
//! The fixed fields must have their values. In a closed file, the primary slot must be sound and
//! have the later commit; otherwise the flag that selects the primary slot has flipped. In a file
//! that was not closed, a crash may have come after a slot was written and before it became
//! primary, so redb chooses the slot.
//!
//! If redb chooses the earlier commit and closes the file without a new commit, the slot of the
//! later commit stays. The closed file would then look as if that flag had flipped. So
//! [`without_aborted_slot`] invalidates the later slot whenever the header of a closed file is
//! written.

use xxhash_rust::xxh3::xxh3_128;

use crate::store::pager::layout::PAGE;

/// Bytes of the header; redb writes it as a whole.
pub(super) const BYTES: usize = 320;

const MAGIC: &[u8; 9] = b"redb\x1a\x0a\xa9\x0d\x0a";
const FLAGS: usize = 9;
const SECOND_IS_PRIMARY: u8 = 1;
const IS_OPEN: u8 = 2;
const TWO_PHASE: u8 = 4;
const KNOWN_FLAGS: u8 = SECOND_IS_PRIMARY | IS_OPEN | TWO_PHASE;
const REGION_PAGES: u32 = 1 << 20;
const SLOTS: [usize; 2] = [64, 192];
const SLOT_BYTES: usize = 128;
const COMMIT_NUMBER: usize = 104;
const SLOT_SUM: usize = 112;

/// Verifies the header of a file that holds `redb_bytes` for redb; the error describes the damage.
pub(super) fn verify(header: &[u8; BYTES], redb_bytes: u64) -> Result<(), &'static str> {
    let word = |at: usize| {
        let bytes: [u8; 4] = std::array::from_fn(|index| header[at + index]);
        u32::from_le_bytes(bytes)
    };
    let flags = header[FLAGS];
    let fixed = (word(12), word(16), word(20));
    if !header.starts_with(MAGIC)
        || flags & !KNOWN_FLAGS != 0
        || fixed != (PAGE as u32, 0, REGION_PAGES)
    {
        return Err("the redb header has an invalid magic number, flag or page size");
    }
    // After a crash the length in the header may be outdated and a slot unfinished: redb decides.
    if flags & IS_OPEN != 0 {
        return Ok(());
    }
    let pages = u64::from(word(24)) * u64::from(REGION_PAGES) + u64::from(word(28));
    if (pages + 1) * PAGE != redb_bytes {
        return Err(
            "its length differs from the length in the redb header: the file was cut or extended",
        );
    }
    // A flipped bit in a slot, or in the flag that selects the slot, would give an old state.
    let primary = usize::from(flags & SECOND_IS_PRIMARY != 0);
    if !is_sound(slot(header, primary)) {
        return Err("the redb header does not match its checksum");
    }
    if is_later(header, 1 - primary) {
        return Err("the redb header points to an outdated commit");
    }
    Ok(())
}

/// Returns `true` if the header is written before the pages of its commit are durable.
pub(super) fn is_one_phase(header: &[u8; BYTES]) -> bool {
    header[FLAGS] & TWO_PHASE == 0
}

/// The header to be written. In a closed file, a secondary slot with a later commit belongs to an
/// aborted commit; its checksum is inverted.
pub(super) fn without_aborted_slot(header: &[u8; BYTES]) -> [u8; BYTES] {
    let mut header = *header;
    let flags = header[FLAGS];
    let other = usize::from(flags & SECOND_IS_PRIMARY == 0);
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

/// Returns `true` if slot `number` is sound and has a later commit than the other slot.
fn is_later(header: &[u8; BYTES], number: usize) -> bool {
    let commit = |slot: &[u8]| {
        let bytes: [u8; 8] = std::array::from_fn(|index| slot[COMMIT_NUMBER + index]);
        u64::from_le_bytes(bytes)
    };
    let (this, other) = (slot(header, number), slot(header, 1 - number));
    is_sound(this) && commit(this) > commit(other)
}
