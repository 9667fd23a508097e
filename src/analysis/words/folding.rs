//! [`folded`]: the letters that writers exchange.

use smol_str::SmolStr;

use crate::text::is_cjk;

/// The letters that writers of a script exchange, or leave out: Arabic alef, ta marbuta, tatweel
/// and vowels, Persian ye and kaf, ё, Greek accents.
pub(super) fn folded(text: SmolStr) -> SmolStr {
    if text.is_ascii() || text.starts_with(is_cjk) {
        return text;
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
