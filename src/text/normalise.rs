//! [`Normaliser`]: text to normalised text, so that what looks alike is alike.

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, is_nfc_quick, is_nfkc_quick};
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};
use xxhash_rust::xxh3::xxh3_64;

use super::table_lines;

/// Traditional characters and their simplified forms.
const SIMPLIFIED: &str = include_str!("simplified.txt");

/// How many characters have a rule in the table: the basic multilingual plane.
const BASIC_PLANE: usize = 0x1_0000;

/// How many ASCII characters there are.
const ASCII: usize = 128;

/// How many ASCII characters are normalised at a time.
const ASCII_BLOCK: usize = 64;

/// A bound for the rounds until nothing changes any more, so that no text can keep us turning.
/// The property tests look for a text that would need more.
const MOST_ROUNDS: usize = 8;

/// What normalisation makes of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// A letter or digit that becomes this one, mostly itself, whatever stands beside it.
    Becomes(char),
    /// A separator: white space, punctuation, a symbol, a control character.
    Separates,
    /// A separator that jieba-rs keeps inside a word, as in `3.14` or `c++`.
    Connects,
    /// Nothing: a format character such as the soft hyphen, or a variation selector.
    Vanishes,
    /// Something that depends on its neighbours, as an accent does, or becomes several letters.
    Joins,
}

/// The treatment of traditional characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// A traditional character is the same as its simplified form.
    Folded,
    /// A traditional character and its simplified form are two characters.
    Apart,
}

impl Script {
    /// The normalisation with this treatment, in the description of a recipe: every choice that
    /// decides a character of normalised text.
    pub(crate) fn normalisation(self) -> String {
        let characters = match self {
            Self::Folded => format!(
                "simplified characters {:016x}",
                xxh3_64(SIMPLIFIED.as_bytes())
            ),
            Self::Apart => "traditional characters as they are".to_owned(),
        };
        format!(
            "NFKC unicode-normalization 0.1.26, case folding caseless 0.2.2, {characters}, \
             categories unicode-properties 0.1.5, to a fixed point"
        )
    }
}

/// Makes normalised text: Unicode NFKC, then case folding, then traditional characters to
/// simplified ones, then nothing but letters, digits, and the marks that spell words.
///
/// - Full-width and half-width forms, ligatures, circled digits, decomposed accents and the like
///   are made one by NFKC.
/// - *Letters and digits* are the Unicode categories L and N. Of the marks (M) those stay that
///   belong to one script, since Indic, Thai and Arabic words are spelt with them; an accent
///   that NFKC could not join to its letter goes, and so does a variation selector.
/// - Characters that this version of Unicode does not know go.
/// - Letters that are newer than Unicode 16 keep their case.
/// - Of characters with several simplified forms, one of them the character itself, none is
///   replaced: 著 and 着 stay two, and so do variants such as 妳 and 你, both of them traditional.
///
/// Normalised text is a fixed point: normalising it again changes nothing.
///
/// # Cost
/// One table look-up per character, some hundred megabytes a second; 2 to 6 megabytes a second for
/// runs of characters that join with their neighbours, such as Arabic vowel marks, and for
/// characters outside the basic multilingual plane but Han and emoji; 0.8 for U+FDFA, the one
/// character that becomes eighteen. The time grows with the text and no faster, whatever it is made
/// of. The tables take 264 KiB and some milliseconds to make, so make one and share it.
///
/// # Source
/// *Unicode Standard Annex #15, Unicode Normalization Forms* (NFKC); *The Unicode Standard*,
/// section 3.13 (case folding). The same is what the recipes do to a text first.
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
    basic: Box<[Rule; BASIC_PLANE]>,
    /// The letter that an ASCII character becomes, or 0 if it separates.
    ascii_letters: [u8; ASCII],
    /// The same with separators: the connecting character itself, or a space.
    ascii_sentences: [u8; ASCII],
    /// A bit for each character of the basic plane: whether it becomes itself.
    kept: Box<[u64; BASIC_PLANE / 64]>,
    simplified: Vec<(char, char)>,
}

impl Normaliser {
    /// Makes the tables.
    pub fn new() -> Self {
        Self::with_script(Script::Folded)
    }

    pub(crate) fn with_script(script: Script) -> Self {
        let simplified: Vec<_> = match script {
            Script::Folded => table_lines(SIMPLIFIED)
                .filter_map(|line| {
                    let mut pair = line.chars();
                    Some((pair.next()?, pair.next()?))
                })
                .collect(),
            Script::Apart => Vec::new(),
        };
        debug_assert!(simplified.is_sorted(), "the table is searched by halving");
        let mut normaliser = Self {
            basic: Box::new([Rule::Separates; BASIC_PLANE]),
            ascii_letters: [0; ASCII],
            ascii_sentences: [b' '; ASCII],
            kept: Box::new([0; BASIC_PLANE / 64]),
            simplified,
        };
        for code in 0..BASIC_PLANE {
            if let Some(c) = char::from_u32(code as u32) {
                normaliser.basic[code] = normaliser.derive_rule(c);
                normaliser.kept[code / 64] |= u64::from(normaliser.stays(c)) << (code % 64);
            }
        }
        for code in 0..ASCII {
            match normaliser.basic[code] {
                Rule::Becomes(letter) => {
                    normaliser.ascii_letters[code] = letter as u8;
                    normaliser.ascii_sentences[code] = letter as u8;
                }
                Rule::Connects => normaliser.ascii_sentences[code] = code as u8,
                _ => {}
            }
        }
        normaliser
    }

    /// The letters and digits of the text, all separators removed.
    pub fn letters(&self, text: &str) -> String {
        self.normalise::<false>(text)
    }

    /// The text with its separators, each run of them one space, for a segmenter that needs to
    /// know where words and clauses end. Of the characters `+ # & . _ % -` all are kept.
    pub fn sentences(&self, text: &str) -> String {
        self.normalise::<true>(text)
    }

    fn normalise<const SEPARATED: bool>(&self, text: &str) -> String {
        let (mut normalised, mut settled) = self.pass::<SEPARATED>(text);
        // What a removed character kept apart may join in the next round: two parts of a Hangul
        // syllable, an Arabic letter and its mark.
        for _ in 0..MOST_ROUNDS {
            if settled {
                break;
            }
            let (again, again_settled) = self.pass::<SEPARATED>(&normalised);
            settled = again_settled || again == normalised;
            normalised = again;
        }
        normalised
    }

    /// Normalises once. The flag tells whether doing it again would certainly change nothing.
    fn pass<const SEPARATED: bool>(&self, text: &str) -> (String, bool) {
        let mut out = String::with_capacity(text.len());
        let mut settled = true;
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let mut end = self.end_of_kept(text, at);
            if end > at {
                out.push_str(&text[at..end]);
            } else if c.is_ascii() {
                end = self.push_ascii::<SEPARATED>(text, at, &mut out);
            } else {
                end = at + c.len_utf8();
                match self.rule(c) {
                    Rule::Becomes(letter) => out.push(letter),
                    Rule::Vanishes => {}
                    Rule::Joins => {
                        end = self.end_of_joined(text, at);
                        let start = self.take_back_letter(text, at, &mut out);
                        settled &= self.push_settled::<SEPARATED>(&text[start..end], &mut out);
                    }
                    separator if SEPARATED => push_separator(&mut out, c, separator),
                    Rule::Separates | Rule::Connects => {}
                }
            }
            at = end;
        }
        (out, settled)
    }

    /// Normalises the ASCII characters that start at `at`, a block of them at most, and says where
    /// they end.
    ///
    /// Each is written and perhaps overwritten, without a branch: where words end is what no branch
    /// predictor knows.
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

    /// The end of the characters of three bytes that start at `at` and stay as they are. All CJK
    /// characters in common use have three bytes.
    fn end_of_kept(&self, text: &str, mut at: usize) -> usize {
        while let Some(&[lead @ 0xe0..=0xef, middle, last]) = text.as_bytes()[at..].first_chunk() {
            let word = self.kept[usize::from(lead & 0xf) << 6 | usize::from(middle & 0x3f)];
            if word >> (last & 0x3f) & 1 == 0 {
                break;
            }
            at += 3;
        }
        at
    }

    /// The end of the run of joining characters that reaches to `end` at least.
    fn end_of_joined(&self, text: &str, end: usize) -> usize {
        let rest = text[end..].char_indices();
        let mut others = rest.skip_while(|&(_, c)| self.rule(c) == Rule::Joins);
        others.next().map_or(text.len(), |(offset, _)| end + offset)
    }

    /// Where a run that may join with the letter before `at` starts: at that letter, which is
    /// taken back from the output, or at `at` if there is none.
    fn take_back_letter(&self, text: &str, at: usize, out: &mut String) -> usize {
        let Some(before) = text[..at].chars().next_back() else {
            return at;
        };
        let Rule::Becomes(letter) = self.rule(before) else {
            return at;
        };
        out.truncate(out.len() - letter.len_utf8());
        at - before.len_utf8()
    }

    /// Normalises a run as a whole, the slow way. False if the result holds what may join again.
    fn push_settled<const SEPARATED: bool>(&self, run: &str, out: &mut String) -> bool {
        let mut settled = true;
        for c in self.normalise_run(run).chars() {
            match self.kind(c) {
                Rule::Becomes(c) => {
                    settled &= self.stays(c);
                    out.push(c);
                }
                Rule::Vanishes => {}
                separator => {
                    if SEPARATED {
                        push_separator(out, c, separator);
                    }
                }
            }
        }
        settled
    }

    /// NFKC, case folding and simplified forms until nothing changes; nothing is removed.
    fn normalise_run(&self, run: &str) -> String {
        let mut settled = run.to_owned();
        for _ in 0..=MOST_ROUNDS {
            if self.is_settled(&settled) {
                break;
            }
            let again = self.settle_once(&settled);
            if again == settled {
                break;
            }
            settled = again;
        }
        settled
    }

    /// Whether a run certainly stays as it is, which is found out in a fraction of the time that it
    /// takes to normalise it: so it is with most letters and their marks.
    fn is_settled(&self, run: &str) -> bool {
        let folded = || run.chars().default_case_fold().map(|c| self.simplify(c));
        is_nfkc_quick(run.chars()) == IsNormalized::Yes && folded().eq(run.chars())
    }

    fn settle_once(&self, run: &str) -> String {
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
    fn stays(&self, c: char) -> bool {
        matches!(self.rule(c), Rule::Becomes(letter) if letter == c)
    }

    #[inline]
    fn rule(&self, c: char) -> Rule {
        match self.basic.get(c as usize) {
            Some(&rule) => rule,
            // Emoji, the most frequent characters outside the table; a test proves them alike.
            None if matches!(c, '\u{1f300}'..='\u{1f6d7}' | '\u{1f90c}'..='\u{1f9ff}') => {
                Rule::Separates
            }
            // Rare, but a text may be made of them, and to derive a rule takes a microsecond.
            None if is_rare_han(c) => Rule::Becomes(self.simplify(c)),
            None => self.derive_rule(c),
        }
    }

    /// The rule of a character, from the Unicode tables.
    fn derive_rule(&self, c: char) -> Rule {
        let Some(first) = std::iter::once(c).nfkd().next() else {
            return Rule::Vanishes;
        };
        // Such a character may join with, or be moved before, the one that precedes it.
        if canonical_combining_class(first) != 0
            || is_nfc_quick(std::iter::once(first)) != IsNormalized::Yes
        {
            return Rule::Joins;
        }
        let settled = self.normalise_run(c.encode_utf8(&mut [0; 4]));
        let mut chars = settled.chars();
        match (chars.next(), chars.next()) {
            (Some(only), None) => self.kind(only),
            _ if settled
                .chars()
                .all(|c| !matches!(self.kind(c), Rule::Becomes(_))) =>
            {
                Rule::Separates
            }
            _ => Rule::Joins,
        }
    }

    /// What becomes of a character that NFKC, folding and simplification leave as it is.
    fn kind(&self, c: char) -> Rule {
        let category = c.general_category();
        match c.general_category_group() {
            GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number => Rule::Becomes(c),
            GeneralCategoryGroup::Mark if is_shared_mark(c) => Rule::Vanishes,
            GeneralCategoryGroup::Mark => Rule::Becomes(c),
            _ if category == GeneralCategory::Format => Rule::Vanishes,
            _ if matches!(c, '+' | '#' | '&' | '.' | '_' | '%' | '-') => Rule::Connects,
            _ => Rule::Separates,
        }
    }
}

impl Default for Normaliser {
    fn default() -> Self {
        Self::new()
    }
}

/// The tables are the same for all.
impl std::fmt::Debug for Normaliser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Normaliser").finish_non_exhaustive()
    }
}

/// Han characters outside the basic multilingual plane that this version of Unicode knows and NFKC
/// leaves as they are.
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

/// Letters and digits: the Unicode categories L and N.
pub(crate) fn is_letter_or_digit(c: char) -> bool {
    matches!(
        c.general_category_group(),
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number
    )
}

/// Marks: the Unicode category M.
pub(crate) fn is_mark(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Mark
}

/// Whether a mark belongs to no script of its own: accents, and what selects a glyph.
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

/// Writes a separator for a segmenter: one space for a run of them, or the connecting character.
fn push_separator(out: &mut String, c: char, rule: Rule) {
    if rule == Rule::Connects {
        // A full-width form stands 0xfee0 above its ASCII form; the rarer forms take the slow
        // way, and all of them end as one of seven ASCII characters.
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
    fn sentences_keep_one_space_for_separators_and_what_connects() {
        let normaliser = Normaliser::new();
        assert_eq!(
            normaliser.sentences("版本３．１４，C＋＋ —— 測試！\n"),
            "版本3.14 c++ 测试 "
        );
        assert_eq!(normaliser.sentences("a\u{200b}b…c"), "ab c");
    }

    #[test]
    fn every_rule_leads_to_characters_that_stay() {
        let normaliser = Normaliser::new();
        for c in '\0'..=char::MAX {
            let rule = normaliser.rule(c);
            if c as u32 >= BASIC_PLANE as u32 {
                assert_eq!(rule, normaliser.derive_rule(c), "{c:?}");
            }
            if let Rule::Becomes(letter) = rule {
                assert_eq!(normaliser.rule(letter), rule, "{c:?}");
            }
        }
    }

    #[test]
    fn traditional_characters_can_be_kept_apart() {
        let keeping = Normaliser::with_script(Script::Apart);
        assert_eq!(keeping.letters("漢語 Ａ, 汉语"), "漢語a汉语");
        assert_eq!(keeping.sentences("漢語，A"), "漢語 a");
    }

    #[test]
    fn parts_joined_by_a_removed_separator_are_composed() {
        assert_eq!(letters("가.\u{11a8}"), "각");
        assert_eq!(letters("\u{627}-\u{654}"), letters("\u{627}\u{654}"));
    }

    #[test]
    fn a_long_text_of_nothing_but_marks_takes_linear_time() {
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
        // Quadratic time would be hours.
        assert!(started.elapsed().as_secs() < 60);
    }

    /// Texts of characters that are known to be troublesome, among ordinary ones.
    fn troublesome() -> impl Strategy<Value = String> {
        let some = prop::sample::select(
            "aé-ß \u{301}\u{323}\u{345}\u{307}İıſΐᾳςΣ가\u{1100}\u{1161}\u{11a8}か\u{3099}ｶﾞ漢薴苧\u{627}\u{654}\u{64b}\u{e33}\u{200d}\u{34f}ﬃ½.＋\u{fe0f}\u{1d15e}\u{f900}\u{2f800}ㅏ\u{9c7}\u{9be}\u{338}="
                .chars()
                .collect::<Vec<_>>(),
        );
        prop::collection::vec(some, 0..12).prop_map(String::from_iter)
    }

    /// One pass by the definition, a character after another.
    fn plain_pass<const SEPARATED: bool>(normaliser: &Normaliser, text: &str) -> String {
        let mut out = String::new();
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let mut end = at + c.len_utf8();
            match normaliser.rule(c) {
                Rule::Becomes(letter) => out.push(letter),
                Rule::Vanishes => {}
                Rule::Joins => {
                    end = normaliser.end_of_joined(text, at);
                    let start = normaliser.take_back_letter(text, at, &mut out);
                    normaliser.push_settled::<SEPARATED>(&text[start..end], &mut out);
                }
                separator if SEPARATED => push_separator(&mut out, c, separator),
                _ => {}
            }
            at = end;
        }
        out
    }

    /// Ordinary text, which the fast ways are for, with something else now and then.
    fn ordinary() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            "[ -~\n]{0,90}",
            "[一-龥]{1,9}",
            "[，。！　ａ-ｚéß漢薴×]",
            troublesome(),
        ];
        prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_fast_ways_equal_the_definition(
            texts in prop::collection::vec(prop_oneof![any::<String>(), ordinary()], 64),
        ) {
            let normaliser = Normaliser::new();
            for text in texts {
                let letters = plain_pass::<false>(&normaliser, &text);
                prop_assert_eq!(normaliser.pass::<false>(&text).0, letters);
                let sentences = plain_pass::<true>(&normaliser, &text);
                prop_assert_eq!(normaliser.pass::<true>(&text).0, sentences);
            }
        }

        #[test]
        fn a_run_settles_as_by_the_definition(
            runs in prop::collection::vec(prop_oneof![any::<String>(), troublesome()], 64),
        ) {
            let normaliser = Normaliser::new();
            for run in runs {
                let mut expected = normaliser.settle_once(&run);
                for _ in 0..MOST_ROUNDS {
                    expected = normaliser.settle_once(&expected);
                }
                prop_assert_eq!(normaliser.normalise_run(&run), expected);
            }
        }

        #[test]
        fn normalising_again_changes_nothing(
            texts in prop::collection::vec(prop_oneof![any::<String>(), troublesome()], 64),
        ) {
            let normaliser = Normaliser::new();
            for text in texts {
                let once = normaliser.letters(&text);
                prop_assert_eq!(&normaliser.letters(&once), &once);
                let sentences = normaliser.sentences(&text);
                prop_assert_eq!(&normaliser.sentences(&sentences), &sentences);
                // Canonically equivalent texts are alike.
                prop_assert_eq!(normaliser.letters(&text.nfd().collect::<String>()), once);
            }
        }
    }
}
