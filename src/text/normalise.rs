//! [`Normaliser`]: text to normalised text, in which case, width, and traditional or simplified
//! characters make no difference.

use std::sync::OnceLock;

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, is_nfc_quick, is_nfkc_quick};
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};
use xxhash_rust::xxh3::xxh3_64;

use super::table_lines;

/// Traditional characters and their simplified forms. The hash of this file is part of the recipe
/// description that a database stores.
const SIMPLIFIED: &str = include_str!("simplified.txt");

/// The number of characters with a rule in the table: the basic multilingual plane.
const BASIC_PLANE: usize = 0x1_0000;

/// The number of ASCII characters, the length of the byte tables.
const ASCII: usize = 128;

/// Bytes of ASCII text that are normalised at a time, in a buffer on the stack.
const ASCII_BLOCK: usize = 64;

/// At most 8 rounds after the first, until the text is a fixed point. The bound limits the time of
/// a hostile text. The result of a text that needs more rounds would not be a fixed point; the
/// property tests have found no such text.
const MAX_ROUNDS: usize = 8;

/// The result of normalisation for a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CharacterRule {
    /// One letter or digit, mostly the character itself, independent of its neighbours.
    Becomes(char),
    /// A separator: white space, punctuation, a symbol, a control character.
    Separates,
    /// A separator that jieba-rs accepts inside a word, as in `3.14` or `c++`.
    Connects,
    /// No character: the soft hyphen and other format characters, variation selectors.
    Vanishes,
    /// Depends on the neighbours, as for an accent, or is several letters. Such characters are
    /// normalised in runs, together with the letter before.
    Joins,
}

/// The treatment of traditional characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Traditional {
    /// A traditional character is replaced by its simplified form.
    Simplified,
    /// A traditional character stays as it is.
    Kept,
}

impl Traditional {
    /// The part of a recipe's description about normalisation: every choice that decides a
    /// character of normalised text.
    pub(crate) fn normalisation(self) -> String {
        let characters = match self {
            Self::Simplified => format!(
                "simplified characters {:016x}",
                xxh3_64(SIMPLIFIED.as_bytes())
            ),
            Self::Kept => "traditional characters as they are".to_owned(),
        };
        format!(
            "NFKC unicode-normalization 0.1.26, case folding caseless 0.2.2, {characters}, \
             categories unicode-properties 0.1.5, to a fixed point"
        )
    }
}

/// The text normaliser, the first step of the recipes `ngram` and `jieba`.
///
/// It applies Unicode NFKC, then case folding, then replaces traditional Chinese characters by
/// simplified ones, then removes all characters but letters, digits and the marks that spell words.
///
/// - NFKC unifies full-width and half-width forms, ligatures, circled digits, decomposed accents
///   and similar forms.
/// - *Letters and digits* are the Unicode categories L and N. Marks (category M) stay if they
///   belong to one script, since Indic, Thai and Arabic words are spelt with them. Accents that
///   NFKC cannot join to their letter are removed, and so are variation selectors.
/// - Characters that are newer than Unicode 18 are removed. Letters that are newer than Unicode 16
///   keep their case, since the folding table is older.
/// - A traditional character stays if one of its simplified forms is the character itself: 著 and 着
///   remain different. Variants that are both traditional, such as 妳 and 你, remain different too.
///
/// Normalised text is a fixed point: normalising it again changes nothing.
///
/// # Cost
/// One table look-up per character, some hundred megabytes a second. Runs of characters that join
/// with their neighbours, such as Arabic vowel marks, take 2 to 6 megabytes a second, and so do
/// characters outside the basic multilingual plane, except Han and emoji. The slowest character,
/// U+FDFA, which becomes eighteen, takes 0.8 megabytes a second. The time is linear in the text,
/// whatever the text. The tables take 264 KiB and some milliseconds to compute, so create one
/// normaliser and share it.
///
/// # Source
/// *Unicode Standard Annex #15, Unicode Normalization Forms* (NFKC); *The Unicode Standard*,
/// section 3.13 (case folding).
///
/// # Examples
///
/// ```
/// use simdb::Normaliser;
///
/// let normaliser = Normaliser::new();
/// assert_eq!(normaliser.letters("《漢語》 Ｖｅｒ．１！"), "汉语ver1");
/// assert_eq!(normaliser.sentences("Hello,  World!"), "hello world ");
/// ```
pub struct Normaliser {
    /// The rules of the basic multilingual plane, by code point.
    basic: Box<[CharacterRule; BASIC_PLANE]>,
    /// The letter of each ASCII character, or 0 for a separator.
    ascii_letters: [u8; ASCII],
    /// The letter or connecting character of each ASCII character, or a space for a separator.
    ascii_sentences: [u8; ASCII],
    /// One bit for each character of the basic plane: 1 if the character becomes itself.
    unchanged: Box<[u64; BASIC_PLANE / 64]>,
    /// Traditional characters, sorted, and their simplified forms.
    simplified: Vec<(char, char)>,
}

impl Normaliser {
    /// Computes the tables.
    pub fn new() -> Self {
        Self::with_traditional(Traditional::Simplified)
    }

    /// The normaliser of all comparisons.
    pub(crate) fn shared() -> &'static Self {
        // The tables take some milliseconds to compute, so they are made once in a process.
        static SHARED: OnceLock<Normaliser> = OnceLock::new();
        SHARED.get_or_init(Self::new)
    }

    pub(crate) fn with_traditional(traditional: Traditional) -> Self {
        let simplified: Vec<_> = match traditional {
            Traditional::Simplified => table_lines(SIMPLIFIED)
                .filter_map(|line| {
                    let mut pair = line.chars();
                    Some((pair.next()?, pair.next()?))
                })
                .collect(),
            Traditional::Kept => Vec::new(),
        };
        debug_assert!(simplified.is_sorted(), "binary search needs a sorted table");
        let mut normaliser = Self {
            basic: Box::new([CharacterRule::Separates; BASIC_PLANE]),
            ascii_letters: [0; ASCII],
            ascii_sentences: [b' '; ASCII],
            unchanged: Box::new([0; BASIC_PLANE / 64]),
            simplified,
        };
        // The rules are derived here rather than stored in the program: they follow from the
        // Unicode tables of the pinned packages, and a table in a file could contradict these.
        for code in 0..BASIC_PLANE {
            if let Some(c) = char::from_u32(code as u32) {
                normaliser.basic[code] = normaliser.derive_rule(c);
                let is_unchanged = normaliser.is_unchanged(c);
                normaliser.unchanged[code / 64] |= u64::from(is_unchanged) << (code % 64);
            }
        }
        for code in 0..ASCII {
            match normaliser.basic[code] {
                CharacterRule::Becomes(letter) => {
                    normaliser.ascii_letters[code] = letter as u8;
                    normaliser.ascii_sentences[code] = letter as u8;
                }
                CharacterRule::Connects => normaliser.ascii_sentences[code] = code as u8,
                _ => {}
            }
        }
        normaliser
    }

    /// The letters and digits of the text, all separators removed.
    pub fn letters(&self, text: &str) -> String {
        self.normalise::<false>(text)
    }

    /// The text with separators, for a segmenter that needs the ends of words and clauses. A run of
    /// separators becomes one space; the characters `+ # & . _ % -` stay.
    pub fn sentences(&self, text: &str) -> String {
        self.normalise::<true>(text)
    }

    fn normalise<const SEPARATED: bool>(&self, text: &str) -> String {
        let (mut normalised, mut is_stable) = self.normalise_once::<SEPARATED>(text);
        // Once is not always enough. Characters that a removed character separated may join now:
        // two parts of a Hangul syllable, an Arabic letter and its mark.
        for _ in 0..MAX_ROUNDS {
            if is_stable {
                break;
            }
            let (again, again_is_stable) = self.normalise_once::<SEPARATED>(&normalised);
            is_stable = again_is_stable || again == normalised;
            normalised = again;
        }
        normalised
    }

    /// One round of normalisation. The flag is `true` if another round is sure to change nothing.
    fn normalise_once<const SEPARATED: bool>(&self, text: &str) -> (String, bool) {
        let mut out = String::with_capacity(text.len());
        let mut is_stable = true;
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            // Two fast paths cover nearly all text. Runs of common Han characters are copied, and
            // ASCII goes through a table of bytes. With the byte table, English takes a third of
            // the time that one rule for each character takes. Chinese gains little, since
            // punctuation breaks the runs.
            let mut end = self.end_of_unchanged(text, at);
            if end > at {
                out.push_str(&text[at..end]);
            } else if c.is_ascii() {
                end = self.push_ascii::<SEPARATED>(text, at, &mut out);
            } else {
                end = at + c.len_utf8();
                match self.rule(c) {
                    CharacterRule::Becomes(letter) => out.push(letter),
                    CharacterRule::Vanishes => {}
                    CharacterRule::Joins => {
                        // The letter before the run is already written, but belongs to it: `e` and
                        // a combining acute are one letter.
                        end = self.end_of_joining(text, at);
                        let start = self.pop_letter_before(text, at, &mut out);
                        is_stable &= self.push_run::<SEPARATED>(&text[start..end], &mut out);
                    }
                    separator if SEPARATED => push_separator(&mut out, c, separator),
                    CharacterRule::Separates | CharacterRule::Connects => {}
                }
            }
            at = end;
        }
        (out, is_stable)
    }

    /// Normalises at most [`ASCII_BLOCK`] ASCII characters from `at` on, and returns their end.
    fn push_ascii<const SEPARATED: bool>(&self, text: &str, at: usize, out: &mut String) -> usize {
        let table = if SEPARATED {
            &self.ascii_sentences
        } else {
            &self.ascii_letters
        };
        let mut block = [0; ASCII_BLOCK];
        let mut length = 0;
        let mut read = 0;
        let mut after_space = out.ends_with(' ');
        for &byte in text.as_bytes()[at..].iter().take(ASCII_BLOCK) {
            let Some(&letter) = table.get(usize::from(byte)) else {
                break;
            };
            // The byte is always written. A dropped byte does not count in `length`, and the next
            // byte overwrites it. A branch instead would be mispredicted at most ends of words.
            block[length] = letter;
            length += usize::from(if SEPARATED {
                letter != b' ' || !after_space
            } else {
                letter != 0
            });
            after_space = letter == b' ';
            read += 1;
        }
        out.push_str(str::from_utf8(&block[..length]).expect("the tables hold ASCII"));
        at + read
    }

    /// The end of the run of unchanged three-byte characters that starts at `at`. All CJK
    /// characters in common use have three bytes.
    fn end_of_unchanged(&self, text: &str, mut at: usize) -> usize {
        while let Some(&[lead @ 0xe0..=0xef, middle, last]) = text.as_bytes()[at..].first_chunk() {
            // The code point is 4 + 6 + 6 bits; the first 10 are the index of a word of the bitmap.
            let word = self.unchanged[usize::from(lead & 0xf) << 6 | usize::from(middle & 0x3f)];
            if word >> (last & 0x3f) & 1 == 0 {
                break;
            }
            at += 3;
        }
        at
    }

    /// The end of the run of joining characters that starts at or before `end`.
    fn end_of_joining(&self, text: &str, end: usize) -> usize {
        let rest = text[end..].char_indices();
        let mut others = rest.skip_while(|&(_, c)| self.rule(c) == CharacterRule::Joins);
        others.next().map_or(text.len(), |(offset, _)| end + offset)
    }

    /// The start of a run that may join with the letter before `at`: that letter, which is removed
    /// from the output, or `at` if no letter precedes.
    fn pop_letter_before(&self, text: &str, at: usize, out: &mut String) -> usize {
        let Some(before) = text[..at].chars().next_back() else {
            return at;
        };
        let CharacterRule::Becomes(letter) = self.rule(before) else {
            return at;
        };
        // The output ends with `letter`, because `before` was the last character read.
        out.truncate(out.len() - letter.len_utf8());
        at - before.len_utf8()
    }

    /// Normalises a run of joining characters as a whole. Returns `false` if the result has a
    /// character that may join or change again.
    fn push_run<const SEPARATED: bool>(&self, run: &str, out: &mut String) -> bool {
        let mut is_stable = true;
        for c in self.normalise_run(run).chars() {
            match self.rule_by_category(c) {
                CharacterRule::Becomes(c) => {
                    is_stable &= self.is_unchanged(c);
                    out.push(c);
                }
                CharacterRule::Vanishes => {}
                separator => {
                    if SEPARATED {
                        push_separator(out, c, separator);
                    }
                }
            }
        }
        is_stable
    }

    /// NFKC, case folding and simplified forms until nothing changes. No character is removed.
    fn normalise_run(&self, run: &str) -> String {
        let mut normalised = run.to_owned();
        // Folded text may not be in NFKC, and NFKC may produce characters that fold. The first of
        // these rounds is not counted in `MAX_ROUNDS`.
        for _ in 0..=MAX_ROUNDS {
            if self.is_normalised(&normalised) {
                break;
            }
            let again = self.normalise_run_once(&normalised);
            if again == normalised {
                break;
            }
            normalised = again;
        }
        normalised
    }

    /// Returns `true` if a run is sure to be a fixed point. The test allocates nothing, and most
    /// letters with their marks pass: without the test vowelled Arabic took 25 times as long as
    /// ordinary text.
    fn is_normalised(&self, run: &str) -> bool {
        let folded = || run.chars().default_case_fold().map(|c| self.simplify(c));
        is_nfkc_quick(run.chars()) == IsNormalized::Yes && folded().eq(run.chars())
    }

    fn normalise_run_once(&self, run: &str) -> String {
        let folded = run.nfkc().default_case_fold();
        folded.map(|c| self.simplify(c)).nfkc().collect()
    }

    fn simplify(&self, c: char) -> char {
        let found = self
            .simplified
            .binary_search_by_key(&c, |&(traditional, _)| traditional);
        found.map_or(c, |index| self.simplified[index].1)
    }

    #[inline]
    fn is_unchanged(&self, c: char) -> bool {
        matches!(self.rule(c), CharacterRule::Becomes(letter) if letter == c)
    }

    #[inline]
    fn rule(&self, c: char) -> CharacterRule {
        match self.basic.get(c as usize) {
            Some(&rule) => rule,
            // Emoji, the most frequent characters outside the table. The test of all rules proves
            // that all code points of these ranges are separators.
            None if matches!(c, '\u{1f300}'..='\u{1f6d7}' | '\u{1f90c}'..='\u{1f9ff}') => {
                CharacterRule::Separates
            }
            // Rare, but a hostile text may consist of such characters, and deriving a rule takes a
            // microsecond.
            None if is_rare_han(c) => CharacterRule::Becomes(self.simplify(c)),
            None => self.derive_rule(c),
        }
    }

    /// The rule of a character, from the Unicode tables.
    fn derive_rule(&self, c: char) -> CharacterRule {
        let Some(first) = std::iter::once(c).nfkd().next() else {
            return CharacterRule::Vanishes;
        };
        // NFKC may join the character with the preceding character, or move it before that
        // character.
        if canonical_combining_class(first) != 0
            || is_nfc_quick(std::iter::once(first)) != IsNormalized::Yes
        {
            return CharacterRule::Joins;
        }
        let normalised = self.normalise_run(c.encode_utf8(&mut [0; 4]));
        let mut chars = normalised.chars();
        match (chars.next(), chars.next()) {
            (Some(only), None) => self.rule_by_category(only),
            // Several characters without a letter: `…` becomes three points.
            _ if normalised
                .chars()
                .all(|c| !matches!(self.rule_by_category(c), CharacterRule::Becomes(_))) =>
            {
                CharacterRule::Separates
            }
            _ => CharacterRule::Joins,
        }
    }

    /// The rule of a character that NFKC, folding and simplification do not change, by its Unicode
    /// category.
    fn rule_by_category(&self, c: char) -> CharacterRule {
        let category = c.general_category();
        match c.general_category_group() {
            GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number => {
                CharacterRule::Becomes(c)
            }
            GeneralCategoryGroup::Mark if is_shared_mark(c) => CharacterRule::Vanishes,
            GeneralCategoryGroup::Mark => CharacterRule::Becomes(c),
            _ if category == GeneralCategory::Format => CharacterRule::Vanishes,
            _ if matches!(c, '+' | '#' | '&' | '.' | '_' | '%' | '-') => CharacterRule::Connects,
            _ => CharacterRule::Separates,
        }
    }
}

impl Default for Normaliser {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows no tables, since all normalisers have the same.
impl std::fmt::Debug for Normaliser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Normaliser").finish_non_exhaustive()
    }
}

/// Returns `true` for the Han characters outside the basic multilingual plane that Unicode 18 has
/// and NFKC does not change.
fn is_rare_han(c: char) -> bool {
    matches!(
        c,
        '\u{20000}'..='\u{2a6df}'
            | '\u{2a700}'..='\u{2b81e}'
            | '\u{2b820}'..='\u{2cead}'
            | '\u{2ceb0}'..='\u{2ebe0}'
            | '\u{2ebf0}'..='\u{2ee5d}'
            | '\u{30000}'..='\u{3134a}'
            | '\u{31350}'..='\u{33479}'
    )
}

/// Returns `true` for the Unicode categories L and N.
pub(crate) fn is_letter_or_digit(c: char) -> bool {
    // Without the search in the Unicode tables, cutting English into words takes half the time.
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    matches!(
        c.general_category_group(),
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number
    )
}

/// Returns `true` for the Unicode category M.
pub(crate) fn is_mark(c: char) -> bool {
    !c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Mark
}

/// Returns `true` for marks that belong to no single script: accents and variation selectors.
fn is_shared_mark(mark: char) -> bool {
    matches!(
        mark,
        '\u{300}'..='\u{36f}'
            | '\u{180b}'..='\u{180f}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}'
            | '\u{302a}'..='\u{302f}'
            | '\u{3099}'..='\u{309a}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{fe20}'..='\u{fe2f}'
            | '\u{1d165}'..='\u{1d1ad}'
            | '\u{e0100}'..='\u{e01ef}'
    )
}

/// Appends a separator for a segmenter: one space for a run of separators, or the connecting
/// character.
fn push_separator(out: &mut String, c: char, rule: CharacterRule) {
    if rule == CharacterRule::Connects {
        // The full-width, half-width and small forms all become one of seven ASCII characters.
        out.extend(std::iter::once(c).nfkc());
    } else if !out.ends_with(' ') {
        out.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use proptest::prelude::*;

    use super::*;

    fn letters(text: &str) -> String {
        Normaliser::new().letters(text)
    }

    #[test]
    fn ascii_characters_have_their_unicode_categories() {
        for c in (0..128_u8).map(char::from) {
            let group = c.general_category_group();
            let is_letter = group == GeneralCategoryGroup::Letter;
            let is_number = group == GeneralCategoryGroup::Number;
            assert_eq!(is_letter_or_digit(c), is_letter || is_number, "{c:?}");
            assert_eq!(is_mark(c), group == GeneralCategoryGroup::Mark, "{c:?}");
        }
    }

    #[test]
    fn white_space_width_punctuation_case_and_script_make_no_difference() {
        let normaliser = Normaliser::new();
        for (text, expected) in [
            ("Hello,  World!\r\n", "helloworld"),
            ("Ｈｅｌｌｏ　１２３", "hello123"),
            ("漢語與臺灣。", "汉语与台湾"),
            ("薴", "苎"),
            ("①②㈱㎏ﬁ…½", "12株kgfi12"),
            ("STRASSE Straße", "strassestrasse"),
            ("ΣΑΣ σας", "σασσας".replace('ς', "σ").as_str()),
            ("cafe\u{301} CAFÉ", "cafécafé"),
            ("ｶﾞｷﾞ か\u{3099}", "ガギが"),
            ("\u{1112}\u{1161}\u{11ab}글", "한글"),
            ("葛\u{e0100}飾 a\u{ad}b\u{200b}c\u{feff}", "葛饰abc"),
            ("नमस्ते สวัสดีครับ", "नमस्तेสวัสดีครับ"),
            ("👩‍👩‍👧 ❤\u{fe0f} \0\u{1}", ""),
            ("豈\u{2f800}", "岂丽"),
        ] {
            assert_eq!(normaliser.letters(text), expected, "{text:?}");
        }
    }

    #[test]
    fn sentences_keep_one_space_per_run_and_connecting_characters() {
        let normaliser = Normaliser::new();
        assert_eq!(
            normaliser.sentences("版本３．１４，C＋＋ —— 測試！\n"),
            "版本3.14 c++ 测试 "
        );
        assert_eq!(normaliser.sentences("a\u{200b}b…c"), "ab c");
    }

    #[test]
    fn letters_of_all_rules_are_fixed_points() {
        let normaliser = Normaliser::new();
        for c in '\0'..=char::MAX {
            let rule = normaliser.rule(c);
            if c as u32 >= BASIC_PLANE as u32 {
                assert_eq!(rule, normaliser.derive_rule(c), "{c:?}");
            }
            if let CharacterRule::Becomes(letter) = rule {
                assert_eq!(normaliser.rule(letter), rule, "{c:?}");
            }
        }
    }

    #[test]
    fn kept_traditional_characters_differ_from_simplified_ones() {
        let keeping = Normaliser::with_traditional(Traditional::Kept);
        assert_eq!(keeping.letters("漢語 Ａ, 汉语"), "漢語a汉语");
        assert_eq!(keeping.sentences("漢語，A"), "漢語 a");
    }

    #[test]
    fn parts_joined_by_a_removed_separator_are_composed() {
        assert_eq!(letters("가.\u{11a8}"), "각");
        assert_eq!(letters("\u{627}-\u{654}"), letters("\u{627}\u{654}"));
    }

    #[test]
    fn long_text_of_marks_takes_linear_time() {
        let normaliser = Normaliser::new();
        let started = Instant::now();
        for mark in [
            "\u{301}",
            "\u{64b}",
            "\u{323}\u{301}",
            "\u{1161}",
            "\u{e31}",
        ] {
            let text = mark.repeat(500_000);
            assert!(normaliser.letters(&text).len() <= text.len());
        }
        // Quadratic time would take hours.
        assert!(started.elapsed().as_secs() < 60);
    }

    /// Texts of characters that join, reorder or change in several rounds, among ordinary ones.
    fn joining_text() -> impl Strategy<Value = String> {
        let some = prop::sample::select(
            "aé-ß \u{301}\u{323}\u{345}\u{307}İıſΐᾳςΣ가\u{1100}\u{1161}\u{11a8}か\u{3099}ｶﾞ漢薴苧\u{627}\u{654}\u{64b}\u{e33}\u{200d}\u{34f}ﬃ½.＋\u{fe0f}\u{1d15e}\u{f900}\u{2f800}ㅏ\u{9c7}\u{9be}\u{338}="
                .chars()
                .collect::<Vec<_>>(),
        );
        prop::collection::vec(some, 0..12).prop_map(String::from_iter)
    }

    /// One round by the definition: one rule per character, without the fast paths.
    fn plain_normalise_once<const SEPARATED: bool>(normaliser: &Normaliser, text: &str) -> String {
        let mut out = String::new();
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let mut end = at + c.len_utf8();
            match normaliser.rule(c) {
                CharacterRule::Becomes(letter) => out.push(letter),
                CharacterRule::Vanishes => {}
                CharacterRule::Joins => {
                    end = normaliser.end_of_joining(text, at);
                    let start = normaliser.pop_letter_before(text, at, &mut out);
                    normaliser.push_run::<SEPARATED>(&text[start..end], &mut out);
                }
                separator if SEPARATED => push_separator(&mut out, c, separator),
                _ => {}
            }
            at = end;
        }
        out
    }

    /// Text for the fast paths, interrupted by other characters.
    fn ordinary_text() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            "[ -~\n]{0,90}",
            "[一-龥]{1,9}",
            "[，。！　ａ-ｚéß漢薴×]",
            joining_text(),
        ];
        prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn fast_paths_equal_definition(
            texts in prop::collection::vec(prop_oneof![any::<String>(), ordinary_text()], 64),
        ) {
            let normaliser = Normaliser::new();
            for text in texts {
                let letters = plain_normalise_once::<false>(&normaliser, &text);
                prop_assert_eq!(normaliser.normalise_once::<false>(&text).0, letters);
                let sentences = plain_normalise_once::<true>(&normaliser, &text);
                prop_assert_eq!(normaliser.normalise_once::<true>(&text).0, sentences);
            }
        }

        #[test]
        fn run_is_normalised_as_by_definition(
            runs in prop::collection::vec(prop_oneof![any::<String>(), joining_text()], 64),
        ) {
            let normaliser = Normaliser::new();
            for run in runs {
                let mut expected = normaliser.normalise_run_once(&run);
                for _ in 0..MAX_ROUNDS {
                    expected = normaliser.normalise_run_once(&expected);
                }
                prop_assert_eq!(normaliser.normalise_run(&run), expected);
            }
        }

        #[test]
        fn normalising_again_changes_nothing(
            texts in prop::collection::vec(prop_oneof![any::<String>(), joining_text()], 64),
        ) {
            let normaliser = Normaliser::new();
            for text in texts {
                let once = normaliser.letters(&text);
                prop_assert_eq!(&normaliser.letters(&once), &once);
                let sentences = normaliser.sentences(&text);
                prop_assert_eq!(&normaliser.sentences(&sentences), &sentences);
                // Canonically equivalent texts are equal after normalisation.
                prop_assert_eq!(normaliser.letters(&text.nfd().collect::<String>()), once);
            }
        }
    }
}
