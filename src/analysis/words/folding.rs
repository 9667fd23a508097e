//! [`folded`]: the letters that writers exchange, and [`is_accented`].

use smol_str::SmolStr;

use crate::text::is_cjk;

/// Returns `true` for a word with marks that writers leave out, and that tell it from another word:
/// Arabic short vowels, Hebrew points, Greek accents, ё.
pub(super) fn is_accented(word: &str) -> bool {
    !word.is_ascii() && word.contains(|c| is_vowel(c) || is_accent(c))
}

fn is_vowel(c: char) -> bool {
    matches!(c, '\u{64e}'..='\u{650}' | '\u{652}') || is_point(c)
}

/// Returns `true` for a point of Hebrew, which most texts leave out.
fn is_point(c: char) -> bool {
    matches!(
        c,
        '\u{5b0}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c7}'
    )
}

/// Returns `true` for a letter with an accent that a text writes in all words or in none.
pub(super) fn is_accent(c: char) -> bool {
    matches!(
        c,
        'ё' | 'ά' | 'έ' | 'ή' | 'ί' | 'ϊ' | 'ΐ' | 'ό' | 'ύ' | 'ϋ' | 'ΰ' | 'ώ'
    )
}

/// The letters that writers of a script exchange, or leave out: Arabic alef, ta marbuta, tatweel
/// and vowels, Hebrew points, Persian ye and kaf, ё, Greek accents.
pub(super) fn folded(text: &SmolStr) -> SmolStr {
    if text.is_ascii() || text.starts_with(is_cjk) {
        return text.clone();
    }
    let fold = |c: char| match c {
        '\u{640}' | '\u{64b}'..='\u{652}' | '\u{670}' => None,
        'أ' | 'إ' | 'آ' | 'ٱ' => Some('ا'),
        'ة' => Some('ه'),
        'ى' | 'ی' => Some('ي'),
        'ک' => Some('ك'),
        c if is_point(c) => None,
        // Romanian, before its letters were in Unicode.
        'ş' => Some('ș'),
        'ţ' => Some('ț'),
        'ё' => Some('е'),
        'ά' => Some('α'),
        'έ' => Some('ε'),
        'ή' => Some('η'),
        'ί' | 'ϊ' | 'ΐ' => Some('ι'),
        'ό' => Some('ο'),
        'ύ' | 'ϋ' | 'ΰ' => Some('υ'),
        'ώ' => Some('ω'),
        c => Some(c),
    };
    text.chars().filter_map(fold).collect()
}
