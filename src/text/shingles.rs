//! Shingles: overlapping runs of characters, which need no dictionary and no separators.
//!
//! A run of CJK characters is cut in another way than a run of other letters and digits. CJK are
//! the scripts in which a character carries about as much as two to four Latin letters: Han, kana,
//! bopomofo and Hangul.

use std::ops::Range;

/// How many CJK characters make a shingle.
pub(crate) const CJK_SHINGLE: usize = 2;

/// A stretch of characters that are all CJK, or all not.
struct Run {
    place: Range<usize>,
    kind: Kind,
}

/// Nearly all runs are of the first two kinds, in which all characters have the same number of
/// bytes: when the length of a shingle is known, compilers make much less of hashing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ascii,
    Han,
    OtherCjk,
    Other,
}

/// Hands out the byte ranges of the shingles of a text, in the text's order: of a run of CJK
/// characters its overlapping pairs, of a run of other characters every `LENGTH` in a row. A run
/// that is too short for one is a shingle itself.
#[inline]
pub(crate) fn shingles<const LENGTH: usize>(text: &str, mut shingle: impl FnMut(Range<usize>)) {
    for_each_run(text, |Run { place, kind }| match kind {
        Kind::Ascii => of_width::<LENGTH, 1>(place, &mut shingle),
        Kind::Han => of_width::<{ CJK_SHINGLE * HAN_BYTES }, HAN_BYTES>(place, &mut shingle),
        Kind::OtherCjk => of_any_width(text, place, CJK_SHINGLE, &mut shingle),
        Kind::Other => of_any_width(text, place, LENGTH, &mut shingle),
    });
}

/// The same without the runs of CJK characters.
#[inline]
pub(crate) fn other_shingles<const LENGTH: usize>(
    text: &str,
    mut shingle: impl FnMut(Range<usize>),
) {
    for_each_run(text, |Run { place, kind }| match kind {
        Kind::Ascii => of_width::<LENGTH, 1>(place, &mut shingle),
        Kind::Other => of_any_width(text, place, LENGTH, &mut shingle),
        Kind::Han | Kind::OtherCjk => {}
    });
}

/// The same without all others.
#[inline]
pub(crate) fn cjk_shingles(text: &str, mut shingle: impl FnMut(Range<usize>)) {
    for_each_run(text, |Run { place, kind }| match kind {
        Kind::Han => of_width::<{ CJK_SHINGLE * HAN_BYTES }, HAN_BYTES>(place, &mut shingle),
        Kind::OtherCjk => of_any_width(text, place, CJK_SHINGLE, &mut shingle),
        Kind::Ascii | Kind::Other => {}
    });
}

/// Hands out the byte ranges of the CJK characters of a text, in the text's order.
#[inline]
pub(crate) fn cjk_characters(text: &str, mut character: impl FnMut(Range<usize>)) {
    for_each_run(text, |Run { place, kind }| match kind {
        Kind::Han => of_width::<HAN_BYTES, HAN_BYTES>(place, &mut character),
        Kind::OtherCjk => of_any_width(text, place, 1, &mut character),
        Kind::Ascii | Kind::Other => {}
    });
}

/// How many characters of a text are not CJK.
pub(crate) fn count_other_characters(text: &str) -> usize {
    let mut count = 0;
    for_each_run(text, |Run { place, kind }| match kind {
        Kind::Ascii => count += place.len(),
        Kind::Other => count += text[place].chars().count(),
        Kind::Han | Kind::OtherCjk => {}
    });
    count
}

#[inline]
fn for_each_run(text: &str, mut each: impl FnMut(Run)) {
    let mut start = 0;
    while start < text.len() {
        let rest = &text[start..];
        let ascii = ascii_end(rest);
        let han = if ascii > 0 { 0 } else { han_end(rest) };
        let is_whole = ascii + han == rest.len();
        let length = if is_whole { ascii + han } else { run_end(rest) };
        let kind = if length == ascii {
            Kind::Ascii
        } else if length == han {
            Kind::Han
        } else if rest.starts_with(is_cjk) {
            Kind::OtherCjk
        } else {
            Kind::Other
        };
        let place = start..start + length;
        start = place.end;
        each(Run { place, kind });
    }
}

/// The shingles of a run of characters that have `WIDTH` bytes each; a shingle has `BYTES`.
#[inline]
fn of_width<const BYTES: usize, const WIDTH: usize>(
    run: Range<usize>,
    shingle: &mut impl FnMut(Range<usize>),
) {
    if run.len() < BYTES {
        return shingle(run);
    }
    for start in (run.start..run.end - BYTES + 1).step_by(WIDTH) {
        shingle(start..start + BYTES);
    }
}

/// The shingles of so many characters in any run.
fn of_any_width(
    text: &str,
    run: Range<usize>,
    length: usize,
    shingle: &mut impl FnMut(Range<usize>),
) {
    let starts = text[run.clone()].char_indices();
    let starts = starts.map(|(at, _)| run.start + at);
    let ends = starts.clone().skip(length).chain([run.end]);
    if starts.clone().count() < length {
        return shingle(run);
    }
    for (start, end) in starts.zip(ends) {
        shingle(start..end);
    }
}

/// The bytes of a Han character, but for the rare ones.
const HAN_BYTES: usize = '一'.len_utf8();

fn ascii_end(text: &str) -> usize {
    text.bytes()
        .position(|byte| !byte.is_ascii())
        .unwrap_or(text.len())
}

/// The end of the common Han characters a text starts with.
fn han_end(text: &str) -> usize {
    let mut chars = text.char_indices();
    chars
        .find(|&(_, c)| !is_common_han(c))
        .map_or(text.len(), |(at, _)| at)
}

/// The end of the characters a text starts with that are all CJK, or all not.
fn run_end(text: &str) -> usize {
    let mut chars = text.char_indices();
    let Some((_, first)) = chars.next() else {
        return 0;
    };
    let cjk = is_cjk(first);
    chars
        .find(|&(_, c)| is_cjk(c) != cjk)
        .map_or(text.len(), |(at, _)| at)
}

/// Han, kana, bopomofo and Hangul, as normalised text holds them.
#[inline]
pub(crate) fn is_cjk(c: char) -> bool {
    // Nearly every character of ordinary text is decided by the first two comparisons.
    c >= '\u{1100}' && (is_common_han(c) || is_rare_cjk(c))
}

#[inline]
fn is_common_han(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}')
}

fn is_rare_cjk(c: char) -> bool {
    matches!(
        c,
        '\u{1100}'..='\u{11ff}'         // Hangul that joins to syllables
            | '\u{2e80}'..='\u{2fdf}'   // radicals
            | '\u{3005}'..='\u{3007}'   // the iteration mark and zero
            | '\u{3021}'..='\u{303c}'
            | '\u{3040}'..='\u{31ff}'   // kana, bopomofo
            | '\u{3400}'..='\u{4dbf}'
            | '\u{a960}'..='\u{a97f}'
            | '\u{ac00}'..='\u{d7ff}'   // Hangul syllables
            | '\u{f900}'..='\u{faff}'
            | '\u{1b000}'..='\u{1b16f}' // historic kana
            | '\u{20000}'..='\u{3ffff}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shingles_of(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        shingles::<4>(text, |range| found.push(&text[range]));
        found
    }

    #[test]
    fn cjk_gives_pairs_and_the_rest_fours() {
        assert_eq!(shingles_of("你妈妈喊"), ["你妈", "妈妈", "妈喊"]);
        assert_eq!(shingles_of("hello"), ["hell", "ello"]);
        assert_eq!(shingles_of("каша1"), ["каша", "аша1"]);
        assert_eq!(
            shingles_of("ひらカナ한글"),
            ["ひら", "らカ", "カナ", "ナ한", "한글"]
        );
    }

    #[test]
    fn a_run_too_short_is_itself() {
        assert_eq!(shingles_of("a股上abc"), ["a", "股上", "abc"]);
        assert_eq!(shingles_of("股"), ["股"]);
        assert!(shingles_of("").is_empty());
    }

    #[test]
    fn characters_of_either_kind_are_told_apart() {
        let text = "a股上abcé한";
        let mut cjk = Vec::new();
        cjk_characters(text, |range| cjk.push(&text[range]));
        assert_eq!(cjk, ["股", "上", "한"]);
        let mut others = Vec::new();
        other_shingles::<3>(text, |range| others.push(&text[range]));
        assert_eq!(others, ["a", "abc", "bcé"]);
        assert_eq!(count_other_characters(text), 5);
    }

    proptest! {
        #[test]
        fn shingles_of_any_text_equal_the_definition(
            text in prop_oneof![any::<String>(), "([a-f]{0,9}|[一-十]{0,5}|[éк]|[㐀ガ한])*"],
        ) {
            let mut expected = Vec::new();
            for run in text.chars().collect::<Vec<_>>().chunk_by(|a, b| is_cjk(*a) == is_cjk(*b)) {
                let length = if is_cjk(run[0]) { CJK_SHINGLE } else { 4 };
                let windows = run.windows(length.min(run.len()));
                expected.extend(windows.map(String::from_iter));
            }
            prop_assert_eq!(shingles_of(&text), expected);
        }

        #[test]
        fn shingles_cover_any_text_in_order(text: String) {
            let mut covered = 0;
            shingles::<4>(&text, |range| {
                assert!(range.start <= covered && range.end > covered);
                covered = range.end;
            });
            prop_assert_eq!(covered, text.len());
        }
    }
}
