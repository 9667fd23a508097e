//! Passages at the tail of a text: sites, links, credits, marks of truncation.

use super::lines::is_credit;
use super::wording::Wording;
use super::{MAX_CREDIT_LETTERS, MAX_UNIT_BYTES};
use crate::analysis::words::lexicon::{Class, Lexicon};
use crate::text::{is_cjk, is_digits};

/// The name of a site has at most five words, or ten letters in Chinese.
const MAX_SITE_WORDS: usize = 5;
const MAX_SITE_LETTERS: usize = 10;

/// The fewest words of a headline before the name of a site, and the fewest CJK characters.
const MIN_HEADLINE_WORDS: usize = 4;
const MIN_HEADLINE_LETTERS: usize = 8;

/// Hashtags that turn the sentence before them.
#[rustfmt::skip]
const IRONIES: [&str; 10] = [
    "sarcas", "iron", "parody", "joke", "jk", "fake", "kidding", "prank", "spoof", "aprilfool",
];

/// The start of the name of a site behind a headline: " | The Daily Post", _新浪新闻.
pub(super) fn site(line: &str) -> Option<usize> {
    if line.len() > MAX_UNIT_BYTES {
        return None;
    }
    let marks = line.rmatch_indices(['|', '-', '–', '—', '_', '｜', '丨']);
    let (at, end, is_wide) = marks.into_iter().find_map(|(at, mark)| {
        let end = at + mark.len();
        let is_apart = line[..at].ends_with(' ') && line[end..].starts_with(' ');
        match mark {
            "|" | "-" | "–" | "—" if is_apart => Some((at - 1, end + 1, true)),
            "-" | "_" | "｜" | "丨" => Some((at, end, mark == "｜")),
            _ => None,
        }
    })?;
    let (headline, name) = (&line[..at], &line[end..]);
    let wording = Wording::builtin();
    let is_site = match name.chars().any(is_cjk) {
        true => {
            name.chars().count() <= MAX_SITE_LETTERS
                && wording.endings.iter().any(|ending| name.ends_with(ending))
        }
        false => {
            let mut words = name.split(' ');
            let is_name = |word: &str| word.starts_with(|c: char| c.is_uppercase());
            is_wide
                && words.clone().count() <= MAX_SITE_WORDS
                && words
                    .clone()
                    .all(|word| is_name(word) || matches!(word, "of" | "the"))
                && (words.next_back()).is_some_and(|word| {
                    let word = word.to_lowercase();
                    wording.stations.contains(&*word)
                        || wording.papers.contains(&*word) && words.next().is_some()
                })
        }
    };
    let is_headline = headline.split(' ').count() >= MIN_HEADLINE_WORDS
        || headline.chars().filter(|c| is_cjk(*c)).count() >= MIN_HEADLINE_LETTERS;
    (is_site && is_headline).then_some(at)
}

fn start_of_last_word(text: &str) -> usize {
    text.trim_end_matches(|c: char| !c.is_whitespace()).len()
}

/// The start of a short link at the tail.
pub(super) fn short_link(tail: &str) -> Option<usize> {
    let at = start_of_last_word(tail);
    let link = tail[at..]
        .split_once("://")
        .map_or(&tail[at..], |(_, link)| link);
    let (host, path) = link.split_once('/')?;
    (Wording::builtin().links.contains(host) && !path.is_empty()).then_some(at)
}

/// The CJK characters of a word in a hashtag that turns the sentence.
const MAX_TURN_LETTERS: usize = 2;

/// The start of a hashtag at the tail, behind a sentence, without a word that turns the sentence.
pub(super) fn hashtag(tail: &str) -> Option<usize> {
    let at = start_of_last_word(tail);
    let tag = tail[at..].strip_prefix('#')?;
    let is_tag = tag.starts_with(char::is_alphabetic)
        && tag
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '#'));
    let (tag, lexicon) = (tag.to_lowercase(), Lexicon::builtin());
    let letters: Vec<String> = tag.chars().map(String::from).collect();
    let mut words = (1..=MAX_TURN_LETTERS).flat_map(|len| letters.windows(len));
    let turns = lexicon.negates(&tag)
        || IRONIES.iter().any(|irony| tag.starts_with(irony))
        || tag.contains(is_cjk) && words.any(|word| lexicon.negates(&word.concat()));
    // "I will vote for #Biden"
    let before = tail[..at].trim_end();
    let word = before[start_of_last_word(before)..].to_lowercase();
    let is_open = matches!(lexicon.class(&word), Class::Light | Class::Turn);
    (is_tag && !turns && !is_open).then_some(at)
}

/// The start of credits at the tail: （记者…）, （编辑：…）, (Reuters), — AP; of the end of a report, (完).
pub(super) fn credit(tail: &str) -> Option<usize> {
    let brackets = [('（', '）'), ('(', ')'), ('[', ']'), ('【', '】')];
    let wording = Wording::builtin();
    if let Some(end) = wording.tails.iter().find(|end| tail.ends_with(**end)) {
        return Some(tail.len() - end.len());
    }
    let is_wire = |name: &str| wording.wires.contains(&*name.trim().to_lowercase());
    let bracket =
        (brackets.into_iter()).find_map(|(open, close)| Some((tail.strip_suffix(close)?, open)));
    let Some((inner, open)) = bracket else {
        let (before, name) = tail.rsplit_once(['–', '—'])?;
        let dash = before.trim_end().len();
        return (dash < before.len() && is_wire(name)).then_some(dash);
    };
    let at = inner.rfind(open)?;
    let inner = &inner[at + open.len_utf8()..];
    let is_short = inner.chars().count() <= 2 * MAX_CREDIT_LETTERS;
    (is_short && (is_credit(inner) || is_wire(inner))).then_some(at)
}

pub(super) fn has_ellipsis(text: &str) -> bool {
    let text = text.trim_end_matches([']', ')', '）', '】']);
    text.ends_with("...") || text.ends_with('…')
}

/// The start of a note on the rest of the text at the tail: [...], [+1824 chars].
pub(super) fn rest_note(tail: &str) -> Option<usize> {
    let inner = tail.strip_suffix([']', ')', '）', '】'])?;
    let at = inner.rfind(['[', '(', '（', '【'])?;
    let note = inner[at..].trim_start_matches(['[', '(', '（', '【']);
    let count = note
        .strip_prefix('+')
        .and_then(|note| note.strip_suffix(" chars"));
    let is_count = count.is_some_and(is_digits);
    (matches!(note, "..." | "…") || is_count).then_some(at)
}

/// The start of an invitation to read on at the tail: behind an ellipsis, in brackets, or on a line
/// of its own.
pub(super) fn truncation(tail: &str) -> Option<usize> {
    let closing = [
        ' ', '\n', '\r', '\t', ']', ')', '）', '】', '»', '>', '→', '.', '…',
    ];
    let body = tail.trim_end_matches(closing);
    let last = body.as_bytes().last()?;
    let start_of = |mark: &&str| {
        // Most marks end here.
        mark.as_bytes()
            .last()
            .filter(|own| own.eq_ignore_ascii_case(last))?;
        let from = body.len().checked_sub(mark.len())?;
        let end = body.get(from..)?;
        end.eq_ignore_ascii_case(mark).then_some(from)
    };
    let from = (Wording::builtin().truncations.iter()).find_map(start_of)?;
    let before = body[..from].trim_end_matches([' ', '[', '(', '（', '【', '\n']);
    let gap = &body[before.len()..from];
    // "More" on a line of its own may be an answer.
    let is_line = gap.contains('\n') && body.len() - from > 4;
    // （續） is a part of a title.
    let is_title = body.len() - from == '續'.len_utf8();
    let is_bracketed = is_line || gap.contains(['[', '（', '【']) && !is_title;
    let is_own = has_ellipsis(before)
        || before.ends_with(['.', '。']) && gap.contains('(')
        || is_bracketed
        || has_ellipsis(tail) && body.len() - from > 4;
    is_own.then_some(before.len())
}
