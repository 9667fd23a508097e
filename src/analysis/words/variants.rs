//! [`usual_form`]: characters that texts write in another width or as a ligature.

use unicode_normalization::UnicodeNormalization;

use crate::text::is_cjk;

/// Returns `true` for a character that has another usual form.
pub(super) fn may_be_variant(c: char) -> bool {
    matches!(c, '０'..='９' | 'Ａ'..='Ｚ' | 'ａ'..='ｚ' | '．' | 'ｦ'..='ﾝ')
        || first_letter(c).is_some()
}

/// The first of the two letters of a ligature that many writers lack: œ, æ.
fn first_letter(c: char) -> Option<char> {
    match c {
        'œ' => Some('o'),
        'Œ' => Some('O'),
        'æ' => Some('a'),
        'Æ' => Some('A'),
        _ => None,
    }
}

/// Appends the usual form of a character to the text before it, and returns the bytes of the text
/// behind it that belong to the form: the mark of a kana of half width.
pub(super) fn usual_form(before: &mut String, c: char, after: &str) -> usize {
    let next = after.chars().next();
    let is_letter = |c: char| c.is_alphanumeric() && !is_cjk(c);
    // The point of a version: ＮＯ．７７. Other points of full width end a sentence.
    let is_end = c == '．' && !(before.ends_with(is_letter) && next.is_some_and(char::is_numeric));
    if !may_be_variant(c) || is_end {
        before.push(c);
        return 0;
    }
    if let Some(letter) = first_letter(c) {
        // Alone, a ligature may be the name of the letter.
        let is_in_word = [before.chars().next_back(), next];
        if !is_in_word.into_iter().flatten().any(char::is_alphabetic) {
            before.push(c);
            return 0;
        }
        before.push(letter);
        let is_upper = c.is_uppercase() && !next.is_some_and(char::is_lowercase);
        before.push(if is_upper { 'E' } else { 'e' });
        return 0;
    }
    let mark = next.filter(|mark| matches!(mark, 'ﾞ' | 'ﾟ'));
    let joined = |mark: char| {
        let mut form = [c, mark].into_iter().nfkc();
        form.next().filter(|_| form.next().is_none())
    };
    let marked = mark.and_then(joined);
    before.extend(marked.or_else(|| std::iter::once(c).nfkc().next()));
    marked.map_or(0, |_| 'ﾞ'.len_utf8())
}
