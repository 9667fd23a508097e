//! [`usual_form`]: characters that texts write in another width.

use unicode_normalization::UnicodeNormalization;

use crate::text::is_cjk;

/// Returns `true` for a character that has another usual form.
pub(super) fn may_be_variant(c: char) -> bool {
    matches!(c, '０'..='９' | 'Ａ'..='Ｚ' | 'ａ'..='ｚ' | '．' | 'ｦ'..='ﾝ')
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
    let mark = next.filter(|mark| matches!(mark, 'ﾞ' | 'ﾟ'));
    let joined = |mark: char| {
        let mut form = [c, mark].into_iter().nfkc();
        form.next().filter(|_| form.next().is_none())
    };
    let marked = mark.and_then(joined);
    before.extend(marked.or_else(|| std::iter::once(c).nfkc().next()));
    marked.map_or(0, |_| 'ﾞ'.len_utf8())
}
