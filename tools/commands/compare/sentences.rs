//! The longest sentences of a text, a rule for near-duplicates.

use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The sentences of a text, in text order, without the white space around them. A sentence ends
/// with one of `。！？!?；;…`, with a line feed, or with a full stop before white space or the end, and
/// has a letter or digit.
pub fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let ends = match c {
            '.' => chars.peek().is_none_or(|(_, next)| next.is_whitespace()),
            c => "。｡．！!？?；;…\n\r".contains(c),
        };
        if ends || chars.peek().is_none() {
            let end = at + c.len_utf8();
            let sentence = text[start..end].trim();
            if sentence.contains(char::is_alphanumeric) {
                sentences.push(sentence);
            }
            start = end;
        }
    }
    sentences
}

/// The longest distinct sentences, at most `count`. Two texts with the same longest sentences count
/// as near-duplicates.
///
/// Length is in characters (Unicode code points). Empty sentences are left out, and equally long
/// sentences are in the order of their UTF-8, so the order of the sentences in the text makes no
/// difference.
///
/// The rule finds copies with short parts added or removed. It misses a text that differs in one
/// character of a long sentence. The article claims, without a source, a precision and a recall
/// above 80 % with three sentences.
///
/// # Source
/// The article on SimHash that this project grew from, on the rule of Baidu: the n longest
/// sentences, usually 3. The order of equally long sentences is decided here.
pub fn longest_sentences(sentences: impl IntoIterator<Item = String>, count: usize) -> Vec<String> {
    let distinct: BTreeSet<String> = sentences.into_iter().collect();
    let mut longest: Vec<String> = distinct.into_iter().filter(|s| !s.is_empty()).collect();
    // The sort is stable, so sentences of equal length stay in order.
    longest.sort_by_cached_key(|sentence| Reverse(sentence.chars().count()));
    longest.truncate(count);
    longest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn longest(text: &str) -> Vec<String> {
        longest_sentences(sentences(text).into_iter().map(str::to_owned), 3)
    }

    #[test]
    fn sentence_ends_at_its_punctuation() {
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
    fn longest_sentences_ignore_short_sentences_and_order() {
        let news = "某地昨天发生了一件事情。记者今天赶到了现场采访！有关部门已经介入调查了。完。";
        let copied =
            "转载\n有关部门已经介入调查了。记者今天赶到了现场采访！某地昨天发生了一件事情。";
        assert_eq!(longest(news), longest(copied));
        // One character of a long sentence, and it is another text; of a short one it is not.
        assert_ne!(longest(news), longest(&news.replace('昨', "前")));
        assert_eq!(longest(news), longest(&news.replace('完', "毕")));
        // The pair of an article is one sentence each, so the rule does not find it.
        assert_ne!(
            longest("你妈妈喊你回家吃饭哦，回家罗回家罗"),
            longest("你妈妈叫你回家吃饭啦，回家罗回家罗")
        );
        assert_eq!(longest(""), longest("...!"));
    }

    proptest! {
        #[test]
        fn order_repetition_and_shorter_sentences_do_not_matter(
            mut all in prop::collection::vec("[a-c一-三]{5,9}", 3),
            short in prop::collection::vec("[a-c一-三]{0,4}", 0..5),
        ) {
            let expected = longest_sentences(all.clone(), 3);
            all.reverse();
            all.extend(all.clone());
            prop_assert_eq!(&longest_sentences(all.clone(), 3), &expected);
            if expected.len() == 3 {
                all.splice(1..1, short);
                prop_assert_eq!(longest_sentences(all, 3), expected);
            }
        }

        #[test]
        fn sentences_hold_all_letters_in_order(
            text in prop_oneof![any::<String>(), "[a-c.。!？ \n]{0,40}"],
        ) {
            let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
            prop_assert_eq!(letters(&sentences(&text).concat()), letters(&text));
        }
    }
}
