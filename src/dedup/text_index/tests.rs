use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use flate2::read::GzDecoder;
use proptest::prelude::*;
use serde_json::Value;
use test_support::SplitMix;

use super::*;
use crate::measure::compare;
use crate::measure::containment::Containment;
use crate::text::Normaliser;

/// The texts of a labelled set in `tests/data`.
fn labelled(bytes: &[u8]) -> Vec<String> {
    let mut lines = String::new();
    GzDecoder::new(bytes).read_to_string(&mut lines).unwrap();
    let text = |line| serde_json::from_str::<Value>(line).unwrap()["text"].clone();
    let texts = lines.lines().map(text);
    texts
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

fn edits_en() -> Vec<String> {
    labelled(include_bytes!(
        "../../../tests/data/labelled/edits_en.docs.jsonl.gz"
    ))
}

fn edits_zh() -> Vec<String> {
    labelled(include_bytes!(
        "../../../tests/data/labelled/edits_zh.docs.jsonl.gz"
    ))
}

/// A text with some of its words replaced by words of others, or removed.
fn edited(words: &[&str], text: &str, draws: &mut SplitMix) -> String {
    let mut edited: Vec<&str> = text.split(' ').collect();
    for _ in 0..1 + edited.len() / 8 {
        let at = draws.below(edited.len() as u64) as usize;
        match draws.below(3) {
            0 if edited.len() > 1 => drop(edited.remove(at)),
            _ => edited[at] = words[draws.below(words.len() as u64) as usize],
        }
    }
    edited.join(" ")
}

fn index_of(texts: &[impl AsRef<str> + Sync], decision: Decision) -> SimilarIndex {
    let mut index = SimilarIndex::new(Likeness::default(), decision).unwrap();
    index.extend(texts);
    index
}

/// The plain definition of answers: a query compared with every text.
struct Plain<'t, T> {
    texts: &'t [T],
    analysed: Vec<Analysed>,
}

impl<'t, T: AsRef<str>> Plain<'t, T> {
    fn new(texts: &'t [T]) -> Self {
        let analysed = texts.iter().map(|text| Analysed::new(text.as_ref()));
        Self {
            texts,
            analysed: analysed.collect(),
        }
    }

    fn similar(&self, query: &str, decision: Decision) -> Vec<SimilarText> {
        let normaliser = Normaliser::shared();
        let own = Analysed::new(query);
        let similar = |(position, text): (usize, &Analysed)| {
            let resemblance = compare(&own, text, &Likeness::default())?;
            let containment = match decision {
                Decision::Alike => None,
                Decision::Contained | Decision::News => {
                    let (weights, text) = (decision.weights(), self.texts[position].as_ref());
                    let found = Containment::new(normaliser, weights, query, text);
                    Some(Box::new(found.verdict.is_removable().then_some(found)?))
                }
            };
            Some(SimilarText {
                position: position as u32,
                resemblance,
                containment,
            })
        };
        let mut found: Vec<_> = self
            .analysed
            .iter()
            .enumerate()
            .filter_map(similar)
            .collect();
        found.sort_by(SimilarText::order);
        found
    }
}

/// Matches that the index and the plain comparison find, by score: up to 0.75, and above.
#[derive(Default)]
struct Recall {
    found: [usize; 2],
    all: [usize; 2],
}

impl Recall {
    fn add(&mut self, found: &[SimilarText], expected: &[SimilarText]) {
        let found: BTreeMap<u32, &SimilarText> =
            found.iter().map(|found| (found.position, found)).collect();
        let mut positions = BTreeSet::new();
        for expected in expected {
            positions.insert(expected.position);
            let is_near = usize::from(expected.resemblance.score() > 0.75);
            self.all[is_near] += 1;
            if let Some(found) = found.get(&expected.position) {
                assert_eq!(*found, expected);
                self.found[is_near] += 1;
            }
        }
        assert!(found.keys().all(|position| positions.contains(position)));
    }
}

#[test]
fn real_texts_and_their_edits_are_found_as_by_a_plain_comparison() {
    let mut draws = SplitMix(21);
    let mut recall = Recall::default();
    for texts in [edits_en(), edits_zh()] {
        let mut texts: Vec<String> = texts.into_iter().take(700).collect();
        let words: Vec<String> = texts
            .iter()
            .flat_map(|text| text.split(' '))
            .map(str::to_owned)
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        for at in 0..200 {
            let text = edited(&words, &texts[at], &mut draws);
            texts.push(text);
        }
        let index = index_of(&texts, Decision::Alike);
        let plain = Plain::new(&texts);
        for text in texts.iter().skip(1).step_by(9) {
            let found = index.similar(&Analysed::new(text));
            recall.add(&found, &plain.similar(text, Decision::Alike));
        }
    }
    assert_eq!(recall.found[1], recall.all[1]);
    let (found, all) = (recall.found[0], recall.all[0]);
    assert!(all > 40 && recall.all[1] > 200, "{all} {}", recall.all[1]);
    assert!(found * 1000 >= all * 995, "{found} of {all}");
}

#[test]
fn contained_matches_equal_a_plain_comparison() {
    let texts: Vec<String> = edits_en().into_iter().take(300).collect();
    let index = index_of(&texts, Decision::Contained);
    let plain = Plain::new(&texts);
    let mut recall = Recall::default();
    for text in texts.iter().step_by(7) {
        let found = index.similar(&Analysed::new(text));
        let expected = plain.similar(text, Decision::Contained);
        assert!(found.is_sorted_by(|a, b| a.order(b).is_lt()));
        recall.add(&found, &expected);
    }
    assert_eq!(recall.found, recall.all);
}

/// Texts of a few words of real texts, half of them an edited copy of another: several runs and a
/// tail.
fn short_texts(count: u64) -> Vec<String> {
    let texts = edits_en();
    let words: Vec<&str> = texts.iter().flat_map(|text| text.split(' ')).collect();
    let text = |number: u64| {
        let mut draws = SplitMix(number / 2);
        let mut word = || words[draws.below(words.len() as u64) as usize];
        let text = [word(), word(), word(), word(), word(), word()].join(" ");
        match number % 2 {
            0 => text,
            _ => edited(&words, &text, &mut SplitMix(number)),
        }
    };
    (0..count).map(text).collect()
}

#[test]
fn pushed_texts_are_found_in_runs_and_in_tail() {
    let texts = short_texts(5000);
    let mut index = SimilarIndex::new(Likeness::default(), Decision::Alike).unwrap();
    for (position, text) in (0..).zip(&texts) {
        assert_eq!(index.push(text.as_str()), position);
    }
    let bulk = index_of(&texts, Decision::Alike);
    assert_eq!((index.len(), bulk.len()), (5000, 5000));
    let plain = Plain::new(&texts);
    let (mut pushed, mut at_once) = (Recall::default(), Recall::default());
    for text in texts.iter().step_by(500).chain(&texts[4990..]) {
        let expected = plain.similar(text, Decision::Alike);
        pushed.add(&index.similar(&Analysed::new(text)), &expected);
        at_once.add(&bulk.similar(&Analysed::new(text)), &expected);
    }
    for recall in [pushed, at_once] {
        assert!(recall.all[1] > 20);
        assert_eq!(recall.found[1], recall.all[1]);
        assert!(recall.found[0] + 1 >= recall.all[0]);
    }
}

#[test]
fn candidates_of_many_texts_equal_those_of_single_searches() {
    let mut texts = short_texts(3000);
    // Texts of one template fill large nodes.
    let template = |number| format!("package number {number} of the archive of the north harbour");
    texts.extend((0..2000).map(template));
    texts.extend([edits_en(), edits_zh()].concat().into_iter().take(1500));
    let mut index = index_of(&texts[..5500], Decision::Contained);
    for text in &texts[5500..] {
        index.push(text.as_str());
    }
    let asked: Vec<(Analysed, u32)> = (0..)
        .zip(&texts)
        .step_by(5)
        .map(|(position, text)| (Analysed::new(text), position))
        .collect();
    let asked: Vec<(&Analysed, u32)> = asked.iter().map(|(text, end)| (text, *end)).collect();
    let together = index.candidates_of_all(&asked);
    for ((text, end), candidates) in asked.iter().zip(&together) {
        let mut alone = index.candidates(text, *end);
        alone.sort_unstable();
        assert_eq!(*candidates, alone);
    }
    let all: usize = together.iter().map(Vec::len).sum();
    assert!(all > 100_000, "{all}");
}

#[test]
fn visit_has_only_asked_positions_and_ends_at_a_break() {
    let text = "The ferry to the islands was cancelled because of heavy fog.";
    let texts = [
        text,
        "Something else entirely, about cats.",
        "THE FERRY to the islands was cancelled because of heavy fog",
        text,
        text,
    ];
    let index = index_of(&texts, Decision::Contained);
    let query = Analysed::new(text);
    let visited = |positions: Range<u32>, most: usize| {
        let mut found = Vec::new();
        let end = index.visit(&query, positions, |similar| {
            found.push(similar.position);
            match found.len() == most {
                true => ControlFlow::Break(similar.position),
                false => ControlFlow::Continue(()),
            }
        });
        assert_eq!(
            end.break_value(),
            (found.len() == most).then(|| found[most - 1])
        );
        found.sort_unstable();
        found
    };
    assert_eq!(visited(0..5, 9), [0, 2, 3, 4]);
    assert_eq!(visited(0..u32::MAX, 9), [0, 2, 3, 4]);
    for start in 0..6 {
        for end in 0..6 {
            let expected = [0, 2, 3, 4]
                .into_iter()
                .filter(|at| (start..end).contains(at));
            assert_eq!(visited(start..end, 9), expected.collect::<Vec<_>>());
        }
    }
    assert_eq!(visited(0..5, 2).len(), 2);
}

#[test]
fn texts_with_too_little_content_match_equal_texts_only() {
    let texts = [
        "",
        " ",
        "。",
        "👍",
        "👎",
        "1",
        "13800138000",
        "13800138001",
        "hello",
        "hallo",
        "好的",
    ];
    let repeated = [texts, texts].concat();
    let plain = Plain::new(&repeated);
    for decision in [Decision::Alike, Decision::Contained] {
        let index = index_of(&repeated, decision);
        for text in texts {
            let found = index.similar(&Analysed::new(text));
            assert_eq!(found, plain.similar(text, decision), "{text:?}");
        }
        let found = |text| index.similar(&Analysed::new(text)).len();
        assert_eq!((found("HELLO!"), found("  "), found("good")), (2, 0, 0));
    }
}

#[test]
fn copies_share_a_wording_and_take_little_memory() {
    let mut index = SimilarIndex::new(Likeness::default(), Decision::Contained).unwrap();
    let texts = [
        "The ferry was cancelled because of fog.",
        "the ferry was cancelled because of fog",
    ];
    let prepared = texts.map(Analysed::new);
    index.push(texts[0]);
    let before = index.len_bytes();
    for copy in 0..100_000 {
        index.push_unsorted(&prepared[copy % 2]);
    }
    assert!(index.len_bytes() - before < 8 * 100_000);
    let found = index.similar(&prepared[1]);
    assert_eq!(found.len(), 100_001);
    assert!(found.iter().all(|found| found.resemblance.same_wording));
    let first = index.visit(&prepared[0], 50_000..60_000, |found| {
        ControlFlow::Break(found.position)
    });
    assert!(
        first
            .break_value()
            .is_some_and(|at| (50_000..60_000).contains(&at))
    );
}

#[test]
fn variants_of_one_wording_are_all_found() {
    let texts: Vec<String> = (0..1_u32 << 6)
        .map(|cases| {
            let letters = "the ferry was late".chars().enumerate();
            let cased = letters.map(|(at, c)| match at < 6 && cases >> at & 1 == 1 {
                true => c.to_ascii_uppercase(),
                false => c,
            });
            cased.collect()
        })
        .collect();
    let twice = [texts.clone(), texts.clone()].concat();
    let index = index_of(&twice, Decision::Contained);
    let found = index.similar(&Analysed::new(&texts[5]));
    let expected = Plain::new(&twice).similar(&texts[5], Decision::Contained);
    assert_eq!(found, expected);
    assert!(found.len() > 60);
}

#[test]
fn texts_of_one_template_are_all_compared() {
    let texts: Vec<String> = (0..3000)
        .map(|number| format!("Backport provider package number {number:04} for Apache Airflow"))
        .collect();
    let index = index_of(&texts, Decision::Alike);
    let found = index.similar(&Analysed::new(&texts[77]));
    assert_eq!(found.len(), texts.len());
    // Each has another number, so no text may be deleted for another.
    let index = index_of(&texts[..300], Decision::Contained);
    let found = index.similar(&Analysed::new(&texts[77]));
    assert_eq!(found.len(), 1);
}

#[test]
fn container_is_found_among_many_long_texts_of_its_template() {
    let name = |number: usize| {
        let letters = [number / 676, number / 26 % 26, number % 26];
        let letters = letters.map(|letter| char::from(b'a' + letter as u8));
        letters.iter().collect::<String>()
    };
    let frame: Vec<String> = (0..230)
        .map(|n| format!("the {}ery", name(n * 7)))
        .collect();
    let frame = frame.join(" ");
    let text = |number: usize| format!("The qu{}ix. {frame}", name(number));
    let longer = text(300) + ". A refund is offered.";
    let texts: Vec<String> = (0..600).filter(|n| *n != 300).map(text).collect();
    let texts = [texts, vec![longer]].concat();
    let index = index_of(&texts, Decision::Contained);
    let end = texts.len() as u32;
    for (number, expected) in [(300, Some(end - 1)), (700, None)] {
        let query = Analysed::new(&text(number));
        let candidates = index.candidates(&query, end);
        assert!(candidates.len() > 2 * SELECTED_TOGETHER);
        let sought = Sought {
            positions: 0..end,
            accepts: &|_| true,
            only_containers: true,
        };
        let found = index.visit_candidates(&query, candidates, &sought, |similar| {
            ControlFlow::Break(similar.position)
        });
        assert_eq!(found.break_value(), expected);
    }
}

/// A text as another writer has it: with two letters exchanged in a long word, two words written as
/// one, accents, words of Taiwan, or a sentence more.
fn rewritten(text: &str, draws: &mut SplitMix) -> String {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let at = draws.below(words.len() as u64) as usize;
    match draws.below(5) {
        0 if words[at].is_ascii() && words[at].len() > 6 => {
            let (head, tail) = words[at].split_at(3);
            let (left, right) = tail.split_at(1);
            words[at] = format!("{head}{}{left}{}", &right[..1], &right[1..]);
        }
        1 if at + 1 < words.len() => {
            let next = words.remove(at + 1);
            words[at] += &next;
        }
        2 => words[at] = words[at].replacen('e', "é", 1),
        3 => return text.replace("软件", "軟體").replace("网络", "網路"),
        _ => words.push("That is all.".to_owned()),
    }
    words.join(" ")
}

#[test]
fn no_container_of_a_text_is_missed() {
    let mut draws = SplitMix(23);
    let mut all = [0; 2];
    for (language, texts) in [edits_en(), edits_zh()].into_iter().enumerate() {
        let mut texts: Vec<String> = texts.into_iter().take(500).collect();
        for at in 0..250 {
            let text = rewritten(&texts[at], &mut draws);
            texts.push(text);
        }
        let decision = Decision::Contained;
        let mut index = SimilarIndex::of_containers(Likeness::default(), decision).unwrap();
        let preparation = index.preparation();
        let prepared: Vec<Analysed> = texts.iter().map(|text| preparation.prepare(text)).collect();
        index.extend_prepared(prepared.iter());
        let (plain, end) = (Plain::new(&texts), texts.len() as u32);
        for (text, query) in texts.iter().zip(&prepared).step_by(3) {
            let sought = Sought {
                positions: 0..end,
                accepts: &|_| true,
                only_containers: true,
            };
            let candidates = index.candidates_of_all(&[(query, end)]).remove(0);
            let mut found = Vec::new();
            let ended = index.visit_candidates(query, candidates, &sought, |similar| {
                found.push(similar.position);
                ControlFlow::<()>::Continue(())
            });
            assert!(ended.is_continue());
            found.sort_unstable();
            let expected = plain.similar(text, decision).into_iter();
            let expected = expected.filter(|found| found.verdict().is_some_and(Verdict::is_a_in_b));
            let mut expected: Vec<u32> = expected.map(|found| found.position).collect();
            expected.sort_unstable();
            assert_eq!(found, expected, "{text}");
            all[language] += found.len() - 1;
        }
    }
    assert!(all.iter().all(|others| *others > 60), "{all:?}");
}

#[test]
fn very_long_texts_are_found_without_packed_wordings() {
    let text: String = (0..30_000_u32)
        .map(|i| format!("w{} ", i * 7919 % 10_007))
        .collect();
    let edited = text.clone() + "and the end of it";
    let texts = ["something else about cats", &text, &edited, &text];
    let index = index_of(&texts, Decision::Alike);
    let found = index.similar(&Analysed::new(&edited));
    let expected = Plain::new(&texts).similar(&edited, Decision::Alike);
    assert_eq!(found, expected);
    assert_eq!(found.len(), 3);
}

#[test]
fn bad_thresholds_are_refused() {
    let likeness = Likeness {
        jaccard: f64::NAN,
        ..Likeness::default()
    };
    assert!(SimilarIndex::new(likeness, Decision::Alike).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn reported_matches_of_any_texts_equal_a_plain_comparison(
        texts in prop::collection::vec("([a-c]{1,4} |[一二三]{1,3}|[A-Za-z]{3,8} ){0,9}", 0..40),
    ) {
        let index = index_of(&texts, Decision::Contained);
        let plain = Plain::new(&texts);
        for text in &texts {
            let found = index.similar(&Analysed::new(text));
            let expected = plain.similar(text, Decision::Contained);
            let same = |answer: &[SimilarText]| {
                answer.iter().filter(|found| found.resemblance.same_wording).count()
            };
            prop_assert_eq!(same(&found), same(&expected));
            Recall::default().add(&found, &expected);
        }
    }
}
