//! Shingles: overlapping runs of characters, which need no dictionary and no separators.
//!
//! CJK here means Han, kana, bopomofo and Hangul: a character of these scripts carries about as
//! much information as two to four Latin letters. So runs of CJK have shorter shingles than runs of
//! other letters and digits.

use std::ops::Range;

/// CJK characters per shingle.
pub(crate) const CJK_SHINGLE: usize = 2;

const HAN_BYTES: usize = '一'.len_utf8();

/// The script of a run of characters that are all CJK or all not CJK.
///
/// Nearly all runs are `Ascii` or `CommonHan`, in which all characters have the same number of
/// bytes. A shingle is then a window of a constant number of bytes, and the compiler keeps only one
/// of the five ways in which xxh3 hashes short strings: cutting and hashing takes a third less
/// time.
enum RunScript {
    Ascii,
    CommonHan,
    OtherCjk,
    Other,
}

/// Calls `shingle` with the byte range of each shingle of a text, in text order: `CJK` characters
/// in a row of a CJK run, `OTHER` characters in a row of another run. A run that is shorter than a
/// shingle is a shingle itself. A length of 0 skips the runs of its kind.
#[inline]
pub(crate) fn shingles<const CJK: usize, const OTHER: usize>(
    text: &str,
    mut shingle: impl FnMut(Range<usize>),
) {
    let mut start = 0;
    while start < text.len() {
        let (length, script) = first_run(&text[start..]);
        let run = start..start + length;
        start = run.end;
        match script {
            RunScript::Ascii if OTHER > 0 => for_each_window(run, OTHER, 1, &mut shingle),
            RunScript::CommonHan if CJK > 0 => {
                for_each_window(run, CJK * HAN_BYTES, HAN_BYTES, &mut shingle);
            }
            RunScript::OtherCjk if CJK > 0 => shingles_of_run(text, run, CJK, &mut shingle),
            RunScript::Other if OTHER > 0 => shingles_of_run(text, run, OTHER, &mut shingle),
            _ => {}
        }
    }
}

/// The number of characters of a text that are not CJK.
pub(crate) fn count_non_cjk(text: &str) -> usize {
    text.chars().filter(|c| !is_cjk(*c)).count()
}

/// The length in bytes and the script of the first run of a text.
#[inline]
fn first_run(text: &str) -> (usize, RunScript) {
    let ascii = text.bytes().position(|byte| !byte.is_ascii());
    let ascii = ascii.unwrap_or(text.len());
    let han = if ascii > 0 {
        0
    } else {
        text.find(|c| !is_common_han(c)).unwrap_or(text.len())
    };
    // The scans above decide most texts: only a mixed text, or one in another script, is scanned
    // with the slower `is_cjk`.
    let starts_with_cjk = text.starts_with(is_cjk);
    let length = if ascii + han == text.len() {
        text.len()
    } else {
        text.find(|c| is_cjk(c) != starts_with_cjk)
            .unwrap_or(text.len())
    };
    let script = if length == ascii {
        RunScript::Ascii
    } else if length == han {
        RunScript::CommonHan
    } else if starts_with_cjk {
        RunScript::OtherCjk
    } else {
        RunScript::Other
    };
    (length, script)
}

/// The shingles of a run in which each character has `width` bytes and each shingle has `bytes`.
/// Inlined, so that both numbers are constants where the shingle is hashed.
#[inline(always)]
fn for_each_window(
    run: Range<usize>,
    bytes: usize,
    width: usize,
    shingle: &mut impl FnMut(Range<usize>),
) {
    if run.len() < bytes {
        return shingle(run);
    }
    for start in (run.start..run.end - bytes + 1).step_by(width) {
        shingle(start..start + bytes);
    }
}

/// The shingles of `length` characters of a run of characters of any width. A run that is shorter
/// than a shingle is a shingle itself, even if the run is empty.
pub(crate) fn shingles_of_run(
    text: &str,
    run: Range<usize>,
    length: usize,
    shingle: &mut impl FnMut(Range<usize>),
) {
    let starts = text[run.clone()]
        .char_indices()
        .map(|(at, _)| run.start + at);
    if starts.clone().count() < length {
        return shingle(run);
    }
    let ends = starts.clone().skip(length).chain([run.end]);
    for (start, end) in starts.zip(ends) {
        shingle(start..end);
    }
}

/// Han, kana, bopomofo and Hangul, as normalised text holds them.
#[inline]
pub(crate) fn is_cjk(c: char) -> bool {
    // Nearly every character of ordinary text is decided by the first two comparisons.
    c >= '\u{1100}' && (is_common_han(c) || is_rare_cjk(c))
}

#[inline]
pub(super) fn is_common_han(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}')
}

fn is_rare_cjk(c: char) -> bool {
    matches!(
        c,
        '\u{1100}'..='\u{11ff}'         // Hangul that joins to syllables
            | '\u{2e80}'..='\u{2fdf}'   // radicals
            | '\u{3005}'..='\u{3007}'   // the iteration mark and zero
            | '\u{3021}'..='\u{303c}'   // Hangzhou numerals and other marks
            | '\u{3040}'..='\u{31ff}'   // kana, bopomofo
            | '\u{3400}'..='\u{4dbf}'   // Han extension A
            | '\u{a960}'..='\u{a97f}'   // Hangul that joins to syllables
            | '\u{ac00}'..='\u{d7ff}'   // Hangul syllables
            | '\u{f900}'..='\u{faff}'   // Han compatibility forms
            | '\u{1b000}'..='\u{1b16f}' // historic kana
            | '\u{20000}'..='\u{3ffff}' // rare Han, assigned or not
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shingles_of(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        shingles::<CJK_SHINGLE, 4>(text, |range| found.push(&text[range]));
        found
    }

    #[test]
    fn cjk_runs_give_pairs_and_other_runs_fours() {
        assert_eq!(shingles_of("你妈妈喊"), ["你妈", "妈妈", "妈喊"]);
        assert_eq!(shingles_of("hello"), ["hell", "ello"]);
        assert_eq!(shingles_of("каша1"), ["каша", "аша1"]);
        assert_eq!(
            shingles_of("ひらカナ한글"),
            ["ひら", "らカ", "カナ", "ナ한", "한글"]
        );
    }

    #[test]
    fn run_shorter_than_shingle_is_one_shingle() {
        assert_eq!(shingles_of("a股上abc"), ["a", "股上", "abc"]);
        assert_eq!(shingles_of("股"), ["股"]);
        assert!(shingles_of("").is_empty());
    }

    #[test]
    fn length_zero_skips_runs_of_its_kind() {
        let text = "a股上abcé한";
        let mut cjk = Vec::new();
        shingles::<1, 0>(text, |range| cjk.push(&text[range]));
        assert_eq!(cjk, ["股", "上", "한"]);
        let mut others = Vec::new();
        shingles::<0, 3>(text, |range| others.push(&text[range]));
        assert_eq!(others, ["a", "abc", "bcé"]);
        assert_eq!(count_non_cjk(text), 5);
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
            shingles::<CJK_SHINGLE, 4>(&text, |range| {
                assert!(range.start <= covered && range.end > covered);
                covered = range.end;
            });
            prop_assert_eq!(covered, text.len());
        }
    }
}
