//! The time to process a text is proportional to its length, whatever the text consists of.
//!
//! The bench `hostile` measures the slowdown of hostile texts. These tests compare one long text
//! with short texts of the same kind and the same total length: a busy machine slows both alike,
//! and quadratic time shows whatever the cost of a byte.

use std::hint::black_box;
use std::time::{Duration, Instant};

use simdb::containment::{Containment, Weights};
use simdb::similarity::Resemblance;
use simdb::similarity::tokens;
use simdb::{Fingerprinter, Normaliser, Recipe};
use test_support::hostile::{HOSTILE, ORDINARY};

/// Length of a short text, and the ratio of the long one to it.
const SHORT_BYTES: usize = 1 << 11;
const TIMES: usize = 64;

/// The long text may take this many times as long as the short ones, because it no longer fits the
/// caches. Quadratic time would be 64 times as long.
const MAX_RATIO: u32 = 30;

/// Pieces of which a text consists, over and over.
#[rustfmt::skip]
const PIECES: [&str; 38] = [
    "千", "千 ", "百", "億", "* ", "> ", "| a ", "①", "(", ")", " - ", "=+", "<", "/", "- a ", "1 + ",
    "\n", "a\t\t\n", ". ", "的", "👍", "a- ", "in- jured ", "in-\njured ", "~~ ", "[1] ", "□ ■ ",
    "+\n-\n", "a@", "a, b and c. ", "the cat sat on the mat. ", "● ", "a: b\n", "```\n", "“a” ",
    "2026-11-29 ", "HTTP_PROXY ", "漢字(ㄏㄢˋ)",
];

/// More pieces. All together take a minute.
#[rustfmt::skip]
const MORE_PIECES: [&str; 233] = [
    "一", "一千", "1", "1,", "1.", "1 ", "a", "a ", "A.", "a-", "-", "--", "- ", "'", "\"", "“", "[",
    "]", "{", "}", "<b>", "</b>", "&amp;", "&", "=", "==", "a=b ", "# ", "|", "`", "``", "$",
    "$x ", "$1 ", "5元", "5 元 ", "5月", "5月3日", "3:05 ", "3時", "上午", "上午3点", "am ", "10 am ",
    "I'm ", "don't ", "n't", "@", "#a ", "http://a.b/", "http://a.b/c?d=e ", "/a", "\\", "\\n",
    "\\d", "$\\alpha$", "km/h ", "5 km ", "5 kg", "10^5 ", "H2O ", "½", "Ⅳ", "IV ", "x²", "não ",
    "Ã©", "â€™", "ø", "ł ", "bo ", "bò ", "。", "，", "、", "；", "：", "？", "！", "!", "?", "...", "…",
    "a. ", "a, ", "a; ", "a: ", "a\n", "\n\n", "A\n\n", "not ", "no ", "only ", "if ", "and ",
    "or ", "a and b, ", "不", "没有", "可以", "他", "她", "之", "了", "在", "重要(zhòngyào)", "東(dōng)", "ｱ",
    "ア", "か", "カ ", "한국", "합니다 ", "오전 3시 ", "Привет ", "не ", "मैं ", "ราคา", "สวัสดี ", "مرحبا ",
    "שלום ", "Read more ", "Correction: ", "RT @a: ", "[b]a[/b] ", "[quote]", "*a* ", "**a** ",
    "_a_ ", "a_b ", "aB ", "A1 ", "v1.2.3 ", "29.11.2026 ", "Nov 29, 2026 ", "令和3年", "民國110年",
    "twenty ", "twenty-one ", "hundred ", "thousand ", "million ", "zwei", "deux ", "三十", "万",
    "零", "点", "1e5 ", "-5 ", "+5 ", "5% ", "5％", "± 3", "<5 ", "≤5", "[0, 1) ", "(0, 1] ", "a→b ",
    "a|b ", "a/b ", "the the ", "very ", "The cat, the dog and the mouse. ",
    "tea, milk and juice; ", "‘a’ ", "«a» ", "「あ」", "『あ』", "\u{200b}", "\u{ad}", "e\u{301}", "👍🏽",
    "🇩🇪", "\u{feff}", "\t", "\r\n", "\u{0}a", "teh ", "recieve ", "Dr. ", "U.S. ", "e.g. ",
    "No. 5 ", "Q1 ", "path/to/x.csv ", "*.tmp ", "--force ", "-f ", "if (a) { b(); }\n",
    "def f(x):\n    return x\n", "- a\n- b\n", "1. a\n2. b\n", "2 + 2 = 4 ", "a < b ", "5 to 6 ",
    "from 5 to 6 ", "between 5 and 6 ", "USD 5 ", "US$5 ", "€5 ", "5 € ", "8,00 € ", "5千元",
    "5 thousand ", "10h30 ", "10:30am ", "Straße ", "straße ", "ſ", "ﬁ", "Ａ", "ﾊﾟ", "が", "iii ",
    "lll ", "0O0 ", "l1 ", "☐ ", "- [ ] a b\n", "1) a b\n", "\"a\" ", "(a) ", "Tel: 5 ",
    "9:00-17:00 ", "100,000 ", "1 000 ", "五千", "负五", "第一", "Mr. A ", "a's ", "as' ",
];

/// Asserts that no text, hostile or ordinary, takes more than linear time.
#[track_caller]
fn assert_linear_time(operation: &str, work: impl Fn(&str)) {
    for kind in HOSTILE.iter().chain(&ORDINARY) {
        assert_linear_time_for(kind.name, |bytes| kind.text(bytes), operation, &work);
    }
}

/// Asserts that the time for a text of a kind is linear in the bytes of the text.
#[track_caller]
fn assert_linear_time_for(
    kind: &str,
    text: impl Fn(usize) -> String,
    operation: &str,
    work: impl Fn(&str),
) {
    let time = |text: &str, times: usize| {
        let started = Instant::now();
        (0..times).for_each(|_| work(text));
        started.elapsed()
    };
    let short_text = text(SHORT_BYTES);
    let long_text = text(SHORT_BYTES * TIMES);
    let (mut short, mut long) = (Duration::MAX, Duration::MAX);
    // Alternate, so that other load on the machine affects both. One turn is enough to pass: other
    // load hides quadratic time only if it slows the short texts to half of their speed.
    for _ in 0..3 {
        short = short.min(time(&short_text, TIMES));
        long = long.min(time(&long_text, 1));
        if long <= short * MAX_RATIO {
            break;
        }
    }
    assert!(
        long <= short * MAX_RATIO,
        "{operation} takes {long:?} for {kind}, and {short:?} for as much in {TIMES} texts"
    );
}

#[test]
fn fingerprint_time_is_linear_for_hostile_texts() {
    for recipe in Recipe::all().into_iter().filter(Recipe::takes_texts) {
        let fingerprinter = Fingerprinter::new(recipe);
        assert_linear_time(fingerprinter.recipe().name(), |text| {
            black_box(fingerprinter.fingerprint(text).unwrap());
        });
    }
}

#[test]
fn normalise_and_compare_times_are_linear_for_hostile_texts() {
    let normaliser = Normaliser::new();
    assert_linear_time("to compare wordings", |text| {
        let other = format!("{text} and");
        black_box(Resemblance::new(&normaliser, text, &other));
    });
    assert_linear_time("tokens", |text| drop(black_box(tokens(text))));
}

/// The start of the character in the middle of a text.
fn middle(text: &str) -> usize {
    let mut starts = text.char_indices().map(|(at, _)| at);
    starts.find(|at| *at >= text.len() / 2).unwrap_or(0)
}

/// Decides for a text and the same text with a word in its middle if one covers the other.
fn decide(normaliser: &Normaliser, text: &str) {
    let (first, rest) = text.split_at(middle(text));
    let other = format!("{first} and {rest}");
    black_box(Containment::new(
        normaliser,
        Weights::builtin(),
        text,
        &other,
    ));
}

#[test]
fn verdict_time_is_linear_for_nested_tags() {
    let normaliser = Normaliser::new();
    let nested = |bytes: usize| {
        let [opening, closing] = ["<b>", "</b>"].map(|tag| tag.repeat(bytes / 7));
        format!("{opening}zebra{closing}")
    };
    let decide = |text: &str| {
        let found = Containment::new(&normaliser, Weights::builtin(), text, "<b>zebra</b>");
        assert!(found.verdict.is_removable() && !found.forgiven.is_empty());
    };
    assert_linear_time_for("nested tags", nested, "the verdict", decide);
}

#[test]
fn verdict_time_is_linear_for_many_changed_places() {
    let normaliser = Normaliser::new();
    // One sentence, and sentences whose items stand in another order.
    let sentence = |bytes: usize| {
        let characters = (0..bytes as u32 / 3).map(|n| 0x4e00 + n * 7919 % 16_384);
        characters.filter_map(char::from_u32).collect::<String>()
    };
    let lists = |bytes: usize| "tea, milk and juice are cold. ".repeat(bytes / 30);
    let decide = |text: &str, other: &str| {
        black_box(Containment::new(
            &normaliser,
            Weights::builtin(),
            text,
            other,
        ));
    };
    assert_linear_time_for("one sentence", sentence, "the verdict", |text| {
        let places = text.chars().enumerate();
        let other: String = places
            .map(|(at, c)| if at % 15 == 0 { '的' } else { c })
            .collect();
        decide(text, &other);
    });
    assert_linear_time_for("lists", lists, "the verdict", |text| {
        decide(text, &text.replace("tea, milk", "milk, tea"));
    });
}

#[track_caller]
fn assert_linear_verdict_for(pieces: &[&str]) {
    let normaliser = Normaliser::new();
    for piece in pieces {
        let text = |bytes: usize| piece.repeat(bytes / piece.len());
        let kind = format!("{piece:?} in rows");
        let decide = |text: &str| decide(&normaliser, text);
        assert_linear_time_for(&kind, text, "the verdict", decide);
    }
}

#[test]
fn verdict_time_is_linear_for_hostile_texts() {
    let normaliser = Normaliser::new();
    assert_linear_time("the verdict", |text| decide(&normaliser, text));
    assert_linear_verdict_for(&PIECES);
}

#[test]
#[ignore = "takes a minute"]
fn verdict_time_is_linear_for_more_hostile_texts() {
    assert_linear_verdict_for(&MORE_PIECES);
}
