//! [`folded`]: the letters that writers exchange, and [`is_accented`].

use smol_str::SmolStr;
use unicode_normalization::UnicodeNormalization;

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
/// and vowels, Hebrew points, Persian ye and kaf, ё, Greek accents, the place of a Vietnamese tone.
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
        c if is_accent(c) => c.nfd().next(),
        c => Some(c),
    };
    let folded: String = text.chars().filter_map(fold).collect();
    with_last_tone(&folded).unwrap_or(folded).into()
}

/// Latin letters and the Cyrillic letters of their shapes, in one order.
const TWINS: [&str; 2] = ["aceopxyiABCEHIKMOPTXY", "асеорхуіАВСЕНІКМОРТХУ"];

/// A word of Latin and Cyrillic letters in the script of the letters that have no twin in the other
/// one; `None` for a word of one script, and for a word with such letters of both or of none.
pub(super) fn in_one_script(word: &str) -> Option<String> {
    let is_cyrillic = |c: char| matches!(c, '\u{400}'..='\u{45f}');
    let is_latin = |c: char| c.is_ascii_alphabetic();
    if word.is_ascii() || !word.contains(is_latin) || !word.contains(is_cyrillic) {
        return None;
    }
    let has_twin = |c: char| TWINS.iter().any(|letters| letters.contains(c));
    let is_own = |is: &dyn Fn(char) -> bool| word.contains(|c| is(c) && !has_twin(c));
    let [from, to] = match (is_own(&is_latin), is_own(&is_cyrillic)) {
        (true, false) => [TWINS[1], TWINS[0]],
        (false, true) => TWINS,
        _ => return None,
    };
    let twin = |c: char| {
        let place = from.chars().position(|own| own == c);
        place.and_then(|place| to.chars().nth(place)).unwrap_or(c)
    };
    Some(word.chars().map(twin).collect())
}

/// The letters of two vowels at the end of a Vietnamese syllable, with a tone on the first one or
/// on the last one: hòa, hoà. Each line has the tones in one order.
const TONES: [[&str; 4]; 3] = [
    ["o", "òóỏõọ", "a", "àáảãạ"],
    ["o", "òóỏõọ", "e", "èéẻẽẹ"],
    ["u", "ùúủũụ", "y", "ỳýỷỹỵ"],
];

/// A word with the tone of its last two vowels on the last one; `None` for other words.
fn with_last_tone(word: &str) -> Option<String> {
    TONES
        .iter()
        .find_map(|[first, toned_first, last, toned_last]| {
            let stem = word.strip_suffix(last)?;
            let vowel = stem.chars().next_back()?;
            let tone = toned_first.chars().position(|toned| toned == vowel)?;
            let start = &stem[..stem.len() - vowel.len_utf8()];
            let toned = toned_last.chars().nth(tone)?;
            // The u belongs to the consonant: quý.
            (!start.ends_with('q')).then(|| format!("{start}{first}{toned}"))
        })
}
