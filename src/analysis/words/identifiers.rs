//! Words whose capital letters or forms count: identifiers, options, paths, names of files.

use std::ops::Range;

use super::english::English;
use super::lexicon::{Class, Lexicon};
use super::token::Token;
use crate::text::{floor_char_boundary, is_cjk};

/// The extension of the name of a file has at most four letters.
const MAX_EXTENSION_LETTERS: usize = 4;

/// Extensions that are English words. Another word behind a full stop begins a sentence.
const EXTENSIONS: [&str; 10] = [
    "doc", "log", "zip", "bin", "tar", "key", "jar", "bat", "lock", "map",
];

/// The most bytes of a path before and after one of its names that are looked at.
const MAX_PATH_BYTES: usize = 128;

/// The capital letters of a word with a capital letter behind a small one, a bit each. The first
/// letter may begin a sentence.
pub(super) fn capitals_of_identifier(word: &str) -> u32 {
    // Most words end here.
    if !word.as_bytes().iter().skip(1).any(u8::is_ascii_uppercase) {
        return 0;
    }
    let is_cased = |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    if !word.as_bytes().windows(2).any(is_cased) {
        return 0;
    }
    capitals_of(word.chars().filter(|c| c.is_alphanumeric()).skip(1))
}

pub(super) fn capitals_of(letters: impl Iterator<Item = char>) -> u32 {
    letters.fold(0, |bits, c| {
        bits.rotate_left(1) ^ u32::from(c.is_uppercase())
    })
}

/// Returns `true` for a word that is code by its form or its place: the key `p`, `http_proxy`, a
/// name between backticks, a part of a path.
pub(super) fn is_cased(token: &Token, text: &str, range: &Range<usize>, is_foreign: bool) -> bool {
    let (piece, before, after) = (
        &text[range.clone()],
        &text[..range.start],
        &text[range.end..],
    );
    if !matches!(token.class, Class::Word | Class::Number) {
        return false;
    }
    if piece.len() == 1 {
        // Texts write "u盘", "5g" and "x-ray" with capital letters, too.
        let is_edge = |c: char| c.is_whitespace() || "\"“”‘’`「」『』".contains(c);
        let is_apart =
            before.ends_with(is_edge) && (after.is_empty() || after.starts_with(is_edge));
        let is_word = is_foreign || matches!(&*token.text, "a" | "i");
        return is_apart && !is_word && !token.before.ends_unit();
    }
    before.ends_with('`') && after.starts_with('`')
        || piece.contains('_') && !piece.contains('@') && !before.ends_with(['@', '#'])
        || is_in_path(before, after)
}

/// Returns `true` for a part of an option, of a path, or of the name of a file: such words have no
/// forms.
pub(super) fn is_in_name(before: &str, after: &str) -> bool {
    // Most words end here.
    if !before.ends_with(['-', '/']) && !after.starts_with(['.', '/']) {
        return false;
    }
    let extension = after.strip_prefix('.').map_or("", |rest| {
        let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let (extension, behind) = rest.split_at(rest.find(|c| !is_letter(c)).unwrap_or(rest.len()));
        match behind.starts_with('.') {
            true => "",
            false => extension,
        }
    });
    // A dash between words ends in hyphens, too, and a full stop may have no space behind it.
    let is_option = before
        .strip_suffix("--")
        .is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric()));
    let is_word = || {
        let is_listed = Lexicon::builtin().entry(extension).is_some();
        !EXTENSIONS.contains(&extension)
            && (is_listed || English::builtin().base(extension).is_some())
    };
    is_option
        || (1..=MAX_EXTENSION_LETTERS).contains(&extension.len())
            && extension.starts_with(|c: char| c.is_ascii_lowercase())
            && !is_word()
        || is_in_path(before, after)
}

/// Returns `true` beside the slash of a path, which has a root or the name of a file. Words with
/// slashes are choices: men/women/children.
fn is_in_path(before: &str, after: &str) -> bool {
    if !before.ends_with('/') && !after.starts_with('/') {
        return false;
    }
    let is_end = |c: char| c.is_whitespace() || is_cjk(c);
    let before =
        &before[floor_char_boundary(before, before.len().saturating_sub(MAX_PATH_BYTES))..];
    let after = &after[..floor_char_boundary(after, MAX_PATH_BYTES)];
    let before = before.rsplit(is_end).next().unwrap_or_default();
    let after = after.split(is_end).next().unwrap_or_default();
    let is_name = |part: &str| {
        let mut points = part.match_indices('.');
        part.contains('_')
            || points.any(|(at, _)| part[at + 1..].starts_with(char::is_alphanumeric))
    };
    before.starts_with(['/', '~', '.']) || is_name(before) || is_name(after)
}
