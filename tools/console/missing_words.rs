//! The missing words of two texts, as JSON, as a list, and as a picture of two lines.

use serde_json::{Value, json};
use simdb::containment::{AlignedWord, Alignment, Containment, Forgiven, Missing, Verdict};
use unicode_width::UnicodeWidthStr;

/// The words with their weights in hundredths of a nat.
pub fn rows(missing: &[Missing]) -> Value {
    let rows = missing.iter();
    rows.map(|missing| json!([missing.word, (missing.weight * 100.0).round() / 100.0]))
        .collect()
}

/// The forgiven pairs of tokens, each with its class.
pub fn forgiven_rows(forgiven: &[Forgiven]) -> Value {
    let rows = forgiven.iter();
    rows.map(|each| json!([each.a, each.b, each.class.name()]))
        .collect()
}

/// The verdict in words, and the weights that each text would lose.
pub fn verdict_line(alignment: &Alignment) -> String {
    let found = &alignment.containment;
    let meaning = match found.verdict {
        _ if has_empty_text(alignment) => EMPTY_TEXT,
        Verdict::Same => "each text covers the other",
        Verdict::AInB => "B covers A and has more",
        Verdict::SameBody => "each text covers the body of the other; what is around it differs",
        Verdict::BInA => "A covers B and has more",
        Verdict::Template | Verdict::Different if found.missing_in_b.is_empty() => {
            "B has all words of A, and others that alter it"
        }
        Verdict::Template | Verdict::Different if found.missing_in_a.is_empty() => {
            "A has all words of B, and others that alter it"
        }
        Verdict::Template => "each text has words of its own in a common frame",
        Verdict::Different => "each text has words of its own",
    };
    format!(
        "{}: {meaning}; A would lose {:.1} nats, B {:.1}",
        found.verdict.name(),
        found.weight_missing_in_b(),
        found.weight_missing_in_a(),
    )
}

/// Returns `true` if one of two texts that are not equal has no word, or both have none.
pub fn has_empty_text(alignment: &Alignment) -> bool {
    let is_removable = alignment.containment.verdict.is_removable();
    !is_removable && (alignment.a.is_empty() || alignment.b.is_empty())
}

pub const EMPTY_TEXT: &str = "a text without content covers no text, and no text covers it";

/// The missing words of both texts, A first; `None` if no word is missing.
pub fn missing_words(found: &Containment) -> Option<String> {
    let sides = [("B", &found.missing_in_b), ("A", &found.missing_in_a)];
    let sides = sides.into_iter().filter(|(_, missing)| !missing.is_empty());
    let sides = sides.map(|(side, missing)| {
        let words = missing.iter().map(|each| weighed(&each.word, each.weight));
        format!("{side} lacks {}", words.collect::<Vec<_>>().join(" "))
    });
    let sides: Vec<_> = sides.collect();
    (!sides.is_empty()).then(|| sides.join("; "))
}

/// The forgiven pairs of tokens; `None` if nothing is forgiven.
pub fn forgiven_words(found: &Containment) -> Option<String> {
    let pairs = found.forgiven.iter().map(|each| {
        let (a, b, class) = (&each.a, &each.b, each.class.name());
        match (a.is_empty(), b.is_empty()) {
            (false, false) => format!("{a} = {b} ({class})"),
            _ => format!("{a}{b} ({class})"),
        }
    });
    let pairs: Vec<_> = pairs.collect();
    (!pairs.is_empty()).then(|| format!("forgiven: {}", pairs.join(", ")))
}

fn weighed(word: &str, weight: f64) -> String {
    format!("{word} {weight:.1}")
}

/// Longer runs of words that both texts have are shortened in the middle, to at most 40 columns.
const MAX_RUN_COLUMNS: usize = 40;

/// Two lines, one for each text. Words that the other text has stand below each other; missing
/// words are in brackets, with their weights.
pub fn picture(alignment: &Alignment) -> [String; 2] {
    let (a, b) = (&alignment.a, &alignment.b);
    let mut lines = ["A ".to_owned(), "B ".to_owned()];
    // Words that were moved have counterparts out of order: they stand in their own place.
    let mut in_order = Vec::new();
    let mut next = 0;
    for (at, word) in a.iter().enumerate() {
        if let Some(place) = word.counterpart.filter(|place| *place >= next) {
            in_order.push((at, place));
            next = place + 1;
        }
    }
    let (mut from_a, mut from_b) = (0, 0);
    for run in in_order.chunk_by(|one, next| next.0 == one.0 + 1 && next.1 == one.1 + 1) {
        let (first, last) = (run[0], run[run.len() - 1]);
        push(&mut lines, [&a[from_a..first.0], &b[from_b..first.1]]);
        push(&mut lines, [&a[first.0..=last.0], &b[first.1..=last.1]]);
        (from_a, from_b) = (last.0 + 1, last.1 + 1);
    }
    push(&mut lines, [&a[from_a..], &b[from_b..]]);
    lines.map(|line| line.trim_end().to_owned())
}

/// Appends the words of a stretch to both lines, in as many columns.
fn push(lines: &mut [String; 2], stretch: [&[AlignedWord]; 2]) {
    let cells = stretch.map(cell);
    let columns = cells.iter().map(|cell| cell.width()).max().unwrap_or(0);
    for (line, cell) in lines.iter_mut().zip(cells) {
        if columns > 0 {
            line.push(' ');
            line.push_str(&cell);
            line.extend(std::iter::repeat_n(' ', columns - cell.width()));
        }
    }
}

fn cell(words: &[AlignedWord]) -> String {
    let is_missing = |word: &AlignedWord| word.weight > 0.0;
    let runs = words.chunk_by(|one, next| is_missing(one) == is_missing(next));
    let runs = runs.map(|run| {
        if is_missing(&run[0]) {
            let words = run.iter().map(|word| weighed(&word.word, word.weight));
            return format!("[{}]", words.collect::<Vec<_>>().join(" "));
        }
        shortened(run.iter().map(|word| word.word.as_str()).collect())
    });
    runs.collect::<Vec<_>>().join(" ")
}

/// The words, without the middle of a long run.
fn shortened(words: Vec<&str>) -> String {
    let columns = |words: &[&str]| words.iter().map(|word| word.width() + 1).sum::<usize>();
    let is_in_half = |columns: usize| columns <= MAX_RUN_COLUMNS / 2;
    if columns(&words) <= MAX_RUN_COLUMNS {
        return joined(&words);
    }
    let fitting = |most: usize, part: &dyn Fn(usize) -> usize| {
        (1..most)
            .take_while(|count| is_in_half(part(*count)))
            .last()
    };
    let count = words.len();
    let first = fitting(count, &|first| columns(&words[..first])).unwrap_or(1);
    let last = fitting(count - first, &|last| columns(&words[count - last..])).unwrap_or(0);
    let (start, end) = (joined(&words[..first]), joined(&words[count - last..]));
    format!("{start} … {end}").trim_end().to_owned()
}

/// The words with spaces between them, except between characters of scripts without spaces.
fn joined(words: &[&str]) -> String {
    let mut text = String::new();
    for word in words {
        let is_wide = |c: Option<char>| c.is_some_and(|c| c >= '\u{2e80}');
        let are_wide = is_wide(text.chars().last()) && is_wide(word.chars().next());
        if !text.is_empty() && !are_wide {
            text.push(' ');
        }
        text.push_str(word);
    }
    text
}

#[cfg(test)]
mod tests {
    use simdb::Normaliser;
    use simdb::containment::Weights;

    use super::*;

    fn lines(a: &str, b: &str) -> [String; 2] {
        let weights = Weights::empty();
        picture(&Alignment::new(&Normaliser::new(), &weights, a, b))
    }

    #[test]
    fn common_words_stand_below_each_other() {
        assert_eq!(
            lines(
                "MongoDB component for Plone",
                "The Memcached component for Plone"
            ),
            [
                "A  [mongodb 11.9]            component for plone",
                "B  [the 11.9 memcached 11.9] component for plone",
            ]
        );
        assert_eq!(
            lines("渡轮今天取消了", "渡轮今天没有取消"),
            [
                "A  渡轮今天             取消 [了 11.9]",
                "B  渡轮今天 [没有 11.9] 取消"
            ]
        );
    }

    #[test]
    fn long_common_run_is_shortened() {
        let words: Vec<String> = (0..40).map(|number| format!("word{number}")).collect();
        let [a, b] = lines(&words.join(" "), &(words.join(" ") + " more"));
        assert_eq!(a, "A  word0 word1 word2 … word38 word39");
        assert_eq!(b, "B  word0 word1 word2 … word38 word39 [more 11.9]");
    }
}
