//! [`Wordings`]: the texts of an index, each wording once.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;

use super::arena::{Arena, ArenaPlace};
use super::postings::Postings;
use crate::analysis::words::{KeyFilter, Vocabulary, Words};
use crate::analysis::{Analysed, HEADER_BYTES, PackedHeader, PackedWording};
use crate::measure::containment::{KnownWords, TOKENS_AROUND, Weights};

/// The end of a list.
const NONE: u32 = u32::MAX;

/// A new text is compared with the first 8 variants of its wording, so a million spellings of one
/// wording take a million comparisons, not a trillion.
const MAX_COMPARED_VARIANTS: usize = 8;

/// A text of at most 192 words has no filter: its words are compared sooner than looked up.
pub(super) const MAX_UNFILTERED_WORDS: usize = 192;

/// A wording; its number is the slot of the forest. A search reads the headers of many slots in no
/// order, so a slot is a line of the processor's cache.
#[repr(align(64))]
struct Slot {
    header: [u8; HEADER_BYTES],
    /// The packed wording without its header; [`ArenaPlace::NONE`] for a text without letters and a
    /// very long text: its variants have their texts.
    content: ArenaPlace,
    first_variant: u32,
    last_variant: u32,
}

const _: () = assert!(size_of::<Slot>() == 64);

/// A text with a wording. Texts that differ in case or punctuation are variants.
struct Variant {
    /// [`ArenaPlace::NONE`] if no search needs the text.
    text: ArenaPlace,
    /// The numbers of the words; [`ArenaPlace::NONE`] if the texts decide no search.
    words: ArenaPlace,
    /// The [`KeyFilter`] of the words; [`ArenaPlace::NONE`] if the words are few.
    keys: ArenaPlace,
    /// The positions of the first and the last copy.
    first: u32,
    last: u32,
    /// The next variant of the wording.
    next: u32,
}

/// Slots with their variants, and variants with their positions.
pub(super) struct Wordings {
    keeps_texts: bool,
    arena: Arena,
    vocabulary: Vocabulary,
    /// `None` unless the words select the texts that are compared.
    postings: Option<Postings>,
    slots: Vec<Slot>,
    variants: Vec<Variant>,
    /// The next copy of the text at each position.
    next_copies: Vec<u32>,
    /// By the hash of the wording.
    by_key: HashMap<u64, u32, FixedState>,
}

impl Wordings {
    /// Keeps all texts and their words if `keeps_texts`, otherwise only the texts that have no
    /// packed wording. With `has_postings`, [`covering`](Self::covering) finds texts.
    pub(super) fn new(keeps_texts: bool, has_postings: bool) -> Self {
        Self {
            keeps_texts,
            arena: Arena::default(),
            vocabulary: Vocabulary::default(),
            postings: has_postings.then(Postings::default),
            slots: Vec::new(),
            variants: Vec::new(),
            next_copies: Vec::new(),
            by_key: HashMap::default(),
        }
    }

    /// The number of texts.
    pub(super) fn len(&self) -> usize {
        self.next_copies.len()
    }

    /// Adds a text at the next position. Returns `true` if its wording is new, and has the next
    /// slot.
    pub(super) fn push(&mut self, text: &Analysed) -> bool {
        let position = self.len() as u32;
        assert!(position < NONE, "an index has less than 2^32 - 1 texts");
        self.next_copies.push(NONE);
        let Some(slot) = self.slot_of(text) else {
            self.push_slot(text, position);
            return true;
        };
        match self.variant_of(slot, text) {
            Some(variant) => {
                let last = &mut self.variants[variant as usize].last;
                self.next_copies[*last as usize] = position;
                *last = position;
            }
            None => {
                let last = self.slots[slot as usize].last_variant;
                self.variants[last as usize].next = self.variants.len() as u32;
                self.slots[slot as usize].last_variant = self.variants.len() as u32;
                self.push_variant(text, position, slot, true);
            }
        }
        false
    }

    fn push_slot(&mut self, text: &Analysed, position: u32) {
        let (slot, variant) = (self.slots.len() as u32, self.variants.len() as u32);
        let (header, content) = match text.packed() {
            Some(packed) => (*packed.header().0, self.arena.push(packed.content())),
            None => ([0; HEADER_BYTES], ArenaPlace::NONE),
        };
        self.slots.push(Slot {
            header,
            content,
            first_variant: variant,
            last_variant: variant,
        });
        let keeps_text = self.keeps_texts || content == ArenaPlace::NONE;
        self.push_variant(text, position, slot, keeps_text);
        // Of two wordings with one hash the first is found by it, and the other by its shingles.
        self.by_key.entry(text.wording_hash()).or_insert(slot);
    }

    fn push_variant(&mut self, text: &Analysed, position: u32, slot: u32, keeps_text: bool) {
        let text_place = match keeps_text {
            true => self.arena.push(text.text().as_bytes()),
            false => ArenaPlace::NONE,
        };
        let numbers = match self.keeps_texts {
            true => self.vocabulary.numbers(text.words()),
            false => Vec::new(),
        };
        if let Some(postings) = &mut self.postings {
            postings.push(slot, self.vocabulary.key_hashes(numbers.iter().copied()));
        }
        let words = match self.keeps_texts {
            true => {
                let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
                self.arena.push(&bytes.collect::<Vec<u8>>())
            }
            false => ArenaPlace::NONE,
        };
        let keys = match numbers.len() {
            ..=MAX_UNFILTERED_WORDS => ArenaPlace::NONE,
            _ => {
                let hashes = self.vocabulary.key_hashes(numbers.into_iter());
                self.arena.push(&KeyFilter::bytes(hashes))
            }
        };
        self.variants.push(Variant {
            text: text_place,
            words,
            keys,
            first: position,
            last: position,
            next: NONE,
        });
    }

    /// The slot with the wording of a text.
    pub(super) fn slot_of(&self, text: &Analysed) -> Option<u32> {
        let slot = *self.by_key.get(&text.wording_hash())?;
        let is_same = match self.packed(slot) {
            Some(packed) => packed.letters() == text.letters().as_bytes(),
            None => {
                let stored = self.text(self.slots[slot as usize].first_variant);
                stored == text.text() || Analysed::lazy(stored).has_wording_of(text)
            }
        };
        is_same.then_some(slot)
    }

    /// The variant of a slot that equals a text. Without texts, all copies are of one variant.
    fn variant_of(&self, slot: u32, text: &Analysed) -> Option<u32> {
        if !self.keeps_texts {
            return Some(self.slots[slot as usize].first_variant);
        }
        let mut variants = self.variants(slot).take(MAX_COMPARED_VARIANTS);
        variants.find(|variant| self.text(*variant) == text.text())
    }

    /// The packed wording of a slot; `None` if its text has to be read.
    #[inline]
    pub(super) fn packed(&self, slot: u32) -> Option<PackedWording<'_>> {
        let slot = &self.slots[slot as usize];
        let content = self.arena.get(slot.content)?;
        Some(PackedWording::of_parts(PackedHeader(&slot.header), content))
    }

    /// The header of the packed wording of a slot; `None` if its text has to be read.
    #[inline]
    pub(super) fn header(&self, slot: u32) -> Option<PackedHeader<'_>> {
        let slot = &self.slots[slot as usize];
        (slot.content != ArenaPlace::NONE).then_some(PackedHeader(&slot.header))
    }

    /// The variants of a slot, in the order of their first positions.
    pub(super) fn variants(&self, slot: u32) -> impl Iterator<Item = u32> {
        let first = self.slots[slot as usize].first_variant;
        std::iter::successors(Some(first), |variant| {
            Some(self.variants[*variant as usize].next).filter(|next| *next != NONE)
        })
    }

    /// The text of a variant; empty if no search needs the text.
    pub(super) fn text(&self, variant: u32) -> &str {
        let bytes = self.arena.get(self.variants[variant as usize].text);
        str::from_utf8(bytes.unwrap_or_default()).unwrap_or_default()
    }

    /// The words of a variant; `None` if they are few.
    pub(super) fn known_words(&self, variant: u32) -> Option<KnownWords<'_>> {
        let bytes = self.arena.get(self.variants[variant as usize].keys)?;
        Some(KnownWords {
            vocabulary: &self.vocabulary,
            keys: KeyFilter::new(bytes)?,
        })
    }

    /// The words of the variant of a slot; `None` for several variants, and if the words are few.
    #[inline]
    pub(super) fn known_words_of(&self, slot: u32) -> Option<KnownWords<'_>> {
        let slot = &self.slots[slot as usize];
        (slot.first_variant == slot.last_variant)
            .then(|| self.known_words(slot.first_variant))
            .flatten()
    }

    /// The slots that have a text before a position which may cover a text, ascending; none
    /// without postings.
    pub(super) fn covering(&self, weights: &Weights, text: &Words, end: u32) -> Vec<u32> {
        let end = self.variants.partition_point(|variant| variant.first < end) as u32;
        let found = |postings: &Postings| postings.covering(weights, text, &self.vocabulary, end);
        self.postings.as_ref().map_or_else(Vec::new, found)
    }

    /// Replaces the words of a text by the words of a variant; none if the texts decide no search.
    pub(super) fn read_words(&self, variant: u32, text: &mut Words) {
        self.vocabulary.fill(text, self.numbers(variant));
    }

    /// The words around a place of a variant, and the place among them.
    pub(super) fn words_around(&self, variant: u32, place: usize) -> (Words, usize) {
        let before = place.min(TOKENS_AROUND);
        let around = self.numbers(variant).skip(place - before);
        let mut words = Words::default();
        self.vocabulary
            .fill(&mut words, around.take(before + 1 + TOKENS_AROUND));
        (words, before)
    }

    /// The hash of the key of each word of a variant.
    pub(super) fn key_hashes(&self, variant: u32) -> impl ExactSizeIterator<Item = u32> + Clone {
        self.vocabulary.key_hashes(self.numbers(variant))
    }

    /// The numbers of the words of a variant.
    fn numbers(&self, variant: u32) -> impl ExactSizeIterator<Item = u32> + Clone {
        let bytes = self.arena.get(self.variants[variant as usize].words);
        let numbers = bytes.unwrap_or_default().as_chunks().0.iter();
        numbers.map(|number| u32::from_le_bytes(*number))
    }

    /// The positions of the copies of a variant within a range, ascending.
    pub(super) fn positions(&self, variant: u32, within: &Range<u32>) -> impl Iterator<Item = u32> {
        let variant = &self.variants[variant as usize];
        let (start, end) = (within.start, within.end);
        // A list that ends before the range is not followed.
        let first = Some(variant.first).filter(|_| variant.last >= start);
        let next = |position: &u32| {
            let next = self.next_copies[*position as usize];
            Some(next).filter(|next| *next != NONE)
        };
        std::iter::successors(first, next)
            .take_while(move |position| *position < end)
            .skip_while(move |position| *position < start)
    }

    /// The first slot of which no text is before a position.
    pub(super) fn slots_before(&self, position: u32) -> u32 {
        let first = |slot: &Slot| self.variants[slot.first_variant as usize].first;
        self.slots.partition_point(|slot| first(slot) < position) as u32
    }

    /// The bytes of memory that never move.
    pub(super) fn arena_bytes(&self) -> usize {
        self.arena.len_bytes()
    }

    pub(super) fn len_bytes(&self) -> usize {
        // A place of the hash table has 16 bytes and a byte of control, and one in eight stays
        // empty.
        let by_key = self.by_key.capacity() * 8 / 7 * 17;
        self.arena.len_bytes()
            + self.vocabulary.len_bytes()
            + self.postings.as_ref().map_or(0, Postings::len_bytes)
            + self.slots.capacity() * size_of::<Slot>()
            + self.variants.capacity() * size_of::<Variant>()
            + self.next_copies.capacity() * size_of::<u32>()
            + by_key
    }
}
