//! [`folded`]: the letters that writers exchange, and [`is_accented`].

use smol_str::SmolStr;

use crate::text::is_cjk;

/// Returns `true` for a word with marks that writers leave out, and that tell it from another word:
/// Arabic short vowels, Greek accents, ё.
pub(super) fn is_accented(word: &str) -> bool {
    !word.is_ascii() && word.contains(|c| is_vowel(c) || is_accent(c))
}

fn is_vowel(c: char) -> bool {
    matches!(c, '\u{64e}'..='\u{650}' | '\u{652}')
}

/// Returns `true` for a letter with an accent that a text writes in all words or in none.
pub(super) fn is_accent(c: char) -> bool {
    matches!(
        c,
        'ё' | 'ά' | 'έ' | 'ή' | 'ί' | 'ϊ' | 'ΐ' | 'ό' | 'ύ' | 'ϋ' | 'ΰ' | 'ώ'
    )
}

/// The letters that writers of a script exchange, or leave out: Arabic alef, ta marbuta, tatweel
/// and vowels, Persian ye and kaf, ё, Greek accents.
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
