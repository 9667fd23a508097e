//! The longest sentences of a text: a rule for near-duplicates that a search engine is said to use.

use xxhash_rust::xxh3::Xxh3Default;

use super::tokens::sorted_set;
use crate::text::is_letter_or_digit;

/// The sentences of a text, in its order, without the white space around them: what ends with one
/// of `。！？!?；;…`, with a line feed, or with a full stop before white space or the end. A sentence
/// has a letter or digit.
///
/// # Cost
/// One walk over the text, and a slice for each sentence.
///
/// # Examples
///
/// ```
/// use simdb::measure::sentences;
///
/// let text = "海内存知己，天涯若比邻。 Pi is 3.14. Really?!";
/// assert_eq!(sentences(text), ["海内存知己，天涯若比邻。", "Pi is 3.14.", "Really?"]);
/// ```
pub fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let ends = match c {
            '.' => chars.peek().is_none_or(|(_, next)| next.is_whitespace()),
            c => matches!(
                c,
                '。' | '｡' | '．' | '！' | '!' | '？' | '?' | '；' | ';' | '…' | '\n' | '\r'
            ),
        };
        if ends || chars.peek().is_none() {
            let end = at + c.len_utf8();
            let sentence = text[start..end].trim();
            if sentence.chars().any(is_letter_or_digit) {
                sentences.push(sentence);
            }
            start = end;
        }
    }
    sentences
}

/// A hash of the longest of some sentences, so many of them: two texts with the same hash have the
/// same longest sentences and are taken for near-duplicates.
///
/// Length is in characters (Unicode code points). A sentence that occurs twice counts once, an
/// empty one not at all; of equally long ones the first in the order of their UTF-8 goes first. So
/// the order in which sentences stand in the text makes no difference. Where there are fewer, all
/// of them are hashed; without any, texts have the same hash, like no other text.
///
/// The rule is a plain yes or no: it finds copies with something cut off or added that is short,
/// and nothing that differs in one character of a long sentence. The article that tells of it says
/// that with three sentences its precision and recall are both said to exceed 80 %, without a
/// source; [`edit_similarity`](super::edit_similarity) and the like say how much differs.
///
/// # Cost
/// Sorts the sentences.
///
/// # Source
/// The article on SimHash and its implementation that this project grew from, on the rule of Baidu:
/// the n longest sentences, hashed, n being 3 as a rule. How ties are broken, and that order makes
/// no difference, is decided here.
///
/// # Examples
///
/// ```
/// use simdb::measure::{Normaliser, longest_sentences_hash, sentences};
///
/// let normaliser = Normaliser::new();
/// let hash = |text| longest_sentences_hash(sentences(text).into_iter().map(|s| normaliser.letters(s)), 3);
/// let poem = "海内存知己，天涯若比邻。无为在歧路，儿女共沾巾。";
/// let quoted = "《送杜少府之任蜀州》：\n無為在歧路，兒女共沾巾。\n海內存知己、天涯若比鄰！";
/// // The title is a third sentence.
/// assert_ne!(hash(poem), hash(quoted));
/// assert_eq!(hash(poem), hash("無為在歧路，兒女共沾巾；海內存知己 天涯若比鄰"));
/// ```
pub fn longest_sentences_hash<S: AsRef<str>>(
    sentences: impl IntoIterator<Item = S>,
    count: usize,
) -> u64 {
    let sentences: Vec<S> = sentences.into_iter().collect();
    let sentences = sentences.iter().map(AsRef::as_ref);
    let mut distinct = sorted_set(sentences.filter(|sentence| !sentence.is_empty()));
    // The sort is stable, so those of equal length stay in order.
    distinct.sort_by_cached_key(|sentence| std::cmp::Reverse(sentence.chars().count()));
    let mut hasher = Xxh3Default::new();
    for sentence in distinct.into_iter().take(count) {
        // With its length before it, no sentence can pass for two.
        hasher.update(&(sentence.len() as u64).to_le_bytes());
        hasher.update(sentence.as_bytes());
    }
    hasher.digest()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hash(text: &str) -> u64 {
        longest_sentences_hash(sentences(text), 3)
    }

    #[test]
    fn a_sentence_ends_with_what_ends_sentences() {
        for (text, expected) in [
            ("", &[][..]),
            ("……\n\n!?", &[]),
            ("一句话", &["一句话"]),
            (
                "甲。乙！丙？丁；戊…己",
                &["甲。", "乙！", "丙？", "丁；", "戊…", "己"],
            ),
            (
                "One. Two 2.5 v1.2.\nthree",
                &["One.", "Two 2.5 v1.2.", "three"],
            ),
            ("Is it?! \"Yes.\" no", &["Is it?", "\"Yes.\" no"]),
        ] {
            assert_eq!(sentences(text), expected, "{text:?}");
        }
    }

    #[test]
    fn texts_with_the_same_longest_sentences_are_the_same() {
        let news = "某地昨天发生了一件事情。记者今天赶到了现场采访！有关部门已经介入调查了。完。";
        let copied =
            "转载\n有关部门已经介入调查了。记者今天赶到了现场采访！某地昨天发生了一件事情。";
        assert_eq!(hash(news), hash(copied));
        // One character of a long sentence, and it is another text; of a short one it is not.
        assert_ne!(hash(news), hash(&news.replace('昨', "前")));
        assert_eq!(hash(news), hash(&news.replace('完', "毕")));
        // The pair of an article is one sentence each, so the rule does not find it.
        assert_ne!(
            hash("你妈妈喊你回家吃饭哦，回家罗回家罗"),
            hash("你妈妈叫你回家吃饭啦，回家罗回家罗")
        );
    }

    #[test]
    fn texts_without_sentences_are_alike_and_like_no_other() {
        assert_eq!(hash(""), hash("...!"));
        assert_ne!(hash(""), hash("a"));
        assert_eq!(longest_sentences_hash(["", ""], 3), hash(""));
        assert_eq!(longest_sentences_hash(["a"], 0), hash(""));
    }

    #[test]
    fn no_sentence_passes_for_two() {
        let of = |sentences: &[&str]| longest_sentences_hash(sentences, 3);
        assert_ne!(of(&["ab"]), of(&["a", "b"]));
        assert_ne!(of(&["a", "bcd"]), of(&["abc", "d"]));
    }

    proptest! {
        #[test]
        fn neither_order_nor_repetition_nor_shorter_sentences_make_a_difference(
            mut longest in prop::collection::vec("[a-c一-三]{5,9}", 3),
            short in prop::collection::vec("[a-c一-三]{0,4}", 0..5),
        ) {
            let expected = longest_sentences_hash(&longest, 3);
            let distinct = std::collections::BTreeSet::from_iter(&longest).len();
            longest.reverse();
            longest.extend(longest.clone());
            prop_assert_eq!(longest_sentences_hash(&longest, 3), expected);
            if distinct == 3 {
                longest.splice(1..1, short);
                prop_assert_eq!(longest_sentences_hash(&longest, 3), expected);
            }
        }

        #[test]
        fn sentences_hold_all_letters_of_any_text_in_order(
            text in prop_oneof![any::<String>(), "[a-c.。!？ \n]{0,40}"],
        ) {
            let letters = |text: &str| text.chars().filter(|c| is_letter_or_digit(*c)).collect::<String>();
            prop_assert_eq!(letters(&sentences(&text).concat()), letters(&text));
        }
    }
}
