//! Candidates equal a plain count of common phrases; texts that are quotations, and texts that are
//! not.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::measure::containment::Containment;
use crate::measure::quotation::quoted_in;

fn quoted(text: &str, longer: &str, max_ratio: f64) -> Option<Containment> {
    quoted_in(&Analysed::new(text), &Analysed::new(longer), max_ratio)
}

fn all_winnowed(text: &Analysed) -> BTreeSet<u32> {
    winnow(text.phrases()).into_iter().collect()
}

/// Texts of few words, so that phrases are in many of them.
fn texts() -> impl Strategy<Value = Vec<String>> {
    let words = prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "一"]), 0..40);
    prop::collection::vec(words.prop_map(|words| words.join(" ")), 1..20)
}

proptest! {
    #[test]
    fn candidates_equal_a_plain_count_of_common_phrases(
        texts in texts(),
        end in 0_u32..20,
        max_ratio in 1.0..4.0,
    ) {
        let mut index = QuotationIndex::default();
        let texts: Vec<Analysed> = texts.iter().map(|text| Analysed::new(text)).collect();
        let (first, others) = texts.split_at(texts.len() / 2);
        index.extend(first);
        index.extend(others);
        let words = |text: &Analysed| words(text.phrases()) as f64;
        for text in &texts {
            let own: BTreeSet<u32> = winnowed(text).into_iter().collect();
            let mut expected: Vec<(usize, u32)> = (0..end.min(texts.len() as u32))
                .map(|position| {
                    let other = &texts[position as usize];
                    (own.intersection(&all_winnowed(other)).count(), position)
                })
                .filter(|(count, position)| {
                    let is_short = words(&texts[*position as usize]) <= words(text) * max_ratio;
                    *count > 0 && *count as f64 >= own.len() as f64 * MIN_WINNOWED_SHARE && is_short
                })
                .collect();
            expected.sort_by_key(|(count, position)| (std::cmp::Reverse(*count), *position));
            let expected: Vec<u32> = expected.into_iter().map(|(_, position)| position).collect();
            prop_assert_eq!(index.candidates(text, end, max_ratio), expected);
        }
    }
}

const ARTICLE: &str = "The harbour of Kirkwall was closed on Sunday after a trawler lost her anchor. \
    Divers searched the basin until dusk and found only weed. The pilot, who has worked there since 1987, \
    blamed an unusual current. Ferries to Shapinsay were cancelled and passengers slept in the town hall. \
    The council promised to inspect every mooring before the regatta.";

const OTHER: &str = "A bakery in Tromsø sells bread that is baked at midnight. Its owner learned the trade \
    in Lyon. Customers queue along the quay, and the last loaf is gone before sunrise.";

/// The text that is not quoted alone because of the word "not".
const CLOSED: &str =
    "The museum of clocks in the old granary opens daily, and children under twelve pay nothing.";

#[test]
fn quotations_are_found_and_other_contained_words_are_not() {
    let in_front = |text: &str| format!("{OTHER} {text}");
    let wrapped = |text: &str| {
        format!("Share this article | Subscribe. {text} All rights reserved, contact the editors.")
    };
    let zh = "港口星期日因风暴关闭，渔船丢失了铁锚。潜水员搜索到黄昏，什么也没有找到。";
    let zh_more =
        "市议会答应在比赛之前检查所有泊位，引航员则归咎于异常的水流，他从一九八七年起在此工作。";
    let all = |text: &str, longer: String| (text.to_owned(), longer);
    for (text, longer) in [
        all(ARTICLE, in_front(ARTICLE)),
        all(ARTICLE, format!("{ARTICLE} {OTHER}")),
        all(CLOSED, wrapped(CLOSED)),
        // The first sentences, and every second sentence.
        all(
            &ARTICLE[..ARTICLE.find("Ferries").unwrap()],
            ARTICLE.to_owned(),
        ),
        all(
            "The harbour of Kirkwall was closed on Sunday after a trawler lost her anchor. The pilot, who has \
             worked there since 1987, blamed an unusual current. The council promised to inspect every \
             mooring before the regatta.",
            ARTICLE.to_owned(),
        ),
        // Edited: case, punctuation, a stop word, a misspelling.
        all(
            &ARTICLE
                .to_uppercase()
                .replace(['.', ','], " - ")
                .replace("IN THE TOWN HALL", "IN TOWN HALL"),
            in_front(ARTICLE),
        ),
        all(
            &ARTICLE.replace("passengers", "passegners"),
            in_front(ARTICLE),
        ),
        all(zh, format!("{zh_more}{zh}{zh_more}")),
        // Every second of the short lines of a page is dropped.
        all(
            "从右向左滚动文字。从左向右滚动文字。从下向上滚动文字。应用效果时，文字可见，并且位于绘图对象中。",
            "从右向左滚动文字。左箭头\n从左向右滚动文字。右箭头\n从下向上滚动文字。动画\n应用效果时，文字可见，\
             并且位于绘图对象中。退出"
                .to_owned(),
        ),
    ] {
        let found = quoted(&text, &longer, 10.0);
        assert!(
            found.is_some_and(|found| found.verdict.is_a_in_b()),
            "{text} / {longer}"
        );
    }

    let scattered = "harbour trawler divers basin dusk pilot current ferries passengers council mooring regatta";
    for (text, longer) in [
        // The words of the text are there, and its phrases are not.
        all(scattered, ARTICLE.to_owned()),
        // Too little is said, however exactly.
        all("Share this article, subscribe and read more here.", wrapped(ARTICLE)),
        // Another number, a negation, another name.
        all(&ARTICLE.replace("1987", "1988"), in_front(ARTICLE)),
        all(&CLOSED.replace("opens", "never opens"), wrapped(CLOSED)),
        all(&CLOSED.replace("clocks", "dolls"), wrapped(CLOSED)),
        // The longer text is about another thing that contains the name.
        all(
            "Debian Science Physics packages. This metapackage installs programs for physics lessons in \
             secondary schools.",
            "Debian Science Nanoscale Physics packages. This metapackage installs programs for nanoscale \
             physics lessons in secondary schools. Nanoscale physics studies systems of a hundred atoms."
                .to_owned(),
        ),
        all(zh, format!("{zh_more}{}", zh.replace("铁锚", "渔网"))),
        // An inserted word that begins a line, and no sentence ends after it.
        all(
            "Debian Science Physics packages. This metapackage installs programs for physics lessons in \
             secondary schools.",
            "Debian Science\nNanoscale Physics packages. This metapackage installs programs for nanoscale \
             physics lessons in secondary schools. Nanoscale physics studies systems of a hundred atoms."
                .to_owned(),
        ),
    ] {
        let found = quoted(&text, &longer, 10.0);
        assert!(found.is_none(), "{text} / {longer}");
    }
    let longer = ARTICLE.to_owned() + &OTHER.repeat(4);
    assert!(quoted(ARTICLE, &longer, 5.0).is_some() && quoted(ARTICLE, &longer, 2.0).is_none());
}
