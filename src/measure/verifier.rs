//! [`Verifier`]: the cascade of tests by which one text is compared with many candidates.
//!
//! | test | rejects | reads of a candidate |
//! |---|---|---|
//! | [sketch](crate::forest) | most texts of a node | 16 bytes |
//! | [counts](Verifier::may_be_alike) | most others | the header of its packed wording |
//! | [lanes](Verifier::select) | short texts by their edit distance, eight at a time | its letters |
//! | [distance and phrases](Verifier::compare) | every text that is not alike | its packed wording |
//! | [coverage](Analysed::removable) | texts of which neither covers the other | its words |

use std::sync::OnceLock;

use rapidfuzz::distance::levenshtein::{Args, BatchComparator};

use super::edit_lanes::{EditLanes, LANES, MAX_OTHER_LETTERS};
use super::jaccard::jaccard_index;
use super::long_shingles::LongShingles;
use super::{
    Likeness, MAX_EDIT_CHARACTERS, MIN_SHINGLE_JACCARD, Resemblance, compare, itself,
    shingle_jaccard,
};
use crate::analysis::{
    Analysed, CLASSES, PackedHeader, PackedWording, class_counts, code, phrase_bits,
};

/// An edit changes fewer shingles than this. At most five shingles contain the edited character,
/// and an edit that splits or joins runs of characters also changes the shingles at their ends.
const SHINGLES_OF_AN_EDIT: usize = 8;

/// Candidates whose counts are compared before the first of them is compared in full.
pub(crate) const SELECTED_TOGETHER: usize = 256;

/// The comparison of one text with many candidates. Finds what [`compare`] finds.
pub(crate) struct Verifier<'w> {
    text: &'w Analysed,
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

impl<'w> Verifier<'w> {
    pub(crate) fn new(text: &'w Analysed, likeness: &Likeness) -> Self {
        let is_ascii = text.letters().is_ascii();
        Self {
            text,
            likeness: *likeness,
            class_counts: class_counts(text.letters().chars().map(code)),
            phrase_bits: phrase_bits(text.distinct_phrases().iter().copied()),
            codes: OnceLock::new(),
            characters: OnceLock::new(),
            is_ascii,
            lanes: EditLanes::new(text.letters().as_bytes()),
            long_shingles: (is_ascii && text.is_long())
                .then(|| LongShingles::new(text.letters().as_bytes(), text.shingles().len())),
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

    /// Returns `false` only if no text of this [size](PackedWording::size) is alike, by its length
    /// and its number of phrases.
    #[inline]
    pub(crate) fn may_be_alike_by_size(&self, other: u32) -> bool {
        let (characters, phrases) = ((other >> 16) as usize, usize::from(other as u16));
        let (own_characters, own_phrases) =
            (self.text.characters(), self.text.distinct_phrases().len());
        let lengths = own_characters.abs_diff(characters);
        // Thresholds above 1 refuse all texts except those with the same wording.
        lengths == 0
            || self
                .most_edits(characters)
                .is_some_and(|most| lengths <= most)
            || jaccard_index(own_phrases.min(phrases), own_phrases, phrases)
                >= self.likeness.jaccard
    }

    /// An upper bound of the edits between this text and an alike text of a number of characters.
    /// The bound is larger by at most one; `distance` decides exactly.
    fn most_edits(&self, characters: usize) -> Option<usize> {
        let longer = self.text.characters().max(characters);
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
            self.text.distinct_phrases().len(),
            other.phrase_count(),
        ) >= self.likeness.jaccard
    }

    /// Moves the numbers of the sought candidates that may be alike to the front, in order, and
    /// returns how many these are. If this text is short and ASCII, they are few more than those
    /// that are alike. A candidate without a packed wording may be alike.
    pub(crate) fn select<'b>(
        &self,
        numbers: &mut [u32],
        header: impl Fn(u32) -> Option<PackedHeader<'b>>,
        is_sought: impl Fn(u32) -> bool,
        packed: impl Fn(u32) -> Option<PackedWording<'b>>,
    ) -> usize {
        // The counts of many candidates are read at the same time: most candidates end here. A
        // mispredicted comparison would end the reads ahead, so all headers are looked up first,
        // and no branch depends on a count.
        let headers: Vec<_> = numbers.iter().map(|number| header(*number)).collect();
        let mut alike = 0;
        for (at, header) in headers.into_iter().enumerate() {
            numbers[alike] = numbers[at];
            let may_be_alike = header.is_none_or(|header| self.may_be_alike(header));
            alike += usize::from(may_be_alike);
        }
        let mut sought = 0;
        for at in 0..alike {
            numbers[sought] = numbers[at];
            sought += usize::from(is_sought(numbers[at]));
        }
        self.select_near(&mut numbers[..sought], packed)
    }

    /// Moves the numbers of candidates within the most edits to the front, and returns how many
    /// these are.
    pub(crate) fn select_near<'b>(
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

    /// Returns `true` if [`select`](Self::select) computes the edit distance of a text that may be
    /// alike.
    pub(crate) fn has_lane_for(&self, other: PackedWording<'_>) -> bool {
        // Only the edits decide about texts that have too few common phrases.
        self.lanes.is_some()
            && other.is_ascii()
            && other.letters().len() <= MAX_OTHER_LETTERS
            && !self.may_have_phrases(other.header())
    }

    /// Returns `true` for packed texts that are not near-duplicates, for most such texts.
    fn are_far(
        &self,
        lanes: &EditLanes,
        others: &[Option<PackedWording<'_>>; LANES],
    ) -> [bool; LANES] {
        let most_edits = others.map(|other| {
            let other = other.filter(|other| self.has_lane_for(*other))?;
            Some((other, self.most_edits(other.header().characters())?))
        });
        let letters = most_edits.map(|other| other.map_or(&[][..], |(other, _)| other.letters()));
        let distances = lanes.distances(&letters);
        std::array::from_fn(|lane| {
            most_edits[lane].is_some_and(|(_, most)| distances[lane] > most as u64)
        })
    }

    /// The similarity of the text and a text that is not packed; `None` unless they are
    /// near-duplicates.
    pub(crate) fn compare_text(&self, other: &Analysed) -> Option<Resemblance> {
        compare(self.text, other, &self.likeness)
    }

    /// The similarity of the text and a packed text; `None` unless they are near-duplicates.
    pub(crate) fn compare(&self, other: PackedWording<'_>) -> Option<Resemblance> {
        let header = other.header();
        if !self.may_be_alike(header) {
            return None;
        }
        let own = self.text;
        let longer = own.characters().max(header.characters());
        let most_edits = self.most_edits(header.characters());
        let may_have_phrases = self.may_have_phrases(header);
        if let Some(same) = self.same_wording(other) {
            return Some(same);
        }
        if !own.is_comparable() || !other.is_comparable() {
            return None;
        }
        // An edit distance of long texts takes ten times as long.
        if let Some(own) = &self.long_shingles
            && other.is_ascii()
            && own.most_common_share(other.letters()) < MIN_SHINGLE_JACCARD
        {
            return None;
        }
        let jaccard = || {
            let is_own = |hash: &u64| own.distinct_phrases().binary_search(hash).is_ok();
            let both = other.phrases().filter(is_own).count();
            jaccard_index(both, own.distinct_phrases().len(), header.phrase_count())
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
        let is_same = self.text.letters().as_bytes() == other.letters();
        is_same.then(|| itself(self.text))
    }

    /// A lower bound of the edit distance: the characters that one text has more often than the
    /// other.
    fn least_edits(&self, other: PackedHeader<'_>) -> usize {
        let (mut missing, mut surplus) = (0_u16, 0_u16);
        for (own, other) in self.class_counts.iter().zip(other.class_counts()) {
            missing += u16::from(own.saturating_sub(*other));
            surplus += u16::from(other.saturating_sub(*own));
        }
        let lengths = self.text.characters().abs_diff(other.characters());
        lengths.max(missing.max(surplus).into())
    }

    /// An upper bound of the number of common phrases: a phrase whose bit the other text lacks is
    /// missing there.
    fn most_common_phrases(&self, other: PackedHeader<'_>) -> usize {
        let (own_bits, other_bits) = (self.phrase_bits, other.phrase_bits());
        let missing = |bits: u64| bits.count_ones() as usize;
        let own = self.text.distinct_phrases().len() - missing(own_bits & !other_bits);
        own.min(other.phrase_count() - missing(other_bits & !own_bits))
    }

    /// The edit distance of the letters, if it is at most `most`.
    fn distance(&self, other: PackedWording<'_>, most: usize) -> Option<usize> {
        // Different characters may have one code, so the distance of the codes may be too small.
        let codes = (self.codes)
            .get_or_init(|| BatchComparator::new(self.text.letters().chars().map(code)));
        let by_codes = codes.distance_with_args(
            other.codes().iter().copied(),
            &Args::default().score_cutoff(most),
        )?;
        if self.is_ascii && other.is_ascii() {
            return Some(by_codes);
        }
        let letters = str::from_utf8(other.letters()).ok()?;
        let args = Args::default().score_cutoff(most);
        if self.is_ascii {
            let own = self.text.letters().chars();
            return BatchComparator::new(own).distance_with_args(letters.chars(), &args);
        }
        let characters =
            (self.characters).get_or_init(|| BatchComparator::new(self.text.letters().chars()));
        characters.distance_with_args(letters.chars(), &args)
    }

    /// Returns `true` only if the shingles of characters have a Jaccard index of at least
    /// [`MIN_SHINGLE_JACCARD`], by the edits: an edit changes at most [`SHINGLES_OF_AN_EDIT`] of
    /// them.
    fn surely_shares_shingles(&self, edit_similarity: Option<f64>, longer: usize) -> bool {
        let Some(similarity) = edit_similarity else {
            return false;
        };
        let edits = ((1.0 - similarity) * longer as f64).round() as usize;
        let (own, changed) = (self.text.shingles().len(), edits * SHINGLES_OF_AN_EDIT);
        own > changed && jaccard_index(own - changed, own, own + changed) >= MIN_SHINGLE_JACCARD
    }

    /// Returns `true` if the Jaccard index of the shingles of characters is at least
    /// [`MIN_SHINGLE_JACCARD`].
    fn shares_shingles(&self, other: PackedWording<'_>) -> bool {
        let letters = str::from_utf8(other.letters()).ok();
        let index = letters.map(|letters| shingle_jaccard(self.text, letters));
        index.is_some_and(|index| index >= MIN_SHINGLE_JACCARD)
    }
}
