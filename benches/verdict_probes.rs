//! Probes of the verdicts: changes of real texts, of which the right answer is known by their kind.

use rayon::prelude::*;
use simdb::Normaliser;
use simdb::containment::{Containment, Weights};
use test_support::changes::{ADDITIONS, ONE_WORD, is_about_a_page, replaced};

/// Changed copies of a kind.
const PROBES: usize = 300;

/// The bytes of a text that may be a report, in English and in Chinese.
const REPORT_LEN: [std::ops::Range<usize>; 2] = [100..3000, 240..3000];

type Probe<'t> = (&'t str, String);

/// The orders of a kind: of all probes, and those in which a text is removed.
#[derive(Clone, Copy, Default)]
struct Orders {
    all: usize,
    contained: usize,
    news: usize,
}

/// Prints the share of orders in which a text is removed, by kind: 0 is right for a changed word,
/// 1 for an addition to a report.
pub fn print_probes(texts: &[String]) {
    for (at, (language, kinds)) in ONE_WORD.into_iter().enumerate() {
        let texts = texts.iter().map(String::as_str);
        let texts = texts.filter(|text| language_of(text) == language && !is_about_a_page(text));
        let texts: Vec<_> = texts.collect();
        let mut total = Orders::default();
        for (word, by) in kinds {
            let changed = texts
                .iter()
                .flat_map(|text| replaced(text, word, by).map(|copy| (*text, copy)));
            let kind = if by.is_empty() { "nothing" } else { by };
            total.add(print_kind(
                &format!("{language}, {word} -> {kind}"),
                changed.take(PROBES),
            ));
        }
        total.print(&format!("{language}, all changes of one word"));

        let reports = texts
            .iter()
            .filter(|text| REPORT_LEN[at].contains(&text.len()));
        let reports: Vec<_> = reports.take(PROBES).collect();
        let (_, heads, tails) = ADDITIONS[at];
        let mut total = Orders::default();
        for head in heads {
            let copies = reports.iter().map(|text| (**text, format!("{head}{text}")));
            total.add(print_kind(
                &format!("{language}, before: {}", head.trim()),
                copies,
            ));
        }
        for tail in tails {
            let copies = reports.iter().map(|text| (**text, format!("{text}{tail}")));
            total.add(print_kind(
                &format!("{language}, after: {}", tail.trim()),
                copies,
            ));
        }
        total.print(&format!("{language}, all additions"));
    }
}

/// `zh` for a text with a CJK character, otherwise `en`.
pub fn language_of(text: &str) -> &'static str {
    let is_chinese = text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
    if is_chinese { "zh" } else { "en" }
}

fn print_kind<'t>(kind: &str, probes: impl Iterator<Item = Probe<'t>>) -> Orders {
    // One per thread of rayon: making the tables takes as long as many comparisons.
    thread_local! {
        static NORMALISER: Normaliser = Normaliser::new();
    }
    let probes: Vec<_> = probes.collect();
    let orders = probes.par_iter().map(|(text, copy)| {
        let removed = |weights: &Weights, a: &str, b: &str| {
            let found = NORMALISER.with(|normaliser| Containment::new(normaliser, weights, a, b));
            usize::from(found.verdict.is_removable())
        };
        let both = |weights| removed(weights, text, copy) + removed(weights, copy, text);
        Orders {
            all: 2,
            contained: both(Weights::builtin()),
            news: both(Weights::news()),
        }
    });
    let orders = orders.reduce(Orders::default, |mut sum, one| {
        sum.add(one);
        sum
    });
    orders.print(kind);
    orders
}

impl Orders {
    fn add(&mut self, other: Self) {
        self.all += other.all;
        self.contained += other.contained;
        self.news += other.news;
    }

    fn print(self, kind: &str) {
        let share = |part: usize| part as f64 / self.all.max(1) as f64;
        println!(
            "{kind}: contained {:.3}, news {:.3} of {} orders",
            share(self.contained),
            share(self.news),
            self.all
        );
    }
}
