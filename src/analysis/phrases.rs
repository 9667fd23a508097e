//! Phrases: shingles of three words, or of twelve characters in scripts without spaces.

use xxhash_rust::xxh3::xxh3_64;

use crate::text::{MAX_WORD_BYTES, is_mark, is_south_east_asian, tokens};

/// Characters that count as a word in a script without spaces.
const CHARACTERS_PER_WORD: usize = 4;

/// The length of a phrase in characters: three words.
const CHARACTERS_PER_PHRASE: usize = 3 * CHARACTERS_PER_WORD;

/// A word, a CJK character, or a single character of a run without spaces: the unit of phrases.
struct Piece {
    hash: u64,
    /// The length that the piece counts as.
    characters: usize,
}

/// The hashes of the phrases of a text, in text order. A phrase begins at each piece and is as long
/// as three words. A shorter text is one phrase.
///
/// A piece is a token and counts as a word. Thai, Lao, Burmese and Khmer are written without
/// spaces, so a token may be a whole sentence, which any edit would change. There each character is
/// a piece and counts as a quarter of a word, and so in a token that is too long for a word.
pub(crate) fn phrases(sentences: &str) -> Vec<u64> {
    let mut pieces = Vec::new();
    for token in tokens(sentences) {
        push_pieces(token, &mut pieces);
    }
    // A window over the pieces: `end` and `characters` follow `start`, so the time is linear.
    let mut phrases = Vec::with_capacity(pieces.len());
    let mut bytes = [0; CHARACTERS_PER_PHRASE * size_of::<u64>()];
    let (mut end, mut characters) = (0, 0);
    for (start, first) in pieces.iter().enumerate() {
        let before = end;
        while characters < CHARACTERS_PER_PHRASE && end < pieces.len() {
            characters += pieces[end].characters;
            end += 1;
        }
        if characters < CHARACTERS_PER_PHRASE && end == before {
            // The last phrase contains all remaining pieces.
            break;
        }
        let hashes = pieces[start..end].iter().map(|piece| piece.hash);
        let places = bytes.chunks_exact_mut(size_of::<u64>());
        for (place, hash) in places.zip(hashes) {
            place.copy_from_slice(&hash.to_le_bytes());
        }
        phrases.push(xxh3_64(&bytes[..(end - start) * size_of::<u64>()]));
        characters -= first.characters;
    }
    phrases
}

/// Adds the pieces of a token.
fn push_pieces(token: &str, pieces: &mut Vec<Piece>) {
    let is_too_long = token.len() > MAX_WORD_BYTES;
    if token.is_ascii() && !is_too_long {
        pieces.push(piece(token, CHARACTERS_PER_WORD));
        return;
    }
    let mut rest = token;
    while let Some(first) = rest.chars().next() {
        // A combining mark stays with its character.
        let is_single = is_too_long || is_south_east_asian(first);
        let continues = |c| is_mark(c) || !is_single && !is_south_east_asian(c);
        let mut others = rest.char_indices().skip(1);
        let end = others.find(|&(_, c)| !continues(c));
        let (whole, others) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        let characters = if is_single { 1 } else { CHARACTERS_PER_WORD };
        pieces.push(piece(whole, characters));
        rest = others;
    }
}

fn piece(text: &str, characters: usize) -> Piece {
    Piece {
        hash: xxh3_64(text.as_bytes()),
        characters,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The number of phrases of `one` that are in `other`, and of all phrases of `one`.
    fn kept(one: &str, other: &str) -> (usize, usize) {
        let (one, other) = (phrases(one), phrases(other));
        let kept = one.iter().filter(|phrase| other.contains(phrase));
        (kept.count(), one.len())
    }

    #[test]
    fn phrase_is_three_words_or_a_whole_short_text() {
        for (text, expected) in [
            ("", 0),
            ("one", 1),
            ("one two", 1),
            ("one two three", 1),
            ("one two three four", 2),
            ("一二三四 five", 3),
            // Twelve Thai characters are one phrase; each further character adds one, a mark none.
            ("กขคงจฉชซญดตถ", 1),
            ("กขคงจฉชซญดตถทธ", 3),
            ("กิขิคิงิจิ ฉิชิซิญิดิติถิทิ", 2),
            // A short rest belongs to a phrase.
            ("one two three กข", 2),
            ("กข one two three", 3),
        ] {
            assert_eq!(phrases(text).len(), expected, "{text}");
        }
    }

    #[test]
    fn edit_changes_only_phrases_that_contain_it() {
        let letters = |first: char| -> String {
            let letter = |i: u64| xxh3_64(&i.to_le_bytes()) % 23 + u64::from(first);
            (0..1000)
                .filter_map(|i| char::from_u32(letter(i) as u32))
                .collect()
        };
        let thai = letters('ก');
        let mut edited = thai.clone();
        edited.remove(edited.char_indices().nth(500).unwrap().0);
        assert_eq!(kept(&thai, &edited), (989 - 12, 989));
        let latin = letters('a');
        assert_eq!(kept(&latin, &("q".to_owned() + &latin)), (989, 989));
        let words = "one two three four five six seven eight";
        assert_eq!(kept(words, &words.replace("five", "fife")), (3, 6));
    }

    proptest! {
        #[test]
        fn text_before_does_not_change_later_phrases(
            text in "([a-c]{1,3} |[一-三]|[ก-ค]{1,9}|[က-ဂ])*",
            before in "([a-c]{1,3} |[一-三]|[ก-ค]{1,9}|[က-ဂ])*",
        ) {
            let alone = phrases(&text);
            let behind = phrases(&(before + " " + &text));
            // A single phrase may be shorter than three words, and then be part of a longer one.
            if alone.len() > 1 {
                prop_assert!(behind.ends_with(&alone));
            }
        }
    }
}
