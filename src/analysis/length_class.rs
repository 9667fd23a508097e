//! Length classes: near-duplicates have similar lengths, so most candidates of other lengths are
//! left out before their texts are compared.

/// The number of length classes. The classes repeat: 100 and 936 characters have the same class.
pub(crate) const LENGTH_CLASSES: u32 = 16;

/// The longest length of a class is this many times the shortest.
const RATIO: f64 = 1.15;

fn plain_class(characters: f64) -> u32 {
    (characters.max(1.0).ln() / RATIO.ln()) as u32
}

/// The class of a text with a number of characters.
pub(crate) fn length_class(characters: usize) -> u32 {
    plain_class(characters as f64) % LENGTH_CLASSES
}

/// A set of length classes, a bit for each.
#[derive(Clone, Copy)]
pub(crate) struct LengthClasses(u16);

impl LengthClasses {
    /// The classes of the near-duplicates of a text with a number of characters, where `least` is
    /// the smaller threshold of edit similarity and Jaccard index: all classes if the text has CJK
    /// characters.
    pub(crate) fn of_near_duplicates(characters: usize, has_cjk: bool, least: f64) -> Self {
        // A CJK character counts as much as a word of another script, so a near-duplicate of a
        // mixed text may be several times as long.
        if has_cjk {
            return Self(u16::MAX);
        }
        // The phrases of two near-duplicates may differ more in number than their characters do,
        // but a text has about as many phrases as its share of the characters.
        let (characters, least) = (characters as f64, least.clamp(f64::MIN_POSITIVE, 1.0));
        let shortest = plain_class(characters * least);
        let longest = plain_class(characters / least);
        let classes = shortest..=longest.min(shortest + LENGTH_CLASSES - 1);
        Self(classes.fold(0, |set, class| set | 1 << (class % LENGTH_CLASSES)))
    }

    pub(crate) fn to_bits(self) -> u16 {
        self.0
    }

    #[inline]
    pub(crate) fn contain(self, class: u32) -> bool {
        self.0 >> class & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_near_duplicates_have_all_lengths_within_the_thresholds() {
        for characters in 1..3000 {
            let classes = LengthClasses::of_near_duplicates(characters, false, 0.55);
            let has = |other: usize| classes.contain(length_class(other));
            assert!(has(characters) && has((characters * 56).div_ceil(100)));
            assert!(has(characters * 100 / 56));
            assert!(characters < 10 || !has(characters * 3));
        }
        let mixed = LengthClasses::of_near_duplicates(16, true, 0.55);
        assert!((0..LENGTH_CLASSES).all(|class| mixed.contain(class)));
        let equal = LengthClasses::of_near_duplicates(50, false, f64::INFINITY);
        assert!(equal.contain(length_class(50)) && !equal.contain(length_class(60)));
        for least in [0.0, 0.01] {
            let classes = LengthClasses::of_near_duplicates(50, false, least);
            assert!((0..LENGTH_CLASSES).all(|class| classes.contain(class)));
        }
    }
}
