//! Copies of a report: what is around the body may differ, and the body may not.

use simdb::Normaliser;
use simdb::containment::{Containment, Equality, Verdict, Weights};

use test_support::changes::ADDITIONS;

use super::one_word_changes::texts;

fn compare(a: &str, b: &str) -> Containment {
    Containment::new(&Normaliser::new(), Weights::news(), a, b)
}

const BODY: &str = "The harbour of Kirkwall was closed on Sunday after a trawler lost her anchor near \
    the pier. Divers searched the basin until dusk and found only weed. The pilot, who has worked \
    there since 1987, blamed an unusual current. Ferries to Shapinsay were cancelled, and passengers \
    slept in the town hall. The council promised to inspect every mooring before the regatta.";

#[test]
fn clean_report_and_its_copy_with_additions_cover_each_other() {
    for (language, heads, tails) in ADDITIONS {
        let texts = texts(language);
        let least = if language == "en" { 100 } else { 240 };
        let is_report = |text: &&String| (least..3000).contains(&text.len());
        let reports: Vec<&String> = texts.iter().filter(is_report).step_by(7).take(40).collect();
        let count = reports.len() * (heads.len() + tails.len());
        assert!(count >= 200, "{language}: {count}");
        let mut kept = Vec::new();
        for report in reports {
            let copies = heads.iter().map(|head| format!("{head}{report}"));
            for copy in copies.chain(tails.iter().map(|tail| format!("{report}{tail}"))) {
                let found = compare(report, &copy);
                if !matches!(found.verdict, Verdict::Same | Verdict::SameBody) {
                    kept.push((found.verdict, copy));
                }
            }
        }
        assert!(
            kept.len() * 10 <= count,
            "{language}: {} of {count}: {:?}",
            kept.len(),
            kept.first()
        );
    }
}

#[test]
fn report_with_another_headline_has_the_same_body() {
    for (one, other) in [
        (
            "Kirkwall harbour closed as trawler loses anchor",
            "Ferries cancelled in Kirkwall",
        ),
        (
            "Trawler loses anchor",
            "Divers find only weed in the harbour basin",
        ),
    ] {
        let [a, b] = [one, other].map(|headline| format!("{headline}\n{BODY}"));
        let found = compare(&a, &b);
        assert_eq!(found.verdict, Verdict::SameBody);
        assert!(found.missing_in_a.is_empty() && found.missing_in_b.is_empty());
        assert!(
            found
                .forgiven
                .iter()
                .any(|each| each.class == Equality::Passage)
        );
        let strict = Containment::new(&Normaliser::new(), Weights::builtin(), &a, &b);
        assert_eq!(strict.verdict, Verdict::Template);
    }
}

#[test]
fn facts_of_a_body_keep_reports_apart() {
    for (from, to) in [
        ("1987", "1978"),
        ("found only weed", "found an anchor"),
        ("Sunday", "Monday"),
        ("were cancelled", "were not cancelled"),
        ("every mooring", "some moorings"),
        ("a trawler", "a submarine"),
    ] {
        let found = compare(BODY, &BODY.replace(from, to));
        assert!(!found.verdict.is_removable(), "{from}, {to}: {found:?}");
    }
}

#[test]
fn facts_beside_a_body_are_an_update() {
    for fact in [
        "Three people were rescued near Shapinsay.",
        "The harbour is not safe.",
        "The council has since cancelled the regatta, dismissed the pilot, closed both piers for the \
         summer and asked the owners of all boats to leave the basin before the end of the week.",
    ] {
        let short = "Divers searched the basin of the harbour and found only weed.";
        assert_eq!(
            compare(short, &format!("{short} {fact}")).verdict,
            Verdict::AInB,
            "{fact}"
        );
    }
    let second = "The regatta of Stromness was won by a crew of pensioners in a boat of wood. The wind \
        was weak in the morning and strong in the evening, so that two of the younger crews gave up.";
    assert_eq!(
        compare(BODY, &format!("{BODY} {second}")).verdict,
        Verdict::AInB
    );
}

#[test]
fn items_of_a_series_stay() {
    for (one, other) in [
        ("Harbour report 17", "Harbour report 18"),
        (
            "Notice for the residents of Kirkwall",
            "Notice for the residents of Stromness",
        ),
    ] {
        let found = compare(&format!("{one}\n{BODY}"), &format!("{other}\n{BODY}"));
        assert!(!found.verdict.is_removable(), "{one}: {found:?}");
    }
    // The subject of a template is in no other place.
    let body = "Click to read more reviews of this book, to buy it, to rate it, to lend it to a friend, \
        or to write the first review. Members receive points for each review that helps other members. \
        A book can be returned within a month. Delivery takes two days and costs nothing for members.";
    let found = compare(
        &format!("One Door Away From Heaven\n{body}"),
        &format!("The Hacker And The Ants\n{body}"),
    );
    assert!(!found.verdict.is_removable(), "{found:?}");
}

#[test]
fn verdicts_of_swapped_texts_are_swapped() {
    let texts = texts("en");
    for pair in texts.windows(2).step_by(12) {
        let a = format!("{}\n{}", pair[0], BODY);
        let b = format!("{BODY}\n{}", pair[1]);
        let (found, swapped) = (compare(&a, &b), compare(&b, &a).swapped());
        assert_eq!(found.verdict, swapped.verdict);
        assert_eq!(found.missing_in_a, swapped.missing_in_a);
        assert_eq!(found.missing_in_b, swapped.missing_in_b);
    }
}
