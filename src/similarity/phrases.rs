//! Phrases: what three words in a row say, or as many characters where nothing shows the words.

use xxhash_rust::xxh3::xxh3_64;

use super::jaccard::tokens;
use crate::text::{MOST_WORD_BYTES, is_mark, is_south_east_asian};

/// How many characters are taken for a word where words are not told apart.
const CHARACTERS_PER_WORD: usize = 4;

/// What a phrase comes to, a word counting as so many characters.
const CHARACTERS_PER_PHRASE: usize = 3 * CHARACTERS_PER_WORD;

/// A part of a text that is in a phrase or is not.
struct Piece {
    hash: u64,
    /// How many characters it counts as.
    characters: usize,
}

/// The hashes of the phrases of a text with separators, in its order: from each piece on as many as
/// come to three words, and of a text with fewer all.
///
/// A piece is a token: a CJK character or a word. But of Thai, Lao, Burmese and Khmer, which are
/// written without spaces, and of a token that is too long for a word, each character is one, and
/// counts a quarter: a whole sentence, or a whole text, would be a piece that any edit makes another.
pub(super) fn phrases(sentences: &str) -> Vec<u64> {
    let mut pieces = Vec::new();
    for token in tokens(sentences) {
        push_pieces(token, &mut pieces);
    }
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
            // The last phrase has all that is left.
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
    let is_too_long = token.len() > MOST_WORD_BYTES;
    if token.is_ascii() && !is_too_long {
        pieces.push(piece(token, CHARACTERS_PER_WORD));
        return;
    }
    let mut rest = token;
    while let Some(first) = rest.chars().next() {
        let is_single = is_too_long || is_south_east_asian(first);
        let goes_on = |c| is_mark(c) || !is_single && !is_south_east_asian(c);
        let mut others = rest.char_indices().skip(1);
        let end = others.find(|&(_, c)| !goes_on(c));
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

    /// How many of the phrases of one text are in the other.
    fn kept(one: &str, other: &str) -> (usize, usize) {
        let (one, other) = (phrases(one), phrases(other));
        let kept = one.iter().filter(|phrase| other.contains(phrase));
        (kept.count(), one.len())
    }

    #[test]
    fn a_phrase_is_three_words_and_no_text_is_without_one() {
        for (text, expected) in [
            ("", 0),
            ("one", 1),
            ("one two", 1),
            ("one two three", 1),
            ("one two three four", 2),
            ("一二三四 five", 3),
            // Twelve characters of Thai, then each further one begins one; marks begin none.
            ("กขคงจฉชซญดตถ", 1),
            ("กขคงจฉชซญดตถทธ", 3),
            ("กิขิคิงิจิ ฉิชิซิญิดิติถิทิ", 2),
            // The rest is in a phrase, however short it is.
            ("one two three กข", 2),
            ("กข one two three", 3),
        ] {
            assert_eq!(phrases(text).len(), expected, "{text}");
        }
    }

    #[test]
    fn an_edit_changes_the_phrases_about_it_and_no_others() {
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
        fn what_is_in_front_does_not_change_the_phrases_behind_it(
            text in "([a-c]{1,3} |[一-三]|[ก-ค]{1,9}|[က-ဂ])*",
            before in "([a-c]{1,3} |[一-三]|[ก-ค]{1,9}|[က-ဂ])*",
        ) {
            let alone = phrases(&text);
            let behind = phrases(&(before + " " + &text));
            // One phrase alone may be less than one, and go on in front.
            if alone.len() > 1 {
                prop_assert!(behind.ends_with(&alone));
            }
        }
    }
}
