//! Lines and sentences about the page, credits, and lines of stamps and counters.

use super::piece::Piece;
use super::wording::Wording;
use super::{MAX_CREDIT_LETTERS, MAX_UNIT_BYTES, Stamp};
use crate::analysis::words::lexicon::{Class, Lexicon};
use crate::text::is_cjk;

/// A line or sentence with more words beside its phrase has information of its own. Two CJK
/// characters count as a word.
const MAX_FRAME_WORDS: usize = 2;

/// A trail of pages has at most 12 words.
const MAX_TRAIL_WORDS: usize = 12;

/// A menu has at least four pages; a line of fewer cells is a row of a table.
const MIN_MENU_PAGES: usize = 4;

/// A longer name of a writer, or a longer line of names, is a sentence.
const MAX_NAME_LETTERS: usize = 4;
const MAX_NAME_WORDS: usize = 7;

/// The name of a paper has at most ten letters.
const MAX_PAPER_LETTERS: usize = 10;

/// A longer line is a sentence.
const MAX_STAMP_WORDS: usize = 16;

/// Marks that are in no name.
const SENTENCE_MARKS: &str = "。！？!?;；…<";

/// A title that stands before a name without a colon: 记者张华.
const REPORTER: &str = "记者";

/// Returns `true` for a line or a sentence about the page.
///
/// It begins with a phrase of a page. Names, links and a few words may follow, but no number, no
/// word that turns a sentence and no correction.
pub(super) fn is_frame(unit: &str) -> bool {
    let wording = Wording::builtin();
    if unit.len() > MAX_UNIT_BYTES {
        return false;
    }
    let lower = unit.to_lowercase().replace('’', "'");
    let line = lower.trim();
    if is_trail(line)
        || line.contains('|') && unit.split('|').all(is_frame)
        || wording.lines.contains(line)
    {
        return true;
    }
    let line = line.trim_start_matches(['(', '（', '[', '【', '*', '-', '—', ' ']);
    let mut phrases = wording.frames.iter();
    let Some(phrase) = phrases.find(|phrase| line.starts_with(**phrase)) else {
        return false;
    };
    let mut rest = &line[phrase.len()..];
    if phrase.contains(['©', '(']) || phrase.starts_with("copyright") {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || " -–,©".contains(c));
    }
    let is_link =
        |word: &&str| word.contains("://") || word.starts_with("www.") || word.contains('@');
    let mut others = String::from(" ");
    for word in rest.split_whitespace().filter(|word| !is_link(word)) {
        let words = word.split(|c: char| !c.is_alphanumeric() && !"'.-".contains(c));
        for word in words.map(|word| word.trim_matches(['.', '-'])) {
            others += word;
            others.push(' ');
        }
    }
    for about in &wording.about {
        match about.is_ascii() {
            true => others = others.replace(&format!(" {about} "), "  "),
            false => others = others.replace(about, " "),
        }
    }
    let lexicon = Lexicon::builtin();
    let is_name = |word: &str| {
        let mut names = unit.split(|c: char| !c.is_alphanumeric());
        names.any(|name| name.starts_with(char::is_uppercase) && name.to_lowercase() == word)
    };
    let (mut letters, mut words) = (0, 0);
    for word in others.split_whitespace() {
        let cjk = word.chars().filter(|c| is_cjk(*c)).count();
        if word.contains(char::is_numeric) || turns(word) || wording.corrections.contains(word) {
            return false;
        }
        letters += cjk;
        let is_content = cjk == 0 && lexicon.class(word) == Class::Word && !is_name(word);
        words += usize::from(is_content);
    }
    words + letters / 2 <= MAX_FRAME_WORDS
}

/// Returns `true` for a word, or CJK characters with a word, that turns a sentence.
fn turns(word: &str) -> bool {
    let lexicon = Lexicon::builtin();
    let is_turn = |word: &str| lexicon.class(word) == Class::Turn;
    let mut letters = word.chars().filter(|c| is_cjk(*c));
    is_turn(word) || letters.any(|c| is_turn(c.encode_utf8(&mut [0; 4])))
}

/// Returns `true` for titles with names behind them: 编辑：王明 审核：李华, Photo: AP. Nothing is
/// before the first title except the name of a paper: 本报记者 王明.
pub(super) fn is_credit(text: &str) -> bool {
    let wording = Wording::builtin();
    let title_of = |text: &str| {
        let text = text.trim_start();
        let titles = (wording.titles.iter()).filter(|title| {
            let start = text.get(..title.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(title))
        });
        titles.map(|title| title.len()).max()
    };
    let is_space = |c: char| c.is_whitespace() || matches!(c, ';' | '；' | '，' | ',' | '|');
    let mut rest = text.trim();
    if let Some((paper, _)) = rest.split_once(REPORTER)
        && is_paper(paper)
    {
        rest = &rest[paper.len()..];
    }
    while !rest.is_empty() {
        let Some(length) = title_of(rest) else {
            return false;
        };
        let (title, behind) = rest.split_at(length);
        let names = behind.trim_start_matches(|c: char| c.is_whitespace() || ":：".contains(c));
        let gap = &behind[..behind.len() - names.len()];
        let mut ends = names.char_indices().filter(|(_, c)| is_space(*c));
        let end = ends.find(|(at, c)| title_of(&names[at + c.len_utf8()..]).is_some());
        let (names, next) = names.split_at(end.map_or(names.len(), |(at, _)| at));
        let is_titled = gap.contains([':', '：']) || title.ends_with([':', '：', '/']);
        let is_apart = is_titled || !gap.is_empty() || title == REPORTER;
        let is_title = title_of(names) == Some(names.len());
        if !is_apart || is_title || !is_name(names.trim_matches(is_space), is_titled) {
            return false;
        }
        rest = next.trim_start_matches(is_space);
    }
    !text.is_empty()
}

/// Returns `true` for names of persons or, behind a colon, of papers: "By Ann Lee", "Source: AP".
fn is_name(names: &str, is_titled: bool) -> bool {
    let names = names.trim_end_matches(['摄', '文']).trim_end();
    let letters = names.chars().count();
    // 含两名记者 counts persons, and names none.
    let is_plain = |c: char| !c.is_numeric() && !SENTENCE_MARKS.contains(c) && !"两名".contains(c);
    if !names.chars().all(is_plain) || names.split(' ').any(turns) {
        return false;
    }
    if names.contains(is_cjk) {
        let parts = names.split(|c: char| c.is_whitespace() || matches!(c, '、' | ','));
        let is_short = |part: &str| part.chars().count() <= MAX_NAME_LETTERS || part.contains('·');
        return (2..=MAX_CREDIT_LETTERS).contains(&letters)
            && (is_titled || parts.into_iter().all(is_short));
    }
    // A grammar word in capitals is part of a title: "By Order Of The Court".
    let lexicon = Lexicon::builtin();
    let is_part = |word: &str| {
        let is_named = word.starts_with(|c: char| c.is_uppercase() || c == '@');
        let word = word
            .trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase();
        word == "and"
            || word.is_empty()
            || is_named && (word.len() == 1 || lexicon.class(&word) == Class::Word)
    };
    let mut words = names.split_whitespace();
    let least = if is_titled { 1 } else { 2 };
    words.clone().all(is_part)
        && (least..=MAX_NAME_WORDS).contains(&words.clone().count())
        && words.any(|word| word.contains(char::is_uppercase))
}

/// Returns `true` for the way to a page, "Home > News > Article", and for the menu of a site.
fn is_trail(unit: &str) -> bool {
    let is_menu = unit.contains('|');
    let pages = || unit.split(['>', '»', '›', '|']);
    let has_words = |page: &str| page.contains(char::is_alphabetic);
    let first = pages().next().unwrap_or_default().trim();
    let is_site = match is_menu {
        true => matches!(first, "home" | "首页" | "首頁" | "主页"),
        false => Wording::builtin().sites.contains(first),
    };
    pages().count() >= if is_menu { MIN_MENU_PAGES } else { 3 }
        && is_site
        && pages().all(has_words)
        && unit
            .split_whitespace()
            .filter(|word| has_words(word))
            .count()
            <= MAX_TRAIL_WORDS
        && !unit.contains(|c: char| c.is_numeric() || matches!(c, '=' | '<' | '(' | '.'))
}

/// The number of pieces of each kind in a line of stamps; `None` for a line with other words.
fn pieces(line: &str) -> Option<[usize; 9]> {
    let wording = Wording::builtin();
    let mut counts = [0; 9];
    let (mut rest, mut last) = (line.trim(), "");
    while let Some(c) = rest.chars().next() {
        let end = |is_in: fn(char) -> bool| rest.find(|c| !is_in(c)).unwrap_or(rest.len());
        let (length, piece) = if c.is_ascii_alphabetic() {
            let word = &rest[..end(|c| c.is_ascii_alphabetic())];
            let lower = word.to_ascii_lowercase();
            // 3 min read
            let is_length = lower == "read" && last.starts_with("min");
            last = word;
            let piece = wording.pieces.get(&*lower).copied();
            (word.len(), if is_length { Piece::Counter } else { piece? })
        } else if c.is_numeric() {
            let end = end(|c| c.is_numeric() || matches!(c, '.' | ',' | ':' | '-' | '/'));
            // An ISO date is a year too.
            let is_iso = rest[..end].starts_with("19") || rest[..end].starts_with("20");
            counts[Piece::Year as usize] += usize::from(is_iso);
            (end, Piece::of_number(&rest[..end]))
        } else if let Some((key, piece)) =
            (wording.phrases.iter()).find(|(key, _)| rest.starts_with(*key))
        {
            (key.len(), *piece)
        } else if c.is_alphabetic() {
            return None;
        } else {
            rest = &rest[c.len_utf8()..];
            continue;
        };
        counts[piece as usize] += 1;
        rest = &rest[length..];
    }
    (counts.iter().sum::<usize>() <= MAX_STAMP_WORDS).then_some(counts)
}

/// Returns `true` for a time of the text with its name, and for counters.
fn is_stamp(part: &str) -> bool {
    use Piece::{Counter, Date, Quantity, Small, Time, Unit, WeakCounter, Year};
    pieces(part).is_some_and(|counts| {
        let count = |piece: Piece| counts[piece as usize];
        let is_time = count(Time) > 0 && count(Date) > 0;
        let weak = count(WeakCounter);
        let is_counter = count(Counter) > 0 || weak > 0 && is_time || weak > 1 && count(Unit) == 0;
        let has_number = count(Quantity) + count(Small) + count(Year) > 0;
        is_counter && has_number || is_time && weak == 0 && count(Quantity) == 0
    })
}

/// Returns `true` for a date with a year, and nothing but times beside it.
fn is_date(part: &str) -> bool {
    use Piece::{Counter, Date, Quantity, Time, WeakCounter, Year};
    pieces(part).is_some_and(|counts| {
        let count = |piece: Piece| counts[piece as usize];
        let others = [Counter, WeakCounter, Quantity, Time].map(count);
        count(Date) > 0 && count(Year) > 0 && others == [0; 4]
    })
}

/// The stamp that a line is: times, counters and credits, with bars between them. A line of a date
/// alone needs a long text beside it.
pub(super) fn stamp(line: &str, is_of_report: bool) -> Option<Stamp> {
    if line.len() > MAX_UNIT_BYTES {
        return None;
    }
    if is_stamp(line) {
        return Some(Stamp::Free);
    }
    let brackets = |c: char| "()（）[]【】".contains(c);
    let is_fact = |part: &str| {
        let part = part.trim_matches(brackets);
        let is_dated = |part: &str| is_stamp(part) || is_date(part);
        let mut spaces = part.match_indices(' ').map(|(at, _)| part.split_at(at));
        is_credit(part)
            || is_of_report && is_date(part)
            || spaces.any(|(one, other)| {
                is_dated(one) && is_credit(other) || is_credit(one) && is_dated(other)
            })
    };
    let lines = &Wording::builtin().lines;
    let mut found = None;
    for part in line.split(['|', '·', '•']).map(str::trim) {
        if is_stamp(part) || found.is_some() && lines.contains(&*part.to_lowercase()) {
            found = found.or(Some(Stamp::Free));
        } else if is_fact(part) {
            found = Some(Stamp::Fact);
        } else {
            return None;
        }
    }
    found
}

/// Returns `true` for the name of a paper, a site or an agency: 新华社, 环球网.
pub(super) fn is_paper(name: &str) -> bool {
    let wording = Wording::builtin();
    let ends = |ending: &&str| name.ends_with(*ending);
    (2..=MAX_PAPER_LETTERS).contains(&name.chars().count())
        && name.chars().all(is_cjk)
        && (wording.endings.iter().any(ends) || wording.agencies.iter().any(ends))
}
