//! [`PackedWording`]: a stored text in the form in which a query compares it, without reading and
//! normalising the text again.
//!
//! | bytes | content |
//! |---|---|
//! | 32 | the counts of the characters in 32 classes, at most 255 each |
//! | 8 | a bit for each phrase |
//! | 2, 2, 2 | the numbers of characters, of bytes of the letters, and of distinct phrases |
//! | 2 | [`IS_INFORMATIVE`], [`IS_ASCII`] |
//! | bytes of the letters | the normalised letters and digits |
//! | characters, 0 if ASCII | a byte for each character |
//! | 8 × phrases | the hashes of the distinct phrases, ascending |

use std::sync::OnceLock;

use rapidfuzz::distance::levenshtein::{Args, BatchComparator};

use super::edit_lanes::{EditLanes, LANES, MAX_OTHER_LETTERS};
use super::jaccard::jaccard_index;
use super::long_shingles::LongShingles;
use super::{Likeness, MAX_EDIT_CHARACTERS, MIN_SHINGLE_JACCARD, Resemblance, Wording};
use crate::analysis::ShingleLength;

/// Classes of characters. A class is the low five bits of the code of a character.
const CLASSES: usize = 32;

const PHRASE_BITS: usize = CLASSES;
const COUNTS: usize = PHRASE_BITS + 8;
pub(crate) const HEADER_BYTES: usize = COUNTS + 8;

/// An edit changes fewer shingles than this. At most five shingles contain the edited character, and an edit
/// that splits or joins runs of characters also changes the shingles at their ends.
const SHINGLES_OF_AN_EDIT: usize = 8;

const IS_INFORMATIVE: u16 = 1;
const IS_ASCII: u16 = 2;

/// The numbers of characters and of distinct phrases of a packed wording.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct WordingSize {
    characters: u16,
    phrases: u16,
}

impl WordingSize {
    pub(crate) fn to_bits(self) -> u32 {
        u32::from(self.characters) << 16 | u32::from(self.phrases)
    }

    pub(crate) fn from_bits(bits: u32) -> Self {
        Self {
            characters: (bits >> 16) as u16,
            phrases: bits as u16,
        }
    }
}

/// The counts of a [`PackedWording`], which reject most wordings without their content.
#[derive(Clone, Copy, Hash)]
pub(crate) struct PackedHeader<'b>(pub(crate) &'b [u8; HEADER_BYTES]);

/// The packed form of a [`Wording`].
#[derive(Clone, Copy, Hash)]
pub(crate) struct PackedWording<'b> {
    header: PackedHeader<'b>,
    /// The letters, the codes of the characters, and the phrases.
    content: &'b [u8],
}

impl<'b> PackedHeader<'b> {
    fn class_counts(self) -> &'b [u8] {
        &self.0[..CLASSES]
    }

    fn phrase_bits(self) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.0[PHRASE_BITS..COUNTS]);
        u64::from_le_bytes(bytes)
    }

    fn count(self, index: usize) -> u16 {
        let at = COUNTS + 2 * index;
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }

    fn characters(self) -> usize {
        self.count(0).into()
    }

    fn phrase_count(self) -> usize {
        self.count(2).into()
    }
}

impl<'b> PackedWording<'b> {
    /// `None` if the bytes are too short.
    pub(crate) fn new(bytes: &'b [u8]) -> Option<Self> {
        let (header, content) = bytes.split_first_chunk()?;
        Some(Self::of_parts(PackedHeader(header), content))
    }

    /// The packed form in bytes from elsewhere; `None` if a comparison could fail on them.
    pub(crate) fn checked(bytes: &'b [u8]) -> Option<Self> {
        let packed = Self::new(bytes)?;
        let header = packed.header;
        let [characters, len, phrases] = [0, 1, 2].map(|at| usize::from(header.count(at)));
        let is_ascii = packed.has(IS_ASCII);
        let codes = if is_ascii { 0 } else { characters };
        let is_whole = packed.content.len() == len + codes + size_of::<u64>() * phrases;
        let letters = str::from_utf8(packed.content.get(..len)?).ok()?;
        let is_sound = is_whole
            && letters.is_ascii() == is_ascii
            && letters.chars().count() == characters
            && class_counts(letters.chars().map(code)) == header.class_counts()
            && phrase_bits(packed.phrases()) == header.phrase_bits();
        is_sound.then_some(packed)
    }

    /// The packed form with a header and the bytes after the header.
    pub(crate) fn of_parts(header: PackedHeader<'b>, content: &'b [u8]) -> Self {
        Self { header, content }
    }

    /// The counts.
    pub(crate) fn header(self) -> PackedHeader<'b> {
        self.header
    }

    pub(crate) fn size(&self) -> WordingSize {
        WordingSize {
            characters: self.header.count(0),
            phrases: self.header.count(2),
        }
    }

    fn has(&self, flag: u16) -> bool {
        self.header.count(3) & flag != 0
    }

    /// The normalised letters and digits.
    pub(crate) fn letters(&self) -> &'b [u8] {
        &self.content[..usize::from(self.header.count(1))]
    }

    /// A byte for each character: equal characters have equal codes.
    fn codes(&self) -> &'b [u8] {
        if self.has(IS_ASCII) {
            return self.letters();
        }
        &self.content[self.letters().len()..][..self.header.characters()]
    }

    fn phrases(&self) -> impl Iterator<Item = u64> + use<'b> {
        let start = self.content.len() - size_of::<u64>() * self.header.phrase_count();
        let hashes = self.content[start..].as_chunks().0;
        hashes.iter().map(|hash| u64::from_le_bytes(*hash))
    }
}

/// The code of a character: an ASCII character itself, otherwise seven bits of a hash.
fn code(character: char) -> u8 {
    match u8::try_from(character) {
        Ok(byte) if byte.is_ascii() => byte,
        _ => 0x80 | (u32::from(character).wrapping_mul(0x9e37_79b1) >> 25) as u8,
    }
}

fn class_counts(codes: impl Iterator<Item = u8>) -> [u8; CLASSES] {
    let mut counts = [0_u8; CLASSES];
    for code in codes {
        let count = &mut counts[usize::from(code) % CLASSES];
        *count = count.saturating_add(1);
    }
    counts
}

/// A bit for each phrase. The phrases of two texts are compared only if enough bits are equal.
fn phrase_bits(phrases: impl Iterator<Item = u64>) -> u64 {
    phrases.fold(0, |bits, hash| bits | 1 << (hash >> 58))
}

impl Wording {
    /// The bytes of the [`PackedWording`]; `None` for a text without letters and digits, or with more
    /// than 65,535 bytes of them.
    pub(crate) fn pack(&self) -> Option<Vec<u8>> {
        let count = |count: usize| u16::try_from(count).ok().map(u16::to_le_bytes);
        let is_ascii = self.letters.is_ascii();
        let is_informative = if self.is_informative {
            IS_INFORMATIVE
        } else {
            0
        };
        let flags = is_informative | if is_ascii { IS_ASCII } else { 0 };
        let codes = || self.letters.chars().map(code);
        if self.letters.is_empty() {
            return None;
        }
        let phrase_bytes = size_of_val(&*self.phrases);
        let codes_len = if is_ascii { 0 } else { self.characters };
        let len = HEADER_BYTES + self.letters.len() + codes_len + phrase_bytes;
        let mut packed = Vec::with_capacity(len);
        packed.extend(class_counts(codes()));
        packed.extend(phrase_bits(self.phrases.iter().copied()).to_le_bytes());
        packed.extend(count(self.characters)?);
        packed.extend(count(self.letters.len())?);
        packed.extend(count(self.phrases.len())?);
        packed.extend(flags.to_le_bytes());
        packed.extend(self.letters.as_bytes());
        packed.extend(codes().take(codes_len));
        packed.extend(self.phrases.iter().flat_map(|hash| hash.to_le_bytes()));
        Some(packed)
    }

    /// The wording of [`checked`](PackedWording::checked) bytes.
    pub(crate) fn unpack(packed: PackedWording<'_>) -> Self {
        let letters = String::from_utf8_lossy(packed.letters()).into_owned();
        let characters = packed.header.characters();
        let mut shingles = ShingleLength::of_comparison(characters)
            .count(&letters)
            .hashes;
        shingles.sort_unstable();
        Self {
            characters,
            raw: None,
            is_informative: packed.has(IS_INFORMATIVE),
            shingles,
            phrases: packed.phrases().collect(),
            letters,
        }
    }
}

/// The comparison of one text with many packed ones. Finds what [`Wording::compare`] finds.
pub(crate) struct PackedComparison<'w> {
    wording: &'w Wording,
    likeness: Likeness,
    class_counts: [u8; CLASSES],
    phrase_bits: u64,
    /// Made by the first distance that needs it.
    codes: OnceLock<BatchComparator<u8>>,
    /// Not used for ASCII: two ASCII texts are compared by their codes alone.
    characters: OnceLock<BatchComparator<char>>,
    is_ascii: bool,
    /// `None` for a text that is not short or not ASCII.
    lanes: Option<EditLanes>,
    /// `None` for a text that is short or not ASCII.
    long_shingles: Option<LongShingles>,
}

impl<'w> PackedComparison<'w> {
    pub(crate) fn new(wording: &'w Wording, likeness: &Likeness) -> Self {
        let is_ascii = wording.letters.is_ascii();
        Self {
            wording,
            likeness: *likeness,
            class_counts: class_counts(wording.letters.chars().map(code)),
            phrase_bits: phrase_bits(wording.phrases.iter().copied()),
            codes: OnceLock::new(),
            characters: OnceLock::new(),
            is_ascii,
            lanes: EditLanes::new(wording.letters.as_bytes()),
            long_shingles: (is_ascii && wording.is_long())
                .then(|| LongShingles::new(wording.letters.as_bytes(), wording.shingles.len())),
        }
    }

    /// Returns `false` for most packed texts that are not near-duplicates, by their counts alone.
    #[inline]
    pub(crate) fn may_be_alike(&self, other: PackedHeader<'_>) -> bool {
        // Thresholds above 1 refuse all texts except those with the same wording.
        self.may_have_edits(other)
            || self.may_have_phrases(other)
            || self.class_counts == other.class_counts()
    }

    /// Returns `false` only if no text of this size is alike, by its length and its number of phrases.
    #[inline]
    pub(crate) fn may_be_alike_by_size(&self, other: WordingSize) -> bool {
        let (characters, phrases) = (other.characters.into(), other.phrases.into());
        let (own_characters, own_phrases) = (self.wording.characters, self.wording.phrases.len());
        let lengths = own_characters.abs_diff(characters);
        // Thresholds above 1 refuse all texts except those with the same wording.
        lengths == 0
            || self
                .most_edits(characters)
                .is_some_and(|most| lengths <= most)
            || jaccard_index(own_phrases.min(phrases), own_phrases, phrases)
                >= self.likeness.jaccard
    }

    /// An upper bound of the edits between this text and an alike text of a number of characters. The bound is
    /// larger by at most one; `distance` decides exactly.
    fn most_edits(&self, characters: usize) -> Option<usize> {
        let longer = self.wording.characters.max(characters);
        match self.likeness.edit_similarity {
            least if least <= 1.0 && longer <= MAX_EDIT_CHARACTERS => {
                Some((longer as f64 * (1.0 - least)) as usize + 1)
            }
            _ => None,
        }
    }

    fn may_have_edits(&self, other: PackedHeader<'_>) -> bool {
        self.most_edits(other.characters())
            .is_some_and(|most| self.least_edits(other) <= most)
    }

    fn may_have_phrases(&self, other: PackedHeader<'_>) -> bool {
        jaccard_index(
            self.most_common_phrases(other),
            self.wording.phrases.len(),
            other.phrase_count(),
        ) >= self.likeness.jaccard
    }

    /// Moves the numbers of texts that may be alike to the front, and returns how many these are. If this text is
    /// short and ASCII, they are few more than those that are alike, otherwise all. Several distances take a
    /// fraction of the time of single ones.
    pub(crate) fn retain_near<'b>(
        &self,
        numbers: &mut [u32],
        packed: impl Fn(u32) -> Option<PackedWording<'b>>,
    ) -> usize {
        let Some(lanes) = &self.lanes else {
            return numbers.len();
        };
        let mut near = 0;
        for start in (0..numbers.len()).step_by(LANES) {
            let number = |lane: usize| numbers.get(start + lane).copied();
            let wordings = std::array::from_fn(|lane| packed(number(lane)?));
            let are_far = self.are_far(lanes, &wordings);
            for (lane, is_far) in (start..numbers.len()).zip(are_far) {
                numbers[near] = numbers[lane];
                near += usize::from(!is_far);
            }
        }
        near
    }

    /// Returns `true` for packed texts that are not near-duplicates, for most such texts.
    fn are_far(
        &self,
        lanes: &EditLanes,
        others: &[Option<PackedWording<'_>>; LANES],
    ) -> [bool; LANES] {
        // Only the edits decide about texts that have too few common phrases.
        let most_edits = others.map(|other| {
            let other = other.filter(|other| {
                let is_short = other.letters().len() <= MAX_OTHER_LETTERS;
                is_short && other.has(IS_ASCII) && !self.may_have_phrases(other.header)
            });
            Some((other?, self.most_edits(other?.header.characters())?))
        });
        let letters = most_edits.map(|other| other.map_or(&[][..], |(other, _)| other.letters()));
        let distances = lanes.distances(&letters);
        std::array::from_fn(|lane| {
            most_edits[lane].is_some_and(|(_, most)| distances[lane] > most as u64)
        })
    }

    /// The similarity of the text and a packed text; `None` unless they are near-duplicates.
    pub(crate) fn compare(&self, other: PackedWording<'_>) -> Option<Resemblance> {
        let header = other.header;
        if !self.may_be_alike(header) {
            return None;
        }
        let own = self.wording;
        let longer = own.characters.max(header.characters());
        let most_edits = self.most_edits(header.characters());
        let may_have_phrases = self.may_have_phrases(header);
        if let Some(same) = self.same_wording(other) {
            return Some(same);
        }
        if !own.is_informative || !other.has(IS_INFORMATIVE) {
            return None;
        }
        // An edit distance of long texts takes ten times as long.
        if let Some(own) = &self.long_shingles
            && other.has(IS_ASCII)
            && own.most_common_share(other.letters()) < MIN_SHINGLE_JACCARD
        {
            return None;
        }
        let jaccard = || {
            let is_own = |hash: &u64| own.phrases.binary_search(hash).is_ok();
            let both = other.phrases().filter(is_own).count();
            jaccard_index(both, own.phrases.len(), header.phrase_count())
        };
        let similarity = |distance: usize| 1.0 - distance as f64 / longer as f64;
        let (jaccard, edit_similarity) = match may_have_phrases.then(jaccard) {
            Some(jaccard) if jaccard >= self.likeness.jaccard => {
                let are_short = longer <= MAX_EDIT_CHARACTERS;
                let distance = are_short
                    .then(|| self.distance(other, usize::MAX))
                    .flatten();
                (jaccard, distance.map(similarity))
            }
            found => {
                let distance = most_edits.and_then(|most| self.distance(other, most));
                let similarity = distance.map(similarity);
                let similarity =
                    similarity.filter(|found| *found >= self.likeness.edit_similarity)?;
                (found.unwrap_or_else(jaccard), Some(similarity))
            }
        };
        let shares_shingles =
            || self.surely_shares_shingles(edit_similarity, longer) || self.shares_shingles(other);
        (!own.is_long() || shares_shingles()).then_some(Resemblance {
            same_wording: false,
            edit_similarity,
            jaccard,
            comparable: true,
        })
    }

    fn same_wording(&self, other: PackedWording<'_>) -> Option<Resemblance> {
        let is_same = self.wording.letters.as_bytes() == other.letters();
        is_same.then(|| self.wording.itself())
    }

    /// A lower bound of the edit distance: the characters that one text has more often than the other.
    fn least_edits(&self, other: PackedHeader<'_>) -> usize {
        let (mut missing, mut surplus) = (0_u16, 0_u16);
        for (own, other) in self.class_counts.iter().zip(other.class_counts()) {
            missing += u16::from(own.saturating_sub(*other));
            surplus += u16::from(other.saturating_sub(*own));
        }
        let lengths = self.wording.characters.abs_diff(other.characters());
        lengths.max(missing.max(surplus).into())
    }

    /// An upper bound of the number of common phrases: a phrase whose bit the other text lacks is missing
    /// there.
    fn most_common_phrases(&self, other: PackedHeader<'_>) -> usize {
        let (own_bits, other_bits) = (self.phrase_bits, other.phrase_bits());
        let missing = |bits: u64| bits.count_ones() as usize;
        let own = self.wording.phrases.len() - missing(own_bits & !other_bits);
        own.min(other.phrase_count() - missing(other_bits & !own_bits))
    }

    /// The edit distance of the letters, if it is at most `most`.
    fn distance(&self, other: PackedWording<'_>, most: usize) -> Option<usize> {
        // Different characters may have one code, so the distance of the codes may be too small.
        let codes = (self.codes)
            .get_or_init(|| BatchComparator::new(self.wording.letters.chars().map(code)));
        let by_codes = codes.distance_with_args(
            other.codes().iter().copied(),
            &Args::default().score_cutoff(most),
        )?;
        if self.is_ascii && other.has(IS_ASCII) {
            return Some(by_codes);
        }
        let letters = str::from_utf8(other.letters()).ok()?;
        let args = Args::default().score_cutoff(most);
        if self.is_ascii {
            let own = self.wording.letters.chars();
            return BatchComparator::new(own).distance_with_args(letters.chars(), &args);
        }
        let characters =
            (self.characters).get_or_init(|| BatchComparator::new(self.wording.letters.chars()));
        characters.distance_with_args(letters.chars(), &args)
    }

    /// Returns `true` only if the shingles of characters have a Jaccard index of at least
    /// [`MIN_SHINGLE_JACCARD`], by the edits: an edit changes at most [`SHINGLES_OF_AN_EDIT`] of them.
    fn surely_shares_shingles(&self, edit_similarity: Option<f64>, longer: usize) -> bool {
        let Some(similarity) = edit_similarity else {
            return false;
        };
        let edits = ((1.0 - similarity) * longer as f64).round() as usize;
        let (own, changed) = (self.wording.shingles.len(), edits * SHINGLES_OF_AN_EDIT);
        own > changed && jaccard_index(own - changed, own, own + changed) >= MIN_SHINGLE_JACCARD
    }

    /// Returns `true` if the Jaccard index of the shingles of characters is at least
    /// [`MIN_SHINGLE_JACCARD`].
    fn shares_shingles(&self, other: PackedWording<'_>) -> bool {
        let letters = str::from_utf8(other.letters()).ok();
        let index = letters.map(|letters| self.wording.shingle_jaccard(letters));
        index.is_some_and(|index| index >= MIN_SHINGLE_JACCARD)
    }
}
